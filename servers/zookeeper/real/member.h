/* member.h: what a member of a ZooKeeper ensemble says of itself. Each of these asks, and waits. */
#ifndef SERVERS_ZOOKEEPER_REAL_MEMBER_H
#define SERVERS_ZOOKEEPER_REAL_MEMBER_H

#include "servers/launch.h"

enum { ZOOKEEPER_ANSWER_BYTES = 1 << 16 };

/* A word of four letters, and what it says to that; "" if it says nothing. */
void zookeeper_ask(const struct server_process *process, const char word[5],
                   char answer[ZOOKEEPER_ANSWER_BYTES]);

struct result zookeeper_version(struct server_process *process, struct text *name,
                                struct text *why);

/* By the date of a line in its log, which it is made to write: one that serves, with `clock_moves`.
 */
struct result zookeeper_clock_offset(struct server_process *process, int64_t *offset_ns,
                                     struct text *why);

#endif
