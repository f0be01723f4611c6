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
#include "tool/table/json_write.h"
#include "tool/base/names.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/print/tree_print.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The columns without the quantiles and the drags, and how many quantiles fit beside
 * all of them. */
enum { FIXED_COLUMNS = 6, QUANTILES_MAX = CPTI_TABLE_COLUMNS_MAX - FIXED_COLUMNS - 1 };

/* One run of the command. */
struct report {
    const struct cpt_tree *tree; /* of stacks */
    enum cpti_by by;             /* what a row is */
    bool is_by;                  /* --by was given */
    struct cpti_report_rows rows;
    double quantiles[CPTI_AMOUNTS_MAX]; /* of the table; default 0.5 and 0.99 */
    size_t quantile_count;
    bool is_asked;           /* --quantiles was given */
    struct cpti_views views; /* of --by and --cluster */
    uint64_t bytes_max;      /* of the answer; 0: no limit */
    bool is_json;
    bool has_drags;  /* some requests have */
    uint32_t *ranks; /* of the rows by time; NULL: all are shown */
    size_t row_max;  /* rows that are shown */
};

/* The rows that are not shown. */
struct rest {
    uint64_t row_count;
    uint64_t self_ns;
};

/* Whether the row @index is shown. If not, it is added to @rest. */
static bool is_shown(const struct report *report, uint32_t index, struct rest *rest)
{
    if (report->ranks == NULL || report->ranks[index] < report->row_max) {
        return true;
    }
    rest->row_count++;
    rest->self_ns += report->rows.rows[index].self_ns;
    return false;
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

/* --- As JSON --- */

static void put_quantiles(struct cpti_json *json, const struct report *report,
                          uint32_t node)
{
    const struct cpt_tree *tree = report->rows.whole;

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

/* A mean: thousandths of nanoseconds, or six digits if it is below a nanosecond, so
 * that rare stacks are not 0. */
static void put_mean(struct cpti_json *json, const char *key, double ns)
{
    if (ns < 1) {
        cpti_json_rough(json, key, ns);
    } else {
        cpti_json_ns(json, key, ns);
    }
}

/* What a node would give back. Errors by cluster are not known of it. */
static void put_gain(struct cpti_json *json, const struct report *report,
                     const struct cpti_report_row *row)
{
    struct cpt_gain gain = cpti_report_row_gain(&report->rows, row);

    if (has_clusters(report)) {
        gain.drag.error_ns = INFINITY;
        gain.time.error_ns = INFINITY;
    }
    cpti_gain_json(json, &gain);
}

static void put_row(struct cpti_json *json, const struct report *report,
                    const struct cpti_report_row *row, double latency_ns)
{
    const struct cpt_tree *tree = report->rows.whole;
    const struct cpt_stats stats = cpti_report_row_stats(&report->rows, row);

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_by_json(json, tree, row->node, report->by);
    cpti_json_unsigned(json, "self_ns", row->self_ns);
    cpti_json_unsigned(json, "inclusive_ns", row->inclusive_ns);
    put_mean(json, "self_mean_ns", stats.self.mean_ns);
    put_mean(json, "inclusive_mean_ns", stats.inclusive.mean_ns);
    cpti_json_rough(json, "share",
                    latency_ns > 0 ? stats.inclusive.mean_ns / latency_ns : 0);
    cpti_json_rough(json, "presence", stats.presence);
    cpti_json_unsigned(json, "present_count", stats.present_count);
    cpti_json_ns(json, "present_mean_ns", stats.present_mean_ns);
    cpti_json_unsigned(json, "p50_ns", cpt_stats_quantile_ns(tree, row->node, 0.5));
    cpti_json_unsigned(json, "p99_ns", cpt_stats_quantile_ns(tree, row->node, 0.99));
    cpti_json_unsigned(json, "min_ns", stats.min_ns);
    cpti_json_unsigned(json, "max_ns", stats.max_ns);
    cpti_interval_json(json, "self_low_ns", "self_high_ns", &stats.self);
    cpti_interval_json(json, "inclusive_low_ns", "inclusive_high_ns", &stats.inclusive);
    cpti_trust_json(json, &stats, has_clusters(report),
                    !has_clusters(report) &&
                        cpt_stats_heaviness(tree, row->node).is_infinite);
    if (report->has_drags) {
        put_gain(json, report, row);
    }
    if (report->is_asked) {
        put_quantiles(json, report, row->node);
    }
    cpti_json_close(json);
}

static void put_report(const struct report *report)
{
    struct cpti_json json = {.file = stdout};
    const struct cpt_stats all = cpti_report_latency(&report->rows);
    struct rest rest = {0};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json_stats(&json, report->tree, &all, has_clusters(report));
    cpti_cluster_json(&json, &report->views, report->by);
    if (report->is_by) {
        cpti_json_text(&json, "by", cpti_by_words[report->by]);
    }
    put_latency_quantiles(&json, report);
    if (report->has_drags) {
        cpti_json_unsigned(&json, "drag_requests",
                           cpt_gain_request_count(report->tree));
    }
    cpti_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < report->rows.count; i++) {
        if (is_shown(report, i, &rest)) {
            put_row(&json, report, &report->rows.rows[i], all.inclusive.mean_ns);
        }
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    if (report->ranks != NULL && report->row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows", rest.row_count);
        cpti_json_unsigned(&json, "self_ns", rest.self_ns);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

/* --- As a table --- */

/* The mean drag of a row; nothing if none is known. */
static void add_drag(struct cpti_table *table, const struct report *report,
                     const struct cpti_report_row *row)
{
    char text[32];

    if (report->has_drags) {
        const struct cpt_gain gain = cpti_report_row_gain(&report->rows, row);

        cpti_table_cell(table, "%s",
                        gain.known_count != 0 ? cpti_ms(gain.drag.mean_ns, text) : "-");
    }
}

/* The last cell: a frame below those of its callers, or the name of a group. */
static void add_name(struct cpti_table *table, const struct report *report,
                     const struct cpti_report_row *row)
{
    const struct cpt_tree *tree = report->rows.whole;
    char frame[CPT_TREE_FRAME_TEXT_BYTES];
    char above_frame[CPT_TREE_FRAME_TEXT_BYTES] = "";

    if (report->by != CPTI_BY_STACK) {
        cpti_by_text(tree, row->node, report->by, frame, sizeof frame);
        cpti_table_cell(table, "%s", frame);
        return;
    }
    (void)cpt_tree_frame_text(tree, row->node, frame, sizeof frame);
    if (row->depth > 40) {
        cpti_table_cell(table, "%*s[%u] %s", 80, "", (unsigned)row->depth, frame);
        return;
    }
    cpti_table_cell(table, "%*s%s", (int)(row->depth - 1) * 2, "", frame);
    (void)cpt_tree_frame_text(tree, cpt_tree_parent(tree, row->node), above_frame,
                              sizeof above_frame);
    cpti_table_short(table, "%*s%s", (int)(row->depth - 1) * 2, "",
                     cpti_name_below(frame, above_frame));
}

static void add_row(struct cpti_table *table, const struct report *report,
                    const struct cpti_report_row *row)
{
    const struct cpt_tree *tree = report->rows.whole;
    const struct cpt_stats stats = cpt_stats_of(tree, row->node);
    const uint64_t latency_ns = report->rows.latency_ns;
    char text[32];

    cpti_table_cell(table, "%s", cpti_ms((double)row->self_ns, text));
    add_drag(table, report, row);
    cpti_table_cell(table, "%s", cpti_ms((double)row->inclusive_ns, text));
    cpti_table_cell(
        table, "%.1f%%",
        latency_ns == 0 ? 0 : 100 * (double)row->inclusive_ns / (double)latency_ns);
    cpti_table_cell(table, "%.3f", stats.presence);
    cpti_table_cell(table, "%s", cpti_ms(stats.present_mean_ns, text));
    for (size_t i = 0; i < report->quantile_count; i++) {
        const uint64_t time_ns =
            cpt_stats_quantile_ns(tree, row->node, report->quantiles[i]);

        cpti_table_cell(table, "%s", cpti_ms((double)time_ns, text));
    }
    add_name(table, report, row);
}

/* The last row: what is not shown. */
static void add_rest(struct cpti_table *table, const struct report *report,
                     const struct rest *rest)
{
    char text[32];

    if (rest->row_count == 0) {
        return;
    }
    cpti_table_cell(table, "%s", cpti_ms((double)rest->self_ns, text));
    for (size_t i = 2; i < table->column_count; i++) {
        cpti_table_cell(table, "-");
    }
    cpti_table_cell(table, "(%" PRIu64 " more %ss)", rest->row_count,
                    cpti_by_words[report->by]);
}

/* The table without rows. @texts has room for the names of the quantiles. */
static struct cpti_table table_of(const struct report *report,
                                  char texts[QUANTILES_MAX][16])
{
    static const char *const fixed[] = {"self ms", "drag ms",  "incl ms",
                                        "share",   "presence", "when present"};
    const char *headings[CPTI_TABLE_COLUMNS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (i != 1 || report->has_drags) {
            headings[count++] = fixed[i];
        }
    }
    for (size_t i = 0; i < report->quantile_count; i++) {
        headings[count++] = cpti_quantile_name(report->quantiles[i], texts[i]);
    }
    headings[count++] =
        report->by == CPTI_BY_STACK ? "frame" : cpti_by_words[report->by];
    return cpti_table_of(headings, count);
}

static int print_report(const struct report *report)
{
    const struct cpt_stats all = cpti_report_latency(&report->rows);
    char texts[QUANTILES_MAX][16];
    struct rest rest = {0};
    struct cpti_table table = table_of(report, texts);
    int status;

    for (uint32_t i = 0; i < report->rows.count; i++) {
        if (is_shown(report, i, &rest)) {
            add_row(&table, report, &report->rows.rows[i]);
        }
    }
    add_rest(&table, report, &rest);
    cpti_tree_print_stats(report->tree, NULL, &all, has_clusters(report));
    cpti_cluster_print(&report->views, report->by);
    if (report->has_drags) {
        (void)printf("drags: of %" PRIu64 " of %" PRIu64 " requests\n",
                     cpt_gain_request_count(report->tree),
                     cpt_tree_request_count(report->tree));
    }
    (void)printf("\n");
    status = cpti_table_print(&table);
    if (status == CPTI_EXIT_DONE && report->is_asked) {
        (void)printf("\nquantiles are accurate to 1 in %.0f; the largest value (p100) "
                     "is exact\n\n",
                     1 / CPT_STATS_QUANTILE_ERROR);
        status = cpti_quantiles_print(report->rows.self, clusters_of(report),
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
    if (!report->is_json) {
        return print_report(report);
    }
    put_report(report);
    return CPTI_EXIT_DONE;
}

static int show(const struct cpti_arguments *arguments, struct report *report)
{
    struct cpti_capped capped = {
        .bytes_max = report->bytes_max, .print = print_rows, .context = report};
    int status =
        cpti_report_rows_init(&report->rows, report->tree, &report->views, report->by);

    report->is_json = cpti_has(arguments, "json");
    report->has_drags = cpt_gain_request_count(report->tree) != 0;
    capped.row_count = report->rows.count;
    if (status == CPTI_EXIT_DONE && report->bytes_max != 0) {
        report->ranks = calloc((size_t)report->rows.count + 1, sizeof *report->ranks);
        if (report->ranks == NULL ||
            !cpti_report_rows_rank(&report->rows, report->ranks)) {
            status = cpti_failed("out of memory");
        }
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_capped_print(&capped);
    }
    free(report->ranks);
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
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_arguments(&gather, arguments, is_usable);
    }
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
        return cpti_html_report(arguments);
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
    if (status == CPTI_EXIT_DONE) {
        status = cpti_capped_option(arguments, &report.bytes_max);
    }
    if (status == CPTI_EXIT_DONE) {
        status = gather(&report, arguments, &tree, &is_usable);
    }
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
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
