/* outbox.c: writes commands as RESP into a connection's bytes. */
#include "lockcore/drivers/outbox.h"

#include "base/arena.h"
#include "base/assert.h"
#include "lockcore/redis/command.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
    OUTBOX_BYTES_MIN = 16 * 1024,
    HEAD_BYTES = 32, /* "*6\r\n", or "$40\r\n" and the "\r\n" behind the word */
};

/* Make room for `bytes` more behind what is there. */
static bool outbox_reserve(struct outbox *outbox, size_t bytes)
{
    if (outbox->first + outbox->count + bytes <= outbox->bytes_max) {
        return true;
    }
    if (outbox->first > 0) {
        memmove(outbox->bytes, outbox->bytes + outbox->first, outbox->count);
        outbox->first = 0;
    }
    size_t bytes_max = outbox->bytes_max == 0 ? OUTBOX_BYTES_MIN : outbox->bytes_max;
    while (outbox->count + bytes > bytes_max) {
        bytes_max *= 2;
    }
    if (bytes_max > outbox->bytes_max) {
        char *grown = memory_resize(outbox->bytes, bytes_max);
        if (grown == NULL) {
            return false;
        }
        outbox->bytes = grown;
        outbox->bytes_max = bytes_max;
    }
    return true;
}

static void outbox_append(struct outbox *outbox, const char *bytes, size_t count)
{
    ASSERT(outbox->first + outbox->count + count <= outbox->bytes_max);
    memcpy(outbox->bytes + outbox->first + outbox->count, bytes, count);
    outbox->count += count;
}

/* "*6\r\n" or "$40\r\n". */
static void head_append(struct outbox *outbox, char mark, size_t number)
{
    char head[HEAD_BYTES];
    size_t at = sizeof head;
    head[--at] = '\n';
    head[--at] = '\r';
    do {
        head[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    head[--at] = mark;
    outbox_append(outbox, head + at, sizeof head - at);
}

static bool template_fits(const struct outbox_template *template,
                          const struct lock_request *request)
{
    return template->filled && template->resource_bytes == request->resource_bytes &&
           memcmp(&template->command, request->command, sizeof template->command) == 0 &&
           memcmp(template->bytes + template->resource_at, request->resource,
                  request->resource_bytes) == 0;
}

static void template_fill(struct outbox_template *template, const struct lock_request *request,
                          const char *bytes, size_t count, size_t resource_at)
{
    template->filled = count <= sizeof template->bytes;
    if (template->filled) {
        template->command = *request->command;
        template->resource_at = resource_at;
        template->resource_bytes = request->resource_bytes;
        template->count = count;
        memcpy(template->bytes, bytes, count);
    }
}

bool outbox_add(struct outbox *outbox, struct outbox_template *template,
                const struct lock_request *request)
{
    if (template_fits(template, request)) {
        if (!outbox_reserve(outbox, template->count)) {
            return false;
        }
        outbox_append(outbox, template->bytes, template->count);
        return true;
    }
    ASSERT(request->resource_bytes <= OUTBOX_RESOURCE_BYTES_MAX);
    char scratch[REDIS_SCRATCH_BYTES];
    struct redis_words words;
    redis_words(request->command, request->resource, request->resource_bytes, scratch, &words);
    size_t bytes = HEAD_BYTES;
    for (int i = 0; i < words.count; i++) {
        bytes += words.bytes[i] + HEAD_BYTES;
    }
    if (!outbox_reserve(outbox, bytes)) {
        return false;
    }
    size_t start = outbox->count;
    size_t resource_at = 0;
    head_append(outbox, '*', (size_t)words.count);
    for (int i = 0; i < words.count; i++) {
        head_append(outbox, '$', words.bytes[i]);
        if (words.word[i] == request->resource) {
            resource_at = outbox->count - start;
        }
        outbox_append(outbox, words.word[i], words.bytes[i]);
        outbox_append(outbox, "\r\n", 2);
    }
    template_fill(template, request, outbox->bytes + outbox->first + start, outbox->count - start,
                  resource_at);
    return true;
}

bool outbox_write(struct outbox *outbox, int fd, bool *full)
{
    *full = false;
    while (outbox->count > 0) {
        ssize_t sent = send(fd, outbox->bytes + outbox->first, outbox->count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            *full = errno == EAGAIN || errno == EWOULDBLOCK;
            return *full;
        }
        outbox->first += (size_t)sent;
        outbox->count -= (size_t)sent;
    }
    outbox->first = 0;
    return true;
}

void outbox_release(struct outbox *outbox)
{
    memory_release(outbox->bytes);
    *outbox = (struct outbox){.bytes = NULL};
}
