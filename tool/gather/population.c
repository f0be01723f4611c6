/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* population.c - exact percentiles of weighted latencies; see
 * population.h */
#include "tool/gather/population.h"

#include "cpt/cpt_alloc.h"

#include <stdlib.h>

/* A sum of 2^28 weights below 2^64, times 10^8, has up to 119 bits. */
__extension__ typedef unsigned __int128 u128;

#define SHARES_ALL UINT64_C(100000000)

void cpti_population_deinit(struct cpti_population *population)
{
    cpt_alloc_free(NULL, population->latencies);
    *population = (struct cpti_population){0};
}

cpt_status cpti_population_add(struct cpti_population *population,
                               struct cpti_latency latency)
{
    const size_t count_max =
        population->count_max != 0 ? population->count_max : CPTI_POPULATION_MAX;

    if (population->count == population->capacity) {
        const cpt_status status = cpt_alloc_grow(
            NULL, (void **)&population->latencies, &population->capacity,
            population->count + 1, count_max, sizeof *population->latencies);

        if (status != CPT_OK) {
            return status;
        }
    }
    population->latencies[population->count++] = latency;
    return CPT_OK;
}

static int compare(const void *left, const void *right)
{
    const struct cpti_latency *a = left;
    const struct cpti_latency *b = right;

    return (a->latency_ns > b->latency_ns) - (a->latency_ns < b->latency_ns);
}

void cpti_population_sort(struct cpti_population *population)
{
    if (population->count != 0) {
        qsort(population->latencies, population->count, sizeof *population->latencies,
              compare);
    }
}

uint64_t cpti_population_percentile(const struct cpti_population *population,
                                    uint64_t share)
{
    u128 total = 0;
    u128 sum = 0;
    size_t at = 0;

    if (population->count == 0) {
        return 0;
    }
    for (size_t i = 0; i < population->count; i++) {
        total += population->latencies[i].weight;
    }
    for (; at + 1 < population->count; at++) {
        sum += population->latencies[at].weight;
        if (sum * SHARES_ALL >= total * share) {
            break;
        }
    }
    return population->latencies[at].latency_ns;
}
