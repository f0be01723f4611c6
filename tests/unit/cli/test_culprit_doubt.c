/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_culprit_doubt.c - what the input cannot tell: siblings that are on the path less
 * often, networks that are not seen, callers that wait
 */
#include "tests/support/test_random.h"
#include "tests/unit/cli/culprit_paths.h"

#include "tool/culprit/nested_keys.h"
#include "wire/cpt_log.h"

#include <stdio.h>

enum { MS = 1000000 };

static struct test_random numbers;

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns + test_random_below(&numbers, to_ns - from_ns);
}

/* A call of @name below @parent: network, @ns, network. */
static uint32_t call(struct cpt_path *path, uint32_t parent, const char *name,
                     uint64_t ns)
{
    const uint32_t frame = add(path, parent, name);

    put_kind(path, frame, CPT_KIND_NETWORK, between(MS / 5, MS / 2));
    put(path, frame, ns);
    put_kind(path, frame, CPT_KIND_NETWORK, between(MS / 5, MS / 2));
    return frame;
}

/* --- Siblings --- */

/* A calls X and Y at once, then Z. In the new set Y takes 8 ms more. */
static void add_siblings(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                         bool has_all, uint64_t start_ns)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t front = add(path, CPT_FRAME_NONE, "A: /");
    const uint64_t x_ns = between(8 * MS, 16 * MS);
    uint64_t y_ns =
        between(0, 10) == 0 ? between(20 * MS, 40 * MS) : between(4 * MS, 6 * MS);

    y_ns += side == CPTI_CULPRIT_NEW ? 8 * MS : 0;
    put(path, front, between(MS, 2 * MS));
    if (has_all || x_ns >= y_ns) {
        (void)call(path, front, "X: get", x_ns);
    }
    if (has_all || x_ns < y_ns) {
        (void)call(path, front, "Y: get", y_ns);
    }
    put(path, front, MS);
    (void)call(path, front, "Z: get", between(2 * MS, 4 * MS));
    put(path, front, MS);
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, start_ns), CPT_OK);
    cpt_path_free(path);
}

static struct cpti_culprit *judge_siblings(bool has_all)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

    if (has_all) {
        cpti_culprit_has_all_visits(culprit);
    }
    for (int i = 0; i < 1000; i++) {
        add_siblings(culprit, (enum cpti_culprit_side)test_random_below(&numbers, 2),
                     has_all, (uint64_t)(i + 1) * MS);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(cpti_culprit_are_concurrent(culprit));
    return culprit;
}

/* Whether @culprit says that it is X, or Y, as other visits are on the path. */
static bool says_either(const struct cpti_culprit *culprit)
{
    struct cpt_bytes to;

    return cpti_culprit_verdict(culprit) == CPTI_VERDICT_EITHER &&
           cpti_culprit_doubt_reason(culprit) == CPTI_DOUBT_PRESENCE_CHANGED &&
           cpti_culprit_either_count(culprit) == 2 &&
           cpt_bytes_equal(cpti_culprit_either(culprit, 0, &to), cpt_bytes_of("X")) &&
           cpt_bytes_equal(cpti_culprit_either(culprit, 1, &to), cpt_bytes_of("Y"));
}

/* What is left of X on the path is its slow visits: it is not accused. */
static void test_siblings(void)
{
    int said = 0;

    numbers.state = test_random_seed("siblings");
    for (int run = 0; run < 20; run++) {
        struct cpti_culprit *culprit = judge_siblings(false);

        CU_ASSERT_NOT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
        said += says_either(culprit);
        cpti_culprit_free(culprit);
        culprit = judge_siblings(true);
        CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
        CU_ASSERT_TRUE(find(culprit, "Y")->is_culprit);
        CU_ASSERT_FALSE(find(culprit, "X")->is_culprit);
        cpti_culprit_free(culprit);
    }
    CU_ASSERT_TRUE(said >= 15);
}

/* --- Calls that only the caller saw --- */

/* A calls five services; the spans of @lost in a hundred visits of B are lost. */
static void add_lost(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                     uint64_t lost)
{
    static const char *const names[] = {"B: get", "C: get", "D: get", "E: get",
                                        "F: get"};
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t front = add(path, CPT_FRAME_NONE, "A: /");

    for (int i = 0; i < 5; i++) {
        const uint64_t ns = between(4 * MS, 6 * MS);

        put(path, front, between(MS, 2 * MS));
        if (i == 0 && between(0, 100) < lost) {
            put_kind(path, add(path, front, names[i]), CPT_KIND_BLIND_SPOT, ns + MS);
        } else {
            (void)call(path, front, names[i], ns);
        }
    }
    put(path, front, MS);
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

/* B is as before, but more of its spans are lost, or all: its calls take no longer. */
static void test_lost(void)
{
    numbers.state = test_random_seed("lost");
    for (uint64_t lost = 0; lost <= 100; lost += 25) {
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

        cpti_culprit_has_all_visits(culprit);
        for (int i = 0; i < 800; i++) {
            const enum cpti_culprit_side side = (enum cpti_culprit_side)(i % 2);

            add_lost(culprit, side, side == CPTI_CULPRIT_NEW ? lost : lost / 5);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        CU_ASSERT_NOT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
        cpti_culprit_free(culprit);
    }
}

/* --- Mixes --- */

/* One of two pages, of which the second is slow in D by itself; each calls six. */
static void add_page(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                     bool is_second, uint64_t factor)
{
    static const char *const names[] = {"B: get", "C: get", "E: get", "F: get",
                                        "G: get"};
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t front = add(path, CPT_FRAME_NONE, is_second ? "A: /2" : "A: /1");

    put(path, front, between(MS, 2 * MS));
    for (int i = 0; i < 5; i++) {
        (void)call(path, front, names[i], between(4 * MS, 6 * MS));
        put(path, front, between(MS, 2 * MS));
    }
    (void)call(path, front, "D: query",
               between(MS, 2 * MS) * (is_second ? 20 : 1) * factor);
    put(path, front, MS);
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

/* The second page is asked for more: D takes no longer for either; or it does. */
static void test_mix(void)
{
    numbers.state = test_random_seed("mix");
    for (int run = 0; run < 4; run++) {
        const bool is_slow = run >= 2;
        struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

        if (run % 2 == 1) {
            cpti_culprit_has_all_visits(culprit);
        }
        for (int i = 0; i < 800; i++) {
            const enum cpti_culprit_side side = (enum cpti_culprit_side)(i % 2);
            const uint64_t second = side == CPTI_CULPRIT_NEW ? 60 : 30;

            add_page(culprit, side, between(0, 100) < second,
                     is_slow && side == CPTI_CULPRIT_NEW ? 3 : 1);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit),
                        is_slow ? CPTI_VERDICT_SURE : CPTI_VERDICT_UNSURE);
        CU_ASSERT_EQUAL(find(culprit, "D")->is_culprit, is_slow);
        CU_ASSERT_EQUAL(find(culprit, "D")->is_of_mix, !is_slow);
        cpti_culprit_free(culprit);
    }
}

/* --- Chains --- */

/* A chain of six services; the own time of the two at @slow is @factor times longer. */
static void add_chain(struct cpti_culprit *culprit, int set, const int slow[2],
                      uint64_t factor, bool has_edges)
{
    static const char *const names[] = {"A: /", "B: b", "C: c", "D: d", "E: e", "F: f"};
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = CPT_FRAME_NONE;

    for (int i = 0; i < 6; i++) {
        const bool is_slow = set == 1 && (slow[0] == i || slow[1] == i);

        frame = add(path, frame, names[i]);
        if (i > 0 && has_edges) {
            put_kind(path, frame, CPT_KIND_NETWORK, between(MS / 5, MS / 2));
        }
        put(path, frame, between(MS, 2 * MS) * (is_slow ? factor : 1));
    }
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, (enum cpti_culprit_side)set, path, 0),
                    CPT_OK);
    cpt_path_free(path);
}

static struct cpti_culprit *judge_chain(int first, int second, bool has_edges)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    const int slow[2] = {first, second};

    for (int i = 0; i < 200; i++) {
        add_chain(culprit, i % 2, slow, 8, has_edges);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    return culprit;
}

/* C is slower, and B, which calls C, too: B may only wait for C. */
static void test_waiting(void)
{
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("waiting callers");
    culprit = judge_chain(1, 3, true);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(find(culprit, "D")->is_culprit);
    CU_ASSERT_FALSE(find(culprit, "B")->is_culprit);
    CU_ASSERT_TRUE(find(culprit, "B")->may_wait);
    cpti_culprit_free(culprit);
}

/* No span of the caller's side: what D does between is D's, or of the network to E. */
static void test_no_edges(void)
{
    struct cpt_bytes to;
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("networks that are not seen");
    culprit = judge_chain(3, 3, false);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_EITHER);
    CU_ASSERT_EQUAL(cpti_culprit_doubt_reason(culprit), CPTI_DOUBT_NO_EDGE_TIME);
    CU_ASSERT_EQUAL_FATAL(cpti_culprit_either_count(culprit), 2);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpti_culprit_either(culprit, 0, &to), cpt_bytes_of("D")));
    CU_ASSERT_EQUAL(to.bytes, 0);
    (void)cpti_culprit_either(culprit, 1, &to);
    CU_ASSERT_TRUE(cpt_bytes_equal(to, cpt_bytes_of("E")));
    cpti_culprit_free(culprit);
    /* the last one has no callees: its time is its own */
    culprit = judge_chain(5, 5, false);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(find(culprit, "F")->is_culprit);
    cpti_culprit_free(culprit);
}

/* --- Chance --- */

/* A calls six services, and in two of 60 requests R. In the new set B is 1.3 times as
 * slow, and R @factor times: by chance, as far as two calls tell. To be freed. */
static struct cpti_culprit *judge_rare(uint64_t factor)
{
    static const char *const names[] = {"B: b", "C: c", "D: d", "E: e", "F: f", "G: g"};
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);

    numbers.state = 1; /* what chance does: the same each time */
    for (int i = 0; i < 120; i++) {
        const bool is_new = i % 2 != 0;
        uint32_t front;

        cpt_path_reset(path);
        front = add(path, CPT_FRAME_NONE, "A: /");
        put(path, front, between(MS, 2 * MS));
        for (int k = 0; k < 6; k++) {
            (void)call(path, front, names[k],
                       between(MS, 3 * MS) * (is_new && k == 0 ? 13 : 10) / 10);
        }
        if (i / 2 % 30 == 0) {
            (void)call(path, front, "R: r", MS * (is_new ? factor : 1));
        }
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, is_new, path, 0), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_UNSURE);
    CU_ASSERT_TRUE(find(culprit, "R")->score > find(culprit, "B")->score);
    CU_ASSERT_TRUE(find(culprit, "R")->p > 0.05);
    cpt_path_free(path);
    return culprit;
}

/* R is behind B, but not if even its score, shrunk as that of two calls, is large. */
static void test_chance_is_behind(void)
{
    struct cpti_culprit *few = judge_rare(8);
    struct cpti_culprit *large = judge_rare(100);

    CU_ASSERT_TRUE(find(few, "R")->score < CPTI_LARGE_SCORE);
    CU_ASSERT_PTR_EQUAL(cpti_culprit_suspect(few, 0), find(few, "B"));
    CU_ASSERT_PTR_EQUAL(cpti_culprit_suspect(few, 1), find(few, "R"));
    CU_ASSERT_TRUE(find(large, "R")->score > CPTI_LARGE_SCORE);
    CU_ASSERT_PTR_EQUAL(cpti_culprit_suspect(large, 0), find(large, "R"));
    CU_ASSERT_PTR_EQUAL(cpti_culprit_suspect(large, 1), find(large, "B"));
    cpti_culprit_free(few);
    cpti_culprit_free(large);
}

/* --- Users --- */

enum { USERS = 20, USER_REQUESTS = 400, USER_PAIRS = 20 };

/* Two arms without a difference, to which users were dealt, each with services that
 * are up to four times as slow as for others. Whether some service is sure. */
static bool is_sure_of_users(bool has_clusters)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);
    static const char *const names[] = {"B: b", "C: c", "D: d", "E: e", "F: f", "G: g"};
    uint64_t factors[USERS][6];
    struct cpt_path *path = cpt_path_new(NULL);
    bool is_sure;

    for (int i = 0; i < USERS * 6; i++) {
        factors[i / 6][i % 6] = between(1, 5);
    }
    for (int i = 0; i < USER_REQUESTS; i++) {
        const uint64_t user = between(0, USERS);
        uint32_t front;

        cpt_path_reset(path);
        front = add(path, CPT_FRAME_NONE, "A: /");
        for (int k = 0; k < 6; k++) {
            put(path, front, between(MS, 2 * MS));
            (void)call(path, front, names[k],
                       factors[user][k] * between(MS, MS + MS / 5));
        }
        if (has_clusters) {
            cpti_culprit_cluster(culprit, user);
        }
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, user % 2, path, (uint64_t)(i + 1)),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    is_sure = cpti_culprit_verdict(culprit) == CPTI_VERDICT_SURE;
    cpt_path_free(path);
    cpti_culprit_free(culprit);
    return is_sure;
}

static void test_users(void)
{
    int sure = 0;
    int sure_by_user = 0;

    numbers.state = 1; /* rates: the same each time */
    for (int i = 0; i < USER_PAIRS; i++) {
        sure += is_sure_of_users(false);
        sure_by_user += is_sure_of_users(true);
    }
    CU_ASSERT_TRUE(sure >= 3); /* requests are not independent */
    CU_ASSERT_TRUE(sure_by_user <= 1);
}

static void add_user(struct cpti_nested_keys *keys, int user, unsigned set, int page)
{
    char text[16];
    struct cpt_attribute attributes[2] = {
        {.key = cpt_bytes_of("page"),
         .type = CPT_ATTRIBUTE_INTEGER,
         .value = {.integer = page}},
        {.key = cpt_bytes_of("user"), .type = CPT_ATTRIBUTE_TEXT}};
    const struct cpt_record record = {.attributes = attributes, .attribute_count = 2};

    (void)snprintf(text, sizeof text, "u%d", user);
    attributes[1].value.text = cpt_bytes_of(text);
    CU_ASSERT_EQUAL(cpti_nested_add(keys, &record, set), CPT_OK);
}

/* A key by which requests were dealt: each value is in one set, and not each request
 * has its own. */
static void test_nested_keys(void)
{
    struct cpti_nested_keys *keys = cpti_nested_new();

    for (int i = 0; i < 40; i++) {
        add_user(keys, i % 10, (unsigned)i % 2, i % 7);
    }
    CU_ASSERT_STRING_EQUAL_FATAL(cpti_nested_key(keys, 0), "user");
    CU_ASSERT_PTR_NULL(cpti_nested_key(keys, 1));
    add_user(keys, 3, 0, 1); /* a user of both sets */
    CU_ASSERT_PTR_NULL(cpti_nested_key(keys, 0));
    cpti_nested_free(keys);
    keys = cpti_nested_new();
    for (int i = 0; i < 40; i++) { /* the arm itself, by its 8 names */
        add_user(keys, i % 8, (unsigned)i % 2, i % 7);
    }
    CU_ASSERT_PTR_NULL(cpti_nested_key(keys, 0));
    cpti_nested_free(keys);
}

extern CU_TestInfo cpt_culprit_doubt_tests[];
CU_TestInfo cpt_culprit_doubt_tests[] = {
    {"calls that only the caller saw", test_lost},
    {"another mix of requests", test_mix},
    {"siblings that are on the path less often", test_siblings},
    {"callers that may only wait", test_waiting},
    {"networks that are not seen", test_no_edges},
    {"few calls with a high score by chance", test_chance_is_behind},
    {"arms by user", test_users},
    {"keys by which requests were dealt", test_nested_keys},
    CU_TEST_INFO_NULL,
};
