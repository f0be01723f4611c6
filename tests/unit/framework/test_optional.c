/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_optional.c - optional inputs */
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_graph.h"

#include <string.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(parsed, int);
CPT_VALUE(index, int);
CPT_VALUE(ads, int);
CPT_VALUE_OR(banner, int, 77);
CPT_VALUE(page, int);

static cpt_status parse(struct cpt_task *task)
{
    spend(2);
    *cpt_output(task, parsed) = *cpt_input(task, query);
    return CPT_OK;
}

static cpt_status find_index(struct cpt_task *task)
{
    spend(5);
    *cpt_output(task, index) = 10;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, ads) = 5;
    return CPT_OK;
}

static cpt_status fail_ads(struct cpt_task *task)
{
    spend(3);
    return cpt_fail(task, CPT_IO, "no ads");
}

static int banner_count;

static cpt_status make_banner(struct cpt_task *task)
{
    banner_count++;
    spend(1);
    *cpt_output(task, banner) = *cpt_input(task, ads) + 1;
    return CPT_OK;
}

static cpt_status render_with_ads(struct cpt_task *task)
{
    const int *ads = cpt_input(task, ads);

    spend(4);
    CU_ASSERT_EQUAL(cpt_input_status(task, index), CPT_OK);
    CU_ASSERT_EQUAL(cpt_input_status(task, query), CPT_INVALID); /* not declared */
    CU_ASSERT_EQUAL(cpt_input_status(task, ads), ads != NULL ? CPT_OK : CPT_IO);
    *cpt_output(task, page) = *cpt_input(task, index) + (ads != NULL ? *ads : 0);
    return CPT_OK;
}

static cpt_status render_with_banner(struct cpt_task *task)
{
    spend(4);
    *cpt_output(task, page) = *cpt_input(task, banner); /* or its default */
    return cpt_input_status(task, banner) == CPT_OK ||
                   cpt_input_status(task, banner) == CPT_IO
               ? CPT_OK
               : CPT_FAILED;
}

static struct outcome run(const struct cpt_task_def *tasks, size_t count)
{
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks,
                                    count};

    banner_count = 0;
    return run_one(&now, &graph, 1);
}

#define PARSE                                                                          \
    {                                                                                  \
        "parse", parse, CPT_GIVES(parsed), CPT_NEEDS(query)                            \
    }
#define INDEX                                                                          \
    {                                                                                  \
        "index", find_index, CPT_GIVES(index), CPT_NEEDS(parsed)                       \
    }

static void test_what_is_there_is_used(void)
{
    const struct cpt_task_def tasks[] = {
        PARSE,
        INDEX,
        {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(parsed)},
        {"render", render_with_ads, CPT_GIVES(page), CPT_NEEDS(index), CPT_WANTS(ads)},
    };
    const struct outcome outcome = run(tasks, 4);

    CU_ASSERT_EQUAL(outcome.output, 15);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: parse 2, S: /;S: ads;S: ‹queue› 5, S: /;S: ads 3, "
                           "S: /;S: render 4");
}

/* It came last, as an error: it delayed the request. */
static void test_failure_arrives_as_an_error(void)
{
    const struct cpt_task_def tasks[] = {
        PARSE,
        INDEX,
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed)},
        {"render", render_with_ads, CPT_GIVES(page), CPT_NEEDS(index), CPT_WANTS(ads)},
    };
    const struct outcome outcome = run(tasks, 4);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 10);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: parse 2, S: /;S: ads;S: ‹queue› 5, S: /;S: ads 3, "
                           "S: /;S: render 4");
}

static void test_failure_that_came_first_is_not_on_the_path(void)
{
    const struct cpt_task_def tasks[] = {
        PARSE,
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed)},
        INDEX,
        {"render", render_with_ads, CPT_GIVES(page), CPT_NEEDS(index), CPT_WANTS(ads)},
    };

    CU_ASSERT_STRING_EQUAL(
        run(tasks, 4).path,
        "S: /;S: parse 2, S: /;S: index;S: ‹queue› 3, S: /;S: index 5, "
        "S: /;S: render 4");
}

/* banner never runs; the task waits for the failed one, and the default replaces it. */
static void test_what_the_failed_one_was_for(void)
{
    const struct cpt_task_def tasks[] = {
        PARSE,
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed)},
        {"banner", make_banner, CPT_GIVES(banner), CPT_NEEDS(ads)},
        {"render", render_with_banner, CPT_GIVES(page), CPT_WANTS(banner)},
    };
    const struct outcome outcome = run(tasks, 4);

    CU_ASSERT_EQUAL(outcome.output, 77);
    CU_ASSERT_EQUAL(banner_count, 0);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: parse 2, S: /;S: ads 3, S: /;S: render 4");
}

/* A task that needs what another only wants makes it required. */
static void test_needed_by_another(void)
{
    const struct cpt_task_def tasks[] = {
        PARSE,
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed)},
        {"banner", make_banner, CPT_GIVES(banner), CPT_NEEDS(parsed), CPT_WANTS(ads)},
        {"render", render_with_banner, CPT_GIVES(page), CPT_NEEDS(ads, banner)},
    };
    const struct outcome outcome = run(tasks, 4);

    CU_ASSERT_EQUAL(outcome.status, CPT_IO);
    CU_ASSERT_STRING_EQUAL(outcome.sentence, "task 'S: ads': no ads");
}

static cpt_status render_with_neither(struct cpt_task *task)
{
    CU_ASSERT_PTR_NULL(cpt_input(task, ads));
    CU_ASSERT_EQUAL(*cpt_input(task, banner), 77);
    CU_ASSERT_EQUAL(*cpt_input(task, query),
                    1); /* the inputs of the request are there */
    *cpt_output(task, page) = 3;
    return CPT_OK;
}

static cpt_status fail_banner(struct cpt_task *task)
{
    spend(2);
    (void)task;
    return CPT_TIMEOUT;
}

static void test_none_is_there(void)
{
    const struct cpt_task_def tasks[] = {
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS_NOTHING},
        {"banner", fail_banner, CPT_GIVES(banner), CPT_NEEDS_NOTHING},
        {"render", render_with_neither, CPT_GIVES(page), CPT_WANTS(ads, banner, query)},
    };
    const struct outcome outcome = run(tasks, 3);

    CU_ASSERT_EQUAL(outcome.output, 3);
    CU_ASSERT_EQUAL(outcome.latency_ns, 5 * MS);
}

/* --- The same for started tasks: C needs D, which fails; A waits for C --- */

CPT_VALUE(c_value, int);
CPT_VALUE(d_value, int);

static cpt_status see_none(struct cpt_task *task)
{
    spend(1);
    CU_ASSERT_PTR_NULL(cpt_input(task, c_value));
    CU_ASSERT_EQUAL(cpt_input_status(task, c_value), CPT_IO);
    *cpt_output(task, page) = 4;
    return CPT_OK;
}

static cpt_status start_c(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_input_status(task, c_value), CPT_WAITING);
    return cpt_await(task, cpt_start(task, c_value), see_none);
}

static cpt_status never_run(struct cpt_task *task)
{
    (void)task;
    CU_FAIL("it ran");
    return CPT_OK;
}

static void test_wait_for_what_never_runs(void)
{
    const struct cpt_task_def tasks[] = {
        {"A", start_c, CPT_GIVES(page), CPT_NEEDS(query), CPT_STARTS(c_value)},
        {"C", never_run, CPT_GIVES(c_value), CPT_NEEDS(d_value)},
        {"D", fail_ads, CPT_GIVES(d_value), CPT_NEEDS(query)},
    };
    const struct outcome outcome = run(tasks, 3);

    CU_ASSERT_EQUAL(outcome.output, 4);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: D 3, S: /;S: A 1");
}

CU_TestInfo cpt_optional_tests[] = {
    {"a present input is used", test_what_is_there_is_used},
    {"a failure arrives as an error", test_failure_arrives_as_an_error},
    {"an early failure does not delay",
     test_failure_that_came_first_is_not_on_the_path},
    {"the default of a task that never ran", test_what_the_failed_one_was_for},
    {"an input that another needs is required", test_needed_by_another},
    {"no optional input is there", test_none_is_there},
    {"a wait for a task that never runs", test_wait_for_what_never_runs},
    CU_TEST_INFO_NULL,
};
