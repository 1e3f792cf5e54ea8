/*
 * connect.c: a lock's connection to an etcd member: HTTP/1.1 over libcurl, one question at a time,
 * in the order in which they were asked.
 *
 * The socket is ours and given to libcurl connected, so that the descriptor stays the same and a
 * connection that is over is over: links.h makes another. A member that knows of no leader leaves a
 * question open for 5 s and more, and with it all behind it: a connection on which one is open for
 * CONNECT_PATIENCE_NS is given up.
 */
#include "servers/etcd/real/real.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "lockcore/drivers/links.h"
#include "servers/etcd/real/gateway.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if __has_include(<curl/curl.h>)

#include "servers/etcd/real/libcurl.h"

#define CONNECT_PATIENCE_NS (1000 * NS_PER_MS)
#define CONNECT_LOOK_NS     (100 * NS_PER_MS)

enum { CONNECT_QUESTIONS_MAX = 4096, CONNECT_URL_BYTES = 320, CONNECT_ANSWER_BYTES = 16384 };

/* ---- the library ----------------------------------------------------------------------------- */

static struct libcurl functions;

static bool library_begin(void)
{
    return functions.curl_global_init(CURL_GLOBAL_NOTHING) == CURLE_OK;
}

const struct libcurl *libcurl(void)
{
    static const char *const names[] = {LIBCURL_MAP(LOADED_NAME)};
    static struct loaded library = {.files = {"libcurl.so.4", "libcurl-gnutls.so.4"},
                                    .begin = library_begin,
                                    LOADED_INTO(functions, names)};
    return loaded_there(&library) ? &functions : NULL;
}

struct server_lack libcurl_lacks(void)
{
    struct server_lack missing = {"libcurl is not installed", "apt-get install libcurl4"};
    return libcurl() != NULL ? (struct server_lack){NULL, NULL} : missing;
}

/* ---- one connection -------------------------------------------------------------------------- */

struct question {
    struct question *next; /* owned */
    struct lock_command command;
    uint32_t resource_bytes;
    char resource[];
};

enum asking { ASKING_NOTHING, ASKING_RUNS, ASKING_ANSWERED };

struct connection {
    const struct libcurl *curl;
    CURLM *multi;               /* owned */
    CURL *easy;                 /* owned */
    struct curl_slist *headers; /* owned: of the question that is asked */
    int fd;                     /* owned */
    bool given;                 /* ... and libcurl's to use */
    bool over;
    bool full;
    uint8_t asking; /* enum asking: the first of the questions */
    uint32_t question_count;
    struct question *first; /* owned */
    struct question *last;
    int64_t asked_ns;
    int64_t due_ns; /* when libcurl wants to be called; TIME_NEVER */
    struct lock_reply reply;
    char origin[CONNECT_URL_BYTES]; /* "http://127.0.0.1:2379" */
    struct gateway_request request;
    uint32_t answer_bytes;
    char answer[CONNECT_ANSWER_BYTES];
};

static void question_drop(struct connection *connection)
{
    struct question *first = connection->first;
    connection->first = first->next;
    connection->last = connection->first != NULL ? connection->last : NULL;
    connection->question_count--;
    memory_release(first);
}

static void connection_close(void *of)
{
    struct connection *connection = of;
    const struct libcurl *curl = connection->curl;
    if (connection->asking == ASKING_RUNS) {
        (void)curl->curl_multi_remove_handle(connection->multi, connection->easy);
    }
    if (connection->easy != NULL) {
        curl->curl_easy_cleanup(connection->easy);
    }
    if (connection->multi != NULL) {
        (void)curl->curl_multi_cleanup(connection->multi);
    }
    curl->curl_slist_free_all(connection->headers);
    while (connection->first != NULL) {
        question_drop(connection);
    }
    if (connection->fd >= 0) {
        (void)close(connection->fd);
    }
    memory_release(connection);
}

/* ---- what libcurl asks of us ----------------------------------------------------------------- */

static curl_socket_t on_open(void *of, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct connection *connection = of;
    (void)purpose;
    (void)address;
    bool first = !connection->given;
    connection->given = true;
    return first ? connection->fd : CURL_SOCKET_BAD;
}

static int on_made(void *of, curl_socket_t fd, curlsocktype purpose)
{
    (void)of;
    (void)fd;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static int on_close(void *of, curl_socket_t fd)
{
    struct connection *connection = of;
    (void)fd;
    connection->over = true; /* we close it, when nobody waits for it any more */
    return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *of, void *socket)
{
    struct connection *connection = of;
    (void)easy;
    (void)fd;
    (void)socket;
    connection->full = what == CURL_POLL_OUT || what == CURL_POLL_INOUT;
    return 0;
}

static int on_timer(CURLM *multi, long after_ms, void *of)
{
    struct connection *connection = of;
    (void)multi;
    connection->due_ns = after_ms < 0 ? TIME_NEVER : monotonic_ns() + after_ms * NS_PER_MS;
    return 0;
}

static size_t on_answer(char *data, size_t size, size_t count, void *of)
{
    struct connection *connection = of;
    size_t bytes = size * count;
    if (bytes > sizeof connection->answer - connection->answer_bytes) {
        return 0; /* refused: no answer to a lock is so long */
    }
    memcpy(connection->answer + connection->answer_bytes, data, bytes);
    connection->answer_bytes += (uint32_t)bytes;
    return bytes;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int socket_open(const struct lock_address *address)
{
    char port[16];
    int one = 1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    (void)snprintf(port, sizeof port, "%d", address->port);
    if (address->port == 0 || getaddrinfo(address->name, port, &hints, &found) != 0) {
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* What is the same for all questions. */
static bool easy_make(struct connection *connection)
{
    const struct libcurl *curl = connection->curl;
    CURL *easy = curl->curl_easy_init();
    CURLM *multi = curl->curl_multi_init();
    connection->easy = easy;
    connection->multi = multi;
    return easy != NULL && multi != NULL &&
           curl->curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
           curl->curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, connection) == CURLM_OK &&
           curl->curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
           curl->curl_multi_setopt(multi, CURLMOPT_TIMERDATA, connection) == CURLM_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ==
               CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)INT32_MAX) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, connection) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_made) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, connection) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer) == CURLE_OK &&
           curl->curl_easy_setopt(easy, CURLOPT_WRITEDATA, connection) == CURLE_OK;
}

static void *connection_open(const struct lock_address *address, void *shared)
{
    (void)shared;
    const struct libcurl *curl = libcurl();
    struct connection *connection = curl != NULL ? memory_resize(NULL, sizeof *connection) : NULL;
    if (connection == NULL) {
        return NULL;
    }
    memset(connection, 0, sizeof *connection);
    connection->curl = curl;
    connection->due_ns = TIME_NEVER;
    bool v6 = strchr(address->name, ':') != NULL;
    (void)snprintf(connection->origin, sizeof connection->origin, "http://%s%s%s:%d", v6 ? "[" : "",
                   address->name, v6 ? "]" : "", address->port);
    connection->fd = socket_open(address);
    if (connection->fd < 0 || !easy_make(connection)) {
        connection_close(connection);
        return NULL;
    }
    return connection;
}

static int connection_fd(const void *of)
{
    const struct connection *connection = of;
    return connection->fd;
}

static enum connection_progress connection_progress(void *of)
{
    return connection_socket_progress(connection_fd(of));
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool connection_add(void *of, const struct lock_request *request)
{
    struct connection *connection = of;
    if (request->resource_bytes > GATEWAY_NAME_BYTES_MAX ||
        connection->question_count == CONNECT_QUESTIONS_MAX) {
        return false;
    }
    struct question *question = memory_resize(NULL, sizeof *question + request->resource_bytes);
    if (question == NULL) {
        return false;
    }
    question->next = NULL;
    question->command = *request->command;
    question->resource_bytes = (uint32_t)request->resource_bytes;
    memcpy(question->resource, request->resource, request->resource_bytes);
    if (connection->first == NULL) {
        connection->first = question;
    } else {
        connection->last->next = question;
    }
    connection->last = question;
    connection->question_count++;
    return true;
}

static bool headers_make(struct connection *connection)
{
    const struct libcurl *curl = connection->curl;
    char id[sizeof connection->request.id + 32];
    (void)snprintf(id, sizeof id, "X-Request-ID: %s", connection->request.id);
    curl->curl_slist_free_all(connection->headers);
    connection->headers = curl->curl_slist_append(NULL, id);
    struct curl_slist *more =
        curl->curl_slist_append(connection->headers, "Content-Type: application/json");
    connection->headers = more != NULL ? more : connection->headers;
    return connection->headers != NULL && more != NULL;
}

/* The first of the questions, if none is under way. */
static bool question_ask(struct connection *connection)
{
    const struct libcurl *curl = connection->curl;
    const struct question *first = connection->first;
    char url[CONNECT_URL_BYTES + 64];
    if (first == NULL || connection->asking != ASKING_NOTHING) {
        return true;
    }
    gateway_print(&first->command, (struct wire_text){first->resource, first->resource_bytes},
                  &connection->request);
    (void)snprintf(url, sizeof url, "%s%s", connection->origin, connection->request.path);
    connection->answer_bytes = 0;
    connection->asked_ns = monotonic_ns();
    if (!headers_make(connection) ||
        curl->curl_easy_setopt(connection->easy, CURLOPT_URL, url) != CURLE_OK ||
        curl->curl_easy_setopt(connection->easy, CURLOPT_HTTPHEADER, connection->headers) !=
            CURLE_OK ||
        curl->curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDS, connection->request.body) !=
            CURLE_OK ||
        curl->curl_multi_add_handle(connection->multi, connection->easy) != CURLM_OK) {
        return false;
    }
    connection->asking = ASKING_RUNS;
    return true;
}

/* Has libcurl an answer, or given up? */
static bool answer_take(struct connection *connection)
{
    const struct libcurl *curl = connection->curl;
    int left;
    const CURLMsg *message = curl->curl_multi_info_read(connection->multi, &left);
    if (message == NULL) {
        return true;
    }
    long status = 0;
    bool whole = message->data.result == CURLE_OK;
    (void)curl->curl_easy_getinfo(connection->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl->curl_multi_remove_handle(connection->multi, connection->easy);
    connection->asking = ASKING_ANSWERED;
    enum wire_tells tells;
    connection->reply =
        gateway_reply(&connection->first->command, (uint32_t)status,
                      (struct wire_text){connection->answer, connection->answer_bytes}, &tells);
    return whole;
}

/* Let libcurl do what can be done now. */
static bool go_on(struct connection *connection, int event)
{
    int running;
    CURLMcode code = CURLM_OK;
    if (event != 0) {
        code = connection->curl->curl_multi_socket_action(connection->multi, connection->fd, event,
                                                          &running);
    }
    for (int i = 0; i < 100 && code == CURLM_OK && connection->due_ns <= monotonic_ns(); i++) {
        connection->due_ns = TIME_NEVER; /* unless it says so again */
        code = connection->curl->curl_multi_socket_action(connection->multi, CURL_SOCKET_TIMEOUT, 0,
                                                          &running);
    }
    return code == CURLM_OK && (connection->asking != ASKING_RUNS || answer_take(connection));
}

static bool connection_write(void *of, bool *full)
{
    struct connection *connection = of;
    bool fine =
        question_ask(connection) && go_on(connection, connection->full ? CURL_CSELECT_OUT : 0);
    *full = connection->full;
    return fine;
}

/* Nothing is owed: all that can come is the end. */
static bool idle_is_fine(const struct connection *connection)
{
    char byte;
    return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EINTR);
}

static bool connection_read(void *of)
{
    struct connection *connection = of;
    if (connection->asking != ASKING_RUNS) {
        return connection->asking == ASKING_ANSWERED || idle_is_fine(connection);
    }
    return go_on(connection, CURL_CSELECT_IN);
}

static enum connection_next connection_next(void *of, const struct lock_command *asked,
                                            struct connection_said *said)
{
    struct connection *connection = of;
    if (connection->asking == ASKING_ANSWERED) {
        said->reply = connection->reply;
        question_drop(connection);
        connection->asking = ASKING_NOTHING;
        return asked != NULL ? CONNECTION_REPLY : CONNECTION_GARBAGE;
    }
    if (connection->over || !question_ask(connection) || !go_on(connection, 0)) {
        return connection->over && connection->first == NULL ? CONNECTION_EMPTY
                                                             : CONNECTION_GARBAGE;
    }
    return connection->asking == ASKING_ANSWERED ? connection_next(of, asked, said)
                                                 : CONNECTION_EMPTY;
}

static int64_t connection_patience_ns(const void *of)
{
    const struct connection *connection = of;
    int64_t left_ns =
        connection->due_ns == TIME_NEVER ? CONNECT_LOOK_NS : connection->due_ns - monotonic_ns();
    return left_ns < 0 ? 0 : left_ns < CONNECT_LOOK_NS ? left_ns : CONNECT_LOOK_NS;
}

static bool connection_tend(void *of)
{
    struct connection *connection = of;
    if (connection->asking != ASKING_RUNS) {
        return true;
    }
    /* Whoever stood still himself looks first whether the answer is here. */
    return go_on(connection, CURL_CSELECT_IN) &&
           (connection->asking != ASKING_RUNS ||
            monotonic_ns() - connection->asked_ns < CONNECT_PATIENCE_NS);
}

const struct connection_kind etcd_connection = {
    .name = "etcd",
    .open = connection_open,
    .fd = connection_fd,
    .progress = connection_progress,
    .add = connection_add,
    .write = connection_write,
    .read = connection_read,
    .next = connection_next,
    .close = connection_close,
    .patience_ns = connection_patience_ns,
    .tend = connection_tend,
};

#else

struct server_lack libcurl_lacks(void)
{
    return (struct server_lack){"picklock was built without libcurl's header",
                                "apt-get install libcurl4-openssl-dev, then build picklock again"};
}

const struct connection_kind etcd_connection = {.name = "etcd", .open = server_connection_unbuilt};

#endif
