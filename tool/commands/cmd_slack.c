/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_slack.c - cpt slack: what a shorter frame would give back
 *
 *      files --> a dag each (kept_graphs.h) --> measures of frames --> averages
 *
 * A path says where the time was. Here all that our services noted of a request is
 * measured (cpt_dag.h): how much longer a frame could take, and by how much the
 * response would come earlier without it.
 */
#include "tool/table/sheet.h"
#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/table/json_write.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/mean_column.h"
#include "tool/table/relation.h"
#include "tool/base/weighted.h"
#include "tool/requests/kept_graphs.h"
#include "tool/print/quantile_print.h"
#include "tool/print/tree_print.h"
#include "tool/folds/occurrence_drags.h"
#include "tool/select/select.h"
#include "tool/whatif/could_be.h"
#include "cpt/cpt_name.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 16, KINDS = CPT_DAG_NETWORK + 1, PRINTED_MAX = 40 };

/* What the gains of one request may cost: seconds. */
static const uint64_t work_max = (uint64_t)1 << 32;

static const char *const kind_words[KINDS] = {
    [CPT_DAG_STEP] = "work", [CPT_DAG_CALL] = "call", [CPT_DAG_QUEUE] = "queue",
    [CPT_DAG_LOCK] = "lock", [CPT_DAG_WAIT] = "wait", [CPT_DAG_NETWORK] = "network"};

/* A frame in all requests; weighted sums of ns. */
struct row {
    cpt_name_id name;
    unsigned kind; /* enum cpt_dag_kind */
    uint64_t request_count;
    double needed_weight; /* of requests whose response waited for it */
    struct cpti_weighted path;
    struct cpti_weighted drag;
    struct cpti_weighted gain;
    double slack; /* of those */
    double free;
    uint32_t flags;
    /* As far as these could be, where who waited is inferred; the slack's of those
     * whose response waited for it. */
    struct cpt_doubt_frame could_be;
};

struct slack {
    struct cpti_kept_options kept;
    struct cpti_kept_counts counts;
    struct cpt_names *names;
    struct row *rows;
    uint32_t *numbers; /* of the rows + 1, by name and kind */
    size_t row_count, row_capacity, number_capacity, numbered;
    struct cpti_weights requests;
    uint64_t inexact_count; /* the longest path is not the latency */
    uint64_t doubt_count;   /* requests in which it is inferred who waited … */
    uint64_t untold_count;  /* … and not known who else may have been waited for */
    struct cpti_view view;
    struct cpti_weighted latency;
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

static void add_frame(struct row *row, const struct cpt_dag_frame *frame, double weight)
{
    row->request_count++;
    cpti_weighted_add(&row->path, weight, (double)frame->path_ns);
    cpti_weighted_add(&row->drag, weight, (double)frame->drag_ns);
    cpti_weighted_add(&row->gain, weight, (double)frame->gain_ns);
    row->flags |= frame->flags & ~(uint32_t)CPT_DAG_NOT_NEEDED;
    if (frame->slack_ns != CPT_DAG_UNBOUNDED) {
        row->needed_weight += weight;
        row->slack += weight * (double)frame->slack_ns;
        row->free += weight * (double)frame->free_ns;
    }
}

/* What is known of @frame is all that may be: @latency_ns is that of its request. */
static struct cpt_doubt_frame known_range(const struct cpt_dag_frame *frame,
                                          double latency_ns)
{
    const double gain_ns = (double)frame->gain_ns;
    const double slack_ns =
        frame->slack_ns != CPT_DAG_UNBOUNDED ? (double)frame->slack_ns : latency_ns;

    return (struct cpt_doubt_frame){gain_ns, gain_ns, slack_ns, slack_ns};
}

/* The hull of @range and what @frame has. */
static void add_range(struct row *row, const struct cpt_dag_frame *frame,
                      const struct cpt_doubt_frame *range, double weight)
{
    const struct cpt_doubt_frame known = known_range(frame, 0);
    struct cpt_doubt_frame *sum = &row->could_be;

    sum->gain_low_ns += weight * fmin(range->gain_low_ns, known.gain_low_ns);
    sum->gain_high_ns += weight * fmax(range->gain_high_ns, known.gain_high_ns);
    if (frame->slack_ns != CPT_DAG_UNBOUNDED) {
        sum->slack_low_ns += weight * fmin(range->slack_low_ns, known.slack_low_ns);
        sum->slack_high_ns += weight * fmax(range->slack_high_ns, known.slack_high_ns);
    }
}

/* As far as the frames of @graph could go: in @ranges. */
static cpt_status find_ranges(struct slack *slack, const struct cpti_kept_graph *graph,
                              const struct cpt_dag_frame *frames,
                              struct cpt_doubt_frame *ranges)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;
    const double latency_ns = (double)graph->latency_ns;
    const bool is_inferred =
        recorded->evidence >= CPT_EVIDENCE_LEARNT && !slack->kept.by_walk;
    const cpt_status status =
        is_inferred ? cpt_doubt_frames(NULL, recorded, ranges) : CPT_END;

    slack->doubt_count += is_inferred;
    if (status == CPT_OK || status == CPT_NO_MEMORY) {
        return status;
    }
    slack->untold_count += is_inferred;
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        ranges[i] = is_inferred ? (struct cpt_doubt_frame){0, latency_ns, 0, latency_ns}
                                : known_range(&frames[i], latency_ns);
    }
    return CPT_OK;
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
                       const struct cpt_dag_frame *frames,
                       const struct cpt_doubt_frame *ranges, double weight)
{
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        struct row *row = NULL;

        if (row_of(slack, &recorded->frames[i], &row) == CPT_OK) {
            add_frame(row, &frames[i], weight);
            add_range(row, &frames[i], &ranges[i], weight);
        }
    }
}

/* A cpti_kept_fn. */
static cpt_status add_graph(void *context, const struct cpti_kept_graph *graph)
{
    struct slack *slack = context;
    const struct cpt_dag *dag = graph->dag;
    const struct cpt_dag_recorded *recorded = graph->recorded;
    const struct cpt_dag_shape *shape = &recorded->shape;
    struct cpt_dag_measure *measures =
        cpt_alloc_array(NULL, NULL, shape->node_count, sizeof *measures);
    struct cpt_dag_frame *frames =
        cpt_alloc_array(NULL, NULL, shape->frame_count, sizeof *frames);
    struct cpt_doubt_frame *ranges =
        cpt_alloc_array(NULL, NULL, shape->frame_count, sizeof *ranges);
    cpt_status status =
        measures != NULL && frames != NULL && ranges != NULL ? CPT_OK : CPT_NO_MEMORY;

    status = CPTI_THEN(status, cpt_dag_measure(dag, measures));
    if (status == CPT_OK && is_too_much(shape, measures)) {
        status = CPT_LIMIT;
    }
    status = CPTI_THEN(status, cpt_dag_frames(dag, measures, frames));
    if (status == CPT_OK && recorded->evidence >= CPT_EVIDENCE_LEARNT) {
        status = cpti_occurrence_drags(dag, recorded, frames);
    }
    status = CPTI_THEN(status, find_ranges(slack, graph, frames, ranges));
    for (uint32_t i = 0; i < shape->frame_count && status == CPT_OK; i++) {
        struct row *row = NULL;

        status = row_of(slack, &recorded->frames[i], &row);
    }
    if (status == CPT_OK) { /* each frame has a row: all of them count, or none */
        const double weight = cpti_weight_of(graph->probability);

        add_frames(slack, recorded, frames, ranges, weight);
        cpti_weights_add(&slack->requests, weight);
        cpti_weighted_add(&slack->latency, weight, (double)graph->latency_ns);
        slack->inexact_count += cpt_dag_latency_ns(dag) != graph->latency_ns;
    }
    cpt_alloc_free(NULL, measures);
    cpt_alloc_free(NULL, frames);
    cpt_alloc_free(NULL, ranges);
    return status;
}

/* --- Order --- */

static int by_gain(const void *left, const void *right, void *context)
{
    const struct slack *slack = context;
    const struct row *a = left;
    const struct row *b = right;
    const double keys[][2] = {{a->gain.wx, b->gain.wx}, {a->path.wx, b->path.wx}};

    for (size_t i = 0; i < 2; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] > keys[i][1] ? -1 : 1;
        }
    }
    if (a->name != b->name) {
        return cpti_compare_bytes(cpt_names_at(slack->names, a->name),
                                  cpt_names_at(slack->names, b->name));
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

/* A mean with the ends of its interval, which are null if they are not known. */
static void put_mean(struct cpti_json *json, const struct slack *slack,
                     const struct cpti_weighted *value, const char *const keys[3])
{
    const struct cpt_mean mean = cpti_weighted_mean(value, &slack->requests);

    cpti_json_ns(json, keys[0], mean.mean_ns);
    cpti_interval_json(json, keys[1], keys[2], &mean);
}

/* As many of equal weight would be worth as much. */
static double effective_count(const struct slack *slack)
{
    return slack->requests.sums[0] * slack->requests.sums[0] / slack->requests.sums[1];
}

static bool is_weighted(const struct slack *slack)
{
    return slack->requests.sums[0] > (double)slack->requests.count;
}

/* Gains do not add up, but times on the path do. */
static double rest_path(const struct slack *slack, size_t row_max)
{
    double path = 0;

    for (size_t i = row_max; i < slack->row_count; i++) {
        path += slack->rows[i].path.wx;
    }
    return path / slack->requests.sums[0];
}

/* "~" before an interval that must not be trusted. */
static const char *interval_of(const struct slack *slack,
                               const struct cpti_weighted *value,
                               char text[CPTI_INTERVAL_BYTES + 1])
{
    const struct cpt_mean mean = cpti_weighted_mean(value, &slack->requests);
    double low_ns = 0;
    double high_ns = 0;

    cpt_mean_interval(&mean, CPTI_CONFIDENCE, &low_ns, &high_ns);
    text[0] = '~';
    (void)cpti_interval_text(low_ns, high_ns, text + 1);
    return mean.effective_count < CPT_STATS_PRESENT_MIN ? text : text + 1;
}

/* How many there are, and how long they took. */
static int print_requests(const void *context)
{
    const struct slack *slack = context;
    const double weight = slack->requests.sums[0];
    char interval[CPTI_INTERVAL_BYTES + 1];
    char text[32];

    (void)printf("requests %" PRIu64, slack->requests.count);
    if (is_weighted(slack)) {
        (void)printf(" by their weights, worth %.0f", effective_count(slack));
    }
    (void)printf(", latency %s ms", cpti_ms(slack->latency.wx / weight, text));
    if (slack->requests.count > 1) {
        (void)printf(" (95 %% interval %s)",
                     interval_of(slack, &slack->latency, interval));
    }
    (void)printf("\n");
    cpti_kept_print_evidence(&slack->counts);
    return CPTI_EXIT_DONE;
}

/* --- Columns --- */

static struct cpti_could_be gain_could_be(const struct slack *slack,
                                          const struct row *row)
{
    const double weight = slack->requests.sums[0];

    return slack->doubt_count != 0
               ? cpti_could_be_of(row->could_be.gain_low_ns / weight,
                                  row->could_be.gain_high_ns / weight,
                                  row->gain.wx / weight, slack->latency.wx / weight)
               : (struct cpti_could_be){0};
}

static struct cpti_could_be slack_could_be(const struct slack *slack,
                                           const struct row *row)
{
    return slack->doubt_count != 0 && row->needed_weight != 0
               ? cpti_could_be_of(row->could_be.slack_low_ns / row->needed_weight,
                                  row->could_be.slack_high_ns / row->needed_weight,
                                  row->slack / row->needed_weight,
                                  slack->latency.wx / slack->requests.sums[0])
               : (struct cpti_could_be){0};
}

/* The mean gain for people: unless spans do not tell it. */
static struct cpti_cell get_told_gain(const struct cpti_asked *asked)
{
    const struct slack *slack = asked->context;
    const struct row *row = asked->row;
    const struct cpti_could_be could_be = gain_could_be(slack, row);

    return cpti_cell_known(cpti_has_number(&could_be),
                           row->gain.wx / slack->requests.sums[0]);
}

/* In JSON it has both intervals behind it. */
static void put_gain(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct slack *own = asked->context;
    const struct row *row = asked->row;
    const struct cpti_could_be gain = gain_could_be(own, row);
    const struct cpti_could_be slack = slack_could_be(own, row);

    cpti_json_ns(json, "gain_ns", row->gain.wx / own->requests.sums[0]);
    cpti_could_be_put(&gain, "gain_could_be", true, json);
    cpti_could_be_put(&slack, "slack_could_be", false, json);
}

/* Both ends of the interval of the gain, or of the slack, in tables. */
static struct cpti_cell get_could_be(const struct cpti_asked *asked)
{
    const struct cpti_could_be could_be =
        asked->what != 0 ? slack_could_be(asked->context, asked->row)
                         : gain_could_be(asked->context, asked->row);

    if (could_be.verdict == CPTI_VERDICT_NONE) {
        return cpti_cell_unknown();
    }
    (void)cpti_interval_text(could_be.low_ns, could_be.high_ns, asked->room);
    return cpti_cell_text(asked->room);
}

/* What a column has: a mean and which part of it, or something of the row itself. */
enum { GAIN, DRAG, PATH };
enum { NAME, KIND, INTERVAL, SLACK, FREE, SLACK_IS_LEAST, DRAG_IS_LEAST };

static struct cpti_cell get_mean(const struct cpti_asked *asked)
{
    const struct slack *slack = asked->context;
    const struct row *row = asked->row;
    const struct cpti_weighted *values[] = {&row->gain, &row->drag, &row->path};
    const struct cpt_mean mean =
        cpti_weighted_mean(values[asked->what / CPTI_MEAN_PARTS], &slack->requests);

    return cpti_mean_cell(&mean, asked->what % CPTI_MEAN_PARTS, asked);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct slack *slack = asked->context;
    const struct row *row = asked->row;

    switch (asked->what) {
    case NAME:
        return cpti_cell_bytes(cpt_names_at(slack->names, row->name));
    case KIND:
        return cpti_cell_text(kind_words[row->kind]);
    case INTERVAL:
        return cpti_cell_text(interval_of(slack, &row->gain, asked->room));
    case SLACK_IS_LEAST:
        return cpti_cell_count((row->flags & CPT_DAG_SLACK_AT_LEAST) != 0);
    case DRAG_IS_LEAST:
        return cpti_cell_count((row->flags & CPT_DAG_DRAG_AT_LEAST) != 0);
    default: /* means over the requests whose response waited for the frame */
        return cpti_cell_known(row->needed_weight != 0,
                               (asked->what == SLACK ? row->slack : row->free) /
                                   row->needed_weight);
    }
}

#define MEAN_OF(which, part) get_mean, CPTI_MEAN_PARTS *(which) + CPTI_MEAN##part

static const struct cpti_column columns[] = {
    {"name", "frame", CPTI_NAME, get, NAME, "the frame"},
    {"kind", "kind", CPTI_TEXT, get, KIND, "what it spent its time on"},
    {"requests", "requests", CPTI_COUNT, CPTI_OF(struct row, request_count),
     "that have it"},
    {"gain_ns", "gain ms", CPTI_NS, MEAN_OF(GAIN, ),
     "by how much the response would come earlier if it took no time", CPTI_EVERYWHERE,
     put_gain},
    {"gain_told_ns", "gain ms", CPTI_NS, get_told_gain, 0,
     "the same, unless spans do not tell", CPTI_IN_TABLES},
    {"gain_low_ns", "gain from", CPTI_NS, MEAN_OF(GAIN, _LOW),
     "the 95 % interval of that"},
    {"gain_high_ns", "to", CPTI_NS, MEAN_OF(GAIN, _HIGH)},
    {"gain_interval", "95% interval", CPTI_TEXT, get, INTERVAL,
     "both ends of it, in tables", CPTI_IN_TABLES},
    {"gain_could_be", "gain could be", CPTI_TEXT, get_could_be, 0,
     "whatever services waited for, where that is inferred", CPTI_IN_TABLES},
    {"drag_ns", "drag ms", CPTI_NS, MEAN_OF(DRAG, ),
     "the gain of its piece that would give most"},
    {"drag_low_ns", "drag from", CPTI_NS, MEAN_OF(DRAG, _LOW)},
    {"drag_high_ns", "to", CPTI_NS, MEAN_OF(DRAG, _HIGH)},
    {"path_ns", "path ms", CPTI_NS, MEAN_OF(PATH, ), "its time on the critical path"},
    {"path_low_ns", "path from", CPTI_NS, MEAN_OF(PATH, _LOW)},
    {"path_high_ns", "to", CPTI_NS, MEAN_OF(PATH, _HIGH)},
    {"slack_ns", "slack ms", CPTI_NS, get, SLACK,
     "how much longer it could take before the response comes later"},
    {"slack_could_be", "slack could be", CPTI_TEXT, get_could_be, 1,
     "the same of the slack", CPTI_IN_TABLES},
    {"free_ns", "free ms", CPTI_NS, get, FREE, "… before anything else is delayed"},
    {"slack_is_least", "slack is least", CPTI_FLAG, get, SLACK_IS_LEAST,
     "a wait behind it ended with the first of several"},
    {"drag_is_least", "drag is least", CPTI_FLAG, get, DRAG_IS_LEAST},
    {0},
};

static const struct cpti_relation relation = {
    "frames", columns, "gain_ns,drag_ns,path_ns,slack_ns,free_ns,kind,name"};

/* With the interval, if there are several requests. */
#define SHOWN_OF_SEVERAL                                                               \
    "gain_ns,gain_interval,drag_ns,path_ns,slack_ns,free_ns,kind,name"

/* The same where who waited is inferred. */
#define SHOWN_IN_DOUBT                                                                 \
    "gain_told_ns,gain_could_be,drag_ns,path_ns,slack_ns,slack_could_be,kind,name"
#define SHOWN_OF_SEVERAL_IN_DOUBT                                                      \
    "gain_told_ns,gain_could_be,gain_interval,drag_ns,path_ns,slack_ns,slack_could_"   \
    "be,"                                                                              \
    "kind,name"

/* --- Printing --- */

static void put(const void *context, struct cpti_json *json)
{
    static const char *const latency[] = {"latency_ns", "latency_low_ns",
                                          "latency_high_ns"};
    const struct slack *slack = context;

    cpti_json_unsigned(json, "requests", slack->requests.count);
    cpti_json_rough(json, "effective_requests", effective_count(slack));
    cpti_json_unsigned(json, "without_notes", slack->counts.others);
    cpti_kept_put_evidence(json, &slack->counts);
    cpti_json_unsigned(json, "not_selected", slack->counts.unselected);
    cpti_json_unsigned(json, "inexact", slack->inexact_count);
    put_mean(json, slack, &slack->latency, latency);
}

static void put_rest(const void *context, size_t row_max, struct cpti_json *json)
{
    cpti_json_ns(json, "path_ns", rest_path(context, row_max));
}

static const char *rest_text(const void *context, size_t row_max, char text[64])
{
    char ms[32];

    (void)snprintf(text, 64, ": %s ms of the path",
                   cpti_ms(rest_path(context, row_max), ms));
    return text;
}

/* --- The command --- */

static int show(struct slack *slack)
{
    const struct cpti_sheet sheet = {
        .view = &slack->view,
        .rows = CPTI_ROWS(slack->rows, slack->row_count, slack),
        .context = slack,
        .people_max = PRINTED_MAX,
        .counts_rest = true,
        .head = print_requests,
        .put = put,
        .rest = rest_text,
        .put_rest = put_rest};

    if (slack->inexact_count != 0) {
        cpti_warn("requests whose longest path is not the latency: %" PRIu64,
                  slack->inexact_count);
    }
    if (slack->requests.count == 0 || slack->counts.is_broken) {
        return cpti_kept_none(&slack->kept, &slack->counts);
    }
    qsort_r(slack->rows, slack->row_count, sizeof *slack->rows, by_gain, slack);
    cpti_relation_sort(&slack->view, slack->rows, slack->row_count, sizeof *slack->rows,
                       slack);
    return cpti_sheet_print(&sheet);
}

/* The columns of tables, of options that were read before. */
static const char *shown_of(const struct slack *slack)
{
    if (slack->doubt_count != 0) {
        return slack->requests.count > 1 ? SHOWN_OF_SEVERAL_IN_DOUBT : SHOWN_IN_DOUBT;
    }
    return SHOWN_OF_SEVERAL;
}

static int measure(struct slack *slack, const struct cpti_arguments *arguments)
{
    int status = CPTI_EXIT_DONE;

    slack->names = cpt_names_new(NULL);
    if (slack->names == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_kept_graphs(&slack->kept, &slack->counts);
    if (slack->requests.count > 1 || slack->doubt_count != 0) {
        (void)cpti_view_read(arguments, &relation, shown_of(slack), &slack->view);
    }
    status = cpti_exit_last(status, show(slack));
    cpt_names_free(slack->names);
    cpt_alloc_free(NULL, slack->rows);
    cpt_alloc_free(NULL, slack->numbers);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct slack slack = {
        .kept = {.doubts = true, .visit = add_graph, .context = &slack}};
    int status = cpti_view_read(arguments, &relation, NULL, &slack.view);

    status = CPTI_THEN(status, cpti_kept_read(arguments, &slack.kept));
    status = CPTI_THEN(status, measure(&slack, arguments));
    cpti_kept_selection_free(slack.kept.selection);
    return status;
}

static const struct cpti_option options[] = {
    CPTI_KEPT_TRACE_OPTION,
    CPTI_WAITS_OPTION,
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the frames that give most"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt slack spans/", "what each frame would give back, on average"},
    {"cpt slack A.cptgraph B.cptgraph", "from the graph logs of two services"},
    {"cpt slack --where arm=B graphs/", "of one arm of an experiment"},
    {"cpt slack --trace 4bf92f3577b34da6a3ce929d0e0e4736 spans/", "in one request"},
    {0},
};

const struct cpti_command cpti_command_slack = {
    .name = "slack",
    .summary = "print what a shorter frame would give back, and who has time",
    .group = CPTI_FIX,
    .question = "How much earlier is the response if a frame takes no time?",
    .needs = "graph logs of services, or spans",
    .usages = {"[OPTION]... FILE..."},
    .options = {options, cpti_view_options, cpti_select_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    CPTI_KEPT_FOLDERS,
};
