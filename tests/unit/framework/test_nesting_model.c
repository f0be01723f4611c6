/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_nesting_model.c - random trees of components: is the path what really happened?
 *
 * As in test_runtime_model.c the test itself notes, in virtual time, when each step of
 * each task ran, here for each *node*: a node is a run of one plan, which spawns the
 * nodes below it. The segments of the path, laid end to end from the arrival, must each
 * match what really happened in the node that its stack names.
 *
 *      a (spawns) ------ needed --+--> out (spawns)
 *      comp [ p --> q ]  needed --+
 *      b (may fail) .... wanted ..+
 *        '--> c ........ wanted ..'
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 6000, NODES_MAX = 40, SPANS_MAX = 2048, PARTS_MAX = 3, DEPTH_MAX = 4 };

/* What the tasks of a node do. */
enum { TASK_A, TASK_B, TASK_C, TASK_P, TASK_Q, TASK_OUT, TASK_COUNT };
static const char letters[] = "abcpqo";

struct script {
    uint64_t before_ns;  /* computes, starts its parts, … */
    uint64_t after_ns;   /* … computes again, waits, … */
    uint64_t last_ns;    /* … and computes a last time */
    uint64_t sleep_ns;   /* 0: none */
    uint64_t timeout_ns; /* of the wait; 0: none */
    unsigned part_count;
    unsigned parts[PARTS_MAX]; /* nodes */
    int fails;
};

struct node {
    struct script scripts[TASK_COUNT];
};

static struct node nodes[NODES_MAX];
static unsigned node_count;
static struct cpt_plan *node_plan;
static struct virtual_time now;

/* --- What happened --- */

struct span {
    unsigned node;
    unsigned task;
    uint64_t begin_ns;
    uint64_t end_ns;
};

static struct span steps[SPANS_MAX];
static struct span sleeps[SPANS_MAX];
static size_t step_count;
static size_t sleep_count;

CPT_VALUE(node, unsigned);
CPT_VALUE(a_value, uint64_t);
CPT_VALUE(b_value, uint64_t);
CPT_VALUE_OR(c_value, uint64_t, 77);
CPT_VALUE(comp_value, uint64_t);
CPT_VALUE(out_value, uint64_t);
CPT_VALUE(inner_node, unsigned);
CPT_VALUE(p_value, unsigned);
CPT_VALUE(q_value, uint64_t);

/* The position of a task in its script. */
struct progress {
    unsigned node;
    struct cpt_pending *parts[PARTS_MAX];
};

static void begin_step(unsigned node, unsigned task)
{
    if (step_count < SPANS_MAX) {
        steps[step_count++] = (struct span){node, task, now.now_ns, UINT64_MAX};
    }
}

static void end_step(void)
{
    steps[step_count - 1].end_ns = now.now_ns;
}

/* The first step: all but the end of the script. */
static cpt_status begin_script(struct cpt_task *task, unsigned index, unsigned node,
                               cpt_task_fn next)
{
    const struct script *script = &nodes[node].scripts[index];
    struct progress *progress = cpt_state(task, struct progress);

    progress->node = node;
    begin_step(node, index);
    now.now_ns += script->before_ns;
    for (unsigned i = 0; i < script->part_count; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%u", script->parts[i]);
        progress->parts[i] = cpt_spawn(task, name, node_plan, node, &script->parts[i]);
    }
    if (script->sleep_ns != 0) {
        char name[16];

        (void)snprintf(name, sizeof name, "s%u", index);
        sleeps[sleep_count++] = (struct span){node, index, now.now_ns, UINT64_MAX};
        (void)cpt_sleep(task, name, script->sleep_ns);
    }
    now.now_ns += script->after_ns;
    end_step();
    return script->timeout_ns != 0 ? cpt_await_all_for(task, script->timeout_ns, next)
                                   : cpt_await_all(task, next);
}

/* The output, which does not depend on time: from the parts that were awaited to their
 * ends. */
static uint64_t parts_sum(struct progress *progress, const struct script *script)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < script->part_count && script->timeout_ns == 0; i++) {
        const uint64_t *output = cpt_run_output(progress->parts[i], out_value);

        sum = sum * 31 + (output != NULL ? *output : 1);
    }
    return sum;
}

/* The last step. */
static cpt_status end_script(struct cpt_task *task, unsigned index, uint64_t *sum)
{
    struct progress *progress = cpt_state(task, struct progress);
    const struct script *script = &nodes[progress->node].scripts[index];

    begin_step(progress->node, index);
    now.now_ns += script->last_ns;
    *sum += parts_sum(progress, script) + progress->node * 1000 + index;
    end_step();
    return script->fails ? CPT_IO : CPT_OK;
}

#define SCRIPTED(name, index, value, given)                                            \
    static cpt_status end_##name(struct cpt_task *task)                                \
    {                                                                                  \
        uint64_t sum = 0;                                                              \
        const cpt_status status = end_script(task, index, &sum);                       \
                                                                                       \
        *cpt_output(task, value) = sum;                                                \
        return status;                                                                 \
    }                                                                                  \
    static cpt_status run_##name(struct cpt_task *task)                                \
    {                                                                                  \
        return begin_script(task, index, given, end_##name);                           \
    }

SCRIPTED(a, TASK_A, a_value, *cpt_input(task, node))
SCRIPTED(b, TASK_B, b_value, *cpt_input(task, node))
SCRIPTED(c, TASK_C, c_value, (unsigned)(*cpt_input(task, b_value) / 1000))
SCRIPTED(q, TASK_Q, q_value, *cpt_input(task, p_value))

static cpt_status end_p(struct cpt_task *task)
{
    uint64_t sum = 0;
    const cpt_status status = end_script(task, TASK_P, &sum);

    *cpt_output(task, p_value) = *cpt_input(task, inner_node);
    return status;
}

static cpt_status run_p(struct cpt_task *task)
{
    return begin_script(task, TASK_P, *cpt_input(task, inner_node), end_p);
}

static cpt_status end_out(struct cpt_task *task)
{
    const uint64_t *b_value = cpt_input(task, b_value);
    uint64_t sum = *cpt_input(task, a_value) + 3 * *cpt_input(task, comp_value) +
                   5 * (b_value != NULL ? *b_value : 1) + 7 * *cpt_input(task, c_value);
    const cpt_status status = end_script(task, TASK_OUT, &sum);

    *cpt_output(task, out_value) = sum;
    return status;
}

static cpt_status run_out(struct cpt_task *task)
{
    return begin_script(task, TASK_OUT, *cpt_input(task, node), end_out);
}

static const struct cpt_task_def comp_tasks[] = {
    {"p", run_p, CPT_GIVES(p_value), CPT_NEEDS(inner_node)},
    {"q", run_q, CPT_GIVES(q_value), CPT_NEEDS(p_value)}};
static const struct cpt_graph comp_graph = {NULL, CPT_GIVES(inner_node),
                                            CPT_GIVES(q_value), comp_tasks, 2};
static const struct cpt_task_def node_tasks[] = {
    {"a", run_a, CPT_GIVES(a_value), CPT_NEEDS(node)},
    {"b", run_b, CPT_GIVES(b_value), CPT_NEEDS(node)},
    {"c", run_c, CPT_GIVES(c_value), CPT_NEEDS(b_value)},
    {"comp", NULL, CPT_GIVES(comp_value), CPT_NEEDS(node), .component = &comp_graph},
    {"o", run_out, CPT_GIVES(out_value), CPT_NEEDS(node, a_value, comp_value),
     CPT_WANTS(b_value, c_value)}};
static const struct cpt_graph node_graph = {"S", CPT_GIVES(node), CPT_GIVES(out_value),
                                            node_tasks, 5};

/* --- Drawing --- */

static uint64_t draw_ns(uint64_t *random)
{
    return virtual_random(random, 3) == 0 ? 0 : virtual_random(random, 10);
}

static void draw_script(uint64_t *random, struct script *script, unsigned task,
                        unsigned depth)
{
    const int is_spawning = task == TASK_A || task == TASK_OUT;

    memset(script, 0, sizeof *script);
    script->before_ns = draw_ns(random);
    script->after_ns = draw_ns(random);
    script->last_ns = draw_ns(random);
    script->sleep_ns = draw_ns(random);
    script->fails =
        (task == TASK_B || task == TASK_C) && virtual_random(random, 3) == 0;
    if (is_spawning && virtual_random(random, 4) == 0) {
        script->timeout_ns = 1 + virtual_random(random, 40);
    }
    for (uint64_t left = is_spawning && depth < DEPTH_MAX
                             ? virtual_random(random, PARTS_MAX + 1)
                             : 0;
         left > 0 && node_count < NODES_MAX; left--) {
        script->parts[script->part_count++] = node_count++;
    }
}

/* Nodes come after those that spawn them. */
static void draw_nodes(uint64_t *random)
{
    unsigned depths[NODES_MAX] = {0};

    node_count = 1;
    for (unsigned i = 0; i < node_count; i++) {
        for (unsigned task = 0; task < TASK_COUNT; task++) {
            struct script *script = &nodes[i].scripts[task];

            draw_script(random, script, task, depths[i]);
            for (unsigned k = 0; k < script->part_count; k++) {
                depths[script->parts[k]] = depths[i] + 1;
            }
        }
    }
}

/* --- Whether a segment matches --- */

static int is_in_steps(unsigned node, unsigned task, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t at_ns = begin_ns;

    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].node == node && steps[i].task == task &&
            steps[i].begin_ns <= at_ns && steps[i].end_ns >= at_ns) {
            at_ns = steps[i].end_ns;
        }
    }
    return at_ns >= end_ns;
}

static int overlaps_steps(unsigned node, unsigned task, uint64_t begin_ns,
                          uint64_t end_ns)
{
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].node == node && steps[i].task == task &&
            steps[i].begin_ns < end_ns && steps[i].end_ns > begin_ns) {
            return 1;
        }
    }
    return 0;
}

static int is_in_sleep(unsigned node, unsigned task, uint64_t begin_ns)
{
    for (size_t i = 0; i < sleep_count; i++) {
        if (sleeps[i].node == node && sleeps[i].task == task) {
            return begin_ns >= sleeps[i].begin_ns;
        }
    }
    return 0;
}

/* The node of the frame: that of the nearest frame with such a name. */
static unsigned node_of(const struct cpt_path *path, uint32_t frame)
{
    unsigned node = 0;

    while (frame != CPT_FRAME_NONE) {
        const struct cpt_bytes name = cpt_path_frame_name(path, frame);
        char text[32];

        (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
        if (sscanf(text, "S: n%u", &node) == 1) {
            return node;
        }
        frame = cpt_path_frame(path, frame)->parent;
    }
    return 0;
}

static int is_true(const struct cpt_path *path, const struct cpt_segment *segment,
                   uint64_t begin_ns)
{
    const uint64_t end_ns = begin_ns + segment->duration_ns;
    const struct cpt_frame *frame = cpt_path_frame(path, segment->frame);
    const unsigned node = node_of(path, segment->frame);
    const struct cpt_bytes name = cpt_path_frame_name(
        path, frame->kind == CPT_KIND_WORK ? segment->frame : frame->parent);
    const char *letter = NULL;
    char text[32];
    unsigned task = 0;

    (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
    if (frame->kind == CPT_KIND_TIMEOUT) {
        return 1;
    }
    if (sscanf(text, "S: s%u", &task) == 1) {
        return is_in_sleep(node, task, begin_ns);
    }
    if (strcmp(text, "S: comp") == 0) {
        return frame->kind == CPT_KIND_QUEUE; /* its own steps take no time */
    }
    letter = strlen(text) == 4 ? strchr(letters, text[3]) : NULL;
    if (letter == NULL) {
        return 0;
    }
    task = (unsigned)(letter - letters);
    return frame->kind == CPT_KIND_WORK ? is_in_steps(node, task, begin_ns, end_ns)
           : frame->kind == CPT_KIND_QUEUE
               ? !overlaps_steps(node, task, begin_ns, end_ns)
               : 0;
}

/* --- Cases --- */

struct ended {
    int done_count;
    int gone_count;
    uint64_t output;
    uint64_t arrival_ns;
    int is_path_true;
};

static void check_path(struct cpt_request *request, struct ended *ended)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    uint64_t at_ns = ended->arrival_ns;

    ended->is_path_true = cpt_request_path(request, path, NULL) == CPT_OK &&
                          cpt_path_check(path, latency_ns, NULL) == CPT_OK &&
                          latency_ns == now.now_ns - ended->arrival_ns;
    for (size_t i = 0; i < cpt_path_segment_count(path) && ended->is_path_true; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (!is_true(path, segment, at_ns)) {
            char text[512];

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
    if (ended->arrival_ns != 0) {
        check_path(request, ended);
    }
}

static void note_gone(void *context)
{
    ((struct ended *)context)->gone_count++;
}

static struct ended run(uint64_t seed, int is_traced)
{
    static const unsigned root = 0;
    struct ended ended = {0};
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = node_plan,
                                                .executor = &now.executor,
                                                .clock = &now.clock,
                                                .input = &root,
                                                .done = note_end,
                                                .gone = note_gone,
                                                .context = &ended,
                                                .is_traced = is_traced,
                                                .attribution = (unsigned)(seed % 2),
                                                .entry = "S: /"};

    step_count = 0;
    sleep_count = 0;
    virtual_init(&now, seed);
    ended.arrival_ns = is_traced ? now.now_ns : 0;
    (void)cpt_request_start(&options, NULL);
    virtual_run(&now);
    return ended;
}

static int run_case(uint64_t seed)
{
    uint64_t random = seed;
    struct ended traced;
    struct ended untraced;

    draw_nodes(&random);
    traced = run(virtual_random(&random, 2) == 0 ? 0 : random, 1);
    untraced = run(0, 0);
    return traced.done_count == 1 && untraced.done_count == 1 &&
           traced.gone_count == 1 && untraced.gone_count == 1 && traced.is_path_true &&
           traced.output == untraced.output && traced.output != 0 &&
           now.read_count == 0;
}

static void test_nested_paths_are_true(void)
{
    const uint64_t seed = test_environment_number("CPT_TEST_SEED", 20260105);
    const uint64_t cases = test_case_count(CASES);

    printf("(seeds from %llu) ", (unsigned long long)seed);
    node_plan = cpt_plan_new(&node_graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node_plan);
    for (uint64_t i = 0; i < cases; i++) {
        if (!run_case(seed + i + 1)) {
            printf("\n  CPT_TEST_SEED=%llu\n", (unsigned long long)(seed + i));
            CU_FAIL("a path that is not true");
            break;
        }
    }
    cpt_plan_free(node_plan);
}

CU_TestInfo cpt_nesting_model_tests[] = {
    {"paths of components match what happened", test_nested_paths_are_true},
    CU_TEST_INFO_NULL,
};
