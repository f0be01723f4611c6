/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request_set.h - one of two sets of requests that are compared
 *
 *      path logs --> selected records, each once --> sample
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_REQUEST_SET_H
#define CPTI_CLI_REQUEST_SET_H

#include "tool/gather/gather.h"
#include "tool/requests/stream.h"
#include "tool/select/select.h"

/* Set the first part; the rest is zero at first. */
struct cpti_request_set {
    const char *what;         /* "base", for messages */
    const char *const *paths; /* of path logs; borrowed */
    size_t path_count;
    struct cpti_selection selection;

    struct cpti_fold fold;  /* its counts, and the sample */
    size_t visits_count;    /* records of the sample with all visits */
    uint64_t damaged_count; /* … that cannot be read */
};

/* Reads the logs of @set and draws its sample, of at most as many as its selection
 * says. Prints what is wrong, what does not count, and that no request is selected.
 * enum cpti_exit; after a failure fold.sample.count tells if there is something. */
int cpti_request_set_read(struct cpti_request_set *set,
                          const struct cpti_arguments *arguments);
void cpti_request_set_deinit(struct cpti_request_set *set);

#endif
