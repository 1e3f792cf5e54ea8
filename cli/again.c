/* again.c: the command line that runs something again. */
#include "cli/again.h"

#include "base/duration.h"
#include "servers/kinds.h"
#include "servers/launch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "%+,-./:=@_";

static bool acts_on_a_terminal(const char *word)
{
    for (; *word != '\0'; word++) {
        if ((unsigned char)*word < 0x20 || (unsigned char)*word > 0x7e) {
            return true;
        }
    }
    return false;
}

void shell_word(struct text *text, const char *word)
{
    bool spelled = acts_on_a_terminal(word);
    if (word[0] != '\0' && word[strspn(word, safe)] == '\0') {
        text_add(text, "%s", word);
        return;
    }
    text_add(text, spelled ? "$'" : "'");
    for (const char *at = word; *at != '\0'; at++) {
        unsigned char letter = (unsigned char)*at;
        if (letter < 0x20 || letter > 0x7e) {
            text_add(text, "\\%03o", letter);
        } else if (*at == '\'' || (*at == '\\' && spelled)) {
            text_add(text, spelled ? "\\%c" : "'\\%c'", *at);
        } else {
            text_add(text, "%c", *at);
        }
    }
    text_add(text, "'");
}

void shell_quote(struct text *text, const char *word)
{
    text_add(text, "'");
    for (const char *at = word; *at != '\0'; at++) {
        text_add(text, *at == '\'' ? "'\\%c'" : "%c", *at);
    }
    text_add(text, "'");
}

static void add_option(const char *name, const char *word,
                       void (*put)(struct text *text, const char *word), struct text *text)
{
    if (word != NULL) {
        text_add(text, " --%s ", name);
        put(text, word);
    }
}

void again_print_options(const struct again *again,
                         void (*put)(struct text *text, const char *word), struct text *text)
{
    text_add(text, " --world %s --seed %" PRIu64, again->world, again->seed);
    if (again->time_scale_ppm != 1000000) {
        text_add(text, " --time-scale %g", (double)again->time_scale_ppm / 1e6);
    }
    if (again->stress_ns > 0) {
        text_add(text, " --stress=");
        duration_print(again->stress_ns, text);
    }
    add_option("adapter", again->adapter, put, text);
    add_option("redis-server", again->server, put, text);
    for (size_t i = 0; i < server_kind_count(); i++) {
        char word[SERVER_PATH_BYTES + 64];
        const char *chosen = server_program_chosen(i);
        (void)snprintf(word, sizeof word, "%s=%.500s", server_kind_at(i)->name,
                       chosen != NULL ? chosen : "");
        add_option("server", chosen != NULL ? word : NULL, put, text);
    }
    add_option("cluster", again->cluster, put, text);
    text_add(text, " --keep always");
}

void again_print(const struct again *again, const char *program, struct text *text)
{
    text_add(text, "%s run ", program);
    if (again->path[0] == '-') {
        text_add(text, "./");
    }
    shell_word(text, again->path);
    again_print_options(again, shell_word, text);
}
