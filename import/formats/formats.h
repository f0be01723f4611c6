/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * formats.h - spans out of the bytes of those who write them
 *
 *      jaeger.c          a trace, as its API answers and its page downloads; a span
 *      zipkin.c          a span of version 2
 *      elasticsearch.c   a document of an index with such spans, or what it answers
 *      otlp.c            a request to an OpenTelemetry collector, in JSON, or what
 *                        Tempo and Jaeger answer
 *      otlp_protobuf.c   the same request in protobuf
 *
 * Which one a piece of JSON is, it tells itself. Each reader hands on the spans that it
 * finds; what is no span is counted and passed over. Unknown members mean nothing.
 *
 * Threads: any; there is no state.
 */
#ifndef CPTI_FORMATS_H
#define CPTI_FORMATS_H

#include "import/bytes/json.h"
#include "import/spans/spans.h"
#include "import/formats/tags.h"

#include <string.h>

/* Where spans go. */
struct cpti_sink {
    /* Takes a span of trace @trace. All bytes are borrowed: those of JSON as long as
     * the document; those of protobuf as long as the request, but ids only during the
     * call.
     * Anything but CPT_OK ends the reading with that status. */
    cpt_status (*take)(void *context, struct cpt_bytes trace,
                       const struct cpti_span *span);
    void *context;
    uint64_t refused;        /* spans without an id, or with one that cannot be */
    uint64_t number;         /* of the next span of JSON, also of one that is refused */
    uint64_t unknown_fields; /* that OpenTelemetry's protocol 1.x does not have */
    bool has_unknown_around; /* some of them are where those with spans are */
    bool has_base64;         /* so are ids of this file */
    struct cpti_tagging *tagging; /* which attributes are kept; NULL: none */
};

/*
 * Hands the spans of @request, an ExportTraceServiceRequest or TracesData of
 * OpenTelemetry in protobuf, to @sink, whose `refused` grows. Ids are handed on as
 * hexadecimal digits. Takes no memory, and time in proportion to the bytes.
 *
 * CPT_OK; CPT_CORRUPT with a place: spans before it were handed on; or what the sink
 * returned.
 */
cpt_status cpti_otlp_protobuf(struct cpt_bytes request, struct cpti_sink *sink,
                              struct cpt_error *error);

/* What a piece of JSON is. */
enum cpti_piece {
    CPTI_PIECE_UNKNOWN = 0,
    CPTI_PIECE_JAEGER_TRACE,
    CPTI_PIECE_ZIPKIN_TRACE, /* an array of spans */
    /* spans whose traces may go on in other pieces */
    CPTI_PIECE_JAEGER_SPAN,
    CPTI_PIECE_ZIPKIN_SPAN,
    CPTI_PIECE_OTLP_REQUEST,
    CPTI_PIECE_OTLP_ANSWER, /* the same within something else */
    CPTI_PIECE_INDEX_DOCUMENT,
    CPTI_PIECE_INDEX_ANSWER,
    CPTI_PIECE_INDEX_ACTION, /* what shall become of the next document: no span */
    /* metrics, logs or profiles of OpenTelemetry: one file may have them and spans */
    CPTI_PIECE_OTHER_SIGNAL
};

enum cpti_piece cpti_formats_recognise(struct cpti_doc_value piece);

/* Why @piece, which is CPTI_PIECE_UNKNOWN, is refused. Static memory. */
const char *cpti_formats_refusal(struct cpti_doc_value piece);

/* Hands the spans of @piece, which is of @kind, to @sink. CPT_OK, or what the sink
 * returned; CPT_NO_MEMORY; CPT_VERSION: spans of version 1 of Zipkin. */
cpt_status cpti_formats_read(struct cpti_doc_value piece, enum cpti_piece kind,
                             struct cpti_sink *sink);

/* --- For the readers --- */

cpt_status cpti_jaeger_trace(struct cpti_doc_value trace, struct cpti_sink *sink);
cpt_status cpti_jaeger_span(struct cpti_doc_value span, struct cpti_sink *sink);
cpt_status cpti_zipkin_span(struct cpti_doc_value span, struct cpti_sink *sink);
cpt_status cpti_otlp_request(struct cpti_doc_value request, struct cpti_sink *sink);
cpt_status cpti_otlp_answer(struct cpti_doc_value answer, struct cpti_sink *sink);
cpt_status cpti_index_document(struct cpti_doc_value document, struct cpti_sink *sink);
cpt_status cpti_index_answer(struct cpti_doc_value answer, struct cpti_sink *sink);

/* Notes a field that is not known, beside those that have spans. */
static inline void cpti_sink_unknown(struct cpti_sink *sink)
{
    sink->unknown_fields++;
    sink->has_unknown_around = true;
}

/* Whether @key is of a list of resources with their spans, in an answer; of what such a
 * list is within; of what OpenTelemetry has beside spans. */
bool cpti_otlp_is_list(struct cpt_bytes key);
bool cpti_otlp_is_around(struct cpt_bytes key);
bool cpti_otlp_is_signal(struct cpt_bytes key);

/* Whether @key is @name. */
static inline bool cpti_is_key(struct cpt_bytes key, const char *name)
{
    /* @name is a literal: no call remains */
    return key.bytes == strlen(name) && memcmp(key.data, name, strlen(name)) == 0;
}

/* Whether @value, a number or a string of digits, is a time in units of @unit_ns below
 * 2^63 ns; it is in *@time_ns. */
bool cpti_read_time(struct cpti_doc_value value, uint64_t unit_ns, uint64_t *time_ns);

/* Notes that @span, whose start was read, ended at @end_ns; 0: it has not ended. A
 * start of 0 is what protobuf has for one that was not set, but where all is counted
 * from 0. */
static inline void cpti_read_end(struct cpti_span *span, uint64_t end_ns)
{
    const uint64_t year_ns = 365 * UINT64_C(86400000000000);

    span->has_start &= span->start_ns != 0 || (end_ns != 0 && end_ns <= year_ns);
    span->has_time = span->has_start && end_ns != 0 && end_ns >= span->start_ns;
    span->duration_ns = span->has_time ? end_ns - span->start_ns : 0;
    span->end_ns = span->has_start ? 0 : end_ns;
}

/* The kind by its name in any of the formats, in any case of letters. */
unsigned char cpti_read_kind(struct cpt_bytes word);

/* The value of an attribute; but for a text, true or a whole number all is zero. */
struct cpti_attribute {
    struct cpt_bytes text;
    uint64_t number;
    bool is_number; /* and not below 0 */
    bool is_text;
    bool is_true;
};

/* Notes what attribute @key with @value says of @span: of which side it is, whom it
 * called, how it ended, how it was sampled. */
void cpti_note_attribute(struct cpti_span *span, struct cpt_bytes key,
                         struct cpti_attribute value);

/* Whether it may look at @key: most are passed over by their length and first letter.
 */
bool cpti_attribute_matters(struct cpt_bytes key);

/* The same with JSON. */
void cpti_read_attribute(struct cpti_span *span, struct cpt_bytes key,
                         struct cpti_doc_value value);

/* Notes attribute @key among @tags, of a process or a span, if it is asked for. */
void cpti_read_tag(const struct cpti_sink *sink, struct cpti_tag **tags,
                   struct cpt_bytes key, struct cpti_doc_value value,
                   bool is_of_process);

/* What the process that made spans says of itself. All zero: nothing. */
struct cpti_process {
    struct cpt_bytes service;
    struct cpt_bytes host; /* the best of those that name the machine */
    unsigned host_rank;
    uint64_t said;     /* of all attributes, whatever their order */
    uint64_t hostname; /* likewise, of that attribute alone; 0: it has none */
    struct cpti_tag *tags;
    bool is_known;
};

/* Notes attribute @key, and that there is such a process. */
void cpti_process_note(struct cpti_process *process, struct cpt_bytes key,
                       struct cpti_attribute value);

/* The same with JSON; numbers may be texts. */
void cpti_process_read(struct cpti_process *process, struct cpt_bytes key,
                       struct cpti_doc_value value);

/* Sets whose @span is, and by whose clock; it shares the tags. */
void cpti_process_give(const struct cpti_process *process, struct cpti_span *span);

/* What cpti_span.rejected says, by a header tracestate: its member "ot=th:c;..." */
uint64_t cpti_read_tracestate(struct cpt_bytes text);

/* Hands @span on, or refuses it. */
cpt_status cpti_sink_take(struct cpti_sink *sink, struct cpt_bytes trace,
                          struct cpti_span *span);

#endif
