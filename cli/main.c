/* main.c: the picklock command. Apart, so that a test program can have a main of its own. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What could not be told was not done, whatever came of it: of every command, also of --help. */
static void output_check(void)
{
    bool last = fflush(stdout) != 0;
    if (last || ferror(stdout) != 0) {
        fprintf(stderr, "picklock: cannot write the output: %s\n",
                last ? strerror(errno) : "not all of it was taken");
        _exit(EXIT_ENVIRONMENT);
    }
}

int main(int argc, char **argv)
{
    if (atexit(output_check) != 0) {
        return EXIT_ENVIRONMENT;
    }
    return command_dispatch(argc, argv);
}
