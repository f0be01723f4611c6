/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* diff_print.c - a difference as text, as Markdown, as JSON; see diff_print.h */
#include "tool/print/diff_print.h"

#include "tool/table/capped.h"
#include "tool/print/by_print.h"
#include "tool/print/cluster_print.h"
#include "tool/print/mix_print.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/print/tree_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Longest text of a row; a longer one loses its end. */
enum { STACK_BYTES = 4000 };

/* A change with a larger q value gets no cause and no share in the table. */
#define LEVEL 0.05

/* --- As JSON --- */

/* The statistics of the latency of each side, by cluster if there are clusters. enum
 * cpti_exit. */
static int find_latencies(const struct cpti_diff_print *print,
                          struct cpt_stats latencies[2])
{
    int status = CPTI_EXIT_DONE;

    for (size_t side = 0; side < 2 && status == CPTI_EXIT_DONE; side++) {
        const struct cpti_views *views = &print->views[side];
        const struct cpt_tree *tree =
            print->by == CPTI_BY_STACK || views->cluster_key == NULL
                ? print->gathers[side].tree
                : views->self[print->by];

        latencies[side] = cpt_stats_of(tree, CPT_TREE_ROOT);
        status = cpti_cluster_stats(views, print->by, tree, &latencies[side]);
    }
    return status;
}

static void put_side(const struct cpti_diff_print *print, struct cpti_json *json,
                     const struct cpt_stats *latency, size_t side)
{
    cpti_json_open(json, side == 0 ? "base" : "new", '{');
    cpti_tree_json_stats(json, print->gathers[side].tree, latency,
                         print->views[side].cluster_key != NULL);
    cpti_cluster_json(json, &print->views[side], print->by);
    cpti_json_close(json);
}

static void put_change(struct cpti_json *json, const struct cpt_change *change)
{
    cpti_json_ns(json, "base_ns", change->base_ns);
    cpti_json_ns(json, "new_ns", change->new_ns);
    cpti_json_ns(json, "delta_ns", change->delta_ns);
    cpti_json_ns(json, "low_ns", change->low_ns);
    cpti_json_ns(json, "high_ns", change->high_ns);
    cpti_json_rough(json, "p_value", change->p_value);
}

static void put_row(struct cpti_json *json, const struct cpti_diff_print *print,
                    const struct cpt_diff_row *row)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_by_json(json, cpt_diff_tree(print->diff), row->node, print->by);
    put_change(json, &row->self);
    cpti_json_rough(json, "base_presence", row->base_presence);
    cpti_json_rough(json, "new_presence", row->new_presence);
    cpti_json_bool(json, "rare", row->is_rare);
    cpti_json_bool(json, "trusted", row->doubt == CPT_DIFF_TRUSTED);
    if (row->doubt != CPT_DIFF_TRUSTED) {
        cpti_json_text(json, "why", cpt_diff_doubt_text(row->doubt));
    }
    cpti_json_open(json, "inclusive", '{');
    put_change(json, &row->inclusive);
    cpti_json_close(json);
    cpti_json_rough(json, "q", row->q_value);
    cpti_json_bool(json, "tested", row->is_tested);
    cpti_json_ns(json, "detectable_ns", row->detectable_ns);
    cpti_json_rough(json, "change", row->self.delta_ns / row->self.base_ns);
    cpti_json_rough(json, "share_of_change", row->share);
    cpti_json_ns(json, "frequency_ns", row->frequency_ns);
    cpti_json_ns(json, "size_ns", row->size_ns);
    cpti_json_bool(json, "lost_path", row->lost_path);
    cpti_json_close(json);
}

/* What the rows do not show: with them it adds up to the total. */
static void put_rest(struct cpti_json *json, const struct cpti_diff_print *print,
                     const struct cpti_diff_rows *rows)
{
    const struct cpt_change *total = &cpt_diff_total(print->diff)->inclusive;
    double base_ns = total->base_ns;
    double new_ns = total->new_ns;

    for (uint32_t i = 0; i < rows->count; i++) {
        base_ns -= rows->rows[i]->self.base_ns;
        new_ns -= rows->rows[i]->self.new_ns;
    }
    cpti_json_open(json, "rest", '{');
    cpti_json_unsigned(json, "rows", cpt_diff_row_count(print->diff) - rows->count);
    cpti_json_ns(json, "base_ns", base_ns);
    cpti_json_ns(json, "new_ns", new_ns);
    cpti_json_ns(json, "delta_ns", new_ns - base_ns);
    cpti_json_close(json);
}

static void put_diff(const struct cpti_diff_print *print,
                     const struct cpt_stats latencies[2],
                     const struct cpti_diff_rows *rows, bool has_rest)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    put_change(&json, &cpt_diff_total(print->diff)->inclusive);
    cpti_json_ns(&json, "detectable_ns", cpt_diff_total(print->diff)->detectable_ns);
    cpti_json_float(&json, "confidence", 0.95);
    cpti_json_unsigned(&json, "row_count", cpt_diff_row_count(print->diff));
    cpti_json_unsigned(&json, "tested_count", cpt_diff_tested_count(print->diff));
    cpti_json_text(&json, "by", cpti_by_words[print->by]);
    put_side(print, &json, &latencies[0], 0);
    put_side(print, &json, &latencies[1], 1);
    if (print->mix != NULL) {
        cpti_mix_json(print->mix, print->gathers, print->diff, &json);
    }
    cpti_conditions_json(print->conditions, &json);
    cpti_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < rows->count; i++) {
        put_row(&json, print, rows->rows[i]);
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    if (has_rest) {
        put_rest(&json, print, rows);
    }
    cpti_json_close(&json);
}

/* --- As a table --- */

/* Milliseconds with their sign; 0.000 has none. */
static const char *signed_ms(double ns, char text[40])
{
    char digits[32];
    const char *shown = cpti_ms(ns, digits);

    (void)snprintf(text, 40, "%s%s", ns > 0 && strcmp(shown, "0.000") != 0 ? "+" : "",
                   shown);
    return text;
}

/* Half the width of the interval; "-" if it is unbounded. */
static void add_margin(struct cpti_table *table, const struct cpt_change *change,
                       bool is_rare)
{
    char text[40];

    if (isfinite(change->high_ns - change->low_ns)) {
        cpti_table_cell(table, "%s%s", is_rare ? "~" : "",
                        cpti_ms((change->high_ns - change->low_ns) / 2, text));
    } else {
        cpti_table_cell(table, "-");
    }
}

static void add_q(struct cpti_table *table, const struct cpt_diff_row *row)
{
    if (!row->is_tested) {
        cpti_table_cell(table, "-");
    } else {
        cpti_table_cell(table, row->q_value < 0.001 ? "<0.001" : "%.3f", row->q_value);
    }
}

/* The change as a percentage of the base. */
static void add_relative(struct cpti_table *table, const struct cpt_change *change)
{
    const double percent = change->delta_ns / change->base_ns * 100;

    if (change->base_ns == 0 || change->delta_ns == 0) {
        cpti_table_cell(table, change->delta_ns == 0 ? "-" : "new");
    } else if (fabs(percent) < 0.05) {
        cpti_table_cell(table, "0.0%%");
    } else {
        cpti_table_cell(table, fabs(percent) >= 1000 ? "%+.0f%%" : "%+.1f%%", percent);
    }
}

/* The part of the total change; "-" if the total change may be noise. */
static void add_share(struct cpti_table *table, double share, bool is_known)
{
    if (!is_known) {
        cpti_table_cell(table, "-");
    } else if (fabs(share) < 0.005) {
        cpti_table_cell(table, "0%%");
    } else {
        cpti_table_cell(table, "%.0f%%", share * 100);
    }
}

/* Why a row changed, in a word. */
static const char *cause_of(const struct cpt_diff_row *row)
{
    const double frequency = fabs(row->frequency_ns);
    const double size = fabs(row->size_ns);

    if (row->lost_path) {
        return "lost";
    }
    if (!(row->q_value < LEVEL)) {
        return "-";
    }
    if (frequency > 2 * size) {
        return "freq";
    }
    return size > 2 * frequency ? "size" : "both";
}

/* One quantity of @row. */
static void add_change(struct cpti_table *table, const struct cpt_diff_row *row,
                       const struct cpt_change *change)
{
    char text[40];

    cpti_table_cell(table, "%s", signed_ms(change->delta_ns, text));
    add_margin(table, change, row->doubt != CPT_DIFF_TRUSTED);
    add_q(table, row);
    add_relative(table, change);
}

static void add_sides(struct cpti_table *table, const struct cpt_change *change)
{
    char text[40];

    cpti_table_cell(table, "%s", cpti_ms(change->base_ns, text));
    cpti_table_cell(table, "%s", cpti_ms(change->new_ns, text));
}

static void add_row(struct cpti_table *table, const struct cpti_diff_print *print,
                    const struct cpt_diff_row *row)
{
    const bool is_known =
        cpt_diff_total(print->diff)->inclusive.p_value < LEVEL && isfinite(row->share);
    char text[STACK_BYTES];

    add_change(table, row, &row->self);
    add_share(table, row->share, is_known);
    add_sides(table, &row->self);
    cpti_table_cell(table, "%s", cause_of(row));
    if (print->by != CPTI_BY_STACK) {
        cpti_table_cell(table, "%s", signed_ms(row->inclusive.delta_ns, text));
    }
    cpti_by_text(cpt_diff_tree(print->diff), row->node, print->by, text, sizeof text);
    cpti_table_cell(table, "%s", text);
}

static void add_total(struct cpti_table *table, const struct cpti_diff_print *print,
                      uint32_t left_count)
{
    const struct cpt_diff_row *row = cpt_diff_total(print->diff);
    const struct cpt_change *change = &row->inclusive;

    add_change(table, row, change);
    add_share(table, 1, change->p_value < LEVEL);
    add_sides(table, change);
    cpti_table_cell(table, "-");
    if (print->by != CPTI_BY_STACK) {
        cpti_table_cell(table, "-");
    }
    cpti_table_cell(table,
                    left_count == 0   ? "(sum of all rows)"
                    : left_count == 1 ? "(sum of these and %" PRIu32 " more row)"
                                      : "(sum of these and %" PRIu32 " more rows)",
                    left_count);
    cpti_table_short(table, "(sum of all)");
}

/* Explains the marks that the shown rows have. */
static void print_marks(const struct cpti_diff_print *print,
                        const struct cpti_diff_rows *rows)
{
    bool has_doubt[CPT_DIFF_FEW_CLUSTERS + 1] = {false};
    bool has_lost = false;
    bool has_untested = false;
    const char *gap = "\n"; /* before the first mark */

    has_doubt[cpt_diff_total(print->diff)->doubt] = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct cpt_diff_row *row = rows->rows[i];

        has_doubt[row->doubt] = true;
        has_lost = has_lost || row->lost_path;
        has_untested = has_untested || !row->is_tested;
    }
    for (int doubt = CPT_DIFF_TRUSTED + 1; doubt <= CPT_DIFF_FEW_CLUSTERS; doubt++) {
        if (has_doubt[doubt]) {
            (void)printf("%s~ do not trust it: %s\n", gap,
                         cpt_diff_doubt_text((enum cpt_diff_doubt)doubt));
            gap = "";
        }
    }
    if (has_untested) {
        (void)printf(
            "%sq -: not tested: fewer than %d requests had it, or it has no time of "
            "its own\n",
            gap, CPT_DIFF_TESTED_MIN);
        gap = "";
    }
    if (has_lost) {
        (void)printf(
            "%slost: on fewer critical paths, since another branch is on more; "
            "it did not get faster\n",
            gap);
    }
}

/* Says what is not shown, and what could not have been found. */
static void print_hidden(const struct cpti_diff_print *print,
                         const struct cpti_diff_rows *rows)
{
    const struct cpt_diff_row *total = cpt_diff_total(print->diff);
    char text[32];

    if (rows->hidden_count != 0 && rows->is_default) {
        (void)printf("\n%" PRIu32 " rows not shown: q > %g, change < %s ms (--max-q 1 "
                     "shows all)\n",
                     rows->hidden_count, rows->max_q, cpti_ms(rows->min_ns, text));
    } else if (rows->hidden_count != 0) {
        (void)printf("\n%" PRIu32 " rows not shown, by --max-q or --min\n",
                     rows->hidden_count);
    }
    if (!(total->inclusive.p_value < LEVEL) && total->doubt == CPT_DIFF_TRUSTED &&
        isfinite(total->detectable_ns)) {
        (void)printf("%schanges of the mean latency of %s ms would be found in 4 of 5 "
                     "samples\n",
                     rows->hidden_count != 0 ? "" : "\n",
                     cpti_ms(total->detectable_ns, text));
    }
}

static void print_sides(const struct cpti_diff_print *print,
                        const struct cpt_stats latencies[2])
{
    const char *fence = print->format == CPTI_DIFF_MARKDOWN ? "```\n" : "";

    (void)printf("%s", fence);
    for (size_t i = 0; i < 2; i++) {
        cpti_tree_print_stats(print->gathers[i].tree, i == 0 ? "base" : "new",
                              &latencies[i], print->views[i].cluster_key != NULL);
        cpti_cluster_print(&print->views[i], print->by);
    }
    if (print->mix != NULL) {
        cpti_mix_print(print->mix, print->gathers, print->diff);
    }
    (void)printf("%s\n", fence);
}

static int print_table(const struct cpti_diff_print *print,
                       const struct cpt_stats latencies[2],
                       const struct cpti_diff_rows *rows)
{
    const char *const headings[] = {"diff ms", "\u00b195%", "q",
                                    "change",  "share",     "base ms",
                                    "new ms",  "cause",     cpti_by_words[print->by]};
    const char *const view_headings[] = {
        "diff ms", "\u00b195%", "q",     "change",     "share",
        "base ms", "new ms",    "cause", "with below", cpti_by_words[print->by]};
    const bool is_stack = print->by == CPTI_BY_STACK;
    struct cpti_table table =
        cpti_table_of(is_stack ? headings : view_headings, is_stack ? 9 : 10);
    int status;

    table.cuts_front = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        add_row(&table, print, rows->rows[i]);
    }
    add_total(&table, print, cpt_diff_row_count(print->diff) - rows->count);
    print_sides(print, latencies);
    status = print->format == CPTI_DIFF_MARKDOWN ? cpti_table_print_markdown(&table)
                                                 : cpti_table_print(&table);
    print_marks(print, rows);
    print_hidden(print, rows);
    return status;
}

/* An answer with the first rows. */
struct first_rows {
    const struct cpti_diff_print *print;
    const struct cpti_diff_rows *rows;
    struct cpt_stats latencies[2];
};

/* See struct cpti_capped. */
static int print_first(void *context, size_t row_max)
{
    const struct first_rows *first = context;
    struct cpti_diff_rows rows = *first->rows;

    rows.count = row_max < rows.count ? (uint32_t)row_max : rows.count;
    if (first->print->format != CPTI_DIFF_JSON) {
        return print_table(first->print, first->latencies, &rows);
    }
    put_diff(first->print, first->latencies, &rows,
             first->print->bytes_max != 0 && row_max != CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

int cpti_diff_print(const struct cpti_diff_print *print)
{
    struct cpti_diff_rows rows;
    struct first_rows first = {.print = print, .rows = &rows};
    struct cpti_capped capped = {
        .bytes_max = print->bytes_max, .print = print_first, .context = &first};
    int status;

    if (cpti_diff_rows_init(&rows, print->diff, print->filter,
                            print->format != CPTI_DIFF_JSON) != CPT_OK) {
        status = cpti_failed("out of memory");
    } else {
        capped.row_count = rows.count;
        status = find_latencies(print, first.latencies);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_capped_print(&capped);
    }
    cpti_diff_rows_deinit(&rows);
    return status;
}
