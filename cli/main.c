/* main.c: the picklock command. Apart, so that a test program can have a main of its own. */
#include "cli/command.h"

int main(int argc, char **argv)
{
    return command_dispatch(argc, argv);
}
