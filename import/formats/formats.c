/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* formats.c - what the readers of spans share; see formats.h */
#include "import/formats/formats.h"

#include "cpt/base/hash_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Times beyond this do not fit 2^63 ns, whatever the unit. */
#define REAL_MAX 9.2e18

static bool from_digits(struct cpt_bytes text, uint64_t unit_ns, uint64_t *time_ns)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';

        if (digit > 9 || number > (INT64_MAX / unit_ns - digit) / 10) {
            return false;
        }
        number = 10 * number + digit;
    }
    *time_ns = number * unit_ns;
    return text.bytes > 0;
}

bool cpti_read_time(struct cpti_doc_value value, uint64_t unit_ns, uint64_t *time_ns)
{
    int64_t integer = 0;
    double real = 0;

    if (cpti_doc_integer(value, &integer)) {
        if (integer < 0 || (uint64_t)integer > INT64_MAX / unit_ns) {
            return false;
        }
        *time_ns = (uint64_t)integer * unit_ns;
        return true;
    }
    if (cpti_doc_real(value, &real)) {
        if (!(real >= 0 && real * (double)unit_ns < REAL_MAX)) {
            return false;
        }
        /* apart, as a double does not hold a time of today in nanoseconds */
        integer = (int64_t)real;
        *time_ns = (uint64_t)integer * unit_ns +
                   (uint64_t)((real - (double)integer) * (double)unit_ns);
        return true;
    }
    return from_digits(cpti_doc_string(value), unit_ns, time_ns);
}

unsigned char cpti_read_kind(struct cpt_bytes word)
{
    static const char *const words[] = {[CPTI_SPAN_INTERNAL] = "internal",
                                        [CPTI_SPAN_CLIENT] = "client",
                                        [CPTI_SPAN_SERVER] = "server",
                                        [CPTI_SPAN_PRODUCER] = "producer",
                                        [CPTI_SPAN_CONSUMER] = "consumer"};
    static const char prefix[] = "SPAN_KIND_";
    const size_t prefix_bytes = sizeof prefix - 1;

    if (word.bytes > prefix_bytes && memcmp(word.data, prefix, prefix_bytes) == 0) {
        word = (struct cpt_bytes){word.data + prefix_bytes, word.bytes - prefix_bytes};
    }
    for (unsigned i = CPTI_SPAN_INTERNAL; i <= CPTI_SPAN_CONSUMER; i++) {
        if (strlen(words[i]) == word.bytes &&
            strncasecmp(words[i], word.data, word.bytes) == 0) {
            return (unsigned char)i;
        }
    }
    return CPTI_SPAN_UNKNOWN;
}

/* X(rank, key). How well an attribute names the callee. */
#define PEER_MAP(X)                                                                    \
    X(1, "db.system")                                                                  \
    X(2, "db.system.name")                                                             \
    X(3, "messaging.system")                                                           \
    X(4, "peer.address")                                                               \
    X(5, "net.peer.name")                                                              \
    X(6, "server.address")                                                             \
    X(7, "peer.service")                                                               \
    X(8, "service.peer.name")

/* Sizes of bodies, by today's names and by those before. */
static bool note_size(struct cpti_span *span, struct cpt_bytes key,
                      struct cpti_attribute value)
{
    const bool is_request = cpti_is_key(key, "http.request.body.size") ||
                            cpti_is_key(key, "http.request_content_length") ||
                            cpti_is_key(key, "messaging.message.body.size") ||
                            cpti_is_key(key, "messaging.message_payload_size_bytes");
    const bool is_reply = cpti_is_key(key, "http.response.body.size") ||
                          cpti_is_key(key, "http.response_content_length");
    uint64_t bytes = value.number;

    if (!is_request && !is_reply) {
        return false;
    }
    if (value.is_number || from_digits(value.text, 1, &bytes)) {
        *(is_request ? &span->request_bytes : &span->reply_bytes) = bytes;
    }
    return true;
}

/* 0: not at all. */
static unsigned names_peer(struct cpt_bytes key)
{
#define IF(rank, name)                                                                 \
    if (cpti_is_key(key, name)) {                                                      \
        return rank;                                                                   \
    }
    PEER_MAP(IF)
#undef IF
    return 0;
}

/* --- Processes --- */

enum { RANK_INSTANCE = 1 /* of service.instance.id: unique within its service */ };

/* How well attribute @key of a process names the machine whose clock its spans have; 0:
 * not at all. */
static unsigned names_host(struct cpt_bytes key)
{
    static const char *const keys[] = {
        "service.instance.id", "container.id", "k8s.pod.name", "ip", "hostname",
        "host.name",           "host.id",      "k8s.node.name"};

    for (unsigned i = sizeof keys / sizeof *keys; i > 0; i--) {
        if (cpti_is_key(key, keys[i - 1])) {
            return i;
        }
    }
    return 0;
}

/* A hash that is the same in each process: the order of clocks depends on it. */
static uint64_t hash_text(uint64_t seed, struct cpt_bytes text)
{
    uint64_t word = 0;
    size_t at = 0;

    for (; text.bytes - at > sizeof word; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        seed = cpti_hash_mix(seed ^ word);
    }
    word = 0;
    if (text.bytes > at) {
        memcpy(&word, text.data + at, text.bytes - at);
    }
    return cpti_hash_mix(cpti_hash_mix(seed ^ word) ^ text.bytes);
}

void cpti_process_note(struct cpti_process *process, struct cpt_bytes key,
                       struct cpti_attribute value)
{
    const unsigned rank = names_host(key);
    char digits[24];

    process->is_known = true;
    if (cpti_is_key(key, "service.name")) {
        process->service = value.text;
    } else if (rank > process->host_rank && value.text.bytes > 0) {
        process->host_rank = rank;
        process->host = value.text;
    }
    if (value.is_number) { /* as JSON may write it */
        (void)snprintf(digits, sizeof digits, "%" PRIu64, value.number);
        value.text = cpt_bytes_of(digits);
    }
    process->said += hash_text(hash_text(value.is_true, key), value.text);
    if (cpti_is_key(key, "hostname") && value.text.bytes > 0) {
        process->hostname = hash_text(1, value.text) | 1;
    }
}

void cpti_process_give(const struct cpti_process *process, struct cpti_span *span)
{
    span->service = process->service;
    span->host = process->host;
    span->hostname = process->hostname;
    span->process = 0;
    cpti_tags_share(&span->tags, process->tags);
    if (process->host_rank == RANK_INSTANCE) {
        span->process = hash_text(1, process->service) | 1;
    } else if (process->is_known && process->host.bytes == 0) {
        span->process = cpti_hash_mix(process->said) | 1;
    }
}

/* Attributes by which a span says when it waited; see docs/import.md. */
static void note_wait(struct cpti_span *span, struct cpt_bytes key,
                      struct cpti_attribute value)
{
    uint64_t count = value.number;

    if (cpti_is_key(key, "cpt.wait")) {
        span->is_wait = true;
        span->link = value.text;
    } else if (cpti_is_key(key, "cpt.after") && !span->is_wait) {
        span->link = value.text;
    } else if (cpti_is_key(key, "cpt.waits") &&
               (value.is_number || from_digits(value.text, 1, &count)) &&
               count <= CPTI_SPANS_MAX) {
        span->tells_waits = true;
        span->wait_count = (uint32_t)count;
    }
}

void cpti_note_attribute(struct cpti_span *span, struct cpt_bytes key,
                         struct cpti_attribute value)
{
    const unsigned rank = names_peer(key);

    if (key.bytes > 18) {
        (void)note_size(span, key, value);
    } else if (key.bytes > 4 && memcmp(key.data, "cpt.", 4) == 0) {
        note_wait(span, key, value);
    } else if (cpti_is_key(key, "span.kind")) {
        const unsigned char kind = cpti_read_kind(value.text);

        span->kind = kind != CPTI_SPAN_UNKNOWN ? kind : span->kind;
    } else if (rank > span->peer_rank && value.text.bytes > 0) {
        span->peer = value.text;
        span->peer_rank = (unsigned char)rank;
    } else if (cpti_is_key(key, "error")) {
        /* false and "false" are no errors; a message is */
        span->is_failed |=
            value.is_true || (value.is_text && !cpti_is_key(value.text, "false"));
    } else if (cpti_is_key(key, "critical_path.note")) {
        span->note = value.text;
    } else if (cpti_is_key(key, "w3c.tracestate")) {
        span->rejected = cpti_read_tracestate(value.text);
    }
}

bool cpti_attribute_matters(struct cpt_bytes key)
{
    const char first = key.bytes > 0 ? *key.data : 0;

    return key.bytes >= 5 && key.bytes <= 18
               ? memchr("cdempsnw", first, 8) != NULL
               : key.bytes >= 22 && key.bytes <= 36 && (first == 'h' || first == 'm');
}

static struct cpti_attribute read_value(struct cpti_doc_value value)
{
    struct cpti_attribute attribute = {.text = {"", 0}};
    int64_t number = 0;

    attribute.text = cpti_doc_string(value);
    attribute.is_text = cpti_doc_type(value) == CPTI_DOC_STRING;
    attribute.is_true = cpti_doc_is_true(value);
    if (cpti_doc_integer(value, &number) && number >= 0) {
        attribute.number = (uint64_t)number;
        attribute.is_number = true;
    }
    return attribute;
}

void cpti_read_attribute(struct cpti_span *span, struct cpt_bytes key,
                         struct cpti_doc_value value)
{
    if (cpti_attribute_matters(key)) {
        cpti_note_attribute(span, key, read_value(value));
    }
}

static struct cpti_tag_value tag_of(struct cpti_doc_value value)
{
    struct cpti_tag_value tag = {.text = {"", 0}};

    switch (cpti_doc_type(value)) {
    case CPTI_DOC_STRING:
        tag.type = CPTI_TAG_TEXT;
        tag.text = cpti_doc_string(value);
        break;
    case CPTI_DOC_BOOLEAN:
        tag.type = CPTI_TAG_BOOL;
        tag.is_true = cpti_doc_is_true(value);
        break;
    case CPTI_DOC_NUMBER:
        tag.type = cpti_doc_integer(value, &tag.integer) ? CPTI_TAG_INTEGER
                   : cpti_doc_real(value, &tag.real)     ? CPTI_TAG_REAL
                                                         : CPTI_TAG_NONE;
        break;
    default:
        break;
    }
    return tag;
}

void cpti_read_tag(const struct cpti_sink *sink, struct cpti_tag **tags,
                   struct cpt_bytes key, struct cpti_doc_value value,
                   bool is_of_process)
{
    uint32_t number = 0;

    if (sink->tagging != NULL && cpti_tagging_has(sink->tagging, key, &number)) {
        cpti_tag_note(sink->tagging, tags, number, tag_of(value), is_of_process);
    }
}

void cpti_process_read(struct cpti_process *process, struct cpt_bytes key,
                       struct cpti_doc_value value)
{
    cpti_process_note(process, key, read_value(value));
}

/* --- Sampling --- */

/* What is before the next @mark, or all, without the blanks around it; @text goes on
 * behind it. */
static struct cpt_bytes cut(struct cpt_bytes *text, char mark)
{
    const char *at = memchr(text->data, mark, text->bytes);
    struct cpt_bytes part = {text->data,
                             at != NULL ? (size_t)(at - text->data) : text->bytes};
    const size_t used = at != NULL ? part.bytes + 1 : part.bytes;

    *text = (struct cpt_bytes){text->data + used, text->bytes - used};
    while (part.bytes > 0 && (*part.data == ' ' || *part.data == '\t')) {
        part = (struct cpt_bytes){part.data + 1, part.bytes - 1};
    }
    while (part.bytes > 0 &&
           (part.data[part.bytes - 1] == ' ' || part.data[part.bytes - 1] == '\t')) {
        part.bytes--;
    }
    return part;
}

/* The value of member @key of @text, whose members end at @end and whose keys end at
 * @colon; empty if there is none. */
static struct cpt_bytes member_of(struct cpt_bytes text, const char *key, char end,
                                  char colon)
{
    while (text.bytes > 0) {
        struct cpt_bytes member = cut(&text, end);

        if (cpti_is_key(cut(&member, colon), key)) {
            return member;
        }
    }
    return cpt_bytes_of("");
}

uint64_t cpti_read_tracestate(struct cpt_bytes text)
{
    enum { DIGITS = 14 /* of 56 bits; zeros at the end are left out */ };
    const struct cpt_bytes digits =
        text.bytes > 0 ? member_of(member_of(text, "ot", ',', '='), "th", ';', ':')
                       : text;
    uint64_t threshold = 0;

    if (digits.bytes == 0 || digits.bytes > DIGITS) {
        return 0;
    }
    for (size_t i = 0; i < DIGITS; i++) {
        static const char hex[] = "0123456789abcdef";
        const char *found =
            i >= digits.bytes ? hex : memchr(hex, digits.data[i], sizeof hex - 1);

        if (found == NULL) {
            return 0;
        }
        threshold = threshold << 4 | (uint64_t)(found - hex);
    }
    return threshold;
}

/* --- What the readers hand on --- */

cpt_status cpti_sink_take(struct cpti_sink *sink, struct cpt_bytes trace,
                          struct cpti_span *span)
{
    size_t zeros = 0;

    if (sink->tagging != NULL && sink->tagging->lacks_memory) {
        return CPT_NO_MEMORY;
    }
    span->number = sink->number++;
    if (span->id.bytes == 0) {
        sink->refused++;
        return CPT_OK;
    }
    while (zeros < span->parent.bytes && span->parent.data[zeros] == '0') {
        zeros++;
    }
    if (zeros == span->parent.bytes) {
        span->parent.bytes = 0; /* only zeros are no id */
    }
    return sink->take(sink->context, trace, span);
}

/* --- Pieces of JSON --- */

static bool has_string(struct cpti_doc_value object, const char *key)
{
    return cpti_doc_string(cpti_doc_get(object, key)).bytes > 0;
}

static bool has_array(struct cpti_doc_value object, const char *key)
{
    return cpti_doc_type(cpti_doc_get(object, key)) == CPTI_DOC_ARRAY;
}

static bool has_object(struct cpti_doc_value object, const char *key)
{
    return cpti_doc_type(cpti_doc_get(object, key)) == CPTI_DOC_OBJECT;
}

/* Whether @span is one of Jaeger's own form: "spanId" or "span_id", not "spanID". */
static bool is_domain_span(struct cpti_doc_value span)
{
    return (has_string(span, "spanId") && has_string(span, "operationName")) ||
           (has_string(span, "span_id") && has_string(span, "operation_name"));
}

static bool is_jaeger_trace(struct cpti_doc_value piece)
{
    struct cpti_doc_member first;

    return has_array(piece, "spans") &&
           !(cpti_doc_first(cpti_doc_get(piece, "spans"), &first) &&
             is_domain_span(first.value));
}

/* What a document is by one of its members, which no other kind has. */
static enum cpti_piece kind_of_member(struct cpt_bytes key, struct cpti_doc_value value)
{
    const bool is_object = cpti_doc_type(value) == CPTI_DOC_OBJECT;
    const bool is_list = cpti_doc_type(value) == CPTI_DOC_ARRAY;
    struct cpti_doc_member first;

    if ((is_list && cpti_is_key(key, "batches")) ||
        (is_object && cpti_otlp_is_around(key) &&
         (has_array(value, "resourceSpans") || has_array(value, "batches")))) {
        return CPTI_PIECE_OTLP_ANSWER;
    }
    if (is_object && cpti_is_key(key, "_source")) {
        return CPTI_PIECE_INDEX_DOCUMENT;
    }
    if ((is_object && cpti_is_key(key, "hits") && has_array(value, "hits")) ||
        (is_list && cpti_is_key(key, "hits") && cpti_doc_first(value, &first) &&
         has_object(first.value, "_source")) ||
        (is_list && cpti_is_key(key, "responses") && cpti_doc_first(value, &first) &&
         has_array(cpti_doc_get(first.value, "hits"), "hits"))) {
        return CPTI_PIECE_INDEX_ANSWER;
    }
    if (is_object && (cpti_is_key(key, "index") || cpti_is_key(key, "create"))) {
        return CPTI_PIECE_INDEX_ACTION;
    }
    if (cpti_otlp_is_signal(key)) {
        return CPTI_PIECE_OTHER_SIGNAL;
    }
    return CPTI_PIECE_UNKNOWN;
}

/* What an object is that none of the frequent kinds is. */
static enum cpti_piece recognise_rare(struct cpti_doc_value piece)
{
    enum cpti_piece kind = CPTI_PIECE_UNKNOWN;
    struct cpti_doc_member member;
    bool is = cpti_doc_first(piece, &member);

    if (!is && cpti_doc_type(piece) == CPTI_DOC_OBJECT) {
        return CPTI_PIECE_OTLP_REQUEST; /* one of nothing */
    }
    while (is && kind == CPTI_PIECE_UNKNOWN) {
        kind = kind_of_member(member.key, member.value);
        is = cpti_doc_next(&member);
    }
    return kind;
}

enum cpti_piece cpti_formats_recognise(struct cpti_doc_value piece)
{
    if (cpti_doc_type(piece) == CPTI_DOC_ARRAY) {
        return CPTI_PIECE_ZIPKIN_TRACE;
    }
    if (is_jaeger_trace(piece)) {
        return CPTI_PIECE_JAEGER_TRACE;
    }
    if (has_array(piece, "resourceSpans")) {
        return CPTI_PIECE_OTLP_REQUEST;
    }
    if (has_string(piece, "spanID")) {
        return CPTI_PIECE_JAEGER_SPAN;
    }
    return has_string(piece, "id") && has_string(piece, "traceId")
               ? CPTI_PIECE_ZIPKIN_SPAN
               : recognise_rare(piece);
}

const char *cpti_formats_refusal(struct cpti_doc_value piece)
{
    struct cpti_doc_member first;

    if (has_array(piece, "resource_spans")) {
        return "resource_spans: in OpenTelemetry's JSON, names are as resourceSpans";
    }
    if (is_domain_span(piece) ||
        (cpti_doc_first(cpti_doc_get(piece, "spans"), &first) &&
         is_domain_span(first.value))) {
        return "spans of Jaeger's own form, as in its queues; its API, page and index "
               "have others, which are read";
    }
    return "neither a trace of Jaeger or Zipkin nor spans of OpenTelemetry";
}

static cpt_status read_spans(struct cpti_doc_value array, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(array, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        status = cpti_zipkin_span(member.value, sink);
    }
    return status;
}

cpt_status cpti_formats_read(struct cpti_doc_value piece, enum cpti_piece kind,
                             struct cpti_sink *sink)
{
    switch (kind) {
    case CPTI_PIECE_JAEGER_TRACE:
        return cpti_jaeger_trace(piece, sink);
    case CPTI_PIECE_ZIPKIN_TRACE:
        return read_spans(piece, sink);
    case CPTI_PIECE_JAEGER_SPAN:
        return cpti_jaeger_span(piece, sink);
    case CPTI_PIECE_ZIPKIN_SPAN:
        return cpti_zipkin_span(piece, sink);
    case CPTI_PIECE_OTLP_REQUEST:
        return cpti_otlp_request(piece, sink);
    case CPTI_PIECE_OTLP_ANSWER:
        return cpti_otlp_answer(piece, sink);
    case CPTI_PIECE_INDEX_DOCUMENT:
        return cpti_index_document(piece, sink);
    case CPTI_PIECE_INDEX_ANSWER:
        return cpti_index_answer(piece, sink);
    default:
        return CPT_OK;
    }
}
