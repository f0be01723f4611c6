/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_four_executors.c - random requests on four executors, against an interpreter
 *
 *      virtual   one piece of work after the other, in an order drawn from the seed
 *      queue     driven by a loop of the test, on a clock of its own
 *      pool      three workers, in real time
 *      inline    on the thread that makes a task ready; it has no timers, so there each
 *                wait is for work that completes at once
 *
 * The interpreter (random_expected()) knows only the graph. Each request runs traced
 * and not. Then the limit of memory is swept over all sizes at which something may be
 * refused: on each executor a request ends once, and as the same one traced.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "framework/cpt_runtime.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    REQUESTS = 2000,  /* of each executor; CPT_TEST_CASES sets another number */
    SWEPT_GRAPHS = 2, /* at each size */
    SIZE_STEP = 8,    /* arenas hand out multiples of it */
    LIMIT_MAX = 40000,
    BLOCK_BYTES = 9000, /* of an arena, with its header */
    SCALE_NS = 2000,
    EXECUTORS = 4
};

struct place {
    const char *name;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    void (*drive)(struct place *place); /* runs what waits; NULL: threads do */
    bool has_no_timers;
};

/* How a request ended; written by any thread. */
struct end {
    atomic_int done_count;
    atomic_int gone_count;
    cpt_status status;
    uint64_t output;
};

static struct virtual_time virtual;
static struct virtual_time queue_time; /* only its clock is used */

static void note_done(struct cpt_request *request, void *context)
{
    struct end *end = context;
    const uint64_t *output = cpt_request_output(request);

    end->status = cpt_request_status(request);
    end->output = output != NULL ? *output : 0;
    atomic_fetch_add(&end->done_count, 1);
}

static void note_gone(void *context)
{
    atomic_fetch_add(&((struct end *)context)->gone_count, 1);
}

/* --- The executors --- */

static void drive_virtual(struct place *place)
{
    (void)place;
    virtual_run(&virtual);
}

static void drive_queue(struct place *place)
{
    for (;;) {
        uint64_t next_ns = 0;

        while (cpt_queue_executor_run(place->executor, 0) != 0) {
        }
        next_ns = cpt_queue_executor_next_ns(place->executor);
        if (next_ns == UINT64_MAX) {
            return;
        }
        queue_time.now_ns += next_ns;
    }
}

static void complete_at_once(struct cpt_pending *pending,
                             const struct random_work *work, uint64_t duration_ns)
{
    (void)work;
    (void)duration_ns;
    cpt_complete(pending, CPT_OK);
}

/* Replaces all that needs a timer. The plan has nothing of the scripts. */
static void take_timers_away(void)
{
    for (unsigned i = 0; i < random_graph.task_count; i++) {
        for (unsigned k = 0; k < random_graph.scripts[i].step_count; k++) {
            struct random_step *step = &random_graph.scripts[i].steps[k];

            step->wait = step->wait == WAIT_ALL_FOR ? WAIT_ALL : step->wait;
            for (unsigned part = 0; part < step->part_count; part++) {
                step->sleep_ns[part] |= 1; /* odd ones are given to the hook */
            }
        }
    }
    random_graph.hooks.defer = complete_at_once;
}

static void places_open(struct place places[EXECUTORS])
{
    const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                          .worker_count = 3};
    struct cpt_queue_executor_options queue = {.struct_bytes = sizeof queue};

    virtual_init(&virtual, 1);
    virtual_init(&queue_time, 1);
    queue.clock = &queue_time.clock;
    places[0] = (struct place){.name = "virtual",
                               .executor = &virtual.executor,
                               .clock = &virtual.clock,
                               .drive = drive_virtual};
    places[1] = (struct place){.name = "queue",
                               .executor = cpt_queue_executor_new(&queue, NULL),
                               .clock = &queue_time.clock,
                               .drive = drive_queue};
    places[2] = (struct place){.name = "pool", .executor = cpt_pool_new(&pool, NULL)};
    places[3] = (struct place){
        .name = "inline", .executor = cpt_executor_inline(), .has_no_timers = true};
    CU_ASSERT_FATAL(places[1].executor != NULL && places[2].executor != NULL);
}

static void places_close(struct place places[EXECUTORS])
{
    cpt_queue_executor_free(places[1].executor);
    cpt_pool_free(places[2].executor);
    random_graph.hooks = (struct random_hooks){0};
}

/* --- One request --- */

/* Runs it to its end. false: it ended more than once, or not at all. */
static bool run_at(struct place *place, const struct cpt_plan *plan, int is_traced,
                   size_t limit, struct end *end)
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = place->executor,
                                                .clock = place->clock,
                                                .done = note_done,
                                                .gone = note_gone,
                                                .context = end,
                                                .memory_bytes_max = limit,
                                                .is_traced = is_traced};
    cpt_status status = CPT_OK;

    memset(end, 0, sizeof *end);
    status = cpt_request_start(&options, NULL);
    if (status != CPT_OK) {
        end->status = status;
        return atomic_load(&end->done_count) == 0;
    }
    if (place->drive != NULL) {
        place->drive(place);
    }
    while (atomic_load(&end->gone_count) == 0) {
        (void)sched_yield(); /* a request that hangs is ended by the test's timeout */
    }
    return atomic_load(&end->done_count) == 1 && atomic_load(&end->gone_count) == 1;
}

static void report(uint64_t seed, const struct place *place, const struct end *end)
{
    printf("\n  CPT_TEST_SEED=%llu, %s: status %d, output %llx, expected %llx\n",
           (unsigned long long)seed, place->name, end->status,
           (unsigned long long)end->output, (unsigned long long)random_expected());
}

/* Draws the graph of @seed; the plan is the caller's. */
static struct cpt_plan *draw(uint64_t seed)
{
    uint64_t random = seed;
    struct cpt_plan *plan = NULL;

    random_graph.hooks = (struct random_hooks){0};
    random_graph_make(&random, SCALE_NS);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

static bool is_as_expected(struct place *place, const struct cpt_plan *plan,
                           uint64_t seed)
{
    struct end end;

    for (int is_traced = 0; is_traced < 2; is_traced++) {
        if (!run_at(place, plan, is_traced, 0, &end) || end.status != CPT_OK ||
            end.output != random_expected()) {
            report(seed, place, &end);
            return false;
        }
    }
    return true;
}

static void test_random_requests(void)
{
    const uint64_t seed = test_random_seed("four executors");
    const uint64_t count = test_case_count(REQUESTS);
    struct place places[EXECUTORS];
    bool is_good = true;

    places_open(places);
    for (uint64_t i = 0; i < count / 2 && is_good; i++) {
        struct cpt_plan *plan = draw(seed + i != 0 ? seed + i : 1);

        virtual.random = seed + i;
        for (int k = 0; k < EXECUTORS && is_good; k++) {
            if (places[k].has_no_timers) {
                take_timers_away();
            }
            is_good = is_as_expected(&places[k], plan, seed + i);
        }
        cpt_plan_free(plan);
    }
    CU_ASSERT_TRUE(is_good);
    places_close(places);
}

/* --- The limits of memory --- */

static bool is_possible(const struct end *end, bool is_enough)
{
    if (end->status == CPT_OK && end->output == random_expected()) {
        return true;
    }
    return !is_enough && (end->status == CPT_LIMIT || end->status == CPT_NO_MEMORY ||
                          (end->status == CPT_OK && random_may_give(end->output)));
}

static bool is_same(const struct end *one, const struct end *other)
{
    return one->status == other->status && one->output == other->output;
}

/*
 * At a limit, a request is refused, gives its output, or gives one in which inputs are
 * absent that a task only wants, as the task that gives them was refused memory.
 *
 * Which of these is decided by the order in which pieces are taken. Three of the
 * executors repeat it, and tracing does not change it: so a traced request ends as one
 * that is not, at each limit. On the pool the order is chance. In one of some thousands
 * of requests two tasks meet in a way that is impossible on one thread, and one takes a
 * piece more or less; if that is the piece that begins a block, the need differs by a
 * block. So there two runs at one limit may differ, traced or not, and no more can be
 * said of one than that it ends in one of the three ways, and well where it has a block
 * more than was ever too little elsewhere.
 */
static bool sweep(struct place *place, const struct cpt_plan *plan, uint64_t seed,
                  size_t *too_little)
{
    const bool is_pool = place->drive == NULL && !place->has_no_timers;
    const size_t enough = is_pool ? *too_little + BLOCK_BYTES : LIMIT_MAX - SIZE_STEP;
    struct end ends[2];

    for (size_t limit = SIZE_STEP; limit < LIMIT_MAX; limit += SIZE_STEP) {
        for (int is_traced = 0; is_traced < 2; is_traced++) {
            struct end *end = &ends[is_traced];

            virtual.random = seed + limit;
            if (!run_at(place, plan, is_traced, limit, end) ||
                !is_possible(end, limit >= enough) ||
                (is_traced && !is_pool && !is_same(&ends[0], end))) {
                printf("\n  limit %zu, traced %d, untraced status %d:", limit,
                       is_traced, ends[0].status);
                report(seed, place, end);
                return false;
            }
            if (end->status != CPT_OK && *too_little < limit) {
                *too_little = limit;
            }
        }
    }
    return *too_little > SIZE_STEP;
}

static void test_each_limit(void)
{
    const uint64_t seed = test_random_seed("limits on four executors");
    struct place places[EXECUTORS];
    bool is_good = true;

    places_open(places);
    for (uint64_t i = 0; i < SWEPT_GRAPHS && is_good; i++) {
        struct cpt_plan *plan = draw(seed + i != 0 ? seed + i : 1);
        size_t too_little = 0;

        for (int k = 0; k < EXECUTORS && is_good; k++) {
            if (places[k].has_no_timers) {
                take_timers_away();
            }
            is_good = sweep(&places[k], plan, seed + i, &too_little);
        }
        cpt_plan_free(plan);
    }
    CU_ASSERT_TRUE(is_good);
    places_close(places);
}

CU_TestInfo cpt_four_executors_tests[] = {
    {"2,000 random requests, against an interpreter", test_random_requests},
    {"each limit of memory, traced as untraced", test_each_limit},
    CU_TEST_INFO_NULL,
};
