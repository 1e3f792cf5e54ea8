/* test_lacks.c: what a kind of server needs and is not here is named, with the way to get it. */
#include "servers/launch.h"

#include <criterion/criterion.h>

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

static void lacks(const char *program, bool (*there)(void), const char *what, const char *remedy)
{
    struct server_library library = {"libtoy", "libtoy1", "libtoy-dev", there};
    struct server_launch launch = {.program = program, .package = "toy-tools", .library = &library};
    struct server_lack lack;
    cr_assert(server_launch_lacks(&launch, &lack));
    cr_assert_str_eq(lack.what, what);
    cr_assert_str_eq(lack.remedy, remedy);
}

Test(lacks, a_missing_program_is_named_first)
{
    lacks("no-such-server", no, "no-such-server is not installed", "apt-get install toy-tools");
}

Test(lacks, a_missing_library_is_told_from_a_missing_server)
{
    lacks("sh", no, "libtoy is not installed", "apt-get install libtoy1");
}

Test(lacks, a_missing_header_is_told_from_a_missing_library)
{
    lacks("sh", NULL, "picklock was built without the header of libtoy",
          "apt-get install libtoy-dev, then build it again");
}

Test(lacks, nothing_is_said_where_all_is_there)
{
    struct server_library library = {.name = "libtoy", .there = yes};
    struct server_launch with = {.program = "sh", .library = &library};
    struct server_launch without = {.program = "sh"};
    struct server_lack lack;
    cr_assert_not(server_launch_lacks(&with, &lack));
    cr_assert_not(server_launch_lacks(&without, &lack));
}
