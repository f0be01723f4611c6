/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* traces.c - the traces of a file, one after the other; see traces.h */
#include "cpt/import/traces.h"

#include "cpt/import/assembly.h"
#include "cpt/import/formats.h"
#include "cpt/import/inflate.h"
#include "cpt/import/json.h"

enum { WAITING_BYTES_MAX = 1 << 30 };

struct cpti_traces {
    const struct cpt_alloc *alloc;
    size_t waiting_bytes_max;
    struct cpti_inflate *inflate;
    struct cpti_pieces *pieces;
    struct cpti_doc *json;
    struct cpti_assembly *assembly;
    bool has_read_all;
    /* of the piece that is being read */
    struct cpti_spans *spans; /* of a whole trace, … */
    struct cpt_bytes trace;   /* … which is this one; other spans wait */
    struct cpti_traces_counts counts;
};

struct cpti_traces *cpti_traces_new(const struct cpti_traces_options *options)
{
    const struct cpt_alloc *alloc =
        options->alloc != NULL ? options->alloc : cpt_alloc_default();
    struct cpti_traces *traces = cpt_alloc_zeroed(alloc, sizeof *traces);

    if (traces == NULL) {
        return NULL;
    }
    traces->alloc = alloc;
    traces->waiting_bytes_max = options->waiting_bytes_max != 0
                                    ? options->waiting_bytes_max
                                    : WAITING_BYTES_MAX;
    traces->inflate = cpti_inflate_new(alloc, options->read, options->context);
    traces->pieces = cpti_pieces_new(alloc, cpti_inflate_read, traces->inflate,
                                     options->piece_bytes_max);
    traces->json = cpti_doc_new();
    traces->assembly = cpti_assembly_new(alloc);
    if (traces->inflate == NULL || traces->pieces == NULL || traces->json == NULL ||
        traces->assembly == NULL) {
        cpti_traces_free(traces);
        return NULL;
    }
    return traces;
}

void cpti_traces_free(struct cpti_traces *traces)
{
    if (traces != NULL) {
        cpti_assembly_free(traces->assembly);
        cpti_doc_free(traces->json);
        cpti_pieces_free(traces->pieces);
        cpti_inflate_free(traces->inflate);
        cpt_alloc_free(traces->alloc, traces);
    }
}

const struct cpti_traces_counts *cpti_traces_counts(const struct cpti_traces *traces)
{
    return &traces->counts;
}

/* A cpti_sink's take. */
static cpt_status take(void *context, struct cpt_bytes trace,
                       const struct cpti_span *span)
{
    struct cpti_traces *traces = context;

    traces->counts.spans++;
    if (traces->spans == NULL) {
        return cpti_assembly_add(traces->assembly, trace, span);
    }
    if (cpti_spans_count(traces->spans) == 0) {
        traces->trace = trace;
    } else if (!cpti_ids_equal(trace, traces->trace)) {
        return cpti_assembly_add(traces->assembly, trace, span);
    }
    return cpti_spans_add(traces->spans, span);
}

/* Reads @piece; if it is a whole trace, its spans are in @spans. */
static cpt_status read_piece(struct cpti_traces *traces, struct cpt_bytes piece,
                             uint64_t offset, struct cpti_spans *spans,
                             struct cpt_error *error)
{
    struct cpti_sink sink = {.take = take, .context = traces};
    struct cpti_doc_value root;
    enum cpti_piece kind = CPTI_PIECE_UNKNOWN;
    struct cpt_error found = {0};
    cpt_status status =
        cpti_doc_parse(traces->json, piece.data, piece.bytes, &root, &found);

    if (status != CPT_OK) {
        return cpt_error_set(error, status == CPT_CORRUPT ? CPT_INVALID : status,
                             offset + found.offset, "%s", found.sentence);
    }
    kind = cpti_formats_recognise(root);
    if (kind == CPTI_PIECE_UNKNOWN) {
        return cpt_error_set(error, CPT_INVALID, offset,
                             "neither a trace of Jaeger or Zipkin nor spans of "
                             "OpenTelemetry");
    }
    traces->spans = kind == CPTI_PIECE_JAEGER_TRACE || kind == CPTI_PIECE_ZIPKIN_TRACE
                        ? spans
                        : NULL;
    status = cpti_formats_read(root, kind, &sink);
    traces->counts.refused_spans += sink.refused;
    return status == CPT_OK ? status
                            : cpt_error_set(error, status, offset, "%s",
                                            cpt_status_sentence(status));
}

/* Reads the next piece of the file. Errors of cpti_traces_next(). */
static cpt_status read_next(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct cpt_error *error)
{
    const struct cpt_error *inflated = cpti_inflate_error(traces->inflate);
    struct cpt_bytes piece = {NULL, 0};
    uint64_t offset = 0;
    cpt_status status = cpti_pieces_next(traces->pieces, &piece, &offset, error);

    if (status == CPT_OK) {
        status = read_piece(traces, piece, offset, spans, error);
    } else if (status == CPT_LIMIT) {
        status = CPT_INVALID; /* the piece is passed over */
    } else if (status == CPT_END) {
        traces->has_read_all = true;
        status = CPT_OK;
    } else {
        traces->has_read_all = true;
        if (inflated->status != CPT_OK) {
            (void)cpt_error_set(error, status, inflated->offset, "%s",
                                inflated->sentence);
        }
    }
    if (status == CPT_INVALID) {
        traces->counts.refused_pieces++;
        if (error != NULL) {
            error->status = CPT_INVALID;
        }
    }
    return status;
}

cpt_status cpti_traces_next(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct cpt_bytes *trace, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    cpti_spans_reset(spans);
    while (cpti_spans_count(spans) == 0 && status == CPT_OK) {
        const bool is_full =
            cpti_assembly_bytes(traces->assembly) > traces->waiting_bytes_max;

        if (traces->has_read_all || is_full) {
            status = cpti_assembly_take(traces->assembly, spans, trace);
            traces->counts.cut_traces += status == CPT_OK && !traces->has_read_all;
        } else {
            traces->trace = (struct cpt_bytes){"", 0};
            status = read_next(traces, spans, error);
            *trace = traces->trace;
        }
    }
    traces->counts.traces += status == CPT_OK;
    return status;
}
