/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_check.h - whether a replay of one window of spans gives the latency of another
 *
 *      BASE   own times and wires of a service ---.
 *      NEW    the same, by rank ------------------+--> BASE, replayed with those of NEW
 *      NEW    latencies -----------------------------> are they the same?
 *
 * Kind of request by kind of request (whatif_measure.h): of the n own times of an
 * operation in BASE, the r-th becomes the quantile (r + 1/2) / n of NEW; and so the
 * wires. Where NEW has fewer than CPTI_CHECK_TIMES_MIN, they stay. What is learnt of
 * who waits for whom is from BASE alone.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_CHECK_H
#define CPTI_CLI_WHATIF_CHECK_H

#include "tool/requests/kept_graphs.h"
#include "tool/table/relation.h"
#include "cpt/cpt_whatif.h"

enum {
    CPTI_CHECK_REQUESTS_MIN = 5, /* of a kind, in both windows */
    CPTI_CHECK_TIMES_MIN = 3     /* of the same thing, in NEW */
};

/* What is asked. */
struct cpti_check_options {
    const char *const *files[2]; /* of BASE, of NEW */
    size_t file_count[2];
    const char *service; /* whose times are put into BASE; "*": all */
    bool by_walk;
    struct cpti_selection *selection;
};

/* A kind of request. */
struct cpti_check_row {
    char *name;  /* "front: / #1a2b3c4d" */
    char *calls; /* of its entry */
    uint64_t base_requests;
    uint64_t new_requests;
    double base_ns; /* mean latencies */
    double new_ns;
    double predicted_ns;
    double low_ns; /* what it could be, as who waited is inferred; NAN: not known */
    double high_ns;
    double error_ns; /* of sampling, of both windows: 1.96 standard errors */
    bool is_within;  /* new and predicted differ by no more */
    uint64_t times;  /* of the service in BASE; 0: predicted is as recorded */
};

struct cpti_check {
    struct cpti_check_options options;
    struct cpti_kept_counts counts[2];
    struct cpti_check_row *rows; /* of kinds with enough requests in both windows */
    size_t row_count;
    size_t within_count;
    size_t part_count; /* of the rows with times of the service, … */
    size_t part_within_count;
    uint64_t other_kinds;    /* without a row */
    uint64_t other_requests; /* of BASE, of these */
    uint64_t time_count;     /* times of BASE in the rows, … */
    uint64_t stay_count;     /* … of which these have too few like them in NEW */
    struct cpt_whatif_counts replayed;
};

/* Fills in @check. What is wrong was printed. enum cpti_exit; CPTI_EXIT_FAILED also if
 * some of the input could not be read, but there are rows; and if there are none. The
 * caller deinits it in each case. */
int cpti_check_run(struct cpti_check *check, const struct cpti_check_options *options);
void cpti_check_deinit(struct cpti_check *check);

/* --- whatif_check_print.c --- */

extern const struct cpti_relation cpti_check_kinds;

/* The command: cpt whatif --check BASE NEW --service S. enum cpti_exit. */
int cpti_check_command(const struct cpti_arguments *arguments);

#endif
