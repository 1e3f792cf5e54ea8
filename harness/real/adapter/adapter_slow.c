/* adapter_slow.c: programs that are given a processor now and then only. */
#include "harness/real/adapter/adapter_inner.h"

#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

int64_t adapter_slow_late_ns(struct adapter_client *client)
{
    int64_t late_ns = client->slow_ns;
    if (client->slow_jitter_ns > 0) {
        late_ns += (int64_t)random_below(&client->slow, (uint64_t)client->slow_jitter_ns + 1);
    }
    return late_ns;
}

/*
 * The library's own threads and timers are slow, too: its process stands still for as long as a
 * step is late, then runs for a moment. A freeze takes over a process that stands.
 */
void adapter_slow_turn(struct adapter_client *client, int64_t now_ns)
{
    if (client->slow_stands) {
        client->slow_stops += proc_state(client->pid) == 'T' ? 1 : 0;
        client->slow_stands = false;
        process_thaw_group(client->pid);
        client->slow_next_ns = now_ns + ADAPTER_SLOW_RUNS_MS * NS_PER_MS;
        return;
    }
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (result_failed(process_freeze_group(client->pid, &why))) {
        adapter_fail(client, "%s", why.data);
        return;
    }
    client->slow_stands = true;
    client->slow_next_ns = now_ns + adapter_slow_late_ns(client);
}

void adapter_slow(struct adapter *adapter, int32_t index, int64_t slow_ns, int64_t jitter_ns)
{
    struct adapter_client *client = &adapter->clients[index];
    if (client->state == ADAPTER_GONE) {
        return;
    }
    client->slow_ns = slow_ns;
    client->slow_jitter_ns = jitter_ns;
    client->slow_next_ns = slow_ns > 0 ? loop_now_ns() : TIME_NEVER;
    if (slow_ns == 0 && client->slow_stands) {
        client->slow_stops += proc_state(client->pid) == 'T' ? 1 : 0;
        client->slow_stands = false;
        process_thaw_group(client->pid);
    }
    adapter_alarm(client);
}

int64_t adapter_slow_stops(const struct adapter *adapter, int32_t index)
{
    return adapter->clients[index].slow_stops;
}
