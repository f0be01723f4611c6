/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_deal.c - dealt groups against all deals that there are, one after the other
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_deal.h"

#include <math.h>
#include <stdbool.h>

enum { TINY_STRATA = 3, TINY_REQUESTS = 12, TINY_SYSTEMS = 40 };

struct tiny {
    struct cpt_deal_request requests[TINY_REQUESTS];
    double shares[TINY_STRATA];
    int seconds[TINY_STRATA];
    size_t count;
};

/* --- The model: by the formulas of cpt_stats.h, in two passes, for one deal --- */

static double model_mean(const struct tiny *tiny, const bool *is_second,
                         uint32_t stratum, bool group, double *variance)
{
    double w = 0;
    double wx = 0;
    double squares = 0;
    int count = 0;

    for (size_t i = 0; i < tiny->count; i++) {
        const struct cpt_deal_request *request = &tiny->requests[i];

        if (request->stratum == stratum && is_second[i] == group) {
            w += request->weight;
            wx += request->weight * request->value;
            count++;
        }
    }
    for (size_t i = 0; i < tiny->count; i++) {
        const struct cpt_deal_request *request = &tiny->requests[i];

        if (request->stratum == stratum && is_second[i] == group) {
            squares += pow(request->weight * (request->value - wx / w), 2);
        }
    }
    *variance = count / (count - 1.0) * squares / (w * w);
    return wx / w;
}

static double model_t(const struct tiny *tiny, const bool *is_second, double *delta,
                      double *error)
{
    double variance = 0;

    *delta = 0;
    for (uint32_t s = 0; s < TINY_STRATA; s++) {
        double first = 0;
        double second = 0;

        if (tiny->shares[s] > 0) {
            *delta += tiny->shares[s] * (model_mean(tiny, is_second, s, true, &second) -
                                         model_mean(tiny, is_second, s, false, &first));
            variance += pow(tiny->shares[s], 2) * (first + second);
        }
    }
    *error = sqrt(variance);
    return fabs(*delta) / *error;
}

/* Whether each stratum has as many of the second group as it really has. */
static bool is_a_deal(const struct tiny *tiny, const bool *is_second)
{
    int seconds[TINY_STRATA] = {0};

    for (size_t i = 0; i < tiny->count; i++) {
        seconds[tiny->requests[i].stratum] += is_second[i];
    }
    for (int s = 0; s < TINY_STRATA; s++) {
        if (seconds[s] != tiny->seconds[s]) {
            return false;
        }
    }
    return true;
}

/* The share of all deals, those of two groups of 2^n too, whose |T| is as large. */
static double model_p(const struct tiny *tiny, double observed)
{
    double all = 0;
    double as_large = 0;

    for (unsigned bits = 0; bits < 1U << tiny->count; bits++) {
        bool is_second[TINY_REQUESTS];
        double delta;
        double error;

        for (size_t i = 0; i < tiny->count; i++) {
            is_second[i] = (bits >> i & 1) != 0;
        }
        if (is_a_deal(tiny, is_second)) {
            all++;
            as_large +=
                model_t(tiny, is_second, &delta, &error) >= observed * (1 - 1e-9);
        }
    }
    return as_large / all;
}

/* --- Tiny systems --- */

/* Two strata of four to six requests, with two or three of the second group, in an
 * order of chance; one more has no share. */
static void make_tiny(struct tiny *tiny, uint64_t *state)
{
    *tiny = (struct tiny){.shares = {0.75, 0, 0.25}};
    for (uint32_t s = 0; s < TINY_STRATA; s++) {
        const int firsts = s == 1 ? 1 : 2 + (int)(random_next(state) % 2);

        tiny->seconds[s] = s == 1 ? 0 : 2 + (int)(random_next(state) % 2);
        for (int i = 0; i < firsts + tiny->seconds[s] && tiny->count < TINY_REQUESTS;
             i++) {
            tiny->requests[tiny->count++] = (struct cpt_deal_request){
                .value = 1e9 * (s + 1) + (double)(random_next(state) % 1000) +
                         (i >= firsts ? (double)(random_next(state) % 700) : 0),
                .weight = 1 + (double)(random_next(state) % 3),
                .stratum = s,
                .is_second = i >= firsts};
        }
    }
    for (size_t i = tiny->count; i-- > 1;) {
        const size_t other = random_next(state) % (i + 1);
        const struct cpt_deal_request request = tiny->requests[i];

        tiny->requests[i] = tiny->requests[other];
        tiny->requests[other] = request;
    }
}

static void test_p_is_the_share_of_all_deals(void)
{
    uint64_t state = random_seed("deals");

    for (int i = 0; i < TINY_SYSTEMS; i++) {
        struct cpt_deal_result result;
        struct tiny tiny;
        bool is_second[TINY_REQUESTS];
        double delta;
        double error;
        double p;

        make_tiny(&tiny, &state);
        for (size_t k = 0; k < tiny.count; k++) {
            is_second[k] = tiny.requests[k].is_second != 0;
        }
        p = model_p(&tiny, model_t(&tiny, is_second, &delta, &error));
        CU_ASSERT_EQUAL(cpt_deal_strata(NULL, tiny.requests, tiny.count, tiny.shares,
                                        TINY_STRATA, random_next(&state), &result),
                        CPT_OK);
        CU_ASSERT_EQUAL(result.deal_count, CPT_DEAL_MAX);
        CU_ASSERT_DOUBLE_EQUAL(result.delta, delta, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(result.error, error, 1e-6 * error);
        CU_ASSERT_DOUBLE_EQUAL(result.p_value, p,
                               5 * sqrt(p * (1 - p) / CPT_DEAL_MAX) + 0.002);
    }
}

/* --- Larger ones --- */

enum { MANY = 400, MANY_SYSTEMS = 200 };

/* A stratum that is slow and mostly of the second group changes nothing within the
 * strata; the variances of the groups differ. */
static double p_of_many(uint64_t *state, double effect)
{
    static struct cpt_deal_request requests[MANY];
    static const double shares[2] = {0.5, 0.5};
    struct cpt_deal_result result;

    for (size_t i = 0; i < MANY; i++) {
        const uint32_t stratum = i % 2;
        const int is_second = random_next(state) % 10 < (stratum == 0 ? 2 : 8);
        double noise = 0;

        for (int k = 0; k < 12; k++) {
            noise += (double)(random_next(state) % 1000) / 1000 - 0.5;
        }
        requests[i] = (struct cpt_deal_request){
            .value = 10 + 20 * stratum + (is_second ? 2 * noise + effect : noise),
            .weight = 1,
            .stratum = stratum,
            .is_second = is_second};
    }
    CU_ASSERT_EQUAL(
        cpt_deal_strata(NULL, requests, MANY, shares, 2, random_next(state), &result),
        CPT_OK);
    return result.p_value;
}

static void test_chance_is_found_as_often_as_p_says(void)
{
    uint64_t state = random_seed("many deals");
    int low = 0;
    int found = 0;

    for (int i = 0; i < MANY_SYSTEMS; i++) {
        low += p_of_many(&state, 0) <= 0.05;
        found += p_of_many(&state, 1) <= 0.01;
    }
    CU_ASSERT_TRUE(low <= 25); /* of 10; 25 or more in one of 30,000 runs */
    CU_ASSERT_TRUE(found >= MANY_SYSTEMS * 9 / 10);
}

static void test_groups_that_cannot_be_dealt(void)
{
    struct cpt_deal_request requests[4] = {
        {1, 1, 0, 0}, {2, 1, 0, 1}, {3, 1, 0, 1}, {9, 1, 1, 1}};
    static const double shares[2] = {1, 0};
    static const double both[2] = {0.5, 0.5};
    struct cpt_deal_result result;

    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 4, shares, 2, 1, &result), CPT_OK);
    CU_ASSERT_EQUAL(result.deal_count, 0); /* one request has no variance */
    CU_ASSERT_EQUAL(result.p_value, 1);
    CU_ASSERT_DOUBLE_EQUAL(result.delta, 1.5, 1e-12);
    CU_ASSERT_TRUE(isinf(result.error));
    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 4, both, 2, 1, &result),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 4, shares, 1, 1, &result),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 0, shares, 0, 1, &result), CPT_OK);
    CU_ASSERT_EQUAL(result.p_value, 1);
}

/* What does not vary: a difference is certain, but no p is below 1 / (1 + deals); of
 * four requests a third of the deals are as large. */
static void test_times_that_do_not_vary(void)
{
    struct cpt_deal_request requests[4] = {
        {5, 1, 0, 0}, {5, 1, 0, 0}, {7, 1, 0, 1}, {7, 1, 0, 1}};
    static const double shares[1] = {1};
    struct cpt_deal_result result;

    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 4, shares, 1, 1, &result), CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(result.p_value, 1.0 / 3, 0.1);
    CU_ASSERT_EQUAL(result.error, 0);
    requests[2].value = requests[3].value = 5;
    CU_ASSERT_EQUAL(cpt_deal_strata(NULL, requests, 4, shares, 1, 1, &result), CPT_OK);
    CU_ASSERT_EQUAL(result.p_value, 1);
    CU_ASSERT_EQUAL(result.delta, 0);
}

extern CU_TestInfo cpt_deal_tests[];
CU_TestInfo cpt_deal_tests[] = {
    {"p is the share of all deals", test_p_is_the_share_of_all_deals},
    {"chance is found as often as p says", test_chance_is_found_as_often_as_p_says},
    {"groups that cannot be dealt", test_groups_that_cannot_be_dealt},
    {"times that do not vary", test_times_that_do_not_vary},
    CU_TEST_INFO_NULL,
};
