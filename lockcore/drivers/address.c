/* address.c: reads a node's address. */
#include "lockcore/drivers/address.h"

#include <stdint.h>
#include <string.h>

static struct result refused(const char *word, struct text *why)
{
    text_add(why, "\"%s\" is no address of a node: expected host:port or /path/of/a/unix/socket",
             word);
    return result_error(ERROR_USAGE);
}

static bool name_copy(struct lock_address *address, const char *name, size_t bytes)
{
    if (bytes == 0 || bytes >= ADDRESS_NAME_BYTES) {
        return false;
    }
    memcpy(address->name, name, bytes);
    address->name[bytes] = '\0';
    return true;
}

/* 1..65535, digits only; 0 if it is none. */
static int port_parse(const char *word)
{
    int port = 0;
    for (const char *c = word; *c != '\0'; c++) {
        if (*c < '0' || *c > '9') {
            return 0;
        }
        port = port * 10 + (*c - '0');
        if (port > UINT16_MAX) {
            return 0;
        }
    }
    return port;
}

static const char *after(const char *word, const char *prefix)
{
    size_t bytes = strlen(prefix);
    return strncmp(word, prefix, bytes) == 0 ? word + bytes : word;
}

struct result address_parse(const char *word, struct lock_address *address, struct text *why)
{
    const char *name = after(after(word, "redis://"), "unix:");
    if (name[0] == '/') {
        address->port = 0;
        return name_copy(address, name, strlen(name)) ? RESULT_OK : refused(word, why);
    }
    const char *colon = strrchr(name, ':');
    if (colon == NULL || (address->port = port_parse(colon + 1)) == 0) {
        return refused(word, why);
    }
    size_t bytes = (size_t)(colon - name);
    if (bytes >= 2 && name[0] == '[' && name[bytes - 1] == ']') {
        name++;
        bytes -= 2;
    }
    return name_copy(address, name, bytes) ? RESULT_OK : refused(word, why);
}
