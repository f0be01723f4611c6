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
 *
 * What a plan says comes from outside, and may have very many tasks and arrows: a value
 * is found by the hash of its name.
 */
#include "tool/live/plans.h"

#include "tool/base/output.h"
#include "cpt/base/hash_index.h"

#include <inttypes.h>

enum { DEPTH_MAX = 34 };

struct dot {
    FILE *file;
    unsigned last_id; /* of nodes and frames */
    uint64_t compared_count;
    cpt_status status;
};

/* A plan, and which of its tasks gives which value. */
struct drawn {
    struct cpti_doc_value tasks;
    struct cpti_doc_value input;
    unsigned first;               /* the node of the input */
    size_t count;                 /* of tasks */
    struct cpti_doc_value *gives; /* of each */
    struct cpti_hash_index index; /* of them by name, the first one of each */
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
static void put_value(struct dot *dot, struct cpti_doc_value value)
{
    const struct cpt_bytes type = cpti_answer_string(value, "type");

    put_text(dot, cpti_answer_string(value, "name"));
    if (type.bytes != 0) {
        (void)fputs("\\n", dot->file);
        put_text(dot, type);
    }
}

/* --- Who gives a value --- */

/* The slot of @name; it is 0 if no task gives it. */
static size_t slot_of(struct dot *dot, const struct drawn *drawn, struct cpt_bytes name)
{
    const uint64_t seed = (uint64_t)(uintptr_t)drawn->gives;
    size_t slot = cpti_hash_index_first(&drawn->index,
                                        cpt_hash_bytes(seed, name.data, name.bytes));

    for (; drawn->index.slots[slot] != 0;
         slot = cpti_hash_index_next(&drawn->index, slot)) {
        const uint32_t number = drawn->index.slots[slot] - 1;

        dot->compared_count++;
        if (cpt_bytes_equal(cpti_answer_string(drawn->gives[number], "name"), name)) {
            break;
        }
    }
    return slot;
}

/* The number of the task that gives @name, with its value; UINT32_MAX: it is the
 * input. */
static uint32_t giver_of(struct dot *dot, const struct drawn *drawn,
                         struct cpt_bytes name, struct cpti_doc_value *value)
{
    const uint32_t found = drawn->index.slots[slot_of(dot, drawn, name)];

    *value = found != 0 ? drawn->gives[found - 1] : (struct cpti_doc_value){NULL, 0};
    return found != 0 ? found - 1 : UINT32_MAX;
}

static void drawn_deinit(struct drawn *drawn)
{
    cpt_alloc_free(cpt_alloc_default(), drawn->index.slots);
    cpt_alloc_free(cpt_alloc_default(), (void *)drawn->gives);
}

/* Reads which tasks @plan has. false without memory; then there is nothing to free. */
static bool drawn_init(struct dot *dot, struct drawn *drawn, struct cpti_doc_value plan,
                       unsigned first)
{
    struct cpti_doc_member task;
    size_t slot_count = 2;
    uint32_t number = 0;

    memset(drawn, 0, sizeof *drawn);
    drawn->tasks = cpti_doc_get(plan, "tasks");
    drawn->input = cpti_doc_get(plan, "input");
    drawn->first = first;
    cpti_answer_each(task, drawn->tasks)
    {
        drawn->count++;
    }
    while (slot_count < 2 * drawn->count) {
        slot_count *= 2;
    }
    drawn->gives = cpt_alloc_array(cpt_alloc_default(), NULL, drawn->count + 1,
                                   sizeof *drawn->gives);
    if (drawn->gives == NULL ||
        cpti_hash_index_grow(&drawn->index, cpt_alloc_default(), slot_count, 0, NULL,
                             NULL) != CPT_OK) {
        drawn_deinit(drawn);
        dot->status = CPT_NO_MEMORY;
        return false;
    }
    cpti_answer_each(task, drawn->tasks)
    {
        size_t slot = 0;

        drawn->gives[number] = cpti_doc_get(task.value, "gives");
        slot = slot_of(dot, drawn, cpti_answer_string(drawn->gives[number], "name"));
        number++;
        if (drawn->index.slots[slot] == 0) {
            drawn->index.slots[slot] = number;
        }
    }
    return true;
}

/* --- Nodes and arrows --- */

/* Arrows for the values in @list. The node of task i is first + 1 + i, that of the
 * input first. A task that is started is at the end of its arrow. */
static void put_arrows(struct dot *dot, const struct drawn *drawn,
                       struct cpti_doc_value list, unsigned node, const char *style)
{
    struct cpti_doc_member name;

    cpti_answer_each(name, list)
    {
        struct cpti_doc_value value = {NULL, 0};
        const uint32_t giver =
            giver_of(dot, drawn, cpti_doc_string(name.value), &value);
        const unsigned other =
            giver != UINT32_MAX ? drawn->first + 1 + giver : drawn->first;
        const bool is_start = style[0] == 'd' && style[1] == 'a';

        (void)fprintf(dot->file, "  n%u -> n%u [label=\"", is_start ? node : other,
                      is_start ? other : node);
        put_value(dot, cpti_doc_type(value) != CPTI_DOC_NONE ? value : drawn->input);
        (void)fprintf(dot->file, "\"%s%s];\n", style[0] != '\0' ? ", style=" : "",
                      style);
    }
}

static void put_plan(struct dot *dot, struct cpti_doc_value plan,
                     struct cpt_bytes title, unsigned starter, unsigned depth);

/* The components of tasks, each in its frame. */
static void put_components(struct dot *dot, struct cpti_doc_value tasks, unsigned first,
                           unsigned depth)
{
    struct cpti_doc_member task;

    cpti_answer_each(task, tasks)
    {
        first++;
        if (cpti_answer_has(task.value, "component") && depth < DEPTH_MAX) {
            put_plan(dot, cpti_doc_get(task.value, "component"),
                     cpti_answer_string(task.value, "name"), first, depth + 1);
        }
    }
}

static void put_nodes(struct dot *dot, const struct drawn *drawn)
{
    struct cpti_doc_member member;

    if (cpti_doc_type(drawn->input) != CPTI_DOC_NONE) {
        (void)fprintf(dot->file, "  n%u [shape=ellipse, label=\"", drawn->first);
        put_value(dot, drawn->input);
        (void)fprintf(dot->file, "\"];\n");
    }
    cpti_answer_each(member, drawn->tasks)
    {
        const struct cpti_doc_value task = member.value;

        (void)fprintf(dot->file, "  n%u [label=\"", ++dot->last_id);
        put_text(dot, cpti_answer_string(task, "name"));
        if (cpti_answer_has(task, "group")) {
            (void)fputs("\\n(", dot->file);
            put_text(dot, cpti_answer_string(task, "group"));
            (void)fputs(")", dot->file);
        }
        (void)fprintf(dot->file, "\"%s];\n",
                      cpti_answer_number(task, "on_demand") != 0 ? ", style=dashed"
                                                                 : "");
    }
}

/* What the plan gives, behind the task that gives it. */
static void put_output(struct dot *dot, const struct drawn *drawn,
                       struct cpt_bytes output)
{
    struct cpti_doc_value value = {NULL, 0};
    const uint32_t giver = giver_of(dot, drawn, output, &value);

    (void)fprintf(dot->file, "  n%u [shape=ellipse, label=\"", ++dot->last_id);
    put_value(dot, value);
    (void)fprintf(dot->file, "\"];\n");
    if (giver != UINT32_MAX) {
        (void)fprintf(dot->file, "  n%u -> n%u;\n", drawn->first + 1 + giver,
                      dot->last_id);
    }
}

/* One plan in its frame; @starter is the node whose body it is, or 0. */
static void put_plan(struct dot *dot, struct cpti_doc_value plan,
                     struct cpt_bytes title, unsigned starter, unsigned depth)
{
    const unsigned first = ++dot->last_id;
    struct cpti_doc_member task;
    unsigned node = first;
    struct drawn drawn;

    if (!drawn_init(dot, &drawn, plan, first)) {
        return;
    }
    (void)fprintf(dot->file, "  subgraph cluster_%u {\n  label=\"", first);
    put_text(dot, title);
    (void)fprintf(dot->file, "\";\n");
    put_nodes(dot, &drawn);
    cpti_answer_each(task, drawn.tasks)
    {
        node++;
        put_arrows(dot, &drawn, cpti_doc_get(task.value, "needs"), node, "");
        put_arrows(dot, &drawn, cpti_doc_get(task.value, "wants"), node, "dotted");
        put_arrows(dot, &drawn, cpti_doc_get(task.value, "starts"), node, "dashed");
    }
    put_output(dot, &drawn, cpti_answer_string(plan, "output"));
    drawn_deinit(&drawn);
    (void)fprintf(dot->file, "  }\n");
    if (starter != 0) {
        (void)fprintf(dot->file, "  n%u -> n%u [style=bold, label=\"component\"];\n",
                      starter, dot->last_id);
    }
    put_components(dot, drawn.tasks, first, depth);
}

cpt_status cpti_plans_dot(struct cpti_plans *plans, FILE *file)
{
    struct dot dot = {.file = file};

    (void)fprintf(file, "digraph plans {\n  rankdir=LR;\n  node [shape=box];\n");
    for (size_t i = 0; i < plans->count; i++) {
        struct cpti_doc_value plan = plans->plans[i].plan;
        const struct cpt_bytes service = cpti_answer_string(plan, "service");
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
    plans->compared_count = dot.compared_count;
    return dot.status;
}
