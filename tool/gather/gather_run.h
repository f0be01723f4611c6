/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_run.h - one run of cpti_gather(): its state, its inputs, its threads
 *
 *      gather.c          prepares the run, and completes its trees
 *      gather_threads.c  shares the pieces of the inputs among threads, each with a run
 *                        of its own, and joins them
 *      gather_input.c    adds one log, tree or database to the trees of a run
 *
 * Only these three files use it. Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_GATHER_RUN_H
#define CPTI_CLI_GATHER_RUN_H

#include "tool/gather/gather.h"
#include "tool/requests/sample.h"
#include "tool/requests/seen.h"

struct cpt_log_part;
struct cpt_log_shapes;
struct cpt_serial;

/* The counts of the tree of a gather that counts all; see struct cpti_gather_tally. */
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

struct cpti_gather_run {
    struct cpti_gather *gathers;
    size_t gather_count;
    struct cpti_gather_services services;
    bool stops_at_error;
    bool is_drawn; /* a database has drawn the samples and added their requests */
    struct cpt_log_shapes *shapes; /* of the records that this thread met */
    struct cpti_gather_tally tallies[CPTI_GATHERS_MAX]; /* of the log being read */
    struct cpti_sample samples[CPTI_GATHERS_MAX];
    struct cpt_serial *serials[CPTI_GATHERS_MAX]; /* NULL: it does not check times */
    struct cpti_seen *seen;     /* all threads share it; NULL: duplicates count */
    struct cpti_parts *parts;   /* the trees that were met; all threads share it */
    struct cpti_seen_mark mark; /* of the record being read */
    bool has_mark;
    bool met_requests; /* some input was not a tree */
    size_t path_count;
};

/* The result of reading an input, or a piece of it. */
struct cpti_gather_outcome {
    int exit_status;
    bool is_usable; /* what was read of it may be used, even after a failure */
    bool is_log;
    bool is_broken; /* damage in a part of a log: the whole log is to be read instead */
};

/* --- gather_input.c --- */

/* Makes empty trees and shapes. enum cpti_exit; deinit also after a failure. */
int cpti_gather_run_init(struct cpti_gather_run *run);
/* Frees all but the trees and the samples. */
void cpti_gather_run_deinit(struct cpti_gather_run *run);

/* Notes the entry service @name. Whether it is the first one noted: only its requests
 * are added. */
bool cpti_gather_run_enters(struct cpti_gather_run *run, const char *name);

/* Adds the input at @path, or @part of it unless that is NULL. */
struct cpti_gather_outcome cpti_gather_input(struct cpti_gather_run *run,
                                             const char *path,
                                             const struct cpt_log_part *part);

/* Adds the requests of the samples to the trees, and notes how they were drawn. enum
 * cpti_exit. */
int cpti_gather_samples(struct cpti_gather_run *run);

/* --- gather_threads.c --- */

/*
 * Adds the inputs at @paths, by at most @thread_count threads; @outcomes gets one for
 * each. By one thread it ends at the first that is not usable. enum cpti_exit.
 */
int cpti_gather_inputs(struct cpti_gather_run *run, const char *const *paths,
                       size_t path_count, size_t thread_count,
                       struct cpti_gather_outcome *outcomes);

#endif
