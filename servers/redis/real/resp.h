/*
 * resp.h: cut a byte stream into Redis commands and replies (RESP2; RESP3 is understood).
 *
 *     struct resp_commands reader = {0};
 *     while (resp_command(&reader, data + at, bytes - at, &words) == RESP_MESSAGE) {
 *         use words; at += words.message_bytes;
 *     }
 *
 * Sans-I/O. Nothing is copied: words and texts are borrowed from `data`, which must begin at the
 * start of a message. With RESP_MORE call again with the same bytes and more behind them (they may
 * have moved): what was looked at is not looked at again. RESP_BROKEN is final: the stream is not
 * RESP, or beyond a limit.
 */
#ifndef SERVERS_REDIS_RESP_H
#define SERVERS_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESP_MESSAGE_BYTES_MAX = 16 << 20,
    RESP_WORDS_MAX = 24, /* words of a command that are kept; further ones are skipped */
    RESP_COMMAND_WORDS_MAX = 1 << 20,
    RESP_LINE_BYTES_MAX = 64 << 10, /* an inline command, a status, a number */
    RESP_ELEMENTS_MAX = 1 << 22,
};

enum resp_status { RESP_MESSAGE, RESP_MORE, RESP_BROKEN };

struct resp_word {
    const char *data;
    uint32_t bytes;
};

struct resp_words {
    uint32_t message_bytes; /* of the whole command */
    uint32_t total;         /* words of the command; 0: an empty line, to be passed on */
    uint32_t count;         /* words kept: at most RESP_WORDS_MAX */
    struct resp_word word[RESP_WORDS_MAX];
};

/* Zero it for a new stream. */
struct resp_commands {
    uint32_t at;         /* bytes of the message looked at */
    uint32_t total;      /* words announced */
    uint32_t seen;       /* words complete */
    uint32_t body_bytes; /* of the word that is awaited, CRLF included; 0: its header is awaited */
    uint32_t start[RESP_WORDS_MAX];
    uint32_t bytes[RESP_WORDS_MAX];
};

enum resp_status resp_command(struct resp_commands *reader, const char *data, size_t bytes,
                              struct resp_words *words);

struct resp_reply {
    uint32_t message_bytes;
    char type;        /* '+', '-', ':', '$', '*' and those of RESP3 */
    bool null;        /* $-1, *-1, _ */
    int64_t integer;  /* ':': the number; aggregates: their size */
    const char *text; /* '+', '-', '$' and their like: borrowed */
    uint32_t bytes;
};

/* Zero it for a new stream. */
struct resp_replies {
    uint32_t at;       /* bytes of the message looked at */
    uint32_t open;     /* elements still to come */
    uint32_t skip;     /* bytes of a bulk still to come */
    uint32_t elements; /* announced so far */
    uint32_t looked;   /* bytes of the line that is awaited */
    struct resp_reply first;
    uint32_t first_start; /* offset of first.text */
};

enum resp_status resp_reply(struct resp_replies *reader, const char *data, size_t bytes,
                            struct resp_reply *reply);

#endif
