/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_whatif_queue.c - replayed queues against a pool that is simulated step by step
 *
 * Requests of a few tasks, each behind some of the others, arrive at a pool that serves
 * who was ready first. The model goes through time nanosecond by nanosecond, and what
 * it does is recorded. A replay with other workers and durations must do what the model
 * does with these.
 *
 * The same pool as that of a callee: when its requests came, on their way from their
 * callers, is not recorded, but as if they had come at once.
 */
#include "cpt/cpt_whatif.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { CASES = 20000, REQUESTS = 6, TASKS = 4, ALL = REQUESTS * TASKS };

static struct {
    size_t request_count;
    uint64_t arrival_ns[REQUESTS];
    uint64_t work_ns[ALL];
    bool is_behind[ALL][TASKS];    /* tasks of the same request, with lower numbers */
    bool is_called;                /* the pool is a callee's: … */
    uint64_t network_ns[REQUESTS]; /* … its time on the network, … */
    uint64_t way_ns[REQUESTS];     /* … and how much of it was before its arrival */
} plan;

/* What the model did. */
struct served {
    uint64_t ready_ns[ALL];
    uint64_t begin_ns[ALL];
    uint64_t end_ns[ALL];
    size_t busy_max;
};

static const char *const task_names[TASKS] = {"B: T0", "B: T1", "B: T2", "B: T3"};

static void draw(struct test_random *random)
{
    uint64_t at_ns = 1;

    memset(&plan, 0, sizeof plan);
    plan.request_count = 1 + test_random_below(random, REQUESTS);
    for (size_t i = 0; i < plan.request_count; i++) {
        at_ns += 1 + test_random_below(random, 60);
        plan.arrival_ns[i] = at_ns;
        for (size_t k = 0; k < TASKS; k++) {
            plan.work_ns[i * TASKS + k] = 1 + test_random_below(random, 60);
            for (size_t before = 0; before < k; before++) {
                plan.is_behind[i * TASKS + k][before] = test_random_chance(random, 50);
            }
        }
    }
}

/* When task @at is ready; UINT64_MAX: not yet. */
static uint64_t ready_of(const struct served *served, size_t at)
{
    uint64_t ready_ns = plan.arrival_ns[at / TASKS];

    for (size_t before = 0; before < at % TASKS; before++) {
        const uint64_t end_ns = served->end_ns[at / TASKS * TASKS + before];

        if (plan.is_behind[at][before]) {
            if (end_ns == UINT64_MAX) {
                return UINT64_MAX;
            }
            ready_ns = end_ns > ready_ns ? end_ns : ready_ns;
        }
    }
    return ready_ns;
}

static size_t busy_at(const struct served *served, uint64_t now_ns)
{
    size_t busy = 0;

    for (size_t i = 0; i < plan.request_count * TASKS; i++) {
        busy += served->begin_ns[i] <= now_ns && served->end_ns[i] > now_ns &&
                served->begin_ns[i] != UINT64_MAX;
    }
    return busy;
}

/* Serves with @workers: who is ready first, and of these the first one. */
static void serve(struct served *served, size_t workers)
{
    size_t left = plan.request_count * TASKS;

    memset(served, 0xff, sizeof *served);
    served->busy_max = 0;
    for (uint64_t now_ns = 0; left != 0; now_ns++) {
        while (busy_at(served, now_ns) < workers) {
            size_t first = ALL;

            for (size_t i = 0; i < plan.request_count * TASKS; i++) {
                const uint64_t ready_ns = ready_of(served, i);

                if (served->begin_ns[i] == UINT64_MAX && ready_ns <= now_ns &&
                    (first == ALL || ready_ns < served->ready_ns[first])) {
                    first = i;
                    served->ready_ns[i] = ready_ns;
                }
            }
            if (first == ALL) {
                break;
            }
            served->begin_ns[first] = now_ns;
            served->end_ns[first] = now_ns + plan.work_ns[first];
            left--;
        }
        if (busy_at(served, now_ns) > served->busy_max) {
            served->busy_max = busy_at(served, now_ns);
        }
    }
}

static uint64_t latency_of(const struct served *served, size_t request)
{
    uint64_t last_ns = 0;

    for (size_t i = 0; i < TASKS; i++) {
        const uint64_t end_ns = served->end_ns[request * TASKS + i];

        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns - plan.arrival_ns[request] + plan.network_ns[request];
}

/* Adds @request as the model served it: each task is its queue and its step. Of a
 * callee, all of them are behind the first part of a call, and before the second. */
static bool add_request(struct cpt_whatif *whatif, const struct served *served,
                        size_t request)
{
    const bool is_called = plan.is_called;
    struct cpt_dag_name frames[2 * TASKS + 3];
    struct cpt_dag_node nodes[2 * TASKS + 3];
    struct cpt_dag_edge edges[5 * TASKS + TASKS * TASKS];
    uint32_t node_lines[2 * TASKS + 3];
    struct cpt_dag_line lines[TASKS + 2];
    struct cpt_dag_recorded recorded = {.frames = frames,
                                        .node_lines = node_lines,
                                        .lines = lines,
                                        .line_count = is_called ? TASKS + 2 : TASKS};
    struct cpt_dag *dag = NULL;
    size_t edge_count = 0;
    bool is_added = false;

    for (uint32_t i = 0; i < TASKS; i++) {
        const size_t at = request * TASKS + i;

        frames[2 * i] =
            (struct cpt_dag_name){cpt_bytes_of(task_names[i]), CPT_DAG_QUEUE};
        frames[2 * i + 1] =
            (struct cpt_dag_name){cpt_bytes_of(task_names[i]), CPT_DAG_STEP};
        nodes[2 * i] = (struct cpt_dag_node){
            served->begin_ns[at] - served->ready_ns[at], 2 * i, CPT_DAG_QUEUE};
        nodes[2 * i + 1] =
            (struct cpt_dag_node){plan.work_ns[at], 2 * i + 1, CPT_DAG_STEP};
        node_lines[2 * i] = i;
        node_lines[2 * i + 1] = i;
        lines[i] =
            (struct cpt_dag_line){{"B", 1}, is_called ? TASKS + 1 : CPT_DAG_NONE, 0, 0};
        edges[edge_count++] = (struct cpt_dag_edge){2 * i, 2 * i + 1};
        for (uint32_t before = 0; before < i; before++) {
            if (plan.is_behind[at][before]) {
                edges[edge_count++] = (struct cpt_dag_edge){2 * before + 1, 2 * i};
            }
        }
        if (is_called) {
            edges[edge_count++] = (struct cpt_dag_edge){2 * TASKS + 1, 2 * i};
            edges[edge_count++] = (struct cpt_dag_edge){2 * i + 1, 2 * TASKS + 2};
        }
    }
    if (is_called) {
        static const struct cpt_dag_name names[] = {{{"A: A1", 5}, CPT_DAG_STEP},
                                                    {{"B: /", 4}, CPT_DAG_NETWORK},
                                                    {{"B: /", 4}, CPT_DAG_NETWORK}};

        for (uint32_t i = 0; i < 3; i++) {
            frames[2 * TASKS + i] = names[i];
            nodes[2 * TASKS + i] = (struct cpt_dag_node){
                i == 2 ? plan.network_ns[request] : 0, 2 * TASKS + i, names[i].kind};
            node_lines[2 * TASKS + i] = i == 0 ? TASKS : TASKS + 1;
        }
        lines[TASKS] = (struct cpt_dag_line){{NULL, 0}, CPT_DAG_NONE, 0, 0};
        lines[TASKS + 1] = (struct cpt_dag_line){{NULL, 0}, TASKS, 1, 0};
        edges[edge_count++] = (struct cpt_dag_edge){2 * TASKS, 2 * TASKS + 1};
    }
    recorded.shape =
        (struct cpt_dag_shape){.nodes = nodes,
                               .node_count = is_called ? 2 * TASKS + 3 : 2 * TASKS,
                               .edges = edges,
                               .edge_count = edge_count,
                               .end = CPT_DAG_NONE,
                               .frame_count = is_called ? 2 * TASKS + 3 : 2 * TASKS};
    is_added = cpt_dag_new(NULL, &recorded.shape, &dag, NULL) == CPT_OK &&
               cpt_whatif_add(whatif, dag, &recorded,
                              UINT64_C(1000000) + plan.arrival_ns[request] -
                                  plan.way_ns[request]) == CPT_OK;
    cpt_dag_free(dag);
    return is_added;
}

/* Replays with @workers, if not 0, and tasks T1 with @work_ns, if not UINT64_MAX. The
 * caller frees *@replayed, also after false. */
static bool replay(const struct cpt_whatif *whatif, size_t workers, uint64_t work_ns,
                   uint64_t latency_ns[REQUESTS], struct cpt_whatif_plan **replayed)
{
    const struct cpt_whatif_options options = {.struct_bytes = sizeof options,
                                               .replays_queues = 1};
    const struct cpt_whatif_term terms[] = {{.verb = CPT_WHATIF_SET,
                                             .change = CPT_WHATIF_TO,
                                             .amount_ns = work_ns,
                                             .frames = {.name = {"B: T1", 5}}},
                                            {.verb = CPT_WHATIF_WORKERS,
                                             .amount_ns = workers,
                                             .frames = {.name = {"B", 1}}}};
    const size_t skipped = work_ns == UINT64_MAX ? 1 : 0;
    size_t unmatched = 0;

    return cpt_whatif_plan_new(whatif, terms + skipped,
                               workers != 0 ? 2 - skipped : 1 - skipped, &options,
                               replayed, &unmatched, NULL) == CPT_OK &&
           cpt_whatif_run(*replayed, 0, plan.request_count, latency_ns) == CPT_OK;
}

static bool is_like_model(const struct cpt_whatif *whatif, size_t workers,
                          uint64_t work_ns, const struct served *wanted)
{
    struct cpt_whatif_plan *replayed = NULL;
    uint64_t latency_ns[REQUESTS];
    bool is_right = replay(whatif, workers, work_ns, latency_ns, &replayed);

    if (is_right && workers != 0) {
        is_right = cpt_whatif_workers(replayed, 0).replayed == workers;
    }
    for (size_t i = 0; i < plan.request_count && is_right; i++) {
        is_right = latency_ns[i] == latency_of(wanted, i);
    }
    cpt_whatif_plan_free(replayed);
    return is_right;
}

/* Ties are decided by what was recorded: the model does not know that, unless the same
 * tasks were ready together then. */
static bool has_ties(const struct served *served, const struct served *recorded)
{
    for (size_t i = 0; i < plan.request_count * TASKS; i++) {
        for (size_t k = 0; k < i; k++) {
            if (served->ready_ns[i] == served->ready_ns[k] &&
                recorded->ready_ns[i] != recorded->ready_ns[k]) {
                return true;
            }
        }
    }
    return false;
}

static bool is_right(struct test_random *random, unsigned *compared)
{
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    const size_t workers = 1 + test_random_below(random, 4);
    const size_t others = 1 + test_random_below(random, 4);
    const uint64_t work_ns = test_random_below(random, 90) + 1;
    struct served recorded;
    struct served changed;
    bool is_good = true;

    serve(&recorded, workers);
    for (size_t i = 0; i < plan.request_count && is_good; i++) {
        is_good = add_request(whatif, &recorded, i);
    }
    /* Also where tasks are ready together. */
    is_good = is_good && is_like_model(whatif, 0, UINT64_MAX, &recorded);
    if (is_good && recorded.busy_max == workers) {
        serve(&changed, others);
        if (!has_ties(&changed, &recorded)) {
            is_good = is_like_model(whatif, others, UINT64_MAX, &changed);
            ++*compared;
        }
        for (size_t i = 0; i < plan.request_count; i++) {
            plan.work_ns[i * TASKS + 1] = work_ns;
        }
        serve(&changed, others);
        if (is_good && !has_ties(&changed, &recorded)) {
            is_good = is_like_model(whatif, others, work_ns, &changed);
        }
    }
    cpt_whatif_free(whatif);
    return is_good;
}

/* Tasks take longer than the network: two that were side by side for less count as one
 * after the other. */
static void draw_called(struct test_random *random)
{
    draw(random);
    plan.is_called = true;
    for (size_t i = 0; i < plan.request_count; i++) {
        plan.network_ns[i] = test_random_below(random, 30);
        plan.way_ns[i] = test_random_below(random, plan.network_ns[i] + 1);
        for (size_t k = 0; k < TASKS; k++) {
            plan.work_ns[i * TASKS + k] += 30;
        }
    }
}

/* How long @request takes if its tasks wait for nothing but one another, those named T1
 * with @work_ns. */
static uint64_t least_of(size_t request, uint64_t work_ns)
{
    uint64_t end_ns[TASKS];
    uint64_t last_ns = 0;

    for (size_t k = 0; k < TASKS; k++) {
        const size_t at = request * TASKS + k;

        end_ns[k] = 0;
        for (size_t before = 0; before < k; before++) {
            if (plan.is_behind[at][before] && end_ns[before] > end_ns[k]) {
                end_ns[k] = end_ns[before];
            }
        }
        end_ns[k] += k == 1 ? work_ns : plan.work_ns[at];
        last_ns = end_ns[k] > last_ns ? end_ns[k] : last_ns;
    }
    return plan.network_ns[request] + last_ns;
}

/* No task begins before those end that it is behind, whatever changes. */
static bool is_long_enough(const struct cpt_whatif *whatif, size_t workers,
                           uint64_t work_ns)
{
    struct cpt_whatif_plan *replayed = NULL;
    uint64_t latency_ns[REQUESTS];
    bool is_right = replay(whatif, workers, work_ns, latency_ns, &replayed);

    for (size_t i = 0; i < plan.request_count && is_right; i++) {
        is_right = latency_ns[i] >= least_of(i, work_ns);
    }
    cpt_whatif_plan_free(replayed);
    return is_right;
}

/* With all that is recorded of a callee, nothing changes; and the only worker is seen
 * to be the only one: with one, nothing changes either. */
static bool is_right_called(struct test_random *random, unsigned *compared)
{
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    const size_t workers = 1 + test_random_below(random, 3);
    struct served recorded;
    bool is_good = true;

    serve(&recorded, workers);
    for (size_t i = 0; i < plan.request_count && is_good; i++) {
        is_good = add_request(whatif, &recorded, i);
    }
    is_good = is_good && is_like_model(whatif, 0, UINT64_MAX, &recorded);
    if (is_good && workers == 1) {
        is_good = is_like_model(whatif, 1, UINT64_MAX, &recorded);
        ++*compared;
    }
    is_good = is_good && is_long_enough(whatif, 1 + test_random_below(random, 3),
                                        test_random_below(random, 200));
    cpt_whatif_free(whatif);
    return is_good;
}

static void test_cases(const char *name, void (*draw_case)(struct test_random *random),
                       bool (*is_right_case)(struct test_random *random,
                                             unsigned *compared))
{
    const uint64_t seed = test_random_seed(name);
    unsigned failed_count = 0;
    unsigned compared = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        draw_case(&random);
        if (!is_right_case(&random, &compared)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
    }
    printf(" %u compared ", compared);
    CU_ASSERT_EQUAL(failed_count, 0);
}

static void test_pool(void)
{
    test_cases("what if queues are replayed", draw, is_right);
}

static void test_called_pool(void)
{
    test_cases("what if queues of a callee are replayed", draw_called, is_right_called);
}

/* Drawn cases in which a step began before what it was behind had ended, one in 10,000:
 * what a negative delay lets end earlier was noted after what ends later. */
static void test_early_ends(void)
{
    static const uint64_t seeds[] = {
        UINT64_C(1795501859268149), UINT64_C(1795501859299824),
        UINT64_C(1795501859300799), UINT64_C(1795501670640565)};

    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        struct test_random random = {seeds[i]};
        unsigned compared = 0;

        draw_called(&random);
        CU_ASSERT_TRUE(is_right_called(&random, &compared));
    }
}

/* A call that was on its way while the only worker worked for another one: as recorded,
 * it comes first, and both overlap. */
static void test_late_call(void)
{
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    struct served recorded;

    memset(&plan, 0, sizeof plan);
    plan.is_called = true;
    plan.request_count = 2;
    for (size_t i = 0; i < 2; i++) {
        plan.arrival_ns[i] = i == 0 ? 100 : 160;
        plan.network_ns[i] = i == 0 ? 5 : 125;
        plan.way_ns[i] = i == 0 ? 0 : 100;
        for (size_t k = 0; k < TASKS; k++) {
            plan.work_ns[i * TASKS + k] = k == 0 ? 50 : 1;
            plan.is_behind[i * TASKS + k][0] = k != 0;
        }
    }
    serve(&recorded, 1);
    CU_ASSERT_TRUE(add_request(whatif, &recorded, 0));
    CU_ASSERT_TRUE(add_request(whatif, &recorded, 1));
    CU_ASSERT_TRUE(is_like_model(whatif, 0, UINT64_MAX, &recorded));
    CU_ASSERT_TRUE(is_like_model(whatif, 1, UINT64_MAX, &recorded));
    cpt_whatif_free(whatif);
}

/* Longer than can be: as recorded, and counted. */
static void test_too_long(void)
{
    enum { TERMS = 6 };
    struct cpt_whatif_term terms[TERMS + 1] = {
        {.verb = CPT_WHATIF_WORKERS, .amount_ns = 1, .frames = {.name = {"B", 1}}}};
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    struct cpt_whatif_plan *replayed = NULL;
    struct served recorded;
    uint64_t latency_ns = 0;
    size_t unmatched = 0;

    memset(&plan, 0, sizeof plan);
    plan.request_count = 1;
    for (size_t k = 0; k < TASKS; k++) {
        plan.work_ns[k] = 50;
    }
    for (size_t i = 1; i <= TERMS; i++) {
        terms[i] = (struct cpt_whatif_term){
            .verb = CPT_WHATIF_SET, .share = 1000, .frames = {.name = {"B: T1", 5}}};
    }
    serve(&recorded, 1);
    CU_ASSERT_TRUE(add_request(whatif, &recorded, 0));
    CU_ASSERT_EQUAL_FATAL(cpt_whatif_plan_new(whatif, terms, TERMS + 1, NULL, &replayed,
                                              &unmatched, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpt_whatif_run(replayed, 0, 1, &latency_ns), CPT_OK);
    CU_ASSERT_EQUAL(latency_ns, 200);
    CU_ASSERT_EQUAL(cpt_whatif_counts(replayed).too_long, 1);
    cpt_whatif_plan_free(replayed);
    cpt_whatif_free(whatif);
}

CU_TestInfo cpt_whatif_queue_tests[] = {
    {"a pool of workers", test_pool},
    {"a pool of workers of a callee", test_called_pool},
    {"steps that end earlier than recorded", test_early_ends},
    {"a call that was long on its way", test_late_call},
    {"a request that gets too long", test_too_long},
    CU_TEST_INFO_NULL,
};
