/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_refuse.c - requests that a task refuses before the one that answers: what their
 * client reads, and that the service has not failed */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_notice.h"

#include <stdbool.h>
#include <string.h>

CPT_VALUE(user, int);
CPT_VALUE(ads, int);

static unsigned notice_count;
static unsigned refuse_with; /* enum cpt_outcome */
static const char *refuse_text;

static void note(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)notice;
    notice_count++;
}

static cpt_status find_user(struct cpt_task *task)
{
    now.now_ns += 2 * (uint64_t)MS;
    if (refuse_with == CPT_OUTCOME_NONE) { /* the status alone */
        return CPT_REFUSED;
    }
    return cpt_refuse(task, refuse_with, "%s", refuse_text);
}

static cpt_status ads_are_there(struct cpt_task *task)
{
    *cpt_output(task, ads) = 1;
    return CPT_OK;
}

static cpt_status ask_for_ads(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "ads", 1000 * (uint64_t)MS), ads_are_there);
}

static cpt_status show(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("the page\n");
    return CPT_OK;
}

static const struct cpt_task_def finder_tasks[] = {
    {"find", find_user, CPT_GIVES(user), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph finder = {"S", CPT_GIVES(rpc_request), CPT_GIVES(user),
                                        finder_tasks, 1};

static const struct cpt_task_def flat_tasks[] = {
    {"find", find_user, CPT_GIVES(user), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"ads", ask_for_ads, CPT_GIVES(ads), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"show", show, CPT_GIVES(rpc_reply), CPT_NEEDS(user, ads), {NULL}, NULL}};

static const struct cpt_task_def nested_tasks[] = {
    {.name = "find",
     .gives = CPT_GIVES(user),
     CPT_NEEDS(rpc_request),
     .component = &finder},
    {"ads", ask_for_ads, CPT_GIVES(ads), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"show", show, CPT_GIVES(rpc_reply), CPT_NEEDS(user, ads), {NULL}, NULL}};

static struct cpt_plan *user_plan;

/* One request for the three tasks, of which the first refuses it; then close_refused().
 */
static void refuse(const struct cpt_task_def *tasks, bool is_traced)
{
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 3};
    struct cpt_service_options options = is_traced ? always : never;
    struct cpt_inbound inbound = inbound_with(NULL);

    user_plan = cpt_plan_new(&graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(user_plan);
    notice_count = 0;
    options.notify = note;
    open_pair(options, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/user", user_plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/user");
    ask(pair.a, &inbound);
}

static void close_refused(void)
{
    close_pair();
    cpt_plan_free(user_plan);
}

static void check_record(const char *status, bool is_failed, const char *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record;
    struct cpt_log_reader *reader = read_record(0, &record);

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT(cpt_bytes_equal(record.status, cpt_bytes_of(status)));
    CU_ASSERT_EQUAL(record.is_failed, is_failed);
    CU_ASSERT_EQUAL(cpt_record_attribute(&record, cpt_bytes_of(CPT_ATTRIBUTE_WHY)) !=
                        NULL,
                    is_failed);
    CU_ASSERT_EQUAL(record.latency_ns, 2 * MS);
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), expected);
    cpt_path_free(path);
    cpt_log_reader_free(reader);
}

/* The client reads the sentence at once, and the operator is not told of a failure. */
static void test_mistakes_of_clients(void)
{
    for (int is_traced = 0; is_traced < 2; is_traced++) {
        refuse_with = CPT_OUTCOME_NOT_FOUND;
        refuse_text = "no user \"x\"";
        refuse(flat_tasks, is_traced);
        CU_ASSERT_EQUAL(answer.http_status, 404);
        CU_ASSERT_EQUAL(answer.outcome, CPT_OUTCOME_NOT_FOUND);
        CU_ASSERT_STRING_EQUAL(answer.body, "no user \"x\"\n");
        CU_ASSERT_EQUAL(notice_count, 0);
        CU_ASSERT_EQUAL(counter(pair.a, "failures", "task"), 0);
        if (is_traced) {
            check_record("404", false, "A: /user;A: find 2");
        }
        close_refused();
    }
}

static void test_within_a_component(void)
{
    refuse_with = CPT_OUTCOME_UNAUTHENTICATED;
    refuse_text = "who are you?";
    refuse(nested_tasks, true);
    CU_ASSERT_EQUAL(answer.http_status, 401);
    CU_ASSERT_STRING_EQUAL(answer.body, "who are you?\n");
    CU_ASSERT_EQUAL(notice_count, 0);
    check_record("401", false, "A: /user;A: find;A: find 2");
    close_refused();
}

/* A refusal may also say that the service has failed. */
static void test_failures(void)
{
    refuse_with = CPT_OUTCOME_UNAVAILABLE;
    refuse_text = "";
    refuse(flat_tasks, true);
    CU_ASSERT_EQUAL(answer.http_status, 502);
    CU_ASSERT_STRING_EQUAL(answer.body, "the request was refused\n");
    CU_ASSERT_EQUAL(notice_count, 1);
    CU_ASSERT_EQUAL(counter(pair.a, "failures", "task"), 1);
    check_record("502", true, "A: /user;A: find 2");
    close_refused();
}

/* What is no outcome of a refusal, and the status without a refusal. */
static void test_mistakes_of_the_program(void)
{
    static const unsigned none[] = {CPT_OUTCOME_OK, 18, 4711};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        refuse_with = none[i];
        refuse_text = "%s%n";
        refuse(flat_tasks, false);
        CU_ASSERT_EQUAL(answer.http_status, 500);
        CU_ASSERT_STRING_EQUAL(answer.body, "%s%n\n");
        CU_ASSERT_EQUAL(notice_count, 1);
        close_refused();
    }
    refuse_with = CPT_OUTCOME_NONE;
    refuse(flat_tasks, false);
    CU_ASSERT_EQUAL(answer.http_status, 500);
    CU_ASSERT_STRING_EQUAL(answer.body, "the request failed\n");
    CU_ASSERT_EQUAL(notice_count, 1);
    close_refused();
}

CU_TestInfo cpt_refuse_tests[] = {
    {"the client of a refused request reads why", test_mistakes_of_clients},
    {"a component refuses the whole request", test_within_a_component},
    {"a refusal may be a failure of the service", test_failures},
    {"an outcome that is none is UNKNOWN", test_mistakes_of_the_program},
    CU_TEST_INFO_NULL,
};
