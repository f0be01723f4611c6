/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* contention_print.h - what cpt contention has gathered, as tables and as JSON */
#ifndef CPTI_CLI_CONTENTION_PRINT_H
#define CPTI_CLI_CONTENTION_PRINT_H

#include "tool/folds/overlaps.h"
#include "tool/folds/owners.h"
#include "tool/folds/tally.h"
#include "tool/table/relation.h"
#include "cpt/cpt_path.h"

#include <stdbool.h>

struct cpt_tree;

/* Numbers of names; EMPTY is that of the empty one. */
enum { EMPTY = 0 };

/* In the place of a kind: the part of off CPU in which the task could have run. */
enum { RUN_DELAY = CPT_KIND_MAX + 1 };

/* In the place of a kind of a group: what is known of the culprit's request. */
enum {
    OF_VALUE = CPT_KIND_MAX + 2,
    OF_NO_VALUE, /* it has no such attribute */
    OF_UNKNOWN,  /* it is not in the logs */
    OF_OWN,      /* the request itself, or one that was not traced */
    OF_NOBODY    /* no culprit is known */
};

/* Names of a row: the victim, the name of the lock or executor, and the culprit (EMPTY:
 * not known). More: sums of weight * waits, and of weight * works before it in the
 * queue. */
enum { VICTIM, RESOURCE, CULPRIT };
enum { WAITS, QUEUED };

struct contention {
    struct cpt_names *names;
    struct cpti_tally pairs;       /* by all of victim, resource and culprit */
    struct cpti_tally culprits;    /* by culprit and resource */
    struct cpti_overlaps overlaps; /* of two requests, if has_overlaps */
    const char *by;                /* the attribute of groups; NULL: there are none */
    struct cpti_tally groups;      /* by its value in the culprit's request (CULPRIT) */
    struct cpti_owners owners;
    bool has_value; /* a record has it */
    bool has_overlaps;
    double time; /* sum of weight * latency */
    struct cpti_weights weights;
    double off_cpu; /* sum of weight * ns off the CPU … */
    double unknown; /* … of which run delay is not measured */
    uint64_t request_count;
};

/* The waits by all of them: what --columns and --sort are about. */
extern const struct cpti_relation cpti_contention_pairs;

/* Puts the rows in the order in which they are printed. */
void cpti_contention_sort(struct contention *all, const struct cpti_view *view);

/* Prints at most @row_max rows of each table; @tree is of the same requests. enum
 * cpti_exit. */
int cpti_contention_print(const struct contention *all, const struct cpt_tree *tree,
                          const struct cpti_view *view, size_t row_max);

/* The same as JSON; CPTI_CAPPED_ALL: all rows, and nothing is said of a rest. */
void cpti_contention_put(const struct contention *all, const struct cpt_tree *tree,
                         const struct cpti_view *view, size_t row_max);

#endif
