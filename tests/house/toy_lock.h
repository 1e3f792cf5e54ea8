/* toy.h: what a toy server can be asked. */
#ifndef LOCKCORE_TOY_TOY_H
#define LOCKCORE_TOY_TOY_H

#include "lockcore/dialect.h"

enum toy_command { TOY_TAKE, TOY_GIVE, TOY_COMMANDS };

extern const struct lock_dialect toy_dialect;

#endif
