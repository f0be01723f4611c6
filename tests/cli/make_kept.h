/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_kept.h - what a keep rule has left of 2,100 requests
 *
 *      100 slow ones    from 300 ms on    all are kept
 *      2,000 others     below 250 ms      40 are kept, one in 50
 *
 * Half of each are for the page "search".
 */
#ifndef MAKE_KEPT_H
#define MAKE_KEPT_H

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <math.h>

enum { KEPT_SLOW = 100, KEPT_REQUESTS = 140 };

static inline cpt_status set_kept(struct cpt_path *path, struct cpt_record *record,
                                  unsigned index)
{
    static const struct cpt_attribute pages[2] = {
        {{"page", 4}, CPT_ATTRIBUTE_TEXT, {.text = {"search", 6}}},
        {{"page", 4}, CPT_ATTRIBUTE_TEXT, {.text = {"cart", 4}}},
    };
    const uint64_t us = 1000;
    const int is_slow = index < KEPT_SLOW;
    const uint64_t jitter_us = index * 7919 % 100 * 1000;
    uint32_t entry = 0;
    uint32_t task = 0;
    cpt_status status;

    record->probability = is_slow ? 1 : 0.02;
    record->attributes = &pages[index % 2];
    record->attribute_count = 1;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    if (status == CPT_OK) {
        status = cpt_path_frame_add(path, entry, cpt_bytes_of("A: A1"), 0, &task);
    }
    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, entry, 100000 * us);
    }
    return status == CPT_OK
               ? cpt_path_append_ns(path, task,
                                    ((is_slow ? 200000 : 40000) + jitter_us) * us)
               : status;
}

/* Times of a Pareto distribution of shape 1.2, in ms: at equal shares of it. */
enum { HEAVY_REQUESTS = 1000 };

static inline cpt_status set_heavy(struct cpt_path *path, struct cpt_record *record,
                                   unsigned index)
{
    const double share = (index * 7919 % HEAVY_REQUESTS + 0.5) / HEAVY_REQUESTS;
    uint32_t entry = 0;
    cpt_status status;

    (void)record;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    return status == CPT_OK
               ? cpt_path_append_ns(path, entry, (uint64_t)(1e6 * pow(share, -1 / 1.2)))
               : status;
}

/* 1,000 requests of 20 minutes, each of which is slow as a whole, or is not. */
enum { MINUTES_REQUESTS = 1000, MINUTE_REQUESTS = 50 };

static inline cpt_status set_minutes(struct cpt_path *path, struct cpt_record *record,
                                     unsigned index)
{
    static struct cpt_attribute attributes[2] = {
        {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"control", 7}}},
        {{"minute", 6}, CPT_ATTRIBUTE_INTEGER, {.integer = 0}},
    };
    const uint64_t us = 1000;
    const unsigned minute = index / MINUTE_REQUESTS;
    uint32_t entry = 0;
    cpt_status status;

    attributes[0].value.text = cpt_bytes_of(index % 2 == 0 ? "control" : "treatment");
    attributes[1].value.integer = minute;
    record->attributes = attributes;
    record->attribute_count = 2;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    return status == CPT_OK
               ? cpt_path_append_ns(
                     path, entry,
                     (10000 + minute * 7 % 5 * 100 + index * 7919 % 1000) * us)
               : status;
}

/* Requests that say their evidence, one of each; one whose path is approximate; two
 * that were forced. */
enum { EVIDENCE_REQUESTS = 8 };

static inline cpt_status set_evidence(struct cpt_path *path, struct cpt_record *record,
                                      unsigned index)
{
    static const char *const words[] = {"recorded", "measured", "told", "learnt",
                                        "inferred"};
    static struct cpt_attribute attribute = {
        {"cpt.evidence", 12}, CPT_ATTRIBUTE_TEXT, {.text = {"", 0}}};
    uint32_t entry = 0;
    cpt_status status;

    attribute.value.text = cpt_bytes_of(index < 5 ? words[index] : "");
    record->attributes = &attribute;
    record->attribute_count = index < 5;
    record->is_forced = index > 5;
    cpt_path_reset(path);
    cpt_path_flags_add(path, index == 5 ? CPT_PATH_APPROXIMATE : 0);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    return status == CPT_OK ? cpt_path_append_ns(path, entry, 1000000) : status;
}

/* Three of four were made from event logs; these are learnt, and take longer. */
enum { EVENTS_REQUESTS = 40 };

static inline cpt_status set_events(struct cpt_path *path, struct cpt_record *record,
                                    unsigned index)
{
    static struct cpt_attribute attributes[] = {
        {{"cpt.evidence", 12}, CPT_ATTRIBUTE_TEXT, {.text = {"learnt", 6}}},
        {{"cpt.source", 10}, CPT_ATTRIBUTE_TEXT, {.text = {"events", 6}}},
        {{"user", 4}, CPT_ATTRIBUTE_TEXT, {.text = {"", 0}}}};
    const int is_of_events = index % 4 != 0;
    uint32_t entry = 0;
    cpt_status status;

    attributes[2].value.text = cpt_bytes_of(index % 8 < 4 ? "even" : "odd");
    record->attributes = is_of_events ? attributes : attributes + 2;
    record->attribute_count = is_of_events ? 3 : 1;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    return status == CPT_OK ? cpt_path_append_ns(path, entry,
                                                 (is_of_events ? 3000000 : 1000000) +
                                                     index * UINT64_C(1000))
                            : status;
}

#endif
