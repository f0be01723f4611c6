/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * live.h - traces out of spans that come from running services
 *
 *      requests --> spans --> [ waiting, by trace ] --ended--> a trace
 *                     |               |
 *                     |               '-> shed: too much waits
 *                     '-> late, shed: its trace is gone already
 *
 * Nothing says which span of a trace is the last. A trace has most likely ended when
 * none of its spans came for a while (cpti_assembly_take_ended()); what comes later is
 * counted and left out, as half a trace would say something wrong.
 *
 * If more waits than memory is allowed, whole traces are left out, never a part of one;
 * it is looked at behind each span, so no request holds more for a while.
 * A trace's id, hashed, is a number from 0 to 1, the same in each process; a trace is
 * kept if that is below the *share*. So all collectors of a system keep the same traces
 * while they have the same share, and one that keeps fewer keeps some of those. The
 * share falls by an eighth until what waits fits, and rises by as much after a time in
 * which half of the memory was enough. Who counts traces divides by the share with
 * which each was kept.
 *
 * That no trace is kept without its beginning when the share rises, or when a trace
 * that was too large goes on, is known from a memory of ids: those of traces that are
 * gone, for age_ns at least, unless there are more than some hundred thousand.
 *
 * Threads: one at a time. It reads no clock.
 */
#ifndef CPTI_LIVE_H
#define CPTI_LIVE_H

#include "import/spans/spans.h"

struct cpti_live_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    uint64_t quiet_ns;             /* a trace without news has ended; 0: 5 s */
    uint64_t age_ns;               /* so has one that began before; 0: 60 s */
    size_t bytes_max;              /* of all that waits; 0: 256 MiB */
    size_t spans_max;              /* of a trace; 0: 100,000 */
    double share;                  /* to keep of the traces at most; 0: 1 */
};

/* What came, and what became of it. */
struct cpti_live_counts {
    uint64_t spans;          /* all, with those that follow */
    uint64_t refused_spans;  /* whose ids are none */
    uint64_t late_spans;     /* whose trace was taken before */
    uint64_t shed_spans;     /* whose trace is left out */
    uint64_t traces;         /* taken */
    uint64_t shed_traces;    /* left out to fit the share, as far as is remembered */
    uint64_t large_traces;   /* left out, as they have too many spans or bytes */
    uint64_t unknown_fields; /* of requests, that OTLP 1.x does not have */
    uint64_t replaced;       /* characters that are none: U+FFFD stands for them */
    /* what there is now */
    uint64_t waiting_traces;
    uint64_t waiting_spans;
    uint64_t waiting_bytes;
    double share;
};

struct cpti_live;

/* NULL without memory. The caller owns it. */
struct cpti_live *cpti_live_new(const struct cpti_live_options *options);
void cpti_live_free(struct cpti_live *live);

/*
 * Reads a request to an OpenTelemetry collector, or a part of one (batches.h), @bytes
 * of JSON with CPTI_DOC_PADDING readable bytes behind it, that came at @now_ns, of a
 * clock that never goes back; if it does, the latest time counts. *@refused is how many
 * of its spans were refused.
 *
 * CPT_OK; CPT_INVALID with a sentence: it is no such request, or one of a version that
 * has its spans elsewhere; CPT_NO_MEMORY: some of it may have been taken, and the rest
 * if it comes again.
 */
cpt_status cpti_live_json(struct cpti_live *live, const char *text, size_t bytes,
                          uint64_t now_ns, uint64_t *refused, struct cpt_error *error);

/* The same with a request in protobuf; what is before the place where it is damaged was
 * taken. */
cpt_status cpti_live_protobuf(struct cpti_live *live, struct cpt_bytes request,
                              uint64_t now_ns, uint64_t *refused,
                              struct cpt_error *error);

/*
 * Puts a trace that has ended at @now_ns into @spans, which it resets; with @takes_all,
 * any that waits. Its id to *@trace, borrowed until the next call, and the share with
 * which it was kept to *@share.
 *
 * CPT_OK; CPT_END: there is none; CPT_NO_MEMORY: it waits on.
 */
cpt_status cpti_live_take(struct cpti_live *live, uint64_t now_ns, bool takes_all,
                          struct cpti_spans *spans, struct cpt_bytes *trace,
                          double *share);

void cpti_live_counts(const struct cpti_live *live, struct cpti_live_counts *counts);

/* Where trace @id stands between 0 and 1, in units of 2^-64: it is kept if that is
 * below the share. */
uint64_t cpti_live_place(struct cpt_bytes id);

#endif
