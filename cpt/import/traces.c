/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* traces.c - the traces of a file, one after the other; see traces.h */
#include "cpt/import/traces.h"

#include "cpt/import/assembly.h"
#include "cpt/import/formats.h"
#include "cpt/import/frames.h"
#include "cpt/import/inflate.h"
#include "cpt/import/json.h"

#include <string.h>

enum { TRACE_BYTES_MAX = 256 << 20, WAITING_BYTES_MAX = 1 << 30 };

/* A message that is a file by itself: it is compressed, or JSON. */
struct within {
    struct cpt_bytes left; /* of the message */
    struct cpti_inflate *inflate;
    struct cpti_pieces *pieces; /* NULL: there is no such message */
    uint64_t offset;            /* of the message in the file */
};

struct cpti_traces {
    const struct cpt_alloc *alloc;
    size_t waiting_bytes_max;
    struct cpti_inflate *inflate;
    struct cpti_pieces *pieces;
    struct within within;
    size_t trace_bytes_max;
    struct cpti_doc *json;
    struct cpti_assembly *assembly;
    bool has_read_all;
    /* of the piece that is being read */
    struct cpti_spans *spans; /* of a whole trace, … */
    struct cpt_bytes trace;   /* … which is this one; other spans wait */
    struct cpti_traces_counts counts;
};

bool cpti_traces_recognise(const unsigned char *head, size_t bytes)
{
    static const char before[] = " \n\r\t\xef\xbb\xbf";
    const char *text = (const char *)head;
    size_t at = 0;

    if (cpti_inflate_recognise(text, bytes) || cpti_frames_are_likely(text, bytes)) {
        return true;
    }
    while (at < bytes && memchr(before, text[at], sizeof before - 1) != NULL) {
        at++;
    }
    return at < bytes && (text[at] == '{' || text[at] == '[');
}

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
    traces->trace_bytes_max =
        options->trace_bytes_max != 0 ? options->trace_bytes_max : TRACE_BYTES_MAX;
    traces->inflate = cpti_inflate_new(alloc, options->read, options->context);
    traces->pieces = cpti_pieces_new(alloc, cpti_inflate_read, traces->inflate,
                                     traces->trace_bytes_max);
    traces->json = cpti_doc_new();
    traces->assembly = cpti_assembly_new(alloc);
    if (traces->inflate == NULL || traces->pieces == NULL || traces->json == NULL ||
        traces->assembly == NULL) {
        cpti_traces_free(traces);
        return NULL;
    }
    cpti_assembly_limit(traces->assembly, 0, traces->trace_bytes_max);
    return traces;
}

static void leave(struct within *within)
{
    cpti_pieces_free(within->pieces);
    cpti_inflate_free(within->inflate);
    *within = (struct within){.left = {NULL, 0}};
}

void cpti_traces_free(struct cpti_traces *traces)
{
    if (traces != NULL) {
        leave(&traces->within);
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

/* Keeps @span until the rest of its trace has come. */
static cpt_status keep(struct cpti_traces *traces, struct cpt_bytes trace,
                       const struct cpti_span *span)
{
    const cpt_status status = cpti_assembly_add(traces->assembly, trace, span);

    if (status != CPT_LIMIT) {
        return status;
    }
    traces->counts.refused_traces += cpti_assembly_refuse(traces->assembly, trace);
    return CPT_OK;
}

/* A cpti_sink's take. */
static cpt_status take(void *context, struct cpt_bytes trace,
                       const struct cpti_span *span)
{
    struct cpti_traces *traces = context;

    traces->counts.spans++;
    if (traces->spans == NULL) {
        return keep(traces, trace, span);
    }
    if (cpti_spans_count(traces->spans) == 0) {
        traces->trace = trace;
    } else if (!cpti_ids_equal(trace, traces->trace)) {
        return keep(traces, trace, span);
    }
    return cpti_spans_add(traces->spans, span);
}

/* --- Pieces --- */

static cpt_status refuse(struct cpt_error *error, cpt_status status, uint64_t offset,
                         const struct cpt_error *found)
{
    return cpt_error_set(error, status == CPT_CORRUPT ? CPT_INVALID : status,
                         offset + found->offset, "%s",
                         found->sentence[0] != '\0' ? found->sentence
                                                    : cpt_status_sentence(status));
}

/* Reads @piece, JSON; if it is a whole trace, its spans are in @spans. */
static cpt_status read_json(struct cpti_traces *traces, struct cpt_bytes piece,
                            struct cpti_spans *spans, struct cpti_sink *sink,
                            struct cpt_error *error)
{
    struct cpti_doc_value root;
    enum cpti_piece kind = CPTI_PIECE_UNKNOWN;
    const cpt_status status =
        cpti_doc_parse(traces->json, piece.data, piece.bytes, &root, error);

    if (status != CPT_OK) {
        return status;
    }
    kind = cpti_formats_recognise(root);
    if (kind == CPTI_PIECE_UNKNOWN) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "neither a trace of Jaeger or Zipkin nor spans of "
                             "OpenTelemetry");
    }
    traces->spans = kind == CPTI_PIECE_JAEGER_TRACE || kind == CPTI_PIECE_ZIPKIN_TRACE
                        ? spans
                        : NULL;
    return cpti_formats_read(root, kind, sink);
}

/* A cpti_read_fn. */
static cpt_status read_within(void *context, void *buffer, size_t capacity,
                              size_t *bytes)
{
    struct within *within = context;

    *bytes = within->left.bytes < capacity ? within->left.bytes : capacity;
    if (*bytes > 0) {
        memcpy(buffer, within->left.data, *bytes);
    }
    within->left.data += *bytes;
    within->left.bytes -= *bytes;
    return CPT_OK;
}

static bool is_file(struct cpt_bytes message)
{
    return *message.data == '{' || *message.data == '[' ||
           cpti_inflate_recognise(message.data, message.bytes);
}

/* Goes on with the pieces of @message. */
static cpt_status enter(struct cpti_traces *traces, struct cpt_bytes message,
                        uint64_t offset)
{
    struct within *within = &traces->within;

    within->left = message;
    within->offset = offset;
    within->inflate = cpti_inflate_new(traces->alloc, read_within, within);
    within->pieces = cpti_pieces_new(traces->alloc, cpti_inflate_read, within->inflate,
                                     traces->trace_bytes_max);
    if (within->inflate == NULL || within->pieces == NULL) {
        leave(within);
        return CPT_NO_MEMORY;
    }
    return CPT_OK;
}

static cpt_status read_piece(struct cpti_traces *traces,
                             const struct cpti_pieces *pieces, struct cpt_bytes piece,
                             uint64_t offset, struct cpti_spans *spans,
                             struct cpt_error *error)
{
    struct cpti_sink sink = {.take = take, .context = traces};
    struct cpt_error found = {0};
    cpt_status status = CPT_OK;

    if (!cpti_pieces_are_messages(pieces)) {
        status = read_json(traces, piece, spans, &sink, &found);
    } else if (pieces == traces->pieces && is_file(piece)) {
        status = enter(traces, piece, offset);
    } else {
        traces->spans = NULL;
        status = cpti_otlp_protobuf(piece, &sink, &found);
    }
    traces->counts.refused_spans += sink.refused;
    return status == CPT_OK ? status : refuse(error, status, offset, &found);
}

/* The file has ended, or cannot be read any further, with @status. */
static cpt_status end_file(struct cpti_traces *traces, cpt_status status,
                           struct cpt_error *error)
{
    const struct cpt_error *inflated = cpti_inflate_error(traces->inflate);

    traces->has_read_all = true;
    if (status != CPT_END && inflated->status != CPT_OK) {
        (void)refuse(error, status, 0, inflated);
    }
    return status == CPT_END ? CPT_OK : status;
}

/* So has the message that is read as a file. */
static cpt_status end_message(struct cpti_traces *traces, cpt_status status,
                              struct cpt_error *error)
{
    struct cpt_error found = *cpti_inflate_error(traces->within.inflate);
    const uint64_t offset = traces->within.offset;

    leave(&traces->within);
    if (status == CPT_END) {
        return CPT_OK;
    }
    found.offset = 0; /* a place in what is compressed says nothing */
    if (found.status == CPT_OK && error != NULL) {
        found = *error;
        found.offset = 0;
    }
    (void)refuse(error, status, offset, &found);
    return status == CPT_NO_MEMORY ? status : CPT_INVALID;
}

/* Reads the next piece of the file. Errors of cpti_traces_next(). */
static cpt_status read_next(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct cpt_error *error)
{
    const bool is_within = traces->within.pieces != NULL;
    struct cpti_pieces *pieces = is_within ? traces->within.pieces : traces->pieces;
    struct cpt_bytes piece = {NULL, 0};
    uint64_t offset = 0;
    cpt_status status = cpti_pieces_next(pieces, &piece, &offset, error);

    if (status == CPT_OK) {
        offset = is_within ? traces->within.offset : offset;
        status = read_piece(traces, pieces, piece, offset, spans, error);
    } else if (status == CPT_LIMIT) {
        status = CPT_INVALID; /* the piece is passed over */
    } else {
        status = is_within ? end_message(traces, status, error)
                           : end_file(traces, status, error);
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
