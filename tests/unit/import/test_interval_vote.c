/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_interval_vote.c - the value that most intervals contain, and stretches of time
 *
 * The model counts, for each value that could be the answer, the intervals one by one.
 */
#include "import/clocks/clock_stretches.h"
#include "import/clocks/interval_vote.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 20000, INTERVALS = 120, VALUES = 60, CALLS = 400 };

static struct cpti_vote_result count_of(const int64_t (*intervals)[2], size_t count,
                                        int64_t *middle)
{
    struct cpti_interval_vote vote = {.alloc = cpt_alloc_default()};
    struct cpti_vote_result result;

    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(cpti_interval_vote_add(&vote, intervals[i][0], intervals[i][1]),
                        CPT_OK);
    }
    result = cpti_interval_vote_count(&vote);
    *middle = cpti_vote_middle(&result);
    cpti_interval_vote_clear(&vote);
    return result;
}

static void expect(const int64_t (*intervals)[2], size_t count, size_t votes,
                   int64_t expected)
{
    int64_t middle = 0;
    const struct cpti_vote_result result = count_of(intervals, count, &middle);

    CU_ASSERT_EQUAL(result.votes, votes);
    CU_ASSERT_EQUAL(result.has_zero ? 0 : middle, expected);
}

#define VOTE(votes, expected, ...)                                                     \
    do {                                                                               \
        static const int64_t all[][2] = {__VA_ARGS__};                                 \
        expect(all, sizeof all / sizeof *all, votes, expected);                        \
    } while (0)

static void test_few(void)
{
    VOTE(1, 15, {10, 20});
    VOTE(2, 17, {10, 20}, {15, 30});
    VOTE(2, 15, {10, 20}, {15, 15}, {90, 99});
    /* however far the wrong one is */
    VOTE(3, 0, {-1, 1}, {-1, 1}, {-1, 1}, {-575000, -560000});
    /* ends belong to them */
    VOTE(2, 20, {10, 20}, {20, 30});
    VOTE(1, -6, {-10, -1}, {10, 20}); /* the nearest one of equals */
    VOTE(1, 0, {-10, 0}, {10, 20});
    VOTE(1, 30, {30, CPTI_VOTE_FAR});
    VOTE(1, -30, {-CPTI_VOTE_FAR, -30});
    VOTE(0, 0, {20, 10}); /* it says nothing */
}

/* 0 is preferred if 98 % as many contain it: of 50 one may not, of 49 all have to. */
static void test_zero(void)
{
    int64_t intervals[51][2] = {{5, 7}};

    for (size_t i = 1; i < 51; i++) {
        intervals[i][0] = -10;
        intervals[i][1] = 10;
    }
    expect((const int64_t(*)[2])intervals, 50, 50, 0);
    expect((const int64_t(*)[2])intervals, 49, 49, 6);
    expect((const int64_t(*)[2])intervals, 51, 51, 0);
}

/* How many contain @value. */
static size_t model(const int64_t (*intervals)[2], size_t count, int64_t value)
{
    size_t votes = 0;

    for (size_t i = 0; i < count; i++) {
        votes += intervals[i][0] <= value && value <= intervals[i][1];
    }
    return votes;
}

static bool agrees(const int64_t (*intervals)[2], size_t count)
{
    int64_t middle = 0;
    const struct cpti_vote_result result = count_of(intervals, count, &middle);
    size_t most = 0;
    int64_t nearest = INT64_MAX;

    for (int64_t value = -2 * VALUES; value <= 2 * VALUES; value++) {
        const size_t votes = model(intervals, count, value);
        const int64_t far = value < 0 ? -value : value;

        nearest = votes > most || (votes == most && far < nearest) ? far : nearest;
        most = votes > most ? votes : most;
    }
    if (result.votes != most ||
        result.has_zero != (100 * model(intervals, count, 0) >= 98 * most) ||
        result.least > result.most ||
        (nearest > 0 && result.least != nearest && result.most != -nearest)) {
        return false;
    }
    for (int64_t value = result.least; value <= result.most; value++) {
        if (model(intervals, count, value) != most) {
            return false;
        }
    }
    return true;
}

static void test_model(void)
{
    const uint64_t seed = test_random_seed("votes of intervals");
    const uint64_t cases = test_case_count(CASES);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        int64_t intervals[INTERVALS][2];
        const uint64_t limit = test_random_chance(&random, 80) ? 8 : INTERVALS;
        const uint64_t count = 1 + test_random_below(&random, limit);
        const uint64_t width = 1 + test_random_below(&random, VALUES);

        for (size_t k = 0; k < count; k++) {
            intervals[k][0] = (int64_t)test_random_below(&random, VALUES) - VALUES / 2;
            intervals[k][1] =
                intervals[k][0] + (int64_t)test_random_below(&random, width);
        }
        if (!agrees((const int64_t(*)[2])intervals, count)) {
            printf("\n  seed %" PRIu64 "\n", seed + i);
            CU_FAIL("not what the model counts");
            break;
        }
    }
}

static bool votes_over(const struct cpt_alloc *alloc)
{
    struct cpti_interval_vote vote = {.alloc = alloc};
    cpt_status status = CPT_OK;

    for (int64_t i = 0; i < 100 && status == CPT_OK; i++) {
        status = cpti_interval_vote_add(&vote, i, i + 10);
    }
    CU_ASSERT_EQUAL(cpti_interval_vote_count(&vote).votes,
                    vote.count < 11 ? vote.count : 11);
    cpti_interval_vote_clear(&vote);
    return status == CPT_OK;
}

static void test_without_memory(void)
{
    each_allocation_failure(votes_over);
}

/* --- Stretches --- */

/* The starts of the stretches of calls that put the clock at @offsets, give or take 2,
 * as "0 5"; each offset is a call. */
static void expect_stretches(const int64_t *offsets, size_t count, const char *expected)
{
    struct cpti_clock_call calls[CALLS];
    size_t starts[CALLS];
    char text[256] = "";
    size_t bytes = 0;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct cpti_clock_call){
            .at_ns = (int64_t)i, .least_ns = offsets[i] - 2, .most_ns = offsets[i] + 2};
    }
    found = cpti_clock_stretches(calls, count, starts);
    for (size_t i = 0; i < found; i++) {
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s%zu",
                                  i > 0 ? " " : "", starts[i]);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0) {
        printf("\n  got %s, not %s\n", text, expected);
    }
}

#define STRETCHES(expected, ...)                                                       \
    do {                                                                               \
        static const int64_t all[] = {__VA_ARGS__};                                    \
        expect_stretches(all, sizeof all / sizeof *all, expected);                     \
    } while (0)

static void test_stretches(void)
{
    expect_stretches(NULL, 0, "");
    STRETCHES("0", 0);
    STRETCHES("0", 0, 1, -1, 0, 2, 0);
    STRETCHES("0 3", 0, 0, 0, 50, 50, 50);
    STRETCHES("0", 0, 0, 0, 50, 50);       /* two are wrong */
    STRETCHES("0", 0, 90, 0, 0, 90, 0, 0); /* here and there */
    STRETCHES("0", 90, 0, 0, 0, 0);        /* also the first one */
    STRETCHES("0", 90, 80, 0, 0, 0, 0);    /* and the second */
    STRETCHES("0 3 7", 0, 0, 0, 50, 50, 50, 50, 0, 0, 0, 0);
    STRETCHES("0 4", 0, 0, 0, 20, 50, 50, 50, 50);     /* one during the step */
    STRETCHES("0 3", 0, 0, 0, 50, 50, 99, 50, 50, 50); /* a wrong one behind it */
    STRETCHES("0 3", 0, 0, 0, 50, 99, 50, 98, 50, 50, 50);
    STRETCHES("0 3", 0, 0, 0, 50, 50, 0, 50, 50, 50); /* a late one of before */
    STRETCHES("0 5 10", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13); /* a drift */
}

CU_TestInfo cpt_interval_vote_tests[] = {
    {"few", test_few},
    {"zero", test_zero},
    {"model", test_model},
    {"without memory", test_without_memory},
    {"stretches", test_stretches},
    CU_TEST_INFO_NULL,
};
