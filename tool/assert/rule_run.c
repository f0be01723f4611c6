/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * rule_run.c - rules, run on a trace
 *
 * Nodes are put into an order in which children stand before their parents: leaves
 * first, then what has only such children, and so on. Going through it forwards adds up
 * what lies below each node; backwards, it tells each node what lies above. Nodes of a
 * circle, which only a broken trace has, have no parent here.
 */
#include "tool/assert/rule.h"

#include "cpt/cpt_alloc.h"

#include <string.h>

/* Marks of a node. */
enum { IS_WHAT = 1, IS_UNDER = 2, HAS_ABOVE = 4 };

enum { NODES_MAX = 1 << 24 };

/* --- Names --- */

bool cpti_rule_like(struct cpt_bytes pattern, struct cpt_bytes text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* the last one met, and the text that it stands for ... */
    size_t after = 0;       /* ... ends before this byte */

    while (t < text.bytes) {
        if (p < pattern.bytes && pattern.data[p] == '*') {
            star = p++;
            after = t;
        } else if (p < pattern.bytes && pattern.data[p] == text.data[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++after;
        } else {
            return false;
        }
    }
    while (p < pattern.bytes && pattern.data[p] == '*') {
        p++;
    }
    return p == pattern.bytes;
}

/* Where ": " stands in @pattern, or SIZE_MAX. */
static size_t colon_of(struct cpt_bytes pattern)
{
    for (size_t i = 0; i + 1 < pattern.bytes; i++) {
        if (pattern.data[i] == ':' && pattern.data[i + 1] == ' ') {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool is_like(const struct cpti_rule_node *node, struct cpt_bytes pattern)
{
    const size_t colon = colon_of(pattern);
    const struct cpt_bytes service = {pattern.data, colon};
    struct cpt_bytes operation = pattern;

    if (node->is_part && memmem(pattern.data, pattern.bytes, "\u2039", 3) == NULL) {
        return false;
    }
    if (colon == SIZE_MAX) {
        return cpti_rule_like(pattern, node->service) ||
               cpti_rule_like(pattern, node->operation);
    }
    operation.data += colon + 2;
    operation.bytes -= colon + 2;
    return cpti_rule_like(operation, node->operation) &&
           cpti_rule_like(service, node->service);
}

/* --- A trace --- */

static void free_run(struct cpti_rule_trace *trace)
{
    cpt_alloc_free(cpt_alloc_default(), trace->parents);
    cpt_alloc_free(cpt_alloc_default(), trace->order);
    cpt_alloc_free(cpt_alloc_default(), trace->counts);
    cpt_alloc_free(cpt_alloc_default(), trace->marks);
    trace->parents = NULL;
    trace->order = NULL;
    trace->counts = NULL;
    trace->marks = NULL;
    trace->run_capacity = 0;
}

void cpti_rule_trace_deinit(struct cpti_rule_trace *trace)
{
    cpt_alloc_free(cpt_alloc_default(), trace->nodes);
    free_run(trace);
    *trace = (struct cpti_rule_trace){0};
}

void cpti_rule_trace_reset(struct cpti_rule_trace *trace)
{
    trace->count = 0;
}

cpt_status cpti_rule_trace_add(struct cpti_rule_trace *trace,
                               const struct cpti_rule_node *node)
{
    void *nodes = trace->nodes;
    const cpt_status status =
        trace->count < trace->capacity
            ? CPT_OK
            : cpt_alloc_grow(cpt_alloc_default(), &nodes, &trace->capacity,
                             trace->count + 1, NODES_MAX, sizeof *trace->nodes);

    trace->nodes = nodes;
    if (status == CPT_OK) {
        trace->nodes[trace->count++] = *node;
    }
    return status;
}

static cpt_status make_room(struct cpti_rule_trace *trace)
{
    const struct cpt_alloc *alloc = cpt_alloc_default();
    const size_t count = trace->capacity;

    if (trace->count <= trace->run_capacity) {
        return CPT_OK;
    }
    free_run(trace);
    trace->parents = cpt_alloc_zeroed(alloc, count * sizeof *trace->parents);
    trace->order = cpt_alloc_zeroed(alloc, count * sizeof *trace->order);
    trace->counts = cpt_alloc_zeroed(alloc, count * sizeof *trace->counts);
    trace->marks = cpt_alloc_zeroed(alloc, count);
    if (trace->parents == NULL || trace->order == NULL || trace->counts == NULL ||
        trace->marks == NULL) {
        free_run(trace);
        return CPT_NO_MEMORY;
    }
    trace->run_capacity = count;
    return CPT_OK;
}

/* Finds the order; `counts` are the children that are not in it yet. */
static void find_order(struct cpti_rule_trace *trace)
{
    size_t end = 0;

    memset(trace->counts, 0, trace->count * sizeof *trace->counts);
    memset(trace->marks, 0, trace->count);
    for (size_t i = 0; i < trace->count; i++) {
        const uint32_t parent = trace->nodes[i].parent;

        trace->parents[i] = parent < trace->count ? parent : CPTI_RULE_NONE;
        if (trace->parents[i] != CPTI_RULE_NONE) {
            trace->counts[parent]++;
        }
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        if (trace->counts[i] == 0) {
            trace->order[end++] = i;
        }
    }
    for (size_t i = 0; i < end; i++) {
        const uint32_t parent = trace->parents[trace->order[i]];

        trace->marks[trace->order[i]] = 1;
        if (parent != CPTI_RULE_NONE && --trace->counts[parent] == 0) {
            trace->order[end++] = parent;
        }
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        if (trace->marks[i] == 0) { /* in a circle */
            trace->parents[i] = CPTI_RULE_NONE;
            trace->order[end++] = i;
        }
    }
}

cpt_status cpti_rule_trace_settle(struct cpti_rule_trace *trace)
{
    const cpt_status status = make_room(trace);

    if (status != CPT_OK || trace->count == 0) {
        return status;
    }
    find_order(trace);
    for (size_t i = 0; i < trace->count; i++) {
        const uint32_t number = trace->order[i];
        const uint32_t parent = trace->parents[number];

        if (parent != CPTI_RULE_NONE && trace->nodes[number].is_on_path) {
            trace->nodes[parent].is_on_path = true;
        }
    }
    return CPT_OK;
}

/* --- A run --- */

static void add(struct cpti_rule_result *result, uint32_t number)
{
    result->is_broken = true;
    if (result->found_count < CPTI_RULE_FOUND_MAX) {
        result->found[result->found_count++] = number;
    }
    result->count++;
}

/* Whether @rule wants spans, rather than forbid them. */
static bool wants(const struct cpti_rule *rule)
{
    return rule->kind == CPTI_RULE_EVERY || rule->least > 0;
}

static void meet_call(struct cpti_rule_pattern *pattern,
                      const struct cpti_rule_node *call)
{
    pattern->is_of_call =
        pattern->is_of_call ||
        (!pattern->was_seen && pattern->text.bytes > 0 && is_like(call, pattern->text));
}

void cpti_rules_meet_call(struct cpti_rules *rules, const struct cpti_rule_node *call)
{
    for (size_t i = 0; i < rules->count; i++) {
        meet_call(&rules->rules[i].what, call);
        meet_call(&rules->rules[i].under, call);
    }
}

static void mark(struct cpti_rule *rule, struct cpti_rule_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct cpti_rule_node *node = &trace->nodes[i];
        const bool is_what = is_like(node, rule->what.text);
        const bool is_under =
            rule->under.text.bytes > 0 && is_like(node, rule->under.text);

        trace->marks[i] =
            (unsigned char)((is_what ? IS_WHAT : 0) |
                            (is_under && !(node->is_passed && wants(rule)) ? IS_UNDER
                                                                           : 0));
        rule->what.was_seen |= is_what;
        rule->under.was_seen |= is_under;
    }
}

/* Whether what lies below node @number counts as right below what is above it. */
static bool hands_down(const struct cpti_rule *rule,
                       const struct cpti_rule_trace *trace, uint32_t number)
{
    return !rule->is_direct || trace->nodes[number].is_passed;
}

/* Marks what lies below what is marked IS_UNDER. */
static void mark_below(const struct cpti_rule *rule, struct cpti_rule_trace *trace)
{
    for (size_t i = trace->count; i-- > 0;) {
        const uint32_t parent = trace->parents[trace->order[i]];

        if (parent != CPTI_RULE_NONE && ((trace->marks[parent] & IS_UNDER) != 0 ||
                                         ((trace->marks[parent] & HAS_ABOVE) != 0 &&
                                          hands_down(rule, trace, parent)))) {
            trace->marks[trace->order[i]] |= HAS_ABOVE;
        }
    }
}

/* Whether node @number is one of those that count, wherever it lies. */
static bool counts(const struct cpti_rule *rule, const struct cpti_rule_trace *trace,
                   size_t number)
{
    return (trace->marks[number] & IS_WHAT) != 0 &&
           (!rule->is_on_path || trace->nodes[number].is_on_path);
}

/* Of the whole trace; with `under`, if such spans are on its path. */
static void count_all(const struct cpti_rule *rule, struct cpti_rule_trace *trace,
                      struct cpti_rule_result *result)
{
    const bool has_under = rule->under.text.bytes > 0;
    bool is_asked = !has_under;

    mark_below(rule, trace);
    for (uint32_t i = 0; i < trace->count; i++) {
        is_asked |= (trace->marks[i] & IS_UNDER) != 0 && trace->nodes[i].is_on_path;
        if (counts(rule, trace, i) &&
            (!has_under || (trace->marks[i] & HAS_ABOVE) != 0)) {
            add(result, i);
        }
    }
    result->is_broken =
        is_asked && (result->count > rule->most || result->count < rule->least);
}

/* Below each node by itself; adds it if there are too many. */
static void count_below(const struct cpti_rule *rule, struct cpti_rule_trace *trace,
                        struct cpti_rule_result *result)
{
    memset(trace->counts, 0, trace->count * sizeof *trace->counts);
    for (size_t i = 0; i < trace->count; i++) {
        const uint32_t number = trace->order[i];
        const uint32_t parent = trace->parents[number];
        const uint32_t below =
            hands_down(rule, trace, number) ? trace->counts[number] : 0;

        if (parent != CPTI_RULE_NONE) {
            trace->counts[parent] += below + counts(rule, trace, number);
        }
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        if ((trace->marks[i] & IS_UNDER) != 0 && trace->counts[i] > rule->most) {
            add(result, i);
        }
    }
}

/* The same if none may be there: adds those that are. */
static void find_below(const struct cpti_rule *rule, struct cpti_rule_trace *trace,
                       struct cpti_rule_result *result)
{
    mark_below(rule, trace);
    for (uint32_t i = 0; i < trace->count; i++) {
        if (counts(rule, trace, i) && (trace->marks[i] & HAS_ABOVE) != 0) {
            add(result, i);
        }
    }
}

static void find_others(const struct cpti_rule *rule, struct cpti_rule_trace *trace,
                        struct cpti_rule_result *result)
{
    const bool has_under = rule->under.text.bytes > 0;

    mark_below(rule, trace);
    for (uint32_t i = 0; i < trace->count; i++) {
        if ((trace->marks[i] & IS_WHAT) != 0 &&
            ((has_under && (trace->marks[i] & HAS_ABOVE) == 0) ||
             (rule->is_on_path && !trace->nodes[i].is_on_path))) {
            add(result, i);
        }
    }
}

/* Adds what begins before the first of the others has ended. */
static void find_early(const struct cpti_rule_trace *trace,
                       struct cpti_rule_result *result)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < trace->count; i++) {
        const struct cpti_rule_node *node = &trace->nodes[i];

        if ((trace->marks[i] & IS_WHAT) != 0 && node->has_time &&
            node->end_ns < first_ns) {
            first_ns = node->end_ns;
        }
    }
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct cpti_rule_node *node = &trace->nodes[i];

        if ((trace->marks[i] & IS_UNDER) != 0 && node->has_time &&
            node->start_ns < first_ns) {
            add(result, i);
        }
    }
}

void cpti_rule_run(struct cpti_rule *rule, struct cpti_rule_trace *trace,
                   struct cpti_rule_result *result)
{
    *result = (struct cpti_rule_result){.is_broken = false};
    mark(rule, trace);
    if (rule->kind == CPTI_RULE_BEFORE) {
        find_early(trace, result);
    } else if (rule->kind == CPTI_RULE_EVERY) {
        find_others(rule, trace, result);
    } else if (rule->under.text.bytes == 0 || rule->least > 0) {
        count_all(rule, trace, result);
    } else if (rule->most == 0) {
        find_below(rule, trace, result);
    } else {
        count_below(rule, trace, result);
    }
}
