/* peer.c: whose connection it is: the kernel knows the owner of the socket at its other end. */
#include "harness/real/proxy/peer.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer_question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

enum peer_answer { PEER_OWNED, PEER_NOBODY, PEER_UNTOLD };

/* Ask for the one socket that has these two ends. */
static enum peer_answer peer_ask(const struct sockaddr_in *from, const struct sockaddr_in *to,
                                 uid_t *owner)
{
    char bytes[8192];
    struct peer_question question;
    memset(&question, 0, sizeof question);
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request.sdiag_family = AF_INET;
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_states = UINT32_MAX;
    question.request.id.idiag_sport = from->sin_port;
    question.request.id.idiag_dport = to->sin_port;
    question.request.id.idiag_src[0] = from->sin_addr.s_addr;
    question.request.id.idiag_dst[0] = to->sin_addr.s_addr;
    question.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return PEER_UNTOLD;
    }
    ssize_t got = -1;
    if (send(fd, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        got = recv(fd, bytes, sizeof bytes, 0);
    }
    (void)close(fd);
    struct nlmsghdr header;
    struct inet_diag_msg answer;
    if (got < (ssize_t)(NLMSG_HDRLEN + sizeof answer)) {
        return PEER_UNTOLD;
    }
    memcpy(&header, bytes, sizeof header);
    memcpy(&answer, bytes + NLMSG_HDRLEN, sizeof answer);
    *owner = answer.idiag_uid;
    return header.nlmsg_type == SOCK_DIAG_BY_FAMILY ? PEER_OWNED : PEER_UNTOLD;
}

/* The same from the table for people, where the kernel has no other. */
static enum peer_answer peer_read(const struct sockaddr_in *from, const struct sockaddr_in *to,
                                  uid_t *owner)
{
    char line[512];
    unsigned src, src_port, dst, dst_port, uid;
    FILE *file = fopen("/proc/self/net/tcp", "re");
    if (file == NULL) {
        return PEER_UNTOLD;
    }
    enum peer_answer answer = PEER_NOBODY;
    while (answer != PEER_OWNED && fgets(line, sizeof line, file) != NULL) {
        int read = sscanf(line, " %*d: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u", &src, &src_port,
                          &dst, &dst_port, &uid);
        if (read == 5 && src == from->sin_addr.s_addr && dst == to->sin_addr.s_addr &&
            src_port == ntohs(from->sin_port) && dst_port == ntohs(to->sin_port)) {
            *owner = uid;
            answer = PEER_OWNED;
        }
    }
    (void)fclose(file);
    return answer;
}

bool peer_is_ours(int fd)
{
    struct sockaddr_in here;
    struct sockaddr_in there;
    socklen_t here_bytes = sizeof here;
    socklen_t there_bytes = sizeof there;
    uid_t owner = 0;
    if (getsockname(fd, (struct sockaddr *)&here, &here_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_bytes) != 0 ||
        here.sin_family != AF_INET) {
        return false;
    }
    enum peer_answer answer = peer_ask(&there, &here, &owner);
    if (answer == PEER_UNTOLD) {
        answer = peer_read(&there, &here, &owner);
    }
    return answer == PEER_UNTOLD || (answer == PEER_OWNED && (owner == geteuid() || owner == 0));
}
