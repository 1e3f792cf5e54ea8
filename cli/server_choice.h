/* server_choice.h: `--server KIND=PATH`: another program than the one that is found for a kind. */
#ifndef CLI_SERVER_CHOICE_H
#define CLI_SERVER_CHOICE_H

#include "base/result.h"
#include "base/text.h"

/*
 * Take one such word. The program is asked for its version: what is no server of that kind, or one
 * that picklock does not speak to, is refused by name. *redis is set where it is one for redis.
 */
MUST_USE struct result server_choice_take(const char *word, const char **redis, struct text *why);

#endif
