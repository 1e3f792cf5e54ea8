/* run_loading.c: stands for a server that answers every command alike: one that reads its data back
 * (LOADING), whose keys hold something else (WRONGTYPE), or whose answers are none (GARBLED). */
#include "harness/real/run/run.h"

#include "base/assert.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_LOADING_READ_BYTES = 1 << 16 };

static char run_loading_memory[RUN_LOADING_READ_BYTES];

static void run_loading_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    (void)handle;
    (void)suggested;
    *room = uv_buf_init(run_loading_memory, sizeof run_loading_memory);
}

static void run_loading_closed(uv_handle_t *handle)
{
    memory_release(handle);
}

/* One answer a command. Proxies send whole commands, and each begins with '*' behind a line end. */
static void run_loading_answer(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    if (bytes < 0) {
        uv_close((uv_handle_t *)stream, run_loading_closed);
        return;
    }
    for (ssize_t i = 0; i < bytes; i++) {
        if (buffer->base[i] == '*' && (i == 0 || buffer->base[i - 1] == '\n')) {
            char *refusal = stream->data;
            uv_buf_t answer = uv_buf_init(refusal, (unsigned)strlen(refusal));
            (void)uv_try_write(stream, &answer, 1); /* a reader that is gone needs none */
        }
    }
}

static void run_loading_accept(uv_stream_t *listener, int status)
{
    uv_tcp_t *connection = memory_resize(NULL, sizeof *connection);
    if (status != 0 || connection == NULL) {
        memory_release(connection);
        return;
    }
    (void)uv_tcp_init(listener->loop, connection);
    connection->data = listener->data;
    if (uv_accept(listener, (uv_stream_t *)connection) != 0 ||
        uv_read_start((uv_stream_t *)connection, run_loading_room, run_loading_answer) != 0) {
        uv_close((uv_handle_t *)connection, run_loading_closed);
    }
}

static char run_loading_loading[] = "-LOADING Redis is loading the dataset in memory\r\n";
static char run_loading_wrong[] =
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
static char run_loading_garbled[] = "*0\r\n";

static char *const run_loading_texts[NODE_ERRORS] = {
    [NODE_ERROR_LOADING] = run_loading_loading,
    [NODE_ERROR_WRONGTYPE] = run_loading_wrong,
    [NODE_ERROR_GARBLED] = run_loading_garbled,
};

bool run_loading_answers(const struct fault *fault)
{
    ASSERT(fault->error < NODE_ERRORS);
    return run_loading_texts[fault->error] != NULL;
}

static struct result run_loading_listen(struct run *run, uint32_t error, struct text *why)
{
    struct sockaddr_in address;
    int bytes = sizeof address;
    uv_tcp_t *listener = &run->loading[error];
    ASSERT(uv_ip4_addr("127.0.0.1", 0, &address) == 0);
    if (uv_tcp_init(&run->loop, listener) != 0 ||
        uv_tcp_bind(listener, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)listener, SOMAXCONN, run_loading_accept) != 0 ||
        uv_tcp_getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
        text_add(why, "no free port on 127.0.0.1");
        return result_error(ERROR_ENVIRONMENT);
    }
    listener->data = run_loading_texts[error];
    run->loading_port[error] = ntohs(address.sin_port);
    return RESULT_OK;
}

struct result run_loading_start(struct run *run, struct text *why)
{
    for (size_t k = 0; k < run->plan->scenario.fault_count; k++) {
        const struct fault *fault = &run->plan->scenario.faults[k];
        bool needed = fault->kind == FAULT_REFUSE_WRITES && run_loading_answers(fault);
        if (needed && run->loading_port[fault->error] == 0) {
            TRY(run_loading_listen(run, fault->error, why));
        }
    }
    return RESULT_OK;
}

/* A server that loads has just been restarted: its connections are gone, and go again at the end */
void run_loading_set(struct run *run, uint32_t k, int32_t node, bool loading)
{
    static uint8_t links[(SCENARIO_CLIENTS_MAX + 1) * LOCK_NODES_MAX];
    struct proxy_fault reset = {.kind = FAULT_PARTITION, .mode = MODE_RESET};
    memset(links, 0, sizeof links);
    for (int32_t client = 0; client <= run->client_count; client++) {
        links[client * run->node_count + node] = 1;
    }
    int port = run->loading_port[run_fault_at(run, k)->error];
    proxy_node_set(run->proxy, node,
                   loading ? address_local((uint16_t)port) : run->nodes[node].site.address);
    proxy_fault_begin(run->proxy, k, &reset, links);
    proxy_fault_end(run->proxy, k);
}
