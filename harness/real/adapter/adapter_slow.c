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

static void slow_go_on(struct adapter_process *process)
{
    process->slow_stops += proc_state(process->pid) == 'T' ? 1 : 0;
    process->slow_stands = false;
    process_thaw_group(process->pid);
}

/*
 * The library's own threads and timers are slow, too: its process stands still for as long as a
 * step is late, then runs for a moment. A freeze takes over a process that stands.
 */
void adapter_slow_turn(struct adapter_process *process, int64_t now_ns)
{
    if (process->slow_stands) {
        slow_go_on(process);
        process->slow_next_ns = now_ns + ADAPTER_SLOW_RUNS_MS * NS_PER_MS;
        return;
    }
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (result_failed(process_freeze_group(process->pid, &why))) {
        adapter_fail(process, "%s", why.data);
        return;
    }
    process->slow_stands = true;
    process->slow_next_ns = now_ns + adapter_slow_late_ns(adapter_first(process));
}

void adapter_slow(struct adapter *adapter, int32_t index, int64_t slow_ns, int64_t jitter_ns)
{
    struct adapter_client *client = &adapter->clients[index];
    struct adapter_process *process = client->process;
    if (process->gone) {
        return;
    }
    client->slow_ns = slow_ns;
    client->slow_jitter_ns = jitter_ns;
    if (client->index == process->first) {
        process->slow_next_ns = slow_ns > 0 ? loop_now_ns() : TIME_NEVER;
    }
    if (slow_ns == 0 && process->slow_stands) {
        slow_go_on(process);
    }
    adapter_alarm(client);
}

int64_t adapter_slow_stops(const struct adapter *adapter, int32_t index)
{
    return adapter->clients[index].process->slow_stops;
}
