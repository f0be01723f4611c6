/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_data.c - what the HTML report shows, as JSON; see html_data.h */
#include "tool/html/html_data.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/html/html_brief.h"
#include "tool/html/html_example.h"
#include "tool/html/html_rows.h"
#include "tool/print/path_print.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"

#include <math.h>
#include <string.h>
#include <stdbool.h>

enum { BIN_COUNT = 24, LATENCY_BIN_COUNT = 64 };
/* Messages that are passed on. */
enum { NOTES_MAX = 50 };

#define CONFIDENCE 0.95

/* --- Histograms --- */

/* Extends the range to the times of @node. */
static void add_range(const struct cpt_tree *tree, uint32_t node, uint64_t range_ns[2])
{
    const struct cpt_stats stats = cpt_stats_of(tree, node);

    if (stats.present_count != 0) {
        range_ns[0] = stats.min_ns < range_ns[0] ? stats.min_ns : range_ns[0];
        range_ns[1] = stats.max_ns > range_ns[1] ? stats.max_ns : range_ns[1];
    }
}

/* Times that hardly differ get a wider range, so that noise does not look like a broad
 * spread. */
static void widen(uint64_t range_ns[2])
{
    if (range_ns[0] <= range_ns[1] && range_ns[1] - range_ns[0] < range_ns[0] / 5) {
        range_ns[0] -= range_ns[0] / 10;
        range_ns[1] += range_ns[1] / 10;
    }
}

/* The tree that has the inclusive times of @row: the root's are the latencies. */
static const struct cpt_tree *tree_of(const struct cpti_html_rows *rows,
                                      const struct cpti_html_row *row, size_t side)
{
    return row->parent == CPT_TREE_NONE ? rows->sides[side].tree
                                        : cpti_html_side_whole(&rows->sides[side]);
}

/* The range of the histogram of @row, which covers its times on all sides; the first
 * value is above the second one if there are none. */
static void range_of(const struct cpti_html_rows *rows, const struct cpti_html_row *row,
                     uint64_t range_ns[2])
{
    range_ns[0] = UINT64_MAX;
    range_ns[1] = 0;
    for (size_t i = 0; i < rows->side_count; i++) {
        if (row->whole[i] != NULL) {
            add_range(tree_of(rows, row, i), row->whole[i]->node, range_ns);
        }
    }
    widen(range_ns);
}

/* The same of the latencies. A latency of 0 has no logarithm, and counts as 1 ns. */
static void range_of_latencies(const struct cpti_html_rows *rows, uint64_t range_ns[2])
{
    range_ns[0] = UINT64_MAX;
    range_ns[1] = 1;
    for (size_t i = 0; i < rows->side_count; i++) {
        add_range(rows->sides[i].tree, CPT_TREE_ROOT, range_ns);
    }
    widen(range_ns);
    range_ns[0] = range_ns[0] == 0 || range_ns[0] > range_ns[1] ? 1 : range_ns[0];
}

/* Adds the shares of the requests that have @node to @bins, which are @count bins of
 * equal ratio between @min_ns and @max_ns. A bucket that overlaps several bins is split
 * in proportion. */
static void fill_bins(double *bins, size_t count, const struct cpt_tree *tree,
                      uint32_t node, const uint64_t range_ns[2])
{
    const double begin = log((double)range_ns[0]);
    const double scale = (double)count / (log((double)range_ns[1] + 1) - begin);

    for (size_t i = 0; i < cpt_stats_bucket_count(tree, node); i++) {
        const struct cpt_bucket bucket = cpt_stats_bucket(tree, node, i);
        const uint64_t low_ns =
            bucket.low_ns < range_ns[0] ? range_ns[0] : bucket.low_ns;
        const uint64_t high_ns =
            bucket.high_ns > range_ns[1] ? range_ns[1] : bucket.high_ns;
        const double low = fmax(0, (log((double)low_ns) - begin) * scale);
        const double high = (log((double)high_ns + 1) - begin) * scale;

        for (size_t at = (size_t)low; at < count && (double)at < high; at++) {
            const double from = low > (double)at ? low : (double)at;
            const double to = high < (double)at + 1 ? high : (double)at + 1;

            bins[at] += to > from ? bucket.share * (to - from) / (high - low) : 0;
        }
    }
}

static void put_bins(struct cpti_json *json, const struct cpt_tree *tree, uint32_t node,
                     const uint64_t range_ns[2])
{
    double bins[BIN_COUNT] = {0};

    fill_bins(bins, BIN_COUNT, tree, node, range_ns);
    cpti_json_open(json, "bins", '[');
    for (size_t i = 0; i < BIN_COUNT; i++) {
        cpti_json_rough(json, NULL, bins[i]);
    }
    cpti_json_close(json);
}

/* The histogram of latencies, with the same bins on all sides. Bins of which the first
 * value is beyond the last one are left out: the range is narrow. */
static void put_latencies(struct cpti_json *json, const struct cpti_html_rows *rows,
                          size_t side)
{
    const struct cpt_tree *tree = rows->sides[side].tree;
    const double count = (double)cpt_tree_request_count(tree);
    double bins[LATENCY_BIN_COUNT] = {0};
    uint64_t range_ns[2];
    uint64_t low_ns;

    range_of_latencies(rows, range_ns);
    fill_bins(bins, LATENCY_BIN_COUNT, tree, CPT_TREE_ROOT, range_ns);
    low_ns = range_ns[0];
    cpti_json_open(json, "histogram", '[');
    for (size_t i = 0; i < LATENCY_BIN_COUNT; i++) {
        const double part = (double)(i + 1) / LATENCY_BIN_COUNT;
        const double next_ns = exp(log((double)range_ns[0]) * (1 - part) +
                                   log((double)range_ns[1] + 1) * part);
        const uint64_t high_ns =
            i + 1 == LATENCY_BIN_COUNT ? range_ns[1] : (uint64_t)next_ns - 1;

        if (high_ns < low_ns) {
            bins[i + 1 < LATENCY_BIN_COUNT ? i + 1 : i] += bins[i];
            continue;
        }
        cpti_json_open(json, NULL, '{');
        cpti_json_unsigned(json, "low_ns", low_ns);
        cpti_json_unsigned(json, "high_ns", high_ns);
        cpti_json_rough(json, "share", bins[i]);
        cpti_json_unsigned(json, "count", (uint64_t)(bins[i] * count + 0.5));
        cpti_json_close(json);
        low_ns = high_ns + 1;
    }
    cpti_json_close(json);
}

/* --- Writing rows --- */

static void put_side_of_row(struct cpti_json *json, const struct cpti_html_rows *rows,
                            const struct cpti_html_row *row, size_t side)
{
    const struct cpt_tree *tree = tree_of(rows, row, side);
    struct cpt_stats stats;
    uint64_t range_ns[2];
    uint32_t node;

    if (row->whole[side] == NULL) {
        cpti_json_null(json, NULL);
        return;
    }
    node = row->whole[side]->node;
    stats = cpt_stats_of(tree, node);
    range_of(rows, row, range_ns);
    cpti_json_open(json, NULL, '{');
    cpti_json_unsigned(json, "self_ns", cpti_html_row_self_ns(row, side));
    cpti_json_unsigned(json, "inclusive_ns", cpti_html_row_whole_ns(row, side));
    cpti_interval_json(json, "low_ns", "high_ns", &stats.inclusive);
    cpti_trust_json(json, &stats, false, cpt_stats_heaviness(tree, node).is_infinite);
    cpti_json_rough(json, "presence", stats.presence);
    cpti_json_unsigned(json, "present_count", stats.present_count);
    cpti_json_ns(json, "present_mean_ns", stats.present_mean_ns);
    cpti_json_unsigned(json, "p50_ns", cpt_stats_quantile_ns(tree, node, 0.5));
    cpti_json_unsigned(json, "p99_ns", cpt_stats_quantile_ns(tree, node, 0.99));
    cpti_json_unsigned(json, "min_ns", stats.min_ns);
    cpti_json_unsigned(json, "max_ns", stats.max_ns);
    if (range_ns[0] != 0 && range_ns[1] >= range_ns[0]) {
        put_bins(json, tree, node, range_ns);
    }
    cpti_json_close(json);
}

static void put_change(struct cpti_json *json, const char *key,
                       const struct cpt_change *change)
{
    cpti_json_open(json, key, '{');
    cpti_json_ns(json, "delta_ns", change->delta_ns);
    cpti_json_ns(json, "low_ns", change->low_ns);
    cpti_json_ns(json, "high_ns", change->high_ns);
    cpti_json_rough(json, "p_value", change->p_value);
    cpti_json_close(json);
}

static void put_changes(struct cpti_json *json, const struct cpt_diff_row *change)
{
    put_change(json, "self", &change->self);
    put_change(json, "inclusive", &change->inclusive);
    cpti_json_rough(json, "q_value", change->q_value);
    cpti_json_rough(json, "share_of_change", change->share);
    cpti_json_ns(json, "frequency_ns", change->frequency_ns);
    cpti_json_ns(json, "size_ns", change->size_ns);
    cpti_json_ns(json, "detectable_ns", change->detectable_ns);
    cpti_doubt_json(json, change->doubt);
    cpti_json_bool(json, "lost_path", change->lost_path);
}

static void put_row(struct cpti_json *json, const struct cpti_html_rows *rows,
                    const struct cpti_html_row *row)
{
    const unsigned kind = cpt_tree_kind(rows->names, row->node);
    const char *word = cpt_kind_word(kind);
    char text[CPT_TREE_FRAME_TEXT_BYTES];
    uint64_t range_ns[2];

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    if (row->parent == CPT_TREE_NONE) {
        cpti_json_null(json, "parent");
    } else {
        cpti_json_unsigned(json, "parent", rows->rows[row->parent].number);
    }
    cpti_html_rows_text(rows, row->node, text, sizeof text);
    cpti_json_text(json, "text", text);
    (void)cpt_text_name(cpt_tree_service(rows->names, row->node), text, sizeof text);
    cpti_json_text(json, "service", text);
    cpti_json_text(json, "kind", word != NULL ? word : "unknown");
    range_of(rows, row, range_ns);
    if (range_ns[0] <= range_ns[1]) { /* the range of its bins */
        cpti_json_unsigned(json, "from_ns", range_ns[0]);
        cpti_json_unsigned(json, "to_ns", range_ns[1]);
    }
    cpti_json_open(json, "sides", '[');
    for (size_t i = 0; i < rows->side_count; i++) {
        put_side_of_row(json, rows, row, i);
    }
    cpti_json_close(json);
    if (row->change != NULL) {
        put_changes(json, row->change);
    }
    cpti_json_close(json);
}

/* --- Writing the whole --- */

static void put_side(struct cpti_json *json, const struct cpti_html_rows *rows,
                     size_t index)
{
    const struct cpti_html_side *side = &rows->sides[index];

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "name", side->name);
    cpti_tree_json(json, side->tree);
    put_latencies(json, rows, index);
    cpti_json_open(json, "bands", '[');
    for (size_t i = 0; side->bands != NULL && i < CPTI_BAND_COUNT; i++) {
        const struct cpti_band band = cpti_band_of(side->bands, side->tree, i);

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_rough(json, "from", band.from);
        cpti_json_rough(json, "to", band.to);
        cpti_json_unsigned(json, "low_ns", band.low_ns);
        cpti_json_unsigned(json, "high_ns", band.high_ns);
        cpti_html_example(json, "example", band.example);
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_close(json);
}

/* Writes the messages: at most NOTES_MAX, and how many more there are. */
static void put_notes(struct cpti_json *json, const struct cpti_messages *notes)
{
    cpti_json_open(json, "notes", '[');
    for (size_t i = 0; i < notes->count && i < NOTES_MAX; i++) {
        cpti_json_text(json, NULL, notes->items[i].text);
    }
    if (notes->count > NOTES_MAX) {
        char text[48];

        (void)snprintf(text, sizeof text, "and %zu further messages",
                       notes->count - NOTES_MAX);
        cpti_json_text(json, NULL, text);
    }
    cpti_json_close(json);
}

/* false without memory. */
static bool put_data(FILE *file, const struct cpti_html_rows *rows, const char *by,
                     const struct cpti_messages *notes)
{
    struct cpti_json json = {.file = file};
    bool is_whole;

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "tool", "cpt " CPTI_VERSION);
    cpti_json_text(&json, "by", by);
    cpti_json_float(&json, "confidence", CONFIDENCE);
    cpti_json_open(&json, "sides", '[');
    for (size_t i = 0; i < rows->side_count; i++) {
        put_side(&json, rows, i);
    }
    cpti_json_close(&json);
    cpti_json_unsigned(&json, "left_out",
                       rows->count - rows->full_count - rows->brief_count);
    cpti_json_unsigned(&json, "left_out_significant", rows->left_significant_count);
    if (notes != NULL) {
        put_notes(&json, notes);
    }
    cpti_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].form == CPTI_HTML_FULL) {
            put_row(&json, rows, &rows->rows[i]);
        }
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    is_whole = cpti_html_brief(&json, rows);
    cpti_json_close(&json);
    return is_whole;
}

int cpti_html_data(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                   const struct cpt_diff *diff)
{
    return cpti_html_data_by(file, sides, side_count, diff, "stack", NULL);
}

int cpti_html_data_by(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                      const struct cpt_diff *diff, const char *by,
                      const struct cpti_messages *notes)
{
    struct cpti_html_rows rows;
    const bool is_done = cpti_html_rows_init(&rows, sides, side_count, diff) &&
                         put_data(file, &rows, by, notes);

    cpti_html_rows_deinit(&rows);
    return is_done ? CPTI_EXIT_DONE : cpti_failed("out of memory");
}
