/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 02_two_services.c - a call over HTTP, and one path across both services
 *
 *      A: parse --> index --(HTTP: /lookup)--> B: look up
 *               \-> ads
 *
 * A's request is traced, so its call carries `critical-path: 1;max=…`. B reads this,
 * traces too, and returns its own path in `critical-path-bin`. That path replaces the
 * call in A's path; the time between the two is ‹network+serialization›.
 *
 * Both services run in this process and on one event loop, to keep the example in one
 * file; figure1_a.c, _b.c and _c.c are three processes.
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_http.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>

#include <stdio.h>
#include <time.h>

static void work(long ms)
{
    const struct timespec duration = {0, ms * 1000000};

    (void)nanosleep(&duration, NULL);
}

/* --- Service B: one method of one task --- */

static cpt_status look_up(struct cpt_task *task)
{
    work(4);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("found");
    return CPT_OK;
}

static const struct cpt_task_def b_tasks[] = {
    {"look up", look_up, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph b_graph = {"B", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), b_tasks, 1};

/* --- Service A: two parallel tasks; one of them calls B --- */

CPT_VALUE(query, int);
CPT_VALUE(matches, int);
CPT_VALUE(ads, int);
CPT_VALUE(page, int);

/* The frame of the call has the name of B's entry frame, so both become one. */
static struct cpt_stub lookup = {.name = "B: /lookup", .method = "/lookup"};

static cpt_status parse(struct cpt_task *task)
{
    work(1);
    *cpt_output(task, query) = 17;
    return CPT_OK;
}

/* The second step of index: the reply is there. */
static cpt_status index_found(struct cpt_task *task)
{
    work(1);
    *cpt_output(task, matches) = 1;
    return CPT_OK;
}

static cpt_status index_begin(struct cpt_task *task)
{
    struct cpt_pending *pending;

    work(1);
    pending = cpt_call(task, &lookup, cpt_bytes_of("critical paths"));
    return cpt_await(task, pending, index_found);
}

static cpt_status find_ads(struct cpt_task *task)
{
    work(2);
    *cpt_output(task, ads) = 2;
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    work(2);
    *cpt_output(task, page) = *cpt_input(task, matches) + *cpt_input(task, ads);
    return CPT_OK;
}

static const struct cpt_task_def a_tasks[] = {
    {"parse", parse, CPT_GIVES(query), CPT_NEEDS_NOTHING},
    {"index", index_begin, CPT_GIVES(matches), CPT_NEEDS(query)},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query)},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(matches, ads)},
};
static const struct cpt_graph a_graph = {"A", NULL, CPT_GIVES(page), a_tasks, 4};

/* The request of A has ended: print its path and let the loop end. */
static void done(struct cpt_request *request, void *context)
{
    struct cpt_http *http = context;
    struct cpt_path *path = cpt_path_new(NULL);
    char stack[512];

    if (path != NULL && cpt_request_path(request, path, NULL) == CPT_OK) {
        for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
            const struct cpt_segment *segment = cpt_path_segment(path, i);

            (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
            (void)printf("%9.3f ms  %s\n", (double)segment->duration_ns / 1e6, stack);
        }
    }
    cpt_path_free(path);
    cpt_http_stop(http);
}

/* Serves B on a free port, sends A's one request, waits for its end. */
static cpt_status run(struct cpt_http *http, struct cpt_executor *pool,
                      struct cpt_service *b, const struct cpt_plan *a_plan,
                      struct cpt_error *error)
{
    static char target[64];
    uint16_t port = 0;
    struct cpt_request_options request = {.struct_bytes = sizeof request};
    cpt_status status = cpt_http_listen(http, b, "127.0.0.1", 0, &port, error);

    if (status != CPT_OK) {
        return status;
    }
    (void)snprintf(target, sizeof target, "http://127.0.0.1:%u", (unsigned)port);
    lookup.target = target;
    lookup.transport = cpt_http_transport(http);
    request.plan = a_plan;
    request.executor = pool;
    request.is_traced = 1;
    request.entry = "A: /search";
    request.done = done;
    request.context = http;
    status = cpt_request_start(&request, error);
    return status == CPT_OK ? cpt_http_run(http) : status;
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_http_options http_options = {.struct_bytes = sizeof http_options};
    struct cpt_pool_options four = {.struct_bytes = sizeof four, .worker_count = 4};
    struct cpt_service_options b_options = {.struct_bytes = sizeof b_options};
    struct cpt_http *http = cpt_http_new(&http_options, &error);
    struct cpt_executor *pool = cpt_pool_new(&four, &error);
    struct cpt_plan *a_plan = cpt_plan_new(&a_graph, NULL, &error);
    struct cpt_plan *b_plan = cpt_plan_new(&b_graph, NULL, &error);
    struct cpt_service *b;
    cpt_status status = CPT_FAILED;

    b_options.name = "B";
    b_options.role = CPT_ROLE_INNER;
    b_options.executor = pool;
    b = cpt_service_new(&b_options, &error);
    if (http != NULL && pool != NULL && a_plan != NULL && b_plan != NULL && b != NULL) {
        status = cpt_service_method_add(b, "/lookup", b_plan, &error);
    }
    if (status == CPT_OK) {
        status = run(http, pool, b, a_plan, &error);
    }
    if (status != CPT_OK) {
        (void)fprintf(stderr, "02_two_services: %s\n", error.sentence);
    }
    if (b != NULL) {
        (void)cpt_service_drain(b, UINT64_C(1000000000));
    }
    cpt_pool_free(pool);
    cpt_service_free(b);
    cpt_http_free(http);
    cpt_plan_free(a_plan);
    cpt_plan_free(b_plan);
    return status == CPT_OK ? 0 : 1;
}
