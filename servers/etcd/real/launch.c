/* launch.c: members of an etcd cluster as processes. */
#include "servers/etcd/real/gateway.h"
#include "servers/etcd/real/http.h"
#include "servers/etcd/real/member.h"
#include "servers/etcd/real/real.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Faster than etcd's own 100 ms and 1 s, so that an election is over before a lock's patience is;
 * no faster, since three members at rest spend an eighth of a processor on heartbeats of 20 ms.
 */
#define HEARTBEAT_MS 40
#define ELECTION_MS  400

/*
 * What was asked last on talk_fd. Of a transfer, in the end, how often its answer was looked for:
 * where a third member overtakes the one that was to lead, none ever comes.
 */
enum launch_asked { ASKED_NOTHING, ASKED_STATUS, ASKED_MEMBERS, ASKED_TRANSFER };

enum { TRANSFER_LOOKS_MAX = 1000 };

/* All members must know one by the same address: it is the proxies', and hashed into their ids. */
static void peer_url(const struct server_process *process, uint32_t node, struct text *url)
{
    text_add(url, "http://127.0.0.1:%u",
             process->peers != NULL ? process->peers[node] : process->peer_port[0]);
}

static void cluster_words(const struct server_process *process, struct server_words *words)
{
    char memory[SERVER_PATH_BYTES];
    char members_memory[SERVER_WORD_BYTES / 2];
    struct text url = text_over(memory, sizeof memory);
    struct text members = text_over(members_memory, sizeof members_memory);
    for (uint32_t node = 0; node < process->node_count; node++) {
        text_add(&members, "%sn%u=", node > 0 ? "," : "", node);
        peer_url(process, node, &members);
    }
    peer_url(process, process->index, &url);
    server_word(words, "--initial-advertise-peer-urls");
    server_word(words, "%s", url.data);
    server_word(words, "--initial-cluster");
    server_word(words, "%s", members.data);
    server_word(words, "--listen-peer-urls");
    server_word(words, "http://127.0.0.1:%u", process->peer_port[0]);
}

static void etcd_words(const struct server_process *process, struct server_words *words)
{
    char memory[64];
    struct text address = text_over(memory, sizeof memory);
    address_print(process->address, &address);
    server_word(words, "--name");
    server_word(words, "n%u", process->index);
    server_word(words, "--data-dir");
    server_word(words, "%s/data", process->directory);
    server_word(words, "--listen-client-urls");
    server_word(words, "http://%s", address.data);
    server_word(words, "--advertise-client-urls");
    server_word(words, "http://%s", address.data);
    cluster_words(process, words);
    server_word(words, "--initial-cluster-token");
    server_word(words, "picklock");
    server_word(words, "--heartbeat-interval");
    server_word(words, "%d", HEARTBEAT_MS);
    server_word(words, "--election-timeout");
    server_word(words, "%d", ELECTION_MS);
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* In the beginning node 1 leads, as in the simulator: faults name nodes, not leaders. */
static bool leads_wrongly(const struct server_process *process, bool leads)
{
    return process->starts == 1 && process->index != 0 && leads;
}

static void ask(struct server_process *process, enum launch_asked what, const char *path,
                const char *body)
{
    process->talk_awaited = member_say(process, path, body) ? (uint32_t)what : ASKED_NOTHING;
}

/* Whether it knows a leader, and the right one leads; else something more is asked. */
static bool status_heard(struct server_process *process, struct wire_text answer)
{
    int64_t leader = gateway_number(answer, "leader");
    bool leads = leader == gateway_number(answer, "header.member_id");
    process->talk_awaited = ASKED_NOTHING;
    if (leader != 0 && leads_wrongly(process, leads)) {
        ask(process, ASKED_MEMBERS, "/v3/cluster/member/list", "{}");
        return false;
    }
    return leader != 0;
}

static void members_heard(struct server_process *process, struct wire_text answer)
{
    char body[64];
    (void)snprintf(body, sizeof body, "{\"targetID\":\"%" PRIu64 "\"}",
                   (uint64_t)gateway_member(answer, "n0"));
    ask(process, ASKED_TRANSFER, "/v3/maintenance/transfer-leadership", body);
}

static void transfer_unheard(struct server_process *process)
{
    if (process->talk_awaited >= ASKED_TRANSFER &&
        ++process->talk_awaited > ASKED_TRANSFER + TRANSFER_LOOKS_MAX) {
        member_hang_up(process);
    }
}

static bool etcd_alive(struct server_process *process)
{
    char memory[MEMBER_ANSWER_BYTES];
    struct text answer = text_over(memory, sizeof memory);
    if (process->talk_fd < 0 || process->talk_awaited == ASKED_NOTHING) {
        ask(process, ASKED_STATUS, "/v3/maintenance/status", "{}");
        return false;
    }
    if (member_hear(process, &answer) != MEMBER_HEARD_ALL) {
        transfer_unheard(process);
        return false;
    }
    struct wire_text body = {answer.data, (uint32_t)answer.length};
    switch ((enum launch_asked)process->talk_awaited) {
    case ASKED_STATUS:
        return status_heard(process, body);
    case ASKED_MEMBERS:
        members_heard(process, body);
        return false;
    case ASKED_NOTHING:
    case ASKED_TRANSFER:
        break;
    }
    process->talk_awaited = ASKED_NOTHING;
    return false;
}

static struct result etcd_version(struct server_process *process, struct text *name,
                                  struct text *why)
{
    char memory[MEMBER_ANSWER_BYTES];
    struct text answer = text_over(memory, sizeof memory);
    TRY(member_ask(process, "/v3/maintenance/status", "{}", &answer, why));
    const char *version = strstr(answer.data, "\"version\":");
    version = version != NULL ? strchr(version + strlen("\"version\":"), '"') : NULL;
    if (version == NULL) {
        text_add(why, "node %u does not say its version", process->index + 1);
        return result_error(ERROR_ENVIRONMENT);
    }
    text_add(name, "etcd %.*s", (int)strcspn(version + 1, "\""), version + 1);
    return RESULT_OK;
}

/* ---- who speaks ------------------------------------------------------------------------------ */

/*
 * A member says by its own address who it is; where it asks for a version, probes, or hands on a
 * keep-alive, it does not say it.
 */
static enum wire_cut etcd_greeting(const struct server_greeting *greeting, char *data, size_t bytes,
                                   uint32_t *from)
{
    static const char url[] = "http://127.0.0.1:";
    struct http_message message;
    struct wire_text said;
    enum wire_cut cut = http_head(data, bytes, &message);
    *from = SERVER_PEER_NOBODY;
    if (cut != WIRE_CUT_MESSAGE || !http_header(&message, "X-PeerURLs", &said)) {
        return cut;
    }
    for (uint32_t node = 0; node < greeting->node_count; node++) {
        char own[sizeof url + 8];
        uint16_t door = greeting->doors[greeting->node * greeting->node_count + node];
        int length = snprintf(own, sizeof own, "%s%u", url, door);
        if (length == (int)said.bytes && memcmp(own, said.data, said.bytes) == 0) {
            *from = node;
        }
    }
    return cut;
}

static const struct server_peers peers = {
    .ports = 1,
    .one_door = true,
    .greeting = etcd_greeting,
};

const struct server_launch etcd_launch = {
    .program = "etcd",
    .package = "etcd-server libcurl4",
    .lacks = libcurl_lacks,
    .version_words = "etcd Version: ",
    .version_min = 304, /* the gateway at /v3/ */
    .durable = true,
    .untouched = "a Go program asks the kernel itself for the time and to sync its files, past "
                 "anything that is loaded into it",
    .peers = &peers,
    .words = etcd_words,
    .alive = etcd_alive,
    .version = etcd_version,
};
