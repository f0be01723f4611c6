/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_busy.c - normalised processor time against its definition
 *
 * The model looks at one nanosecond after the other, and adds 840 / c to each span that
 * runs then: for up to 8 spans a whole number of 840ths of a nanosecond.
 */
#include "cpt/cpt_busy.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CASES = 20000, SPANS_MAX = 8, TIMES = 60, WHOLE = 840 /* lcm of 1 to 8 */ };

static void test_example(void)
{
    const struct cpt_busy_span spans[] = {{0, 6}, {2, 7}, {9, 9}, {12, 11}};
    uint64_t shares[4];
    uint64_t busy_ns = 0;

    CU_ASSERT_EQUAL(cpt_busy_shares(NULL, spans, 4, shares, &busy_ns), CPT_OK);
    CU_ASSERT_EQUAL(busy_ns, 7);
    CU_ASSERT_EQUAL(shares[0], 4);
    CU_ASSERT_EQUAL(shares[1], 3);
    CU_ASSERT_EQUAL(shares[2], 0);
    CU_ASSERT_EQUAL(shares[3], 0);
    CU_ASSERT_EQUAL(cpt_busy_shares(NULL, NULL, 0, NULL, &busy_ns), CPT_OK);
    CU_ASSERT_EQUAL(busy_ns, 0);
}

/* Three that run together for 100 ns: the first has the nanosecond that is left. */
static void test_thirds(void)
{
    const struct cpt_busy_span spans[] = {{5, 105}, {5, 105}, {5, 105}};
    uint64_t shares[3];
    uint64_t busy_ns = 0;

    CU_ASSERT_EQUAL(cpt_busy_shares(NULL, spans, 3, shares, &busy_ns), CPT_OK);
    CU_ASSERT_EQUAL(busy_ns, 100);
    CU_ASSERT_EQUAL(shares[0], 34);
    CU_ASSERT_EQUAL(shares[1], 33);
    CU_ASSERT_EQUAL(shares[2], 33);
}

/* The true shares in 840ths of a nanosecond, and in how many one ran. */
static uint64_t model(const struct cpt_busy_span *spans, size_t count,
                      uint64_t exact[SPANS_MAX])
{
    uint64_t busy_ns = 0;

    for (size_t i = 0; i < count; i++) {
        exact[i] = 0;
    }
    for (uint64_t at = 0; at < TIMES; at++) {
        uint64_t running = 0;

        for (size_t i = 0; i < count; i++) {
            running += spans[i].begin_ns <= at && at < spans[i].end_ns;
        }
        for (size_t i = 0; i < count; i++) {
            if (spans[i].begin_ns <= at && at < spans[i].end_ns) {
                exact[i] += WHOLE / running;
            }
        }
        busy_ns += running != 0;
    }
    return busy_ns;
}

/* Each is the true share, rounded up or down, and their sum is the time in which
 * anything ran. */
static void test_random_spans(void)
{
    const uint64_t seed = test_random_seed("busy");
    const uint64_t cases = test_case_count(CASES);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpt_busy_span spans[SPANS_MAX];
        const size_t count = 1 + test_random_below(&random, SPANS_MAX);
        uint64_t shares[SPANS_MAX];
        uint64_t exact[SPANS_MAX];
        uint64_t busy_ns = 0;
        uint64_t sum_ns = 0;
        int is_right = 1;

        for (size_t s = 0; s < count; s++) {
            spans[s].begin_ns = test_random_below(&random, TIMES);
            spans[s].end_ns = test_random_below(&random, TIMES);
        }
        CU_ASSERT_EQUAL(cpt_busy_shares(NULL, spans, count, shares, &busy_ns), CPT_OK);
        is_right = busy_ns == model(spans, count, exact);
        for (size_t s = 0; s < count; s++) {
            sum_ns += shares[s];
            is_right = is_right && shares[s] * WHOLE < exact[s] + WHOLE &&
                       exact[s] < shares[s] * WHOLE + WHOLE;
        }
        if (!is_right || sum_ns != busy_ns) {
            printf("\nwrong shares: CPT_TEST_SEED=%" PRIu64 "\n", seed + i);
            CU_FAIL("wrong shares");
            return;
        }
    }
}

/* At the ends of 64 bits, and many at once. */
static void test_extremes(void)
{
    enum { MANY = 100000 };
    static struct cpt_busy_span many[MANY];
    static uint64_t many_shares[MANY];
    const struct cpt_busy_span spans[] = {{0, UINT64_MAX}, {0, UINT64_MAX}};
    uint64_t shares[2];
    uint64_t busy_ns = 0;
    uint64_t sum_ns = 0;

    CU_ASSERT_EQUAL(cpt_busy_shares(NULL, spans, 2, shares, &busy_ns), CPT_OK);
    CU_ASSERT_EQUAL(busy_ns, UINT64_MAX);
    CU_ASSERT_EQUAL(shares[0] + shares[1], UINT64_MAX);
    CU_ASSERT_EQUAL(shares[0], UINT64_MAX / 2 + 1);
    for (uint64_t i = 0; i < MANY; i++) {
        many[i] = (struct cpt_busy_span){i, MANY + 3 * i};
    }
    CU_ASSERT_EQUAL(cpt_busy_shares(NULL, many, MANY, many_shares, &busy_ns), CPT_OK);
    for (size_t i = 0; i < MANY; i++) {
        sum_ns += many_shares[i];
    }
    CU_ASSERT_EQUAL(busy_ns, 4 * (uint64_t)MANY - 3);
    CU_ASSERT_EQUAL(sum_ns, busy_ns);
    CU_ASSERT_EQUAL(
        cpt_busy_shares(NULL, many, CPT_BUSY_SPANS_MAX + 1, many_shares, &busy_ns),
        CPT_LIMIT);
}

static bool divide(const struct cpt_alloc *alloc)
{
    const struct cpt_busy_span spans[] = {{0, 6}, {2, 7}};
    uint64_t shares[2];
    uint64_t busy_ns = 0;

    return cpt_busy_shares(alloc, spans, 2, shares, &busy_ns) == CPT_OK;
}

static void test_without_memory(void)
{
    each_allocation_failure(divide);
}

CU_TestInfo cpt_busy_tests[] = {
    {"what runs beside others counts less", test_example},
    {"nanoseconds that are left", test_thirds},
    {"random spans", test_random_spans},
    {"the longest, and many", test_extremes},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
