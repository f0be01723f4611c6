/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_live.c - spans from running services: when traces end, and what is left out */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "import/bytes/json.h"
#include "import/traces/live.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACES = 200, TEXT_BYTES = 8192 };

#define SECOND UINT64_C(1000000000)

/* Sends span @id of trace @number, below @parent (0: it is a root), at @now_s. */
static cpt_status send(struct cpti_live *live, unsigned number, unsigned id,
                       unsigned parent, uint64_t now_s)
{
    char text[TEXT_BYTES];
    char parent_text[32] = "";
    uint64_t refused = 0;
    int bytes = 0;

    if (parent != 0) {
        (void)snprintf(parent_text, sizeof parent_text, "%016x", parent);
    }
    bytes = snprintf(
        text, sizeof text,
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"%032x\","
        "\"spanId\":\"%016x\",\"parentSpanId\":\"%s\",\"startTimeUnixNano\":\"%u\","
        "\"endTimeUnixNano\":\"%u\"}]}]}]}",
        number, id, parent_text, 1000 * id, 1000 * id + 1000000);
    CU_ASSERT_FATAL(bytes > 0 && bytes + CPTI_DOC_PADDING < TEXT_BYTES);
    return cpti_live_json(live, text, (size_t)bytes, now_s * SECOND, &refused, NULL);
}

/* The ids of the traces that have ended, with the number of their spans: "1:2 7:1 ".
 * Those of tests are small. */
static void taken(struct cpti_live *live, uint64_t now_s, bool takes_all, char *text)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_bytes trace = {"", 0};
    double share = 0;
    size_t used = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    text[0] = '\0';
    while (cpti_live_take(live, now_s * SECOND, takes_all, spans, &trace, &share) ==
           CPT_OK) {
        unsigned number = 0;

        CU_ASSERT_EQUAL_FATAL(trace.bytes, 32);
        (void)sscanf(trace.data + 24, "%8x", &number);
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%u:%zu ", number,
                                 cpti_spans_count(spans));
        CU_ASSERT_FATAL(used < TEXT_BYTES);
    }
    cpti_spans_free(spans);
}

static void expect_taken(struct cpti_live *live, uint64_t now_s, const char *expected)
{
    char text[TEXT_BYTES];

    taken(live, now_s, false, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static struct cpti_live *live_new(const struct cpti_live_options *options)
{
    struct cpti_live *live = cpti_live_new(options);

    CU_ASSERT_PTR_NOT_NULL_FATAL(live);
    return live;
}

static struct cpti_live_counts counts_of(const struct cpti_live *live)
{
    struct cpti_live_counts counts;

    cpti_live_counts(live, &counts);
    return counts;
}

/* A trace has ended 5 s after its latest span, whatever the order of its spans. */
static void test_quiet(void)
{
    const struct cpti_live_options options = {NULL};
    struct cpti_live *live = live_new(&options);

    CU_ASSERT_EQUAL(send(live, 1, 2, 1, 100), CPT_OK);
    CU_ASSERT_EQUAL(send(live, 2, 1, 0, 101), CPT_OK);
    CU_ASSERT_EQUAL(send(live, 1, 1, 0, 103), CPT_OK);
    expect_taken(live, 105, "");
    expect_taken(live, 106, "2:1 ");
    expect_taken(live, 107, "");
    expect_taken(live, 108, "1:2 ");
    expect_taken(live, 1000, "");
    CU_ASSERT_EQUAL(counts_of(live).waiting_bytes, 0);
    CU_ASSERT_EQUAL(counts_of(live).traces, 2);
    CU_ASSERT_EQUAL(counts_of(live).spans, 3);
    cpti_live_free(live);
}

/* A root is sent when it ends; until then a trace may be silent for longer. */
static void test_without_root(void)
{
    const struct cpti_live_options options = {.quiet_ns = 3 * SECOND};
    struct cpti_live *live = live_new(&options);

    CU_ASSERT_EQUAL(send(live, 1, 2, 1, 10), CPT_OK);
    CU_ASSERT_EQUAL(send(live, 2, 2, 1, 10), CPT_OK);
    expect_taken(live, 15, "");
    CU_ASSERT_EQUAL(send(live, 1, 1, 0, 15), CPT_OK);
    expect_taken(live, 16, "2:1 ");
    expect_taken(live, 18, "1:2 ");
    cpti_live_free(live);
}

/* A trace that never falls silent ends by its age, and what follows is late. */
static void test_age_and_late(void)
{
    const struct cpti_live_options options = {.age_ns = 20 * SECOND};
    struct cpti_live *live = live_new(&options);

    for (unsigned i = 1; i <= 10; i++) {
        CU_ASSERT_EQUAL(send(live, 7, i, i - 1, 2 * i), CPT_OK);
        expect_taken(live, 2 * i, "");
    }
    expect_taken(live, 21, "");
    expect_taken(live, 22, "7:10 ");
    CU_ASSERT_EQUAL(send(live, 7, 11, 10, 23), CPT_OK);
    CU_ASSERT_EQUAL(send(live, 7, 12, 10, 41), CPT_OK);
    expect_taken(live, 60, "");
    CU_ASSERT_EQUAL(counts_of(live).late_spans, 2);
    CU_ASSERT_EQUAL(counts_of(live).waiting_traces, 0);
    cpti_live_free(live);
}

static void test_takes_all(void)
{
    const struct cpti_live_options options = {NULL};
    struct cpti_live *live = live_new(&options);
    char text[TEXT_BYTES];

    CU_ASSERT_EQUAL(send(live, 1, 2, 1, 10), CPT_OK);
    CU_ASSERT_EQUAL(send(live, 2, 1, 0, 10), CPT_OK);
    taken(live, 10, true, text);
    CU_ASSERT_STRING_EQUAL(text, "2:1 1:1 ");
    cpti_live_free(live);
}

/* The traces that @live keeps of those with numbers up to TRACES, each of 3 spans. */
static void keep(struct cpti_live *live, bool kept[TRACES + 1])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_bytes trace = {"", 0};
    double share = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    memset(kept, 0, (TRACES + 1) * sizeof *kept);
    for (unsigned span = 3; span >= 1; span--) {
        for (unsigned number = 1; number <= TRACES; number++) {
            CU_ASSERT_EQUAL(send(live, number, span, span - 1, 10), CPT_OK);
        }
    }
    while (cpti_live_take(live, 10 * SECOND, true, spans, &trace, &share) == CPT_OK) {
        unsigned number = 0;

        (void)sscanf(trace.data + 24, "%8x", &number);
        CU_ASSERT_FATAL(number >= 1 && number <= TRACES);
        kept[number] = true;
        CU_ASSERT_EQUAL(cpti_spans_count(spans), 3); /* never a part */
        CU_ASSERT_DOUBLE_EQUAL(share, counts_of(live).share, 0);
        CU_ASSERT((double)cpti_live_place(trace) <= share * 18446744073709551616.0);
    }
    cpti_spans_free(spans);
}

static size_t count_of(const bool kept[TRACES + 1])
{
    size_t count = 0;

    for (unsigned i = 1; i <= TRACES; i++) {
        count += kept[i];
    }
    return count;
}

/* With the same share, collectors keep the same traces; with a smaller one some of
 * those. Each trace is whole, and what is left out is counted. */
static void test_share(void)
{
    const struct cpti_live_options half = {.share = 0.5};
    const struct cpti_live_options fifth = {.share = 0.2};
    struct cpti_live *lives[3] = {live_new(&half), live_new(&half), live_new(&fifth)};
    bool kept[3][TRACES + 1];

    for (size_t i = 0; i < 3; i++) {
        keep(lives[i], kept[i]);
        CU_ASSERT_EQUAL(counts_of(lives[i]).traces, count_of(kept[i]));
        CU_ASSERT_EQUAL(counts_of(lives[i]).shed_traces, TRACES - count_of(kept[i]));
        CU_ASSERT_EQUAL(counts_of(lives[i]).shed_spans,
                        3 * counts_of(lives[i]).shed_traces);
        cpti_live_free(lives[i]);
    }
    CU_ASSERT_EQUAL(memcmp(kept[0], kept[1], sizeof kept[0]), 0);
    for (unsigned i = 1; i <= TRACES; i++) {
        CU_ASSERT(!kept[2][i] || kept[0][i]);
    }
    CU_ASSERT(count_of(kept[0]) > TRACES / 3 && count_of(kept[0]) < 2 * TRACES / 3);
    CU_ASSERT(count_of(kept[2]) > TRACES / 10 && count_of(kept[2]) < TRACES / 3);
}

/* The same for collectors that leave out traces because memory is short. */
static void test_memory(void)
{
    const struct cpti_live_options some = {.bytes_max = 250000};
    const struct cpti_live_options few = {.bytes_max = 100000};
    struct cpti_live *lives[3] = {live_new(&some), live_new(&some), live_new(&few)};
    bool kept[3][TRACES + 1];

    for (size_t i = 0; i < 3; i++) {
        keep(lives[i], kept[i]);
        CU_ASSERT(counts_of(lives[i]).share < 1);
        CU_ASSERT_EQUAL(counts_of(lives[i]).traces, count_of(kept[i]));
        CU_ASSERT_EQUAL(counts_of(lives[i]).spans, 3 * counts_of(lives[i]).traces +
                                                       counts_of(lives[i]).shed_spans);
    }
    CU_ASSERT_EQUAL(memcmp(kept[0], kept[1], sizeof kept[0]), 0);
    CU_ASSERT(count_of(kept[2]) > 0 && count_of(kept[2]) < count_of(kept[0]));
    CU_ASSERT(count_of(kept[0]) < TRACES);
    for (unsigned i = 1; i <= TRACES; i++) {
        CU_ASSERT(!kept[2][i] || kept[0][i]);
    }
    for (size_t i = 0; i < 3; i++) {
        cpti_live_free(lives[i]);
    }
}

/* Memory that is counted. */
struct counted {
    size_t bytes;
    size_t bytes_most;
};

static void *resize(void *context, void *memory, size_t bytes)
{
    struct counted *counted = context;
    const size_t before = malloc_usable_size(memory);
    void *now = NULL;

    if (bytes == 0) {
        counted->bytes -= before;
        free(memory);
        return NULL;
    }
    now = realloc(memory, bytes);
    counted->bytes += now != NULL ? malloc_usable_size(now) - before : 0;
    counted->bytes_most =
        counted->bytes > counted->bytes_most ? counted->bytes : counted->bytes_most;
    return now;
}

/* Writes a request of @count traces of one span each to @text. Ids whose place is not
 * below @part of all are passed over. */
static size_t write_many(char *text, size_t capacity, unsigned count, double part)
{
    size_t used = (size_t)snprintf(text, capacity, "%s",
                                   "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[");

    for (uint64_t number = 1; count > 0; number++) {
        char id[33];

        (void)snprintf(id, sizeof id, "%032" PRIx64, number);
        if ((double)cpti_live_place(cpt_bytes_of(id)) < part * 18446744073709551616.0) {
            used += (size_t)snprintf(text + used, capacity - used,
                                     "%s{\"traceId\":\"%s\",\"spanId\":\"%016x\"}",
                                     text[used - 1] == '[' ? "" : ",", id, count);
            count--;
        }
    }
    used += (size_t)snprintf(text + used, capacity - used, "]}]}]}");
    CU_ASSERT_FATAL(used + CPTI_DOC_PADDING < capacity);
    return used;
}

/* One request of very many traces is shed while it is read: what is held stays within
 * the memory at all times, also by what malloc() needs for it, and also if all ids are
 * among those that are kept longest. */
static void test_memory_in_a_request(void)
{
    enum { COUNT = 20000, CAPACITY = 2 << 20, BYTES_MAX = 1 << 20 };
    static const double parts[] = {1, 0.01};
    char *text = malloc(CAPACITY);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct counted counted = {0};
        const struct cpt_alloc alloc = {resize, &counted};
        const struct cpti_live_options options = {.alloc = &alloc,
                                                  .bytes_max = BYTES_MAX};
        struct cpti_live *live = live_new(&options);
        const size_t before = counted.bytes;
        const size_t bytes = write_many(text, CAPACITY, COUNT, parts[i]);
        uint64_t refused = 0;

        CU_ASSERT_EQUAL(cpti_live_json(live, text, bytes, SECOND, &refused, NULL),
                        CPT_OK);
        CU_ASSERT(counted.bytes_most - before < BYTES_MAX + BYTES_MAX / 8);
        CU_ASSERT(counts_of(live).waiting_bytes <= BYTES_MAX);
        CU_ASSERT(counts_of(live).waiting_bytes > BYTES_MAX / 2);
        CU_ASSERT_EQUAL(counts_of(live).waiting_traces + counts_of(live).shed_traces,
                        COUNT);
        CU_ASSERT_EQUAL(counts_of(live).spans, COUNT);
        cpti_live_free(live);
    }
    free(text);
}

/* When the share rises, a trace whose beginning was left out is left out until its
 * end; and its part of what is kept is that of the time when it began. */
static void test_share_rises(void)
{
    const struct cpti_live_options options = {.bytes_max = 100000};
    struct cpti_live *live = live_new(&options);
    bool kept[TRACES + 1];
    double low = 0;
    char text[TEXT_BYTES];
    uint64_t now_s = 10;

    keep(live, kept);
    low = counts_of(live).share;
    CU_ASSERT(low < 0.6);
    while (counts_of(live).share < 1 && now_s <= 40) { /* ids are not forgotten yet */
        const uint64_t shed_before = counts_of(live).shed_spans;
        const uint64_t late_before = counts_of(live).late_spans;

        for (unsigned number = 1; number <= TRACES; number++) { /* they go on */
            CU_ASSERT_EQUAL(send(live, number, 9, 1, now_s), CPT_OK);
        }
        CU_ASSERT_EQUAL(counts_of(live).shed_spans,
                        shed_before + TRACES - count_of(kept));
        CU_ASSERT_EQUAL(counts_of(live).late_spans, late_before + count_of(kept));
        now_s += 10;
    }
    CU_ASSERT(counts_of(live).share > low);
    taken(live, now_s, true, text);
    CU_ASSERT_STRING_EQUAL(text, "");
    cpti_live_free(live);
}

/* A trace without end is left out as a whole, and the others are not. */
static void test_large_trace(void)
{
    const struct cpti_live_options options = {.spans_max = 10};
    struct cpti_live *live = live_new(&options);
    char text[TEXT_BYTES];

    CU_ASSERT_EQUAL(send(live, 2, 1, 0, 10), CPT_OK);
    for (unsigned i = 1; i <= 10; i++) {
        CU_ASSERT_EQUAL(send(live, 1, i, i - 1, 10), CPT_OK);
        CU_ASSERT_EQUAL(send(live, 3, i, i - 1, 10), CPT_OK);
    }
    CU_ASSERT_EQUAL(counts_of(live).large_traces, 0);
    for (unsigned i = 11; i <= 30; i++) {
        CU_ASSERT_EQUAL(send(live, 1, i, i - 1, 10), CPT_OK);
    }
    taken(live, 10, true, text);
    CU_ASSERT_STRING_EQUAL(text, "2:1 3:10 ");
    CU_ASSERT_EQUAL(counts_of(live).large_traces, 1);
    CU_ASSERT_EQUAL(counts_of(live).shed_spans, 30);
    CU_ASSERT_EQUAL(counts_of(live).shed_traces, 0);
    cpti_live_free(live);
}

/* What is sent, and what is said of it. */
static void expect_json(const char *spans, cpt_status expected, uint64_t refused)
{
    const struct cpti_live_options options = {NULL};
    struct cpti_live *live = live_new(&options);
    char text[TEXT_BYTES];
    uint64_t count = 0;
    const int bytes = snprintf(text, sizeof text, "%s", spans);

    CU_ASSERT_FATAL(bytes >= 0 && bytes + CPTI_DOC_PADDING < TEXT_BYTES);
    CU_ASSERT_EQUAL(cpti_live_json(live, text, (size_t)bytes, SECOND, &count, NULL),
                    expected);
    CU_ASSERT_EQUAL(count, refused);
    CU_ASSERT_EQUAL(counts_of(live).waiting_traces, 0);
    cpti_live_free(live);
}

#define SPANS(list) "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[" list "]}]}]}"
#define TRACE(id)   "{\"traceId\":\"" id "\",\"spanId\":\"00000000000000aa\"}"

static void test_bad_requests(void)
{
    expect_json("{}", CPT_OK, 0);
    expect_json("{\"resourceSpans\":null,\"more\":[{}]}", CPT_OK, 0);
    expect_json("", CPT_INVALID, 0);
    expect_json("[]", CPT_INVALID, 0);
    /* spans under another name would be lost */
    expect_json("{\"resource_spans\":[]}", CPT_INVALID, 0);
    expect_json("{\"batches\":[]}", CPT_INVALID, 0);
    expect_json("{\"resourceMetrics\":[]}", CPT_INVALID, 0);
    expect_json("{\"resourceSpans\":[{\"scope_spans\":[]}]}", CPT_INVALID, 0);
    expect_json("{\"resourceSpans\":[{\"scopeSpans\":[{\"x\":[]}]}]}", CPT_INVALID, 0);
    expect_json(
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{},\"schemaUrl\":\"\"}],"
        "\"schemaUrl\":\"\",\"resource\":{}}]}",
        CPT_OK, 0);
    expect_json("{\"resourceSpans\":{}}", CPT_INVALID, 0);
    expect_json("{\"resourceSpans\":[", CPT_INVALID, 0);
    expect_json("{} {}", CPT_INVALID, 0);
    expect_json(SPANS("{}"), CPT_OK, 1);
    expect_json(SPANS("3,[],null"), CPT_OK, 3);
    expect_json(SPANS(TRACE("") "," TRACE("7")), CPT_OK, 2);
    expect_json(SPANS(TRACE("0000000000000000000000000000000")), CPT_OK, 1);
    expect_json(SPANS(TRACE("00000000000000000000000000000000")), CPT_OK, 1);
    expect_json(SPANS(TRACE("0000000000000000000000000000000g")), CPT_OK, 1);
    expect_json(SPANS(TRACE("0000000000000000000000000000000000")), CPT_OK, 1);
    expect_json(SPANS("{\"traceId\":\"00000000000000000000000000000001\",\"spanId\":"
                      "\"00000000000000aa\",\"parentSpanId\":\"x\"}"),
                CPT_OK, 1);
}

/* What is not known, and what is no text, is counted; ids may be in base64. */
static void test_other_versions(void)
{
    static const char request[] =
        "{\"resourceSpans\":[{\"x\":1,\"scopeSpans\":[{\"spans\":["
        "{\"traceId\":\"AAAAAAAAAAAAAAAAAAAAAQ==\",\"spanId\":\"AAAAAAAAAKE=\","
        "\"name\":\"\\ud800\377\",\"y\":2},"
        "{\"traceId\":\"00000000000000000000000000000001\",\"spanId\":"
        "\"00000000000000b1\",\"parentSpanId\":\"AAAAAAAAAKE=\"}]}]}]}";
    const struct cpti_live_options options = {NULL};
    struct cpti_live *live = live_new(&options);
    char text[TEXT_BYTES] = {0};
    uint64_t refused = 0;

    memcpy(text, request, sizeof request);
    CU_ASSERT_EQUAL(
        cpti_live_json(live, text, sizeof request - 1, SECOND, &refused, NULL), CPT_OK);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(counts_of(live).unknown_fields, 2);
    CU_ASSERT_EQUAL(counts_of(live).replaced, 2);
    CU_ASSERT_EQUAL(counts_of(live).waiting_traces, 1);
    CU_ASSERT_EQUAL(counts_of(live).waiting_spans, 2);
    cpti_live_free(live);
}

/* The same of protobuf: a resource with an unknown field 9, with a span and without. */
static void test_other_protobuf(void)
{
    static const char alone[] = "\012\002\110\007";
    static const char beside[] = "\012\045\110\007\022\041\022\037\012\020"
                                 "0123456789abcdef\022\01001234567\210\001\001";
    const struct cpti_live_options options = {NULL};
    struct cpti_live *live = live_new(&options);
    uint64_t refused = 0;

    CU_ASSERT_EQUAL(cpti_live_protobuf(live,
                                       (struct cpt_bytes){alone, sizeof alone - 1},
                                       SECOND, &refused, NULL),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpti_live_protobuf(live,
                                       (struct cpt_bytes){beside, sizeof beside - 1},
                                       SECOND, &refused, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(counts_of(live).unknown_fields, 2);
    CU_ASSERT_EQUAL(counts_of(live).waiting_spans, 1);
    cpti_live_free(live);
}

/* The same id in any case of letters stands at the same place, in any process. */
static void test_place(void)
{
    const struct cpt_bytes lower = cpt_bytes_of("5b8efff798038103d269b633813fc60c");
    const struct cpt_bytes upper = cpt_bytes_of("5B8EFFF798038103D269B633813FC60C");

    CU_ASSERT_EQUAL(cpti_live_place(lower), cpti_live_place(upper));
    CU_ASSERT_EQUAL(cpti_live_place(lower), UINT64_C(0x6d81228a7fa378c4));
}

static bool collect_over(const struct cpt_alloc *alloc)
{
    const struct cpti_live_options options = {.alloc = alloc, .spans_max = 4};
    struct cpti_live *live = cpti_live_new(&options);
    struct cpti_spans *spans = cpti_spans_new(alloc);
    struct cpt_bytes trace = {"", 0};
    double share = 0;
    bool is_good = live != NULL && spans != NULL;

    for (unsigned i = 1; i <= 6 && is_good; i++) {
        is_good = send(live, 1, i, i - 1, 10) == CPT_OK &&
                  send(live, 1 + i, i, i - 1, 10) == CPT_OK;
    }
    for (cpt_status status = CPT_OK; is_good && status == CPT_OK;) {
        status = cpti_live_take(live, 100 * SECOND, false, spans, &trace, &share);
        is_good = status == CPT_OK || status == CPT_END;
    }
    cpti_live_free(live);
    cpti_spans_free(spans);
    return is_good;
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(collect_over);
}

/* Random spans, times and ends: each span is in one trace, or counted. */
static void test_all_is_counted(void)
{
    const struct cpti_live_options options = {.bytes_max = 60000, .spans_max = 40};
    struct cpti_live *live = live_new(&options);
    struct test_random random = {test_random_seed("live")};
    uint64_t now_s = 1;
    uint64_t sent = 0;
    size_t in_traces = 0;
    struct cpti_live_counts counts;

    for (int round = 0; round < 3000; round++) {
        const unsigned number = 1 + (unsigned)(test_random_below(&random, 60));

        sent++;
        CU_ASSERT_EQUAL(send(live, number, 1 + (unsigned)test_random_below(&random, 9),
                             (unsigned)test_random_below(&random, 9), now_s),
                        CPT_OK);
        now_s += test_random_below(&random, 3) == 0;
        if (test_random_below(&random, 20) == 0) {
            char text[TEXT_BYTES];

            taken(live, now_s, false, text);
            for (const char *at = strchr(text, ':'); at != NULL;
                 at = strchr(at + 1, ':')) {
                size_t count = 0;

                (void)sscanf(at, ":%zu", &count);
                in_traces += count;
            }
        }
        counts = counts_of(live);
        CU_ASSERT(counts.waiting_bytes <= 60000);
        CU_ASSERT_EQUAL(counts.spans, sent);
        CU_ASSERT_EQUAL(counts.waiting_spans + counts.late_spans + counts.shed_spans +
                            in_traces,
                        sent);
    }
    cpti_live_free(live);
}

enum { REQUESTS = 3000, SERVICES = 3 };

/* The span of a service is sent. */
struct sending {
    uint64_t at_ms;
    unsigned number;
    unsigned id;
};

static int compare_sendings(const void *left, const void *right)
{
    const struct sending *a = left;
    const struct sending *b = right;

    return (a->at_ms > b->at_ms) - (a->at_ms < b->at_ms);
}

static int compare_ages(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/*
 * How long after its end a request can be taken: each of three services sends what has
 * ended every 5 s, as SDKs do, at moments of its own; a trace is taken each second.
 * The median is to be below 15 s, and the 98th percentile below 2 min.
 */
static void test_age_of_requests(void)
{
    static struct sending sendings[REQUESTS * SERVICES];
    static uint64_t ages_ms[REQUESTS];
    static char text[TEXT_BYTES];
    const struct cpti_live_options options = {.quiet_ns = 0};
    struct cpti_live *live = live_new(&options);
    struct test_random random = {1};
    size_t taken_count = 0;
    size_t sent = 0;

    for (unsigned i = 0; i < REQUESTS; i++) {
        const uint64_t end_ms = 100 * (uint64_t)i;

        for (unsigned k = 0; k < SERVICES; k++) {
            const uint64_t phase_ms =
                1700 * (uint64_t)k + test_random_below(&random, 9);

            sendings[SERVICES * i + k] = (struct sending){
                (end_ms + 5000 - phase_ms) / 5000 * 5000 + phase_ms, i + 1, k + 1};
        }
    }
    qsort(sendings, sizeof sendings / sizeof *sendings, sizeof *sendings,
          compare_sendings);
    for (uint64_t now_s = 1; taken_count < REQUESTS && now_s < 1000; now_s++) {
        for (; sent < sizeof sendings / sizeof *sendings &&
               sendings[sent].at_ms <= now_s * 1000;
             sent++) {
            const struct sending *sending = &sendings[sent];

            CU_ASSERT_EQUAL(
                send(live, sending->number, sending->id, sending->id - 1, now_s),
                CPT_OK);
        }
        taken(live, now_s, false, text);
        for (const char *at = text; *at != '\0'; at = strchr(at, ' ') + 1) {
            unsigned number = 0;
            size_t count = 0;

            CU_ASSERT_EQUAL_FATAL(sscanf(at, "%u:%zu", &number, &count), 2);
            CU_ASSERT_EQUAL(count, SERVICES);
            CU_ASSERT_FATAL(taken_count < REQUESTS);
            ages_ms[taken_count++] = now_s * 1000 - 100 * (uint64_t)(number - 1);
        }
    }
    CU_ASSERT_EQUAL(taken_count, REQUESTS);
    CU_ASSERT_EQUAL(counts_of(live).late_spans, 0);
    qsort(ages_ms, taken_count, sizeof *ages_ms, compare_ages);
    CU_ASSERT_TRUE(ages_ms[REQUESTS / 2] < 15000);
    CU_ASSERT_TRUE(ages_ms[REQUESTS * 98 / 100] < 120000);
    cpti_live_free(live);
}

CU_TestInfo cpt_live_tests[] = {
    {"a trace has ended when it is quiet", test_quiet},
    {"without a root it waits for longer", test_without_root},
    {"or when it is old; what follows is late", test_age_and_late},
    {"all can be taken", test_takes_all},
    {"a share of the traces is kept, the same everywhere", test_share},
    {"less is kept when memory is short", test_memory},
    {"one request is shed while it is read", test_memory_in_a_request},
    {"the share rises, and no trace lacks its beginning", test_share_rises},
    {"a trace that is too large is left out", test_large_trace},
    {"bad requests", test_bad_requests},
    {"other versions", test_other_versions},
    {"other versions in protobuf", test_other_protobuf},
    {"the place of an id", test_place},
    {"survives no memory", test_survives_no_memory},
    {"each span is in a trace or counted", test_all_is_counted},
    {"the age of what is taken", test_age_of_requests},
    CU_TEST_INFO_NULL,
};
