/*
 * secure.h: TLS towards a redis-server that wants it, by the means of hiredis 1.x.
 *
 *     secure_prepare(&files, &secure, why);       once: certificates are read
 *     secure_begin(secure, fd, SECURE_WAITS);     a connected socket speaks TLS from here on
 *     secure_send(fd, ...), secure_recv(fd, ...)  as send and recv, on any socket, secured or not
 *     secure_close(fd);
 *
 * Bytes that are read here are plain ones: whoever reads a wire reads it on this side. Which socket
 * is secured is known by its descriptor, so that who has a plain one needs nothing but the names.
 *
 * hiredis 0.14 has no TLS: a picklock that was built with it refuses to prepare any. libhiredis_ssl
 * is loaded when it is first needed. The server's certificate must come from `ca`; hiredis compares
 * no name with it. One thread; a process that is forked takes the prepared ones with it.
 */
#ifndef SERVERS_REDIS_SECURE_H
#define SERVERS_REDIS_SECURE_H

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SECURE_PATH_BYTES = 2048, SECURE_NAME_BYTES = 256, SECURE_WAIT_SECONDS = 10 };

/* Whom to believe, and who we are. */
struct secure_files {
    char ca[SECURE_PATH_BYTES];   /* certificates of who signs servers' */
    char cert[SECURE_PATH_BYTES]; /* our own and its key, where the server wants one; "": none */
    char key[SECURE_PATH_BYTES];
    char sni[SECURE_NAME_BYTES]; /* the name that we ask the server for; "": none */
};

struct secure;

/* Was this picklock built with a hiredis that has TLS? */
bool secure_known(void);

/* "hiredis 1.3.0": whose TLS it is; false: there is none, and `name` says why. */
bool secure_there(struct text *name);

/*
 * Read the files. ERROR_USAGE where this picklock knows no TLS, or a file is not fit;
 * ERROR_ENVIRONMENT where libhiredis_ssl is not there. What is made is kept until the process ends.
 */
MUST_USE struct result secure_prepare(const struct secure_files *files, struct secure **secure,
                                      struct text *why);

enum secure_patience {
    SECURE_WAITS, /* for the server, SECURE_WAIT_SECONDS: here, and in secure_recv of such a socket
                   */
    SECURE_LATER, /* never: bytes that are sent wait until the server is known */
};

/* False with errno, and secure_error says more. A `secure` that is NULL leaves the socket plain. */
bool secure_begin(struct secure *secure, int fd, enum secure_patience patience);

/* As send and recv with MSG_NOSIGNAL; MSG_DONTWAIT is heeded. */
ssize_t secure_send(int fd, const void *bytes, size_t count, int flags);
ssize_t secure_recv(int fd, void *bytes, size_t room, int flags);

/* Write what was sent and waits. Nothing on a plain socket. */
void secure_flush(int fd);

bool secure_is(int fd);

/* What errno `error` says: of EPROTO, which is TLS', what went wrong last. */
const char *secure_error(int error);

void secure_close(int fd);

#endif
