/* pack.c: gives events of one shape one number, and values theirs. */
#include "checker/report/pack.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* The script's numbers are exact up to 2^53; zigzag takes one bit. */
#define NUMBER_MAX (INT64_C(1) << 52)

enum {
    NODES_IN_SHAPE = 16,
    SHAPE_PLACES = 2 * PACK_SHAPES_MAX,
    VALUES_FIRST = 1024,
    NODE_APART = -2, /* the node is a field */
    /* Of a mark: */
    MARK_OTHER_PROCESS = 1 << 0,
    MARK_OTHER_RESOURCE = 1 << 1,
    MARK_UNTIL_EVENT = 1 << 2,
    MARK_UNTIL_OTHER = 1 << 3,
};

/* Compared and hashed as bytes. */
struct shape {
    uint8_t kind;
    uint8_t type;
    uint8_t f;
    uint8_t cause;
    uint8_t fault_kind;
    uint8_t links;
    int8_t node;
    uint8_t mark_count;
    uint32_t fields;
    uint32_t audit;
    uint16_t marks[MARKS_MAX];
    char command[HISTORY_COMMAND_BYTES];
};

_Static_assert(sizeof(struct shape) == 16 + 2 * MARKS_MAX + HISTORY_COMMAND_BYTES, "no padding");

struct known_value {
    struct history_value value;
    uint32_t number; /* + 1; 0: free */
    int32_t process;
};

struct pack {
    int64_t last_ns;
    bool failed;
    uint32_t shape_count;
    struct shape shapes[PACK_SHAPES_MAX];
    int64_t shape_until[PACK_SHAPES_MAX];
    uint16_t places[SHAPE_PLACES]; /* shape + 1 */
    int64_t sent_ns[PACK_SENDERS];
    uint32_t held[HISTORY_NODES_MAX]; /* number of the value told of last on each node; 0: none */
    uint32_t value_count;
    uint32_t value_places;
    struct known_value *values; /* owned: open addressing */
    struct sheet rows;
    struct sheet value_bytes;
};

struct pack *pack_open(int64_t base_ns)
{
    struct pack *pack = memory_resize(NULL, sizeof *pack);
    if (pack != NULL) {
        memset(pack, 0, sizeof *pack);
        pack->last_ns = base_ns;
        pack->rows = sheet_empty(REPORT_BYTES_MAX);
        pack->value_bytes = sheet_empty(REPORT_BYTES_MAX);
    }
    return pack;
}

void pack_close(struct pack *pack)
{
    if (pack != NULL) {
        sheet_release(&pack->rows);
        sheet_release(&pack->value_bytes);
        memory_release(pack->values);
        memory_release(pack);
    }
}

bool pack_failed(const struct pack *pack)
{
    return pack->failed || pack->rows.cut || pack->value_bytes.cut;
}

const struct sheet *pack_rows(const struct pack *pack)
{
    return &pack->rows;
}

const struct sheet *pack_values(const struct pack *pack)
{
    return &pack->value_bytes;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 29;
}

/* Where a value is, or would be. */
static struct known_value *value_place(struct known_value *values, uint32_t places,
                                       const struct history_value *value)
{
    uint64_t at = hash_of(value, sizeof *value);
    for (;; at++) {
        struct known_value *known = &values[at & (places - 1)];
        if (known->number == 0 || history_value_equal(&known->value, value)) {
            return known;
        }
    }
}

/* Room for one more. */
static bool values_grow(struct pack *pack)
{
    if (2 * (pack->value_count + 1) <= pack->value_places) {
        return true;
    }
    uint32_t places = pack->value_places > 0 ? 2 * pack->value_places : VALUES_FIRST;
    struct known_value *values = memory_resize(NULL, places * sizeof *values);
    if (values == NULL) {
        pack->failed = true;
        return false;
    }
    memset(values, 0, places * sizeof *values);
    for (uint32_t i = 0; i < pack->value_places; i++) {
        if (pack->values[i].number != 0) {
            *value_place(values, places, &pack->values[i].value) = pack->values[i];
        }
    }
    memory_release(pack->values);
    pack->values = values;
    pack->value_places = places;
    return true;
}

static const struct known_value *value_find(struct pack *pack, const struct history_value *value)
{
    if (pack->value_places == 0) {
        return NULL;
    }
    const struct known_value *known = value_place(pack->values, pack->value_places, value);
    return known->number != 0 ? known : NULL;
}

/* Gives its number. */
static uint32_t put_value(struct pack *pack, const struct history_value *value, int32_t process)
{
    const struct known_value *known = value_find(pack, value);
    if (known != NULL) {
        encode_varint(&pack->rows, pack->value_count - known->number + 1);
        return known->number;
    }
    encode_varint(&pack->rows, 0);
    if (values_grow(pack)) {
        struct known_value *fresh = value_place(pack->values, pack->value_places, value);
        *fresh = (struct known_value){
            .value = *value, .number = ++pack->value_count, .process = process};
        sheet_add_bytes(&pack->value_bytes, value->bytes, PACK_VALUE_BYTES);
    }
    return pack->value_count;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static uint16_t mark_code(const struct mark *mark, const struct history_event *event)
{
    bool has_until = (event->flags & HISTORY_HAS_UNTIL) != 0;
    bool ends = mark->turn != MARK_CLOSE && mark->until_ns != TIME_NEVER;
    unsigned rest = 0;
    rest |= mark->process != event->process ? MARK_OTHER_PROCESS : 0u;
    rest |= mark->resource != event->resource ? MARK_OTHER_RESOURCE : 0u;
    if (ends) {
        bool same = has_until && mark->until_ns == event->until_ns;
        rest |= (unsigned)(same ? MARK_UNTIL_EVENT : MARK_UNTIL_OTHER);
    }
    return (uint16_t)((unsigned)(mark->bar | mark->turn << 3 | mark->how << 5) | rest << 9);
}

static uint32_t node_fields(const struct history_event *event)
{
    uint32_t fields = 0;
    fields |= (event->flags & HISTORY_HAS_SENT) != 0 ? PACK_SENT : 0u;
    fields |= (event->flags & HISTORY_HAS_REPLIED) != 0 ? PACK_REPLIED : 0u;
    return fields;
}

static uint32_t fault_fields(const struct history_event *event)
{
    uint32_t fields = PACK_NUMBERS;
    fields |= event->clients[0] != 0 || event->clients[1] != 0 ? PACK_CLIENTS : 0u;
    fields |= event->nodes != 0 ? PACK_NODES : 0u;
    fields |= event->peers != 0 ? PACK_PEERS : 0u;
    return fields;
}

static bool owner_is_held(struct pack *pack, const struct history_event *event)
{
    const struct known_value *owner = value_find(pack, &event->owner);
    return event->node != HISTORY_NO_NODE && owner != NULL &&
           pack->held[event->node] == owner->number;
}

static uint32_t fields_of(struct pack *pack, const struct history_event *event)
{
    uint32_t fields = 0;
    const struct known_value *known =
        (event->flags & HISTORY_HAS_VALUE) != 0 ? value_find(pack, &event->value) : NULL;
    if (known != NULL && known->process == event->process) {
        fields |= PACK_OF_VALUE;
    } else if (event->process != HISTORY_NOBODY) {
        fields |= PACK_PROCESS;
    }
    fields |= event->node >= NODES_IN_SHAPE ? PACK_NODE : 0u;
    fields |= event->resource != 0 ? PACK_RESOURCE : 0u;
    fields |= (event->flags & HISTORY_HAS_VALUE) != 0 ? PACK_VALUE : 0u;
    if ((event->flags & HISTORY_HAS_OWNER) != 0) {
        fields |= owner_is_held(pack, event) ? PACK_HELD : PACK_OWNER;
    }
    fields |= (event->flags & HISTORY_HAS_UNTIL) != 0 ? PACK_UNTIL : 0u;
    fields |= (event->flags & HISTORY_HAS_FENCE) != 0 ? PACK_FENCE : 0u;
    fields |= event->version != 0 ? PACK_VERSION : 0u;
    fields |= event->basis != 0 ? PACK_BASIS : 0u;
    fields |= event->fault != HISTORY_NO_FAULT ? PACK_FAULT : 0u;
    fields |= (event->flags & HISTORY_HAS_SINCE) != 0 ? PACK_SINCE : 0u;
    fields |= event->kind == HISTORY_NODE ? node_fields(event) : 0u;
    fields |= event->kind == HISTORY_FAULT ? fault_fields(event) : 0u;
    fields |= event->kind == HISTORY_LATE ? PACK_NUMBERS : 0u;
    return fields;
}

static uint32_t shape_number(struct pack *pack, const struct shape *shape)
{
    uint64_t at = hash_of(shape, sizeof *shape);
    for (;; at++) {
        uint16_t *place = &pack->places[at % SHAPE_PLACES];
        if (*place == 0) {
            if (pack->shape_count == PACK_SHAPES_MAX) {
                pack->failed = true;
                return 0;
            }
            pack->shapes[pack->shape_count] = *shape;
            *place = (uint16_t)++pack->shape_count;
        }
        if (memcmp(&pack->shapes[*place - 1], shape, sizeof *shape) == 0) {
            return *place - 1u;
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t bounded(int64_t number)
{
    return number > NUMBER_MAX ? NUMBER_MAX : number < -NUMBER_MAX ? -NUMBER_MAX : number;
}

static void put_times(struct pack *pack, const struct history_event *event, uint32_t shape)
{
    uint32_t fields = pack->shapes[shape].fields;
    if ((fields & PACK_SENT) != 0) {
        int64_t *last_ns = &pack->sent_ns[(uint32_t)event->process % PACK_SENDERS];
        encode_zigzag(&pack->rows, event->sent_ns - *last_ns);
        *last_ns = event->sent_ns;
    }
    if ((fields & PACK_REPLIED) != 0) {
        encode_zigzag(&pack->rows, event->replied_ns - event->time_ns);
    }
    if ((fields & PACK_SINCE) != 0) {
        encode_zigzag(&pack->rows, event->time_ns - event->since_ns);
    }
}

/* In two halves: the script's bits end at 32. */
static void put_mask(struct sheet *rows, uint64_t mask)
{
    encode_varint(rows, mask & UINT32_MAX);
    encode_varint(rows, mask >> 32);
}

static void put_numbers(struct pack *pack, const struct history_event *event, uint32_t fields)
{
    struct sheet *rows = &pack->rows;
    if ((fields & PACK_FENCE) != 0) {
        encode_varint(rows, (uint64_t)event->fence);
    }
    if ((fields & PACK_VERSION) != 0) {
        encode_zigzag(rows, bounded(event->version));
    }
    if ((fields & PACK_BASIS) != 0) {
        encode_zigzag(rows, bounded(event->basis));
    }
    if ((fields & PACK_FAULT) != 0) {
        encode_varint(rows, (uint64_t)event->fault + 1);
    }
    if ((fields & PACK_NUMBERS) != 0) {
        encode_zigzag(rows, bounded(event->number[0]));
        encode_zigzag(rows, bounded(event->number[1]));
    }
    if ((fields & PACK_CLIENTS) != 0) {
        encode_varint(rows, (uint64_t)event->clients[0] + 1);
        encode_varint(rows, (uint64_t)event->clients[1] + 1);
    }
    if ((fields & PACK_NODES) != 0) {
        put_mask(rows, event->nodes);
    }
    if ((fields & PACK_PEERS) != 0) {
        put_mask(rows, event->peers);
    }
}

static void put_fields(struct pack *pack, const struct history_event *event, uint32_t shape)
{
    uint32_t fields = pack->shapes[shape].fields;
    struct sheet *rows = &pack->rows;
    if ((fields & PACK_PROCESS) != 0) {
        encode_varint(rows, (uint64_t)event->process + 1);
    }
    if ((fields & PACK_NODE) != 0) {
        encode_varint(rows, (uint64_t)event->node);
    }
    if ((fields & PACK_RESOURCE) != 0) {
        encode_varint(rows, event->resource);
    }
    if ((fields & PACK_VALUE) != 0) {
        uint32_t value = put_value(pack, &event->value, event->process);
        if (event->f == HISTORY_KEY_SET && event->node != HISTORY_NO_NODE) {
            pack->held[event->node] = value;
        }
    }
    if ((fields & PACK_OWNER) != 0) {
        uint32_t owner = put_value(pack, &event->owner, HISTORY_NOBODY);
        if (event->node != HISTORY_NO_NODE) {
            pack->held[event->node] = owner;
        }
    }
    if ((fields & PACK_UNTIL) != 0) {
        int64_t length_ns = event->until_ns - event->time_ns;
        encode_zigzag(rows, length_ns - pack->shape_until[shape]);
        pack->shape_until[shape] = length_ns;
    }
    put_numbers(pack, event, fields);
    put_times(pack, event, shape);
}

void pack_event(struct pack *pack, const struct history_event *event, const struct marks *marks)
{
    struct shape shape;
    memset(&shape, 0, sizeof shape);
    shape.kind = event->kind;
    shape.type = event->type;
    shape.f = event->f;
    shape.cause = event->cause;
    shape.fault_kind = event->fault_kind;
    shape.links = event->links;
    shape.node = event->node < NODES_IN_SHAPE ? (int8_t)event->node : NODE_APART;
    shape.fields = fields_of(pack, event);
    shape.audit = (event->flags & HISTORY_AUDIT) != 0;
    shape.mark_count = (uint8_t)marks->count;
    for (uint32_t i = 0; i < marks->count; i++) {
        shape.marks[i] = mark_code(&marks->list[i], event);
    }
    memcpy(shape.command, event->command, sizeof shape.command);
    uint32_t number = shape_number(pack, &shape);
    if (pack->failed) {
        return;
    }
    encode_varint(&pack->rows, number);
    encode_varint(&pack->rows, (uint64_t)(event->time_ns - pack->last_ns));
    pack->last_ns = event->time_ns;
    put_fields(pack, event, number);
    for (uint32_t i = 0; i < marks->count; i++) {
        unsigned rest = shape.marks[i] >> 9;
        const struct mark *mark = &marks->list[i];
        if ((rest & MARK_OTHER_PROCESS) != 0) {
            encode_varint(&pack->rows, (uint64_t)(mark->process + 1));
        }
        if ((rest & MARK_OTHER_RESOURCE) != 0) {
            encode_varint(&pack->rows, mark->resource);
        }
        if ((rest & MARK_UNTIL_OTHER) != 0) {
            encode_zigzag(&pack->rows, mark->until_ns - event->time_ns);
        }
    }
}

void pack_shapes(const struct pack *pack, struct sheet *sheet)
{
    sheet_add_text(sheet, "[");
    for (uint32_t i = 0; i < pack->shape_count; i++) {
        const struct shape *shape = &pack->shapes[i];
        bool op = shape->kind == HISTORY_OP;
        bool fault = shape->kind == HISTORY_FAULT;
        sheet_add(sheet, "%s[\"%s\",\"%s\",\"%s\",\"%s\",\"%s\",\"%s\",%d,%" PRIu32 ",%" PRIu32,
                  i == 0 ? "" : ",", history_kind_name((enum history_kind)shape->kind),
                  history_f_name((enum history_f)shape->f),
                  op ? history_type_name((enum history_type)shape->type) : "",
                  history_cause_name((enum history_cause)shape->cause),
                  fault ? fault_kind_name((enum fault_kind)shape->fault_kind) : "",
                  history_link_shapes.words[shape->links], shape->node, shape->fields,
                  shape->audit);
        sheet_add_text(sheet, ",");
        encode_json(sheet, shape->command);
        sheet_add_text(sheet, ",[");
        for (uint8_t k = 0; k < shape->mark_count; k++) {
            sheet_add(sheet, "%s%u", k == 0 ? "" : ",", (unsigned)shape->marks[k]);
        }
        sheet_add_text(sheet, "]]");
    }
    sheet_add_text(sheet, "]");
}
