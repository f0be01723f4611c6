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
#include "tool/table/sheet.h"
#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/table/json_write.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/mean_column.h"
#include "tool/table/relation.h"
#include "tool/folds/tally.h"
#include "tool/requests/kept_graphs.h"
#include "tool/select/select.h"
#include "cpt/cpt_busy.h"
#include "cpt/cpt_dag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 64 };

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
    struct cpt_names *names;
    struct cpti_tally rows;
    struct group groups[GROUPS_MAX];
    size_t group_count;
    uint64_t request_count;
    struct cpti_kept_options kept; /* without `by` all requests are one group */
    struct cpti_kept_counts counts;
    struct cpti_view view;
};

/* What is measured of one request. */
struct measured {
    struct cpt_dag_measure *measures;
    struct cpt_busy_span
        *spans; /* of the nodes; empty ones of those that are no step */
    struct cpt_busy_span **order; /* scratch: the same */
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

static int by_begin(const void *left, const void *right)
{
    const struct cpt_busy_span *a = *(struct cpt_busy_span *const *)left;
    const struct cpt_busy_span *b = *(struct cpt_busy_span *const *)right;

    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static uint32_t occurrence_of(const struct cpt_dag_recorded *recorded, size_t node)
{
    return recorded->lines[recorded->node_lines[node]].occurrence;
}

/* Sorts @spans, and of those that overlap gives the first one the time. */
static void cut_overlaps(struct cpt_busy_span **spans, size_t count)
{
    uint64_t until_ns = 0;

    qsort(spans, count, sizeof(void *), by_begin);
    for (size_t i = 0; i < count; i++) {
        struct cpt_busy_span *span = spans[i];

        if (span->begin_ns < until_ns) {
            span->begin_ns = until_ns < span->end_ns ? until_ns : span->end_ns;
        }
        until_ns = span->end_ns > until_ns ? span->end_ns : until_ns;
    }
}

/* Where nodes of one occurrence overlap, the first one has the time. Its nodes have
 * consecutive numbers; @order is scratch. */
static void count_once(const struct cpt_dag_recorded *recorded,
                       struct cpt_busy_span *spans, struct cpt_busy_span **order)
{
    const size_t count = recorded->shape.node_count;
    size_t end = 0;

    for (size_t i = 0; i < count; i = end) {
        const uint32_t occurrence = occurrence_of(recorded, i);

        for (end = i; end < count && occurrence_of(recorded, end) == occurrence;
             end++) {
            order[end] = &spans[end];
        }
        if (occurrence == 0) {
            continue;
        }
        cut_overlaps(&order[i], end - i);
    }
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
    count_once(graph->recorded, measured->spans, measured->order);
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
    cpt_status status = group_of(busy, value_of(graph, busy->kept.by, text), &group);

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
        .order = cpt_alloc_array(NULL, NULL, count, sizeof(struct cpt_busy_span *)),
        .shares_ns = cpt_alloc_array(NULL, NULL, count, sizeof *measured.shares_ns)};
    cpt_status status = CPT_NO_MEMORY;

    if (measured.measures != NULL && measured.spans != NULL && measured.order != NULL &&
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
    cpt_alloc_free(NULL, measured.order);
    cpt_alloc_free(NULL, measured.spans);
    cpt_alloc_free(NULL, measured.shares_ns);
    return status;
}

/* --- Order --- */

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

/* --- Columns --- */

enum { NAME, VALUE, LATENCY, BUSY, OF_BLOCKING, OF_HIDDEN };

static struct cpti_cell value_cell(const struct busy *busy, const struct group *group)
{
    return busy->kept.by != NULL
               ? cpti_cell_bytes(cpt_names_at(busy->names, group->value))
               : cpti_cell_unknown();
}

static struct cpti_cell get_of_group(const struct cpti_asked *asked)
{
    const struct group *group = asked->row;
    const double times[] = {[LATENCY] = group->latency,
                            [BUSY] = group->busy,
                            [OF_BLOCKING] = group->ran[BLOCKING],
                            [OF_HIDDEN] = group->ran[HIDDEN]};

    return asked->what == VALUE ? value_cell(asked->context, group)
                                : cpti_cell_number(mean_of(group, times[asked->what]));
}

static struct cpti_cell get_mean(const struct cpti_asked *asked)
{
    const struct cpti_tally_row *row = asked->row;
    const struct cpt_mean mean =
        cpti_sums_mean(&row->sums, &group_of_row(asked->context, row)->weights);

    return cpti_mean_cell(&mean, asked->what, asked);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct busy *busy = asked->context;
    const struct cpti_tally_row *row = asked->row;
    const struct group *group = group_of_row(busy, row);

    switch (asked->what) {
    case NAME:
        return cpti_cell_bytes(cpt_names_at(busy->names, row->names[FRAME]));
    case VALUE:
        return value_cell(busy, group);
    default:
        return cpti_cell_number(
            mean_of(group, row->more[asked->what == OF_HIDDEN ? HIDDEN : BLOCKING]));
    }
}

static const struct cpti_column group_columns[] = {
    {"value", "value", CPTI_NAME, get_of_group, VALUE},
    {"requests", "requests", CPTI_COUNT, CPTI_OF(struct group, weights.count)},
    {"latency_ns", "latency ms", CPTI_NS, get_of_group, LATENCY},
    {"busy_ns", "busy ms", CPTI_NS, get_of_group, BUSY},
    {"blocking_ns", "blocking ms", CPTI_NS, get_of_group, OF_BLOCKING},
    {"hidden_ns", "hidden ms", CPTI_NS, get_of_group, OF_HIDDEN},
    {0},
};

static const struct cpti_relation group_relation = {
    "groups", group_columns, "requests,latency_ns,busy_ns,blocking_ns,hidden_ns,value"};

static const struct cpti_column columns[] = {
    {"name", "task", CPTI_NAME, get, NAME, "the task"},
    {"value", "value", CPTI_NAME, get, VALUE, "that of --by"},
    {"requests", "requests", CPTI_COUNT, CPTI_OF(struct cpti_tally_row, request_count),
     "that have it"},
    {"normalised_ns", "normalised ms", CPTI_NS, get_mean, CPTI_MEAN,
     "its share of the time in which the request ran"},
    {"low_ns", "from", CPTI_NS, get_mean, CPTI_MEAN_LOW, "the 95 % interval of that"},
    {"high_ns", "to", CPTI_NS, get_mean, CPTI_MEAN_HIGH},
    {"interval", "95 % interval", CPTI_TEXT, get_mean, CPTI_MEAN_INTERVAL,
     "both ends of it, in tables", CPTI_IN_TABLES},
    {"blocking_ns", "blocking ms", CPTI_NS, get, OF_BLOCKING,
     "in which it ran on the critical path"},
    {"hidden_ns", "hidden ms", CPTI_NS, get, OF_HIDDEN, "in which it ran off the path"},
    {0},
};

static const struct cpti_relation relation = {
    "frames", columns, "normalised_ns,interval,blocking_ns,hidden_ns,value,name"};

/* Without the value, if all requests are one group. */
#define SHOWN_OF_ALL  "normalised_ns,interval,blocking_ns,hidden_ns,name"
#define GROUPS_OF_ALL "requests,latency_ns,busy_ns,blocking_ns,hidden_ns"

static struct cpti_view view_of_groups(const struct busy *busy)
{
    return cpti_view_beside(&busy->view, &group_relation,
                            busy->kept.by != NULL ? NULL : GROUPS_OF_ALL);
}

/* --- Printing --- */

static int head(const void *context)
{
    const struct busy *busy = context;
    const struct cpti_view view = view_of_groups(busy);
    const struct cpti_rows groups = CPTI_ROWS(busy->groups, busy->group_count, busy);
    int status;

    cpti_kept_print_evidence(&busy->counts);
    status = cpti_relation_print(&view, &groups, groups.count);
    (void)printf("\n");
    return status;
}

static void put(const void *context, struct cpti_json *json)
{
    const struct busy *busy = context;
    const struct cpti_view view = view_of_groups(busy);
    const struct cpti_rows groups = CPTI_ROWS(busy->groups, busy->group_count, busy);

    cpti_json_unsigned(json, "requests", busy->request_count);
    cpti_json_unsigned(json, "without_notes", busy->counts.others);
    cpti_kept_put_evidence(json, &busy->counts);
    cpti_json_unsigned(json, "not_selected", busy->counts.unselected);
    cpti_relation_json(&view, &groups, groups.count, json);
}

static void put_rest(const void *context, size_t row_max, struct cpti_json *json)
{
    cpti_json_ns(json, "normalised_ns", rest_of(context, row_max));
}

static const char *rest_text(const void *context, size_t row_max, char text[64])
{
    char ms[32];

    (void)snprintf(text, 64, ": %s ms normalised",
                   cpti_ms(rest_of(context, row_max), ms));
    return text;
}

/* --- The command --- */

static int show(struct busy *busy)
{
    enum { PRINTED_MAX = 40 };
    const struct cpti_sheet sheet = {
        .view = &busy->view,
        .rows = CPTI_ROWS(busy->rows.rows, busy->rows.count, busy),
        .context = busy,
        .people_max = PRINTED_MAX,
        .counts_rest = true,
        .head = head,
        .put = put,
        .rest = rest_text,
        .put_rest = put_rest};

    if (busy->request_count == 0 || busy->counts.is_broken ||
        (busy->kept.by != NULL && busy->counts.with_by == 0)) {
        return cpti_kept_none(&busy->kept, &busy->counts);
    }
    qsort_r(busy->rows.rows, busy->rows.count, sizeof *busy->rows.rows, by_time, busy);
    qsort_r(busy->groups, busy->group_count, sizeof *busy->groups, by_value, busy);
    cpti_relation_sort(&busy->view, busy->rows.rows, busy->rows.count,
                       sizeof *busy->rows.rows, busy);
    return cpti_sheet_print(&sheet);
}

static int gather(struct busy *busy)
{
    int status = CPTI_EXIT_FAILED;

    busy->names = cpt_names_new(NULL);
    if (cpti_tally_init(&busy->rows) && busy->names != NULL) {
        status = cpti_kept_graphs(&busy->kept, &busy->counts);
        status = cpti_exit_last(status, show(busy));
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
    int status;

    busy = (struct busy){.kept = {.by = cpti_value(arguments, "by"),
                                  .visit = add_graph,
                                  .context = &busy}};
    status = cpti_view_read(arguments, &relation,
                            busy.kept.by != NULL ? NULL : SHOWN_OF_ALL, &busy.view);
    status = CPTI_THEN(status, cpti_kept_read(arguments, &busy.kept));
    status = CPTI_THEN(status, gather(&busy));
    cpti_kept_selection_free(busy.kept.selection);
    return status;
}

static const struct cpti_option options[] = {
    {"by", 0, "ATTRIBUTE",
     "requests by this attribute of theirs, such as arm; spans have none"},
    CPTI_KEPT_TRACE_OPTION,
    CPTI_WAITS_OPTION,
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
    .options = {options, cpti_view_options, cpti_select_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    CPTI_KEPT_FOLDERS,
};
