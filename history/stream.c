/* stream.c: files read and written from front to back; the only file that includes zstd. */
#include "history/stream.h"

#include "base/arena.h"
#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { BLOCK_BYTES = 256 * 1024, LEVEL = 3, WINDOW_LOG_MAX = 27 };

struct history_stream {
    const char *path;
    int file;
    ZSTD_DCtx *unpacking; /* NULL: plain */
    ZSTD_CCtx *packing;   /* NULL: plain */
    bool cut;             /* a compressed file ended in the middle of a frame */
    bool in_frame;        /* bytes of a compressed frame are still to come */
    bool is_half;         /* writing: created, and not ended whole */
    size_t begin;         /* reading: block[begin..end) is not used yet */
    size_t end;           /* writing: block[0..end) is not written yet */
    char block[BLOCK_BYTES];
};

static struct result stream_refused(const struct history_stream *stream, const char *what,
                                    struct text *why)
{
    text_add(why, "%s: cannot %s: %s", stream->path, what, strerror(errno));
    return result_error(ERROR_IO);
}

static struct result stream_new(const char *path, struct history_stream **stream, struct text *why)
{
    struct history_stream *made = memory_resize(NULL, sizeof *made);
    if (made == NULL) {
        text_add(why, "%s: no memory to open it", path);
        return result_error(ERROR_IO);
    }
    memset(made, 0, offsetof(struct history_stream, block));
    made->path = path;
    made->file = -1;
    *stream = made;
    return RESULT_OK;
}

static struct result stream_block(struct history_stream *stream, struct text *why)
{
    ssize_t got = -1;
    do {
        got = read(stream->file, stream->block, sizeof stream->block);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return stream_refused(stream, "read", why);
    }
    stream->begin = 0;
    stream->end = (size_t)got;
    return RESULT_OK;
}

static struct result stream_begin(struct history_stream *stream, struct text *why)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878 3.1.1 */
    bool stdin_meant = strcmp(stream->path, "-") == 0;
    stream->path = stdin_meant ? "standard input" : stream->path;
    stream->file = stdin_meant ? STDIN_FILENO : open(stream->path, O_RDONLY | O_CLOEXEC);
    if (stream->file < 0) {
        return stream_refused(stream, "open", why);
    }
    TRY(stream_block(stream, why));
    if (stream->end < sizeof magic || memcmp(stream->block, magic, sizeof magic) != 0) {
        return RESULT_OK;
    }
    stream->unpacking = ZSTD_createDCtx();
    if (stream->unpacking == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
                                         stream->unpacking, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
        text_add(why, "%s: no memory to decompress it", stream->path);
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result history_stream_open(const char *path, struct history_stream **stream,
                                  struct text *why)
{
    TRY(stream_new(path, stream, why));
    struct result begun = stream_begin(*stream, why);
    if (result_failed(begun)) {
        history_stream_close(*stream);
    }
    return begun;
}

static struct result stream_unpack(struct history_stream *stream, ZSTD_outBuffer *out,
                                   struct text *why)
{
    while (out->pos == 0) {
        if (stream->begin == stream->end) {
            TRY(stream_block(stream, why));
            if (stream->end == 0) {
                stream->cut = stream->in_frame;
                return RESULT_OK;
            }
        }
        ZSTD_inBuffer in = {.src = stream->block, .size = stream->end, .pos = stream->begin};
        size_t left = ZSTD_decompressStream(stream->unpacking, out, &in);
        if (ZSTD_isError(left)) {
            text_add(why, "%s: the compressed data is damaged: %s", stream->path,
                     ZSTD_getErrorName(left));
            return result_error(ERROR_SYNTAX);
        }
        stream->in_frame = left != 0;
        stream->begin = in.pos;
    }
    return RESULT_OK;
}

struct result history_stream_read(struct history_stream *stream, char *data, size_t bytes,
                                  size_t *got, struct text *why)
{
    ASSERT(bytes > 0);
    *got = 0;
    if (stream->unpacking != NULL) {
        ZSTD_outBuffer out = {.dst = data, .size = bytes, .pos = 0};
        TRY(stream_unpack(stream, &out, why));
        *got = out.pos;
        return RESULT_OK;
    }
    if (stream->begin == stream->end) {
        TRY(stream_block(stream, why));
    }
    size_t ready = stream->end - stream->begin;
    *got = ready < bytes ? ready : bytes;
    memcpy(data, stream->block + stream->begin, *got);
    stream->begin += *got;
    return RESULT_OK;
}

bool history_stream_was_cut(const struct history_stream *stream)
{
    return stream->cut;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_bytes = strlen(text);
    size_t end_bytes = strlen(end);
    return text_bytes >= end_bytes && strcmp(text + text_bytes - end_bytes, end) == 0;
}

static struct result stream_create(struct history_stream *stream, struct text *why)
{
    bool stdout_meant = strcmp(stream->path, "-") == 0;
    bool packed = ends_with(stream->path, ".zst");
    stream->path = stdout_meant ? "standard output" : stream->path;
    stream->file = stdout_meant
                       ? STDOUT_FILENO
                       : open(stream->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (stream->file < 0) {
        return stream_refused(stream, "create", why);
    }
    stream->is_half = !stdout_meant;
    if (!packed) {
        return RESULT_OK;
    }
    stream->packing = ZSTD_createCCtx();
    if (stream->packing == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(stream->packing, ZSTD_c_compressionLevel, LEVEL))) {
        text_add(why, "%s: no memory to compress it", stream->path);
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result history_stream_create(const char *path, struct history_stream **stream,
                                    struct text *why)
{
    TRY(stream_new(path, stream, why));
    struct result created = stream_create(*stream, why);
    if (result_failed(created)) {
        history_stream_close(*stream);
    }
    return created;
}

static struct result stream_flush(struct history_stream *stream, struct text *why)
{
    size_t done = 0;
    while (done < stream->end) {
        ssize_t wrote = write(stream->file, stream->block + done, stream->end - done);
        if (wrote < 0 && errno != EINTR) {
            return stream_refused(stream, "write", why);
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    stream->end = 0;
    return RESULT_OK;
}

static struct result stream_pack(struct history_stream *stream, ZSTD_inBuffer *in,
                                 ZSTD_EndDirective directive, struct text *why)
{
    bool done = false;
    while (!done) {
        ZSTD_outBuffer out = {
            .dst = stream->block, .size = sizeof stream->block, .pos = stream->end};
        size_t left = ZSTD_compressStream2(stream->packing, &out, in, directive);
        ASSERT(!ZSTD_isError(left));
        stream->end = out.pos;
        done = directive == ZSTD_e_end ? left == 0 : in->pos == in->size;
        if (stream->end > sizeof stream->block / 2) {
            TRY(stream_flush(stream, why));
        }
    }
    return RESULT_OK;
}

struct result history_stream_write(struct history_stream *stream, const char *data, size_t bytes,
                                   struct text *why)
{
    if (stream->packing != NULL) {
        ZSTD_inBuffer in = {.src = data, .size = bytes, .pos = 0};
        return stream_pack(stream, &in, ZSTD_e_continue, why);
    }
    size_t done = 0;
    while (done < bytes) {
        size_t room = sizeof stream->block - stream->end;
        size_t count = bytes - done < room ? bytes - done : room;
        memcpy(stream->block + stream->end, data + done, count);
        stream->end += count;
        done += count;
        if (stream->end == sizeof stream->block) {
            TRY(stream_flush(stream, why));
        }
    }
    return RESULT_OK;
}

static struct result stream_end(struct history_stream *stream, struct text *why)
{
    if (stream->packing != NULL) {
        ZSTD_inBuffer nothing = {.src = "", .size = 0, .pos = 0};
        TRY(stream_pack(stream, &nothing, ZSTD_e_end, why));
    }
    return stream_flush(stream, why);
}

struct result history_stream_finish(struct history_stream *stream, struct text *why)
{
    struct result ended = stream_end(stream, why);
    int file = stream->file;
    stream->file = -1;
    if (file > STDERR_FILENO && close(file) != 0 && !result_failed(ended)) {
        ended = stream_refused(stream, "write", why);
    }
    stream->is_half = stream->is_half && result_failed(ended);
    history_stream_close(stream);
    return ended;
}

void history_stream_close(struct history_stream *stream)
{
    struct stat info;
    if (stream->is_half && lstat(stream->path, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)unlink(stream->path); /* half a file is none */
    }
    if (stream->file > STDERR_FILENO) {
        (void)close(stream->file);
    }
    (void)ZSTD_freeDCtx(stream->unpacking);
    (void)ZSTD_freeCCtx(stream->packing);
    memory_release(stream);
}
