/* test_sweep.c: the points at which a lock is struck are those of its own protocol. */
#include "cli/sweep_cases.h"
#include "servers/kinds.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 16, TEXT_BYTES = 4096 };

static struct sweep_cases cases;

struct seen {
    struct history_event events[EVENTS_MAX];
    struct loaded loaded;
};

static void see(struct seen *seen, int64_t ms, uint8_t did, int32_t process)
{
    cr_assert_lt(seen->loaded.count, (size_t)EVENTS_MAX);
    seen->events[seen->loaded.count++] = (struct history_event){
        .kind = HISTORY_NODE, .f = did, .process = process, .time_ns = ms * NS_PER_MS};
    seen->loaded.events = seen->events;
}

/* A lock that was set at 100 ms, and renewed so often at every 300 ms. */
static void see_renewals(struct seen *seen, int times)
{
    memset(seen, 0, sizeof *seen);
    see(seen, 100, HISTORY_KEY_SET, 0);
    for (int i = 1; i <= times; i++) {
        see(seen, 100 + 300 * i, HISTORY_KEY_EXTENDED, 0);
        see(seen, 150 + 300 * i, HISTORY_KEY_EXTENDED, 1); /* another's tell nothing */
    }
    see(seen, 3000, HISTORY_KEY_DELETED, 0);
}

static struct sweep_protocol of_one_node(bool renews)
{
    return (struct sweep_protocol){.algorithm = "single",
                                   .kind = server_kind_at(SERVER_KIND_redis),
                                   .nodes = 1,
                                   .renews = renews};
}

static void base_of(const struct sweep_protocol *protocol, char *memory)
{
    struct text text = text_over(memory, TEXT_BYTES);
    sweep_base(protocol, &text);
    cr_assert_not(text.cut);
}

Test(sweep, a_lock_that_renews_is_looked_at_until_it_does)
{
    char base[TEXT_BYTES];
    struct sweep_protocol renews = of_one_node(true);
    base_of(&renews, base);
    cr_assert_neq(strstr(base, "hold: 2500ms"), NULL, "%s", base);
    struct sweep_protocol plain = of_one_node(false);
    base_of(&plain, base);
    cr_assert_neq(strstr(base, "hold: 300ms"), NULL, "%s", base);
}

Test(sweep, a_section_has_two_renewals_as_they_were_seen_or_declared)
{
    char base[TEXT_BYTES];
    struct seen seen;
    struct sweep_protocol protocol = of_one_node(true);
    see_renewals(&seen, 4);
    cr_assert(sweep_look(&seen.loaded, &protocol));
    cr_assert_eq(protocol.commands[ROLE_EXTEND], 2);
    base_of(&protocol, base);
    cr_assert_neq(strstr(base, "hold: 750ms"), NULL, "%s", base);
    seen.loaded.header.renew_every_ns = 200 * NS_PER_MS;
    cr_assert(sweep_look(&seen.loaded, &protocol));
    base_of(&protocol, base);
    cr_assert_neq(strstr(base, "hold: 500ms"), NULL, "%s", base);
}

/* With an expectation it is a scenario. */
static void parse(const struct sweep_case *one, struct text *text)
{
    char path_memory[TEXT_BYTES];
    struct text path = text_over(path_memory, sizeof path_memory);
    sweep_name(one, &path);
    text_add(&path, ".yaml");
    static struct scenario scenario;
    static char told[TEXT_BYTES];
    struct text errors = text_over(told, sizeof told);
    struct arena arena = arena_empty(64 * MEBIBYTE);
    text_add(text, "expect: {exclusion: any}\n");
    struct scenario_source source = {
        .path = path.data, .bytes = text->data, .length = text->length};
    cr_assert_not(result_failed(scenario_parse(&source, &arena, &scenario, &errors)), "%s%s", told,
                  text->data);
    arena_release(&arena);
}

static size_t extends_struck(const struct sweep_protocol *protocol, size_t *staying)
{
    size_t count = 0;
    *staying = 0;
    sweep_list(protocol, &cases);
    for (size_t i = 0; i < cases.count; i++) {
        const struct sweep_case *one = &cases.list[i];
        if (!one->at_probe && one->role == ROLE_EXTEND) {
            char memory[TEXT_BYTES];
            struct text text = text_over(memory, sizeof memory);
            sweep_print(protocol, one, &text);
            cr_assert_neq(strstr(text.data, "extend from client 1"), NULL, "%s", text.data);
            *staying += strstr(text.data, "hold: 2050ms") != NULL ? 1 : 0;
            parse(one, &text);
            count++;
        }
    }
    return count;
}

Test(sweep, renewals_are_struck_and_their_holder_stays_until_the_lease_would_be_over)
{
    struct seen seen;
    struct sweep_protocol protocol = of_one_node(true);
    size_t staying = 0;
    see_renewals(&seen, 0);
    cr_assert(sweep_look(&seen.loaded, &protocol));
    cr_assert_eq(extends_struck(&protocol, &staying), 0);
    see_renewals(&seen, 2);
    cr_assert(sweep_look(&seen.loaded, &protocol));
    size_t struck = extends_struck(&protocol, &staying);
    cr_assert_gt(struck, sweep_strike_count());
    cr_assert_eq(staying, struck);
}
