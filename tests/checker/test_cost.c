/* test_cost.c: a new check costs one file and one row, shown by adding one to a copy of the house.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096 };

/* Finds something in every history: a client that writes. With a reason and a sentence of its own.
 */
static const char toy[] =
    "/* toy.c: did anybody write? */\n"
    "#include \"checker/explain/explain_words.h\"\n"
    "#include \"checker/verdict.h\"\n"
    "\n"
    "enum toy_reason { SOMEBODY_WROTE = 1 };\n"
    "\n"
    "static size_t toy_bytes(const struct history_header *header)\n"
    "{\n"
    "    (void)header;\n"
    "    return sizeof(struct check_result);\n"
    "}\n"
    "\n"
    "static void toy_init(void *state, const struct history_header *header)\n"
    "{\n"
    "    (void)header;\n"
    "    memset(state, 0, sizeof(struct check_result));\n"
    "}\n"
    "\n"
    "static void toy_step(void *state, const struct ledger *ledger,\n"
    "                     const struct history_event *event)\n"
    "{\n"
    "    struct finding finding = {.reason = SOMEBODY_WROTE, .evidence = {event->index},\n"
    "                              .evidence_count = 1, .blamed = blamed_library()};\n"
    "    check_fail(state, ledger, &finding);\n"
    "}\n"
    "\n"
    "static void toy_finish(void *state, const struct ledger *ledger)\n"
    "{\n"
    "    (void)ledger;\n"
    "    check_conclude(state);\n"
    "}\n"
    "\n"
    "static void say_toy(const struct telling *telling)\n"
    "{\n"
    "    put_client(telling, telling_evidence(telling, 0)->process);\n"
    "    text_add(telling->text, \" wrote, as reason %d says\", telling->result->reason);\n"
    "}\n"
    "\n"
    "const struct check check_toy = {\n"
    "    .name = \"toy\",\n"
    "    .question = \"Did anybody write?\",\n"
    "    .wants = CHECK_BIT(HISTORY_WRITE),\n"
    "    .bytes = toy_bytes,\n"
    "    .init = toy_init,\n"
    "    .step = toy_step,\n"
    "    .finish = toy_finish,\n"
    "    .say = say_toy,\n"
    "};\n";

static const char history[] =
    "{\"format\":\"picklock-history\",\"version\":1}\n"
    "{\"time\":0,\"process\":1,\"type\":\"invoke\",\"f\":\"write\",\"resource\":\"r0\"}\n";

static char house[] = "/tmp/picklock-cost-XXXXXX";

/* Run a command in the copy; its output is in `log`. */
static int shell(const char *format)
{
    char command[COMMAND_BYTES];
    int bytes =
        snprintf(command, sizeof command, "top=$PWD && cd %s && { %s; } >log 2>&1", house, format);
    cr_assert(bytes > 0 && (size_t)bytes < sizeof command);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *log_text(void)
{
    static char text[16 * 1024];
    char path[64];
    (void)snprintf(path, sizeof path, "%s/log", house);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    (void)fclose(file);
    return text;
}

static void house_write(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", house, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    cr_assert_eq(fclose(file), 0);
}

/* What is built already is taken over, so that only what changed is built anew. */
static void house_copy(void)
{
    cr_assert_not_null(mkdtemp(house));
    cr_assert_eq(
        shell("cp -a $top/Makefile $top/tools $top/docs $top/base $top/lockcore $top/history "
              "$top/servers $top/harness "
              "$top/checker $top/cli . && mkdir -p build/default && "
              "{ [ ! -d $top/build/default/checker ] || cp -a $top/build/default/base "
              "$top/build/default/lockcore $top/build/default/history $top/build/default/servers "
              "$top/build/default/harness $top/build/default/checker "
              "$top/build/default/cli build/default/; }"),
        0, "%s", log_text());
}

Test(cost, a_check_is_one_file_and_one_row)
{
    house_copy();
    house_write("checker/checks/toy.c", toy);
    house_write("history.jsonl", history);
    cr_assert_eq(shell("sed -i 's/^    X(check_answer_consistency).*/&\\n    X(check_toy) \\\\/' "
                       "checker/checks.c"),
                 0, "%s", log_text());
    (void)shell("for room in base lockcore history servers harness checker cli; do "
                "diff -r -U0 $top/$room $room; done | grep -c -e '^[+-][^+-]' -e '^Only in'");
    cr_assert_str_eq(log_text(), "2\n", "one new row and one new file, not: %s", log_text());

    cr_assert_eq(shell("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s BUILD=build/default "
                       "build/default/picklock"),
                 0, "%s", log_text());
    cr_assert_eq(shell("./build/default/picklock list checks"), 0);
    cr_assert_not_null(strstr(log_text(), "Did anybody write?"), "%s", log_text());
    cr_assert_eq(shell("./build/default/picklock check history.jsonl"), 1, "%s", log_text());
    cr_assert_not_null(strstr(log_text(), "toy: client 1 wrote, as reason 1 says"), "%s",
                       log_text());
    cr_assert_eq(shell("rm -r base lockcore history servers harness checker cli build"), 0);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", house);
    cr_assert_eq(system(command), 0);
}
