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

#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_path;
struct cpti_tag;

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
    /* if `host` is empty, a hash of all that its process says of itself, by whose clock
     * it then is; several processes may say the same. Else a hash of what tells those
     * of one `host` apart that have clocks of their own. 0: nothing */
    uint64_t process;
    uint64_t hostname; /* a hash of its process's attribute "hostname"; 0: none */
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t end_ns;        /* if it has no start, when it ended; 0: not known */
    uint64_t number;        /* in its file; for who adds it */
    uint64_t request_bytes; /* of the body of its call; 0: it does not say */
    uint64_t reply_bytes;
    struct cpti_tag *tags;   /* attributes that were asked for; NULL: none; tags.h */
    uint64_t rejected;       /* of 2^56 such spans, how many the sampler left out */
    uint32_t wait_count;     /* how many of its children are waits, if it tells */
    unsigned char kind;      /* enum cpti_span_kind */
    unsigned char peer_rank; /* for who fills it in: how good `peer` is */
    bool has_time : 1;  /* false: start or duration is missing, or makes no sense */
    bool has_start : 1; /* what there is of them if has_time is false */
    bool has_duration : 1;
    bool is_async : 1;    /* its parent did not wait for it (FOLLOWS_FROM) */
    bool is_failed : 1;   /* it says that it ended with an error */
    bool is_wait : 1;     /* it is no work: its parent waited, from start to end */
    bool tells_waits : 1; /* it computed whenever it did not say that it waited */
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

/* X(NAME, word, sentence). Why what is known of a request is only a part of it: the
 * root is not that of the request. */
#define CPTI_SPAN_FRAGMENT_MAP(X)                                                      \
    X(ROOT_MISSING, "root_missing", "is missing")                                      \
    X(ROOT_TIMELESS, "root_timeless", "has no time that makes sense")

enum cpti_span_fragment {
    CPTI_SPAN_WHOLE = 0,
#define CPTI_SPAN_FRAGMENT_(NAME, word, sentence) CPTI_SPAN_##NAME,
    CPTI_SPAN_FRAGMENT_MAP(CPTI_SPAN_FRAGMENT_)
#undef CPTI_SPAN_FRAGMENT_
        CPTI_SPAN_FRAGMENTS
};

/* The word of @fragment; NULL: the request is whole. */
const char *cpti_span_fragment_word(enum cpti_span_fragment fragment);

/* What was found. A span below a dropped one counts like it. */
struct cpti_spans_report {
    size_t dropped; /* the sum of those below */
#define CPTI_SPAN_DROP_FIELD_(name, sentence) size_t name;
    CPTI_SPAN_DROP_MAP(CPTI_SPAN_DROP_FIELD_)
#undef CPTI_SPAN_DROP_FIELD_
    size_t joined;         /* pieces that went into the span that they are of */
    size_t clipped;        /* spans that were cut to their parent's time */
    size_t contradictions; /* pairs of clocks that no offset puts right */
    size_t doubted;        /* spans that contradict clocks, and were not believed */
    enum cpti_span_fragment fragment;
};

/* A clock that was put right. */
struct cpti_span_clock {
    struct cpt_bytes host;
    struct cpt_bytes service; /* if `host` is empty: of the process that names none */
    int64_t offset_ns;        /* it was ahead of the clock of the root by so much */
    uint64_t error_ns; /* which is wrong by no more than this; UINT64_MAX: unknown */
    size_t spans;      /* that were moved */
    uint64_t first_ns; /* their first start and last end */
    uint64_t last_ns;
    bool is_stretch; /* it was set, or drifts: at other times it has another offset */
};

/* How sections are found. The other two are for comparison with those tools, by their
 * rules: span_tools.c. They want clocks as they are. */
enum cpti_span_mode {
    /* A child that ends when the time goes on, or at most 1 % of its parent's duration
     * later, is waited for, and cut there. One that outlives its parent by more is
     * passed over if one that does not ran beside it. Sections tile the root. */
    CPTI_SPANS_EXACT = 0,
    /* As Jaeger's page: a child that ends just when the next one begins is left out;
     * what follows from a span is waited for. Sections tile the root. */
    CPTI_SPANS_JAEGER_UI = 1,
    /* As CRISP: children that overlap by less than 1 % keep their time, and their
     * parent loses as much of its own. Sections may overlap, and lie outside of the
     * root. */
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
 * parent. If there is none with a time, it is the earliest of those whose parent is
 * missing, or above which no span has a time: what is known is a fragment then.
 *
 * Spans with one id, a client's and servers', are the sides of a call, as in Zipkin:
 * the servers' hang below the client's, children below the side of their service. A
 * copy of a span is dropped. Children of a span without a time hang below its parent.
 * What has the id of a span, but not both times, is a piece of it if nothing speaks
 * against that: they become one span, so that there are fewer, whose numbers change.
 *
 * If a call shows that the clocks of two hosts differ, all spans of a host are moved to
 * where the clock of the root's host puts them: their start_ns changes. A process that
 * names no host stands for one.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_END: no span can be the root, and @report says why.
 */
cpt_status cpti_spans_resolve(struct cpti_spans *spans,
                              struct cpti_spans_report *report);

/* Whether the trace is a fragment, and if the root of its request has no time, the
 * number of that; else CPTI_SPAN_NONE. */
enum cpti_span_fragment cpti_spans_fragment(const struct cpti_spans *spans);
uint32_t cpti_spans_timeless_root(const struct cpti_spans *spans);

/* The clocks that were put right: those of hosts in the order of their names behind
 * those of other processes. */
size_t cpti_spans_clock_count(const struct cpti_spans *spans);
const struct cpti_span_clock *cpti_spans_clock(const struct cpti_spans *spans,
                                               size_t index);

/* Whether span @number contradicts the clocks, as they are now, and was not believed:
 * it is outside of its parent's time, on another host. */
bool cpti_spans_is_doubted(const struct cpti_spans *spans, uint32_t number);

/* The numbers of those, in the order of their ids, until the set is asked for something
 * else; how many. */
size_t cpti_spans_doubted(struct cpti_spans *spans, const uint32_t **numbers);

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
 * What a span of a set that was resolved is in a path.
 *
 * A client's span stands for a call if all that hangs below it are the spans of one
 * callee: one, or several attempts. With nothing below it, it is a call of which the
 * callee told nothing. With anything else below it, it is work of its own service, as
 * is one that hangs below a span of another service.
 */
enum cpti_span_role {
    CPTI_SPAN_WORK,   /* a frame of its own */
    CPTI_SPAN_CALL,   /* the client's side of a call: its frame is the callee's */
    CPTI_SPAN_CALLEE, /* the callee's side of that */
    CPTI_SPAN_BLIND,  /* the client's side of a call that has no other */
    CPTI_SPAN_PASSED  /* it has no time, so no frame */
};

/* The frame of a span. */
struct cpti_span_frame {
    struct cpt_bytes service; /* "unknown" if the span has none */
    struct cpt_bytes operation;
    enum cpti_span_role role;
    uint32_t callee; /* of CPTI_SPAN_CALL: the first span of the callee */
    unsigned kind; /* of a wait: which part of the frame above it is, CPT_KIND_QUEUE …;
                        else CPT_KIND_WORK */
};

void cpti_spans_frame(struct cpti_spans *spans, uint32_t number,
                      struct cpti_span_frame *frame);

/*
 * Finds the sections, after cpti_spans_resolve(). O(n log n) in the number of spans on
 * the path and their children. As another tool, it first finds anew which spans are in
 * the tree, and when.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_spans_walk(struct cpti_spans *spans, enum cpti_span_mode mode);

/* The same, with the sections of all roots if @mode shows each of them, as Jaeger's
 * page does. They may overlap then, and are no path. */
cpt_status cpti_spans_walk_roots(struct cpti_spans *spans, enum cpti_span_mode mode);

/* Counts in @report, which is of cpti_spans_resolve(), anew what is not in the tree,
 * and what is cut: after a walk as another tool. */
void cpti_spans_count_left(const struct cpti_spans *spans,
                           struct cpti_spans_report *report);

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
 * The two sides of a call are one frame, the callee's; the client's own time there is
 * ‹network+serialization›. The time of a call of which the callee told nothing is its
 * ‹blind spot›.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error, discard @path.
 */
cpt_status cpti_spans_path(struct cpti_spans *spans, struct cpt_path *path);

/*
 * Appends all spans of the tree to @path, which is empty, after a walk: each visit of a
 * service with its own time, whether the request waited for it or not. Own time is that
 * in which no call of the visit runs. The sum is more than the latency. Labels say
 * when a call began (CPT_LABEL_BEGIN; that of the segment behind it, when it ended),
 * and that a visit or a call failed (CPT_LABEL_STATUS).
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error, discard @path.
 */
cpt_status cpti_spans_all(struct cpti_spans *spans, struct cpt_path *path);

/*
 * Appends the path that the services of our own framework have made themselves, to
 * @path, which is empty: from the notes of the spans, after a walk in exact mode.
 *
 * CPT_OK; CPT_END: a span has no note, or they do not fit together; CPT_NO_MEMORY;
 * CPT_LIMIT. After another one than CPT_END, discard @path.
 */
cpt_status cpti_spans_noted_path(struct cpti_spans *spans, struct cpt_path *path);

/* A line that was written while a span ran. */
struct cpti_span_mark {
    uint64_t time_ns;
    struct cpt_bytes name;
};

/* The marks of span @number, in the order of time; how many. */
typedef size_t (*cpti_span_marks_fn)(void *context, uint32_t number,
                                     const struct cpti_span_mark **marks);

/* Splits the own time of spans at their marks in paths from now on: "service: a→b" is
 * the frame below theirs of the time from mark a to mark b; "→a" and "b→" are before
 * and after all marks. NULL: no more. Kept on a reset. */
void cpti_spans_split(struct cpti_spans *spans, cpti_span_marks_fn marks,
                      void *context);

/* Whether span @number, of a set that was resolved, is the server's side of a call of
 * another service, or the client's if there is no other: then *@call is that. */
bool cpti_spans_call(struct cpti_spans *spans, uint32_t number,
                     struct cpti_span_call *call);

/*
 * Calls @visit with all that our own services did for the request, as one dag, after a
 * walk in exact mode. A callee is moved in time so that it begins when its call was
 * sent; clocks play no part.
 *
 * CPT_OK; CPT_END: a span has no note, they do not fit together, or they contradict
 * each other; CPT_NO_MEMORY; CPT_LIMIT; what @visit returned.
 */
cpt_status cpti_spans_noted_dag(struct cpti_spans *spans, cpt_dag_visit_fn visit,
                                void *context);

/* Calls, or sides of them, that lost time, as they overlap one that waited for them, by
 * 1 % of their caller's time at most, or as they lie outside of it. */
struct cpti_spans_cut {
    size_t count;
    uint64_t ns;
};

/*
 * Calls @visit with all that the spans of the tree tell, as one dag, after
 * cpti_spans_resolve(): who waited for whom is inferred from this request alone, by the
 * rule of the walk. A visit of a service is one task: it waits, before each of its
 * calls and before its end, for all calls that have ended by then; the time behind the
 * last of these is its own. Spans within a visit are no tasks. All are where the
 * clocks, put right, have them, but for what *@cut counts.
 *
 * CPT_OK; CPT_LIMIT: they are too many, or take more than CPT_TRACE_BYTES_MAX;
 * CPT_NO_MEMORY; what @visit returned.
 */
cpt_status cpti_spans_inferred_dag(struct cpti_spans *spans, cpt_dag_visit_fn visit,
                                   void *context, struct cpti_spans_cut *cut);

/* Takes a span that is no task, and the visit that has its time: the names that their
 * frames would have, until it returns. The visit is empty if the span was left out of
 * the request, as one outside of its parent's time is. */
typedef void (*cpti_span_inside_fn)(void *context, struct cpt_bytes name,
                                    struct cpt_bytes visit);

/* Calls @inside for these while a dag is made that is inferred or learnt; NULL: no
 * more. Kept on a reset. */
void cpti_spans_watch_inside(struct cpti_spans *spans, cpti_span_inside_fn inside,
                             void *context);

#endif
