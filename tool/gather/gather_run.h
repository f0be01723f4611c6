/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_run.h - the inside of cpti_gather()
 *
 *      gather.c        prepares the stream, and completes the trees
 *      gather_side.c   the fold of one tree: requests, trees and databases to add
 *
 * Only these two files use it. Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_GATHER_RUN_H
#define CPTI_CLI_GATHER_RUN_H

#include "tool/gather/gather.h"
#include "tool/requests/stream.h"
#include "cpt/cpt_trace.h"

struct cpt_log_shapes;
struct cpt_serial;
struct cpti_parts;

/* The counts of the tree of a gather that counts all; see struct cpti_fold_counts. */
#define CPTI_COUNT_WHOLE         "whole_records"
#define CPTI_COUNT_WHOLE_WEIGHT  "whole_weight"
#define CPTI_COUNT_CHOSEN        "chosen_records"
#define CPTI_COUNT_CHOSEN_WEIGHT "chosen_weight"

/* Entry services of selected requests, escaped for printing. */
struct cpti_gather_services {
    char *names[CPTI_SERVICES_MAX];
    size_t count;
    size_t more_count; /* requests of services that found no place */
    bool has_failed;   /* without memory a service was not noted: nothing may be used */
};

/* One tree: the context of its fold. */
struct cpti_gather_side {
    struct cpti_gather *gather; /* in a part of a thread: &own */
    struct cpti_gather own;
    struct cpti_gather_services services;
    struct cpt_log_shapes *shapes;         /* of the records that this thread met */
    struct cpt_serial *serial;             /* NULL: it does not check times */
    uint64_t evidence[CPT_EVIDENCE_COUNT]; /* requests, by enum cpt_evidence */
};

/* What all threads share: the context of the stream. */
struct cpti_gather_run {
    size_t side_count;
    size_t path_count;
    struct cpti_parts *parts; /* the trees that were met */
    bool is_drawn; /* a database has drawn the samples and added their requests */
};

/* Makes an empty tree for @gather. enum cpti_exit; deinit also after a failure. */
int cpti_gather_side_init(struct cpti_gather_side *side, struct cpti_gather *gather);
/* Frees all but the tree. */
void cpti_gather_side_deinit(struct cpti_gather_side *side);

/* The fold that adds requests to @side. */
struct cpti_fold cpti_gather_fold(struct cpti_gather_side *side);

/* Notes the entry service @name. Whether it is the first one noted: only its requests
 * are added. */
bool cpti_gather_enters(struct cpti_gather_services *services, const char *name);

/* For a stream with a run as its context: a tree, a database. */
void cpti_gather_begin(void *context);
void cpti_gather_other(void *context, struct cpti_fold *folds, struct cpti_input *input,
                       struct cpti_outcome *outcome);
int cpti_gather_database(void *context, struct cpti_fold *folds, const char *address);

#endif
