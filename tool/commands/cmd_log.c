/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_log.c - cpt log: prints, checks, selects, merges or repairs records of path logs
 *
 * Forced requests are shown like all others, as nothing is averaged here.
 */
#include "tool/requests/diagnosis.h"
#include "tool/gather/gather.h"
#include "tool/table/capped.h"
#include "tool/table/json_write.h"
#include "tool/table/largest.h"
#include "tool/log/log_check.h"
#include "tool/log/graph_check.h"
#include "tool/base/log_output.h"
#include "tool/requests/log_untraced.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/stream.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/print/record_print.h"
#include "tool/select/select.h"
#include "tool/requests/workers.h"
#include "tool/log/span_tags.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One run of the command. */
struct log_command {
    struct cpti_selection selection;
    struct cpti_json json;
    bool is_json;
    bool is_check;
    bool has_paths; /* each record is printed with its path */
    bool follows;
    struct cpti_log_output *output; /* gets the records instead of stdout; or NULL */
    uint64_t selected_count;        /* of this file */
    bool has_selected;              /* a record of any file */
    const char *output_path;        /* of --output or --repair; or NULL */
    uint64_t shown_count;           /* of all files */
    uint64_t record_count;          /* of the files before this one */
    struct cpti_largest largest;    /* with --max-bytes: what is printed */
};

/* --- Checking --- */

/* Checks what a decoder does not: that the whole path is below the one entry frame. */
static int check_record(const struct cpti_request *request)
{
    const struct cpt_record *record = request->record;
    const struct cpt_path *path = request->path;
    struct cpti_log_walk *walk = request->walk;
    struct cpt_error error = {0};
    char buffer[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes entry = cpt_name_bound(record->entry, buffer);

    if (cpt_path_check(path, record->latency_ns, &error) != CPT_OK) {
        return cpti_log_skip(walk, error.sentence);
    }
    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        if (cpt_path_frame(path, i)->parent == CPT_FRAME_NONE && entry.bytes != 0 &&
            !cpt_bytes_equal(cpt_path_frame_name(path, i), entry)) {
            return cpti_log_skip(walk, "a segment does not lie below the entry frame");
        }
    }
    return CPTI_EXIT_DONE;
}

/* --- The command --- */

/* Prints a record. */
static int print_record(struct log_command *command, const struct cpti_request *request)
{
    if (command->is_json) {
        command->json.file = stdout;
        cpti_record_json(&command->json, request->record, request->path);
        return CPTI_EXIT_DONE;
    }
    if (command->has_paths) {
        return cpti_record_print(request->record, request->path);
    }
    cpti_record_row(request->record, request->number);
    return CPTI_EXIT_DONE;
}

/* Prints a record into the answer of limited length. */
static int print_large(struct log_command *command, const struct cpti_request *request)
{
    const uint64_t latency_ns = request->record->latency_ns;
    int status;

    if (!cpti_largest_wants(&command->largest, latency_ns)) {
        return CPTI_EXIT_DONE;
    }
    status = cpti_largest_begin(&command->largest);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = print_record(command, request);
    return cpti_exit_last(status, cpti_largest_end(&command->largest, latency_ns));
}

/* Prints a selected record, or puts it into another log. */
static int show_record(struct log_command *command, const struct cpti_request *request)
{
    if (command->output != NULL) {
        return cpti_log_output_add(command->output, request->bytes);
    }
    if (command->largest.bytes_max != 0) {
        return print_large(command, request);
    }
    if (command->shown_count++ != 0) {
        (void)fputs(command->has_paths ? "\n" : "", stdout);
    } else if (!command->has_paths && !command->is_json) {
        cpti_record_heading();
    }
    return print_record(command, request);
}

/* --- What --max-bytes leaves out --- */

static void print_rest(uint64_t count, uint64_t sum_ns)
{
    char ms[32];

    (void)printf("(%" PRIu64 " more record%s of %s%s ms)\n", count,
                 count == 1 ? "" : "s", sum_ns == UINT64_MAX ? "more than " : "",
                 cpti_ms((double)sum_ns, ms));
}

static void put_rest(uint64_t count, uint64_t sum_ns)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_open(&json, "rest", '{');
    cpti_json_unsigned(&json, "records", count);
    if (sum_ns == UINT64_MAX) {
        cpti_json_null(&json, "latency_ns");
    } else {
        cpti_json_unsigned(&json, "latency_ns", sum_ns);
    }
    cpti_json_close(&json);
    cpti_json_close(&json);
}

/* Of a check, whose rows are files. */
static void print_unnamed(uint64_t count, uint64_t record_count)
{
    (void)printf("(%" PRIu64 " more file%s: %" PRIu64 " records)\n", count,
                 count == 1 ? "" : "s", record_count);
}

static int init_largest(struct log_command *command,
                        const struct cpti_arguments *arguments)
{
    struct cpti_largest *largest = &command->largest;
    const int status = cpti_capped_option(arguments, &largest->bytes_max);

    largest->print_rest = command->is_check  ? print_unnamed
                          : command->is_json ? put_rest
                                             : print_rest;
    largest->separator = command->has_paths ? "\n" : NULL;
    largest->print_head = command->is_check || command->is_json || command->has_paths
                              ? NULL
                              : cpti_record_heading;
    return status;
}

/* Whether a request is selected. */
static enum cpti_needs needs(void *context, struct cpti_request *request)
{
    struct log_command *command = context;

    if (!cpti_selection_enters(&command->selection, request->record->service)) {
        return CPTI_NEEDS_NOTHING;
    }
    command->selected_count++;
    command->has_selected = true;
    return CPTI_NEEDS_PATH;
}

static int take(void *context, const struct cpti_request *request)
{
    struct log_command *command = context;

    return command->is_check ? check_record(request) : show_record(command, request);
}

/* Prints the result of a check. */
static int print_checked(struct log_command *command, const struct cpti_input *input)
{
    const bool is_limited = command->largest.bytes_max != 0;
    int status = CPTI_EXIT_DONE;

    if (is_limited) {
        if (!cpti_largest_wants(&command->largest, command->selected_count)) {
            return CPTI_EXIT_DONE;
        }
        status = cpti_largest_begin(&command->largest);
    }
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%s: %" PRIu64 " record%s, each adds up to its latency\n",
                     cpti_input_name(input), command->selected_count,
                     command->selected_count == 1 ? "" : "s");
    }
    if (is_limited && status == CPTI_EXIT_DONE) {
        status = cpti_largest_end(&command->largest, command->selected_count);
    }
    return status;
}

/* Completes the check of a log. */
static int end_log(void *context, const struct cpti_log_walk *walk, int status)
{
    struct log_command *command = context;

    if (status == CPTI_EXIT_DONE && command->is_check) {
        status = cpti_log_check_index(walk->input);
    }
    if (status == CPTI_EXIT_DONE && command->is_check) {
        status = print_checked(command, walk->input);
    }
    command->selected_count = 0;
    return status;
}

/* Checks a graph log; other inputs may be logs. */
static void meet_other(void *context, struct cpti_fold *folds, struct cpti_input *input,
                       struct cpti_outcome *outcome)
{
    const struct log_command *command = context;

    (void)folds;
    if (command->is_check && input->kind == CPTI_INPUT_GRAPHS) {
        outcome->exit_status = cpti_graph_check(input);
        return;
    }
    outcome->exit_status = cpti_log_accept(input);
    outcome->is_log = outcome->exit_status == CPTI_EXIT_DONE;
}

/* Refuses options that exclude each other, or lack another one. */
static int check_arguments(const struct cpti_arguments *arguments)
{
    static const char *const ways[] = {"json", "paths", "check", "output", "repair"};
    static const char *const endless[] = {"follow", "output", "repair"};
    static const char *const selecting[] = {"where", "since",  "until",
                                            "entry", "sample", "seed"};
    const char *way = NULL;

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (!cpti_has(arguments, ways[i])) {
            continue;
        }
        if (way != NULL) {
            return cpti_usage("options '--%s' and '--%s' exclude each other", way,
                              ways[i]);
        }
        way = ways[i];
    }
    for (size_t i = 0; i < sizeof selecting / sizeof selecting[0]; i++) {
        if (cpti_has(arguments, "repair") && cpti_has(arguments, selecting[i])) {
            return cpti_usage("option '--repair' keeps all sound records" CPTI_HINT
                              "use "
                              "'--output' with '--%s'",
                              selecting[i]);
        }
    }
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        if (cpti_has(arguments, "max-bytes") && cpti_has(arguments, endless[i])) {
            return cpti_usage("options '--max-bytes' and '--%s' exclude each other",
                              endless[i]);
        }
    }
    if (cpti_has(arguments, "compress") && !cpti_has(arguments, "output") &&
        !cpti_has(arguments, "repair")) {
        return cpti_usage("option '--compress' needs '--output' or '--repair'");
    }
    if (cpti_has(arguments, "sample") || cpti_has(arguments, "seed")) {
        if (cpti_has(arguments, "check")) {
            return cpti_usage(
                "option '--check' looks at every record, not at a sample");
        }
        if (cpti_has(arguments, "follow")) {
            return cpti_usage(
                "option '--follow' prints records as they come, but a sample "
                "is known only at the end");
        }
    }
    if (cpti_has(arguments, "follow") &&
        (arguments->operand_count != 1 ||
         (way != NULL && strcmp(way, "json") != 0 && strcmp(way, "paths") != 0))) {
        return cpti_usage("option '--follow' prints one log");
    }
    return CPTI_EXIT_DONE;
}

/* Prints or checks the records of @stream, and the sample if there is one. */
static int run_stream(struct log_command *command, struct cpti_stream *stream)
{
    const struct cpti_selection *selection = &command->selection;
    struct cpti_fold *fold = stream->folds;
    bool is_usable;
    int status;

    cpti_fold_sample(fold, selection->seed);
    status = cpti_stream_run(stream, &is_usable);
    command->record_count = stream->record_count;
    if (fold->is_sampled && (status == CPTI_EXIT_DONE || !stream->stops_at_error)) {
        cpti_log_sample_warn(&fold->sample, selection->seed);
        status = cpti_exit_last(status, cpti_fold_drawn(fold));
    }
    cpti_sample_deinit(&fold->sample);
    return status;
}

/* Writes the records of all files, in the order of time, to a log of their own. Damage
 * is left out; no log is written if nothing was readable, or damage stops the
 * command. */
static int run_into(struct log_command *command, struct cpti_stream *stream,
                    const struct cpti_arguments *arguments)
{
    struct cpti_log_output output;
    int status = cpti_log_output_open(&output, command->output_path,
                                      cpti_has(arguments, "compress"));

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    stream->in_time_order = true;
    stream->forgives = cpti_has(arguments, "repair"); /* damage is expected */
    command->output = &output;
    status = run_stream(command, stream);
    command->output = NULL;
    if (status != CPTI_EXIT_DONE &&
        (output.record_count == 0 || stream->stops_at_error)) {
        cpti_log_output_abort(&output);
        return status;
    }
    return cpti_exit_last(status, cpti_log_output_commit(&output));
}

static int run_files(struct log_command *command,
                     const struct cpti_arguments *arguments)
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
                                 .goes_on = true,
                                 .follows = command->follows,
                                 .prints_records = !command->is_check,
                                 .reads_all = command->is_check,
                                 .context = command,
                                 .other = meet_other,
                                 .end = end_log};
    int status;

    if (command->output_path != NULL) {
        return run_into(command, &stream, arguments);
    }
    status = run_stream(command, &stream);
    if (command->largest.bytes_max != 0) {
        status = cpti_exit_last(status, cpti_largest_print(&command->largest));
    }
    return status;
}

/* If no request was selected, says after which term none was left. This is no failure:
 * a log without such a request is as good an answer as one with many. */
static void say_none(const struct log_command *command,
                     const struct cpti_arguments *arguments)
{
    const char *const *paths = arguments->operands;

    if (command->record_count == 0 && !command->is_check && !command->follows &&
        command->output_path == NULL) {
        (void)cpti_untraced_failed(paths, arguments->operand_count);
        return;
    }
    if (!command->has_selected && !command->follows &&
        cpti_selection_has_terms(&command->selection) &&
        cpti_diagnosis_is_possible(paths, arguments->operand_count)) {
        cpti_warn("no request is selected; left after each term:");
        cpti_diagnosis_print(&command->selection, paths, arguments->operand_count);
    }
}

static int run(const struct cpti_arguments *arguments)
{
    const char *output =
        cpti_value(arguments, cpti_has(arguments, "repair") ? "repair" : "output");
    struct log_command command = {
        .json = {.file = stdout},
        .is_json = cpti_has(arguments, "json"),
        .has_paths = cpti_has(arguments, "paths"),
        .is_check = cpti_has(arguments, "check"),
        .follows = cpti_has(arguments, "follow"),
        .output_path = output,
    };
    struct cpti_selection *selection;
    int status = cpti_selection_init(&command.selection, arguments);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = check_arguments(arguments);
    status = CPTI_THEN(status, init_largest(&command, arguments));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    selection = &command.selection;
    status = cpti_gather_percentiles(&selection, 1, arguments->operands,
                                     arguments->operand_count, cpti_processors());
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    selection->includes_forced = 1; /* only now: percentiles are of the others */
    selection->includes_fragments = 1;
    selection->events = CPTI_EVENTS_TAKEN;
    status = run_files(&command, arguments);
    if (status == CPTI_EXIT_DONE) {
        say_none(&command, arguments);
    }
    cpti_largest_deinit(&command.largest);
    cpti_selection_deinit(selection);
    return status;
}

static const struct cpti_option options[] = {
    {"paths", 'p', NULL,
     "print each request with its attributes and its critical path, not as a row"},
    {"json", 'j', NULL, "print a JSON object for each record, one a line"},
    CPTI_CAPPED_OPTION("the slowest requests"),
    {"check", 'c', NULL,
     "print no records; check that the segments of each one add up to its latency and "
     "lie below its entry frame, and that the index hides no record; of a graph log, "
     "that the longest path of each graph is its latency; exit with 1 if a check "
     "fails"},
    {"output", 'o', "FILE",
     "print no records; write the selected ones to FILE, a path log with an index; "
     "several inputs are merged by time"},
    {"repair", 0, "FILE",
     "write all valid records to FILE; damage is reported and left out, and does not "
     "make the command fail"},
    {"compress", 'z', NULL, "compress the written log, by zstd"},
    {"follow", 'f', NULL,
     "wait for more records at the end of the log, until its writer has finished it "
     "and begins no other; also follow the next file of the same process, or a new "
     "file of the same name"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt log --where failed --since 1h logs/", "the failures of the last hour"},
    {"cpt log --paths paths.cptlog | less", "what delayed each request"},
    {"cpt log --json --where arm=control paths.cptlog | head -1",
     "the first record of an experiment's arm, for a program"},
    {"cpt log --check day/*.cptlog", "whether every record adds up to its latency"},
    {"cpt log -o slice.cptlog --entry A --since 2h day/*.cptlog",
     "the last two hours of one service, out of many logs, as one"},
    {"cpt log --repair whole.cptlog damaged.cptlog",
     "the readable part of a damaged log, as a valid log"},
    {"cpt log --follow A-20261121T060000Z-4711-000000000.cptlog",
     "requests as they are logged, also from the next files of the service"},
    {0},
};

const struct cpti_command cpti_command_log = {
    .name = "log",
    .summary = "print, check, select, merge or repair path logs",
    .group = CPTI_LOOK,
    .question = "Which requests are in a log, and is the log whole?",
    .needs = "path logs or spans",
    .usages = {"[OPTION]... LOG...", "--check LOG...", "-o FILE [OPTION]... LOG..."},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
