/* admin.c: plain questions to a PostgreSQL server. */
#include "servers/sql/real/admin.h"

#include "base/assert.h"
#include "servers/sql/real/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ADMIN_BYTES = 8192, ADMIN_LOOKS = 50000, ADMIN_NAP_NS = 200000 };

struct letter {
    size_t count;
    char bytes[1024];
};

static void letter_add(struct letter *letter, const char *word)
{
    size_t bytes = strlen(word) + 1;
    ASSERT(letter->count + bytes <= sizeof letter->bytes);
    memcpy(letter->bytes + letter->count, word, bytes);
    letter->count += bytes;
}

static void letter_number(struct letter *letter, size_t at, uint32_t number)
{
    uint32_t wire = htonl(number);
    memcpy(letter->bytes + at, &wire, sizeof wire);
}

/* A message with one word: 'p' and 'Q'. */
static bool send_word(int fd, char type, const char *word)
{
    struct letter letter = {.count = MESSAGE_HEAD_BYTES, .bytes = {type}};
    letter_add(&letter, word);
    letter_number(&letter, 1, (uint32_t)letter.count - 1);
    return send(fd, letter.bytes, letter.count, MSG_NOSIGNAL) == (ssize_t)letter.count;
}

static bool send_start(int fd)
{
    static const char *const words[] = {"user", "picklock", "database", "postgres", ""};
    struct letter letter = {.count = 8};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        letter_add(&letter, words[i]);
    }
    letter_number(&letter, 0, (uint32_t)letter.count);
    letter_number(&letter, 4, MESSAGE_PROTOCOL);
    return send(fd, letter.bytes, letter.count, MSG_NOSIGNAL) == (ssize_t)letter.count;
}

static void hang_up(struct server_process *process)
{
    (void)close(process->talk_fd);
    process->talk_fd = -1;
}

/* What one message says where an answer is looked for. */
static void answer_take(const struct message *message, struct text *answer)
{
    if (message->type != 'D' || message->body_bytes < 6 || answer->length > 0) {
        return;
    }
    uint32_t bytes = message_number(message->body + 2);
    if (bytes <= message->body_bytes - 6) {
        text_add_bytes(answer, message->body + 6, bytes);
    }
}

enum heard { HEARD_LITTLE, HEARD_ALL, HEARD_NO };

/* Look at what has arrived: nothing is taken off the stream before the answer is whole. */
static enum heard answer_look(int fd, struct text *answer)
{
    char bytes[ADMIN_BYTES];
    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    size_t at = 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return HEARD_LITTLE;
    }
    while (got > 0) {
        struct message message;
        if (message_cut(bytes + at, (size_t)got - at, &message) != WIRE_CUT_MESSAGE) {
            return got == (ssize_t)sizeof bytes ? HEARD_NO : HEARD_LITTLE;
        }
        at += message.bytes;
        if (message.type == 'E') {
            return HEARD_NO;
        }
        answer_take(&message, answer);
        if (message.type == 'Z') {
            return recv(fd, bytes, at, 0) == (ssize_t)at ? HEARD_ALL : HEARD_NO;
        }
    }
    return HEARD_NO;
}

bool admin_ready(struct server_process *process)
{
    char memory[8];
    struct text nothing = text_over(memory, sizeof memory);
    if (process->talk_fd < 0) {
        process->talk_fd = address_connect(process->address);
        process->talk_awaited = 0;
    }
    if (process->talk_fd < 0) {
        return false;
    }
    if (process->talk_awaited == 0) {
        /* It reads the password when it asks for it. */
        const char *password = process->address.password;
        process->talk_awaited = 1;
        if (!send_start(process->talk_fd) ||
            (password != NULL && !send_word(process->talk_fd, 'p', password))) {
            hang_up(process);
            return false;
        }
    }
    enum heard heard = answer_look(process->talk_fd, &nothing);
    if (heard == HEARD_NO) {
        hang_up(process);
    }
    return heard == HEARD_ALL;
}

/* What is there already is not all: to wait until it can be read would be no wait. */
static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ADMIN_NAP_NS}, NULL);
}

/* Only a connection that has been greeted is kept open between questions. */
static bool greeted(struct server_process *process)
{
    bool ready = process->talk_fd >= 0;
    for (int i = 0; i < ADMIN_LOOKS && !ready; i++) {
        ready = admin_ready(process);
        if (!ready) {
            nap();
        }
    }
    return ready;
}

struct result admin_query(struct server_process *process, const char *statement,
                          struct text *answer, struct text *why)
{
    enum heard heard = HEARD_NO;
    text_clear(answer);
    if (greeted(process) && send_word(process->talk_fd, 'Q', statement)) {
        heard = HEARD_LITTLE;
        for (int i = 0; i < ADMIN_LOOKS && heard == HEARD_LITTLE; i++) {
            nap();
            text_clear(answer);
            heard = answer_look(process->talk_fd, answer);
        }
    }
    if (heard != HEARD_ALL) {
        if (process->talk_fd >= 0) {
            hang_up(process);
        }
        text_add(why, "node %u does not answer \"%s\"", process->index + 1, statement);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}
