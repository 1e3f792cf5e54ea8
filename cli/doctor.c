/* doctor.c: `picklock doctor`: says what this machine can run. */
#include "cli/command.h"

#include "base/foreign.h"
#include "harness/real/process/doctor.h"

#include <stdio.h>
#include <string.h>

const struct argp doctor_argp = {
    NULL,
    NULL,
    NULL,
    "Say what this machine can run, and how to get what is missing. The simulator needs nothing; "
    "the exit code is 3 if the real world cannot run.",
    NULL,
    NULL,
    NULL};

int command_doctor(int argc, char **argv)
{
    command_parse(&doctor_argp, argc, argv, NULL);
    bool able = true;
    printf("%-8s %-28s %s\n", "ok", "simulator", "needs no server");
    for (size_t i = 0; i < doctor_count(); i++) {
        struct doctor_line line;
        doctor_look(i, &line);
        const char *word = line.there    ? "ok"
                           : line.broken ? "BROKEN"
                           : line.slow   ? "SLOW"
                           : line.needed ? "MISSING"
                                         : "-";
        printf("%-8s %-28s ", word, line.what);
        foreign_print_line(stdout, line.found);
        printf("\n");
        if (!line.there && line.remedy[0] != '\0') {
            printf("%-8s %-28s get it: %s\n", "", "", line.remedy);
        }
        able = able && (line.there || !line.needed);
    }
    return able ? EXIT_MET : EXIT_ENVIRONMENT;
}
