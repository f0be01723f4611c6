/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_span_clocks.c - hosts whose clocks differ
 *
 * Random requests run over random hosts whose clocks are off by what the test knows,
 * with delays that differ by direction. The oracle is the system of difference
 * constraints of all calls, solved by the shortest paths between all pairs of hosts.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { CASES = 2000, SPANS = 60, HOSTS = 8, ID_BYTES = 3, START = 100000000 };

static const int64_t none = INT64_MAX / 4;

/* Resolves @lines and walks; the clocks that were moved are in @clocks. */
static struct cpti_spans_report walk(const char *const *lines,
                                     char text[SPAN_TEXT_BYTES], char clocks[256])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    size_t bytes = 0;

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    span_list_sections(spans, text);
    clocks[0] = '\0';
    for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
        const struct cpti_span_clock *clock = cpti_spans_clock(spans, i);

        const struct cpt_bytes name =
            clock->host.bytes > 0 ? clock->host : clock->service;

        bytes +=
            (size_t)snprintf(clocks + bytes, 256 - bytes, "%s%.*s %+" PRId64 " of %zu",
                             i > 0 ? ", " : "", (int)name.bytes, name.data,
                             clock->offset_ns, clock->spans);
    }
    cpti_spans_free(spans);
    return report;
}

static void expect(const char *const *lines, const char *expected,
                   const char *expected_clocks)
{
    char text[SPAN_TEXT_BYTES];
    char clocks[256];

    (void)walk(lines, text, clocks);
    if (strcmp(text, expected) != 0 || strcmp(clocks, expected_clocks) != 0) {
        printf("\n  got      %s; %s\n", text, clocks);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    CU_ASSERT_STRING_EQUAL(clocks, expected_clocks);
}

static void test_one_call(void)
{
    /* c1 0, s1 1005, s2 1015, c2 20: the way takes 10, the clock is 1000 ahead */
    expect(LINES("a - 0 20 A: get client host=x", "b a 1005 1015 B: get server host=y"),
           "a 0-5, b 5-15, a 15-20", "y +1000 of 1");
    /* all spans of the host are moved */
    expect(LINES("a - 0 20 A: get client host=x", "b a 1005 1015 B: get server host=y",
                 "c b 1007 1010 B: read host=y", "d b 7 8 D: read"),
           "a 0-5, b 5-7, c 7-10, b 10-15, a 15-20", "y +1000 of 2");
    /* within its client's time: nothing is wrong with it */
    expect(LINES("a - 0 20 A: get client host=x", "b a 9 19 B: get server host=y"),
           "a 0-9, b 9-19, a 19-20", "");
    /* by the names of spans that do not say of which side they are */
    expect(LINES("a - 5000 5020 A: get host=x", "b a 105 115 B: get host=y"),
           "a 5000-5005, b 5005-5015, a 5015-5020", "y -4900 of 1");
}

static void test_what_tells_nothing(void)
{
    /* without hosts, on one host, without a call */
    expect(LINES("a - 0 20 A: get client", "b a 1005 1015 B: get server host=y"),
           "a 0-20", "");
    expect(LINES("a - 0 20 A: get client host=x", "b a 1005 1015 B: get server host=x"),
           "a 0-20", "");
    expect(LINES("a - 0 20 A: get host=x", "b a 1005 1015 B: put host=y"), "a 0-20",
           "");
    /* a server that took longer than its client was not waited for to the end */
    expect(LINES("a - 0 20 A: get client host=x", "b a 10 40 B: get server host=y"),
           "a 0-10, b 10-20", "");
    /* but nothing begins before what began it */
    expect(LINES("a - 100 200 A: get producer host=x", "b a 40 50 B: get host=y"),
           "b 100-110, a 110-200", "y -60 of 1");
}

/* Microseconds are cut: an error of two is none. */
static void test_microseconds(void)
{
    expect(LINES("a - 1000 20000 A: get client host=x",
                 "b a 9000 22000 B: get server host=y"),
           "a 1000-9000, b 9000-20000", "");
    expect(LINES("a - 1000 20000 A: get client host=x",
                 "b a 9000 23000 B: get server host=y"),
           "a 1000-3500, b 3500-17500, a 17500-20000", "y +5500 of 1");
}

/* Of several calls the narrowest bounds count; hosts that fit stay. */
static void test_several(void)
{
    expect(
        LINES("a - 0 1000 A: / server host=x", "b a 100 200 A: get client host=x",
              "c b 5110 5120 B: get server host=y", "d a 300 400 A: get client host=x",
              "e d 5380 5390 B: get server host=y",
              "f c 5112 5118 B: put client host=y", "g f 113 115 C: put server host=z"),
        "a 0-100, b 100-110, c 110-112, f 112-113, g 113-115, f 115-118, "
        "c 118-120, b 120-200, a 200-300, d 300-380, e 380-390, d 390-400, "
        "a 400-1000",
        "y +5000 of 3");
}

static void test_contradictions(void)
{
    char text[SPAN_TEXT_BYTES];
    char clocks[256];
    /* two calls whose bounds exclude each other, by drift or a lie: nothing tells which
     * one is right, so the clock is moved as little as can be, and not by their mean */
    const struct cpti_spans_report report =
        walk(LINES("a - 10000 11000 A: / server host=x",
                   "b a 10100 10120 A: get client host=x",
                   "c b 11105 11115 B: get server host=y",
                   "d a 10300 10320 A: get client host=x",
                   "e d 12305 12315 B: get server host=y"),
             text, clocks);

    CU_ASSERT_EQUAL(report.contradictions, 1);
    CU_ASSERT_EQUAL(report.doubted, 1);
    CU_ASSERT_STRING_EQUAL(clocks, "y +1000 of 2");
    /* times that would leave their range: nothing is moved */
    expect(LINES("a - 0 20 A: get client host=x", "b a 1005 1015 B: get server host=y",
                 "c - 10 20 C: x host=y"),
           "a 0-20", "");
}

/* Processes that name no host are clocks of their own. */
static void test_processes(void)
{
    expect(LINES("a - 0 20 A: get client process=1",
                 "b a 1005 1015 B: get server process=2",
                 "c b 1007 1010 B: x process=2"),
           "a 0-5, b 5-7, c 7-10, b 10-15, a 15-20", "B +1000 of 2");
    expect(
        LINES("a - 0 20 A: get client process=1", "b a 1005 1015 B: get server host=y"),
        "a 0-5, b 5-15, a 15-20", "y +1000 of 1");
    expect(
        LINES("a - 0 20 A: get client host=x", "b a 1005 1015 A: get server process=2"),
        "a 0-5, b 5-15, a 15-20", "A +1000 of 1");
    expect(
        LINES("a - 0 20 A: get client process=1", "b a 9 19 B: get server process=2"),
        "a 0-9, b 9-19, a 19-20", "");
}

/* Processes of which nothing is known that tells them apart: what their calls say shows
 * it. Then spans that surely are of one process stay together. */
static void test_same_processes(void)
{
    expect(
        LINES("a - 0 100 A: / server process=1", "b a 10 30 A: x client process=1",
              "c a 40 60 A: x client process=1", "d b 5015 5025 B: x server process=2",
              "e d 5016 5018 B: read process=2", "f c 9045 9055 B: x server process=2"),
        "a 0-10, b 10-15, d 15-16, e 16-18, d 18-25, b 25-30, a 30-40, c 40-45, "
        "f 45-55, c 55-60, a 60-100",
        "B +5000 of 2, B +9000 of 1");
    /* one calls another; "d" is of the caller */
    expect(LINES("a - 0 100 A: / server process=1", "b a 10 50 A: x client process=1",
                 "c b 5020 5040 A: x server process=1", "d a 60 70 A: read process=1"),
           "a 0-10, b 10-20, c 20-40, b 40-50, a 50-60, d 60-70, a 70-100",
           "A +5000 of 1");
    /* a call of itself that ends late is none */
    expect(LINES("a - 0 100 A: / server process=1", "b a 10 50 A: x client process=1",
                 "c b 30 60 A: x server process=1"),
           "a 0-10, b 10-30, c 30-50, a 50-100", "");
    /* where the clock of one process fits all calls, it is one */
    expect(LINES("a - 0 100 A: / server process=1", "b a 10 30 A: x client process=1",
                 "c a 40 60 A: x client process=1",
                 "d b 5012 5022 B: x server process=2",
                 "f c 5046 5056 B: x server process=2"),
           "a 0-10, b 10-13, d 13-23, b 23-30, a 30-40, c 40-47, f 47-57, c 57-60, "
           "a 60-100",
           "B +4999 of 2");
    /* spans in a cycle, and below it */
    expect(LINES("a - 0 20 A: get client process=1",
                 "b a 1005 1015 B: x server process=2",
                 "g a 2005 2015 B: x server process=2", "c d 1 2 B: x process=2",
                 "d c 1 2 B: x process=2", "e d 1 2 B: x process=2"),
           "a 0-5, b 5-15, a 15-20", "B +1000 of 1, B +2000 of 1");
}

/* --- Simulation --- */

struct world {
    struct test_random *random;
    struct cpti_span spans[SPANS];
    char ids[SPANS][ID_BYTES + 1];
    int parent[SPANS];
    int host_of[SPANS];
    int64_t offsets[HOSTS];
    int64_t drift[HOSTS]; /* in a million */
    int hosts;
    int count;
    int alike;        /* 0: hosts have names; else how many processes say the same */
    bool calls_alike; /* one of those called another */
};

static const char *const host_names[HOSTS] = {"e", "b", "h", "a", "f", "c", "g", "d"};

static uint64_t stamp(const struct world *world, int host, uint64_t now)
{
    return (uint64_t)((int64_t)(START + now) + world->offsets[host] +
                      world->drift[host] * (int64_t)now / 1000000);
}

static int begin(struct world *world, int parent, int host, unsigned char kind)
{
    const int number = world->count++;

    world->parent[number] = parent;
    world->host_of[number] = host;
    world->spans[number] = (struct cpti_span){.id = {world->ids[number], ID_BYTES},
                                              .kind = kind,
                                              .service = {host_names[host], 1},
                                              .has_time = true};
    if (world->alike == 0) {
        world->spans[number].host = world->spans[number].service;
    } else {
        world->spans[number].process = 1 + (uint64_t)(host / world->alike);
    }
    if (parent >= 0) {
        world->spans[number].parent = world->spans[parent].id;
        world->calls_alike |=
            world->host_of[parent] != host &&
            world->spans[parent].process == world->spans[number].process &&
            world->alike > 0;
    }
    return number;
}

static void end(struct world *world, int span, uint64_t from, uint64_t to)
{
    const int host = world->host_of[span];

    world->spans[span].start_ns = stamp(world, host, from);
    world->spans[span].duration_ns =
        stamp(world, host, to) - world->spans[span].start_ns;
}

/* Serves a request at @host from @now on, and calls other hosts. */
static uint64_t serve(struct world *world, int parent, int host, uint64_t now,
                      int depth)
{
    const uint64_t from = now;
    const int server = begin(world, parent, host, CPTI_SPAN_SERVER);

    now += test_random_below(world->random, 500);
    for (uint64_t calls = test_random_below(world->random, 4); calls > 0; calls--) {
        const uint64_t called = now;
        int client = 0;

        if (depth == 0 || world->count > SPANS - 4) {
            break;
        }
        client = begin(world, server, host, CPTI_SPAN_CLIENT);
        now += test_random_below(world->random, 2000); /* the way there, … */
        now = serve(world, client,
                    (int)test_random_below(world->random, (uint64_t)world->hosts), now,
                    depth - 1);
        now += test_random_below(world->random, 300); /* … and back */
        end(world, client, called, now);
        now += test_random_below(world->random, 500);
    }
    end(world, server, from, now);
    return now;
}

static void make(struct world *world, bool is_skewed, bool drifts)
{
    *world = (struct world){.random = world->random, .alike = world->alike};
    world->hosts = 2 + (int)test_random_below(world->random, HOSTS - 1);
    for (int i = 0; i < SPANS; i++) {
        (void)snprintf(world->ids[i], sizeof world->ids[i], "%03u",
                       (unsigned)(i * 7) % 1000);
    }
    for (int i = 0; i < world->hosts && is_skewed; i++) {
        const uint64_t range = test_random_chance(world->random, 50) ? 20000000 : 2000;

        world->offsets[i] = test_random_chance(world->random, 30)
                                ? 0
                                : (int64_t)test_random_below(world->random, range) -
                                      (int64_t)(range / 2);
        world->drift[i] = drifts ? (int64_t)test_random_below(world->random, 200) : 0;
    }
    (void)serve(world, -1, 0, 0, 4);
}

/* What the calls tell: limits[i][j] is the most that clock j is ahead of clock i; all
 * together, by way of all other hosts. */
static void close_limits(const struct world *world, int64_t limits[HOSTS][HOSTS])
{
    for (int i = 0; i < HOSTS; i++) {
        for (int j = 0; j < HOSTS; j++) {
            limits[i][j] = i == j ? 0 : none;
        }
    }
    for (int k = 0; k < world->count; k++) {
        const struct cpti_span *server = &world->spans[k];
        const int to = world->host_of[k];
        const int from = world->parent[k] < 0 ? to : world->host_of[world->parent[k]];

        if (from != to) {
            const struct cpti_span *client = &world->spans[world->parent[k]];
            const int64_t error =
                client->start_ns % 1000 == 0 && client->duration_ns % 1000 == 0 &&
                        server->start_ns % 1000 == 0 && server->duration_ns % 1000 == 0
                    ? 2000
                    : 0;
            const int64_t most =
                (int64_t)server->start_ns - (int64_t)client->start_ns + error;
            const int64_t least = (int64_t)(server->start_ns + server->duration_ns) -
                                  (int64_t)(client->start_ns + client->duration_ns) -
                                  error;

            limits[from][to] = most < limits[from][to] ? most : limits[from][to];
            limits[to][from] = -least < limits[to][from] ? -least : limits[to][from];
        }
    }
    for (int k = 0; k < HOSTS; k++) {
        for (int i = 0; i < HOSTS; i++) {
            for (int j = 0; j < HOSTS; j++) {
                const int64_t by = limits[i][k] + limits[k][j];

                limits[i][j] = by < limits[i][j] ? by : limits[i][j];
            }
        }
    }
}

static void resolve(struct cpti_spans *spans, const struct world *world,
                    struct cpti_spans_report *report)
{
    const int first =
        (int)test_random_below(world->random, (uint64_t)world->count); /* any order */
    uint64_t at = 0;

    cpti_spans_reset(spans);
    for (int k = 0; k < world->count; k++) {
        CU_ASSERT_EQUAL(
            cpti_spans_add(spans, &world->spans[(first + k) % world->count]), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    at = cpti_spans_start_ns(spans, cpti_spans_root(spans));
    CU_ASSERT_EQUAL(at, world->spans[0].start_ns);
    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        CU_ASSERT_EQUAL(cpti_spans_section(spans, i)->start_ns, at);
        at = cpti_spans_section(spans, i)->end_ns;
    }
    CU_ASSERT_EQUAL(at, world->spans[0].start_ns + world->spans[0].duration_ns);
}

/* By how much clock @host was put right, and how wrong that may be. */
static int64_t found_offset(const struct cpti_spans *spans, int host,
                            uint64_t *error_ns)
{
    for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
        const struct cpti_span_clock *clock = cpti_spans_clock(spans, i);

        if (clock->service.data[0] == host_names[host][0]) {
            *error_ns = clock->error_ns;
            return clock->offset_ns;
        }
    }
    return 0;
}

static bool is_right(const struct world *world, const struct cpti_spans *spans)
{
    int64_t limits[HOSTS][HOSTS];
    int64_t offsets[HOSTS] = {0};

    close_limits(world, limits);
    for (int i = 0; i < world->hosts; i++) {
        const int64_t truth = world->offsets[i] - world->offsets[0];
        uint64_t claimed = 0;
        int64_t wrong = 0;

        offsets[i] = found_offset(spans, i, &claimed);
        wrong = offsets[i] > truth ? offsets[i] - truth : truth - offsets[i];
        if (limits[0][i] == none) {
            continue; /* it is in no call */
        }
        const int64_t above = limits[0][i] - offsets[i];
        const int64_t below = offsets[i] + limits[i][0];
        const int64_t most = above > below ? above : below;

        if (above < 0 || below < 0 || wrong > most ||
            (offsets[i] != 0 && claimed != (uint64_t)most)) {
            return false;
        }
    }
    for (int i = 0; i < world->hosts; i++) {
        for (int j = 0; j < world->hosts; j++) {
            if (offsets[j] - offsets[i] > limits[i][j]) {
                return false; /* some answer comes before its question */
            }
        }
    }
    return true;
}

static void test_known_clocks(void)
{
    const uint64_t seed = test_random_seed("clocks of hosts");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    size_t moved = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct world world = {.random = &random, .alike = (int)(i % 2)};
        struct cpti_spans_report report;

        make(&world, true, false);
        resolve(spans, &world, &report);
        moved += cpti_spans_clock_count(spans);
        if (report.contradictions != 0 || report.dropped != 0 || report.clipped != 0 ||
            !is_right(&world, spans)) {
            printf("\n  seed %" PRIu64 ": %zu, %zu, %zu\n", seed + i,
                   report.contradictions, report.dropped, report.clipped);
            CU_FAIL("not within the bounds");
            break;
        }
    }
    CU_ASSERT_TRUE(moved > 0);
    cpti_spans_free(spans);
}

/* Of several processes that say the same, each is within the time of its caller. */
static void test_known_clocks_of_same(void)
{
    const uint64_t seed = test_random_seed("clocks of processes that say the same");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    size_t apart = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct world world = {.random = &random, .alike = 2 + (int)(i % 3)};
        struct cpti_spans_report report;

        make(&world, true, false);
        resolve(spans, &world, &report);
        apart += cpti_spans_clock_count(spans) > (size_t)world.hosts;
        if (report.contradictions != 0 ||
            (!world.calls_alike && (report.dropped != 0 || report.clipped != 0))) {
            printf("\n  seed %" PRIu64 ": %zu, %zu, %zu\n", seed + i,
                   report.contradictions, report.dropped, report.clipped);
            CU_FAIL("a call outside of its caller's time");
            break;
        }
    }
    CU_ASSERT_TRUE(apart > 0);
    cpti_spans_free(spans);
}

static void test_right_clocks_stay(void)
{
    const uint64_t seed = test_random_seed("clocks that are right");
    const uint64_t cases = test_case_count(CASES / 4);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct world world = {.random = &random};
        struct cpti_spans_report report;

        make(&world, false, false);
        resolve(spans, &world, &report);
        CU_ASSERT_EQUAL(cpti_spans_clock_count(spans), 0);
        for (uint32_t k = 0; k < cpti_spans_count(spans); k++) {
            const struct cpti_span *span = cpti_spans_at(spans, k);

            CU_ASSERT_EQUAL(cpti_spans_start_ns(spans, k), span->start_ns);
        }
    }
    cpti_spans_free(spans);
}

/* Clocks that run at other speeds: offsets are wrong by no more than the bounds, and
 * what the clocks ran apart meanwhile; sections always tile the root (resolve()). */
static void test_drift(void)
{
    const uint64_t seed = test_random_seed("clocks that drift");
    const uint64_t cases = test_case_count(CASES / 2);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct world world = {.random = &random};
        struct cpti_spans_report report;

        make(&world, true, true);
        resolve(spans, &world, &report);
        for (size_t k = 0; k < cpti_spans_clock_count(spans); k++) {
            const struct cpti_span_clock *clock = cpti_spans_clock(spans, k);
            const int64_t apart =
                400 * (int64_t)world.spans[0].duration_ns / 1000000 + 1;
            int host = 0;
            int64_t wrong = 0;

            while (host_names[host][0] != clock->host.data[0]) {
                host++;
            }
            wrong = clock->offset_ns - world.offsets[host] + world.offsets[0];
            wrong = wrong < 0 ? -wrong : wrong;
            CU_ASSERT_TRUE(clock->error_ns == UINT64_MAX ||
                           wrong <= (int64_t)clock->error_ns + apart);
        }
    }
    cpti_spans_free(spans);
}

static bool resolves_over(const struct cpt_alloc *alloc)
{
    /* two processes that say the same are taken apart */
    static const char *const lines[] = {"a - 0 20 A: get client host=x",
                                        "b a 1005 1015 B: get server process=1",
                                        "c a 2005 2015 B: get server process=1", NULL};
    struct cpti_spans *spans = cpti_spans_new(alloc);
    struct cpti_spans_report report;
    cpt_status status = CPT_NO_MEMORY;

    if (spans == NULL) {
        return false;
    }
    for (size_t i = 0; lines[i] != NULL; i++) {
        status = span_list_try(spans, lines[i]);
        if (status != CPT_OK) {
            cpti_spans_free(spans);
            return false;
        }
    }
    status = cpti_spans_resolve(spans, &report);
    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpti_spans_free(spans);
    return status == CPT_OK;
}

static void test_without_memory(void)
{
    each_allocation_failure(resolves_over);
}

CU_TestInfo cpt_span_clocks_tests[] = {
    {"one call", test_one_call},
    {"what tells nothing", test_what_tells_nothing},
    {"microseconds", test_microseconds},
    {"several", test_several},
    {"contradictions", test_contradictions},
    {"processes", test_processes},
    {"same processes", test_same_processes},
    {"known clocks", test_known_clocks},
    {"known clocks of same", test_known_clocks_of_same},
    {"right clocks stay", test_right_clocks_stay},
    {"drift", test_drift},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
