/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_totals.h - what became of the spans of many traces, in the words of all commands
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_SPAN_TOTALS_H
#define CPTI_CLI_SPAN_TOTALS_H

#include "tool/requests/moved_clocks.h"
#include "import/spans/spans.h"

/* All zero: nothing yet. */
struct cpti_span_totals {
    uint64_t rootless;       /* traces in which no span can be the root */
    uint64_t empty;          /* traces that took no time */
    uint64_t refused_spans;  /* without an id, or with one that cannot be */
    uint64_t dropped;        /* the sum of those by reason */
    uint64_t joined;         /* pieces that went into others */
    uint64_t unknown_fields; /* that OpenTelemetry's protocol 1.x does not have */
    uint64_t replaced;       /* characters that are none */
    uint64_t clipped;
    uint64_t contradictory;                  /* traces */
    uint64_t fragments[CPTI_SPAN_FRAGMENTS]; /* traces, by why they are some */
    struct cpti_moved_clocks clocks;
#define CPTI_SPAN_TOTAL_(name, sentence) uint64_t name;
    CPTI_SPAN_DROP_MAP(CPTI_SPAN_TOTAL_)
#undef CPTI_SPAN_TOTAL_
};

/* Adds what resolving @spans found. */
void cpti_span_totals_add(struct cpti_span_totals *totals, struct cpti_spans *spans,
                          const struct cpti_spans_report *report);

/* How many traces are fragments. */
uint64_t cpti_span_totals_fragments(const struct cpti_span_totals *totals);

/* Messages on all that is not 0. */
void cpti_span_totals_tell(const struct cpti_span_totals *totals);

/* A message "@count @what", unless it is 0. */
void cpti_tell_count(uint64_t count, const char *what);

#endif
