/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * moved_clocks.h - what is told of hosts whose clocks were put right
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_MOVED_CLOCKS_H
#define CPTI_CLI_MOVED_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_json;
struct cpti_spans;

enum { CPTI_MOVED_HOSTS_MAX = 64, CPTI_MOVED_NAME_BYTES = 64 };

/* One host, over all traces. */
struct cpti_moved_host {
    char name[CPTI_MOVED_NAME_BYTES]; /* printable, and cut */
    int64_t least_ns;
    int64_t most_ns;
    uint64_t traces;
    uint64_t spans;
};

/* All zero: none yet. */
struct cpti_moved_clocks {
    struct cpti_moved_host hosts[CPTI_MOVED_HOSTS_MAX];
    size_t count;
    uint64_t other_spans; /* of hosts for which there is no room */
};

/* Adds what a resolved trace moved. */
void cpti_moved_clocks_add(struct cpti_moved_clocks *clocks,
                           const struct cpti_spans *spans);

/* Messages on what was moved, by host. */
void cpti_moved_clocks_tell(const struct cpti_moved_clocks *clocks);

/* The member "clocks" of a resolved trace, if any was moved. */
void cpti_moved_clocks_json(struct cpti_json *json, const struct cpti_spans *spans);

/* @ns as microseconds, whole unless it has a fraction. */
void cpti_json_us(struct cpti_json *json, const char *key, int64_t ns);

#endif
