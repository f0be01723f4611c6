/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph.c - from a table of tasks to a plan that any number of requests run
 *
 * Checked in this order, so that the first thing wrong is the cause and not a result:
 * names and functions; every value is given once; whatever is needed or started is
 * given; no circle (links.c); every task is of use.
 *
 * A component is a graph in the place of a task's function. It is compiled to a plan of
 * its own, once however often it is used, which the outermost plan owns; graphs within
 * one another are as deep as CPT_NESTING_MAX at most, so compiling them is a recursion.
 */
#include "framework/graph/build.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

uint32_t cpti_plan_slot(const struct cpt_plan *plan, const uint32_t *slots,
                        uint32_t count, const struct cpt_value *value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (plan->slots[slots[i]].value == value) {
            return slots[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct cpt_value *own = plan->slots[slots[i]].value;

        if (own->bytes == value->bytes && strcmp(own->name, value->name) == 0) {
            return slots[i];
        }
    }
    return UINT32_MAX;
}

/* --- Names --- */

static cpt_status check_graph(struct cpti_build *build)
{
    const struct cpt_graph *graph = build->graph;

    if (build->service == NULL || build->service[0] == '\0') {
        return REFUSE(build, "the graph has no service name");
    }
    if (strstr(build->service, ": ") != NULL ||
        strlen(build->service) > CPT_NAME_BYTES_MAX / 2) {
        return REFUSE(build,
                      "service name \"%.80s\" holds \": \" or is longer than %d bytes",
                      build->service, CPT_NAME_BYTES_MAX / 2);
    }
    if (graph->task_count == 0 || graph->tasks == NULL) {
        return REFUSE(build, "graph \"%s\" has no tasks", build->service);
    }
    if (graph->task_count > CPT_GRAPH_TASKS_MAX) {
        return cpt_error_set(build->error, CPT_LIMIT, 0,
                             "graph \"%s\" has %zu tasks, the limit is %d",
                             build->service, graph->task_count, CPT_GRAPH_TASKS_MAX);
    }
    if (graph->output == NULL) {
        return REFUSE(build, "graph \"%s\" has no output", build->service);
    }
    return CPT_OK;
}

/* "A: A1" for the path; the names of tasks are distinct. */
static cpt_status name_task(struct cpti_build *build, uint32_t index)
{
    const struct cpt_task_def *def = &build->graph->tasks[index];
    struct cpti_plan_task *task = &build->plan->tasks[index];
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;
    size_t bytes = 0;
    char *name = NULL;

    if (def->name == NULL || def->name[0] == '\0') {
        return REFUSE(build, "task number %u of graph \"%s\" has no name",
                      (unsigned)index, build->service);
    }
    bytes = strlen(build->service) + 2 + strlen(def->name);
    if (bytes > CPT_NAME_BYTES_MAX) {
        return REFUSE(build, "the name of task \"%.40s...\" is longer than %zu bytes",
                      def->name, CPT_NAME_BYTES_MAX - (bytes - strlen(def->name)));
    }
    if ((def->run == NULL) == (def->component == NULL)) {
        return REFUSE(build,
                      def->run == NULL ? "task \"%s\" has no function"
                                       : "task \"%s\" has a function and a component",
                      def->name);
    }
    if (def->runs_on != NULL && def->component == NULL) {
        return REFUSE(build, "task \"%s\" runs elsewhere, but is no component",
                      def->name);
    }
    if (def->gives == NULL) {
        return REFUSE(build, "task \"%s\" gives no value", def->name);
    }
    status = cpt_names_add(build->tasks, cpt_bytes_of(def->name), &id);
    if (status != CPT_OK) {
        return status;
    }
    if (id != index) {
        return REFUSE(build, "two tasks are called \"%s\"", def->name);
    }
    name = cpti_build_take(build, bytes + 1, 1);
    if (name == NULL) {
        return CPT_NO_MEMORY;
    }
    (void)snprintf(name, bytes + 1, "%s: %s", build->service, def->name);
    task->def = def;
    task->frame_name = (struct cpt_bytes){name, bytes};
    build->plan->steps[index].run = def->run;
    build->plan->steps[index].name_id = cpti_task_name_id(task->frame_name);
    return CPT_OK;
}

/* The slot of @value, which is made if it is new. */
static cpt_status slot_of(struct cpti_build *build, const struct cpt_value *value,
                          uint32_t *slot)
{
    struct cpt_plan *plan = build->plan;
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;

    if (value->name == NULL || strlen(value->name) > CPT_NAME_BYTES_MAX) {
        return REFUSE(build, "a value has no name or one of more than %d bytes",
                      CPT_NAME_BYTES_MAX);
    }
    status = cpt_names_add(build->values, cpt_bytes_of(value->name), &id);
    if (status != CPT_OK) {
        return status;
    }
    if (id == plan->slot_count) {
        plan->slots[plan->slot_count++] = (struct cpti_slot){value, CPTI_NO_TASK};
    } else if (plan->slots[id].value->bytes != value->bytes) {
        return REFUSE(build, "value \"%s\" is declared with %zu and with %zu bytes",
                      value->name, plan->slots[id].value->bytes, value->bytes);
    }
    *slot = id;
    return CPT_OK;
}

static cpt_status add_given(struct cpti_build *build, uint32_t index)
{
    struct cpt_plan *plan = build->plan;
    const struct cpt_task_def *def = plan->tasks[index].def;
    uint32_t slot = 0;
    cpt_status status = slot_of(build, def->gives, &slot);

    if (status != CPT_OK) {
        return status;
    }
    if (build->graph->input != NULL && slot == 0) {
        return REFUSE(build,
                      "value \"%s\" is what a request brings, but task \"%s\" gives it",
                      def->gives->name, def->name);
    }
    if (plan->slots[slot].giver != CPTI_NO_TASK) {
        return REFUSE(build, "value \"%s\" is given by task \"%s\" and by task \"%s\"",
                      def->gives->name, plan->tasks[plan->slots[slot].giver].def->name,
                      def->name);
    }
    plan->slots[slot].giver = index;
    plan->tasks[index].output_offset = plan->output_bytes;
    plan->output_bytes += (def->gives->bytes + 15) / 16 * 16;
    if (def->gives->cleanup != NULL) {
        plan->tasks[index].next_cleaned = plan->first_cleaned;
        plan->first_cleaned = index + 1;
    }
    return CPT_OK;
}

/* The slots of one list of a task; each must be given, by another task or the input. */
static cpt_status list_slots(struct cpti_build *build, uint32_t index,
                             const struct cpt_value *const *values, const char *verb,
                             uint32_t *slots, uint32_t *count)
{
    struct cpt_plan *plan = build->plan;
    const char *name = plan->tasks[index].def->name;

    for (uint32_t i = 0; values[i] != NULL; i++) {
        cpt_name_id id = 0;

        if (!cpt_names_find(build->values, cpt_bytes_of(values[i]->name), &id)) {
            return REFUSE(build, "task \"%s\" %s value \"%s\", which no task gives",
                          name, verb, values[i]->name);
        }
        if (plan->slots[id].value->bytes != values[i]->bytes) {
            return REFUSE(
                build, "task \"%s\" %s value \"%s\" as %zu bytes, but it has %zu", name,
                verb, values[i]->name, values[i]->bytes, plan->slots[id].value->bytes);
        }
        if (cpti_plan_slot(plan, slots, *count, values[i]) != UINT32_MAX) {
            return REFUSE(build, "task \"%s\" %s value \"%s\" twice", name, verb,
                          values[i]->name);
        }
        slots[(*count)++] = id;
    }
    return CPT_OK;
}

/* Refuses a list of more than @count_max. */
static cpt_status check_list(struct cpti_build *build, uint32_t index,
                             const struct cpt_value *const *values, const char *verb,
                             uint32_t count_max)
{
    uint32_t count = 0;

    while (values[count] != NULL) {
        if (count++ == count_max) {
            return cpt_error_set(
                build->error, CPT_LIMIT, 0, "task \"%s\" %s more than %u values",
                build->plan->tasks[index].def->name, verb, (unsigned)count_max);
        }
    }
    return CPT_OK;
}

/* No list is longer than it may be. */
static cpt_status check_lists(struct cpti_build *build, uint32_t index)
{
    const struct cpt_task_def *def = build->plan->tasks[index].def;
    cpt_status status =
        check_list(build, index, def->needs, "needs", CPT_TASK_VALUES_MAX);

    if (status == CPT_OK) {
        status =
            check_list(build, index, def->wants, "wants or needs", CPT_TASK_VALUES_MAX);
    }
    if (status == CPT_OK) {
        status = check_list(build, index, def->starts, "starts", CPT_TASK_VALUES_MAX);
    }
    return status;
}

/* The needs of a task that `needs` has no room for; there is room for them then. */
static cpt_status add_more_needs(struct cpti_build *build, uint32_t index)
{
    struct cpti_plan_task *task = &build->plan->tasks[index];
    const struct cpt_value *const *more = task->def->needs_more;
    uint32_t *slots = NULL;
    size_t count = (size_t)task->input_count + CPT_TASK_VALUES_MAX; /* with wants */
    cpt_status status = CPT_OK;

    if (more == NULL) {
        return CPT_OK;
    }
    status =
        check_list(build, index, more, "needs", CPT_TASK_NEEDS_MAX - task->input_count);
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; more[i] != NULL; i++) {
        count++;
    }
    slots = cpti_build_take(build, count, sizeof *slots);
    if (slots == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(slots, task->input_slots, task->input_count * sizeof *slots);
    task->input_slots = slots;
    return list_slots(build, index, more, "needs", slots, &task->input_count);
}

static cpt_status add_lists(struct cpti_build *build, uint32_t index)
{
    struct cpt_plan *plan = build->plan;
    struct cpti_plan_task *task = &plan->tasks[index];
    cpt_status status = check_lists(build, index);

    task->input_slots = task->own_slots;
    if (status == CPT_OK) {
        status = list_slots(build, index, task->def->needs, "needs", task->input_slots,
                            &task->input_count);
    }
    if (status == CPT_OK) {
        status = add_more_needs(build, index);
    }
    task->need_count = task->input_count;
    if (status == CPT_OK) {
        status = list_slots(build, index, task->def->wants, "wants or needs",
                            task->input_slots, &task->input_count);
    }
    if (status == CPT_OK) {
        status = list_slots(build, index, task->def->starts, "starts",
                            task->start_slots, &task->start_count);
    }
    for (uint32_t i = 0; status == CPT_OK && i < task->start_count; i++) {
        const struct cpti_slot *slot = &plan->slots[task->start_slots[i]];

        if (slot->giver == CPTI_NO_TASK) {
            return REFUSE(build,
                          "task \"%s\" starts value \"%s\", which the request brings",
                          task->def->name, slot->value->name);
        }
        if (cpti_plan_slot(plan, task->input_slots, task->input_count, slot->value) !=
            UINT32_MAX) {
            return REFUSE(build, "task \"%s\" both %s and starts value \"%s\"",
                          task->def->name,
                          cpti_plan_slot(plan, task->input_slots, task->need_count,
                                         slot->value) != UINT32_MAX
                              ? "needs"
                              : "wants",
                          slot->value->name);
        }
        plan->steps[slot->giver].is_startable = true;
        plan->tasks[slot->giver].starter_count++;
    }
    return status;
}

/* The sub-graphs of a task as the trace wants them: outermost last. */
static cpt_status copy_groups(struct cpti_build *build, uint32_t index)
{
    struct cpti_plan_task *task = &build->plan->tasks[index];
    const struct cpt_trace_group **place = &task->group;
    uint32_t depth = 0;

    for (const struct cpt_group *group = task->def->group; group != NULL;
         group = group->parent) {
        struct cpt_trace_group *copy = cpti_build_take(build, 1, sizeof *copy);
        const size_t bytes = build->plan->service.bytes + 2 + strlen(group->name);
        char *name = NULL;

        if (bytes > CPT_NAME_BYTES_MAX || ++depth > CPT_TASK_VALUES_MAX) {
            return REFUSE(
                build,
                "group \"%.80s\" of task \"%s\" has too long a name or lies more "
                "than %d deep",
                group->name, task->def->name, CPT_TASK_VALUES_MAX);
        }
        name = cpti_build_take(build, bytes + 1, 1);
        if (copy == NULL || name == NULL) {
            return CPT_NO_MEMORY;
        }
        (void)snprintf(name, bytes + 1, "%s: %s", build->service, group->name);
        copy->name = (struct cpt_bytes){name, bytes};
        *place = copy;
        place = &copy->parent;
    }
    return CPT_OK;
}

/* --- Components --- */

/* A graph that is a part of itself: the tasks on the way from @first inwards. */
static cpt_status refuse_component_circle(struct cpti_build *build,
                                          const struct cpti_build *first)
{
    const struct cpti_build *chain[CPT_NESTING_MAX + 1];
    char text[CPT_ERROR_SENTENCE_BYTES] = "";
    size_t used = 0;
    size_t count = 0;

    for (const struct cpti_build *at = build; at != first; at = at->outer) {
        chain[count++] = at;
    }
    chain[count++] = first;
    while (count-- > 0 && used < sizeof text - 1) {
        const int written = snprintf(text + used, sizeof text - used, "\"%s\" -> ",
                                     chain[count]->component);

        used += written > 0 ? (size_t)written : 0;
    }
    return REFUSE(build, "components contain each other in a circle: %.*s\"%s\"",
                  (int)sizeof text, text, first->component);
}

/* No circle, and not too deep, so that compiling it can be a recursion. */
static cpt_status check_nesting(struct cpti_build *build, const struct cpt_graph *graph)
{
    uint32_t depth = 1;

    for (const struct cpti_build *at = build; at != NULL; at = at->outer) {
        if (at->graph == graph) {
            return refuse_component_circle(build, at);
        }
        if (depth++ > CPT_NESTING_MAX) {
            return cpt_error_set(
                build->error, CPT_LIMIT, 0,
                "component \"%s\" lies %u graphs deep, the limit is %d",
                build->component, (unsigned)depth - 1, CPT_NESTING_MAX);
        }
    }
    return CPT_OK;
}

/* Whether @outer of a task can be @inner of its component: both there and of one type,
 * or none. */
static cpt_status check_type(struct cpti_build *build, const char *verb,
                             const struct cpt_value *outer,
                             const struct cpt_value *inner)
{
    if (outer == NULL && inner == NULL) {
        return CPT_OK;
    }
    if (outer != NULL && inner != NULL && outer->bytes == inner->bytes &&
        (outer->type == NULL || inner->type == NULL ||
         strcmp(outer->type, inner->type) == 0)) {
        return CPT_OK;
    }
    return REFUSE(build,
                  "task \"%s\" %s %s of type \"%s\", but its component %s %s of type "
                  "\"%s\"",
                  build->component, verb, outer != NULL ? outer->name : "nothing",
                  outer != NULL && outer->type != NULL ? outer->type : "?", verb,
                  inner != NULL ? inner->name : "nothing",
                  inner != NULL && inner->type != NULL ? inner->type : "?");
}

static cpt_status check_component(struct cpti_build *build,
                                  const struct cpti_plan_task *task)
{
    const struct cpt_task_def *def = task->def;
    cpt_status status = CPT_OK;

    if (task->input_count > 1 || task->input_count != task->need_count ||
        task->start_count != 0) {
        return REFUSE(
            build,
            "task \"%s\" has a component: it needs one value or none, wants and "
            "starts nothing",
            def->name);
    }
    status = check_type(build, "takes", def->needs[0], def->component->input);
    return status == CPT_OK
               ? check_type(build, "gives", def->gives, def->component->output)
               : status;
}

static struct cpt_plan *make_plan(const struct cpt_graph *graph,
                                  struct cpti_build *outer,
                                  const struct cpt_alloc *alloc,
                                  struct cpt_error *error);

/* Compiles the component of task @index; one graph only once, wherever it is used. */
static cpt_status add_component(struct cpti_build *build, uint32_t index)
{
    struct cpti_plan_task *task = &build->plan->tasks[index];
    const struct cpt_graph *graph = task->def->component;
    struct cpt_error error = {0};
    struct cpti_build *outermost = build;
    struct cpt_plan *plan = NULL;
    cpt_status status = CPT_OK;

    if (graph == NULL) {
        return CPT_OK;
    }
    build->component = task->def->name;
    status = check_nesting(build, graph);
    if (status == CPT_OK) {
        status = check_component(build, task);
    }
    if (status != CPT_OK) {
        return status;
    }
    while (outermost->outer != NULL) {
        outermost = outermost->outer;
    }
    plan = outermost->plan->components;
    while (plan != NULL && plan->graph != graph) {
        plan = plan->next_component;
    }
    if (plan == NULL) {
        plan = make_plan(graph, build, build->plan->alloc, &error);
        if (plan == NULL) {
            return cpt_error_set(build->error, error.status, 0, "component \"%s\": %s",
                                 task->def->name, error.sentence);
        }
        plan->next_component = outermost->plan->components;
        outermost->plan->components = plan;
    }
    task->component = plan;
    return CPT_OK;
}

/* --- All of it --- */

static cpt_status take_tables(struct cpti_build *build)
{
    struct cpt_plan *plan = build->plan;
    const size_t count = build->graph->task_count;

    plan->graph = build->graph;
    plan->service = cpt_bytes_of(build->service);
    plan->task_count = (uint32_t)count;
    plan->steps = cpti_build_take(build, count, sizeof *plan->steps);
    plan->tasks = cpti_build_take(build, count, sizeof *plan->tasks);
    plan->slots = cpti_build_take(build, count + 1, sizeof *plan->slots);
    build->stack = cpti_build_take(build, count, sizeof *build->stack);
    build->marks = cpti_build_take(build, count, 1);
    build->values = cpt_names_new(plan->alloc);
    build->tasks = cpt_names_new(plan->alloc);
    plan->made_up_names = cpt_names_new(plan->alloc);
    return plan->steps != NULL && plan->tasks != NULL && plan->slots != NULL &&
                   build->stack != NULL && build->marks != NULL &&
                   build->values != NULL && build->tasks != NULL &&
                   plan->made_up_names != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

/* Does @step for all tasks, unless @status is an error. Inline, so that the compiler
 * sees which step it calls: through a table a plan of one task takes 4 % longer. */
static inline cpt_status each_task(struct cpti_build *build, cpt_status status,
                                   cpt_status (*step)(struct cpti_build *build,
                                                      uint32_t index))
{
    for (uint32_t i = 0; status == CPT_OK && i < build->plan->task_count; i++) {
        status = step(build, i);
    }
    return status;
}

/* Each step for all tasks before the next one. */
static cpt_status add_tasks(struct cpti_build *build)
{
    uint32_t slot = 0;
    cpt_status status = CPT_OK;

    if (build->graph->input != NULL) {
        status = slot_of(build, build->graph->input, &slot);
        build->plan->input_bytes = build->graph->input->bytes;
    }
    status = each_task(build, status, name_task);
    status = each_task(build, status, add_given);
    status = each_task(build, status, add_lists);
    status = each_task(build, status, copy_groups);
    return each_task(build, status, add_component);
}

static cpt_status find_output(struct cpti_build *build)
{
    struct cpt_plan *plan = build->plan;
    const struct cpt_value *output = build->graph->output;
    cpt_name_id id = 0;

    if (!cpt_names_find(build->values, cpt_bytes_of(output->name), &id) ||
        plan->slots[id].giver == CPTI_NO_TASK) {
        return REFUSE(build, "no task gives the output \"%s\"", output->name);
    }
    if (plan->slots[id].value->bytes != output->bytes) {
        return REFUSE(build, "output \"%s\" is declared with %zu and with %zu bytes",
                      output->name, plan->slots[id].value->bytes, output->bytes);
    }
    plan->output_task = plan->slots[id].giver;
    plan->steps[plan->output_task].is_output = true;
    return CPT_OK;
}

static cpt_status build_plan(struct cpti_build *build)
{
    cpt_status status = check_graph(build);

    if (status == CPT_OK) {
        status = take_tables(build);
    }
    if (status == CPT_OK) {
        status = add_tasks(build);
    }
    if (status == CPT_OK) {
        status = find_output(build);
    }
    return status == CPT_OK ? cpti_build_link(build) : status;
}

static struct cpt_plan *make_plan(const struct cpt_graph *graph,
                                  struct cpti_build *outer,
                                  const struct cpt_alloc *alloc,
                                  struct cpt_error *error)
{
    struct cpti_build build = {.outer = outer,
                               .graph = graph,
                               .service =
                                   outer != NULL ? outer->service : graph->service,
                               .error = error};
    cpt_status status = CPT_NO_MEMORY;

    build.plan =
        cpt_alloc_zeroed(alloc, sizeof *build.plan + sizeof *build.plan->arena);
    if (build.plan != NULL) {
        build.plan->alloc = alloc != NULL ? alloc : cpt_alloc_default();
        build.plan->arena = (struct cpt_arena *)(build.plan + 1);
        cpt_arena_init(build.plan->arena, alloc, 0, 0);
        status = build_plan(&build);
    }
    cpt_names_free(build.values);
    cpt_names_free(build.tasks);
    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
        cpti_plan_destroy(build.plan);
        return NULL;
    }
    return build.plan;
}

static void free_one(struct cpt_plan *plan)
{
    const struct cpt_alloc *alloc = plan->alloc;

    cpt_names_free(plan->made_up_names);
    cpt_arena_deinit(plan->arena);
    cpt_alloc_free(alloc, plan);
}

struct cpt_plan *cpti_plan_compile(const struct cpt_graph *graph,
                                   const struct cpt_alloc *alloc,
                                   struct cpt_error *error)
{
    assert(graph != NULL);
    return make_plan(graph, NULL, alloc, error);
}

void cpti_plan_destroy(struct cpt_plan *plan)
{
    struct cpt_plan *next = NULL;

    if (plan == NULL) {
        return;
    }
    /* Components have none of their own: all are the outermost plan's. */
    for (struct cpt_plan *component = plan->components; component != NULL;
         component = next) {
        next = component->next_component;
        free_one(component);
    }
    free_one(plan);
}
