/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 01_one_service.c - a graph of five tasks, and the critical path of one request
 *
 *      parse --> index --+--> rank --> render
 *           \--> ads ---'
 *
 * index and ads run at the same time. rank needs both, so the one that ends last delays
 * the request and is on the path; the other one is not. The tasks contain no tracing.
 * They sleep instead of working, and the values that they give are only numbers.
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_runtime.h>

#include <stdio.h>
#include <time.h>

/* Stands for @ms milliseconds of work. */
static void work(long ms)
{
    const struct timespec duration = {0, ms * 1000000};

    (void)nanosleep(&duration, NULL);
}

CPT_VALUE(text, const char *); /* the input of a request */
CPT_VALUE(query, int);
CPT_VALUE(matches, int);
CPT_VALUE(ads, int);
CPT_VALUE(ranked, int);
CPT_VALUE(page, int); /* its output */

static cpt_status parse(struct cpt_task *task)
{
    const char *const *text = cpt_input(task, text);

    work(2);
    *cpt_output(task, query) = (unsigned char)(*text)[0];
    return CPT_OK;
}

static cpt_status find_matches(struct cpt_task *task)
{
    work(6);
    *cpt_output(task, matches) = *cpt_input(task, query) + 1;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    work(3);
    *cpt_output(task, ads) = *cpt_input(task, query) + 2;
    return CPT_OK;
}

static cpt_status rank(struct cpt_task *task)
{
    work(2);
    *cpt_output(task, ranked) = *cpt_input(task, matches) + *cpt_input(task, ads);
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    work(3);
    *cpt_output(task, page) = *cpt_input(task, ranked);
    return CPT_OK;
}

/* The graph: each task's name, its function, what it gives and what it needs. */
static const struct cpt_task_def tasks[] = {
    {"parse", parse, CPT_GIVES(query), CPT_NEEDS(text)},
    {"index", find_matches, CPT_GIVES(matches), CPT_NEEDS(query)},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query)},
    {"rank", rank, CPT_GIVES(ranked), CPT_NEEDS(matches, ads)},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(ranked)},
};
static const struct cpt_graph search = {"A", CPT_GIVES(text), CPT_GIVES(page), tasks,
                                        sizeof tasks / sizeof tasks[0]};

static void print_path(const struct cpt_path *path)
{
    char stack[512];

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        (void)printf("%9.3f ms  %s\n", (double)segment->duration_ns / 1e6, stack);
    }
    (void)printf("%9.3f ms  in all\n", (double)cpt_path_sum_ns(path) / 1e6);
}

/* One request on two workers, traced. */
static cpt_status run(const struct cpt_plan *plan, struct cpt_executor *pool,
                      struct cpt_path *path, struct cpt_error *error)
{
    const char *text = "critical paths";
    struct cpt_request_options request = {.struct_bytes = sizeof request};
    int page = 0;
    cpt_status status;

    request.plan = plan;
    request.executor = pool;
    request.input = &text;
    request.is_traced = 1;
    request.entry = "A: /search";
    status = cpt_request_run(&request, &page, path, error);
    if (status == CPT_OK) {
        (void)printf("the answer is %d; what the request waited for:\n", page);
        print_path(path);
    }
    return status;
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_pool_options two = {.struct_bytes = sizeof two, .worker_count = 2};
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, &error);
    struct cpt_executor *pool = cpt_pool_new(&two, &error);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_FAILED;

    if (plan != NULL && pool != NULL && path != NULL) {
        status = run(plan, pool, path, &error);
    }
    if (status != CPT_OK) {
        (void)fprintf(stderr, "01_one_service: %s\n", error.sentence);
    }
    cpt_path_free(path);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    return status == CPT_OK ? 0 : 1;
}
