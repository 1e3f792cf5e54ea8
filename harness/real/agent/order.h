/*
 * order.h: what a harness can order an agent to do, as words and numbers.
 *
 *     "crash 0"        the server in slot 0 is killed
 *     "clock 0 11000000000 1000000"
 *
 * One row an order: its name, how many numbers follow, and how long its answer may take. The last
 * part of an order with text is that text.
 */
#ifndef HARNESS_REAL_ORDER_H
#define HARNESS_REAL_ORDER_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Name, word, numbers, text behind them, seconds within which it must be answered. */
#define ORDER_MAP(X)                                                                               \
    X(ORDER_ATTACH, "attach", 0, true, 1)    /* NAME: be ours; answer: picklock's version */       \
    X(ORDER_TIME, "time", 0, false, 1)       /* answer: monotonic and wall clock, ns */            \
    X(ORDER_PREPARE, "prepare", 4, false, 2) /* slot, node, fsync, flags; answer: ip, port */      \
    X(ORDER_START, "start", 1, false, 2)     /* slot; it is not up yet */                          \
    X(ORDER_CRASH, "crash", 1, false, 2)     /* slot */                                            \
    X(ORDER_SHUTDOWN, "shutdown", 1, false, 12)                                                    \
    X(ORDER_POWER_LOSS, "power-loss", 2, false, 12) /* slot, draw; answer: written synced kept */  \
    X(ORDER_FREEZE, "freeze", 1, false, 2)                                                         \
    X(ORDER_THAW, "thaw", 1, false, 1)                                                             \
    X(ORDER_CLOCK, "clock", 3, false, 1) /* slot, jump ns, rate in millionths */                   \
    X(ORDER_LOG, "log", 1, false, 2)     /* slot; answer: the end of its server's log */

enum order_kind {
#define X(kind, word, numbers, text, seconds) kind,
    ORDER_MAP(X)
#undef X
        ORDER_KINDS
};

enum { ORDER_NUMBERS_MAX = 4, ORDER_TEXT_BYTES = 160, ORDER_SLOTS = 2 };

/* prepare: flags */
enum { ORDER_FAKE_CLOCK = 1, ORDER_TRACK_FSYNC = 2, ORDER_REPLICA = 4 };

struct order {
    uint8_t kind; /* enum order_kind */
    int64_t numbers[ORDER_NUMBERS_MAX];
    char text[ORDER_TEXT_BYTES];
};

void order_print(const struct order *order, struct text *text);

/* False: it is none of ours, or has other parts than its row says. */
bool order_parse(const char *body, size_t bytes, struct order *order);

/* Numbers of an answer, one blank between each two; false if there are not `count` of them. */
bool order_numbers(const char *body, size_t bytes, int64_t *numbers, uint32_t count);

const char *order_word(enum order_kind kind);
int64_t order_patience_ns(enum order_kind kind);

#endif
