/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_tree.h - the inside of a set of spans, for the files of this folder */
#ifndef CPTI_SPAN_TREE_H
#define CPTI_SPAN_TREE_H

#include "cpt/hash_index.h"
#include "cpt/import/spans.h"

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
    CPTI_SPAN_HAS_LINK = 8
};

/* What the tree knows of a span. */
struct cpti_span_node {
    uint64_t start_ns; /* cut to the parent's time */
    uint64_t end_ns;
    uint32_t parent;      /* or CPTI_SPAN_NONE */
    uint32_t server;      /* the server's side of this client span, or none */
    uint32_t children_at; /* its children: numbers[children_at], … */
    uint32_t child_count;
    uint32_t in_tree; /* of them, the first ones if `is_plain`, latest end first */
    uint32_t frame;   /* of the path, once it has one */
    unsigned char fate;
    unsigned char traits; /* enum cpti_span_trait */
    bool is_plain; /* it tells no waits; no child in the tree is one, or timeless */
    bool is_below; /* for span_explain.c */
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
    uint64_t cursor_ns;  /* all later time has been given away */
    uint64_t overlap_ns; /* of its children, in part; see CPTI_SPANS_CRISP */
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
    bool keeps_clocks;
    bool has_hosts; /* some span says by whose clock it is */
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
    bool heeds_notes; /* the last walk was in exact mode */
    size_t work_left; /* links are followed while there is some */
    uint32_t walk;    /* how many there were of this tree */
    enum cpti_span_mode mode;
    bool is_exact;
};

/* Puts the clocks of the hosts right, once parents and the root are known. Uses the
 * queue. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_spans_align(struct cpti_spans *spans, struct cpti_spans_report *report);

/* For span_explain.c. Whether all waits of span @number are there; the span above it
 * that has a time, or CPTI_SPAN_NONE; after a walk, the child of @parent that was
 * picked last before @number was passed over, if it was. The latter: CPT_OK;
 * CPT_NO_MEMORY. */
bool cpti_spans_tells_waits(const struct cpti_spans *spans, uint32_t number);
uint32_t cpti_spans_timed_above(const struct cpti_spans *spans, uint32_t number);
cpt_status cpti_spans_rival(struct cpti_spans *spans, uint32_t parent, uint32_t number,
                            uint32_t *rival);

/* Puts the children of all spans in the order in which a walk looks at them. */
void cpti_spans_order_children(struct cpti_spans *spans);

static inline bool cpti_spans_has(const struct cpti_spans *spans, uint32_t number,
                                  enum cpti_span_trait trait)
{
    return (spans->nodes[number].traits & (unsigned)trait) != 0;
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
 * by their ids. */
int cpti_spans_order(const struct cpti_spans *spans, uint32_t left, uint32_t right);

#endif
