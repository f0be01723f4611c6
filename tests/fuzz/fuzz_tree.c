/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_tree.c - any bytes as a tree
 *
 * An accepted tree must be valid: it encodes to the same bytes again, and can be walked
 * and merged with a second decoding of itself. Length and checksum are corrected first,
 * because a fuzzer does not guess them.
 */
#include "tests/unit/aggregate/tree_patch.h"

#include "aggregate/cpt_gain.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* A skewness is unknown or possible, and an interval has its mean. */
static void check_mean(const struct cpt_mean *mean)
{
    double low = 0;
    double high = 0;

    must(!(mean->skewness < -1 || mean->skewness > 1));
    cpt_mean_interval(mean, 0.95, &low, &high);
    must(low <= mean->mean_ns && mean->mean_ns <= high);
}

/* Drags are at most times, and their errors can be computed. */
static void check_gain(const struct cpt_tree *tree, uint32_t node)
{
    const struct cpt_gain gain = cpt_gain_of(tree, node);

    check_mean(&gain.drag);
    check_mean(&gain.time);
    must(gain.drag.mean_ns <= gain.time.mean_ns);
    must(gain.known_count <= gain.present_count);
    must(gain.present_count <= cpt_gain_request_count(tree));
}

static void check_sound(struct cpt_tree *tree, const void *bytes, size_t count)
{
    const struct cpt_tree_options options = {.struct_bytes = sizeof options,
                                             .nodes_max = 1 << 16};
    struct cpt_tree *twin = NULL;
    struct cpt_tree_walk *walk = NULL;
    void *again = NULL;
    size_t again_count = 0;

    must(cpt_tree_encode(NULL, tree, &again, &again_count) == CPT_OK);
    must(again_count == count && memcmp(again, bytes, count) == 0);
    must(cpt_tree_decode(NULL, &options, bytes, count, &twin, NULL) == CPT_OK);
    must(cpt_tree_merge(tree, twin) == CPT_OK ||
         cpt_tree_request_count(twin) > CPT_TREE_REQUESTS_MAX / 2);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_TIME);
    must(walk != NULL);
    for (uint32_t i = 0; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_stats stats =
            cpt_stats_of(tree, cpt_tree_walk_row(walk, i)->node);

        must(stats.inclusive.mean_ns >= stats.self.mean_ns * 0.999);
        check_mean(&stats.self);
        check_mean(&stats.inclusive);
        check_gain(tree, cpt_tree_walk_row(walk, i)->node);
    }
    cpt_tree_walk_free(walk);
    cpt_alloc_free(NULL, again);
    cpt_tree_free(twin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cpt_tree_options options = {.struct_bytes = sizeof options,
                                             .nodes_max = 1 << 16};
    unsigned char *bytes = malloc(size + 1);
    struct cpt_tree *tree = NULL;

    must(bytes != NULL);
    if (size != 0) {
        memcpy(bytes, data, size);
    }
    patch_tree(bytes, size);
    if (cpt_tree_decode(NULL, &options, bytes, size, &tree, NULL) == CPT_OK) {
        check_sound(tree, bytes, size);
    }
    cpt_tree_free(tree);
    free(bytes);
    return 0;
}
