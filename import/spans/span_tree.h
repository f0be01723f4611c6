/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_tree.h - the inside of a set of spans, for the files of this folder */
#ifndef CPTI_SPAN_TREE_H
#define CPTI_SPAN_TREE_H

#include "cpt/base/hash_index.h"
#include "import/spans/spans.h"

/* Why a span is not in the tree, or that it is. */
enum cpti_span_fate {
    CPTI_SPAN_UNREACHED = 0,
#define CPTI_SPAN_FATE_(name, sentence) CPTI_SPAN_##name,
    CPTI_SPAN_DROP_MAP(CPTI_SPAN_FATE_)
#undef CPTI_SPAN_FATE_
        CPTI_SPAN_IN_TREE
};

/* What a span says that the walk asks for: nodes lie closer together than spans. */
enum cpti_span_trait {
    CPTI_SPAN_HAS_TIME = 1,
    CPTI_SPAN_IS_WAIT = 2,
    CPTI_SPAN_TELLS_WAITS = 4,
    CPTI_SPAN_HAS_LINK = 8,
    /* once they have been asked for (span_roles.c) */
    CPTI_SPAN_HAS_ROLE = 16,
    CPTI_SPAN_IS_CALL = 32,
    CPTI_SPAN_IS_BLIND = 64,
    CPTI_SPAN_IS_DOUBTED = 128,  /* as to clocks */
    CPTI_SPAN_IS_OUTLIVED = 256, /* a client's, by its server's */
    CPTI_SPAN_IS_GIVEN_UP = 512,
    CPTI_SPAN_IS_ABOVE = 1024 /* a span with a time, that shares its fate */
};

/* What the tree knows of a span. */
struct cpti_span_node {
    uint64_t start_ns; /* cut to the parent's time */
    uint64_t end_ns;
    uint32_t parent; /* or CPTI_SPAN_NONE */
    union {
        uint32_t again; /* until parents are known: the next one with its id, or none */
        uint32_t callee; /* once it has a role: of a call, the first of the callee's */
    };
    uint32_t children_at; /* its children: numbers[children_at], … */
    uint32_t child_count;
    uint32_t in_tree;      /* of them, the first ones if `is_plain`, latest end first */
    uint32_t frame;        /* of the path, once it has one */
    unsigned short traits; /* enum cpti_span_trait */
    unsigned char fate;
    bool is_plain : 1; /* it tells no waits; no child in the tree is one, or timeless */
    bool is_below : 1; /* for span_explain.c */
    uint32_t clock;    /* the one that was put right, or CPTI_SPAN_NONE */
    uint32_t followed_in; /* the last walk that went on where its link says */
    uint32_t entered_in;  /* the last walk that entered it, … */
    uint64_t until_ns;    /* … and took it to be on the path until then, at most */
};

/* A child, as its parent's walk sees it. */
struct cpti_span_key {
    uint64_t end_ns; /* cut to where the parent was entered */
    uint64_t start_ns;
    uint32_t span;
};

/* A span that the walk has entered. Its children are the last keys: the keys, too, are
 * a stack. Or they are those of the tree, in the order that they have there. */
struct cpti_span_visit {
    uint64_t cursor_ns; /* all later time has been given away */
    uint64_t within_ns; /* what outlives the span and began before is passed over */
    uint32_t span;
    uint32_t keys_at;
    uint32_t next_key; /* those before it have been looked at */
    bool has_picked;
    bool tells;     /* its keys are its waits */
    bool is_listed; /* it has no keys: its children are as the tree has them */
    bool is_jump;   /* the visit before it is not of its parent */
};

struct cpti_spans {
    const struct cpt_alloc *alloc;
    struct cpti_span *items;
    size_t count;
    size_t capacity;
    struct cpti_hash_index index; /* ids -> first span with it */
    size_t slot_capacity;         /* of which the index has as many as it needs */
    /* for each span; as many as resolve() needed at most */
    struct cpti_span_node *nodes;
    uint32_t *numbers; /* children, side by side */
    uint32_t *queue;   /* spans to go on from */
    size_t resolved_capacity;
    uint32_t root;
    uint32_t timeless_root; /* of the request, or CPTI_SPAN_NONE */
    enum cpti_span_fragment fragment;
    bool keeps_clocks;
    bool has_hosts;  /* some span says by whose clock it is: of a host or a process */
    bool has_pieces; /* some span lacks a time */
    struct cpti_span_clock *clocks;
    size_t clock_count;
    size_t clock_capacity;
    /* of the walk */
    struct cpti_span_key *keys;
    size_t key_count;
    size_t key_capacity;
    struct cpti_span_visit *visits;
    size_t visit_count;
    size_t visit_capacity;
    struct cpti_section *sections;
    size_t section_count;
    size_t section_capacity;
    size_t work_left;         /* links are followed while there is some */
    uint32_t walk;            /* how many there were of this tree */
    enum cpti_span_mode mode; /* by whose rules the tree is, and the last walk was */
    uint64_t *durations;      /* as CRISP: of each span; NULL: not needed yet */
    size_t duration_capacity;
    bool is_exact;
    cpti_span_marks_fn marks; /* cpti_spans_split() */
    void *marks_context;
    cpti_span_inside_fn inside; /* cpti_spans_watch_inside() */
    void *inside_context;
};

/* Meets all spans of the tree below the root, breadth first. Uses the queue. */
void cpti_spans_each_below(struct cpti_spans *spans,
                           void (*meet)(void *context, uint32_t above, uint32_t child),
                           void *context);

/* Puts spans together that were sent in pieces, before all else: the set has fewer
 * then. How many went into others. Uses all that is for each span. */
size_t cpti_spans_join_pieces(struct cpti_spans *spans);

/* Knows all spans by their ids, and joins those with one id (span_ids.c): begins all
 * nodes anew. Uses all that is for each span. */
void cpti_spans_index(struct cpti_spans *spans);

/* The span that @child names as its parent, or CPTI_SPAN_NONE: of several with that id
 * the one that suits it. */
uint32_t cpti_spans_parent_by_id(const struct cpti_spans *spans,
                                 const struct cpti_span *child);

/* An order of the spans with two numbers by all that they say, for qsort_r(). */
int cpti_spans_compare(const void *left, const void *right, void *spans);

/* The first span with @id that the index knows, or CPTI_SPAN_NONE; *@slot is where it
 * belongs. */
uint32_t cpti_spans_find_slot(const struct cpti_spans *spans, struct cpt_bytes id,
                              size_t *slot);

/* Puts the clocks of the hosts right, once parents and the root are known. Uses the
 * queue. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_spans_align(struct cpti_spans *spans, struct cpti_spans_report *report);

/* Notes in @visit_of, which says CPTI_SPAN_NONE of what is not known, the first span of
 * the visit of span @number, for all spans on the way up to it. Of spans in a cycle it
 * is the one where the way began. */
void cpti_spans_find_visit(const struct cpti_spans *spans, uint32_t *visit_of,
                           uint32_t number);

/* Appends @section to @path, with its frames. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. */
cpt_status cpti_spans_append(struct cpti_spans *spans, struct cpt_path *path,
                             const struct cpti_section *section);

/* "service: operation" of @frame in @text, each part bounded. */
enum { CPTI_SPAN_FRAME_BYTES = 2 * CPT_NAME_BYTES_MAX + 2 };
struct cpt_bytes cpti_span_frame_name(char text[CPTI_SPAN_FRAME_BYTES],
                                      const struct cpti_span_frame *frame);

/* For span_explain.c. Whether all waits of span @number are there; the span above it
 * that has a time, or CPTI_SPAN_NONE; after a walk, the child of @parent that was
 * picked last before @number was passed over, if it was, or if it was because it ran in
 * the background, the child that ended last within the parent. The latter: CPT_OK;
 * CPT_NO_MEMORY. */
bool cpti_spans_tells_waits(const struct cpti_spans *spans, uint32_t number);
uint32_t cpti_spans_timed_above(const struct cpti_spans *spans, uint32_t number);
cpt_status cpti_spans_rival(struct cpti_spans *spans, uint32_t parent, uint32_t number,
                            uint32_t *rival, bool *is_background);

/* What the time of @span, a wait, is by its name: CPT_KIND_WORK, of its own, or a part
 * of the frame above it. */
unsigned cpti_span_wait_kind(const struct cpti_span *span);

/* What span @number is in a path; it is found once. */
enum cpti_span_role cpti_spans_role(struct cpti_spans *spans, uint32_t number);

/* Puts the children of all spans in the order in which a walk looks at them. */
void cpti_spans_order_children(struct cpti_spans *spans);

/* Finds the root, or CPTI_SPAN_NONE, once parents are known, and whether it is that of
 * the request. Uses the queue and spans->numbers. */
void cpti_spans_find_root(struct cpti_spans *spans);

/* There is none: says of each span why it cannot be the root. */
void cpti_spans_drop_all(struct cpti_spans *spans);

/* Finds which spans are in the tree, and their times, by the rules of @mode: below the
 * root, or @has_all_roots. As CRISP, there is room for durations. */
void cpti_spans_settle(struct cpti_spans *spans, enum cpti_span_mode mode,
                       bool has_all_roots);

/* The same in exact mode, once spans have been moved. */
void cpti_spans_settle_anew(struct cpti_spans *spans);

/* What becomes of @child, whose parent @above is in the tree, by the rules of the other
 * tool spans->mode; @is_only: no other child of it is waited for. */
enum cpti_span_fate cpti_spans_enter_as_tool(struct cpti_spans *spans, uint32_t above,
                                             uint32_t child, bool is_only);

/* The walk of another tool, from the root or @has_all_roots. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_spans_walk_as_tool(struct cpti_spans *spans, enum cpti_span_mode mode,
                                   bool has_all_roots);

/* For walks. Adds a section that ends where the last one began, or earlier; pushes
 * @key. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_spans_section_add(struct cpti_spans *spans, uint32_t span,
                                  uint64_t start_ns, uint64_t end_ns);
cpt_status cpti_spans_key_push(struct cpti_spans *spans, struct cpti_span_key key);

static inline bool cpti_spans_has(const struct cpti_spans *spans, uint32_t number,
                                  enum cpti_span_trait trait)
{
    return (spans->nodes[number].traits & (unsigned)trait) != 0;
}

/* Whether both texts can be of one span: they are one, or a piece lacks one. */
static inline bool cpti_may_be_one(struct cpt_bytes left, struct cpt_bytes right)
{
    return left.bytes == 0 || right.bytes == 0 || cpt_bytes_equal(left, right);
}

/* Whether the last walk entered span @number. */
static inline bool cpti_spans_is_entered(const struct cpti_spans *spans,
                                         uint32_t number)
{
    return spans->nodes[number].entered_in == spans->walk;
}

/* The first span with @id, or CPTI_SPAN_NONE. */
uint32_t cpti_spans_find(const struct cpti_spans *spans, struct cpt_bytes id);

/* The order of two spans that nothing else tells apart, whatever order they came in:
 * by their ids, then by all that they say. */
int cpti_spans_order(const struct cpti_spans *spans, uint32_t left, uint32_t right);

#endif
