/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_inside.h - what is learnt, for the files of this folder
 *
 * A *node* is a visit of a service; its *class* is its name. A *place* is what a class
 * calls a call by: the name of the call, whether it failed, the how-maniest of these by
 * start it is, and of how many. Place 0 is the end of the node; as that which an event
 * comes behind, it is the node's beginning. An *event* is the start of a call, or the
 * end.
 *
 * Times are in nanoseconds of the trace that is made, all below 2^63.
 */
#ifndef LEARN_INSIDE_H
#define LEARN_INSIDE_H

#include "cpt/base/hash_index.h"
#include "import/learn/learn.h"
#include "cpt/cpt_doubt.h"
#include "import/spans/span_trace.h"

enum {
    LEARN_CLASSES_MAX = 1 << 16,
    LEARN_ENTRIES_MAX = 1 << 20,     /* of all classes together */
    LEARN_CLASS_PAIRS_MAX = 1 << 18, /* a class with more of them, … */
    LEARN_PLACES_MAX = 1 << 12,      /* … or more of these, is not learnt */
    LEARN_NEAR_MAX = 64,             /* calls of a node that a call is compared with */
    LEARN_DEPTH_MAX = 64,
    LEARN_FITS_MAX = 1 << 12,
    LEARN_ROWS_MAX = 1000,  /* of a fit */
    LEARN_COLUMNS_MAX = 14, /* 0 and 13 quantiles */
    LEARN_ROW_ENDS_MAX = 8, /* that may be an anchor */
    LEARN_ANCHORS_MAX = 8,
    LEARN_HOLDERS_MAX = 1 << 21 /* of a trace: with more, it has no doubt */
};

#define LEARN_NONE    UINT32_MAX
#define LEARN_END_KEY UINT64_MAX /* of place 0 */

/* In the key of a place: how many calls, the how-maniest. The rest is its operation. */
enum { LEARN_NUMBER_BITS = 24 };
#define LEARN_PLACE_NUMBERS ((UINT64_C(1) << (2 * LEARN_NUMBER_BITS)) - 1)

__extension__ typedef unsigned __int128 learn_wide;

/* Two places of a class, the lower one first. */
struct learn_pair {
    uint64_t key;
    uint32_t count;       /* nodes with both */
    uint32_t overlaps[2]; /* … in which they overlap, and the lower or the higher one
                             started first */
};

/* A place that is the last end before an event, in the upper half, and the event's. */
struct learn_last {
    uint64_t key;
    uint32_t count;
    learn_wide gap_sum; /* from that end to the event … */
    learn_wide gap_square;
    learn_wide lag_sum; /* … and from the start of the call that was issued last */
    learn_wide lag_square;
};

struct learn_place {
    uint64_t key;
    uint32_t operation; /* of the class */
};

/* Calls of one name that failed, or did not. */
struct learn_operation {
    uint64_t key; /* a hash of the name, whose last bit is … */
    bool is_failed;
    uint32_t depth;                       /* as many overlap at most */
    uint32_t reached;                     /* nodes with more than that, and so deep */
    uint32_t counts[LEARN_DEPTH_MAX + 1]; /* nodes by their number of these calls */
    uint32_t limit;                       /* once all is counted; 0: none */
    uint64_t node;                        /* scratch: in which node … */
    uint32_t in_node;                     /* … how many there are, … */
    uint32_t seen;                        /* … were seen, … */
    uint32_t ranked_at;                   /* … and where their ends are */
};

/* A fit of how an event comes behind another one. */
struct learn_fit {
    double gap_ns;         /* a */
    uint32_t column_count; /* 0: the parent computes nothing before it blocks */
    uint32_t anchor;       /* place from whose end it is counted; 0: from P */
    int64_t c_ns[LEARN_COLUMNS_MAX];
    double weights[LEARN_COLUMNS_MAX];
    /* What may be, beside what is taken: */
    int64_t hi_ns;       /* the largest c behind P that is not refuted … */
    bool may_never_wait; /* … or any */
    uint32_t anchor_count;
    struct {
        uint32_t place;
        int64_t hi_ns; /* the same behind its end */
    } anchors[LEARN_ANCHORS_MAX];
    uint64_t wire_ns; /* as much of a gap may be the way of a call that has no client's
                         span */
};

struct learn_row {
    uint64_t hash;
    int64_t held_ns;                     /* m - p */
    uint64_t event_ns;                   /* t - p */
    int64_t end_ns[LEARN_ROW_ENDS_MAX];  /* of what held it, the last ones first, - p */
    uint16_t places[LEARN_ROW_ENDS_MAX]; /* 0: there are no more */
};

/* The rows of a fit, by the places of the event and of what it comes behind, or by
 * their operations. */
struct learn_key {
    uint64_t key;
    uint64_t hash;    /* that tells it from others whatever comes first */
    uint32_t count;   /* of events, of which some are rows */
    bool is_left_out; /* there are too many with more events */
    size_t row_count, row_capacity;
    struct learn_row *rows;
    struct learn_fit *fit; /* NULL: there are too few */
};

/* Entries that begin with a key of 64 bits, which they are found by. */
struct learn_table {
    struct cpti_hash_index index;
    unsigned char *entries;
    size_t count, capacity;
    size_t entry_bytes;
};

struct learn_class {
    uint64_t key; /* a hash of its name */
    uint32_t node_count;
    bool is_left_out; /* too large, or there are too many classes or pairs */
    struct learn_table operations, places, pairs, lasts, keys;
};

/* A call of a node. */
struct learn_call {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t number; /* in the trace */
    uint64_t name_hash;
    uint32_t operation;
    uint32_t place;
    uint32_t rank;   /* of those of its operation, by start */
    uint32_t before; /* the call of the same name before it, or LEARN_NONE */
    uint32_t depth;  /* scratch of counting */
    bool is_lost;
    bool is_bare;  /* no client's span tells of it: its wire is in gaps of the node */
    bool is_timed; /* a timer started it: a second attempt, where one of the two lost */
    bool is_cut;
    bool is_held;                /* something waited for it */
    struct cpt_trace_task *task; /* that issued it, … */
    bool is_tail;                /* … and has done nothing since */
};

/* An event of a node: its call's number, or the number of calls. */
struct learn_event {
    uint64_t at_ns;
    uint64_t behind_ns;
    uint32_t behind; /* the call with whose start the parent goes on, or LEARN_NONE */
    uint32_t held_at;
    uint32_t held_count;
    uint64_t held_ns; /* the last end of what held it */
    bool is_timed;
};

struct learn_node {
    struct learn_class *class;
    uint64_t begin_ns;
    uint64_t end_ns;
    struct learn_call *calls; /* by start, one more than count: the end */
    size_t count, call_capacity;
    uint32_t *ends; /* the calls by their end */
    size_t end_capacity;
    uint32_t *ranked; /* the same, by operation */
    size_t ranked_capacity;
    struct learn_event *events; /* count + 1 */
    size_t event_capacity;
    uint32_t *held; /* calls that held events */
    size_t held_count, held_capacity;
};

/* What may have held an event, while they are noted (learn_doubt.c). */
struct learn_holder {
    uint64_t lag_ns;
    uint32_t call;
    unsigned char of; /* the beginning of its visit, or the start or end of the call */
    unsigned char flags;
};

struct learn_noted {
    uint64_t at_ns;
    uint64_t wire_ns;
    uint32_t holder_end;
    uint32_t call; /* that starts; LEARN_NONE: the visit ends */
    bool is_timed;
};

struct learn_list {
    void *items;
    size_t count;
    size_t capacity;
};

/* The events of a trace, visit by visit, and the moments that they become. */
struct learn_doubt {
    struct learn_list events, holders;
    bool is_unwanted;
    bool is_lost; /* some of them, without memory or at the limit; or all: unwanted */
    struct cpt_doubt_moment *moments;
    size_t moment_capacity;
    struct cpt_doubt_holder *made;
    size_t made_capacity;
};

enum { LEARN_FEW_NAME_BYTES = 111 };

struct learn_few_class {
    uint64_t key; /* a hash of its name */
    uint64_t events;
    unsigned char bytes;
    char name[LEARN_FEW_NAME_BYTES];
};

/* Classes of which too little is known; those with a hash above the largest are not
 * counted. */
struct learn_few {
    struct learn_table classes;
    uint64_t hash_max;
};

struct cpti_learn {
    const struct cpt_alloc *alloc;
    struct learn_table classes;
    uint64_t hash_max;  /* classes with a larger hash are left out */
    size_t entry_count; /* of all tables of classes, by size */
    uint64_t node_count;
    uint64_t stamp_ns; /* greatest divisor of all stamps; 0: there are none */
    unsigned pass;     /* enum learn_pass */
    size_t key_count;
    bool is_counted; /* there are too many keys: they are counted only, … */
    bool is_chosen;  /* … until some of them are chosen */
    uint64_t trace_hash;
    struct learn_node node;
    struct learn_doubt doubt;
    const struct cpti_making *making; /* the trace that is filled in */
    struct cpti_learn_counts counts;
    struct learn_few few, few_of_trace;
};

enum learn_pass { LEARN_COUNT, LEARN_ROWS, LEARN_FILL };

/* --- learn_class.c --- */

/* The entry with @key, or NULL. If there is none, @may_add makes one of zeros; NULL
 * then if @max are there. */
cpt_status cpti_learn_entry(struct cpti_learn *learn, struct learn_table *table,
                            uint64_t key, size_t max, bool may_add, void **entry);
void *cpti_learn_find(const struct learn_table *table, uint64_t key);

/* Adds one that is not there yet, of zeros behind its key, to a table that counts for
 * no limit of all of them. CPT_OK; CPT_LIMIT; CPT_NO_MEMORY. */
cpt_status cpti_learn_add(const struct cpt_alloc *alloc, struct learn_table *table,
                          uint64_t key, size_t max, void **entry);

/* Halves *@hash_max and leaves out the entries whose key is above it, of which
 * @leave_out, unless it is NULL, frees what they have. */
void cpti_learn_halve(struct learn_table *table, uint64_t *hash_max,
                      void (*leave_out)(void *context, void *entry), void *context);

static inline void *learn_at(const struct learn_table *table, size_t number)
{
    return table->entries + number * table->entry_bytes;
}

static inline struct learn_operation *learn_operation(const struct learn_class *class,
                                                      uint32_t number)
{
    return learn_at(&class->operations, number);
}

static inline struct learn_place *learn_place(const struct learn_class *class,
                                              uint32_t number)
{
    return learn_at(&class->places, number);
}

/* The class of @name, or NULL: it is left out, or not known and @may_add is false. */
cpt_status cpti_learn_class(struct cpti_learn *learn, struct cpt_bytes name,
                            bool may_add, struct learn_class **class);

/* Forgets all that is known of @class, and that it will be learnt. */
void cpti_learn_leave_out(struct cpti_learn *learn, struct learn_class *class);

/* Leaves out classes until there are no more entries than may be. */
void cpti_learn_bound(struct cpti_learn *learn);

/* --- learn_node.c --- */

/* Fills in learn->node: the calls @starts of visit @number, which have times. No class:
 * it is not learnt. */
cpt_status cpti_learn_node(struct cpti_learn *learn, struct cpti_making *making,
                           uint32_t number, uint32_t *starts, size_t count,
                           struct learn_class *class);

/* By how much @call may end late, and still be waited for by @event. */
uint64_t cpti_learn_tolerance(const struct learn_node *node,
                              const struct learn_call *call, size_t event);

/* --- learn_count.c: the first pass --- */

cpt_status cpti_learn_count_node(struct cpti_learn *learn);
void cpti_learn_find_limits(struct cpti_learn *learn);

/* Whether the place @from holds @to in general, and whether in the requests in which it
 * ended by then. Whether @from starts before @to. */
bool cpti_learn_is_before(const struct learn_class *class, uint32_t from, uint32_t to);
bool cpti_learn_is_at_times_before(const struct learn_class *class, uint32_t from,
                                   uint32_t to);
bool cpti_learn_starts_before(const struct learn_class *class, uint32_t from,
                              uint32_t to);

/* Whether they overlap in nearly all requests that have both. */
bool cpti_learn_is_beside(const struct learn_class *class, uint32_t from, uint32_t to);

/* --- learn_events.c: what each event of the node waited for --- */

cpt_status cpti_learn_events(struct cpti_learn *learn);

/* How many calls had ended by @until_ns: the first of node->ends. */
size_t cpti_learn_ended(const struct learn_node *node, uint64_t until_ns);

/* Whether the way of a call that no client's span tells of is in the gap before
 * @event. */
bool cpti_learn_has_wire(const struct learn_node *node, size_t event);

/* Whether call @number, which had ended, may have held @event though it is not known
 * to: it does run side by side with it, but not always. */
bool cpti_learn_may_hold(const struct learn_node *node, uint32_t number, size_t event);

/* --- learn_rows.c: the second pass --- */

/* A number of @event of visit @visit that is the same whatever else there is. */
uint64_t cpti_learn_event_hash(const struct cpti_learn *learn,
                               const struct cpti_making *making, uint32_t visit,
                               size_t event);
cpt_status cpti_learn_add_rows(struct cpti_learn *learn,
                               const struct cpti_making *making, uint32_t visit);

/* Fits all keys; *@is_done false: there are too many: those with most events must
 * be chosen first, and all rows come again. */
cpt_status cpti_learn_fit_all(struct cpti_learn *learn, bool *is_done);

/* The fit of @event; NULL: nothing is known of it. */
const struct learn_fit *cpti_learn_fit_of(const struct learn_node *node, size_t event);

/* As much of the gap before @event may be the way of calls; UINT64_MAX: all of it. */
uint64_t cpti_learn_wire_of(const struct learn_node *node, size_t event);

/* --- learn_fit.c --- */

/* Fits @rows, which it puts in order, of places or of operations. @stamp_ns is their
 * resolution. */
void cpti_learn_fit(struct learn_row *rows, size_t count, bool has_anchors,
                    uint64_t stamp_ns, struct learn_fit *fit);

/* --- learn_trace.c: the third pass --- */

/* Adds the waits and tasks of the node, which is visit @number. An error is in the
 * status of the build. */
void cpti_learn_fill(struct cpti_learn *learn, struct cpti_making *making,
                     uint32_t number);

/* --- learn_doubt.c: what else each event may have waited for --- */

void cpti_learn_doubt_begin(struct cpti_learn *learn); /* another trace */
void cpti_learn_doubt_free(struct cpti_learn *learn);

/* Notes the events of the node, behind those of the visits before it; or those of visit
 * @number, by the walk's rule. */
void cpti_learn_doubt_node(struct cpti_learn *learn);
void cpti_learn_doubt_walk(struct cpti_learn *learn, const struct cpti_making *making,
                           uint32_t number, const uint32_t *starts,
                           const uint32_t *ends, size_t count);

/* The doubt of the trace, whose lines have their numbers; it is good until the next
 * one. False: it has none. */
bool cpti_learn_doubt(struct cpti_learn *learn, const struct cpti_making *making,
                      struct cpt_doubt *doubt);

/* How long the service computed before it blocked, drawn by @hash: it was held for
 * @held_ns, and the event came after @event_ns. */
uint64_t cpti_learn_draw(const struct learn_fit *fit, int64_t held_ns,
                         uint64_t event_ns, uint64_t hash);

/* --- learn_few.c --- */

/* Adds events of the class @name. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_learn_few_add(const struct cpti_learn *learn, struct learn_few *few,
                              struct cpt_bytes name, uint64_t events);
void cpti_learn_few_reset(struct learn_few *few);
void cpti_learn_few_deinit(const struct cpti_learn *learn, struct learn_few *few);

#endif
