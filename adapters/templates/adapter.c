/*
 * adapter.c: a template: put a lock library in C behind picklock (docs/ADAPTERS.md).
 *
 *     cc -o /tmp/adapter adapters/templates/adapter.c && picklock run --adapter /tmp/adapter
 *
 * Replace the library by calls of yours, and say in DECLARES what it does.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* "features": all that it does, see docs/ADAPTERS.md; "nodes": or "N", for a majority of several */
#define DECLARES                                                                                   \
    "\"library\":\"template 1\",\"owner\":\"object\",\"nodes\":1,"                                 \
    "\"features\":[\"validity\",\"extend\",\"clock\"]"
#define COMPARE "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call("
#define DELETE  COMPARE "'del',KEYS[1]) end return 0"
#define EXPIRE  COMPARE "'pexpire',KEYS[1],ARGV[2]) end return 0"

/* ---- SET NX PX on one node, by hand: your library goes here ---------------------------------- */

static int node = -1;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char held[64]; /* the value of our key; one resource at a time */

static void library_connect(void)
{
    node = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(node, (struct sockaddr *)&address, sizeof address) != 0) {
        close(node);
        node = -1;
    }
}

/* Nobody knows what became of it; the next one connects again. */
static int library_lost(void)
{
    close(node);
    node = -1;
    return 0;
}

/* Ask, words end with NULL. Gives the two first characters of the reply; 0: nobody knows. */
static int library_ask(const char *word, ...)
{
    char text[1024] = "";
    char reply[256] = "";
    size_t bytes = 0, got = 0;
    int count = 0;
    va_list words;
    va_start(words, word);
    for (; word != NULL; word = va_arg(words, const char *), count++) {
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "$%zu\r\n%s\r\n", strlen(word),
                                  word);
    }
    va_end(words);
    char request[1100];
    int length = snprintf(request, sizeof request, "*%d\r\n%s", count, text);
    if (node < 0) {
        library_connect();
    }
    if (node < 0 || send(node, request, (size_t)length, MSG_NOSIGNAL) != length) {
        return library_lost();
    }
    while (got < sizeof reply - 1 && strchr(reply, '\n') == NULL) {
        ssize_t more = read(node, reply + got, sizeof reply - 1 - got);
        if (more <= 0) {
            return library_lost();
        }
        got += (size_t)more;
    }
    return reply[0] == '-' ? 0 : reply[0] << 8 | reply[1];
}

/* ---- the protocol ---------------------------------------------------------------------------- */

static double clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A member of a request; the lines are flat, and no text in them is escaped. */
static void member(const char *line, const char *name, char out[128])
{
    char mark[64];
    snprintf(mark, sizeof mark, "\"%s\":", name);
    const char *at = strstr(line, mark);
    at = at != NULL ? at + strlen(mark) : "";
    at += strspn(at, "[\"");
    snprintf(out, 128, "%.*s", (int)strcspn(at, "\",]}"), at);
}

static void refuse(const char *id, int said)
{
    /* "fail" where it surely did not happen; "info" where nobody knows. */
    printf("{\"id\":%s,\"type\":\"%s\"}\n", id, said == 0 ? "info" : "fail");
}

/* When it was computed, on our own monotonic clock: so that it counts from there. */
static void promise(const char *id, double ttl, double begun)
{
    double now = clock_ms(CLOCK_MONOTONIC);
    printf("{\"id\":%s,\"type\":\"ok\",\"value\":\"%s\",\"validity_ms\":%.3f,\"at_ms\":%.3f}\n", id,
           held, ttl * 0.99 - 2 - (now - begun), now);
}

static int spent(const char *ttl, double begun)
{
    return atof(ttl) * 0.99 - 2 - (clock_ms(CLOCK_MONOTONIC) - begun) <= 0;
}

static void serve(const char *op, const char *id, const char *line)
{
    char resource[128], ttl[128], host[128];
    unsigned char bytes[20];
    double begun = clock_ms(CLOCK_MONOTONIC);
    member(line, "resource", resource);
    member(line, "ttl_ms", ttl);
    if (strcmp(op, "init") == 0) {
        member(line, "nodes", host);
        char *colon = strrchr(host, ':');
        *colon = '\0';
        address.sin_port = htons((uint16_t)atoi(colon + 1));
        inet_pton(AF_INET, host + strlen("redis://"), &address.sin_addr);
        library_connect();
        printf("{\"id\":%s,\"type\":\"ok\"," DECLARES "}\n", id);
    } else if (strcmp(op, "clock") == 0) {
        printf("{\"id\":%s,\"type\":\"ok\",\"mono_ms\":%.3f,\"wall_ms\":%.3f}\n", id,
               clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_REALTIME));
    } else if (strcmp(op, "acquire") == 0) {
        char value[64] = "";
        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
            exit(1);
        }
        for (size_t i = 0; i < sizeof bytes; i++) {
            snprintf(value + 2 * i, 3, "%02x", bytes[i]);
        }
        int said = library_ask("SET", resource, value, "NX", "PX", ttl, NULL);
        if (said != ('+' << 8 | 'O')) {
            refuse(id, said);
            return;
        }
        if (spent(ttl, begun)) {
            refuse(id, library_ask("EVAL", DELETE, "1", resource, value, NULL)); /* too late */
            return;
        }
        snprintf(held, sizeof held, "%s", value);
        promise(id, atof(ttl), begun);
    } else {
        int extends = strcmp(op, "extend") == 0;
        int said = library_ask("EVAL", extends ? EXPIRE : DELETE, "1", resource, held, ttl, NULL);
        if (said != (':' << 8 | '1') || (extends && spent(ttl, begun))) {
            refuse(id, said);
        } else if (extends) {
            promise(id, atof(ttl), begun);
        } else {
            printf("{\"id\":%s,\"type\":\"ok\"}\n", id);
        }
    }
}

int main(void)
{
    char line[65536], op[128] = "", id[128];
    while (strcmp(op, "shutdown") != 0 && fgets(line, sizeof line, stdin) != NULL) {
        member(line, "op", op);
        member(line, "id", id);
        if (strcmp(op, "shutdown") != 0) {
            serve(op, id, line);
            fflush(stdout);
        }
    }
    return 0;
}
