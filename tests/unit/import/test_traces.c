/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_traces.c - files of all formats, compressed or not, whole or not */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"
#include "tests/unit/import/text_input.h"

#include "import/traces/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* clang-format off */
static const char jaeger[] =
    "{\"data\": [{\"traceID\": \"t1\", \"processes\": {\"p1\": {\"serviceName\": \"A\"},"
    "  \"p2\": {\"serviceName\": \"B\", \"tags\": []}},"
    " \"spans\": ["
    "{\"traceID\":\"t1\",\"spanID\":\"b\",\"operationName\":\"get\",\"processID\":\"p2\","
    " \"references\":[{\"refType\":\"CHILD_OF\",\"traceID\":\"other\",\"spanID\":\"x\"},"
    "                 {\"refType\":\"CHILD_OF\",\"traceID\":\"t1\",\"spanID\":\"a\"}],"
    " \"startTime\":10,\"duration\":50,\"tags\":[{\"key\":\"span.kind\",\"value\":\"server\"}]},"
    "{\"traceID\":\"t1\",\"spanID\":\"a\",\"operationName\":\"/\",\"processID\":\"p1\","
    " \"references\":null,\"startTime\":0,\"duration\":100.5,"
    " \"tags\":[{\"key\":\"error\",\"type\":\"bool\",\"value\":true}]},"
    "{\"traceID\":\"t1\",\"spanID\":\"c\",\"references\":[{\"refType\":\"FOLLOWS_FROM\","
    " \"traceID\":\"t1\",\"spanID\":\"a\"}],\"startTime\":70,\"duration\":9,"
    " \"process\":{\"serviceName\":\"C\"}}]}], \"total\": 1, \"errors\": null}";

static const char zipkin[] =
    "[[{\"traceId\":\"t1\",\"id\":\"a\",\"parentId\":\"0000\",\"name\":\"/\",\"kind\":\"SERVER\",\"timestamp\":0,"
    "   \"duration\":100,\"localEndpoint\":{\"serviceName\":\"A\"},\"tags\":{\"error\":\"no\"}},"
    "  {\"traceId\":\"t1\",\"id\":\"b\",\"parentId\":\"a\",\"name\":\"get\",\"kind\":\"CLIENT\",\"timestamp\":10,"
    "   \"duration\":50,\"localEndpoint\":{\"serviceName\":\"A\"},\"remoteEndpoint\":{\"serviceName\":\"B\"}}],"
    " [{\"traceId\":\"t2\",\"id\":\"a\",\"name\":\"/\",\"timestamp\":5,\"duration\":1}]]";

static const char otlp[] =
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"B\"}}]},"
    "\"scopeSpans\":[{\"spans\":[{\"traceId\":\"t1\",\"spanId\":\"b\",\"parentSpanId\":\"a\",\"name\":\"get\",\"kind\":2,"
    "\"startTimeUnixNano\":\"10000\",\"endTimeUnixNano\":60000,\"status\":{\"code\":2}}]}]}]}\n"
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"A\"}}]},"
    "\"instrumentationLibrarySpans\":[{\"spans\":[{\"traceId\":\"t1\",\"spanId\":\"a\",\"parentSpanId\":\"\","
    "\"name\":\"/\",\"kind\":\"SPAN_KIND_CLIENT\",\"startTimeUnixNano\":\"0\",\"endTimeUnixNano\":\"100000\"},"
    "{\"traceId\":\"t2\",\"spanId\":\"a\",\"startTimeUnixNano\":\"7\",\"endTimeUnixNano\":\"0\"}]}]}]}\n";
/* clang-format on */

/* The traces of @data as "id: sections; …", and the last status that was no success. */
static cpt_status read_all(const struct cpti_traces_options *given, const char *data,
                           size_t bytes, size_t step, char text[SPAN_TEXT_BYTES],
                           struct cpti_traces_counts *counts)
{
    struct text_input input = {data, bytes, step, 0};
    struct cpti_traces_options options = *given;
    struct cpti_spans *spans = cpti_spans_new(options.alloc);
    struct cpti_traces *traces = NULL;
    cpt_status last = CPT_OK;
    size_t used = 0;

    options.read = text_input_read;
    options.context = &input;
    traces = cpti_traces_new(&options);
    text[0] = '\0';
    for (int i = 0; traces != NULL && spans != NULL && i < 1000; i++) {
        struct cpti_spans_report report;
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};
        char sections[SPAN_TEXT_BYTES] = "-";
        cpt_status status = cpti_traces_next(traces, spans, &trace, &error);

        if (status == CPT_END) {
            break;
        }
        if (status == CPT_OK) {
            status = cpti_spans_resolve(spans, &report);
            if (status == CPT_OK) {
                status = cpti_spans_walk(spans, CPTI_SPANS_EXACT);
                span_list_sections(spans, sections);
            }
            status = status == CPT_END ? CPT_OK : status; /* it has no root */
        }
        if (status != CPT_OK) {
            last = status;
            continue;
        }
        used += (size_t)snprintf(text + used,
                                 used < SPAN_TEXT_BYTES ? SPAN_TEXT_BYTES - used : 0,
                                 "%.*s: %s; ", (int)trace.bytes, trace.data, sections);
        used = used < SPAN_TEXT_BYTES ? used : SPAN_TEXT_BYTES - 1;
    }
    if (traces == NULL || spans == NULL) {
        last = CPT_NO_MEMORY;
    } else {
        *counts = *cpti_traces_counts(traces);
    }
    cpti_traces_free(traces);
    cpti_spans_free(spans);
    return last;
}

static void expect(const char *data, size_t bytes, const char *expected)
{
    static const size_t steps[] = {1, 7, 100, 1000000};
    const struct cpti_traces_options options = {NULL};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];

        CU_ASSERT_EQUAL(read_all(&options, data, bytes, steps[i], text, &counts),
                        CPT_OK);
        CU_ASSERT_STRING_EQUAL(text, expected);
    }
}

static void test_jaeger(void)
{
    expect(jaeger, strlen(jaeger), "t1: a 0-10000, b 10000-60000, a 60000-100500; ");
}

static void test_zipkin(void)
{
    expect(zipkin, strlen(zipkin),
           "t1: a 0-10000, b 10000-60000, a 60000-100000; t2: a 5000-6000; ");
}

/* Spans of one trace in several requests. */
static void test_otlp(void)
{
    expect(otlp, strlen(otlp), "t1: a 0-10000, b 10000-60000, a 60000-100000; t2: -; ");
}

/* Ids are hexadecimal digits, of which some writers prefer the upper case. */
static void test_case_of_ids(void)
{
    static const char spans[] =
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"5B8EFFF7\",\"spanId\":\"EEE1\",\"startTimeUnixNano\":\"0\","
        "\"endTimeUnixNano\":\"100\"}]}]}]}\n"
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"5b8efff7\",\"spanId\":\"eee2\",\"parentSpanId\":\"eee1\","
        "\"startTimeUnixNano\":\"10\",\"endTimeUnixNano\":\"60\"}]}]}]}\n";

    expect(spans, strlen(spans), "5B8EFFF7: EEE1 0-10, eee2 10-60, EEE1 60-100; ");
}

/* Ids of 64 and 128 bits, and those of tracers that leave zeros out. */
static void test_zeros_of_ids(void)
{
    static const char spans[] =
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"00000000000000000b8efff71b8efff7\",\"spanId\":\"0ee1\","
        "\"startTimeUnixNano\":\"0\",\"endTimeUnixNano\":\"100\"}]}]}]}\n"
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"b8efff71b8efff7\",\"spanId\":\"00eee2\",\"parentSpanId\":"
        "\"ee1\","
        "\"startTimeUnixNano\":\"10\",\"endTimeUnixNano\":\"60\"}]}]}]}\n";

    expect(spans, strlen(spans),
           "00000000000000000b8efff71b8efff7: 0ee1 0-10, 00eee2 10-60, 0ee1 60-100; ");
}

/* What a reader fills in beside times. */
static void test_fields(void)
{
    struct text_input input = {jaeger, strlen(jaeger), 100, 0};
    struct cpti_traces_options options = {.read = text_input_read, .context = &input};
    struct cpti_traces *traces = cpti_traces_new(&options);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_bytes trace;

    CU_ASSERT_EQUAL_FATAL(cpti_traces_next(traces, spans, &trace, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_count(spans), 3);
    CU_ASSERT_EQUAL(cpti_spans_at(spans, 0)->kind, CPTI_SPAN_SERVER);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpti_spans_at(spans, 0)->service, cpt_bytes_of("B")));
    CU_ASSERT_TRUE(cpti_spans_at(spans, 1)->is_failed);
    CU_ASSERT_FALSE(cpti_spans_at(spans, 0)->is_failed);
    CU_ASSERT_TRUE(cpti_spans_at(spans, 2)->is_async);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpti_spans_at(spans, 2)->service, cpt_bytes_of("C")));
    cpti_traces_free(traces);

    input = (struct text_input){zipkin, strlen(zipkin), 100, 0};
    traces = cpti_traces_new(&options);
    CU_ASSERT_EQUAL_FATAL(cpti_traces_next(traces, spans, &trace, NULL), CPT_OK);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpti_spans_at(spans, 1)->peer, cpt_bytes_of("B")));
    CU_ASSERT_TRUE(cpti_spans_at(spans, 0)->is_failed);
    CU_ASSERT_EQUAL(cpti_spans_at(spans, 0)->parent.bytes, 0);
    cpti_traces_free(traces);
    cpti_spans_free(spans);
}

/* Times of today with a fraction or an exponent lose nothing that they have. */
static void test_times(void)
{
    static const char spans[] =
        "[[{\"traceId\":\"t\",\"id\":\"a\",\"timestamp\":1.661142440784957e15,"
        "\"duration\":1e3},{\"traceId\":\"t\",\"id\":\"b\",\"parentId\":\"a\","
        "\"timestamp\":1661142440785000.25,\"duration\":\"900\"}]]";

    expect(spans, strlen(spans),
           "t: a 1661142440784957000-1661142440785000250, "
           "b 1661142440785000250-1661142440785900250, "
           "a 1661142440785900250-1661142440785957000; ");
}

/* Spans by themselves, in the order that they ended. */
static void test_single_spans(void)
{
    static const char spans[] =
        "[{\"traceId\":\"t\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":1,"
        "\"duration\":2},\n{\"traceId\":\"u\",\"id\":\"a\",\"timestamp\":0,"
        "\"duration\":1},{\"traceId\":\"t\",\"id\":\"a\",\"timestamp\":0,"
        "\"duration\":4}]{\"traceID\":\"v\",\"spanID\":\"q\",\"startTime\":0,"
        "\"duration\":1}";

    expect(spans, strlen(spans),
           "t: a 0-1000, b 1000-3000, a 3000-4000; u: a 0-1000; v: q 0-1000; ");
}

/* A limit on what waits: the oldest goes first, and what comes later is another. */
static void test_waiting_is_limited(void)
{
    const struct cpti_traces_options options = {.waiting_bytes_max = 1};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];

    CU_ASSERT_EQUAL(read_all(&options, otlp, strlen(otlp), 100, text, &counts), CPT_OK);
    CU_ASSERT_STRING_EQUAL(text, "t1: b 10000-60000; t1: a 0-100000; t2: -; ");
    CU_ASSERT_EQUAL(counts.cut_traces, 3);
}

/* Each bad piece costs only itself. */
static void test_bad_pieces(void)
{
    const struct cpti_traces_options options = {NULL};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];
    char data[2 * sizeof zipkin];

    (void)snprintf(data, sizeof data,
                   "[{\"a\" 1}, {\"b\":1}, 7, {\"spans\":[{},1,{}]}]%s", zipkin);
    CU_ASSERT_EQUAL(read_all(&options, data, strlen(data), 9, text, &counts),
                    CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(
        text, "t1: a 0-10000, b 10000-60000, a 60000-100000; t2: a 5000-6000; ");
    CU_ASSERT_EQUAL(counts.refused_pieces, 3);
    CU_ASSERT_EQUAL(counts.refused_spans, 3);
    CU_ASSERT_EQUAL(counts.traces, 2);
}

/* Gives its text again and again. */
static cpt_status read_again(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct text_input *input = context;

    input->at = input->at == input->bytes ? 0 : input->at;
    return text_input_read(input, buffer, capacity, bytes);
}

/* Blanks, values without spans, one value: what never ends is left. */
static void test_no_end(void)
{
    static const char *const texts[] = {"\n", "{\"resourceSpans\":[]}\n", "[7,",
                                        "{\"a\":"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct text_input input = {texts[i], strlen(texts[i]), 1000, 0};
        const struct cpti_traces_options options = {.read = read_again,
                                                    .context = &input,
                                                    .trace_bytes_max = 2000,
                                                    .idle_bytes_max = 10000};
        struct cpti_traces *traces = cpti_traces_new(&options);
        struct cpti_spans *spans = cpti_spans_new(NULL);
        struct cpt_error error = {0};
        struct cpt_bytes trace;
        cpt_status status = CPT_INVALID;

        while (status == CPT_INVALID) {
            error = (struct cpt_error){0};
            status = cpti_traces_next(traces, spans, &trace, &error);
        }
        CU_ASSERT_EQUAL(status, CPT_CORRUPT);
        CU_ASSERT_EQUAL(error.offset, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "the rest is not read"));
        CU_ASSERT_EQUAL(cpti_traces_next(traces, spans, &trace, &error), CPT_END);
        cpti_traces_free(traces);
        cpti_spans_free(spans);
    }
}

/* Every beginning of every file gives an error or traces, and what it gives tiles. */
static void test_cut_files(void)
{
    static const char *const files[] = {jaeger, zipkin, otlp};
    const struct cpti_traces_options options = {NULL};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t bytes = 0; bytes < strlen(files[i]); bytes++) {
            struct cpti_traces_counts counts;
            char text[SPAN_TEXT_BYTES];
            const cpt_status status =
                read_all(&options, files[i], bytes, 64, text, &counts);

            CU_ASSERT_TRUE(status == CPT_OK || status == CPT_TRUNCATED ||
                           status == CPT_INVALID);
        }
    }
}

/* --- Compressed --- */

static size_t deflate_to(const char *data, size_t bytes, char *to, size_t capacity)
{
    z_stream stream = {0};
    size_t made = 0;

    CU_ASSERT_EQUAL(
        deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = (Bytef *)to;
    stream.avail_out = (uInt)capacity;
    CU_ASSERT_EQUAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    made = capacity - stream.avail_out;
    (void)deflateEnd(&stream);
    return made;
}

static void test_gzip(void)
{
    const struct cpti_traces_options options = {NULL};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];
    char packed[4096];
    /* two members, in the middle of a document */
    const size_t half = deflate_to(jaeger, 200, packed, sizeof packed);
    const size_t bytes = half + deflate_to(jaeger + 200, strlen(jaeger) - 200,
                                           packed + half, sizeof packed - half);

    expect(packed, bytes, "t1: a 0-10000, b 10000-60000, a 60000-100500; ");
    for (size_t left = 3; left < bytes; left++) {
        CU_ASSERT_EQUAL(read_all(&options, packed, left, 50, text, &counts),
                        CPT_TRUNCATED);
    }
    packed[bytes - 3] ^= 1; /* of the length */
    CU_ASSERT_EQUAL(read_all(&options, packed, bytes, 50, text, &counts), CPT_CORRUPT);
}

/* Bytes that a fault has changed: no crash, whatever comes out. */
static void test_damaged(void)
{
    static const char *const files[] = {jaeger, zipkin, otlp};
    const uint64_t seed = test_random_seed("damaged spans");
    const uint64_t cases = test_case_count(1000);
    const struct cpti_traces_options options = {.waiting_bytes_max = 5000};

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_traces_counts counts;
        char text[SPAN_TEXT_BYTES];
        char data[4096];
        const char *file = files[test_random_below(&random, 3)];
        const size_t bytes = strlen(file);

        memcpy(data, file, bytes);
        for (uint64_t k = 1 + test_random_below(&random, 6); k > 0; k--) {
            data[test_random_below(&random, bytes)] =
                (char)(test_random_chance(&random, 50)
                           ? test_random_below(&random, 256)
                           : (uint64_t) "{}[]\",:0-9\\"[test_random_below(&random,
                                                                          12)]);
        }
        (void)read_all(&options, data, bytes, 1000, text, &counts);
    }
}

/* A trace that grows too large is left out as a whole, also what comes of it later. */
static void test_large_traces(void)
{
    enum { SPANS = 60, SPAN_BYTES = 200 };
    char *text = malloc(SPANS * SPAN_BYTES);
    struct cpti_traces_counts counts;
    char out[SPAN_TEXT_BYTES];
    size_t used = 0;

    for (unsigned i = 0; i < SPANS; i++) {
        used += (size_t)snprintf(
            text + used, SPAN_BYTES,
            "{\"traceId\":\"%s\",\"id\":\"%x\",\"parentId\":\"%x\",\"timestamp\":1,"
            "\"duration\":5}\n",
            i % 20 == 0 ? "5a11" : "b16", i + 1, i % 20 == 0 ? 0 : 2);
    }
    for (size_t limit = 4000; limit <= 400000; limit *= 100) {
        const struct cpti_traces_options options = {.trace_bytes_max = limit};
        const bool is_refused = limit < SPANS * sizeof(struct cpti_span);

        CU_ASSERT_EQUAL(read_all(&options, text, used, 1000, out, &counts), CPT_OK);
        CU_ASSERT_EQUAL(counts.refused_traces, is_refused);
        CU_ASSERT_EQUAL(counts.traces, is_refused ? 1 : 2);
        CU_ASSERT_EQUAL(counts.spans, SPANS);
        CU_ASSERT_EQUAL(strstr(out, "b16") == NULL, is_refused);
    }
    free(text);
}

static bool read_over(const struct cpt_alloc *alloc)
{
    const struct cpti_traces_options options = {.alloc = alloc};
    struct cpti_traces_counts counts;
    char text[SPAN_TEXT_BYTES];

    return read_all(&options, otlp, strlen(otlp), 1000, text, &counts) == CPT_OK;
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(read_over);
}

/* Reads one file of several to its end, or until there is no memory. */
static cpt_status read_file(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct text_input *input)
{
    cpt_status status = cpti_traces_open(traces, text_input_read, input);

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(traces, spans, &trace, &error);
    }
    return status;
}

/* Without memory the end of a message is not reached, but the next file begins with
 * itself. */
static void test_no_memory_in_message(void)
{
    enum { HEAD_BYTES = 4, REQUESTS = 400, SPANS = 3 * REQUESTS };
    const size_t bytes = REQUESTS * strlen(otlp);
    char *text = malloc(HEAD_BYTES + bytes);
    struct failing_alloc failing;
    size_t calls = 0;

    for (int i = 0; i < HEAD_BYTES; i++) {
        text[i] = (char)(bytes >> (8 * (HEAD_BYTES - 1 - i)) & 0xff);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        memcpy(text + HEAD_BYTES + i * strlen(otlp), otlp, strlen(otlp));
    }
    do {
        const struct cpti_traces_options options = {.alloc = &failing.alloc,
                                                    .has_files = true};
        struct text_input inputs[2] = {{text, HEAD_BYTES + bytes, 1000, 0},
                                       {text, HEAD_BYTES + bytes, 1000, 0}};
        struct cpti_spans *spans = cpti_spans_new(NULL);
        struct cpti_traces *traces = NULL;

        failing_alloc_init(&failing, ++calls);
        traces = cpti_traces_new(&options);
        if (traces != NULL && read_file(traces, spans, &inputs[0]) == CPT_NO_MEMORY) {
            const uint64_t before = cpti_traces_counts(traces)->spans;

            CU_ASSERT_EQUAL(read_file(traces, spans, &inputs[1]), CPT_END);
            CU_ASSERT_EQUAL(cpti_traces_counts(traces)->spans, before + SPANS);
        }
        cpti_traces_free(traces);
        cpti_spans_free(spans);
    } while (atomic_load(&failing.call_count) >= calls);
    free(text);
}

CU_TestInfo cpt_traces_tests[] = {
    {"jaeger", test_jaeger},
    {"zipkin", test_zipkin},
    {"otlp", test_otlp},
    {"case of ids", test_case_of_ids},
    {"zeros of ids", test_zeros_of_ids},
    {"fields", test_fields},
    {"times", test_times},
    {"single spans", test_single_spans},
    {"waiting is limited", test_waiting_is_limited},
    {"large traces", test_large_traces},
    {"bad pieces", test_bad_pieces},
    {"what never ends", test_no_end},
    {"cut files", test_cut_files},
    {"gzip", test_gzip},
    {"damaged", test_damaged},
    {"survives no memory", test_survives_no_memory},
    {"no memory in a message", test_no_memory_in_message},
    CU_TEST_INFO_NULL,
};
