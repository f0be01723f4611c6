/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* assert.c - rules on traces, and what broke them; see assert.h */
#include "tool/assert/assert.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Nodes whose names are kept to suggest one. */
enum { NAMED_NODES_MAX = 4096 };

/* --- Examples --- */

/* A copy of @bytes, of which at most some are kept. */
static char *copy_of(struct cpt_bytes bytes)
{
    enum { BYTES_MAX = 1024 };
    const size_t kept = bytes.bytes < BYTES_MAX ? bytes.bytes : BYTES_MAX;
    char *copy = malloc(kept + 1);

    if (copy != NULL) {
        if (kept > 0) {
            memcpy(copy, bytes.data, kept);
        }
        copy[kept] = '\0';
    }
    return copy;
}

/* "service: operation" of @node. */
static char *name_of(const struct cpti_rule_node *node)
{
    char text[2 * (CPT_NAME_BYTES_MAX + 1) + 2];
    char buffer[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes parts[] = {node->service,
                                      cpt_bytes_of(node->service.bytes > 0 ? ": " : ""),
                                      node->operation};
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct cpt_bytes part = cpt_name_bound(parts[i], buffer);

        if (part.bytes > 0) {
            memcpy(text + bytes, part.data, part.bytes);
        }
        bytes += part.bytes;
    }
    return copy_of((struct cpt_bytes){text, bytes});
}

static void free_example(struct cpti_assert_example *example)
{
    free(example->trace);
    free(example->file);
    for (size_t i = 0; i < example->kept_count; i++) {
        free(example->spans[i].name);
        free(example->spans[i].id);
        free(example->spans[i].above);
    }
}

void cpti_assert_deinit(struct cpti_assert *assertion)
{
    for (size_t i = 0; i < assertion->rules.count; i++) {
        struct cpti_assert_tally *tally = &assertion->tallies[i];

        for (size_t k = 0; k < tally->example_count; k++) {
            free_example(&tally->examples[k]);
        }
        cpt_alloc_free(cpt_alloc_default(), tally->examples);
    }
    cpti_rule_trace_deinit(&assertion->trace);
    if (assertion->names != NULL) {
        cpti_names_deinit(assertion->names);
        free(assertion->names);
    }
}

/* When the trace began. */
static uint64_t first_ns(const struct cpti_rule_trace *trace)
{
    uint64_t ns = UINT64_MAX;

    for (size_t i = 0; i < trace->count; i++) {
        if (trace->nodes[i].has_time && trace->nodes[i].start_ns < ns) {
            ns = trace->nodes[i].start_ns;
        }
    }
    return ns;
}

static bool keep_span(const struct cpti_rule_trace *nodes,
                      const struct cpti_assert_trace *trace, uint32_t number,
                      struct cpti_assert_span *span)
{
    const struct cpti_rule_node *node = &nodes->nodes[number];
    const uint32_t above = nodes->parents[number];
    const struct cpt_bytes none = {"", 0};

    *span = (struct cpti_assert_span){
        .name = name_of(node),
        .id = copy_of(trace->node_id != NULL ? trace->node_id(trace->context, number)
                                             : none),
        .above =
            above == CPTI_RULE_NONE ? copy_of(none) : name_of(&nodes->nodes[above]),
        .has_time = node->has_time};
    if (node->has_time) {
        span->start_ns = node->start_ns - first_ns(nodes);
        span->duration_ns = node->end_ns - node->start_ns;
    }
    return span->name != NULL && span->id != NULL && span->above != NULL;
}

static bool keep_example(const struct cpti_rule_trace *nodes,
                         const struct cpti_assert_trace *trace,
                         const struct cpti_rule_result *result,
                         struct cpti_assert_tally *tally)
{
    struct cpti_assert_example *example;
    void *examples = tally->examples;
    bool is_kept = cpt_alloc_grow(cpt_alloc_default(), &examples,
                                  &tally->example_capacity, tally->example_count + 1,
                                  CPTI_ASSERT_EXAMPLES_MAX, sizeof *example) == CPT_OK;

    tally->examples = examples;
    if (!is_kept) {
        return false;
    }
    example = &tally->examples[tally->example_count++];
    *example = (struct cpti_assert_example){.trace = copy_of(trace->id),
                                            .file = copy_of(cpt_bytes_of(trace->file)),
                                            .span_count = result->count};
    is_kept = example->trace != NULL && example->file != NULL;
    for (size_t i = 0; i < result->found_count && is_kept; i++) {
        is_kept = keep_span(nodes, trace, result->found[i],
                            &example->spans[example->kept_count++]);
    }
    return is_kept;
}

/* --- The run --- */

/* Keeps names of the trace while a pattern has not been seen. */
static void keep_names(struct cpti_assert *assertion)
{
    bool is_wanted = false;

    for (size_t i = 0; i < assertion->rules.count; i++) {
        const struct cpti_rule *rule = &assertion->rules.rules[i];

        is_wanted |= !rule->what.was_seen ||
                     (rule->under.text.bytes > 0 && !rule->under.was_seen);
    }
    if (assertion->names == NULL) {
        assertion->names = calloc(1, sizeof *assertion->names);
    }
    for (size_t i = 0;
         i < assertion->trace.count && is_wanted && assertion->names != NULL &&
         assertion->named_count < NAMED_NODES_MAX;
         i++, assertion->named_count++) {
        const struct cpti_rule_node *node = &assertion->trace.nodes[i];
        char *texts[] = {name_of(node), copy_of(node->service),
                         copy_of(node->operation)};

        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            if (texts[k] != NULL && texts[k][0] != '\0') {
                cpti_names_add(assertion->names, texts[k]);
            }
            free(texts[k]);
        }
    }
}

int cpti_assert_run(struct cpti_assert *assertion,
                    const struct cpti_assert_trace *trace)
{
    if (cpti_rule_trace_settle(&assertion->trace) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    assertion->trace_count++;
    assertion->span_count += assertion->trace.count + trace->call_count;
    for (size_t i = 0; i < assertion->rules.count; i++) {
        struct cpti_assert_tally *tally = &assertion->tallies[i];
        struct cpti_rule_result result;

        cpti_rule_run(&assertion->rules.rules[i], &assertion->trace, &result);
        if (!result.is_broken) {
            continue;
        }
        tally->broken_count++;
        tally->span_count += result.count;
        if (tally->example_count < assertion->example_max &&
            !keep_example(&assertion->trace, trace, &result, tally)) {
            return cpti_failed("out of memory");
        }
    }
    keep_names(assertion);
    return CPTI_EXIT_DONE;
}

bool cpti_assert_is_broken(const struct cpti_assert *assertion)
{
    for (size_t i = 0; i < assertion->rules.count; i++) {
        if (assertion->tallies[i].broken_count > 0) {
            return true;
        }
    }
    return false;
}

/* --- Warnings --- */

/* A rule about spans that are nowhere says nothing, unless it is just that they are
 * nowhere. */
static void warn_of(const struct cpti_assert *assertion,
                    const struct cpti_rule_pattern *pattern, bool is_expected)
{
    char text[CPTI_RULE_PATTERN_BYTES_MAX + 1];
    const char *nearest = NULL;

    if (pattern->was_seen || pattern->text.bytes == 0) {
        return;
    }
    memcpy(text, pattern->text.data, pattern->text.bytes);
    text[pattern->text.bytes] = '\0';
    if (assertion->names != NULL) {
        nearest = cpti_nearest_name(text, assertion->names);
    }
    if (pattern->is_of_call) {
        cpti_warn(
            "no span is like \"%s\" but clients' spans that stand for calls, which "
            "have the names of their callees",
            cpti_quoted(text));
    } else if (nearest != NULL) {
        cpti_warn("no span is like \"%s\"; did you mean \"%s\"?", cpti_quoted(text),
                  cpti_quoted(nearest));
    } else if (is_expected) {
        cpti_warn("no span is like \"%s\"", cpti_quoted(text));
    }
}

void cpti_assert_warn(const struct cpti_assert *assertion)
{
    for (size_t i = 0; i < assertion->rules.count && assertion->trace_count > 0; i++) {
        const struct cpti_rule *rule = &assertion->rules.rules[i];

        warn_of(assertion, &rule->what, rule->kind != CPTI_RULE_COUNT);
        warn_of(assertion, &rule->under, true);
    }
    if (assertion->unordered_count > 0) {
        cpti_warn("%" PRIu64
                  " paths do not tell the order of their frames, so 'before' "
                  "is not tried on them",
                  assertion->unordered_count);
    }
}

/* --- The answer --- */

size_t cpti_assert_row_count(const struct cpti_assert *assertion)
{
    size_t count = 0;

    for (size_t i = 0; i < assertion->rules.count; i++) {
        count += assertion->tallies[i].example_count;
    }
    return count;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_example(const struct cpti_assert_example *example)
{
    char ms[2][32];

    (void)printf("  trace %s (%s)%s\n", cpti_quoted(example->trace),
                 strcmp(example->file, "-") == 0 ? "standard input"
                                                 : cpti_quoted(example->file),
                 example->span_count == 0 ? ": has too few" : "");
    for (size_t i = 0; i < example->kept_count; i++) {
        const struct cpti_assert_span *span = &example->spans[i];

        (void)printf("    %s", cpti_quoted(span->name));
        if (span->id[0] != '\0') {
            (void)printf("  id %s", cpti_quoted(span->id));
        }
        if (span->has_time) {
            (void)printf("  at %s ms for %s ms", cpti_ms((double)span->start_ns, ms[0]),
                         cpti_ms((double)span->duration_ns, ms[1]));
        }
        (void)printf("%s%s\n", span->above[0] != '\0' ? "  below " : "",
                     span->above[0] != '\0' ? cpti_quoted(span->above) : "");
    }
    if (example->span_count > example->kept_count) {
        (void)printf("    (%zu more)\n", example->span_count - example->kept_count);
    }
}

void cpti_assert_print(const struct cpti_assert *assertion, size_t row_max)
{
    (void)printf("%" PRIu64 " trace%s, %" PRIu64 " span%s\n", assertion->trace_count,
                 plural(assertion->trace_count), assertion->span_count,
                 plural(assertion->span_count));
    for (size_t i = 0; i < assertion->rules.count; i++) {
        const struct cpti_assert_tally *tally = &assertion->tallies[i];
        const size_t shown =
            tally->example_count < row_max ? tally->example_count : row_max;

        (void)printf("%s  %s\n", tally->broken_count == 0 ? "holds " : "BROKEN",
                     cpti_printable(assertion->rules.rules[i].text));
        row_max -= shown;
        if (tally->broken_count == 0) {
            continue;
        }
        (void)printf("  in %" PRIu64 " trace%s\n", tally->broken_count,
                     plural(tally->broken_count));
        for (size_t k = 0; k < shown; k++) {
            print_example(&tally->examples[k]);
        }
        if (tally->broken_count > shown) {
            (void)printf("  (%" PRIu64 " more trace%s)\n", tally->broken_count - shown,
                         plural(tally->broken_count - shown));
        }
    }
}

static void put_example(struct cpti_json *json,
                        const struct cpti_assert_example *example)
{
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "trace_id", example->trace);
    cpti_json_text(json, "file", example->file);
    cpti_json_unsigned(json, "span_count", example->span_count);
    cpti_json_open(json, "spans", '[');
    for (size_t i = 0; i < example->kept_count; i++) {
        const struct cpti_assert_span *span = &example->spans[i];

        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "name", span->name);
        if (span->id[0] != '\0') {
            cpti_json_text(json, "span_id", span->id);
        }
        if (span->above[0] != '\0') {
            cpti_json_text(json, "above", span->above);
        }
        if (span->has_time) {
            cpti_json_unsigned(json, "start_ns", span->start_ns);
            cpti_json_unsigned(json, "duration_ns", span->duration_ns);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_close(json);
}

void cpti_assert_json(const struct cpti_assert *assertion, size_t row_max)
{
    struct cpti_json json = {.file = stdout};
    uint64_t left = 0;

    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "traces", assertion->trace_count);
    cpti_json_unsigned(&json, "spans", assertion->span_count);
    cpti_json_bool(&json, "holds", !cpti_assert_is_broken(assertion));
    cpti_json_open(&json, "rules", '[');
    for (size_t i = 0; i < assertion->rules.count; i++) {
        const struct cpti_assert_tally *tally = &assertion->tallies[i];
        const size_t shown =
            tally->example_count < row_max ? tally->example_count : row_max;

        row_max -= shown;
        left += tally->broken_count - shown;
        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_bytes(&json, "rule", assertion->rules.rules[i].text);
        cpti_json_bool(&json, "holds", tally->broken_count == 0);
        cpti_json_unsigned(&json, "broken", tally->broken_count);
        cpti_json_open(&json, "examples", '[');
        for (size_t k = 0; k < shown; k++) {
            cpti_json_row(&json);
            put_example(&json, &tally->examples[k]);
        }
        cpti_json_close(&json);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    if (left > 0) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "traces", left);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}
