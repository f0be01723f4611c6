/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_culprit_kinds.c - operations, replicas and values of an attribute: like is
 * compared with like, the right one is first, and what cannot be told apart is said
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/test_random.h"
#include "tests/unit/cli/culprit_paths.h"

#include "tool/culprit/culprit_kind.h"
#include "tool/culprit/culprit_parts.h"

#include <math.h>
#include <stdio.h>

enum { MS = 1000000 };

static struct test_random numbers;

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns + test_random_below(&numbers, to_ns - from_ns);
}

/* --- The words of --by --- */

static void test_words(void)
{
    static const char *const words[] = {"service",   "name",    "edge",
                                        "operation", "replica", "attribute:a:b"};
    const char *key;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        CU_ASSERT_EQUAL(cpti_culprit_kind_of(words[i], &key)->by, i);
        CU_ASSERT_EQUAL(key != NULL, i == CPTI_CULPRIT_BY_ATTRIBUTE);
    }
    CU_ASSERT_STRING_EQUAL(key, "a:b");
    CU_ASSERT_EQUAL(cpti_culprit_kind_of(NULL, &key)->by, CPTI_CULPRIT_BY_SERVICE);
}

/* --- Operations --- */

/* A call of @name below @parent: network, @ns, network. */
static uint32_t call(struct cpt_path *path, uint32_t parent, const char *name,
                     uint64_t ns, bool has_edge)
{
    const uint32_t frame = add(path, parent, name);

    if (has_edge) {
        put_kind(path, frame, CPT_KIND_NETWORK, between(MS / 5, MS / 2));
    }
    put(path, frame, ns);
    return frame;
}

/* What is slow in the new set. */
struct shop {
    uint64_t c_get;
    uint64_t c_put;
    uint64_t b_list;
    uint64_t b_sell;
    bool has_edges;
};

/* A calls B: list, which calls C: get; B: sell, which calls D; then C: put, E, F. */
static void add_shop(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                     const struct shop *shop)
{
    static const struct shop as_before = {1, 1, 1, 1, true};
    const struct shop *now = side == CPTI_CULPRIT_NEW ? shop : &as_before;
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A: /");
    uint32_t b;

    put(path, a, between(MS, 2 * MS));
    b = call(path, a, "B: list", now->b_list * between(MS, 2 * MS), shop->has_edges);
    (void)call(path, b, "C: get", now->c_get * between(MS, 2 * MS), shop->has_edges);
    put(path, b, MS);
    b = call(path, a, "B: sell", now->b_sell * between(MS, 2 * MS), shop->has_edges);
    (void)call(path, b, "D: pay", between(MS, 2 * MS), shop->has_edges);
    (void)call(path, a, "C: put", now->c_put * between(MS, 2 * MS), shop->has_edges);
    (void)call(path, a, "E: ad", between(MS, 2 * MS), shop->has_edges);
    (void)call(path, a, "F: log", between(MS, 2 * MS), shop->has_edges);
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

static struct cpti_culprit *judge_shop(const struct shop *shop)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_OPERATION);

    for (int i = 0; i < 200; i++) {
        add_shop(culprit, (enum cpti_culprit_side)(i % 2), shop);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    return culprit;
}

static bool is_culprit(const struct cpti_culprit *culprit, const char *name)
{
    const struct cpti_suspect *suspect = find(culprit, name);

    CU_ASSERT_PTR_NOT_NULL_FATAL(suspect);
    return suspect->is_culprit;
}

static bool is_either(const struct cpti_culprit *culprit, const char *name,
                      const char *callee)
{
    bool is_any = false;

    for (size_t i = 0; i < cpti_culprit_either_count(culprit); i++) {
        struct cpt_bytes to;
        const struct cpt_bytes its = cpti_culprit_either(culprit, i, &to);

        is_any |= cpt_bytes_equal(its, cpt_bytes_of(name)) &&
                  cpt_bytes_equal(to, cpt_bytes_of(callee));
    }
    return is_any;
}

static void test_operation(void)
{
    const struct shop shop = {4, 1, 1, 1, true};
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("an operation");
    culprit = judge_shop(&shop);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(is_culprit(culprit, "C: get"));
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "C: get")->factor, 4, 0.8);
    CU_ASSERT_EQUAL(find(culprit, "C: get")->frame_count, 2); /* itself, B: list → */
    CU_ASSERT_FALSE(is_culprit(culprit, "C: put"));
    cpti_culprit_free(culprit);
}

/* C: get was always slower when B asked; now B asks more often. */
static void test_callers(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_OPERATION);
    struct cpt_path *path = cpt_path_new(NULL);

    numbers.state = test_random_seed("callers of an operation");
    for (int i = 0; i < 400; i++) {
        const bool is_new = i % 2 == 1;
        const bool asks_b = between(0, 10) < (is_new ? 8 : 2);
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, between(MS, 2 * MS));
        if (asks_b) {
            a = call(path, a, "B: list", between(MS, 2 * MS), true);
        }
        (void)call(path, a, "C: get", (asks_b ? 20 : 1) * between(MS, 2 * MS), true);
        CU_ASSERT_EQUAL(
            cpti_culprit_add(culprit, (enum cpti_culprit_side)is_new, path, 0), CPT_OK);
    }
    cpti_culprit_has_all_visits(culprit);
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(cpti_culprit_verdict(culprit) <= CPTI_VERDICT_UNSURE);
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "C: get")->factor, 1, 0.5);
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* Both operations of C are slower: they share its workers. */
static void test_workers(void)
{
    const struct shop shop = {8, 8, 1, 1, true};
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("workers");
    culprit = judge_shop(&shop);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_EITHER);
    CU_ASSERT_EQUAL(cpti_culprit_doubt_reason(culprit), CPTI_DOUBT_SHARES_WORKERS);
    CU_ASSERT_EQUAL(cpti_culprit_either_count(culprit), 2);
    CU_ASSERT_TRUE(is_either(culprit, "C: get", ""));
    CU_ASSERT_TRUE(is_either(culprit, "C: put", ""));
    CU_ASSERT_FALSE(is_culprit(culprit, "C: get"));
    cpti_culprit_free(culprit);
}

/* B: list calls the slow one, B: sell does not, but waits for a worker that B: list
 * has. */
static void test_waiting_operations(void)
{
    const struct shop shops[] = {{8, 1, 4, 1, true}, {8, 1, 1, 4, true}};

    numbers.state = test_random_seed("waiting operations");
    for (int i = 0; i < 2; i++) {
        const char *waiting = i == 0 ? "B: list" : "B: sell";
        struct cpti_culprit *culprit = judge_shop(&shops[i]);

        CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
        CU_ASSERT_TRUE(is_culprit(culprit, "C: get"));
        CU_ASSERT_FALSE(is_culprit(culprit, waiting));
        CU_ASSERT_TRUE(find(culprit, waiting)->may_wait);
        cpti_culprit_free(culprit);
    }
}

static void test_no_edges(void)
{
    const struct shop shop = {1, 1, 6, 1, false};
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("networks of operations");
    culprit = judge_shop(&shop);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_EITHER);
    CU_ASSERT_EQUAL(cpti_culprit_doubt_reason(culprit), CPTI_DOUBT_NO_EDGE_TIME);
    CU_ASSERT_EQUAL(cpti_culprit_either_count(culprit), 2);
    CU_ASSERT_TRUE(is_either(culprit, "B: list", ""));
    CU_ASSERT_TRUE(is_either(culprit, "B: list", "C: get"));
    cpti_culprit_free(culprit);
}

/* Of two operations side by side only the slower one is on the path. */
static void test_presence(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_OPERATION);
    struct cpt_path *path = cpt_path_new(NULL);

    numbers.state = test_random_seed("operations side by side");
    for (int i = 0; i < 1000; i++) {
        const bool is_new = i % 2 == 1;
        const uint64_t x_ns = between(8 * MS, 16 * MS);
        const uint64_t y_ns = (between(0, 10) == 0 ? between(20 * MS, 40 * MS)
                                                   : between(4 * MS, 6 * MS)) +
                              (is_new ? 8 * MS : 0);
        uint32_t front;

        cpt_path_reset(path);
        front = add(path, CPT_FRAME_NONE, "A: /");
        put(path, front, between(MS, 2 * MS));
        (void)call(path, front, x_ns >= y_ns ? "X: x" : "X: y",
                   x_ns >= y_ns ? x_ns : y_ns, true);
        (void)call(path, front, "Z: get", between(2 * MS, 4 * MS), true);
        CU_ASSERT_EQUAL(cpti_culprit_add(culprit, (enum cpti_culprit_side)is_new, path,
                                         (uint64_t)(i + 1) * MS),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_EITHER);
    CU_ASSERT_EQUAL(cpti_culprit_doubt_reason(culprit), CPTI_DOUBT_PRESENCE_CHANGED);
    CU_ASSERT_TRUE(is_either(culprit, "X: x", ""));
    CU_ASSERT_TRUE(is_either(culprit, "X: y", ""));
    cpt_path_free(path);
    cpti_culprit_free(culprit);
}

/* --- Replicas --- */

static void label_host(struct cpt_path *path, const char *host)
{
    if (host != NULL) {
        CU_ASSERT_EQUAL(cpt_path_label_name(path, CPT_LABEL_HOST, cpt_bytes_of(host)),
                        CPT_OK);
    }
}

/* A on one host calls B and C, each on one of three; B's calls are two in each request,
 * side by side, in one frame. B on @slow is four times slower in the new set. */
static void add_replicas(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                         const char *const hosts[3], int slow)
{
    static const char *const names[] = {"B: get", "B: get", "C: get"};
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A: /");

    put(path, a, between(MS, 2 * MS));
    label_host(path, "front");
    for (int i = 0; i < 3; i++) {
        const int replica = (int)between(0, 3);
        const bool is_slow = side == CPTI_CULPRIT_NEW && i < 2 && replica == slow;
        const uint32_t frame = add(path, a, names[i]);

        put_kind(path, frame, CPT_KIND_NETWORK, between(MS / 5, MS / 2));
        label_host(path, hosts[replica]);
        put(path, frame, between(MS, 2 * MS) * (is_slow ? 4 : 1));
        put(path, a, MS);
    }
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

static struct cpti_culprit *judge_replicas(const char *const base[3],
                                           const char *const other[3], int slow)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_REPLICA);

    cpti_culprit_has_all_visits(culprit);
    for (int i = 0; i < 300; i++) {
        add_replicas(culprit, (enum cpti_culprit_side)(i % 2),
                     i % 2 == 0 ? base : other, slow);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    return culprit;
}

static const struct cpti_unjudged *find_unjudged(const struct cpti_culprit *culprit,
                                                 const char *name)
{
    for (size_t i = 0; i < cpti_culprit_unjudged_count(culprit); i++) {
        const struct cpti_unjudged *unjudged = cpti_culprit_unjudged(culprit, i);

        if (cpt_bytes_equal(unjudged->name, cpt_bytes_of(name))) {
            return unjudged;
        }
    }
    return NULL;
}

static void test_replica(void)
{
    static const char *const hosts[3] = {"h0", "h1", "h2"};
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("a replica");
    culprit = judge_replicas(hosts, hosts, 1);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(is_culprit(culprit, "B@h1"));
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "B@h1")->factor, 4, 0.8);
    CU_ASSERT_FALSE(is_culprit(culprit, "B@h0"));
    CU_ASSERT_FALSE(is_culprit(culprit, "C@h1"));
    CU_ASSERT_EQUAL(cpti_culprit_suspect_count(culprit), 7);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged_count(culprit), 0);
    CU_ASSERT_EQUAL(cpti_culprit_visits(culprit, CPTI_CULPRIT_NEW, true), 4 * 150);
    CU_ASSERT_EQUAL(cpti_culprit_visits(culprit, CPTI_CULPRIT_NEW, false), 0);
    cpti_culprit_free(culprit);
}

/* h2 was replaced by h3, which is slow, and one host has no name. */
static void test_other_replicas(void)
{
    static const char *const base[3] = {"h0", NULL, "h2"};
    static const char *const other[3] = {"h0", NULL, "h3"};
    struct cpti_culprit *culprit;

    numbers.state = test_random_seed("other replicas");
    culprit = judge_replicas(base, other, 2);
    CU_ASSERT_TRUE(cpti_culprit_verdict(culprit) <= CPTI_VERDICT_UNSURE);
    CU_ASSERT_PTR_NULL(find(culprit, "B@h2"));
    CU_ASSERT_PTR_NULL(find(culprit, "B@h3"));
    CU_ASSERT_PTR_NOT_NULL(find(culprit, "B")); /* on a host without a name */
    CU_ASSERT_PTR_NOT_NULL_FATAL(find_unjudged(culprit, "B@h2"));
    CU_ASSERT_EQUAL(find_unjudged(culprit, "B@h2")->calls[1], 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(find_unjudged(culprit, "B@h3"));
    CU_ASSERT_EQUAL(find_unjudged(culprit, "B@h3")->calls[0], 0);
    CU_ASSERT_TRUE(cpti_culprit_visits(culprit, CPTI_CULPRIT_BASE, false) > 100);
    cpti_culprit_free(culprit);
}

/* --- Values --- */

static cpt_status add_value(struct cpti_culprit *culprit, int set, const char *value,
                            const char *method, uint64_t latency_ns)
{
    const struct cpti_culprit_request request = {.value = cpt_bytes_of(value),
                                                 .entry = cpt_bytes_of("A: /"),
                                                 .method = cpt_bytes_of(method),
                                                 .latency_ns = latency_ns};

    return cpti_culprit_add_request(culprit, (enum cpti_culprit_side)set, &request);
}

/* Requests of a take 100 ns, then 400; those of b 100, then 200: a has become twice as
 * slow as all others. */
static void test_values_by_hand(void)
{
    const double usual = log(201.0 / 101); /* the change of b */
    const double weight = 1 / (1 / 5.0 + acos(-1) / 2 / 5.0);
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);

    for (int i = 0; i < 20; i++) {
        const int set = i % 2;

        CU_ASSERT_EQUAL(add_value(culprit, set, "a", "/", set == 0 ? 100 : 400),
                        CPT_OK);
        CU_ASSERT_EQUAL(add_value(culprit, set, "b", "/", set == 0 ? 100 : 200),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_requests(culprit, CPTI_CULPRIT_NEW), 20);
    CU_ASSERT_DOUBLE_EQUAL(cpti_culprit_offset_ns(culprit), 1, 1e-9);
    /* 10 in each set are worth 5 of 10·10/(10+10); a median less by π/2 */
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "a")->score,
                           weight / (weight + 2.5) * (log(401.0 / 101) - usual), 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "a")->factor, 4 / exp(usual), 1e-9);
    CU_ASSERT_EQUAL(find(culprit, "b")->score, 0);
    CU_ASSERT_EQUAL(find(culprit, "a")->calls[0], 10);
    CU_ASSERT_TRUE(isnan(find(culprit, "a")->distance)); /* there are too few */
    cpti_culprit_free(culprit);
}

/* Requests of six tenants, @count of each in each set; of tenant i they take factors[i]
 * times as long in the new set. Tenant 0 asks for what is slow more often there. */
static struct cpti_culprit *judge_tenants(const double factors[6], int count)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);

    for (int i = 0; i < 12 * count; i++) {
        const int set = i % 2;
        const int tenant = i / 2 % 6;
        const bool is_slow = between(0, 10) < (set == 1 && tenant == 0 ? 8 : 2);
        const double factor = set == 1 ? factors[tenant] : 1;
        char name[3] = {'t', (char)('0' + tenant), '\0'};

        CU_ASSERT_EQUAL(add_value(culprit, set, name, is_slow ? "slow" : "fast",
                                  (uint64_t)(factor * (is_slow ? 10 : 1) *
                                             (double)between(MS, 3 * MS))),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    return culprit;
}

static void test_values(void)
{
    static const double one[6] = {1, 1, 3, 1, 1, 1};
    static const double two[6] = {1, 3, 3, 1, 1, 1};
    static const double all[6] = {3, 3, 3, 3, 3, 3};
    static const double faster[6] = {1, 1, 0.2, 1, 1, 1};
    struct cpti_culprit *culprit;

    numbers.state = 1; /* chance is wrong now and then: always the same numbers */
    culprit = judge_tenants(one, 60);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(is_culprit(culprit, "t2"));
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "t2")->factor, 3, 1.2);
    CU_ASSERT_FALSE(is_culprit(culprit, "t0"));
    CU_ASSERT_DOUBLE_EQUAL(find(culprit, "t0")->factor, 1, 0.8);
    CU_ASSERT_FALSE(isnan(find(culprit, "t2")->distance));
    cpti_culprit_free(culprit);
    culprit = judge_tenants(two, 60);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_SURE);
    CU_ASSERT_TRUE(is_culprit(culprit, "t1"));
    CU_ASSERT_TRUE(is_culprit(culprit, "t2"));
    cpti_culprit_free(culprit);
    culprit = judge_tenants(all, 60); /* not one more than the others */
    CU_ASSERT_TRUE(cpti_culprit_verdict(culprit) <= CPTI_VERDICT_UNSURE);
    cpti_culprit_free(culprit);
    culprit = judge_tenants(faster, 60); /* nor are the others slower then */
    CU_ASSERT_TRUE(cpti_culprit_verdict(culprit) <= CPTI_VERDICT_UNSURE);
    cpti_culprit_free(culprit);
    culprit = judge_tenants(one, CPTI_CULPRIT_CALLS_MIN - 1);
    CU_ASSERT_EQUAL(find(culprit, "t2")->score, 0);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged_count(culprit), 6);
    cpti_culprit_free(culprit);
}

static double change_of(struct cpti_culprit_sum sums[2][8], uint32_t key)
{
    return sums[1][key].y / sums[1][key].count - sums[0][key].y / sums[0][key].count;
}

/* The median of the changes of keys 0 to @count - 1 but @left_out: at most half of the
 * weight is below it, and above; of several such, the mean of the first and last. */
static double slow_median(struct cpti_culprit_sum sums[2][8], uint32_t count,
                          uint32_t left_out)
{
    double low = INFINITY;
    double high = -INFINITY;

    for (uint32_t i = 0; i < count; i++) {
        const double d = change_of(sums, i);
        double below = 0;
        double above = 0;
        double all = 0;

        for (uint32_t k = 0; k < count; k++) {
            const double weight =
                k != left_out ? cpti_culprit_weight(sums[0][k].count, sums[1][k].count)
                              : 0;

            all += weight;
            below += change_of(sums, k) < d ? weight : 0;
            above += change_of(sums, k) > d ? weight : 0;
        }
        if (i != left_out && below <= all / 2 + 1e-6 && above <= all / 2 + 1e-6) {
            low = d < low ? d : low;
            high = d > high ? d : high;
        }
    }
    return (low + high) / 2;
}

/* What is usual for a value is the weighted median of all others. */
static void test_usual(void)
{
    numbers.state = test_random_seed("what is usual");
    for (int run = 0; run < 2000; run++) {
        const uint32_t count = 2 + (uint32_t)between(0, 7);
        struct cpti_culprit_sum sums[2][8];
        struct cpti_culprit_frame frames[8] = {{0}};
        struct cpti_culprit_usual usual[8];
        struct cpti_culprit_change changes[8];
        uint32_t peers[8];
        uint32_t end = count;
        const struct cpti_culprit_model model = {.frames = frames,
                                                 .frame_count = count,
                                                 .key_count = count,
                                                 .peers = peers,
                                                 .peer_ends = &end,
                                                 .operation_count = 1,
                                                 .c = 1};
        const struct cpti_culprit_scores scores = {.usual = usual, .changes = changes};

        for (uint32_t i = 0; i < count; i++) {
            frames[i].key_end = i + 1;
            peers[i] = i;
            for (int set = 0; set < 2; set++) {
                const double number = (double)between(1, run % 2 == 0 ? 2 : 9);

                sums[set][i] = (struct cpti_culprit_sum){
                    .count = number, .y = number * (double)between(0, 1000), .ns = 1};
            }
        }
        cpti_culprit_find_usual(&model, sums[0], sums[1], &scores);
        for (uint32_t i = 0; i < count; i++) {
            CU_ASSERT_DOUBLE_EQUAL(usual[i].d[CPTI_CULPRIT_EVERY],
                                   slow_median(sums, count, i), 1e-9);
        }
    }
}

/* One value alone, and values of one set each, cannot be compared. */
static void test_lonely_values(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);

    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(add_value(culprit, i % 2, "a", "/", i % 2 == 0 ? MS : 5 * MS),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_NONE);
    CU_ASSERT_EQUAL(find(culprit, "a")->score, 0);
    cpti_culprit_free(culprit);
    culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);
    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(add_value(culprit, i % 2, i % 2 == 0 ? "control" : "treatment",
                                  "/", (uint64_t)i + 1),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_culprit_suspect_count(culprit), 0);
    CU_ASSERT_EQUAL(cpti_culprit_unjudged_count(culprit), 2);
    cpti_culprit_free(culprit);
}

/* Of two or three values one becomes faster: the others did not become slower. */
static void test_faster_value(void)
{
    for (int count = 2; count <= 3; count++) {
        struct cpti_culprit *culprit =
            cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);

        numbers.state = (uint64_t)count;
        for (int i = 0; i < 400; i++) {
            const int set = i % 2;
            const int tenant = i / 2 % count;
            const uint64_t ns = between(9 * MS, 11 * MS);
            const char name[3] = {'t', (char)('0' + tenant), '\0'};

            CU_ASSERT_EQUAL(add_value(culprit, set, name, "/",
                                      set == 1 && tenant == 0 ? ns / 3 : ns),
                            CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        CU_ASSERT_FALSE(is_culprit(culprit, "t1"));
        CU_ASSERT_TRUE(cpti_culprit_verdict(culprit) <= CPTI_VERDICT_UNSURE);
        cpti_culprit_free(culprit);
    }
}

/* One cluster in each set can be dealt in two ways, one of which is the sets as they
 * are, whatever the order in which their times are added up. */
static void test_two_clusters(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_ATTRIBUTE);

    numbers.state = 1;
    for (int i = 0; i < 400; i++) {
        const int set = i % 2;
        const uint64_t ns = between(MS, 3 * MS);
        const char name[3] = {'t', (char)('0' + i / 2 % 4), '\0'};

        cpti_culprit_cluster(culprit, (uint64_t)set + 1);
        CU_ASSERT_EQUAL(add_value(culprit, set, name, "/",
                                  set == 1 && i / 2 % 4 == 0 ? 3 * ns : ns),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_TRUE(find(culprit, "t0")->p > 0.4);
    CU_ASSERT_EQUAL(cpti_culprit_verdict(culprit), CPTI_VERDICT_NONE);
    cpti_culprit_free(culprit);
}

/* --- Memory --- */

static bool compare_with(const struct cpt_alloc *alloc)
{
    struct cpti_culprit *culprit = cpti_culprit_new(alloc, CPTI_CULPRIT_BY_ATTRIBUTE);
    cpt_status status = culprit != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (int i = 0; i < 24 && status == CPT_OK; i++) {
        status = add_value(culprit, i % 2, i % 3 == 0 ? "a" : "b", "/", 10);
    }
    if (status == CPT_OK) {
        status = cpti_culprit_judge(culprit, 1);
    }
    cpti_culprit_free(culprit);
    return status == CPT_OK;
}

/* By operation, or replica: one that is slower is doubted, too. */
static bool compare_paths(const struct cpt_alloc *alloc, enum cpti_culprit_by by)
{
    struct cpti_culprit *culprit = cpti_culprit_new(alloc, by);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = culprit != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (int i = 0; i < 24 && status == CPT_OK; i++) {
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, 10);
        (void)cpt_path_label_name(path, CPT_LABEL_HOST, cpt_bytes_of("h"));
        put_kind(path, add(path, a, "B: get"), CPT_KIND_NETWORK, 5);
        put(path, add(path, a, "B: put"), i % 2 == 0 ? 10 : 1000);
        status = cpti_culprit_add(culprit, (enum cpti_culprit_side)(i % 2), path, 0);
    }
    if (status == CPT_OK) {
        status = cpti_culprit_judge(culprit, 1);
    }
    cpt_path_free(path);
    cpti_culprit_free(culprit);
    return status == CPT_OK;
}

static bool compare_operations(const struct cpt_alloc *alloc)
{
    return compare_paths(alloc, CPTI_CULPRIT_BY_OPERATION);
}

static bool compare_replicas(const struct cpt_alloc *alloc)
{
    return compare_paths(alloc, CPTI_CULPRIT_BY_REPLICA);
}

static void test_memory(void)
{
    each_allocation_failure(compare_with);
    each_allocation_failure(compare_operations);
    each_allocation_failure(compare_replicas);
}

extern CU_TestInfo cpt_culprit_kinds_tests[];
CU_TestInfo cpt_culprit_kinds_tests[] = {
    {"the words of --by", test_words},
    {"an operation", test_operation},
    {"callers of an operation", test_callers},
    {"operations that share workers", test_workers},
    {"operations that may only wait", test_waiting_operations},
    {"networks that are not seen", test_no_edges},
    {"operations that are on the path less often", test_presence},
    {"a replica", test_replica},
    {"replicas of one set", test_other_replicas},
    {"values by hand", test_values_by_hand},
    {"values", test_values},
    {"what is usual", test_usual},
    {"values without others", test_lonely_values},
    {"a value that became faster", test_faster_value},
    {"two clusters", test_two_clusters},
    {"each allocation fails", test_memory},
    CU_TEST_INFO_NULL,
};
