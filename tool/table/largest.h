/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * largest.h - the largest of many pieces of an answer, in a number of bytes
 *
 *      pieces, as they come     kept, up to 20 bytes         printed
 *      9 ms: 8 bytes            9 ms                         9 ms, 7 ms
 *      3 ms: 8 bytes            9 ms, 3 ms                   (2 more, 4 ms)
 *      7 ms: 8 bytes            9 ms, 7 ms
 *      1 ms: 4 bytes            9 ms, 7 ms: a larger one was left out
 *
 * For answers whose pieces are too many to hold; those that are held are printed by
 * cpti_capped_print(). The kept pieces are always the largest: a small one does not
 * take the room that a larger one did not fit into, unless that alone exceeds the
 * limit. They are printed in the order in which they came, with the number and the sum
 * of the others below.
 *
 * Threads: one at a time; it exchanges `stdout`.
 */
#ifndef CPTI_CLI_LARGEST_H
#define CPTI_CLI_LARGEST_H

#include "tool/base/memory_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A piece. */
struct cpti_largest_piece {
    uint64_t size;
    uint64_t number; /* in the order of pieces, from 0 */
    char *text;
    size_t bytes;
};

/* Initialize with zero but for the first four. */
struct cpti_largest {
    uint64_t bytes_max;
    const char *separator;    /* printed between two pieces; NULL: none */
    void (*print_head)(void); /* printed above pieces on stdout; NULL: nothing */
    /* Prints what is left out on stdout. @sum is UINT64_MAX if it is not less. */
    void (*print_rest)(uint64_t count, uint64_t sum);

    struct cpti_largest_piece *pieces; /* a heap: the smallest first */
    size_t count;
    size_t capacity;
    uint64_t bytes;      /* of the kept ones */
    uint64_t met_count;  /* pieces so far */
    uint64_t left_count; /* those that are left out, and their sum */
    uint64_t left_sum;
    bool has_floor; /* up to @floor they are left out */
    uint64_t floor;
    struct cpti_memory_file piece; /* that is being printed */
    FILE *real;                    /* stdout meanwhile */
};

/* Whether a piece of this @size has a chance; if not, it is counted as left out. */
bool cpti_largest_wants(struct cpti_largest *largest, uint64_t size);

/* Begins a piece: from now on stdout is memory. And ends it. enum cpti_exit. */
int cpti_largest_begin(struct cpti_largest *largest);
int cpti_largest_end(struct cpti_largest *largest, uint64_t size);

/* A piece that is printed already. enum cpti_exit. */
int cpti_largest_add(struct cpti_largest *largest, uint64_t size, const char *text,
                     size_t bytes);

/* Prints the answer. If not even the answer without pieces fits, fails and says how
 * many bytes that takes. enum cpti_exit. */
int cpti_largest_print(struct cpti_largest *largest);

void cpti_largest_deinit(struct cpti_largest *largest);

#endif
