/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * rule.h - what must hold of the structure of every trace
 *
 *      no span("db-master") under span("read")
 *          and at most 3 span("cart: *") under span("front: GET /")
 *          and span("auth: check") before span("db-master")
 *
 * A *rule* is one such sentence; a text has one or several. They are run on one trace
 * after the other. A trace is an array of nodes: its spans, or the frames of a path,
 * each time that the path enters one.
 *
 *      rules = rule { "and" rule }
 *      rule  = ( "no" | "some" | "every" | "at" "most" N | "at" "least" N ) spans where
 *            | spans "before" spans
 *      where = [ ["directly"] "under" spans ] [ "on" ["the"] "path" ]
 *      spans = "span" "(" pattern in quotes ")"
 *
 * A pattern with ": " is compared with "service: operation", any other with the service
 * and with the operation, one of which must be like it. '*' stands for any bytes.
 *
 * Numbers hold for each trace. But "at most 3 … under span(X)" counts anew below each
 * X, so it finds loops of calls. In a trace without X a rule with `under` holds, and if
 * it asks for spans also where no X is on the path. `before`: of the former, one has
 * ended when each of the latter begins.
 *
 * A path has fewer nodes than the spans that it is made of. A rule that forbids spans,
 * or wants each at a place, and is broken on a path, is broken on its spans, too; what
 * a path has of those that are asked for, its spans have. So a node that no path can
 * have is above nothing for rules that want spans; for rules that forbid them it is.
 *
 * Threads: one at a time for each struct. Nothing recurses; the work is linear in the
 * nodes, for each rule.
 */
#ifndef CPTI_CLI_RULE_H
#define CPTI_CLI_RULE_H

#include "tool/select/expression.h"

/* Limits: rules of one text, bytes of all their patterns and of one, numbers. */
enum {
    CPTI_RULES_MAX = 64,
    CPTI_RULES_BYTES_MAX = 16 * 1024,
    CPTI_RULE_PATTERN_BYTES_MAX = 255,
    CPTI_RULE_NUMBER_MAX = 1000000000
};

/* No node: the parent of a top. */
#define CPTI_RULE_NONE UINT32_MAX

/* A span, or a frame of a path. The bytes are borrowed. */
struct cpti_rule_node {
    struct cpt_bytes service;
    struct cpt_bytes operation;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t parent; /* or CPTI_RULE_NONE; any number, also in a circle */
    bool has_time;
    bool is_part; /* time of the node above, as ‹queue›: only a pattern with ‹ is
                        like it */
    bool is_passed;  /* it has no time, so no path has it, but what is below it */
    bool is_on_path; /* it or what is below it has time on the critical path */
};

enum cpti_rule_kind {
    CPTI_RULE_COUNT, /* least to most */
    CPTI_RULE_EVERY,
    CPTI_RULE_BEFORE
};

/* What is asked of a node. */
struct cpti_rule_pattern {
    struct cpt_bytes text; /* in the rules */
    bool was_seen;         /* a node was like it */
    bool is_of_call;       /* so was a span that is no node, as it stands for a call */
};

struct cpti_rule {
    enum cpti_rule_kind kind;
    uint32_t least;
    uint32_t most;
    struct cpti_rule_pattern what;  /* the spans that are counted */
    struct cpti_rule_pattern under; /* or after, of `before`; empty: none */
    bool is_direct;                 /* right below */
    bool is_on_path;                /* only those count, or are wanted, on the path */
    struct cpt_bytes text;          /* of the rule, borrowed from what was parsed */
};

/* Zero at first. It owns nothing, but must not be moved: patterns point into it. */
struct cpti_rules {
    struct cpti_rule rules[CPTI_RULES_MAX];
    size_t count;
    char texts[CPTI_RULES_BYTES_MAX];
    size_t text_bytes;
};

/* Reads @text, which must outlive the rules. False with the place and reason in
 * @error. */
bool cpti_rules_parse(struct cpti_rules *rules, struct cpt_bytes text,
                      struct cpti_expression_error *error);

/* Whether @text is like @pattern: '*' is any number of any bytes. */
bool cpti_rule_like(struct cpt_bytes pattern, struct cpt_bytes text);

/* --- A trace --- */

/* Zero at first; it keeps its memory from trace to trace. */
struct cpti_rule_trace {
    struct cpti_rule_node *nodes;
    size_t count;
    size_t capacity;
    /* for each node, of the run */
    size_t run_capacity;
    uint32_t *parents; /* without circles */
    uint32_t *order;   /* children before parents */
    uint32_t *counts;
    unsigned char *marks;
};

void cpti_rule_trace_deinit(struct cpti_rule_trace *trace);

/* Forgets all nodes. */
void cpti_rule_trace_reset(struct cpti_rule_trace *trace);

/* Adds a node. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. */
cpt_status cpti_rule_trace_add(struct cpti_rule_trace *trace,
                               const struct cpti_rule_node *node);

/* Marks as on the path what has a node below it that is. After the last node, before a
 * run; finds the order of the nodes, too. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_rule_trace_settle(struct cpti_rule_trace *trace);

/* Notes which patterns of @rules that were not seen are like @call, a span that is no
 * node. */
void cpti_rules_meet_call(struct cpti_rules *rules, const struct cpti_rule_node *call);

/* The nodes that break a rule: the first ones, and how many there are. */
enum { CPTI_RULE_FOUND_MAX = 5 };

struct cpti_rule_result {
    bool is_broken;
    size_t count;       /* of the nodes; 0: what is missing has no node */
    size_t found_count; /* of those below */
    uint32_t found[CPTI_RULE_FOUND_MAX];
};

/* Runs @rule on @trace, after cpti_rule_trace_settle(), and notes which patterns were
 * seen. */
void cpti_rule_run(struct cpti_rule *rule, struct cpti_rule_trace *trace,
                   struct cpti_rule_result *result);

#endif
