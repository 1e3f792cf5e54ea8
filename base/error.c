/* error.c: names, sentences and exit codes of errors, from the one list. */
#include "base/error.h"

#include "base/assert.h"

const char *error_name(enum error_code code)
{
    switch (code) {
#define X(name, sentence, exit_code)                                                               \
    case name:                                                                                     \
        return #name;
        ERROR_MAP(X)
#undef X
    }
    UNREACHABLE();
}

const char *error_sentence(enum error_code code)
{
    switch (code) {
#define X(name, sentence, exit_code)                                                               \
    case name:                                                                                     \
        return sentence;
        ERROR_MAP(X)
#undef X
    }
    UNREACHABLE();
}

int error_exit_code(enum error_code code)
{
    switch (code) {
#define X(name, sentence, exit_code)                                                               \
    case name:                                                                                     \
        return exit_code;
        ERROR_MAP(X)
#undef X
    }
    UNREACHABLE();
}
