/* nemesis.c: prints and reads faults as operations of the nemesis. */
#include "history/nemesis.h"

#include <inttypes.h>
#include <string.h>

/* What :value may hold: where it goes in the event, and how far it counts. */
struct nemesis_field {
    const char *key;
    int64_t maximum; /* of what is counted from 1; 0: any number, 0 if it is left out */
};

enum nemesis_fields {
    NEMESIS_FAULT,
    NEMESIS_CLIENT,
    NEMESIS_NODE,
    NEMESIS_ASKED,
    NEMESIS_OBSERVED
};

enum { NEMESIS_FIELDS = NEMESIS_OBSERVED + 1 };

static const struct nemesis_field fields[NEMESIS_FIELDS] = {
    [NEMESIS_FAULT] = {"fault", HISTORY_FAULTS_MAX},
    [NEMESIS_CLIENT] = {"client", HISTORY_PROCESSES_MAX},
    [NEMESIS_NODE] = {"node", HISTORY_NODES_MAX},
    [NEMESIS_ASKED] = {"asked", 0},
    [NEMESIS_OBSERVED] = {"observed", 0},
};

void nemesis_print(const struct history_event *event, struct text *text)
{
    const int64_t numbers[NEMESIS_FIELDS] = {event->fault + 1, event->process + 1, event->node + 1,
                                             event->number[0], event->number[1]};
    text_add(text,
             "{:index %" PRIu64 ", :time %" PRId64
             ", :process :nemesis, :type :info, :f :%s-%s, :value {",
             event->index, event->time_ns, history_f_name((enum history_f)event->f),
             fault_kind_name((enum fault_kind)event->fault_kind));
    const char *comma = "";
    for (int i = 0; i < NEMESIS_FIELDS; i++) {
        if (numbers[i] != 0) {
            text_add(text, "%s:%s %" PRId64, comma, fields[i].key, numbers[i]);
            comma = ", ";
        }
    }
    text_add(text, "}}\n");
}

/* "start-clock_jump" */
static bool read_word(const struct datum *word, struct history_event *event)
{
    const char *dash = word->text == NULL ? NULL : memchr(word->text, '-', word->bytes);
    enum history_f f;
    enum fault_kind kind;
    if (dash == NULL) {
        return false;
    }
    size_t first = (size_t)(dash - word->text);
    bool known = history_f_find(word->text, first, &f) && history_f_kind(f) == HISTORY_FAULT &&
                 fault_kind_find(dash + 1, word->bytes - first - 1, &kind);
    if (known) {
        event->f = (uint8_t)f;
        event->fault_kind = (uint8_t)kind;
    }
    return known;
}

static struct result read_number(const struct datum *data, int32_t value,
                                 const struct nemesis_field *field, int64_t *number,
                                 struct text *why)
{
    int32_t at = datum_find(data, value, field->key, strlen(field->key));
    *number = 0;
    if (at < 0) {
        return RESULT_OK;
    }
    bool counted = field->maximum > 0;
    *number = data[at].integer;
    if (data[at].type != DATUM_INTEGER || (counted && (*number < 1 || *number > field->maximum))) {
        text_add(why, "the nemesis' %s is no number%s", field->key,
                 counted ? " from 1 to its limit" : "");
        return result_error(ERROR_SCHEMA);
    }
    return RESULT_OK;
}

struct result nemesis_read(const struct datum *data, struct history_event *event, bool *ours,
                           struct text *why)
{
    int32_t f = datum_find(data, 0, "f", 1);
    int32_t value = datum_find(data, 0, "value", 5);
    *ours = f >= 0 && value >= 0 && data[value].type == DATUM_MAP && read_word(&data[f], event);
    if (!*ours) {
        return RESULT_OK;
    }
    int64_t numbers[NEMESIS_FIELDS];
    for (int i = 0; i < NEMESIS_FIELDS; i++) {
        TRY(read_number(data, value, &fields[i], &numbers[i], why));
    }
    if (numbers[NEMESIS_FAULT] == 0) {
        text_add(why, "the nemesis does not say which fault");
        return result_error(ERROR_SCHEMA);
    }
    event->kind = HISTORY_FAULT;
    event->type = 0;
    event->fault = (int32_t)numbers[NEMESIS_FAULT] - 1;
    event->process = (int32_t)numbers[NEMESIS_CLIENT] - 1;
    event->node = (int32_t)numbers[NEMESIS_NODE] - 1;
    event->number[0] = numbers[NEMESIS_ASKED];
    event->number[1] = numbers[NEMESIS_OBSERVED];
    return RESULT_OK;
}
