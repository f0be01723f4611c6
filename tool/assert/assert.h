/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assert.h - rules (rule.h) on the traces of many files, and which traces break them
 *
 *      file of spans --> spans of a trace --.
 *                                            >-- nodes --> rules --> tally, examples
 *      path log -------> frames of a path --'
 *
 * Of each rule the first traces that break it are kept, with the first spans; all are
 * counted. So memory does not grow with the input.
 */
#ifndef CPTI_CLI_ASSERT_H
#define CPTI_CLI_ASSERT_H

#include "tool/assert/rule.h"
#include "tool/base/files.h"

struct cpt_path;
struct cpti_assert_reader;
struct cpti_names;

/* Examples of a rule: the default and the limit of how many. */
enum { CPTI_ASSERT_EXAMPLES = 10, CPTI_ASSERT_EXAMPLES_MAX = 10000 };

/* A span that breaks a rule. Texts are owned. */
struct cpti_assert_span {
    char *name; /* "service: operation" */
    char *id;   /* "" for a frame */
    char *above;
    uint64_t start_ns; /* after the first of the trace */
    uint64_t duration_ns;
    bool has_time;
};

/* A trace that breaks a rule. */
struct cpti_assert_example {
    char *trace;
    char *file;
    size_t span_count; /* that break it; of them these: */
    size_t kept_count;
    struct cpti_assert_span spans[CPTI_RULE_FOUND_MAX];
};

/* What was found of a rule. */
struct cpti_assert_tally {
    uint64_t broken_count; /* traces */
    uint64_t span_count;
    struct cpti_assert_example *examples;
    size_t example_count;
    size_t example_capacity;
};

struct cpti_assert {
    struct cpti_rules rules;
    struct cpti_assert_tally tallies[CPTI_RULES_MAX];
    size_t example_max; /* of each rule */
    uint64_t trace_count;
    uint64_t span_count;
    uint64_t unordered_count; /* paths whose times do not tell the order */
    struct cpti_rule_trace trace;
    struct cpti_names *names; /* of spans, to suggest one */
    uint64_t named_count;
    struct cpti_assert_reader *reader; /* of spans; NULL: there were none yet */
};

/* A trace whose nodes are added. */
struct cpti_assert_trace {
    struct cpt_bytes id;
    const char *file;
    /* The id of a node; NULL: nodes have none. */
    struct cpt_bytes (*node_id)(const void *context, uint32_t number);
    const void *context;
    size_t call_count; /* spans that stand for a call, so are no nodes of their own */
};

/* Frees all that was kept. */
void cpti_assert_deinit(struct cpti_assert *assertion);

/* Runs all rules on the nodes of assertion->trace. enum cpti_exit. */
int cpti_assert_run(struct cpti_assert *assertion,
                    const struct cpti_assert_trace *trace);

/* Whether a rule is broken. */
bool cpti_assert_is_broken(const struct cpti_assert *assertion);

/* Warns of patterns that no span is like, with what may be meant. */
void cpti_assert_warn(const struct cpti_assert *assertion);

/* Prints the answer with at most @row_max examples. */
void cpti_assert_print(const struct cpti_assert *assertion, size_t row_max);
void cpti_assert_json(const struct cpti_assert *assertion, size_t row_max);
size_t cpti_assert_row_count(const struct cpti_assert *assertion);

/* What the frames of @kind are called. */
struct cpt_bytes cpti_assert_kind(unsigned kind);

/* Adds the frames of @path as nodes, each time that the path enters one. CPT_OK;
 * CPT_NO_MEMORY; CPT_LIMIT. */
cpt_status cpti_assert_path(struct cpti_rule_trace *trace, const struct cpt_path *path);

/* Runs the rules on the traces of @input, a file of spans, but for those whose spans
 * may be in other files, too; and on these, after all files. enum cpti_exit. */
int cpti_assert_spans(struct cpti_assert *assertion, struct cpti_input *input);
int cpti_assert_spans_end(struct cpti_assert *assertion);

#endif
