/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_change.c - differences between samples of unequal size, where nothing differs
 *
 * Requests of one population are split at random, many times. Each row that such a
 * split shows is false. The population has 40 components: some in each request, some in
 * one of a thousand, all skewed.
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_diff.h"

#include <math.h>

enum { COMPONENTS = 40, POPULATION_MAX = 20000, ROWS_SHOWN_MAX = 10, SPLITS = 400 };

/* A number between 0 and 1. */
static double random_unit(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* A number from the standard normal distribution (Box and Muller). */
static double random_normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(random_unit(state)));

    return radius * cos(6.283185307179586 * random_unit(state));
}

/* A request: every component that it has, with a lognormal time. */
static struct cpt_path *request_new(uint64_t *state)
{
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(path != NULL);
    for (int i = 0; i < COMPONENTS; i++) {
        const double presence = i < 10 ? 1 : exp2(-(i - 9) / 3.0);
        const double sigma = 0.2 + 0.3 * (i % 5);
        uint32_t frame = 0;
        char name[16];

        if (random_unit(state) < presence) {
            (void)snprintf(name, sizeof name, "A: c%d", i);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name),
                                    CPT_KIND_WORK, &frame) == CPT_OK);
            MUST(cpt_path_append_ns(
                     path, frame,
                     1 + (uint64_t)(1e6 * exp(sigma * random_normal(state)))) ==
                 CPT_OK);
        }
    }
    return path;
}

/* How many rows of a split are called real, and how many of these are trusted. */
struct shown {
    unsigned rows;
    unsigned trusted;
};

static struct shown shown_by(const struct cpt_tree *base, const struct cpt_tree *other)
{
    struct cpt_diff *diff = NULL;
    struct shown shown = {0, 0};

    MUST(cpt_diff_new(NULL, base, other, NULL, &diff, NULL) == CPT_OK);
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        shown.rows += row->q_value < 0.01;
        shown.trusted += row->q_value < 0.01 && row->doubt == CPT_DIFF_TRUSTED;
    }
    cpt_diff_free(diff);
    return shown;
}

/* Splits @count requests @splits times, one of @ratio to the small side; returns how
 * many splits show a row. Request i has @weights[i % weight_count]. */
static unsigned splits_shown(unsigned count, unsigned splits, unsigned ratio,
                             const cpt_weight *weights, unsigned weight_count,
                             uint64_t *state)
{
    static struct cpt_path *paths[POPULATION_MAX];
    static cpt_weight weight[POPULATION_MAX];
    unsigned with_rows = 0;

    for (unsigned i = 0; i < count; i++) {
        paths[i] = request_new(state);
        weight[i] = weights[random_below(state, weight_count)] * CPT_WEIGHT_ONE;
    }
    for (unsigned split = 0; split < splits; split++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};

        for (unsigned i = 0; i < count; i++) {
            const size_t side = random_below(state, ratio) == 0;

            MUST(cpt_tree_add(trees[side], paths[i], weight[i]) == CPT_OK);
        }
        if (cpt_tree_request_count(trees[1]) != 0) {
            with_rows += shown_by(trees[0], trees[1]).rows != 0;
        }
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    for (unsigned i = 0; i < count; i++) {
        cpt_path_free(paths[i]);
    }
    return with_rows;
}

/* With CPT_SIMULATIONS=full in the environment there are ten times as many splits. */
static void check_splits(unsigned count, unsigned splits_full, unsigned ratio)
{
    const char *effort = getenv("CPT_SIMULATIONS");
    const unsigned splits =
        effort != NULL && strcmp(effort, "full") == 0 ? splits_full : splits_full / 10;
    static const cpt_weight weights[3][3] = {{1}, {1, 2, 10}, {1, 1000}};
    static const unsigned weight_counts[3] = {1, 3, 2};
    uint64_t state = random_seed("unequal splits");

    for (int i = 0; i < 3; i++) {
        const unsigned shown =
            splits_shown(count, splits, ratio, weights[i], weight_counts[i], &state);

        printf(" [1:%u of %u, %u weights: %u of %u splits]", ratio - 1, count,
               weight_counts[i], shown, splits);
        /* and one more in a short run, where it would be a small share of a long one */
        CU_ASSERT_TRUE(shown * SPLITS <= ROWS_SHOWN_MAX * splits ||
                       (splits < splits_full && shown == 1));
    }
}

static void test_a_small_sample_of_the_same_shows_no_row(void)
{
    check_splits(2000, SPLITS, 100);
}

static void test_nor_does_a_small_sample_of_many(void)
{
    check_splits(20000, SPLITS, 100);
}

static void test_nor_do_samples_of_other_ratios(void)
{
    check_splits(2000, SPLITS, 2);
    check_splits(2000, SPLITS, 3);
    check_splits(2000, SPLITS, 10);
}

/* --- A selection by one component --- */

/* The requests in which component @chosen took longest against the others: whether a
 * component is called changed that has nothing to do with it. */
static int accuses_others(struct cpt_path *const *paths, unsigned count, int chosen,
                          double limit_ns)
{
    struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL), cpt_tree_new(NULL, NULL)};
    struct cpt_diff *diff = NULL;
    char wanted[16];
    int accused = 0;

    (void)snprintf(wanted, sizeof wanted, "A: c%d", chosen);
    for (unsigned i = 0; i < count; i++) { /* segment @chosen is in every path */
        const size_t is_slow =
            (double)cpt_path_segment(paths[i], (size_t)chosen)->duration_ns > limit_ns;

        MUST(cpt_tree_add(trees[is_slow], paths[i], CPT_WEIGHT_ONE) == CPT_OK);
    }
    MUST(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL) == CPT_OK);
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);
        char text[32];

        (void)cpt_tree_stack_text(cpt_diff_tree(diff), row->node, text, sizeof text);
        accused |= strcmp(text, wanted) != 0 && row->q_value < 0.01;
    }
    cpt_diff_free(diff);
    cpt_tree_free(trees[0]);
    cpt_tree_free(trees[1]);
    return accused;
}

static void test_a_selection_by_one_component_accuses_no_other(void)
{
    enum { REQUESTS = 4000, POPULATIONS = 10 };

    static struct cpt_path *paths[REQUESTS];
    uint64_t state = random_seed("slow component");
    unsigned accused = 0;

    for (int population = 0; population < POPULATIONS; population++) {
        for (int i = 0; i < REQUESTS; i++) {
            paths[i] = request_new(&state);
        }
        for (int chosen = 0; chosen < 10; chosen++) {
            const double sigma = 0.2 + 0.3 * (chosen % 5);

            accused += (unsigned)accuses_others(paths, REQUESTS, chosen,
                                                1e6 * exp(2.33 * sigma)); /* 1 % */
        }
        for (int i = 0; i < REQUESTS; i++) {
            cpt_path_free(paths[i]);
        }
    }
    printf(" [%u of %d selections accuse others]", accused, 10 * POPULATIONS);
    CU_ASSERT_TRUE(accused <= 3);
}

/* --- Power --- */

enum { POWER_SETS = 200, POWER_SIDE = 2000, POWER_COMPONENTS = 30 };

/* Welch and Benjamini-Hochberg by the textbook: the q value of test @index. */
static double textbook_q(const double p[POWER_COMPONENTS], int index)
{
    double least = 1;

    for (int i = 0; i < POWER_COMPONENTS; i++) {
        int rank = 0;

        for (int k = 0; k < POWER_COMPONENTS; k++) {
            rank += p[k] <= p[i];
        }
        if (p[i] >= p[index]) {
            least = fmin(least, p[i] * POWER_COMPONENTS / rank);
        }
    }
    return least;
}

static double textbook_p(const double *sums, const double *squares)
{
    const double n = POWER_SIDE;
    double errors[2];

    for (int i = 0; i < 2; i++) {
        errors[i] = (squares[i] - sums[i] * sums[i] / n) / (n - 1) / n;
    }
    return 2 * cpt_student_cdf(
                   -fabs(sums[1] - sums[0]) / n / sqrt(errors[0] + errors[1]),
                   (errors[0] + errors[1]) * (errors[0] + errors[1]) /
                       (errors[0] * errors[0] + errors[1] * errors[1]) * (n - 1));
}

/* One data set: component 0 is 2 % slower in the new one. Whether it is found by the
 * textbook, and by us. */
static void find_change(uint64_t *state, unsigned found[2])
{
    struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL), cpt_tree_new(NULL, NULL)};
    struct cpt_path *path = cpt_path_new(NULL);
    double sums[POWER_COMPONENTS][2] = {{0}};
    double squares[POWER_COMPONENTS][2] = {{0}};
    double p[POWER_COMPONENTS];
    struct cpt_diff *diff = NULL;
    char text[16];

    for (int request = 0; request < 2 * POWER_SIDE; request++) {
        const int side = request & 1;

        cpt_path_reset(path);
        for (int i = 0; i < POWER_COMPONENTS; i++) {
            const double time =
                (i == 0 && side == 1 ? 1.02e6 : 1e6) * exp(0.2 * random_normal(state));
            uint32_t frame = 0;

            (void)snprintf(text, sizeof text, "c%d", i);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(text),
                                    CPT_KIND_WORK, &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame, (uint64_t)time) == CPT_OK);
            sums[i][side] += floor(time);
            squares[i][side] += floor(time) * floor(time);
        }
        MUST(cpt_tree_add(trees[side], path, CPT_WEIGHT_ONE) == CPT_OK);
    }
    for (int i = 0; i < POWER_COMPONENTS; i++) {
        p[i] = textbook_p(sums[i], squares[i]);
    }
    found[0] += textbook_q(p, 0) < 0.05;
    MUST(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL) == CPT_OK);
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        (void)cpt_tree_stack_text(cpt_diff_tree(diff), row->node, text, sizeof text);
        found[1] += strcmp(text, "c0") == 0 && row->q_value < 0.05;
    }
    cpt_diff_free(diff);
    cpt_path_free(path);
    cpt_tree_free(trees[0]);
    cpt_tree_free(trees[1]);
}

static void test_small_changes_are_found_as_often_as_by_welch(void)
{
    uint64_t state = random_seed("power");
    unsigned found[2] = {0, 0};

    for (int i = 0; i < POWER_SETS; i++) {
        find_change(&state, found);
    }
    printf(" [found %u of %d, by the textbook %u]", found[1], POWER_SETS, found[0]);
    CU_ASSERT_TRUE(found[1] + POWER_SETS / 50 >= found[0]);
    CU_ASSERT_TRUE(found[0] > POWER_SETS / 4 &&
                   found[0] < POWER_SETS); /* it can fail */
}

/* A canary of a hundredth: a component that doubled, and one that is new, are found. */
static void test_a_small_sample_shows_a_large_change(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    uint64_t state = random_seed("canary");
    struct cpt_diff *diff = NULL;
    unsigned found = 0;

    for (int i = 0; i < 10100; i++) {
        const int is_new = i % 101 == 0;
        char text[96];

        (void)snprintf(text, sizeof text, "A %.0f, B %.0f%s",
                       1e6 * exp(0.5 * random_normal(&state)),
                       (is_new ? 2e6 : 1e6) * exp(0.5 * random_normal(&state)),
                       is_new ? ", C 1000" : "");
        MUST(tree_add_text(is_new ? other : base, text, CPT_WEIGHT_ONE) == CPT_OK);
    }
    MUST(cpt_diff_new(NULL, base, other, NULL, &diff, NULL) == CPT_OK);
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        found += row->q_value < 0.001 && row->doubt == CPT_DIFF_TRUSTED;
    }
    CU_ASSERT_EQUAL(found, 2);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* --- Trust --- */

static enum cpt_diff_doubt doubt_of(struct cpt_tree *base, struct cpt_tree *other)
{
    struct cpt_diff *diff = NULL;
    enum cpt_diff_doubt doubt;

    MUST(cpt_diff_new(NULL, base, other, NULL, &diff, NULL) == CPT_OK);
    MUST(cpt_diff_row_count(diff) == 1);
    doubt = cpt_diff_row_at(diff, 0)->doubt;
    CU_ASSERT_EQUAL(doubt != CPT_DIFF_TRUSTED, cpt_diff_row_at(diff, 0)->is_rare);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
    return doubt;
}

/* @count requests, of which @heavy weigh a thousand, and @present have the stack. */
static struct cpt_tree *tree_of(unsigned count, unsigned heavy, unsigned present)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    for (unsigned i = 0; i < count; i++) {
        MUST(tree_add_text(tree, i < present ? "A 5" : "",
                           i < heavy ? 1000 * CPT_WEIGHT_ONE : CPT_WEIGHT_ONE) ==
             CPT_OK);
    }
    return tree;
}

static void test_trust_rests_on_effective_counts_of_requests(void)
{
    CU_ASSERT_EQUAL(doubt_of(tree_of(100, 0, 100), tree_of(100, 0, 100)),
                    CPT_DIFF_TRUSTED);
    CU_ASSERT_EQUAL(doubt_of(tree_of(2, 0, 2), tree_of(2, 0, 2)),
                    CPT_DIFF_FEW_REQUESTS);
    CU_ASSERT_EQUAL(doubt_of(tree_of(1000, 0, 1000), tree_of(29, 0, 29)),
                    CPT_DIFF_FEW_REQUESTS);
    CU_ASSERT_EQUAL(doubt_of(tree_of(1000, 9, 1000), tree_of(1000, 0, 1000)),
                    CPT_DIFF_FEW_REQUESTS); /* nine decide */
    CU_ASSERT_EQUAL(doubt_of(tree_of(1000, 0, 29), tree_of(1000, 0, 0)), CPT_DIFF_RARE);
    CU_ASSERT_EQUAL(doubt_of(tree_of(1000, 0, 30), tree_of(1000, 0, 0)),
                    CPT_DIFF_TRUSTED);
    CU_ASSERT_STRING_EQUAL(cpt_diff_doubt_text(CPT_DIFF_TRUSTED), "");
    CU_ASSERT_STRING_NOT_EQUAL(cpt_diff_doubt_text(CPT_DIFF_RARE), "");
}

/* Rows that hardly any request has are not tested, and weaken no other test. */
static void test_hopeless_rows_are_not_tested(void)
{
    struct cpt_tree *base = tree_of(100, 0, 100);
    struct cpt_tree *other = tree_of(100, 0, 100);
    struct cpt_diff *diff = NULL;

    for (int i = 0; i < 50; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "A 5, rare%d 7", i / 5);
        MUST(tree_add_text(base, text, CPT_WEIGHT_ONE) == CPT_OK);
        MUST(tree_add_text(other, i % 5 != 0 ? text : "A 5", CPT_WEIGHT_ONE) == CPT_OK);
    }
    MUST(cpt_diff_new(NULL, base, other, NULL, &diff, NULL) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_row_count(diff), 11);
    CU_ASSERT_EQUAL(cpt_diff_tested_count(diff), 1);
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        CU_ASSERT_EQUAL(row->is_tested,
                        row->base_present_count + row->new_present_count >=
                            CPT_DIFF_TESTED_MIN);
        CU_ASSERT_TRUE(row->is_tested || row->q_value == 1);
    }
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* Samples of 1,900 and 100 skewed requests; in the small one all times are shorter, or
 * longer, by what the first such pair says is detectable: at least three of four are
 * found, also improvements. */
static void check_canary(int sign, uint64_t *state)
{
    enum { SETS = 100, BASE = 1900, CANARY = 100 };

    double shift_ns = 0;
    unsigned found = 0;

    for (int set = 0; set <= SETS; set++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_diff *diff = NULL;
        char text[32];

        for (int i = 0; i < BASE + CANARY; i++) {
            const int side = i >= BASE;

            (void)snprintf(text, sizeof text, "A %.0f",
                           1e7 + (side ? sign * shift_ns : 0) +
                               1e6 * exp(random_normal(state)));
            MUST(tree_add_text(trees[side], text, CPT_WEIGHT_ONE) == CPT_OK);
        }
        MUST(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL) == CPT_OK);
        shift_ns = set == 0 ? cpt_diff_row_at(diff, 0)->detectable_ns : shift_ns;
        found += set != 0 && cpt_diff_row_at(diff, 0)->q_value < CPT_DIFF_DETECTABLE_Q;
        cpt_diff_free(diff);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    printf(" [canary %s: %u of %d]", sign < 0 ? "faster" : "slower", found, SETS);
    CU_ASSERT_TRUE(found >= SETS * 2 / 3);
}

static void test_a_canary_shows_improvements_as_it_says(void)
{
    uint64_t state = random_seed("detectable in a canary");

    check_canary(-1, &state);
    check_canary(1, &state);
}

/* Frames without time of their own are not tested. */
static void test_frames_that_only_call_others_are_not_tested(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    for (int i = 0; i < 100; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "A;B;C %d", 100 + i % 7);
        MUST(tree_add_text(i & 1 ? base : other, text, CPT_WEIGHT_ONE) == CPT_OK);
    }
    MUST(cpt_diff_new(NULL, base, other, NULL, &diff, NULL) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_row_count(diff), 3);
    CU_ASSERT_EQUAL(cpt_diff_tested_count(diff), 1);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* Of changes as large as the detectable one, four of five are found. */
static void test_detectable_changes_are_found(void)
{
    enum { SETS = 400 };

    uint64_t state = random_seed("detectable");
    unsigned found = 0;

    for (int set = 0; set < SETS; set++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_diff *diff = NULL;
        char text[32];

        /* standard deviation 10,000, n = 100: the error is 1,414, times 1.97 + 0.84 */
        for (int i = 0; i < 200; i++) {
            (void)snprintf(text, sizeof text, "A %.0f",
                           1e6 + (i & 1) * 3980 + 1e4 * random_normal(&state));
            MUST(tree_add_text(trees[i & 1], text, CPT_WEIGHT_ONE) == CPT_OK);
        }
        MUST(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL) == CPT_OK);
        CU_ASSERT_DOUBLE_EQUAL(cpt_diff_row_at(diff, 0)->detectable_ns, 3980, 700);
        found += cpt_diff_row_at(diff, 0)->q_value < CPT_DIFF_DETECTABLE_Q;
        cpt_diff_free(diff);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    CU_ASSERT_DOUBLE_EQUAL((double)found / SETS, 0.8, 0.06);
}

CU_TestInfo cpt_change_tests[] = {
    {"a small sample of the same shows no row",
     test_a_small_sample_of_the_same_shows_no_row},
    {"nor does a small sample of many", test_nor_does_a_small_sample_of_many},
    {"nor do samples of other ratios", test_nor_do_samples_of_other_ratios},
    {"a selection by one component accuses no other",
     test_a_selection_by_one_component_accuses_no_other},
    {"small changes are found as often as by Welch",
     test_small_changes_are_found_as_often_as_by_welch},
    {"a small sample shows a large change", test_a_small_sample_shows_a_large_change},
    {"trust rests on effective counts of requests",
     test_trust_rests_on_effective_counts_of_requests},
    {"hopeless rows are not tested", test_hopeless_rows_are_not_tested},
    {"detectable changes are found", test_detectable_changes_are_found},
    {"a canary shows improvements as it says",
     test_a_canary_shows_improvements_as_it_says},
    {"frames that only call others are not tested",
     test_frames_that_only_call_others_are_not_tested},
    CU_TEST_INFO_NULL,
};
