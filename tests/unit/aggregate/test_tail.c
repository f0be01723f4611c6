/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_tail.c - tails against sums over all requests, and false alarms by simulation
 */
#include "tests/support/suites.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_quantile.h"
#include "aggregate/cpt_tail.h"

#include <math.h>

enum { STACKS = 5, REQUESTS_MAX = 4000 };

static const char *const names[STACKS] = {"a", "b", "c", "d", "e"};

/* A request, and a set of them. */
struct request {
    uint64_t ns[STACKS];
    uint64_t latency_ns;
    unsigned weight;
};

struct set {
    struct request requests[REQUESTS_MAX];
    int count;
    struct cpt_tree *trees[3]; /* tail, rest, edge */
};

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static int compare(const void *left, const void *right)
{
    const struct request *a = left;
    const struct request *b = right;

    return (a->latency_ns > b->latency_ns) - (a->latency_ns < b->latency_ns);
}

static void add(struct cpt_tree *tree, const struct request *request)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (int i = 0; i < STACKS; i++) {
        uint32_t frame = 0;

        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(names[i]), 0,
                                &frame) == CPT_OK);
        MUST(cpt_path_append_ns(path, frame, request->ns[i]) == CPT_OK);
    }
    MUST(cpt_tree_add(tree, path, request->weight * CPT_WEIGHT_ONE) == CPT_OK);
    cpt_path_free(path);
}

/* The first of the sorted requests with more than @share of the weight below it. */
static int first_above(const struct set *set, double share)
{
    double all = 0;
    double below = 0;
    int at = 0;

    for (int i = 0; i < set->count; i++) {
        all += set->requests[i].weight;
    }
    while (at < set->count && below + 0.5 < share * all) {
        below += set->requests[at++].weight;
    }
    return at;
}

/* Cuts the set at @quantile. */
static struct cpt_tail_set cut(struct set *set, double quantile)
{
    int border;
    int edge;

    qsort(set->requests, (size_t)set->count, sizeof set->requests[0], compare);
    border = first_above(set, quantile);
    edge = first_above(set, 2 * quantile - 1);
    for (int i = 0; i < 3; i++) {
        set->trees[i] = cpt_tree_new(NULL, NULL);
    }
    for (int i = 0; i < set->count; i++) {
        add(set->trees[i >= border ? 0 : 1], &set->requests[i]);
        if (i < border && i >= edge) {
            add(set->trees[2], &set->requests[i]);
        }
    }
    return (struct cpt_tail_set){set->trees[0], set->trees[1], set->trees[2]};
}

static void clear(struct set *set)
{
    for (int i = 0; i < 3; i++) {
        cpt_tree_free(set->trees[i]);
    }
}

static void finish(struct request *request)
{
    request->latency_ns = 0;
    for (int i = 0; i < STACKS; i++) {
        request->latency_ns += request->ns[i];
    }
}

/* Four lognormal stacks; the fifth takes 500 ms in one of @one_in requests. */
static void fill(struct set *set, int count, uint64_t *state, int one_in, double ns)
{
    set->count = count;
    for (int i = 0; i < count; i++) {
        struct request *request = &set->requests[i];

        request->weight = 1;
        for (int k = 0; k < STACKS - 1; k++) {
            request->ns[k] =
                (uint64_t)(1e6 * exp(0.5 * cpt_normal_quantile(uniform(state))));
        }
        request->ns[STACKS - 1] =
            one_in != 0 && random_below(state, (uint64_t)one_in) == 0 ? (uint64_t)ns
                                                                      : 0;
        finish(request);
    }
}

/* What a rule keeps of @count requests: those above @slow_ns, and one in @one_in of the
 * others. */
static void fill_kept(struct set *set, int count, uint64_t *state, double slow_ns,
                      unsigned one_in)
{
    static struct set all;
    int kept = 0;

    for (int i = 0; i < count; i += all.count) {
        fill(&all, count - i < REQUESTS_MAX ? count - i : REQUESTS_MAX, state, 0, 0);
        for (int k = 0; k < all.count; k++) {
            const bool is_slow = (double)all.requests[k].latency_ns > slow_ns;

            if (is_slow || random_below(state, one_in) == 0) {
                MUST(kept < REQUESTS_MAX);
                set->requests[kept] = all.requests[k];
                set->requests[kept++].weight = is_slow ? 1 : one_in;
            }
        }
    }
    set->count = kept;
}

static struct cpt_tail *tail_of(struct set *base, struct set *other, double quantile)
{
    const struct cpt_tail_options options = {.struct_bytes = sizeof options,
                                             .quantile = quantile};
    const struct cpt_tail_set sets[2] = {cut(base, quantile), cut(other, quantile)};
    struct cpt_tail *tail = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_tail_new(NULL, &sets[0], &sets[1], &options, &tail, NULL),
                          CPT_OK);
    clear(base);
    clear(other);
    return tail;
}

static const struct cpt_tail_row *row_of(const struct cpt_tail *tail, const char *name)
{
    for (uint32_t i = 0; i < cpt_tail_row_count(tail); i++) {
        const struct cpt_tail_row *row = cpt_tail_row_at(tail, i);

        if (cpt_bytes_equal(cpt_tree_name(cpt_tail_tree(tail), row->node),
                            cpt_bytes_of(name))) {
            return row;
        }
    }
    return NULL;
}

static double mean_of(const struct set *set, int stack, int from, int to)
{
    double sum = 0;

    for (int i = from; i < to; i++) {
        sum += (double)set->requests[i].ns[stack];
    }
    return sum / (to - from);
}

static void test_differences_are_those_of_means_and_add_up(void)
{
    static struct set sets[2];
    uint64_t state = random_seed("tails");

    for (int round = 0; round < 20; round++) {
        struct cpt_tail *tail;
        double sums[3] = {0, 0, 0};

        fill(&sets[0], 200, &state, 20, 5e7);
        fill(&sets[1], 100, &state, 0, 0);
        tail = tail_of(&sets[0], &sets[1], 0.9);
        for (int i = 0; i < STACKS; i++) {
            const struct cpt_tail_row *row = row_of(tail, names[i]);
            double delta_ns;

            if (row == NULL) {
                CU_ASSERT_EQUAL(mean_of(&sets[0], i, 0, 200), 0);
                continue;
            }
            delta_ns = mean_of(&sets[0], i, 180, 200) - mean_of(&sets[0], i, 0, 180);
            CU_ASSERT_DOUBLE_EQUAL(row->base.self.delta_ns, delta_ns, 1e-3);
            delta_ns = mean_of(&sets[1], i, 90, 100) - mean_of(&sets[1], i, 0, 90);
            CU_ASSERT_DOUBLE_EQUAL(row->other.self.delta_ns, delta_ns, 1e-3);
            delta_ns = mean_of(&sets[1], i, 90, 100) - mean_of(&sets[0], i, 180, 200);
            CU_ASSERT_DOUBLE_EQUAL(row->tails.self.delta_ns, delta_ns, 1e-3);
            sums[0] += row->base.self.delta_ns;
            sums[1] += row->other.self.delta_ns;
            sums[2] += row->tails.self.delta_ns;
        }
        CU_ASSERT_DOUBLE_EQUAL(sums[0], cpt_tail_total(tail)->base.self.delta_ns, 1e-2);
        CU_ASSERT_DOUBLE_EQUAL(sums[1], cpt_tail_total(tail)->other.self.delta_ns,
                               1e-2);
        CU_ASSERT_DOUBLE_EQUAL(sums[2], cpt_tail_total(tail)->tails.self.delta_ns,
                               1e-2);
        cpt_tail_free(tail);
    }
}

/* Counts of false alarms. */
struct alarms {
    int total; /* the mean latency of the tails at p < 0.05 */
    int plain; /* the same if the border were not counted */
    int rows;  /* a row of the tails at q < 0.05 */
    int gaps;  /* a row that does not make slow, at q < 0.01, in base or new */
    int tried;
};

static void count_alarms(struct alarms *alarms, const struct cpt_tail *tail,
                         const struct set *sets, int tail_count)
{
    bool has_row = false;
    bool has_gap = false;
    double plain = 0;

    for (int i = 0; i < 2; i++) {
        const int n = sets[i].count;
        double sum = 0;
        double squares = 0;

        for (int k = n - tail_count; k < n; k++) {
            const double ns = (double)sets[i].requests[k].latency_ns;

            sum += ns;
            squares += ns * ns;
        }
        plain += (squares / tail_count - sum / tail_count * sum / tail_count) /
                 (tail_count - 1);
    }
    alarms->plain +=
        fabs(cpt_tail_total(tail)->tails.self.delta_ns) > 1.96 * sqrt(plain);
    alarms->total += cpt_tail_total(tail)->tails.self.p_value < 0.05;
    for (uint32_t i = 0; i < cpt_tail_row_count(tail); i++) {
        const struct cpt_tail_row *row = cpt_tail_row_at(tail, i);
        const bool makes_slow = cpt_bytes_equal(
            cpt_tree_name(cpt_tail_tree(tail), row->node), cpt_bytes_of("e"));

        has_row = has_row || (row->tails.q_value < 0.05 && !row->tails.is_rare);
        has_gap = has_gap ||
                  (!makes_slow && row->base.q_value < 0.01 && !row->base.is_rare) ||
                  (!makes_slow && row->other.q_value < 0.01 && !row->other.is_rare);
    }
    alarms->rows += has_row;
    alarms->gaps += has_gap;
    alarms->tried++;
}

/*
 * Nothing changed. The tails are cut at their own quantiles, which adds to the error:
 * without that, more than a tenth of the pairs would differ at p < 0.05.
 */
static void test_equal_sets_have_equal_tails(void)
{
    enum { PAIRS = 400 };
    static struct set sets[2];
    uint64_t state = random_seed("equal tails");
    struct alarms alarms = {0};

    for (int pair = 0; pair < PAIRS; pair++) {
        struct cpt_tail *tail;

        fill(&sets[0], 1000, &state, 0, 0);
        fill(&sets[1], 1000, &state, 0, 0);
        tail = tail_of(&sets[0], &sets[1], 0.9);
        count_alarms(&alarms, tail, sets, 100);
        cpt_tail_free(tail);
    }
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\ntails: %d, without the border %d, rows %d of %d", alarms.total,
               alarms.plain, alarms.rows, alarms.tried);
    }
    /* 5 % and three standard errors */
    CU_ASSERT_TRUE(alarms.total <= PAIRS * 0.083);
    CU_ASSERT_TRUE(alarms.rows <= PAIRS * 0.083);
    CU_ASSERT_TRUE(alarms.plain >= PAIRS * 0.1);
}

/*
 * The same of what a keep rule leaves, which takes one in 10 to 200 of the others; its
 * border is below that of the tail, or above it. 5 % and three standard errors.
 */
static void test_equal_kept_sets_have_equal_tails(void)
{
    enum { PAIRS = 200 };
    static const struct {
        double slow_ns;
        unsigned one_in;
        int count;
        double quantile;
    } rules[] = {{7e6, 100, 8000, 0.99}, {7e6, 200, 8000, 0.99}, {8e6, 10, 8000, 0.95}};
    static struct set sets[2];
    uint64_t state = random_seed("equal kept tails");

    for (size_t rule = 0; rule < sizeof rules / sizeof rules[0]; rule++) {
        struct alarms alarms = {0};

        for (int pair = 0; pair < PAIRS; pair++) {
            struct cpt_tail *tail;

            for (int i = 0; i < 2; i++) {
                fill_kept(&sets[i], rules[rule].count, &state, rules[rule].slow_ns,
                          rules[rule].one_in);
            }
            tail = tail_of(&sets[0], &sets[1], rules[rule].quantile);
            count_alarms(&alarms, tail, sets, 10);
            cpt_tail_free(tail);
        }
        if (getenv("CPT_TEST_SHOW") != NULL) {
            printf("\nkept, one in %u: %d, rows %d of %d", rules[rule].one_in,
                   alarms.total, alarms.rows, alarms.tried);
        }
        CU_ASSERT_TRUE(alarms.total <= PAIRS * 0.097);
        CU_ASSERT_TRUE(alarms.rows <= PAIRS * 0.097);
    }
}

/*
 * One stack alone makes requests slow: the others, independent of it, hardly differ
 * between slow requests and others, and must not be accused.
 */
static void test_what_does_not_make_slow_is_not_accused(void)
{
    enum { PAIRS = 200 };
    static struct set sets[2];
    uint64_t state = random_seed("independent stacks");
    struct alarms alarms = {0};

    for (int pair = 0; pair < PAIRS; pair++) {
        struct cpt_tail *tail;

        /* every request of the tail has it, so the tail is a draw at random of those */
        fill(&sets[0], 2000, &state, 10, 5e8);
        fill(&sets[1], 500, &state, 10, 5e8);
        for (int i = 0; i < 2; i++) { /* the border falls between: no selection */
            for (int k = 0; k < sets[i].count; k++) {
                struct request *request = &sets[i].requests[k];

                if (request->ns[4] != 0) {
                    request->ns[4] += (uint64_t)(1e9 * uniform(&state));
                }
                finish(request);
            }
        }
        tail = tail_of(&sets[0], &sets[1], 0.95);
        CU_ASSERT_TRUE(row_of(tail, "e")->base.q_value < 0.001);
        CU_ASSERT_EQUAL(cpt_tail_row_at(tail, 0), row_of(tail, "e"));
        count_alarms(&alarms, tail, sets, 25);
        cpt_tail_free(tail);
    }
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\naccused: %d of %d", alarms.gaps, alarms.tried);
    }
    CU_ASSERT_TRUE(alarms.gaps <= PAIRS * 0.041); /* 2 % and three standard errors */
}

/* The new set has a stack that makes one of 30 requests slow. */
static void test_a_new_reason_is_found(void)
{
    static struct set sets[2];
    uint64_t state = random_seed("a new reason");
    struct cpt_tail *tail;
    const struct cpt_tail_row *row;

    fill(&sets[0], 3000, &state, 0, 0);
    fill(&sets[1], 3000, &state, 30, 2e7);
    tail = tail_of(&sets[0], &sets[1], 0.95);
    row = row_of(tail, "e");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT_EQUAL(row, cpt_tail_row_at(tail, 0));
    CU_ASSERT_TRUE(row->tails.q_value < 0.001 && !row->tails.is_rare);
    CU_ASSERT_TRUE(row->other.q_value < 0.001);
    CU_ASSERT_EQUAL(row->base.self.delta_ns, 0);
    CU_ASSERT_EQUAL(row->base.self.p_value, 1);
    cpt_tail_free(tail);
}

static void test_wrong_sets_are_refused(void)
{
    static struct set set;
    uint64_t state = random_seed("wrong sets");
    struct cpt_tail_options options = {.struct_bytes = sizeof options, .quantile = 0.5};
    struct cpt_tree *empty = cpt_tree_new(NULL, NULL);
    struct cpt_tail *tail = NULL;
    struct cpt_error error = {0};
    struct cpt_tail_set good;
    struct cpt_tail_set bad;

    fill(&set, 40, &state, 0, 0);
    good = cut(&set, 0.5);
    bad = good;
    bad.tail = empty;
    CU_ASSERT_EQUAL(cpt_tail_new(NULL, &good, &bad, &options, &tail, &error),
                    CPT_INVALID);
    bad = good;
    bad.rest = empty;
    CU_ASSERT_EQUAL(cpt_tail_new(NULL, &bad, &good, &options, &tail, &error),
                    CPT_INVALID);
    bad = good;
    bad.edge = empty; /* allowed */
    CU_ASSERT_EQUAL(cpt_tail_new(NULL, &bad, &good, &options, &tail, &error), CPT_OK);
    cpt_tail_free(tail);
    options.quantile = 1;
    CU_ASSERT_EQUAL(cpt_tail_new(NULL, &good, &good, &options, &tail, &error),
                    CPT_INVALID);
    clear(&set);
    cpt_tree_free(empty);
}

static struct set memory_set;
static struct cpt_tail_set memory_parts;

static bool compare_with(const struct cpt_alloc *alloc)
{
    const struct cpt_tail_options options = {.struct_bytes = sizeof options,
                                             .quantile = 0.5};
    struct cpt_tail *tail = NULL;

    if (cpt_tail_new(alloc, &memory_parts, &memory_parts, &options, &tail, NULL) !=
        CPT_OK) {
        return false;
    }
    cpt_tail_free(tail);
    return true;
}

static void test_each_refused_allocation_is_survived(void)
{
    uint64_t state = random_seed("memory");

    fill(&memory_set, 40, &state, 4, 1e7);
    memory_parts = cut(&memory_set, 0.5);
    each_allocation_failure(compare_with);
    clear(&memory_set);
}

CU_TestInfo cpt_tail_tests[] = {
    {"differences are those of means, and add up",
     test_differences_are_those_of_means_and_add_up},
    {"equal sets have equal tails", test_equal_sets_have_equal_tails},
    {"equal kept sets have equal tails", test_equal_kept_sets_have_equal_tails},
    {"what does not make slow is not accused",
     test_what_does_not_make_slow_is_not_accused},
    {"a new reason is found", test_a_new_reason_is_found},
    {"wrong sets are refused", test_wrong_sets_are_refused},
    {"each refused allocation is survived", test_each_refused_allocation_is_survived},
    CU_TEST_INFO_NULL,
};
