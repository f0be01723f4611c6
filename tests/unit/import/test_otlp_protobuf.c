/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_otlp_protobuf.c - requests of OpenTelemetry in protobuf, alone and in files */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"
#include "tests/unit/import/text_input.h"

#include "import/formats/formats.h"
#include "import/bytes/frames.h"
#include "import/traces/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { BYTES_MAX = 4096 };

/* Bytes that grow. */
struct bytes {
    char data[BYTES_MAX];
    size_t count;
};

static void put(struct bytes *to, const void *data, size_t count)
{
    if (count <= BYTES_MAX - to->count) {
        memcpy(to->data + to->count, data, count);
        to->count += count;
    }
}

static void put_varint(struct bytes *to, uint64_t number)
{
    for (; number > 0x7f; number >>= 7) {
        put(to, (const char[]){(char)(number | 0x80)}, 1);
    }
    put(to, (const char[]){(char)number}, 1);
}

static void put_bytes(struct bytes *to, unsigned field, const void *data, size_t count)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, count);
    put(to, data, count);
}

static void put_text(struct bytes *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

static void put_message(struct bytes *to, unsigned field, const struct bytes *message)
{
    put_bytes(to, field, message->data, message->count);
}

static void put_number(struct bytes *to, unsigned field, uint64_t number)
{
    put_varint(to, field << 3);
    put_varint(to, number);
}

static void put_time(struct bytes *to, unsigned field, uint64_t time)
{
    put_varint(to, field << 3 | 1);
    for (unsigned i = 0; i < 8; i++) {
        put(to, (const char[]){(char)(time >> 8 * i)}, 1);
    }
}

/* Attribute @key, a text, as @field of @to. */
static void put_attribute(struct bytes *to, unsigned field, const char *key,
                          const char *text)
{
    struct bytes value = {.count = 0};
    struct bytes attribute = {.count = 0};

    put_text(&value, 1, text);
    put_message(&attribute, 2, &value); /* before its key, as it may be */
    put_text(&attribute, 1, key);
    put_message(to, field, &attribute);
}

struct wanted_span {
    char id;     /* the last byte of eight */
    char parent; /* 0: none */
    const char *name;
    uint64_t start_ns;
    uint64_t end_ns;
    unsigned kind;
};

static void put_span(struct bytes *to, const struct wanted_span *wanted)
{
    char id[16] = {[15] = 't'};
    struct bytes span = {.count = 0};
    struct bytes status = {.count = 0};

    put_bytes(&span, 1, id, sizeof id);
    id[7] = wanted->id;
    put_bytes(&span, 2, id, 8);
    put_text(&span, 3, "a=b,ot=rv:1;th:c , c=d");
    if (wanted->parent != 0) {
        id[7] = wanted->parent;
        put_bytes(&span, 4, id, 8);
    }
    put_text(&span, 5, wanted->name);
    put_number(&span, 6, wanted->kind);
    put_time(&span, 7, wanted->start_ns);
    put_time(&span, 8, wanted->end_ns);
    put_attribute(&span, 9, "peer.service", "db");
    put_number(&status, 3, 2);
    put_message(&span, 15, &status);
    put_number(&span, 10, 99); /* of no use to us, as a message of the future has */
    put_message(to, 2, &span);
}

/* A request of two services. The resource of the second is behind its spans. */
static struct bytes request_of(void)
{
    static const struct wanted_span spans[] = {{'b', 'a', "get", 10, 60, 3},
                                               {'a', 0, "/", 0, 100, 2}};
    struct bytes request = {.count = 0};

    for (size_t i = 0; i < 2; i++) {
        struct bytes scope = {.count = 0};
        struct bytes resource = {.count = 0};
        struct bytes both = {.count = 0};

        put_attribute(&resource, 1, "host", "h");
        put_attribute(&resource, 1, "service.name", i == 0 ? "A" : "B");
        put_text(&scope, 3, "https://schema");
        put_span(&scope, &spans[i]);
        if (i == 0) {
            put_message(&both, 1, &resource);
        }
        put_message(&both, 2, &scope);
        if (i != 0) {
            put_message(&both, 1, &resource);
        }
        put_message(&request, 1, &both);
    }
    return request;
}

/* --- The reader --- */

struct seen {
    char text[1024];
    size_t used;
    uint64_t count;
    cpt_status status; /* to return */
};

static cpt_status see(void *context, struct cpt_bytes trace,
                      const struct cpti_span *span)
{
    struct seen *seen = context;
    const int bytes = snprintf(
        seen->text + seen->used, sizeof seen->text - seen->used,
        "%.*s/%.*s<%.*s %.*s:%.*s peer %.*s %" PRIu64 "+%" PRIu64 " kind %u %s%s "
        "%" PRIx64 "\n",
        (int)trace.bytes, trace.data, (int)span->id.bytes, span->id.data,
        (int)span->parent.bytes, span->parent.data, (int)span->service.bytes,
        span->service.data, (int)span->operation.bytes, span->operation.data,
        (int)span->peer.bytes, span->peer.data, span->start_ns, span->duration_ns,
        span->kind, span->has_time ? "timed" : "timeless",
        span->is_failed ? " failed" : "", span->rejected);

    if (bytes > 0 && (size_t)bytes < sizeof seen->text - seen->used) {
        seen->used += (size_t)bytes;
    }
    seen->count++;
    return seen->status;
}

static void test_request(void)
{
    const struct bytes request = request_of();
    struct seen seen = {.status = CPT_OK};
    struct cpti_sink sink = {.take = see, .context = &seen};

    CU_ASSERT_EQUAL(cpti_otlp_protobuf((struct cpt_bytes){request.data, request.count},
                                       &sink, NULL),
                    CPT_OK);
    CU_ASSERT_STRING_EQUAL(
        seen.text,
        "00000000000000000000000000000074/0000000000000062<0000000000000061 A:get "
        "peer db 10+50 kind 3 timed failed c0000000000000\n"
        "00000000000000000000000000000074/0000000000000061< B:/ "
        "peer db 0+100 kind 2 timed failed c0000000000000\n");
    CU_ASSERT_EQUAL(sink.refused, 0);
    seen = (struct seen){.status = CPT_LIMIT};
    CU_ASSERT_EQUAL(cpti_otlp_protobuf((struct cpt_bytes){request.data, request.count},
                                       &sink, NULL),
                    CPT_LIMIT);
    CU_ASSERT_EQUAL(seen.count, 1);
}

/* 0 is what protobuf has for a start that was not set, but in times counted from 0. */
static void test_unset_starts(void)
{
    static const uint64_t today = 1700000000000000000;
    static const struct wanted_span spans[] = {
        {'a', 0, "", 0, today, 2}, {'b', 0, "", 0, 100, 2}, {'c', 0, "", 0, 0, 2}};
    struct bytes request = {.count = 0};
    struct bytes both = {.count = 0};
    struct bytes scope = {.count = 0};
    struct seen seen = {.status = CPT_OK};
    struct cpti_sink sink = {.take = see, .context = &seen};

    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        put_span(&scope, &spans[i]);
    }
    put_message(&both, 2, &scope);
    put_message(&request, 1, &both);
    CU_ASSERT_EQUAL(cpti_otlp_protobuf((struct cpt_bytes){request.data, request.count},
                                       &sink, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(seen.count, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, "61< : peer db 0+0 kind 2 timeless"));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, "62< : peer db 0+100 kind 2 timed"));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, "63< : peer db 0+0 kind 2 timeless"));
}

static void test_empty_request(void)
{
    struct seen seen = {.status = CPT_OK};
    struct cpti_sink sink = {.take = see, .context = &seen};

    CU_ASSERT_EQUAL(cpti_otlp_protobuf(cpt_bytes_of(""), &sink, NULL), CPT_OK);
    CU_ASSERT_EQUAL(seen.count, 0);
}

/* Metrics have messages of the same shape; ids of another length are no ids. */
static void test_refuses_other_messages(void)
{
    struct seen seen = {.status = CPT_OK};
    struct cpti_sink sink = {.take = see, .context = &seen};
    struct bytes metric = {.count = 0};
    struct bytes scope = {.count = 0};
    struct bytes both = {.count = 0};
    struct bytes request = {.count = 0};

    put_text(&metric, 1, "cpu");
    put_text(&metric, 2, "use of it");
    put_message(&scope, 2, &metric);
    put_message(&both, 2, &scope);
    put_message(&request, 1, &both);
    CU_ASSERT_EQUAL(cpti_otlp_protobuf((struct cpt_bytes){request.data, request.count},
                                       &sink, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(sink.refused, 1);
    CU_ASSERT_EQUAL(seen.count, 0);
}

/* Each prefix, and each with a byte changed: an error with a place, or spans. */
static void test_damaged_requests(void)
{
    const struct bytes request = request_of();
    struct test_random random = {1};

    for (size_t bytes = 0; bytes < request.count; bytes++) {
        struct seen seen = {.status = CPT_OK};
        struct cpti_sink sink = {.take = see, .context = &seen};
        struct cpt_error error = {0};
        struct bytes changed = request;
        const cpt_status status =
            cpti_otlp_protobuf((struct cpt_bytes){request.data, bytes}, &sink, &error);

        CU_ASSERT(status == CPT_OK || (status == CPT_CORRUPT && error.offset <= bytes));
        changed.data[bytes] = (char)test_random_below(&random, 256);
        seen.used = 0;
        (void)cpti_otlp_protobuf((struct cpt_bytes){changed.data, changed.count}, &sink,
                                 NULL);
    }
}

static void test_tracestate(void)
{
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("")), 0);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=th:0")), 0);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=th:8")), UINT64_C(1) << 55);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("x=1, ot=p:3;th:fe ,th=1")),
                    UINT64_C(0xfe) << 48);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=th:ffffffffffffff")),
                    (UINT64_C(1) << 56) - 1);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=th:fffffffffffffff")), 0);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=th:8g")), 0);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("rot=th:8")), 0);
    CU_ASSERT_EQUAL(cpti_read_tracestate(cpt_bytes_of("ot=rv:8,th:8")), 0);
}

/* --- Files --- */

static void put_length(struct bytes *to, size_t count)
{
    put(to,
        (const char[]){(char)(count >> 24), (char)(count >> 16), (char)(count >> 8),
                       (char)count},
        4);
}

/* The sections of the traces of @file, and the last status but CPT_OK and CPT_END. */
static cpt_status read_file(const char *file, size_t bytes, size_t step,
                            size_t piece_bytes_max, char text[SPAN_TEXT_BYTES],
                            struct cpti_traces_counts *counts)
{
    struct text_input input = {file, bytes, step, 0};
    const struct cpti_traces_options options = {
        .read = text_input_read, .context = &input, .trace_bytes_max = piece_bytes_max};
    struct cpti_traces *traces = cpti_traces_new(&options);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    cpt_status status = CPT_OK;
    cpt_status last = CPT_OK;

    text[0] = '\0';
    while (status != CPT_END) {
        struct cpti_spans_report report;
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(traces, spans, &trace, NULL);
        if (status == CPT_OK && cpti_spans_resolve(spans, &report) == CPT_OK &&
            cpti_spans_walk(spans, CPTI_SPANS_EXACT) == CPT_OK) {
            span_list_sections(spans, text);
        } else if (status != CPT_OK && status != CPT_END) {
            last = status;
        }
    }
    *counts = *cpti_traces_counts(traces);
    cpti_spans_free(spans);
    cpti_traces_free(traces);
    return last;
}

static const char expected[] =
    "0000000000000061 0-10, 0000000000000062 10-60, 0000000000000061 60-100";

static void expect_file(const struct bytes *file, uint64_t spans)
{
    static const size_t steps[] = {1, 7, 100000};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];

        CU_ASSERT_EQUAL(read_file(file->data, file->count, steps[i], 0, text, &counts),
                        CPT_OK);
        CU_ASSERT_STRING_EQUAL(text, expected);
        CU_ASSERT_EQUAL(counts.spans, spans);
        CU_ASSERT_EQUAL(counts.refused_pieces, 0);
    }
}

static void test_file_of_one_message(void)
{
    const struct bytes request = request_of();

    CU_ASSERT_EQUAL(cpti_frames_recognise(request.data, request.count),
                    CPTI_FRAMING_FIELDS);
    expect_file(&request, 2);
}

static void test_file_of_lengths(void)
{
    const struct bytes request = request_of();
    struct bytes file = {.count = 0};

    put_length(&file, 0); /* an empty message */
    put_length(&file, request.count);
    put(&file, request.data, request.count);
    put_length(&file, request.count);
    put(&file, request.data, request.count);
    expect_file(&file, 4);
}

/* Each message is compressed by itself, or JSON. */
static void test_file_of_files(void)
{
    static const char json[] = "{\"resourceSpans\": []}";
    const struct bytes request = request_of();
    unsigned char packed[BYTES_MAX];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)request.data,
                       .avail_in = (unsigned)request.count,
                       .next_out = packed,
                       .avail_out = sizeof packed};
    struct bytes file = {.count = 0};

    CU_ASSERT_EQUAL_FATAL(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    CU_ASSERT_EQUAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    CU_ASSERT_EQUAL(deflateEnd(&stream), Z_OK);
    put_length(&file, stream.total_out);
    put(&file, packed, stream.total_out);
    put_length(&file, strlen(json));
    put(&file, json, strlen(json));
    expect_file(&file, 2);
    /* one that is damaged costs only itself */
    for (size_t i = 14; i < stream.total_out; i += 7) {
        struct bytes damaged = {.count = 0};
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];

        put_length(&damaged, stream.total_out);
        put(&damaged, packed, stream.total_out);
        damaged.data[4 + i] ^= 1;
        put_length(&damaged, request.count);
        put(&damaged, request.data, request.count);
        CU_ASSERT_EQUAL(read_file(damaged.data, damaged.count, 1000, 0, text, &counts),
                        CPT_INVALID);
        CU_ASSERT_STRING_EQUAL(text, expected);
        CU_ASSERT_EQUAL(counts.refused_pieces, 1);
    }
}

/* Text that begins with an empty line, or looks a little like a message. */
static void test_recognises_text(void)
{
    static const char *const texts[] = {"\n{\n\"data\": []}",
                                        "\n\n\n\n{}",
                                        "\n{\n\n\n\n \"a\": 1}",
                                        "\n {\"a\":1}",
                                        "\n\r\n\r\n\r\n[]",
                                        "\n[\n  {\"a\": 1}]",
                                        "{}",
                                        " ",
                                        ""};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_EQUAL(cpti_frames_recognise(texts[i], strlen(texts[i])),
                        CPTI_FRAMING_NONE);
    }
}

/* Every prefix of a file gives what is whole in it, and the reason. */
static void test_cut_files(void)
{
    const struct bytes request = request_of();
    struct bytes file = {.count = 0};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];

    put_length(&file, request.count);
    put(&file, request.data, request.count);
    for (size_t bytes = 1; bytes < file.count; bytes++) {
        CU_ASSERT_EQUAL(read_file(file.data, bytes, 1000, 0, text, &counts),
                        CPT_TRUNCATED);
        CU_ASSERT_EQUAL(counts.spans, 0);
    }
    for (size_t bytes = 1; bytes < request.count; bytes++) {
        const cpt_status status =
            read_file(request.data, bytes, 1000, 0, text, &counts);

        /* it may end just behind the first of its two parts */
        CU_ASSERT(status != CPT_OK || counts.spans == 1 || bytes == 1);
    }
}

static void test_long_messages(void)
{
    const struct bytes request = request_of();
    struct bytes file = {.count = 0};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];

    for (size_t limit = request.count - 1; limit <= request.count + 1; limit++) {
        file.count = 0;
        put_length(&file, request.count);
        put(&file, request.data, request.count);
        put_length(&file, 0);
        CU_ASSERT_EQUAL(read_file(file.data, file.count, 50, limit, text, &counts),
                        limit < request.count ? CPT_INVALID : CPT_OK);
        CU_ASSERT_EQUAL(counts.refused_pieces, limit < request.count);
    }
    /* a length that is a lie takes no memory */
    file.count = 0;
    put_length(&file, 0x08ffffff);
    put(&file, request.data, request.count);
    CU_ASSERT_EQUAL(read_file(file.data, file.count, 50, 0, text, &counts),
                    CPT_TRUNCATED);
}

/* A tag is a number of 32 bits, however many bytes it takes. */
static void test_a_tag_has_32_bits(void)
{
    static const uint64_t tags[] = {UINT64_C(0xfffffff8), /* the largest field number */
                                    UINT64_C(0x100000008),       UINT64_C(0x780000008),
                                    UINT64_C(0x7fffffff8),       UINT64_C(0x800000008),
                                    UINT64_C(0xfffffffffffffff8)};

    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        struct bytes request = request_of();
        struct seen seen = {.status = CPT_OK};
        struct cpti_sink sink = {.take = see, .context = &seen};
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];

        put_varint(&request, tags[i]);
        put_varint(&request, 7);
        CU_ASSERT_EQUAL(
            cpti_otlp_protobuf((struct cpt_bytes){request.data, request.count}, &sink,
                               NULL),
            i == 0 ? CPT_OK : CPT_CORRUPT);
        CU_ASSERT_EQUAL(read_file(request.data, request.count, 1000, 0, text, &counts),
                        i == 0 ? CPT_OK : CPT_CORRUPT);
    }
}

/* The tenth byte of a number has one bit. */
static void test_a_number_has_64_bits(void)
{
    for (unsigned last = 0; last <= 2; last++) {
        struct bytes request = request_of();
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];

        put(&request, "\x98\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11);
        put(&request, (const char[]){(char)last}, 1);
        CU_ASSERT_EQUAL(read_file(request.data, request.count, 1000, 0, text, &counts),
                        last <= 1 ? CPT_OK : CPT_CORRUPT);
    }
}

CU_TestInfo cpt_otlp_protobuf_tests[] = {
    {"a request", test_request},
    {"starts that were not set", test_unset_starts},
    {"an empty request", test_empty_request},
    {"refuses other messages", test_refuses_other_messages},
    {"damaged requests give a place", test_damaged_requests},
    {"tracestate", test_tracestate},
    {"a file of one message", test_file_of_one_message},
    {"a file of messages behind their lengths", test_file_of_lengths},
    {"messages that are files", test_file_of_files},
    {"recognises text", test_recognises_text},
    {"cut files", test_cut_files},
    {"long messages", test_long_messages},
    {"a tag has 32 bits", test_a_tag_has_32_bits},
    {"a number has 64 bits", test_a_number_has_64_bits},
    CU_TEST_INFO_NULL,
};
