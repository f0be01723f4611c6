/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_sample.c - pairs of samples of one population: observed, predicted, counted by
 * hand */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_sample.h"

#include <math.h>
#include <stdlib.h>

enum { COMPONENTS = 40 };

static double random_unit(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* A request of 40 components, most of them rare, all skewed, as in a real service. */
static void fill_skewed(struct cpt_path *path, uint64_t *state)
{
    cpt_path_reset(path);
    for (unsigned i = 0; i < COMPONENTS; i++) {
        const double presence = i < 8 ? 1 : 1.0 / (i - 6);
        char name[16];
        uint32_t frame = 0;

        (void)snprintf(name, sizeof name, "c%u", i);
        if (random_unit(state) < presence) {
            const double time_ns =
                1e6 * (1 + i % 5) * exp(cpt_normal_quantile(random_unit(state)));

            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name),
                                    CPT_KIND_WORK, &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame, 1 + (uint64_t)time_ns) == CPT_OK);
        }
    }
}

static struct cpt_sample *sample_skewed(unsigned count, int is_weighted)
{
    uint64_t state = random_seed("sample");
    struct cpt_sample *sample = cpt_sample_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(sample != NULL);
    while (count-- > 0) {
        const cpt_weight weight = is_weighted
                                      ? CPT_WEIGHT_ONE * (1 + random_below(&state, 4))
                                      : CPT_WEIGHT_ONE;

        fill_skewed(path, &state);
        CU_ASSERT_EQUAL(cpt_sample_add(sample, path, weight), CPT_OK);
    }
    cpt_path_free(path);
    return sample;
}

/* The formula, and the article's shape: fewer false rows with more requests and with a
 * higher threshold. The predicted number is the observed one. */
static void check_prediction(int is_weighted)
{
    static const double thresholds[] = {0.1e6, 0.3e6, 1e6, 2e6};
    static const uint32_t counts[] = {100, 300, 1000};
    struct cpt_sample *sample = sample_skewed(4000, is_weighted);
    double last[4] = {INFINITY, INFINITY, INFINITY, INFINITY};

    for (size_t i = 0; i < 3; i++) {
        const struct cpt_pairs pairs = {counts[i], 100, 7 + i, thresholds, 4};
        struct cpt_false_rows rows[4];

        CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_OK);
        for (int t = 0; t < 4; t++) {
            CU_ASSERT_TRUE(t == 0 || rows[t].predicted < rows[t - 1].predicted);
            CU_ASSERT_TRUE(t == 0 || rows[t].observed <= rows[t - 1].observed);
            CU_ASSERT_TRUE(rows[t].predicted < last[t]);
            CU_ASSERT_DOUBLE_EQUAL(rows[t].observed, rows[t].predicted,
                                   4 * rows[t].error + 0.15 * rows[t].predicted + 0.05);
            last[t] = rows[t].predicted;
        }
    }
    cpt_sample_free(sample);
}

static void test_what_is_predicted_is_observed(void)
{
    check_prediction(0);
    check_prediction(1);
}

/* Components that vary more are more often false rows (C58). */
static void test_rows_that_vary_more_are_false_more_often(void)
{
    static const double threshold = 0.4e6;
    const struct cpt_pairs pairs = {500, 400, 3, &threshold, 1};
    struct cpt_sample *sample = sample_skewed(3000, 0);
    const struct cpt_tree *tree = cpt_sample_tree(sample);
    uint32_t counts[COMPONENTS + 1];
    struct cpt_false_rows rows;
    double sum = 0;
    unsigned in_order = 0;
    unsigned compared = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_tree_node_count(tree), COMPONENTS + 1);
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, &rows, counts), CPT_OK);
    for (uint32_t i = 1; i <= COMPONENTS; i++) {
        const double chance = cpt_false_row_chance(tree, i, 500, threshold);

        sum += counts[i];
        CU_ASSERT_DOUBLE_EQUAL(counts[i] / 400.0, chance, 0.09);
        for (uint32_t k = 1; k < i; k++) {
            const double other = cpt_false_row_chance(tree, k, 500, threshold);

            if (fabs(chance - other) > 0.02) {
                compared++;
                in_order += (chance > other) == (counts[i] > counts[k]);
            }
        }
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / 400, rows.observed, 1e-9);
    CU_ASSERT_TRUE(in_order > compared * 9 / 10);
    cpt_sample_free(sample);
}

/* 400 nodes, each in one request of 2,000: a pair of samples of 50 has a twentieth of
 * them, and all of these differ. */
static void test_rows_that_hardly_occur_are_hardly_false(void)
{
    enum { REQUESTS = 2000, RARE = 400 };

    static const double threshold = 1;
    const struct cpt_pairs pairs = {50, 400, 11, &threshold, 1};
    const double occurs = 1 - pow(1 - 1.0 / REQUESTS, 100);
    struct cpt_sample *sample = cpt_sample_new(NULL, NULL);
    struct cpt_false_rows rows;

    for (int i = 0; i < REQUESTS; i++) {
        char text[32];
        struct cpt_path *path;

        (void)snprintf(text, sizeof text, i < RARE ? "A 5, A;r%d 100000" : "A 5", i);
        path = path_of(text);
        CU_ASSERT_EQUAL(cpt_sample_add(sample, path, CPT_WEIGHT_ONE), CPT_OK);
        cpt_path_free(path);
    }
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, &rows, NULL), CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(rows.predicted, RARE * occurs, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rows.observed, rows.predicted,
                           4 * rows.error + 0.05 * rows.predicted);
    cpt_sample_free(sample);
}

static void test_two_requests_make_one_pair(void)
{
    static const double thresholds[] = {4, 5, 6};
    const struct cpt_pairs pairs = {1, 10, 1, thresholds, 3};
    struct cpt_sample *sample = cpt_sample_new(NULL, NULL);
    struct cpt_path *paths[] = {path_of("A 10, A;B 3"), path_of("A 15, A;C 3")};
    struct cpt_false_rows rows[3];

    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(cpt_sample_add(sample, paths[i], CPT_WEIGHT_ONE), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_OK);
    CU_ASSERT_EQUAL(rows[0].observed, 1); /* A differs by 5 */
    CU_ASSERT_EQUAL(rows[1].observed, 0);
    CU_ASSERT_EQUAL(rows[2].observed, 0);
    CU_ASSERT_EQUAL(rows[0].error, 0);
    cpt_path_free(paths[0]);
    cpt_path_free(paths[1]);
    cpt_sample_free(sample);
}

static void test_the_same_seed_gives_the_same_pairs(void)
{
    static const double threshold = 0.2e6;
    struct cpt_sample *sample = sample_skewed(400, 1);
    struct cpt_pairs pairs = {100, 30, 5, &threshold, 1};
    struct cpt_false_rows rows[3];

    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, &rows[0], NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, &rows[1], NULL), CPT_OK);
    pairs.seed = 6;
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, &rows[2], NULL), CPT_OK);
    CU_ASSERT_EQUAL(rows[0].observed, rows[1].observed);
    CU_ASSERT_NOT_EQUAL(rows[0].observed, rows[2].observed);
    cpt_sample_free(sample);
}

static void test_refuses_what_cannot_be_drawn(void)
{
    static const double thresholds[] = {1, 0, NAN};
    struct cpt_sample *sample = sample_skewed(10, 0);
    struct cpt_false_rows rows[3];
    struct cpt_pairs pairs = {5, 1, 1, thresholds, 1};

    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_OK);
    CU_ASSERT_EQUAL(rows[0].error, INFINITY);
    pairs.request_count = 6;
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_INVALID);
    pairs.request_count = 0;
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_INVALID);
    pairs = (struct cpt_pairs){5, CPT_SAMPLE_PAIRS_MAX + 1, 1, thresholds, 1};
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_INVALID);
    pairs.pair_count = 0;
    CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_INVALID);
    pairs.pair_count = 1;
    for (size_t count = 2; count <= 3; count++) {
        pairs.threshold_count = count;
        CU_ASSERT_EQUAL(cpt_sample_pairs(sample, &pairs, rows, NULL), CPT_INVALID);
    }
    cpt_sample_free(sample);
}

static void test_values_have_a_limit(void)
{
    const struct cpt_sample_options options = {.struct_bytes = sizeof options,
                                               .values_max = 5};
    const struct cpt_sample_options too_many = {
        .struct_bytes = sizeof too_many, .values_max = CPT_SAMPLE_VALUES_MAX + 1};
    struct cpt_sample *sample = cpt_sample_new(NULL, &options);
    struct cpt_path *path = path_of("A 10, A;B 3");

    CU_ASSERT_PTR_NULL(cpt_sample_new(NULL, &too_many));
    CU_ASSERT_EQUAL(cpt_sample_add(sample, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_sample_add(sample, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_sample_add(sample, path, CPT_WEIGHT_ONE), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_sample_add(sample, path, 0), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_request_count(cpt_sample_tree(sample)), 2);
    cpt_path_free(path);
    cpt_sample_free(sample);
}

static bool draw(const struct cpt_alloc *alloc)
{
    static const double threshold = 1;
    const struct cpt_pairs pairs = {1, 2, 1, &threshold, 1};
    struct cpt_sample *sample = cpt_sample_new(alloc, NULL);
    struct cpt_path *path = path_of("A 10, A;B 3");
    struct cpt_false_rows rows;
    cpt_status status = sample == NULL ? CPT_NO_MEMORY : CPT_OK;

    for (int i = 0; i < 3 && status == CPT_OK; i++) {
        status = cpt_sample_add(sample, path, CPT_WEIGHT_ONE);
    }
    if (status == CPT_OK) {
        status = cpt_sample_pairs(sample, &pairs, &rows, NULL);
    }
    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_path_free(path);
    cpt_sample_free(sample);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(draw);
}

/* Each request as often as it weighs: the deviation is the same, but for n/(n-1). Slow
 * requests weigh 1, as a keep rule leaves them, and others 20. */
static void test_deviations_are_those_of_all_requests(void)
{
    uint64_t state = random_seed("deviations");
    struct cpt_sample *kept = cpt_sample_new(NULL, NULL);
    struct cpt_sample *all = cpt_sample_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    double *kept_ns = calloc(COMPONENTS + 1, sizeof *kept_ns);
    double *all_ns = calloc(COMPONENTS + 1, sizeof *all_ns);

    for (unsigned i = 0; i < 2000; i++) {
        unsigned weight;

        fill_skewed(path, &state);
        weight = cpt_path_sum_ns(path) > 60000000 ? 1 : 20;
        MUST(cpt_sample_add(kept, path, weight * CPT_WEIGHT_ONE) == CPT_OK);
        for (unsigned k = 0; k < weight; k++) {
            MUST(cpt_sample_add(all, path, CPT_WEIGHT_ONE) == CPT_OK);
        }
    }
    MUST(cpt_tree_node_count(cpt_sample_tree(kept)) == COMPONENTS + 1);
    CU_ASSERT_EQUAL(cpt_sample_deviations(kept, kept_ns), CPT_OK);
    CU_ASSERT_EQUAL(cpt_sample_deviations(all, all_ns), CPT_OK);
    for (uint32_t i = 1; i <= COMPONENTS; i++) {
        CU_ASSERT_DOUBLE_EQUAL(kept_ns[i] / all_ns[i], 1, 0.001);
        CU_ASSERT_EQUAL(all_ns[i],
                        cpt_stats_of(cpt_sample_tree(all), i).self.deviation_ns);
    }
    free(kept_ns);
    free(all_ns);
    cpt_path_free(path);
    cpt_sample_free(kept);
    cpt_sample_free(all);
}

extern CU_TestInfo cpt_sample_tests[];
CU_TestInfo cpt_sample_tests[] = {
    {"the predicted number is observed", test_what_is_predicted_is_observed},
    {"rows that vary more are false more often",
     test_rows_that_vary_more_are_false_more_often},
    {"rows that rarely occur are rarely false",
     test_rows_that_hardly_occur_are_hardly_false},
    {"two requests make one pair", test_two_requests_make_one_pair},
    {"the same seed gives the same pairs", test_the_same_seed_gives_the_same_pairs},
    {"impossible samples are refused", test_refuses_what_cannot_be_drawn},
    {"deviations are those of all requests", test_deviations_are_those_of_all_requests},
    {"values have a limit", test_values_have_a_limit},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
