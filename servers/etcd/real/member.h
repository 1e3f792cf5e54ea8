/*
 * member.h: plain questions to an etcd member, in HTTP. No library: a server is started also for
 * locks that bring their own.
 */
#ifndef SERVERS_ETCD_REAL_MEMBER_H
#define SERVERS_ETCD_REAL_MEMBER_H

#include "base/result.h"
#include "base/text.h"
#include "servers/launch.h"

enum { MEMBER_ANSWER_BYTES = 8192 };

enum member_heard { MEMBER_HEARD_LITTLE, MEMBER_HEARD_ALL, MEMBER_HEARD_NO };

/* Ask on process->talk_fd, which is opened where it is not open. False: nobody is there. */
bool member_say(struct server_process *process, const char *path, const char *body);

/* Ask no more on this connection: what was asked is forgotten. */
void member_hang_up(struct server_process *process);

/* Look for the body of the answer; never waits. MEMBER_HEARD_NO: it will not come. */
enum member_heard member_hear(struct server_process *process, struct text *answer);

/* Both, for what the member answers by itself: waits for some seconds at most. */
MUST_USE struct result member_ask(struct server_process *process, const char *path,
                                  const char *body, struct text *answer, struct text *why);

#endif
