/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * mix.h - cpt diff --mix KEY: compares both sets as if they had the same mix of traffic
 *
 *      request --> value of KEY --> stratum: trees of base and new --> one diff of all
 *
 * Each stratum has its share of the base (cpt_diff_strata_share()). A value that a set
 * lacks cannot be compared, and is left out. But a few requests say nothing about the
 * variance of their stratum, and one makes the whole comparison unknown. So values with
 * few requests, in the sets that have them, are pooled into one stratum, ‹other›:
 *
 *      home      900 and 870 requests    a stratum
 *      search    450 and 440             a stratum
 *      admin       4 and   1             ‹other›
 *      debug       2 and   0             ‹other›
 *      beta        0 and  80             left out: only new has it
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_MIX_H
#define CPTI_CLI_MIX_H

#include "tool/folds/views.h"
#include "cpt/base/hash_index.h"

enum {
    CPTI_MIX_STRATA_MAX = 1024, /* values; those that come later are ‹other› */
    CPTI_MIX_VALUE_BYTES = 256,
    CPTI_MIX_SHOWN_MAX = 8 /* values that text and warnings name; JSON has all */
};

/* The requests with one value of the key; [0] of the base, [1] of the new set. */
struct cpti_stratum {
    char value[CPTI_MIX_VALUE_BYTES]; /* escaped for a terminal */
    size_t pooled_count;              /* values in it; 0: it is that of one value */
    struct cpt_tree *stacks[2];
    struct cpti_views views[2];
    struct cpti_gather views_of[2]; /* its `request` fills the views */
    double weights[2];
};

/* The text of a missing value. An attribute "(none)" counts as missing, too. */
#define CPTI_MIX_NO_VALUE "(none)"

/* Writes the value of @key in @record to @text; "(none)" if there is none. The keys
 * "method" and "status" stand for these fields unless an attribute has the name. */
void cpti_mix_value(const struct cpt_record *record, const char *key,
                    char text[CPTI_MIX_VALUE_BYTES]);

struct cpti_mix;

/* The context of one set's requests. */
struct cpti_mix_side {
    struct cpti_mix *mix;
    size_t index;
};

struct cpti_mix {
    const char *key;
    unsigned wanted; /* views, as for cpti_views_init() */
    struct cpti_stratum **strata;
    size_t count;
    struct cpti_hash_index index; /* of the strata by value */
    struct cpti_stratum *other;   /* NULL: none; after cpti_mix_check() in strata */
    size_t late_count;            /* requests whose value came beyond the limit */
    struct cpti_mix_side sides[2];
};

/* Makes both @gathers fill the strata by @key. CPTI_EXIT_DONE or CPTI_EXIT_FAILED.
 * Deinit it in any case. */
int cpti_mix_init(struct cpti_mix *mix, const char *key, unsigned wanted,
                  struct cpti_gather *gathers);
void cpti_mix_deinit(struct cpti_mix *mix);

/* After gathering: refuses trees, pools values with few requests, and warns of these
 * and of the values that are left out. enum cpti_exit. */
int cpti_mix_check(struct cpti_mix *mix, const struct cpti_gather *gathers);

/* The part of set @side that stratum number @stratum is: 0 to 1. */
double cpti_mix_share(const struct cpti_mix *mix, size_t stratum, size_t side);

/* Compares both sets at the base's mix. NULL with the error printed. The caller frees
 * the result. */
struct cpt_diff *cpti_mix_diff(const struct cpti_mix *mix, enum cpti_by by);

#endif
