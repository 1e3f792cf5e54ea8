/* wire.c: greetings and frames between the harness and an agent. */
#include "harness/real/agent/wire.h"

#include "base/assert.h"

#include <string.h>

static const char wire_magic[4] = {'P', 'L', 'K', 'A'};

static void put_number(uint8_t *bytes, uint64_t number, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(number >> (8 * (count - 1 - i)));
    }
}

static uint64_t get_number(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* ---- greetings ------------------------------------------------------------------------------- */

static void greeting_mac(const struct cluster_secret *secret, const struct wire_greet *greet,
                         const uint8_t *bytes, uint8_t mac[SEAL_BYTES])
{
    static const uint8_t nobody[WIRE_NONCE_BYTES];
    struct seal_part parts[] = {
        {&greet->side, 1},
        {greet->other != NULL ? greet->other : nobody, WIRE_NONCE_BYTES},
        {bytes, WIRE_GREETING_BYTES - SEAL_BYTES},
    };
    seal_make(secret, parts, sizeof parts / sizeof parts[0], mac);
}

void wire_greet(const struct cluster_secret *secret, const struct wire_greet *greet,
                uint8_t bytes[WIRE_GREETING_BYTES])
{
    memcpy(bytes, wire_magic, sizeof wire_magic);
    put_number(bytes + 4, greet->version, 2);
    put_number(bytes + 6, greet->status, 2);
    memcpy(bytes + 8, greet->nonce, WIRE_NONCE_BYTES);
    greeting_mac(secret, greet, bytes, bytes + 8 + WIRE_NONCE_BYTES);
}

enum wire_greeting wire_greeted(const struct cluster_secret *secret,
                                const uint8_t bytes[WIRE_GREETING_BYTES], struct wire_greet *greet)
{
    uint8_t mac[SEAL_BYTES];
    greet->version = (uint16_t)get_number(bytes + 4, 2);
    greet->status = (uint16_t)get_number(bytes + 6, 2);
    memcpy(greet->nonce, bytes + 8, WIRE_NONCE_BYTES);
    if (memcmp(bytes, wire_magic, sizeof wire_magic) != 0) {
        return WIRE_GREETING_FOREIGN;
    }
    if (greet->version != WIRE_VERSION) {
        return WIRE_GREETING_VERSION; /* what follows may have another form */
    }
    greeting_mac(secret, greet, bytes, mac);
    return seal_equal(mac, bytes + 8 + WIRE_NONCE_BYTES) ? WIRE_GREETING_FINE
                                                         : WIRE_GREETING_SECRET;
}

void wire_begin(struct wire *wire, enum wire_side side, const struct cluster_secret *secret,
                const uint8_t harness_nonce[WIRE_NONCE_BYTES],
                const uint8_t agent_nonce[WIRE_NONCE_BYTES])
{
    static const char purpose[] = "picklock session";
    struct seal_part parts[] = {
        {purpose, sizeof purpose},
        {harness_nonce, WIRE_NONCE_BYTES},
        {agent_nonce, WIRE_NONCE_BYTES},
    };
    memset(wire, 0, sizeof *wire);
    wire->side = (uint8_t)side;
    seal_make(secret, parts, sizeof parts / sizeof parts[0], wire->key.bytes);
    wire->key.length = SEAL_BYTES;
}

void wire_password(const struct wire *wire, char password[PASSWORD_BYTES])
{
    static const char purpose[] = "picklock password";
    uint8_t mac[SEAL_BYTES];
    seal_make(&wire->key, &(struct seal_part){purpose, sizeof purpose}, 1, mac);
    password_print(mac, password);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void frame_mac(const struct wire *wire, uint8_t side, const uint8_t *bytes,
                      size_t body_bytes, uint8_t mac[SEAL_BYTES])
{
    struct seal_part parts[] = {{&side, 1}, {bytes, WIRE_HEAD_BYTES + body_bytes}};
    seal_make(&wire->key, parts, sizeof parts / sizeof parts[0], mac);
}

size_t wire_seal(struct wire *wire, enum wire_type type, const char *body, size_t body_bytes,
                 uint8_t *bytes)
{
    ASSERT(body_bytes <= WIRE_BODY_BYTES_MAX);
    put_number(bytes, body_bytes, 4);
    bytes[4] = (uint8_t)type;
    put_number(bytes + 5, ++wire->sent, 8);
    if (body_bytes > 0) {
        memcpy(bytes + WIRE_HEAD_BYTES, body, body_bytes);
    }
    frame_mac(wire, wire->side, bytes, body_bytes, bytes + WIRE_HEAD_BYTES + body_bytes);
    return WIRE_HEAD_BYTES + body_bytes + SEAL_BYTES;
}

static enum wire_status wire_broken(struct wire_frame *frame, const char *error)
{
    frame->error = error;
    return WIRE_BROKEN;
}

enum wire_status wire_open(struct wire *wire, const uint8_t *bytes, size_t count,
                           struct wire_frame *frame)
{
    uint8_t mac[SEAL_BYTES];
    memset(frame, 0, sizeof *frame);
    if (count < WIRE_HEAD_BYTES) {
        return WIRE_MORE;
    }
    size_t body_bytes = (size_t)get_number(bytes, 4);
    if (body_bytes > WIRE_BODY_BYTES_MAX) {
        return wire_broken(frame, "it is longer than any message");
    }
    frame->bytes = WIRE_HEAD_BYTES + body_bytes + SEAL_BYTES;
    if (count < frame->bytes) {
        return WIRE_MORE;
    }
    uint8_t other = wire->side == WIRE_HARNESS ? WIRE_AGENT : WIRE_HARNESS;
    frame_mac(wire, other, bytes, body_bytes, mac);
    if (!seal_equal(mac, bytes + WIRE_HEAD_BYTES + body_bytes)) {
        return wire_broken(frame, "its seal is not right");
    }
    if (get_number(bytes + 5, 8) != wire->received + 1) {
        return wire_broken(frame, "its number is not the next");
    }
    frame->type = bytes[4];
    if (frame->type == 0 || frame->type >= WIRE_TYPES) {
        return wire_broken(frame, "its type is unknown");
    }
    wire->received++;
    frame->body = (const char *)bytes + WIRE_HEAD_BYTES;
    frame->body_bytes = body_bytes;
    return WIRE_WHOLE;
}
