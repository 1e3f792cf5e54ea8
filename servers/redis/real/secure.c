/* secure.c: TLS towards a redis-server, by hiredis' own functions for it: hiredis 1.x has them. */
#include "servers/redis/real/secure.h"

#include "base/assert.h"
#include "servers/loaded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* hiredis 1.x has conversions in its headers that our flags refuse outside of /usr/include. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <hiredis/hiredis.h>
#if __has_include(<hiredis/hiredis_ssl.h>)
#include <hiredis/hiredis_ssl.h>
#define SECURE_THERE 1
#else
#define SECURE_THERE 0
#endif
#pragma GCC diagnostic pop

#define WORD_OF(number) #number
#define WORD(number)    WORD_OF(number)
#define HIREDIS_VERSION WORD(HIREDIS_MAJOR) "." WORD(HIREDIS_MINOR) "." WORD(HIREDIS_PATCH)

#if SECURE_THERE

#include <openssl/err.h>

enum { SECURE_SOCKETS_MAX = 1 << 16, SECURE_SENTENCE_BYTES = 160 };

/* ---- the library ----------------------------------------------------------------------------- */

#define HIREDIS_SSL_MAP(X)                                                                         \
    X(redisInitOpenSSL)                                                                            \
    X(redisCreateSSLContext)                                                                       \
    X(redisSSLContextGetError)                                                                     \
    X(redisInitiateSSLWithContext)

#define HIREDIS_SSL "libhiredis_ssl.so." WORD(HIREDIS_SONAME)

struct hiredis_ssl {
    HIREDIS_SSL_MAP(LOADED_MEMBER)
};

bool secure_known(void)
{
    return true;
}

static struct hiredis_ssl ssl_functions;

static bool ssl_begin(void)
{
    return ssl_functions.redisInitOpenSSL() == REDIS_OK;
}

static const struct hiredis_ssl *hiredis_ssl(void)
{
    static const char *const names[] = {HIREDIS_SSL_MAP(LOADED_NAME)};
    static struct loaded ssl_library = {
        .files = {HIREDIS_SSL}, .begin = ssl_begin, LOADED_INTO(ssl_functions, names)};
    return loaded_there(&ssl_library) ? &ssl_functions : NULL;
}

bool secure_there(struct text *name)
{
    bool there = hiredis_ssl() != NULL;
    text_add(name, there ? "hiredis " HIREDIS_VERSION : HIREDIS_SSL " is missing");
    return there;
}

/* ---- certificates ---------------------------------------------------------------------------- */

static const char *or_null(const char *word)
{
    return word[0] != '\0' ? word : NULL;
}

static struct result file_readable(const char *path, struct text *why)
{
    if (path[0] != '\0' && access(path, R_OK) != 0) {
        text_add(why, "TLS: %s: %s", path, strerror(errno));
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

struct result secure_prepare(const struct secure_files *files, struct secure **secure,
                             struct text *why)
{
    const struct hiredis_ssl *library = hiredis_ssl();
    redisSSLContextError error = REDIS_SSL_CTX_NONE;
    ASSERT(files->ca[0] != '\0');
    if (library == NULL) {
        text_add(why, "TLS: " HIREDIS_SSL " is missing, which is a part of hiredis");
        return result_error(ERROR_ENVIRONMENT);
    }
    TRY(file_readable(files->ca, why));
    TRY(file_readable(files->cert, why));
    TRY(file_readable(files->key, why));
    redisSSLContext *made = library->redisCreateSSLContext(
        files->ca, NULL, or_null(files->cert), or_null(files->key), or_null(files->sni), &error);
    if (made == NULL) {
        text_add(why, "TLS: %s (ca %s%s%s%s%s)", library->redisSSLContextGetError(error), files->ca,
                 files->cert[0] != '\0' ? ", cert " : "", files->cert,
                 files->key[0] != '\0' ? ", key " : "", files->key);
        return result_error(ERROR_USAGE);
    }
    *secure = (struct secure *)(void *)made;
    return RESULT_OK;
}

/* ---- sockets --------------------------------------------------------------------------------- */

struct secure_socket {
    redisContext *context; /* NULL: a plain socket */
    bool waits;
    bool heard; /* something came from it */
};

static struct secure_socket sockets[SECURE_SOCKETS_MAX];
static char sentence[SECURE_SENTENCE_BYTES]; /* what failed last */

static struct secure_socket *socket_of(int fd)
{
    bool secured = fd >= 0 && fd < SECURE_SOCKETS_MAX && sockets[fd].context != NULL;
    return secured ? &sockets[fd] : NULL;
}

bool secure_is(int fd)
{
    return socket_of(fd) != NULL;
}

const char *secure_error(int error)
{
    return error == EPROTO && sentence[0] != '\0' ? sentence : strerror(error);
}

static int socket_fails_as(const char *why)
{
    (void)snprintf(sentence, sizeof sentence, "TLS: %s", why);
    errno = EPROTO;
    return -1;
}

/* What OpenSSL says of it, else the system, else hiredis. Gives -1 with errno. */
static int socket_fails(const redisContext *context)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    if (reason == NULL && errno != 0) {
        return -1;
    }
    return socket_fails_as(reason != NULL ? reason : context->errstr);
}

/* A server that ends without a word: who we are is asked for behind the greeting. */
static ssize_t socket_ended(const struct secure_socket *of, ssize_t given)
{
    bool mute = !of->heard && (given == 0 || errno == ECONNRESET || errno == EPIPE);
    return mute ? socket_fails_as("it ended the connection: it may want a certificate of ours")
                : given;
}

static bool socket_blocks(int fd, bool blocks)
{
    int flags = fcntl(fd, F_GETFL);
    flags = blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    return fcntl(fd, F_SETFL, flags) == 0;
}

/* hiredis asks the socket for the server at once, and waits for it only where the socket does. */
static bool socket_greet(struct secure *secure, redisContext *context, bool waits)
{
    const struct timeval patience = {.tv_sec = SECURE_WAIT_SECONDS};
    if (!socket_blocks(context->fd, waits)) {
        return false;
    }
    if (waits &&
        (setsockopt(context->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
         setsockopt(context->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)) {
        return false;
    }
    context->flags = waits ? context->flags | REDIS_BLOCK : context->flags & ~REDIS_BLOCK;
    ERR_clear_error();
    errno = 0;
    if (hiredis_ssl()->redisInitiateSSLWithContext(context, (redisSSLContext *)(void *)secure) !=
        REDIS_OK) {
        return false;
    }
    context->flags &= ~REDIS_BLOCK; /* from here on it is we who wait */
    return socket_blocks(context->fd, false);
}

bool secure_begin(struct secure *secure, int fd, enum secure_patience patience)
{
    if (secure == NULL) {
        return true;
    }
    if (fd >= SECURE_SOCKETS_MAX) {
        errno = EMFILE;
        return false;
    }
    ASSERT(!secure_is(fd));
    redisContext *context = redisConnectFd(fd);
    if (context == NULL) {
        errno = ENOMEM;
        return false;
    }
    if (context->err != 0 || !socket_greet(secure, context, patience == SECURE_WAITS)) {
        (void)socket_fails(context);
        if (errno == EAGAIN) {
            (void)socket_fails_as("no answer to our greeting: it seems to speak none");
        }
        int error = errno;
        (void)redisFreeKeepFd(context);
        errno = error;
        return false;
    }
    sockets[fd] = (struct secure_socket){context, patience == SECURE_WAITS, false};
    return true;
}

/* Write what waits; false: it is over. `*done`: nothing waits any more. */
static bool socket_flush(redisContext *context, int *done)
{
    ERR_clear_error();
    errno = 0;
    return redisBufferWrite(context, done) == REDIS_OK;
}

void secure_flush(int fd)
{
    struct secure_socket *of = socket_of(fd);
    int done;
    if (of != NULL) {
        (void)socket_flush(of->context, &done); /* who reads next hears of it */
    }
}

ssize_t secure_send(int fd, const void *bytes, size_t count, int flags)
{
    struct secure_socket *of = socket_of(fd);
    int done = 0;
    if (of == NULL) {
        return send(fd, bytes, count, flags | MSG_NOSIGNAL);
    }
    /* One piece waits at most: then the next has to wait outside. */
    if (!socket_flush(of->context, &done)) {
        return socket_ended(of, socket_fails(of->context));
    }
    if (!done) {
        errno = EAGAIN;
        return -1;
    }
    if (redisAppendFormattedCommand(of->context, bytes, count) != REDIS_OK ||
        !socket_flush(of->context, &done)) {
        return socket_ended(of, socket_fails(of->context));
    }
    return (ssize_t)count;
}

/* What is there; 0 at the end, -1 with EAGAIN for nothing. */
static ssize_t socket_read(redisContext *context, void *bytes, size_t room)
{
    int done;
    ERR_clear_error();
    errno = 0;
    ssize_t got = context->err == 0 ? context->funcs->read(context, bytes, room) : -1;
    if (got < 0) {
        return context->err == REDIS_ERR_EOF ? 0 : socket_fails(context);
    }
    /* By reading, the server may have become known: what waited for that goes now. */
    if (!socket_flush(context, &done)) {
        return got > 0 ? got : socket_fails(context);
    }
    if (got == 0) {
        errno = EAGAIN;
        return -1;
    }
    return got;
}

ssize_t secure_recv(int fd, void *bytes, size_t room, int flags)
{
    struct secure_socket *of = socket_of(fd);
    if (of == NULL) {
        return recv(fd, bytes, room, flags);
    }
    for (;;) {
        ssize_t got = socket_read(of->context, bytes, room);
        bool waits = of->waits && (flags & MSG_DONTWAIT) == 0;
        of->heard = of->heard || got > 0;
        if (got > 0 || (got < 0 && errno == EAGAIN && !waits)) {
            return got;
        }
        if (got == 0 || errno != EAGAIN) {
            return socket_ended(of, got);
        }
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        int ready = poll(&readable, 1, SECURE_WAIT_SECONDS * 1000);
        if (ready == 0) {
            errno = EAGAIN;
            return -1;
        }
    }
}

void secure_close(int fd)
{
    struct secure_socket *of = socket_of(fd);
    if (of != NULL) {
        (void)redisFreeKeepFd(of->context);
        *of = (struct secure_socket){.context = NULL};
    }
    (void)close(fd);
}

#else /* hiredis 0.14 */

bool secure_known(void)
{
    return false;
}

bool secure_there(struct text *name)
{
    text_add(name, "hiredis " HIREDIS_VERSION " has none (it came with hiredis 1.0)");
    return false;
}

struct result secure_prepare(const struct secure_files *files, struct secure **secure,
                             struct text *why)
{
    (void)files;
    *secure = NULL;
    text_add(why, "TLS: ");
    (void)secure_there(why);
    return result_error(ERROR_USAGE);
}

bool secure_begin(struct secure *secure, int fd, enum secure_patience patience)
{
    (void)fd;
    (void)patience;
    ASSERT(secure == NULL);
    return true;
}

ssize_t secure_send(int fd, const void *bytes, size_t count, int flags)
{
    return send(fd, bytes, count, flags | MSG_NOSIGNAL);
}

ssize_t secure_recv(int fd, void *bytes, size_t room, int flags)
{
    return recv(fd, bytes, room, flags);
}

void secure_flush(int fd)
{
    (void)fd;
}

bool secure_is(int fd)
{
    (void)fd;
    return false;
}

const char *secure_error(int error)
{
    return strerror(error);
}

void secure_close(int fd)
{
    (void)close(fd);
}

#endif
