/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * plans.h - the plans of a service that runs, or of a program that is started for it
 *
 * A service tells them as GET /cpt/plans. A program appends them to a file that the
 * environment names (CPT_PLANS), and an empty object when it begins to serve; it is
 * stopped then, or after a while.
 */
#ifndef CPTI_CLI_PLANS_H
#define CPTI_CLI_PLANS_H

#include "tool/live/answer.h"

#include <stdio.h>

enum { CPTI_PLANS_MAX = 256 };

struct cpti_plans {
    struct cpti_answer answer;
    size_t left; /* of the memory for it: cpti_doc_bound() */
    struct {
        struct cpt_bytes method; /* empty: not known */
        struct cpti_doc_value plan;
    } plans[CPTI_PLANS_MAX];
    size_t count;
    uint64_t left_out;
    uint64_t compared_count; /* names that cpti_plans_dot() compared: its work */
};

/* Asks the service at @place, as @get says. Free @plans in any case. */
cpt_status cpti_plans_ask(struct cpti_plans *plans, const struct cpti_peer *place,
                          const struct cpti_get *get, struct cpt_error *error);

/* Runs the program @words (ended by NULL), its output on stderr, until its plans are
 * made, it ends, or @seconds have passed. */
cpt_status cpti_plans_run(struct cpti_plans *plans, char *const *words,
                          unsigned seconds, struct cpt_error *error);

void cpti_plans_deinit(struct cpti_plans *plans);

/* --- plans_dot.c --- */

/* Writes them to @file as one graph in the language DOT. CPT_NO_MEMORY: not all. */
cpt_status cpti_plans_dot(struct cpti_plans *plans, FILE *file);

#endif
