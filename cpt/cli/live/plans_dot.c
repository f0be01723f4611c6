/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * plans_dot.c - plans as a graph in the language DOT of graphviz
 *
 *      box       a task; dashed: it runs on demand
 *      ellipse   what a request brings, and what it is answered with
 *      arrow     a value with its C type; dotted: the task can do without it; dashed:
 *                it starts the task that gives the value
 *
 * A component is drawn in a frame of its own, with an arrow from the task that it is
 * the body of.
 */
#include "cpt/cli/live/plans.h"

#include "cpt/cli/base/output.h"

#include <inttypes.h>

enum { DEPTH_MAX = 34 };

struct dot {
    FILE *file;
    unsigned last_id; /* of nodes and frames */
};

/* Text in a label, between its quotes. */
static void put_text(struct dot *dot, struct cpt_bytes text)
{
    for (const char *at = cpti_printable(text); *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            (void)fputc('\\', dot->file);
        }
        (void)fputc(*at, dot->file);
    }
}

/* "name" and below it "struct ads" */
static void put_value(struct dot *dot, const struct cpti_json_value *value)
{
    const struct cpt_bytes type = cpti_json_string(value, "type");

    put_text(dot, cpti_json_string(value, "name"));
    if (type.bytes != 0) {
        (void)fputs("\\n", dot->file);
        put_text(dot, type);
    }
}

/* The number of the task among @tasks that gives @name, with its value; UINT32_MAX: it
 * is the input. */
static uint32_t giver_of(const struct cpti_json_value *tasks, struct cpt_bytes name,
                         const struct cpti_json_value **value)
{
    const struct cpti_json_value *task = cpti_json_first(tasks);

    for (uint32_t i = 0; task != NULL; task = task->next, i++) {
        *value = cpti_json_member(task, "gives");
        if (cpt_bytes_equal(cpti_json_string(*value, "name"), name)) {
            return i;
        }
    }
    *value = NULL;
    return UINT32_MAX;
}

/* Arrows for the values in @list. The node of task i is @first + 1 + i, that of the
 * input @first. A task that is started is at the end of its arrow. */
static void put_arrows(struct dot *dot, const struct cpti_json_value *plan,
                       const struct cpti_json_value *list, unsigned first,
                       unsigned node, const char *style)
{
    const struct cpti_json_value *name = cpti_json_first(list);

    for (; name != NULL; name = name->next) {
        const struct cpti_json_value *value = NULL;
        const uint32_t giver =
            giver_of(cpti_json_member(plan, "tasks"), name->text, &value);
        const unsigned other = giver != UINT32_MAX ? first + 1 + giver : first;
        const bool is_start = style[0] == 'd' && style[1] == 'a';

        (void)fprintf(dot->file, "  n%u -> n%u [label=\"", is_start ? node : other,
                      is_start ? other : node);
        put_value(dot, value != NULL ? value : cpti_json_member(plan, "input"));
        (void)fprintf(dot->file, "\"%s%s];\n", style[0] != '\0' ? ", style=" : "",
                      style);
    }
}

static void put_plan(struct dot *dot, const struct cpti_json_value *plan,
                     struct cpt_bytes title, unsigned starter, unsigned depth);

/* The components of tasks, each in its frame. */
static void put_components(struct dot *dot, const struct cpti_json_value *tasks,
                           unsigned first, unsigned depth)
{
    const struct cpti_json_value *task = cpti_json_first(tasks);

    for (unsigned node = first + 1; task != NULL; task = task->next, node++) {
        const struct cpti_json_value *component = cpti_json_member(task, "component");

        if (component != NULL && depth < DEPTH_MAX) {
            put_plan(dot, component, cpti_json_string(task, "name"), node, depth + 1);
        }
    }
}

static void put_nodes(struct dot *dot, const struct cpti_json_value *plan,
                      unsigned first)
{
    const struct cpti_json_value *tasks = cpti_json_member(plan, "tasks");
    const struct cpti_json_value *task = cpti_json_first(tasks);

    if (cpti_json_member(plan, "input") != NULL) {
        (void)fprintf(dot->file, "  n%u [shape=ellipse, label=\"", first);
        put_value(dot, cpti_json_member(plan, "input"));
        (void)fprintf(dot->file, "\"];\n");
    }
    for (; task != NULL; task = task->next) {
        (void)fprintf(dot->file, "  n%u [label=\"", ++dot->last_id);
        put_text(dot, cpti_json_string(task, "name"));
        if (cpti_json_member(task, "group") != NULL) {
            (void)fputs("\\n(", dot->file);
            put_text(dot, cpti_json_string(task, "group"));
            (void)fputs(")", dot->file);
        }
        (void)fprintf(dot->file, "\"%s];\n",
                      cpti_json_number(task, "on_demand") != 0 ? ", style=dashed" : "");
    }
}

/* What the plan gives, behind the task that gives it. */
static void put_output(struct dot *dot, const struct cpti_json_value *plan,
                       unsigned first)
{
    const struct cpti_json_value *value = NULL;
    const uint32_t giver = giver_of(cpti_json_member(plan, "tasks"),
                                    cpti_json_string(plan, "output"), &value);

    (void)fprintf(dot->file, "  n%u [shape=ellipse, label=\"", ++dot->last_id);
    put_value(dot, value);
    (void)fprintf(dot->file, "\"];\n");
    if (giver != UINT32_MAX) {
        (void)fprintf(dot->file, "  n%u -> n%u;\n", first + 1 + giver, dot->last_id);
    }
}

/* One plan in its frame; @starter is the node whose body it is, or 0. */
static void put_plan(struct dot *dot, const struct cpti_json_value *plan,
                     struct cpt_bytes title, unsigned starter, unsigned depth)
{
    const struct cpti_json_value *tasks = cpti_json_member(plan, "tasks");
    const struct cpti_json_value *task = cpti_json_first(tasks);
    const unsigned first = ++dot->last_id;

    (void)fprintf(dot->file, "  subgraph cluster_%u {\n  label=\"", first);
    put_text(dot, title);
    (void)fprintf(dot->file, "\";\n");
    put_nodes(dot, plan, first);
    for (unsigned node = first + 1; task != NULL; task = task->next, node++) {
        put_arrows(dot, plan, cpti_json_member(task, "needs"), first, node, "");
        put_arrows(dot, plan, cpti_json_member(task, "wants"), first, node, "dotted");
        put_arrows(dot, plan, cpti_json_member(task, "starts"), first, node, "dashed");
    }
    put_output(dot, plan, first);
    (void)fprintf(dot->file, "  }\n");
    if (starter != 0) {
        (void)fprintf(dot->file, "  n%u -> n%u [style=bold, label=\"component\"];\n",
                      starter, dot->last_id);
    }
    put_components(dot, tasks, first, depth);
}

void cpti_plans_dot(const struct cpti_plans *plans, FILE *file)
{
    struct dot dot = {.file = file};

    (void)fprintf(file, "digraph plans {\n  rankdir=LR;\n  node [shape=box];\n");
    for (size_t i = 0; i < plans->count; i++) {
        const struct cpti_json_value *plan = plans->plans[i].plan;
        const struct cpt_bytes service = cpti_json_string(plan, "service");
        const struct cpt_bytes method = plans->plans[i].method;
        char title[1024];

        (void)snprintf(title, sizeof title, "%.*s%s%.*s",
                       service.bytes < 400 ? (int)service.bytes : 400, service.data,
                       method.bytes != 0 ? ": " : "",
                       method.bytes < 400 ? (int)method.bytes : 400,
                       method.bytes != 0 ? method.data : "");
        put_plan(&dot, plan, cpt_bytes_of(title), 0, 0);
    }
    (void)fprintf(file, "}\n");
}
