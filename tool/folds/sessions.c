/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sessions.c - requests by key, in the order of time; see sessions.h */
#include "tool/folds/sessions.h"

#include "aggregate/cpt_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

#define CONFIDENCE 0.95

cpt_status cpti_sessions_init(struct cpti_sessions *sessions)
{
    *sessions = (struct cpti_sessions){0};
    return cpti_record_hash_key_draw(&sessions->hash_key);
}

void cpti_sessions_deinit(struct cpti_sessions *sessions)
{
    cpt_alloc_free(NULL, sessions->keys);
    cpt_alloc_free(NULL, sessions->index.slots);
    cpt_alloc_free(NULL, sessions->texts);
    cpt_alloc_free(NULL, sessions->requests);
    *sessions = (struct cpti_sessions){0};
}

struct cpt_bytes cpti_sessions_text(const struct cpti_sessions *sessions,
                                    const struct cpti_session_key *key)
{
    return (struct cpt_bytes){sessions->texts + key->text_at, key->text_bytes};
}

/* --- Keys --- */

static uint64_t hash_at(const void *owner, size_t number)
{
    return ((const struct cpti_sessions *)owner)->keys[number].hash;
}

/* Adds the key @text of @hash, which is new. CPT_OK, CPT_LIMIT or CPT_NO_MEMORY. */
static cpt_status add_key(struct cpti_sessions *sessions, struct cpt_bytes text,
                          uint64_t hash)
{
    struct cpti_session_key *key;
    cpt_status status = CPT_OK;

    if (cpti_hash_index_is_full(&sessions->index, sessions->key_count, 3)) {
        status = cpti_hash_index_grow(&sessions->index, NULL, FIRST_SLOTS,
                                      sessions->key_count, hash_at, sessions);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(NULL, (void **)&sessions->keys, &sessions->key_capacity,
                                sessions->key_count + 1, CPTI_SESSION_KEYS_MAX,
                                sizeof *sessions->keys);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(
            NULL, (void **)&sessions->texts, &sessions->text_capacity,
            sessions->text_bytes + text.bytes + 1, CPTI_SESSION_TEXTS_MAX, 1);
    }
    if (status != CPT_OK) {
        return status;
    }
    key = &sessions->keys[sessions->key_count];
    *key = (struct cpti_session_key){.hash = hash,
                                     .text_at = (uint32_t)sessions->text_bytes,
                                     .text_bytes = (uint16_t)text.bytes};
    memcpy(sessions->texts + sessions->text_bytes, text.data, text.bytes);
    sessions->text_bytes += text.bytes;
    cpti_hash_index_put(&sessions->index, hash, sessions->key_count++);
    return CPT_OK;
}

/* Sets *@number to the key @text, which is added if it is new. Two keys of one hash are
 * told apart by their texts, but for those that are cut. */
static cpt_status find_key(struct cpti_sessions *sessions, struct cpt_bytes text,
                           uint32_t *number)
{
    const uint64_t hash = cpti_record_hash(&sessions->hash_key, NULL, 0, &text, 1);
    size_t slot = 0;

    text.bytes = text.bytes < CPTI_SESSION_KEY_MAX ? text.bytes : CPTI_SESSION_KEY_MAX;
    if (sessions->index.slot_count != 0) {
        slot = cpti_hash_index_first(&sessions->index, hash);
        while (sessions->index.slots[slot] != 0) {
            const struct cpti_session_key *key =
                &sessions->keys[sessions->index.slots[slot] - 1];

            if (key->hash == hash &&
                cpt_bytes_equal(cpti_sessions_text(sessions, key), text)) {
                *number = sessions->index.slots[slot] - 1;
                return CPT_OK;
            }
            slot = cpti_hash_index_next(&sessions->index, slot);
        }
    }
    *number = (uint32_t)sessions->key_count;
    return add_key(sessions, text, hash);
}

/* --- Requests --- */

cpt_status cpti_sessions_add(struct cpti_sessions *sessions, struct cpt_bytes key,
                             uint64_t start_unix_ns, bool is_above)
{
    uint32_t number = 0;
    cpt_status status =
        cpt_alloc_grow(NULL, (void **)&sessions->requests, &sessions->request_capacity,
                       sessions->request_count + 1, CPTI_SESSION_REQUESTS_MAX,
                       sizeof *sessions->requests);

    status = status == CPT_OK ? find_key(sessions, key, &number) : status;
    if (status == CPT_LIMIT) {
        sessions->beyond_count++;
        return CPT_OK;
    }
    if (status == CPT_OK) {
        sessions->requests[sessions->request_count++] =
            (struct cpti_session){start_unix_ns << 1 | is_above, number};
    }
    return status;
}

static int by_time(const void *left, const void *right)
{
    const struct cpti_session *a = left;
    const struct cpti_session *b = right;

    if (a->time_and_class != b->time_and_class) {
        return a->time_and_class < b->time_and_class ? -1 : 1;
    }
    return 0; /* of one key they are the same; of two their order does not matter */
}

void cpti_sessions_judge(struct cpti_sessions *sessions)
{
    if (sessions->request_count != 0) {
        qsort(sessions->requests, sessions->request_count, sizeof *sessions->requests,
              by_time);
    }
    for (size_t i = 0; i < sessions->request_count; i++) {
        const struct cpti_session *request = &sessions->requests[i];
        struct cpti_session_key *key = &sessions->keys[request->key];
        const bool is_above = (request->time_and_class & 1) != 0;

        if (key->request_count != 0) {
            key->cells[key->is_above][is_above]++;
            key->wrong_count += key->is_above != is_above;
            sessions->cells[key->is_above][is_above]++;
        }
        sessions->known_key_count += key->request_count == 1;
        sessions->above_count += is_above;
        key->request_count++;
        key->is_above = is_above;
        key->last_unix_ns = request->time_and_class >> 1;
    }
}

/* --- Errors --- */

/* Σ (wrong - share · of)² over keys, and the count of keys with one. */
static double squares_of(const struct cpti_sessions *sessions, int predicted,
                         double share, double *key_count)
{
    const int was = !predicted;
    double squares = 0;

    *key_count = 0;
    for (size_t i = 0; i < sessions->key_count; i++) {
        const struct cpti_session_key *key = &sessions->keys[i];
        const double of = (double)key->cells[0][was] + (double)key->cells[1][was];
        const double rest = (double)key->cells[predicted][was] - share * of;

        *key_count += of > 0;
        squares += rest * rest;
    }
    return squares;
}

struct cpti_session_error cpti_sessions_error(const struct cpti_sessions *sessions,
                                              int predicted)
{
    const int was = !predicted;
    const uint64_t wrong = sessions->cells[predicted][was];
    const uint64_t of = sessions->cells[0][was] + sessions->cells[1][was];
    const uint64_t as_predicted =
        sessions->cells[predicted][0] + sessions->cells[predicted][1];
    const uint64_t all =
        as_predicted + sessions->cells[was][0] + sessions->cells[was][1];
    struct cpti_session_error error = {.wrong_count = wrong,
                                       .of_count = of,
                                       .share = (double)wrong / (double)of,
                                       .low = NAN,
                                       .high = NAN,
                                       .by_chance = (double)as_predicted / (double)all};
    double keys = 0;

    if (wrong != 0 && wrong != of) {
        const double squares = squares_of(sessions, predicted, error.share, &keys);
        const double deviation = sqrt(keys / (keys - 1) * squares) / (double)of;

        if (keys >= 2 && deviation > 0) {
            cpt_interval(error.share, deviation, NAN, keys - 1, CONFIDENCE, &error.low,
                         &error.high);
            error.low = fmax(error.low, 0);
            error.high = fmin(error.high, 1);
        }
    }
    return error;
}
