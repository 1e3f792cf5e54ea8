/* loaded.c: a library that is loaded when it is first needed. */
#include "servers/loaded.h"

#include "base/assert.h"

#include <dlfcn.h>
#include <string.h>

static bool load(struct loaded *library)
{
    void *handle = NULL;
    for (size_t i = 0; i < LOADED_FILES_MAX && library->files[i] != NULL && handle == NULL; i++) {
        handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == NULL) {
        return false;
    }
    ASSERT(library->bytes % sizeof(void *) == 0);
    char *functions = library->functions;
    for (size_t i = 0; i < library->bytes / sizeof(void *); i++) {
        void *found = dlsym(handle, library->names[i]);
        if (found == NULL) {
            return false;
        }
        memcpy(functions + i * sizeof found, &found, sizeof found);
    }
    return library->begin == NULL || library->begin();
}

bool loaded_there(struct loaded *library)
{
    if (!library->tried) {
        library->tried = true;
        library->there = load(library);
    }
    return library->there;
}
