/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_condition.h - conditions on a change, for cpt diff --fail-if
 *
 *      service("X") > +5% at q<0.01
 *
 *      condition  subject ('>' | '<') amount ['at' 'q' '<' number]
 *      subject    total | quantile | (stack | service | name | edge) '(' "text" ')'
 *      amount     ['+' | '-'] number ('%' | 'ns' | 'us' | 'ms' | 's')
 *
 * A condition holds if the change of the subject's self time (for total: of the
 * latency) is beyond the amount, its q value is below the given one (default 0.01), and
 * the row can be trusted (enum cpt_diff_doubt). The quantile is that of --quantile, and
 * the only subject beside it; it is one test, so its p value is its q value.
 * The text is that of the row, in single or double quotes; \" stands for a quote.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_DIFF_CONDITION_H
#define CPTI_CLI_DIFF_CONDITION_H

#include "tool/folds/views.h"
#include "tool/table/json_write.h"
#include "aggregate/cpt_quantile.h"

#include <stdbool.h>

enum { CPTI_CONDITIONS_MAX = 64, CPTI_CONDITION_TEXT_BYTES = 4096 };

struct cpti_condition {
    const char *text; /* as given */
    bool is_total;
    bool is_quantile;
    enum cpti_by by;
    char subject[CPTI_CONDITION_TEXT_BYTES];
    bool is_less;
    bool is_relative;
    double amount; /* if is_relative a part of the base, else ns */
    double q;
    bool is_found;  /* there is such a row */
    char *nearest;  /* else the name of a row that is meant, perhaps; owned, or NULL */
    bool is_beyond; /* its change is beyond the amount, whatever its q value */
    enum cpt_diff_doubt doubt;
    bool holds;
    struct cpt_change change;
    double q_value;
};

struct cpti_mix;

struct cpti_conditions {
    struct cpti_condition *conditions;
    size_t count;
};

/* Reads all --fail-if. CPTI_EXIT_DONE; CPTI_EXIT_USAGE with the place of the mistake;
 * CPTI_EXIT_FAILED without memory. The caller frees @conditions in any case. */
int cpti_conditions_init(struct cpti_conditions *conditions,
                         const struct cpti_arguments *arguments);
void cpti_conditions_deinit(struct cpti_conditions *conditions);

/* The views that they need: bits 1 << enum cpti_by. */
unsigned cpti_conditions_wanted(const struct cpti_conditions *conditions);

/* Tests each condition; @mix is NULL without --mix. CPTI_EXIT_DONE or
 * CPTI_EXIT_FAILED. */
int cpti_conditions_test(struct cpti_conditions *conditions,
                         const struct cpti_gather *gathers,
                         const struct cpti_views *views, const struct cpti_mix *mix);

/* Tests each condition on the quantile by its change; @doubt is about that. */
void cpti_conditions_test_quantile(struct cpti_conditions *conditions,
                                   const struct cpt_quantile_change *change,
                                   enum cpt_diff_doubt doubt);

/* Prints on stderr which ones hold, and which have no row. CPTI_EXIT_CONDITION if one
 * holds, else CPTI_EXIT_FAILED if one has no row, else CPTI_EXIT_DONE. */
int cpti_conditions_say(const struct cpti_conditions *conditions);

/* The field "conditions", an array; nothing if there are none. */
void cpti_conditions_json(const struct cpti_conditions *conditions,
                          struct cpti_json *json);

#endif
