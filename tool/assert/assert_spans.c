/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assert_spans.c - spans as nodes, for rules
 *
 * A node is a frame that the critical path would have (cpti_spans_frame()), so that
 * rules say the same of spans and of a path log made of them: the client's side of a
 * call is no node, as its callee is. All other spans count, also those that the path
 * leaves out, with the times that they say.
 */
#include "tool/assert/assert.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "cpt/cpt_path.h"
#include "import/traces/traces.h"

#include <inttypes.h>

enum { REFUSED_TOLD_MAX = 5 /* pieces of one file */ };

/* The spans of a trace, and which of them are nodes. */
struct spans {
    struct cpti_spans *set;
    uint32_t *numbers; /* of spans -> nodes; and in the place of nodes -> spans */
    size_t capacity;
};

/* What reads all files of spans: a trace may be in several. */
struct cpti_assert_reader {
    struct cpti_traces *traces;
    struct spans spans;
    const char *file; /* the last one; borrowed from the command line */
    size_t file_count;
};

static struct cpt_bytes node_id(const void *context, uint32_t number)
{
    const struct spans *spans = context;

    return cpti_spans_at(spans->set, spans->numbers[spans->capacity + number])->id;
}

static cpt_status make_room(struct spans *spans)
{
    const size_t count = cpti_spans_count(spans->set);

    if (count <= spans->capacity) {
        return CPT_OK;
    }
    cpt_alloc_free(cpt_alloc_default(), spans->numbers);
    spans->capacity = 0;
    spans->numbers =
        cpt_alloc_zeroed(cpt_alloc_default(), 4 * count * sizeof *spans->numbers);
    if (spans->numbers == NULL) {
        return CPT_NO_MEMORY;
    }
    spans->capacity = 2 * count;
    return CPT_OK;
}

/* The node of span @number, if it has one of its own. */
static bool make_node(struct cpti_spans *set, uint32_t number,
                      struct cpti_rule_node *node)
{
    const struct cpti_span *span = cpti_spans_at(set, number);
    struct cpti_span_frame frame;

    if (cpti_spans_is_again(set, number)) {
        return false;
    }
    cpti_spans_frame(set, number, &frame);
    *node = (struct cpti_rule_node){.service = frame.service,
                                    .operation = frame.operation,
                                    .start_ns = span->start_ns,
                                    .end_ns = span->start_ns + span->duration_ns,
                                    .has_time = span->has_time,
                                    .is_passed = frame.role == CPTI_SPAN_PASSED,
                                    .is_part = frame.kind != CPT_KIND_WORK};
    if (node->is_part) {
        node->operation = cpti_assert_kind(frame.kind);
    }
    return frame.role != CPTI_SPAN_CALL;
}

/* Tells rules that name the client's side of a call that it is no node. */
static void meet_call(struct cpti_rules *rules, const struct cpti_span *span)
{
    const struct cpti_rule_node call = {.service = span->service,
                                        .operation = span->operation};

    cpti_rules_meet_call(rules, &call);
}

/* Adds the nodes of all spans. */
static cpt_status add_nodes(struct cpti_assert *assertion, struct spans *spans)
{
    struct cpti_rule_trace *trace = &assertion->trace;
    const uint32_t count = (uint32_t)cpti_spans_count(spans->set);
    cpt_status status = make_room(spans);

    if (spans->numbers == NULL) {
        return status;
    }
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        struct cpti_rule_node node;

        spans->numbers[i] = CPTI_RULE_NONE;
        if (make_node(spans->set, i, &node)) {
            spans->numbers[i] = (uint32_t)trace->count;
            spans->numbers[spans->capacity + trace->count] = i;
            status = cpti_rule_trace_add(trace, &node);
        } else if (!cpti_spans_is_again(spans->set, i)) {
            meet_call(&assertion->rules, cpti_spans_at(spans->set, i));
        }
    }
    return status;
}

/* The node above span @number: calls have none, but their callers. */
static uint32_t node_above(const struct spans *spans, uint32_t number)
{
    do {
        number = cpti_spans_above(spans->set, number);
    } while (number != CPTI_SPAN_NONE && spans->numbers[number] == CPTI_RULE_NONE);
    return number == CPTI_SPAN_NONE ? CPTI_RULE_NONE : spans->numbers[number];
}

/* Tells each node which one is above it, and which ones are on the path: a callee also
 * by time that only its caller saw. */
static void link_nodes(struct cpti_rule_trace *trace, const struct spans *spans)
{
    if (spans->numbers == NULL) { /* there are none */
        return;
    }
    for (size_t i = 0; i < trace->count; i++) {
        trace->nodes[i].parent = node_above(spans, spans->numbers[spans->capacity + i]);
    }
    for (size_t i = 0; i < cpti_spans_section_count(spans->set); i++) {
        const uint32_t span = cpti_spans_section(spans->set, i)->span;
        struct cpti_span_frame frame;

        cpti_spans_frame(spans->set, span, &frame);
        trace->nodes[spans->numbers[frame.role == CPTI_SPAN_CALL ? frame.callee : span]]
            .is_on_path = true;
    }
}

/* Spans that have no nodes, but are no copies. */
static size_t count_calls(const struct spans *spans)
{
    const uint32_t count = (uint32_t)cpti_spans_count(spans->set);
    size_t calls = 0;

    for (uint32_t i = 0; i < count; i++) {
        calls +=
            spans->numbers[i] == CPTI_RULE_NONE && !cpti_spans_is_again(spans->set, i);
    }
    return calls;
}

static int run_trace(struct cpti_assert *assertion, struct spans *spans,
                     struct cpt_bytes id, const char *file)
{
    struct cpti_spans_report report = {0};
    struct cpti_assert_trace trace = {
        .id = id, .file = file, .node_id = node_id, .context = spans};
    cpt_status status = cpti_spans_resolve(spans->set, &report);

    status = CPTI_THEN(status, cpti_spans_walk(spans->set, CPTI_SPANS_EXACT));
    if (status == CPT_OK || status == CPT_END) { /* END: it has no root */
        cpti_rule_trace_reset(&assertion->trace);
        status = add_nodes(assertion, spans);
    }
    if (status != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(file)},
                              "a trace: %s", cpt_status_sentence(status));
    }
    link_nodes(&assertion->trace, spans);
    trace.call_count = count_calls(spans);
    return cpti_assert_run(assertion, &trace);
}

/* Runs the rules on what can be read of traces now: of @input, or, if that is NULL, of
 * all files together. */
static int run_traces(struct cpti_assert *assertion, const struct cpti_input *input)
{
    struct cpti_assert_reader *reader = assertion->reader;
    const char *file =
        input != NULL || reader->file_count == 1 ? reader->file : "several files";
    cpt_status status = CPT_OK;
    int exit_status = CPTI_EXIT_DONE;
    unsigned refused = 0;

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};
        struct cpt_bytes id = {"", 0};

        status = cpti_traces_next(reader->traces, reader->spans.set, &id, &error);
        if (status == CPT_OK) {
            exit_status = cpti_exit_last(
                exit_status, run_trace(assertion, &reader->spans, id, file));
        } else if (status != CPT_END) {
            exit_status = CPTI_EXIT_FAILED;
            if (refused++ < REFUSED_TOLD_MAX) {
                (void)cpti_failed_at(
                    (struct cpti_at){.file =
                                         input != NULL ? cpti_input_name(input) : file,
                                     .has_byte = true,
                                     .byte = error.offset},
                    "%s",
                    error.sentence[0] != '\0' ? error.sentence
                                              : cpt_status_sentence(status));
            }
        }
    }
    if (refused > REFUSED_TOLD_MAX && input != NULL) {
        cpti_warn("%s: %u more like these", cpti_input_name(input),
                  refused - REFUSED_TOLD_MAX);
    }
    return exit_status;
}

static void reader_free(struct cpti_assert_reader *reader)
{
    if (reader != NULL) {
        cpti_traces_free(reader->traces);
        cpti_spans_free(reader->spans.set);
        cpt_alloc_free(cpt_alloc_default(), reader->spans.numbers);
        cpt_alloc_free(cpt_alloc_default(), reader);
    }
}

/* NULL without memory. */
static struct cpti_assert_reader *reader_new(void)
{
    const struct cpti_traces_options options = {.has_files = true};
    struct cpti_assert_reader *reader =
        cpt_alloc_zeroed(cpt_alloc_default(), sizeof *reader);

    if (reader == NULL) {
        return NULL;
    }
    reader->traces = cpti_traces_new(&options);
    reader->spans.set = cpti_spans_new(NULL);
    if (reader->traces == NULL || reader->spans.set == NULL) {
        reader_free(reader);
        return NULL;
    }
    return reader;
}

int cpti_assert_spans(struct cpti_assert *assertion, struct cpti_input *input)
{
    if (assertion->reader == NULL) {
        assertion->reader = reader_new();
    }
    if (assertion->reader == NULL ||
        cpti_traces_open(assertion->reader->traces, cpti_input_read, input) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    assertion->reader->file = input->path;
    assertion->reader->file_count++;
    return run_traces(assertion, input);
}

/* A rule says nothing of traces that it has not seen, or not whole. */
static int tell_left_out(const struct cpti_traces_counts *counts)
{
    int status = CPTI_EXIT_DONE;

    if (counts->refused_traces > 0) {
        status =
            cpti_failed("traces that are left out, as they are too large: %" PRIu64,
                        counts->refused_traces);
    }
    if (counts->cut_traces > 0) {
        status = cpti_failed("traces that may be tried in parts, as their spans are "
                             "too far apart for the memory: %" PRIu64,
                             counts->cut_traces);
    }
    return status;
}

int cpti_assert_spans_end(struct cpti_assert *assertion)
{
    int status = CPTI_EXIT_DONE;

    if (assertion->reader != NULL) {
        cpti_traces_finish(assertion->reader->traces);
        status = run_traces(assertion, NULL);
        status = cpti_exit_last(
            status, tell_left_out(cpti_traces_counts(assertion->reader->traces)));
        reader_free(assertion->reader);
        assertion->reader = NULL;
    }
    return status;
}
