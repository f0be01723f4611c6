/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench.h - measures two ways side by side, and reports the result
 *
 * The machine is noisy and its speed does not matter: the result is the ratio of two
 * ways, run alternately many times in one run of the program, as the median of the
 * rounds' ratios with the quartiles. The nanoseconds beside it are only for
 * orientation.
 *
 * Every program begins with bench_begin() and ends with bench_end(); between them it
 * prints a table, and each figure is also noted. With --json the notes go to stdout and
 * the table to stderr; with --json=FILE the notes go to FILE and the table to stdout.
 * The notes are an array with one object on each line:
 *
 *      {"name": "bench_tasks: A chain: traced", "value": 13.2, "unit": "ns a task",
 *       "baseline": "untraced", "ratio": 1.45, "ratio_low": 1.44, "ratio_high": 1.47,
 *       "runs": 31}
 *
 * Without a baseline, it and the ratios are null.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

enum { BENCH_ROUNDS = 31, BENCH_ROUNDS_MAX = 101 };

/* --- For every program --- */

/*
 * Reads --json and --json=FILE and removes them from the arguments; other arguments
 * stay. @program is the prefix of all names. Ends the program if FILE cannot be opened.
 */
void bench_begin(const char *program, int *argument_count, char **arguments);

/* Writes the notes. The exit status of the program: 1 if they could not be written. */
int bench_end(void);

/* The heading of a group; it becomes part of the names that follow. */
void bench_title(const char *title);

/* One figure of a table. */
struct bench_figure {
    const char *name;
    double value;
    const char *unit;
    const char *baseline; /* NULL: none, and no ratio */
    double ratio;         /* the median of the runs' ratios, and the quartiles */
    double ratio_low;
    double ratio_high;
    size_t runs;
};

/* Notes and prints it. */
void bench_note(const struct bench_figure *figure);

/* A figure without a baseline, of one run. */
void bench_value(const char *name, double value, const char *unit);

/* --- Two ways --- */

struct bench_way {
    const char *name;
    /* Does the work @count times. */
    void (*run)(void *context, size_t count);
    void *context;
};

/*
 * Runs @baseline and @other, each @count times a round, in alternating order, and
 * notes NAME / BASELINE   1.23 (1.20 … 1.27)   12.3 / 10.0 ns a UNIT. Each time is
 * @per_count units of @unit.
 */
void bench_compare(const struct bench_way *baseline, const struct bench_way *other,
                   size_t count, size_t per_count, const char *unit);

/* --- For programs with their own rounds --- */

/* Quantile @q of @count numbers; sorts them. */
double bench_quantile(double *numbers, size_t count, double q);

/*
 * Notes the measurements of @runs rounds: @values, and @baseline_values of the same
 * rounds (NULL: none), each in @unit. Rounds with a NAN are left out; if none is left,
 * the table says so and nothing is noted.
 */
void bench_rounds(const char *name, const double *values, const char *unit,
                  const char *baseline, const double *baseline_values, size_t runs);

#endif
