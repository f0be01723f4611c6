/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sessions.h - whether the last request of a key tells what the next one is like
 *
 *      user   requests in the order of time, above the threshold (#) or not (.)
 *      u1     # # # . # #      predictions: # # # . #      two of five are wrong
 *      u2     . . .            predictions: . .            both are right
 *      u3     #                none: there is no request before it
 *
 * Each request but the first of its key is predicted to be as the one before it. Two
 * errors are told apart, each as a part of the requests that it can befall:
 *
 *      predicted, was not above     of those that were not above
 *      not predicted, was above     of those that were above
 *
 * Requests of one key resemble each other, so the interval of an error takes keys as
 * independent, not requests: it is that of a ratio of sums over keys (Cochran 1977).
 *
 * A key takes 64 bytes and its text, a request 16. Beyond the limits both are only
 * counted. Threads: one at a time.
 */
#ifndef CPTI_CLI_SESSIONS_H
#define CPTI_CLI_SESSIONS_H

#include "tool/requests/record_hash.h"
#include "cpt/base/hash_index.h"

enum {
    CPTI_SESSION_KEYS_MAX = 1 << 21,
    CPTI_SESSION_REQUESTS_MAX = 1 << 25,
    CPTI_SESSION_TEXTS_MAX = 1 << 28, /* bytes of all keys */
    CPTI_SESSION_KEY_MAX = 4096       /* bytes of one; longer ones are cut, but told
                                         apart by all of their bytes */
};

/* One key. */
struct cpti_session_key {
    uint64_t hash;
    uint64_t last_unix_ns;
    uint64_t request_count;
    uint64_t wrong_count; /* predictions */
    uint32_t cells[2][2]; /* predictions by what was predicted and what it was: 1 is
                               above */
    uint32_t text_at;     /* in texts */
    uint16_t text_bytes;
    bool is_above; /* the last request: the prediction for the next one */
};

/* One request. */
struct cpti_session {
    uint64_t time_and_class; /* begin in ns, shifted by one; the last bit: is above */
    uint32_t key;
};

/* Zero at first. */
struct cpti_sessions {
    struct cpti_record_hash_key hash_key;
    struct cpti_session_key *keys;
    size_t key_count;
    size_t key_capacity;
    struct cpti_hash_index index; /* of the keys */
    char *texts;
    size_t text_bytes;
    size_t text_capacity;
    struct cpti_session *requests;
    size_t request_count;
    size_t request_capacity;
    uint64_t beyond_count; /* requests beyond a limit, or of a key beyond it */

    /* Out, of cpti_sessions_judge(). */
    uint64_t above_count;     /* of all requests that count */
    uint64_t cells[2][2];     /* the sums of those of the keys */
    uint64_t known_key_count; /* keys with more than one request */
};

/* An error of the predictions. */
struct cpti_session_error {
    uint64_t wrong_count;
    uint64_t of_count; /* predicted requests that were so */
    double share;      /* NAN: there are none */
    double low;        /* the 95 % interval; NAN: fewer than two keys, or no or all
                          predictions are wrong */
    double high;
    double by_chance; /* the share of as many predictions that know nothing */
};

/* Draws the key of hashes. CPT_OK or CPT_FAILED. Deinit it in any case. */
cpt_status cpti_sessions_init(struct cpti_sessions *sessions);
void cpti_sessions_deinit(struct cpti_sessions *sessions);

/* Adds a request of @key, in any order. @start_unix_ns is below 2^63. CPT_OK, also
 * beyond a limit; CPT_NO_MEMORY. */
cpt_status cpti_sessions_add(struct cpti_sessions *sessions, struct cpt_bytes key,
                             uint64_t start_unix_ns, bool is_above);

/* Goes through all requests in the order of time. Of several that began at once, one
 * that is not above comes first. Call it once, when all are added. */
void cpti_sessions_judge(struct cpti_sessions *sessions);

/* The error of the predictions that were @predicted (1: above), after judging. */
struct cpti_session_error cpti_sessions_error(const struct cpti_sessions *sessions,
                                              int predicted);

/* The text of a key. Borrowed. */
struct cpt_bytes cpti_sessions_text(const struct cpti_sessions *sessions,
                                    const struct cpti_session_key *key);

#endif
