/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * overlaps.h - which traced request waited for which: the longest of these waits
 *
 * A wait names the other request by the last 8 bytes of its trace's id. The longest
 * CPTI_OVERLAPS_KEPT are kept.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_OVERLAPS_H
#define CPTI_CLI_OVERLAPS_H

#include "cpt/cpt_name.h"
#include "wire/cpt_log.h"

#include <stdbool.h>

enum { CPTI_OVERLAPS_KEPT = 1 << 14, CPTI_TRACE_TEXT_BYTES = 33 };

struct cpti_overlap {
    cpt_name_id victim;
    cpt_name_id culprit;
    cpt_name_id resource;
    unsigned kind;
    uint64_t culprit_trace;
    uint64_t ns;
    unsigned char victim_trace[16];
    bool has_victim_trace;
};

struct cpti_overlaps {
    struct cpti_overlap *all;
    size_t count;
    size_t capacity;
    uint64_t lost_count; /* shorter ones */
};

/* Adds a copy of @overlap, a wait of the request of @record. Without memory it is
 * lost. */
void cpti_overlaps_add(struct cpti_overlaps *overlaps,
                       const struct cpti_overlap *overlap,
                       const struct cpt_record *record);

/* The longest first. */
void cpti_overlaps_sort(struct cpti_overlaps *overlaps);
void cpti_overlaps_free(struct cpti_overlaps *overlaps);

/* The id of the trace that waited, and its last 16 digits; "-" if it has none. */
const char *cpti_overlap_victim(const struct cpti_overlap *overlap,
                                char text[CPTI_TRACE_TEXT_BYTES]);
const char *cpti_overlap_victim_end(const struct cpti_overlap *overlap,
                                    char text[CPTI_TRACE_TEXT_BYTES]);

/* The last 16 digits of the other one. */
const char *cpti_overlap_culprit(const struct cpti_overlap *overlap,
                                 char text[CPTI_TRACE_TEXT_BYTES]);

#endif
