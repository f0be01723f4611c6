/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_whatif_range.c - between what latencies a request would have had
 *
 * A random program has events, each of which computes c behind an earlier one, waits
 * for others, N, and computes g: t = max(p + c, m) + g, m the last of N. Its doubt has
 * these holders and others that fit the same times. Whatever a change of the services'
 * times gives by the program must be in the range.
 */
#include "cpt/cpt_whatif.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

enum { CASES = 20000, SERVICES = 3, EVENTS_MAX = 12, HELD_MAX = 3, HOLDERS_MAX = 8 };

static const struct cpt_dag_name names[SERVICES] = {{{"a: x", 4}, CPT_DAG_STEP},
                                                    {{"b: x", 4}, CPT_DAG_STEP},
                                                    {{"c: x", 4}, CPT_DAG_STEP}};

/* What the program does at each event. */
struct event {
    uint32_t service;
    uint32_t behind;
    uint64_t c_ns, g_ns;
    uint32_t held[HELD_MAX];
    uint32_t held_count;
};

struct program {
    struct event events[EVENTS_MAX];
    uint32_t count;
    double at_ns[EVENTS_MAX];
};

/* When each event is, if the times of each service are @shares of what they were. */
static void run(struct program *program, const double shares[SERVICES])
{
    program->at_ns[0] = 0;
    for (uint32_t i = 1; i < program->count; i++) {
        const struct event *event = &program->events[i];
        const double share = shares[event->service];
        double at_ns = program->at_ns[event->behind] + (double)event->c_ns * share;

        for (uint32_t k = 0; k < event->held_count; k++) {
            const double held_ns = program->at_ns[event->held[k]];

            at_ns = at_ns > held_ns ? at_ns : held_ns;
        }
        program->at_ns[i] = at_ns + (double)event->g_ns * share;
    }
}

static struct program random_program(struct test_random *random)
{
    struct program program = {
        .count = 2 + (uint32_t)test_random_below(random, EVENTS_MAX - 2)};

    for (uint32_t i = 1; i < program.count; i++) {
        struct event *event = &program.events[i];

        event->service = (uint32_t)test_random_below(random, SERVICES);
        event->behind = (uint32_t)test_random_below(random, i);
        event->c_ns =
            test_random_below(random, 2) != 0 ? test_random_below(random, 50) : 0;
        event->g_ns = test_random_below(random, 20);
        event->held_count = (uint32_t)test_random_below(random, HELD_MAX + 1);
        for (uint32_t k = 0; k < event->held_count; k++) {
            event->held[k] = (uint32_t)test_random_below(random, i);
        }
    }
    return program;
}

/* Adds to @moment what may have held event @i: all that the program says, as far as
 * times tell, and an event that does not matter. */
static void doubt_of(struct test_random *random, const struct program *program,
                     uint32_t i, struct cpt_doubt_holder *holders, uint32_t *count)
{
    const struct event *event = &program->events[i];
    const double over_ns = program->at_ns[i] - (double)event->g_ns;
    const uint32_t other = (uint32_t)test_random_below(random, i);
    const double behind_ns = program->at_ns[event->behind];
    const uint64_t more_ns =
        test_random_below(random, 10); /* as much larger is what c may be */
    const uint64_t c_ns = event->c_ns + more_ns;

    /* behind P alone, if c may be that long */
    if (behind_ns + (double)c_ns >= over_ns) {
        holders[(*count)++] =
            (struct cpt_doubt_holder){(uint64_t)(program->at_ns[i] - behind_ns),
                                      event->behind, CPT_DOUBT_MAY_HOLD};
    } else {
        holders[(*count)++] =
            (struct cpt_doubt_holder){c_ns + event->g_ns, event->behind, 0};
    }
    for (uint32_t k = 0; k < event->held_count; k++) {
        const double held_ns = program->at_ns[event->held[k]];
        const bool may_hold = held_ns >= over_ns || test_random_below(random, 2) != 0;

        holders[(*count)++] = (struct cpt_doubt_holder){
            may_hold ? (uint64_t)(program->at_ns[i] - held_ns) : event->g_ns,
            event->held[k], (may_hold ? CPT_DOUBT_MAY_HOLD : 0) | CPT_DOUBT_NOT_BEFORE};
    }
    if (test_random_below(random, 2) != 0 &&
        program->at_ns[other] <= program->at_ns[i]) {
        holders[(*count)++] = (struct cpt_doubt_holder){
            (uint64_t)(program->at_ns[i] - program->at_ns[other]), other,
            CPT_DOUBT_MAY_HOLD};
    }
}

/* A request of which only the doubt counts: each service has one node of some time. */
static struct cpt_dag_recorded recorded_of(const struct cpt_doubt *doubt)
{
    static const struct cpt_dag_node nodes[SERVICES] = {
        {1000, 0, CPT_DAG_STEP}, {1000, 1, CPT_DAG_STEP}, {1000, 2, CPT_DAG_STEP}};
    static const uint32_t node_lines[SERVICES] = {0, 1, 2};
    static const struct cpt_dag_line lines[SERVICES] = {
        {.caller = CPT_DAG_NONE}, {.caller = CPT_DAG_NONE}, {.caller = CPT_DAG_NONE}};

    return (struct cpt_dag_recorded){.shape = {.nodes = nodes,
                                               .node_count = SERVICES,
                                               .end = CPT_DAG_NONE,
                                               .frame_count = SERVICES},
                                     .frames = names,
                                     .node_lines = node_lines,
                                     .lines = lines,
                                     .line_count = SERVICES,
                                     .doubt = doubt};
}

static struct cpt_whatif *whatif_of(const struct cpt_doubt *doubt)
{
    const struct cpt_dag_recorded recorded = recorded_of(doubt);
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &recorded.shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_whatif_add(whatif, dag, &recorded, 0), CPT_OK);
    cpt_dag_free(dag);
    return whatif;
}

/* The range of the request with the terms. */
static cpt_status range_of(const struct cpt_whatif *whatif, const char *const *texts,
                           size_t count, double *low_ns, double *high_ns)
{
    struct cpt_whatif_term terms[SERVICES] = {{0}};
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL_FATAL(
            cpt_whatif_line_read(cpt_bytes_of(texts[i]), &terms[i], NULL), CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(
        cpt_whatif_plan_new(whatif, terms, count, NULL, &plan, NULL, NULL), CPT_OK);
    status = cpt_whatif_range(plan, 0, low_ns, high_ns);
    cpt_whatif_plan_free(plan);
    return status;
}

/* The doubt of a program. */
struct doubted {
    struct cpt_doubt_moment moments[EVENTS_MAX];
    struct cpt_doubt_holder holders[EVENTS_MAX * HOLDERS_MAX];
    struct cpt_doubt doubt;
};

/* That of @program, run with all times as they are. */
static void doubt_program(struct test_random *random, const struct program *program,
                          struct doubted *doubted)
{
    uint32_t holder_count = 0;

    for (uint32_t i = 0; i < program->count; i++) {
        if (i != 0) {
            doubt_of(random, program, i, doubted->holders, &holder_count);
        }
        doubted->moments[i] =
            (struct cpt_doubt_moment){.at_ns = (uint64_t)program->at_ns[i],
                                      .holder_end = holder_count,
                                      .line = program->events[i].service,
                                      .worker = program->events[i].service};
    }
    doubted->doubt = (struct cpt_doubt){doubted->moments, program->count,
                                        doubted->holders, holder_count};
}

static void test_programs(void)
{
    const uint64_t seed = test_random_seed("ranges of programs");
    const uint64_t count = test_case_count(CASES);

    for (uint64_t number = 0; number < count; number++) {
        struct test_random state = {seed + number};
        struct test_random *random = &state;
        struct program program = random_program(random);
        struct doubted doubted;
        struct cpt_whatif *whatif = NULL;
        double shares[SERVICES] = {1, 1, 1};
        char texts[SERVICES][32];
        const char *terms[SERVICES];
        double low_ns = 0;
        double high_ns = 0;

        run(&program, shares);
        doubt_program(random, &program, &doubted);
        whatif = whatif_of(&doubted.doubt);
        CU_ASSERT_EQUAL(range_of(whatif, NULL, 0, &low_ns, &high_ns), CPT_OK);
        CU_ASSERT(low_ns == program.at_ns[program.count - 1] && high_ns == low_ns);
        for (uint32_t i = 0; i < SERVICES; i++) {
            const uint32_t percent = (uint32_t)test_random_below(random, 5) * 50;

            shares[i] = percent / 100.0;
            (void)snprintf(texts[i], sizeof texts[i], "set %c: x=%" PRIu32 "%%",
                           (char)('a' + i), percent);
            terms[i] = texts[i];
        }
        CU_ASSERT_EQUAL(range_of(whatif, terms, SERVICES, &low_ns, &high_ns), CPT_OK);
        run(&program, shares);
        CU_ASSERT(low_ns <= program.at_ns[program.count - 1] + 1e-6);
        CU_ASSERT(high_ns >= program.at_ns[program.count - 1] - 1e-6);
        cpt_whatif_free(whatif);
    }
}

/* How late each event of @program may be before its last one is later. */
static void find_late(const struct program *program, double *late_ns)
{
    const double end_ns = program->at_ns[program->count - 1];

    for (uint32_t i = 0; i < program->count; i++) {
        late_ns[i] = program->at_ns[i] + end_ns;
    }
    late_ns[program->count - 1] = end_ns;
    for (uint32_t i = program->count; i-- > 1;) {
        const struct event *event = &program->events[i];
        const double over_ns = late_ns[i] - (double)event->g_ns;
        double *behind_ns = &late_ns[event->behind];

        if (over_ns - (double)event->c_ns < *behind_ns) {
            *behind_ns = over_ns - (double)event->c_ns;
        }
        for (uint32_t k = 0; k < event->held_count; k++) {
            double *held_ns = &late_ns[event->held[k]];

            *held_ns = over_ns < *held_ns ? over_ns : *held_ns;
        }
    }
}

/* The gain of each service, and the slack of its events, by the program. */
static void test_frames(void)
{
    const uint64_t seed = test_random_seed("frames of programs");
    const uint64_t count = test_case_count(CASES);

    for (uint64_t number = 0; number < count; number++) {
        struct test_random state = {seed + number};
        struct program program = random_program(&state);
        struct doubted doubted;
        struct cpt_doubt_frame frames[SERVICES];
        struct cpt_dag_recorded recorded;
        double shares[SERVICES] = {1, 1, 1};
        double late_ns[EVENTS_MAX];
        double slack_ns[SERVICES];
        double end_ns = 0;

        run(&program, shares);
        end_ns = program.at_ns[program.count - 1];
        doubt_program(&state, &program, &doubted);
        recorded = recorded_of(&doubted.doubt);
        CU_ASSERT_EQUAL(cpt_doubt_frames(NULL, &recorded, frames), CPT_OK);
        find_late(&program, late_ns);
        for (uint32_t k = 0; k < SERVICES; k++) {
            slack_ns[k] = end_ns;
        }
        for (uint32_t i = 0; i < program.count; i++) {
            const double own_ns = late_ns[i] - program.at_ns[i];
            double *least_ns = &slack_ns[program.events[i].service];

            *least_ns = own_ns < *least_ns ? own_ns : *least_ns;
        }
        for (uint32_t k = 0; k < SERVICES; k++) {
            double gain_ns = end_ns;

            CU_ASSERT(frames[k].slack_low_ns <= slack_ns[k] + 1e-6);
            CU_ASSERT(frames[k].slack_high_ns >= slack_ns[k] - 1e-6);
            shares[k] = 0;
            run(&program, shares);
            shares[k] = 1;
            gain_ns -= program.at_ns[program.count - 1];
            CU_ASSERT(frames[k].gain_low_ns <= gain_ns + 1e-6);
            CU_ASSERT(frames[k].gain_high_ns >= gain_ns - 1e-6);
        }
    }
}

/* 10 of a's work, then a call of 5 ms, 15 to 20; a's end at 40 comes 20 behind that, or
 * 30 behind the call's start, and may come behind either. */
static void test_amounts(void)
{
    static const struct cpt_doubt_holder holders[] = {{10, 0, CPT_DOUBT_MAY_HOLD},
                                                      {5, 1, CPT_DOUBT_MAY_HOLD},
                                                      {30, 1, CPT_DOUBT_MAY_HOLD},
                                                      {25, 2, CPT_DOUBT_MAY_HOLD}};
    static const struct cpt_doubt_moment moments[] = {
        {.at_ns = 0, .worker = 0, .flags = CPT_DOUBT_ADDS},
        {.at_ns = 10, .holder_end = 1, .line = 1, .worker = 0},
        {.at_ns = 15,
         .holder_end = 2,
         .line = 1,
         .worker = 1,
         .flags = CPT_DOUBT_IS_END},
        {.at_ns = 40, .holder_end = 4, .worker = 0, .flags = CPT_DOUBT_IS_END}};
    static const struct {
        const char *term;
        double low_ns, high_ns;
    } all[] = {
        {"set a: x=-50%", 20, 22.5}, /* 5 + 15, or 5 + 5 + 12.5 */
        {"set a: x=0", 0, 5},
        {"set a: x=+7ns", 47, 47}, /* once, at the beginning */
        {"set a: x=500ns", 20, 22.5},
        {"cap a: x<=500ns", 20, 22.5},
        {"cap a: x>=100ns", 40, 40},
        {"set a: x=-500ns", 20, 22.5},
        {"set b: x=0", 35, 40},
        {"set b: x=200%", 40, 45},
    };
    struct cpt_whatif *whatif = whatif_of(&(struct cpt_doubt){moments, 4, holders, 4});

    CU_ASSERT(cpt_whatif_has_doubt(whatif, 0) != 0);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        double low_ns = 0;
        double high_ns = 0;

        CU_ASSERT_EQUAL(range_of(whatif, &all[i].term, 1, &low_ns, &high_ns), CPT_OK);
        if (fabs(low_ns - all[i].low_ns) > 1e-9 ||
            fabs(high_ns - all[i].high_ns) > 1e-9) {
            printf("%s: %g to %g\n", all[i].term, low_ns, high_ns);
            CU_FAIL("another range");
        }
    }
    cpt_whatif_free(whatif);
}

/* 10 of a's work, then 20 behind that, or 30 of its own: what is given to a line does
 * what a term does, and comes on top of it. The second moment is b's. */
static void test_given(void)
{
    static const struct cpt_doubt_holder holders[] = {{10, 0, CPT_DOUBT_MAY_HOLD},
                                                      {20, 1, CPT_DOUBT_MAY_HOLD},
                                                      {30, 0, CPT_DOUBT_MAY_HOLD}};
    static const struct cpt_doubt_moment moments[] = {
        {.at_ns = 0, .worker = 0, .flags = CPT_DOUBT_ADDS},
        {.at_ns = 10, .holder_end = 1, .line = 1, .worker = 1},
        {.at_ns = 30, .holder_end = 3, .worker = 0, .flags = CPT_DOUBT_IS_END}};
    static const struct {
        uint32_t line;
        struct cpt_whatif_share share;
        const char *terms[2]; /* that do the same */
    } all[] = {
        {0, {0.5, 0}, {"set b: x=50%", "set a: x=50%"}},
        {0, {1, 7}, {"set b: x=50%", "set a: x=+7ns"}},
        {0, {1, -500}, {"set b: x=50%", "set a: x=-500ns"}},
        {0, {1, -5000}, {"set b: x=50%", "set a: x=0"}},
        {1, {4, 0}, {"set b: x=50%", "set b: x=400%"}},
        {2, {0, 3}, {"set b: x=50%", "set c: x=0"}},
    };
    struct cpt_whatif *whatif = whatif_of(&(struct cpt_doubt){moments, 3, holders, 3});

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct cpt_whatif_share shares[SERVICES] = {{1, 0}, {1, 0}, {1, 0}};
        struct cpt_whatif_plan *plan = NULL;
        struct cpt_whatif_term term;
        double low_ns[2] = {0, 0};
        double high_ns[2] = {0, 0};

        CU_ASSERT_EQUAL_FATAL(
            cpt_whatif_line_read(cpt_bytes_of(all[i].terms[0]), &term, NULL), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(
            cpt_whatif_plan_new(whatif, &term, 1, NULL, &plan, NULL, NULL), CPT_OK);
        shares[all[i].line] = all[i].share;
        CU_ASSERT_EQUAL(cpt_whatif_shares(plan, 0, shares, SERVICES), CPT_OK);
        CU_ASSERT_EQUAL(cpt_whatif_range(plan, 0, &low_ns[0], &high_ns[0]), CPT_OK);
        CU_ASSERT_EQUAL(range_of(whatif, all[i].terms, 2, &low_ns[1], &high_ns[1]),
                        CPT_OK);
        CU_ASSERT(fabs(low_ns[0] - low_ns[1]) < 1e-9);
        CU_ASSERT(fabs(high_ns[0] - high_ns[1]) < 1e-9);
        CU_ASSERT(low_ns[0] < 30 || high_ns[0] > 30);
        cpt_whatif_plan_free(plan);
    }
    cpt_whatif_free(whatif);
}

/* Of a lag of 20, 5 may be a way: it stays. */
static void test_wires(void)
{
    static const struct cpt_doubt_holder holders[] = {{20, 0, CPT_DOUBT_MAY_HOLD}};
    static const struct cpt_doubt_moment moments[] = {
        {.at_ns = 0},
        {.at_ns = 20, .wire_ns = 5, .holder_end = 1, .flags = CPT_DOUBT_IS_END}};
    struct cpt_whatif *whatif = whatif_of(&(struct cpt_doubt){moments, 2, holders, 1});
    const char *half = "set a: x=50%";
    const char *twice = "set a: x=200%";
    double low_ns = 0;
    double high_ns = 0;

    CU_ASSERT_EQUAL(range_of(whatif, &half, 1, &low_ns, &high_ns), CPT_OK);
    CU_ASSERT(low_ns == 10 && high_ns == 12.5);
    CU_ASSERT_EQUAL(range_of(whatif, &twice, 1, &low_ns, &high_ns), CPT_OK);
    CU_ASSERT(low_ns == 35 && high_ns == 40);
    cpt_whatif_free(whatif);
}

/* Nothing is known without a doubt, of one that does not fit, and where a term changes
 * who waits. */
static void test_unknown(void)
{
    static const struct cpt_doubt_holder later = {5, 1, CPT_DOUBT_MAY_HOLD};
    static const struct cpt_doubt_moment bad[] = {{.at_ns = 0},
                                                  {.at_ns = 5, .holder_end = 1}};
    static const struct cpt_doubt_moment good[] = {{.at_ns = 0}};
    struct cpt_whatif *whatif[] = {whatif_of(NULL),
                                   whatif_of(&(struct cpt_doubt){bad, 2, &later, 1}),
                                   whatif_of(&(struct cpt_doubt){good, 1, NULL, 0})};
    const char *add = "add a: x -> b: x";
    double low_ns = 0;
    double high_ns = 0;

    CU_ASSERT_EQUAL(range_of(whatif[0], NULL, 0, &low_ns, &high_ns), CPT_END);
    CU_ASSERT_EQUAL(range_of(whatif[1], NULL, 0, &low_ns, &high_ns), CPT_END);
    CU_ASSERT_EQUAL(range_of(whatif[2], NULL, 0, &low_ns, &high_ns), CPT_OK);
    CU_ASSERT_EQUAL(range_of(whatif[2], &add, 1, &low_ns, &high_ns), CPT_END);
    for (size_t i = 0; i < 3; i++) {
        cpt_whatif_free(whatif[i]);
    }
}

CU_TestInfo cpt_whatif_range_tests[] = {
    {"what a program does is in the range", test_programs},
    {"gains and slacks of a program are in their ranges", test_frames},
    {"amounts, caps and shares", test_amounts},
    {"times that are given to a request", test_given},
    {"lags that are ways in part", test_wires},
    {"nothing is known", test_unknown},
    CU_TEST_INFO_NULL,
};
