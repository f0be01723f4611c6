/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_culprit.c - which service became slower: scores against a slow model, verdicts
 * of simulated systems, and damaged or strange paths
 *
 * The model keeps every sample beside the path that is made of it, and follows the
 * definition in culprit.h word by word.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/cli/culprit_paths.h"

#include "tool/culprit/culprit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct test_random numbers;

/* Even numbers are of the base. */
static enum cpti_culprit_side side_of(int number)
{
    return number % 2 == 0 ? CPTI_CULPRIT_BASE : CPTI_CULPRIT_NEW;
}

static bool is_first(const struct cpti_culprit *culprit, const char *name)
{
    return find(culprit, name) == cpti_culprit_suspect(culprit, 0);
}

/* --- By hand --- */

/*
 * A calls B twice; B has 20 or 60 ns of its own, and the network takes 10 or 30.
 *
 *      self(A) 100: D = 0      A→B 10, then 30       self(B) 20, then 60
 *      c = median(100, 10, 20) = 20
 */
static void add_two_calls(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                          uint64_t factor)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A: /");
    const uint32_t b = add(path, a, "B: get");
    const uint32_t parse = add(path, b, "B: parse");

    for (int i = 0; i < 2; i++) {
        put(path, a, 30);
        put_kind(path, b, CPT_KIND_NETWORK, 5 * factor);
        put(path, b, 10 * factor);
        put(path, parse, 10 * factor);
        put_kind(path, b, CPT_KIND_NETWORK, 5 * factor);
    }
    put(path, a, 40);
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

static void test_by_hand(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    const double network = log((30.0 + 20) / (10 + 20));
    const double self = log((60.0 + 20) / (20 + 20));
    const struct cpti_suspect *a;
    const struct cpti_suspect *b;

    for (int i = 0; i < 10; i++) {
        add_two_calls(culprit, CPTI_CULPRIT_BASE, 1);
        add_two_calls(culprit, CPTI_CULPRIT_NEW, 3);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(cpti_culprit_offset_ns(culprit), 20, 1e-9);
    CU_ASSERT_EQUAL(cpti_culprit_requests(culprit, CPTI_CULPRIT_NEW), 10);
    a = find(culprit, "A");
    b = find(culprit, "B");
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_TRUE(is_first(culprit, "B"));
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(b->is_culprit);
    /* 20 calls in each are worth 10 of 20·20/(20+20), and 2.5 without change */
    CU_ASSERT_DOUBLE_EQUAL(b->score, 10.0 / 12.5 * (network + self) / sqrt(2), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(b->factor, 3, 1e-9);
    CU_ASSERT_EQUAL(b->frame_count, 2);
    CU_ASSERT_EQUAL(b->slower_count, 2);
    CU_ASSERT_EQUAL(b->calls[0], 20); /* two visits in each request */
    CU_ASSERT_EQUAL(b->share, 1);
    /* B explains the edge */
    CU_ASSERT_FALSE(a->is_culprit);
    CU_ASSERT_EQUAL(a->frame_count, 1);
    CU_ASSERT_EQUAL(a->score, 0);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged_count(culprit), 0);
    cpti_culprit_free(culprit);
}

/* --- The model --- */

enum {
    SERVICES = 6,
    OPERATIONS = 3,
    FRAMES = SERVICES * SERVICES, /* [s][s] is self(s), [a][b] is a→b */
    KEYS = FRAMES * OPERATIONS,
    KEPT_MAX = 20000
};

static const char *const names[SERVICES] = {"A", "B", "C", "D", "E", "F"};

struct kept {
    double ns[2][KEYS][KEPT_MAX / KEYS];
    size_t counts[2][KEYS];
};

static void keep(struct kept *kept, int set, int from, int to, int operation, double ns)
{
    const int key = (from * SERVICES + to) * OPERATIONS + operation;

    if (kept->counts[set][key] < KEPT_MAX / KEYS) {
        kept->ns[set][key][kept->counts[set][key]] = ns;
    }
    kept->counts[set][key]++;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static bool is_common(const struct kept *kept, int key)
{
    return kept->counts[0][key] > 0 && kept->counts[1][key] > 0;
}

static double model_offset(const struct kept *kept)
{
    double means[FRAMES];
    size_t count = 0;

    for (int frame = 0; frame < FRAMES; frame++) {
        double sum = 0;
        double samples = 0;

        for (int i = 0; i < OPERATIONS; i++) {
            const int key = frame * OPERATIONS + i;

            for (size_t k = 0; is_common(kept, key) && k < kept->counts[0][key]; k++) {
                sum += kept->ns[0][key][k];
                samples++;
            }
        }
        if (samples > 0) {
            means[count++] = sum / samples;
        }
    }
    qsort(means, count, sizeof *means, compare_doubles);
    return count == 0 ? 1 : (means[(count - 1) / 2] + means[count / 2]) / 2;
}

static double mean_y(const struct kept *kept, int set, int key, double c)
{
    double sum = 0;

    for (size_t i = 0; i < kept->counts[set][key]; i++) {
        sum += log(kept->ns[set][key][i] + c);
    }
    return sum / (double)kept->counts[set][key];
}

/* The mean over samples, and of their logarithm: what ln of it differs by, weighted. */
static double model_difference(const struct kept *kept, int key, double c, bool some)
{
    double sums[2] = {0, 0};

    if (!some) {
        return mean_y(kept, 1, key, c) - mean_y(kept, 0, key, c);
    }
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; i < kept->counts[set][key]; i++) {
            sums[set] += kept->ns[set][key][i];
        }
        sums[set] = sums[set] / (double)kept->counts[set][key] + c;
    }
    return log(sums[1] / sums[0]);
}

/* L of the keys from @key to @end, shrunk; negative if none is in both. */
static double model_l(const struct kept *kept, int key, int end, double c, bool some)
{
    double sum = 0;
    double weight = 0;

    for (; key < end; key++) {
        const double n = (double)kept->counts[0][key];
        const double m = (double)kept->counts[1][key];

        if (is_common(kept, key)) {
            sum += n * m / (n + m) * model_difference(kept, key, c, some);
            weight += n * m / (n + m);
        }
    }
    return weight == 0 ? -1 : sum > 0 ? sum / (weight + 2.5) : 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The best of what can have become slower: all frames, the own time, one operation. */
static double model_score(const struct kept *kept, int service, double c, bool some)
{
    const int own = service * SERVICES + service;
    double best = 0;
    double sum = 0;
    unsigned count = 0;
    unsigned operations = 0;

    for (int frame = 0; frame < FRAMES; frame++) {
        const double l =
            model_l(kept, frame * OPERATIONS, (frame + 1) * OPERATIONS, c, some);

        if (l >= 0 && (frame / SERVICES == service || frame % SERVICES == service)) {
            sum += l;
            count++;
        }
    }
    best = count == 0 ? 0 : sum / sqrt(count);
    best = larger(
        best, 0.9 * model_l(kept, own * OPERATIONS, (own + 1) * OPERATIONS, c, some));
    for (int i = own * OPERATIONS; i < (own + 1) * OPERATIONS; i++) {
        operations += is_common(kept, i);
    }
    for (int i = own * OPERATIONS; operations > 1 && i < (own + 1) * OPERATIONS; i++) {
        best = larger(best, 0.81 * model_l(kept, i, i + 1, c, some));
    }
    return some ? 0.9 * best : larger(best, model_score(kept, service, c, true));
}

/* A visit of @service that may call others, below @parent. */
static void visit(struct kept *kept, int set, struct cpt_path *path, uint32_t parent,
                  int caller, int service, unsigned depth)
{
    const int operation = (int)test_random_below(&numbers, OPERATIONS);
    char name[16];
    uint32_t frame;
    uint64_t ns = 1 + test_random_below(&numbers, 1000);
    uint64_t self_ns = ns;
    uint64_t network_ns = 1 + test_random_below(&numbers, 300);

    (void)snprintf(name, sizeof name, "%s: %d", names[service], operation);
    frame = add(path, parent, name);
    if (caller >= 0) {
        put_kind(path, frame, CPT_KIND_NETWORK, network_ns);
    }
    put(path, frame, ns);
    for (uint64_t i = test_random_below(&numbers, 3); i > 0 && depth < 4; i--) {
        const int callee = (int)test_random_below(&numbers, SERVICES);

        if (callee != service) {
            visit(kept, set, path, frame, service, callee, depth + 1);
        }
        ns = 1 + test_random_below(&numbers, 1000);
        put(path, frame, ns);
        self_ns += ns;
    }
    if (caller >= 0) {
        ns = 1 + test_random_below(&numbers, 300);
        put_kind(path, frame, CPT_KIND_NETWORK, ns);
        keep(kept, set, caller, service, operation, (double)(network_ns + ns));
    }
    keep(kept, set, service, service, operation, (double)self_ns);
}

/* Random requests of random services: the scores are those of the model. */
static void test_model(void)
{
    struct kept *kept = calloc(1, sizeof *kept);

    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    numbers.state = test_random_seed("culprits");
    for (int run = 0; run < 20; run++) {
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
        struct cpt_path *path = cpt_path_new(NULL);
        double c;

        memset(kept, 0, sizeof *kept);
        cpti_culprit_has_all_visits(culprit);
        for (int i = 0; i < 24; i++) {
            cpt_path_reset(path);
            visit(kept, i % 2, path, CPT_FRAME_NONE, -1,
                  (int)test_random_below(&numbers, SERVICES), 0);
            CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(i), path, 0), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        c = model_offset(kept);
        CU_ASSERT_DOUBLE_EQUAL(cpti_culprit_offset_ns(culprit), c, 1e-6);
        for (int i = 0; i < SERVICES; i++) {
            const struct cpti_suspect *suspect = find(culprit, names[i]);

            /* once one is a culprit, the others have fewer frames */
            if (cpti_culprit_verdict(culprit) < CPTI_VERDICT_EITHER) {
                CU_ASSERT_DOUBLE_EQUAL(suspect == NULL ? 0 : suspect->score,
                                       model_score(kept, i, c, false), 1e-9);
            }
        }
        cpt_path_free(path);
        cpti_culprit_free(culprit);
    }
    free(kept);
}

/* --- Simulated systems --- */

/* About @mean, with a long tail. */
static uint64_t about(double mean)
{
    double unit = 0;

    for (int i = 0; i < 4; i++) {
        unit += (double)test_random_below(&numbers, 1000) / 1000;
    }
    return 1 + (uint64_t)(mean * exp((unit - 2) * 0.8));
}

/* The components of `cpt demo`: A1 and A2 of A, which call B1 and C1, and so on. */
static const char *const components[] = {"A: A1", "A: A2", "B: B1",
                                         "B: B2", "C: C1", "C: C2"};

enum { COMPONENTS = 6 };

static void add_demo(struct cpti_culprit *culprit, int set, int slowed, double factor,
                     uint64_t start_ns)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = add(path, CPT_FRAME_NONE, "A: /");
    uint32_t frames[COMPONENTS];
    uint32_t b;
    uint32_t c;

    frames[0] = add(path, root, components[0]);
    frames[1] = add(path, root, components[1]);
    b = add(path, frames[0], "B: /");
    c = add(path, frames[1], "C: /");
    frames[2] = add(path, b, components[2]);
    frames[3] = add(path, b, components[3]);
    frames[4] = add(path, c, components[4]);
    frames[5] = add(path, c, components[5]);
    put(path, root, about(50e3));
    for (int i = 0; i < COMPONENTS; i++) {
        const double mean = (1 + i % 3) * 2e6 * (set == 1 && i == slowed ? factor : 1);

        if (i == 2 || i == 4) {
            put_kind(path, i == 2 ? b : c, CPT_KIND_NETWORK, about(100e3));
        }
        if (test_random_below(&numbers, 10) < 8) { /* the others are not on this path */
            put(path, frames[i], about(mean));
        }
    }
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(set), path, start_ns), CPT_OK);
    cpt_path_free(path);
}

/* A random component of the demo is slower, 100 times: at least 98 are found. And if
 * none is, none is accused. */
static void test_demo(void)
{
    unsigned right = 0;
    unsigned sure_of_wrong = 0;
    unsigned sure_of_nothing = 0;

    numbers.state = 1; /* chance is wrong now and then: always the same numbers */
    for (int run = 0; run < 120; run++) {
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
        const int slowed =
            run < 100 ? (int)test_random_below(&numbers, COMPONENTS) : -1;
        bool is_right;
        bool is_sure;

        for (int i = 0; i < 200; i++) {
            add_demo(culprit, i % 2, slowed, 2, 0);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, (uint64_t)run), CPT_OK);
        is_right = slowed >= 0 && is_first(culprit, components[slowed]);
        is_sure = cpti_culprit_verdict(culprit) == CPTI_VERDICT_SURE;
        right += is_right;
        sure_of_wrong += slowed >= 0 && is_sure && !is_right;
        sure_of_nothing += slowed < 0 && is_sure;
        cpti_culprit_free(culprit);
    }
    CU_ASSERT_TRUE(right >= 98);
    CU_ASSERT_EQUAL(sure_of_wrong, 0);
    CU_ASSERT_EQUAL(sure_of_nothing, 0);
}

/* The same by less, which is sure of sets of one time most of the time. Without any
 * slower one, chance is sure in one of a hundred comparisons at most. */
static void test_arms(void)
{
    unsigned sure[2] = {0, 0}; /* with sets one after the other, and of one time */
    unsigned sure_of_wrong = 0;
    unsigned sure_of_nothing = 0;

    numbers.state = 1;
    for (int run = 0; run < 120; run++) {
        const bool is_one_time = run % 2 == 1;
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
        const int slowed = run < 60 ? (int)test_random_below(&numbers, COMPONENTS) : -1;
        bool is_sure;

        for (int i = 0; i < 300; i++) {
            const int set = (int)test_random_below(&numbers, 2);
            const int start = is_one_time ? i : i + 300 * set;

            add_demo(culprit, set, slowed, 1.4, 1 + (uint64_t)start);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, (uint64_t)run), CPT_OK);
        CU_ASSERT_EQUAL(cpti_culprit_are_concurrent(culprit), is_one_time);
        is_sure = cpti_culprit_verdict(culprit) == CPTI_VERDICT_SURE;
        sure[is_one_time] += slowed >= 0 && is_sure;
        sure_of_wrong +=
            slowed >= 0 && is_sure && !is_first(culprit, components[slowed]);
        sure_of_nothing += slowed < 0 && is_sure;
        cpti_culprit_free(culprit);
    }
    CU_ASSERT_TRUE(sure[0] <= 5);
    CU_ASSERT_TRUE(sure[1] >= 15);
    CU_ASSERT_EQUAL(sure_of_wrong, 0);
    CU_ASSERT_TRUE(sure_of_nothing <= 1);
}

/* Whether two sets of @count requests are of one time: request i of a set begins when
 * @start says. */
static bool are_concurrent(int count, uint64_t (*start)(int set, int i))
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
    bool result;

    for (int i = 0; i < 2 * count; i++) {
        add_demo(culprit, i % 2, -1, 1, start(i % 2, i / 2));
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    result = cpti_culprit_are_concurrent(culprit);
    cpti_culprit_free(culprit);
    return result;
}

static uint64_t in_turns(int set, int i)
{
    return 1 + 2 * (uint64_t)i + (uint64_t)set;
}

static uint64_t in_turns_of_ten(int set, int i)
{
    return 1 + 20 * (uint64_t)(i / 10) + 10 * (uint64_t)set + (uint64_t)(i % 10);
}

static uint64_t at_once(int set, int i)
{
    (void)set;
    (void)i;
    return 7;
}

static uint64_t with_one_unknown(int set, int i)
{
    return i == 50 ? 0 : in_turns(set, i);
}

static void test_times(void)
{
    CU_ASSERT_TRUE(are_concurrent(100, in_turns));
    CU_ASSERT_FALSE(are_concurrent(2, in_turns)); /* too few to tell */
    CU_ASSERT_FALSE(are_concurrent(100, in_turns_of_ten));
    CU_ASSERT_FALSE(are_concurrent(100, at_once));
    CU_ASSERT_FALSE(are_concurrent(100, with_one_unknown));
}

/* A calls @count services, B, C …; those in @slowed are three times slower. */
static void add_fan(struct cpti_culprit *culprit, int set, int count,
                    const char *slowed)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = add(path, CPT_FRAME_NONE, "A: /");

    for (int i = 0; i < count; i++) {
        const double factor = set == 1 && strchr(slowed, 'B' + i) != NULL ? 3 : 1;
        char name[8];
        uint32_t frame;

        (void)snprintf(name, sizeof name, "%c: x", 'B' + i);
        frame = add(path, root, name);
        put(path, root, about(1e6));
        put_kind(path, frame, CPT_KIND_NETWORK, about(1e6 * factor));
        put(path, frame, about(3e6 * factor));
    }
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(set), path, 0), CPT_OK);
    cpt_path_free(path);
}

/* Two culprits: each is found, and no third one. */
static void test_several(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

    numbers.state = 2;
    for (int i = 0; i < 200; i++) {
        add_fan(culprit, i % 2, 8, "CF");
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_EQUAL_FATAL(cpti_culprit_suspect_count(culprit), 9);
    for (size_t i = 0; i < 9; i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        CU_ASSERT_EQUAL(suspect->is_culprit, i < 2);
        CU_ASSERT_EQUAL(i < 2,
                        suspect->name.data[0] == 'C' || suspect->name.data[0] == 'F');
    }
    cpti_culprit_free(culprit);
}

/* Two halves of the same, 50 times: never sure. All services slower alike: none of
 * them is the culprit. */
static void test_nothing(void)
{
    for (int run = 0; run < 50; run++) {
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

        numbers.state = (uint64_t)run;
        for (int i = 0; i < 60; i++) {
            add_fan(culprit, i % 2, 8, run % 5 == 0 ? "BCDEFGHI" : "");
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        CU_ASSERT_NOT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
        cpti_culprit_free(culprit);
    }
}

/* --- Strange paths --- */

/* Without an order, the visits of a request are one sample. */
static void test_unordered(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);

    for (int set = 0; set < 2; set++) {
        uint32_t a;
        uint32_t b;

        cpt_path_reset(path);
        cpt_path_flags_add(path, CPT_PATH_UNORDERED);
        a = add(path, CPT_FRAME_NONE, "A: /");
        b = add(path, a, "B: get");
        put(path, b, 10);
        put(path, a, 10);
        put(path, b, 10);
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(set), path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(find(culprit, "B")->calls[0], 1);
    CU_ASSERT_DOUBLE_EQUAL(cpti_culprit_offset_ns(culprit), 15, 1e-9); /* 10 and 20 */
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* Who vanished, and who is new, is named; nothing is computed of it. */
static void test_vanished(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);

    for (int i = 0; i < 20; i++) {
        cpt_path_reset(path);
        put(path, add(path, CPT_FRAME_NONE, i % 2 == 0 ? "A: /" : "B: /"), 10);
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(i), path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_NONE);
    CU_ASSERT_EQUAL(cpti_culprit_suspect_count(culprit), 0);
    CU_ASSERT_EQUAL_FATAL(cpti_culprit_unjudged_count(culprit), 2);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged(culprit, 0)->calls[0], 10);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged(culprit, 0)->calls[1], 0);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged(culprit, 1)->calls[1], 10);
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* Of components with few calls one call would decide: they have no score. */
static void test_few_calls(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
    struct cpt_path *path = cpt_path_new(NULL);

    for (int i = 0; i < 20; i++) {
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, 1000);
        put(path, add(path, a, "A: often"), i % 2 == 1 ? 1200 : 1000);
        if (i < 4) {
            put(path, add(path, a, "A: rare"), i % 2 == 1 ? 9000 : 1000);
        }
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(i), path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(is_first(culprit, "A: often"));
    CU_ASSERT_EQUAL(find(culprit, "A: rare")->score, 0);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged_count(culprit), 1);
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* A component of which one frame has few samples: they do not outweigh the others. Seen
 * with 9 and 3 calls over a busy network: first in 97 % of the resamples, p 0.009. */
static void test_few_samples(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
    struct cpt_path *path = cpt_path_new(NULL);

    for (int i = 0; i < 60; i++) {
        uint32_t a;
        uint32_t b;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        b = add(path, a, "A: often");
        put(path, a, 1000);
        put(path, b, 1000);
        put(path, add(path, a, "A: slow"), i % 2 == 1 ? 1500 : 1000);
        if (i < 16) {
            const uint32_t c = add(path, b, "C: rare");

            if (i % 2 == 0 || i < 8) {
                put_kind(path, c, CPT_KIND_NETWORK, i % 2 == 1 ? 90000 : 1000);
            }
            put(path, c, 1000);
        }
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(i), path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(is_first(culprit, "A: slow"));
    CU_ASSERT_EQUAL(find(culprit, "A: often")->score, 0);
    CU_ASSERT_EQUAL(find(culprit, "C: rare")->score, 0);
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* Two rivals of which only one is the culprit are not accused together; then what is
 * told of them is of one comparison: only one is first in each resample. */
static void test_shares(void)
{
    for (uint64_t run = 0; run < 10; run++) {
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_NAME);
        double sum = 0;

        numbers.state = run;
        for (int i = 0; i < 60; i++) {
            add_demo(culprit, i % 2, (int)run % COMPONENTS, 1.5, (uint64_t)i + 1);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        for (size_t i = 0; i < cpti_culprit_suspect_count(culprit); i++) {
            sum += cpti_culprit_suspect(culprit, i)->share;
        }
        CU_ASSERT_TRUE(sum <= 1 + 1e-9 || cpti_culprit_suspect(culprit, 0)->is_culprit);
        cpti_culprit_free(culprit);
    }
}

/* Any names: what is too much is left out, and what was before it stays. */
static void test_too_many_names(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_OK;
    uint64_t added = 0;

    for (int i = 0; i < 40000 && status == CPT_OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "s%d: /", i);
        cpt_path_reset(path);
        put(path, add(path, CPT_FRAME_NONE, name), 1);
        status = cpti_culprit_add(culprit, CPTI_CULPRIT_BASE, path, 0);
        added += status == CPT_OK;
    }
    CU_ASSERT_EQUAL(status, CPT_LIMIT);
    CU_ASSERT_EQUAL(cpti_culprit_requests(culprit, CPTI_CULPRIT_BASE), added);
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_NONE);
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* By edge, the network and the callee together; the other callers of it are apart. */
static void test_edges(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_EDGE);
    struct cpt_path *path = cpt_path_new(NULL);

    numbers.state = 3;
    for (int i = 0; i < 200; i++) {
        const uint64_t factor = i % 2 == 1 ? 4 : 1;
        uint32_t root;

        cpt_path_reset(path);
        root = add(path, CPT_FRAME_NONE, "A: /");
        for (int k = 0; k < 6; k++) {
            char name[8];
            uint32_t frame;
            uint32_t shared;

            (void)snprintf(name, sizeof name, "%c: x", 'B' + k);
            frame = add(path, root, name);
            put(path, frame, about(1e6));
            shared = add(path, frame, "Z: get");
            put_kind(path, shared, CPT_KIND_NETWORK,
                     about(1e6) * (k == 2 ? factor : 1));
            put(path, shared, about(1e6));
        }
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side_of(i), path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(is_first(culprit, "D -> Z"));
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

static bool compare_with(const struct cpt_alloc *alloc)
{
    struct cpti_culprit *culprit = cpti_culprit_new(alloc, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = culprit != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (int i = 0; i < 12 && status == CPT_OK; i++) {
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, 10);
        put_kind(path, add(path, a, "B: get"), CPT_KIND_NETWORK, 5);
        status = cpti_culprit_add(culprit, side_of(i), path, 0);
    }
    if (status == CPT_OK) {
        status = cpti_culprit_judge(culprit, 1);
    }
    cpt_path_free(path);
    cpti_culprit_free(culprit);
    return status == CPT_OK;
}

static void test_memory(void)
{
    each_allocation_failure(compare_with);
}

extern CU_TestInfo cpt_culprit_tests[];
CU_TestInfo cpt_culprit_tests[] = {
    {"by hand", test_by_hand},
    {"as the model", test_model},
    {"the demo", test_demo},
    {"arms of one time", test_arms},
    {"sets of one time", test_times},
    {"several culprits", test_several},
    {"nothing, and all alike", test_nothing},
    {"paths without an order", test_unordered},
    {"services that vanished", test_vanished},
    {"components with few calls", test_few_calls},
    {"frames with few samples", test_few_samples},
    {"shares of one comparison", test_shares},
    {"too many names", test_too_many_names},
    {"edges", test_edges},
    {"each allocation fails", test_memory},
    CU_TEST_INFO_NULL,
};
