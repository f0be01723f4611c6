/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_stats.c - distributions against tables and laws, statistics of small trees
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

#include <math.h>

/* Student's quantiles from tables: degrees, 0.95, 0.975, 0.995. */
static const double student_table[][4] = {
    {1, 6.313752, 12.706205, 63.656741},     {2, 2.919986, 4.302653, 9.924843},
    {3, 2.353363, 3.182446, 5.840909},       {4, 2.131847, 2.776445, 4.604095},
    {5, 2.015048, 2.570582, 4.032143},       {10, 1.812461, 2.228139, 3.169273},
    {20, 1.724718, 2.085963, 2.845340},      {30, 1.697261, 2.042272, 2.749996},
    {60, 1.670649, 2.000298, 2.660283},      {120, 1.657651, 1.979930, 2.617421},
    {INFINITY, 1.644854, 1.959964, 2.575829}};

static void test_quantiles_are_those_of_the_tables(void)
{
    for (size_t i = 0; i < sizeof student_table / sizeof student_table[0]; i++) {
        const double *row = student_table[i];

        CU_ASSERT_DOUBLE_EQUAL(cpt_student_quantile(0.95, row[0]), row[1], 6e-7);
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_quantile(0.975, row[0]), row[2], 6e-7);
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_quantile(0.995, row[0]), row[3], 6e-7);
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_quantile(0.025, row[0]), -row[2], 6e-7);
    }
    CU_ASSERT_DOUBLE_EQUAL(cpt_normal_quantile(0.975), 1.959963984540054, 1e-13);
    CU_ASSERT_DOUBLE_EQUAL(cpt_normal_quantile(0.001), -3.090232306167813, 1e-13);
    CU_ASSERT_EQUAL(cpt_normal_quantile(0.5), 0);
    CU_ASSERT_EQUAL(cpt_student_quantile(0.5, 7), 0);
}

/* With 1 and 2 degrees the distribution has a closed form. */
static void test_few_degrees_have_closed_forms(void)
{
    const double pi = acos(-1);

    for (double t = -50; t < 50; t += 0.37) {
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_cdf(t, 1), 0.5 + atan(t) / pi, 1e-13);
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_cdf(t, 2), 0.5 + t / 2 / sqrt(2 + t * t),
                               1e-13);
    }
    CU_ASSERT_DOUBLE_EQUAL(cpt_student_quantile(0.975, 1), tan(pi * 0.475), 1e-10);
}

/* The model: the density integrated by Simpson's rule. */
static double simpson(double t, double degrees)
{
    const int steps = 2000;
    const double front =
        exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * acos(-1));
    double sum = 0;

    for (int i = 0; i <= steps; i++) {
        const double x = t * i / steps;
        const double weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;

        sum += weight * pow(1 + x * x / degrees, -(degrees + 1) / 2);
    }
    return 0.5 + front * sum * t / steps / 3;
}

static void test_the_distribution_is_the_integral_of_its_density(void)
{
    static const double degrees[] = {0.5, 1.7, 3, 8.25, 40, 199, 201, 1000};

    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        for (double t = 0.1; t < 5; t += 0.61) {
            CU_ASSERT_DOUBLE_EQUAL(cpt_student_cdf(t, degrees[i]),
                                   simpson(t, degrees[i]), 1e-10);
        }
    }
}

/* Tails of many degrees, from an incomplete beta function of 40 digits: degrees, t. */
static void test_many_degrees_have_all_digits(void)
{
    static const double tails[][3] = {
        {20, 0.001, 0.49960601148323656},     {20, 2, 0.0296327677232852365},
        {20, 5.75, 6.2927778971567838e-6},    {57.5, 1.5, 0.069542768671212638},
        {250, 0.25, 0.40139632899462194},     {1000, 35, 3.6731418018743466e-176},
        {1999, 6, 1.16821868546934624e-9},    {30000, 2.5, 0.00621231304489992188},
        {999999, 2.5, 0.0062097447511610487},
    };

    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        CU_ASSERT_DOUBLE_EQUAL(cpt_student_cdf(-tails[i][1], tails[i][0]) / tails[i][2],
                               1, 1e-12);
    }
}

static void test_the_inverse_is_the_inverse(void)
{
    static const double degrees[] = {0.3, 1,     1.5,    2.5, 4,    17,
                                     333, 99999, 999999, 2e6, 1e12, INFINITY};

    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        double last = -INFINITY;

        for (double p = 1e-9; p < 1; p = p < 0.01 ? p * 10 : p + 0.0199) {
            const double t = cpt_student_quantile(p, degrees[i]);

            CU_ASSERT_TRUE(t > last);
            CU_ASSERT_DOUBLE_EQUAL(cpt_student_cdf(t, degrees[i]), p, 1e-9 * p);
            last = t;
        }
    }
    for (double z = -8; z < 8; z += 0.13) {
        const double p = cpt_normal_cdf(z);

        CU_ASSERT_DOUBLE_EQUAL(cpt_normal_quantile(p), z, z < 5 ? 1e-9 : 1e-2);
    }
}

static void test_an_interval_needs_two_requests(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    double low = 0;
    double high = 0;

    CU_ASSERT_EQUAL(stats.inclusive.mean_ns, 0);
    CU_ASSERT_EQUAL(stats.present_count, 0);
    CU_ASSERT_EQUAL(cpt_stats_quantile_ns(tree, CPT_TREE_ROOT, 0.5), 0);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 4", CPT_WEIGHT_ONE), CPT_OK);
    stats = cpt_stats_of(tree, 1);
    cpt_mean_interval(&stats.self, 0.95, &low, &high);
    CU_ASSERT_EQUAL(low, -INFINITY);
    CU_ASSERT_EQUAL(high, INFINITY);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 6", CPT_WEIGHT_ONE), CPT_OK);
    stats = cpt_stats_of(tree, 1);
    cpt_mean_interval(&stats.self, 0.95, &low, &high); /* 5 ± 12.706 · 1 */
    CU_ASSERT_DOUBLE_EQUAL(stats.self.deviation_ns, sqrt(2), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(low, 5 - 12.706205, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(high, 5 + 12.706205, 1e-6);
    cpt_tree_free(tree);
}

/* A mean of hours with a deviation of a nanosecond: no cancellation. */
static void test_small_variances_survive_beside_large_means(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 36000000000000001", CPT_WEIGHT_MAX), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 36000000000000002", CPT_WEIGHT_MAX), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 36000000000000003", CPT_WEIGHT_MAX), CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(cpt_stats_of(tree, 1).self.deviation_ns, 1, 1e-12);
    cpt_tree_free(tree);
}

static void test_quantiles_are_order_statistics(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    char text[32];

    for (int i = 1; i <= 200; i++) { /* below 256 ns buckets are exact */
        (void)snprintf(text, sizeof text, "a %d", i * 37 % 201);
        CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_ONE), CPT_OK);
    }
    for (int i = 1; i < 200; i++) {
        CU_ASSERT_EQUAL(cpt_stats_quantile_ns(tree, 1, i / 200.0), (uint64_t)i);
    }
    CU_ASSERT_EQUAL(cpt_stats_quantile_ns(tree, 1, 0), 1);
    CU_ASSERT_EQUAL(cpt_stats_quantile_ns(tree, 1, 1), 200);
    cpt_tree_free(tree);
}

static void test_buckets_are_shares_of_those_that_have_the_stack(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_bucket bucket;

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1000", 3 * CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 3", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "b 3", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_stats_bucket_count(tree, 1), 2);
    bucket = cpt_stats_bucket(tree, 1, 0);
    CU_ASSERT_EQUAL(bucket.low_ns, 3);
    CU_ASSERT_EQUAL(bucket.high_ns, 3);
    CU_ASSERT_EQUAL(bucket.share, 0.25);
    bucket = cpt_stats_bucket(tree, 1, 1);
    CU_ASSERT_TRUE(bucket.low_ns <= 1000 && bucket.high_ns >= 1000);
    CU_ASSERT_EQUAL(bucket.share, 0.75);
    cpt_tree_free(tree);
}

/* 27 requests of weight 1 and 3
 * of weight 10 are worth 57² / 327 = 9.94. */
static void test_heavy_requests_are_worth_few(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_stats stats;

    for (int i = 0; i < 1000; i++) {
        const char *path = i < 30 ? "a 5" : "b 5";

        CU_ASSERT_EQUAL(
            tree_add_text(tree, path,
                          i >= 27 && i < 33 ? 10 * CPT_WEIGHT_ONE : CPT_WEIGHT_ONE),
            CPT_OK);
    }
    stats = cpt_stats_of(tree, tree_node(tree, "a"));
    CU_ASSERT_EQUAL(stats.present_count, 30);
    CU_ASSERT_DOUBLE_EQUAL(stats.present_effective_count, 57. * 57 / 327, 1e-9);
    CU_ASSERT_TRUE(stats.is_rare);
    stats = cpt_stats_of(tree, tree_node(tree, "b"));
    CU_ASSERT_DOUBLE_EQUAL(stats.present_effective_count, 997. * 997 / 1267, 1e-9);
    CU_ASSERT_FALSE(stats.is_rare);
    stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    CU_ASSERT_EQUAL(stats.present_effective_count, stats.inclusive.effective_count);
    cpt_tree_free(tree);
}

/* Nine requests that outweigh all others: no row of the tree can be trusted. */
static void test_few_heavy_requests_make_every_node_rare(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    for (int i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(tree_add_text(tree, "a 5", (i < 9 ? 1000 : 1) * CPT_WEIGHT_ONE),
                        CPT_OK);
    }
    CU_ASSERT_TRUE(cpt_stats_of(tree, 1).is_rare);
    CU_ASSERT_TRUE(cpt_stats_of(tree, CPT_TREE_ROOT).is_rare);
    cpt_tree_free(tree);
}

extern CU_TestInfo cpt_stats_tests[];
CU_TestInfo cpt_stats_tests[] = {
    {"quantiles equal those of the tables", test_quantiles_are_those_of_the_tables},
    {"few degrees have closed forms", test_few_degrees_have_closed_forms},
    {"the distribution is the integral of its density",
     test_the_distribution_is_the_integral_of_its_density},
    {"with many degrees all digits are right", test_many_degrees_have_all_digits},
    {"quantile and distribution are inverse", test_the_inverse_is_the_inverse},
    {"an interval needs two requests", test_an_interval_needs_two_requests},
    {"small variances survive beside large means",
     test_small_variances_survive_beside_large_means},
    {"quantiles are order statistics", test_quantiles_are_order_statistics},
    {"buckets are shares of those that have the stack",
     test_buckets_are_shares_of_those_that_have_the_stack},
    {"heavy requests are worth few", test_heavy_requests_are_worth_few},
    {"few heavy requests make every node rare",
     test_few_heavy_requests_make_every_node_rare},
    CU_TEST_INFO_NULL,
};
