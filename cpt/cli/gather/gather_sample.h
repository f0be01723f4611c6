/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_sample.h - so many of a stream of records, each as likely as any other
 *
 * Algorithm R: the first n records fill a reservoir. Record i, from n + 1 on, draws a
 * number from 1 to i; if it is at most n, it takes the place of that one. At every
 * moment each record met so far is in the reservoir with probability n / i, for it came
 * in with that probability and stays with (i - 1) / i at each later step.
 *
 * A record that is kept keeps its weight: of two records, one traced with 1/1000 and
 * one with 1/10, both are as likely to be in the sample, and the first stands for a
 * hundred times as many requests there as it did before. What is kept is a copy of its
 * encoding, so memory is that of n records, whatever is read.
 *
 * The generator is splitmix64, seeded; the same seed and the same files in the same
 * order give the same sample on every machine.
 */
#ifndef CPTI_CLI_GATHER_SAMPLE_H
#define CPTI_CLI_GATHER_SAMPLE_H

#include "cpt/cpt_name.h"

/* A record that was drawn. */
struct cpti_sampled {
    unsigned char *data; /* what is kept of it; owned */
    size_t data_bytes;
    uint64_t number; /* from 1 on, of those met; set by cpti_sample_put() */
    uint64_t start_unix_ns;
    uint64_t weight;
};

struct cpti_sample {
    struct cpti_sampled *kept;
    size_t count;
    size_t capacity;
    size_t count_max;
    uint64_t met_count; /* records that could have been drawn */
    uint64_t random;    /* state of the generator */
};

/* An empty sample of at most @count_max, which is not 0. */
void cpti_sample_init(struct cpti_sample *sample, size_t count_max, uint64_t seed);
void cpti_sample_deinit(struct cpti_sample *sample);

/* A number from 0 to @bound - 1, each as likely; @bound is not 0. */
uint64_t cpti_sample_random(struct cpti_sample *sample, uint64_t bound);

/* Draws for the next record: its place, or SIZE_MAX if it is not kept. */
size_t cpti_sample_draw(struct cpti_sample *sample);

/* Puts a copy of @record and of its @data in @place, as just drawn. CPT_OK or
 * CPT_NO_MEMORY, and then the sample is as before. */
cpt_status cpti_sample_put(struct cpti_sample *sample, size_t place,
                           struct cpt_bytes data, const struct cpti_sampled *record);

#endif
