/*
 * password.h: the word that opens a run's servers: nobody but the run and its proxies knows it.
 *
 *     char password[PASSWORD_BYTES];
 *     password_make(password);                  drawn anew for every run
 *     password_tell(fd, password, 1000);        a new connection's first word; waits for the answer
 *
 * It never stands in a command line, an environment or a log: a server reads it from a file that
 * only its own user can read. A password that is NULL opens what is open.
 */
#ifndef SERVERS_REDIS_PASSWORD_H
#define SERVERS_REDIS_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>

/* What a server says to the right one. */
#define PASSWORD_WELCOME "+OK\r\n"

enum { PASSWORD_DRAWN_BYTES = 16, PASSWORD_BYTES = 2 * PASSWORD_DRAWN_BYTES + 1 };

void password_make(char password[PASSWORD_BYTES]);
void password_print(const uint8_t drawn[PASSWORD_DRAWN_BYTES], char password[PASSWORD_BYTES]);

/* Say it and wait for the answer; false with errno: EACCES where it is refused. */
bool password_tell(int fd, const char *password, int patience_ms);

/*
 * The same without waiting: say it, and take the answer off the stream when it is there. `missing`
 * counts down the bytes of the answer that are still to come; false: it is refused, or the stream
 * is over (EPIPE where it just ended).
 */
bool password_say(int fd, const char *password, uint32_t *missing);
bool password_heard(int fd, uint32_t *missing);

#endif
