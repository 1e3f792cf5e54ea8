/*
 * result.h: the outcome of an operation that the outside world can refuse.
 *
 *     MUST_USE struct result file_read(const char *path, struct text *why);
 *
 *     TRY(file_read(path, why));            pass a refusal on to the caller
 *     if (result_failed(r)) { ... }         or handle it here
 *     result_ignore(r, "why this is safe"); or say why it does not matter
 *
 * A result is a struct, so that compilers refuse to mix it with numbers, and it must be used.
 * The sentence that goes with a refusal is written into the caller's `struct text *why`: what
 * happened, where, and what was expected. It is untouched on success.
 */
#ifndef BASE_RESULT_H
#define BASE_RESULT_H

#include <stdbool.h>

#define MUST_USE __attribute__((warn_unused_result))

/* Every error code with its sentence and the exit code that the command ends with. */
#define ERROR_MAP(X)                                                                               \
    X(ERROR_NONE, "no error", 0)                                                                   \
    X(ERROR_IO, "the operating system refused", 3)                                                 \
    X(ERROR_SYNTAX, "the input is not well formed", 4)                                             \
    X(ERROR_SCHEMA, "the input is well formed but says something impossible", 4)                   \
    X(ERROR_LIMIT, "the input is larger than a named limit", 4)                                    \
    X(ERROR_USAGE, "the command line is wrong", 4)                                                 \
    X(ERROR_ENVIRONMENT, "the environment failed: a server, a port or a program is missing", 3)    \
    X(ERROR_INTERRUPTED, "interrupted", 130)

enum error_code {
#define X(code, sentence, exit_code) code,
    ERROR_MAP(X)
#undef X
};

struct result {
    enum error_code code;
};

#define RESULT_OK ((struct result){ERROR_NONE})

/* Return early from the calling function with the refusal of the call inside. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        struct result try_result = (call);                                                         \
        if (result_failed(try_result)) {                                                           \
            return try_result;                                                                     \
        }                                                                                          \
    } while (0)

static inline MUST_USE bool result_failed(struct result result)
{
    return result.code != ERROR_NONE;
}

static inline MUST_USE struct result result_error(enum error_code code)
{
    return (struct result){code};
}

/* Drop a result on purpose. `reason` is for the reader. */
static inline void result_ignore(struct result result, const char *reason)
{
    (void)result;
    (void)reason;
}

#endif
