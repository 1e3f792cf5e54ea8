/* peer.h: whose connection it is. */
#ifndef HARNESS_REAL_PEER_H
#define HARNESS_REAL_PEER_H

#include <stdbool.h>

/*
 * Whether the other end of an accepted TCP connection on this machine belongs to our own user, or
 * to root, who may do everything anyway. The kernel is asked for the owner of that very socket.
 * Another user of the machine must not take part in a run. Only where there is no table of sockets
 * at all is nobody refused.
 */
bool peer_is_ours(int fd);

#endif
