/* progress.c: a line on stderr while runs go on. */
#include "cli/progress.h"

#include "base/duration.h"
#include "base/machine_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { REDRAW_MS = 250, PRINT_MS = 10000 };

static int64_t progress_now_ms(void)
{
    return monotonic_ns() / NS_PER_MS;
}

void progress_init(struct progress *progress, uint64_t total)
{
    *progress = (struct progress){.total = total, .terminal = isatty(STDERR_FILENO) == 1};
    progress->start_ms = progress_now_ms();
    progress->last_ms = progress->start_ms;
}

void progress_show(struct progress *progress, uint64_t done, uint64_t running)
{
    int64_t now_ms = progress_now_ms();
    if (now_ms - progress->last_ms < (progress->terminal ? REDRAW_MS : PRINT_MS)) {
        return;
    }
    progress->last_ms = now_ms;
    fprintf(stderr, "%spicklock: %" PRIu64, progress->terminal ? "\r\033[K" : "", done);
    if (progress->total > 0) {
        fprintf(stderr, " of %" PRIu64, progress->total);
    }
    fprintf(stderr, " runs, %" PRIu64 " at work, %.1f s%s", running,
            (double)(now_ms - progress->start_ms) / 1000, progress->terminal ? "" : "\n");
    progress->shown = progress->terminal;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r\033[K");
        progress->shown = false;
    }
}
