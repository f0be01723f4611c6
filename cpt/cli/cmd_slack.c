/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_slack.c - cpt slack: what a shorter frame would give back
 *
 *      files --> traces (cpt/import) --> a dag each --> measures of frames --> averages
 *
 * A path says where the time was. Here all that our services noted of a request is
 * measured (cpt_dag.h): how much longer a frame could take, and by how much the
 * response would come earlier without it.
 */
#include "cpt/cli/base/capped.h"
#include "cpt/cli/base/command.h"
#include "cpt/cli/base/files.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/options.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/base/table.h"
#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_name.h"
#include "cpt/import/traces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSED_TOLD_MAX = 5 /* pieces of one file */ };
enum { ROWS_MAX = 1 << 16, KINDS = CPT_DAG_NETWORK + 1, PRINTED_MAX = 40 };

/* What the gains of one request may cost: seconds. */
static const uint64_t work_max = (uint64_t)1 << 32;

static const char *const kind_words[KINDS] = {
    [CPT_DAG_STEP] = "work", [CPT_DAG_CALL] = "call", [CPT_DAG_QUEUE] = "queue",
    [CPT_DAG_LOCK] = "lock", [CPT_DAG_WAIT] = "wait", [CPT_DAG_NETWORK] = "network"};

/* A frame in all requests; sums of ns. */
struct row {
    cpt_name_id name;
    unsigned kind; /* enum cpt_dag_kind */
    uint64_t request_count;
    uint64_t needed_count; /* requests whose response waited for it */
    double path;
    double drag;
    double gain;
    double slack; /* of those */
    double free;
    uint32_t flags;
};

struct slack {
    const char *wanted; /* id of the only trace that counts; NULL: all count */
    struct cpti_input input;
    struct cpti_traces *traces;
    struct cpti_spans *spans;
    struct cpt_names *names;
    struct row *rows;
    uint32_t *numbers; /* of the rows + 1, by name and kind */
    size_t row_count, row_capacity, number_capacity, numbered;
    uint64_t request_count;
    uint64_t other_count;   /* without notes, or these do not fit, or are too many */
    uint64_t inexact_count; /* the longest path is not the latency */
    double latency;
};

/* --- Gathering --- */

static cpt_status row_of(struct slack *slack, const struct cpt_dag_name *frame,
                         struct row **row)
{
    cpt_name_id id = 0;
    size_t at = 0;
    cpt_status status = cpt_names_add(slack->names, frame->name, &id);

    if (status == CPT_OK) {
        at = (size_t)id * KINDS + frame->kind;
        status = cpt_alloc_grow(NULL, (void **)&slack->numbers, &slack->number_capacity,
                                (size_t)(id + 1) * KINDS, (size_t)ROWS_MAX * KINDS,
                                sizeof *slack->numbers);
    }
    if (status == CPT_OK) {
        for (; slack->numbered < slack->number_capacity; slack->numbered++) {
            slack->numbers[slack->numbered] = 0;
        }
        if (slack->numbers[at] == 0) {
            status =
                cpt_alloc_grow(NULL, (void **)&slack->rows, &slack->row_capacity,
                               slack->row_count + 1, ROWS_MAX, sizeof *slack->rows);
        }
    }
    if (status != CPT_OK) {
        return status;
    }
    if (slack->numbers[at] == 0) {
        slack->rows[slack->row_count++] = (struct row){.name = id, .kind = frame->kind};
        slack->numbers[at] = (uint32_t)slack->row_count;
    }
    *row = &slack->rows[slack->numbers[at] - 1];
    return CPT_OK;
}

static void add_frame(struct row *row, const struct cpt_dag_frame *frame)
{
    row->request_count++;
    row->path += (double)frame->path_ns;
    row->drag += (double)frame->drag_ns;
    row->gain += (double)frame->gain_ns;
    row->flags |= frame->flags & ~(uint32_t)CPT_DAG_NOT_NEEDED;
    if (frame->slack_ns != CPT_DAG_UNBOUNDED) {
        row->needed_count++;
        row->slack += (double)frame->slack_ns;
        row->free += (double)frame->free_ns;
    }
}

/* Whether the gains of a request cost too much: each frame on the path costs a walk of
 * the whole dag. Requests have few names; a file may say anything. */
static bool is_too_much(const struct cpt_dag_shape *shape,
                        const struct cpt_dag_measure *measures)
{
    uint64_t frames = 0;

    for (uint32_t i = 0; i < shape->node_count; i++) {
        frames += (measures[i].flags & CPT_DAG_ON_PATH) != 0;
    }
    frames = frames < shape->frame_count ? frames : shape->frame_count;
    return frames * ((uint64_t)shape->node_count + shape->edge_count) > work_max;
}

/* All frames of a request, which have rows. */
static void add_frames(struct slack *slack, const struct cpt_dag_recorded *recorded,
                       const struct cpt_dag_frame *frames)
{
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        struct row *row = NULL;

        if (row_of(slack, &recorded->frames[i], &row) == CPT_OK) {
            add_frame(row, &frames[i]);
        }
    }
}

/* A cpti_spans_dag_fn. */
static cpt_status add_dag(void *context, const struct cpt_dag *dag,
                          const struct cpt_dag_recorded *recorded, uint64_t latency_ns)
{
    struct slack *slack = context;
    const struct cpt_dag_shape *shape = &recorded->shape;
    struct cpt_dag_measure *measures =
        cpt_alloc_array(NULL, NULL, shape->node_count, sizeof *measures);
    struct cpt_dag_frame *frames =
        cpt_alloc_array(NULL, NULL, shape->frame_count, sizeof *frames);
    cpt_status status = measures != NULL && frames != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = cpt_dag_measure(dag, measures);
    }
    if (status == CPT_OK && is_too_much(shape, measures)) {
        status = CPT_LIMIT;
    }
    if (status == CPT_OK) {
        status = cpt_dag_frames(dag, measures, frames);
    }
    for (uint32_t i = 0; i < shape->frame_count && status == CPT_OK; i++) {
        struct row *row = NULL;

        status = row_of(slack, &recorded->frames[i], &row);
    }
    if (status == CPT_OK) { /* each frame has a row: all of them count, or none */
        add_frames(slack, recorded, frames);
        slack->request_count++;
        slack->latency += (double)latency_ns;
        slack->inexact_count += cpt_dag_latency_ns(dag) != latency_ns;
    }
    cpt_alloc_free(NULL, measures);
    cpt_alloc_free(NULL, frames);
    return status;
}

static cpt_status add_trace(struct slack *slack, struct cpt_bytes trace)
{
    struct cpti_spans_report report;
    cpt_status status = CPT_OK;

    if (slack->wanted != NULL && !cpt_bytes_equal(trace, cpt_bytes_of(slack->wanted))) {
        return CPT_OK;
    }
    status = cpti_spans_resolve(slack->spans, &report);
    if (status == CPT_OK) {
        status = cpti_spans_walk(slack->spans, CPTI_SPANS_EXACT);
    }
    if (status == CPT_OK) {
        status = cpti_spans_noted_dag(slack->spans, add_dag, slack);
    }
    if (status == CPT_END || status == CPT_LIMIT) { /* no notes, nonsense */
        slack->other_count++;
        return CPT_OK;
    }
    return status;
}

static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    return cpti_input_read(&((struct slack *)context)->input, buffer, capacity, bytes);
}

static void tell_refused(const struct slack *slack, cpt_status status,
                         const struct cpt_error *error)
{
    (void)cpti_failed(
        "%s: at byte %" PRIu64 ": %s", cpti_input_name(&slack->input), error->offset,
        error->sentence[0] != '\0' ? error->sentence : cpt_status_sentence(status));
}

/* What can be read of traces now. */
static int add_traces(struct slack *slack)
{
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = CPT_OK;
    unsigned refused = 0;

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(slack->traces, slack->spans, &trace, &error);
        if (status == CPT_OK) {
            status = add_trace(slack, trace);
            if (status != CPT_OK) {
                return cpti_failed("%s", cpt_status_sentence(status));
            }
        } else if (status != CPT_END) {
            exit_status = CPTI_EXIT_FAILED;
            if (refused++ < REFUSED_TOLD_MAX) {
                tell_refused(slack, status, &error);
            }
        }
    }
    if (refused > REFUSED_TOLD_MAX) {
        cpti_warn("%s: %u more like these", cpti_input_name(&slack->input),
                  refused - REFUSED_TOLD_MAX);
    }
    return exit_status;
}

static int add_file(struct slack *slack, const char *name)
{
    int exit_status = cpti_input_open(&slack->input, name);

    if (exit_status != CPTI_EXIT_DONE) {
        return exit_status;
    }
    exit_status = cpti_traces_open(slack->traces, read_input, slack) == CPT_OK
                      ? add_traces(slack)
                      : cpti_failed("out of memory");
    cpti_input_close(&slack->input);
    return exit_status;
}

static int tell_left_out(const struct cpti_traces_counts *counts)
{
    if (counts->cut_traces > 0) {
        cpti_warn("%" PRIu64 " traces may lack spans, for want of memory: these are "
                  "too far apart",
                  counts->cut_traces);
    }
    return counts->refused_traces == 0
               ? CPTI_EXIT_DONE
               : cpti_failed("%" PRIu64 " traces are left out: they are too large",
                             counts->refused_traces);
}

static int add_files(struct slack *slack, const struct cpti_arguments *arguments)
{
    const struct cpti_traces_options options = {.has_files = true};
    int status = CPTI_EXIT_DONE;

    slack->traces = cpti_traces_new(&options);
    slack->spans = cpti_spans_new(NULL);
    slack->names = cpt_names_new(NULL);
    if (slack->traces == NULL || slack->spans == NULL || slack->names == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < arguments->operand_count; i++) {
        status = cpti_exit_last(status, add_file(slack, arguments->operands[i]));
    }
    cpti_traces_finish(slack->traces);
    status = cpti_exit_last(status, add_traces(slack));
    return cpti_exit_last(status, tell_left_out(cpti_traces_counts(slack->traces)));
}

/* --- Printing --- */

static int compare(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t both = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = both != 0 ? memcmp(left.data, right.data, both) : 0;

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

static const struct slack *sorted; /* qsort() has no context */

static int by_gain(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    const double keys[][2] = {{a->gain, b->gain}, {a->path, b->path}};

    for (size_t i = 0; i < 2; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] > keys[i][1] ? -1 : 1;
        }
    }
    if (a->name != b->name) {
        return compare(cpt_names_at(sorted->names, a->name),
                       cpt_names_at(sorted->names, b->name));
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static void put_ns(struct cpti_json *json, const char *key, double sum, uint64_t count)
{
    if (count == 0) {
        cpti_json_null(json, key);
    } else {
        cpti_json_ns(json, key, sum / (double)count);
    }
}

static size_t rest_count(const struct slack *slack, size_t row_max)
{
    return slack->row_count > row_max ? slack->row_count - row_max : 0;
}

/* Gains do not add up, but times on the path do. */
static double rest_path(const struct slack *slack, size_t row_max)
{
    double path = 0;

    for (size_t i = row_max; i < slack->row_count; i++) {
        path += slack->rows[i].path;
    }
    return path;
}

static void put(const struct slack *slack, size_t row_max)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "requests", slack->request_count);
    cpti_json_unsigned(&json, "without_notes", slack->other_count);
    cpti_json_unsigned(&json, "inexact", slack->inexact_count);
    put_ns(&json, "latency_ns", slack->latency, slack->request_count);
    cpti_json_open(&json, "frames", '[');
    for (size_t i = 0; i < slack->row_count && i < row_max; i++) {
        const struct row *row = &slack->rows[i];

        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_bytes(&json, "name", cpt_names_at(slack->names, row->name));
        cpti_json_text(&json, "kind", kind_words[row->kind]);
        cpti_json_unsigned(&json, "requests", row->request_count);
        put_ns(&json, "gain_ns", row->gain, slack->request_count);
        put_ns(&json, "drag_ns", row->drag, slack->request_count);
        put_ns(&json, "path_ns", row->path, slack->request_count);
        put_ns(&json, "slack_ns", row->slack, row->needed_count);
        put_ns(&json, "free_ns", row->free, row->needed_count);
        cpti_json_bool(&json, "slack_is_least",
                       (row->flags & CPT_DAG_SLACK_AT_LEAST) != 0);
        cpti_json_bool(&json, "drag_is_least",
                       (row->flags & CPT_DAG_DRAG_AT_LEAST) != 0);
        cpti_json_close(&json);
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows", rest_count(slack, row_max));
        put_ns(&json, "path_ns", rest_path(slack, row_max), slack->request_count);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

static void put_cell(struct cpti_table *table, double sum, uint64_t count)
{
    char text[32];

    cpti_table_cell(table, "%s", count != 0 ? cpti_ms(sum / (double)count, text) : "-");
}

static int print(const struct slack *slack, size_t row_max)
{
    const size_t most = row_max < PRINTED_MAX ? row_max : PRINTED_MAX;
    static const char *const headings[] = {"gain ms", "drag ms", "path ms", "slack ms",
                                           "free ms", "kind",    "frame"};
    struct cpti_table table = cpti_table_of(headings, 7);
    char text[32];

    (void)printf("requests %" PRIu64 ", latency %s ms\n", slack->request_count,
                 cpti_ms(slack->latency / (double)slack->request_count, text));
    for (size_t i = 0; i < slack->row_count && i < most; i++) {
        const struct row *row = &slack->rows[i];

        put_cell(&table, row->gain, slack->request_count);
        put_cell(&table, row->drag, slack->request_count);
        put_cell(&table, row->path, slack->request_count);
        put_cell(&table, row->slack, row->needed_count);
        put_cell(&table, row->free, row->needed_count);
        cpti_table_cell(&table, "%s", kind_words[row->kind]);
        cpti_table_cell(&table, "%s",
                        cpti_quoted_bytes(cpt_names_at(slack->names, row->name)));
    }
    if (cpti_table_print(&table) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    if (slack->row_count > most) {
        (void)printf(
            "%zu more rows: %s ms of the path\n", rest_count(slack, most),
            cpti_ms(rest_path(slack, most) / (double)slack->request_count, text));
    }
    return CPTI_EXIT_DONE;
}

/* --- The command --- */

/* The context of struct cpti_capped. */
struct shown {
    const struct slack *slack;
    bool is_json;
    bool is_capped; /* the rest is told */
};

static int show_rows(void *context, size_t row_max)
{
    const struct shown *shown = context;

    if (!shown->is_json) {
        return print(shown->slack, row_max);
    }
    put(shown->slack, shown->is_capped ? row_max : CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

static int show(struct slack *slack, bool is_json, uint64_t bytes_max)
{
    struct shown shown = {slack, is_json, bytes_max != 0};
    const struct cpti_capped capped = {.bytes_max = bytes_max,
                                       .print = show_rows,
                                       .context = &shown,
                                       .row_count = slack->row_count};

    if (slack->other_count != 0) {
        cpti_warn("%" PRIu64
                  " traces are left out: they have no notes of our services, "
                  "or these do not fit together, or are too many",
                  slack->other_count);
    }
    if (slack->inexact_count != 0) {
        cpti_warn("in %" PRIu64 " requests the longest path is not the latency",
                  slack->inexact_count);
    }
    if (slack->request_count == 0) {
        return cpti_failed("no request %s",
                           slack->wanted != NULL ? "of that trace" : "to measure");
    }
    sorted = slack;
    qsort(slack->rows, slack->row_count, sizeof *slack->rows, by_gain);
    return cpti_capped_print(&capped);
}

static int run(const struct cpti_arguments *arguments)
{
    struct slack slack = {.wanted = cpti_value(arguments, "trace")};
    uint64_t bytes_max = 0;
    int status = cpti_capped_option(arguments, &bytes_max);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = add_files(&slack, arguments);
    if (slack.names != NULL) {
        status = cpti_exit_last(status,
                                show(&slack, cpti_has(arguments, "json"), bytes_max));
    }
    cpti_spans_free(slack.spans);
    cpti_traces_free(slack.traces);
    cpt_names_free(slack.names);
    cpt_alloc_free(NULL, slack.rows);
    cpt_alloc_free(NULL, slack.numbers);
    return status;
}

static const struct cpti_option options[] = {
    {"trace", 0, "ID", "only the request of this trace"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the frames that give most"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt slack spans/", "what each frame would give back, on average"},
    {"cpt slack --trace 4bf92f3577b34da6a3ce929d0e0e4736 spans/", "in one request"},
    {0},
};

const struct cpti_command cpti_command_slack = {
    .name = "slack",
    .summary = "print what a shorter frame would give back, and who has time",
    .usages = {"[OPTION]... FILE..."},
    .description =
        "Reads the spans that services write (docs/format-spans.md), makes a graph of "
        "all that they did for each request, also off the critical path, and measures "
        "each frame. Files of several services are joined. A callee without spans of "
        "its own is a block of constant length.\n"
        "\n"
        "gain: by how much the response would come earlier if all of the frame took no "
        "time. drag: the same for the one piece of it that would give most. path: its "
        "time on the critical path. The gain is at least the drag and at most the path "
        "time; it may be more than the drags of all pieces together, and gains of "
        "several frames do not add up.\n"
        "\n"
        "slack: how much longer its most urgent piece could take before the response "
        "comes later. free: before anything else is delayed. '-': the response did not "
        "wait for it.\n"
        "\n"
        "Gain, drag and path are means over all requests, slack and free over those "
        "whose response waited for the frame. Queues stay as they were. Where a wait "
        "ended with the first of several things, drag and slack before it are least "
        "values; --json says so.",
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
    .is_in_folder = cpti_traces_recognise,
    .folder_noun = "span file",
};
