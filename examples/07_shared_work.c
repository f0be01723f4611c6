/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 07_shared_work.c - a cache that is filled once, and questions answered in batches
 *
 * Four requests arrive at once. All miss the same entry of a cache: one run loads it,
 * and all wait for that run. Then each has its own question for a back end that answers
 * four as fast as one: the questions are collected, and one run answers all.
 *
 *      request 1..4   [ load: one for all ][ ask: one for all ]
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_runtime.h>
#include <cpt/cpt_shared.h>

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { REQUESTS = 4 };

static void work(long ms)
{
    const struct timespec duration = {0, ms * 1000000};

    (void)nanosleep(&duration, NULL);
}

/* --- The work --- */

CPT_VALUE(key, int);
CPT_VALUE(entry, int);

static atomic_int load_count;

static cpt_status load(struct cpt_task *task)
{
    atomic_fetch_add(&load_count, 1);
    work(20);
    *cpt_output(task, entry) = *cpt_input(task, key) * 10;
    return CPT_OK;
}

static const struct cpt_task_def load_tasks[] = {
    {"load", load, CPT_GIVES(entry), CPT_NEEDS(key)}};
static const struct cpt_graph load_graph = {"A", CPT_GIVES(key), CPT_GIVES(entry),
                                            load_tasks, 1};

struct answers {
    int of[REQUESTS];
};
CPT_VALUE(questions, struct cpt_batch);
CPT_VALUE(answers, struct answers);

static atomic_int batch_count;

static cpt_status answer(struct cpt_task *task)
{
    const struct cpt_batch *batch = cpt_input(task, questions);
    const int *questions = batch->items;

    atomic_fetch_add(&batch_count, 1);
    work(3);
    for (size_t i = 0; i < batch->count; i++) {
        cpt_output(task, answers)->of[i] = questions[i] + 1;
    }
    return CPT_OK;
}

static const struct cpt_task_def answer_tasks[] = {
    {"answer", answer, CPT_GIVES(answers), CPT_NEEDS(questions)}};
static const struct cpt_graph answer_graph = {"A", CPT_GIVES(questions),
                                              CPT_GIVES(answers), answer_tasks, 1};

static struct cpt_shared *cache;
static struct cpt_shared *backend;

/* --- A request --- */

CPT_VALUE(number, int);
CPT_VALUE(page, int);

struct waiting {
    struct cpt_pending *pending;
    int entry;
};

static cpt_status render(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);
    const struct answers *answers = cpt_run_output(waiting->pending, answers);

    if (answers == NULL) {
        return cpt_fail(task, CPT_FAILED, "%s", cpt_run_sentence(waiting->pending));
    }
    *cpt_output(task, page) =
        waiting->entry + answers->of[cpt_share_index(waiting->pending)];
    return CPT_OK;
}

static cpt_status ask(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);
    const int *entry = cpt_run_output(waiting->pending, entry);

    if (entry == NULL) {
        return cpt_fail(task, CPT_FAILED, "%s", cpt_run_sentence(waiting->pending));
    }
    waiting->entry = *entry;
    waiting->pending =
        cpt_share(task, backend, cpt_bytes_of(""), number, cpt_input(task, number));
    return cpt_await(task, waiting->pending, render);
}

static cpt_status look_up(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);
    const int key = 7;

    waiting->pending = cpt_share(task, cache, cpt_bytes_of("seven"), key, &key);
    return cpt_await(task, waiting->pending, ask);
}

static const struct cpt_task_def tasks[] = {
    {"page", look_up, CPT_GIVES(page), CPT_NEEDS(number)}};
static const struct cpt_graph search = {"A", CPT_GIVES(number), CPT_GIVES(page), tasks,
                                        1};

struct ended {
    struct cpt_path *path;
    int page;
    atomic_int is_gone;
};

static void note_done(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const int *page = cpt_request_output(request);

    ended->page = page != NULL ? *page : -1;
    (void)cpt_request_path(request, ended->path, NULL);
}

static void note_gone(void *context)
{
    atomic_store(&((struct ended *)context)->is_gone, 1);
}

static void print(const struct ended *ended)
{
    char stack[512];

    (void)printf("page %d:\n", ended->page);
    for (size_t i = 0; i < cpt_path_segment_count(ended->path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(ended->path, i);

        (void)cpt_path_stack_text(ended->path, segment->frame, stack, sizeof stack);
        (void)printf("%9.3f ms  %s\n", (double)segment->duration_ns / 1e6, stack);
    }
}

/* Starts all requests at once; waits until the last one is gone. */
static void run(const struct cpt_plan *plan, struct cpt_executor *pool)
{
    static struct ended ends[REQUESTS];

    for (int i = 0; i < REQUESTS; i++) {
        struct cpt_request_options request = {.struct_bytes = sizeof request,
                                              .plan = plan,
                                              .executor = pool,
                                              .input = &i,
                                              .done = note_done,
                                              .gone = note_gone,
                                              .context = &ends[i],
                                              .is_traced = 1,
                                              .entry = "A: /page"};

        ends[i].path = cpt_path_new(NULL);
        if (cpt_request_start(&request, NULL) != CPT_OK) {
            note_gone(&ends[i]);
        }
    }
    for (int i = 0; i < REQUESTS; i++) {
        while (!atomic_load(&ends[i].is_gone)) {
            work(1);
        }
        print(&ends[i]);
        cpt_path_free(ends[i].path);
    }
    (void)printf("loads %d, batches %d\n", atomic_load(&load_count),
                 atomic_load(&batch_count));
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_pool_options two = {.struct_bytes = sizeof two, .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&two, &error);
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, &error);
    struct cpt_plan *load_plan = cpt_plan_new(&load_graph, NULL, &error);
    struct cpt_plan *answer_plan = cpt_plan_new(&answer_graph, NULL, &error);
    struct cpt_shared_options options = {
        .struct_bytes = sizeof options, .plan = load_plan, .name = "cache"};

    cache = cpt_shared_new(&options, &error);
    options.plan = answer_plan;
    options.name = "back end";
    options.batch_count_max = REQUESTS;
    options.batch_delay_ns = 200000000;
    options.item = CPT_GIVES(number);
    backend = cpt_shared_new(&options, &error);
    if (error.status == CPT_OK) {
        run(plan, pool);
    } else {
        (void)fprintf(stderr, "07_shared_work: %s\n", error.sentence);
    }
    cpt_shared_free(cache);
    cpt_shared_free(backend);
    cpt_pool_free(pool);
    cpt_plan_free(answer_plan);
    cpt_plan_free(load_plan);
    cpt_plan_free(plan);
    return error.status == CPT_OK ? 0 : 1;
}
