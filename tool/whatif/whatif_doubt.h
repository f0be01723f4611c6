/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_doubt.h - what the change of the mean latency could be
 *
 * Where who waited is inferred, each request has a range of new latencies
 * (cpt_whatif_range()). Their means are the ends of the interval in which the change is
 * (could_be.h). Recorded graphs have none, nor has the rule of the walk, when that was
 * asked for.
 *
 * Threads: as of a plan.
 */
#ifndef CPTI_TOOL_WHATIF_DOUBT_H
#define CPTI_TOOL_WHATIF_DOUBT_H

#include "tool/whatif/could_be.h"
#include "tool/whatif/whatif_set.h"

#include <stdio.h>

/* A wait that may have been another. */
struct cpti_whatif_doubtful {
    struct cpt_whatif_wait wait;
    double width_ns; /* weighted, of all requests */
    uint64_t count;  /* requests */
    size_t request;  /* the last of them */
};

struct cpti_whatif_doubt {
    struct cpti_could_be could_be; /* the change, once it is judged */
    bool is_inferred;              /* of some request, who waited */
    bool has_other_waits;          /* a term changes who waits: nothing is known */
    uint64_t unknown;              /* requests of which nothing is known */
    /* While requests are added: */
    double weight, low_sum_ns, high_sum_ns, before_sum_ns;
    bool lists_waits;
    struct cpti_whatif_doubtful *waits; /* the widest first, at the end */
    size_t wait_count, wait_capacity;
};

/* Adds @request, which takes @after_ns by @plan. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_whatif_doubt_add(struct cpti_whatif_doubt *doubt,
                                 const struct cpti_whatif_set *set,
                                 struct cpt_whatif_plan *plan, size_t request,
                                 uint64_t after_ns);

/* All requests are there: the mean latency, @before_ns, changes by @change_ns. */
void cpti_whatif_doubt_judge(struct cpti_whatif_doubt *doubt, double before_ns,
                             double change_ns);
void cpti_whatif_doubt_deinit(struct cpti_whatif_doubt *doubt);

/* Which doubt each of the two intervals of an answer is: a sentence. */
extern const char cpti_whatif_doubt_kinds[];

/* Writes, in lines of plain text, that nothing changes, or that spans do not tell, and
 * why: of the waits the widest. Nothing if there is a number. */
void cpti_whatif_doubt_write(const struct cpti_whatif_doubt *doubt,
                             const struct cpti_whatif_set *set, FILE *file);

#endif
