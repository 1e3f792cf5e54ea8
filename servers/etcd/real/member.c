/* member.c: plain questions to an etcd member. */
#include "servers/etcd/real/member.h"

#include "servers/etcd/real/http.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MEMBER_LOOKS = 20000, MEMBER_NAP_NS = 200000 };

void member_hang_up(struct server_process *process)
{
    if (process->talk_fd >= 0) {
        (void)close(process->talk_fd);
    }
    process->talk_fd = -1;
    process->talk_awaited = 0;
}

bool member_say(struct server_process *process, const char *path, const char *body)
{
    char memory[MEMBER_ANSWER_BYTES];
    struct text question = text_over(memory, sizeof memory);
    if (process->talk_fd < 0) {
        process->talk_fd = address_connect(process->address);
    }
    if (process->talk_fd < 0) {
        return false;
    }
    text_add(&question, "POST %s HTTP/1.1\r\nHost: etcd\r\nContent-Length: %zu\r\n\r\n%s", path,
             strlen(body), body);
    if (send(process->talk_fd, question.data, question.length, MSG_NOSIGNAL) !=
        (ssize_t)question.length) {
        member_hang_up(process);
        return false;
    }
    return true;
}

/* Nothing is taken off the stream before the answer is whole. */
enum member_heard member_hear(struct server_process *process, struct text *answer)
{
    char bytes[MEMBER_ANSWER_BYTES];
    char body[MEMBER_ANSWER_BYTES];
    struct http_message message;
    ssize_t got = recv(process->talk_fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return MEMBER_HEARD_LITTLE;
    }
    enum wire_cut cut =
        got > 0 ? http_cut(bytes, (size_t)got, HTTP_REPLY, &message) : WIRE_CUT_BROKEN;
    if (cut == WIRE_CUT_MORE && got < (ssize_t)sizeof bytes) {
        return MEMBER_HEARD_LITTLE;
    }
    if (cut != WIRE_CUT_MESSAGE ||
        recv(process->talk_fd, bytes, message.bytes, 0) != (ssize_t)message.bytes) {
        member_hang_up(process);
        return MEMBER_HEARD_NO;
    }
    text_add_bytes(answer, body, http_body(&message, body, sizeof body));
    return MEMBER_HEARD_ALL;
}

/* What is there already is not all: to wait until it can be read would be no wait. */
static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = MEMBER_NAP_NS}, NULL);
}

/* A connection on which something else was asked would answer that first. */
struct result member_ask(struct server_process *process, const char *path, const char *body,
                         struct text *answer, struct text *why)
{
    enum member_heard heard = MEMBER_HEARD_NO;
    text_clear(answer);
    member_hang_up(process);
    if (member_say(process, path, body)) {
        heard = MEMBER_HEARD_LITTLE;
        for (int i = 0; i < MEMBER_LOOKS && heard == MEMBER_HEARD_LITTLE; i++) {
            nap();
            heard = member_hear(process, answer);
        }
    }
    member_hang_up(process);
    if (heard != MEMBER_HEARD_ALL) {
        text_add(why, "node %u does not answer %s", process->index + 1, path);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}
