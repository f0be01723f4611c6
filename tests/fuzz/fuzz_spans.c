/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_spans.c - any bytes as a file of spans
 *
 * Whatever is read must give paths that add up: in both modes whose sections tile the
 * root they leave no gap, and a path has the duration of the root. The annotated copy
 * of the file has the same sections, and its own copy is itself.
 */
#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_path.h"
#include "import/formats/annotation.h"
#include "import/spans/span_explain.h"
#include "import/formats/tags.h"
#include "import/traces/traces.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES_MAX = 32 << 10, WAITING_BYTES_MAX = 16 << 10, EXPLAINED_MAX = 16 };
enum { ANNOTATED_BYTES_MAX = 8 << 10, COPY_BYTES_MAX = 8 << 20 };

struct input {
    const uint8_t *data;
    size_t left;
};

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct input *input = context;

    *bytes = input->left < capacity ? input->left : capacity;
    if (*bytes > 0) {
        memcpy(buffer, input->data, *bytes);
    }
    input->data += *bytes;
    input->left -= *bytes;
    return CPT_OK;
}

static void check_tiles(const struct cpti_spans *spans)
{
    const uint32_t root = cpti_spans_root(spans);
    uint64_t at = cpti_spans_start_ns(spans, root);

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);

        must(section->start_ns == at && section->end_ns > at);
        at = section->end_ns;
    }
    must(at == cpti_spans_end_ns(spans, root));
}

/* A cpt_dag_visit_fn: whatever notes say, what is measured fits together, and if it is
 * inferred (@context), the dag is as long as the request. */
static cpt_status measure_dag(void *context, const struct cpt_dag *dag,
                              const struct cpt_dag_recorded *recorded,
                              uint64_t latency_ns)
{
    const struct cpt_dag_shape *shape = &recorded->shape;
    struct cpt_dag_measure *measures = calloc(shape->node_count, sizeof *measures);
    struct cpt_dag_frame *frames = calloc(shape->frame_count, sizeof *frames);
    uint64_t path_ns = 0;

    must(context == NULL || cpt_dag_latency_ns(dag) == latency_ns);
    must(measures != NULL && frames != NULL);
    must(cpt_dag_measure(dag, measures) == CPT_OK);
    must(cpt_dag_frames(dag, measures, frames) == CPT_OK);
    for (uint32_t i = 0; i < shape->frame_count; i++) {
        must(frames[i].drag_ns <= frames[i].gain_ns);
        must(frames[i].gain_ns <= frames[i].path_ns);
        path_ns += frames[i].path_ns;
    }
    must(path_ns == cpt_dag_latency_ns(dag));
    free(measures);
    free(frames);
    return CPT_OK;
}

static void check_inferred(struct cpti_spans *spans)
{
    struct cpti_spans_cut cut = {0, 0};
    const cpt_status status = cpti_spans_inferred_dag(spans, measure_dag, spans, &cut);

    must(status == CPT_OK || status == CPT_LIMIT);
}

/* Attributes that are asked for; as in the seeds. */
static const struct cpt_bytes keys[] = {{"span.kind", 9}, {"hostname", 8}, {"a", 1}};

static void check_tags(const struct cpti_spans *spans)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cpti_spans_count(spans); i++) {
        size_t count = 0;

        for (const struct cpti_tag *tag = cpti_spans_at(spans, i)->tags; tag != NULL;
             tag = tag->next) {
            must(tag->key < sizeof keys / sizeof *keys);
            must(tag->value.text.bytes <= CPTI_TAG_BYTES_MAX);
            must(++count <= 2 * sizeof keys / sizeof *keys);
            sum += cpti_id_hash(sum, tag->value.text); /* reads it */
        }
    }
    must(sum == 0 || cpti_spans_count(spans) > 0);
}

static void check_trace(struct cpti_spans *spans, struct cpt_path *path)
{
    struct cpti_spans_report report;
    struct cpti_span_account account;
    uint32_t root = 0;

    if (cpti_spans_resolve(spans, &report) != CPT_OK) {
        return;
    }
    check_tags(spans);
    root = cpti_spans_root(spans);
    must(report.dropped < cpti_spans_count(spans));
    must(cpti_spans_walk(spans, CPTI_SPANS_CRISP) == CPT_OK);
    must(cpti_spans_walk(spans, CPTI_SPANS_JAEGER_UI) == CPT_OK);
    check_tiles(spans);
    must(cpti_spans_walk(spans, CPTI_SPANS_EXACT) == CPT_OK);
    check_tiles(spans);
    for (uint32_t i = 0; i < cpti_spans_count(spans) && i < EXPLAINED_MAX; i++) {
        must(cpti_spans_explain(spans, i, &account) == CPT_OK);
    }
    cpt_path_reset(path);
    (void)cpti_spans_noted_path(spans, path);
    (void)cpti_spans_noted_dag(spans, measure_dag, NULL);
    check_inferred(spans);
    cpt_path_reset(path);
    must(cpti_spans_path(spans, path) == CPT_OK);
    must(cpt_path_check(
             path, cpti_spans_end_ns(spans, root) - cpti_spans_start_ns(spans, root),
             NULL) == CPT_OK);
}

/* --- The annotated copy --- */

/* What was read of a file, and its copy. */
struct copy {
    uint64_t sections; /* a hash of all */
    uint64_t messages;
    uint8_t *text;
    size_t bytes;
    bool is_whole;
};

static cpt_status write_some(void *context, const void *bytes, size_t count)
{
    struct copy *copy = context;

    if (count > COPY_BYTES_MAX - copy->bytes) {
        return CPT_LIMIT;
    }
    if (count > 0) {
        memcpy(copy->text + copy->bytes, bytes, count);
    }
    copy->bytes += count;
    return CPT_OK;
}

static void annotate_trace(struct copy *copy, struct cpti_spans *spans,
                           struct cpti_annotation *annotation)
{
    struct cpti_spans_report report;

    if (cpti_spans_resolve(spans, &report) != CPT_OK) {
        return;
    }
    must(cpti_spans_walk(spans, CPTI_SPANS_EXACT) == CPT_OK);
    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);
        const uint64_t number = cpti_spans_at(spans, section->span)->number;
        const uint64_t path_ns = section->end_ns - section->start_ns;

        cpti_annotation_add(annotation, number, path_ns);
        copy->sections =
            (copy->sections ^ number ^ path_ns) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

/* Annotates the @size bytes at @data. */
static void annotate(const uint8_t *data, size_t size, struct copy *copy)
{
    struct input input = {data, size};
    struct cpti_annotation *annotation = cpti_annotation_new(NULL);
    const struct cpti_traces_options options = {
        .read = read_some, .context = &input, .annotation = annotation};
    struct cpti_traces *traces = cpti_traces_new(&options);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    cpt_status status = CPT_OK;

    *copy = (struct copy){.text = malloc(COPY_BYTES_MAX)};
    must(annotation != NULL && traces != NULL && spans != NULL && copy->text != NULL);
    while (status != CPT_END) {
        struct cpt_bytes trace;

        status = cpti_traces_next(traces, spans, &trace, NULL);
        if (status == CPT_OK) {
            annotate_trace(copy, spans, annotation);
        }
    }
    copy->messages = cpti_traces_counts(traces)->messages;
    input = (struct input){data, size};
    copy->is_whole =
        cpti_annotation_write(annotation, read_some, &input,
                              &(struct cpt_sink){write_some, copy}) == CPT_OK;
    cpti_spans_free(spans);
    cpti_traces_free(traces);
    cpti_annotation_free(annotation);
}

static void check_copies(const uint8_t *data, size_t size)
{
    struct copy once;
    struct copy twice;

    annotate(data, size, &once);
    if (once.is_whole && once.messages == 0) {
        annotate(once.text, once.bytes, &twice);
        must(twice.is_whole && twice.sections == once.sections);
        must(twice.bytes == once.bytes &&
             memcmp(twice.text, once.text, once.bytes) == 0);
        free(twice.text);
    }
    free(once.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const struct cpti_traces_options options = {.read = read_some,
                                                .context = &input,
                                                .trace_bytes_max = PIECE_BYTES_MAX,
                                                .waiting_bytes_max = WAITING_BYTES_MAX,
                                                .tag_keys = keys,
                                                .tag_key_count =
                                                    sizeof keys / sizeof *keys};
    struct cpti_traces *traces = cpti_traces_new(&options);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_OK;

    must(traces != NULL && spans != NULL && path != NULL);
    while (status != CPT_END) {
        struct cpt_bytes trace;

        status = cpti_traces_next(traces, spans, &trace, NULL);
        if (status == CPT_OK) {
            check_trace(spans, path);
        }
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
    cpti_traces_free(traces);
    if (size <= ANNOTATED_BYTES_MAX) {
        check_copies(data, size);
    }
    return 0;
}
