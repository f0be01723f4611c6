/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_diff.c - the difference of two trees, against formulas on tables of requests */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/model_tree.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_diff.h"

#include <math.h>

static struct cpt_diff *diff_of(const struct cpt_tree *base,
                                const struct cpt_tree *other)
{
    struct cpt_diff *diff = NULL;

    CU_ASSERT_EQUAL(cpt_diff_new(NULL, base, other, NULL, &diff, NULL), CPT_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
    return diff;
}

static const char *row_text(const struct cpt_diff *diff, uint32_t index)
{
    static char text[4096];

    (void)cpt_tree_stack_text(cpt_diff_tree(diff), cpt_diff_row_at(diff, index)->node,
                              text, sizeof text);
    return text;
}

static void test_the_largest_change_of_self_time_comes_first(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(
            tree_add_text(base, "A 9, A;B 20, A;C 30, A;gone 2", CPT_WEIGHT_ONE),
            CPT_OK);
        CU_ASSERT_EQUAL(
            tree_add_text(other, "A 9, A;B 25, A;C 28, A;come 7", CPT_WEIGHT_ONE),
            CPT_OK);
    }
    diff = diff_of(base, other);
    CU_ASSERT_EQUAL_FATAL(cpt_diff_row_count(diff), 5);
    CU_ASSERT_STRING_EQUAL(row_text(diff, 0), "A;come");
    CU_ASSERT_STRING_EQUAL(row_text(diff, 1), "A;B");
    CU_ASSERT_STRING_EQUAL(row_text(diff, 2), "A;C");    /* -2, as the next: */
    CU_ASSERT_STRING_EQUAL(row_text(diff, 3), "A;gone"); /* in the order of stacks */
    CU_ASSERT_STRING_EQUAL(row_text(diff, 4), "A");
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->self.delta_ns, 7);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->base_presence, 0);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->new_presence, 1);
    CU_ASSERT_FALSE(cpt_diff_row_at(diff, 0)->is_rare);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 3)->self.delta_ns, -2);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 3)->self.low_ns, -2);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 3)->self.high_ns, -2);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 3)->self.p_value, 0);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 4)->self.p_value, 1);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 4)->inclusive.delta_ns, 8);
    CU_ASSERT_EQUAL(cpt_diff_total(diff)->inclusive.base_ns, 61);
    CU_ASSERT_EQUAL(cpt_diff_total(diff)->inclusive.new_ns, 69);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* Welch's test by the textbook, with the effective sizes, errors and skewness of the
 * tables; third moments of independent means add up like variances. */
static void check_change(const struct cpt_change *change, struct model_mean base,
                         struct model_mean other)
{
    const double b = (double)(base.error * base.error);
    const double o = (double)(other.error * other.error);
    const double error = sqrt(b + o);
    const double scale = fabs((double)base.mean) + fabs((double)other.mean);

    CU_ASSERT_DOUBLE_EQUAL(change->delta_ns, (double)(other.mean - base.mean),
                           1e-12 * scale);
    CU_ASSERT_DOUBLE_EQUAL(change->error_ns, error, 1e-11 * error + 1e-7);
    if (error > 1e-6) {
        const double degrees = (b + o) * (b + o) /
                               (b * b / (double)(base.effective_count - 1) +
                                o * o / (double)(other.effective_count - 1));
        const double skewness = (double)((powl(other.error, 3) * other.skewness -
                                          powl(base.error, 3) * base.skewness) /
                                         powl((long double)error, 3));
        double low = 0;
        double high = 0;

        CU_ASSERT_DOUBLE_EQUAL(change->degrees, degrees, 1e-9 * degrees);
        cpt_interval(change->delta_ns, error, skewness, degrees, 0.95, &low, &high);
        CU_ASSERT_DOUBLE_EQUAL(change->low_ns, low, 1e-7 * (high - low));
        CU_ASSERT_DOUBLE_EQUAL(change->high_ns, high, 1e-7 * (high - low));
        CU_ASSERT_DOUBLE_EQUAL(change->p_value,
                               cpt_p_value(change->delta_ns, error, skewness, degrees),
                               1e-8);
        CU_ASSERT_EQUAL(change->low_ns > 0 || change->high_ns < 0,
                        change->p_value < 0.05);
    }
}

/* The smaller sample has at least 1 - n/N of the variance of the larger one, and then
 * its skewness is unknown. */
static void share_variance(struct model_mean *left, struct model_mean *right)
{
    struct model_mean *smaller =
        left->effective_count < right->effective_count ? left : right;
    const struct model_mean *larger = smaller == left ? right : left;
    const long double error =
        larger->error * sqrtl(larger->effective_count / smaller->effective_count - 1);

    if (larger->effective_count > smaller->effective_count && error > smaller->error) {
        smaller->error = error;
        smaller->skewness = NAN; /* of no use: the error is not that of its mean */
    }
}

static void check_row(const struct cpt_diff *diff, uint32_t index,
                      const struct model *const models[2])
{
    static const uint64_t none[MODEL_REQUESTS_MAX];
    const struct cpt_diff_row *row = cpt_diff_row_at(diff, index);
    struct model_mean self[2];
    struct model_mean inclusive[2];

    for (int i = 0; i < 2; i++) {
        const unsigned column = model_find(models[i], row_text(diff, index));
        const int is_there = column < models[i]->stack_count;

        self[i] = model_mean_of(models[i], is_there ? models[i]->self[column] : none);
        inclusive[i] =
            model_mean_of(models[i], is_there ? models[i]->inclusive[column] : none);
    }
    share_variance(&self[0], &self[1]);
    share_variance(&inclusive[0], &inclusive[1]);
    check_change(&row->self, self[0], self[1]);
    check_change(&row->inclusive, inclusive[0], inclusive[1]);
}

static void test_every_row_is_welch_on_the_tables_of_requests(void)
{
    struct model *const models[2] = {cpt_alloc_zeroed(NULL, sizeof(struct model)),
                                     cpt_alloc_zeroed(NULL, sizeof(struct model))};
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t state = random_seed("diff");

    for (int round = 0; round < 30; round++) {
        struct cpt_tree *trees[2];
        struct cpt_diff *diff = NULL;

        for (int side = 0; side < 2; side++) {
            trees[side] = cpt_tree_new(NULL, NULL);
            model_reset(models[side]);
            for (uint64_t i = 2 + random_below(&state, 40); i-- > 0;) {
                const cpt_weight weight =
                    CPT_WEIGHT_ONE + random_next(&state) % (1U << 24);

                path_random(path, &state, 8, 1000000);
                model_add(models[side], path, weight);
                CU_ASSERT_EQUAL(cpt_tree_add(trees[side], path, weight), CPT_OK);
            }
        }
        diff = diff_of(trees[0], trees[1]);
        for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
            const struct model *const both[2] = {models[0], models[1]};

            check_row(diff, i, both);
            if (i != 0) {
                CU_ASSERT_TRUE(fabs(cpt_diff_row_at(diff, i - 1)->self.delta_ns) >=
                               fabs(cpt_diff_row_at(diff, i)->self.delta_ns));
            }
        }
        cpt_diff_free(diff);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    cpt_path_free(path);
    cpt_alloc_free(NULL, models[0]);
    cpt_alloc_free(NULL, models[1]);
}

/* The changes of self times add up to the change of the mean latency. */
static void test_self_changes_add_up(void)
{
    uint64_t state = random_seed("sum of changes");
    struct cpt_tree *base = tree_random(&state, 50);
    struct cpt_tree *other = tree_random(&state, 60);
    struct cpt_diff *diff = diff_of(base, other);
    struct cpt_diff *back = diff_of(other, base);
    double sum = 0;

    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        sum += cpt_diff_row_at(diff, i)->self.delta_ns;
        CU_ASSERT_EQUAL(cpt_diff_row_at(diff, i)->self.delta_ns,
                        -cpt_diff_row_at(back, i)->self.delta_ns);
        CU_ASSERT_EQUAL(cpt_diff_row_at(diff, i)->self.low_ns,
                        -cpt_diff_row_at(back, i)->self.high_ns);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum, cpt_diff_total(diff)->inclusive.delta_ns, 1e-3);
    cpt_diff_free(diff);
    cpt_diff_free(back);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* --- Against chance --- */

/* A number between 0 and 1. */
static double random_unit(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* p of the difference of two means, by permuting the labels: without assumptions. */
static double permutation_p(const double *values, size_t count, size_t base_count,
                            uint64_t *state)
{
    enum { SHUFFLES = 9999 };

    double shuffled[64];
    double sum = 0;
    double base = 0;
    unsigned as_far = 1;

    for (size_t i = 0; i < count; i++) {
        shuffled[i] = values[i];
        sum += values[i];
        base += i < base_count ? values[i] : 0;
    }
    /* with equal sizes the difference of means follows from the sum of one side */
    for (int round = 0; round < SHUFFLES; round++) {
        double half = 0;

        for (size_t i = 0; i < base_count; i++) {
            const size_t k = i + random_below(state, count - i);
            const double swap = shuffled[k];

            shuffled[k] = shuffled[i];
            shuffled[i] = swap;
            half += swap;
        }
        as_far += fabs(2 * half - sum) >= fabs(2 * base - sum) - 1e-6;
    }
    return (double)as_far / (SHUFFLES + 1);
}

static void test_p_values_are_those_of_permutations(void)
{
    enum { REQUESTS = 24 };

    uint64_t state = random_seed("permutations");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 25; round++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        const double shift = (double)random_below(&state, 5) * 40;
        double values[REQUESTS];
        struct cpt_diff *diff = NULL;

        for (int i = 0; i < REQUESTS; i++) {
            const double value = 1000 + 100 * cpt_normal_quantile(random_unit(&state)) +
                                 (i >= REQUESTS / 2 ? shift : 0);
            char text[64];

            (void)snprintf(text, sizeof text, "A %.0f", value);
            values[i] = strtod(text + 2, NULL);
            CU_ASSERT_EQUAL(
                tree_add_text(trees[i >= REQUESTS / 2], text, CPT_WEIGHT_ONE), CPT_OK);
        }
        diff = diff_of(trees[0], trees[1]);
        CU_ASSERT_DOUBLE_EQUAL(cpt_diff_row_at(diff, 0)->self.p_value,
                               permutation_p(values, REQUESTS, REQUESTS / 2, &state),
                               0.035);
        cpt_diff_free(diff);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    cpt_path_free(path);
}

/* A request of a service of 40 components, some rare, all skewed. */
static void fill_skewed(struct cpt_path *path, uint64_t *state)
{
    cpt_path_reset(path);
    for (unsigned i = 0; i < 40; i++) {
        const double presence = i < 8 ? 1 : 1.0 / (i - 6);
        const double scale = 1e6 * (1 + i % 5);
        char name[16];
        uint32_t frame = 0;

        (void)snprintf(name, sizeof name, "c%u", i);
        if (random_unit(state) < presence) {
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name),
                                    CPT_KIND_WORK, &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame,
                                    1 + (uint64_t)(scale * exp(cpt_normal_quantile(
                                                               random_unit(state))))) ==
                 CPT_OK);
        }
    }
}

/* Two samples of one population: no row truly differs. */
static void test_what_is_the_same_shows_no_row(void)
{
    uint64_t state = random_seed("A/A");
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned shown = 0;
    unsigned below_5_percent = 0;
    unsigned row_count = 0;

    for (int run = 0; run < 20; run++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_diff *diff = NULL;
        int has_row = 0;

        for (int i = 0; i < 800; i++) {
            fill_skewed(path, &state);
            CU_ASSERT_EQUAL(cpt_tree_add(trees[i & 1], path, CPT_WEIGHT_ONE), CPT_OK);
        }
        diff = diff_of(trees[0], trees[1]);
        for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
            has_row = has_row || cpt_diff_row_at(diff, i)->q_value < 0.01;
            below_5_percent += cpt_diff_row_at(diff, i)->self.p_value < 0.05;
            row_count++;
        }
        shown += (unsigned)has_row;
        cpt_diff_free(diff);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    CU_ASSERT_TRUE(shown <= 1);
    /* and p is calibrated: of 800 rows 40 are below 0.05 */
    CU_ASSERT_DOUBLE_EQUAL((double)below_5_percent / row_count, 0.05, 0.025);
    cpt_path_free(path);
}

/* --- Many rows --- */

/* By definition: the smallest m p / rank over all tests with at least this p. */
static double slow_q(const double *p, size_t count, size_t index)
{
    double least = 1;

    for (size_t i = 0; i < count; i++) {
        size_t rank = 0;

        for (size_t k = 0; k < count; k++) {
            rank += p[k] <= p[i];
        }
        if (p[i] >= p[index] && p[i] * (double)count / (double)rank < least) {
            least = p[i] * (double)count / (double)rank;
        }
    }
    return least;
}

static void test_q_values_are_as_defined(void)
{
    uint64_t state = random_seed("q values");
    double p[40];
    double q[40];

    for (int round = 0; round < 200; round++) {
        const size_t count = random_below(&state, 41);

        for (size_t i = 0; i < count; i++) {
            p[i] = (double)random_below(&state, 1U << random_below(&state, 20)) /
                   (1U << 20);
        }
        CU_ASSERT_EQUAL(cpt_stats_q_values(NULL, p, q, count), CPT_OK);
        for (size_t i = 0; i < count; i++) {
            CU_ASSERT_DOUBLE_EQUAL(q[i], slow_q(p, count, i), 1e-15);
        }
        CU_ASSERT_EQUAL(cpt_stats_q_values(NULL, p, p, count), CPT_OK);
        CU_ASSERT_EQUAL(memcmp(p, q, count * sizeof *p), 0);
    }
}

/* Some of the tests are real: few of the others are called real. */
static void test_false_discoveries_are_as_rare_as_said(void)
{
    enum { TESTS = 200, REAL = 40, ROUNDS = 400 };

    uint64_t state = random_seed("false discoveries");
    double share = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double q[TESTS];
        unsigned called = 0;
        unsigned wrong = 0;

        for (int i = 0; i < TESTS; i++) {
            const double p = (double)(random_next(&state) >> 11) / 9007199254740992.0;

            q[i] = i < REAL ? p * 1e-4 : p;
        }
        CU_ASSERT_EQUAL(cpt_stats_q_values(NULL, q, q, TESTS), CPT_OK);
        for (int i = 0; i < TESTS; i++) {
            called += q[i] < 0.1;
            wrong += i >= REAL && q[i] < 0.1;
        }
        share += called != 0 ? (double)wrong / called : 0;
    }
    /* 0.1 · 160/200 is expected; the mean of 400 varies by less than 0.003 */
    CU_ASSERT_DOUBLE_EQUAL(share / ROUNDS, 0.08, 0.012);
}

/* Frequency and size add up; shares add up to the whole. */
static void test_parts_of_a_change_add_up(void)
{
    uint64_t state = random_seed("parts of a change");

    for (int round = 0; round < 20; round++) {
        struct cpt_tree *base = tree_random(&state, 50);
        struct cpt_tree *other = tree_random(&state, 60);
        struct cpt_diff *diff = diff_of(base, other);
        double share = 0;

        for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
            const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

            CU_ASSERT_DOUBLE_EQUAL(row->frequency_ns + row->size_ns, row->self.delta_ns,
                                   1e-6 * (1 + fabs(row->self.delta_ns)));
            CU_ASSERT_TRUE(row->q_value <= 1 &&
                           (row->q_value >= row->self.p_value || !row->is_tested));
            share += row->share;
        }
        CU_ASSERT_DOUBLE_EQUAL(share, 1, 1e-6);
        CU_ASSERT_EQUAL(cpt_diff_total(diff)->share, 0); /* the root has no self time */
        cpt_diff_free(diff);
        cpt_tree_free(base);
        cpt_tree_free(other);
    }
}

/* Adds @count requests with the path in the text. */
static void add_many(struct cpt_tree *tree, const char *text, unsigned count)
{
    while (count-- > 0) {
        CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_ONE), CPT_OK);
    }
}

static const struct cpt_diff_row *row_named(const struct cpt_diff *diff,
                                            const char *text)
{
    uint32_t i = 0;

    while (i < cpt_diff_row_count(diff) && strcmp(row_text(diff, i), text) != 0) {
        i++;
    }
    MUST(i < cpt_diff_row_count(diff));
    return cpt_diff_row_at(diff, i);
}

static void test_frequency_is_told_from_size(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    add_many(base, "A 10, A;often 100, A;long 100", 50);
    add_many(base, "A 10", 50);
    add_many(other, "A 10, A;often 100, A;long 120", 25);
    add_many(other, "A 10, A;often 100, A;come 8", 50);
    add_many(other, "A 10, A;long 120", 25);
    diff = diff_of(base, other);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;often")->frequency_ns, 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;often")->size_ns, 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;long")->frequency_ns, 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;long")->size_ns, 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;come")->frequency_ns, 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(row_named(diff, "A;long")->share, 10.0 / 39, 1e-9);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* B got slower, so fewer requests wait for C, which did not change. */
static void test_who_lost_the_critical_path_is_marked(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    add_many(base, "A 10, A;B 20, A;D 5", 50);
    add_many(base, "A 10, A;C 20, A;C;E 4, A;D 5", 50);
    add_many(other, "A 10, A;B 40, A;D 3", 90);
    add_many(other, "A 10, A;C 20, A;C;E 4, A;D 3", 10);
    diff = diff_of(base, other);
    CU_ASSERT_TRUE(row_named(diff, "A;C")->lost_path);
    CU_ASSERT_TRUE(row_named(diff, "A;C;E")->lost_path);
    CU_ASSERT_FALSE(row_named(diff, "A;B")->lost_path);
    CU_ASSERT_FALSE(row_named(diff, "A;D")->lost_path); /* it is faster */
    CU_ASSERT_FALSE(row_named(diff, "A")->lost_path);
    cpt_diff_free(diff);
    diff = diff_of(other, base);
    CU_ASSERT_FALSE(row_named(diff, "A;C")->lost_path);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* A stack that is gone without a replacement has not lost the path; and two requests
 * are too few to tell. */
static void test_who_is_merely_gone_has_not_lost_the_path(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    add_many(base, "A 10, A;C 20", 50);
    add_many(other, "A 10", 50);
    diff = diff_of(base, other);
    CU_ASSERT_FALSE(row_named(diff, "A;C")->lost_path);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
    base = cpt_tree_new(NULL, NULL);
    other = cpt_tree_new(NULL, NULL);
    add_many(base, "A 10, A;C 20", 2);
    add_many(other, "A 10, A;B 20", 2);
    diff = diff_of(base, other);
    CU_ASSERT_FALSE(row_named(diff, "A;C")->lost_path);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

/* --- Strata --- */

/* A tree of @count requests whose times vary a little around those in @text. */
static struct cpt_tree *tree_of_page(uint64_t *state, unsigned count, unsigned a_ns,
                                     unsigned b_ns)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    char text[64];

    while (count-- > 0) {
        (void)snprintf(text, sizeof text, "A %u, A;B %u",
                       a_ns + (unsigned)random_below(state, 20),
                       b_ns + (unsigned)random_below(state, 50));
        CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_ONE), CPT_OK);
    }
    return tree;
}

/* More requests of the slow page make the mean larger, but nothing slower. */
static void test_a_change_of_the_mix_is_no_change(void)
{
    uint64_t state = random_seed("strata");
    struct cpt_tree *trees[4] = {
        tree_of_page(&state, 400, 100, 1000), tree_of_page(&state, 100, 100, 9000),
        tree_of_page(&state, 100, 100, 1000), tree_of_page(&state, 400, 100, 9000)};
    const struct cpt_diff_stratum strata[2] = {{trees[0], trees[2], NULL, NULL, 0.8},
                                               {trees[1], trees[3], NULL, NULL, 0.2}};
    struct cpt_diff *diff = NULL;
    const struct cpt_change *change = NULL;
    double mean_ns = 0;
    double square = 0;

    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, 2, NULL, &diff, NULL), CPT_OK);
    change = &row_named(diff, "A;B")->self;
    for (int i = 0; i < 4; i++) {
        const struct cpt_mean mean =
            cpt_stats_of(trees[i], tree_node(trees[i], "A;B")).self;
        const struct cpt_mean opposite =
            cpt_stats_of(trees[i ^ 2], tree_node(trees[i ^ 2], "A;B")).self;
        const double share = i % 2 == 0 ? 0.8 : 0.2;
        const double rest = 1 - mean.effective_count / opposite.effective_count;
        const double deviation_ns =
            fmax(mean.deviation_ns, opposite.deviation_ns * sqrt(fmax(rest, 0)));

        mean_ns += (i < 2 ? -1 : 1) * share * mean.mean_ns;
        square += share * share * deviation_ns * deviation_ns / mean.effective_count;
    }
    CU_ASSERT_DOUBLE_EQUAL(change->delta_ns, mean_ns, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(change->error_ns, sqrt(square), 1e-6);
    CU_ASSERT_TRUE(fabs(change->delta_ns) < 4 * change->error_ns);
    CU_ASSERT_TRUE(fabs(change->delta_ns) < 10);
    CU_ASSERT_TRUE(change->degrees > 100 && change->degrees < 1000);
    CU_ASSERT_DOUBLE_EQUAL(change->base_ns, 0.8 * 1000 + 0.2 * 9000 + 24.5, 5);
    cpt_diff_free(diff);
    CU_ASSERT_EQUAL(cpt_tree_merge(trees[0], trees[1]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(trees[2], trees[3]), CPT_OK);
    diff = diff_of(trees[0], trees[2]); /* without strata it looks bad */
    CU_ASSERT_TRUE(row_named(diff, "A;B")->self.delta_ns > 4000);
    CU_ASSERT_TRUE(row_named(diff, "A;B")->q_value < 0.01);
    cpt_diff_free(diff);
    for (int i = 0; i < 4; i++) {
        cpt_tree_free(trees[i]);
    }
}

static void test_strata_need_requests_and_shares(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree *empty = cpt_tree_new(NULL, NULL);
    struct cpt_diff_stratum strata[2] = {{tree, tree, NULL, NULL, 0.5},
                                         {tree, empty, NULL, NULL, 0.5}};
    struct cpt_diff *diff = NULL;

    add_many(tree, "A 5", 3);
    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, 2, NULL, &diff, NULL),
                    CPT_INVALID);
    strata[1].new_tree = tree;
    strata[1].share = 0;
    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, 2, NULL, &diff, NULL),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, 0, NULL, &diff, NULL),
                    CPT_INVALID);
    strata[1].share = 0.5;
    strata[1].base_inclusive = tree;
    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, 2, NULL, &diff, NULL),
                    CPT_INVALID);
    CU_ASSERT_PTR_NULL(diff);
    cpt_tree_free(tree);
    cpt_tree_free(empty);
}

static void test_one_request_has_no_interval(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;

    CU_ASSERT_EQUAL(tree_add_text(base, "A 9", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(other, "A 10", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(other, "A 10, B 2", CPT_WEIGHT_ONE), CPT_OK);
    diff = diff_of(base, other);
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(cpt_diff_row_at(diff, i)->self.low_ns, -INFINITY);
        CU_ASSERT_EQUAL(cpt_diff_row_at(diff, i)->self.high_ns, INFINITY);
        CU_ASSERT_EQUAL(cpt_diff_row_at(diff, i)->self.p_value, 1);
        CU_ASSERT_TRUE(cpt_diff_row_at(diff, i)->is_rare);
    }
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

static void test_refuses_what_cannot_be_compared(void)
{
    struct cpt_tree *base = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    const struct cpt_diff_options sure = {.struct_bytes = sizeof sure, .confidence = 1};
    struct cpt_diff *diff = NULL;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(tree_add_text(base, "A 9", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_new(NULL, base, other, NULL, &diff, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "the new side has no requests");
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_diff_new(NULL, base, base, &sure, &diff, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "the confidence is 1, it must be between 0 and 1");
    CU_ASSERT_PTR_NULL(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
}

static void test_the_stacks_of_a_diff_are_a_tree_without_times(void)
{
    struct cpt_tree *base = tree_random(&(uint64_t){7}, 9);
    struct cpt_tree *copy = cpt_tree_new(NULL, NULL);
    struct cpt_diff *diff = NULL;
    const struct cpt_tree *stacks;
    struct cpt_tree_walk *walk;
    void *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_diff_new(NULL, base, base, NULL, &diff, NULL), CPT_OK);
    stacks = cpt_diff_tree(diff);
    walk = cpt_tree_walk_new(NULL, stacks, CPT_TREE_BY_TIME);
    CU_ASSERT_PTR_NOT_NULL_FATAL(walk);
    CU_ASSERT_EQUAL(cpt_tree_walk_count(walk), cpt_diff_row_count(diff) + 1);
    for (uint32_t i = 0; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);

        CU_ASSERT_EQUAL(row->inclusive_ns, 0);
        CU_ASSERT_EQUAL(cpt_stats_of(stacks, row->node).present_count, 0);
        CU_ASSERT_EQUAL(cpt_stats_of(stacks, row->node).self.mean_ns, 0);
        CU_ASSERT_EQUAL(cpt_stats_quantile_ns(stacks, row->node, 0.5), 0);
        CU_ASSERT_EQUAL(cpt_stats_bucket_count(stacks, row->node), 0);
    }
    CU_ASSERT_EQUAL(cpt_tree_encode(NULL, stacks, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(copy, stacks), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_request_count(copy), 0);
    cpt_alloc_free(NULL, data);
    cpt_tree_walk_free(walk);
    cpt_diff_free(diff);
    cpt_tree_free(copy);
    cpt_tree_free(base);
}

static bool compare(const struct cpt_alloc *alloc)
{
    struct cpt_tree *base = tree_random(&(uint64_t){5}, 6);
    struct cpt_tree *other = tree_random(&(uint64_t){6}, 6);
    struct cpt_diff *diff = NULL;
    const cpt_status status = cpt_diff_new(alloc, base, other, NULL, &diff, NULL);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_diff_free(diff);
    cpt_tree_free(base);
    cpt_tree_free(other);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(compare);
}

extern CU_TestInfo cpt_diff_tests[];
CU_TestInfo cpt_diff_tests[] = {
    {"the largest change of self time comes first",
     test_the_largest_change_of_self_time_comes_first},
    {"every row is Welch on the tables of requests",
     test_every_row_is_welch_on_the_tables_of_requests},
    {"self changes add up", test_self_changes_add_up},
    {"p values are those of permutations", test_p_values_are_those_of_permutations},
    {"equal trees show no row", test_what_is_the_same_shows_no_row},
    {"q values are as defined", test_q_values_are_as_defined},
    {"false discoveries are as rare as stated",
     test_false_discoveries_are_as_rare_as_said},
    {"parts of a change add up", test_parts_of_a_change_add_up},
    {"frequency and size are distinguished", test_frequency_is_told_from_size},
    {"a stack that lost the critical path is marked",
     test_who_lost_the_critical_path_is_marked},
    {"a stack that is gone has not lost the path",
     test_who_is_merely_gone_has_not_lost_the_path},
    {"a change of the mix is no change", test_a_change_of_the_mix_is_no_change},
    {"strata need requests and shares", test_strata_need_requests_and_shares},
    {"one request has no interval", test_one_request_has_no_interval},
    {"incomparable trees are refused", test_refuses_what_cannot_be_compared},
    {"the stacks of a diff are a tree without times",
     test_the_stacks_of_a_diff_are_a_tree_without_times},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
