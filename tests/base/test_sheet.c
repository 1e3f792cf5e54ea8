/* test_sheet.c: a sheet grows to its maximum, is whole or cut; short lengths and moments. */
#include "base/duration.h"
#include "base/sheet.h"

#include <criterion/criterion.h>
#include <string.h>

Test(sheet, grows_as_it_is_added_to)
{
    struct sheet sheet = sheet_empty(1 << 20);
    for (int i = 0; i < 10000; i++) {
        sheet_add(&sheet, "%04d;", i);
    }
    cr_assert_not(sheet.cut);
    cr_assert_eq(sheet.length, 50000u);
    cr_assert_eq(memcmp(sheet.data + 5 * 1234, "1234;", 5), 0);
    sheet_release(&sheet);
    cr_assert_eq(sheet.length, 0u);
}

Test(sheet, is_full_at_its_maximum_and_cut_one_byte_beyond)
{
    struct sheet sheet = sheet_empty(8);
    sheet_add_bytes(&sheet, "12345678", 8);
    cr_assert_not(sheet.cut);
    sheet_add_bytes(&sheet, "9", 1);
    cr_assert(sheet.cut);
    sheet_release(&sheet);
}

Test(sheet, what_is_behind_a_cut_is_left_out_too)
{
    struct sheet sheet = sheet_empty(4);
    sheet_add(&sheet, "ab");
    sheet_add(&sheet, "too long");
    sheet_add(&sheet, "c");
    cr_assert(sheet.cut);
    cr_assert_eq(sheet.length, 2u);
    sheet_release(&sheet);
}

static const char *short_of(int64_t ns)
{
    static char memory[40];
    struct text text = text_over(memory, sizeof memory);
    duration_print_short(ns, &text);
    return memory;
}

static const char *moment_of(int64_t ns)
{
    static char memory[40];
    struct text text = text_over(memory, sizeof memory);
    moment_print(ns, &text);
    return memory;
}

Test(sheet, a_length_has_four_digits_that_count)
{
    cr_assert_str_eq(short_of(58628001), "58.63 ms");
    cr_assert_str_eq(short_of(412 * NS_PER_MS), "412 ms");
    cr_assert_str_eq(short_of(1500 * NS_PER_MS), "1.5 s");
    cr_assert_str_eq(short_of(600 * NS_PER_US), "600 us");
    cr_assert_str_eq(short_of(-795 * NS_PER_MS), "-795 ms");
    cr_assert_str_eq(short_of(416800000000), "416.8 s");
    cr_assert_str_eq(short_of(123456 * NS_PER_S), "123456 s");
    cr_assert_str_eq(short_of(17), "17 ns");
    cr_assert_str_eq(short_of(0), "0 s");
}

Test(sheet, a_length_goes_to_the_unit_above_when_it_rounds_to_it)
{
    cr_assert_str_eq(short_of(999940 * NS_PER_US), "999.9 ms");
    cr_assert_str_eq(short_of(999960 * NS_PER_US), "1 s");
    cr_assert_str_eq(short_of(9999600 * NS_PER_US), "10 s");
}

Test(sheet, a_moment_is_told_to_a_microsecond)
{
    cr_assert_str_eq(moment_of(563000), "0.563 ms");
    cr_assert_str_eq(moment_of(59191999), "59.191 ms");
    cr_assert_str_eq(moment_of(988 * NS_PER_MS), "988 ms");
    cr_assert_str_eq(moment_of(1056607 * NS_PER_US), "1.056607 s");
    cr_assert_str_eq(moment_of(4948 * NS_PER_MS), "4.948 s");
    cr_assert_str_eq(moment_of(0), "0 ms");
}
