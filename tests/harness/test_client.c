/* test_client.c: what programs do with a lock that they should not, and what few libraries can. */
#include "base/duration.h"
#include "harness/client.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define CAPABLE HEAD "needs: [deadline, cancel, several, reentrant]\n"

static struct client client;
static struct client_program program;
static struct client_effects effects;
static int64_t now_ns;

static void begin(const char *clients)
{
    static struct plan plan;
    char yaml[400];
    (void)snprintf(yaml, sizeof yaml, CAPABLE "clients: {hold: 1s, writes: 0, %s}\n", clients);
    const struct parsed *parsed = parse(yaml);
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    scenario_plan(&parsed->scenario, 1, 1000000, &plan);
    client_program_init(&program, &plan, false);
    client_init(&client, &program, 0, 1);
    now_ns = 0;
}

/* Step with an event, and on past every probe point; the effect of that type, or NULL. */
static const struct client_effect *after(struct client_event event, enum client_effect_type type)
{
    static struct client_effect found;
    bool seen = false;
    for (bool more = true; more;) {
        event.now_ns = now_ns;
        client_step(&client, &program, &event, &effects);
        more = false;
        for (uint32_t i = 0; i < effects.count; i++) {
            more = more || effects.list[i].type == CLIENT_EFFECT_PROBE;
            if (effects.list[i].type == type) {
                found = effects.list[i];
                seen = true;
            }
        }
        event = (struct client_event){.type = CLIENT_EVENT_PASSED};
    }
    return seen ? &found : NULL;
}

static const struct client_effect *told(enum client_outcome outcome, enum client_effect_type type)
{
    return after((struct client_event){.type = CLIENT_EVENT_TOLD, .outcome = (uint8_t)outcome},
                 type);
}

static const struct client_effect *woken(int64_t at_ns, enum client_effect_type type)
{
    now_ns = at_ns;
    return after((struct client_event){.type = CLIENT_EVENT_WAKE}, type);
}

static const struct client_effect *asked(void)
{
    (void)after((struct client_event){.type = CLIENT_EVENT_START}, CLIENT_EFFECT_WAKE);
    return woken(0, CLIENT_EFFECT_ASK);
}

Test(client, releases_as_often_as_it_is_told_to)
{
    begin("releases: 2");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    const struct client_effect *release = woken(NS_PER_S, CLIENT_EFFECT_ASK);
    cr_assert_not_null(release);
    cr_assert_eq(release->f, HISTORY_RELEASE);
    release = told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    cr_assert_not_null(release, "the second time");
    cr_assert_eq(release->f, HISTORY_RELEASE);
    cr_assert_not_null(told(OUTCOME_FAIL, CLIENT_EFFECT_DONE), "and no third");
}

Test(client, asks_for_more_time_after_a_loss_only_if_told_to)
{
    begin("extend_every: 300ms, on_lost: extend");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    (void)told(OUTCOME_LOST, CLIENT_EFFECT_WAKE);
    const struct client_effect *extend = woken(300 * NS_PER_MS, CLIENT_EFFECT_ASK);
    cr_assert_not_null(extend);
    cr_assert_eq(extend->f, HISTORY_EXTEND);

    begin("extend_every: 300ms, on_lost: finish");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    (void)told(OUTCOME_LOST, CLIENT_EFFECT_WAKE);
    cr_assert_null(woken(300 * NS_PER_MS, CLIENT_EFFECT_ASK));
}

Test(client, an_acquire_carries_its_deadline)
{
    begin("deadline: 250ms");
    cr_assert_eq(asked()->deadline_ns, 250 * NS_PER_MS);
}

Test(client, gives_up_an_acquire_that_is_not_answered)
{
    begin("cancel_after: 200ms");
    (void)asked();
    cr_assert_not_null(woken(200 * NS_PER_MS, CLIENT_EFFECT_CANCEL));
    cr_assert_null(woken(200 * NS_PER_MS, CLIENT_EFFECT_ASK), "its answer is still to come");
    cr_assert_not_null(told(OUTCOME_FAIL, CLIENT_EFFECT_WAKE), "then it thinks again");
}

Test(client, an_acquire_that_is_answered_is_not_given_up)
{
    begin("cancel_after: 200ms");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    cr_assert_null(woken(200 * NS_PER_MS, CLIENT_EFFECT_CANCEL));
}

Test(client, what_few_libraries_can_must_be_said_to_be_needed)
{
    const struct parsed *parsed = parse(HEAD "clients: {deadline: 1s, cancel_after: 1s}\n");
    cr_assert(result_failed(parsed->result));
    cr_assert_not_null(strstr(parsed->told, "say \"needs: [deadline]\" as well"));
    cr_assert_not_null(strstr(parsed->told, "say \"needs: [cancel]\" as well"));
    parsed = parse(HEAD "clients: {deadline: 0s}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
}

Test(client, commands_that_extend_may_be_the_librarys_own)
{
    const struct parsed *parsed = parse(HEAD "faults:\n  - {on: node 1 extend, do: lose_reply}\n");
    cr_assert_not_null(strstr(parsed->told, "nobody ever extends"));
    parsed = parse(HEAD "needs: [renew]\nfaults:\n  - {on: node 1 extend, do: lose_reply}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
}

static const struct client_effect *told_lost(uint32_t resource, enum client_effect_type type)
{
    return after((struct client_event){.type = CLIENT_EVENT_TOLD,
                                       .outcome = OUTCOME_LOST,
                                       .resource = resource},
                 type);
}

static uint32_t effects_count(enum client_effect_type type, uint8_t f)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < effects.count; i++) {
        const struct client_effect *effect = &effects.list[i];
        count += effect->type == type && effect->record.f == f ? 1 : 0;
    }
    return count;
}

Test(client, acquires_one_after_the_other_what_it_holds_at_once_and_gives_the_last_back_first)
{
    begin("resources: 2, at_once: 2");
    cr_assert_eq(asked()->resource, (uint32_t)0, "in the order of their names");
    const struct client_effect *second = told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    cr_assert_not_null(second, "no section with one of two");
    cr_assert_eq(second->resource, (uint32_t)1);
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    cr_assert_eq(effects_count(CLIENT_EFFECT_RECORD, HISTORY_ENTER), (uint32_t)2);
    cr_assert_eq(woken(NS_PER_S, CLIENT_EFFECT_ASK)->resource, (uint32_t)1);
    cr_assert_eq(told(OUTCOME_OK, CLIENT_EFFECT_ASK)->resource, (uint32_t)0);
    cr_assert_not_null(told(OUTCOME_OK, CLIENT_EFFECT_DONE));
}

Test(client, who_is_refused_a_part_gives_back_the_rest_and_that_is_no_section)
{
    begin("resources: 2, at_once: 2");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    const struct client_effect *back = told(OUTCOME_FAIL, CLIENT_EFFECT_ASK);
    cr_assert_not_null(back);
    cr_assert_eq(back->f, HISTORY_RELEASE);
    cr_assert_eq(back->resource, (uint32_t)0);
    cr_assert_null(told(OUTCOME_OK, CLIENT_EFFECT_DONE), "it thinks again");
}

Test(client, any_order_is_drawn_and_no_name_twice)
{
    bool turned = false;
    begin("resources: 3, at_once: 2, order: any, sections: 100");
    for (int i = 0; i < 40; i++) {
        bool first = i == 0;
        uint32_t a = (first ? asked() : woken(now_ns, CLIENT_EFFECT_ASK))->resource;
        uint32_t b = told(OUTCOME_OK, CLIENT_EFFECT_ASK)->resource;
        cr_assert_neq(a, b);
        turned = turned || a > b;
        cr_assert_eq(told(OUTCOME_FAIL, CLIENT_EFFECT_ASK)->resource, a);
        (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    }
    cr_assert(turned);
}

Test(client, acquires_again_as_it_enters_and_gives_that_back_in_the_middle)
{
    begin("again: 1");
    (void)asked();
    const struct client_effect *again = told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    cr_assert_not_null(again);
    cr_assert_eq(again->f, HISTORY_ACQUIRE);
    cr_assert_eq(again->depth, 1);
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    const struct client_effect *inner = woken(NS_PER_S / 2, CLIENT_EFFECT_ASK);
    cr_assert_eq(inner->f, HISTORY_RELEASE);
    cr_assert_eq(inner->depth, 1);
    cr_assert_not_null(told(OUTCOME_OK, CLIENT_EFFECT_WAKE), "still inside");
    const struct client_effect *outer = woken(NS_PER_S, CLIENT_EFFECT_ASK);
    cr_assert_eq(outer->depth, 0);
    cr_assert_not_null(told(OUTCOME_OK, CLIENT_EFFECT_DONE));
}

Test(client, who_is_refused_what_it_holds_goes_on_and_gives_it_back_once)
{
    begin("again: 1");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    (void)told(OUTCOME_FAIL, CLIENT_EFFECT_WAKE);
    cr_assert_null(woken(NS_PER_S / 2, CLIENT_EFFECT_ASK));
    cr_assert_eq(woken(NS_PER_S, CLIENT_EFFECT_ASK)->f, HISTORY_RELEASE);
    cr_assert_not_null(told(OUTCOME_OK, CLIENT_EFFECT_DONE));
}

Test(client, hears_of_each_loss_once_and_asks_more_time_for_the_others)
{
    begin("resources: 2, at_once: 2, extend_every: 300ms");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_ASK);
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    const struct client_effect *notice = told_lost(0, CLIENT_EFFECT_RECORD);
    cr_assert_eq(notice->record.f, HISTORY_LOST);
    cr_assert_eq(notice->record.resource, (uint32_t)0);
    cr_assert_null(told_lost(0, CLIENT_EFFECT_RECORD));
    cr_assert_eq(woken(300 * NS_PER_MS, CLIENT_EFFECT_ASK)->resource, (uint32_t)1);
}

/* A lock that answers twice: the second is nobody's, and the program goes on as it was. */
Test(client, an_answer_that_it_did_not_ask_for_is_recorded_and_moves_nothing)
{
    begin("resources: 1");
    (void)asked();
    (void)told(OUTCOME_OK, CLIENT_EFFECT_WAKE);
    for (int outcome = OUTCOME_OK; outcome <= OUTCOME_INFO; outcome++) {
        const struct client_effect *unasked =
            told((enum client_outcome)outcome, CLIENT_EFFECT_RECORD);
        cr_assert_eq(unasked->record.kind, HISTORY_CLIENT);
        cr_assert_eq(unasked->record.f, HISTORY_UNASKED);
        cr_assert_eq(effects.count, (uint32_t)1);
    }
    cr_assert_eq(woken(NS_PER_S, CLIENT_EFFECT_ASK)->f, HISTORY_RELEASE);
}

Test(client, what_it_is_to_hold_must_be_there_and_be_possible)
{
    const struct parsed *parsed = parse(HEAD "clients: {at_once: 2, again: 3}\n");
    cr_assert_not_null(strstr(parsed->told, "say \"needs: [several]\" as well"));
    cr_assert_not_null(strstr(parsed->told, "2 at once of 1: say \"resources: 2\" as well"));
    cr_assert_not_null(strstr(parsed->told, "make 5 grants of one client; at most 4"));
    cr_assert_not_null(strstr(parsed->told, "or \"lacks: [reentrant]\" as well"));
    parsed = parse(HEAD "needs: [reentrant]\nlacks: [reentrant]\n");
    cr_assert_not_null(strstr(parsed->told, "no lock has and lacks \"reentrant\""));
    parsed = parse(HEAD "lacks: [reentrant]\nclients: {again: 1}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
}
