/*
 * assert.h: assertions that are on in every build.
 *
 *     ASSERT(node_index < node_count);
 *
 * A failed assertion is a bug of picklock's own: it prints the place and aborts. What the
 * outside world does wrong is a result (result.h); what the lock does wrong is a finding.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

/* One condition each. The argument is used as a truth value, once. */
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            assert_failed(#condition, __FILE__, __LINE__);                                         \
        }                                                                                          \
    } while (0)

/* Marks a place that no input can reach, such as the end of an exhaustive switch. */
#define UNREACHABLE() assert_failed("unreachable", __FILE__, __LINE__)

_Noreturn void assert_failed(const char *condition, const char *file, int line);

#endif
