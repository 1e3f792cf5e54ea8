/* again.h: the command line that runs something again, as a shell takes it. */
#ifndef CLI_AGAIN_H
#define CLI_AGAIN_H

#include "base/text.h"

#include <stdint.h>

struct again {
    const char *path; /* of the scenario */
    const char *world;
    uint64_t seed;
    int64_t time_scale_ppm;
    int64_t stress_ns;
    const char *adapter; /* or NULL, as all below */
    const char *server;
    const char *cluster;
};

/* "PROGRAM run ... --keep always". */
void again_print(const struct again *again, const char *program, struct text *text);

/* The same without what is run: " --world ... --keep always", its words put as `put` does it. */
void again_print_options(const struct again *again,
                         void (*put)(struct text *text, const char *word), struct text *text);

/*
 * One word for a shell: as it is where that is safe, else in single quotes. What a terminal would
 * obey is spelled as $'\033', which bash, zsh and ksh read.
 */
void shell_word(struct text *text, const char *word);

/* The same for a file that any shell reads: in single quotes, byte for byte. */
void shell_quote(struct text *text, const char *word);

#endif
