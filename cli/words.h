/*
 * words.h: the options and arguments that take one of a few words: the parsers look them up here,
 * and the completions offer the same ones.
 *
 *     words_index("world", "sim")     0
 *     words_at("check", 3)            the name of the fourth check
 *
 * An option means the same in every command, so its long name is enough; an argument goes by its
 * command, as "picklock list".
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stddef.h>

/* The index-th word that the option takes; NULL behind the last one, and where it takes any. */
const char *words_at(const char *option, size_t index);

/* Which of them `word` is; -1 if none. */
int words_index(const char *option, const char *word);

#endif
