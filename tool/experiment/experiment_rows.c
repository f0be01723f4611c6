/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* experiment_rows.c - see experiment_rows.h */
#include "tool/experiment/experiment_rows.h"

#include "cpt/cpt_path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

/* --- Rows --- */

void cpti_experiment_rows_free(struct cpti_experiment_rows *rows)
{
    for (size_t i = 0; i < rows->row_count; i++) {
        free(rows->rows[i].frame);
        cpt_tree_free(rows->rows[i].plain);
        cpt_tree_free(rows->rows[i].delayed);
    }
    cpt_alloc_free(NULL, rows->rows);
    cpt_path_free(rows->path);
    *rows = (struct cpti_experiment_rows){0};
}

static bool is_row(const struct cpti_experiment_row *row, struct cpt_bytes frame,
                   uint64_t delta_ns, bool burns)
{
    return row->delta_ns == delta_ns && row->burns == burns &&
           cpt_bytes_equal(cpt_bytes_of(row->frame), frame);
}

/* The row, new if there was none; its requests come one after the other, so it is often
 * the last. */
static cpt_status row_of(struct cpti_experiment_rows *rows, struct cpt_bytes frame,
                         uint64_t delta_ns, bool burns,
                         struct cpti_experiment_row **found)
{
    struct cpti_experiment_row *row = NULL;
    cpt_status status = CPT_OK;

    for (size_t i = rows->row_count; i-- > 0;) {
        if (is_row(&rows->rows[i], frame, delta_ns, burns)) {
            *found = &rows->rows[i];
            return CPT_OK;
        }
    }
    status = cpt_alloc_grow(NULL, (void **)&rows->rows, &rows->row_capacity,
                            rows->row_count + 1, CPTI_EXPERIMENT_ROWS_MAX,
                            sizeof *rows->rows);
    if (status != CPT_OK) {
        return status;
    }
    row = &rows->rows[rows->row_count];
    *row = (struct cpti_experiment_row){.delta_ns = delta_ns,
                                        .burns = burns,
                                        .frame = calloc(1, frame.bytes + 1),
                                        .plain = cpt_tree_new(NULL, NULL),
                                        .delayed = cpt_tree_new(NULL, NULL)};
    rows->row_count++; /* what was made is freed in any case */
    if (row->frame == NULL || row->plain == NULL || row->delayed == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(row->frame, frame.data, frame.bytes);
    *found = row;
    return CPT_OK;
}

/* --- Records --- */

static const struct cpt_attribute *attribute_of(const struct cpt_attribute *attributes,
                                                size_t count, const char *key,
                                                unsigned type)
{
    for (size_t i = 0; i < count; i++) {
        if (attributes[i].type == type &&
            cpt_bytes_equal(attributes[i].key, cpt_bytes_of(key))) {
            return &attributes[i];
        }
    }
    return NULL;
}

static bool is_text(const struct cpt_attribute *attribute, const char *text)
{
    return attribute != NULL &&
           cpt_bytes_equal(attribute->value.text, cpt_bytes_of(text));
}

static cpt_status add_latency(struct cpti_experiment_rows *rows, struct cpt_tree *tree,
                              uint64_t latency_ns, cpt_weight weight)
{
    uint32_t frame = 0;
    cpt_status status = CPT_OK;

    if (rows->path == NULL) {
        rows->path = cpt_path_new(NULL);
        if (rows->path == NULL) {
            return CPT_NO_MEMORY;
        }
    }
    cpt_path_reset(rows->path);
    status = cpt_path_frame_add(rows->path, CPT_FRAME_NONE, cpt_bytes_of("request"),
                                CPT_KIND_WORK, &frame);
    if (status == CPT_OK) {
        status = cpt_path_append_ns(rows->path, frame, latency_ns);
    }
    return status == CPT_OK ? cpt_tree_add(tree, rows->path, weight) : status;
}

cpt_status cpti_experiment_rows_add(struct cpti_experiment_rows *rows,
                                    const struct cpt_record *record, cpt_weight weight)
{
    const struct cpt_attribute *all = record->attributes;
    const size_t count = record->attribute_count;
    const struct cpt_attribute *frame =
        attribute_of(all, count, "experiment", CPT_ATTRIBUTE_TEXT);
    const struct cpt_attribute *arm =
        attribute_of(all, count, "experiment_arm", CPT_ATTRIBUTE_TEXT);
    const struct cpt_attribute *ns =
        attribute_of(all, count, "experiment_ns", CPT_ATTRIBUTE_INTEGER);
    const struct cpt_attribute *probability =
        attribute_of(all, count, "experiment_probability", CPT_ATTRIBUTE_FLOAT);
    const bool is_delayed = is_text(arm, "delayed");
    struct cpti_experiment_row *row = NULL;
    cpt_status status = CPT_OK;

    if (frame == NULL) {
        rows->others_count++;
        return CPT_OK;
    }
    if (probability != NULL) {
        weight = cpt_weight_of_probability(probability->value.real);
    }
    if (ns == NULL || ns->value.integer <= 0 || weight == 0 ||
        (!is_delayed && !is_text(arm, "plain"))) {
        rows->malformed_count++;
        return CPT_OK;
    }
    status =
        row_of(rows, frame->value.text, (uint64_t)ns->value.integer,
               is_text(attribute_of(all, count, "experiment_kind", CPT_ATTRIBUTE_TEXT),
                       "burn"),
               &row);
    if (status == CPT_OK) {
        status = add_latency(rows, is_delayed ? row->delayed : row->plain,
                             record->latency_ns, weight);
    }
    rows->request_count += status == CPT_OK;
    return status;
}

/* --- Graphs --- */

static bool ends_with(struct cpt_bytes text, const char *end)
{
    const size_t bytes = strlen(end);

    return text.bytes >= bytes &&
           memcmp(text.data + text.bytes - bytes, end, bytes) == 0;
}

/* Whether the request was delayed itself: it says so, or waited as an experiment
 * does. */
static bool is_delayed_graph(const struct cpti_kept_graph *graph)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;

    if (is_text(attribute_of(graph->attributes, graph->attribute_count,
                             "experiment_arm", CPT_ATTRIBUTE_TEXT),
                "delayed")) {
        return true;
    }
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        if (ends_with(recorded->frames[i].name, ": experiment")) {
            return true;
        }
    }
    return false;
}

/* Adds @delta_ns to the first step of each task of @frame; how many there were. */
static size_t delay_tasks(const struct cpt_dag_recorded *recorded, const char *frame,
                          uint64_t delta_ns, uint64_t *durations)
{
    const struct cpt_dag_shape *shape = &recorded->shape;
    const struct cpt_bytes name = cpt_bytes_of(frame);
    uint32_t last_line = CPT_DAG_NONE;
    size_t count = 0;

    for (size_t i = 0; i < shape->node_count; i++) {
        const struct cpt_dag_node *node = &shape->nodes[i];
        const struct cpt_dag_line *own = &recorded->lines[recorded->node_lines[i]];
        const uint32_t line =
            own->occurrence != 0 ? own->occurrence - 1 : recorded->node_lines[i];

        durations[i] = node->duration_ns;
        if (line == last_line || node->kind != CPT_DAG_STEP ||
            !cpt_bytes_equal(recorded->frames[node->frame].name, name)) {
            continue;
        }
        last_line = line;
        durations[i] += delta_ns;
        count++;
    }
    return count;
}

static void add_prediction(struct cpti_prediction *to, double weight, double x,
                           bool is_present)
{
    to->request_count++;
    to->present_count += is_present;
    to->weight += weight;
    to->sum += weight * x;
    to->weight2 += weight * weight;
    to->sum2x += weight * weight * x;
    to->sum2xx += weight * weight * x * x;
}

cpt_status cpti_experiment_rows_predict(void *context,
                                        const struct cpti_kept_graph *graph)
{
    struct cpti_experiment_rows *rows = context;
    const double weight = graph->probability > 0 ? 1 / graph->probability : 1;
    uint64_t *durations = NULL;
    cpt_status status = CPT_OK;

    if (is_delayed_graph(graph)) {
        rows->delayed_graph_count++;
        return CPT_OK;
    }
    durations = cpt_alloc_array(NULL, NULL, graph->recorded->shape.node_count + 1,
                                sizeof *durations);
    if (durations == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < rows->row_count && status == CPT_OK; i++) {
        struct cpti_experiment_row *row = &rows->rows[i];
        uint64_t latency_ns = cpt_dag_latency_ns(graph->dag);
        const uint64_t before_ns = latency_ns;
        const size_t count =
            delay_tasks(graph->recorded, row->frame, row->delta_ns, durations);

        if (count != 0) {
            status = cpt_dag_replay(graph->dag, durations, NULL, &latency_ns);
        }
        if (status == CPT_OK) {
            add_prediction(&row->predicted, weight,
                           (double)(latency_ns - before_ns) / (double)row->delta_ns,
                           count != 0);
        }
    }
    cpt_alloc_free(NULL, durations);
    rows->graph_count += status == CPT_OK;
    return status;
}

/* --- The comparison --- */

static void predict(struct cpti_experiment_row *row)
{
    const struct cpti_prediction *sums = &row->predicted;
    const double count = (double)sums->request_count;
    const double mean = sums->weight > 0 ? sums->sum / sums->weight : 0;
    const double square =
        sums->sum2xx - 2 * mean * sums->sum2x + mean * mean * sums->weight2;

    row->is_predicted = sums->present_count != 0;
    row->prediction = mean;
    row->prediction_error =
        sums->request_count < 2
            ? NAN
            : sqrt(fmax(square, 0) * count / (count - 1)) / sums->weight;
}

/* Timers fire late, and a delayed task no longer takes a worker from others: both are
 * a few hundredths, which enough requests tell from nothing. */
static const double tolerance = 0.05;

/* Whether measured and predicted differ by no more than chance does, and tolerance. */
static bool agrees(const struct cpti_experiment_row *row, double error, double degrees)
{
    const struct cpti_prediction *sums = &row->predicted;
    const double own = error * error;
    const double other = row->prediction_error * row->prediction_error;
    const double others = sums->weight * sums->weight / sums->weight2 - 1;
    double low = 0;
    double high = 0;

    if (other > 0 && others > 0) { /* Welch and Satterthwaite */
        degrees = (own + other) * (own + other) /
                  (own * own / degrees + other * other / others);
    }
    cpt_interval(row->sensitivity - row->prediction, sqrt(own + other), 0, degrees,
                 CONFIDENCE, &low, &high);
    return low <= tolerance && high >= -tolerance;
}

static cpt_status compare(struct cpti_experiment_row *row)
{
    struct cpt_diff *diff = NULL;
    cpt_status status = CPT_OK;
    const double delta_ns = (double)row->delta_ns;

    row->plain_count = cpt_tree_request_count(row->plain);
    row->delayed_count = cpt_tree_request_count(row->delayed);
    row->p_value = 1;
    row->q_value = 1;
    row->doubt = "";
    predict(row);
    row->is_measured = row->plain_count > 1 && row->delayed_count > 1;
    if (!row->is_measured) {
        return CPT_OK;
    }
    status = cpt_diff_new(NULL, row->plain, row->delayed, NULL, &diff, NULL);
    if (status == CPT_OK) {
        const struct cpt_diff_row *total = cpt_diff_total(diff);
        const struct cpt_change *change = &total->inclusive;

        row->sensitivity = change->delta_ns / delta_ns;
        row->low = change->low_ns / delta_ns;
        row->high = change->high_ns / delta_ns;
        row->p_value = change->p_value;
        row->doubt = cpt_diff_doubt_text(total->doubt);
        row->is_compared = row->is_predicted && !isnan(row->prediction_error);
        row->agrees = row->is_compared &&
                      agrees(row, change->error_ns / delta_ns, change->degrees);
        cpt_diff_free(diff);
    }
    return status;
}

static int by_sensitivity(const void *left, const void *right)
{
    const struct cpti_experiment_row *a = left;
    const struct cpti_experiment_row *b = right;

    if (a->is_measured != b->is_measured) {
        return a->is_measured ? -1 : 1;
    }
    if (a->sensitivity != b->sensitivity) {
        return a->sensitivity > b->sensitivity ? -1 : 1;
    }
    if (strcmp(a->frame, b->frame) != 0) {
        return strcmp(a->frame, b->frame);
    }
    if (a->delta_ns != b->delta_ns) {
        return a->delta_ns < b->delta_ns ? -1 : 1;
    }
    return a->burns - b->burns;
}

cpt_status cpti_experiment_rows_finish(struct cpti_experiment_rows *rows)
{
    const size_t count = rows->row_count;
    double *values = calloc(2 * count + 1, sizeof *values);
    cpt_status status = values != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = compare(&rows->rows[i]);
        values[i] = rows->rows[i].p_value;
    }
    if (status == CPT_OK && count != 0) {
        status = cpt_stats_q_values(NULL, values, values + count, count);
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        rows->rows[i].q_value = values[count + i];
    }
    if (status == CPT_OK && count != 0) {
        qsort(rows->rows, count, sizeof *rows->rows, by_sensitivity);
    }
    free(values);
    return status;
}
