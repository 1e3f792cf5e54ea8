/* test_zookeeper_member.c: what a member of an ensemble is asked, of one that is played here. */
#include <criterion/criterion.h>

#include "base/text.h"
#include "servers/zookeeper/real/member.h"
#include "tests/real/door.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* It elects anew when it is asked first, and then serves. */
static void member_plays(int door)
{
    static const char *const answers[] = {
        "This ZooKeeper instance is not currently serving requests\n", "",
        "Zookeeper version: 3.8.0-1, built on 2022-02-25 08:49 UTC\nMode: follower\n"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        char word[5] = "";
        int line = -1;
        while (line < 0) { /* the door does not wait */
            line = accept(door, NULL, NULL);
            (void)usleep(1000);
        }
        bool asked = recv(line, word, 4, MSG_WAITALL) == 4 && strcmp(word, "srvr") == 0;
        if (!asked || send(line, answers[i], strlen(answers[i]), MSG_NOSIGNAL) < 0) {
            _exit(1);
        }
        (void)close(line);
    }
    _exit(0);
}

Test(zookeeper_member, one_that_elects_is_asked_again_for_its_version)
{
    struct server_process process = {.index = 1, .node_count = 3};
    int door = door_open(&process);
    char name_memory[64];
    char why_memory[256];
    struct text name = text_over(name_memory, sizeof name_memory);
    struct text why = text_over(why_memory, sizeof why_memory);
    pid_t member = fork();
    if (member == 0) {
        member_plays(door);
    }
    cr_assert(!result_failed(zookeeper_version(&process, &name, &why)), "%s", why_memory);
    cr_assert_str_eq(name_memory, "zookeeper 3.8.0");
    int status = 1;
    cr_assert_eq(waitpid(member, &status, 0), member);
    cr_assert_eq(status, 0);
    (void)close(door);
}
