/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_whatif.c - terms, and what they do with a request
 *
 * The request of most tests: A1 computes 3, calls C twice, one call after the other,
 * and goes on between and behind them. A2 begins when the first part is done.
 *
 *      A1  [ 3 ]-----[ 2 ]-----[ 4 ]-.
 *             `-C 5-'   `-C 6-'       >-- A3 [ 1 ]
 *             `-- A2 [queue 2][ 9 ]--'
 */
#include "cpt/cpt_path.h"
#include "cpt/cpt_whatif.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/random_trace.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 5000, NODES_MAX = 12, FRAMES = 5 };

static const struct cpt_dag_name names[] = {{{"A: A1", 5}, CPT_DAG_STEP},
                                            {{"C: C", 4}, CPT_DAG_CALL},
                                            {{"A: A2", 5}, CPT_DAG_QUEUE},
                                            {{"A: A2", 5}, CPT_DAG_STEP},
                                            {{"A: A3", 5}, CPT_DAG_STEP}};

static const struct cpt_dag_node nodes[] = {{3, 0, CPT_DAG_STEP}, {2, 0, CPT_DAG_STEP},
                                            {4, 0, CPT_DAG_STEP}, {5, 1, CPT_DAG_CALL},
                                            {6, 1, CPT_DAG_CALL}, {2, 2, CPT_DAG_QUEUE},
                                            {9, 3, CPT_DAG_STEP}, {1, 4, CPT_DAG_STEP}};
static const struct cpt_dag_edge edges[] = {{0, 1}, {1, 2}, {0, 3}, {3, 1}, {1, 4},
                                            {4, 2}, {0, 5}, {5, 6}, {2, 7}, {6, 7}};
static const uint32_t node_lines[] = {0, 0, 0, 1, 2, 3, 3, 4};
static const struct cpt_dag_line lines[] = {{{"A", 1}, CPT_DAG_NONE, 0, 0},
                                            {{"", 0}, 0, 1, CPT_CALL_REMOTE},
                                            {{"", 0}, 0, 1, CPT_CALL_REMOTE},
                                            {{"A", 1}, CPT_DAG_NONE, 0, 0},
                                            {{"A", 1}, CPT_DAG_NONE, 0, 0}};

static const struct cpt_dag_recorded example = {.shape = {.nodes = nodes,
                                                          .node_count = 8,
                                                          .edges = edges,
                                                          .edge_count = 10,
                                                          .end = CPT_DAG_NONE,
                                                          .frame_count = FRAMES},
                                                .frames = names,
                                                .node_lines = node_lines,
                                                .lines = lines,
                                                .line_count = 5};

static struct cpt_whatif *whatif_of(const struct cpt_alloc *alloc,
                                    const struct cpt_dag_recorded *recorded)
{
    struct cpt_whatif *whatif = cpt_whatif_new(alloc);
    struct cpt_dag *dag = NULL;

    if (whatif != NULL && (cpt_dag_new(alloc, &recorded->shape, &dag, NULL) != CPT_OK ||
                           cpt_whatif_add(whatif, dag, recorded, 0) != CPT_OK)) {
        cpt_whatif_free(whatif);
        whatif = NULL;
    }
    cpt_dag_free(dag);
    return whatif;
}

/* The latency of the example with the terms of @lines, one each; UINT64_MAX: one
 * matches nothing. */
static uint64_t latency_with(const char *const *terms, size_t count)
{
    struct cpt_whatif *whatif = whatif_of(NULL, &example);
    struct cpt_whatif_term read[4];
    struct cpt_whatif_plan *plan = NULL;
    size_t unmatched = 99;
    uint64_t latency_ns = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        struct cpt_error error = {0};

        CU_ASSERT_EQUAL_FATAL(
            cpt_whatif_line_read(cpt_bytes_of(terms[i]), &read[i], &error), CPT_OK);
    }
    if (cpt_whatif_plan_new(whatif, read, count, NULL, &plan, &unmatched, NULL) ==
        CPT_OK) {
        struct cpt_path *path = cpt_path_new(NULL);

        CU_ASSERT_EQUAL(cpt_whatif_run(plan, 0, 1, &latency_ns), CPT_OK);
        CU_ASSERT_EQUAL(cpt_whatif_path(plan, 0, cpt_bytes_of("A: /"), path), CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_check(path, latency_ns, NULL), CPT_OK);
        cpt_path_free(path);
    }
    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
    return latency_ns;
}

static void test_terms(void)
{
    static const struct {
        const char *term;
        uint64_t latency_ns;
    } all[] = {
        {"set A: A3=0", 20},
        {"set A: A3=10ns", 30},
        {"set A: A1=-100%", 12},
        {"set A: A1=50%", 17},  /* pieces of 3, 2, 4: 2, 1, 2 */
        {"set A: A1=+2ns", 23}, /* at its beginning */
        {"set A: A1=-4ns", 17}, /* 0, 1, 4 */
        {"set C: C=-50%", 16},  /* 5 and 6 become 3 and 3 */
        {"set C: C=0", 15},     /* A2 is the longer one */
        {"set C: *=0", 15},
        {"set *: <blind spot>=0", 15},
        {"set A: \u2039queue\u203a=100ns", 113},
        {"set A: A2;<queue>=100ns", 113},
        {"set A: A2 <queue>=100ns", 113},
        {"set A: A2;A: <queue>=100ns", 113},
        {"cap C: C<=1ns", 15},
        {"cap C: C>=6ns", 22},
        {"cap C: C<=7ns", 21},
        {"cut A: A1 -> A: A3", 20},
        {"cut A: A1 -> C: C", 15},
        {"add A: A2 -> C: C", 32},
        {"parallel A: A1 > C: C", 15},
        {"set A: A9=0", UINT64_MAX},
        {"set A: A1;<queue>=0", UINT64_MAX},
        {"cut A: A3 -> A: A1", UINT64_MAX},
        {"parallel A: A2 > C: C", UINT64_MAX},
        {"workers B=3", UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const uint64_t latency_ns = latency_with(&all[i].term, 1);

        if (latency_ns != all[i].latency_ns) {
            printf("\n  '%s': %" PRIu64 ", not %" PRIu64, all[i].term, latency_ns,
                   all[i].latency_ns);
            CU_FAIL("another latency");
        }
    }
    CU_ASSERT_EQUAL(latency_with(NULL, 0), 21);
}

/* A service and a name of a program may have '*' in them, which then is no pattern. */
static void test_groups(void)
{
    static const struct {
        struct cpt_whatif_frames frames;
        const char *name;
        unsigned kind;
        int has;
    } all[] = {
        {{.name = {"a*", 2}, .is_service = 1}, "ab: get", CPT_DAG_STEP, 1},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1},
         "ab: get",
         CPT_DAG_STEP,
         0},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1},
         "a*: get",
         CPT_DAG_STEP,
         1},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1},
         "a*: get",
         CPT_DAG_CALL,
         1},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1}, "a*: m", CPT_DAG_LOCK, 1},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1},
         "a*: get",
         CPT_DAG_WAIT,
         0},
        {{.name = {"a*", 2}, .is_service = 1, .is_exact = 1},
         "a*: get",
         CPT_DAG_NETWORK,
         0},
        {{.name = {"a: g*", 5}, .is_exact = 1}, "a: get", CPT_DAG_STEP, 0},
        {{.name = {"a: g*", 5}, .is_exact = 1}, "a: g*", CPT_DAG_STEP, 1},
        {{.name = {"a: g*", 5}, .is_exact = 1}, "a: g*", CPT_DAG_QUEUE, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct cpt_dag_name name = {cpt_bytes_of(all[i].name), all[i].kind};

        CU_ASSERT_EQUAL(cpt_whatif_has(&all[i].frames, &name), all[i].has);
    }
}

static void test_order(void)
{
    static const char *const first[] = {"set A: A3=10ns", "set A: A3=50%"};
    static const char *const last[] = {"set A: A3=50%", "set A: A3=10ns"};

    CU_ASSERT_EQUAL(latency_with(first, 2), 25);
    CU_ASSERT_EQUAL(latency_with(last, 2), 30);
}

/* A2 waits for A1: 20 + 2 + 9, and then A3. The other way round it would be a circle:
 * the request stays as it was. */
static void test_added(void)
{
    static const char *const added[] = {"add A: A1 -> A: A2"};
    static const char *const circle[] = {"add A: A3 -> A: A1"};

    CU_ASSERT_EQUAL(latency_with(added, 1), 32);
    CU_ASSERT_EQUAL(latency_with(circle, 1), 21);
}

/* The latencies of two requests, both the example, with the term @text (NULL: none) and
 * @share for line @line of the second one. */
static void run_shared(const char *text, uint32_t line, struct cpt_whatif_share share,
                       uint64_t latency_ns[2])
{
    struct cpt_whatif_share shares[5] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
    struct cpt_whatif *whatif = whatif_of(NULL, &example);
    struct cpt_whatif_term term;
    struct cpt_whatif_plan *plan = NULL;
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &example.shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_whatif_add(whatif, dag, &example, 0), CPT_OK);
    if (text != NULL) {
        CU_ASSERT_EQUAL_FATAL(cpt_whatif_line_read(cpt_bytes_of(text), &term, NULL),
                              CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(
        cpt_whatif_plan_new(whatif, &term, text != NULL, NULL, &plan, NULL, NULL),
        CPT_OK);
    shares[line] = share;
    CU_ASSERT_EQUAL(cpt_whatif_shares(plan, 1, shares, 4), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_whatif_shares(plan, 2, shares, 5), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_whatif_shares(plan, 1, shares, 5), CPT_OK);
    CU_ASSERT_EQUAL(cpt_whatif_run(plan, 0, 2, latency_ns), CPT_OK);
    if (text == NULL) {
        uint64_t back_ns = 0;

        CU_ASSERT_EQUAL(latency_ns[0], 21);
        CU_ASSERT_EQUAL(cpt_whatif_shares(plan, 0, NULL, 0), CPT_OK);
        CU_ASSERT_EQUAL(cpt_whatif_run(plan, 1, 1, &back_ns), CPT_OK);
        CU_ASSERT_EQUAL(back_ns, 21);
    }
    cpt_dag_free(dag);
    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
}

static void test_shares(void)
{
    static const struct {
        const char *term;
        uint32_t line;
        struct cpt_whatif_share share;
        uint64_t latency_ns; /* of the second request */
    } all[] = {
        {NULL, 0, {1, 0}, 21},
        {NULL, 0, {0.5, 0}, 17}, /* pieces of 3, 2, 4: 2, 1, 2 */
        {NULL, 0, {1, 2}, 23},   /* at its beginning */
        {NULL, 0, {1, -4}, 17},  /* 0, 1, 4 */
        {NULL, 0, {2, 0}, 30},
        {NULL, 1, {0, 0}, 16}, /* the other call stays */
        {NULL, 1, {0, 7}, 23},
        {NULL, 3, {2, 0}, 24}, /* the queue stays: 3, 2, 18, 1 */
        {"set C: C=-50%", 1, {2, 0}, 19},
    };
    uint64_t latency_ns[2] = {0, 0};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        run_shared(all[i].term, all[i].line, all[i].share, latency_ns);
        CU_ASSERT_EQUAL(latency_ns[1], all[i].latency_ns);
    }
    CU_ASSERT_EQUAL(latency_ns[0], 16);
}

static void test_read(void)
{
    static const struct {
        const char *line;
        uint64_t offset; /* of the mistake in the term, without the verb */
    } bad[] = {
        {"", 0},
        {"sett A=0", 0},
        {"set A: A1", 0},
        {"set =0", 0},
        {"set A=", 2},
        {"set A=10", 4},
        {"set A=10 parsecs", 4},
        {"set A=-101%", 2},
        {"set A=1e3ms", 3},
        {"set A=99999999999999s", 2},
        {"set A=9999999999999999999ns", 2},
        {"set A: <what>=0", 0},
        {"cap A=3ms", 0},
        {"cut A->B", 0},
        {"cut A: <queue> -> B", 0},
        {"parallel A", 0},
        {"workers B=0", 2},
        {"workers B=1.5", 2},
        {"workers B=70000", 2},
        {"workers =3", 0},
    };
    struct cpt_whatif_term term;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cpt_error error = {0};

        CU_ASSERT_EQUAL(cpt_whatif_line_read(cpt_bytes_of(bad[i].line), &term, &error),
                        CPT_INVALID);
        CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
        if (error.offset != bad[i].offset) {
            printf("\n  '%s': %" PRIu64, bad[i].line, error.offset);
            CU_FAIL("another place");
        }
    }
    CU_ASSERT_EQUAL(
        cpt_whatif_line_read(cpt_bytes_of(" set  a=b > c = +1.5ms "), &term, NULL),
        CPT_OK);
    CU_ASSERT_EQUAL(term.change, CPT_WHATIF_MORE);
    CU_ASSERT_EQUAL(term.amount_ns, 1500000);
    CU_ASSERT(cpt_bytes_equal(term.frames.name, cpt_bytes_of("a=b > c")));
    CU_ASSERT_STRING_EQUAL(cpt_whatif_verb_word(CPT_WHATIF_PARALLEL), "parallel");
    CU_ASSERT_PTR_NULL(cpt_whatif_verb_word(99));
}

/* --- Random requests --- */

static struct random_trace made;

/* Adds the dag of `made`; false: it has none. */
static bool add_made(struct cpt_whatif *whatif)
{
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, made.trace.arrival_ns);
    struct cpt_trace_task *tasks[RANDOM_TASKS_MAX];
    const struct cpt_dag_run run = {&made.trace, NULL};
    const struct cpt_dag_records records = {&run, 1, tasks, NULL, made.task_count,
                                            NULL, 0};
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    bool is_added = false;

    for (size_t i = 0; i < made.task_count; i++) {
        tasks[i] = &made.tasks[i];
        tasks[i]->executor = cpt_bytes_of(i % 2 == 0 ? "A" : "B");
    }
    is_added = cpt_dag_draft_trace(draft, &records, &recorded) == CPT_OK &&
               cpt_dag_new(NULL, &recorded.shape, &dag, NULL) == CPT_OK &&
               cpt_whatif_add(whatif, dag, &recorded, 0) == CPT_OK;
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return is_added;
}

/* Replays of queues with another latency. Where steps take no time, what is ready in a
 * nanosecond has no order that was recorded: then a replay may differ. */
static unsigned tie_count;

/* No change, as kept and as replayed: the recorded latency, and a path of that sum. */
static bool is_unchanged(struct test_random *random)
{
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    const uint64_t recorded_ns = made.trace.response_ns - made.trace.arrival_ns;
    bool is_right =
        add_made(whatif) && cpt_whatif_recorded_ns(whatif, 0) == recorded_ns;

    for (int replays = 0; replays < 2 && is_right; replays++) {
        const struct cpt_whatif_options options = {.struct_bytes = sizeof options,
                                                   .replays_queues = replays};
        const struct cpt_whatif_term half = {.verb = CPT_WHATIF_SET,
                                             .change = CPT_WHATIF_SCALE,
                                             .share = 1,
                                             .frames = {.name = {"*", 1}}};
        struct cpt_whatif_plan *plan = NULL;
        uint64_t latency_ns = 0;
        size_t unmatched = 0;

        is_right = cpt_whatif_plan_new(whatif, &half, test_random_below(random, 2),
                                       &options, &plan, &unmatched, NULL) == CPT_OK &&
                   cpt_whatif_run(plan, 0, 1, &latency_ns) == CPT_OK &&
                   (latency_ns == recorded_ns || replays != 0);
        tie_count += latency_ns != recorded_ns;
        cpt_path_reset(path);
        is_right = is_right &&
                   cpt_whatif_path(plan, 0, cpt_bytes_of(""), path) == CPT_OK &&
                   cpt_path_check(path, latency_ns, NULL) == CPT_OK;
        cpt_whatif_plan_free(plan);
    }
    cpt_path_free(path);
    cpt_whatif_free(whatif);
    return is_right;
}

static void test_no_change(void)
{
    const uint64_t seed = test_random_seed("what if nothing changes");
    unsigned failed_count = 0;

    tie_count = 0;
    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        while (!random_trace_make(&made, &random)) {
        }
        if (made.trace.answered_by == NULL || is_unchanged(&random)) {
            continue;
        }
        printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n", seed + i);
        failed_count++;
    }
    CU_ASSERT_EQUAL(failed_count, 0);
    CU_ASSERT(tie_count <= 1 + test_case_count(CASES) / 500);
}

/* A random dag, whose nodes are lines of their own. */
static struct {
    struct cpt_dag_node nodes[NODES_MAX];
    struct cpt_dag_edge edges[NODES_MAX * NODES_MAX];
    struct cpt_dag_recorded recorded;
} drawn;

static void draw(struct test_random *random)
{
    memset(&drawn, 0, sizeof drawn);
    drawn.recorded.shape.node_count = 1 + test_random_below(random, NODES_MAX);
    for (uint32_t to = 0; to < drawn.recorded.shape.node_count; to++) {
        drawn.nodes[to].duration_ns = test_random_below(random, 20);
        drawn.nodes[to].frame = (uint32_t)test_random_below(random, FRAMES);
        for (uint32_t from = 0; from < to; from++) {
            if (test_random_chance(random, 40)) {
                drawn.edges[drawn.recorded.shape.edge_count++] =
                    (struct cpt_dag_edge){from, to};
            }
        }
    }
    drawn.recorded.shape.nodes = drawn.nodes;
    drawn.recorded.shape.edges = drawn.edges;
    drawn.recorded.shape.frame_count = FRAMES;
    drawn.recorded.shape.end =
        test_random_chance(random, 50)
            ? (uint32_t)test_random_below(random, drawn.recorded.shape.node_count)
            : CPT_DAG_NONE;
    drawn.recorded.frames = names;
}

/* What the term makes of @duration_ns. */
static uint64_t model_change(const struct cpt_whatif_term *term, uint64_t duration_ns)
{
    switch (term->change) {
    case CPT_WHATIF_SCALE:
        return (uint64_t)((double)duration_ns * term->share + 0.5);
    case CPT_WHATIF_TO:
        return term->amount_ns;
    case CPT_WHATIF_MORE:
        return duration_ns + term->amount_ns;
    case CPT_WHATIF_LESS:
        return duration_ns > term->amount_ns ? duration_ns - term->amount_ns : 0;
    case CPT_WHATIF_AT_MOST:
        return duration_ns < term->amount_ns ? duration_ns : term->amount_ns;
    default:
        return duration_ns > term->amount_ns ? duration_ns : term->amount_ns;
    }
}

/* The changed latency of `drawn` against cpt_dag_replay(). */
static bool is_like_replay(struct test_random *random)
{
    struct cpt_whatif *whatif = whatif_of(NULL, &drawn.recorded);
    struct cpt_whatif_plan *plan = NULL;
    struct cpt_dag *dag = NULL;
    struct cpt_whatif_term term = {.verb = CPT_WHATIF_SET};
    uint64_t duration_ns[NODES_MAX];
    uint64_t found_ns = 0;
    uint64_t wanted_ns = 1;
    size_t unmatched = 0;
    cpt_status status = CPT_OK;

    term.change = (unsigned)test_random_below(random, 6);
    term.share = (double)test_random_below(random, 9) / 4;
    term.amount_ns = test_random_below(random, 30);
    term.frames.name = names[test_random_below(random, FRAMES)].name;
    for (size_t i = 0; i < drawn.recorded.shape.node_count; i++) {
        const uint64_t own_ns = drawn.nodes[i].duration_ns;

        duration_ns[i] = cpt_whatif_has(&term.frames, &names[drawn.nodes[i].frame])
                             ? model_change(&term, own_ns)
                             : own_ns;
    }
    status = cpt_whatif_plan_new(whatif, &term, 1, NULL, &plan, &unmatched, NULL);
    if (status == CPT_OK) {
        status = cpt_whatif_run(plan, 0, 1, &found_ns);
    }
    if (status == CPT_OK) {
        status = cpt_dag_new(NULL, &drawn.recorded.shape, &dag, NULL);
    }
    if (status == CPT_OK) {
        status = cpt_dag_replay(dag, duration_ns, NULL, &wanted_ns);
    }
    cpt_dag_free(dag);
    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
    return status == CPT_END || (status == CPT_OK && found_ns == wanted_ns);
}

static void test_random_times(void)
{
    const uint64_t seed = test_random_seed("what if times change");
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        draw(&random);
        if (!is_like_replay(&random)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
}

/* --- Limits --- */

static void test_clamped(void)
{
    struct cpt_whatif *whatif = whatif_of(NULL, &example);
    const struct cpt_whatif_term terms[] = {{.verb = CPT_WHATIF_SET,
                                             .change = CPT_WHATIF_LESS,
                                             .amount_ns = 6,
                                             .frames = {.name = {"C: C", 4}}},
                                            {.verb = CPT_WHATIF_ADD,
                                             .frames = {.name = {"A: A3", 5}},
                                             .other = {.name = {"A: A1", 5}}}};
    struct cpt_whatif_plan *plan = NULL;
    uint64_t time_ns[FRAMES + 8] = {0};
    uint64_t latency_ns = 0;
    size_t unmatched = 0;

    CU_ASSERT_EQUAL_FATAL(
        cpt_whatif_plan_new(whatif, terms, 2, NULL, &plan, &unmatched, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_whatif_run(plan, 0, 1, &latency_ns), CPT_OK);
    CU_ASSERT_EQUAL(latency_ns, 15);
    CU_ASSERT_FATAL(cpt_whatif_frame_count(whatif) <= FRAMES + 8);
    CU_ASSERT_EQUAL(cpt_whatif_times(plan, 0, time_ns), CPT_OK); /* no other replay */
    CU_ASSERT_EQUAL(cpt_whatif_counts(plan).clamped, 1);
    CU_ASSERT_EQUAL(cpt_whatif_counts(plan).circles, 1);
    CU_ASSERT_EQUAL(cpt_whatif_counts(plan).too_long, 0);
    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
}

static void test_paths(void)
{
    struct cpt_whatif *whatif = whatif_of(NULL, &example);
    struct cpt_whatif_plan *plan = NULL;
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t time_ns[FRAMES + 8] = {0};
    uint64_t sum_ns = 0;
    size_t unmatched = 0;

    CU_ASSERT_EQUAL_FATAL(
        cpt_whatif_plan_new(whatif, NULL, 0, NULL, &plan, &unmatched, NULL), CPT_OK);
    CU_ASSERT_FATAL(cpt_whatif_frame_count(whatif) <= FRAMES + 8);
    CU_ASSERT_EQUAL(cpt_whatif_times(plan, 0, time_ns), CPT_OK);
    for (size_t i = 0; i < FRAMES + 8; i++) {
        sum_ns += time_ns[i];
    }
    CU_ASSERT_EQUAL(sum_ns, 21);
    CU_ASSERT_EQUAL(cpt_whatif_path(plan, 0, cpt_bytes_of("A: /"), path), CPT_OK);
    /* A: /;A: A1 3, …;C: C;‹blind spot› 5, A1 2, … 6, A1 4, A3 1 */
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 6);
    CU_ASSERT_EQUAL(cpt_path_segment(path, 1)->duration_ns, 5);
    CU_ASSERT_EQUAL(cpt_path_frame(path, cpt_path_segment(path, 1)->frame)->kind,
                    CPT_KIND_BLIND_SPOT);
    CU_ASSERT_EQUAL(cpt_path_frame(path, cpt_path_segment(path, 1)->frame)->depth, 4);
    cpt_path_free(path);
    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
}

static bool make_all(const struct cpt_alloc *alloc)
{
    struct cpt_whatif *whatif = whatif_of(alloc, &example);
    const struct cpt_whatif_options options = {.struct_bytes = sizeof options,
                                               .replays_queues = 1};
    const struct cpt_whatif_term terms[] = {
        {.verb = CPT_WHATIF_SET, .share = 0.5, .frames = {.name = {"*", 1}}},
        {.verb = CPT_WHATIF_PARALLEL,
         .frames = {.name = {"A: A1", 5}},
         .other = {.name = {"C: C", 4}}}};
    struct cpt_whatif_plan *plan = NULL;
    size_t unmatched = 0;
    uint64_t latency_ns = 0;
    bool is_done = whatif != NULL &&
                   cpt_whatif_plan_new(whatif, terms, 2, &options, &plan, &unmatched,
                                       NULL) == CPT_OK &&
                   cpt_whatif_run(plan, 0, 1, &latency_ns) == CPT_OK;

    cpt_whatif_plan_free(plan);
    cpt_whatif_free(whatif);
    return is_done;
}

static void test_no_memory(void)
{
    each_allocation_failure(make_all);
}

CU_TestInfo cpt_whatif_tests[] = {
    {"what each term does", test_terms},
    {"exactly the frames of a service or name", test_groups},
    {"terms work in order", test_order},
    {"edges that are added", test_added},
    {"times of one request", test_shares},
    {"what is no term", test_read},
    {"no change is no change", test_no_change},
    {"random changes", test_random_times},
    {"clamps and circles are counted", test_clamped},
    {"paths", test_paths},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
