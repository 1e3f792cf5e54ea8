/* error.h: the name, the sentence and the exit code of every error of base/result.h. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/result.h"

const char *error_name(enum error_code code);
const char *error_sentence(enum error_code code);
int error_exit_code(enum error_code code);

#endif
