/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* traces.c - the traces of a file, one after the other; see traces.h */
#include "import/traces/traces.h"

#include "import/formats/annotation.h"
#include "import/traces/assembly.h"
#include "import/formats/formats.h"
#include "import/bytes/frames.h"
#include "import/formats/ids.h"
#include "import/bytes/inflate.h"
#include "import/bytes/json.h"
#include "import/bytes/lines.h"

#include <inttypes.h>
#include <string.h>

enum {
    TRACE_BYTES_MAX = 256 << 20,
    WAITING_BYTES_MAX = 1 << 30,
    IDLE_BYTES_MAX = 1 << 30
};

/* A message that is a file by itself: it is compressed, or JSON. */
struct within {
    struct cpt_bytes left; /* of the message */
    struct cpti_inflate *inflate;
    struct cpti_pieces *pieces; /* NULL: there is no such message */
    uint64_t offset;            /* of the message in the file */
};

/* A set of hashes, none of which is 0. */
struct known {
    uint64_t *slots; /* as many as a power of 2, half of them empty */
    size_t slot_count;
    size_t count;
};

struct cpti_traces {
    const struct cpt_alloc *alloc;
    size_t waiting_bytes_max;
    struct cpti_inflate *inflate;
    struct cpti_pieces *pieces;
    struct within within;
    size_t trace_bytes_max;
    uint64_t idle_bytes_max;
    uint64_t read_bytes; /* of the text of the file … */
    uint64_t span_bytes; /* … when it had its last span */
    struct cpti_doc *json;
    struct cpti_assembly *assembly;
    struct cpti_annotation *annotation; /* or NULL */
    struct cpti_tagging tagging;        /* tags of the piece */
    uint64_t number;                    /* of the next span */
    bool has_base64;                    /* ids of the file are in it */
    bool has_read_all;
    bool has_files; /* more may come */
    /* hashes of the ids of the traces so far */
    struct known known;
    bool is_again;
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

    if (cpti_inflate_recognise(text, bytes) || cpti_frames_are_likely(text, bytes) ||
        cpti_way_of(text, bytes) != NULL) {
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
    traces->annotation = options->annotation;
    traces->has_files = options->has_files;
    traces->has_read_all = true;
    traces->tagging.keys = options->tag_keys;
    traces->tagging.key_count = options->tag_key_count;
    cpt_arena_init(&traces->tagging.arena, alloc, 0, 0);
    traces->waiting_bytes_max = options->waiting_bytes_max != 0
                                    ? options->waiting_bytes_max
                                    : WAITING_BYTES_MAX;
    traces->trace_bytes_max =
        options->trace_bytes_max != 0 ? options->trace_bytes_max : TRACE_BYTES_MAX;
    traces->idle_bytes_max =
        traces->trace_bytes_max +
        (options->idle_bytes_max != 0 ? options->idle_bytes_max : IDLE_BYTES_MAX);
    traces->json = cpti_doc_new();
    traces->assembly = cpti_assembly_new(alloc);
    if (traces->json == NULL || traces->assembly == NULL ||
        (!options->has_files &&
         cpti_traces_open(traces, options->read, options->context) != CPT_OK)) {
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

static void close_file(struct cpti_traces *traces)
{
    leave(&traces->within); /* without memory its end was not reached */
    cpti_pieces_free(traces->pieces);
    cpti_inflate_free(traces->inflate);
    traces->pieces = NULL;
    traces->inflate = NULL;
    traces->has_read_all = true;
}

/* Whether so much of the file has no span that it may never end. */
static bool is_idle(const struct cpti_traces *traces)
{
    return traces->read_bytes - traces->span_bytes > traces->idle_bytes_max;
}

/* A cpt_read_fn: the text of the file, or of a message that is one by itself. */
static cpt_status read_text(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_traces *traces = context;
    struct cpti_inflate *within = traces->within.inflate;
    cpt_status status = CPT_CORRUPT;

    *bytes = 0;
    if (!is_idle(traces)) {
        status = cpti_inflate_read(within != NULL ? within : traces->inflate, buffer,
                                   capacity, bytes);
    }
    traces->read_bytes += *bytes;
    return status;
}

cpt_status cpti_traces_open(struct cpti_traces *traces, cpt_read_fn read, void *context)
{
    close_file(traces);
    traces->read_bytes = 0;
    traces->span_bytes = 0;
    traces->has_base64 = false;
    traces->inflate = cpti_inflate_new(traces->alloc, read, context);
    traces->pieces =
        cpti_pieces_new(traces->alloc, read_text, traces, traces->trace_bytes_max);
    if (traces->inflate == NULL || traces->pieces == NULL) {
        close_file(traces);
        return CPT_NO_MEMORY;
    }
    traces->has_read_all = false;
    return CPT_OK;
}

void cpti_traces_finish(struct cpti_traces *traces)
{
    close_file(traces);
    traces->has_files = false;
}

void cpti_traces_free(struct cpti_traces *traces)
{
    if (traces != NULL) {
        cpti_assembly_free(traces->assembly);
        cpti_doc_free(traces->json);
        cpt_arena_deinit(&traces->tagging.arena);
        close_file(traces);
        cpt_alloc_free(traces->alloc, traces->known.slots);
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
        if (!cpti_is_one_trace(trace, traces->trace)) {
            return keep(traces, trace, span);
        }
        /* some tracers hand on the lower half alone: the whole is its id */
        traces->trace = trace.bytes > traces->trace.bytes ? trace : traces->trace;
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

/* Reads the spans of @root, which is @piece, and notes where they are. */
static cpt_status read_spans(struct cpti_traces *traces, struct cpti_doc_value root,
                             struct cpt_bytes piece, uint64_t offset,
                             enum cpti_piece kind, struct cpti_sink *sink)
{
    const uint64_t first = traces->number;
    cpt_status status = CPT_OK;

    sink->number = first;
    sink->has_base64 = traces->has_base64;
    status = cpti_formats_read(root, kind, sink);
    traces->number = sink->number;
    traces->has_base64 = sink->has_base64;
    if (status == CPT_OK && traces->annotation != NULL) {
        status = cpti_annotation_find(traces->annotation, piece, offset, kind, first,
                                      sink->number - first);
    }
    return status;
}

/* Reads @piece, JSON at @offset; if it is a whole trace, its spans are in @spans. */
static cpt_status read_json(struct cpti_traces *traces, struct cpt_bytes piece,
                            uint64_t offset, struct cpti_spans *spans,
                            struct cpti_sink *sink, struct cpt_error *error)
{
    struct cpti_doc_value root;
    enum cpti_piece kind = CPTI_PIECE_UNKNOWN;
    cpt_status status =
        cpti_doc_parse(traces->json, piece.data, piece.bytes, &root, error);

    if (status != CPT_OK) {
        return status;
    }
    kind = cpti_formats_recognise(root);
    if (kind == CPTI_PIECE_UNKNOWN) {
        return cpt_error_set(error, CPT_INVALID, 0, "%s", cpti_formats_refusal(root));
    }
    traces->counts.other_signals += kind == CPTI_PIECE_OTHER_SIGNAL;
    traces->counts.replaced += cpti_doc_replaced(traces->json);
    traces->spans = kind == CPTI_PIECE_JAEGER_TRACE || kind == CPTI_PIECE_ZIPKIN_TRACE
                        ? spans
                        : NULL;
    status = read_spans(traces, root, piece, offset, kind, sink);
    return status == CPT_VERSION
               ? cpt_error_set(error, CPT_INVALID, 0,
                               "spans of version 1 of Zipkin; its /api/v2 answers "
                               "those of version 2, which are read")
               : status;
}

/* What became of the fields that @sink does not know, of a piece that had @span_count
 * spans: if there are no spans, they may be in those. */
static cpt_status judge_unknown(struct cpti_traces *traces,
                                const struct cpti_sink *sink, uint64_t span_count,
                                struct cpt_error *error)
{
    if (sink->has_unknown_around && span_count + sink->refused == 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "no span, but fields that OpenTelemetry's protocol 1.x "
                             "does not have");
    }
    traces->counts.unknown_fields += sink->unknown_fields;
    return CPT_OK;
}

/* A cpt_read_fn. */
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
    within->pieces =
        cpti_pieces_new(traces->alloc, read_text, traces, traces->trace_bytes_max);
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
    const uint64_t span_count = traces->counts.spans;
    uint64_t line_number = 0;
    const struct cpti_way *way = cpti_pieces_way(pieces, &line_number);
    struct cpt_error found = {0};
    cpt_status status = CPT_OK;

    cpt_arena_reset(&traces->tagging.arena, SIZE_MAX);
    traces->tagging.lacks_memory = false;
    if (traces->tagging.key_count > 0) {
        sink.tagging = &traces->tagging;
    }
    if (way != NULL) {
        traces->spans = NULL;
        sink.number = traces->number;
        status = way->read(piece, line_number, &sink, &found);
        traces->number = sink.number;
    } else if (!cpti_pieces_are_messages(pieces)) {
        status = read_json(traces, piece, offset, spans, &sink, &found);
    } else if (pieces == traces->pieces && is_file(piece)) {
        traces->counts.messages++;
        status = enter(traces, piece, offset);
    } else {
        traces->counts.messages++;
        traces->spans = NULL;
        status = cpti_otlp_protobuf(piece, &sink, &found);
    }
    if (status == CPT_OK) {
        status =
            judge_unknown(traces, &sink, traces->counts.spans - span_count, &found);
    }
    traces->counts.refused_spans += sink.refused;
    if (traces->counts.spans != span_count) {
        traces->span_bytes = traces->read_bytes;
    }
    return status == CPT_OK ? status : refuse(error, status, offset, &found);
}

/* The file has ended, or cannot be read any further, with @status. */
static cpt_status end_file(struct cpti_traces *traces, cpt_status status,
                           struct cpt_error *error)
{
    const struct cpt_error *inflated = cpti_inflate_error(traces->inflate);

    traces->has_read_all = true;
    if (status == CPT_CORRUPT && is_idle(traces)) {
        (void)cpt_error_set(error, status, traces->span_bytes,
                            "no span in %" PRIu64 " bytes; the rest is not read",
                            traces->read_bytes - traces->span_bytes);
    } else if (status != CPT_END && inflated->status != CPT_OK) {
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

/* --- Ids that came before --- */

/* The slot of @hash, or the empty one where it belongs. */
static uint64_t *find(const struct known *known, uint64_t hash)
{
    size_t slot = (size_t)hash & (known->slot_count - 1);

    while (known->slots[slot] != 0 && known->slots[slot] != hash) {
        slot = (slot + 1) & (known->slot_count - 1);
    }
    return &known->slots[slot];
}

/* Makes room for one more, if there is not, up to the limit. false: without memory. */
static bool make_room(const struct cpt_alloc *alloc, struct known *known)
{
    enum { SLOTS_MIN = 256 };
    struct known grown = {.slot_count = SLOTS_MIN, .count = known->count};

    if (known->count < known->slot_count / 2 || known->count >= CPTI_TRACES_KNOWN_MAX) {
        return true;
    }
    if (known->slot_count > 0) {
        grown.slot_count = 2 * known->slot_count;
    }
    grown.slots = cpt_alloc_zeroed(alloc, grown.slot_count * sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < known->slot_count; i++) {
        if (known->slots[i] != 0) {
            *find(&grown, known->slots[i]) = known->slots[i];
        }
    }
    cpt_alloc_free(alloc, known->slots);
    *known = grown;
    return true;
}

/* Whether there was a trace @id before; there is one now, unless there is no room. */
static bool came_before(struct cpti_traces *traces, struct cpt_bytes id)
{
    struct known *known = &traces->known;
    const uint64_t hash = cpti_id_hash((uint64_t)(uintptr_t)traces, id) | 1;
    uint64_t *slot = find(known, hash);

    if (*slot == 0 && known->count < known->slot_count / 2) {
        *slot = hash;
        known->count++;
        return false;
    }
    return *slot == hash;
}

bool cpti_traces_is_again(const struct cpti_traces *traces)
{
    return traces->is_again;
}

/* --- Traces --- */

cpt_status cpti_traces_next(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct cpt_bytes *trace, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    cpti_spans_reset(spans);
    if (!make_room(traces->alloc, &traces->known)) {
        return CPT_NO_MEMORY;
    }
    while (cpti_spans_count(spans) == 0 && status == CPT_OK) {
        const bool is_full =
            cpti_assembly_bytes(traces->assembly) > traces->waiting_bytes_max;

        if (traces->has_read_all && traces->has_files) {
            return CPT_END;
        }
        if (traces->has_read_all || is_full) {
            status = cpti_assembly_take(traces->assembly, spans, trace);
            traces->counts.cut_traces += status == CPT_OK && !traces->has_read_all;
        } else {
            traces->trace = (struct cpt_bytes){"", 0};
            status = read_next(traces, spans, error);
            *trace = traces->trace;
        }
    }
    if (status == CPT_OK) {
        traces->counts.traces++;
        traces->is_again = came_before(traces, *trace);
        traces->counts.again += traces->is_again;
    }
    return status;
}
