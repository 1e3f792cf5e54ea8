/* test_scenario_schema.c: the schema for editors is JSON and has every key of the table. */
#include "harness/scenario_table.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>
#include <jansson.h>

enum { SCHEMA_BYTES = 1 << 16 };

static json_t *schema(void)
{
    static char memory[SCHEMA_BYTES];
    struct text text = text_over(memory, sizeof memory);
    scenario_schema_print(test_checks(), &text);
    cr_assert(!text.cut);
    json_error_t error;
    json_t *json = json_loads(memory, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(json, "line %d: %s", error.line, error.text);
    return json;
}

/* The schema of the key at `path`, found from property to property. */
static json_t *schema_of(json_t *json, const char *path)
{
    char parts[100];
    (void)snprintf(parts, sizeof parts, "%s", path);
    char *rest = parts;
    while (rest != NULL && json != NULL) {
        char *dot = strchr(rest, '.');
        if (dot != NULL) {
            *dot = '\0';
        }
        if (json_object_get(json, "oneOf") != NULL) {
            json = json_array_get(json_object_get(json, "oneOf"), 1); /* faults: {random: ...} */
        }
        json = json_object_get(json_object_get(json, "properties"), rest);
        rest = dot == NULL ? NULL : dot + 1;
    }
    return json;
}

Test(scenario_schema, has_every_key_of_the_table_and_no_others)
{
    json_t *json = schema();
    cr_assert_str_eq(json_string_value(json_object_get(json, "$schema")),
                     "http://json-schema.org/draft-07/schema#");
    for (size_t i = 0; i < scenario_key_count; i++) {
        cr_assert_not_null(schema_of(json, scenario_keys[i].path), "%s", scenario_keys[i].path);
    }
    cr_assert_null(schema_of(json, "lock.retry.colour"));
    cr_assert(json_is_false(json_object_get(json, "additionalProperties")));
    json_decref(json);
}

Test(scenario_schema, faults_have_every_key_and_kind)
{
    json_t *json = schema();
    json_t *list = json_array_get(json_object_get(schema_of(json, "faults"), "oneOf"), 0);
    json_t *keys = json_object_get(json_object_get(list, "items"), "properties");
    cr_assert_eq(json_object_size(keys), FAULT_KEYS);
    json_t *kinds = json_object_get(json_object_get(keys, "do"), "enum");
    cr_assert_eq(json_array_size(kinds), FAULT_KINDS - 1);
    json_decref(json);
}

Test(scenario_schema, expectations_are_the_checks_that_were_named)
{
    json_t *json = schema();
    json_t *names = json_object_get(schema_of(json, "expect"), "propertyNames");
    cr_assert_eq(json_array_size(json_object_get(names, "enum")), test_checks()->count);
    json_decref(json);
}
