/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_values.c - values that own something, rows with a context, many inputs */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

#include <stdio.h>
#include <string.h>

static struct virtual_time now;
static char freed[256]; /* what was freed, in order: "text 1, page 2, " */

struct owner {
    int number; /* 0: owns nothing */
};

static void note_freed(const char *what, const struct owner *owner)
{
    const size_t used = strlen(freed);

    (void)snprintf(freed + used, sizeof freed - used, "%s %d, ", what, owner->number);
}

static void free_text(struct owner *owner)
{
    note_freed("text", owner);
}

static void free_page(struct owner *owner)
{
    note_freed("page", owner);
}

CPT_VALUE(query, int);
CPT_VALUE(answer, int);
CPT_VALUE_CLEANED(text, struct owner, free_text);
CPT_VALUE_CLEANED(page, struct owner, free_page);

static struct outcome run(const struct cpt_task_def *tasks, size_t count)
{
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(answer), tasks,
                                    count};

    freed[0] = '\0';
    return run_one(&now, &graph, 1);
}

/* --- Values that own something --- */

static cpt_status make_text(struct cpt_task *task)
{
    cpt_output(task, text)->number = 3;
    return CPT_OK;
}

static cpt_status make_nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static cpt_status make_page_and_fail(struct cpt_task *task)
{
    cpt_output(task, page)->number = 4;
    return cpt_fail(task, CPT_IO, "no page");
}

static cpt_status answer_with_text(struct cpt_task *task)
{
    CU_ASSERT_STRING_EQUAL(freed, ""); /* not before the request is gone */
    *cpt_output(task, answer) = cpt_input(task, text)->number;
    return CPT_OK;
}

static void test_freed_with_the_request(void)
{
    const struct cpt_task_def tasks[] = {
        {"text", make_text, CPT_GIVES(text), CPT_NEEDS(query)},
        {"answer", answer_with_text, CPT_GIVES(answer), CPT_NEEDS(text)}};

    CU_ASSERT_EQUAL(run(tasks, 2).output, 3);
    CU_ASSERT_STRING_EQUAL(freed, "text 3, ");
    CU_ASSERT_EQUAL(run(tasks, 2).output, 3); /* in memory that is used again */
    CU_ASSERT_STRING_EQUAL(freed, "text 3, ");
}

static void note_end(void *number)
{
    note_freed("end", number);
}

static cpt_status make_ends(struct cpt_task *task)
{
    static struct owner owners[] = {{1}, {2}};

    CU_ASSERT_EQUAL(cpt_task_at_end(task, note_end, &owners[0]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_task_at_end(task, note_end, &owners[1]), CPT_OK);
    CU_ASSERT_STRING_EQUAL(freed, "");
    return CPT_OK;
}

static cpt_status make_ends_and_fail(struct cpt_task *task)
{
    (void)make_ends(task);
    return CPT_IO;
}

static void test_at_end(void)
{
    struct cpt_task_def tasks[] = {
        {"answer", make_ends, CPT_GIVES(answer), CPT_NEEDS(query)}};

    CU_ASSERT_EQUAL(run(tasks, 1).status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(freed, "end 2, end 1, ");
    tasks[0].run = make_ends_and_fail;
    CU_ASSERT_EQUAL(run(tasks, 1).status, CPT_IO);
    CU_ASSERT_STRING_EQUAL(freed, "end 2, end 1, ");
}

static void test_nothing_to_free(void)
{
    const struct cpt_task_def tasks[] = {
        {"text", make_nothing, CPT_GIVES(text), CPT_NEEDS(query)},
        {"answer", answer_with_text, CPT_GIVES(answer), CPT_NEEDS(text)}};

    CU_ASSERT_EQUAL(run(tasks, 2).status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(freed, "");
}

/* Also what a task has made before it failed; a task that never ran made nothing. */
static void test_freed_after_a_failure(void)
{
    const struct cpt_task_def tasks[] = {
        {"page", make_page_and_fail, CPT_GIVES(page), CPT_NEEDS(query)},
        {"text", make_text, CPT_GIVES(text), CPT_NEEDS(page)},
        {"answer", answer_with_text, CPT_GIVES(answer), CPT_NEEDS(text)}};

    CU_ASSERT_EQUAL(run(tasks, 3).status, CPT_IO);
    CU_ASSERT_STRING_EQUAL(freed, "page 4, ");
}

/* The output of a component becomes that of its task: it is freed once, by the name
 * that it has there; where that owns nothing, by its own. */
static void test_freed_once_by_a_component(void)
{
    const struct cpt_task_def inner_tasks[] = {
        {"text", make_text, CPT_GIVES(text), CPT_NEEDS(query)}};
    const struct cpt_graph inner = {NULL, CPT_GIVES(query), CPT_GIVES(text),
                                    inner_tasks, 1};
    static const struct cpt_value plain_text = {"text", sizeof(struct owner)};
    struct cpt_task_def tasks[] = {
        {"text", NULL, CPT_GIVES(text), CPT_NEEDS(query), .component = &inner},
        {"answer", answer_with_text, CPT_GIVES(answer), CPT_NEEDS(text)}};

    CU_ASSERT_EQUAL(run(tasks, 2).output, 3);
    CU_ASSERT_STRING_EQUAL(freed, "text 3, ");
    tasks[0].gives = &plain_text;
    CU_ASSERT_EQUAL(run(tasks, 2).output, 3);
    CU_ASSERT_STRING_EQUAL(freed, "text 3, ");
}

static bool each_allocation(const struct cpt_alloc *alloc)
{
    const struct cpt_task_def tasks[] = {
        {"text", make_text, CPT_GIVES(text), CPT_NEEDS(query)},
        {"answer", answer_with_text, CPT_GIVES(answer), CPT_NEEDS(text)}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(answer), tasks, 2};
    struct outcome outcome;

    freed[0] = '\0';
    outcome = run_one_within(&now, &graph, 0, alloc, 0);
    CU_ASSERT_STRING_EQUAL(freed, outcome.output == 3 ? "text 3, " : "");
    return outcome.status == CPT_OK && outcome.output == 3;
}

/* --- Rows with a context --- */

static cpt_status answer_with_context(struct cpt_task *task)
{
    *cpt_output(task, answer) = *(const int *)cpt_task_context(task);
    return CPT_OK;
}

static void test_context(void)
{
    static int seven = 7;
    const struct cpt_task_def tasks[] = {{"answer", answer_with_context,
                                          CPT_GIVES(answer), CPT_NEEDS(query),
                                          .context = &seven}};

    CU_ASSERT_EQUAL(run(tasks, 1).output, 7);
}

/* --- More inputs than a list has room for --- */

enum { GIVERS_MAX = CPT_TASK_NEEDS_MAX + 1 };

static char names[GIVERS_MAX][16];
static struct cpt_value values[GIVERS_MAX];
static struct cpt_task_def givers[GIVERS_MAX + 1];
static const struct cpt_value *more[GIVERS_MAX + 1];

static cpt_status give_one(struct cpt_task *task)
{
    const int *index = cpt_task_context(task);

    *(int *)cpt_task_output(task, &values[*index]) = 1;
    return CPT_OK;
}

static cpt_status add_all(struct cpt_task *task)
{
    const int count = *(const int *)cpt_task_context(task);
    int sum = 0;

    for (int i = 0; i < count; i++) {
        const int *one = cpt_task_input(task, &values[i]);

        sum += one != NULL ? *one : 0;
    }
    *cpt_output(task, answer) = sum;
    return CPT_OK;
}

/* A task with @count inputs, the first two in its own list, and one that it wants. */
static struct outcome run_fan_in(int count)
{
    static int indices[GIVERS_MAX];

    for (int i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "v%d", i);
        indices[i] = i;
        values[i] = (struct cpt_value){names[i], sizeof(int)};
        givers[i] = (struct cpt_task_def){.name = names[i],
                                          .run = give_one,
                                          .gives = &values[i],
                                          .context = &indices[i]};
        more[i] = i < 2 ? NULL : &values[i];
    }
    more[count] = NULL;
    givers[count] = (struct cpt_task_def){.name = "add",
                                          .run = add_all,
                                          .gives = CPT_GIVES(answer),
                                          .needs = {&values[0], &values[1]},
                                          .wants = {&cpt_value_query},
                                          .context = &count,
                                          .needs_more = &more[2]};
    return run(givers, (size_t)count + 1);
}

static void test_fan_in(void)
{
    static const int counts[] = {3, 16, 17, 33, 1000, CPT_TASK_NEEDS_MAX};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const struct outcome outcome = run_fan_in(counts[i]);

        CU_ASSERT_EQUAL(outcome.status, CPT_OK);
        CU_ASSERT_EQUAL(outcome.output, counts[i]);
    }
}

static void test_fan_in_is_checked(void)
{
    struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(answer), givers, 4};
    struct cpt_error error = {.status = CPT_OK};

    (void)run_fan_in(3);
    more[2] = &values[0]; /* is among the needs already */
    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, &error));
    CU_ASSERT_STRING_EQUAL(error.sentence, "task \"add\" needs value \"v0\" twice");
    for (int i = 0; i < GIVERS_MAX; i++) {
        more[i] = &values[2];
    }
    more[GIVERS_MAX] = NULL;
    error = (struct cpt_error){.status = CPT_OK};
    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
}

static void test_each_allocation(void)
{
    each_allocation_failure(each_allocation);
}

CU_TestInfo cpt_values_tests[] = {
    {"called at the end of the request", test_at_end},
    {"are freed with their request", test_freed_with_the_request},
    {"that are all zeros are not", test_nothing_to_free},
    {"are freed if the request fails", test_freed_after_a_failure},
    {"of a component are freed once", test_freed_once_by_a_component},
    {"are freed without memory", test_each_allocation},
    {"a row has a context", test_context},
    {"a task needs many", test_fan_in},
    {"many are checked like few", test_fan_in_is_checked},
    CU_TEST_INFO_NULL,
};
