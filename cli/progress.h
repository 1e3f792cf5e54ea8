/* progress.h: a line on stderr: redrawn on a terminal, printed every 10 s elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint64_t total; /* 0: nobody knows */
    int64_t start_ms;
    int64_t last_ms;
    bool terminal;
    bool shown;
};

void progress_init(struct progress *progress, uint64_t total);
void progress_show(struct progress *progress, uint64_t done, uint64_t running);
void progress_clear(struct progress *progress);

#endif
