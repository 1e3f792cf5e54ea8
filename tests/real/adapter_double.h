/* adapter_double.h: no adapters here: stands in for harness/real/adapter.c until it is there. */
#ifndef TESTS_REAL_ADAPTER_DOUBLE_H
#define TESTS_REAL_ADAPTER_DOUBLE_H

#include "harness/real/adapter.h"

#include <stdlib.h>

struct result adapter_start(const struct adapter_options *options, struct adapter **adapter,
                            struct text *why)
{
    (void)options;
    (void)adapter;
    (void)why;
    abort();
}
void adapter_stop(struct adapter *adapter)
{
    (void)adapter;
}
void adapter_begin(struct adapter *adapter, int32_t client)
{
    (void)adapter;
    (void)client;
}
void adapter_freeze(struct adapter *adapter, int32_t client)
{
    (void)adapter;
    (void)client;
}
void adapter_thaw(struct adapter *adapter, int32_t client)
{
    (void)adapter;
    (void)client;
}
void adapter_kill(struct adapter *adapter, int32_t client)
{
    (void)adapter;
    (void)client;
}
int adapter_pid(const struct adapter *adapter, int32_t client)
{
    (void)adapter;
    (void)client;
    return -1;
}
struct proxy_answer adapter_arrival(struct adapter *adapter, const struct proxy_message *message)
{
    (void)adapter;
    (void)message;
    return PROXY_PASSES;
}
struct proxy_answer adapter_reply(struct adapter *adapter, const struct proxy_message *message)
{
    (void)adapter;
    (void)message;
    return PROXY_PASSES;
}

#endif
