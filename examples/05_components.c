/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 05_components.c - sub-graphs: one in place of a task, and one for each element
 *
 *      parse --> rank ........... a graph of its own: [ weigh --> sort ]
 *                  \--> render
 *                         |--> thumbnail (0)      one for each hit, which are known
 *                         |--> thumbnail (1)      only now; each is a run of a plan
 *                         '--> thumbnail (2)
 *
 * Each has its own frame on the path, with its own critical path inside.
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_runtime.h>

#include <stdio.h>
#include <time.h>

enum { HITS_MAX = 8 };

struct hits {
    int count;
    int of[HITS_MAX];
};

CPT_VALUE(query, int);
CPT_VALUE(found, struct hits);
CPT_VALUE(ranked, struct hits);
CPT_VALUE(page, int);

/* Stands for @ms milliseconds of work. */
static void work(long ms)
{
    const struct timespec duration = {0, ms * 1000000};

    (void)nanosleep(&duration, NULL);
}

/* --- A reusable component: its input and output have their own names --- */

CPT_VALUE(unsorted, struct hits);
CPT_VALUE(weighed, struct hits);
CPT_VALUE(sorted, struct hits);

static cpt_status weigh(struct cpt_task *task)
{
    work(2);
    *cpt_output(task, weighed) = *cpt_input(task, unsorted);
    return CPT_OK;
}

static cpt_status sort(struct cpt_task *task)
{
    work(1);
    *cpt_output(task, sorted) = *cpt_input(task, weighed);
    return CPT_OK;
}

static const struct cpt_task_def ranking_tasks[] = {
    {"weigh", weigh, CPT_GIVES(weighed), CPT_NEEDS(unsorted)},
    {"sort", sort, CPT_GIVES(sorted), CPT_NEEDS(weighed)},
};
static const struct cpt_graph ranking = {NULL, CPT_GIVES(unsorted), CPT_GIVES(sorted),
                                         ranking_tasks, 2};

/* --- Another component, which runs once for each hit --- */

CPT_VALUE(hit, int);
CPT_VALUE(pixels, int);

static cpt_status shrink(struct cpt_task *task)
{
    work(*cpt_input(task, hit));
    *cpt_output(task, pixels) = *cpt_input(task, hit) * 100;
    return CPT_OK;
}

static const struct cpt_task_def thumbnail_tasks[] = {
    {"shrink", shrink, CPT_GIVES(pixels), CPT_NEEDS(hit)}};
static const struct cpt_graph thumbnail = {"A", CPT_GIVES(hit), CPT_GIVES(pixels),
                                           thumbnail_tasks, 1};
static struct cpt_plan *thumbnail_plan;

/* --- The service --- */

static cpt_status parse(struct cpt_task *task)
{
    struct hits *found = cpt_output(task, found);

    work(1);
    found->count = *cpt_input(task, query);
    for (int i = 0; i < found->count; i++) {
        found->of[i] = 2 + 2 * i;
    }
    return CPT_OK;
}

struct rendering {
    struct cpt_pending *thumbnails[HITS_MAX];
};

static cpt_status render(struct cpt_task *task)
{
    const struct rendering *rendering = cpt_state(task, struct rendering);
    int *page = cpt_output(task, page);

    work(1);
    for (int i = 0; i < cpt_input(task, ranked)->count; i++) {
        const int *pixels = cpt_run_output(rendering->thumbnails[i], pixels);

        if (pixels == NULL) {
            return cpt_fail(task, cpt_pending_status(rendering->thumbnails[i]), "%s",
                            cpt_run_sentence(rendering->thumbnails[i]));
        }
        *page += *pixels;
    }
    return CPT_OK;
}

static cpt_status make_thumbnails(struct cpt_task *task)
{
    const struct hits *ranked = cpt_input(task, ranked);
    struct rendering *rendering = cpt_state(task, struct rendering);

    for (int i = 0; i < ranked->count; i++) {
        rendering->thumbnails[i] =
            cpt_spawn(task, "thumbnail", thumbnail_plan, hit, &ranked->of[i]);
    }
    return cpt_await_all(task, render);
}

static const struct cpt_task_def tasks[] = {
    {"parse", parse, CPT_GIVES(found), CPT_NEEDS(query)},
    {"rank", NULL, CPT_GIVES(ranked), CPT_NEEDS(found), .component = &ranking},
    {"render", make_thumbnails, CPT_GIVES(page), CPT_NEEDS(ranked)},
};
static const struct cpt_graph search = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks,
                                        3};

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

static cpt_status run(const struct cpt_plan *plan, struct cpt_executor *pool,
                      struct cpt_path *path, struct cpt_error *error)
{
    const int hits = 3;
    struct cpt_request_options request = {.struct_bytes = sizeof request};
    int page = 0;
    cpt_status status;

    request.plan = plan;
    request.executor = pool;
    request.input = &hits;
    request.is_traced = 1;
    request.entry = "A: /search";
    status = cpt_request_run(&request, &page, path, error);
    if (status == CPT_OK) {
        (void)printf("a page of %d pixels; what the request waited for:\n", page);
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

    thumbnail_plan = cpt_plan_new(&thumbnail, NULL, &error);
    if (plan != NULL && thumbnail_plan != NULL && pool != NULL && path != NULL) {
        status = run(plan, pool, path, &error);
    }
    if (status != CPT_OK) {
        (void)fprintf(stderr, "05_components: %s\n", error.sentence);
    }
    cpt_path_free(path);
    cpt_pool_free(pool);
    cpt_plan_free(thumbnail_plan);
    cpt_plan_free(plan);
    return status == CPT_OK ? 0 : 1;
}
