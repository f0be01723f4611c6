/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gain_print.c - what a frame would give back; see gain_print.h
 *
 * If all segments of a frame took no time, a request would gain at least the largest of
 * their drags, and at most their time on the path. Both ends are averages over the
 * requests with drags, and each has its interval. Rows are by name, over all stacks of
 * a frame: the largest drag of a request is not the sum of those of its stacks.
 */
#include "tool/print/gain_print.h"

#include "tool/table/sheet.h"
#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/folds/gain_clusters.h"
#include "tool/gather/gather.h"
#include "tool/folds/views.h"
#include "tool/table/mean_column.h"
#include "tool/print/by_print.h"
#include "tool/print/cluster_print.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_gain.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define CONFIDENCE 0.95

/* A name. */
struct row {
    const struct cpt_tree *names;
    uint32_t node;
    struct cpt_gain gain;
};

struct report {
    const struct cpt_tree *tree; /* of stacks */
    struct cpti_views views;     /* by name; with --cluster clusters, too */
    struct cpti_gain_clusters clusters;
    struct cpt_stats all; /* of the latency */
    struct row *rows;
    size_t row_count;
    struct cpti_view view;
};

int cpti_gain_check(const struct cpt_tree *tree, const char *option)
{
    return cpt_gain_request_count(tree) != 0
               ? CPTI_EXIT_DONE
               : cpti_failed("option '--%s': none of the %" PRIu64
                             " requests has drags; a service records them where its "
                             "policy has 'drag', or a caller asks for them",
                             option, cpt_tree_request_count(tree));
}

/* --- Rows --- */

/* The largest gain first, by its lower end, then by the upper one. */
static int by_gain(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;

    if (a->gain.drag.mean_ns != b->gain.drag.mean_ns) {
        return a->gain.drag.mean_ns > b->gain.drag.mean_ns ? -1 : 1;
    }
    if (a->gain.time.mean_ns != b->gain.time.mean_ns) {
        return a->gain.time.mean_ns > b->gain.time.mean_ns ? -1 : 1;
    }
    return cpt_tree_stack_compare(a->names, a->node, b->names, b->node);
}

/* The names that have time in a request with drags. false without memory. */
static bool fill_rows(struct report *report)
{
    const struct cpt_tree *names = report->views.self[CPTI_BY_NAME];
    const uint32_t count = cpt_tree_node_count(names);

    report->rows = calloc(count, sizeof *report->rows);
    for (uint32_t node = 1; node < count && report->rows != NULL; node++) {
        struct cpt_gain gain = cpt_gain_of(names, node);

        if (gain.present_count != 0) {
            if (report->views.cluster_key != NULL) {
                cpti_gain_clusters_apply(&report->clusters, names, node, &gain);
            }
            report->rows[report->row_count++] = (struct row){names, node, gain};
        }
    }
    if (report->rows != NULL) {
        qsort(report->rows, report->row_count, sizeof *report->rows, by_gain);
        cpti_relation_sort(&report->view, report->rows, report->row_count,
                           sizeof *report->rows, report);
    }
    return report->rows != NULL;
}

/* --- As JSON --- */

void cpti_gain_json(struct cpti_json *json, const struct cpt_gain *gain)
{
    cpti_json_open(json, "gain", '{');
    cpti_json_ns(json, "drag_ns", gain->drag.mean_ns);
    cpti_interval_json(json, "drag_low_ns", "drag_high_ns", &gain->drag);
    cpti_json_ns(json, "path_ns", gain->time.mean_ns);
    cpti_interval_json(json, "path_low_ns", "path_high_ns", &gain->time);
    cpti_json_unsigned(json, "present_count", gain->present_count);
    cpti_json_unsigned(json, "known_count", gain->known_count);
    cpti_json_bool(json, "trusted", !gain->is_rare);
    cpti_json_close(json);
}

/* --- Columns --- */

enum { STACK, KIND, DRAG_HALF, PATH_HALF, KNOWN, TRUSTED };

static void put_stack(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct row *row = asked->row;

    cpti_by_stack_json(json, row->names, row->node, CPTI_BY_NAME);
}

static void put_gain(const struct cpti_asked *asked, struct cpti_json *json)
{
    cpti_gain_json(json, &((const struct row *)asked->row)->gain);
}

/* Half of the interval of a mean, which is Student's and so symmetric. */
static struct cpti_cell half_of(const struct cpti_asked *asked,
                                const struct cpt_mean *mean, bool is_rare)
{
    double low_ns = 0;
    double high_ns = 0;
    char text[32];

    cpt_mean_interval(mean, CONFIDENCE, &low_ns, &high_ns);
    return isfinite(high_ns) ? cpti_cell_format(asked, "%s%s", is_rare ? "~" : "",
                                                cpti_ms(high_ns - mean->mean_ns, text))
                             : cpti_cell_unknown();
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct row *row = asked->row;
    const struct cpt_gain *gain = &row->gain;

    switch (asked->what) {
    case STACK: /* or the row of all others */
        return row->names == NULL
                   ? cpti_cell_format(asked, "(%" PRIu32 " more names)", row->node)
                   : cpti_by_cell(asked, row->names, row->node, CPTI_BY_NAME);
    case KIND:
        return cpti_kind_cell(row->names, row->node);
    case KNOWN:
        return cpti_cell_format(asked, "%.0f%%",
                                100 * (double)gain->known_count /
                                    (double)gain->present_count);
    case TRUSTED:
        return cpti_cell_count(!gain->is_rare);
    default:
        return half_of(asked, asked->what == DRAG_HALF ? &gain->drag : &gain->time,
                       gain->is_rare);
    }
}

#define OF(field)            CPTI_OF(struct row, gain.field)
#define MEAN_OF(field, part) CPTI_MEAN_OF(struct row, gain.field, CPTI_MEAN##part)

static const struct cpti_column columns[] = {
    {"stack", "name", CPTI_TEXT, get, STACK, "the frame", .put = put_stack},
    {"kind", "kind", CPTI_WORD, get, KIND, "of it"},
    {"drag_ns", "drag ms", CPTI_NS, MEAN_OF(drag, ), "the least that it gives back",
     CPTI_NOT_IN_JSON},
    {"drag_low_ns", "from", CPTI_NS, MEAN_OF(drag, _LOW), "its 95 % interval",
     CPTI_NOT_IN_JSON},
    {"drag_high_ns", "to", CPTI_NS, MEAN_OF(drag, _HIGH), NULL, CPTI_NOT_IN_JSON},
    {"drag_half", "±95%", CPTI_TEXT, get, DRAG_HALF, "half of it, in tables",
     CPTI_IN_TABLES},
    {"path_ns", "path ms", CPTI_NS, MEAN_OF(time, ), "the most: its time on the path",
     CPTI_NOT_IN_JSON},
    {"path_low_ns", "from", CPTI_NS, MEAN_OF(time, _LOW), "its 95 % interval",
     CPTI_NOT_IN_JSON},
    {"path_high_ns", "to", CPTI_NS, MEAN_OF(time, _HIGH), NULL, CPTI_NOT_IN_JSON},
    {"path_half", "±95%", CPTI_TEXT, get, PATH_HALF, "half of it, in tables",
     CPTI_IN_TABLES},
    {"present_count", "requests", CPTI_COUNT, OF(present_count), "that have it",
     CPTI_NOT_IN_JSON},
    {"known_count", "known", CPTI_COUNT, OF(known_count), "whose drag is known",
     CPTI_NOT_IN_JSON},
    {"known", "known", CPTI_TEXT, get, KNOWN, "their share", CPTI_IN_TABLES},
    {"trusted", "trusted", CPTI_FLAG, get, TRUSTED, "whether there are enough requests",
     CPTI_NOT_IN_JSON},
    {"gain", .put = put_gain},
    {0},
};

const struct cpti_relation cpti_gain_relation = {
    "rows", columns, "drag_ns,drag_half,path_ns,path_half,present_count,known,stack",
    .when = "--drag"};

/* --- Printing --- */

static void put(const void *context, struct cpti_json *json)
{
    const struct report *report = context;

    cpti_tree_json_stats(json, report->tree, &report->all,
                         report->views.cluster_key != NULL);
    cpti_cluster_json(json, &report->views, CPTI_BY_STACK);
    cpti_json_unsigned(json, "drag_requests", cpt_gain_request_count(report->tree));
}

static int head(const void *context)
{
    const struct report *report = context;

    cpti_tree_print_stats(report->tree, NULL, &report->all,
                          report->views.cluster_key != NULL);
    cpti_cluster_print(&report->views, CPTI_BY_STACK);
    (void)printf(
        "drags: of %" PRIu64 " of %" PRIu64 " requests, which alone count here\n"
        "without a name, its whole time, they gain 'drag' to 'path'\n\n",
        cpt_gain_request_count(report->tree), cpt_tree_request_count(report->tree));
    return CPTI_EXIT_DONE;
}

static void fill_last(const void *context, size_t row_max, void *last)
{
    ((struct row *)last)->node =
        (uint32_t)(((const struct report *)context)->row_count - row_max);
}

static void foot(const void *context, size_t row_max)
{
    const struct report *report = context;
    bool is_any_rare = false;

    for (size_t i = 0; i < report->row_count && i < row_max; i++) {
        is_any_rare = is_any_rare || report->rows[i].gain.is_rare;
    }
    (void)printf("\nneither drags nor gains of several names add up\n");
    if (is_any_rare) {
        (void)printf("~ do not trust it: fewer than %s\n",
                     report->views.cluster_key != NULL ? "10 clusters or 30 requests"
                                                       : "30 requests");
    }
}

/* --- The command --- */

static int show(struct report *report)
{
    struct row others = {.names = NULL};
    struct cpti_sheet sheet = {.view = &report->view,
                               .context = report,
                               .has_rest = true,
                               .head = head,
                               .foot = foot,
                               .put = put,
                               .fill_last = fill_last,
                               .last = &others};
    int status = cpti_gain_check(report->tree, "drag");

    report->all = cpt_stats_of(report->tree, CPT_TREE_ROOT);
    if (status == CPTI_EXIT_DONE && report->views.cluster_key != NULL) {
        status = cpti_gain_clusters_finish(&report->clusters);
    }
    status = CPTI_THEN(status, cpti_cluster_stats(&report->views, CPTI_BY_STACK,
                                                  report->tree, &report->all));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (!fill_rows(report)) {
        return cpti_failed("out of memory");
    }
    sheet.rows = CPTI_ROWS(report->rows, report->row_count, report);
    sheet.rows.rest_keys = "stack";
    return cpti_sheet_print(&sheet);
}

/* Has @gather fill the views, and with --cluster the clusters. enum cpti_exit. */
static int prepare(struct report *report, const struct cpti_arguments *arguments,
                   struct cpti_gather *gather)
{
    const char *key = cpti_value(arguments, "cluster");
    int status = cpti_views_init(&report->views, 1U << CPTI_BY_NAME, gather);

    if (status == CPTI_EXIT_DONE && key != NULL) {
        status = cpti_views_cluster(&report->views, key, 1U << CPTI_BY_STACK, gather);
    }
    return status == CPTI_EXIT_DONE && key != NULL
               ? cpti_gain_clusters_init(&report->clusters, &report->views, gather)
               : status;
}

int cpti_gain_report(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {"by", "quantiles", "group-by", "blind-spots",
                                         NULL};
    struct cpti_gather gather = {.may_be_empty = cpti_has(arguments, "allow-empty"),
                                 .omits_sources = cpti_has(arguments, "no-source")};
    struct report report = {.row_count = 0};
    bool is_usable = false;
    int status = cpti_excludes(arguments, "drag", others);

    status = CPTI_THEN(
        status, cpti_view_read(arguments, &cpti_gain_relation, NULL, &report.view));
    status = CPTI_THEN(status, prepare(&report, arguments, &gather));
    status = CPTI_THEN(status, cpti_gather_arguments(&gather, arguments, &is_usable));
    if (is_usable) {
        int last = cpti_views_check(&report.views, &gather);

        report.tree = gather.tree;
        last = CPTI_THEN(last, show(&report));
        status = cpti_exit_last(status, last);
    }
    free(report.rows);
    cpti_gain_clusters_deinit(&report.clusters);
    cpti_views_deinit(&report.views);
    cpt_tree_free(gather.tree);
    return status;
}
