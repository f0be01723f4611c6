/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_busy.c - cpt busy: which tasks kept the processors busy, on the path and off it
 *
 *      kept graphs --> steps of tasks --> blocking and hidden time, normalised time
 *
 * A path has no task that was hidden behind another one, though it took a processor. A
 * kept graph has all of them. A step on the critical path is *blocking*, another one
 * *hidden*; its normalised time is its share of the time in which the request ran at
 * all (cpt_busy.h).
 */
#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/table/json_write.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/folds/tally.h"
#include "tool/requests/kept_graphs.h"
#include "tool/print/tree_print.h"
#include "tool/select/select.h"
#include "cpt/cpt_busy.h"
#include "cpt/cpt_dag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED_MAX = 40, GROUPS_MAX = 64 };

/* Names of a row, and its sums of weight * ns. */
enum { FRAME, GROUP };
enum { BLOCKING, HIDDEN };

/* The requests with one value of the attribute. */
struct group {
    cpt_name_id value;
    struct cpti_weights weights;
    double latency; /* sums of weight * ns */
    double busy;
    double ran[2]; /* BLOCKING, HIDDEN */
};

struct busy {
    const char *by; /* the attribute; NULL: all requests are one group */
    struct cpt_names *names;
    struct cpti_tally rows;
    struct group groups[GROUPS_MAX];
    size_t group_count;
    uint64_t request_count;
    struct cpti_kept_options kept;
    struct cpti_kept_counts counts;
};

/* What is measured of one request. */
struct measured {
    struct cpt_dag_measure *measures;
    struct cpt_busy_span
        *spans; /* of the nodes; empty ones of those that are no step */
    uint64_t *shares_ns;
    uint64_t busy_ns;
};

/* --- Gathering --- */

/* The value of attribute @key as text, in @text if it is no text. */
static struct cpt_bytes value_of(const struct cpti_kept_graph *graph, const char *key,
                                 char text[32])
{
    for (size_t i = 0; key != NULL && i < graph->attribute_count; i++) {
        const struct cpt_attribute *attribute = &graph->attributes[i];

        if (!cpt_bytes_equal(attribute->key, cpt_bytes_of(key))) {
            continue;
        }
        switch (attribute->type) {
        case CPT_ATTRIBUTE_TEXT:
            return attribute->value.text;
        case CPT_ATTRIBUTE_INTEGER:
            (void)snprintf(text, 32, "%" PRId64, attribute->value.integer);
            return cpt_bytes_of(text);
        case CPT_ATTRIBUTE_FLOAT:
            (void)snprintf(text, 32, "%.17g", attribute->value.real);
            return cpt_bytes_of(text);
        default:
            return cpt_bytes_of(attribute->value.is_true ? "true" : "false");
        }
    }
    return cpt_bytes_of("-");
}

/* The group of @value; of too many values the last one has the rest. */
static cpt_status group_of(struct busy *busy, struct cpt_bytes value,
                           struct group **group)
{
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;
    size_t i = 0;

    if (busy->group_count == GROUPS_MAX) {
        value = cpt_bytes_of("other values");
    }
    status = cpt_names_add(busy->names, value, &id);
    if (status != CPT_OK) {
        return status;
    }
    while (i < busy->group_count && busy->groups[i].value != id) {
        i++;
    }
    if (i == GROUPS_MAX) {
        i = GROUPS_MAX - 1;
    } else if (i == busy->group_count) {
        busy->groups[busy->group_count++].value = id;
    }
    *group = &busy->groups[i];
    return CPT_OK;
}

/* When @node ran: until the request was answered. What it did later delayed nothing,
 * and a service keeps it only of what it calls, not of itself. */
static struct cpt_busy_span span_of(const struct cpt_dag_node *node, uint64_t start_ns,
                                    uint64_t answer_ns)
{
    const uint64_t end_ns = start_ns + node->duration_ns;

    return node->kind == CPT_DAG_STEP && start_ns < answer_ns
               ? (struct cpt_busy_span){start_ns,
                                        end_ns < answer_ns ? end_ns : answer_ns}
               : (struct cpt_busy_span){0, 0};
}

static cpt_status measure(const struct cpti_kept_graph *graph,
                          struct measured *measured)
{
    const struct cpt_dag_shape *shape = &graph->recorded->shape;
    const uint64_t answer_ns = cpt_dag_latency_ns(graph->dag);
    cpt_status status = cpt_dag_measure(graph->dag, measured->measures);

    for (size_t i = 0; i < shape->node_count && status == CPT_OK; i++) {
        measured->spans[i] =
            span_of(&shape->nodes[i], measured->measures[i].start_ns, answer_ns);
    }
    return status == CPT_OK ? cpt_busy_shares(NULL, measured->spans, shape->node_count,
                                              measured->shares_ns, &measured->busy_ns)
                            : status;
}

/* The row of node @node in @group; NULL: there is no memory. */
static struct cpti_tally_row *row_of(struct busy *busy,
                                     const struct cpt_dag_recorded *recorded,
                                     size_t node, const struct group *group)
{
    const struct cpt_dag_node *of = &recorded->shape.nodes[node];
    struct cpti_tally_row key = {.names = {[GROUP] = group->value}, .kind = of->kind};

    return cpt_names_add(busy->names, recorded->frames[of->frame].name,
                         &key.names[FRAME]) == CPT_OK
               ? cpti_tally_find(&busy->rows, &key)
               : NULL;
}

static cpt_status add_steps(struct busy *busy, const struct cpti_kept_graph *graph,
                            const struct measured *measured, struct group *group,
                            double weight)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;

    for (size_t i = 0; i < recorded->shape.node_count; i++) {
        const struct cpt_busy_span *span = &measured->spans[i];
        const double ran_ns = (double)(span->end_ns - span->begin_ns);
        const int part =
            (measured->measures[i].flags & CPT_DAG_ON_PATH) != 0 ? BLOCKING : HIDDEN;
        struct cpti_tally_row *row = NULL;

        if (span->end_ns == span->begin_ns) {
            continue;
        }
        row = row_of(busy, recorded, i, group);
        if (row == NULL) {
            return CPT_NO_MEMORY;
        }
        cpti_sums_add(&row->sums, busy->request_count, weight,
                      (double)measured->shares_ns[i]);
        row->more[part] += weight * ran_ns;
        group->ran[part] += weight * ran_ns;
        row->request_count += row->last_request != busy->request_count;
        row->last_request = busy->request_count;
    }
    return CPT_OK;
}

static cpt_status add_measured(struct busy *busy, const struct cpti_kept_graph *graph,
                               const struct measured *measured)
{
    const double weight = cpti_weight_of(graph->probability);
    struct group *group = NULL;
    char text[32];
    cpt_status status = group_of(busy, value_of(graph, busy->by, text), &group);

    if (status != CPT_OK) {
        return status;
    }
    busy->request_count++;
    cpti_weights_add(&group->weights, weight);
    group->latency += weight * (double)graph->latency_ns;
    group->busy += weight * (double)measured->busy_ns;
    return add_steps(busy, graph, measured, group, weight);
}

/* A cpti_kept_fn. */
static cpt_status add_graph(void *context, const struct cpti_kept_graph *graph)
{
    const size_t count = graph->recorded->shape.node_count;
    struct measured measured = {
        .measures = cpt_alloc_array(NULL, NULL, count, sizeof *measured.measures),
        .spans = cpt_alloc_array(NULL, NULL, count, sizeof *measured.spans),
        .shares_ns = cpt_alloc_array(NULL, NULL, count, sizeof *measured.shares_ns)};
    cpt_status status = CPT_NO_MEMORY;

    if (measured.measures != NULL && measured.spans != NULL &&
        measured.shares_ns != NULL) {
        status = measure(graph, &measured);
    }
    if (status == CPT_OK) {
        status = add_measured(context, graph, &measured);
        if (status == CPT_LIMIT) {
            status = CPT_NO_MEMORY; /* half of the request has been counted */
        }
    }
    cpt_alloc_free(NULL, measured.measures);
    cpt_alloc_free(NULL, measured.spans);
    cpt_alloc_free(NULL, measured.shares_ns);
    return status;
}

/* --- Printing --- */

static int compare_names(const struct busy *busy, cpt_name_id left, cpt_name_id right)
{
    return cpti_compare_bytes(cpt_names_at(busy->names, left),
                              cpt_names_at(busy->names, right));
}

/* By group, then by normalised time. */
static int by_time(const void *left, const void *right, void *busy)
{
    const struct cpti_tally_row *a = left;
    const struct cpti_tally_row *b = right;

    if (a->names[GROUP] != b->names[GROUP]) {
        return compare_names(busy, a->names[GROUP], b->names[GROUP]);
    }
    if (a->sums.time != b->sums.time) {
        return a->sums.time > b->sums.time ? -1 : 1;
    }
    return compare_names(busy, a->names[FRAME], b->names[FRAME]);
}

static int by_value(const void *left, const void *right, void *busy)
{
    return compare_names(busy, ((const struct group *)left)->value,
                         ((const struct group *)right)->value);
}

static const struct group *group_of_row(const struct busy *busy,
                                        const struct cpti_tally_row *row)
{
    for (size_t i = 0; i < busy->group_count; i++) {
        if (busy->groups[i].value == row->names[GROUP]) {
            return &busy->groups[i];
        }
    }
    return &busy->groups[0]; /* the row of those that found no room */
}

static double mean_of(const struct group *group, double time)
{
    return group->weights.sums[0] > 0 ? time / group->weights.sums[0] : 0;
}

/* The normalised time of the rows behind the first @row_max, in their requests. */
static double rest_of(const struct busy *busy, size_t row_max)
{
    double time = 0;

    for (size_t i = row_max; i < busy->rows.count; i++) {
        const struct cpti_tally_row *row = &busy->rows.rows[i];

        time += mean_of(group_of_row(busy, row), row->sums.time);
    }
    return time;
}

static void put_group(struct cpti_json *json, const struct busy *busy,
                      const struct group *group)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    if (busy->by != NULL) {
        cpti_json_bytes(json, "value", cpt_names_at(busy->names, group->value));
    } else {
        cpti_json_null(json, "value");
    }
    cpti_json_unsigned(json, "requests", group->weights.count);
    cpti_json_ns(json, "latency_ns", mean_of(group, group->latency));
    cpti_json_ns(json, "busy_ns", mean_of(group, group->busy));
    cpti_json_ns(json, "blocking_ns", mean_of(group, group->ran[BLOCKING]));
    cpti_json_ns(json, "hidden_ns", mean_of(group, group->ran[HIDDEN]));
    cpti_json_close(json);
}

static void put_row(struct cpti_json *json, const struct busy *busy,
                    const struct cpti_tally_row *row)
{
    const struct group *group = group_of_row(busy, row);
    const struct cpt_mean mean = cpti_sums_mean(&row->sums, &group->weights);

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "name", cpt_names_at(busy->names, row->names[FRAME]));
    if (busy->by != NULL) {
        cpti_json_bytes(json, "value", cpt_names_at(busy->names, group->value));
    } else {
        cpti_json_null(json, "value");
    }
    cpti_json_unsigned(json, "requests", row->request_count);
    cpti_json_ns(json, "normalised_ns", mean.mean_ns);
    cpti_interval_json(json, "low_ns", "high_ns", &mean);
    cpti_json_ns(json, "blocking_ns", mean_of(group, row->more[BLOCKING]));
    cpti_json_ns(json, "hidden_ns", mean_of(group, row->more[HIDDEN]));
    cpti_json_close(json);
}

static size_t rest_count(const struct busy *busy, size_t row_max)
{
    return busy->rows.count > row_max ? busy->rows.count - row_max : 0;
}

static void put(const struct busy *busy, size_t row_max)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "requests", busy->request_count);
    cpti_json_unsigned(&json, "without_notes", busy->counts.others);
    cpti_kept_put_evidence(&json, &busy->counts);
    cpti_json_unsigned(&json, "not_selected", busy->counts.unselected);
    cpti_json_open(&json, "groups", '[');
    for (size_t i = 0; i < busy->group_count; i++) {
        put_group(&json, busy, &busy->groups[i]);
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    cpti_json_open(&json, "frames", '[');
    for (size_t i = 0; i < busy->rows.count && i < row_max; i++) {
        put_row(&json, busy, &busy->rows.rows[i]);
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows", rest_count(busy, row_max));
        cpti_json_ns(&json, "normalised_ns", rest_of(busy, row_max));
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

static void put_cell(struct cpti_table *table, double ns)
{
    char text[32];

    cpti_table_cell(table, "%s", cpti_ms(ns, text));
}

static const char *name_text(const struct busy *busy, cpt_name_id id)
{
    return cpti_quoted_bytes(cpt_names_at(busy->names, id));
}

static int print_groups(const struct busy *busy)
{
    static const char *const headings[] = {"requests",    "latency ms", "busy ms",
                                           "blocking ms", "hidden ms",  "value"};
    struct cpti_table table = cpti_table_of(headings, busy->by != NULL ? 6 : 5);

    for (size_t i = 0; i < busy->group_count; i++) {
        const struct group *group = &busy->groups[i];

        cpti_table_cell(&table, "%" PRIu64, group->weights.count);
        put_cell(&table, mean_of(group, group->latency));
        put_cell(&table, mean_of(group, group->busy));
        put_cell(&table, mean_of(group, group->ran[BLOCKING]));
        put_cell(&table, mean_of(group, group->ran[HIDDEN]));
        if (busy->by != NULL) {
            cpti_table_cell(&table, "%s", name_text(busy, group->value));
        }
    }
    return cpti_table_print(&table);
}

static int print_frames(const struct busy *busy, size_t most)
{
    const char *const headings[] = {"normalised ms",
                                    "95 % interval",
                                    "blocking ms",
                                    "hidden ms",
                                    busy->by != NULL ? "value" : "task",
                                    "task"};
    struct cpti_table table = cpti_table_of(headings, busy->by != NULL ? 6 : 5);

    for (size_t i = 0; i < busy->rows.count && i < most; i++) {
        const struct cpti_tally_row *row = &busy->rows.rows[i];
        const struct group *group = group_of_row(busy, row);
        const struct cpt_mean mean = cpti_sums_mean(&row->sums, &group->weights);

        put_cell(&table, mean.mean_ns);
        cpti_sums_put_interval(&table, &mean);
        put_cell(&table, mean_of(group, row->more[BLOCKING]));
        put_cell(&table, mean_of(group, row->more[HIDDEN]));
        if (busy->by != NULL) {
            cpti_table_cell(&table, "%s", name_text(busy, group->value));
        }
        cpti_table_cell(&table, "%s", name_text(busy, row->names[FRAME]));
    }
    return cpti_table_print(&table);
}

static int print(const struct busy *busy, size_t row_max)
{
    const size_t most = row_max < PRINTED_MAX ? row_max : PRINTED_MAX;
    int status = CPTI_EXIT_DONE;
    char text[32];

    cpti_kept_print_evidence(&busy->counts);
    status = print_groups(busy);

    (void)printf("\n");
    if (status == CPTI_EXIT_DONE) {
        status = print_frames(busy, most);
    }
    if (rest_count(busy, most) != 0) {
        (void)printf("%zu more row%s: %s ms normalised\n", rest_count(busy, most),
                     rest_count(busy, most) == 1 ? "" : "s",
                     cpti_ms(rest_of(busy, most), text));
    }
    return status;
}

/* --- The command --- */

/* The context of struct cpti_capped. */
struct shown {
    const struct busy *busy;
    bool is_json;
    bool is_capped; /* the rest is told */
};

static int show_rows(void *context, size_t row_max)
{
    const struct shown *shown = context;

    if (!shown->is_json) {
        return print(shown->busy, row_max);
    }
    put(shown->busy, shown->is_capped ? row_max : CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

static int show(struct busy *busy, bool is_json, uint64_t bytes_max)
{
    struct shown shown = {busy, is_json, bytes_max != 0};
    const struct cpti_capped capped = {.bytes_max = bytes_max,
                                       .print = show_rows,
                                       .context = &shown,
                                       .row_count = busy->rows.count};

    if (busy->request_count == 0 || (busy->by != NULL && busy->counts.with_by == 0)) {
        return cpti_kept_none(&busy->kept, &busy->counts);
    }
    qsort_r(busy->rows.rows, busy->rows.count, sizeof *busy->rows.rows, by_time, busy);
    qsort_r(busy->groups, busy->group_count, sizeof *busy->groups, by_value, busy);
    return cpti_capped_print(&capped);
}

static int gather(struct busy *busy, bool is_json, uint64_t bytes_max)
{
    int status = CPTI_EXIT_FAILED;

    busy->names = cpt_names_new(NULL);
    if (cpti_tally_init(&busy->rows) && busy->names != NULL) {
        status = cpti_kept_graphs(&busy->kept, &busy->counts);
        status = cpti_exit_last(status, show(busy, is_json, bytes_max));
    } else {
        status = cpti_failed("out of memory");
    }
    cpti_tally_deinit(&busy->rows);
    cpt_names_free(busy->names);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    static struct busy busy; /* large */
    uint64_t bytes_max = 0;
    int status = cpti_capped_option(arguments, &bytes_max);

    busy = (struct busy){.by = cpti_value(arguments, "by"),
                         .kept = {.files = arguments->operands,
                                  .file_count = arguments->operand_count,
                                  .wanted = cpti_value(arguments, "trace"),
                                  .by = cpti_value(arguments, "by"),
                                  .visit = add_graph,
                                  .context = &busy}};
    if (status == CPTI_EXIT_DONE) {
        status = cpti_kept_selection(arguments, &busy.kept.selection);
    }
    if (status == CPTI_EXIT_DONE) {
        status = gather(&busy, cpti_has(arguments, "json"), bytes_max);
    }
    cpti_kept_selection_free(busy.kept.selection);
    return status;
}

static const struct cpti_option options[] = {
    {"by", 0, "ATTRIBUTE",
     "requests by this attribute of theirs, such as arm; spans have none"},
    {"trace", 0, "ID",
     "only the request of this trace: its id, or the last 16 digits of it"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the tasks with most time"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt busy spans/", "which tasks kept the processors busy, on average"},
    {"cpt busy --by arm graphs/", "in each arm of an experiment"},
    {0},
};

const struct cpti_command cpti_command_busy = {
    .name = "busy",
    .summary = "print which tasks ran, on the critical path and off it",
    .group = CPTI_LOOK,
    .question = "Which tasks kept the processors busy, also off the path?",
    .needs = "graph logs of services, or spans",
    .usages = {"[OPTION]... FILE..."},
    .options = {options, cpti_select_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    CPTI_KEPT_FOLDERS,
};
