/* guard_file.c: adds one to the number in a file, guarded by a lock on redis nodes.
 *
 *     cc -o guard_file guard_file.c $(pkg-config --cflags --libs lockcore)
 *     ./guard_file counter 127.0.0.1:7001 127.0.0.1:7002 127.0.0.1:7003
 *
 * However many run at once, every addition counts. */
#include <lockcore/lockcore.h>
#include <stdio.h>

static int add_one(const char *path, const struct blocking_lease *lease)
{
    long number = 0;
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%ld", &number) != 1) {
            number = 0;
        }
        (void)fclose(file);
    }
    if (blocking_left_ns(lease) <= 0) {
        return 1; /* we were too slow: the file may be another's by now */
    }
    file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%ld\n", number + 1) < 0 || fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 2 + LOCK_NODES_MAX) {
        (void)fprintf(stderr, "usage: %s FILE NODE...\n", argv[0]);
        return 2;
    }
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct lock_config config = redis_locks_config((uint32_t)argc - 2);
    config.retry_count = 1000;
    struct blocking_locks *locks;
    if (result_failed(blocking_open((const char *const *)&argv[2], &config, &locks, &why))) {
        (void)fprintf(stderr, "%s\n", why.data);
        return 1;
    }
    int status = 1;
    struct blocking_lease lease;
    if (blocking_acquire(locks, argv[1], &lease) == LOCK_TOLD_GRANTED) {
        status = add_one(argv[1], &lease);
        (void)blocking_release(&lease);
    } else {
        (void)fprintf(stderr, "%s: %s\n", argv[1], lock_reason_sentence(lease.reason));
    }
    blocking_close(locks);
    return status;
}
