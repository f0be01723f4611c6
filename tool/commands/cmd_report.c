/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_report.c - cpt report: where the average request spent its time */
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/gather/gather.h"
#include "tool/folds/views.h"
#include "tool/print/blind_print.h"
#include "tool/print/by_print.h"
#include "tool/print/cluster_print.h"
#include "tool/print/gain_print.h"
#include "tool/print/group_print.h"
#include "tool/html/html_report.h"
#include "tool/print/quantile_print.h"
#include "tool/print/report_rows.h"
#include "tool/table/mean_column.h"
#include "tool/table/relation.h"
#include "tool/base/names.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/print/tree_print.h"
#include "tool/log/span_logs.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The columns without the quantiles and the drags, and how many quantiles fit beside
 * all of them. */
enum { FIXED_COLUMNS = 6, QUANTILES_MAX = CPTI_TABLE_COLUMNS_MAX - FIXED_COLUMNS - 1 };

/* What a column has; quantiles come last. */
enum { STACK, FRAME, KIND, SHARE_SHOWN, TRUSTED, DRAG, P50, P99, QUANTILE };

/* One run of the command. */
struct report {
    const struct cpt_tree *tree; /* of stacks */
    enum cpti_by by;             /* what a row is */
    bool is_by;                  /* --by was given */
    struct cpti_report_rows rows;
    double quantiles[CPTI_AMOUNTS_MAX]; /* of the table; default 0.5 and 0.99 */
    size_t quantile_count;
    bool is_asked;                 /* --quantiles was given */
    struct cpti_views views;       /* of --by and --cluster */
    bool has_drags;                /* some requests have */
    uint32_t *ranks;               /* of the rows by time; NULL: all are shown */
    struct cpti_report_row *shown; /* has room for all rows */
    size_t row_max;                /* rows that are shown */
    struct cpti_view view;
    struct cpti_relation relation;
    struct cpti_column columns[CPTI_COLUMNS_MAX]; /* with those of --quantiles */
    char names[QUANTILES_MAX][16];
    char keys[QUANTILES_MAX][24];
    struct cpt_stats all;        /* of the latency */
    struct described *described; /* the last row: most columns are made of it */
};

struct described {
    uint32_t node;
    double share;
    struct cpt_stats stats;
};

/* The rows that are not shown. */
struct rest {
    uint64_t row_count;
    uint64_t self_ns;
};

/* Copies the rows that are shown to report->shown, and adds up the others. */
static size_t choose_rows(const struct report *report, struct rest *rest)
{
    size_t count = 0;

    for (uint32_t i = 0; i < report->rows.count; i++) {
        if (report->ranks == NULL || report->ranks[i] < report->row_max) {
            report->shown[count++] = report->rows.rows[i];
        } else {
            rest->row_count++;
            rest->self_ns += report->rows.rows[i].self_ns;
        }
    }
    return count;
}

/* Whether errors are by cluster. */
static bool has_clusters(const struct report *report)
{
    return report->views.cluster_key != NULL;
}

/* Those of the rows; NULL: none. They know the latency, too. */
static const struct cpt_clusters *clusters_of(const struct report *report)
{
    return report->views.clusters[report->by];
}

/* --- Columns --- */

static const struct described *describe(const struct report *report,
                                        const struct cpti_report_row *row)
{
    const double latency_ns = report->all.inclusive.mean_ns;
    struct described *described = report->described;

    if (described->node != row->node) {
        described->node = row->node;
        described->stats = cpti_report_row_stats(&report->rows, row);
        described->share =
            latency_ns > 0 ? described->stats.inclusive.mean_ns / latency_ns : 0;
    }
    return described;
}

/* Fields of what is described. */
static struct cpti_asked of_described(const struct cpti_asked *asked)
{
    return (struct cpti_asked){.row = describe(asked->context, asked->row),
                               .what = asked->what};
}

static struct cpti_cell get_number(const struct cpti_asked *asked)
{
    const struct cpti_asked of = of_described(asked);

    return cpti_field_number(&of);
}

static struct cpti_cell get_count(const struct cpti_asked *asked)
{
    const struct cpti_asked of = of_described(asked);

    return cpti_field_count(&of);
}

static struct cpti_cell get_mean(const struct cpti_asked *asked)
{
    const struct cpti_asked of = of_described(asked);

    return cpti_field_mean(&of);
}

static void put_stack(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct report *report = asked->context;

    cpti_by_stack_json(json, report->rows.whole,
                       ((const struct cpti_report_row *)asked->row)->node, report->by);
}

static bool is_heavy(const struct report *report, const struct cpti_report_row *row)
{
    return !has_clusters(report) &&
           cpt_stats_heaviness(report->rows.whole, row->node).is_infinite;
}

static void put_trust(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct report *report = asked->context;

    cpti_trust_json(json, &describe(report, asked->row)->stats, has_clusters(report),
                    is_heavy(report, asked->row));
}

/* What a node would give back. Errors by cluster are not known of it. */
static void put_gain(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct report *report = asked->context;
    struct cpt_gain gain = cpti_report_row_gain(&report->rows, asked->row);

    if (has_clusters(report)) {
        gain.drag.error_ns = INFINITY;
        gain.time.error_ns = INFINITY;
    }
    if (report->has_drags) {
        cpti_gain_json(json, &gain);
    }
}

static void put_quantiles(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct report *report = asked->context;
    const struct cpt_tree *tree = report->rows.whole;
    const uint32_t node = ((const struct cpti_report_row *)asked->row)->node;

    if (!report->is_asked) {
        return;
    }
    cpti_json_open(json, "quantiles", '[');
    for (size_t i = 0; i < report->quantile_count; i++) {
        struct cpt_quantile found =
            cpt_quantile_of(tree, node, report->quantiles[i], CPTI_CONFIDENCE);

        if (has_clusters(report)) { /* only those of the latency are known */
            found.low_ns = -INFINITY;
            found.high_ns = INFINITY;
        }
        cpti_quantile_json(json, tree, node, &found);
    }
    cpti_json_close(json);
}

/* A frame below those of its callers. */
static struct cpti_cell frame_of(const struct cpti_asked *asked)
{
    const struct report *report = asked->context;
    const struct cpti_report_row *row = asked->row;
    const struct cpt_tree *tree = report->rows.whole;
    char frame[CPT_TREE_FRAME_TEXT_BYTES];
    char above[CPT_TREE_FRAME_TEXT_BYTES] = "";

    (void)cpt_tree_frame_text(tree, row->node, frame, sizeof frame);
    if (row->depth > 40) {
        return cpti_cell_format(asked, "%*s[%u] %s", 80, "", (unsigned)row->depth,
                                frame);
    }
    (void)cpt_tree_frame_text(tree, cpt_tree_parent(tree, row->node), above,
                              sizeof above);
    cpti_cell_shorten(asked, "%*s%s", (int)(row->depth - 1) * 2, "",
                      cpti_name_below(frame, above));
    return cpti_cell_format(asked, "%*s%s", (int)(row->depth - 1) * 2, "", frame);
}

/* A stack or the name of a group; in the last row of a table, what is not shown. */
static struct cpti_cell stack_of(const struct cpti_asked *asked)
{
    const struct report *report = asked->context;
    const struct cpti_report_row *row = asked->row;

    if (row->node == CPT_TREE_NONE) {
        return cpti_cell_format(asked, "(%" PRIu64 " more %ss)", row->inclusive_ns,
                                cpti_by_words[report->by]);
    }
    return asked->what == FRAME
               ? frame_of(asked)
               : cpti_by_cell(asked, report->rows.whole, row->node, report->by);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct report *report = asked->context;
    const struct cpti_report_row *row = asked->row;
    const struct cpt_tree *tree = report->rows.whole;
    const double latency_ns = (double)report->rows.latency_ns;
    struct cpt_gain gain;

    switch (asked->what) {
    case STACK:
    case FRAME:
        return stack_of(asked);
    case KIND:
        return cpti_kind_cell(tree, row->node);
    case SHARE_SHOWN:
        return cpti_cell_format(
            asked, "%.1f%%",
            latency_ns == 0 ? 0 : 100 * (double)row->inclusive_ns / latency_ns);
    case TRUSTED:
        return cpti_cell_count(!describe(report, row)->stats.is_rare &&
                               !is_heavy(report, row));
    case DRAG:
        gain = cpti_report_row_gain(&report->rows, row);
        return cpti_cell_known(gain.known_count != 0, gain.drag.mean_ns);
    default:
        return cpti_cell_count(cpt_stats_quantile_ns(
            tree, row->node,
            asked->what == P50   ? 0.5
            : asked->what == P99 ? 0.99
                                 : report->quantiles[asked->what - QUANTILE]));
    }
}

#define OF(field)            offsetof(struct described, field)
#define MEAN_OF(field, part) get_mean, OF(field) * CPTI_MEAN_PARTS + (part)

static const struct cpti_column columns[] = {
    {"stack", "stack", CPTI_STACK, get, STACK,
     "the frames from the root on, or what --by says", .put = put_stack},
    {"frame", "frame", CPTI_TEXT, get, FRAME, "the last one below its callers",
     CPTI_IN_TABLES},
    {"kind", "kind", CPTI_WORD, get, KIND, "of the frame"},
    {"self_ns", "self ms", CPTI_NS_WHOLE, CPTI_OF(struct cpti_report_row, self_ns),
     "its own time in the average request"},
    {"inclusive_ns", "incl ms", CPTI_NS_WHOLE,
     CPTI_OF(struct cpti_report_row, inclusive_ns), "the same with all below it"},
    {"self_mean_ns", "self mean", CPTI_NS_RARE, MEAN_OF(stats.self, CPTI_MEAN),
     "its own time, not rounded"},
    {"inclusive_mean_ns", "incl mean", CPTI_NS_RARE,
     MEAN_OF(stats.inclusive, CPTI_MEAN), "with all below it, not rounded"},
    {"share", "share", CPTI_SHARE, get_number, OF(share), "of the latency"},
    {"share_shown", "share", CPTI_TEXT, get, SHARE_SHOWN, "that of incl ms, in tables",
     CPTI_IN_TABLES},
    {"presence", "presence", CPTI_PART, get_number, OF(stats.presence),
     "the share of requests that have it on their path"},
    {"present_count", "present", CPTI_COUNT, get_count, OF(stats.present_count),
     "the number of those"},
    {"present_mean_ns", "when present", CPTI_NS, get_number, OF(stats.present_mean_ns),
     "the mean time in them"},
    {"p50_ns", "p50", CPTI_NS_WHOLE, get, P50, "half of them take at most this"},
    {"p99_ns", "p99", CPTI_NS_WHOLE, get, P99},
    {"min_ns", "min", CPTI_NS_WHOLE, get_count, OF(stats.min_ns)},
    {"max_ns", "max", CPTI_NS_WHOLE, get_count, OF(stats.max_ns)},
    {"self_low_ns", "self from", CPTI_NS, MEAN_OF(stats.self, CPTI_MEAN_LOW),
     "the 95 % interval of its own time"},
    {"self_high_ns", "to", CPTI_NS, MEAN_OF(stats.self, CPTI_MEAN_HIGH)},
    {"inclusive_low_ns", "incl from", CPTI_NS, MEAN_OF(stats.inclusive, CPTI_MEAN_LOW),
     "… and of that with all below it"},
    {"inclusive_high_ns", "to", CPTI_NS, MEAN_OF(stats.inclusive, CPTI_MEAN_HIGH)},
    {"trusted", "trusted", CPTI_FLAG, get, TRUSTED,
     "whether there are enough requests for the intervals", .put = put_trust},
    {"drag_ns", "drag ms", CPTI_NS, get, DRAG, "the least that it would give back",
     CPTI_NOT_IN_JSON},
    {"gain", .put = put_gain},
    {"quantiles", .put = put_quantiles},
    {0},
};

static const struct cpti_relation relation = {
    "rows", columns,
    "self_ns,inclusive_ns,share_shown,presence,present_mean_ns,p50_ns,p99_ns,frame"};

/* Makes the columns: those above, and one for each of --quantiles. */
static void make_relation(struct report *report)
{
    size_t count = sizeof columns / sizeof columns[0] - 1;

    report->relation = relation;
    report->relation.columns = report->columns;
    memcpy(report->columns, columns, sizeof columns);
    report->columns[0].heading = cpti_by_words[report->by];
    report->columns[0].kind = report->by == CPTI_BY_STACK ? CPTI_STACK : CPTI_TEXT;
    for (size_t i = 0; i < report->quantile_count; i++) {
        (void)cpti_quantile_name(report->quantiles[i], report->names[i]);
        (void)snprintf(report->keys[i], sizeof report->keys[i], "%s_ns",
                       report->names[i]);
        if (cpti_relation_column(&report->relation, report->keys[i]) == NULL) {
            report->columns[count++] = (struct cpti_column){
                report->keys[i],        report->names[i],         CPTI_NS_WHOLE, get,
                QUANTILE + (unsigned)i, .place = CPTI_NOT_IN_JSON};
        }
    }
}

/* The columns of a table without --columns. A tree cannot be sorted: then each row has
 * its whole stack. */
static void show_columns(const struct report *report, char *shown, size_t capacity)
{
    const bool is_tree = report->by == CPTI_BY_STACK && report->view.sort == NULL;
    size_t used = (size_t)snprintf(
        shown, capacity, "self_ns,%sinclusive_ns,share_shown,presence,present_mean_ns,",
        report->has_drags ? "drag_ns," : "");

    for (size_t i = 0; i < report->quantile_count; i++) {
        used += (size_t)snprintf(shown + used, capacity - used, "%s,", report->keys[i]);
    }
    (void)snprintf(shown + used, capacity - used, is_tree ? "frame" : "stack");
}

/* --- Printing --- */

/* Those of the latency, if quantiles are asked for. */
static void put_latency_quantiles(struct cpti_json *json, const struct report *report)
{
    if (!report->is_asked) {
        return;
    }
    cpti_json_open(json, "latency_quantiles", '[');
    for (size_t i = 0; i < report->quantile_count; i++) {
        const struct cpt_quantile found = cpti_quantile_of_latency(
            report->rows.self, clusters_of(report), report->quantiles[i]);

        cpti_quantile_json(json, report->rows.self, CPT_TREE_ROOT, &found);
    }
    cpti_json_close(json);
}

static void put_report(const struct report *report)
{
    struct cpti_json json = {.file = stdout};
    struct rest rest = {0};
    const struct cpti_rows rows =
        CPTI_ROWS(report->shown, choose_rows(report, &rest), report);

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json_stats(&json, report->tree, &report->all, has_clusters(report));
    cpti_cluster_json(&json, &report->views, report->by);
    if (report->is_by) {
        cpti_json_text(&json, "by", cpti_by_words[report->by]);
    }
    put_latency_quantiles(&json, report);
    if (report->has_drags) {
        cpti_json_unsigned(&json, "drag_requests",
                           cpt_gain_request_count(report->tree));
    }
    cpti_relation_json(&report->view, &rows, rows.count, &json);
    if (report->ranks != NULL && report->row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows", rest.row_count);
        cpti_json_unsigned(&json, "self_ns", rest.self_ns);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

/* --- As a table --- */

/* What spans without waits can be asked next. A file is named if it is the only one,
 * and every shell takes its name as it is. */
static void print_next(const struct report *report)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_./-";
    const char *file = cpti_span_logs_operand(0);

    if (file == NULL || report->view.format != CPTI_FORMAT_TEXT ||
        cpti_tree_inferred_count(report->tree) == 0) {
        return;
    }
    if (cpti_span_logs_operand(1) != NULL) {
        file = "FILE...";
    } else if (file[0] == '-' || file[strspn(file, plain)] != '\0') {
        file = "FILE";
    }
    (void)printf("what a faster service would give: cpt whatif --sweep 50%% %s\n",
                 file);
}

static void print_head(const struct report *report)
{
    cpti_tree_print_stats(report->tree, NULL, &report->all, has_clusters(report));
    print_next(report);
    cpti_cluster_print(&report->views, report->by);
    if (report->has_drags) {
        (void)printf("drags: of %" PRIu64 " of %" PRIu64 " requests\n",
                     cpt_gain_request_count(report->tree),
                     cpt_tree_request_count(report->tree));
    }
    (void)printf("\n");
}

static int print_report(const struct report *report)
{
    const bool is_for_people = cpti_view_is_for_people(&report->view);
    struct rest rest = {0};
    struct cpti_rows rows =
        CPTI_ROWS(report->shown, choose_rows(report, &rest), report);
    const struct cpti_report_row others = {
        .node = CPT_TREE_NONE, .self_ns = rest.self_ns, .inclusive_ns = rest.row_count};
    int status;

    if (is_for_people) {
        print_head(report);
        if (rest.row_count != 0) {
            rows.rest = &others;
            rows.rest_keys = "self_ns,stack,frame";
        }
    }
    status = cpti_relation_print(&report->view, &rows, rows.count);
    if (status == CPTI_EXIT_DONE && report->is_asked && is_for_people) {
        (void)printf("\nquantiles are accurate to 1 in %.0f; the largest value (p100) "
                     "is exact\n\n",
                     1 / CPT_STATS_QUANTILE_ERROR);
        status =
            cpti_quantiles_print(&report->view, report->rows.self, clusters_of(report),
                                 report->quantiles, report->quantile_count);
    }
    return status;
}

/* --- The command --- */

/* See struct cpti_capped. */
static int print_rows(void *context, size_t row_max)
{
    struct report *report = context;

    report->row_max = row_max;
    if (report->view.format != CPTI_FORMAT_JSON) {
        return print_report(report);
    }
    put_report(report);
    return CPTI_EXIT_DONE;
}

/* Puts the rows in their order, and ranks them if not all may fit. false without
 * memory. */
static bool order(struct report *report)
{
    const struct cpti_report_rows *rows = &report->rows;
    bool is_ranked = true;

    report->shown = calloc((size_t)rows->count + 1, sizeof *report->shown);
    cpti_relation_sort(&report->view, rows->rows, rows->count, sizeof *rows->rows,
                       report);
    if (report->view.bytes_max != 0) {
        report->ranks = calloc((size_t)rows->count + 1, sizeof *report->ranks);
        is_ranked = report->ranks != NULL && cpti_report_rows_rank(rows, report->ranks);
        for (uint32_t i = 0; is_ranked && i < rows->count && report->view.sort; i++) {
            report->ranks[i] = i;
        }
    }
    return report->shown != NULL && is_ranked;
}

static int show(const struct cpti_arguments *arguments, struct report *report)
{
    struct described described = {.node = CPT_TREE_NONE};
    struct cpti_capped capped = {
        .bytes_max = report->view.bytes_max, .print = print_rows, .context = report};
    char shown[32 * CPTI_TABLE_COLUMNS_MAX];
    int status =
        cpti_report_rows_init(&report->rows, report->tree, &report->views, report->by);

    report->has_drags = cpt_gain_request_count(report->tree) != 0;
    report->described = &described;
    capped.row_count = report->rows.count;
    if (status == CPTI_EXIT_DONE) {
        report->all = cpti_report_latency(&report->rows);
        show_columns(report, shown, sizeof shown);
        status = cpti_view_read(arguments, &report->relation, shown, &report->view);
    }
    if (status == CPTI_EXIT_DONE && !order(report)) {
        status = cpti_failed("out of memory");
    }
    status = CPTI_THEN(status, cpti_capped_print(&capped));
    free(report->ranks);
    free(report->shown);
    cpti_report_rows_deinit(&report->rows);
    return status;
}

/* --quantiles. enum cpti_exit. */
static int read_quantiles(struct report *report, const struct cpti_arguments *arguments)
{
    const char *text = cpti_value(arguments, "quantiles");
    int status = CPTI_EXIT_DONE;

    report->quantiles[0] = 0.5;
    report->quantiles[1] = 0.99;
    report->quantile_count = 2;
    report->is_asked = text != NULL;
    if (text != NULL) {
        status = cpti_amounts("quantiles", text, CPTI_UNIT_PART, report->quantiles,
                              &report->quantile_count);
    }
    for (size_t i = 0; i < report->quantile_count && status == CPTI_EXIT_DONE; i++) {
        if (report->quantiles[i] > 1 || report->quantile_count > QUANTILES_MAX) {
            status =
                cpti_usage("option '--quantiles' takes up to %d percentages of at most "
                           "100%%, not '%s'",
                           QUANTILES_MAX, cpti_quoted(text));
        }
    }
    return status;
}

/* Reads the operands; with --by and --cluster also into views. As cpti_gather(). */
static int gather(struct report *report, const struct cpti_arguments *arguments,
                  struct cpt_tree **tree, bool *is_usable)
{
    const char *key = cpti_value(arguments, "cluster");
    struct cpti_gather gather = {
        .may_be_empty = cpti_has(arguments, "allow-empty"),
        .omits_sources = cpti_has(arguments, "no-source"),
        .checks_time = key == NULL,
    };
    int status = cpti_views_init(&report->views, 1U << report->by, &gather);

    if (status == CPTI_EXIT_DONE && key != NULL) {
        status = cpti_views_cluster(&report->views, key, 1U << report->by, &gather);
    }
    status = CPTI_THEN(status, cpti_gather_arguments(&gather, arguments, is_usable));
    *tree = gather.tree;
    report->tree = gather.tree;
    if (*is_usable) {
        const int exit_status = cpti_views_check(&report->views, &gather);

        *is_usable = exit_status == CPTI_EXIT_DONE;
        status = cpti_exit_last(status, exit_status);
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct report report = {.by = cpti_by_of(arguments),
                            .is_by = cpti_has(arguments, "by")};
    struct cpt_tree *tree = NULL;
    bool is_usable = false;
    int status;

    if (cpti_has(arguments, "html")) {
        status = cpti_view_refuse(arguments, "--html");
        return status == CPTI_EXIT_DONE ? cpti_html_report(arguments) : status;
    }
    if (cpti_has(arguments, "base") || cpti_has(arguments, "new")) {
        return cpti_usage("options '--base' and '--new' need --html; for a table see "
                          "'cpt diff'");
    }
    if (cpti_has(arguments, "blind-spots")) {
        return cpti_blind_report(arguments);
    }
    if (cpti_has(arguments, "drag")) {
        return cpti_gain_report(arguments);
    }
    if (cpti_has(arguments, "group-by")) {
        return cpti_group_report(arguments);
    }
    status = read_quantiles(&report, arguments);
    make_relation(&report);
    status = CPTI_THEN(status,
                       cpti_view_read(arguments, &report.relation, NULL, &report.view));
    status = CPTI_THEN(status, gather(&report, arguments, &tree, &is_usable));
    if (is_usable) {
        status = cpti_exit_last(status, show(arguments, &report));
    }
    cpti_views_deinit(&report.views);
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the largest rows"),
    {"by", 0, "WHAT", "what a row is: stack (the default), service, name or edge",
     CPTI_BY_WORDS},
    {"quantiles", 0, "PARTS",
     "print these quantiles instead of p50 and p99: 50%,90%,99.9%"},
    {"cluster", 0, "KEY",
     "errors by cluster, for requests with one value of KEY that resemble each other: "
     "user, host, minute"},
    {"group-by", 0, "KEY",
     "print the requests by their value of KEY instead: an attribute, method or "
     "status; "
     "failure: why requests failed"},
    {"blind-spots", 0, NULL,
     "print the share of the latency that is in blind spots instead, by service and "
     "reason"},
    {"drag", 0, NULL,
     "print what each frame would give back instead, if requests have drags"},
    {"html", 0, "FILE",
     "write the whole report to FILE for a browser, and print nothing"},
    {"base", 'b', "EXPR", "with --html and --new: the requests to compare against"},
    {"new", 'n', "EXPR", "with --html and --base: the requests to compare"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt report paths.cptlog", "where the requests of a log spent their time"},
    {"cpt report logs/", "the same of all logs in a folder"},
    {"cpt report --by service paths.cptlog", "which services the time is in"},
    {"cpt report --where arm=treatment --since 15m paths.cptlog",
     "the same for one arm of an experiment, in the last quarter of an hour"},
    {"cpt report --group-by failure paths.cptlog",
     "why requests failed, and how long they took"},
    {"cpt report --drag paths.cptlog", "what a shorter frame would give back"},
    {"cpt report --json monday.cpttree | jq '.rows[] | select(.presence < 0.01)'",
     "stacks that few requests had"},
    {"cpt report --html day.html --base arm=control --new arm=treatment paths.cptlog",
     "a page on what an experiment changed"},
    {0},
};

const struct cpti_command cpti_command_report = {
    .name = "report",
    .summary = "print where the average request spent its time",
    .group = CPTI_FIX,
    .question = "Where does the average request spend its time?",
    .needs = "path logs, spans or trees",
    .usages = {"[OPTION]... LOG|TREE..."},
    .options = {options, cpti_view_options, cpti_select_options, cpti_sample_options,
                cpti_count_options, cpti_log_options},
    .relations = {&relation, &cpti_group_relation, &cpti_blind_relation,
                  &cpti_gain_relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
