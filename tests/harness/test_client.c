/* test_client.c: what programs do with a lock that they should not, and what few libraries can. */
#include "base/duration.h"
#include "harness/client.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct client client;
static struct client_program program;
static struct client_effects effects;
static int64_t now_ns;

static void begin(const char *clients)
{
    static struct plan plan;
    char yaml[400];
    (void)snprintf(yaml, sizeof yaml,
                   HEAD "needs: [deadline, cancel]\nclients: {hold: 1s, writes: 0, %s}\n", clients);
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
