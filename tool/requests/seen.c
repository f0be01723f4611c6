/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* seen.c - the records that were met, so that each counts once; see seen.h */
#include "tool/requests/seen.h"

#include "tool/requests/record_hash.h"
#include "wire/cpt_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A shard begins with SLOTS_MIN slots. Its part of the time is 2^SHARD_SHIFT ns. */
enum { SHARDS = 1024, SLOTS_MIN = 16, SHARD_SHIFT = 30 };

/* A shard of a shared set adds to the common count in steps. */
enum { COUNT_STEP = 64 };

/* Open addressing with linear probing; 0 is a free slot. */
struct shard {
    pthread_mutex_t mutex; /* of the rest, if the set is shared */
    uint64_t *ids;
    uint32_t *rests;
    size_t slot_count; /* 0 or a power of two */
    size_t count;
};

struct cpti_seen {
    struct cpti_record_hash_key key;
    size_t count_max;
    size_t count; /* of all shards, while one thread has the set */
    bool is_shared;
    /* Both of a shared set, by any thread, relaxed: they guard no other data, and what
     * has to be exact is read when all threads have ended. */
    _Atomic bool needs_order;
    _Atomic size_t count_about; /* too small by less than SHARDS * COUNT_STEP */
    struct shard shards[SHARDS];
};

struct cpti_seen *cpti_seen_new(size_t count_max)
{
    struct cpti_seen *seen = calloc(1, sizeof *seen);

    if (seen == NULL || cpti_record_hash_key_draw(&seen->key) != CPT_OK) {
        free(seen);
        return NULL;
    }
    seen->count_max = count_max != 0 ? count_max : CPTI_SEEN_MAX;
    for (size_t i = 0; i < SHARDS; i++) {
        (void)pthread_mutex_init(&seen->shards[i].mutex, NULL);
    }
    return seen;
}

void cpti_seen_reset(struct cpti_seen *seen, bool is_shared)
{
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &seen->shards[i];

        free(shard->ids);
        free(shard->rests);
        shard->ids = NULL;
        shard->rests = NULL;
        shard->slot_count = 0;
        shard->count = 0;
    }
    seen->count = 0;
    seen->is_shared = is_shared;
    atomic_store(&seen->needs_order, false);
    atomic_store(&seen->count_about, 0);
}

void cpti_seen_free(struct cpti_seen *seen)
{
    if (seen == NULL) {
        return;
    }
    cpti_seen_reset(seen, false);
    for (size_t i = 0; i < SHARDS; i++) {
        (void)pthread_mutex_destroy(&seen->shards[i].mutex);
    }
    free(seen);
}

/* The first number of a hash: what it is of. */
enum { OF_TRACE = 1, OF_REST, OF_BYTES };

/* The hash of the bytes of a record but for its path, or of all. */
static uint64_t hash_bytes(const struct cpti_seen *seen, uint64_t of_what,
                           struct cpt_bytes bytes, struct cpt_bytes path)
{
    struct cpt_bytes texts[2] = {bytes, {"", 0}};

    if (of_what == OF_REST && path.bytes != 0 && path.data >= bytes.data &&
        path.data + path.bytes <= bytes.data + bytes.bytes) {
        texts[0].bytes = (size_t)(path.data - bytes.data);
        texts[1].data = path.data + path.bytes;
        texts[1].bytes = bytes.bytes - texts[0].bytes - path.bytes;
    }
    return cpti_record_hash(&seen->key, &of_what, 1, texts, 2);
}

struct cpti_seen_mark cpti_seen_mark(const struct cpti_seen *seen,
                                     const struct cpt_record *record,
                                     struct cpt_bytes bytes)
{
    const struct cpt_bytes texts[2] = {record->entry, record->path_bytes};
    struct cpti_seen_mark mark = {
        .shard = (uint32_t)(record->start_unix_ns >> SHARD_SHIFT) % SHARDS};
    uint64_t words[4] = {OF_TRACE, record->start_unix_ns};

    if (!record->has_trace_id) {
        mark.id = hash_bytes(seen, OF_BYTES, bytes, record->path_bytes);
        return mark;
    }
    memcpy(&words[2], record->trace_id, sizeof record->trace_id);
    mark.id = cpti_record_hash(&seen->key, words, 4, texts, 2);
    if (seen->is_shared) {
        mark.rest = (uint32_t)hash_bytes(seen, OF_REST, bytes, record->path_bytes);
    }
    return mark;
}

/* The slot of @id, or a free one for it. */
static size_t find(const struct shard *shard, uint64_t id)
{
    size_t slot = (size_t)id & (shard->slot_count - 1);

    while (shard->ids[slot] != 0 && shard->ids[slot] != id) {
        slot = (slot + 1) & (shard->slot_count - 1);
    }
    return slot;
}

/* Twice the slots. Without memory the shard stays as it is. */
static bool grow(struct shard *shard)
{
    const struct shard old = *shard;
    const size_t count = old.slot_count != 0 ? 2 * old.slot_count : SLOTS_MIN;
    uint64_t *ids = calloc(count, sizeof *ids);
    uint32_t *rests = calloc(count, sizeof *rests);

    if (ids == NULL || rests == NULL) {
        free(ids);
        free(rests);
        return false;
    }
    shard->ids = ids;
    shard->rests = rests;
    shard->slot_count = count;
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.ids[i] != 0) {
            const size_t slot = find(shard, old.ids[i]);

            ids[slot] = old.ids[i];
            rests[slot] = old.rests[i];
        }
    }
    free(old.ids);
    free(old.rests);
    return true;
}

static void want_order(struct cpti_seen *seen)
{
    atomic_store_explicit(&seen->needs_order, true, memory_order_relaxed);
}

/* Counts a record that is now in @shard. */
static void count(struct cpti_seen *seen, struct shard *shard)
{
    shard->count++;
    if (!seen->is_shared) {
        seen->count++;
    } else if (shard->count % COUNT_STEP == 0 &&
               atomic_fetch_add_explicit(&seen->count_about, COUNT_STEP,
                                         memory_order_relaxed) > seen->count_max) {
        want_order(seen);
    }
}

static enum cpti_seen_result add(struct cpti_seen *seen, struct shard *shard,
                                 uint64_t id, uint32_t rest)
{
    size_t slot;

    if (4 * (shard->count + 1) > 3 * shard->slot_count && !grow(shard)) {
        return CPTI_SEEN_NO_MEMORY;
    }
    slot = find(shard, id);
    if (shard->ids[slot] == id) {
        if (seen->is_shared && shard->rests[slot] != rest) {
            want_order(seen);
        }
        return CPTI_SEEN_BEFORE;
    }
    if (!seen->is_shared && seen->count == seen->count_max) {
        return CPTI_SEEN_UNKNOWN;
    }
    shard->ids[slot] = id;
    shard->rests[slot] = rest;
    count(seen, shard);
    return CPTI_SEEN_NEW;
}

bool cpti_seen_gave_up(const struct cpti_seen *seen)
{
    return atomic_load_explicit(&seen->needs_order, memory_order_relaxed);
}

enum cpti_seen_result cpti_seen_add(struct cpti_seen *seen,
                                    const struct cpti_seen_mark *mark, unsigned purpose)
{
    struct shard *shard = &seen->shards[mark->shard];
    const uint64_t id = mark->id + purpose;
    enum cpti_seen_result result;

    if (!seen->is_shared) {
        return add(seen, shard, id != 0 ? id : UINT64_MAX, mark->rest);
    }
    if (cpti_seen_gave_up(seen)) {
        return CPTI_SEEN_UNKNOWN; /* keeps no more: nothing of this counts */
    }
    (void)pthread_mutex_lock(&shard->mutex);
    result = add(seen, shard, id != 0 ? id : UINT64_MAX, mark->rest);
    (void)pthread_mutex_unlock(&shard->mutex);
    return result;
}

bool cpti_seen_needs_order(const struct cpti_seen *seen)
{
    size_t total = 0;

    for (size_t i = 0; i < SHARDS; i++) {
        total += seen->shards[i].count;
    }
    return seen->is_shared && (cpti_seen_gave_up(seen) || total > seen->count_max);
}
