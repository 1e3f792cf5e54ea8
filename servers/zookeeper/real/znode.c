/* znode.c: the names of a lock's znodes. */
#include "servers/zookeeper/real/znode.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char before_name[] = "/lock-";
static const char before_place[] = "-lock-";

enum {
    BEFORE_NAME_BYTES = sizeof before_name - 1,
    BEFORE_PLACE_BYTES = sizeof before_place - 1,
    PLACE_DIGITS = 10,
};

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
}

void znode_print_parent(struct wire_text name, char parent[ZNODE_PARENT_BYTES])
{
    static const char digits[] = "0123456789ABCDEF";
    ASSERT(name.bytes <= ZNODE_NAME_BYTES_MAX);
    memcpy(parent, before_name, BEFORE_NAME_BYTES);
    size_t length = BEFORE_NAME_BYTES;
    for (uint32_t i = 0; i < name.bytes; i++) {
        uint8_t byte = (uint8_t)name.data[i];
        if (is_plain(name.data[i])) {
            parent[length++] = name.data[i];
        } else {
            parent[length++] = '%';
            parent[length++] = digits[byte >> 4];
            parent[length++] = digits[byte & 15];
        }
    }
    ASSERT(length < ZNODE_PARENT_BYTES);
    parent[length] = '\0';
}

void znode_print(const char *parent, const struct lock_value *value, int64_t place,
                 char path[ZNODE_PATH_BYTES])
{
    char hex[LOCK_VALUE_HEX_BYTES];
    char number[24] = "";
    lock_value_print(value, hex);
    if (place > 0) {
        (void)snprintf(number, sizeof number, "%010" PRId64, place - 1);
    }
    int length = snprintf(path, ZNODE_PATH_BYTES, "%s/%.*s%s%s", parent, (int)sizeof hex, hex,
                          before_place, number);
    ASSERT(length > 0 && length < ZNODE_PATH_BYTES);
}

bool znode_read_child(struct wire_text child, struct lock_value *value, int64_t *place)
{
    uint32_t named = LOCK_VALUE_HEX_BYTES + BEFORE_PLACE_BYTES;
    *place = 0;
    if (child.bytes < named || !lock_value_parse(child.data, LOCK_VALUE_HEX_BYTES, value) ||
        memcmp(child.data + LOCK_VALUE_HEX_BYTES, before_place, BEFORE_PLACE_BYTES) != 0) {
        return false;
    }
    if (child.bytes == named) {
        return true;
    }
    int64_t number = 0;
    for (uint32_t i = named; i < child.bytes; i++) {
        if (child.data[i] < '0' || child.data[i] > '9') {
            return false;
        }
        number = number * 10 + (child.data[i] - '0');
    }
    *place = number + 1;
    return child.bytes == named + PLACE_DIGITS;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool znode_read_parent(struct wire_text path, char name[ZNODE_NAME_BYTES_MAX],
                       struct wire_text *read)
{
    uint32_t length = 0;
    if (path.bytes < BEFORE_NAME_BYTES || memcmp(path.data, before_name, BEFORE_NAME_BYTES) != 0) {
        return false;
    }
    for (uint32_t i = BEFORE_NAME_BYTES; i < path.bytes; i++) {
        char byte = path.data[i];
        if (byte == '%') {
            int high = i + 2 < path.bytes ? digit_of(path.data[i + 1]) : -1;
            int low = high >= 0 ? digit_of(path.data[i + 2]) : -1;
            if (low < 0) {
                return false;
            }
            byte = (char)(high * 16 + low);
            i += 2;
        } else if (!is_plain(byte)) {
            return false;
        }
        if (length == ZNODE_NAME_BYTES_MAX) {
            return false;
        }
        name[length++] = byte;
    }
    *read = (struct wire_text){name, length};
    return true;
}

bool znode_read(struct wire_text path, char name[ZNODE_NAME_BYTES_MAX], struct wire_text *read,
                struct lock_value *value, int64_t *place)
{
    const char *slash = path.bytes > 0 ? memrchr(path.data + 1, '/', (size_t)path.bytes - 1) : NULL;
    if (slash == NULL) {
        return false;
    }
    uint32_t parent_bytes = (uint32_t)(slash - path.data);
    struct wire_text child = {slash + 1, path.bytes - parent_bytes - 1};
    return znode_read_child(child, value, place) &&
           znode_read_parent((struct wire_text){path.data, parent_bytes}, name, read);
}
