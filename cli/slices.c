/* slices.c: reports of runs that go on at the same time, in the order of their agenda. */
#include "cli/slices.h"

#include "base/arena.h"
#include "cli/batch.h"

#include <string.h>

struct slice {
    struct slice *next;
    size_t group;
    bool ended;
    char *bytes; /* owned: reports as batch.h sends them */
    size_t length;
    size_t capacity;
    size_t taken;
};

struct slice *slices_begin(struct slices *slices, size_t group)
{
    struct slice *slice = memory_resize(NULL, sizeof *slice);
    if (slice == NULL) {
        return NULL;
    }
    *slice = (struct slice){.group = group};
    if (slices->last != NULL) {
        slices->last->next = slice;
    } else {
        slices->first = slice;
    }
    slices->last = slice;
    return slice;
}

struct result slice_add(struct slices *slices, struct slice *slice, const struct run_report *report,
                        struct text *why)
{
    char bytes[BATCH_REPORT_BYTES_MAX];
    size_t size = batch_report_encode(report, bytes);
    if (slice->length + size > slice->capacity) {
        size_t capacity = 2 * slice->capacity + BATCH_REPORT_BYTES_MAX;
        char *larger = memory_resize(slice->bytes, capacity);
        if (larger == NULL) {
            text_add(why, "out of memory for %zu bytes of results", capacity);
            return result_error(ERROR_IO);
        }
        slice->bytes = larger;
        slice->capacity = capacity;
    }
    memcpy(slice->bytes + slice->length, bytes, size);
    slice->length += size;
    slices->bytes += size;
    return RESULT_OK;
}

void slice_end(struct slice *slice)
{
    slice->ended = true;
}

static void slices_drop_first(struct slices *slices)
{
    struct slice *slice = slices->first;
    slices->first = slice->next;
    if (slices->first == NULL) {
        slices->last = NULL;
    }
    memory_release(slice->bytes);
    memory_release(slice);
}

bool slices_take(struct slices *slices, size_t *group, struct run_report *report)
{
    while (slices->first != NULL) {
        struct slice *slice = slices->first;
        size_t size =
            batch_report_decode(slice->bytes + slice->taken, slice->length - slice->taken, report);
        if (size > 0) {
            slice->taken += size;
            slices->bytes -= size;
            *group = slice->group;
            if (slice->taken == slice->length) {
                slice->taken = slice->length = 0;
            }
            return true;
        }
        if (!slice->ended) {
            return false;
        }
        slices_drop_first(slices);
    }
    return false;
}

void slices_release(struct slices *slices)
{
    while (slices->first != NULL) {
        slices_drop_first(slices);
    }
    slices->bytes = 0;
}
