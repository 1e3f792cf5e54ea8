/* report_recap.c: what was not as expected, once more, where a long log ends. */
#include "cli/apart.h"
#include "cli/report_formats.h"

#include <inttypes.h>

enum { RECAP_GROUPS_MAX = 30 };

static bool differs(const struct report *report, const struct report_group *groups, size_t i)
{
    struct report silent = *report;
    silent.format = REPORT_NOTHING;
    return i > 0 && groups[i - 1].scenario == groups[i].scenario &&
           report_disagreement(&silent, &groups[i - 1], &groups[i]);
}

static bool is_met(const struct report_group *group)
{
    return group->runs == 0 || group->met == group->runs;
}

/* Does anything stand below the first of them that is as it should be? */
static bool buried(const struct report *report, const struct report_group *groups, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        bool fine = is_met(&groups[i]) && !differs(report, groups, i);
        if (found && fine) {
            return true;
        }
        found = found || !fine;
    }
    return found && report->apart != NULL && report->apart->count > 0;
}

/* What took longer than it need have, and is no verdict's fault. */
static void tell_late(const struct report *report, const struct report_group *groups, size_t count)
{
    uint64_t tries = 0;
    for (size_t i = 0; i < count; i++) {
        tries += groups[i].late_tries;
    }
    if (tries > 0 && report->format == REPORT_TEXT) {
        printf("%" PRIu64 " %s left open by nothing but this machine's lateness, and begun again\n",
               tries, tries == 1 ? "run was" : "runs were");
    }
}

void report_recap(const struct report *report, const struct report_group *groups, size_t count)
{
    size_t told = 0;
    tell_late(report, groups, count);
    if (report->format != REPORT_TEXT || report->quiet || report->brief || report->table != NULL ||
        !buried(report, groups, count)) {
        return;
    }
    printf("\nNot as expected, or unknown:\n");
    for (size_t i = 0; i < count; i++) {
        if (!is_met(&groups[i]) && told++ < RECAP_GROUPS_MAX) {
            report_group_text(report, &groups[i]);
        }
        if (differs(report, groups, i)) {
            (void)report_disagreement(report, &groups[i - 1], &groups[i]);
        }
    }
    if (told > RECAP_GROUPS_MAX) {
        printf("... and %zu more, above\n", told - RECAP_GROUPS_MAX);
    }
    printf("\n");
}
