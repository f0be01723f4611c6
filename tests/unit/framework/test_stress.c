/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_stress.c - everything at once, on real threads
 *
 * Random graphs with tasks that fail or cancel what they have started, deadlines of
 * waits and of requests, requests that are cancelled from outside, work that two
 * foreign threads complete (early, late, after the request has ended, when told to
 * stop), refused allocations and tiny memory limits, on pools of one to four workers.
 * Whatever happens: `done` comes once and has an output or a sentence, the path
 * conserves time, `gone` comes once, and no memory stays.
 *
 * Run under ThreadSanitizer and AddressSanitizer by make test-all. CPT_TEST_CASES sets
 * how many graphs, CPT_TEST_SEED which.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GRAPHS = 120, REQUESTS = 48, COMPLETERS = 2, JOBS_MAX = 65536 };

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

/* Takes one that is due. */
static struct cpt_pending *take_due(void)
{
    struct cpt_pending *pending = NULL;

    (void)pthread_mutex_lock(&foreign.mutex);
    for (size_t i = 0; i < foreign.count && pending == NULL; i++) {
        const int is_told = atomic_load(&foreign.jobs[i].work->is_told);

        wrongly_told_count += is_told > 1;
        if (is_told || foreign.jobs[i].due_ns <= now_ns()) {
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

/* --- What is refused --- */

static atomic_long live_blocks;
static atomic_uint_least64_t allocation_count;
static unsigned refused_of_1000;

static void *resize(void *context, void *memory, size_t bytes)
{
    void *resized = NULL;

    (void)context;
    if (bytes == 0) {
        atomic_fetch_sub(&live_blocks, memory != NULL);
        free(memory);
        return NULL;
    }
    if (refused_of_1000 != 0) {
        uint64_t random = atomic_fetch_add(&allocation_count, 0x9e3779b97f4a7c15U) | 1;

        if (virtual_random(&random, 1000) < refused_of_1000) {
            return NULL;
        }
    }
    resized = realloc(memory, bytes);
    atomic_fetch_add(&live_blocks, memory == NULL && resized != NULL);
    return resized;
}

static const struct cpt_alloc refusing = {resize, NULL};

static atomic_uint_least64_t step_count;

static int fails_sometimes(unsigned task)
{
    return (atomic_fetch_add(&step_count, 1) + task) % 53 == 0;
}

static int cancels_sometimes(unsigned task)
{
    return (atomic_load(&step_count) + task) % 5 == 0;
}

static cpt_status block_sometimes(struct cpt_task *task, struct cpt_pending *pending)
{
    return atomic_load(&step_count) % 3 == 0 ? cpt_wait(task, pending) : CPT_WAITING;
}

static void spin(uint64_t duration_ns)
{
    const uint64_t end_ns = now_ns() + duration_ns;

    while (now_ns() < end_ns) {
    }
}

/* --- The requests --- */

struct batch {
    atomic_int done_count;
    atomic_int gone_count;
    atomic_int wrong_count;
};

static int is_sound(struct cpt_request *request)
{
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_OK;
    int is_good = (cpt_request_status(request) == CPT_OK)
                      ? cpt_request_output(request) != NULL
                      : cpt_request_sentence(request)[0] != '\0';

    if (latency_ns != 0) {
        status = cpt_request_path(request, path, NULL);
        is_good =
            is_good &&
            (status == CPT_NO_MEMORY ||
             (status == CPT_OK && cpt_path_check(path, latency_ns, NULL) == CPT_OK));
    }
    cpt_path_free(path);
    return is_good;
}

static void note_done(struct cpt_request *request, void *context)
{
    struct batch *batch = context;

    if (!is_sound(request)) {
        atomic_fetch_add(&batch->wrong_count, 1);
    }
    atomic_fetch_add(&batch->done_count, 1);
}

static void note_gone(void *context)
{
    atomic_fetch_add(&((struct batch *)context)->gone_count, 1);
}

/* Cancels any of those that were started, or that may be gone; or none. */
static void cancel_one(uint64_t *random, struct cpt_request_handle *const *handles)
{
    struct cpt_request_handle *handle = handles[virtual_random(random, REQUESTS)];

    if (handle != NULL && virtual_random(random, 3) == 0) {
        (void)cpt_request_cancel(handle);
    }
}

static int run_graph(uint64_t *random)
{
    struct batch batch = {0};
    const struct cpt_pool_options pool_options = {
        .struct_bytes = sizeof pool_options,
        .worker_count = 1 + (unsigned)virtual_random(random, 4)};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = NULL;
    struct cpt_request_handle *handles[REQUESTS] = {NULL};
    int started = 0;

    random_graph_make(random, 30000);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        const struct cpt_request_options options = {
            .struct_bytes = sizeof options,
            .plan = plan,
            .executor = pool,
            .done = note_done,
            .gone = note_gone,
            .context = &batch,
            .alloc = &refusing,
            .is_traced = i % 4 != 0,
            .attribution = (unsigned)(i % 2),
            .memory_bytes_max = i % 3 != 0 ? 0 : 8000 + virtual_random(random, 20000),
            .timeout_ns = i % 5 != 0 ? 0 : 1 + virtual_random(random, 200000)};

        started += i % 2 == 0
                       ? cpt_request_start(&options, NULL) == CPT_OK
                       : cpt_request_start_held(&options, &handles[i], NULL) == CPT_OK;
        cancel_one(random, handles);
    }
    for (int i = 0; i < REQUESTS; i++) {
        cancel_one(random, handles);
        cpt_request_handle_free(handles[i]);
        handles[i] = NULL;
    }
    while (atomic_load(&batch.gone_count) < started) {
        (void)usleep(50);
    }
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    return atomic_load(&batch.done_count) == started &&
           atomic_load(&batch.gone_count) == started &&
           atomic_load(&batch.wrong_count) == 0 && atomic_load(&live_blocks) == 0;
}

static void test_everything_at_once(void)
{
    static unsigned turns[COMPLETERS];
    const char *seed_text = getenv("CPT_TEST_SEED");
    const char *cases_text = getenv("CPT_TEST_CASES");
    uint64_t random = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 20260103;
    const long graphs = cases_text != NULL ? strtol(cases_text, NULL, 0) : GRAPHS;
    int is_good = 1;

    printf("(seed %llu) ", (unsigned long long)random);
    random_graph.hooks = (struct random_hooks){.spend = spin,
                                               .defer = complete_later,
                                               .fails = fails_sometimes,
                                               .cancels = cancels_sometimes,
                                               .wait = block_sometimes};
    refused_of_1000 = 10;
    foreign.is_stopping = 0;
    for (size_t i = 0; i < COMPLETERS; i++) {
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&foreign.threads[i], NULL, run_foreign, &turns[i]), 0);
    }
    for (long i = 0; i < graphs && is_good; i++) {
        is_good = run_graph(&random);
    }
    (void)pthread_mutex_lock(&foreign.mutex);
    foreign.is_stopping = 1;
    (void)pthread_mutex_unlock(&foreign.mutex);
    for (size_t i = 0; i < COMPLETERS; i++) {
        (void)pthread_join(foreign.threads[i], NULL);
    }
    CU_ASSERT_TRUE(is_good);
    CU_ASSERT_EQUAL(wrongly_told_count, 0);
}

CU_TestInfo cpt_stress_tests[] = {
    {"everything at once", test_everything_at_once},
    CU_TEST_INFO_NULL,
};
