/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* bench.c - see bench.h. */
#include "tests/bench/bench.h"

#include "cpt/cpt_clock.h"

#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double quantile(double *sorted, size_t count, double q)
{
    return sorted[(size_t)(q * (double)(count - 1) + 0.5)];
}

static double time_ns(const struct bench_way *way, size_t count)
{
    const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    way->run(way->context, count);
    return (double)(cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns);
}

void bench_title(const char *title)
{
    printf("\n%s\n", title);
}

void bench_compare(const struct bench_way *baseline, const struct bench_way *other,
                   size_t count, size_t per_count, const char *unit)
{
    double base_ns[BENCH_ROUNDS];
    double other_ns[BENCH_ROUNDS];
    double ratios[BENCH_ROUNDS];
    const double things = (double)count * (double)per_count;

    (void)time_ns(baseline, count / 4 + 1);
    (void)time_ns(other, count / 4 + 1);
    for (size_t i = 0; i < BENCH_ROUNDS; i++) {
        if (i % 2 == 0) {
            base_ns[i] = time_ns(baseline, count);
            other_ns[i] = time_ns(other, count);
        } else {
            other_ns[i] = time_ns(other, count);
            base_ns[i] = time_ns(baseline, count);
        }
        ratios[i] = other_ns[i] / base_ns[i];
    }
    qsort(base_ns, BENCH_ROUNDS, sizeof(double), compare);
    qsort(other_ns, BENCH_ROUNDS, sizeof(double), compare);
    qsort(ratios, BENCH_ROUNDS, sizeof(double), compare);
    printf("  %-28s / %-24s %7.3f (%.3f … %.3f)  %9.1f / %.1f ns a %s\n", other->name,
           baseline->name, quantile(ratios, BENCH_ROUNDS, 0.5),
           quantile(ratios, BENCH_ROUNDS, 0.25), quantile(ratios, BENCH_ROUNDS, 0.75),
           quantile(other_ns, BENCH_ROUNDS, 0.5) / things,
           quantile(base_ns, BENCH_ROUNDS, 0.5) / things, unit);
    (void)fflush(stdout);
}
