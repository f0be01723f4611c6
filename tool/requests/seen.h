/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * seen.h - the records that were met, so that each counts once
 *
 * A log may be given twice, or as a copy beside the file it was rotated to. Two records
 * are the same one if their trace id, start, entry and path are the same, or, without
 * a trace id, all their bytes.
 *
 *      start / 2^30 ns --> shard    [ id | id |    | id | ... ]   64 bits of hash each
 *      id              --> slot     [ rest | ...              ]   32 bits of hash each
 *
 * A log is about in the order of time, so a walk stays in the same shard for a second
 * of traffic, which is in the cache. A record takes 16 to 32 bytes, and at most
 * CPTI_SEEN_MAX records are kept. Later ones are compared with those, but not kept.
 *
 * Different records have the same 64 bits of a keyed hash (record_hash.h) with a
 * probability of 2^-64 for each pair of a shard.
 *
 * The set may be shared by threads. Then which copy of a record is met first depends on
 * the threads. That does not matter if the copies are the same in all bytes. `rest` is
 * of the bytes that do not decide which record it is: where it differs, and where the
 * limit is reached, cpti_seen_needs_order() holds, and one thread has to do the work
 * again in the order of the logs.
 */
#ifndef CPTI_CLI_SEEN_H
#define CPTI_CLI_SEEN_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>

struct cpt_record;
struct cpti_seen;

/* The most records that are kept. */
#define CPTI_SEEN_MAX ((size_t)1 << 27)

/* A record as the set knows it. */
struct cpti_seen_mark {
    uint64_t id; /* which record it is */
    uint32_t rest;
    uint32_t shard;
};

/* An empty set for at most @count_max records (0: CPTI_SEEN_MAX), or NULL without
 * memory or random bytes. */
struct cpti_seen *cpti_seen_new(size_t count_max);
void cpti_seen_free(struct cpti_seen *seen);

/* Empties it, for one thread or for several. */
void cpti_seen_reset(struct cpti_seen *seen, bool is_shared);

/* The mark of @record, whose encoding is @bytes. Any thread. */
struct cpti_seen_mark cpti_seen_mark(const struct cpti_seen *seen,
                                     const struct cpt_record *record,
                                     struct cpt_bytes bytes);

/* The result for a record. */
enum cpti_seen_result {
    CPTI_SEEN_NEW,
    CPTI_SEEN_BEFORE,
    CPTI_SEEN_UNKNOWN, /* it is none of those kept, and there are too many to keep it */
    CPTI_SEEN_NO_MEMORY /* it is not kept */
};

/* Whether the record of @mark was met for @purpose, a small number, before; keeps it.
 * Any thread, if the set is shared. */
enum cpti_seen_result cpti_seen_add(struct cpti_seen *seen,
                                    const struct cpti_seen_mark *mark,
                                    unsigned purpose);

/* For a shared set: whether it is known already that the results depend on which thread
 * came first; then it keeps no more. Any thread. And the same for sure, when all
 * threads have ended. */
bool cpti_seen_gave_up(const struct cpti_seen *seen);
bool cpti_seen_needs_order(const struct cpti_seen *seen);

#endif
