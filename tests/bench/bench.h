/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench.h - two ways of doing a thing, measured side by side
 *
 * The machine is noisy and its speed means nothing: what is printed is the ratio of two
 * ways, run one after the other many times in the same program run, as the median of
 * the rounds' ratios with the quarter points. The nanoseconds beside it are for the
 * eye.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

enum { BENCH_ROUNDS = 31, BENCH_ROUNDS_MAX = 101 };

struct bench_way {
    const char *name;
    /* Does it @count times. */
    void (*run)(void *context, size_t count);
    void *context;
};

/*
 * Runs @baseline and @other, each @count times a round, in alternating order, and
 * prints NAME / BASELINE   1.23 (1.20 … 1.27)   12.3 / 10.0 ns a UNIT where @per_count
 * things of @unit are done each time.
 */
void bench_compare(const struct bench_way *baseline, const struct bench_way *other,
                   size_t count, size_t per_count, const char *unit);

/* The heading of a group. */
void bench_title(const char *title);

#endif
