/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_random.h - random paths, and bytes changed at random; the same everywhere
 *
 * Threads: one.
 */
#ifndef CPTI_CONFORM_RANDOM_H
#define CPTI_CONFORM_RANDOM_H

#include "cpt/cpt_path.h"

#include <stdbool.h>

/* A generator of numbers (SplitMix64). */
struct cpti_conform_random {
    uint64_t state;
};

uint64_t cpti_conform_next(struct cpti_conform_random *random);

/* 0 … @limit - 1 */
uint64_t cpti_conform_below(struct cpti_conform_random *random, uint64_t limit);

/* A duration: of any magnitude up to 2^40 ns, often one that others have too. */
uint64_t cpti_conform_duration(struct cpti_conform_random *random);

/* A name, "S2: part 17" or odder, of at most @capacity - 1 bytes. Returns its bytes. */
size_t cpti_conform_name(struct cpti_conform_random *random, char *name,
                         size_t capacity);

/* The most frames and segments of a random path. */
struct cpti_conform_shape {
    size_t frames_max;
    size_t segments_max;
    bool is_odd; /* kinds and flags that no version knows, labels */
    bool has_drags;
};

/* Fills @path, which is empty. False: there is no memory. */
bool cpti_conform_path(struct cpti_conform_random *random,
                       const struct cpti_conform_shape *shape, struct cpt_path *path);

/* A nonce, or 0 in one of @none_of cases. */
uint64_t cpti_conform_nonce(struct cpti_conform_random *random, uint64_t none_of);

/* Changes some of @bytes at @data, which has room for @capacity. Returns the bytes. */
size_t cpti_conform_change(struct cpti_conform_random *random, unsigned char *data,
                           size_t bytes, size_t capacity);

#endif
