/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_nesting_stress.c - components and shared work on real threads
 *
 * Requests map over elements; each element is a component that asks a cache for an
 * entry, adds an item to a batch, or maps again, a few levels deep. Some wants fail,
 * some waits have deadlines, some requests are cancelled from outside, some allocations
 * are refused. A request that succeeds has the same output as alone; each path
 * conserves time; `done` and `gone` are called once; no memory leaks.
 */
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 12, REQUESTS = 64, PARTS_MAX = 5, DEPTH = 3, KEYS = 4, BATCH = 4 };

/* --- Memory that is sometimes refused --- */

static atomic_long live_count;
static atomic_uint call_count;
static unsigned refused_of_1000;

static void *resize(void *context, void *memory, size_t bytes)
{
    void *got = NULL;

    (void)context;
    if (bytes != 0 && refused_of_1000 != 0 &&
        atomic_fetch_add(&call_count, 7919) % 1000 < refused_of_1000) {
        return NULL;
    }
    got = cpt_alloc_default()->resize(NULL, memory, bytes);
    if (memory == NULL && got != NULL) {
        atomic_fetch_add(&live_count, 1);
    } else if (memory != NULL && bytes == 0) {
        atomic_fetch_sub(&live_count, 1);
    }
    return got;
}

static const struct cpt_alloc alloc = {resize, NULL};

/* --- A part and its output --- */

struct part {
    uint64_t seed;
    unsigned depth;
};

CPT_VALUE(part, struct part);
CPT_VALUE(extra, uint64_t);
CPT_VALUE(sum, uint64_t);
CPT_VALUE(key, uint64_t);
CPT_VALUE(entry, uint64_t);
CPT_VALUE(items, struct cpt_batch);

struct answers {
    uint64_t of[BATCH];
};
CPT_VALUE(answers, struct answers);

static struct cpt_plan *part_plan;
static struct cpt_plan *fill_plan;
static struct cpt_plan *batch_plan;
static struct cpt_shared *cache;
static struct cpt_shared *batches;

static uint64_t mix(uint64_t seed)
{
    return (seed ^ seed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
}

static unsigned count_of(const struct part *part)
{
    return part->depth == 0 ? 0 : (unsigned)(mix(part->seed) >> 40) % PARTS_MAX;
}

static struct part part_of(const struct part *part, unsigned index)
{
    return (struct part){mix(part->seed + index), part->depth - 1};
}

/* Half of all parts have an extra. */
static int has_extra(const struct part *part)
{
    return (mix(part->seed) >> 17) % 2 == 0;
}

/* The output of @part if nothing fails: the model, a recursion. */
static uint64_t model(const struct part *part)
{
    uint64_t sum = 10 * (part->seed % KEYS) + 3 * part->seed;

    for (unsigned i = 0; i < count_of(part); i++) {
        const struct part inner = part_of(part, i);

        sum += model(&inner);
    }
    return sum + (has_extra(part) ? 1 : 1000);
}

/* --- Shared work --- */

static cpt_status fill(struct cpt_task *task)
{
    *cpt_output(task, entry) = *cpt_input(task, key) * 10;
    return CPT_OK;
}

static cpt_status answer(struct cpt_task *task)
{
    const struct cpt_batch *batch = cpt_input(task, items);
    const uint64_t *items = batch->items;

    for (size_t i = 0; i < batch->count; i++) {
        cpt_output(task, answers)->of[i] = items[i] * 3;
    }
    return CPT_OK;
}

static const struct cpt_task_def fill_tasks[] = {
    {"load", fill, CPT_GIVES(entry), CPT_NEEDS(key)}};
static const struct cpt_graph fill_graph = {"S", CPT_GIVES(key), CPT_GIVES(entry),
                                            fill_tasks, 1};
static const struct cpt_task_def batch_tasks[] = {
    {"answer", answer, CPT_GIVES(answers), CPT_NEEDS(items)}};
static const struct cpt_graph batch_graph = {"S", CPT_GIVES(items), CPT_GIVES(answers),
                                             batch_tasks, 1};

/* --- A part: asks the cache and a batch, and has parts of its own --- */

struct asking {
    struct cpt_pending *entry;
    struct cpt_pending *answer;
    struct cpt_pending *parts[PARTS_MAX];
};

static cpt_status find_extra(struct cpt_task *task)
{
    *cpt_output(task, extra) = 1;
    return has_extra(cpt_input(task, part)) ? CPT_OK : CPT_IO;
}

static cpt_status add_up(struct cpt_task *task)
{
    const struct part *part = cpt_input(task, part);
    const struct asking *asking = cpt_state(task, struct asking);
    const uint64_t *entry = cpt_run_output(asking->entry, entry);
    const struct answers *answers = cpt_run_output(asking->answer, answers);
    uint64_t sum = 0;

    if (entry == NULL || answers == NULL) {
        return cpt_fail(
            task, CPT_FAILED, "shared work failed: %s",
            cpt_run_sentence(entry == NULL ? asking->entry : asking->answer));
    }
    sum = *entry + answers->of[cpt_share_index(asking->answer)];
    for (unsigned i = 0; i < count_of(part); i++) {
        const uint64_t *inner = cpt_run_output(asking->parts[i], sum);

        if (inner == NULL) {
            return cpt_fail(task, cpt_pending_status(asking->parts[i]), "%s",
                            cpt_run_sentence(asking->parts[i]));
        }
        sum += *inner;
    }
    *cpt_output(task, sum) =
        sum + (cpt_input(task, extra) != NULL ? *cpt_input(task, extra) : 1000);
    return CPT_OK;
}

static cpt_status begin_part(struct cpt_task *task)
{
    const struct part *part = cpt_input(task, part);
    struct asking *asking = cpt_state(task, struct asking);
    const uint64_t key = part->seed % KEYS;
    const char name[] = {(char)('a' + key)};

    if (asking == NULL) {
        return CPT_NO_MEMORY;
    }
    asking->entry =
        cpt_share(task, cache, ((struct cpt_bytes){name, sizeof name}), key, &key);
    asking->answer = cpt_share(task, batches, cpt_bytes_of(""), key, &part->seed);
    for (unsigned i = 0; i < count_of(part); i++) {
        const struct part inner = part_of(part, i);

        asking->parts[i] = cpt_spawn(task, "part", part_plan, part, &inner);
        if (asking->parts[i] == NULL) {
            return CPT_NO_MEMORY;
        }
    }
    if (asking->entry == NULL || asking->answer == NULL) {
        return CPT_NO_MEMORY;
    }
    return part->seed % 37 == 0 ? cpt_await_all_for(task, 50000, add_up)
                                : cpt_await_all(task, add_up);
}

static const struct cpt_task_def part_tasks[] = {
    {"extra", find_extra, CPT_GIVES(extra), CPT_NEEDS(part)},
    {"part", begin_part, CPT_GIVES(sum), CPT_NEEDS(part), CPT_WANTS(extra)}};
static const struct cpt_graph part_graph = {"S", CPT_GIVES(part), CPT_GIVES(sum),
                                            part_tasks, 2};

/* --- Requests --- */

struct ended {
    struct part part;
    atomic_int done_count;
    atomic_int gone_count;
    int is_wrong;
    int is_started;
    int is_path_bad;
    cpt_status status;
};

static struct ended ends[REQUESTS];
static atomic_size_t gone_total;

static void note_done(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_OK;

    ended->status = cpt_request_status(request);
    ended->is_wrong = ended->status == CPT_OK
                          ? *output != model(&ended->part)
                          : cpt_request_sentence(request)[0] == '\0';
    status = cpt_request_path(request, path, NULL);
    ended->is_path_bad = status == CPT_OK
                             ? cpt_path_check(path, latency_ns, NULL) != CPT_OK
                             : status != CPT_INVALID && refused_of_1000 == 0;
    cpt_path_free(path);
    atomic_fetch_add(&ended->done_count, 1);
}

static void note_gone(void *context)
{
    struct ended *ended = context;

    atomic_fetch_add(&ended->gone_count, 1);
    atomic_fetch_add(&gone_total, 1);
}

static void set_up(void)
{
    struct cpt_shared_options options = {
        .struct_bytes = sizeof options, .name = "cache", .alloc = &alloc};

    fill_plan = cpt_plan_new(&fill_graph, NULL, NULL);
    batch_plan = cpt_plan_new(&batch_graph, NULL, NULL);
    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    options.plan = fill_plan;
    cache = cpt_shared_new(&options, NULL);
    options.plan = batch_plan;
    options.name = "batches";
    options.batch_count_max = BATCH;
    options.batch_delay_ns = 20000;
    options.item = CPT_GIVES(key);
    batches = cpt_shared_new(&options, NULL);
    CU_ASSERT_TRUE(cache != NULL && batches != NULL && part_plan != NULL);
}

static void check_ends(size_t *well_count)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        if (!ends[i].is_started) {
            continue;
        }
        CU_ASSERT_EQUAL(ends[i].done_count, 1);
        CU_ASSERT_EQUAL(ends[i].gone_count, 1);
        CU_ASSERT_EQUAL(ends[i].is_wrong, 0);
        CU_ASSERT_EQUAL(ends[i].is_path_bad, 0);
        *well_count += ends[i].status == CPT_OK;
    }
}

/* Several requests at once; the last ones are cancelled while they run. */
static void run_round(uint64_t seed, struct cpt_executor *pool, size_t *well_count)
{
    struct cpt_request_handle *handles[REQUESTS] = {NULL};
    size_t started_count = 0;

    atomic_store(&gone_total, 0);
    for (size_t i = 0; i < REQUESTS; i++) {
        struct cpt_request_options options = {.struct_bytes = sizeof options,
                                              .plan = part_plan,
                                              .executor = pool,
                                              .done = note_done,
                                              .gone = note_gone,
                                              .context = &ends[i],
                                              .alloc = &alloc,
                                              .is_traced = (seed + i) % 3 != 0};

        ends[i] = (struct ended){.part = {mix(seed * REQUESTS + i), DEPTH}};
        options.input = &ends[i].part;
        ends[i].is_started =
            cpt_request_start_held(&options, &handles[i], NULL) == CPT_OK;
        started_count += (size_t)ends[i].is_started;
    }
    for (size_t i = REQUESTS - 8; i < REQUESTS; i++) {
        if (handles[i] != NULL) {
            (void)cpt_request_cancel(handles[i]);
        }
    }
    while (atomic_load(&gone_total) < started_count) {
        (void)usleep(100);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        cpt_request_handle_free(handles[i]);
    }
    check_ends(well_count);
}

static void run_rounds(unsigned refused, size_t *well_count)
{
    const char *text = getenv("CPT_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20260104;

    if (refused == 0) {
        printf("(seed %llu) ", (unsigned long long)seed);
    }
    *well_count = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                                 .worker_count = 1 + round % 4};
        struct cpt_executor *pool = cpt_pool_new(&options, NULL);

        refused_of_1000 = 0;
        set_up();
        refused_of_1000 = refused;
        run_round(seed + round, pool, well_count);
        cpt_shared_free(cache);
        cpt_shared_free(batches);
        cpt_pool_free(pool);
        cpt_plan_free(part_plan);
        cpt_plan_free(fill_plan);
        cpt_plan_free(batch_plan);
        CU_ASSERT_EQUAL(atomic_load(&live_count), 0);
    }
}

static void test_many_at_once(void)
{
    size_t well_count = 0;

    run_rounds(0, &well_count);
    CU_ASSERT_TRUE(well_count > ROUNDS * REQUESTS / 4);
}

static void test_without_memory_now_and_then(void)
{
    size_t well_count = 0;

    run_rounds(30, &well_count);
}

CU_TestInfo cpt_nesting_stress_tests[] = {
    {"components and shared work on threads", test_many_at_once},
    {"some allocations fail", test_without_memory_now_and_then},
    CU_TEST_INFO_NULL,
};
