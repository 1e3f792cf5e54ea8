/*
 * loaded.h: a library that is loaded when it is first needed: no run that does without it pays for
 * it, and picklock runs where it is not installed.
 *
 *     #define LIBPQ_MAP(X) X(PQsocket) X(PQfinish) ...
 *     struct libpq {LIBPQ_MAP(LOADED_MEMBER)};
 *
 *     static struct libpq functions;
 *     static const char *const names[] = {LIBPQ_MAP(LOADED_NAME)};
 *     static struct loaded library = {.files = {"libpq.so.5"}, LOADED_INTO(functions, names)};
 *     if (loaded_there(&library)) functions.PQfinish(connection);
 */
#ifndef SERVERS_LOADED_H
#define SERVERS_LOADED_H

#include <stdbool.h>
#include <stddef.h>

enum { LOADED_FILES_MAX = 2 };

#define LOADED_MEMBER(name) __typeof__(&name) name;
#define LOADED_NAME(name)   #name,

/* `memory` has one pointer for each of the names, in their order, and nothing else. */
#define LOADED_INTO(memory, name_list)                                                             \
    .functions = &(memory), .bytes = sizeof(memory), .names = (name_list)

struct loaded {
    const char *files[LOADED_FILES_MAX]; /* the first that there is */
    void *functions;
    size_t bytes;
    const char *const *names;
    bool (*begin)(void); /* called once, when all functions are there; or NULL */
    bool tried;
    bool there;
};

/* Whether it is there, with all these functions. It stays loaded. */
bool loaded_there(struct loaded *library);

#endif
