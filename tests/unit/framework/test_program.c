/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_program.c - the recipe of docs/framework.md for what a program makes itself */
#include "tests/support/suites.h"

#include "framework/cpt_mutex.h"
#include "framework/cpt_service_main.h"

#include <string.h>

CPT_VALUE(title, int);

static cpt_status answer(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph title_graph = CPT_GRAPH("front", title, rpc_reply, tasks);

#include <recipe_what_a_program_makes_before_it_serves.inc>

static void test_what_a_program_makes(void)
{
    const struct cpt_main_options *options = own_options();
    struct cpt_error error = {.status = CPT_OK};

    CU_ASSERT_EQUAL(options->begin(NULL, NULL, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_mutex_trylock(cart), 1);
    cpt_mutex_unlock(cart);
    options->end(NULL);
    CU_ASSERT_PTR_EQUAL(options->pools[0].pool, &database);
    CU_ASSERT_PTR_EQUAL(options->shares[0].shared, &titles);
    CU_ASSERT_PTR_EQUAL(options->flags[0].value, &slow_ms);
    CU_ASSERT_STRING_EQUAL(options->methods[0].method, "PUT /cart/{id}");
    CU_ASSERT_EQUAL(options->methods[0].task_count, 1);
    CU_ASSERT_PTR_NULL(options->methods[1].method);
}

CU_TestInfo cpt_program_tests[] = {
    {"what a program makes before it serves", test_what_a_program_makes},
    CU_TEST_INFO_NULL,
};
