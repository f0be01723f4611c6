/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans.h - the spans of one trace, and the critical path that they tell
 *
 * A span is work that a tracer measured: which service, which operation, from when to
 * when, and below which other span. Spans do not say when a service waited. So we take
 * it that a span waits for each of its children that ended before it went on, from the
 * last one backwards:
 *
 *      A: /        |=========================================|
 *      B: get          |=========|
 *      C: find              |================|
 *      D: put                                    |=======|
 *      sections    [   A    ][       C       ][ A ][  D   ][ A ]
 *
 * D ended last and held A until then; before D began, C ended last; B ended after C had
 * begun, so it delayed nothing. The same rule holds within C and D. The sections tile
 * the root span exactly. They are approximate: where a parent computed while a child
 * ran, the child gets the time. Spans that tell when they waited, and for what, make
 * them exact (docs/import.md).
 *
 * In order of use: cpti_spans_new; for each trace cpti_spans_reset, cpti_spans_add,
 * cpti_spans_resolve, cpti_spans_walk, and cpti_spans_section or cpti_spans_path.
 *
 * Threads: one at a time. Nothing recurses over input; memory grows with the number of
 * spans, and is kept for the next trace.
 */
#ifndef CPTI_SPANS_H
#define CPTI_SPANS_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_path;

enum { CPTI_SPANS_MAX = 1 << 24 /* of one trace */ };

/* Which side of a call a span measured. The numbers are OpenTelemetry's. */
enum cpti_span_kind {
    CPTI_SPAN_UNKNOWN = 0,
    CPTI_SPAN_INTERNAL = 1,
    CPTI_SPAN_SERVER = 2,
    CPTI_SPAN_CLIENT = 3,
    CPTI_SPAN_PRODUCER = 4,
    CPTI_SPAN_CONSUMER = 5
};

/* One span. The bytes are borrowed until the set is reset or freed. */
struct cpti_span {
    struct cpt_bytes id;        /* as its source writes it */
    struct cpt_bytes parent;    /* id of the span above; empty: it is a root */
    struct cpt_bytes service;   /* who did the work */
    struct cpt_bytes operation; /* what */
    struct cpt_bytes peer;      /* whom a client span called, if it says so */
    struct cpt_bytes host;      /* by whose clock its times are; empty: not known */
    /* of a wait, the id of the span that was waited for; of any other span, of the one
     * whose end it began after; empty: it does not say */
    struct cpt_bytes link;
    struct cpt_bytes note; /* what our own framework says beside; notes.h */
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t number;        /* in its file; for who adds it */
    uint64_t request_bytes; /* of the body of its call; 0: it does not say */
    uint64_t reply_bytes;
    uint64_t rejected;       /* of 2^56 such spans, how many the sampler left out */
    uint32_t wait_count;     /* how many of its children are waits, if it tells */
    unsigned char kind;      /* enum cpti_span_kind */
    unsigned char peer_rank; /* for who fills it in: how good `peer` is */
    bool has_time;    /* false: start or duration is missing, or makes no sense */
    bool is_async;    /* its parent did not wait for it (FOLLOWS_FROM) */
    bool is_failed;   /* it says that it ended with an error */
    bool is_wait;     /* it is no work: its parent waited, from its start to its end */
    bool tells_waits; /* it computed at all times at which it did not say it waited */
};

/* X(name, sentence). Why spans are not in the tree of the root. */
#define CPTI_SPAN_DROP_MAP(X)                                                          \
    X(timeless, "without a time that makes sense")                                     \
    X(duplicates, "with the id of another span")                                       \
    X(asynchronous, "that nothing waited for")                                         \
    X(orphans, "whose parent is not in the trace")                                     \
    X(roots, "below another root")                                                     \
    X(outside, "outside of their parent's time")                                       \
    X(cycles, "that are their own ancestors")

/* What was found. A span below a dropped one counts like it. */
struct cpti_spans_report {
    size_t dropped; /* the sum of those below */
#define CPTI_SPAN_DROP_FIELD_(name, sentence) size_t name;
    CPTI_SPAN_DROP_MAP(CPTI_SPAN_DROP_FIELD_)
#undef CPTI_SPAN_DROP_FIELD_
    size_t clipped;        /* spans that were cut to their parent's time */
    size_t contradictions; /* pairs of hosts whose clocks no offset puts right */
    bool is_root_missing;  /* the root is an orphan */
};

/* A host whose clock was put right. */
struct cpti_span_clock {
    struct cpt_bytes host;
    int64_t offset_ns; /* it was ahead of the clock of the root's host by so much */
    uint64_t error_ns; /* which is wrong by no more than this; UINT64_MAX: unknown */
    size_t spans;      /* that were moved */
};

/* How sections are found. The other two are for comparison with those tools. */
enum cpti_span_mode {
    /* A child that ends when the time goes on, or at most 1 % of its parent's duration
     * later, is waited for, and cut there. Sections tile the root. */
    CPTI_SPANS_EXACT = 0,
    /* As Jaeger's page: a child that ends just when the next one begins is left out.
     * Sections tile the root. */
    CPTI_SPANS_JAEGER_UI = 1,
    /* As CRISP: children that overlap by 1 % keep their time, and their parent loses as
     * much of its own. Sections may overlap. */
    CPTI_SPANS_CRISP = 2
};

/* A call of one service by another. */
struct cpti_span_call {
    struct cpt_bytes from;
    struct cpt_bytes to;
    uint64_t request_bytes; /* 0: unknown */
    uint64_t reply_bytes;
};

/* Time on the critical path that belongs to one span alone. */
struct cpti_section {
    uint32_t span; /* its number, in the order of adding */
    uint64_t start_ns;
    uint64_t end_ns;
};

/* Whether two ids are one: they are hexadecimal numbers, in any case of letters, with
 * or without zeros in front. */
bool cpti_ids_equal(struct cpt_bytes left, struct cpt_bytes right);

/* A hash with @seed, the same for ids that are one. */
uint64_t cpti_id_hash(uint64_t seed, struct cpt_bytes id);

struct cpti_spans;

/* An empty set over @alloc (NULL: malloc's), or NULL. The caller owns it. */
struct cpti_spans *cpti_spans_new(const struct cpt_alloc *alloc);
void cpti_spans_free(struct cpti_spans *spans);

/* Forgets all spans, but keeps the memory. */
void cpti_spans_reset(struct cpti_spans *spans);

/* Whether clocks are put right, which they are unless it is said; kept on a reset. */
void cpti_spans_align_clocks(struct cpti_spans *spans, bool is_on);

/* CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPTI_SPANS_MAX. */
cpt_status cpti_spans_add(struct cpti_spans *spans, const struct cpti_span *span);

size_t cpti_spans_count(const struct cpti_spans *spans);
const struct cpti_span *cpti_spans_at(const struct cpti_spans *spans, size_t number);

/*
 * Finds the root, and the parent of each span. The root is the earliest span without a
 * parent; if there is none, the earliest of those whose parent is missing.
 *
 * Two spans with one id, a client's and a server's, are the two sides of a call, as in
 * Zipkin: the server's hangs below the client's. Children of a span without a time hang
 * below its parent.
 *
 * If a call shows that the clocks of two hosts differ, all spans of a host are moved to
 * where the clock of the root's host puts them: their start_ns changes.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_END: no span can be the root.
 */
cpt_status cpti_spans_resolve(struct cpti_spans *spans,
                              struct cpti_spans_report *report);

/* The clocks that were put right, in the order of the hosts' names. */
size_t cpti_spans_clock_count(const struct cpti_spans *spans);
const struct cpti_span_clock *cpti_spans_clock(const struct cpti_spans *spans,
                                               size_t index);

/* The number of the root, of the parent of span @number in the tree (CPTI_SPAN_NONE for
 * the root and for dropped spans), and the time of a span, cut to its parent's. */
#define CPTI_SPAN_NONE UINT32_MAX
uint32_t cpti_spans_root(const struct cpti_spans *spans);
uint32_t cpti_spans_parent(const struct cpti_spans *spans, uint32_t number);
uint64_t cpti_spans_start_ns(const struct cpti_spans *spans, uint32_t number);
uint64_t cpti_spans_end_ns(const struct cpti_spans *spans, uint32_t number);

/* What span @number says is above it, or CPTI_SPAN_NONE: the same in the tree, but of
 * spans that are not in it, too, and perhaps in a circle. And whether it is one more
 * with the id of another. */
uint32_t cpti_spans_above(const struct cpti_spans *spans, uint32_t number);
bool cpti_spans_is_again(const struct cpti_spans *spans, uint32_t number);

/*
 * Finds the sections, after cpti_spans_resolve(). O(n log n) in the number of spans on
 * the path and their children.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_spans_walk(struct cpti_spans *spans, enum cpti_span_mode mode);

/* Whether the last walk relied on nothing but what spans tell of their waits: all those
 * that it entered tell them, or are a client's with nothing below but the server's. */
bool cpti_spans_is_exact(const struct cpti_spans *spans);

/* The sections, in time order; of no length is none of them. */
size_t cpti_spans_section_count(const struct cpti_spans *spans);
const struct cpti_section *cpti_spans_section(const struct cpti_spans *spans,
                                              size_t index);

/*
 * Appends the sections to @path, after a walk in a mode in which they tile the root,
 * and flags it CPT_PATH_APPROXIMATE unless it is exact. The stack of a section are the
 * spans above it, as frames "service: operation".
 *
 * A client span and the server's below it are one frame, the callee's; the client's own
 * time there is ‹network+serialization›. The time of a client span with no span of the
 * callee's is its ‹blind spot›.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error, discard @path.
 */
cpt_status cpti_spans_path(struct cpti_spans *spans, struct cpt_path *path);

/*
 * Appends the path that the services of our own framework have made themselves, to
 * @path, which is empty: from the notes of the spans, after a walk in exact mode.
 *
 * CPT_OK; CPT_END: a span has no note, or they do not fit together; CPT_NO_MEMORY;
 * CPT_LIMIT. After another one than CPT_END, discard @path.
 */
cpt_status cpti_spans_noted_path(struct cpti_spans *spans, struct cpt_path *path);

/* Whether span @number, of a set that was resolved, is the server's side of a call of
 * another service, or the client's if there is no other: then *@call is that. */
bool cpti_spans_call(const struct cpti_spans *spans, uint32_t number,
                     struct cpti_span_call *call);

struct cpt_dag;
struct cpt_dag_recorded;

/* Takes the dag of a request and its latency; both are good until it returns. */
typedef cpt_status (*cpti_spans_dag_fn)(void *context, const struct cpt_dag *dag,
                                        const struct cpt_dag_recorded *recorded,
                                        uint64_t latency_ns);

/*
 * Calls @visit with all that our own services did for the request, as one dag, after a
 * walk in exact mode. A callee is moved in time so that it begins when its call was
 * sent; clocks play no part.
 *
 * CPT_OK; CPT_END: a span has no note, they do not fit together, or they contradict
 * each other; CPT_NO_MEMORY; CPT_LIMIT; what @visit returned.
 */
cpt_status cpti_spans_noted_dag(struct cpti_spans *spans, cpti_spans_dag_fn visit,
                                void *context);

#endif
