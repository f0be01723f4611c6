/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_critical_model.c - the walk against a model, on random traces */
#include "tests/support/model_critical.h"
#include "tests/support/suites.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 120000 };

/* What a case checks besides the sum. */
enum judge { JUDGE_EXACTLY, JUDGE_LENGTH };

static struct random_trace made;
static struct model_line expected;
static struct model_line got;
static unsigned opened_counts[RANDOM_CALLS_MAX]; /* of this walk */

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    const struct random_call *extra = call->reply;

    (void)context;
    opened_counts[call - made.calls]++;
    model_callee_path(&extra->callee, callee);
    if (extra->has_late_elapsed) {
        call->has_server_elapsed = 1;
        call->server_elapsed_ns = extra->late_elapsed_ns;
    }
    return extra->has_path ? CPT_OK : CPT_CORRUPT;
}

static int lines_are_equal(void)
{
    for (size_t i = 0; i < expected.count; i++) {
        if (expected.owners[i].reason != got.owners[i].reason ||
            (expected.owners[i].stack != got.owners[i].stack &&
             strcmp(expected.owners[i].stack, got.owners[i].stack) != 0)) {
            printf("\n  ns %zu: got %s, expected %s\n", i, got.owners[i].stack,
                   expected.owners[i].stack);
            return 0;
        }
    }
    return 1;
}

static int is_any_opened_twice(void)
{
    for (size_t i = 0; i < RANDOM_CALLS_MAX; i++) {
        if (opened_counts[i] > 1) {
            return 1;
        }
    }
    return 0;
}

/* One walk of `made`. 0: it failed the judge. */
static int walk_is_right(struct cpt_path *path, unsigned attribution, enum judge judge,
                         int is_whole)
{
    const uint64_t latency_ns = made.trace.response_ns - made.trace.arrival_ns;
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    made.trace.attribution = attribution;
    made.trace.open_callee = open_callee;
    if (judge == JUDGE_EXACTLY) {
        model_critical_path(&made, &expected); /* first: the walk may open callees */
    }
    cpt_path_reset(path);
    memset(opened_counts, 0, sizeof opened_counts);
    status = cpt_critical_path(NULL, &made.trace, path, &error);
    if (judge == JUDGE_LENGTH && status == CPT_CORRUPT) {
        return cpt_path_segment_count(path) == 0 && error.status == CPT_CORRUPT;
    }
    if (status != CPT_OK || cpt_path_check(path, latency_ns, &error) != CPT_OK) {
        printf("\n  %s\n", error.sentence);
        return 0;
    }
    if (judge == JUDGE_LENGTH) {
        return 1;
    }
    if (is_any_opened_twice()) {
        printf("\n  a callee was opened twice\n");
        return 0;
    }
    if (!model_line_of(path, latency_ns, &got)) {
        return 0;
    }
    model_line_settle(&expected);
    model_line_settle(&got);
    return lines_are_equal() && (!is_whole || attribution != CPT_ATTRIBUTE_LONGEST ||
                                 model_is_chain(&made, &got));
}

/* What a case does to the trace before it is walked. */
typedef void (*harm_fn)(struct random_trace *made, struct test_random *random);

static void run_cases(const char *what, uint64_t count, harm_fn harm, enum judge judge)
{
    const uint64_t seed = test_random_seed(what);
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(count) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        while (!random_trace_make(&made, &random)) {
        }
        if (harm != NULL) {
            harm(&made, &random);
            made.trace.dispatch_ns =
                test_random_chance(&random, 10)
                    ? made.trace.arrival_ns + test_random_below(&random, 20)
                    : 0;
        }
        made.trace.overcount = test_random_chance(&random, 20) ? CPT_OVERCOUNT_CLIP : 0;
        if (!walk_is_right(path, CPT_ATTRIBUTE_BLOCKED, judge, harm == NULL) ||
            !walk_is_right(path, CPT_ATTRIBUTE_LONGEST, judge, harm == NULL)) {
            printf("\n  %s: again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   what, seed + i);
            random_trace_print(&made);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
    cpt_path_free(path);
}

static void test_is_the_models_path(void)
{
    run_cases("walk", CASES, NULL, JUDGE_EXACTLY);
}

static void test_lost_records(void)
{
    run_cases("walk, lost records", CASES / 6, random_trace_lose, JUDGE_EXACTLY);
}

static void test_early_stamps(void)
{
    run_cases("walk, early stamps", CASES / 6, random_trace_skew, JUDGE_EXACTLY);
}

static void test_nonsense(void)
{
    run_cases("walk, nonsense", CASES / 6, random_trace_spoil, JUDGE_LENGTH);
}

extern CU_TestInfo cpt_critical_model_tests[];
CU_TestInfo cpt_critical_model_tests[] = {
    {"the walk finds the path that the model finds", test_is_the_models_path},
    {"lost records are reported, the rest is kept", test_lost_records},
    {"an early stamp costs nanoseconds, not the path", test_early_stamps},
    {"nonsense costs precision, never the sum", test_nonsense},
    CU_TEST_INFO_NULL,
};
