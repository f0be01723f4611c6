/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * population.h - exact percentiles of weighted latencies
 *
 * The p-th percentile is the smallest latency of the population such that the requests
 * up to it have p % of all weight: with equal weights, the nearest rank. Every latency
 * is kept, 16 bytes each, and sorted.
 */
#ifndef CPTI_CLI_POPULATION_H
#define CPTI_CLI_POPULATION_H

#include "cpt/cpt_status.h"

/* The most latencies of a population: 4 GiB. */
#define CPTI_POPULATION_MAX ((size_t)1 << 28)

struct cpti_latency {
    uint64_t latency_ns;
    uint64_t weight;
};

/* Zero at first. */
struct cpti_population {
    struct cpti_latency *latencies;
    size_t count;
    size_t capacity;
    size_t count_max; /* 0: CPTI_POPULATION_MAX */
};

void cpti_population_deinit(struct cpti_population *population);

/* Adds one. CPT_OK, CPT_NO_MEMORY, CPT_LIMIT. */
cpt_status cpti_population_add(struct cpti_population *population,
                               struct cpti_latency latency);

/* Sorts the latencies. Call it before cpti_population_percentile(). */
void cpti_population_sort(struct cpti_population *population);

/* The percentile @share, in millionths of a percent; 0 if the population is empty. */
uint64_t cpti_population_percentile(const struct cpti_population *population,
                                    uint64_t share);

#endif
