/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wire_paths.h - paths for the tests of wire/: random ones, the one of the documents,
 * and text to compare them by
 */
#ifndef WIRE_PATHS_H
#define WIRE_PATHS_H

#include "cpt/cpt_path.h"

#include <stdbool.h>

/* A generator that gives the same numbers everywhere. */
struct dice {
    uint64_t state;
};

/* From CPT_TEST_SEED, or the clock; printed, so that a failure can be repeated. */
struct dice dice_new(const char *test);

/* 0 … @sides - 1 */
uint64_t dice_throw(struct dice *dice, uint64_t sides);

/* How random paths look. */
struct path_shape {
    size_t frames_max;
    size_t segments_max;
    size_t name_count; /* how many names there are to choose from */
    bool has_labels;
    bool is_odd; /* undefined kinds, reasons and flags, folded frames */
    bool has_drags;
};

/* Fills @path, which is empty. */
void random_path(struct dice *dice, const struct path_shape *shape,
                 struct cpt_path *path);

/* The path of one request that the documents show: 900 us in five segments. */
struct cpt_path *document_path(const struct cpt_alloc *alloc);

/*
 * The whole path as text, one line for each segment: "A: /;A: parse 200 x1 f0 r0
 * attempt=2 ~100", with the drag behind ~. The caller frees it with free().
 */
char *path_text(const struct cpt_path *path);

/* Whether both paths are equal. */
bool same_paths(const struct cpt_path *left, const struct cpt_path *right);

#endif
