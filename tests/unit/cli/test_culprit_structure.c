/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_culprit_structure.c - what changed in structure: by hand, and against a model
 * that deals small sets in all ways
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/test_random.h"
#include "tests/unit/cli/culprit_paths.h"

#include "tool/culprit/culprit_structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct test_random numbers;

static bool is_drawn(double share)
{
    return (double)test_random_below(&numbers, 1000) < 1000 * share;
}

/* --- Requests --- */

/* What one visit of B does. */
struct visit {
    bool calls_c;
    bool calls_d; /* after C, or beside it */
    bool are_beside;
    bool is_failed;
    bool has_failed_call; /* C fails, too */
    bool is_blind;        /* only A saw it */
};

enum { VISITS = 3 };

/* One request: A calls B, a few times. */
struct request {
    const char *entry;
    unsigned visit_count;
    struct visit visits[VISITS];
    uint64_t cluster;
    bool lacks_callers; /* only callees have spans */
};

static void mark(struct cpt_path *path, uint64_t begin_ns)
{
    CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_BEGIN, begin_ns), CPT_OK);
}

static void fail(struct cpt_path *path)
{
    CU_ASSERT_EQUAL(cpt_path_label_name(path, CPT_LABEL_STATUS, cpt_bytes_of("error")),
                    CPT_OK);
}

/* A call of @name below @parent from @begin_ns to @end_ns. */
static void put_call(struct cpt_path *path, uint32_t parent, const char *name,
                     uint64_t begin_ns, uint64_t end_ns, bool is_failed,
                     bool lacks_caller)
{
    const uint32_t frame = add(path, parent, name);

    if (!lacks_caller) {
        put_kind(path, frame, CPT_KIND_NETWORK, 5);
        mark(path, begin_ns);
    }
    put(path, frame, 10);
    if (lacks_caller) {
        mark(path, begin_ns);
    }
    if (is_failed) {
        fail(path);
    }
    put(path, parent, 1);
    mark(path, end_ns);
}

static void make_path(struct cpt_path *path, const struct request *request)
{
    const uint32_t a = add(path, CPT_FRAME_NONE, request->entry);
    const uint32_t b = add(path, a, "B: get");

    put(path, a, 30);
    for (unsigned i = 0; i < request->visit_count; i++) {
        const struct visit *visit = &request->visits[i];
        const uint64_t at = 1000 * ((uint64_t)i + 1);

        if (visit->is_blind) {
            put_kind(path, b, CPT_KIND_BLIND_SPOT, 20);
        } else {
            put(path, b, 20);
        }
        mark(path, at);
        if (visit->is_failed) {
            fail(path);
        }
        if (visit->calls_c) {
            put_call(path, b, "C: find", at + 100, at + 300, visit->has_failed_call,
                     request->lacks_callers);
        }
        if (visit->calls_d) {
            const uint64_t later =
                visit->are_beside ? 0 : 190; /* a twentieth of both */

            put_call(path, b, "D: find", at + 100 + later, at + 300 + later, false,
                     request->lacks_callers);
        }
        put(path, a, 1);
        mark(path, at + 900);
    }
}

static void add_request(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                        const struct request *request)
{
    struct cpt_path *path = cpt_path_new(NULL);

    make_path(path, request);
    if (request->cluster != 0) {
        cpti_culprit_cluster(culprit, request->cluster);
    }
    CU_ASSERT_EQUAL(cpti_culprit_add(culprit, side, path, 0), CPT_OK);
    cpt_path_free(path);
}

static struct cpti_culprit *new_culprit(void)
{
    struct cpti_culprit *culprit = cpti_culprit_new(NULL, CPTI_CULPRIT_BY_SERVICE);

    cpti_culprit_has_all_visits(culprit);
    CU_ASSERT_EQUAL(cpti_culprit_compare_structure(culprit), CPT_OK);
    return culprit;
}

/* Compares 60 requests that do as @base with 19 that do as @other. */
static struct cpti_culprit *compare(const struct request *base,
                                    const struct request *other)
{
    struct cpti_culprit *culprit = new_culprit();

    for (int i = 0; i < 60; i++) {
        add_request(culprit, CPTI_CULPRIT_BASE, base);
    }
    for (int i = 0; i < 19; i++) {
        add_request(culprit, CPTI_CULPRIT_NEW, other);
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    return culprit;
}

/* --- By hand --- */

static bool is_name(struct cpt_bytes name, const char *expected)
{
    return cpt_bytes_equal(name, cpt_bytes_of(expected));
}

/* Of sets that do as @base and as @other, one row is told: of @kind, of B and @child,
 * @cases of 60 and of 19. */
static void expect_one(const struct request *base, const struct request *other,
                       enum cpti_structure_kind kind, const char *child,
                       const uint64_t cases[2])
{
    struct cpti_culprit *culprit = compare(base, other);
    const struct cpti_structure *structure = cpti_culprit_structure(culprit);

    CU_ASSERT_EQUAL_FATAL(cpti_structure_row_count(structure), 1);
    if (cpti_structure_row_count(structure) == 1) {
        const struct cpti_structure_row *row = cpti_structure_row(structure, 0);

        CU_ASSERT_EQUAL(row->kind, kind);
        CU_ASSERT_TRUE(is_name(row->parent, "B: get"));
        CU_ASSERT_TRUE(is_name(row->child, child));
        CU_ASSERT_EQUAL(row->visits[0], 60);
        CU_ASSERT_EQUAL(row->visits[1], 19);
        CU_ASSERT_EQUAL(row->cases[0], cases[0]);
        CU_ASSERT_EQUAL(row->cases[1], cases[1]);
        CU_ASSERT_DOUBLE_EQUAL(row->shares[0], (double)cases[0] / 60, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(row->shares[1], (double)cases[1] / 19, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(row->p, 0.001, 1e-9);
    }
    CU_ASSERT_EQUAL(cpti_structure_left_out(structure), 0);
    cpti_culprit_free(culprit);
}

static void test_by_hand(void)
{
    const struct request usual = {.entry = "A: /",
                                  .visit_count = 1,
                                  .visits = {{.calls_c = true, .calls_d = true}}};
    struct request other = usual;

    other.visits[0].calls_d = false;
    expect_one(&usual, &other, CPTI_STRUCTURE_CALL_VANISHED, "D: find",
               (const uint64_t[]){60, 0});
    expect_one(&other, &usual, CPTI_STRUCTURE_CALL_NEW, "D: find",
               (const uint64_t[]){0, 19});
    other = usual;
    other.visits[0].are_beside = true;
    expect_one(&usual, &other, CPTI_STRUCTURE_ORDER, "C: find",
               (const uint64_t[]){0, 19});
    expect_one(&other, &usual, CPTI_STRUCTURE_ORDER, "C: find",
               (const uint64_t[]){60, 0});
    other = usual;
    other.visits[0].is_failed = true;
    expect_one(&usual, &other, CPTI_STRUCTURE_FAILURES, "", (const uint64_t[]){0, 19});
}

/* Without spans of callers, calls that the network delays look as if they were made
 * later: their order is not compared. */
static void test_no_callers(void)
{
    const struct request usual = {.entry = "A: /",
                                  .visit_count = 1,
                                  .visits = {{.calls_c = true, .calls_d = true}},
                                  .lacks_callers = true};
    struct request other = usual;
    struct cpti_culprit *culprit;

    other.visits[0].are_beside = true;
    culprit = compare(&usual, &other);
    CU_ASSERT_EQUAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 0);
    cpti_culprit_free(culprit);
}

/* Visits of B that only A saw call C, for all that is known. */
static void test_blind(void)
{
    const struct request usual = {.entry = "A: /",
                                  .visit_count = 2,
                                  .visits = {{.calls_c = true}, {.calls_c = true}}};
    struct request other = usual;
    struct cpti_culprit *culprit;

    other.visits[0] = (struct visit){.is_blind = true};
    culprit = compare(&usual, &other);
    CU_ASSERT_EQUAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 0);
    cpti_culprit_free(culprit);
    other.visits[0].is_failed = true; /* that A saw */
    culprit = compare(&usual, &other);
    CU_ASSERT_EQUAL_FATAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 1);
    CU_ASSERT_EQUAL(cpti_structure_row(cpti_culprit_structure(culprit), 0)->kind,
                    CPTI_STRUCTURE_FAILURES);
    cpti_culprit_free(culprit);
}

/* B fails because C does: that is told of C. */
static void test_origin_of_failures(void)
{
    const struct request usual = {
        .entry = "A: /", .visit_count = 1, .visits = {{.calls_c = true}}};
    struct request other = usual;
    struct cpti_culprit *culprit;
    const struct cpti_structure *structure;

    other.visits[0].is_failed = true;
    other.visits[0].has_failed_call = true;
    culprit = compare(&usual, &other);
    structure = cpti_culprit_structure(culprit);
    CU_ASSERT_EQUAL_FATAL(cpti_structure_row_count(structure), 1);
    CU_ASSERT_TRUE(is_name(cpti_structure_row(structure, 0)->parent, "C: find"));
    cpti_culprit_free(culprit);
}

/* One visit of A calls B three times instead of once. */
static void test_repeated(void)
{
    const struct visit visit = {.calls_c = true};
    const struct request usual = {
        .entry = "A: /", .visit_count = 1, .visits = {visit, visit, visit}};
    struct request other = usual;
    struct cpti_culprit *culprit;
    const struct cpti_structure_row *row;

    other.visit_count = 3;
    culprit = compare(&usual, &other);
    CU_ASSERT_EQUAL_FATAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 1);
    row = cpti_structure_row(cpti_culprit_structure(culprit), 0);
    CU_ASSERT_EQUAL(row->kind, CPTI_STRUCTURE_CALLS_MORE);
    CU_ASSERT_TRUE(row->is_repeated);
    CU_ASSERT_EQUAL(row->cases[0], 60);
    CU_ASSERT_EQUAL(row->cases[1], 57);
    CU_ASSERT_DOUBLE_EQUAL(row->shares[1], 3, 1e-9);
    cpti_culprit_free(culprit);
}

/* Requests of one entry make a call of D, those of another do not; their shares change,
 * and that is no change of structure. */
static void test_mix(void)
{
    const struct visit with = {.calls_c = true, .calls_d = true};
    const struct visit without = {.calls_c = true};
    struct cpti_culprit *culprit = new_culprit();

    for (int i = 0; i < 200; i++) {
        const bool is_first = i % 10 == 0;

        for (int side = 0; side < 2; side++) {
            const bool calls = is_first == (side == 0);
            const struct request request = {.entry = calls ? "A: list" : "A: buy",
                                            .visit_count = 1,
                                            .visits = {calls ? with : without}};

            add_request(culprit, (enum cpti_culprit_side)side, &request);
        }
    }
    CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 0);
    cpti_culprit_free(culprit);
}

/* Few users do otherwise, in many requests each: as requests that is sure, as users it
 * is not. The same users in both sets do otherwise in the new one: that is sure. */
static void test_clusters(void)
{
    for (int way = 0; way < 3; way++) {
        struct cpti_culprit *culprit = new_culprit();

        for (int i = 0; i < 800; i++) {
            const int user = i / 40;
            const int side = way == 2 ? i % 2 : user % 2;
            const bool is_odd = way == 2 ? side == 1 : user == 1 || user == 3;
            const struct request request = {
                .entry = "A: /",
                .visit_count = 1,
                .visits = {{.calls_c = true, .calls_d = is_odd}},
                .cluster = way == 0 ? 0 : 1 + (uint64_t)user};

            add_request(culprit, (enum cpti_culprit_side)side, &request);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        CU_ASSERT_EQUAL(cpti_structure_row_count(cpti_culprit_structure(culprit)),
                        way == 1 ? 0 : 1);
        cpti_culprit_free(culprit);
    }
}

/* --- The model --- */

enum { ENTRIES = 2, SIDE = 5, REQUESTS = 2 * SIDE, ROWS = 6, DEALS = 252, CASES = 30 };

static const char *const entries[ENTRIES] = {"A: list", "A: buy"};

/* Rows: B calls C, B calls D; A: list and A: buy call B again; C and D are side by
 * side; B fails. */
static const unsigned families[ROWS] = {0, 0, 0, 0, 1, 2};
static const char *const parents[ROWS] = {"B: get", "B: get", "A: list",
                                          "A: buy", "B: get", "B: get"};
static const char *const children[ROWS] = {"C: find", "D: find", "B: get",
                                           "B: get",  "C: find", ""};

/* Of each entry, the requests of the base come first. */
struct counts {
    double cases[ENTRIES][REQUESTS][ROWS];
    double visits[ENTRIES][REQUESTS][ROWS];
};

static void count(struct counts *counts, int entry, int number,
                  const struct request *request)
{
    double *cases = counts->cases[entry][number];
    double *visits = counts->visits[entry][number];

    cases[2 + entry] = request->visit_count - 1;
    visits[2 + entry] = 1;
    for (unsigned i = 0; i < request->visit_count; i++) {
        const struct visit *visit = &request->visits[i];

        cases[0] += visit->calls_c;
        cases[1] += visit->calls_d;
        cases[4] += visit->calls_c && visit->calls_d && visit->are_beside;
        cases[5] += visit->is_failed;
        visits[0]++;
        visits[1]++;
        visits[4] += visit->calls_c && visit->calls_d;
        visits[5]++;
    }
}

/* Σ w (b/m - a/n) of one entry, if the requests in @deal are the new set. */
static double model_u(const struct counts *counts, int entry, int row, unsigned deal)
{
    double cases[2] = {0, 0};
    double visits[2] = {0, 0};

    for (int i = 0; i < REQUESTS; i++) {
        cases[deal >> i & 1] += counts->cases[entry][i][row];
        visits[deal >> i & 1] += counts->visits[entry][i][row];
    }
    if (visits[0] + visits[1] == 0) {
        return 0;
    }
    /* where one set has no visits, w is 0, but e is not: all its cases are expected */
    return cases[1] - visits[1] * (cases[0] + cases[1]) / (visits[0] + visits[1]);
}

/* z that a normal value exceeds with probability @tail. */
static double model_quantile(double tail)
{
    double low = 0;
    double high = 20;

    for (int i = 0; i < 60; i++) {
        const double z = (low + high) / 2;

        if (erfc(z / sqrt(2)) / 2 > tail) {
            low = z;
        } else {
            high = z;
        }
    }
    return low;
}

static unsigned ones(unsigned bits)
{
    unsigned count_of = 0;

    for (; bits != 0; bits &= bits - 1) {
        count_of++;
    }
    return count_of;
}

/* U of all deals of one entry, by row; the first is that of the sets themselves. */
struct dealt {
    double u[ENTRIES][DEALS][ROWS];
};

static void deal_all(const struct counts *counts, struct dealt *dealt)
{
    const unsigned own = ((1U << SIDE) - 1) << SIDE;

    for (int entry = 0; entry < ENTRIES; entry++) {
        size_t at = 1;

        for (unsigned deal = 0; deal < 1U << REQUESTS; deal++) {
            const size_t to = deal == own ? 0 : at;

            if (ones(deal) != SIDE) {
                continue;
            }
            at += deal != own;
            for (int row = 0; row < ROWS; row++) {
                dealt->u[entry][to][row] = model_u(counts, entry, row, deal);
            }
        }
        CU_ASSERT_EQUAL(at, DEALS);
    }
}

/* What T divides U by; 0 if the row is not compared. */
static void model_scales(const struct counts *counts, const struct dealt *dealt,
                         double scales[ROWS])
{
    double family_counts[3] = {0, 0, 0};

    for (int row = 0; row < ROWS; row++) {
        double cases = 0;
        double others = 0;
        double squares = 0;

        for (int entry = 0; entry < ENTRIES; entry++) {
            for (int i = 0; i < REQUESTS; i++) {
                cases += counts->cases[entry][i][row];
                others += counts->visits[entry][i][row] - counts->cases[entry][i][row];
            }
            for (int i = 0; i < DEALS; i++) {
                squares += dealt->u[entry][i][row] * dealt->u[entry][i][row] / DEALS;
            }
        }
        scales[row] = 0;
        if (cases >= 5 && (others >= 5 || row == 2 || row == 3)) {
            scales[row] = sqrt(squares);
            family_counts[families[row]]++;
        }
    }
    for (int row = 0; row < ROWS; row++) {
        scales[row] *= model_quantile(0.005 / 6 / family_counts[families[row]]);
    }
}

/* p of each row, by all deals. */
static void model_p(const struct dealt *dealt, const double scales[ROWS],
                    double t[ROWS], double p[ROWS])
{
    for (int row = 0; row < ROWS; row++) {
        t[row] = scales[row] < 1e-9
                     ? 0
                     : (dealt->u[0][0][row] + dealt->u[1][0][row]) / scales[row];
        p[row] = 0;
    }
    for (int i = 0; i < DEALS; i++) {
        for (int k = 0; k < DEALS; k++) {
            double largest = 0;

            for (int row = 0; row < ROWS; row++) {
                if (scales[row] >= 1e-9) {
                    largest =
                        fmax(largest, fabs(dealt->u[0][i][row] + dealt->u[1][k][row]) /
                                          scales[row]);
                }
            }
            for (int row = 0; row < ROWS; row++) {
                p[row] +=
                    largest >= fabs(t[row]) * (1 - 1e-3) ? 1.0 / DEALS / DEALS : 0;
            }
        }
    }
}

static const struct cpti_structure_row *find_row(const struct cpti_structure *structure,
                                                 int row)
{
    for (size_t i = 0; i < cpti_structure_row_count(structure); i++) {
        const struct cpti_structure_row *at = cpti_structure_row(structure, i);
        const unsigned family = at->kind == CPTI_STRUCTURE_FAILURES ? 2
                                : at->kind == CPTI_STRUCTURE_ORDER  ? 1
                                                                    : 0;

        if (family == families[row] && is_name(at->parent, parents[row]) &&
            is_name(at->child, children[row])) {
            return at;
        }
    }
    return NULL;
}

/* Whether the order of C and D is not told, as B calls one of them more or less. */
static bool is_explained(const struct cpti_structure *structure, int row)
{
    return families[row] == 1 &&
           (find_row(structure, 0) != NULL || find_row(structure, 1) != NULL);
}

static struct request draw_request(int entry, const double of[5])
{
    struct request request = {.entry = entries[entry],
                              .visit_count = 1 + (unsigned)is_drawn(of[4])};

    for (unsigned i = 0; i < request.visit_count; i++) {
        request.visits[i] = (struct visit){.calls_c = is_drawn(of[0]),
                                           .calls_d = is_drawn(of[1]),
                                           .are_beside = is_drawn(of[2]),
                                           .is_failed = is_drawn(of[3])};
    }
    return request;
}

/* Random small sets: T and p are those of all deals. */
static void test_model(void)
{
    static struct dealt dealt;
    unsigned told = 0;

    numbers.state = test_random_seed("structure");
    for (int run = 0; run < CASES; run++) {
        struct cpti_culprit *culprit = new_culprit();
        struct counts counts = {.cases = {{{0}}}};
        double shares[2][5];
        double scales[ROWS];
        double t[ROWS];
        double p[ROWS];

        for (int i = 0; i < 5; i++) {
            shares[0][i] = (double)test_random_below(&numbers, 11) / 10;
            shares[1][i] = is_drawn(0.5) ? shares[0][i] : 1 - shares[0][i];
        }
        for (int i = 0; i < REQUESTS; i++) {
            for (int entry = 0; entry < ENTRIES; entry++) {
                const struct request request = draw_request(entry, shares[i >= SIDE]);

                count(&counts, entry, i, &request);
                add_request(culprit, i < SIDE ? CPTI_CULPRIT_BASE : CPTI_CULPRIT_NEW,
                            &request);
            }
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        deal_all(&counts, &dealt);
        model_scales(&counts, &dealt, scales);
        model_p(&dealt, scales, t, p);
        for (int row = 0; row < ROWS; row++) {
            const struct cpti_structure *structure = cpti_culprit_structure(culprit);
            const struct cpti_structure_row *found = find_row(structure, row);

            if (found != NULL) {
                told++;
                CU_ASSERT_DOUBLE_EQUAL(found->t, t[row], 0.02 * fabs(t[row]));
                CU_ASSERT_DOUBLE_EQUAL(found->p, p[row] + 0.001,
                                       0.0005 + 4 * sqrt((p[row] + 0.0005) / 1000));
            } else {
                CU_ASSERT_TRUE(p[row] > 0.0005 || is_explained(structure, row));
            }
        }
        cpti_culprit_free(culprit);
    }
    CU_ASSERT_TRUE(told > 10);
}

/* --- Limits --- */

/* Names without an end: what does not fit is counted, and the rest is compared. */
static void test_limits(void)
{
    struct cpti_structure *structure = cpti_structure_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    enum { MANY = 140, CALLS = 1000 };

    for (int i = 0; i < MANY; i++) {
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, 1);
        for (int k = 0; k < CALLS; k++) {
            char name[32];

            (void)snprintf(name, sizeof name, "B: %d", i * CALLS + k);
            put(path, add(path, a, name), 1);
            put(path, a, 1);
        }
        CU_ASSERT_EQUAL(cpti_structure_add(structure, CPTI_CULPRIT_BASE, path), CPT_OK);
    }
    CU_ASSERT_TRUE(cpti_structure_left_out(structure) > 0);
    CU_ASSERT_TRUE(cpti_structure_left_out(structure) < MANY);
    cpt_path_free(path);
    cpti_structure_free(structure);
}

/* Whatever segments and labels say, nothing breaks. */
static void test_strange_paths(void)
{
    static const char *const names[] = {"A: /", "B: x", "B: y", "C: x", "", "D:"};

    numbers.state = test_random_seed("strange");
    for (int run = 0; run < 200; run++) {
        struct cpti_culprit *culprit = new_culprit();

        for (int i = 0; i < 20; i++) {
            struct cpt_path *path = cpt_path_new(NULL);

            for (uint64_t k = test_random_below(&numbers, 40); k > 0; k--) {
                const size_t frames = cpt_path_frame_count(path);
                const uint64_t parent = test_random_below(&numbers, frames + 1);
                uint32_t frame = 0;

                (void)cpt_path_frame_add(
                    path, parent == frames ? CPT_FRAME_NONE : (uint32_t)parent,
                    cpt_bytes_of(names[test_random_below(&numbers, 6)]),
                    is_drawn(0.8) ? CPT_KIND_WORK : CPT_KIND_NETWORK, &frame);
                put(path, frame, 1 + test_random_below(&numbers, 10));
                if (is_drawn(0.5)) {
                    mark(path,
                         is_drawn(0.1) ? UINT64_MAX : test_random_below(&numbers, 50));
                }
                if (is_drawn(0.2)) {
                    fail(path);
                }
            }
            CU_ASSERT_EQUAL(
                cpti_culprit_add(culprit, (enum cpti_culprit_side)(i % 2), path, 0),
                CPT_OK);
            cpt_path_free(path);
        }
        CU_ASSERT_EQUAL(cpti_culprit_judge(culprit, 1), CPT_OK);
        cpti_culprit_free(culprit);
    }
}

static bool all_over(const struct cpt_alloc *alloc)
{
    struct cpti_culprit *culprit = cpti_culprit_new(alloc, CPTI_CULPRIT_BY_SERVICE);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = culprit != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        cpti_culprit_has_all_visits(culprit);
        status = cpti_culprit_compare_structure(culprit);
    }
    for (int i = 0; i < 40 && status == CPT_OK; i++) {
        const struct request request = {
            .entry = "A: /",
            .visit_count = 1,
            .visits = {{.calls_c = true, .calls_d = i % 2 == 0}}};

        cpt_path_reset(path);
        make_path(path, &request);
        status = cpti_culprit_add(culprit, (enum cpti_culprit_side)(i % 2), path, 0);
    }
    if (status == CPT_OK) {
        status = cpti_culprit_judge(culprit, 1);
    }
    if (status == CPT_OK) {
        CU_ASSERT_EQUAL(cpti_structure_row_count(cpti_culprit_structure(culprit)), 1);
    }
    cpt_path_free(path);
    cpti_culprit_free(culprit);
    return status == CPT_OK;
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(all_over);
}

CU_TestInfo cpt_culprit_structure_tests[] = {
    {"by hand", test_by_hand},
    {"no callers", test_no_callers},
    {"visits that only the caller saw", test_blind},
    {"the origin of failures", test_origin_of_failures},
    {"repeated calls", test_repeated},
    {"another mix", test_mix},
    {"clusters", test_clusters},
    {"model", test_model},
    {"limits", test_limits},
    {"strange paths", test_strange_paths},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
