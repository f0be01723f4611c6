/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * nesting.h - whose child an interval is, learnt from many requests by refutation
 *
 * In one request a call often lies within others that run beside it. In many requests
 * only those that truly contain it always do:
 *
 *      shop   |=======================|     |=====================|
 *      stock      |==========|                 |=======|
 *      price        |====|                         |=======|        no child of stock
 *
 * A kind is a service, an operation and a role. For each class of requests, which
 * entered alike, only counts are kept: how often an interval of a kind lies in one of
 * another, crosses it or contains it. A kind that contains nearly every interval of
 * another one is universal for it; one that never crosses it is admissible.
 *
 * The parent of an interval is of the universal kind that itself has the most universal
 * kinds, or the shortest of an admissible kind in between. The entry, which is the
 * first interval of a request, is the parent of all others; of several that may be, as
 * stamps in ms leave open which contains the others, the one whose service has longer
 * intervals in such requests.
 *
 * In order of use: enter each request, learn from each, finish, check each once more,
 * then ask for parents.
 * Threads: one at a time.
 */
#ifndef CPTI_NESTING_H
#define CPTI_NESTING_H

#include "import/events/requests.h"

#define CPTI_NO_PARENT UINT32_MAX

enum {
    CPTI_NESTING_LINES_MAX = 4096, /* of a request that is learnt from */
    CPTI_NESTING_PAIRS_MAX = 1 << 21,
    CPTI_NESTING_CLASSES_MAX = 1 << 12
};

/* What was passed over. */
struct cpti_nesting_counts {
    uint64_t learnt;      /* requests */
    uint64_t classes;     /* after finishing */
    uint64_t passed_over; /* requests: they are long, or there are more than enough */
    uint64_t pairs_left_out;
};

struct cpti_nesting;

/* NULL without memory. The caller owns it. */
struct cpti_nesting *cpti_nesting_new(const struct cpt_alloc *alloc);
void cpti_nesting_free(struct cpti_nesting *nesting);

/* Counts which services begin @request together, as far as their stamps tell: a proxy
 * and what it calls, in whole milliseconds. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_enter(struct cpti_nesting *nesting,
                              const struct cpti_request *request);

/* Counts the intervals of @request. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_learn(struct cpti_nesting *nesting,
                              const struct cpti_request *request);

/* Decides what is universal and admissible. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_finish(struct cpti_nesting *nesting);

/* Counts, after finishing, which intervals have no admissible one around them: if a
 * kind is there once in each instance of its universal kind, but others do not explain
 * all its instances, they are chance. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_check(struct cpti_nesting *nesting,
                              const struct cpti_request *request);

/*
 * Puts the number of the line whose interval is the parent of that of line i into
 * @parents[i], for each line of @request: CPTI_NO_PARENT for points and the entry. From
 * each line on the entry is reached. @entry: its number, CPTI_NO_PARENT if there is no
 * interval.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_nesting_parents(struct cpti_nesting *nesting,
                                const struct cpti_request *request, uint32_t *parents,
                                uint32_t *entry);

const struct cpti_nesting_counts *
cpti_nesting_counts(const struct cpti_nesting *nesting);

#endif
