/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_event_traces.c - requests of lines as traces: methods, points in order, clocks
 */
#include "import/events/event_traces.h"
#include "import/events/order_spans.h"
#include "import/events/point_units.h"
#include "cpt/cpt_path.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t year_2020 = INT64_C(1577836800) * 1000000000;

enum { SHOWN_BYTES = 4096, MS = 1000000 };

#define SHOW(bytes_) (int)(bytes_).bytes, (bytes_).data

static struct cpti_requests *new_requests(const struct cpt_alloc *alloc)
{
    const struct cpti_requests_options options = {.alloc = alloc,
                                                  .memory_bytes_max = 1 << 26};

    return cpti_requests_new(&options);
}

/* --- Ids --- */

static void test_ids(void)
{
    char text[33];
    char again[33];

    CU_ASSERT(
        cpti_event_trace_id(cpt_bytes_of("0AF7651916cd43dd8448eb211c80319c"), text));
    CU_ASSERT_STRING_EQUAL(text, "0AF7651916cd43dd8448eb211c80319c");
    CU_ASSERT_FALSE(
        cpti_event_trace_id(cpt_bytes_of("00000000000000000000000000000000"), text));
    CU_ASSERT_FALSE(
        cpti_event_trace_id(cpt_bytes_of("0af7651916cd43dd8448eb211c80319g"), text));
    CU_ASSERT_FALSE(cpti_event_trace_id(cpt_bytes_of("order-17"), text));
    CU_ASSERT_EQUAL(strlen(text), 32);
    CU_ASSERT_FALSE(cpti_event_trace_id(cpt_bytes_of("order-17"), again));
    CU_ASSERT_STRING_EQUAL(text, again); /* wherever it is computed */
    CU_ASSERT_STRING_EQUAL(text, "7e3b04fc920c5d3b8349aa7063611de4");
}

/* --- Points --- */

/* One request of points "service name time", and how it is shown. */
static void show_points(const char *lines, char shown[SHOWN_BYTES])
{
    struct cpti_requests *requests = new_requests(NULL);
    struct cpti_event_traces *traces = cpti_event_traces_new(NULL, requests);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_event_trace trace;
    size_t at = 0;

    for (uint64_t row = 1; *lines != '\0'; row++) {
        struct cpti_event event = {
            .id = {"a", 1}, .service = {lines, 1}, .name = {lines + 2, 1}, .row = row};

        event.begin_ns = year_2020 + strtoll(lines + 4, NULL, 10);
        event.end_ns = event.begin_ns;
        CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
        lines += strcspn(lines, ",");
        lines += strspn(lines, ", ");
    }
    CU_ASSERT_EQUAL(cpti_event_traces_learn(traces), CPT_OK);
    CU_ASSERT_EQUAL(cpti_event_traces_next(traces, &trace), CPT_OK);
    CU_ASSERT_EQUAL(trace.method, CPTI_EVENT_BY_POINTS);
    for (size_t i = 0; i < trace.span_count; i++) {
        const struct cpti_inferred_span *span = &trace.spans[i];

        at += (size_t)snprintf(
            shown + at, SHOWN_BYTES - at, "%.*s%s %d %d-%d;",
            SHOW(cpti_requests_text(requests, CPTI_NAMES_SERVICE, span->service)),
            span->role == CPTI_EVENT_CLIENT ? "!" : "", (int)span->parent,
            (int)(span->begin_ns - year_2020), (int)(span->end_ns - year_2020));
    }
    CU_ASSERT_EQUAL(cpti_order_path(requests, &trace.request, path), CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const struct cpt_frame *frame = cpt_path_frame(path, segment->frame);

        at += (size_t)snprintf(shown + at, SHOWN_BYTES - at, " [%.*s%s%d<%.*s]",
                               SHOW(cpt_path_frame_name(path, segment->frame)),
                               frame->kind == CPT_KIND_GAP ? "?" : "=",
                               (int)segment->duration_ns,
                               SHOW(cpt_path_frame_name(path, frame->parent)));
    }
    CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    cpt_path_free(path);
    cpti_event_traces_free(traces);
    cpti_requests_free(requests);
}

static void expect_points(const char *lines, const char *expected)
{
    char shown[SHOWN_BYTES] = "";

    show_points(lines, shown);
    CU_ASSERT_STRING_EQUAL(shown, expected);
    if (strcmp(shown, expected) != 0) {
        printf("\n%s\n%s\n", shown, expected);
    }
}

static void test_points(void)
{
    expect_points("A a 0, A b 5", "A -1 0-5; [A: a→b=5<A: a]");
    expect_points("A a 0, B x 3, B y 7, A b 9",
                  "A -1 0-9;A! 0 0-9;B 1 3-7; [a→x?3<B: x] [B: x→y=4<B: x] "
                  "[y→b?2<B: x]");
    /* what comes after the last line of the entry was not waited for */
    expect_points("A a 0, A b 5, B x 6, B y 9", "A -1 0-5; [A: a→b=5<A: a]");
    /* two calls deep; the inner one ends with its callee */
    expect_points("A a 0, B x 1, C p 2, C q 5, A b 9",
                  "A -1 0-9;A! 0 0-9;B 1 1-5;B! 2 1-5;C 3 2-5; [a→x?1<B: x] "
                  "[x→p?1<C: p] [C: p→q=3<C: p] [q→b?4<C: p]");
    /* a second visit has a frame of its own */
    expect_points("A a 0, B x 1, A b 2, B y 4, A c 8",
                  "A -1 0-8;A! 0 0-2;B 1 1-1;A! 0 2-8;B 3 4-4; [a→x?1<B: x] "
                  "[x→b?1<B: x] [b→y?2<B: y] [y→c?4<B: y]");
    /* one line alone, and lines at one time */
    expect_points("A a 0", "A -1 0-0;");
    expect_points("A a 0, A b 0, A c 2", "A -1 0-2; [A: b→c=2<A: a]");
}

/* Random points: the path has the time from the first line to the last of the entry, to
 * the ns, and spans lie in those above them. */
static void test_random_points(void)
{
    const uint64_t seed = test_random_seed("points");
    const uint64_t cases = test_case_count(200);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_line lines[40];
        struct cpti_inferred_span spans[80];
        uint32_t stack[40];
        const size_t count = 1 + (size_t)test_random_below(&random, 40);
        const struct cpti_request request = {.lines = lines, .count = count};
        int64_t time_ns = 1000;
        int64_t end_ns = 1000;
        size_t found = 0;

        for (size_t k = 0; k < count; k++) {
            lines[k] = (struct cpti_line){
                .begin_ns = time_ns,
                .end_ns = time_ns,
                .service = 1 + (uint32_t)test_random_below(&random, 5)};
            end_ns = lines[k].service == lines[0].service ? time_ns : end_ns;
            time_ns += (int64_t)test_random_below(&random, 9);
        }
        found = cpti_order_spans(&request, stack, spans);
        CU_ASSERT(found >= 1 && found < 2 * count);
        CU_ASSERT_EQUAL(spans[0].begin_ns, 1000);
        CU_ASSERT_EQUAL(spans[0].end_ns, end_ns);
        for (size_t k = 1; k < found; k++) {
            const struct cpti_inferred_span *above = &spans[spans[k].parent];

            CU_ASSERT(spans[k].parent < k);
            CU_ASSERT(spans[k].begin_ns <= spans[k].end_ns);
            CU_ASSERT(above->begin_ns <= spans[k].begin_ns);
            CU_ASSERT(spans[k].end_ns <= above->end_ns);
            CU_ASSERT_EQUAL(above->service == spans[k].service,
                            spans[k].role == CPTI_EVENT_CLIENT);
        }
    }
}

/* --- Clocks --- */

enum { HOSTS = 8, REQUESTS = 300 };

/* How far the clock of each host is ahead, in a request. */
typedef int64_t (*ahead_fn)(size_t host, size_t request);

static void add(struct cpti_requests *requests, const char *id, size_t service,
                size_t peer, int64_t begin_ns, int64_t end_ns)
{
    static const char names[] = "abcdefgh";
    const struct cpti_event event = {
        .id = cpt_bytes_of(id),
        .service = {names + service, 1},
        .host = {names + service, 1},
        .name = cpt_bytes_of("op"),
        .peer = {names + (peer < HOSTS ? peer : 0), peer < HOSTS ? 1 : 0},
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .role = peer < HOSTS ? CPTI_EVENT_CLIENT : CPTI_EVENT_SERVER,
        .is_interval = true};

    CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
}

/* Requests in which each host calls the next one; every third one once more. */
static struct cpti_requests *make_hosts(struct test_random *random, ahead_fn ahead)
{
    struct cpti_requests *requests = new_requests(NULL);

    for (size_t i = 0; i < REQUESTS; i++) {
        int64_t begin_ns = year_2020 + (int64_t)i * 1000 * MS;
        int64_t end_ns = begin_ns + 400 * MS;
        char id[8];

        (void)snprintf(id, sizeof id, "%zu", i);
        for (size_t h = 0; h < HOSTS; h++) {
            const int64_t by_ns = ahead(h, i);

            add(requests, id, h, HOSTS, begin_ns + by_ns, end_ns + by_ns);
            begin_ns += (int64_t)(1 + test_random_below(random, 20)) * MS;
            end_ns -= (int64_t)(1 + test_random_below(random, 20)) * MS;
            if (h + 1 < HOSTS) {
                add(requests, id, h, h + 1, begin_ns + by_ns, end_ns + by_ns);
            }
            begin_ns += (int64_t)(1 + test_random_below(random, 1000)) * 1000;
            end_ns -= (int64_t)(1 + test_random_below(random, 1000)) * 1000;
        }
    }
    return requests;
}

static int64_t ahead_never(size_t host, size_t request)
{
    (void)host;
    (void)request;
    return 0;
}

static int64_t ahead_always(size_t host, size_t request)
{
    (void)request;
    return host == 5 ? -50 * MS : 0;
}

/* A step, and one that is too small to be moved. */
static int64_t ahead_later(size_t host, size_t request)
{
    return host == 2 && request >= 200 ? 50 * MS : host == 6 ? -2 * MS : 0;
}

/* Requests whose parents are not the host before, in @requests, which are freed. */
static size_t count_wrong(struct cpti_requests *requests,
                          const struct cpti_event_clock *found, size_t *found_count,
                          struct cpti_event_clock *first)
{
    struct cpti_event_traces *traces = cpti_event_traces_new(NULL, requests);
    struct cpti_event_trace trace;
    size_t wrong = 0;

    CU_ASSERT_EQUAL(cpti_event_traces_learn(traces), CPT_OK);
    while (cpti_event_traces_next(traces, &trace) == CPT_OK) {
        CU_ASSERT_EQUAL(trace.method, CPTI_EVENT_BY_CALLS);
        for (size_t i = 1; i < trace.span_count; i++) {
            const struct cpti_inferred_span *span = &trace.spans[i];
            const uint32_t above = trace.spans[span->parent].service;

            wrong += span->role == CPTI_EVENT_CLIENT ? above != span->service
                                                     : above + 1 != span->service;
        }
    }
    *found_count = cpti_event_clocks_found(cpti_event_traces_clocks(traces), &found);
    for (size_t i = 0; i < *found_count && i < HOSTS; i++) {
        first[i] = found[i];
    }
    cpti_event_traces_free(traces);
    cpti_requests_free(requests);
    return wrong;
}

static bool is_near(int64_t a, int64_t b)
{
    return a - b <= 3 * MS && b - a <= 3 * MS;
}

static void test_clocks(void)
{
    struct test_random random = {test_random_seed("clocks")};
    struct cpti_event_clock found[HOSTS];
    size_t count = 0;

    CU_ASSERT_EQUAL(count_wrong(make_hosts(&random, ahead_never), NULL, &count, found),
                    0);
    CU_ASSERT_EQUAL(count, 0);

    CU_ASSERT_EQUAL(count_wrong(make_hosts(&random, ahead_always), NULL, &count, found),
                    0);
    CU_ASSERT_EQUAL_FATAL(count, 1);
    CU_ASSERT_EQUAL(found[0].host, 6); /* 0 is the unknown one */
    CU_ASSERT(is_near(found[0].least_ns, -50 * MS));
    CU_ASSERT(is_near(found[0].most_ns, -50 * MS));
    CU_ASSERT_EQUAL(found[0].moved, 3);

    CU_ASSERT_EQUAL(count_wrong(make_hosts(&random, ahead_later), NULL, &count, found),
                    0);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_EQUAL(found[0].host, 3);
    CU_ASSERT(is_near(found[0].most_ns, 50 * MS));
    CU_ASSERT_EQUAL(found[0].moved, 1);
    CU_ASSERT_EQUAL(found[1].host, 7);
    CU_ASSERT_EQUAL(found[1].moved, 0);
    CU_ASSERT_EQUAL(found[1].blocks, 3);
}

/* --- Methods --- */

static void test_methods(void)
{
    struct cpti_requests *requests = new_requests(NULL);
    struct cpti_event_traces *traces = cpti_event_traces_new(NULL, requests);
    struct cpti_event_trace trace;
    struct cpti_event point = {.id = {"2", 1},
                               .service = {"z", 1},
                               .begin_ns = year_2020 + 5,
                               .end_ns = year_2020 + 5};

    add(requests, "1", 0, HOSTS, year_2020, year_2020 + 100);
    add(requests, "1", 1, HOSTS, year_2020 + 10, year_2020 + 50);
    add(requests, "2", 0, HOSTS, year_2020 + 1, year_2020 + 100);
    CU_ASSERT_EQUAL(cpti_requests_add(requests, &point), CPT_OK);
    CU_ASSERT_EQUAL(cpti_event_traces_learn(traces), CPT_OK);
    CU_ASSERT_EQUAL(cpti_event_traces_next(traces, &trace), CPT_OK);
    CU_ASSERT_EQUAL(trace.method, CPTI_EVENT_BY_SERVERS);
    CU_ASSERT_EQUAL(trace.span_count, 2);
    CU_ASSERT_EQUAL(cpti_event_traces_next(traces, &trace), CPT_OK);
    CU_ASSERT_EQUAL(trace.method, CPTI_EVENT_BY_SERVERS); /* its point makes one */
    CU_ASSERT_EQUAL(trace.span_count, 2);
    CU_ASSERT_EQUAL(trace.made, 1);
    CU_ASSERT_EQUAL(cpti_event_traces_next(traces, &trace), CPT_END);
    CU_ASSERT_EQUAL(cpti_event_traces_counts(traces)->points_left_out, 0);
    CU_ASSERT_EQUAL(cpti_event_traces_counts(traces)->made, 1);
    CU_ASSERT_STRING_EQUAL(cpti_event_method_word(CPTI_EVENT_BY_SERVERS), "servers");
    cpti_event_traces_free(traces);
    cpti_requests_free(requests);
}

/* --- Units that only have points --- */

/* A line of service 1 to 3: a server's interval if @peer is 0 and it has a length, a
 * client's if there is one, else a point. */
static struct cpti_line line_of(uint32_t service, uint32_t peer, int64_t begin_ns,
                                int64_t end_ns)
{
    return (struct cpti_line){.begin_ns = begin_ns,
                              .end_ns = end_ns,
                              .service = service,
                              .peer = peer,
                              .unit = service - 1,
                              .role = begin_ns == end_ns ? CPTI_EVENT_UNKNOWN
                                      : peer != 0        ? CPTI_EVENT_CLIENT
                                                         : CPTI_EVENT_SERVER,
                              .is_interval = begin_ns < end_ns};
}

/* How the intervals of @lines are shown after joining. */
static void expect_units(struct cpti_line *lines, size_t count, size_t made,
                         const char *expected)
{
    struct cpti_point_units *units = cpti_point_units_new(NULL);
    struct cpti_request request = {.lines = lines, .count = count, .unit_count = 3};
    char shown[SHOWN_BYTES] = "";
    size_t found = 0;
    size_t at = 0;

    CU_ASSERT_EQUAL(cpti_point_units_join(units, &request, &found), CPT_OK);
    CU_ASSERT_EQUAL(found, made);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT(i == 0 || lines[i - 1].begin_ns <= lines[i].begin_ns);
        if (lines[i].is_interval) {
            at += (size_t)snprintf(shown + at, SHOWN_BYTES - at, "%u%s %d-%d;",
                                   lines[i].service,
                                   lines[i].role == CPTI_EVENT_CLIENT ? "!" : "",
                                   (int)lines[i].begin_ns, (int)lines[i].end_ns);
        }
    }
    CU_ASSERT_STRING_EQUAL(shown, expected);
    cpti_point_units_free(units);
}

#define EXPECT_UNITS(lines_, made_, expected_)                                         \
    expect_units(lines_, sizeof(lines_) / sizeof(lines_)[0], made_, expected_)

static void test_point_units(void)
{
    struct cpti_line one[] = {line_of(1, 0, 0, 30), line_of(1, 2, 1, 29),
                              line_of(2, 0, 3, 3), line_of(2, 0, 9, 9),
                              line_of(2, 0, 27, 27)};
    struct cpti_line calls[] = {line_of(1, 0, 0, 30), line_of(1, 2, 1, 9),
                                line_of(2, 0, 2, 2),  line_of(2, 0, 8, 8),
                                line_of(1, 2, 9, 29), line_of(2, 0, 12, 12),
                                line_of(2, 0, 28, 28)};
    struct cpti_line beside[] = {line_of(1, 0, 0, 30), line_of(1, 2, 1, 9),
                                 line_of(1, 2, 2, 29), line_of(2, 0, 3, 3),
                                 line_of(2, 0, 28, 28)};
    struct cpti_line client[] = {line_of(1, 0, 0, 30), line_of(2, 3, 4, 9),
                                 line_of(2, 0, 5, 5), line_of(2, 3, 11, 20)};
    struct cpti_line points[] = {line_of(1, 0, 0, 0), line_of(2, 0, 4, 4)};
    struct cpti_line known[] = {line_of(1, 0, 0, 30), line_of(2, 0, 4, 4),
                                line_of(2, 0, 5, 20)};

    EXPECT_UNITS(one, 1, "1 0-30;1! 1-29;2 3-27;");
    EXPECT_UNITS(calls, 2, "1 0-30;1! 1-9;2 2-8;1! 9-29;2 12-28;");
    EXPECT_UNITS(beside, 1, "1 0-30;1! 1-9;1! 2-29;2 3-28;");
    EXPECT_UNITS(client, 1, "1 0-30;2 4-20;2! 4-9;2! 11-20;");
    EXPECT_UNITS(points, 0, ""); /* the order of lines tells */
    EXPECT_UNITS(known, 0, "1 0-30;2 5-20;");
}

/* Each line is in one place: an interval, or a point in the time of one. */
static void test_no_point_left_out(void)
{
    struct cpti_requests *requests = new_requests(NULL);
    struct cpti_event_traces *traces = cpti_event_traces_new(NULL, requests);
    struct cpti_event_trace trace;

    add(requests, "1", 0, HOSTS, year_2020, year_2020 + 30);
    add(requests, "1", 0, 1, year_2020 + 1, year_2020 + 9);
    add(requests, "1", 0, 1, year_2020 + 11, year_2020 + 29);
    for (size_t i = 0; i < 4; i++) {
        const int64_t time_ns = year_2020 + (const int64_t[]){2, 8, 12, 28}[i];
        const struct cpti_event point = {.id = {"1", 1},
                                         .service = {"b", 1},
                                         .name = {"x", 1},
                                         .begin_ns = time_ns,
                                         .end_ns = time_ns};

        CU_ASSERT_EQUAL(cpti_requests_add(requests, &point), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_event_traces_learn(traces), CPT_OK);
    CU_ASSERT_EQUAL(cpti_event_traces_next(traces, &trace), CPT_OK);
    CU_ASSERT_EQUAL(trace.span_count, 5);
    CU_ASSERT_EQUAL(trace.made, 2);
    for (size_t i = 0; i < trace.request.count; i++) {
        const struct cpti_line *line = &trace.request.lines[i];
        const struct cpti_inferred_span *span = &trace.spans[trace.owners[i]];

        CU_ASSERT(span->begin_ns <= line->begin_ns && line->end_ns <= span->end_ns);
        CU_ASSERT_EQUAL(span->service, line->service);
        if (span->service == 2) { /* below the call of its time */
            CU_ASSERT_EQUAL(trace.spans[span->parent].role, CPTI_EVENT_CLIENT);
            CU_ASSERT(trace.spans[span->parent].end_ns >= span->end_ns);
        }
    }
    CU_ASSERT_EQUAL(cpti_event_traces_counts(traces)->points_left_out, 0);
    cpti_event_traces_free(traces);
    cpti_requests_free(requests);
}

/* --- Intervals within a service --- */

enum { GATE, SERVER, CONTROLLER, QUERY, COMMIT, INSIDE };

/* What a service measured within itself, in whole ms: kinds that stamps leave open
 * which of them contains the other, and two that are always equal. If not @is_wider,
 * all of them are. */
static void fill_inside(struct cpti_line lines[INSIDE], bool is_wider)
{
    for (uint32_t k = 0; k < INSIDE; k++) {
        const int64_t by = k >= QUERY && is_wider ? 1 : 0;

        lines[k] = (struct cpti_line){.begin_ns = k == GATE ? 0 : 5 + by,
                                      .end_ns = k == GATE ? 30 : 25 - by,
                                      .kind = k,
                                      .service = k == GATE ? 1 : 2,
                                      .role = k < CONTROLLER ? CPTI_EVENT_SERVER
                                                             : CPTI_EVENT_UNKNOWN,
                                      .resolution_ns = 1,
                                      .is_interval = true};
    }
}

/* The circle of those that are equal stays in its service. */
static void test_inside(void)
{
    static const uint32_t expected[] = {CPTI_NO_PARENT, GATE, SERVER};
    struct cpti_line lines[2][INSIDE];
    struct cpti_nesting *nesting = cpti_nesting_new(NULL);

    for (size_t i = 0; i < 2; i++) {
        const struct cpti_request request = {.lines = lines[i], .count = INSIDE};

        fill_inside(lines[i], i == 1);
        CU_ASSERT_EQUAL(cpti_nesting_learn(nesting, &request), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_nesting_finish(nesting), CPT_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct cpti_request request = {.lines = lines[i], .count = INSIDE};
        uint32_t parents[INSIDE];
        uint32_t entry = 1;

        CU_ASSERT_EQUAL(cpti_nesting_parents(nesting, &request, parents, &entry),
                        CPT_OK);
        CU_ASSERT_EQUAL(memcmp(parents, expected, sizeof expected), 0);
        CU_ASSERT_EQUAL(parents[QUERY], COMMIT);
        CU_ASSERT_EQUAL(parents[COMMIT], i == 1 ? CONTROLLER : SERVER);
    }
    cpti_nesting_free(nesting);
}

/* A call that names its callee, whose lines do not say a role: the outermost one is its
 * other side. */
static void test_no_role(void)
{
    static const uint32_t expected[] = {CPTI_NO_PARENT, 0, 1, 2};
    struct cpti_line lines[] = {{.end_ns = 30, .service = 1},
                                {.begin_ns = 4,
                                 .end_ns = 20,
                                 .kind = 1,
                                 .service = 1,
                                 .peer = 2,
                                 .role = CPTI_EVENT_CLIENT},
                                {.begin_ns = 5, .end_ns = 22, .kind = 2, .service = 2},
                                {.begin_ns = 6, .end_ns = 19, .kind = 3, .service = 2}};
    const struct cpti_request request = {.lines = lines, .count = 4};
    struct cpti_nesting *nesting = cpti_nesting_new(NULL);
    uint32_t parents[4];
    uint32_t entry = 1;

    for (size_t i = 0; i < 4; i++) {
        lines[i].is_interval = true;
    }
    CU_ASSERT_EQUAL(cpti_nesting_learn(nesting, &request), CPT_OK);
    CU_ASSERT_EQUAL(cpti_nesting_finish(nesting), CPT_OK);
    CU_ASSERT_EQUAL(cpti_nesting_parents(nesting, &request, parents, &entry), CPT_OK);
    CU_ASSERT_EQUAL(memcmp(parents, expected, sizeof expected), 0);
    cpti_nesting_free(nesting);
}

static bool scenario(const struct cpt_alloc *alloc)
{
    struct cpti_requests *requests = new_requests(NULL); /* tested elsewhere */
    struct cpti_event_traces *traces = cpti_event_traces_new(alloc, requests);
    const struct cpti_event point = {.id = {"1", 1},
                                     .service = {"z", 1},
                                     .begin_ns = year_2020 + 13 * MS,
                                     .end_ns = year_2020 + 13 * MS};
    struct cpti_event_trace trace;
    cpt_status status = traces != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; i < 3; i++) {
        const int64_t wrong = (int64_t)i * 60 * MS;

        add(requests, "1", i, i + 1, year_2020 + 10 * MS + wrong,
            year_2020 + 20 * MS + wrong);
        add(requests, "1", i + 1, HOSTS, year_2020 + 12 * MS, year_2020 + 15 * MS);
    }
    CU_ASSERT_EQUAL(cpti_requests_add(requests, &point), CPT_OK);
    status = status == CPT_OK ? cpti_event_traces_learn(traces) : status;
    while (status == CPT_OK) {
        status = cpti_event_traces_next(traces, &trace);
    }
    CU_ASSERT(status == CPT_END || status == CPT_NO_MEMORY);
    cpti_event_traces_free(traces);
    cpti_requests_free(requests);
    return status == CPT_END;
}

static void test_memory(void)
{
    each_allocation_failure(scenario);
}

CU_TestInfo cpt_event_traces_tests[] = {
    {"ids of traces", test_ids},
    {"points in order", test_points},
    {"random points", test_random_points},
    {"clocks of hosts", test_clocks},
    {"methods", test_methods},
    {"units that only have points", test_point_units},
    {"no point left out", test_no_point_left_out},
    {"intervals within a service", test_inside},
    {"callees that say no role", test_no_role},
    {"without memory", test_memory},
    CU_TEST_INFO_NULL,
};
