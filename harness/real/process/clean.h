/* clean.h: `picklock clean`: end what runs left behind whose process was killed. */
#ifndef HARNESS_REAL_CLEAN_H
#define HARNESS_REAL_CLEAN_H

struct clean_report {
    int processes_killed;
    int directories_removed; /* RUN/state of runs whose owner is dead */
};

/*
 * Look at every process whose environment names a run directory, and at every RUN/state up to
 * three levels below `root` (NULL: none): where the owner is dead, kill and remove. Runs that are
 * alive are left alone. Only our own user's processes can be seen.
 */
void clean_leftovers(const char *root, struct clean_report *report);

#endif
