/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_condition.h - cpt diff --fail-if: what a change must not be
 *
 *      service("X") > +5% at q<0.01
 *
 *      condition  subject ('>' | '<') amount ['at' 'q' '<' number]
 *      subject    total | (stack | service | name | edge) '(' "text" ')'
 *      amount     ['+' | '-'] number ('%' | 'ns' | 'us' | 'ms' | 's')
 *
 * It holds if the change of the subject's self time (of the whole latency: total) is
 * beyond the amount, and its q value is below the one given (0.01 if none is). The text
 * is that of the row, in single or double quotes; \" stands for a quote.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_DIFF_CONDITION_H
#define CPTI_CLI_DIFF_CONDITION_H

#include "cpt/cli/gather/views.h"
#include "cpt/cli/base/json_write.h"

enum { CPTI_CONDITIONS_MAX = 64, CPTI_CONDITION_TEXT_BYTES = 4096 };

struct cpti_condition {
    const char *text; /* as given */
    int is_total;
    enum cpti_by by;
    char subject[CPTI_CONDITION_TEXT_BYTES];
    int is_less;
    int is_relative;
    double amount; /* a part of the base, or ns */
    double q;
    int is_found; /* there is such a row */
    int holds;
    struct cpt_change change;
    double q_value;
};

struct cpti_mix;

struct cpti_conditions {
    struct cpti_condition *conditions;
    size_t count;
};

/* Reads all --fail-if. CPTI_EXIT_DONE; CPTI_EXIT_USAGE with the place of the mistake;
 * CPTI_EXIT_FAILED without memory. To be freed in any case. */
int cpti_conditions_init(struct cpti_conditions *conditions,
                         const struct cpti_arguments *arguments);
void cpti_conditions_deinit(struct cpti_conditions *conditions);

/* The views that are needed: bits 1 << enum cpti_by. */
unsigned cpti_conditions_wanted(const struct cpti_conditions *conditions);

/* Finds out which ones hold; @mix is NULL without --mix. CPTI_EXIT_DONE, or CPTI_EXIT_FAILED. */
int cpti_conditions_test(struct cpti_conditions *conditions,
                         const struct cpti_gather *gathers,
                         const struct cpti_views *views, const struct cpti_mix *mix);

/* Says on stderr which ones hold, and which have no row. CPTI_EXIT_CONDITION if one
 * holds, else CPTI_EXIT_FAILED if one has no row, else CPTI_EXIT_DONE. */
int cpti_conditions_say(const struct cpti_conditions *conditions);

/* The field "conditions", an array; nothing if there are none. */
void cpti_conditions_json(const struct cpti_conditions *conditions,
                          struct cpti_json *json);

#endif
