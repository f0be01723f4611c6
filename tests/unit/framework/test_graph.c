/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_graph.c - why a graph is refused; the error gives the name */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "framework/cpt_graph.h"
#include "framework/graph/plan.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

CPT_VALUE(in, int);
CPT_VALUE(x, int);
CPT_VALUE(y, int);
CPT_VALUE(z, int);

static cpt_status nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

/* The sentence that refuses @tasks with output z; "" if they are accepted. */
static const char *refusal(const struct cpt_task_def *tasks, size_t count)
{
    static struct cpt_error error;
    const struct cpt_graph graph = {"S", CPT_GIVES(in), CPT_GIVES(z), tasks, count};
    struct cpt_plan *plan = NULL;

    memset(&error, 0, sizeof error);
    plan = cpt_plan_new(&graph, NULL, &error);
    CU_ASSERT_EQUAL(plan == NULL, error.status != CPT_OK);
    cpt_plan_free(plan);
    return error.sentence;
}

#define REFUSED(tasks, expected)                                                       \
    CU_ASSERT_STRING_EQUAL(refusal((tasks), sizeof(tasks) / sizeof((tasks)[0])),       \
                           expected)

static void test_circle_is_named(void)
{
    const struct cpt_task_def tasks[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(y), {NULL}, NULL},
        {"b", nothing, CPT_GIVES(y), CPT_NEEDS(x), {NULL}, NULL},
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(x), {NULL}, NULL},
    };

    REFUSED(tasks, "tasks wait for each other in a circle: \"a\" -> \"b\" -> \"a\"");
}

static void test_circle_through_a_start_is_named(void)
{
    const struct cpt_task_def tasks[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in), CPT_STARTS(y), NULL},
        {"b", nothing, CPT_GIVES(y), CPT_NEEDS(x), {NULL}, NULL},
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(x), {NULL}, NULL},
    };

    REFUSED(tasks, "tasks wait for each other in a circle: \"a\" -> \"b\" -> \"a\"");
}

static void test_unknown_values_are_named(void)
{
    const struct cpt_task_def needs[] = {
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(x), {NULL}, NULL}};
    const struct cpt_task_def starts[] = {
        {"c", nothing, CPT_GIVES(z), {NULL}, CPT_STARTS(x), NULL}};
    const struct cpt_task_def output[] = {
        {"c", nothing, CPT_GIVES(x), {NULL}, {NULL}, NULL}};
    const struct cpt_task_def input[] = {
        {"c", nothing, CPT_GIVES(z), {NULL}, CPT_STARTS(in), NULL}};

    REFUSED(needs, "task \"c\" needs value \"x\", which no task gives");
    REFUSED(starts, "task \"c\" starts value \"x\", which no task gives");
    REFUSED(output, "no task gives the output \"z\"");
    REFUSED(input, "task \"c\" starts value \"in\", which the request brings");
}

static void test_useless_task_is_named(void)
{
    const struct cpt_task_def tasks[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in), {NULL}, NULL},
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(in), {NULL}, NULL},
    };

    REFUSED(tasks,
            "task \"a\" is of no use: nothing that leads to output \"z\" needs or "
            "starts what it gives");
}

static void test_values_are_given_once(void)
{
    const struct cpt_task_def twice[] = {
        {"a", nothing, CPT_GIVES(z), {NULL}, {NULL}, NULL},
        {"b", nothing, CPT_GIVES(z), {NULL}, {NULL}, NULL},
    };
    const struct cpt_task_def input[] = {
        {"a", nothing, CPT_GIVES(in), {NULL}, {NULL}, NULL},
    };
    const struct cpt_task_def both[] = {
        {"a", nothing, CPT_GIVES(x), {NULL}, {NULL}, NULL},
        {"b", nothing, CPT_GIVES(z), CPT_NEEDS(x), CPT_STARTS(x), NULL},
    };

    REFUSED(twice, "value \"z\" is given by task \"a\" and by task \"b\"");
    REFUSED(input, "value \"in\" is what a request brings, but task \"a\" gives it");
    REFUSED(both, "task \"b\" both needs and starts value \"x\"");
}

static void test_names_are_checked(void)
{
    static char long_name[300];
    const struct cpt_task_def same[] = {
        {"a", nothing, CPT_GIVES(x), {NULL}, {NULL}, NULL},
        {"a", nothing, CPT_GIVES(z), CPT_NEEDS(x), {NULL}, NULL},
    };
    const struct cpt_task_def none[] = {
        {"", nothing, CPT_GIVES(z), {NULL}, {NULL}, NULL}};
    const struct cpt_task_def no_function[] = {
        {"a", NULL, CPT_GIVES(z), {NULL}, {NULL}, NULL}};
    const struct cpt_task_def longer[] = {
        {long_name, nothing, CPT_GIVES(z), {NULL}, {NULL}, NULL}};
    const struct cpt_value other_z = {"x", 99};
    const struct cpt_task_def sizes[] = {
        {"a", nothing, CPT_GIVES(x), {NULL}, {NULL}, NULL},
        {"b", nothing, CPT_GIVES(z), {&other_z, NULL}, {NULL}, NULL},
    };

    memset(long_name, 'n', 253);
    REFUSED(same, "two tasks are called \"a\"");
    REFUSED(none, "task number 0 of graph \"S\" has no name");
    REFUSED(no_function, "task \"a\" has no function");
    REFUSED(sizes, "task \"b\" needs value \"x\" as 99 bytes, but it has 4");
    CU_ASSERT_PTR_NOT_NULL(strstr(refusal(longer, 1), "is longer than 252 bytes"));
    long_name[252] = '\0'; /* "S: " and 252 bytes are 255 */
    CU_ASSERT_STRING_EQUAL(refusal(longer, 1), "");
}

static void test_service_names_are_checked(void)
{
    const struct cpt_task_def tasks[] = {
        {"a", nothing, CPT_GIVES(z), {NULL}, {NULL}, NULL}};
    struct cpt_graph graph = {"S: T", NULL, CPT_GIVES(z), tasks, 1};
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    graph.service = "";
    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, NULL));
    graph.service = "S";
    graph.task_count = 0;
    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, NULL));
}

static void test_on_demand_tasks_and_their_inputs(void)
{
    const struct cpt_task_def tasks[] = {
        {"eager for demand", nothing, CPT_GIVES(x), CPT_NEEDS(in), {NULL}, NULL},
        {"on demand", nothing, CPT_GIVES(y), CPT_NEEDS(x), {NULL}, NULL},
        {"answer", nothing, CPT_GIVES(z), CPT_NEEDS(in), CPT_STARTS(y), NULL},
    };
    const struct cpt_graph graph = {"S", CPT_GIVES(in), CPT_GIVES(z), tasks, 3};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_TRUE(plan->tasks[0].is_eager);
    CU_ASSERT_FALSE(plan->tasks[1].is_eager);
    CU_ASSERT_TRUE(plan->steps[1].is_startable);
    CU_ASSERT_EQUAL(plan->tasks[1].missing_input_count, 2); /* x and its start */
    CU_ASSERT_TRUE(plan->tasks[2].is_eager);
    CU_ASSERT_EQUAL(plan->tasks[2].missing_input_count, 0);
    cpt_plan_free(plan);
}

/* A chain of as many tasks as a graph may have, and one more. */
static void test_task_limit(void)
{
    enum { TASKS = CPT_GRAPH_TASKS_MAX };
    struct cpt_value *values = calloc(TASKS, sizeof *values);
    char(*names)[8] = calloc(TASKS + 1, sizeof *names);
    struct cpt_task_def *tasks = calloc(TASKS + 1, sizeof *tasks);
    struct cpt_graph graph = {"S", NULL, NULL, tasks, TASKS};
    struct cpt_error error = {0};
    struct cpt_plan *plan = NULL;

    CU_ASSERT_FATAL(values != NULL && names != NULL && tasks != NULL);
    for (size_t i = 0; i < TASKS; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        values[i] = (struct cpt_value){names[i], 1};
        tasks[i] =
            (struct cpt_task_def){names[i], nothing, &values[i], {NULL}, {NULL}, NULL};
        tasks[i].needs[0] = i > 0 ? &values[i - 1] : NULL;
    }
    graph.output = &values[TASKS - 1];
    plan = cpt_plan_new(&graph, NULL, &error);
    CU_ASSERT_PTR_NOT_NULL(plan);
    cpt_plan_free(plan);
    graph.task_count = TASKS + 1;
    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
    free(values);
    free(names);
    free(tasks);
}

static bool plan_with(const struct cpt_alloc *alloc)
{
    static const struct cpt_group group = {"sub", NULL};
    const struct cpt_task_def tasks[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in), {NULL}, &group},
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(x), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"S", CPT_GIVES(in), CPT_GIVES(z), tasks, 2};
    struct cpt_plan *plan = cpt_plan_new(&graph, alloc, NULL);

    cpt_plan_free(plan);
    return plan != NULL;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(plan_with);
}

/* --- Optional inputs --- */

static void test_wants_are_checked(void)
{
    const struct cpt_task_def twice[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in)},
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(x), CPT_WANTS(x)},
    };
    const struct cpt_task_def unknown[] = {
        {"c", nothing, CPT_GIVES(z), CPT_WANTS(y)},
    };
    const struct cpt_task_def started[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in)},
        {"c", nothing, CPT_GIVES(z), CPT_WANTS(x), CPT_STARTS(x)},
    };
    const struct cpt_task_def circle[] = {
        {"a", nothing, CPT_GIVES(x), CPT_WANTS(z)},
        {"c", nothing, CPT_GIVES(z), CPT_WANTS(x)},
    };

    REFUSED(twice, "task \"c\" wants or needs value \"x\" twice");
    REFUSED(unknown, "task \"c\" wants or needs value \"y\", which no task gives");
    REFUSED(started, "task \"c\" both wants and starts value \"x\"");
    REFUSED(circle, "tasks wait for each other in a circle: \"a\" -> \"c\" -> \"a\"");
}

/* --- Components --- */

CPT_VALUE(other, long);

static const struct cpt_graph recursive;
static const struct cpt_task_def inner_tasks[] = {
    {"inner", NULL, CPT_GIVES(z), CPT_NEEDS(in), .component = &recursive}};
static const struct cpt_graph inner_graph = {NULL, CPT_GIVES(in), CPT_GIVES(z),
                                             inner_tasks, 1};
static const struct cpt_task_def recursive_tasks[] = {
    {"outer", NULL, CPT_GIVES(z), CPT_NEEDS(in), .component = &inner_graph}};
static const struct cpt_graph recursive = {"S", CPT_GIVES(in), CPT_GIVES(z),
                                           recursive_tasks, 1};

static void test_components_are_checked(void)
{
    const struct cpt_task_def leaf_tasks[] = {
        {"leaf", nothing, CPT_GIVES(z), CPT_NEEDS(in)}};
    const struct cpt_graph leaf = {NULL, CPT_GIVES(in), CPT_GIVES(z), leaf_tasks, 1};
    const struct cpt_graph broken = {NULL, CPT_GIVES(in), CPT_GIVES(y), leaf_tasks, 1};
    const struct cpt_task_def both[] = {
        {"c", nothing, CPT_GIVES(z), CPT_NEEDS(in), .component = &leaf}};
    const struct cpt_task_def neither[] = {{"c", NULL, CPT_GIVES(z), CPT_NEEDS(in)}};
    const struct cpt_task_def wide[] = {
        {"a", nothing, CPT_GIVES(other), CPT_NEEDS(in)},
        {"c", NULL, CPT_GIVES(z), CPT_NEEDS(other), .component = &leaf}};
    const struct cpt_task_def many[] = {
        {"a", nothing, CPT_GIVES(x), CPT_NEEDS(in)},
        {"c", NULL, CPT_GIVES(z), CPT_NEEDS(in, x), .component = &leaf}};
    const struct cpt_task_def within[] = {
        {"c", NULL, CPT_GIVES(z), CPT_NEEDS(in), .component = &broken}};
    const struct cpt_task_def good[] = {
        {"a", NULL, CPT_GIVES(x), CPT_NEEDS(in), .component = &leaf},
        {"c", NULL, CPT_GIVES(z), CPT_NEEDS(x), .component = &leaf}};

    REFUSED(both, "task \"c\" has a function and a component");
    REFUSED(neither, "task \"c\" has no function");
    REFUSED(wide, "task \"c\" takes other of type \"long\", but its component takes in "
                  "of type \"int\"");
    REFUSED(many, "task \"c\" has a component: it needs one value or none, wants and "
                  "starts nothing");
    REFUSED(within, "component \"c\": no task gives the output \"y\"");
    REFUSED(good, "");
}

static void test_component_circle_is_named(void)
{
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_plan_new(&recursive, NULL, &error));
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "component \"outer\": components contain each other in a "
                           "circle: \"outer\" -> \"inner\" -> \"outer\"");
}

/* @depth nested graphs below the outermost. */
static cpt_status nest(unsigned depth)
{
    static struct cpt_task_def tasks[CPT_NESTING_MAX + 2];
    static struct cpt_graph graphs[CPT_NESTING_MAX + 2];
    struct cpt_error error = {0};
    struct cpt_plan *plan = NULL;

    for (unsigned i = 0; i <= depth; i++) {
        tasks[i] = (struct cpt_task_def){"t", i == 0 ? nothing : NULL, CPT_GIVES(z),
                                         CPT_NEEDS(in),
                                         .component = i == 0 ? NULL : &graphs[i - 1]};
        graphs[i] = (struct cpt_graph){"S", CPT_GIVES(in), CPT_GIVES(z), &tasks[i], 1};
    }
    plan = cpt_plan_new(&graphs[depth], NULL, &error);
    cpt_plan_free(plan);
    return error.status;
}

static void test_components_nest_so_deep(void)
{
    CU_ASSERT_EQUAL(nest(CPT_NESTING_MAX - 1), CPT_OK);
    CU_ASSERT_EQUAL(nest(CPT_NESTING_MAX), CPT_OK);
    CU_ASSERT_EQUAL(nest(CPT_NESTING_MAX + 1), CPT_LIMIT);
}

CU_TestInfo cpt_graph_tests[] = {
    {"the error names a cycle", test_circle_is_named},
    {"the error names a cycle through a start", test_circle_through_a_start_is_named},
    {"the error names an unknown value", test_unknown_values_are_named},
    {"the error names a useless task", test_useless_task_is_named},
    {"a value has one producer", test_values_are_given_once},
    {"names are checked", test_names_are_checked},
    {"service names are checked", test_service_names_are_checked},
    {"on-demand tasks and their inputs", test_on_demand_tasks_and_their_inputs},
    {"the limit of tasks", test_task_limit},
    {"allocation failures", test_allocation_failures},
    {"wants are checked", test_wants_are_checked},
    {"components are checked", test_components_are_checked},
    {"the error names a cycle of components", test_component_circle_is_named},
    {"the limit of nested components", test_components_nest_so_deep},
    CU_TEST_INFO_NULL,
};
