/* test_install.c: a stranger's program builds against the installed library and guards a file. */
#include "tests/lockcore/servers.h"

enum { ADDERS = 4, COMMAND_BYTES = 2048 };

static int shell(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void example_build(const char *directory)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof command,
                   "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install-lib BUILD=%s/build "
                   "PREFIX=/opt/guard DESTDIR=%s >%s/log 2>&1 || { cat %s/log; false; }",
                   directory, directory, directory, directory);
    cr_assert_eq(shell(command), 0, "%s", command);
    (void)snprintf(command, sizeof command,
                   "export PKG_CONFIG_PATH=%s/opt/guard/lib/pkgconfig && cp examples/guard_file.c "
                   "%s/ && cd %s && cc -std=c11 -Wall -Wextra -Werror -o guard_file guard_file.c "
                   "$(pkg-config --define-variable=prefix=%s/opt/guard --cflags --libs lockcore) "
                   "-Wl,-rpath,%s/opt/guard/lib >log 2>&1 || { cat log; false; }",
                   directory, directory, directory, directory, directory);
    cr_assert_eq(shell(command), 0, "%s", command);
}

static void additions_run(const struct servers *servers, const char *directory)
{
    char path[160];
    char counter[160];
    (void)snprintf(path, sizeof path, "%s/guard_file", directory);
    (void)snprintf(counter, sizeof counter, "%s/counter", directory);
    pid_t pids[ADDERS];
    for (int i = 0; i < ADDERS; i++) {
        pids[i] = fork();
        cr_assert(pids[i] >= 0);
        if (pids[i] == 0) {
            execl(path, "guard_file", counter, servers->path[0], servers->path[1], servers->path[2],
                  (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < ADDERS; i++) {
        int status = -1;
        waitpid(pids[i], &status, 0);
        cr_assert_eq(status, 0);
    }
}

Test(install, the_example_builds_by_pkg_config_and_no_addition_is_lost)
{
    char directory[] = "/tmp/picklock-install-XXXXXX";
    cr_assert(mkdtemp(directory) != NULL);
    example_build(directory);
    static struct servers servers;
    servers_start(&servers, 3);
    additions_run(&servers, directory);
    server_kill(&servers, 1); /* a minority down changes nothing */
    additions_run(&servers, directory);
    char path[160];
    (void)snprintf(path, sizeof path, "%s/counter", directory);
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL);
    long number = 0;
    cr_assert_eq(fscanf(file, "%ld", &number), 1);
    (void)fclose(file);
    cr_assert_eq(number, 2 * ADDERS);
    servers_stop(&servers);
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(shell(command), 0);
}
