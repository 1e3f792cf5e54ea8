/* server_choice.c: `--server KIND=PATH`: another program than the one that is found for a kind. */
#include "cli/server_choice.h"

#include "base/assert.h"
#include "harness/real/process/doctor.h"
#include "servers/kinds.h"
#include "servers/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHOICE_KINDS_MAX = 16 };

/* One program, which says what it is. */
static bool choice_has(size_t kind)
{
    const struct server_launch *launch = server_kind_at(kind)->launch;
    return launch != NULL && launch->version_words != NULL;
}

static void choice_say_kinds(struct text *why)
{
    const char *between = "; kinds that have one: ";
    for (size_t i = 0; i < server_kind_count(); i++) {
        if (choice_has(i)) {
            text_add(why, "%s%s", between, server_kind_at(i)->name);
            between = ", ";
        }
    }
}

/* The kind that is named before '='; server_kind_count(): none is. */
static size_t choice_kind(const char *word)
{
    size_t kind = 0;
    size_t bytes = strcspn(word, "=");
    while (kind < server_kind_count() && (strlen(server_kind_at(kind)->name) != bytes ||
                                          memcmp(server_kind_at(kind)->name, word, bytes) != 0)) {
        kind++;
    }
    return kind;
}

/* As it is named from anywhere. No link is followed: what a program does may hang on its name. */
static const char *choice_absolute(size_t kind, const char *path)
{
    static char paths[CHOICE_KINDS_MAX][2 * SERVER_PATH_BYTES];
    char here[SERVER_PATH_BYTES] = "";
    ASSERT(kind < CHOICE_KINDS_MAX);
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return NULL;
    }
    int length =
        snprintf(paths[kind], sizeof paths[kind], "%s%s%s", here, here[0] != '\0' ? "/" : "", path);
    errno = ENAMETOOLONG;
    return length < SERVER_PATH_BYTES ? paths[kind] : NULL;
}

struct result server_choice_take(const char *word, const char **redis, struct text *why)
{
    const char *path = strchr(word, '=');
    size_t kind = choice_kind(word);
    if (path == NULL || path[1] == '\0') {
        text_add(why,
                 "--server %s: a kind and the path of its program are expected, such as "
                 "--server etcd=/usr/local/bin/etcd",
                 word);
        choice_say_kinds(why);
        return result_error(ERROR_USAGE);
    }
    if (kind == server_kind_count() || !choice_has(kind)) {
        text_add(why, "--server %s: %s", word,
                 kind == server_kind_count() ? "there is no such kind of server"
                                             : "servers of that kind are not one program");
        choice_say_kinds(why);
        return result_error(ERROR_USAGE);
    }
    const char *absolute = choice_absolute(kind, path + 1);
    if (absolute == NULL) {
        text_add(why, "--server %s: %s", word, strerror(errno));
        return result_error(ERROR_USAGE);
    }
    TRY(doctor_is_server(server_kind_at(kind), absolute, why));
    if (kind == SERVER_KIND_redis) {
        *redis = absolute;
    } else {
        server_program_choose(kind, absolute);
    }
    return RESULT_OK;
}
