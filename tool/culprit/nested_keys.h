/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * nested_keys.h - attributes by which requests may have been dealt to two sets
 *
 *      user   u1 u2 u1 | u3 u4 u3     each value is in one set: users were dealt
 *      page   /a /b /a | /a /a /b     requests were
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_NESTED_KEYS_H
#define CPTI_CLI_NESTED_KEYS_H

#include "cpt/cpt_name.h"
#include "cpt/cpt_status.h"

enum {
    CPTI_NESTED_KEYS_MAX = 16, /* that are looked at: the first ones */
    CPTI_NESTED_KEY_BYTES = 64,
    CPTI_NESTED_VALUES_MIN = 5 /* of each set: with fewer it is the arm, or a host */
};

struct cpt_record;
struct cpti_nested_keys;

/* A hash of a value, never that of few requests' numbers. */
uint64_t cpti_nested_hash(struct cpt_bytes value);

/* NULL without memory. The caller owns it. */
struct cpti_nested_keys *cpti_nested_new(void);
void cpti_nested_free(struct cpti_nested_keys *keys); /* may be NULL */

/* Looks at the attributes of a request of set 0 or 1. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nested_add(struct cpti_nested_keys *keys,
                           const struct cpt_record *record, unsigned set);

/* The key at @index of those of which each value is in one set, and that several
 * requests share; NULL behind the last. Borrowed from @keys, to which nothing is added
 * any more. */
const char *cpti_nested_key(struct cpti_nested_keys *keys, size_t index);

#endif
