/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * counterparts.h - requests for which a condition holds, and the others like them
 *
 *      request --> does it hold? --> service, method, size, … --> stratum: two trees
 *
 * A stratum has the requests that are equal in all that is held equal, those for which
 * the condition holds and the others. Only a stratum with two requests of each tells a
 * difference and its error. It counts by n m / (n + m), of n and m requests (their
 * effective counts): most where both are many, as in Mantel and Haenszel's estimate.
 *
 *      cache == "hit"   A, GET /, size 1 to 2 KiB      40 and  30   compared
 *                       A, GET /, size 2 to 4 KiB       2 and 700   compared, counts 2
 *                       A, POST /, size 1 to 2 KiB      0 and  12   no counterpart
 *                       A, GET /x, size 1 to 2 KiB      1 and   9   a single request
 *
 * The size is the attribute `size` of a request that has it, and else the number of
 * segments of its path; of both the power of two counts. The condition itself may
 * change a path, so a size of the path is dropped where it leaves less than half of the
 * smaller group with counterparts.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_COUNTERPARTS_H
#define CPTI_CLI_COUNTERPARTS_H

#include "tool/base/weighted.h"
#include "tool/folds/views.h"
#include "aggregate/cpt_deal.h"
#include "cpt/base/hash_index.h"

enum {
    CPTI_ALIKE_STRATA_MAX = 4096,  /* requests of later ones are only counted */
    CPTI_ALIKE_KEYS_MAX = 8,       /* that are held equal beside service and method */
    CPTI_ALIKE_DEALT_MAX = 1 << 20 /* of more requests p is that of the interval */
};

/* The attribute that is the size of a request, unless there is another one. */
#define CPTI_ALIKE_SIZE_KEY "size"

/* The groups: an index of arrays of two. */
enum { CPTI_ALIKE_OTHERS, CPTI_ALIKE_HOLDS };

/* What the size of a request is. */
enum cpti_alike_size {
    CPTI_ALIKE_SIZE_NONE,
    CPTI_ALIKE_SIZE_ATTRIBUTE,
    CPTI_ALIKE_SIZE_PATH,
    CPTI_ALIKE_SIZES
};

/* Requests that are alike, but for the condition. */
struct cpti_alike {
    char *key;           /* what is equal, the size last; owned */
    size_t coarse_bytes; /* of the key without a size of the path */
    size_t number;       /* in the order in which they came: 0, 1 … */
    uint64_t counts[2];
    struct cpt_tree *stacks[2];
    struct cpti_views views[2];
    struct cpti_gather views_of[2]; /* its `request` fills the views */
};

/* What was compared; all of it but `size_is_dropped` is about requests. */
struct cpti_alike_counts {
    uint64_t compared[2];
    uint64_t alone[2];  /* in strata that the other group lacks */
    uint64_t single[2]; /* in strata in which one group has one request only */
    size_t strata;      /* with both groups, two requests each */
    bool size_is_dropped;
};

/* Set the first part; the rest is zero at first. */
struct cpti_counterparts {
    struct cpti_selection *when;           /* its expression is the condition */
    const char *keys[CPTI_ALIKE_KEYS_MAX]; /* attributes that are held equal, too */
    size_t key_count;
    const char *size_key; /* an attribute; NULL: see above */
    bool has_no_size;
    bool has_path_size; /* that is kept, whatever it leaves */
    enum cpti_by by;

    struct cpti_alike **strata;
    size_t count;
    struct cpti_hash_index index; /* of the strata by key */
    struct cpt_deal_request *dealt;
    size_t dealt_count;
    size_t dealt_capacity;
    uint64_t counts[2];
    struct cpti_weights weights[2]; /* of all requests, whatever their stratum */
    struct cpti_weighted latencies[2];
    uint64_t late_counts[2]; /* beyond the limit of strata */
    uint64_t keyless_count;  /* others without any key of the condition */
    uint64_t key_counts[CPTI_ALIKE_KEYS_MAX]; /* that have the key */
    uint64_t size_counts[CPTI_ALIKE_SIZES];   /* by what their size is */

    uint32_t *places;                  /* of the strata by number */
    struct cpti_alike_counts compared; /* of cpti_counterparts_compare() */
    struct cpt_deal_result deal;
};

/* Makes @gather fill @parts, which has its first part. CPTI_EXIT_DONE or
 * CPTI_EXIT_FAILED. Deinit it in any case. */
int cpti_counterparts_init(struct cpti_counterparts *parts, struct cpti_gather *gather);
void cpti_counterparts_deinit(struct cpti_counterparts *parts);

/*
 * Compares both groups within the strata: fills in @parts->compared and ->deal, and
 * *@diff, in which the others are the base. *@diff is NULL if no stratum can be
 * compared. CPTI_EXIT_DONE, or CPTI_EXIT_FAILED with the error printed. The caller
 * frees *@diff.
 */
int cpti_counterparts_compare(struct cpti_counterparts *parts, uint64_t seed,
                              struct cpt_diff **diff);

/* The mean latency of all requests of a group, whatever their strata. */
struct cpt_mean cpti_counterparts_mean(const struct cpti_counterparts *parts,
                                       int group);

#endif
