/* test_explain.c: whole stories, as a stranger reads them. */
#include "checker/explain.h"
#include "tests/checker/story.h"

static char story_memory[8192];

/* The story that a check tells of a history. */
static const char *tell(const char *check, const char *lines)
{
    static struct story story;
    story_read(&story, lines);
    struct check_result result = story_judge(&story, check);
    struct explain_history history = {
        .header = &story.header, .events = story.events, .count = story.count};
    struct text text = text_over(story_memory, sizeof story_memory);
    explain_story(&history, check_find(check), &result, &text);
    return story_memory;
}

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

Test(explain, print)
{
    puts(tell("exclusion",
              HEADER CLIENT_1_HOLDS ENTER(11, 1) FAULT_OF_NODE(100, 1, "clock_jump", "start", 3)
                  FAULT_OF_NODE(100, 1, "clock_jump", "effect", 3)
                      ENDED_BY(101, 3, "expired", "a", "clock-jump", 1) ASK(200, 2)
                          SET(201, 3, 2, "b", 1201) SET(201, 4, 2, "b", 1201)
                              SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190)));
    puts(tell("section_exclusion",
              HEADER CLIENT_1_HOLDS ENTER(11, 1) FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                  ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")
                      ENDED(1005, 3, "expired", "a", "ttl") ASK(1200, 2) SET(1201, 3, 2, "b", 2201)
                          SET(1201, 4, 2, "b", 2201) SET(1201, 5, 2, "b", 2201)
                              GRANT(1205, 2, "b", 2190) ENTER(1206, 2)
                                  FAULT_OF_CLIENT(2000, 1, "pause", "end", 1)));
    puts(tell("exclusion", "{'format':'picklock-history','version':1}\n" ASK(1, 1) GRANT_OPEN(
                               10, 1, "a") ASK(20, 7) GRANT_OPEN(30, 7, "b") FREE(40, 1)));
}
