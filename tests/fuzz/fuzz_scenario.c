/* fuzz_scenario.c: any bytes: refused with a sentence, or read back as they are printed. */
#include "base/assert.h"
#include "harness/scenario.h"

#include <string.h>

enum { FUZZ_TEXT_BYTES = 1 << 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct result fuzz_parse(const char *bytes, size_t length, struct scenario *scenario,
                                struct text *told)
{
    struct arena arena = arena_empty(64 * MEBIBYTE);
    struct scenario_source source = {.path = "demo.yaml", .bytes = bytes, .length = length};
    struct result result = scenario_parse(&source, &arena, scenario, told);
    arena_release(&arena);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char told_memory[FUZZ_TEXT_BYTES];
    static char printed_memory[FUZZ_TEXT_BYTES];
    static char again_memory[FUZZ_TEXT_BYTES];
    static struct scenario scenario;
    static struct plan plan;
    struct text told = text_over(told_memory, sizeof told_memory);
    struct text printed = text_over(printed_memory, sizeof printed_memory);
    struct text again = text_over(again_memory, sizeof again_memory);
    if (result_failed(fuzz_parse((const char *)data, size, &scenario, &told))) {
        ASSERT(told.length > 0);
        return 0;
    }
    ASSERT(told.length == 0);
    scenario_print(&scenario, &printed);
    ASSERT(!printed.cut);
    scenario_plan(&scenario, size, 1000000, &plan);
    ASSERT(!result_failed(fuzz_parse(printed.data, printed.length, &scenario, &told)));
    scenario_print(&scenario, &again);
    ASSERT(strcmp(printed.data, again.data) == 0);
    return 0;
}
