/* sheet.c: bytes that grow, up to a named maximum. */
#include "base/sheet.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/text.h"

#include <string.h>

struct sheet sheet_empty(size_t bytes_max)
{
    ASSERT(bytes_max > 0);
    return (struct sheet){.bytes_max = bytes_max};
}

/* Room for `count` more; false, and cut from here on, if there is none. */
static bool sheet_reserve(struct sheet *sheet, size_t count)
{
    if (sheet->cut || count > sheet->bytes_max - sheet->length) {
        sheet->cut = true;
        return false;
    }
    size_t wanted = sheet->length + count;
    if (wanted <= sheet->capacity) {
        return true;
    }
    size_t capacity = sheet->capacity == 0 ? 4096 : sheet->capacity;
    while (capacity < wanted) {
        capacity *= 2;
    }
    char *data = memory_resize(sheet->data, capacity);
    if (data == NULL) {
        sheet->cut = true;
        return false;
    }
    sheet->data = data;
    sheet->capacity = capacity;
    return true;
}

void sheet_add_bytes(struct sheet *sheet, const void *bytes, size_t count)
{
    if (count > 0 && sheet_reserve(sheet, count)) {
        memcpy(sheet->data + sheet->length, bytes, count);
        sheet->length += count;
    }
}

void sheet_add_text(struct sheet *sheet, const char *words)
{
    sheet_add_bytes(sheet, words, strlen(words));
}

void sheet_add(struct sheet *sheet, const char *format, ...)
{
    char memory[SHEET_PIECE_MAX];
    struct text text = text_over(memory, sizeof memory);
    va_list list;
    va_start(list, format);
    text_add_list(&text, format, list);
    va_end(list);
    ASSERT(!text.cut);
    sheet_add_bytes(sheet, memory, text.length);
}

void sheet_release(struct sheet *sheet)
{
    memory_release(sheet->data);
    *sheet = sheet_empty(sheet->bytes_max);
}
