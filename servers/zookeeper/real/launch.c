/* launch.c: members of a ZooKeeper ensemble as processes. */
#include "servers/zookeeper/real/jute.h"
#include "servers/zookeeper/real/member.h"
#include "servers/zookeeper/real/real.h"

#include "base/duration.h"
#include "lockcore/zookeeper/zookeeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAUNCH_JARS "/usr/share/java/"

enum {
    PORT_QUORUM, /* where a leader is found */
    PORT_ELECTION,
    TICK_MS = 150,  /* where nobody says how long sessions are to be */
    INIT_MS = 8000, /* a new leader waits so long for a majority to be as far as it is: who came
                       back empty may be elected, whom nobody follows */
};

/* Java, and Debian's archive of the server. */
static bool zookeeper_find(char *path, size_t bytes)
{
    return access(LAUNCH_JARS "zookeeper.jar", R_OK) == 0 &&
           server_program_find("java", path, bytes);
}

#define LAUNCH_CLASSES LAUNCH_JARS "zookeeper.jar:" LAUNCH_JARS "slf4j-simple.jar"

static const char main_class[] = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/*
 * A third of what a member needs to start is reading its classes: Java keeps what it made of them
 * in an archive, which is made once for each version of both, and kept in the user's cache. Where
 * that cannot be written there is none. What goes into it is what three members and a client loaded
 * that were started for it: a leader, followers, an election, a session. They have the same ports
 * at three addresses of the loopback, and each of their waits an end. $1: the member's folder, $2:
 * Java, $3: the classes, $4: the main one, $5: the cache, $6 to $8: ports.
 */
static const char furnish_script[] =
    "set -eu\n"
    "umask 077\n"
    "cache=$5/picklock here=$1/archive members=\n"
    "set -f; IFS=:\n"
    "key=$(stat -Lc %s.%Y -- \"$2\" $3 | cksum)\n"
    "unset IFS; set +f\n"
    "archive=$cache/zookeeper-three-${key%% *}.jsa\n"
    "if [ ! -f \"$archive\" ]; then\n"
    "    [ -d \"$cache\" ] || mkdir \"$cache\" 2>/dev/null || exit 0\n"
    "    mkdir \"$here\"\n"
    "    for n in 1 2 3; do\n"
    "        mkdir \"$here/$n\"; echo $n >\"$here/$n/myid\"\n"
    "        printf 'tickTime=200\\ninitLimit=100\\nsyncLimit=50\\ndataDir=%s\\nclientPort=%s\\n"
    "clientPortAddress=127.0.0.%s\\nadmin.enableServer=false\\n' \"$here/$n\" \"$6\" $n"
    " >\"$here/$n/zoo.cfg\"\n"
    "        for m in 1 2 3; do echo \"server.$m=127.0.0.$m:$7:$8\"; done >>\"$here/$n/zoo.cfg\"\n"
    "        timeout --foreground -k 3 60 \"$2\" -XX:DumpLoadedClassList=\"$here/list.$n\" "
    "-Xlog:disable -XX:+UseSerialGC"
    " -XX:TieredStopAtLevel=1 -Xmx64m -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp \"$3\""
    " \"$4\" \"$here/$n/zoo.cfg\" </dev/null &\n"
    "        members=\"$members $!\"\n"
    "    done\n"
    "    looks=0\n"
    "    until [ -f \"$here/1/version-2/currentEpoch\" ] || [ $looks -gt 400 ]; do\n"
    "        looks=$((looks + 1)); sleep 0.05\n"
    "    done\n"
    "    printf 'create /l\\ncreate -e -s /l/n-\\nls -w /l\\ndelete /l/n-0000000000\\n' |"
    " timeout 20 \"$2\" -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx64m -cp \"$3\""
    " org.apache.zookeeper.ZooKeeperMain -waitforconnection -server \"127.0.0.1:$6\""
    " >/dev/null 2>&1 || true\n"
    "    kill $members 2>/dev/null || true\n"
    "    wait $members || true\n"
    "    sed '/source:/d; s/ id:.*//' \"$here\"/list.? | LC_ALL=C sort -u >\"$here/list\"\n"
    /* Only G1 writes objects into an archive, which any collector reads. */
    "    timeout 60 \"$2\" -Xshare:dump -XX:SharedClassListFile=\"$here/list\""
    " -XX:SharedArchiveFile=\"$here/new.jsa\" -Xlog:disable -XX:+UseG1GC -Xmx128m -cp \"$3\""
    " >/dev/null 2>&1 || true\n"
    "    { cp \"$here/new.jsa\" \"$archive.$$\" && mv \"$archive.$$\" \"$archive\"; } 2>/dev/null "
    "||"
    " rm -f \"$archive.$$\"\n"
    "    rm -rf \"$here\"\n"
    "fi\n"
    "[ ! -f \"$archive\" ] || ln -s \"$archive\" \"$1/classes.jsa\"\n";

static void zookeeper_furnish(const struct server_process *process, struct server_words *words,
                              struct text *input)
{
    char program[SERVER_PATH_BYTES] = "java";
    char cache[SERVER_PATH_BYTES];
    (void)input;
    (void)zookeeper_find(program, sizeof program);
    server_cache(cache);
    server_word(words, "/bin/sh");
    server_word(words, "-c");
    server_word(words, "%s", furnish_script);
    server_word(words, "picklock-furnish");
    server_word(words, "%s", process->directory);
    server_word(words, "%s", process->program != NULL ? process->program : program);
    server_word(words, LAUNCH_CLASSES);
    server_word(words, "%s", main_class);
    server_word(words, "%s", cache);
    server_word(words, "%u", process->address.port);
    server_word(words, "%u", process->peer_port[PORT_QUORUM]);
    server_word(words, "%u", process->peer_port[PORT_ELECTION]);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/*
 * In the beginning the last member leads, as in the simulator: faults name members, not leaders. Of
 * members without a log the one with the highest id is elected, if it is there in time: until both
 * of two others have spoken to it, they do not speak to each other.
 */
static uint64_t spoken; /* bit n: member n and the last one have. Of one run, as a process is */

static int64_t tick_ms(const struct server_process *process)
{
    int64_t tick = process->ttl_ns / NS_PER_MS / ZOOKEEPER_SESSION_TICKS;
    return tick > 0 ? tick : TICK_MS;
}

/* Where a member finds each of them; its own line says where it listens itself. */
static void members_print(const struct server_process *process, FILE *file)
{
    uint32_t count = process->node_count;
    for (uint32_t node = 0; node < count; node++) {
        bool own = node == process->index;
        const uint16_t *port = own ? process->peer_port : process->peers;
        (void)fprintf(file, "server.%u=127.0.0.1:%u:%u\n", node + 1,
                      port[own ? PORT_QUORUM : PORT_QUORUM * count + node],
                      port[own ? PORT_ELECTION : PORT_ELECTION * count + node]);
    }
}

static void settings_print(const struct server_process *process, FILE *file)
{
    char memory[16];
    struct text ip = text_over(memory, sizeof memory);
    int64_t tick = tick_ms(process);
    address_print_ip(process->address, &ip);
    (void)fprintf(file,
                  "tickTime=%lld\n"
                  "initLimit=%d\n"
                  "syncLimit=%d\n"
                  "dataDir=%s/data\n"
                  "clientPort=%u\n"
                  "clientPortAddress=%s\n"
                  "admin.enableServer=false\n" /* a port of its own */
                  "4lw.commands.whitelist=srvr\n"
                  "maxClientCnxns=0\n",
                  (long long)tick, (int)(INIT_MS / tick) + 1, ZOOKEEPER_SYNC_TICKS,
                  process->directory, process->address.port, ip.data);
    if (process->node_count > 1) {
        members_print(process, file);
    }
}

static FILE *file_begin(const struct server_process *process, const char *name)
{
    char path[SERVER_PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%.500s/%s", process->directory, name);
    return fopen(path, "we");
}

static struct result zookeeper_prepare(struct server_process *process, struct text *why)
{
    char data[SERVER_PATH_BYTES + 32];
    (void)snprintf(data, sizeof data, "%.500s/data", process->directory);
    (void)mkdir(data, S_IRWXU);
    FILE *settings = file_begin(process, "zoo.cfg");
    FILE *id = file_begin(process, "data/myid");
    bool fine = settings != NULL && id != NULL;
    if (fine) {
        settings_print(process, settings);
        (void)fprintf(id, "%u\n", process->index + 1);
    }
    fine = (settings == NULL || fclose(settings) == 0) && fine;
    fine = (id == NULL || fclose(id) == 0) && fine;
    spoken = process->starts == 0 ? 0 : spoken;
    if (!fine) {
        text_add(why, "node %u: its settings cannot be written to %s: %s", process->index + 1,
                 process->directory, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static void zookeeper_words(const struct server_process *process, struct server_words *words)
{
    static const char *const machine[] = {
        "-XX:TieredStopAtLevel=1",       /* it starts sooner, and is never asked for much */
        "-XX:CompileThresholdScaling=5", /* and compiling took a third of what it computed */
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData", /* a file in /tmp */
        "-Xlog:disable",
        "-Xshare:auto",
        "-Xmx64m",
        "-Xss512k",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-Dzookeeper.preAllocSize=64",
        "-Dzookeeper.fastleader.maxNotificationInterval=400", /* not ever more seldom: to 60 s */
        "-Dzookeeper.nio.sessionlessCnxnTimeout=86400000",    /* one that is idle is a link, too */
    };
    /* member.c looks at its clock. */
    static const char *const dated[] = {
        "-Duser.timezone=UTC",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.ZooKeeperServer=info",
    };
    char archive[SERVER_PATH_BYTES + 32];
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++) {
        server_word(words, "%s", machine[i]);
    }
    /* A kill loses nothing that was written. */
    server_word(words, "-Dzookeeper.forceSync=%s", process->power_cut ? "yes" : "no");
    for (size_t i = 0; process->clock_moves && i < sizeof dated / sizeof dated[0]; i++) {
        server_word(words, "%s", dated[i]);
    }
    (void)snprintf(archive, sizeof archive, "%.500s/classes.jsa", process->directory);
    if (access(archive, R_OK) == 0) {
        server_word(words, "-XX:SharedArchiveFile=%s", archive);
    }
    server_word(words, "-cp");
    server_word(words, LAUNCH_CLASSES);
    server_word(words, "%s", main_class);
    server_word(words, "%s/zoo.cfg", process->directory);
}

/* ---- ready ----------------------------------------------------------------------------------- */

enum { ANSWER_BYTES = 4096 };

static void hang_up(struct server_process *process)
{
    (void)close(process->talk_fd);
    process->talk_fd = -1;
}

/* "srvr": it ends the connection behind its answer, which says in what it is a member. */
static bool zookeeper_alive(struct server_process *process)
{
    char answer[ANSWER_BYTES];
    if (process->talk_fd < 0) {
        process->talk_fd = address_connect(process->address);
        if (process->talk_fd >= 0 && send(process->talk_fd, "srvr", 4, MSG_NOSIGNAL) != 4) {
            hang_up(process);
        }
        return false;
    }
    ssize_t got = recv(process->talk_fd, answer, sizeof answer - 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    answer[got > 0 ? got : 0] = '\0';
    bool serves = strstr(answer, "\nMode: ") != NULL;
    if (serves || got <= 0 || strstr(answer, "not currently serving") != NULL) {
        hang_up(process);
    }
    return serves;
}

/* ---- who speaks ------------------------------------------------------------------------------ */

static bool may_speak(const struct server_greeting *greeting, uint32_t from)
{
    uint32_t last = greeting->node_count - 1;
    uint64_t both = UINT64_C(1) << from | UINT64_C(1) << greeting->node;
    if (from == last || greeting->node == last) {
        spoken |= both;
    }
    return (spoken & both) == both;
}

/*
 * Whoever asks for a vote says where it is found, and is dialled there by those whose ids are
 * higher: its own address would lead round the proxies.
 *
 *     -65536, its id, length, "127.0.0.1:PORT"
 */
static enum wire_cut zookeeper_greeting(const struct server_greeting *greeting, char *data,
                                        size_t bytes, uint32_t *from)
{
    enum { PROTOCOL = -65536, HEAD_BYTES = 20, ADDRESS_BYTES_MAX = 512 };
    static const char host[] = "127.0.0.1:";
    char own[sizeof host + 5];
    struct jute jute = {.at = data, .end = data + bytes};
    (void)from; /* each pair has its own door */
    if (greeting->port != PORT_ELECTION) {
        return WIRE_CUT_MESSAGE;
    }
    if (bytes < HEAD_BYTES) {
        return WIRE_CUT_MORE;
    }
    int64_t protocol = jute_number(&jute, 8);
    int64_t id = jute_number(&jute, 8);
    int64_t length = jute_number(&jute, 4);
    if (protocol != PROTOCOL || id < 1 || id > greeting->node_count || length < 0 ||
        length > ADDRESS_BYTES_MAX || !may_speak(greeting, (uint32_t)id - 1)) {
        return WIRE_CUT_BROKEN;
    }
    if (jute.end - jute.at < length) {
        return WIRE_CUT_MORE;
    }
    (void)snprintf(own, sizeof own, "%s%05u", host,
                   greeting->doors[greeting->node * greeting->node_count + (uint32_t)id - 1]);
    if (length != (int64_t)strlen(own)) {
        return WIRE_CUT_BROKEN;
    }
    memcpy(data + HEAD_BYTES, own, (size_t)length);
    return WIRE_CUT_MESSAGE;
}

static const struct server_peers peers = {.ports = 2, .greeting = zookeeper_greeting};

const struct server_launch zookeeper_launch = {
    .program = "zookeeper",
    .package = "zookeeper libzookeeper-st2",
    .find = zookeeper_find,
    .lacks = libzookeeper_lacks,
    .durable = true,
    .weight = 4, /* a Java machine for each member */
    .untouched = "its log is written into a file that was made long before, by calls that no "
                 "preload follows; crash is possible, which loses nothing that was answered",
    .wall_only = "its sessions go by the monotonic clock, which no preload moves, as a Java "
                 "machine waits by it; clock_jump is possible",
    .peers = &peers,
    .furnish = zookeeper_furnish,
    .prepare = zookeeper_prepare,
    .words = zookeeper_words,
    .alive = zookeeper_alive,
    .clock_offset = zookeeper_clock_offset,
    .version = zookeeper_version,
};
