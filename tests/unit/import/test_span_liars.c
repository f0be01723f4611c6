/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_span_liars.c - spans that contradict what others tell of clocks
 *
 * Random requests whose true times the test knows: some spans lie, clocks are set or
 * drift meanwhile, calls are given up. What is true must be believed, and nothing else.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

enum {
    CASES = 1000,
    SPANS = 1000,
    HOSTS = 5,
    ID_BYTES = 4,
    START = 2000000000,
    WAY = 300, /* from client to server at most, and back */
    CALLS_MIN = 3
};

/* --- By hand --- */

/* Three calls to y that are right; "e" is below the last one. */
#define GOOD                                                                           \
    "a - 100000 200000 A: / server host=x", "b a 120000 135000 A: x client host=x",    \
        "c b 121000 134000 B: x server host=y",                                        \
        "d a 140000 155000 A: x client host=x",                                        \
        "f d 141000 154000 B: x server host=y", "g a 160000 175000 A: x client host=x"

#define GOOD_SECTIONS                                                                  \
    "a 100000-120000, b 120000-121000, c 121000-134000, b 134000-135000, "             \
    "a 135000-140000, d 140000-141000, f 141000-154000, d 154000-155000, "             \
    "a 155000-160000, "

#define LAST "g 160000-161000, h 161000-174000, g 174000-175000, a 175000-200000"

/* Expects the sections, @doubted spans that are not believed, and no clock moved. */
static void expect(const char *const *lines, const char *expected, size_t doubted)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    char text[SPAN_TEXT_BYTES];

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    span_list_sections(spans, text);
    if (strcmp(text, expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    CU_ASSERT_EQUAL(report.doubted, doubted);
    CU_ASSERT_EQUAL(report.contradictions > 0, doubted > 0);
    CU_ASSERT_EQUAL(cpti_spans_clock_count(spans), 0);
    cpti_spans_free(spans);
}

static void test_leaked_parent(void)
{
    expect(LINES(GOOD, "h g 161000 174000 B: x server host=y"), GOOD_SECTIONS LAST, 0);
    /* any number of children that began long before */
    expect(LINES(GOOD, "h g 161000 174000 B: x server host=y",
                 "e g 20000 50000 B: flush host=y"),
           GOOD_SECTIONS LAST, 1);
    expect(LINES(GOOD, "h g 161000 174000 B: x server host=y",
                 "e g 20000 50000 B: flush host=y", "i g 20100 50000 B: flush host=y",
                 "j g 20200 50000 B: flush host=y", "k d 20300 50000 B: flush host=y"),
           GOOD_SECTIONS LAST, 4);
    /* also where processes name no host, and are not taken apart by it */
    expect(LINES("a - 100000 200000 A: / server process=1",
                 "b a 120000 135000 A: x client process=1",
                 "c b 121000 134000 B: x server process=2",
                 "e b 20000 50000 B: flush process=2"),
           "a 100000-120000, b 120000-121000, c 121000-134000, b 134000-135000, "
           "a 135000-200000",
           1);
    /* children alone, without calls: the one that leaked pulls no other out */
    expect(LINES("a - 100000 200000 A: / server host=x",
                 "b a 120000 130000 B: x host=y", "c a 140000 150000 B: y host=y",
                 "e a 20000 50000 B: flush host=y"),
           "a 100000-120000, b 120000-130000, a 130000-140000, c 140000-150000, "
           "a 150000-200000",
           1);
}

/* What nothing waits for tells nothing of clocks. */
static void test_asynchronous(void)
{
    expect(LINES(GOOD, "h g 161000 174000 B: x server host=y",
                 "e g 20000 50000 B: flush host=y async"),
           GOOD_SECTIONS LAST, 0);
    expect(LINES("a - 100000 200000 A: / producer host=x",
                 "b a 20000 50000 B: x consumer host=y"),
           "a 100000-200000", 0);
    expect(LINES("a - 100000 200000 A: / server host=x",
                 "b a 20000 50000 B: x server host=y async"),
           "a 100000-200000", 0);
}

/* A call or two by another clock than the rest are left out. */
static void test_few_of_another_clock(void)
{
    expect(LINES(GOOD, "h g 121000 134000 B: x server host=y"),
           GOOD_SECTIONS "g 160000-175000, a 175000-200000", 1);
}

/* Its client ended before the server did: by a timeout, or as it was cancelled. */
static void test_given_up(void)
{
    static const char *const root = "a - 100000 200000 A: / server host=x";
    static const char *const failed = "b a 120000 130000 A: x client host=x failed";

    /* the server went on, or began only then */
    expect(LINES(root, failed, "c b 125000 133000 B: x server host=y"),
           "a 100000-120000, b 120000-125000, c 125000-130000, a 130000-200000", 0);
    expect(LINES(root, failed, "c b 131000 139000 B: x server host=y"),
           "a 100000-120000, b 120000-130000, a 130000-200000", 0);
    /* it saw the same deadline pass */
    expect(LINES(root, failed, "c b 125000 131000 B: x server host=y failed"),
           "a 100000-120000, b 120000-125000, c 125000-130000, a 130000-200000", 0);
}

/* The second attempt was answered first, so the first one was given up. */
static void test_hedges(void)
{
    static const char *const root = "a - 100000 200000 A: / server host=x";

    expect(LINES(root, "b a 120001 150000 A: x client host=x",
                 "c b 121000 150900 B: x server host=y",
                 "d a 140000 150000 A: x client host=x",
                 "e d 141000 149000 B: x server host=z"),
           "a 100000-120001, b 120001-121000, c 121000-150000, a 150000-200000", 0);
    /* the one that was answered was the first; spans that do not say of which side */
    expect(LINES(root, "b a 120001 150000 A: x host=x", "c b 121000 149000 B: x host=y",
                 "d a 140000 150000 A: x host=x", "e d 141000 150500 B: x host=z"),
           "a 100000-120001, b 120001-121000, c 121000-149000, b 149000-150000, "
           "a 150000-200000",
           0);
}

/* Calls side by side that end together are no attempts of one if their servers' clocks
 * are ahead, nor if they are of different operations. */
static void test_calls_side_by_side(void)
{
    static const char *const both[] = {
        "a - 100000 200000 A: / server host=x", "b a 120001 150000 A: x client host=x",
        "c b 161000 189000 B: x server host=y", "d a 130000 150000 A: x client host=x",
        "e d 171000 189000 B: x server host=y", NULL};
    static const char *const others[] = {
        "a - 100000 200000 A: / server host=x", "b a 120001 150000 A: x client host=x",
        "c b 161000 189000 B: x server host=y", "d a 130000 150000 A: y client host=x",
        "e d 131000 149000 C: y server host=z", NULL};
    const char *const *const all[] = {both, others};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cpti_spans *spans = cpti_spans_new(NULL);
        struct cpti_spans_report report;

        span_list_add(spans, all[i]);
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_clock_count(spans), 1);
        CU_ASSERT_TRUE(cpti_spans_clock(spans, 0)->offset_ns > 38000);
        CU_ASSERT_EQUAL(report.dropped, 0);
        cpti_spans_free(spans);
    }
}

/* But clocks that differ are seen, also by calls that failed. */
static void test_failed_calls(void)
{
    static const struct {
        const char *server;
        int64_t offset_ns;
    } cases[] = {
        {"c b 525000 533000 B: x server host=y failed", 404000},
        {"c b 20000 28000 B: x server host=y", -100000}, /* it began later */
        {"c b 20000 28000 B: x server host=y failed", -101000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpti_spans *spans = cpti_spans_new(NULL);
        struct cpti_spans_report report;

        span_list_add(spans, LINES("a - 100001 200000 A: / server host=x",
                                   "b a 120000 130000 A: x client host=x failed",
                                   cases[i].server));
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_clock_count(spans), 1);
        CU_ASSERT_TRUE(cpti_spans_clock(spans, 0)->offset_ns <=
                       cases[i].offset_ns + 2000);
        CU_ASSERT_TRUE(cpti_spans_clock(spans, 0)->offset_ns >=
                       cases[i].offset_ns - 2000);
        CU_ASSERT_EQUAL(report.doubted, 0);
        cpti_spans_free(spans);
    }
}

/* --- Simulation --- */

struct call {
    int client;
    int server;
    int visit; /* the server's span that called */
    uint64_t from;
    uint64_t to;
};

struct world {
    struct test_random *random;
    struct cpti_span spans[SPANS];
    char ids[SPANS][ID_BYTES + 1];
    bool is_lie[SPANS];
    int host_of[SPANS];
    uint64_t began[SPANS];
    struct call calls[SPANS];
    int64_t offsets[HOSTS];
    uint64_t set_at[HOSTS]; /* when its clock is set, … */
    int64_t set_by[HOSTS];  /* … by so much; 0: it is not */
    int64_t drift[HOSTS];   /* in a million */
    int hosts;
    int count;
    int call_count;
    uint64_t now;
};

static const char *const host_names[HOSTS] = {"e", "b", "d", "a", "c"};

static uint64_t below(struct world *world, uint64_t limit)
{
    return test_random_below(world->random, limit);
}

/* From -@range to @range, but no nearer to 0 than @least. */
static int64_t far(struct world *world, int64_t least, int64_t range)
{
    const int64_t by = least + (int64_t)below(world, (uint64_t)(range - least));

    return test_random_chance(world->random, 50) ? by : -by;
}

static uint64_t stamp(const struct world *world, int host, uint64_t now)
{
    return (uint64_t)((int64_t)(START + now) + world->offsets[host] +
                      (now >= world->set_at[host] ? world->set_by[host] : 0) +
                      world->drift[host] * (int64_t)now / 1000000);
}

static int add(struct world *world, int parent, int host, unsigned char kind,
               uint64_t from, uint64_t to)
{
    const int number = world->count++;

    (void)snprintf(world->ids[number], sizeof world->ids[number], "%04d",
                   number * 7 % 1000 + 1);
    world->host_of[number] = host;
    world->began[number] = from;
    world->spans[number] = (struct cpti_span){.id = {world->ids[number], ID_BYTES},
                                              .kind = kind,
                                              .service = {host_names[host], 1},
                                              .operation = {"x", 1},
                                              .host = {host_names[host], 1},
                                              .start_ns = stamp(world, host, from),
                                              .duration_ns = to - from,
                                              .has_time = true};
    if (parent >= 0) {
        world->spans[number].parent = world->spans[parent].id;
    }
    return number;
}

/* A call of @host from the visit of @caller, from @from on, for @ns. */
static int call(struct world *world, int caller, int host, uint64_t from, uint64_t ns)
{
    const uint64_t there = 1 + below(world, WAY);
    const uint64_t back = 1 + below(world, WAY);
    const int client =
        add(world, caller, world->host_of[caller], CPTI_SPAN_CLIENT, from, from + ns);
    const int server =
        add(world, client, host, CPTI_SPAN_SERVER, from + there, from + ns - back);

    world->calls[world->call_count++] =
        (struct call){client, server, caller, from, from + ns};
    return server;
}

static int other_host(struct world *world, int host)
{
    const int by = 1 + (int)below(world, (uint64_t)world->hosts - 1);

    return (host + by) % world->hosts;
}

/* A request of @calls calls, one after the other; some call further. */
static void run(struct world *world, int calls, unsigned nested_percent)
{
    const uint64_t longest = 3000;
    const int root = add(world, -1, 0, CPTI_SPAN_SERVER, 0, 0);

    world->now = 100;
    for (int i = 0; i < calls; i++) {
        const uint64_t ns = 2000 + below(world, longest - 2000);
        const int host = 1 + (int)below(world, (uint64_t)world->hosts - 1);
        const int server = call(world, root, host, world->now, ns);

        if (test_random_chance(world->random, nested_percent)) {
            (void)call(world, server, other_host(world, host), world->now + WAY + 1,
                       1000);
        }
        world->now += ns + 1 + below(world, 300);
    }
    world->spans[root].duration_ns = world->now + 100;
}

static void begin(struct world *world, struct test_random *random)
{
    memset(world, 0, sizeof *world);
    world->random = random;
    world->hosts = 2 + (int)below(world, HOSTS - 1);
}

/* Resolves the spans, in any order; *@turned is added to their numbers. */
static struct cpti_spans_report resolve(struct cpti_spans *spans, struct world *world,
                                        int *turned)
{
    struct cpti_spans_report report;

    *turned = (int)below(world, (uint64_t)world->count);
    cpti_spans_reset(spans);
    for (int k = 0; k < world->count; k++) {
        const int number = (k + world->count - *turned) % world->count;

        CU_ASSERT_EQUAL(cpti_spans_add(spans, &world->spans[number]), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    return report;
}

static uint32_t place(const struct world *world, int number, int turned)
{
    return (uint32_t)((number + turned) % world->count);
}

static bool is_set_within(const struct world *world, int host, uint64_t from,
                          uint64_t to)
{
    return world->set_by[host] != 0 && world->set_at[host] > from &&
           world->set_at[host] <= to;
}

/* Whether a clock is set while @call runs, or since the visit that calls began. */
static bool is_in_step(const struct world *world, const struct call *call)
{
    return is_set_within(world, world->host_of[call->server], call->from, call->to) ||
           is_set_within(world, world->host_of[call->client], world->began[call->visit],
                         call->to);
}

/* How many of the calls that are true are not within their clients, or not believed. */
static int count_lost(const struct world *world, const struct cpti_spans *spans,
                      int turned)
{
    int lost = 0;

    for (int i = 0; i < world->call_count; i++) {
        const struct call *call = &world->calls[i];
        const uint32_t server = place(world, call->server, turned);
        const struct cpti_span *inner = cpti_spans_at(spans, server);
        const struct cpti_span *outer =
            cpti_spans_at(spans, place(world, call->client, turned));

        if (!world->is_lie[call->server] && !is_in_step(world, call)) {
            lost += cpti_spans_is_doubted(spans, server) ||
                    inner->start_ns < outer->start_ns ||
                    inner->start_ns + inner->duration_ns >
                        outer->start_ns + outer->duration_ns;
        }
    }
    return lost;
}

/* How many calls from the root to @host begin from @from to @to, and are no lies. */
static int calls_to(const struct world *world, int host, uint64_t from, uint64_t to)
{
    int count = 0;

    for (int i = 0; i < world->call_count; i++) {
        const struct call *call = &world->calls[i];

        count += call->visit == 0 && world->host_of[call->server] == host &&
                 !world->is_lie[call->server] && call->from >= from && call->to < to;
    }
    return count;
}

/* Makes one call of each host a lie that is called often enough, and adds children
 * that begin before their parents. */
static size_t lie(struct world *world)
{
    bool has_lied[HOSTS] = {false};
    const int calls = world->call_count;
    size_t lies = 0;

    for (int i = 0; i < calls; i++) {
        const struct call *call = &world->calls[i];
        const int host = world->host_of[call->server];

        if (call->visit != 0 ||
            calls_to(world, host, 0, UINT64_MAX) < CALLS_MIN + !has_lied[host]) {
            continue;
        }
        if (!has_lied[host] && test_random_chance(world->random, 50)) {
            world->spans[call->server].start_ns +=
                (uint64_t)far(world, 10000000, 1000000000);
            world->is_lie[call->server] = true;
            has_lied[host] = true;
            lies++;
        } else if (test_random_chance(world->random, 30)) {
            const int child = add(world, call->client, host, CPTI_SPAN_INTERNAL,
                                  call->from, call->to);

            world->spans[child].start_ns -= 10000000 + below(world, 1000000000);
            world->is_lie[child] = true;
            lies++;
        }
    }
    return lies;
}

/* One that lies outvotes none: each lie, and nothing else, is doubted; clocks that are
 * right are not moved. */
static void test_liars(void)
{
    const uint64_t seed = test_random_seed("spans that lie of clocks");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    static struct world world;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        const bool is_right = i % 2 == 0;
        struct cpti_spans_report report;
        size_t lies = 0;
        int turned = 0;

        begin(&world, &random);
        for (int k = 1; k < world.hosts && !is_right; k++) {
            world.offsets[k] = far(&world, 1, 1000000);
        }
        run(&world, 4 + (int)below(&world, 60), 0);
        lies = lie(&world);
        report = resolve(spans, &world, &turned);
        if (report.doubted != lies || count_lost(&world, spans, turned) != 0 ||
            (is_right && cpti_spans_clock_count(spans) != 0)) {
            printf("\n  seed %" PRIu64 ": %zu doubted of %zu, %d lost, %zu moved\n",
                   seed + i, report.doubted, lies, count_lost(&world, spans, turned),
                   cpti_spans_clock_count(spans));
            CU_FAIL("a lie is believed, or the truth is not");
            break;
        }
    }
    cpti_spans_free(spans);
}

/* Sets the clocks of some hosts in the middle, where there are calls on both sides. */
static void set_clocks(struct world *world)
{
    for (int host = 1; host < world->hosts; host++) {
        world->set_at[host] = 1 + below(world, 120000);
        world->set_by[host] =
            test_random_chance(world->random, 60) ? far(world, 20000, 50000000) : 0;
        world->offsets[host] = far(world, 1, 1000000);
    }
}

static bool is_clear(const struct world *world)
{
    for (int host = 1; host < world->hosts; host++) {
        if (world->set_by[host] != 0 &&
            (calls_to(world, host, 0, world->set_at[host]) < CALLS_MIN ||
             calls_to(world, host, world->set_at[host], UINT64_MAX) < CALLS_MIN)) {
            return false;
        }
    }
    return true;
}

/* A clock that is set in the middle: all calls but those meanwhile are put right. */
static void test_steps(void)
{
    const uint64_t seed = test_random_seed("clocks that are set");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    static struct world world;
    size_t seen = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        int turned = 0;

        begin(&world, &random);
        set_clocks(&world);
        run(&world, 40, i % 2 == 0 ? 0 : 20);
        if (!is_clear(&world)) {
            continue;
        }
        seen++;
        (void)resolve(spans, &world, &turned);
        if (count_lost(&world, spans, turned) != 0) {
            printf("\n  seed %" PRIu64 ": %d of %d calls lost\n", seed + i,
                   count_lost(&world, spans, turned), world.call_count);
            CU_FAIL("a call is left out that was not made during a step");
            break;
        }
    }
    CU_ASSERT_TRUE(seen > cases / 4);
    cpti_spans_free(spans);
}

/* Clocks that drift by many times what calls take on their way: nothing is left out. */
static void test_drift(void)
{
    const uint64_t seed = test_random_seed("clocks that drift in a long trace");
    const uint64_t cases = test_case_count(CASES / 4);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    static struct world world;
    int calls = 0;
    int lost = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        int turned = 0;

        begin(&world, &random);
        for (int k = 1; k < world.hosts; k++) {
            world.drift[k] = far(&world, 300, 1000);
        }
        run(&world, 400, 0);
        (void)resolve(spans, &world, &turned);
        calls += world.call_count;
        lost += count_lost(&world, spans, turned);
    }
    printf("(%d of %d calls left out) ", lost, calls);
    CU_ASSERT_TRUE(lost * 100 <= calls);
    cpti_spans_free(spans);
}

/* Makes @call a hedge that was given up: another attempt was answered before. */
static void hedge(struct world *world, const struct call *first)
{
    struct cpti_span *client = &world->spans[first->client];
    const struct cpti_span *server = &world->spans[first->server];
    const uint64_t end = server->start_ns + server->duration_ns;
    const int host = other_host(world, world->host_of[first->client]);
    const struct call *second = &world->calls[world->call_count];

    (void)call(world, first->visit, host, first->from + 10, 1000);
    client->duration_ns = end - client->start_ns - 1 - below(world, WAY);
    world->spans[second->client].start_ns =
        client->start_ns + client->duration_ns - 1000;
    world->spans[second->server].start_ns =
        world->spans[second->client].start_ns + WAY + 1;
    world->spans[second->server].duration_ns = 1000 - 2 * WAY;
}

/* Lets the client of @call give up while the server goes on, or before it begins. */
static void give_up(struct world *world, const struct call *call)
{
    struct cpti_span *client = &world->spans[call->client];
    struct cpti_span *server = &world->spans[call->server];
    const uint64_t server_end = server->start_ns + server->duration_ns;
    const bool saw_deadline = test_random_chance(world->random, 30);
    const uint64_t longest = server_end - client->start_ns - 1;
    const uint64_t least = saw_deadline ? server->start_ns - client->start_ns : 1;

    client->is_failed = true;
    server->is_failed = saw_deadline;
    client->duration_ns = least + below(world, longest - least);
}

/* Calls that were given up move no clock that is right. */
static void test_given_up_at_random(void)
{
    const uint64_t seed = test_random_seed("calls that are given up");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    static struct world world;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_spans_report report;
        int turned = 0;
        int calls = 0;

        begin(&world, &random);
        run(&world, 1 + (int)below(&world, 40), 20);
        calls = world.call_count;
        for (int k = 0; k < calls; k++) {
            if (test_random_chance(&random, 30)) {
                give_up(&world, &world.calls[k]);
            } else if (world.calls[k].visit == 0 && test_random_chance(&random, 20)) {
                hedge(&world, &world.calls[k]);
            }
        }
        report = resolve(spans, &world, &turned);
        if (report.doubted != 0 || cpti_spans_clock_count(spans) != 0) {
            printf("\n  seed %" PRIu64 ": %zu doubted, %zu moved\n", seed + i,
                   report.doubted, cpti_spans_clock_count(spans));
            CU_FAIL("a clock that is right was moved");
            break;
        }
    }
    cpti_spans_free(spans);
}

CU_TestInfo cpt_span_liars_tests[] = {
    {"leaked parent", test_leaked_parent},
    {"asynchronous", test_asynchronous},
    {"few of another clock", test_few_of_another_clock},
    {"given up", test_given_up},
    {"hedges", test_hedges},
    {"calls side by side", test_calls_side_by_side},
    {"failed calls", test_failed_calls},
    {"liars", test_liars},
    {"steps", test_steps},
    {"drift", test_drift},
    {"given up at random", test_given_up_at_random},
    CU_TEST_INFO_NULL,
};
