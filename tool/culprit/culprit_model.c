/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_model.c - samples as numbers; see culprit.h
 *
 * Only keys that both sets have are kept. They are ordered by their frames:
 *
 *      nodes     S  op  op  S→B  op  T  op
 *      keys         0   1        2      3
 *      frames    [ self(S) ][ S→B ][ self(T) ]
 */
#include "tool/culprit/culprit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is made on the way, by node. */
struct making {
    struct cpti_culprit *culprit;
    struct cpti_culprit_model *model;
    size_t node_count;
    uint64_t *counts[2];
    double *base_ns;     /* sum of the samples of the base */
    uint32_t *keys;      /* its number among the keys; CPT_FRAME_NONE: none */
    uint32_t *suspects;  /* of a service: its number */
    uint32_t *first;     /* of a frame: its first key among the children, … */
    uint32_t *next;      /* … and of a key, the next one */
    unsigned char *fell; /* of a key: too few of its visits are on the path */
};

/* --- Counting --- */

static bool is_key(const struct making *making, uint32_t node)
{
    const unsigned kind = cpt_path_frame(making->culprit->table, node)->kind;

    return kind == CPT_KIND_OTHER || kind == CPT_KIND_BLIND_SPOT;
}

static bool is_edge(const struct making *making, uint32_t node)
{
    return cpt_path_frame(making->culprit->table, node)->kind == CPT_KIND_NETWORK;
}

/* The service that the calls of edge @node go to; its node is there already. */
static uint32_t callee_of(const struct making *making, uint32_t node)
{
    struct cpt_path *table = making->culprit->table;
    uint32_t callee = node;

    (void)cpt_path_frame_add(table, CPT_FRAME_NONE, cpt_path_frame_name(table, node),
                             CPT_KIND_WORK, &callee);
    return callee;
}

/* The key of the visits that key @node is of: of a call's time, those of the callee. */
static uint32_t visits_of(const struct making *making, uint32_t node)
{
    struct cpt_path *table = making->culprit->table;
    const uint32_t parent = cpt_path_frame(table, node)->parent;
    uint32_t key = node;

    if (is_edge(making, parent)) { /* it is there already */
        (void)cpt_path_frame_add(table, callee_of(making, parent),
                                 cpt_path_frame_name(table, node), CPT_KIND_OTHER,
                                 &key);
    }
    return key;
}

static bool is_in_both(const struct making *making, uint32_t node)
{
    return making->counts[0][node] > 0 && making->counts[1][node] > 0;
}

static void count_samples(struct making *making)
{
    for (int set = 0; set < 2; set++) {
        const struct cpti_culprit_set *samples = &making->culprit->sets[set];

        for (size_t i = 0; i < samples->sample_count; i++) {
            const struct cpti_culprit_sample *sample = &samples->samples[i];

            making->counts[set][sample->key]++;
            if (set == 0) {
                making->base_ns[sample->key] += (double)sample->ns;
            }
        }
    }
}

/* The calls of a service: its visits, or the calls of it if they are more. */
static cpt_status count_calls(const struct making *making, int set, uint64_t *calls)
{
    const struct cpt_path *table = making->culprit->table;
    const struct cpt_alloc *alloc = making->culprit->alloc;
    uint64_t *of_edges =
        cpt_alloc_zeroed(alloc, (making->node_count + 1) * sizeof *of_edges);

    if (of_edges == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < making->node_count; i++) {
        const uint32_t parent = cpt_path_frame(table, i)->parent;

        if (is_key(making, i) && is_edge(making, parent)) {
            of_edges[callee_of(making, parent)] += making->counts[set][i];
        } else if (is_key(making, i)) {
            calls[parent] += making->counts[set][i];
        }
    }
    for (uint32_t i = 0; i < making->node_count; i++) {
        if (calls[i] < of_edges[i]) {
            calls[i] = of_edges[i];
        }
    }
    cpt_alloc_free(alloc, of_edges);
    return CPT_OK;
}

/* --- Frames and suspects --- */

static uint32_t suspect_of(struct making *making, uint32_t service)
{
    struct cpti_culprit *culprit = making->culprit;

    if (making->suspects[service] == CPT_FRAME_NONE) {
        making->suspects[service] = (uint32_t)culprit->suspect_count;
        making->model->nodes[culprit->suspect_count] = service;
        culprit->suspects[culprit->suspect_count++] = (struct cpti_suspect){
            .name = cpt_path_frame_name(culprit->table, service), .p = 1};
    }
    return making->suspects[service];
}

/* Whether the frame at @node has too few samples in a set. Of services it counts, as
 * they have many frames. */
static bool is_thin(const struct making *making, uint32_t node, bool is_missing)
{
    uint64_t counts[2] = {0, 0};

    for (uint32_t i = making->first[node]; i != CPT_FRAME_NONE; i = making->next[i]) {
        if (is_missing == (making->fell[visits_of(making, i)] != 0)) {
            counts[0] += making->counts[0][i];
            counts[1] += making->counts[1][i];
        }
    }
    return cpti_culprit_has_few_frames(making->culprit) &&
           (counts[0] < CPTI_CULPRIT_CALLS_MIN || counts[1] < CPTI_CULPRIT_CALLS_MIN);
}

/* Makes the frame of @node of those of its keys that are missing, or that are not. */
static void make_frame(struct making *making, uint32_t node, bool is_missing)
{
    const struct cpt_path *table = making->culprit->table;
    struct cpti_culprit_model *model = making->model;
    struct cpti_culprit_frame *frame = &model->frames[model->frame_count];
    const uint32_t key_count = model->key_count;

    for (uint32_t key = making->first[node]; key != CPT_FRAME_NONE;
         key = making->next[key]) {
        if (is_missing == (making->fell[visits_of(making, key)] != 0)) {
            making->keys[key] = model->key_count++;
        }
    }
    if (model->key_count == key_count) {
        return;
    }
    frame->from = suspect_of(
        making, is_edge(making, node) ? cpt_path_frame(table, node)->parent : node);
    frame->to =
        suspect_of(making, is_edge(making, node) ? callee_of(making, node) : node);
    frame->is_own = !is_edge(making, node);
    frame->is_thin = is_thin(making, node, is_missing);
    frame->is_missing = is_missing;
    frame->is_left_out = is_missing;
    frame->key_end = model->key_count;
    model->frame_count++;
}

/* Makes the frames of each node with keys of both sets. */
static void make_frames(struct making *making)
{
    const struct cpt_path *table = making->culprit->table;

    for (uint32_t i = (uint32_t)making->node_count; i-- > 0;) {
        if (is_key(making, i) && is_in_both(making, i)) {
            const uint32_t parent = cpt_path_frame(table, i)->parent;

            making->next[i] = making->first[parent];
            making->first[parent] = i;
        }
    }
    for (uint32_t i = 0; i < making->node_count; i++) {
        make_frame(making, i, false);
        make_frame(making, i, true);
    }
    making->model->suspect_count = (uint32_t)making->culprit->suspect_count;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The median over the frames of their mean in the base; at least 1 ns. Latencies, which
 * are no microseconds beside longer ones, need none. */
static cpt_status find_offset(struct making *making)
{
    const struct cpt_alloc *alloc = making->culprit->alloc;
    struct cpti_culprit_model *model = making->model;
    double *means = cpt_alloc_array(alloc, NULL, model->frame_count + 1, sizeof *means);
    uint32_t count = 0;

    if (means == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < making->node_count; i++) {
        double ns = 0;
        double samples = 0;

        for (uint32_t k = making->first[i]; k != CPT_FRAME_NONE; k = making->next[k]) {
            ns += making->base_ns[k];
            samples += (double)making->counts[0][k];
        }
        if (samples > 0) {
            means[count++] = ns / samples;
        }
    }
    if (count > 0 && making->culprit->by != CPTI_CULPRIT_BY_ATTRIBUTE) {
        qsort(means, count, sizeof *means, compare_doubles);
        model->c = (means[(count - 1) / 2] + means[count / 2]) / 2;
    }
    model->c = model->c > 1 ? model->c : 1;
    cpt_alloc_free(alloc, means);
    return CPT_OK;
}

/* Puts the keys in the order of their @operations. */
static void sort_peers(struct cpti_culprit_model *model, const uint32_t *operations)
{
    uint32_t *ends = model->peer_ends; /* first the beginnings */
    uint32_t before = 0;

    for (uint32_t key = 0; key < model->key_count; key++) {
        ends[operations[key]]++;
    }
    for (uint32_t i = 0; i < model->operation_count; i++) {
        const uint32_t count = ends[i];

        ends[i] = before;
        before += count;
    }
    for (uint32_t key = 0; key < model->key_count; key++) {
        model->peers[ends[operations[key]]++] = key;
    }
}

/* Finds which values of an attribute have which operation. CPT_OK; CPT_NO_MEMORY;
 * CPT_LIMIT. */
static cpt_status find_peers(const struct making *making)
{
    const struct cpti_culprit *culprit = making->culprit;
    const struct cpt_alloc *alloc = culprit->alloc;
    struct cpti_culprit_model *model = making->model;
    const size_t room = model->key_count + 1;
    struct cpt_path *names = cpt_path_new(alloc); /* a table of operations */
    uint32_t *operations = cpt_alloc_array(alloc, NULL, room, sizeof *operations);
    cpt_status status;

    model->peers = cpt_alloc_array(alloc, NULL, room, sizeof *model->peers);
    model->peer_ends = cpt_alloc_zeroed(alloc, room * sizeof *model->peer_ends);
    status = names != NULL && operations != NULL && model->peers != NULL &&
                     model->peer_ends != NULL
                 ? CPT_OK
                 : CPT_NO_MEMORY;
    for (uint32_t i = 0; i < making->node_count && status == CPT_OK; i++) {
        if (making->keys[i] != CPT_FRAME_NONE) {
            status = cpt_path_frame_add(names, CPT_FRAME_NONE,
                                        cpt_path_frame_name(culprit->table, i),
                                        CPT_KIND_WORK, &operations[making->keys[i]]);
        }
    }
    if (status == CPT_OK) {
        model->operation_count = (uint32_t)cpt_path_frame_count(names);
        sort_peers(model, operations);
    }
    cpt_alloc_free(alloc, operations);
    cpt_path_free(names);
    return status;
}

/* --- Cells --- */

static int compare_samples(const void *left, const void *right)
{
    const struct cpti_culprit_sample *a = left;
    const struct cpti_culprit_sample *b = right;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Brings together the samples of each request that have one key. */
static cpt_status make_cells(struct making *making, int index)
{
    const struct cpt_alloc *alloc = making->culprit->alloc;
    struct cpti_culprit_set *set = &making->culprit->sets[index];
    struct cpti_culprit_cells *cells = &making->model->sets[index];
    size_t count = 0;

    cells->cells =
        cpt_alloc_array(alloc, NULL, set->sample_count + 1, sizeof *cells->cells);
    cells->ends =
        cpt_alloc_array(alloc, NULL, set->request_count + 1, sizeof *cells->ends);
    if (cells->cells == NULL || cells->ends == NULL) {
        return CPT_NO_MEMORY;
    }
    cells->request_count = set->request_count;
    for (size_t request = 0, i = 0; request < set->request_count; request++) {
        const size_t end = set->ends[request];
        uint32_t last = CPT_FRAME_NONE;

        if (end > i) {
            qsort(&set->samples[i], end - i, sizeof *set->samples, compare_samples);
        }
        for (; i < end; i++) {
            const uint32_t key = making->keys[set->samples[i].key];

            if (key == CPT_FRAME_NONE) {
                continue;
            }
            if (key != last) {
                cells->cells[count++] = (struct cpti_culprit_cell){.key = key};
                last = key;
            }
            cells->cells[count - 1].count++;
            cells->cells[count - 1].ns += (double)set->samples[i].ns;
            cells->cells[count - 1].y +=
                log((double)set->samples[i].ns + making->model->c);
        }
        cells->ends[request] = count;
    }
    return CPT_OK;
}

/* --- Who cannot be judged --- */

static void note_calls(struct making *making, uint64_t *calls[2])
{
    struct cpti_culprit *culprit = making->culprit;

    for (uint32_t i = 0; i < making->node_count; i++) {
        const bool is_service =
            cpt_path_frame(culprit->table, i)->parent == CPT_FRAME_NONE;
        const uint32_t suspect = making->suspects[i];

        if (suspect != CPT_FRAME_NONE) {
            culprit->suspects[suspect].calls[0] = calls[0][i];
            culprit->suspects[suspect].calls[1] = calls[1][i];
        }
        if (is_service && (calls[0][i] < CPTI_CULPRIT_CALLS_MIN ||
                           calls[1][i] < CPTI_CULPRIT_CALLS_MIN)) {
            if (suspect != CPT_FRAME_NONE && cpti_culprit_has_few_frames(culprit)) {
                making->model->thin[suspect] = 1;
            }
            culprit->unjudged[culprit->unjudged_count++] =
                (struct cpti_unjudged){.name = cpt_path_frame_name(culprit->table, i),
                                       .calls = {calls[0][i], calls[1][i]}};
        }
    }
}

/* --- All of it --- */

static cpt_status allocate(struct making *making, uint64_t *calls[2])
{
    struct cpti_culprit *culprit = making->culprit;
    const struct cpt_alloc *alloc = culprit->alloc;
    const size_t count = making->node_count + 1;
    bool is_whole = true;

    for (int i = 0; i < 2; i++) {
        making->counts[i] = cpt_alloc_zeroed(alloc, count * sizeof *making->counts[i]);
        calls[i] = cpt_alloc_zeroed(alloc, count * sizeof *calls[i]);
        is_whole = is_whole && making->counts[i] != NULL && calls[i] != NULL;
    }
    making->base_ns = cpt_alloc_zeroed(alloc, count * sizeof *making->base_ns);
    making->keys = cpt_alloc_array(alloc, NULL, count, sizeof *making->keys);
    making->suspects = cpt_alloc_array(alloc, NULL, count, sizeof *making->suspects);
    making->first = cpt_alloc_array(alloc, NULL, count, sizeof *making->first);
    making->next = cpt_alloc_array(alloc, NULL, count, sizeof *making->next);
    making->model->frames =
        cpt_alloc_zeroed(alloc, 2 * count * sizeof *making->model->frames);
    making->model->thin = cpt_alloc_zeroed(alloc, count);
    making->model->nodes = cpt_alloc_zeroed(alloc, count * sizeof(uint32_t));
    making->model->rose = cpt_alloc_zeroed(alloc, count);
    making->fell = cpt_alloc_zeroed(alloc, count);
    culprit->suspects = cpt_alloc_zeroed(alloc, count * sizeof *culprit->suspects);
    culprit->unjudged = cpt_alloc_zeroed(alloc, count * sizeof *culprit->unjudged);
    is_whole = is_whole && making->fell != NULL && making->model->nodes != NULL &&
               making->model->rose != NULL;
    if (!is_whole || making->base_ns == NULL || making->keys == NULL ||
        making->suspects == NULL || making->first == NULL || making->next == NULL ||
        making->model->frames == NULL || making->model->thin == NULL ||
        culprit->suspects == NULL || culprit->unjudged == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        making->keys[i] = CPT_FRAME_NONE;
        making->suspects[i] = CPT_FRAME_NONE;
        making->first[i] = CPT_FRAME_NONE;
        making->next[i] = CPT_FRAME_NONE;
    }
    return CPT_OK;
}

cpt_status cpti_culprit_model_make(struct cpti_culprit *culprit)
{
    struct making making = {.culprit = culprit,
                            .model = &culprit->model,
                            .node_count = cpt_path_frame_count(culprit->table)};
    const struct cpt_alloc *alloc = culprit->alloc;
    uint64_t *calls[2] = {NULL, NULL};
    cpt_status status = allocate(&making, calls);

    if (status == CPT_OK) {
        count_samples(&making);
        status = count_calls(&making, 0, calls[0]);
    }
    if (status == CPT_OK) {
        status = count_calls(&making, 1, calls[1]);
    }
    if (status == CPT_OK && !culprit->has_all_visits) {
        status = cpti_culprit_find_missing(culprit, making.counts, making.fell);
    }
    if (status == CPT_OK) {
        status = cpti_culprit_find_calls(culprit, making.counts);
    }
    if (status == CPT_OK) {
        make_frames(&making);
        note_calls(&making, calls);
        status = find_offset(&making);
    }
    if (status == CPT_OK && culprit->by == CPTI_CULPRIT_BY_ATTRIBUTE) {
        status = find_peers(&making);
    }
    for (int i = 0; i < 2; i++) {
        status = status == CPT_OK ? make_cells(&making, i) : status;
        cpt_alloc_free(alloc, making.counts[i]);
        cpt_alloc_free(alloc, calls[i]);
    }
    cpt_alloc_free(alloc, making.base_ns);
    cpt_alloc_free(alloc, making.keys);
    cpt_alloc_free(alloc, making.suspects);
    cpt_alloc_free(alloc, making.first);
    cpt_alloc_free(alloc, making.next);
    cpt_alloc_free(alloc, making.fell);
    return status;
}

void cpti_culprit_model_deinit(struct cpti_culprit_model *model,
                               const struct cpt_alloc *alloc)
{
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, model->sets[i].cells);
        cpt_alloc_free(alloc, model->sets[i].ends);
    }
    cpt_alloc_free(alloc, model->frames);
    cpt_alloc_free(alloc, model->thin);
    cpt_alloc_free(alloc, model->nodes);
    cpt_alloc_free(alloc, model->peers);
    cpt_alloc_free(alloc, model->peer_ends);
    cpt_alloc_free(alloc, model->rose);
    cpt_alloc_free(alloc, model->calls);
}
