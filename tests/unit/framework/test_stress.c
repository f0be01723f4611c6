/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_stress.c - everything at once, on real threads
 *
 * Random graphs with tasks that fail or cancel what they have started, deadlines of
 * waits and of requests, requests that are cancelled from outside, work that two
 * foreign threads complete (early, late, after the request has ended, when cancelled),
 * refused allocations and tiny memory limits, on pools of one to four workers,
 * sometimes with thousands of requests at once.
 *
 * The input of a request (its fate) decides which steps fail. So each graph is also run
 * one request after the other, on one thread, in virtual time, without disturbances:
 * this gives the expected status and output. An undisturbed request must have just
 * these. A disturbed one may have ended for that reason instead, but for no other; only
 * refused memory may change the output, if tasks that are wanted and not needed failed.
 *
 * Always: `done` is called once and has an output or a sentence, the path conserves
 * time, `gone` is called once, and no memory leaks.
 *
 * make test-all runs it under ThreadSanitizer and AddressSanitizer. CPT_TEST_CASES sets
 * the number of graphs, CPT_TEST_SEED the seed.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GRAPHS = 120,
    FEW = 48, /* requests of a graph; of every MANY_EVERY-th: */
    MANY_EVERY = 10,
    MANY = TEST_IS_SLOW ? 400 : 2000, /* else a minute of two cores */
    FATES = 16,
    FAILS_OF_1000 = 15, /* steps */
    BLOCKED_MAX = 32,   /* at one time: fewer than a pool's extra threads */
    COMPLETERS = 2,
    JOBS_MAX = MANY * RANDOM_TASKS_MAX * RANDOM_STEPS_MAX * RANDOM_PARTS_MAX
};

static uint64_t now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

/* --- The foreign threads --- */

struct job {
    struct cpt_pending *pending;
    const struct random_work *work;
    uint64_t due_ns;
};

static struct {
    pthread_mutex_t mutex;
    struct job jobs[JOBS_MAX];
    size_t count;
    int is_stopping;
    pthread_t threads[COMPLETERS];
} foreign = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int wrongly_told_count; /* more than once; guarded by foreign.mutex */

static void complete_later(struct cpt_pending *pending, const struct random_work *work,
                           uint64_t duration_ns)
{
    int is_full = 0;

    (void)pthread_mutex_lock(&foreign.mutex);
    is_full = foreign.count == JOBS_MAX;
    if (!is_full) {
        foreign.jobs[foreign.count++] =
            (struct job){pending, work, now_ns() + duration_ns};
    }
    (void)pthread_mutex_unlock(&foreign.mutex);
    if (is_full) {
        cpt_complete(pending, CPT_LIMIT);
    }
}

/* Takes one due work. */
static struct cpt_pending *take_due(void)
{
    const uint64_t until_ns = now_ns();
    struct cpt_pending *pending = NULL;

    (void)pthread_mutex_lock(&foreign.mutex);
    for (size_t i = 0; i < foreign.count && pending == NULL; i++) {
        const int is_told = atomic_load(&foreign.jobs[i].work->is_told);

        wrongly_told_count += is_told > 1;
        if (is_told || foreign.jobs[i].due_ns <= until_ns) {
            pending = foreign.jobs[i].pending;
            foreign.jobs[i] = foreign.jobs[--foreign.count];
        }
    }
    (void)pthread_mutex_unlock(&foreign.mutex);
    return pending;
}

static int is_over(void)
{
    int over = 0;

    (void)pthread_mutex_lock(&foreign.mutex);
    over = foreign.is_stopping && foreign.count == 0;
    (void)pthread_mutex_unlock(&foreign.mutex);
    return over;
}

static void *run_foreign(void *context)
{
    unsigned *turn = context;

    while (!is_over()) {
        struct cpt_pending *pending = take_due();

        if (pending != NULL) {
            cpt_complete(pending, ++*turn % 3 == 0 ? CPT_FAILED : CPT_OK);
        } else {
            (void)usleep(20);
        }
    }
    return NULL;
}

/* --- The expected outcomes --- */

struct end {
    cpt_status status;
    uint64_t output;
};

static struct end expected[FATES]; /* of this graph */

static int fails_by_fate(uint64_t input, unsigned task, unsigned step)
{
    uint64_t random = (input * RANDOM_TASKS_MAX + task) * 64 + step + 1;

    random *= UINT64_C(0x9e3779b97f4a7c15);
    return virtual_random(&random, 1000) < FAILS_OF_1000;
}

static void note_end(struct cpt_request *request, void *context)
{
    struct end *end = context;
    const uint64_t *output = cpt_request_output(request);

    *end = (struct end){cpt_request_status(request), output != NULL ? *output : 0};
}

/* Runs the graph once for each fate, in virtual time, without disturbances. */
static void find_expected(const struct cpt_plan *plan, uint64_t first_input)
{
    static struct virtual_time now;
    const struct random_hooks hooks = random_graph.hooks;

    random_graph.hooks = (struct random_hooks){.fails = fails_by_fate};
    for (uint64_t i = 0; i < FATES; i++) {
        const uint64_t input = first_input + i;
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .executor = &now.executor,
                                                    .input = &input,
                                                    .done = note_end,
                                                    .context = &expected[i]};

        expected[i].status = CPT_WAITING;
        virtual_init(&now, 0);
        (void)cpt_request_start(&options, NULL);
        virtual_run(&now);
    }
    random_graph.hooks = hooks;
}

/* --- Disturbances --- */

struct batch {
    atomic_int done_count;
    atomic_int gone_count;
    atomic_int wrong_count;
    atomic_int is_open; /* before, no task gets anywhere */
};

struct one {
    struct batch *batch;
    const struct end *expected;
    struct cpt_alloc alloc;
    unsigned refused_of_1000;
    int has_timeout;
    int is_short_of_memory;
    atomic_int is_refused;
    atomic_int is_cancelled;
};

static struct batch batch;
static struct one ones[MANY];
static atomic_long live_blocks;
static atomic_uint_least64_t allocation_count;

static void *resize(void *context, void *memory, size_t bytes)
{
    struct one *one = context;
    void *resized = NULL;

    if (bytes == 0) {
        atomic_fetch_sub(&live_blocks, memory != NULL);
        free(memory);
        return NULL;
    }
    if (one->refused_of_1000 != 0) {
        uint64_t random = atomic_fetch_add(&allocation_count, 0x9e3779b97f4a7c15U) | 1;

        if (virtual_random(&random, 1000) < one->refused_of_1000) {
            atomic_store(&one->is_refused, 1);
            return NULL;
        }
    }
    resized = realloc(memory, bytes);
    atomic_fetch_add(&live_blocks, memory == NULL && resized != NULL);
    return resized;
}

static atomic_uint_least64_t step_count;
static atomic_int wait_count;

static int cancels_sometimes(unsigned task)
{
    return (atomic_fetch_add(&step_count, 1) + task) % 5 == 0;
}

static cpt_status block_sometimes(struct cpt_task *task, struct cpt_pending *pending)
{
    cpt_status status = CPT_WAITING;

    if (atomic_load(&step_count) % 3 != 0) {
        return CPT_WAITING;
    }
    if (atomic_fetch_add(&wait_count, 1) < BLOCKED_MAX) {
        status = cpt_wait(task, pending);
    }
    atomic_fetch_sub(&wait_count, 1);
    return status;
}

static void spin(uint64_t duration_ns)
{
    const uint64_t end_ns = now_ns() + duration_ns;

    while (!atomic_load(&batch.is_open)) {
        (void)usleep(50);
    }
    while (now_ns() < end_ns) {
    }
}

/* --- The requests --- */

static int is_path_sound(struct cpt_request *request)
{
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = NULL;
    cpt_status status = CPT_OK;
    int is_sound = 1;

    if (latency_ns == 0) {
        return 1;
    }
    path = cpt_path_new(NULL);
    status = cpt_request_path(request, path, NULL);
    is_sound = status == CPT_NO_MEMORY ||
               (status == CPT_OK && cpt_path_check(path, latency_ns, NULL) == CPT_OK);
    cpt_path_free(path);
    return is_sound;
}

/* Whether it ended as expected, or because of its disturbance. */
static int is_end_allowed(const struct one *one, const struct end *end)
{
    const int lacked_memory = atomic_load(&one->is_refused) || one->is_short_of_memory;

    if (end->status == one->expected->status) {
        return end->output == one->expected->output || lacked_memory;
    }
    switch (end->status) {
    case CPT_CANCELLED:
        return atomic_load(&one->is_cancelled);
    case CPT_TIMEOUT:
        return one->has_timeout;
    case CPT_LIMIT:
    case CPT_NO_MEMORY:
        return lacked_memory;
    default:
        return 0;
    }
}

static void note_done(struct cpt_request *request, void *context)
{
    const struct one *one = context;
    struct end end = {0};

    note_end(request, &end);
    if (!is_path_sound(request) || !is_end_allowed(one, &end) ||
        (cpt_request_output(request) != NULL) != (end.status == CPT_OK) ||
        (cpt_request_sentence(request)[0] == '\0') != (end.status == CPT_OK)) {
        printf("\n  status %d, output %llu, expected %d, %llu: %s", end.status,
               (unsigned long long)end.output, one->expected->status,
               (unsigned long long)one->expected->output,
               cpt_request_sentence(request));
        atomic_fetch_add(&one->batch->wrong_count, 1);
    }
    atomic_fetch_add(&one->batch->done_count, 1);
}

static void note_gone(void *context)
{
    atomic_fetch_add(&((const struct one *)context)->batch->gone_count, 1);
}

/* Cancels one of the started requests, even if it has ended; or none. */
static void cancel_one(uint64_t *random, struct cpt_request_handle *const *handles,
                       int count)
{
    const uint64_t i = virtual_random(random, (uint64_t)count);

    if (handles[i] != NULL && virtual_random(random, 3) == 0) {
        atomic_store(&ones[i].is_cancelled, 1);
        (void)cpt_request_cancel(handles[i]);
    }
}

/* Starts request @i. A quarter of them are never disturbed. */
static int start_one(int i, uint64_t *random, struct cpt_request_options options,
                     uint64_t first_input, struct cpt_request_handle **handle)
{
    const int is_safe = i % 4 == 0;
    const uint64_t fate = virtual_random(random, FATES);
    const uint64_t input = first_input + fate;
    struct one *one = &ones[i];

    options.memory_bytes_max =
        is_safe || i % 3 != 0 ? 0 : 8000 + virtual_random(random, 20000);
    options.timeout_ns = is_safe || i % 5 != 0 ? 0 : 1 + virtual_random(random, 200000);
    options.is_traced = virtual_random(random, 4) != 0;
    options.attribution = (unsigned)virtual_random(random, 2);
    options.measures_cpu = virtual_random(random, 4) == 0;
    if (i % 3 == 1) {
        options.slack_wait_ns_max = 1 + virtual_random(random, 100000);
        options.slack_ns = virtual_random(random, 1000000);
    }
    *one = (struct one){.batch = &batch,
                        .expected = &expected[fate],
                        .alloc = {resize, one},
                        .refused_of_1000 = is_safe ? 0 : 10,
                        .has_timeout = options.timeout_ns != 0,
                        .is_short_of_memory = options.memory_bytes_max != 0};
    options.input = &input;
    options.context = one;
    options.alloc = &one->alloc;
    return is_safe || i % 2 != 0
               ? cpt_request_start(&options, NULL) == CPT_OK
               : cpt_request_start_held(&options, handle, NULL) == CPT_OK;
}

/* Starts @count requests, all at once if @at_once: then none succeeds before the last
 * has begun. The number started. */
static int run_batch(uint64_t *random, const struct cpt_request_options *options,
                     uint64_t first_input, int count, int at_once)
{
    static struct cpt_request_handle *handles[MANY];
    int started = 0;

    batch = (struct batch){.is_open = !at_once};
    memset(handles, 0, sizeof handles);
    for (int i = 0; i < count; i++) {
        started += start_one(i, random, *options, first_input, &handles[i]);
        cancel_one(random, handles, i + 1);
    }
    atomic_store(&batch.is_open, 1);
    for (int i = 0; i < count; i++) {
        cancel_one(random, handles, count);
        cpt_request_handle_free(handles[i]);
        handles[i] = NULL;
    }
    while (atomic_load(&batch.gone_count) < started) {
        (void)usleep(50);
    }
    return started;
}

static int run_graph(uint64_t *random, int count, int at_once)
{
    const struct cpt_pool_options pool_options = {
        .struct_bytes = sizeof pool_options,
        .worker_count = 1 + (unsigned)virtual_random(random, 4)};
    struct cpt_request_options options = {
        .struct_bytes = sizeof options, .done = note_done, .gone = note_gone};
    const uint64_t first_input = virtual_random(random, 1U << 30);
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = NULL;
    int started = 0;

    random_graph_make(random, at_once ? 3000 : 30000);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    find_expected(plan, first_input);
    options.plan = plan;
    options.executor = pool;
    started = run_batch(random, &options, first_input, count, at_once);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    return atomic_load(&batch.done_count) == started &&
           atomic_load(&batch.gone_count) == started &&
           atomic_load(&batch.wrong_count) == 0 && atomic_load(&live_blocks) == 0;
}

static int run_graphs(uint64_t *random, long count)
{
    int is_good = 1;

    for (long i = 0; i < count && is_good; i++) {
        const int at_once = i % MANY_EVERY == 0;

        is_good = run_graph(random, at_once ? MANY : FEW, at_once);
    }
    return is_good;
}

static void test_everything_at_once(void)
{
    static unsigned turns[COMPLETERS];
    const char *seed_text = getenv("CPT_TEST_SEED");
    const char *cases_text = getenv("CPT_TEST_CASES");
    uint64_t random = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 20260103;
    int is_good = 0;

    printf("(seed %llu) ", (unsigned long long)random);
    random_graph.hooks = (struct random_hooks){.spend = spin,
                                               .defer = complete_later,
                                               .fails = fails_by_fate,
                                               .cancels = cancels_sometimes,
                                               .wait = block_sometimes};
    foreign.is_stopping = 0;
    for (size_t i = 0; i < COMPLETERS; i++) {
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&foreign.threads[i], NULL, run_foreign, &turns[i]), 0);
    }
    is_good =
        run_graphs(&random, cases_text != NULL ? strtol(cases_text, NULL, 0) : GRAPHS);
    (void)pthread_mutex_lock(&foreign.mutex);
    foreign.is_stopping = 1;
    (void)pthread_mutex_unlock(&foreign.mutex);
    for (size_t i = 0; i < COMPLETERS; i++) {
        (void)pthread_join(foreign.threads[i], NULL);
    }
    random_graph.hooks = (struct random_hooks){0};
    CU_ASSERT_TRUE(is_good);
    CU_ASSERT_EQUAL(wrongly_told_count, 0);
}

CU_TestInfo cpt_stress_tests[] = {
    {"everything at once", test_everything_at_once},
    CU_TEST_INFO_NULL,
};
