/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans_out.h - the spans of simulated requests, as Jaeger's JSON
 *
 * Threads: one at a time. Memory is that of events.h.
 */
#ifndef MODELS_SPANS_OUT_H
#define MODELS_SPANS_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum side { SIDE_NONE, SIDE_CLIENT, SIDE_SERVER, SIDE_PRODUCER, SIDE_CONSUMER };

/* Nothing is above the span of a request. */
enum { NO_SPAN = -1 };

struct span {
    int parent;
    int service;
    int replica;
    enum side side;
    char operation[24];
    int peer; /* the service that a client called; -1: it is none */
    int64_t start_ns;
    int64_t end_ns; /* -1: it has not ended, and is not written */
    bool is_failed;
};

struct request {
    uint64_t number;
    int tenant;
    bool is_slow; /* a fault of some requests has it */
    bool is_answered;
    struct span *spans;
    int span_count;
    int span_capacity;
};

/* The wall clock at simulated time 0, which is @start_s after that of all runs. */
int64_t span_epoch_us(double start_s);

/* Adds a span that begins now; the rest of @span is the caller's. Its number. */
int span_begin(struct request *request, const struct span *span);
void span_end(struct request *request, int number, int64_t end_ns, bool is_failed);

struct spans_out {
    FILE *file;
    uint64_t run;    /* tells the traces of runs apart */
    double start_s;  /* of simulated time 0 */
    bool has_sides;  /* spans say which side of a call they are, … */
    bool has_hosts;  /* … and on which replica they ran */
    bool has_tenant; /* the root says whose request it is */
    bool is_begun;
};

/* Writes a request; the first one begins the document, and the end ends it. */
void spans_out_request(struct spans_out *out, const struct request *request);
void spans_out_end(struct spans_out *out);

#endif
