/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_critical.c - nanosecond by nanosecond; see model_critical.h */
#include "tests/support/model_critical.h"

#include <CUnit/CUnit.h>

#include <string.h>

/* --- the owner of each nanosecond, backwards --- */

struct model {
    const struct random_trace *made;
    struct model_line *line;
    int is_blocked; /* attribution */
};

static const char *keep_text(struct model_line *line, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *kept = line->pool + line->pool_bytes;

    CU_ASSERT_FATAL(bytes <= sizeof line->pool - line->pool_bytes);
    memcpy(kept, text, bytes);
    line->pool_bytes += bytes;
    return kept;
}

/* Gives the nanosecond before @t_ns to @text. Repeated texts are kept once. */
static void own(struct model *model, uint64_t t_ns, const char *text, unsigned reason)
{
    struct model_line *line = model->line;
    const size_t at = (size_t)(t_ns - model->made->trace.arrival_ns) - 1;

    if (at + 1 < line->count && strcmp(line->owners[at + 1].stack, text) == 0) {
        line->owners[at].stack = line->owners[at + 1].stack;
    } else {
        line->owners[at].stack = keep_text(line, text);
    }
    line->owners[at].reason = reason;
}

/* By the names, from the outermost down. */
static int is_same_group(const struct cpt_trace_group *left,
                         const struct cpt_trace_group *right)
{
    return left == right || (left != NULL && right != NULL &&
                             strcmp(left->name.data, right->name.data) == 0 &&
                             is_same_group(left->parent, right->parent));
}

static int is_group_of(const struct cpt_trace_task *task,
                       const struct cpt_trace_group *group)
{
    const struct cpt_trace_group *own_group = task != NULL ? task->group : NULL;

    while (own_group != NULL && !is_same_group(own_group, group)) {
        own_group = own_group->parent;
    }
    return own_group != NULL;
}

static void push_groups(char text[MODEL_TEXT_BYTES],
                        const struct cpt_trace_task *starter,
                        const struct cpt_trace_group *group)
{
    if (group != NULL && !is_group_of(starter, group)) {
        push_groups(text, starter, group->parent);
        model_stack_push(text, group->name.data, CPT_KIND_WORK);
    }
}

/* NULL: the entry. */
static void task_text(const struct random_trace *made,
                      const struct cpt_trace_task *task, char text[MODEL_TEXT_BYTES])
{
    if (task == NULL) {
        (void)snprintf(text, MODEL_TEXT_BYTES, "%s", made->trace.entry.data);
        return;
    }
    task_text(made, task->starter, text);
    push_groups(text, task->starter, task->group);
    if (!task->has_no_frame) {
        model_stack_push(text, task->name.data, CPT_KIND_WORK);
    }
}

/* Gives the nanosecond before @t_ns to the task itself, or to a @kind below it. */
static void own_task(struct model *model, uint64_t t_ns,
                     const struct cpt_trace_task *task, unsigned kind)
{
    char text[MODEL_TEXT_BYTES];

    task_text(model->made, task, text);
    if (kind != CPT_KIND_WORK) {
        model_stack_push(text, "", kind);
    }
    own(model, t_ns, text, 0);
}

static void call_text(const struct random_trace *made,
                      const struct cpt_trace_call *call, char text[MODEL_TEXT_BYTES])
{
    task_text(made, call->issuer, text);
    model_stack_push(text, call->name.data,
                     call->outcome == CPT_CALL_LOCK ? CPT_KIND_LOCK : CPT_KIND_WORK);
}

/* Gives an RPC that was outstanding until @t_ns the part of that after @lowest_ns. */
static void own_remote(struct model *model, const struct cpt_trace_call *call,
                       uint64_t sent_ns, uint64_t t_ns, uint64_t lowest_ns)
{
    const struct random_call *extra = &model->made->extra[call - model->made->calls];
    const int has_path = call->reply != NULL && extra->has_path;
    const int is_late = call->reply != NULL && extra->has_late_elapsed;
    struct model_runs runs;
    struct cpt_splice splice = {
        .observed_ns = t_ns - sent_ns,
        .skip_ns = lowest_ns > sent_ns ? lowest_ns - sent_ns : 0,
        .has_server_elapsed = is_late || call->has_server_elapsed,
        .server_elapsed_ns = is_late ? extra->late_elapsed_ns : call->server_elapsed_ns,
        .reason = call->reason,
        .overcount = model->made->trace.overcount};
    char text[MODEL_TEXT_BYTES];

    call_text(model->made, call, text);
    model_splice(&runs, text, call->name.data, has_path ? &extra->callee : NULL,
                 &splice);
    for (size_t i = runs.count; i-- > 0;) {
        for (uint64_t ns = 0; ns < runs.runs[i].duration_ns; ns++) {
            own(model, t_ns--, runs.runs[i].stack, runs.runs[i].reason);
        }
    }
}

/* Gives the call the time from its issue to @t_ns, without the part before @lowest_ns.
 * The end of its time. */
static uint64_t own_call(struct model *model, const struct cpt_trace_call *call,
                         uint64_t t_ns, uint64_t lowest_ns)
{
    const uint64_t sent_ns =
        call->outcome == CPT_CALL_TIMEOUT || call->sent_ns < call->issue_ns
            ? call->issue_ns
            : call->sent_ns;
    char text[MODEL_TEXT_BYTES];

    call_text(model->made, call, text);
    if (call->outcome == CPT_CALL_TIMEOUT) {
        model_stack_push(text, "", CPT_KIND_TIMEOUT);
    } else if (call->outcome == CPT_CALL_KIND) {
        model_stack_push(text, "", call->kind);
    }
    if (call->outcome == CPT_CALL_REMOTE && t_ns > sent_ns && t_ns > lowest_ns) {
        own_remote(model, call, sent_ns, t_ns, lowest_ns);
        t_ns = sent_ns > lowest_ns ? sent_ns : lowest_ns;
    }
    while (t_ns > lowest_ns && t_ns > sent_ns) {
        own(model, t_ns--, text, 0);
    }
    while (t_ns > lowest_ns && t_ns > call->issue_ns) {
        own_task(model, t_ns--, call->issuer, CPT_KIND_QUEUE);
    }
    return t_ns;
}

/* The await of @task that spans @t_ns: it blocked before, and resumed at or after
 * it. */
static const struct cpt_trace_await *await_at(const struct cpt_trace_task *task,
                                              uint64_t t_ns)
{
    for (const struct cpt_trace_await *await = task->last_await; await != NULL;
         await = await->previous) {
        if (await->block_ns < t_ns && t_ns <= await->resume_ns &&
            (await->arrive_ns > await->block_ns || await->resume_ns != UINT64_MAX)) {
            return await;
        }
    }
    return NULL;
}

/* Whether the nanosecond before @t_ns is one of the @off_ns in which no processor ran
 * the step; they are spread over it evenly. */
static int is_off(uint64_t begin_ns, uint64_t end_ns, uint64_t off_ns, uint64_t t_ns)
{
    const uint64_t whole_ns = end_ns - begin_ns;
    const uint64_t at = t_ns - begin_ns;

    if (t_ns <= begin_ns || t_ns > end_ns) {
        return 0; /* not of this step */
    }
    off_ns = off_ns < whole_ns ? off_ns : whole_ns;
    return off_ns * at / whole_ns != off_ns * (at - 1) / whole_ns;
}

/* Finds the owner of the nanosecond before @t_ns, in which the task ran. */
static unsigned kind_of_own(const struct model *model,
                            const struct cpt_trace_task *task, uint64_t t_ns)
{
    uint64_t end_ns = task->end_ns;
    int is_any_off = 0;

    for (const struct cpt_trace_await *await = task->last_await; await != NULL;
         await = await->previous) {
        is_any_off |= is_off(await->resume_ns, end_ns, await->off_cpu_ns, t_ns);
        end_ns = await->block_ns;
    }
    is_any_off |= is_off(task->start_ns, end_ns, task->off_cpu_ns, t_ns);
    return is_any_off && model->made->trace.measures_off_cpu ? CPT_KIND_OFF_CPU
                                                             : CPT_KIND_WORK;
}

static void explain(struct model *model, const struct cpt_trace_task *task,
                    uint64_t t_ns, uint64_t floor_ns);

/* With blocked attribution: what the task waited for, back to the block at most. */
static void explain_await(struct model *model, const struct cpt_trace_await *await,
                          uint64_t t_ns, uint64_t floor_ns)
{
    const uint64_t lowest_ns = await->block_ns > floor_ns ? await->block_ns : floor_ns;

    if (await->call != NULL) {
        explain(model, await->call->issuer,
                own_call(model, await->call, t_ns, lowest_ns), lowest_ns);
    } else {
        explain(model, await->task, t_ns, lowest_ns);
    }
}

/* Finds what delayed @task at @t_ns, and then back to @floor_ns. */
static void explain(struct model *model, const struct cpt_trace_task *task,
                    uint64_t t_ns, uint64_t floor_ns)
{
    const struct cpt_trace *trace = &model->made->trace;

    while (t_ns > floor_ns) {
        const struct cpt_trace_await *await =
            task != NULL ? await_at(task, t_ns) : NULL;

        if (task == NULL) {
            own_task(model, t_ns--, NULL,
                     trace->answered_by == NULL && trace->dropped_event_count == 0
                         ? CPT_KIND_WORK
                         : CPT_KIND_UNATTRIBUTED);
        } else if (await != NULL &&
                   (t_ns > await->arrive_ns || await->arrive_ns <= await->block_ns)) {
            own_task(model, t_ns--, task, CPT_KIND_QUEUE);
        } else if (await != NULL && await->call == NULL && await->task == NULL) {
            while (t_ns > floor_ns && t_ns > await->block_ns) {
                own_task(model, t_ns--, task, CPT_KIND_UNATTRIBUTED);
            }
        } else if (await != NULL && model->is_blocked) {
            explain_await(model, await, t_ns, floor_ns);
            t_ns = await->block_ns;
        } else if (await != NULL && await->call != NULL) {
            t_ns = own_call(model, await->call, t_ns, floor_ns);
            task = await->call->issuer;
        } else if (await != NULL) {
            task = await->task;
        } else if (t_ns > task->start_ns) {
            own_task(model, t_ns, task, kind_of_own(model, task, t_ns));
            t_ns--;
        } else if (task->begin == CPT_BEGIN_UNKNOWN) {
            own_task(model, t_ns--, NULL, CPT_KIND_UNATTRIBUTED);
        } else if (task->begin == CPT_BEGIN_REQUEST || t_ns > task->ready_ns) {
            own_task(model, t_ns--, task, CPT_KIND_QUEUE);
        } else {
            task = task->unblocker;
        }
    }
}

void model_critical_path(const struct random_trace *made, struct model_line *line)
{
    const struct cpt_trace *trace = &made->trace;
    struct model model = {made, line, trace->attribution == CPT_ATTRIBUTE_BLOCKED};

    line->count = (size_t)(trace->response_ns - trace->arrival_ns);
    line->pool_bytes = 0;
    if (trace->dispatch_ns <= trace->arrival_ns) {
        explain(&model, trace->answered_by, trace->response_ns, trace->arrival_ns);
        return;
    }
    explain(&model, trace->answered_by, trace->response_ns, trace->dispatch_ns);
    for (uint64_t t_ns = trace->dispatch_ns; t_ns > trace->arrival_ns; t_ns--) {
        if (t_ns <= trace->response_ns) {
            own_task(&model, t_ns, NULL, CPT_KIND_ACCEPT_QUEUE);
        }
    }
}

int model_line_of(const struct cpt_path *path, uint64_t latency_ns,
                  struct model_line *line)
{
    line->count = 0;
    line->pool_bytes = 0;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        struct model_owner owner = {NULL, segment->reason};
        char text[MODEL_TEXT_BYTES];

        (void)cpt_path_stack_text(path, segment->frame, text, sizeof text);
        owner.stack = keep_text(line, text);
        for (uint64_t ns = 0; ns < segment->duration_ns; ns++) {
            if (line->count == RANDOM_NS_MAX) {
                return 0;
            }
            line->owners[line->count++] = owner;
        }
    }
    return line->count == latency_ns;
}

/* The bytes of @stack without ‹off CPU› at its end. */
static size_t own_bytes(const char *stack)
{
    static const char end[] = "\u2039off CPU\u203a";
    const size_t bytes = strlen(stack);

    if (bytes < sizeof end || strcmp(stack + bytes + 1 - sizeof end, end) != 0) {
        return bytes;
    }
    return (size_t)(strrchr(stack, ';') - stack);
}

static int is_of_one_task(const struct model_owner *left,
                          const struct model_owner *right)
{
    const size_t bytes = own_bytes(left->stack);

    return left->reason == right->reason && bytes == own_bytes(right->stack) &&
           memcmp(left->stack, right->stack, bytes) == 0;
}

void model_line_settle(struct model_line *line)
{
    for (size_t begin = 0, end = 0; begin < line->count; begin = end) {
        const struct model_owner *off = NULL;
        const struct model_owner *own_time = NULL;
        struct model_owner owners[2];
        size_t own_count = 0;

        for (; end < line->count &&
               is_of_one_task(&line->owners[begin], &line->owners[end]);
             end++) {
            const struct model_owner *owner = &line->owners[end];

            if (own_bytes(owner->stack) == strlen(owner->stack)) {
                own_time = owner;
                own_count++;
            } else {
                off = owner;
            }
        }
        owners[0] = own_time != NULL ? *own_time : *off;
        owners[1] = off != NULL ? *off : *own_time;
        for (size_t i = begin; i < end; i++) {
            line->owners[i] = owners[i - begin >= own_count];
        }
    }
}

/* --- is it a chain? forwards --- */

/* Bit i is task i, bit RANDOM_TASKS_MAX + i is call i. */
typedef unsigned long entity_set;

static entity_set task_bit(const struct random_trace *made,
                           const struct cpt_trace_task *task)
{
    return task != NULL ? 1UL << (task - made->tasks) : 0;
}

static entity_set call_bit(const struct random_trace *made,
                           const struct cpt_trace_call *call)
{
    return call != NULL ? 1UL << (RANDOM_TASKS_MAX + (call - made->calls)) : 0;
}

/* All that @set led to at @t_ns, in no time. */
static entity_set led_to(const struct random_trace *made, entity_set set, uint64_t t_ns)
{
    entity_set before = 0;

    while (before != set) {
        before = set;
        for (size_t i = 0; i < made->task_count; i++) {
            const struct cpt_trace_task *task = &made->tasks[i];

            if (task->begin == CPT_BEGIN_TASK && task->ready_ns == t_ns &&
                (set & task_bit(made, task->unblocker)) != 0) {
                set |= task_bit(made, task);
            }
            for (const struct cpt_trace_await *await = task->last_await; await != NULL;
                 await = await->previous) {
                if (await->arrive_ns == t_ns && await->arrive_ns > await->block_ns &&
                    (set & (task_bit(made, await->task) |
                            call_bit(made, await->call))) != 0) {
                    set |= task_bit(made, task);
                }
            }
        }
        for (size_t i = 0; i < made->call_count; i++) {
            if (made->calls[i].issue_ns == t_ns &&
                (set & task_bit(made, made->calls[i].issuer)) != 0) {
                set |= call_bit(made, &made->calls[i]);
            }
        }
    }
    return set;
}

/* Whether the task was active as @text says in the nanosecond from @t_ns on. */
static int task_was(const struct random_trace *made, const struct cpt_trace_task *task,
                    uint64_t t_ns, const char *text)
{
    char expected[MODEL_TEXT_BYTES];
    int is_queued = t_ns < task->start_ns;
    const int is_over = task != made->trace.answered_by && task->end_ns != 0 &&
                        t_ns >= task->end_ns; /* 0: it was still running */

    if (is_over) {
        return 0;
    }
    for (const struct cpt_trace_await *await = task->last_await; await != NULL;
         await = await->previous) {
        if (await->block_ns <= t_ns && t_ns < await->arrive_ns) {
            return 0;
        }
        is_queued = is_queued || (await->block_ns <= t_ns && await->arrive_ns <= t_ns &&
                                  t_ns < await->resume_ns);
    }
    task_text(made, task, expected);
    if (is_queued) {
        model_stack_push(expected, "", CPT_KIND_QUEUE);
        return strcmp(expected, text) == 0;
    }
    return own_bytes(text) == strlen(expected) &&
           memcmp(expected, text, strlen(expected)) == 0;
}

/* The same of a call; what is below the call's frame is the callee's. */
static int call_was(const struct random_trace *made, const struct cpt_trace_call *call,
                    uint64_t t_ns, const char *text)
{
    char expected[MODEL_TEXT_BYTES];
    size_t bytes = 0;

    if (t_ns < call->issue_ns || t_ns >= call->arrive_ns) {
        return 0;
    }
    if (call->outcome != CPT_CALL_TIMEOUT && t_ns < call->sent_ns) {
        task_text(made, call->issuer, expected);
        model_stack_push(expected, "", CPT_KIND_QUEUE);
        return strcmp(expected, text) == 0;
    }
    call_text(made, call, expected);
    bytes = strlen(expected);
    return strncmp(expected, text, bytes) == 0 &&
           (text[bytes] == '\0' || text[bytes] == ';');
}

int model_is_chain(const struct random_trace *made, const struct model_line *line)
{
    uint64_t t_ns = made->trace.arrival_ns;
    entity_set set = 0;

    for (size_t i = 0; i < made->task_count; i++) {
        set |= made->tasks[i].begin == CPT_BEGIN_REQUEST
                   ? task_bit(made, &made->tasks[i])
                   : 0;
    }
    for (size_t at = 0; at < line->count; at++, t_ns++) {
        const char *text = line->owners[at].stack;
        entity_set active = 0;

        set = led_to(made, set, t_ns);
        for (size_t i = 0; i < made->task_count; i++) {
            active |= task_was(made, &made->tasks[i], t_ns, text) ? 1UL << i : 0;
        }
        for (size_t i = 0; i < made->call_count; i++) {
            active |= call_was(made, &made->calls[i], t_ns, text)
                          ? 1UL << (RANDOM_TASKS_MAX + i)
                          : 0;
        }
        set &= active;
    }
    return (led_to(made, set, t_ns) & task_bit(made, made->trace.answered_by)) != 0;
}
