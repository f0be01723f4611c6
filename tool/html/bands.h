/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bands.h - an example request for each band of latency
 *
 * An average is not a request. While a log is read, a few real requests are kept: the
 * first one in each small range of latencies. When the distribution is known, each band
 * gets the one nearest to its middle:
 *
 *      band       0 to 50 %    50 to 90 %    90 to 99 %    99 to 100 %
 *      example    that near 25 %    70 %          94.5 %        99.5 %
 *
 * In order of use: cpti_bands_meet for each request; cpti_band_of for each band;
 * cpti_bands_deinit.
 */
#ifndef CPTI_CLI_BANDS_H
#define CPTI_CLI_BANDS_H

#include "tool/print/record_copy.h"

#include <stdbool.h>
#include <stddef.h>

struct cpt_tree;

/* The number of ranges of latency, 32 for each power of two below 2^64, and of
 * bands. */
enum { CPTI_BAND_RANGES = 64 * 32, CPTI_BAND_COUNT = 4 };

/* The most segments of all kept requests together: about 100 MB. */
enum { CPTI_BAND_SEGMENTS_MAX = 1 << 22 };

/* Zero at first. */
struct cpti_bands {
    struct cpti_record_copy kept[CPTI_BAND_RANGES]; /* by range; the first one of it */
    uint64_t record_count;                          /* met */
    uint64_t segment_count;                         /* of the kept ones */
};

/* cpti_gather.request and needs_path, with the bands for context. @path may be NULL
 * unless cpti_bands_need_path() asks for it. CPTI_EXIT_DONE, or CPTI_EXIT_FAILED
 * without memory. */
int cpti_bands_meet(void *bands, const struct cpt_record *record,
                    const struct cpt_path *path, uint64_t weight);
bool cpti_bands_need_path(const void *bands, const struct cpt_record *record);
void cpti_bands_deinit(struct cpti_bands *bands);

/* One band. */
struct cpti_band {
    double from; /* quantiles: 0.5 … */
    double to;   /* … 0.9 */
    uint64_t low_ns;
    uint64_t high_ns;
    const struct cpti_record_copy *example; /* borrowed; NULL if there is none */
};

/* Band @index of the latencies in @tree. As a band may be narrower than a range, its
 * example may lie outside of it by the width of a range. */
struct cpti_band cpti_band_of(const struct cpti_bands *bands,
                              const struct cpt_tree *tree, size_t index);

#endif
