/*
 * address.h: where something listens: an IPv4 address and a port.
 *
 *     struct address address = address_local(6379);       127.0.0.1:6379
 *     address_print(address, why);
 *
 * Names are not addresses: who has a name resolves it once, before anything runs.
 */
#ifndef SERVERS_ADDRESS_H
#define SERVERS_ADDRESS_H

#include "base/text.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct secure;

struct address {
    uint32_t ip; /* in network order */
    uint16_t port;
    const char *password;  /* opens what listens there (password.h); NULL: it is open. Kept */
    struct secure *secure; /* it speaks TLS (secure.h); NULL: it does not. Kept */
};

/* 127.0.0.1:port. */
struct address address_local(uint16_t port);
bool address_equal(struct address a, struct address b);
struct sockaddr_in address_socket(struct address address);
/* Of a socket's own side; all zero where it has none. */
struct address address_of(int fd);
/* "127.0.0.1:6379" */
void address_print(struct address address, struct text *text);
/* "127.0.0.1" */
void address_print_ip(struct address address, struct text *text);

/* A connection to it, without delay, that closes with an exec; -1 with errno. It blocks. */
int address_connect(struct address address);

#endif
