/* duration.c: durations with units, read and printed. */
#include "base/duration.h"

#include "base/assert.h"

#include <inttypes.h>
#include <string.h>

struct duration_unit {
    const char *name;
    int64_t ns;
};

/* Largest first: printing takes the first that divides. */
static const struct duration_unit duration_units[] = {
    {"h", 3600 * NS_PER_S}, {"m", 60 * NS_PER_S}, {"s", NS_PER_S},
    {"ms", NS_PER_MS},      {"us", NS_PER_US},    {"ns", 1},
};

enum { DURATION_UNITS = sizeof duration_units / sizeof duration_units[0] };

static struct result duration_refuse(const char *word, const char *problem, enum error_code code,
                                     struct text *why)
{
    text_add(why, "\"%.40s\" %s; a duration is a number with a unit, such as 250ms, 1.5s or 2m",
             word, problem);
    return result_error(code);
}

static const struct duration_unit *duration_unit_find(const char *name)
{
    for (size_t i = 0; i < DURATION_UNITS; i++) {
        if (strcmp(name, duration_units[i].name) == 0) {
            return &duration_units[i];
        }
    }
    return NULL;
}

/* The whole part in [0, DURATION_NS_MAX], and up to nine digits of fraction as parts of 1e9. */
struct duration_digits {
    int64_t whole;
    int64_t fraction;
    const char *rest;
    bool any;
    bool too_long;
};

static struct duration_digits duration_digits(const char *word)
{
    struct duration_digits digits = {.rest = word};
    for (; *digits.rest >= '0' && *digits.rest <= '9'; digits.rest++) {
        digits.any = true;
        if (digits.whole > DURATION_NS_MAX / 10) {
            digits.too_long = true;
        } else {
            digits.whole = digits.whole * 10 + (*digits.rest - '0');
        }
    }
    if (*digits.rest != '.' || !digits.any) {
        return digits;
    }
    digits.rest++;
    int64_t weight = NS_PER_S / 10;
    for (; *digits.rest >= '0' && *digits.rest <= '9'; digits.rest++, weight /= 10) {
        digits.fraction += weight * (*digits.rest - '0');
    }
    return digits;
}

struct result duration_parse(const char *word, int64_t *duration_ns, struct text *why)
{
    int64_t sign = 1;
    const char *start = word;
    if (*start == '-' || *start == '+') {
        sign = *start == '-' ? -1 : 1;
        start++;
    }
    struct duration_digits digits = duration_digits(start);
    if (!digits.any) {
        return duration_refuse(word, "is not a duration", ERROR_SYNTAX, why);
    }
    if (*digits.rest == '\0') {
        return duration_refuse(word, "has no unit", ERROR_SYNTAX, why);
    }
    const struct duration_unit *unit = duration_unit_find(digits.rest);
    if (unit == NULL) {
        return duration_refuse(word, "has an unknown unit", ERROR_SYNTAX, why);
    }
    if (digits.too_long || digits.whole > DURATION_NS_MAX / unit->ns) {
        return duration_refuse(word, "is longer than 10 years", ERROR_LIMIT, why);
    }
    /* At most 3.6e9 * 1e9, which fits; a fraction of a nanosecond is dropped. */
    int64_t fraction_ns = unit->ns / NS_PER_US * digits.fraction / NS_PER_MS;
    *duration_ns = sign * (digits.whole * unit->ns + fraction_ns);
    return RESULT_OK;
}

void duration_print(int64_t duration_ns, struct text *text)
{
    if (duration_ns == 0) {
        text_add(text, "0s");
        return;
    }
    for (size_t i = 0; i < DURATION_UNITS; i++) {
        if (duration_ns % duration_units[i].ns == 0) {
            text_add(text, "%" PRId64 "%s", duration_ns / duration_units[i].ns,
                     duration_units[i].name);
            return;
        }
    }
    UNREACHABLE();
}

void duration_print_rounded(int64_t duration_ns, struct text *text)
{
    const char *sign = duration_ns < 0 ? "-" : "";
    int64_t size_ns = duration_ns < 0 ? -duration_ns : duration_ns;
    const char *unit = size_ns >= NS_PER_S ? "s" : size_ns >= NS_PER_MS ? "ms" : "us";
    int64_t thousandth = size_ns >= NS_PER_S ? NS_PER_MS : size_ns >= NS_PER_MS ? NS_PER_US : 1;
    int64_t thousandths = size_ns / thousandth;
    text_add(text, "%s%" PRId64 ".%03" PRId64 " %s", sign, thousandths / 1000, thousandths % 1000,
             unit);
}

/* The digits of number / 10^decimals, without zeros at the end. */
static void print_decimal(int64_t number, int decimals, struct text *text)
{
    int64_t one = 1;
    for (int i = 0; i < decimals; i++) {
        one *= 10;
    }
    while (decimals > 0 && number % 10 == 0) {
        number /= 10;
        one /= 10;
        decimals--;
    }
    text_add(text, "%" PRId64, number / one);
    if (decimals > 0) {
        text_add(text, ".%0*" PRId64, decimals, number % one);
    }
}

void duration_print_short(int64_t duration_ns, struct text *text)
{
    static const struct {
        int64_t ns;
        const char *word;
    } units[] = {{NS_PER_S, "s"}, {NS_PER_MS, "ms"}, {NS_PER_US, "us"}, {1, "ns"}};
    enum { UNITS = sizeof units / sizeof units[0], DIGITS_MAX = 9999 };
    int64_t size_ns = duration_ns < 0 ? -duration_ns : duration_ns;
    text_add(text, "%s", duration_ns < 0 ? "-" : "");
    if (size_ns == 0) {
        text_add(text, "0 s");
        return;
    }
    for (size_t i = 0; i < UNITS; i++) {
        /* 999.95 ms has four digits in the unit above only. */
        if (size_ns + units[i].ns / 20000 < units[i].ns && i + 1 < UNITS) {
            continue;
        }
        int64_t step_ns = units[i].ns;
        int decimals = 0;
        while (step_ns > 1 && decimals < 3 && size_ns / (step_ns / 10) <= DIGITS_MAX) {
            step_ns /= 10;
            decimals++;
        }
        int64_t steps = (size_ns + step_ns / 2) / step_ns;
        print_decimal(steps, decimals, text);
        text_add(text, " %s", units[i].word);
        return;
    }
}

void moment_print(int64_t time_ns, struct text *text)
{
    int64_t size_ns = time_ns < 0 ? -time_ns : time_ns;
    bool seconds = size_ns >= NS_PER_S;
    int64_t us = size_ns / NS_PER_US;
    int64_t unit = seconds ? 1000000 : 1000;
    int digits = seconds ? 6 : 3;
    while (digits > 0 && us % 1000 == 0) {
        us /= 1000;
        unit /= 1000;
        digits -= 3;
    }
    text_add(text, "%s%" PRId64, time_ns < 0 ? "-" : "", us / unit);
    if (digits > 0) {
        text_add(text, ".%0*" PRId64, digits, us % unit);
    }
    text_add(text, seconds ? " s" : " ms");
}
