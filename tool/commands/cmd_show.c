/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_show.c - cpt show: one request's critical path over time
 *
 * The log is read up to the first request that fits; for --slowest, up to its end.
 */
#include "tool/requests/diagnosis.h"
#include "tool/gather/gather.h"
#include "tool/print/perfetto.h"
#include "tool/print/record_copy.h"
#include "tool/print/record_print.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/log_untraced.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/stream.h"
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/select/select.h"
#include "tool/print/waterfall.h"
#include "tool/requests/workers.h"
#include "tool/log/span_tags.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The default of --rows: a screen or two. */
enum { ROWS_DEFAULT = 60 };

/* One run of the command. */
struct show_command {
    struct cpti_selection selection;
    const char *trace;      /* 32 hexadecimal digits, or 16; NULL: any */
    uint64_t wanted_number; /* of the record; 0: any */
    bool is_slowest;        /* show the slowest that fits, not the first */
    uint64_t rows_max;
    uint64_t bytes_max;
    bool is_ascii;
    uint64_t record_count;   /* of all files */
    uint64_t selected_count; /* requests that fit so far */
    struct cpti_record_copy kept;
};

/* --- Which one --- */

static bool has_trace(const struct cpt_record *record, const char *trace)
{
    char id[33];

    return record->has_trace_id &&
           cpti_trace_is(cpt_bytes_of(cpti_record_id(record->trace_id,
                                                     sizeof record->trace_id, id)),
                         trace);
}

/* Whether a request fits; and of these whether it replaces the kept one: of equally
 * slow ones the first stays. */
static enum cpti_needs needs(void *context, struct cpti_request *request)
{
    struct show_command *command = context;
    const struct cpt_record *record = request->record;

    if ((command->wanted_number != 0 && request->number != command->wanted_number) ||
        !cpti_selection_enters(&command->selection, record->service) ||
        (command->trace != NULL && !has_trace(record, command->trace))) {
        return CPTI_NEEDS_NOTHING;
    }
    if (command->selection.sample_count != 0) {
        return CPTI_NEEDS_PATH; /* if it is drawn */
    }
    command->selected_count++;
    return command->kept.path == NULL || record->latency_ns > command->kept.latency_ns
               ? CPTI_NEEDS_PATH
               : CPTI_NEEDS_NOTHING;
}

static int take(void *context, const struct cpti_request *request)
{
    struct show_command *command = context;
    int status;

    if (request->walk == NULL) { /* it was drawn */
        command->selected_count++;
        if (command->kept.path != NULL &&
            request->record->latency_ns <= command->kept.latency_ns) {
            return CPTI_EXIT_DONE;
        }
    }
    status = cpti_record_copy_set(&command->kept, request->record, request->path,
                                  request->number);
    return status == CPTI_EXIT_DONE && !command->is_slowest ? CPTI_STREAM_ENOUGH
                                                            : status;
}

/* Reads the logs up to the request that is shown; chooses it from the sample if there
 * is one. enum cpti_exit. */
static int find(struct show_command *command, const struct cpti_arguments *arguments)
{
    struct cpti_fold fold = {.selection = &command->selection,
                             .selects = cpti_selection_has,
                             .needs = needs,
                             .take = take,
                             .context = command};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = arguments->operands,
                                 .path_count = arguments->operand_count,
                                 .stops_at_error = cpti_has(arguments, "stop-at-error"),
                                 .goes_on = true};
    bool is_usable;
    int status;

    cpti_fold_sample(&fold, command->selection.seed);
    status = cpti_stream_run(&stream, &is_usable);
    command->record_count = stream.record_count;
    if (fold.is_sampled && (status == CPTI_EXIT_DONE || !stream.stops_at_error)) {
        int chosen;

        cpti_log_sample_warn(&fold.sample, command->selection.seed);
        chosen = cpti_fold_drawn(&fold);
        status = cpti_exit_last(status,
                                chosen == CPTI_STREAM_ENOUGH ? CPTI_EXIT_DONE : chosen);
    }
    cpti_sample_deinit(&fold.sample);
    return status;
}

/* --- Showing it --- */

/* Whether stdout is a terminal that cannot draw blocks. Files and pipes get UTF-8, as
 * all output of the tool. */
static bool is_plain_terminal(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *terminal = getenv("TERM");

    if (isatty(STDOUT_FILENO) == 0) {
        return false;
    }
    if (terminal == NULL || strcmp(terminal, "dumb") == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);

        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "utf-8") == NULL &&
                   strcasestr(value, "utf8") == NULL;
        }
    }
    return true; /* the C locale */
}

/* See struct cpti_capped. */
static int print_kept(void *context, size_t row_max)
{
    const struct show_command *command = context;
    const struct cpti_record_copy *kept = &command->kept;

    cpti_record_title(kept->start_unix_ns, kept->entry, kept->latency_ns, kept->status);
    (void)printf("record %" PRIu64 ", %s\n", kept->record_number, kept->remarks);
    if (kept->metadata[0] != '\0') {
        (void)printf("meta %s\n", kept->metadata);
    }
    if (command->is_slowest) {
        (void)printf("the slowest of %" PRIu64 " requests\n", command->selected_count);
    }
    if ((cpt_path_flags(kept->path) & CPT_PATH_UNORDERED) != 0) {
        (void)printf(
            "the order of its segments is lost: only their lengths are times\n");
    }
    (void)printf("\n");
    return cpti_waterfall_print(
        kept->path, command->is_ascii,
        row_max < command->rows_max ? row_max : (size_t)command->rows_max);
}

/* The most rows that fit. */
static int print_capped(struct show_command *command)
{
    /* a frame opens at most one row in each segment */
    const uint64_t count_max =
        (uint64_t)cpt_path_segment_count(command->kept.path) * CPT_PATH_DEPTH_MAX;
    const struct cpti_capped capped = {
        .bytes_max = command->bytes_max,
        .print = print_kept,
        .context = command,
        .row_count = (size_t)(command->bytes_max == 0 || command->rows_max < count_max
                                  ? command->rows_max
                                  : count_max)};

    return cpti_capped_print(&capped);
}

/* Writes it to the file @name instead. */
static int write_perfetto(const struct show_command *command, const char *name)
{
    struct cpti_output output;
    struct cpti_perfetto perfetto = {.output = &output};
    int status = cpti_output_open(&output, name);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status =
        cpti_perfetto_add(&perfetto, command->kept.path, command->kept.start_unix_ns);
    if (status != CPTI_EXIT_DONE) {
        cpti_output_abort(&output);
        return status;
    }
    return cpti_output_commit(&output);
}

/* --- The command --- */

static int read_options(struct show_command *command,
                        const struct cpti_arguments *arguments)
{
    struct cpti_selection *selection = &command->selection;
    int status = cpti_selection_init(selection, arguments);

    status = CPTI_THEN(status, cpti_whole_number(arguments, "record", 1, UINT64_MAX,
                                                 &command->wanted_number));
    status = CPTI_THEN(status, cpti_whole_number(arguments, "rows", 1, UINT64_MAX,
                                                 &command->rows_max));
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_percentiles(&selection, 1, arguments->operands,
                                         arguments->operand_count, cpti_processors());
    }
    status = CPTI_THEN(status, cpti_capped_option(arguments, &command->bytes_max));
    selection->includes_forced = 1; /* only now: percentiles are of the others */
    selection->includes_fragments = 1;
    selection->events = CPTI_EVENTS_TAKEN;
    command->is_slowest = cpti_has(arguments, "slowest");
    command->trace = cpti_value(arguments, "trace");
    if (status == CPTI_EXIT_DONE && command->trace != NULL &&
        !cpti_is_trace(command->trace)) {
        status = cpti_usage("option '--trace' takes 32 hexadecimal digits, or the last "
                            "16, not '%s'",
                            cpti_quoted(command->trace));
    }
    return status;
}

/* Says why there is nothing to show. */
static int say_none(const struct show_command *command,
                    const struct cpti_arguments *arguments)
{
    const char *const *paths = arguments->operands;
    const bool is_diagnosed =
        command->wanted_number == 0 && command->trace == NULL &&
        cpti_selection_has_terms(&command->selection) &&
        cpti_diagnosis_is_possible(paths, arguments->operand_count);
    int status;

    if (command->record_count == 0) {
        return cpti_untraced_failed(paths, arguments->operand_count);
    }
    if (command->wanted_number > command->record_count) {
        return cpti_failed("there is no record %" PRIu64 ": the last one is %" PRIu64,
                           command->wanted_number, command->record_count);
    }
    status = cpti_failed("no request is selected, of %" PRIu64 " record%s%s",
                         command->record_count, command->record_count == 1 ? "" : "s",
                         is_diagnosed ? "; left after each term:" : "");
    if (is_diagnosed) {
        cpti_diagnosis_print(&command->selection, paths, arguments->operand_count);
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct show_command command = {.rows_max = ROWS_DEFAULT};
    int status = read_options(&command, arguments);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = find(&command, arguments);
    if (command.kept.path != NULL && cpti_value(arguments, "perfetto") != NULL) {
        status = cpti_exit_last(
            status, write_perfetto(&command, cpti_value(arguments, "perfetto")));
    } else if (command.kept.path != NULL) {
        command.is_ascii = cpti_has(arguments, "ascii") || is_plain_terminal();
        status = cpti_exit_last(status, print_capped(&command));
    } else if (status == CPTI_EXIT_DONE) {
        status = say_none(&command, arguments);
    }
    cpti_selection_deinit(&command.selection);
    cpti_record_copy_deinit(&command.kept);
    return status;
}

static const struct cpti_option options[] = {
    {"record", 'r', "NUMBER",
     "the record with this number, counted from 1 over all files"},
    {"slowest", 's', NULL, "the slowest of the selected requests, not the first"},
    {"trace", 't', "ID",
     "a request of this trace: its id, or the last 16 digits of it"},
    {"rows", 0, "COUNT", "draw at most COUNT rows, the longest; default 60"},
    CPTI_CAPPED_OPTION("the longest rows"),
    {"ascii", 0, NULL, "draw with '#' and '-'"},
    {"perfetto", 0, "FILE",
     "draw nothing; write the path to FILE as a trace for ui.perfetto.dev"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt show --slowest paths.cptlog", "what the slowest request waited for"},
    {"cpt show --where arm=treatment --slowest day/*.cptlog",
     "the slowest of one arm of an experiment"},
    {"cpt show --slowest --perfetto slowest.pftrace paths.cptlog",
     "the same in ui.perfetto.dev, or its trace processor"},
    {"cpt show --trace 4bf92f3577b34da6a3ce929d0e0e4736 paths.cptlog",
     "the request whose trace id a log line or another tracer shows"},
    {0},
};

const struct cpti_command cpti_command_show = {
    .name = "show",
    .summary = "draw one request's critical path over time",
    .group = CPTI_LOOK,
    .question = "Where was the time of this one request?",
    .needs = "path logs or spans",
    .usages = {"[OPTION]... LOG..."},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
