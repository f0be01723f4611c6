/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_whatif_stats.c - whether the intervals of paired differences hold the truth
 *
 * Requests are drawn of populations whose true change is known; each time the interval
 * holds it, or does not. The seeds are fixed, so a run is as good as any other.
 */
#include "tool/whatif/whatif_stats.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <math.h>

enum { SETS = 500, REQUESTS = 600, HELD_MIN = 467 /* 95 % are 475, ± 5 */ };

struct request {
    double before;
    double after;
};

/* Above 0 and below 1. */
static double uniform(struct test_random *random)
{
    return ((double)test_random_below(random, 1U << 30) + 0.5) / (1U << 30);
}

/* All of the latency halves, which is exponential: a quantile q changes by
 * ln(1 - q) / 2. */
static struct request halved(struct test_random *random)
{
    const double before = -log(uniform(random));

    return (struct request){before, before / 2};
}

/* Another latency of the same kind: no quantile changes. */
static struct request exchanged(struct test_random *random)
{
    return (struct request){-log(uniform(random)), -log(uniform(random))};
}

/* Counts which of the rows of a set of requests hold @truth_ns. */
static void count_held(struct request (*draw)(struct test_random *),
                       struct test_random *random,
                       const double truth_ns[CPTI_WHATIF_ROWS],
                       unsigned held[CPTI_WHATIF_ROWS])
{
    static uint64_t before_ns[REQUESTS];
    static uint64_t after_ns[REQUESTS];
    static double weight[REQUESTS];
    struct cpti_whatif_order order;
    struct cpti_whatif_stats stats;

    for (size_t i = 0; i < REQUESTS; i++) {
        const struct request request = draw(random);

        before_ns[i] = (uint64_t)(request.before * 1e6);
        after_ns[i] = (uint64_t)(request.after * 1e6);
        weight[i] = 1;
    }
    CU_ASSERT_TRUE_FATAL(cpti_whatif_order_init(&order, before_ns, weight, REQUESTS));
    CU_ASSERT_TRUE_FATAL(cpti_whatif_compare(&order, after_ns, true, &stats));
    for (size_t i = 0; i < CPTI_WHATIF_ROWS; i++) {
        held[i] +=
            stats.rows[i].low_ns <= truth_ns[i] && truth_ns[i] <= stats.rows[i].high_ns;
    }
    cpti_whatif_order_deinit(&order);
}

static void expect_held(struct request (*draw)(struct test_random *),
                        const double truth[CPTI_WHATIF_ROWS])
{
    struct test_random random = {1};
    const double truth_ns[] = {1e6 * truth[0], 1e6 * truth[1], 1e6 * truth[2]};
    unsigned held[CPTI_WHATIF_ROWS] = {0};

    for (unsigned i = 0; i < SETS; i++) {
        count_held(draw, &random, truth_ns, held);
    }
    for (size_t i = 0; i < CPTI_WHATIF_ROWS; i++) {
        CU_ASSERT_TRUE(held[i] >= HELD_MIN);
    }
}

static void test_halved(void)
{
    const double truth[] = {[CPTI_WHATIF_MEAN] = -0.5,
                            [CPTI_WHATIF_P50] = -log(2) / 2,
                            [CPTI_WHATIF_P99] = -log(100) / 2};

    expect_held(halved, truth);
}

static void test_exchanged(void)
{
    const double truth[CPTI_WHATIF_ROWS] = {0};

    expect_held(exchanged, truth);
}

CU_TestInfo cli_whatif_stats_tests[] = {
    {"all times are halved", test_halved},
    {"times are exchanged for others of their kind", test_exchanged},
    CU_TEST_INFO_NULL,
};
