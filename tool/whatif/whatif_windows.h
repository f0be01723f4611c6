/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_windows.h - the requests of two windows of spans, by kind, with their times
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_WINDOWS_H
#define CPTI_CLI_WHATIF_WINDOWS_H

#include "tool/whatif/whatif_check.h"
#include "tool/whatif/whatif_measure.h"
#include "cpt/base/hash_index.h"

enum { CPTI_BASE, CPTI_NEW, CPTI_WINDOWS };

/* A kind of request. */
struct cpti_check_kind {
    uint64_t hash;
    char *name;
    char *calls;
    size_t counts[CPTI_WINDOWS];
    size_t first[CPTI_WINDOWS]; /* among the requests, in their order */
    size_t times;               /* of BASE */
};

struct cpti_check_request {
    uint64_t order; /* a hash of its trace's id: whatever the order of files is */
    uint64_t latency_ns;
    uint64_t predicted_ns;
    double low_ns; /* that it could be */
    double high_ns;
    bool has_range;
    uint32_t kind;
    uint32_t line_count;
    uint32_t number; /* in the order of reading */
};

/* A measured time. */
struct cpti_check_time {
    uint64_t key; /* of times of the same thing, in the same kind of request */
    uint64_t ns;
    uint64_t order;
    uint64_t new_ns;
    uint32_t request;
    uint32_t line;
    bool is_own;
};

struct cpti_window {
    struct cpti_check_request *requests;
    size_t request_count, request_capacity;
    struct cpti_check_time *times;
    size_t time_count, time_capacity;
};

struct cpti_windows {
    struct cpti_check *check;
    struct cpti_window all[CPTI_WINDOWS];
    unsigned side; /* that is read */
    struct cpti_whatif_measure measure;
    struct cpt_whatif *whatif; /* of BASE */
    struct cpti_check_kind *kinds;
    size_t kind_count, kind_capacity;
    struct cpti_hash_index kind_index;
    bool has_recorded; /* a request whose services tell who waited */
};

/* Reads both windows, as windows->check asks. What is wrong was printed. enum
 * cpti_exit. */
int cpti_windows_read(struct cpti_windows *windows);
void cpti_windows_deinit(struct cpti_windows *windows);

#endif
