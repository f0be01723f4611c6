/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sample.h - a random sample of a stream of records, each as likely as any other
 *
 * Algorithm R (Vitter 1985): the first n records fill a reservoir. For record i, from
 * n + 1 on, a number from 1 to i is drawn; if it is at most n, the record takes the
 * place of that number. At every moment each record met so far is in the reservoir with
 * probability n / i: it came in with that probability, and stays with (i - 1) / i at
 * each later step.
 *
 * A record keeps its weight. Two records, one traced with probability 1/1000 and one
 * with 1/10, are equally likely to be in the sample, and there, too, the first one
 * stands for a hundred times as many requests. The sample keeps a copy of the encoding,
 * so its memory is that of n records, however long the stream is.
 *
 * The generator is splitmix64. The same seed and the same files in the same order give
 * the same sample on every machine.
 */
#ifndef CPTI_CLI_SAMPLE_H
#define CPTI_CLI_SAMPLE_H

#include "cpt/cpt_name.h"

/* A record that was drawn. */
struct cpti_sampled {
    unsigned char *data; /* its encoding; owned */
    size_t data_bytes;
    uint64_t
        number; /* its place among those met, from 1 on; cpti_sample_put() sets it */
    uint64_t weight;
    uint64_t record_number; /* among those of all logs */
};

struct cpti_sample {
    struct cpti_sampled *kept;
    size_t count;
    size_t capacity;
    size_t count_max;
    uint64_t met_count; /* records that could have been drawn */
    uint64_t random;    /* state of the generator */
};

/* Makes an empty sample of at most @count_max records; not 0. */
void cpti_sample_init(struct cpti_sample *sample, size_t count_max, uint64_t seed);
void cpti_sample_deinit(struct cpti_sample *sample);

/* A random number below @bound, each as likely; @bound is not 0. */
uint64_t cpti_sample_random(struct cpti_sample *sample, uint64_t bound);

/* Draws for the next record. Its place, or SIZE_MAX if it is not in the sample. */
size_t cpti_sample_draw(struct cpti_sample *sample);

/* Puts a copy of @record and its @data in the @place that was just drawn. CPT_OK, or
 * CPT_NO_MEMORY and then the sample is as before. */
cpt_status cpti_sample_put(struct cpti_sample *sample, size_t place,
                           struct cpt_bytes data, const struct cpti_sampled *record);

#endif
