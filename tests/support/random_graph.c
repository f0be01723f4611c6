/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* random_graph.c - see random_graph.h. */
#include "tests/support/random_graph.h"

#include "tests/support/virtual_time.h"

#include <stdio.h>
#include <string.h>

struct random_graph random_graph;

/* The position of a task in its script. */
struct progress {
    unsigned step;
    unsigned sleep_count;
    struct cpt_pending *last;
};

#define EACH_TASK(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

static const struct cpt_value values[RANDOM_TASKS_MAX] = {
#define VALUE(n) {"v" #n, sizeof(uint64_t)},
    EACH_TASK(VALUE)
#undef VALUE
};

/* Decides, with the hook `fails`, which steps of a request fail. */
static const struct cpt_value fate = {"fate", sizeof(uint64_t)};

static cpt_status run_script(struct cpt_task *task, unsigned index, cpt_task_fn next);

#define DEFINE(n)                                                                      \
    static cpt_status run_##n(struct cpt_task *task)                                   \
    {                                                                                  \
        return run_script(task, n, run_##n);                                           \
    }
EACH_TASK(DEFINE)
#undef DEFINE

static const cpt_task_fn functions[RANDOM_TASKS_MAX] = {
#define FUNCTION(n) run_##n,
    EACH_TASK(FUNCTION)
#undef FUNCTION
};

static const char *const names[RANDOM_TASKS_MAX] = {
#define NAME(n) "t" #n,
    EACH_TASK(NAME)
#undef NAME
};

static void spend(uint64_t duration_ns)
{
    if (random_graph.hooks.spend != NULL) {
        random_graph.hooks.spend(duration_ns);
    }
}

static void tell_work(void *context)
{
    atomic_fetch_add(&((struct random_work *)context)->is_told, 1);
}

/* A sleep, or work that another thread completes. */
static struct cpt_pending *begin_elsewhere(struct cpt_task *task, const char *name,
                                           uint64_t duration_ns)
{
    struct cpt_pending *pending = NULL;
    struct random_work *work = NULL;

    if (random_graph.hooks.defer == NULL || duration_ns % 2 == 0) {
        return cpt_sleep(task, name, duration_ns);
    }
    work = cpt_task_memory(task, sizeof *work);
    if (work != NULL) {
        pending = duration_ns % 3 == 0
                      ? cpt_defer(task, name)
                      : cpt_defer_cancellable(task, name, tell_work, work);
    }
    if (pending != NULL && cpt_pending_status(pending) != CPT_LIMIT) {
        random_graph.hooks.defer(pending, work, duration_ns);
    }
    return pending;
}

static void start_parts(struct cpt_task *task, unsigned index,
                        const struct random_step *step, struct progress *progress)
{
    for (unsigned i = 0; i < step->part_count; i++) {
        if (step->start[i] != NULL) {
            if (random_graph.hooks.begin_start != NULL) {
                random_graph.hooks.begin_start(index,
                                               (unsigned)(step->start[i] - values));
            }
            progress->last = cpt_task_start(task, step->start[i]);
        } else {
            char name[32];

            (void)snprintf(name, sizeof name, "s%u.%u", index, progress->sleep_count);
            if (random_graph.hooks.begin_sleep != NULL) {
                random_graph.hooks.begin_sleep(index, progress->sleep_count,
                                               step->sleep_ns[i]);
            }
            progress->sleep_count++;
            progress->last = begin_elsewhere(task, name, step->sleep_ns[i]);
        }
    }
}

/* The same number in any order of events; an abandoned task has none. */
static uint64_t result(struct cpt_task *task, unsigned index)
{
    const struct cpt_task_def *def = &random_graph.tasks[index];
    uint64_t sum = index + 1;

    for (unsigned i = 0; def->needs[i] != NULL; i++) {
        const uint64_t *input = cpt_task_input(task, def->needs[i]);

        sum = sum * 31 + (input != NULL ? *input : 0);
    }
    for (unsigned i = 0; def->wants[i] != NULL; i++) {
        const uint64_t *input = cpt_task_input(task, def->wants[i]);

        sum = sum * 31 + (input != NULL ? *input : 0);
    }
    return sum;
}

/* The task continues at once, or in @next; or it fails. */
static cpt_status wait_for_last(struct cpt_task *task, struct progress *progress,
                                cpt_task_fn next)
{
    cpt_status status = CPT_WAITING;

    if (random_graph.hooks.wait != NULL) {
        status = random_graph.hooks.wait(task, progress->last);
    }
    return status != CPT_WAITING ? status : cpt_await(task, progress->last, next);
}

static cpt_status finish_wait(struct cpt_task *task, const struct random_step *step,
                              struct progress *progress, cpt_task_fn next)
{
    switch (step->wait) {
    case WAIT_ONE:
        return progress->last != NULL ? wait_for_last(task, progress, next)
                                      : cpt_await_all(task, next);
    case WAIT_ALL:
        return cpt_await_all(task, next);
    case WAIT_ALL_FOR:
        return cpt_await_all_for(task, step->timeout_ns, next);
    default:
        return CPT_OK;
    }
}

static int is_to_fail(struct cpt_task *task, unsigned index, unsigned step)
{
    const uint64_t *input = NULL;

    if (random_graph.hooks.fails == NULL) {
        return 0;
    }
    input = cpt_task_input(task, &fate);
    return random_graph.hooks.fails(*input, index, step);
}

/* Runs the script to its end, or to a wait, of the kind *@wait. */
static cpt_status run_steps(struct cpt_task *task, unsigned index,
                            struct progress *progress, cpt_task_fn next,
                            enum random_wait *wait)
{
    const struct random_script *script = &random_graph.scripts[index];
    cpt_status status = CPT_OK;

    while (progress->step < script->step_count && status == CPT_OK) {
        const struct random_step *step = &script->steps[progress->step++];

        if (is_to_fail(task, index, progress->step)) {
            return cpt_fail(task, CPT_IO, "task %u fails", index);
        }
        spend(step->before_ns);
        start_parts(task, index, step, progress);
        spend(step->after_ns);
        status = finish_wait(task, step, progress, next);
        *wait = status == CPT_WAITING ? step->wait : WAIT_NOTHING;
    }
    return status;
}

static cpt_status run_script(struct cpt_task *task, unsigned index, cpt_task_fn next)
{
    struct progress *progress = cpt_state(task, struct progress);
    enum random_wait wait = WAIT_NOTHING;
    cpt_status status = CPT_OK;

    if (progress == NULL) {
        return CPT_NO_MEMORY;
    }
    if (random_graph.hooks.cancels != NULL && random_graph.hooks.cancels(index)) {
        cpt_cancel(progress->last);
    }
    if (random_graph.hooks.begin_step != NULL) {
        random_graph.hooks.begin_step(index);
    }
    status = run_steps(task, index, progress, next, &wait);
    if (status == CPT_OK) {
        uint64_t *output = cpt_task_output(task, random_graph.tasks[index].gives);

        *output = result(task, index);
    }
    if (random_graph.hooks.end_step != NULL) {
        random_graph.hooks.end_step(index, wait);
    }
    return status;
}

/* --- The interpreter --- */

static unsigned index_of(const struct cpt_value *value)
{
    return (unsigned)(value - values);
}

/* What task @index gives: see result(). */
static uint64_t interpret(unsigned index)
{
    const struct cpt_task_def *def = &random_graph.tasks[index];
    uint64_t sum = index + 1;

    for (unsigned i = 0; def->needs[i] != NULL; i++) {
        sum = sum * 31 + interpret(index_of(def->needs[i]));
    }
    for (unsigned i = 0; def->wants[i] != NULL; i++) {
        sum = sum * 31 + interpret(index_of(def->wants[i]));
    }
    return sum;
}

uint64_t random_expected(void)
{
    return interpret(random_graph.task_count - 1);
}

/* The same if the tasks in the set @failed fail; *@is_good becomes 0 if one of them is
 * needed. */
static uint64_t interpret_without(unsigned index, unsigned failed, int *is_good)
{
    const struct cpt_task_def *def = &random_graph.tasks[index];
    uint64_t sum = index + 1;

    if ((failed >> index & 1) != 0) {
        *is_good = 0;
        return 0;
    }
    for (unsigned i = 0; def->needs[i] != NULL && *is_good; i++) {
        sum = sum * 31 + interpret_without(index_of(def->needs[i]), failed, is_good);
    }
    for (unsigned i = 0; def->wants[i] != NULL && *is_good; i++) {
        int is_there = 1;
        const uint64_t input =
            interpret_without(index_of(def->wants[i]), failed, &is_there);

        sum = sum * 31 + (is_there ? input : 0);
    }
    return sum;
}

int random_may_give(uint64_t output)
{
    for (unsigned failed = 0; failed >> random_graph.task_count == 0; failed++) {
        int is_good = 1;

        if (interpret_without(random_graph.task_count - 1, failed, &is_good) ==
                output &&
            is_good) {
            return 1;
        }
    }
    return 0;
}

/* --- Drawing --- */

static void draw_step(uint64_t *random, struct random_step *step, unsigned index,
                      uint64_t scale_ns)
{
    const struct cpt_task_def *def = &random_graph.tasks[index];
    unsigned start_count = 0;

    while (def->starts[start_count] != NULL) {
        start_count++;
    }
    step->before_ns =
        virtual_random(random, 3) == 0 ? 0 : virtual_random(random, scale_ns);
    step->after_ns =
        virtual_random(random, 2) == 0 ? 0 : virtual_random(random, scale_ns);
    step->part_count = (unsigned)virtual_random(random, RANDOM_PARTS_MAX + 1);
    for (unsigned i = 0; i < step->part_count; i++) {
        step->sleep_ns[i] = virtual_random(random, 2 * scale_ns);
        step->start[i] = start_count != 0 && virtual_random(random, 2) == 0
                             ? def->starts[virtual_random(random, start_count)]
                             : NULL;
    }
    step->wait = (enum random_wait)virtual_random(random, 4);
    step->timeout_ns = 1 + virtual_random(random, 2 * scale_ns);
}

/* Draws the tasks before @index that it depends on. */
static void draw_edges(uint64_t *random, unsigned index, unsigned char *is_used)
{
    struct cpt_task_def *def = &random_graph.tasks[index];
    unsigned need_count = 0;
    unsigned want_count = 0;
    unsigned start_count = 0;

    if (random_graph.hooks.fails != NULL) {
        def->needs[need_count++] = &fate;
    }
    for (unsigned i = 0; i < index; i++) {
        const uint64_t drawn = virtual_random(random, 4);
        /* The last task takes all outputs that no other task uses. */
        const int is_left = index == random_graph.task_count - 1 && !is_used[i];

        if (drawn == 0 || (is_left && drawn < 3)) {
            if (virtual_random(random, 3) == 0) {
                def->wants[want_count++] = &values[i];
            } else {
                def->needs[need_count++] = &values[i];
            }
            is_used[i] = 1;
        } else if (drawn == 1 || is_left) {
            def->starts[start_count++] = &values[i];
            is_used[i] = 1;
        }
    }
}

void random_graph_make(uint64_t *random, uint64_t scale_ns)
{
    const struct random_hooks hooks = random_graph.hooks;
    unsigned char is_used[RANDOM_TASKS_MAX] = {0};

    memset(&random_graph, 0, sizeof random_graph);
    random_graph.hooks = hooks;
    random_graph.task_count = 1 + (unsigned)virtual_random(random, RANDOM_TASKS_MAX);
    for (unsigned i = 0; i < random_graph.task_count; i++) {
        struct random_script *script = &random_graph.scripts[i];

        random_graph.tasks[i].name = names[i];
        random_graph.tasks[i].run = functions[i];
        random_graph.tasks[i].gives = &values[i];
        draw_edges(random, i, is_used);
        script->step_count = 1 + (unsigned)virtual_random(random, RANDOM_STEPS_MAX);
        for (unsigned k = 0; k < script->step_count; k++) {
            draw_step(random, &script->steps[k], i, scale_ns);
        }
    }
    random_graph.graph = (struct cpt_graph){
        "S", hooks.fails != NULL ? &fate : NULL, &values[random_graph.task_count - 1],
        random_graph.tasks, random_graph.task_count};
}
