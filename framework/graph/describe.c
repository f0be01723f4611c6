/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * describe.c - a plan as JSON: its tasks, and which values with which types they give
 * and take
 *
 *      {"service":"A","input":{"name":"query","type":"struct query","bytes":16},
 *       "output":"page","tasks":[{"name":"A: ads","gives":{},"needs":["query"]},...]}
 *
 * A program that is started with CPT_PLANS=FILE appends each plan that it makes to
 * FILE, one line each, and an empty object when it begins to serve: so `cpt graph
 * PROGRAM` sees the plans of a program that has no port. Programs with more rights than
 * the user who starts them ignore the variable.
 */
#include "framework/graph/describe.h"

#include "framework/cpt_running.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- As JSON --- */

static void write_value(struct cpti_json *text, const char *key,
                        const struct cpt_value *value)
{
    cpti_json_open(text, key, '{');
    cpti_json_bytes(text, "name", cpt_bytes_of(value->name));
    if (value->type != NULL) {
        cpti_json_bytes(text, "type", cpt_bytes_of(value->type));
    }
    cpti_json_unsigned(text, "bytes", value->bytes);
    cpti_json_close(text);
}

/* The names of @count values. */
static void write_names(struct cpti_json *text, const char *key,
                        const struct cpt_plan *plan, const uint32_t *slots,
                        uint32_t count)
{
    if (count == 0) {
        return;
    }
    cpti_json_open(text, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        cpti_json_bytes(text, NULL, cpt_bytes_of(plan->slots[slots[i]].value->name));
    }
    cpti_json_close(text);
}

static void write_task(struct cpti_json *text, const struct cpt_plan *plan,
                       const struct cpti_plan_task *task)
{
    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "name", task->frame_name);
    write_value(text, "gives", task->def->gives);
    write_names(text, "needs", plan, task->input_slots, task->need_count);
    write_names(text, "wants", plan, task->input_slots + task->need_count,
                task->input_count - task->need_count);
    write_names(text, "starts", plan, task->start_slots, task->start_count);
    if (task->def->group != NULL) {
        cpti_json_bytes(text, "group", cpt_bytes_of(task->def->group->name));
    }
    if (!task->is_eager) {
        cpti_json_bool(text, "on_demand", true);
    }
    if (task->component != NULL) { /* at most CPT_NESTING_MAX within one another */
        cpti_describe(task->component, "component", text);
    }
    cpti_json_close(text);
}

void cpti_describe(const struct cpt_plan *plan, const char *key, struct cpti_json *text)
{
    cpti_json_open(text, key, '{');
    cpti_json_bytes(text, "service", plan->service);
    if (plan->graph->input != NULL) {
        write_value(text, "input", plan->graph->input);
    }
    cpti_json_bytes(text, "output", cpt_bytes_of(plan->graph->output->name));
    cpti_json_open(text, "tasks", '[');
    for (uint32_t i = 0; i < plan->task_count && !text->is_full; i++) {
        write_task(text, plan, &plan->tasks[i]);
    }
    cpti_json_close(text);
    cpti_json_close(text);
}

/* --- Into a file --- */

/* Appends the line in @text. It is for people: an error is no reason to fail. */
static void append_line(struct cpti_json *text)
{
    const char *path = secure_getenv(CPTI_DESCRIBE_VARIABLE);
    int descriptor = -1;

    if (path == NULL || text->is_full) {
        return;
    }
    descriptor =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor >= 0) {
        /* In one piece, as another thread may append, too. */
        const ssize_t written = write(descriptor, text->data, text->used);

        (void)written;
        (void)close(descriptor);
    }
}

void cpti_describe_made(const struct cpt_plan *plan)
{
    struct cpti_json text = {.alloc = plan->alloc, .bytes_max = CPT_RUNNING_BYTES_MAX};

    if (secure_getenv(CPTI_DESCRIBE_VARIABLE) == NULL) {
        return;
    }
    cpti_describe(plan, NULL, &text);
    append_line(&text);
    cpti_json_deinit(&text);
}

void cpt_plans_are_made(void)
{
    struct cpti_json text = {.bytes_max = CPT_RUNNING_BYTES_MAX};

    if (secure_getenv(CPTI_DESCRIBE_VARIABLE) == NULL) {
        return;
    }
    cpti_json_open(&text, NULL, '{');
    cpti_json_close(&text);
    append_line(&text);
    cpti_json_deinit(&text);
}
