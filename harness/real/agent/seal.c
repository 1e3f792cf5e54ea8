/* seal.c: HMAC-SHA256 under a shared secret: the only file that knows OpenSSL. */
#include "harness/real/agent/seal.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEAL_INPUT_BYTES = 1 << 16 };

void seal_make(const struct cluster_secret *secret, const struct seal_part *parts, size_t count,
               uint8_t mac[SEAL_BYTES])
{
    static uint8_t input[SEAL_INPUT_BYTES];
    size_t length = 0;
    unsigned int mac_bytes = 0;
    ASSERT(count <= SEAL_PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        ASSERT(parts[i].bytes <= sizeof input - length);
        memcpy(input + length, parts[i].data, parts[i].bytes);
        length += parts[i].bytes;
    }
    const unsigned char *made =
        HMAC(EVP_sha256(), secret->bytes, (int)secret->length, input, length, mac, &mac_bytes);
    ASSERT(made != NULL && mac_bytes == SEAL_BYTES);
}

bool seal_equal(const uint8_t a[SEAL_BYTES], const uint8_t b[SEAL_BYTES])
{
    return CRYPTO_memcmp(a, b, SEAL_BYTES) == 0;
}

void seal_random(uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t got = getrandom(bytes, count, 0);
        ASSERT(got > 0 || errno == EINTR);
        bytes += got > 0 ? got : 0;
        count -= got > 0 ? (size_t)got : 0;
    }
}

struct result seal_read_secret(const char *path, struct cluster_secret *secret, struct text *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, secret->bytes, sizeof secret->bytes) : -1;
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (got < 0) {
        text_add(why, "the secret cannot be read: %s: %s", path, strerror(error));
        return result_error(ERROR_USAGE);
    }
    secret->length = (uint32_t)got;
    while (secret->length > 0 && (secret->bytes[secret->length - 1] == '\n' ||
                                  secret->bytes[secret->length - 1] == '\r')) {
        secret->length--;
    }
    if (secret->length < CLUSTER_SECRET_BYTES_MIN || got == (ssize_t)sizeof secret->bytes) {
        text_add(why, "the secret in %s has %u bytes: it must have %d to %d", path, secret->length,
                 CLUSTER_SECRET_BYTES_MIN, CLUSTER_SECRET_BYTES_MAX - 1);
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

struct result seal_make_secret(const char *path, struct text *why)
{
    uint8_t bytes[SEAL_BYTES];
    char line[2 * SEAL_BYTES + 2];
    char part[4096];
    struct text text = text_over(line, sizeof line);
    if (access(path, F_OK) == 0) {
        return RESULT_OK;
    }
    seal_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        text_add(&text, "%02x", bytes[i]);
    }
    text_add(&text, "\n");
    /* A random name: whoever is in another process namespace may have our process number. */
    uint32_t name;
    seal_random((uint8_t *)&name, sizeof name);
    (void)snprintf(part, sizeof part, "%.3900s.%08x", path, name);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR);
    bool written = fd >= 0 && write(fd, line, text.length) == (ssize_t)text.length;
    if (fd >= 0) {
        (void)close(fd);
    }
    bool made = written && (link(part, path) == 0 || errno == EEXIST);
    int error = errno;
    (void)unlink(part);
    if (!made) {
        text_add(why, "the secret cannot be made: %s: %s", path, strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}
