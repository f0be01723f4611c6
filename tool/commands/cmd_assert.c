/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_assert.c - cpt assert: what must hold of the structure of every trace */
#include "tool/assert/assert.h"
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/base/folders.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/requests/stream.h"
#include "tool/select/select.h"
#include "cpt/base/text.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Path logs --- */

/* The id of @record, or its number; in @text if it has none of its own. */
static struct cpt_bytes id_of(const struct cpti_request *request, char text[64])
{
    const struct cpt_record *record = request->record;
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of("trace"));

    if (record->has_trace_id) {
        return cpti_text_hex(text, record->trace_id, sizeof record->trace_id);
    }
    if (attribute != NULL && attribute->type == CPT_ATTRIBUTE_TEXT) {
        return attribute->value.text;
    }
    (void)snprintf(text, 64, "of record %" PRIu64,
                   cpti_log_record_number(request->walk));
    return cpt_bytes_of(text);
}

static int take(void *context, const struct cpti_request *request)
{
    struct cpti_assert *assertion = context;
    char text[64];
    const struct cpti_assert_trace trace = {.id = id_of(request, text),
                                            .file = request->walk->input->path};
    cpt_status status;

    cpti_rule_trace_reset(&assertion->trace);
    status = cpti_assert_path(&assertion->trace, request->path);
    if (status != CPT_OK) {
        return cpti_status_exit(status);
    }
    assertion->unordered_count +=
        (cpt_path_flags(request->path) & CPT_PATH_UNORDERED) != 0;
    return cpti_assert_run(assertion, &trace);
}

/* Takes spans. */
static void meet_other(void *context, struct cpti_fold *folds, struct cpti_input *input,
                       struct cpti_outcome *outcome)
{
    (void)folds;
    if (input->kind == CPTI_INPUT_TREE) {
        outcome->exit_status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                           "is a tree: it knows averages, but no trace");
    } else if (input->kind == CPTI_INPUT_GRAPHS) {
        outcome->exit_status = cpti_refuse_graphs(input);
    } else {
        outcome->exit_status = cpti_assert_spans(context, input);
    }
}

/* Tries the rules on all files at @paths. */
static int read_files(struct cpti_assert *assertion, const char *const *paths,
                      size_t path_count)
{
    struct cpti_fold fold = {.take = take, .context = assertion};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .goes_on = true,
                                 .context = assertion,
                                 .other = meet_other};
    bool is_usable;

    return cpti_stream_run(&stream, &is_usable);
}

/* --- The command --- */

/* Whether 'before' is asked of a path that does not tell it. */
static bool asks_order(const struct cpti_assert *assertion)
{
    for (size_t i = 0; i < assertion->rules.count; i++) {
        if (assertion->rules.rules[i].kind == CPTI_RULE_BEFORE) {
            return true;
        }
    }
    return false;
}

static int print_text(void *context, size_t row_max)
{
    cpti_assert_print(context, row_max);
    return CPTI_EXIT_DONE;
}

static int print_json(void *context, size_t row_max)
{
    cpti_assert_json(context, row_max);
    return CPTI_EXIT_DONE;
}

static int run_files(struct cpti_assert *assertion,
                     const struct cpti_arguments *arguments, uint64_t bytes_max)
{
    struct cpti_capped capped = {.bytes_max = bytes_max,
                                 .print = cpti_has(arguments, "json") ? print_json
                                                                      : print_text,
                                 .context = assertion};
    int status = CPTI_EXIT_DONE;

    status =
        read_files(assertion, arguments->operands + 1, arguments->operand_count - 1);
    status = cpti_exit_last(status, cpti_assert_spans_end(assertion));
    if (assertion->trace_count == 0) {
        return status == CPTI_EXIT_DONE
                   ? cpti_failed("there is no trace to try the rules on")
                   : status;
    }
    assertion->unordered_count *= asks_order(assertion);
    cpti_assert_warn(assertion);
    capped.row_count = cpti_assert_row_count(assertion);
    status = cpti_exit_last(status, cpti_capped_print(&capped));
    if (status != CPTI_EXIT_USAGE && cpti_assert_is_broken(assertion)) {
        return CPTI_EXIT_CONDITION;
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_assert *assertion = calloc(1, sizeof *assertion);
    struct cpti_expression_error error;
    const struct cpt_bytes text = cpt_bytes_of(arguments->operands[0]);
    uint64_t bytes_max = 0;
    uint64_t example_max = CPTI_ASSERT_EXAMPLES;
    int status = cpti_capped_option(arguments, &bytes_max);

    if (assertion == NULL) {
        return cpti_failed("out of memory");
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_whole_number(arguments, "top", 1, CPTI_ASSERT_EXAMPLES_MAX,
                                   &example_max);
    }
    if (status == CPTI_EXIT_DONE &&
        !cpti_rules_parse(&assertion->rules, text, &error)) {
        status = cpti_expression_refused("the rule", text, &error);
    }
    if (status == CPTI_EXIT_DONE) {
        assertion->example_max = (size_t)example_max;
        status = run_files(assertion, arguments, bytes_max);
    }
    cpti_assert_deinit(assertion);
    free(assertion);
    return status;
}

static const struct cpti_option options[] = {
    {"json", 0, NULL, "print one JSON object"},
    {"top", 't', "COUNT", "traces to print of each rule; default: 10"},
    CPTI_CAPPED_OPTION("the first traces"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt assert 'no span(\"db-master\") under span(\"read\")' traces.json",
     "reads never use the master"},
    {"cpt assert 'no span(\"payments: *\") directly under span(\"ads: *\")' "
     "spans/*.json.gz",
     "one service must not call another"},
    {"cpt assert 'at most 3 span(\"db\") and span(\"login\") before span(\"db\")' "
     "traces.json",
     "no loop of calls, and nothing before the check"},
    {0},
};

const struct cpti_command cpti_command_assert = {
    .name = "assert",
    .summary = "test the structure of traces, as of a forbidden call",
    .group = CPTI_CHECK,
    .question = "Does each trace have the structure that it must have?",
    .needs = "spans or path logs, and a rule",
    .usages = {"[OPTION]... RULE FILE..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 2,
    .run = run,
    .takes_folders = true,
};
