/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_runtime_model.c - random graphs: is what the path says true?
 *
 * In virtual time the test itself notes when each step of each task ran and when each
 * sleep was on its way. Then each segment of the path, laid end to end from the
 * arrival, must lie within what really happened: a task's own time within its steps, a
 * sleep's between its start and its end, queueing outside the task's steps. The method
 * is not that of the walk, and says nothing of which path is the longest: that is
 * tested in unit_cpt.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 20000, SPANS_MAX = 256 };

struct span {
    unsigned task;
    unsigned sleep;
    uint64_t begin_ns;
    uint64_t end_ns;
};

static struct virtual_time now;
static struct span steps[SPANS_MAX];
static struct span sleeps[SPANS_MAX];
static size_t step_count;
static size_t sleep_count;

static void spend(uint64_t duration_ns)
{
    now.now_ns += duration_ns;
}

static void begin_step(unsigned task)
{
    steps[step_count++] = (struct span){task, 0, now.now_ns, UINT64_MAX};
}

static void end_step(unsigned task)
{
    CU_ASSERT_EQUAL(steps[step_count - 1].task, task); /* one runs at a time */
    steps[step_count - 1].end_ns = now.now_ns;
}

static void begin_sleep(unsigned task, unsigned sleep, uint64_t duration_ns)
{
    (void)duration_ns; /* it ends when the clock says so, or later */
    sleeps[sleep_count++] = (struct span){task, sleep, now.now_ns, UINT64_MAX};
}

/* Whether [begin, end] lies in the steps of @task laid together. */
static int is_in_steps(unsigned task, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t at_ns = begin_ns;

    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].task == task && steps[i].begin_ns <= at_ns &&
            steps[i].end_ns >= at_ns) {
            at_ns = steps[i].end_ns;
        }
    }
    return at_ns >= end_ns;
}

static int overlaps_steps(unsigned task, uint64_t begin_ns, uint64_t end_ns)
{
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].task == task && steps[i].begin_ns < end_ns &&
            steps[i].end_ns > begin_ns) {
            return 1;
        }
    }
    return 0;
}

static int is_in_sleep(unsigned task, unsigned sleep, uint64_t begin_ns)
{
    for (size_t i = 0; i < sleep_count; i++) {
        if (sleeps[i].task == task && sleeps[i].sleep == sleep) {
            return begin_ns >= sleeps[i].begin_ns;
        }
    }
    return 0;
}

/* Whether one segment is true. The nearest frame with a name says whose it is. */
static int is_true(const struct cpt_path *path, const struct cpt_segment *segment,
                   uint64_t begin_ns)
{
    const uint64_t end_ns = begin_ns + segment->duration_ns;
    const struct cpt_frame *frame = cpt_path_frame(path, segment->frame);
    const unsigned kind = frame->kind;
    const struct cpt_bytes name = cpt_path_frame_name(
        path, kind == CPT_KIND_WORK ? segment->frame : frame->parent);
    char text[32];
    unsigned task = 0;
    unsigned sleep = 0;

    (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
    if (sscanf(text, "S: s%u.%u", &task, &sleep) == 2) {
        return is_in_sleep(task, sleep, begin_ns);
    }
    if (sscanf(text, "S: t%u", &task) != 1) {
        return 0;
    }
    return kind == CPT_KIND_WORK      ? is_in_steps(task, begin_ns, end_ns)
           : kind == CPT_KIND_QUEUE   ? !overlaps_steps(task, begin_ns, end_ns)
           : kind == CPT_KIND_TIMEOUT ? 1
                                      : 0;
}

struct ended {
    int done_count;
    uint64_t output;
    uint64_t arrival_ns;
    uint64_t latency_ns;
    int is_path_true;
};

static void check_path(struct cpt_request *request, struct ended *ended)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t at_ns = ended->arrival_ns;

    ended->latency_ns = cpt_request_latency_ns(request);
    ended->is_path_true = cpt_request_path(request, path, NULL) == CPT_OK &&
                          cpt_path_check(path, ended->latency_ns, NULL) == CPT_OK &&
                          ended->latency_ns == now.now_ns - ended->arrival_ns;
    for (size_t i = 0; i < cpt_path_segment_count(path) && ended->is_path_true; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (!is_true(path, segment, at_ns)) {
            char text[256];

            (void)cpt_path_stack_text(path, segment->frame, text, sizeof text);
            printf("\n  not true: %s for %llu ns at %llu\n", text,
                   (unsigned long long)segment->duration_ns,
                   (unsigned long long)(at_ns - ended->arrival_ns));
            ended->is_path_true = 0;
        }
        at_ns += segment->duration_ns;
    }
    cpt_path_free(path);
}

static void note_end(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);

    ended->done_count++;
    ended->output = output != NULL ? *output : 0;
    if (step_count != 0 && steps[step_count - 1].end_ns == UINT64_MAX) {
        steps[step_count - 1].end_ns = now.now_ns; /* the one that ended the request */
    }
    check_path(request, ended);
}

static void note_untraced_end(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);

    ended->done_count++;
    ended->output = output != NULL ? *output : 0;
}

/* One graph, traced and not, with the same interleaving. */
static int run_case(uint64_t seed)
{
    uint64_t random = seed;
    struct ended traced = {0};
    struct ended untraced = {0};
    struct cpt_error error = {0};
    struct cpt_plan *plan = NULL;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &now.executor,
                                          .clock = &now.clock,
                                          .done = note_end,
                                          .context = &traced,
                                          .is_traced = 1};

    random_graph_make(&random, 10);
    plan = cpt_plan_new(&random_graph.graph, NULL, &error);
    if (plan == NULL) {
        printf("\n  %s\n", error.sentence);
        return 0;
    }
    step_count = 0;
    sleep_count = 0;
    virtual_init(&now, virtual_random(&random, 2) == 0 ? 0 : random);
    traced.arrival_ns = now.now_ns;
    options.plan = plan;
    (void)cpt_request_start(&options, NULL);
    virtual_run(&now);

    step_count = 0;
    sleep_count = 0;
    virtual_init(&now, 0);
    options.done = note_untraced_end;
    options.context = &untraced;
    options.is_traced = 0;
    (void)cpt_request_start(&options, NULL);
    virtual_run(&now);
    cpt_plan_free(plan);
    return traced.done_count == 1 && untraced.done_count == 1 && traced.is_path_true &&
           traced.output == untraced.output && traced.output != 0 &&
           now.read_count == 0;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("CPT_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20260101;

    return seed != 0 ? seed : 1;
}

static void test_paths_are_true(void)
{
    const uint64_t seed = first_seed();

    printf("(seeds from %llu) ", (unsigned long long)seed);
    random_graph.hooks = (struct random_hooks){.spend = spend,
                                               .begin_step = begin_step,
                                               .end_step = end_step,
                                               .begin_sleep = begin_sleep};
    for (uint64_t i = 0; i < CASES; i++) {
        if (!run_case(seed + i)) {
            printf("\n  CPT_TEST_SEED=%llu\n", (unsigned long long)(seed + i));
            CU_FAIL("a path that is not true");
            return;
        }
    }
}

CU_TestInfo cpt_runtime_model_tests[] = {
    {"paths are true", test_paths_are_true},
    CU_TEST_INFO_NULL,
};
