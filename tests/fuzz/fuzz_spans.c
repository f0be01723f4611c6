/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_spans.c - any bytes as a file of spans
 *
 * Whatever is read must give paths that add up: in both modes whose sections tile the
 * root they leave no gap, and a path has the duration of the root.
 */
#include "cpt/cpt_path.h"
#include "cpt/import/span_explain.h"
#include "cpt/import/traces.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES_MAX = 32 << 10, WAITING_BYTES_MAX = 16 << 10, EXPLAINED_MAX = 16 };

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

static void check_trace(struct cpti_spans *spans, struct cpt_path *path)
{
    struct cpti_spans_report report;
    struct cpti_span_account account;
    uint32_t root = 0;

    if (cpti_spans_resolve(spans, &report) != CPT_OK) {
        return;
    }
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
    cpt_path_reset(path);
    must(cpti_spans_path(spans, path) == CPT_OK);
    must(cpt_path_check(
             path, cpti_spans_end_ns(spans, root) - cpti_spans_start_ns(spans, root),
             NULL) == CPT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const struct cpti_traces_options options = {.read = read_some,
                                                .context = &input,
                                                .trace_bytes_max = PIECE_BYTES_MAX,
                                                .waiting_bytes_max = WAITING_BYTES_MAX};
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
    return 0;
}
