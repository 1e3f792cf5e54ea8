/* input.c: the bytes of a history file, block by block, as lines or as pieces. */
#include "history/input.h"

#include "base/arena.h"
#include "base/assert.h"
#include "history/event.h"
#include "history/stream.h"

#include <string.h>

enum { INPUT_BYTES = 256 * 1024 };

struct result history_input_open(struct history_input *input, const char *path, struct text *why)
{
    *input = (struct history_input){
        .path = strcmp(path, "-") == 0 ? "standard input" : path,
        .bytes = INPUT_BYTES,
        .bytes_max = HISTORY_LINE_BYTES_MAX,
    };
    input->data = memory_resize(NULL, input->bytes);
    if (input->data == NULL) {
        text_add(why, "%s: no memory to read it", input->path);
        return result_error(ERROR_IO);
    }
    struct result opened = history_stream_open(path, &input->stream, why);
    if (result_failed(opened)) {
        memory_release(input->data);
        *input = (struct history_input){.path = path};
    }
    return opened;
}

static struct result input_grow(struct history_input *input, struct text *why)
{
    if (input->end - input->begin >= input->bytes_max) {
        text_add(why, "%s:%llu: a line of more than %zu bytes; a history line is shorter",
                 input->path, (unsigned long long)input->line + 1, input->bytes_max);
        return result_error(ERROR_LIMIT);
    }
    size_t bytes = 2 * input->bytes;
    char *data = memory_resize(input->data, bytes);
    if (data == NULL) {
        text_add(why, "%s:%llu: no memory for a line of %zu bytes", input->path,
                 (unsigned long long)input->line + 1, input->bytes);
        return result_error(ERROR_LIMIT);
    }
    input->data = data;
    input->bytes = bytes;
    return RESULT_OK;
}

struct result history_input_fill(struct history_input *input, bool *more, struct text *why)
{
    *more = false;
    if (input->ended) {
        return RESULT_OK;
    }
    if (input->begin > 0) {
        memmove(input->data, input->data + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    if (input->end + 1 >= input->bytes) {
        TRY(input_grow(input, why));
    }
    /* One byte stays free for the zero that ends the last line. */
    size_t got = 0;
    size_t room = input->bytes - input->end - 1;
    TRY(history_stream_read(input->stream, input->data + input->end, room, &got, why));
    input->cut = history_stream_was_cut(input->stream);
    input->end += got;
    input->ended = got == 0;
    *more = got > 0;
    return RESULT_OK;
}

struct result history_input_line(struct history_input *input, struct history_line *line, bool *more,
                                 struct text *why)
{
    size_t searched = 0;
    char *newline = NULL;
    bool filled = true;
    while (newline == NULL && filled) {
        char *from = input->data + input->begin + searched;
        newline = memchr(from, '\n', input->end - input->begin - searched);
        searched = input->end - input->begin;
        if (newline == NULL) {
            TRY(history_input_fill(input, &filled, why));
        }
    }
    line->text = input->data + input->begin;
    line->whole = newline != NULL;
    line->bytes = line->whole ? (size_t)(newline - line->text) : input->end - input->begin;
    *more = line->whole || line->bytes > 0;
    line->text[line->bytes] = line->whole ? '\n' : '\0';
    input->begin += line->bytes + (line->whole ? 1 : 0);
    input->line += *more ? 1 : 0;
    return RESULT_OK;
}

void history_input_close(struct history_input *input)
{
    if (input->stream != NULL) {
        history_stream_close(input->stream);
    }
    memory_release(input->data);
    *input = (struct history_input){.path = input->path};
}
