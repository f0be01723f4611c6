/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * moved_clocks.h - what is told of clocks that were put right, and of spans that were
 * not believed: of hosts, and of processes that name none
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_MOVED_CLOCKS_H
#define CPTI_CLI_MOVED_CLOCKS_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_json;
struct cpti_spans;
struct cpti_spans_report;

enum { CPTI_MOVED_HOSTS_MAX = 64, CPTI_MOVED_NAME_BYTES = 64 };

/* One host, or the processes of a service that name none, over all traces. */
struct cpti_moved_host {
    char name[CPTI_MOVED_NAME_BYTES]; /* "host a": printable, and cut */
    int64_t least_ns;
    int64_t most_ns;
    uint64_t traces;
    uint64_t spans;   /* that were moved */
    uint64_t trace;   /* the last one, by its number */
    uint64_t doubted; /* spans that were not believed, … */
    uint64_t doubted_traces;
    uint64_t doubted_trace;
};

/* All zero: none yet. */
struct cpti_moved_clocks {
    struct cpti_moved_host hosts[CPTI_MOVED_HOSTS_MAX];
    size_t count;
    uint64_t traces;      /* that were added */
    uint64_t other_spans; /* of hosts for which there is no room */
    uint64_t other_doubted;
};

/* Adds what a resolved trace moved, and what was not believed. */
void cpti_moved_clocks_add(struct cpti_moved_clocks *clocks, struct cpti_spans *spans,
                           const struct cpti_spans_report *report);

/* How many spans were moved; how many were not believed. */
uint64_t cpti_moved_clocks_spans(const struct cpti_moved_clocks *clocks);
uint64_t cpti_moved_clocks_doubted(const struct cpti_moved_clocks *clocks);

/* Names in words whose clock it is: of @host, or if it is empty of @service. */
void cpti_moved_clock_name(struct cpt_bytes host, struct cpt_bytes service,
                           char name[CPTI_MOVED_NAME_BYTES]);

/* Messages on what was moved and what was not believed, by host. */
void cpti_moved_clocks_tell(const struct cpti_moved_clocks *clocks);

/* The member "clocks" of a resolved trace, if any was moved, and "doubted", if any span
 * was not believed. */
void cpti_moved_clocks_json(struct cpti_json *json, struct cpti_spans *spans);

/* @ns as microseconds, whole unless it has a fraction. */
void cpti_json_us(struct cpti_json *json, const char *key, int64_t ns);

#endif
