/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assert_spans.c - spans as nodes, for rules
 *
 * All spans count, also those that the critical path leaves out, with the times that
 * they say. A client's span to which no service answered with one of its own stands for
 * the callee, too: a database writes no spans.
 */
#include "cpt/cli/assert/assert.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/output.h"
#include "cpt/import/traces.h"

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

/* Adds a node for each span. */
static cpt_status add_nodes(struct cpti_rule_trace *trace, struct spans *spans)
{
    const uint32_t count = (uint32_t)cpti_spans_count(spans->set);
    cpt_status status = make_room(spans);

    if (spans->numbers == NULL) {
        return status;
    }
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpti_span *span = cpti_spans_at(spans->set, i);
        struct cpti_rule_node node = {.service = span->service,
                                      .operation = span->operation,
                                      .peer = span->peer,
                                      .start_ns = span->start_ns,
                                      .end_ns = span->start_ns + span->duration_ns,
                                      .has_time = span->has_time};

        spans->numbers[i] = CPTI_RULE_NONE;
        if (!cpti_spans_is_again(spans->set, i)) {
            spans->numbers[i] = (uint32_t)trace->count;
            spans->numbers[spans->capacity + trace->count] = i;
            status = cpti_rule_trace_add(trace, &node);
        }
    }
    return status;
}

/* Tells each node which one is above it, and which ones are on the path. */
static void link_nodes(struct cpti_rule_trace *trace, const struct spans *spans)
{
    if (spans->numbers == NULL) { /* there are none */
        return;
    }
    for (size_t i = 0; i < trace->count; i++) {
        const uint32_t number = spans->numbers[spans->capacity + i];
        const uint32_t above = cpti_spans_above(spans->set, number);
        struct cpti_rule_node *node = &trace->nodes[i];

        node->parent = above == CPTI_SPAN_NONE ? CPTI_RULE_NONE : spans->numbers[above];
        if (node->parent != CPTI_RULE_NONE &&
            !cpt_bytes_equal(trace->nodes[node->parent].service, node->service)) {
            trace->nodes[node->parent].peer.bytes = 0; /* it answered */
        }
    }
    for (size_t i = 0; i < cpti_spans_section_count(spans->set); i++) {
        const uint32_t span = cpti_spans_section(spans->set, i)->span;

        if (spans->numbers[span] != CPTI_RULE_NONE) {
            trace->nodes[spans->numbers[span]].is_on_path = true;
        }
    }
}

static int run_trace(struct cpti_assert *assertion, struct spans *spans,
                     struct cpt_bytes id, const char *file)
{
    struct cpti_spans_report report = {0};
    const struct cpti_assert_trace trace = {
        .id = id, .file = file, .node_id = node_id, .context = spans};
    cpt_status status = cpti_spans_resolve(spans->set, &report);

    if (status == CPT_OK) {
        status = cpti_spans_walk(spans->set, CPTI_SPANS_EXACT);
    }
    if (status == CPT_OK || status == CPT_END) { /* END: it has no root */
        cpti_rule_trace_reset(&assertion->trace);
        status = add_nodes(&assertion->trace, spans);
    }
    if (status != CPT_OK) {
        return cpti_failed("%s: a trace: %s", cpti_quoted(file),
                           cpt_status_sentence(status));
    }
    link_nodes(&assertion->trace, spans);
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
                (void)cpti_failed(
                    "%s: at byte %" PRIu64 ": %s",
                    input != NULL ? cpti_input_name(input) : file, error.offset,
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
