/*
 * bench_peers.c: the same histories judged by Porcupine, where Go is installed.
 *
 * A table of legal and illegal histories of one lock with 2 to 128 clients and 0, 1 and 5 % unknown
 * outcomes. Porcupine gets PEER_SECONDS (default 5) and 12 GiB for each; a size is not run where a
 * smaller one was not settled.
 */
#include "base/assert.h"
#include "bench/judged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool peer_built(void)
{
    static const char build[] = "cd bench/porcupine 2>/dev/null && command -v go >/dev/null && "
                                "go build -o ../../build/porcupine-peer . 2>/dev/null";
    return system(build) == 0;
}

/* What Porcupine says: "Ok 0.001 s, 4 MB". False if it settled nothing. */
static bool ask_peer(const char *path, char *answer, size_t bytes)
{
    const char *seconds = getenv("PEER_SECONDS");
    int ends[2];
    fflush(stdout);
    ASSERT(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit memory = {(rlim_t)12 << 30, (rlim_t)12 << 30};
        setrlimit(RLIMIT_AS, &memory);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        freopen("/dev/null", "w", stderr);
        execl("build/porcupine-peer", "porcupine-peer", path, seconds == NULL ? "5" : seconds,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char said[128] = "";
    ssize_t got = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    said[got > 0 ? strcspn(said, "\n") : 0] = '\0';
    struct rusage usage;
    int status = 0;
    ASSERT(wait4(child, &status, 0, &usage) == child);
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0 && said[0] != '\0';
    snprintf(answer, bytes, "%s s, %.0f MB", ended ? said : "out of memory",
             (double)usage.ru_maxrss / 1024);
    return ended && strncmp(said, "Unknown", 7) != 0;
}

static void compare(uint32_t unknown_ppm, bool illegal, uint32_t clients, const char *path)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    bool settled = true;
    printf("| %u %% | %s | %u |", unknown_ppm / 10000, illegal ? "illegal" : "legal", clients);
    for (uint64_t operations = 1000; operations <= 100000; operations *= 10) {
        char answer[160] = "-";
        struct generator_options generated = one_lock(operations, clients, unknown_ppm, illegal);
        struct measured ours = measure_check(&generated, &options);
        if (settled) {
            write_history(&generated, path);
            settled = ask_peer(path, answer, sizeof answer);
        }
        printf(" %s; ours %.5f s |", answer, ours.seconds);
    }
    printf("\n");
}

int main(void)
{
    char path[SCRATCH_PATH_BYTES];
    if (!peer_built()) {
        printf("# porcupine: skipped: Go, or github.com/anishathalye/porcupine v1.3.0, is not "
               "there\n");
        return 0;
    }
    int file = scratch_open(path);
    printf("| unknown | verdict | clients | 1,000 operations | 10,000 | 100,000 |\n"
           "|---|---|---|---|---|---|\n");
    static const uint32_t clients[] = {2, 8, 32, 128};
    static const uint32_t unknown[] = {0, 10000, 50000};
    for (size_t u = 0; u < 3; u++) {
        for (int illegal = 0; illegal < 2; illegal++) {
            for (size_t c = 0; c < 4; c++) {
                compare(unknown[u], illegal != 0, clients[c], path);
            }
        }
    }
    close(file);
    return 0;
}
