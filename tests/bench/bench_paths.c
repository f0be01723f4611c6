/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_paths.c - how fast paths are logged, read and aggregated
 *
 * The baseline is copying the same path in memory, the cost of passing a path on.
 */
#include "tests/bench/bench.h"

#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Paths --- */

/* @segments segments over stacks of @depth frames: ten leaves below one chain. */
static struct cpt_path *make_path(size_t segments, size_t depth)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t parent = CPT_FRAME_NONE;
    uint32_t leaf = 0;
    char name[64];

    for (size_t i = 0; i + 1 < depth; i++) {
        (void)snprintf(name, sizeof name, "Service%zu: HandleRequest", i);
        (void)cpt_path_frame_add(path, parent, cpt_bytes_of(name), CPT_KIND_WORK,
                                 &parent);
    }
    for (size_t i = 0; i < segments; i++) {
        (void)snprintf(name, sizeof name, "Service%zu: Component%zu", depth, i % 10);
        (void)cpt_path_frame_add(path, parent, cpt_bytes_of(name), CPT_KIND_WORK,
                                 &leaf);
        (void)cpt_path_append_ns(path, leaf, 1000 + i * 7919 % 900000);
    }
    return path;
}

/* --- Speeds --- */

struct work {
    struct cpt_path *path;
    struct cpt_path *other;
    struct cpt_log_block *block;
    struct cpt_tree *tree;
    struct cpt_log_shapes *shapes;
    struct cpt_record record;
    unsigned char *data;
    size_t bytes;
};

static void copy_paths(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        cpt_path_reset(work->other);
        (void)cpt_path_copy(work->other, work->path);
    }
}

static void log_records(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        unsigned char *data = NULL;
        size_t bytes = 0;

        if (cpt_record_encode(&work->record, NULL, &data, &bytes, NULL) != CPT_OK) {
            abort();
        }
        if (cpt_log_block_add(work->block, data, bytes) == CPT_LIMIT) {
            (void)cpt_log_block_finish(work->block);
            (void)cpt_log_block_add(work->block, data, bytes);
        }
        cpt_alloc_free(NULL, data);
    }
}

static void decode_paths(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        cpt_path_reset(work->other);
        if (cpt_metadata_decode(work->data, work->bytes, NULL, work->other, NULL) !=
            CPT_OK) {
            abort();
        }
    }
}

static void aggregate_paths(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        if (cpt_tree_add(work->tree, work->path, CPT_WEIGHT_ONE) != CPT_OK) {
            abort();
        }
    }
}

/* Encoded paths of known frames: without decoding the path. */
static void aggregate_times(void *context, size_t count)
{
    struct work *work = context;
    const struct cpt_record record = {
        .latency_ns = cpt_path_sum_ns(work->path),
        .path_bytes = {(const char *)work->data, work->bytes}};
    struct cpt_log_times times;
    uint64_t shape = 0;

    for (size_t i = 0; i < count; i++) {
        while (cpt_log_shapes_find(work->shapes, &record, &times) != CPT_OK) {
            if (cpt_log_shapes_keep(work->shapes, &record, work->path, &shape) ==
                    CPT_OK &&
                cpt_tree_shape_keep(work->tree, shape, work->path) != CPT_OK) {
                abort();
            }
        }
        if (cpt_tree_shape_add(work->tree, times.shape, times.self_ns,
                               CPT_WEIGHT_ONE) != CPT_OK) {
            abort();
        }
    }
}

static void compare_speeds(size_t segments, size_t depth)
{
    struct work work = {.path = make_path(segments, depth),
                        .other = cpt_path_new(NULL),
                        .block = cpt_log_block_new(NULL, 0),
                        .tree = cpt_tree_new(NULL, NULL),
                        .shapes = cpt_log_shapes_new(NULL)};
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    const struct bench_way copy = {"copying the path", copy_paths, &work};
    const struct bench_way others[] = {
        {"logging a record", log_records, &work},
        {"decoding a path", decode_paths, &work},
        {"aggregating a path", aggregate_paths, &work},
        {"decoding and aggregating times", aggregate_times, &work}};
    char title[64];

    (void)snprintf(title, sizeof title, "Paths of %zu segments, depth %zu", segments,
                   depth);
    bench_title(title);
    work.record = (struct cpt_record){.start_unix_ns = 1700000000000000000u,
                                      .latency_ns = cpt_path_sum_ns(work.path),
                                      .probability = 0.001,
                                      .service = cpt_bytes_of("A"),
                                      .method = cpt_bytes_of("/"),
                                      .entry = cpt_bytes_of("A: /"),
                                      .status = cpt_bytes_of("ok"),
                                      .is_random = 1,
                                      .path = work.path};
    if (cpt_metadata_encode(work.path, &options, &work.data, &work.bytes, NULL) ==
        CPT_OK) {
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            bench_compare(&copy, &others[i], 200000 / segments, 1, "path");
        }
    }
    cpt_alloc_free(NULL, work.data);
    cpt_tree_free(work.tree);
    cpt_log_shapes_free(work.shapes);
    cpt_log_block_free(work.block);
    cpt_path_free(work.other);
    cpt_path_free(work.path);
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_paths", &argument_count, arguments);
    compare_speeds(10, 5);
    compare_speeds(200, 10);
    compare_speeds(1000, 10);
    return bench_end();
}
