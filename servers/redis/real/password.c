/* password.c: the word that opens a run's servers. */
#include "servers/redis/real/password.h"

#include "base/assert.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

static const char password_welcome[] = PASSWORD_WELCOME;

void password_print(const uint8_t drawn[PASSWORD_DRAWN_BYTES], char password[PASSWORD_BYTES])
{
    for (int i = 0; i < PASSWORD_DRAWN_BYTES; i++) {
        (void)snprintf(password + 2 * i, 3, "%02x", drawn[i]);
    }
}

void password_make(char password[PASSWORD_BYTES])
{
    uint8_t drawn[PASSWORD_DRAWN_BYTES];
    ASSERT(getrandom(drawn, sizeof drawn, 0) == (ssize_t)sizeof drawn);
    password_print(drawn, password);
}

bool password_say(int fd, const char *password, uint32_t *missing)
{
    char line[PASSWORD_BYTES + 16];
    *missing = 0;
    if (password == NULL) {
        return true;
    }
    int bytes = snprintf(line, sizeof line, "AUTH %s\r\n", password);
    ASSERT(bytes > 0 && bytes < (int)sizeof line);
    *missing = sizeof password_welcome - 1;
    return send(fd, line, (size_t)bytes, MSG_NOSIGNAL) == bytes;
}

bool password_heard(int fd, uint32_t *missing)
{
    while (*missing > 0) {
        char answer[sizeof password_welcome];
        const char *expected = password_welcome + sizeof password_welcome - 1 - *missing;
        ssize_t got = recv(fd, answer, *missing, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return true;
        }
        if (got <= 0 || memcmp(answer, expected, (size_t)got) != 0) {
            errno = got > 0 ? EACCES : got == 0 ? EPIPE : errno;
            return false;
        }
        *missing -= (uint32_t)got;
    }
    return true;
}

bool password_tell(int fd, const char *password, int patience_ms)
{
    uint32_t missing;
    bool fine = password_say(fd, password, &missing);
    while (fine && missing > 0) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        int ready = poll(&readable, 1, patience_ms);
        if (ready == 0) {
            errno = EAGAIN;
        }
        fine = ready > 0 ? password_heard(fd, &missing) : ready < 0 && errno == EINTR;
    }
    return fine;
}
