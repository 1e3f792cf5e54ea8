/* tar.c: a few files as one archive. */
#include "cli/tar.h"

#include "base/assert.h"
#include "base/foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    TAR_AT_MODE = 100,
    TAR_AT_SIZE = 124,
    TAR_AT_TIME = 136,
    TAR_AT_SUM = 148,
    TAR_AT_TYPE = 156,
    TAR_AT_MAGIC = 257,
    TAR_SUM_BYTES = 8,
    TAR_SIZE_BYTES = 12,
};

static uint32_t block_sum(const char *block)
{
    uint32_t sum = 0;
    for (int i = 0; i < TAR_BLOCK_BYTES; i++) {
        bool inside = i >= TAR_AT_SUM && i < TAR_AT_SUM + TAR_SUM_BYTES;
        sum += inside ? ' ' : (unsigned char)block[i];
    }
    return sum;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Nobody's, at no time: equal files give equal bytes. */
static void block_head(char *block, const char *name, int64_t bytes)
{
    memset(block, 0, TAR_BLOCK_BYTES);
    memcpy(block, name, strlen(name));
    memcpy(block + TAR_AT_MODE, "0000644\0000000000\0000000000", 24);
    (void)snprintf(block + TAR_AT_SIZE, TAR_SIZE_BYTES, "%011" PRIo64,
                   (uint64_t)bytes & UINT64_C(077777777777));
    memcpy(block + TAR_AT_TIME, "00000000000", 12);
    block[TAR_AT_TYPE] = '0';
    memcpy(block + TAR_AT_MAGIC, "ustar\00000", 8);
    (void)snprintf(block + TAR_AT_SUM, TAR_SUM_BYTES, "%06o", block_sum(block));
    block[TAR_AT_SUM + TAR_SUM_BYTES - 1] = ' ';
}

struct result tar_put(struct history_stream *stream, const char *name, FILE *from, struct text *why)
{
    static char bytes[1 << 16];
    char head[TAR_BLOCK_BYTES];
    if (strlen(name) >= TAR_NAME_BYTES) {
        text_add(why, "the name is too long for an archive: %s", name);
        return result_error(ERROR_LIMIT);
    }
    int64_t length = fseek(from, 0, SEEK_END) == 0 ? (int64_t)ftell(from) : -1;
    if (length < 0 || fseek(from, 0, SEEK_SET) != 0) {
        text_add(why, "%s: %s", name, strerror(errno));
        return result_error(ERROR_IO);
    }
    block_head(head, name, length);
    TRY(history_stream_write(stream, head, sizeof head, why));
    for (int64_t left = length; left > 0;) {
        size_t most = left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes;
        size_t got = fread(bytes, 1, most, from);
        if (got == 0) {
            text_add(why, "%s became shorter while it was read", name);
            return result_error(ERROR_IO);
        }
        TRY(history_stream_write(stream, bytes, got, why));
        left -= (int64_t)got;
    }
    memset(head, 0, sizeof head);
    size_t filling = (size_t)(TAR_BLOCK_BYTES - length % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES;
    return filling > 0 ? history_stream_write(stream, head, filling, why) : RESULT_OK;
}

struct result tar_end(struct history_stream *stream, struct text *why)
{
    char blocks[2 * TAR_BLOCK_BYTES] = {0};
    return history_stream_write(stream, blocks, sizeof blocks, why);
}

/* ---- in -------------------------------------------------------------------------------------- */

static struct result tar_refuse(struct text *why, const char *sentence)
{
    text_add(why, "this is no bundle of picklock: %s", sentence);
    return result_error(ERROR_SYNTAX);
}

/* Read so many bytes; `there` is false where the end came before the first. */
static struct result read_all(struct history_stream *stream, char *bytes, size_t count, bool *there,
                              struct text *why)
{
    size_t filled = 0;
    size_t got = 1;
    while (filled < count && got > 0) {
        TRY(history_stream_read(stream, bytes + filled, count - filled, &got, why));
        filled += got;
    }
    *there = filled > 0;
    return filled == 0 || filled == count ? RESULT_OK : tar_refuse(why, "it is cut short");
}

static bool octal_parse(const char *field, size_t bytes, int64_t *number)
{
    size_t i = 0;
    *number = 0;
    while (i < bytes && field[i] >= '0' && field[i] <= '7') {
        *number = *number * 8 + (field[i++] - '0');
    }
    return i > 0 && (i == bytes || field[i] == '\0' || field[i] == ' ');
}

/* "FOLDER/NAME", both plain: gives NAME. */
static bool name_parse(const char *field, char name[TAR_NAME_BYTES + 1])
{
    char whole[TAR_NAME_BYTES + 1] = "";
    memcpy(whole, field, TAR_NAME_BYTES);
    const char *slash = strchr(whole, '/');
    if (whole[0] == '.' || slash == NULL || slash[1] == '\0' || slash[1] == '.' ||
        strchr(slash + 1, '/') != NULL) {
        return false;
    }
    (void)snprintf(name, TAR_NAME_BYTES + 1, "%s", slash + 1);
    return true;
}

struct result tar_next(struct history_stream *stream, struct tar_entry *entry, bool *there,
                       struct text *why)
{
    char block[TAR_BLOCK_BYTES];
    int64_t sum = 0;
    TRY(read_all(stream, block, sizeof block, there, why));
    if (!*there) {
        return tar_refuse(why, "it has no end");
    }
    if (block[0] == '\0') {
        *there = false; /* the end */
        return RESULT_OK;
    }
    if (!octal_parse(block + TAR_AT_SUM, TAR_SUM_BYTES, &sum) || sum != block_sum(block)) {
        return tar_refuse(why, "it is no tar archive, or it is damaged");
    }
    if (!octal_parse(block + TAR_AT_SIZE, TAR_SIZE_BYTES, &entry->bytes) ||
        (block[TAR_AT_TYPE] != '0' && block[TAR_AT_TYPE] != '\0')) {
        return tar_refuse(why, "it holds more than plain files");
    }
    if (!name_parse(block, entry->name)) {
        return tar_refuse(why, "it holds a name that leads elsewhere");
    }
    return RESULT_OK;
}

struct result tar_take(struct history_stream *stream, const struct tar_entry *entry, FILE *to,
                       struct text *why)
{
    static char bytes[1 << 16];
    int64_t left = entry->bytes;
    int64_t filling = (TAR_BLOCK_BYTES - entry->bytes % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES;
    bool there;
    while (left > 0) {
        size_t most = left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes;
        TRY(read_all(stream, bytes, most, &there, why));
        if (!there) {
            return tar_refuse(why, "it is cut short");
        }
        if (fwrite(bytes, 1, most, to) != most) {
            text_add(why, "cannot write %s: %s", entry->name, strerror(errno));
            return result_error(ERROR_IO);
        }
        left -= (int64_t)most;
    }
    return filling > 0 ? read_all(stream, bytes, (size_t)filling, &there, why) : RESULT_OK;
}
