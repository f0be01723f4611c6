/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* overlaps.c - see overlaps.h */
#include "tool/folds/overlaps.h"

#include "cpt/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *left, const void *right)
{
    const struct cpti_overlap *a = left;
    const struct cpti_overlap *b = right;
    const int order = memcmp(a->victim_trace, b->victim_trace, sizeof a->victim_trace);

    if (a->ns != b->ns) {
        return a->ns > b->ns ? -1 : 1;
    }
    if (order != 0) {
        return order;
    }
    if (a->culprit_trace != b->culprit_trace) {
        return a->culprit_trace < b->culprit_trace ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a->victim > b->victim) - (a->victim < b->victim);
}

void cpti_overlaps_sort(struct cpti_overlaps *overlaps)
{
    if (overlaps->count != 0) {
        qsort(overlaps->all, overlaps->count, sizeof *overlaps->all, by_length);
    }
    if (overlaps->count > CPTI_OVERLAPS_KEPT) {
        overlaps->lost_count += overlaps->count - CPTI_OVERLAPS_KEPT;
        overlaps->count = CPTI_OVERLAPS_KEPT;
    }
}

void cpti_overlaps_add(struct cpti_overlaps *overlaps,
                       const struct cpti_overlap *overlap,
                       const struct cpt_record *record)
{
    struct cpti_overlap *added = NULL;

    if (overlaps->count == (size_t)2 * CPTI_OVERLAPS_KEPT) {
        cpti_overlaps_sort(overlaps);
    }
    if (cpt_alloc_grow(NULL, (void **)&overlaps->all, &overlaps->capacity,
                       overlaps->count + 1, (size_t)2 * CPTI_OVERLAPS_KEPT,
                       sizeof *overlaps->all) != CPT_OK) {
        overlaps->lost_count++;
        return;
    }
    added = &overlaps->all[overlaps->count++];
    *added = *overlap;
    added->has_victim_trace = record->has_trace_id != 0;
    memset(added->victim_trace, 0, sizeof added->victim_trace);
    if (added->has_victim_trace) {
        memcpy(added->victim_trace, record->trace_id, sizeof added->victim_trace);
    }
}

void cpti_overlaps_free(struct cpti_overlaps *overlaps)
{
    cpt_alloc_free(NULL, overlaps->all);
}

/* The bytes of its trace's id from @from on. */
static const char *write_victim(const struct cpti_overlap *overlap, size_t from,
                                char text[CPTI_TRACE_TEXT_BYTES])
{
    const size_t bytes = sizeof overlap->victim_trace - from;

    if (!overlap->has_victim_trace) {
        return "-";
    }
    text[cpti_text_hex(text, overlap->victim_trace + from, bytes).bytes] = '\0';
    return text;
}

const char *cpti_overlap_victim(const struct cpti_overlap *overlap,
                                char text[CPTI_TRACE_TEXT_BYTES])
{
    return write_victim(overlap, 0, text);
}

const char *cpti_overlap_victim_end(const struct cpti_overlap *overlap,
                                    char text[CPTI_TRACE_TEXT_BYTES])
{
    return write_victim(overlap, 8, text);
}

const char *cpti_overlap_culprit(const struct cpti_overlap *overlap,
                                 char text[CPTI_TRACE_TEXT_BYTES])
{
    (void)snprintf(text, CPTI_TRACE_TEXT_BYTES, "%016" PRIx64, overlap->culprit_trace);
    return text;
}
