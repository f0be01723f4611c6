/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_plans.c - plans as graphs: arrows from who gives, and work in step with the
 * plan */
#include "tool/live/plans.h"

#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In place of place_get.c: nothing is asked here. */
cpt_status cpti_place_get(const struct cpti_peer *place, const struct cpti_get *get,
                          char **body, size_t *bytes, struct cpt_error *error)
{
    (void)place;
    (void)get;
    (void)body;
    (void)bytes;
    return cpt_error_set(error, CPT_UNAVAILABLE, 0, "no service");
}

/* The graph of the plan in @text, to be freed; @compared: the work that it took. */
static char *draw(const char *text, uint64_t *compared)
{
    static struct cpti_plans plans;
    struct cpt_error error = {0};
    char *drawn = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&drawn, &bytes);

    memset(&plans, 0, sizeof plans);
    CU_ASSERT_EQUAL_FATAL(
        cpti_answer_read(&plans.answer, strdup(text), strlen(text), NULL, &error),
        CPT_OK);
    plans.plans[0].plan = plans.answer.root;
    plans.plans[0].method = cpt_bytes_of("");
    plans.count = 1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(cpti_plans_dot(&plans, file), CPT_OK);
    (void)fclose(file);
    *compared = plans.compared_count;
    cpti_answer_deinit(&plans.answer);
    return drawn;
}

/* The first task that gives a value is drawn as its source; what none gives is the
 * input. */
static void test_who_gives(void)
{
    static const char text[] =
        "{\"service\":\"S\",\"input\":{\"name\":\"in\"},\"output\":\"x\",\"tasks\":["
        "{\"name\":\"a\",\"gives\":{\"name\":\"x\",\"type\":\"int\"},\"needs\":[\"in\"]"
        "},"
        "{\"name\":\"b\",\"gives\":{\"name\":\"x\"},\"wants\":[\"x\"]},"
        "{\"name\":\"c\",\"starts\":[\"x\"],\"component\":{\"output\":\"y\",\"tasks\":["
        "{\"name\":\"d\",\"gives\":{\"name\":\"y\"}}]}},"
        "{\"needs\":[\"none\",\"\",7]}]}";
    static const char expected[] = "digraph plans {\n"
                                   "  rankdir=LR;\n"
                                   "  node [shape=box];\n"
                                   "  subgraph cluster_1 {\n"
                                   "  label=\"S\";\n"
                                   "  n1 [shape=ellipse, label=\"in\"];\n"
                                   "  n2 [label=\"a\"];\n"
                                   "  n3 [label=\"b\"];\n"
                                   "  n4 [label=\"c\"];\n"
                                   "  n5 [label=\"\"];\n"
                                   "  n1 -> n2 [label=\"in\"];\n"
                                   "  n2 -> n3 [label=\"x\\nint\", style=dotted];\n"
                                   "  n4 -> n2 [label=\"x\\nint\", style=dashed];\n"
                                   "  n1 -> n5 [label=\"in\"];\n"
                                   "  n4 -> n5 [label=\"in\"];\n"
                                   "  n4 -> n5 [label=\"in\"];\n"
                                   "  n6 [shape=ellipse, label=\"x\\nint\"];\n"
                                   "  n2 -> n6;\n"
                                   "  }\n"
                                   "  subgraph cluster_7 {\n"
                                   "  label=\"c\";\n"
                                   "  n8 [label=\"d\"];\n"
                                   "  n9 [shape=ellipse, label=\"y\"];\n"
                                   "  n8 -> n9;\n"
                                   "  }\n"
                                   "  n4 -> n9 [style=bold, label=\"component\"];\n"
                                   "}\n";
    uint64_t compared = 0;
    char *drawn = draw(text, &compared);

    CU_ASSERT_STRING_EQUAL(drawn, expected);
    if (strcmp(drawn, expected) != 0) {
        (void)printf("\n%s", drawn);
    }
    free(drawn);
}

/* A plan of @task_count tasks with @name_count names of values, in which each needs
 * what the last one gives. */
static char *hostile_plan(size_t task_count, size_t name_count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fprintf(file, "{\"output\":\"nothing\",\"tasks\":[");
    for (size_t i = 0; i < task_count; i++) {
        (void)fprintf(file,
                      "%s{\"gives\":{\"name\":\"value %zu\"},"
                      "\"needs\":[\"value %zu\",\"unknown %zu\"]}",
                      i > 0 ? "," : "", i % name_count, (task_count - 1) % name_count,
                      i);
    }
    (void)fprintf(file, "]}");
    (void)fclose(file);
    return text;
}

/* Names are compared a few times for each task and arrow, however many there are. */
static void test_work_is_linear(void)
{
    enum { TASKS = 20000, ARROWS = 2 * TASKS, PER_NAME = 8 };
    char *text = hostile_plan(TASKS, TASKS);
    uint64_t compared = 0;

    free(draw(text, &compared));
    CU_ASSERT_TRUE(compared > 0);
    CU_ASSERT_TRUE(compared < (uint64_t)PER_NAME * (TASKS + ARROWS));
    if (compared >= (uint64_t)PER_NAME * (TASKS + ARROWS)) {
        (void)printf("%" PRIu64 " compared\n", compared);
    }
    free(text);
    /* and if all have one name */
    text = hostile_plan(TASKS, 1);
    free(draw(text, &compared));
    CU_ASSERT_TRUE(compared < (uint64_t)PER_NAME * (TASKS + ARROWS));
    free(text);
}

extern CU_TestInfo cpt_plans_tests[];
CU_TestInfo cpt_plans_tests[] = {
    {"each arrow begins at the first task that gives the value", test_who_gives},
    {"a large plan of a stranger takes steps in its size", test_work_is_linear},
    CU_TEST_INFO_NULL,
};
