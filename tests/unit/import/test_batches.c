/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_batches.c - requests to a collector, cut into small ones: they have the same
 * spans, with the same resources, in the same order */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "import/traces/batches.h"
#include "import/formats/formats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TEXT_MAX = 16 << 20, PAD_MAX = 3000, LIMIT = 64 << 20 };

/* Bytes that grow, up to TEXT_MAX, with room for CPTI_DOC_PADDING behind them. Those of
 * a fixed array have its size as their capacity. */
struct bytes {
    char *data;
    size_t count;
    size_t capacity;
};

static struct bytes bytes_new(void)
{
    const size_t capacity = 4096;
    struct bytes bytes = {malloc(capacity), 0, capacity};

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes.data);
    return bytes;
}

static void put(struct bytes *to, const void *data, size_t count)
{
    CU_ASSERT_FATAL(count < TEXT_MAX - to->count);
    if (to->count + count + CPTI_DOC_PADDING > to->capacity) {
        to->capacity = 2 * (to->count + count + CPTI_DOC_PADDING);
        to->data = realloc(to->data, to->capacity);
        CU_ASSERT_PTR_NOT_NULL_FATAL(to->data);
    }
    memcpy(to->data + to->count, data, count);
    to->count += count;
}

__attribute__((format(printf, 2, 3))) static void put_text(struct bytes *to,
                                                           const char *format, ...)
{
    char text[PAD_MAX + 1000];
    va_list arguments;
    int count = 0;

    va_start(arguments, format);
    count = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(count >= 0 && (size_t)count < sizeof text);
    put(to, text, (size_t)count);
}

/* --- Requests --- */

static const char pad[PAD_MAX + 1] = {0};

static void put_varint(struct bytes *to, uint64_t number)
{
    for (; number > 0x7f; number >>= 7) {
        put(to, (const char[]){(char)(number | 0x80)}, 1);
    }
    put(to, (const char[]){(char)number}, 1);
}

static void put_field(struct bytes *to, unsigned tag, const void *data, size_t count)
{
    put_varint(to, tag << 3 | 2);
    put_varint(to, count);
    put(to, data, count);
}

/* How a request is written. */
struct way {
    bool is_json;
    bool is_late;         /* resources come behind their spans */
    unsigned span_most;   /* of a scope */
    unsigned pad_most;    /* of a span, PAD_MAX at most */
    unsigned count_least; /* of spans */
};

static void put_json_span(struct bytes *to, unsigned number, size_t pad_bytes)
{
    put_text(to,
             "{\"traceId\":\"%032x\",\"name\":\"a \\\" ]}\\\\\",\"spanId\":\"%016x\","
             "\"pad\":[{\"%0*d\":null}]}",
             number / 3 + 1, number, (int)pad_bytes + 1, 0);
}

static void put_protobuf_span(struct bytes *to, unsigned number, size_t pad_bytes)
{
    char data[PAD_MAX + 200 + CPTI_DOC_PADDING];
    struct bytes span = {data, 0, sizeof data};
    char id[16] = {0};

    id[13] = (char)((number / 3 + 1) >> 16);
    id[14] = (char)((number / 3 + 1) >> 8);
    id[15] = (char)(number / 3 + 1);
    put_field(&span, 1, id, 16);
    id[5] = (char)(number >> 16);
    id[6] = (char)(number >> 8);
    id[7] = (char)number;
    put_field(&span, 2, id, 8);
    put_field(&span, 100, pad, pad_bytes);
    put_field(to, 2, span.data, span.count);
}

static void put_scope(struct bytes *to, struct test_random *random,
                      const struct way *way, unsigned *number)
{
    const uint64_t count = test_random_below(random, way->span_most + 1);
    struct bytes scope = bytes_new();

    if (way->is_json) {
        put_text(&scope, "{\"scope\":{\"name\":\"s\"},\"spans\":[");
    }
    for (uint64_t i = 0; i < count; i++) {
        const size_t bytes = test_random_below(random, way->pad_most + 1);

        if (way->is_json) {
            put_text(&scope, i > 0 ? " ,\n" : "");
            put_json_span(&scope, (*number)++, bytes);
        } else {
            put_protobuf_span(&scope, (*number)++, bytes);
        }
    }
    if (way->is_json) {
        put(to, scope.data, scope.count);
        put_text(to, "],\"schemaUrl\":\"x\"}");
    } else {
        put_field(to, 2, scope.data, scope.count);
    }
    free(scope.data);
}

static void put_resource(struct bytes *to, bool is_json, unsigned service)
{
    char data[100 + CPTI_DOC_PADDING];
    char value[20 + CPTI_DOC_PADDING];
    struct bytes attribute = {data, 0, sizeof data};
    struct bytes text = {value, 0, sizeof value};

    if (is_json) {
        put_text(to,
                 "\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
                 "{\"stringValue\":\"service-%u\"}}]}",
                 service);
        return;
    }
    put_text(&text, "\x0a%c%s%c", 9, "service-", 'a' + (int)(service % 26));
    put_field(&attribute, 1, "service.name", 12);
    put_field(&attribute, 2, text.data, text.count);
    {
        char outer[120 + CPTI_DOC_PADDING];
        struct bytes resource = {outer, 0, sizeof outer};

        put_field(&resource, 1, attribute.data, attribute.count);
        put_field(to, 1, resource.data, resource.count);
    }
}

/* A resource with its spans. */
static void put_group(struct bytes *to, struct test_random *random,
                      const struct way *way, unsigned service, unsigned *number)
{
    const bool has_resource = !test_random_chance(random, 10);
    struct bytes group = bytes_new();

    if (way->is_json) {
        put_text(&group, "{");
    }
    if (has_resource && !way->is_late) {
        put_resource(&group, way->is_json, service);
        put_text(&group, "%s", way->is_json ? "," : "");
    }
    if (way->is_json) {
        put_text(&group, "\"scopeSpans\" : [");
    }
    put_scope(&group, random, way, number);
    put_text(&group, "%s", way->is_json ? "," : "");
    put_scope(&group, random, way, number);
    if (way->is_json) {
        put_text(&group, "]%s", has_resource && way->is_late ? "," : "");
    }
    if (has_resource && way->is_late) {
        put_resource(&group, way->is_json, service);
    }
    if (way->is_json) {
        put_text(&group, "}");
        put(to, group.data, group.count);
    } else {
        put_field(to, 1, group.data, group.count);
    }
    free(group.data);
}

static struct bytes request_of(struct test_random *random, const struct way *way)
{
    struct bytes request = bytes_new();
    unsigned number = 1;

    put_text(&request, "%s", way->is_json ? " {\"a\":[1,{}],\"resourceSpans\":[" : "");
    for (unsigned i = 0; number < way->count_least; i++) {
        put_text(&request, "%s", way->is_json && i > 0 ? "," : "");
        put_group(&request, random, way, i, &number);
    }
    put_text(&request, "%s", way->is_json ? "],\"b\":2} \n" : "");
    return request;
}

static struct bytes gzip(const struct bytes *from)
{
    struct bytes to = {malloc(TEXT_MAX), 0, TEXT_MAX};
    z_stream stream = {.next_in = (unsigned char *)from->data,
                       .avail_in = (unsigned)from->count,
                       .next_out = (unsigned char *)to.data,
                       .avail_out = TEXT_MAX};

    CU_ASSERT_PTR_NOT_NULL_FATAL(to.data);
    CU_ASSERT_EQUAL_FATAL(
        deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    CU_ASSERT_EQUAL_FATAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    to.count = stream.total_out;
    (void)deflateEnd(&stream);
    return to;
}

/* --- What is in them --- */

/* A cpti_sink's take: notes trace, span and service. */
static cpt_status note(void *context, struct cpt_bytes trace,
                       const struct cpti_span *span)
{
    put_text(context, "%.*s %.*s %.*s\n", (int)trace.bytes, trace.data,
             (int)span->id.bytes, span->id.data, (int)span->service.bytes,
             span->service.data != NULL ? span->service.data : "");
    return CPT_OK;
}

static cpt_status read_into(struct bytes *list, struct cpt_bytes request, bool is_json)
{
    struct cpti_sink sink = {.take = note, .context = list};
    struct cpti_doc *doc = cpti_doc_new();
    struct cpti_doc_value root;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    if (is_json) {
        status = cpti_doc_parse(doc, request.data, request.bytes, &root, NULL);
        status = status == CPT_OK ? cpti_otlp_request(root, &sink) : status;
    } else {
        status = cpti_otlp_protobuf(request, &sink, NULL);
    }
    cpti_doc_free(doc);
    return status;
}

/* Reads @body in batches; how it ended, and how many there were. */
static cpt_status read_batches(struct bytes *list, struct cpt_bytes body, bool is_json,
                               bool is_compressed, size_t bytes_max, size_t *count)
{
    const struct cpti_batches_options options = {
        .is_json = is_json, .is_compressed = is_compressed, .bytes_max = bytes_max};
    struct cpti_batches *batches = cpti_batches_new(body, &options);
    struct cpt_bytes batch = {"", 0};
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(batches);
    *count = 0;
    while ((status = cpti_batches_next(batches, &batch, NULL)) == CPT_OK) {
        CU_ASSERT_EQUAL(read_into(list, batch, is_json), CPT_OK);
        CU_ASSERT(!cpti_batches_have_more(batches) ||
                  batch.bytes < 2 * CPTI_BATCHES_BYTES);
        (*count)++;
    }
    cpti_batches_free(batches);
    return status;
}

static void expect_same(const struct bytes *request, bool is_json, bool is_compressed)
{
    const struct bytes packed = is_compressed ? gzip(request) : *request;
    struct bytes whole = bytes_new();
    struct bytes list = bytes_new();
    size_t count = 0;

    memset(request->data + request->count, 0, CPTI_DOC_PADDING);
    CU_ASSERT_EQUAL(
        read_into(&whole, (struct cpt_bytes){request->data, request->count}, is_json),
        CPT_OK);
    CU_ASSERT_EQUAL(read_batches(&list, (struct cpt_bytes){packed.data, packed.count},
                                 is_json, is_compressed, LIMIT, &count),
                    CPT_END);
    CU_ASSERT_EQUAL(list.count, whole.count);
    CU_ASSERT(list.count == whole.count &&
              memcmp(list.data, whole.data, list.count) == 0);
    CU_ASSERT_EQUAL(count > 1, request->count >= CPTI_BATCHES_WHOLE_BYTES);
    free(whole.data);
    free(list.data);
    if (is_compressed) {
        free(packed.data);
    }
}

static void test_same_spans(void)
{
    const uint64_t seed = test_random_seed("batches");
    static const struct way ways[] = {
        {.span_most = 4000, .pad_most = 900, .count_least = 5000},
        {.span_most = 1, .pad_most = 0, .count_least = 20000},
        {.span_most = 30, .pad_most = PAD_MAX, .count_least = 2000},
        {.span_most = 100, .pad_most = 10, .count_least = 300}};

    for (unsigned i = 0; i < 4 * sizeof ways / sizeof *ways; i++) {
        struct test_random random = {seed + i};
        struct way way = ways[i / 4];
        struct bytes request;

        way.is_json = (i & 1) != 0;
        way.is_late = (i & 2) != 0;
        request = request_of(&random, &way);
        expect_same(&request, way.is_json, false);
        expect_same(&request, way.is_json, true);
        free(request.data);
    }
}

/* --- What is no request --- */

/* A request that is cut off, or too large: what is before that has come, and it is no
 * end. */
static void test_cut_off(void)
{
    const uint64_t seed = test_random_seed("cut off");

    for (unsigned i = 0; i < 16; i++) {
        struct test_random random = {seed + i};
        const struct way way = {.is_json = (i & 1) != 0,
                                .is_late = (i & 2) != 0,
                                .span_most = 500,
                                .pad_most = 2000,
                                .count_least = 2000};
        struct bytes request = request_of(&random, &way);
        struct bytes list = bytes_new();
        struct bytes packed = gzip(&request);
        const size_t large = CPTI_BATCHES_WHOLE_BYTES;
        const size_t cut =
            large + test_random_below(&random, request.count - large - 4);
        const size_t packed_cut = test_random_below(&random, packed.count - 1);
        size_t count = 0;
        cpt_status status = read_batches(&list, (struct cpt_bytes){request.data, cut},
                                         way.is_json, false, LIMIT, &count);

        /* between two resources protobuf has an end */
        CU_ASSERT(status == CPT_TRUNCATED || status == CPT_CORRUPT ||
                  (!way.is_json && status == CPT_END));
        status = read_batches(&list, (struct cpt_bytes){packed.data, packed_cut},
                              way.is_json, true, LIMIT, &count);
        CU_ASSERT(status == CPT_TRUNCATED || status == CPT_CORRUPT || packed_cut < 2);
        status = read_batches(&list, (struct cpt_bytes){packed.data, packed.count},
                              way.is_json, true, request.count - 1, &count);
        CU_ASSERT_EQUAL(status, CPT_LIMIT);
        status = read_batches(&list, (struct cpt_bytes){packed.data, packed.count},
                              way.is_json, true, request.count, &count);
        CU_ASSERT_EQUAL(status, CPT_END);
        free(packed.data);
        free(list.data);
        free(request.data);
    }
}

static void expect_json(const char *head, const char *tail, cpt_status expected)
{
    struct bytes request = bytes_new();
    struct bytes list = bytes_new();
    size_t count = 0;

    put_text(&request, "%s", head);
    for (size_t i = 0; i < CPTI_BATCHES_WHOLE_BYTES; i += 10) {
        put_text(&request, "          ");
    }
    put_text(&request, "%s", tail);
    CU_ASSERT_EQUAL(read_batches(&list, (struct cpt_bytes){request.data, request.count},
                                 true, false, LIMIT, &count),
                    expected);
    free(list.data);
    free(request.data);
}

static void test_bad_json(void)
{
    expect_json("{", "}", CPT_END);
    expect_json("{\"resourceSpans\":", "null}", CPT_END);
    expect_json("{\"resourceSpans\":[", "]}", CPT_END);
    expect_json("{\"resourceSpans\":[1,", "[],\"x\",{\"scopeSpans\":7}]}", CPT_END);
    expect_json("{\"resource_spans\":[", "]}", CPT_INVALID);
    expect_json("{\"resourceSpans\":[{\"scope_spans\":[", "]}]}", CPT_INVALID);
    expect_json("{\"resourceSpans\":[{\"scopeSpans\":[{\"list\":[", "]}]}]}",
                CPT_INVALID);
    expect_json("{\"resourceSpans\":[{\"schemaUrl\":\"\",\"scopeSpans\":[{\"scope\":",
                "{}}]}]}", CPT_END);
    expect_json("{\"resourceSpans\":[", "]", CPT_TRUNCATED);
    expect_json("{\"resourceSpans\":[", "}}", CPT_CORRUPT);
    expect_json("{\"resourceSpans\":", "{}}", CPT_CORRUPT);
    expect_json("{\"resourceSpans\":[", "]} x", CPT_CORRUPT);
    expect_json("[", "]", CPT_CORRUPT);
    expect_json("{\"resourceSpans\"", ",[]}", CPT_CORRUPT);
    expect_json("{\"a\":", "}", CPT_CORRUPT);
    expect_json("", "", CPT_TRUNCATED);
    expect_json("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[", "}]}]}]}",
                CPT_CORRUPT);
}

/* A large request, and behind it a field with the tag @tag and a number whose tenth
 * byte is @last. */
static void expect_field(uint64_t tag, unsigned last, cpt_status expected)
{
    struct test_random random = {1};
    const struct way way = {.span_most = 500, .pad_most = 2000, .count_least = 2000};
    struct bytes request = request_of(&random, &way);
    struct bytes list = bytes_new();
    size_t count = 0;

    put_varint(&request, tag);
    put(&request, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9);
    put(&request, (const char[]){(char)last}, 1);
    CU_ASSERT_EQUAL(read_batches(&list, (struct cpt_bytes){request.data, request.count},
                                 false, false, LIMIT, &count),
                    expected);
    free(list.data);
    free(request.data);
}

static void test_bad_numbers(void)
{
    expect_field(UINT64_C(0xfffffff8), 1, CPT_END); /* the largest field number */
    expect_field(UINT64_C(0xfffffff8), 2, CPT_CORRUPT);
    expect_field(UINT64_C(0x100000008), 1, CPT_CORRUPT);
    expect_field(UINT64_C(0x780000008), 1, CPT_CORRUPT);
    expect_field(UINT64_C(0xfffffffffffffff8), 1, CPT_CORRUPT);
}

/* A span that is too large for a large request is counted; a resource cannot be. */
static void test_too_large(void)
{
    const size_t large = CPTI_BATCHES_SPAN_BYTES_MAX + 1;

    for (unsigned is_json = 0; is_json < 2; is_json++) {
        struct bytes request = bytes_new();
        struct bytes list = bytes_new();
        char *text = malloc(large);
        const struct cpti_batches_options options = {.is_json = is_json != 0,
                                                     .bytes_max = LIMIT};
        struct cpti_batches *batches = NULL;
        struct cpt_bytes batch = {"", 0};
        cpt_status status = CPT_OK;

        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        memset(text, 'x', large);
        if (is_json != 0) {
            put_text(&request, "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{");
            put_text(&request, "\"name\":\"");
            put(&request, text, large);
            put_text(&request, "\"},");
            put_json_span(&request, 7, 0);
            put_text(&request, "]}]}]}");
        } else {
            struct bytes scope = bytes_new();
            struct bytes group = bytes_new();

            put_field(&scope, 2, text, large);
            put_protobuf_span(&scope, 7, 0);
            put_field(&group, 2, scope.data, scope.count);
            put_field(&request, 1, group.data, group.count);
            free(scope.data);
            free(group.data);
        }
        batches =
            cpti_batches_new((struct cpt_bytes){request.data, request.count}, &options);
        CU_ASSERT_PTR_NOT_NULL_FATAL(batches);
        while ((status = cpti_batches_next(batches, &batch, NULL)) == CPT_OK) {
            CU_ASSERT_EQUAL(read_into(&list, batch, is_json != 0), CPT_OK);
        }
        CU_ASSERT_EQUAL(status, CPT_END);
        CU_ASSERT_EQUAL(cpti_batches_refused(batches), 1);
        put(&list, "", 1);
        CU_ASSERT_STRING_EQUAL(list.data,
                               "00000000000000000000000000000003 0000000000000007 \n");
        cpti_batches_free(batches);
        free(text);
        free(list.data);
        free(request.data);
    }
}

/* Bytes that are changed at random do no harm. */
static void test_hostile(void)
{
    const uint64_t seed = test_random_seed("hostile batches");

    for (unsigned i = 0; i < 60; i++) {
        struct test_random random = {seed + i};
        const struct way way = {.is_json = (i & 1) != 0,
                                .is_late = (i & 2) != 0,
                                .span_most = 300,
                                .pad_most = 2000,
                                .count_least = 1200};
        const struct cpti_batches_options options = {.is_json = way.is_json,
                                                     .bytes_max = LIMIT};
        struct bytes request = request_of(&random, &way);
        struct cpti_batches *batches = NULL;
        struct cpt_bytes batch = {"", 0};

        for (unsigned k = 0; k < 5; k++) {
            request.data[test_random_below(&random, request.count)] =
                (char)test_random_next(&random);
        }
        batches =
            cpti_batches_new((struct cpt_bytes){request.data, request.count}, &options);
        CU_ASSERT_PTR_NOT_NULL_FATAL(batches);
        while (cpti_batches_next(batches, &batch, NULL) == CPT_OK) {
        }
        cpti_batches_free(batches);
        free(request.data);
    }
}

CU_TestInfo cpt_batches_tests[] = {
    {"batches have the spans of the request", test_same_spans},
    {"a request that is cut off, or too large", test_cut_off},
    {"JSON that is no request", test_bad_json},
    {"tags above 32 bits, numbers above 64", test_bad_numbers},
    {"spans that are too large are counted", test_too_large},
    {"hostile bytes", test_hostile},
    CU_TEST_INFO_NULL,
};
