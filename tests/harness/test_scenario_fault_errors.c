/* test_scenario_fault_errors.c: each kind of mistake in a fault: its place and its sentence. */
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct mistake {
    const char *fault; /* stands in line 6 from column 5 on */
    const char *told;  /* sentences, one a line, without "demo.yaml:6:" */
};

/* Sentences about line 6; anything else fails the comparison. */
static const char *sentences(const char *told)
{
    static char kept[TOLD_BYTES];
    struct text text = text_over(kept, sizeof kept);
    while (*told != '\0') {
        size_t length = strcspn(told, "\n") + 1;
        if (strncmp(told, "demo.yaml:6:", 12) == 0) {
            text_add_bytes(&text, told + 12, length - 12);
        } else if (strncmp(told, "demo.yaml", 9) == 0) {
            text_add_bytes(&text, told, length);
        }
        told += length;
    }
    return kept;
}

static void assert_told(const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char yaml[1000];
        (void)snprintf(yaml, sizeof yaml, HEAD "faults:\n  - %s\n", mistakes[i].fault);
        const struct parsed *parsed = parse(yaml);
        cr_assert(result_failed(parsed->result), "this was accepted:\n%s", yaml);
        cr_assert_str_eq(sentences(parsed->told), mistakes[i].told);
    }
}

#define ASSERT_TOLD(mistakes) assert_told(mistakes, sizeof(mistakes) / sizeof(mistakes)[0])

Test(scenario_fault_errors, kinds_and_keys)
{
    static const struct mistake mistakes[] = {
        {"pause", "5: a fault must be a map of keys; here is a single value\n"},
        {"{at: 1s}", "5: a fault needs \"do\": its kind, such as do: pause\n"},
        {"{at: 1s, do: latencey}", "18: unknown fault \"latencey\"; did you mean \"latency\"?\n"},
        {"{at: 1s, do: timeout}",
         "18: unknown fault \"timeout\"; did you mean \"partition with mode: drop\"?\n"},
        {"{at: 1s, do: skew}", "18: unknown fault \"skew\"; did you mean \"clock_jump\"?\n"},
        {"{at: 1s, do: partition, direction: upstream}",
         "40: unknown direction \"upstream\"; did you mean \"request\"?\n"},
        {"{at: 1s, do: partition, mode: reject}",
         "35: unknown mode \"reject\"; did you mean \"refuse\"?\n"},
        {"{at: 1s, action: evict}",
         "5: a fault needs \"do\": its kind, such as do: pause\n"
         "14: unknown key \"action\" in a fault; did you mean \"do\"?\n"},
        {"{at: 1s, do: partition, to: nodes 1,3}",
         "41: unknown key \"3\"; quote a list of nodes: \"nodes 1,3\"\n"},
        {"{at: 1s, do: kill, target: client 1, for: 2s}",
         "42: \"for\" does not belong to kill, which happens once\n"},
        {"{at: 1s, do: kill, target: client 1, by: 2s}",
         "42: \"by\" does not belong to kill; it takes target\n"},
        {"{at: 1s, do: latency, target: node 1, delay: 2s}",
         "27: \"target\" does not belong to latency; it takes from, to, direction, delay, "
         "jitter\n"},
        {"{at: 1s, do: clock_jump, target: node 1}",
         "5: clock_jump needs \"by\": how far the wall clock jumps; negative: back\n"},
        {"{at: 1s, do: clock_rate, target: node 1, rate: 1%}",
         "52: rate: \"1%\" is not a factor such as 1.01 or 0.5, with at most six digits behind the "
         "point\n"},
        {"{at: 1s, do: crash}", "5: crash needs \"target\", such as target: node 3\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_fault_errors, beginnings_and_ends)
{
    static const struct mistake mistakes[] = {
        {"{do: pause, target: client 1}",
         "5: a fault needs \"at\" (a time) or \"on\" (an event)\n"},
        {"{at: 1s, on: client 1 after_granted, do: pause}",
         "5: a fault begins \"at\" a time or \"on\" an event, not both\n"},
        {"{at: 60s, do: pause, target: client 1}",
         "10: 60s is after the end: the duration is 1m\n"},
        {"{at: 1s, nth: 2, do: pause, target: client 1}",
         "14: \"nth\" counts events; a time comes once\n"},
        {"{at: 1s, after: 2s, do: pause, target: client 1}",
         "14: \"after\" counts from an event; \"at\" says when by itself\n"},
        {"{on: node 1 set, after: 2s, do: lose_reply}",
         "29: the command of \"on\" has passed by then; say in \"for\" or \"until\" how long "
         "those behind it are struck\n"},
        {"{at: 1s, do: pause, target: client 1, until: 3s}",
         "50: \"until\" takes an event, such as client 1 after_granted; a length of time is "
         "written \"for: 3s\"\n"},
        {"{at: 1s, do: pause, target: client 1, until: client 2 after_granted, for: 3s}",
         "43: a fault lasts \"for\" a time or \"until\" an event, not both\n"},
        {"{at: 1s, do: pause, target: client 1, until_nth: 3}",
         "43: \"until_nth\" needs \"until\"\n"},
        {"{on: client 1 after_grant, do: pause}",
         "19: unknown probe point \"after_grant\"; did you mean \"after_granted\"?\n"},
        {"{on: client 1, do: pause}",
         "10: on: the end; expected a probe point, such as after_granted\n"},
        {"{on: client 1 after_granted twice, do: pause}",
         "33: on: \"twice\"; expected nothing more\n"},
        {"{on: node 1 write, do: pause}",
         "17: unknown command \"write\"; expected set, extend, delete, other, command\n"},
        {"{on: node 1 set by client 1, do: pause}", "21: on: \"by\"; expected nothing more\n"},
        {"{on: sunday, do: pause, target: client 1}",
         "10: on: \"sunday\"; expected an event, such as client 1 after_granted or node 3 before "
         "set\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_fault_errors, targets)
{
    static const struct mistake mistakes[] = {
        {"{at: 1s, do: pause, target: client 0}",
         "40: target: there is no client 0, only 1 to 2\n"},
        {"{at: 1s, do: crash, target: node 6}", "38: target: there is no node 6, only 1 to 5\n"},
        {"{at: 1s, do: crash, target: nodes 4-9}", "39: target: there is no node 9, only 1 to 5\n"},
        {"{at: 1s, do: crash, target: nodes 3-2}", "39: target: 3-2 runs backwards\n"},
        {"{at: 1s, do: crash, target: \"nodes 1,\"}",
         "40: target: \"1,\"; expected a number, such as 3 or 1-3\n"},
        {"{at: 1s, do: crash, target: node}",
         "33: target: the end; expected a number, such as 3 or 1-3\n"},
        {"{at: 1s, do: crash, target: servers}",
         "33: target: \"servers\"; expected client 2, client 2-5, clients, node 3, nodes 1-3 or "
         "nodes\n"},
        {"{at: 1s, do: crash, target: client 1}",
         "33: \"target\" of crash takes nodes; here is client 1\n"},
        {"{at: 1s, do: partition, from: node 1}",
         "35: redis servers do not speak to each other: \"from\" of partition takes clients; here "
         "is node 1\n"},
        {"{at: 1s, do: partition, to: client 1}",
         "33: \"to\" of partition takes nodes; here is client 1\n"},
        {"{at: 1s, do: partition, shape: ring, to: node 1}",
         "42: \"to\" does not go with \"shape\", which names the links itself\n"},
        {"{on: client 3 after_granted, do: pause}", "17: on: there is no client 3, only 1 to 2\n"},
        {"{on: node 6 set, do: crash}", "15: on: there is no node 6, only 1 to 5\n"},
        {"{on: any client after_granted, do: kill}",
         "5: kill needs \"target\", such as target: client 2\n"},
        {"{on: node 1 set from client 1, from: client 2, do: lose_reply}",
         "42: \"on\" names another client\n"},
        {"{on: node 1 set, to: node 2, do: lose_reply}", "26: \"on\" names another node\n"},
        {"{on: node 1 set, command: delete, do: lose_reply}", "31: \"on\" names another command\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_fault_errors, faults_that_cannot_strike)
{
    static const struct mistake mistakes[] = {
        {"{on: client 1 before_extend, do: pause}",
         "10: no client ever passes before_extend: clients.extend_every is 0s\n"},
        {"{on: node 1 extend, do: pause}",
         "10: nobody ever extends: clients.extend_every is 0s, so this never happens; of a lock "
         "that renews by itself, say needs: [renew]\n"},
        {"{on: client 1 after_granted, nth: 2, do: pause}",
         "10: this happens at most 1 times, never for the 2-th\n"},
        {"{at: 0s, do: pause, target: client 1, until: client 1 after_granted}",
         "50: client 1 is paused until then: it cannot get there itself\n"},
        {"{on: node 1 set, do: delay_command, delay: 1s}",
         "10: the command has reached the node by then; write \"before\": node 3 before set\n"},
        {"{on: node 1 before set, do: lose_reply}",
         "10: there is no reply by then; write it without \"before\": node 3 set\n"},
    };
    ASSERT_TOLD(mistakes);
}
