/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * mix.h - cpt diff --mix KEY: both sets as if their traffic were of the same mix
 *
 *      request --> value of KEY --> stratum: trees of base and new --> one diff of all
 *
 * The shares of the strata are those of the base (cpt_diff_new_strata()). A value that
 * only one of the sets has cannot be compared, and is left out.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_MIX_H
#define CPTI_CLI_MIX_H

#include "cpt/cli/gather/views.h"

enum { CPTI_MIX_STRATA_MAX = 256, CPTI_MIX_VALUE_BYTES = 256 };

/* The requests with one value of the key; [0] of the base, [1] of the new set. */
struct cpti_stratum {
    char value[CPTI_MIX_VALUE_BYTES]; /* fit for a terminal */
    struct cpt_tree *stacks[2];
    struct cpti_views views[2];
    struct cpti_gather views_of[2]; /* how requests come to the views */
    double weights[2];
};

/* What @record has for @key, as text; "(none)" for nothing. method and status are known
 * as keys, too. */
void cpti_mix_value(const struct cpt_record *record, const char *key,
                    char text[CPTI_MIX_VALUE_BYTES]);

struct cpti_mix;

/* Where requests of one set go. */
struct cpti_mix_side {
    struct cpti_mix *mix;
    size_t index;
};

struct cpti_mix {
    const char *key;
    unsigned wanted; /* views, as for cpti_views_init() */
    struct cpti_stratum *strata;
    size_t count;
    struct cpti_mix_side sides[2];
};

/* Lets both @gathers fill the strata by @key. CPTI_EXIT_DONE or CPTI_EXIT_FAILED. To be
 * freed in any case. */
int cpti_mix_init(struct cpti_mix *mix, const char *key, unsigned wanted,
                  struct cpti_gather *gathers);
void cpti_mix_deinit(struct cpti_mix *mix);

/* After gathering: refuses trees, and says which values are left out. enum cpti_exit.
 */
int cpti_mix_check(const struct cpti_mix *mix, const struct cpti_gather *gathers);

/* The difference without that of the mix. NULL with the error printed. */
struct cpt_diff *cpti_mix_diff(const struct cpti_mix *mix, enum cpti_by by);

/* The line that says so, and the field "mix"; @diff is any of the above, @gathers have
 * the trees of all requests. */
void cpti_mix_print(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                    const struct cpt_diff *diff);
void cpti_mix_json(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                   const struct cpt_diff *diff, struct cpti_json *json);

#endif
