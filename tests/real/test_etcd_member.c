/* test_etcd_member.c: when a member of etcd counts as up: asked of one that is played here. */
#include <criterion/criterion.h>

#include "servers/etcd/real/real.h"
#include "tests/real/door.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOKS_MAX = 100000, REQUEST_BYTES = 4096 };

/* A member that leads until it is asked to hand that on; its answer to this never comes. */
struct member {
    int door;
    int line; /* -1: nobody speaks */
    int transfers;
};

static struct member member_open(struct server_process *process)
{
    *process = (struct server_process){.index = 1, .node_count = 3, .starts = 1, .talk_fd = -1};
    return (struct member){.door = door_open(process), .line = -1};
}

static void member_say_body(const struct member *member, const char *body)
{
    char answer[REQUEST_BYTES];
    int bytes = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                         strlen(body), body);
    cr_assert_eq(send(member->line, answer, (size_t)bytes, 0), bytes);
}

static void member_turn(struct member *member)
{
    char request[REQUEST_BYTES] = "";
    int fresh = accept(member->door, NULL, NULL);
    if (fresh >= 0) {
        if (member->line >= 0) {
            (void)close(member->line);
        }
        member->line = fresh;
    }
    if (member->line < 0 || recv(member->line, request, sizeof request - 1, MSG_DONTWAIT) <= 0) {
        return;
    }
    if (strstr(request, "/maintenance/status ") != NULL) {
        member_say_body(member, member->transfers > 0
                                    ? "{\"header\":{\"member_id\":\"2\"},\"leader\":\"3\"}"
                                    : "{\"header\":{\"member_id\":\"2\"},\"leader\":\"2\"}");
    } else if (strstr(request, "/member/list ") != NULL) {
        member_say_body(member, "{\"members\":[{\"ID\":\"1\",\"name\":\"n0\"}]}");
    } else if (strstr(request, "/transfer-leadership ") != NULL) {
        member->transfers++;
    } else {
        cr_assert_fail("asked for %s", request);
    }
}

Test(etcd_member, is_up_though_another_than_the_wanted_one_became_its_leader)
{
    struct server_process process;
    struct member member = member_open(&process);
    bool alive = false;
    for (int i = 0; i < LOOKS_MAX && !alive; i++) {
        alive = etcd_launch.alive(&process);
        member_turn(&member);
        (void)usleep(member.transfers > 0 ? 0 : 100);
    }
    cr_assert(alive);
    cr_assert_eq(member.transfers, 1);
    (void)close(process.talk_fd);
    (void)close(member.line);
    (void)close(member.door);
}
