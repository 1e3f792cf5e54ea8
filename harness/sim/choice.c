/* choice.c: the keyed choice log: sorted insertion and search. */
#include "harness/sim/choice.h"

#include "base/assert.h"

#include <string.h>

static int choice_compare(const struct choice *a, const struct choice *b)
{
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->subject != b->subject) {
        return a->subject < b->subject ? -1 : 1;
    }
    if (a->nth != b->nth) {
        return a->nth < b->nth ? -1 : 1;
    }
    return 0;
}

/* The first place whose choice is not below `wanted`. */
static uint32_t choices_place(const struct choices *choices, const struct choice *wanted)
{
    uint32_t low = 0;
    uint32_t high = choices->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (choice_compare(&choices->list[middle], wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool choices_add(struct choices *choices, const struct choice *choice)
{
    ASSERT(choice->kind < CHOICE_KINDS);
    uint32_t place = choices_place(choices, choice);
    if (place < choices->count && choice_compare(&choices->list[place], choice) == 0) {
        choices->list[place] = *choice;
        return true;
    }
    if (choices->count == CHOICES_MAX) {
        return false;
    }
    memmove(&choices->list[place + 1], &choices->list[place],
            (choices->count - place) * sizeof choices->list[0]);
    choices->list[place] = *choice;
    choices->count++;
    return true;
}

bool choices_find(const struct choices *choices, enum choice_kind kind, uint32_t subject,
                  uint32_t nth, uint64_t *value)
{
    struct choice wanted = {.kind = (uint8_t)kind, .subject = subject, .nth = nth};
    uint32_t place = choices_place(choices, &wanted);
    if (place == choices->count || choice_compare(&choices->list[place], &wanted) != 0) {
        return false;
    }
    *value = choices->list[place].value;
    return true;
}

const char *choice_kind_name(enum choice_kind kind)
{
    switch (kind) {
#define X(name, word)                                                                              \
    case name:                                                                                     \
        return word;
        CHOICE_KIND_MAP(X)
#undef X
    case CHOICE_KINDS:
        break;
    }
    UNREACHABLE();
}
