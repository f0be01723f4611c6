/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_data.c - what the HTML report shows, as JSON; see html_data.h
 *
 * The rows are those of one tree, or of the union that a diff made. All trees are
 * walked by name, which orders all of them alike, so one merge pass finds the rows of
 * each side:
 *
 *      union    A   A;B   A;C   A;C;D
 *      base     A   A;B   -     -
 *      new      A   -     A;C   A;C;D
 *
 * Above CPTI_HTML_ROWS_MAX rows only the largest are shown. The inclusive time of a
 * caller is never below that of its callee, so no shown row loses its parent.
 */
#include "cpt/cli/print/html_data.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/print/path_print.h"
#include "cpt/cli/print/tree_print.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SIDES_MAX = 2, BIN_COUNT = 24 };
#define CONFIDENCE 0.95

/* One row, and its place in the tree of each side. */
struct row {
    uint32_t node;                               /* of the tree that has all names */
    uint32_t parent;                             /* row; CPT_TREE_NONE for the first */
    const struct cpt_tree_row *sides[SIDES_MAX]; /* NULL: not there */
    const struct cpt_diff_row *change;           /* NULL: none */
    uint64_t weight_ns;                          /* the larger of its inclusive times */
    uint32_t number; /* among the shown rows; CPT_TREE_NONE: not shown */
};

/* The whole data while it is written. */
struct data {
    const struct cpti_html_side *sides;
    size_t side_count;
    const struct cpt_tree *names;
    struct cpt_tree_walk *names_walk;
    struct cpt_tree_walk *walks[SIDES_MAX];
    struct row *rows;
    uint32_t row_count;
    uint32_t shown_count;
};

/* --- Rows --- */

/* Finds the rows of side @side by merging: both walks go by name. */
static void join(struct data *data, size_t side)
{
    const struct cpt_tree_walk *walk = data->walks[side];
    uint32_t next = 0;

    for (uint32_t i = 0; i < data->row_count && next < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, next);

        if (cpt_tree_stack_compare(data->names, data->rows[i].node,
                                   data->sides[side].tree, row->node) == 0) {
            data->rows[i].sides[side] = row;
            if (row->inclusive_ns > data->rows[i].weight_ns) {
                data->rows[i].weight_ns = row->inclusive_ns;
            }
            next++;
        }
    }
    assert(next == cpt_tree_walk_count(walk));
}

static int compare_larger(const void *left, const void *right)
{
    const uint64_t left_ns = *(const uint64_t *)left;
    const uint64_t right_ns = *(const uint64_t *)right;

    return (left_ns < right_ns) - (left_ns > right_ns);
}

/* Chooses the rows to show and numbers them. false without memory. */
static bool choose(struct data *data)
{
    uint64_t least_ns = 0;
    uint64_t *weights = calloc(data->row_count, sizeof *weights);

    if (weights == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < data->row_count; i++) {
        weights[i] = data->rows[i].weight_ns;
    }
    if (data->row_count > CPTI_HTML_ROWS_MAX) {
        qsort(weights, data->row_count, sizeof *weights, compare_larger);
        least_ns = weights[CPTI_HTML_ROWS_MAX] + 1;
    }
    free(weights);
    for (uint32_t i = 0; i < data->row_count; i++) {
        data->rows[i].number = i == 0 || data->rows[i].weight_ns >= least_ns
                                   ? data->shown_count++
                                   : CPT_TREE_NONE;
    }
    return true;
}

/* Walks all trees and makes the rows. false without memory. */
static bool collect(struct data *data)
{
    data->names_walk = cpt_tree_walk_new(NULL, data->names, CPT_TREE_BY_NAME);
    for (size_t i = 0; i < data->side_count; i++) {
        data->walks[i] = cpt_tree_walk_new(NULL, data->sides[i].tree, CPT_TREE_BY_NAME);
        if (data->walks[i] == NULL) {
            return false;
        }
    }
    if (data->names_walk == NULL) {
        return false;
    }
    data->row_count = cpt_tree_walk_count(data->names_walk);
    data->rows = calloc(data->row_count, sizeof *data->rows);
    if (data->rows == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < data->row_count; i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(data->names_walk, i);

        data->rows[i] = (struct row){.node = row->node, .parent = row->parent};
    }
    for (size_t i = 0; i < data->side_count; i++) {
        join(data, i);
    }
    return true;
}

/* Gives each row its change. false without memory. */
static bool find_changes(struct data *data, const struct cpt_diff *diff)
{
    uint32_t *by_node = calloc(data->row_count, sizeof *by_node);

    if (by_node == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < data->row_count; i++) {
        by_node[data->rows[i].node] = i;
    }
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        data->rows[by_node[row->node]].change = row;
    }
    data->rows[0].change = cpt_diff_total(diff);
    free(by_node);
    return true;
}

/* --- Histograms --- */

/* The range of the histogram of @row, which covers its times on all sides. Times that
 * hardly differ get a wider range, so that noise does not look like a broad spread. */
static void range_of(const struct data *data, const struct row *row, uint64_t *min_ns,
                     uint64_t *max_ns)
{
    *min_ns = UINT64_MAX;
    *max_ns = 0;
    for (size_t i = 0; i < data->side_count; i++) {
        if (row->sides[i] != NULL) {
            const struct cpt_stats stats =
                cpt_stats_of(data->sides[i].tree, row->sides[i]->node);

            if (stats.present_count != 0) {
                *min_ns = stats.min_ns < *min_ns ? stats.min_ns : *min_ns;
                *max_ns = stats.max_ns > *max_ns ? stats.max_ns : *max_ns;
            }
        }
    }
    if (*min_ns <= *max_ns && *max_ns - *min_ns < *min_ns / 5) {
        *min_ns -= *min_ns / 10;
        *max_ns += *max_ns / 10;
    }
}

/* Writes the shares of the requests that have @node, in BIN_COUNT bins of equal ratio
 * between @min_ns and @max_ns. A bucket that overlaps several bins is split in
 * proportion. */
static void put_bins(struct cpti_json *json, const struct cpt_tree *tree, uint32_t node,
                     uint64_t min_ns, uint64_t max_ns)
{
    const double begin = log((double)min_ns);
    const double scale = BIN_COUNT / (log((double)max_ns + 1) - begin);
    double bins[BIN_COUNT] = {0};

    for (size_t i = 0; i < cpt_stats_bucket_count(tree, node); i++) {
        const struct cpt_bucket bucket = cpt_stats_bucket(tree, node, i);
        const uint64_t low_ns = bucket.low_ns < min_ns ? min_ns : bucket.low_ns;
        const uint64_t high_ns = bucket.high_ns > max_ns ? max_ns : bucket.high_ns;
        const double low = (log((double)low_ns) - begin) * scale;
        const double high = (log((double)high_ns + 1) - begin) * scale;

        for (size_t at = (size_t)(low < 0 ? 0 : low);
             at < BIN_COUNT && (double)at < high; at++) {
            const double from = low > (double)at ? low : (double)at;
            const double to = high < (double)at + 1 ? high : (double)at + 1;

            bins[at] += to > from ? bucket.share * (to - from) / (high - low) : 0;
        }
    }
    cpti_json_open(json, "bins", '[');
    for (size_t i = 0; i < BIN_COUNT; i++) {
        cpti_json_rough(json, NULL, bins[i]);
    }
    cpti_json_close(json);
}

/* --- Writing rows --- */

static void put_side_of_row(struct cpti_json *json, const struct data *data,
                            const struct row *row, size_t side)
{
    const struct cpt_tree *tree = data->sides[side].tree;
    struct cpt_stats stats;
    uint64_t min_ns;
    uint64_t max_ns;

    if (row->sides[side] == NULL) {
        cpti_json_null(json, NULL);
        return;
    }
    stats = cpt_stats_of(tree, row->sides[side]->node);
    range_of(data, row, &min_ns, &max_ns);
    cpti_json_open(json, NULL, '{');
    cpti_json_unsigned(json, "self_ns", row->sides[side]->self_ns);
    cpti_json_unsigned(json, "inclusive_ns", row->sides[side]->inclusive_ns);
    cpti_interval_json(json, "low_ns", "high_ns", &stats.inclusive);
    cpti_json_rough(json, "presence", stats.presence);
    cpti_json_unsigned(json, "present_count", stats.present_count);
    cpti_json_ns(json, "present_mean_ns", stats.present_mean_ns);
    cpti_json_unsigned(json, "p50_ns",
                       cpt_stats_quantile_ns(tree, row->sides[side]->node, 0.5));
    cpti_json_unsigned(json, "p99_ns",
                       cpt_stats_quantile_ns(tree, row->sides[side]->node, 0.99));
    cpti_json_unsigned(json, "min_ns", stats.min_ns);
    cpti_json_unsigned(json, "max_ns", stats.max_ns);
    if (min_ns != 0 && max_ns >= min_ns) {
        put_bins(json, tree, row->sides[side]->node, min_ns, max_ns);
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

static void put_row(struct cpti_json *json, const struct data *data,
                    const struct row *row)
{
    const unsigned kind = cpt_tree_kind(data->names, row->node);
    const char *word = cpt_kind_word(kind);
    char text[CPT_TREE_FRAME_TEXT_BYTES];
    uint64_t min_ns;
    uint64_t max_ns;

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    if (row->parent == CPT_TREE_NONE) {
        cpti_json_null(json, "parent");
    } else {
        cpti_json_unsigned(json, "parent", data->rows[row->parent].number);
    }
    (void)cpt_tree_frame_text(data->names, row->node, text, sizeof text);
    cpti_json_text(json, "text", text);
    (void)cpt_text_name(cpt_tree_service(data->names, row->node), text, sizeof text);
    cpti_json_text(json, "service", text);
    cpti_json_text(json, "kind", word != NULL ? word : "unknown");
    range_of(data, row, &min_ns, &max_ns);
    if (min_ns <= max_ns) { /* the range of its bins */
        cpti_json_unsigned(json, "from_ns", min_ns);
        cpti_json_unsigned(json, "to_ns", max_ns);
    }
    cpti_json_open(json, "sides", '[');
    for (size_t i = 0; i < data->side_count; i++) {
        put_side_of_row(json, data, row, i);
    }
    cpti_json_close(json);
    if (row->change != NULL) {
        put_change(json, "self", &row->change->self);
        put_change(json, "inclusive", &row->change->inclusive);
        cpti_json_rough(json, "q_value", row->change->q_value);
        cpti_json_rough(json, "share_of_change", row->change->share);
        cpti_json_ns(json, "frequency_ns", row->change->frequency_ns);
        cpti_json_ns(json, "size_ns", row->change->size_ns);
        cpti_json_bool(json, "rare", row->change->is_rare);
        cpti_json_bool(json, "lost_path", row->change->lost_path);
    }
    cpti_json_close(json);
}

/* --- Writing examples --- */

static void put_frames(struct cpti_json *json, const struct cpt_path *path,
                       size_t frame_count)
{
    char text[CPTI_TEXT_BYTES];

    cpti_json_open(json, "frames", '[');
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const char *word = cpt_kind_word(frame->kind);

        cpti_json_open(json, NULL, '[');
        cpti_json_integer(
            json, NULL, frame->parent == CPT_FRAME_NONE ? -1 : (int64_t)frame->parent);
        (void)cpt_path_frame_text(path, i, text, sizeof text);
        cpti_json_text(json, NULL, text);
        (void)cpt_text_name(cpt_path_frame_service(path, i), text, sizeof text);
        cpti_json_text(json, NULL, text);
        cpti_json_text(json, NULL, word != NULL ? word : "unknown");
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

/* The time beyond the limits is written as one number, so that the sum stays right. */
static void put_path(struct cpti_json *json, const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path) < CPTI_HTML_SEGMENTS_MAX
                                   ? cpt_path_frame_count(path)
                                   : CPTI_HTML_SEGMENTS_MAX;
    uint64_t left_ns = cpt_path_sum_ns(path);
    char text[CPTI_TEXT_BYTES];

    put_frames(json, path, frame_count);
    cpti_json_open(json, "segments", '[');
    for (size_t i = 0; i < cpt_path_segment_count(path) && i < CPTI_HTML_SEGMENTS_MAX;
         i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (segment->frame >= frame_count) {
            break;
        }
        left_ns -= segment->duration_ns;
        cpti_json_open(json, NULL, '[');
        cpti_json_unsigned(json, NULL, segment->frame);
        cpti_json_unsigned(json, NULL, segment->duration_ns);
        cpti_path_remarks(path, i, text, sizeof text);
        if (text[0] != '\0') {
            cpti_json_text(json, NULL, text);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_unsigned(json, "rest_ns", left_ns);
}

static void put_example(struct cpti_json *json, const struct cpti_record_copy *kept)
{
    char text[64];

    if (kept == NULL) {
        cpti_json_null(json, "example");
        return;
    }
    cpti_json_open(json, "example", '{');
    cpti_json_text(json, "start", cpti_utc(kept->start_unix_ns, text));
    cpti_json_unsigned(json, "latency_ns", kept->latency_ns);
    cpti_json_text(json, "entry", kept->entry);
    cpti_json_text(json, "status", kept->status);
    cpti_json_text(json, "remarks", kept->remarks);
    cpti_json_text(json, "metadata", kept->metadata);
    put_path(json, kept->path);
    cpti_json_close(json);
}

/* --- Writing the whole --- */

static void put_side(struct cpti_json *json, const struct cpti_html_side *side)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "name", side->name);
    cpti_tree_json(json, side->tree);
    cpti_json_open(json, "bands", '[');
    for (size_t i = 0; i < CPTI_BAND_COUNT; i++) {
        const struct cpti_band band = cpti_band_of(side->bands, side->tree, i);

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_rough(json, "from", band.from);
        cpti_json_rough(json, "to", band.to);
        cpti_json_unsigned(json, "low_ns", band.low_ns);
        cpti_json_unsigned(json, "high_ns", band.high_ns);
        put_example(json, band.example);
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_close(json);
}

static void put_data(FILE *file, const struct data *data)
{
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "tool", "cpt " CPTI_VERSION);
    cpti_json_float(&json, "confidence", CONFIDENCE);
    cpti_json_open(&json, "sides", '[');
    for (size_t i = 0; i < data->side_count; i++) {
        put_side(&json, &data->sides[i]);
    }
    cpti_json_close(&json);
    cpti_json_unsigned(&json, "left_out", data->row_count - data->shown_count);
    cpti_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < data->row_count; i++) {
        if (data->rows[i].number != CPT_TREE_NONE) {
            put_row(&json, data, &data->rows[i]);
        }
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    cpti_json_close(&json);
}

int cpti_html_data(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                   const struct cpt_diff *diff)
{
    struct data data = {
        .sides = sides,
        .side_count = side_count,
        .names = diff != NULL ? cpt_diff_tree(diff) : sides[0].tree,
    };
    int status = CPTI_EXIT_DONE;

    assert(side_count <= SIDES_MAX);
    if (collect(&data) && (diff == NULL || find_changes(&data, diff)) &&
        choose(&data)) {
        put_data(file, &data);
    } else {
        status = cpti_failed("out of memory");
    }
    cpt_tree_walk_free(data.names_walk);
    for (size_t i = 0; i < side_count; i++) {
        cpt_tree_walk_free(data.walks[i]);
    }
    free(data.rows);
    return status;
}
