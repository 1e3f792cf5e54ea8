/* address.c: where something listens: an IPv4 address and a port. */
#include "servers/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct address address_local(uint16_t port)
{
    return (struct address){.ip = htonl(INADDR_LOOPBACK), .port = port};
}

bool address_equal(struct address a, struct address b)
{
    return a.ip == b.ip && a.port == b.port;
}

struct sockaddr_in address_socket(struct address address)
{
    struct sockaddr_in socket;
    memset(&socket, 0, sizeof socket);
    socket.sin_family = AF_INET;
    socket.sin_port = htons(address.port);
    socket.sin_addr.s_addr = address.ip;
    return socket;
}

struct address address_of(int fd)
{
    struct sockaddr_in socket;
    socklen_t bytes = sizeof socket;
    memset(&socket, 0, sizeof socket);
    if (getsockname(fd, (struct sockaddr *)&socket, &bytes) != 0) {
        return (struct address){.ip = 0};
    }
    return (struct address){.ip = socket.sin_addr.s_addr, .port = ntohs(socket.sin_port)};
}

void address_print_ip(struct address address, struct text *text)
{
    uint32_t ip = ntohl(address.ip);
    text_add(text, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

void address_print(struct address address, struct text *text)
{
    address_print_ip(address, text);
    text_add(text, ":%u", address.port);
}

int address_connect(struct address address)
{
    int one = 1;
    struct sockaddr_in to = address_socket(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0 ||
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}
