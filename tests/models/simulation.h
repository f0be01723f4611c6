/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * simulation.h - a system serves requests, which become spans
 *
 * Events are in a heap by time. A visit is a state machine: it waits for a worker of
 * its replica, computes on a core of its host, makes the calls of a stage, waits for
 * all of them, and so on. A worker is held, or given back, while it waits for calls.
 *
 *      caller    client span    |===========================|
 *      network                  |--|                    |---|
 *      callee    server span       |====================|
 *                                  queue, own time, calls, own time
 *
 * Threads: one at a time. Out of memory ends the program.
 */
#ifndef MODELS_SIMULATION_H
#define MODELS_SIMULATION_H

#include "tests/models/system.h"

#include <stdio.h>

struct run_options {
    uint64_t seed;
    long request_count;
    double rate;      /* requests a second */
    double cache;     /* 1: caches answer as planned; 0: they are cold */
    bool has_clients; /* spans of the client's side of calls */
    bool has_hosts;   /* spans name the replica they ran on */
    bool has_records; /* no spans, but records with the tenant are written */
    double keep;      /* part of the requests that is written */
    double start_s;
    int tenants;          /* 5, or how many users there are … */
    double tenant_spread; /* … whose times differ: of the logarithm, by service */
    uint64_t mix_seed;    /* 0: the mix of the system */
    int arm;              /* 0: all tenants; 1, 2: those of one arm, by arm_seed */
    uint64_t arm_seed;
};

/* Runs @system with @fault, and writes the requests to @file: as Jaeger's JSON, or as
 * the records of a path log (records_out.h). */
void simulate(const struct system *system, const struct fault *fault,
              const struct run_options *options, FILE *file);

#endif
