/* formats.c: the table of file formats that histories are read from. */
#include "history/edn.h"
#include "history/format.h"
#include "history/jsonl.h"

const struct history_format *const history_formats[] = {
    &history_jsonl,
    &history_edn,
    &history_json,
};
const size_t history_format_count = sizeof history_formats / sizeof history_formats[0];
