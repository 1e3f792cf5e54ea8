/* section_exclusion.c: were two clients inside the section at once, however late? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum section_reason { TWO_INSIDE = 1 };

/* A client that leaves at the very time at which another enters does not meet it. */
enum { INSIDERS_MAX = 4 }; /* followed of one resource; the violation shows at the second */

struct insider {
    int32_t process;
    uint64_t index;
    int64_t since_ns;
};

struct insiders {
    uint32_t count;
    struct insider list[INSIDERS_MAX];
};

struct section_exclusion {
    struct check_result result;
    bool waiting;
    int32_t first_process;
    uint32_t first_resource;
    int64_t since_ns;
    uint32_t resource_count;
    struct finding finding;
    struct insiders resources[];
};

static size_t section_bytes(const struct history_header *header)
{
    return sizeof(struct section_exclusion) +
           ledger_resource_count(header) * sizeof(struct insiders);
}

static void section_init(void *state, const struct history_header *header)
{
    struct section_exclusion *section = state;
    memset(state, 0, section_bytes(header));
    section->resource_count = ledger_resource_count(header);
}

/* Who is inside already and no part of the same owner; NULL: nobody. */
static const struct insider *section_other(const struct insiders *insiders,
                                           const struct ledger *ledger, int32_t process)
{
    for (uint32_t i = 0; i < insiders->count; i++) {
        if (!ledger_same_owner(ledger, insiders->list[i].process, process)) {
            return &insiders->list[i];
        }
    }
    return NULL;
}

/* The first went on until then. */
static void settle(struct section_exclusion *section, const struct ledger *ledger, int64_t end_ns)
{
    ASSERT(section->waiting);
    section->finding.rest = rest_gone_on(section->finding.rest, end_ns);
    check_fail(&section->result, ledger, &section->finding);
    section->waiting = false;
}

static void section_enter(struct section_exclusion *section, const struct ledger *ledger,
                          const struct history_event *event)
{
    struct insiders *insiders = &section->resources[event->resource];
    section->result.judged++;
    const struct insider *first = section_other(insiders, ledger, event->process);
    bool another = section->waiting && first != NULL && section->first_process != first->process;
    if (another && event->time_ns > section->since_ns) {
        settle(section, ledger, event->time_ns); /* as it stands */
    }
    if (first != NULL && !section->waiting) {
        struct finding_cast cast = {first->process, event->process, event->resource};
        struct blamed blamed = blame_meeting(ledger, cast.one, cast.other, cast.resource);
        section->finding = (struct finding){
            .reason = TWO_INSIDE,
            .evidence = {first->index, event->index},
            .evidence_count = 2,
            .blamed = blamed,
            .number = {event->time_ns - first->since_ns, 0},
            .rest = rest_of_meeting(ledger, &cast, blamed),
        };
        if (section->finding.rest.processes[0] != first->process) {
            /* The older holder came to the newer one: it went on until now. */
            section->finding.rest = rest_gone_on(section->finding.rest, event->time_ns);
        }
        section->waiting = true;
        section->first_process = first->process;
        section->first_resource = event->resource;
        section->since_ns = event->time_ns;
    }
    if (insiders->count < INSIDERS_MAX) {
        insiders->list[insiders->count++] = (struct insider){
            .process = event->process, .index = event->index, .since_ns = event->time_ns};
    }
}

static void section_leave(struct section_exclusion *section, const struct ledger *ledger,
                          uint32_t resource, const struct history_event *event)
{
    struct insiders *insiders = &section->resources[resource];
    for (uint32_t i = 0; i < insiders->count; i++) {
        if (insiders->list[i].process == event->process) {
            insiders->list[i] = insiders->list[insiders->count - 1];
            insiders->count--;
            break;
        }
    }
    bool first = section->waiting && section->first_process == event->process &&
                 section->first_resource == resource;
    if (first && event->time_ns > section->since_ns) {
        settle(section, ledger, event->time_ns);
    }
    section->waiting = section->waiting && !first;
}

/* Whether the first may yet go on for longer, which its violation is to be measured by; until when
 * it did if not. */
static bool section_goes_on(const struct section_exclusion *section, const struct ledger *ledger,
                            int64_t *end_ns)
{
    const struct ledger_claim *claim =
        ledger_grant(ledger, section->first_process, section->first_resource);
    int64_t over_ns = claim != NULL ? ledger_lease_end_ns(claim) : ledger->now_ns;
    *end_ns = over_ns < ledger->now_ns ? over_ns : ledger->now_ns;
    return over_ns > ledger->now_ns && rest_goes_on(&section->finding.rest, ledger->now_ns);
}

static void section_step(void *state, const struct ledger *ledger,
                         const struct history_event *event)
{
    struct section_exclusion *section = state;
    if (section->waiting && event->time_ns > section->since_ns) {
        int64_t end_ns = 0;
        if (!section_goes_on(section, ledger, &end_ns)) {
            settle(section, ledger, end_ns);
        }
    }
    if (event->kind == HISTORY_SECTION && event->resource < section->resource_count) {
        if (event->f == HISTORY_ENTER) {
            section_enter(section, ledger, event);
        } else {
            section_leave(section, ledger, event->resource, event);
        }
        return;
    }
    if (event->kind == HISTORY_CLIENT && event->f == HISTORY_CLIENT_KILLED) {
        /* Its section ends with it, wherever that was. */
        for (uint32_t i = 0; i < section->resource_count; i++) {
            section_leave(section, ledger, i, event);
        }
    }
}

static void section_finish(void *state, const struct ledger *ledger)
{
    struct section_exclusion *section = state;
    if (section->waiting) {
        int64_t end_ns = 0;
        (void)section_goes_on(section, ledger, &end_ns);
        settle(section, ledger, end_ns);
    }
    check_conclude(&section->result);
}

static void say_section(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    put_client(telling, second->process);
    text_add(text, " entered the section of ");
    put_resource(telling, second->resource);
    text_add(text, " at ");
    put_time(text, second->time_ns);
    text_add(text, " while ");
    put_client(telling, first->process);
    text_add(text, " was still inside, since ");
    put_time(text, first->time_ns);
}

static void effect_section(const struct telling *telling)
{
    text_add(telling->text, "two clients were inside ");
    put_resource(telling, telling->resource);
    text_add(telling->text, " at once");
}

const struct check check_section_exclusion = {
    .name = "section_exclusion",
    .question = "Were two clients inside the section at once, however late?",
    .nothing = "nobody entered a section",
    .wants = CHECK_BIT(HISTORY_ENTER) | CHECK_BIT(HISTORY_LEAVE) | CHECK_BIT(HISTORY_CLIENT_KILLED),
    .follows = true,
    .bytes = section_bytes,
    .init = section_init,
    .step = section_step,
    .finish = section_finish,
    .say = say_section,
    .effect = effect_section,
    .over = "both inside",
    .lasts = true,
    .part = PART_MEETING,
    .weight = 3,
};
