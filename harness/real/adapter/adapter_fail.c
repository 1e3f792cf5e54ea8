/* adapter_fail.c: one sentence for what an adapter did wrong, with the end of its log. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/foreign.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LOG_TAIL_BYTES = 16 << 10, LOG_LINE_BYTES = 300 };

/* A line of a trace that only says where: Java's begin with a tab and "at " or "... 3 more". */
static bool is_place(const char *line)
{
    const char *word = line + strspn(line, " \t");
    return word > line && (strncmp(word, "at ", 3) == 0 || strncmp(word, "... ", 4) == 0);
}

/* The last line that says what; cuts `tail` behind it. */
static const char *last_words(char *tail)
{
    char *end = strrchr(tail, '\n');
    char *line = end != NULL ? end + 1 : tail;
    while (end != NULL && is_place(line)) {
        *end = '\0';
        end = strrchr(tail, '\n');
        line = end != NULL ? end + 1 : tail;
    }
    return line;
}

/* Add the last line of the adapter's stderr. */
static void log_tail_add(const char *path, struct text *text)
{
    static char tail[LOG_TAIL_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0;
    ssize_t bytes = pread(fd, tail, LOG_TAIL_BYTES, from);
    (void)close(fd);
    while (bytes > 0 && (tail[bytes - 1] == '\n' || tail[bytes - 1] == ' ')) {
        bytes--;
    }
    if (bytes <= 0) {
        return;
    }
    tail[bytes] = '\0';
    const char *last = last_words(tail);
    size_t last_bytes = strlen(last);
    text_add(text,
             "; its last %s on stderr: ", last + last_bytes < tail + bytes ? "trace" : "line");
    text_add_foreign(text, last, last_bytes < LOG_LINE_BYTES ? last_bytes : LOG_LINE_BYTES);
}

void adapter_accuse(struct adapter_process *process, const char *what)
{
    const struct adapter_callbacks *callbacks = &process->adapter->options.callbacks;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    process->adapter->accused = true;
    text_add(&why, "adapter of client %d: %s", process->first + 1, what);
    callbacks->failed(callbacks->data, process->first, why.data);
}

void adapter_fail(struct adapter_process *process, const char *format, ...)
{
    const struct adapter_callbacks *callbacks = &process->adapter->options.callbacks;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    va_list list;
    if (process->adapter->stopped || process->gone) {
        return;
    }
    text_add(&why, "adapter of client %d: ", process->first + 1);
    va_start(list, format);
    text_add_list(&why, format, list);
    va_end(list);
    log_tail_add(process->log_path, &why);
    adapter_process_kill(process);
    callbacks->failed(callbacks->data, process->first, why.data);
}
