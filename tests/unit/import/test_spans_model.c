/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_spans_model.c - sections against a slow model, on random trees
 *
 * The model gives each instant of the root to a span, by the definition: it recurses,
 * looks at every child again for each pick, and knows no order of children.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "import/spans/span_explain.h"

#include <stdio.h>
#include <string.h>

enum { CASES = 4000, SPANS = 12, TIME = 400, NO_OWNER = 255, ID_BYTES = 3 };

struct model {
    struct cpti_span spans[SPANS];
    char ids[SPANS][16];
    uint64_t start[SPANS]; /* cut to the parent's */
    uint64_t end[SPANS];
    unsigned char is_in[SPANS];
    unsigned char is_used[SPANS];
    uint64_t until[SPANS];
    unsigned char owner[TIME]; /* of each instant */
    int parent[SPANS];
    int count;
};

static uint64_t least(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Random spans; number 0 is the root. Their ids are a random order. */
static void make(struct model *model, struct test_random *random)
{
    *model = (struct model){.count = 1 + (int)test_random_below(random, SPANS)};
    for (int i = 0; i < model->count; i++) {
        struct cpti_span *span = &model->spans[i];
        const int parent = i == 0 ? -1 : (int)test_random_below(random, (uint64_t)i);
        const uint64_t grid = test_random_chance(random, 50) ? 10 : 1;
        uint64_t from = test_random_below(random, TIME / grid) * grid;
        uint64_t to = test_random_below(random, TIME / grid) * grid;

        if (to < from) {
            const uint64_t swap = to;

            to = from;
            from = swap;
        }
        (void)snprintf(model->ids[i], sizeof model->ids[i], "%03u",
                       (unsigned)(test_random_below(random, 900) / SPANS * SPANS) +
                           (unsigned)i);
        model->parent[i] = parent;
        *span = (struct cpti_span){.id = {model->ids[i], ID_BYTES},
                                   .start_ns = from,
                                   .duration_ns = to - from,
                                   .has_time = true};
        if (parent >= 0) {
            span->parent = model->spans[parent].id;
        }
    }
}

/* Cuts to the parents' times; parents have smaller numbers. */
static void cut(struct model *model)
{
    for (int i = 0; i < model->count; i++) {
        const struct cpti_span *span = &model->spans[i];
        const int parent = model->parent[i];
        const uint64_t end = span->start_ns + span->duration_ns;

        model->start[i] = span->start_ns;
        model->end[i] = end;
        model->is_in[i] = 1;
        if (parent >= 0) {
            model->is_in[i] = model->is_in[parent] &&
                              span->start_ns <= model->end[parent] &&
                              end >= model->start[parent];
            model->start[i] = span->start_ns > model->start[parent]
                                  ? span->start_ns
                                  : model->start[parent];
            model->end[i] = least(end, model->end[parent]);
        }
    }
}

/* Whether child @left is to be picked rather than @right. */
static int is_better(const struct model *model, int left, int right, uint64_t until)
{
    const uint64_t a = least(model->end[left], until);
    const uint64_t b = least(model->end[right], until);
    const int is_moment_a = model->start[left] == a;
    const int is_moment_b = model->start[right] == b;

    if (a != b) {
        return a > b;
    }
    if (is_moment_a != is_moment_b) {
        return is_moment_a;
    }
    if (model->start[left] != model->start[right]) {
        return model->start[left] < model->start[right];
    }
    return strcmp(model->ids[left], model->ids[right]) < 0;
}

static void own(struct model *model, int span, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to; t++) {
        CU_ASSERT_EQUAL(model->owner[t], NO_OWNER);
        model->owner[t] = (unsigned char)span;
    }
}

/* Whether @child ends later than @parent by more than 1 % of that, by what they say. */
static int outlives(const struct model *model, int child, int parent)
{
    const struct cpti_span *below = &model->spans[child];
    const struct cpti_span *above = &model->spans[parent];

    return 100 * (below->start_ns + below->duration_ns) >
           100 * (above->start_ns + above->duration_ns) + above->duration_ns;
}

/* Whether @child, which is in the tree, ran beside another child of its parent that
 * ends within it: there is an instant before @until that both have. */
static int runs_beside(const struct model *model, int child, uint64_t until)
{
    const int parent = model->parent[child];

    for (int i = 1; i < model->count && outlives(model, child, parent); i++) {
        for (uint64_t t = model->start[i]; t < least(model->end[i], until); t++) {
            if (model->parent[i] == parent && model->is_in[i] &&
                !outlives(model, i, parent) && t >= model->start[child] &&
                t < model->end[child]) {
                return 1;
            }
        }
    }
    return 0;
}

static void walk(struct model *model, int span, uint64_t until)
{
    const uint64_t tolerance = (model->end[span] - model->start[span]) / 100;
    uint64_t cursor = until;
    uint64_t slack = 0;

    model->is_used[span] = 1;
    model->until[span] = until;

    for (;;) {
        int best = -1;

        for (int i = 1; i < model->count; i++) {
            if (model->parent[i] == span && model->is_in[i] && !model->is_used[i] &&
                model->start[i] < cursor &&
                least(model->end[i], until) <= cursor + slack &&
                !runs_beside(model, i, until) &&
                (best < 0 || is_better(model, i, best, until))) {
                best = i;
            }
        }
        if (best < 0) {
            own(model, span, model->start[span], cursor);
            return;
        }
        own(model, span, least(least(model->end[best], until), cursor), cursor);
        walk(model, best, least(least(model->end[best], until), cursor));
        cursor = model->start[best];
        slack = tolerance;
    }
}

static int equals(const struct model *model, const struct cpti_spans *spans)
{
    uint64_t at = model->start[0];

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);
        const struct cpti_span *span = cpti_spans_at(spans, section->span);

        if (section->start_ns != at || section->end_ns <= at) {
            return 0;
        }
        for (; at < section->end_ns; at++) {
            if (!cpt_bytes_equal(span->id, model->spans[model->owner[at]].id)) {
                return 0;
            }
        }
    }
    return at == model->end[0];
}

static void test_sections_are_the_models(void)
{
    const uint64_t seed = test_random_seed("sections of spans");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_spans_report report;
        struct model model;
        size_t in_count = 0;
        int first = 0;

        make(&model, &random);
        cut(&model);
        memset(model.owner, NO_OWNER, sizeof model.owner);
        walk(&model, 0, model.end[0]);
        /* in any order */
        first = (int)test_random_below(&random, (uint64_t)model.count);
        cpti_spans_reset(spans);
        for (int k = 0; k < model.count; k++) {
            in_count += model.is_in[k];
            CU_ASSERT_EQUAL(
                cpti_spans_add(spans, &model.spans[(first + k) % model.count]), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(report.dropped, (size_t)model.count - in_count);
        CU_ASSERT_EQUAL(report.outside, report.dropped);
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        if (!equals(&model, spans)) {
            char text[SPAN_TEXT_BYTES];

            span_list_sections(spans, text);
            printf("\n  seed %llu: %s\n", (unsigned long long)(seed + i), text);
            CU_FAIL("not as the model");
            break;
        }
    }
    cpti_spans_free(spans);
}

/* --- Explanations --- */

/* Whether time of @span, or of a span below it, is on the path. */
static uint64_t time_on_path(const struct model *model, int span, int is_below)
{
    uint64_t sum = 0;

    for (uint64_t t = model->start[0]; t < model->end[0]; t++) {
        int owner = model->owner[t];

        if (!is_below) {
            sum += owner == span;
            continue;
        }
        while (owner != span && owner >= 0) {
            owner = model->parent[owner];
        }
        sum += owner == span && model->owner[t] != span;
    }
    return sum;
}

/* Whether @by is a true reason that @span is not on the path: both have one parent,
 * which was on the path until the model says; @by was waited for, ended no earlier, and
 * had begun before @span ended. */
static int is_held_by(const struct model *model, int span, int by)
{
    const int parent = model->parent[span];
    const uint64_t until = model->until[parent];
    const uint64_t end = least(model->end[span], until);

    return model->is_used[parent] && !model->is_used[span] && model->is_used[by] &&
           model->parent[by] == parent && least(model->end[by], until) >= end &&
           model->start[by] < end && model->start[span] < until;
}

/* Whether @span ran in the background of its parent, of whose other children that end
 * within it @by ended last. */
static int is_beside(const struct model *model, int span, int by)
{
    const int parent = model->parent[span];
    const uint64_t until = model->until[parent];

    for (int i = 1; i < model->count; i++) {
        if (model->parent[i] == parent && model->is_in[i] &&
            model->start[i] < least(model->end[i], until) &&
            !outlives(model, i, parent) &&
            least(model->end[i], until) > least(model->end[by], until)) {
            return 0;
        }
    }
    return model->is_used[parent] && !model->is_used[span] &&
           model->parent[by] == parent && !outlives(model, by, parent) &&
           runs_beside(model, span, until) && model->start[span] < model->end[by];
}

/* Whether what @account says of span @span is so, by the model alone. */
static int is_true(const struct model *model, int span,
                   const struct cpti_span_account *account, int by)
{
    int top = span;

    if (!model->is_in[span]) {
        return account->why == CPTI_SPAN_WHY_DROPPED &&
               strcmp(account->fate, "outside") == 0;
    }
    if (account->own_ns != time_on_path(model, span, 0) ||
        account->below_ns != time_on_path(model, span, 1)) {
        return 0;
    }
    while (!model->is_used[model->parent[top] < 0 ? 0 : model->parent[top]]) {
        top = model->parent[top];
    }
    switch (account->why) {
    case CPTI_SPAN_WHY_ON_PATH:
        return account->own_ns > 0;
    case CPTI_SPAN_WHY_THROUGH:
        return model->is_used[span] && account->own_ns == 0;
    case CPTI_SPAN_WHY_MOMENT:
        return model->start[span] == model->end[span];
    case CPTI_SPAN_WHY_ABOVE:
        return top != span && by == top && !model->is_used[top];
    case CPTI_SPAN_WHY_HELD:
        return top == span && is_held_by(model, span, by) &&
               account->at_ns == model->start[by];
    case CPTI_SPAN_WHY_BACKGROUND:
        return top == span && is_beside(model, span, by) &&
               account->at_ns == model->end[by];
    case CPTI_SPAN_WHY_LATE:
        return top == span && account->at_ns == model->until[model->parent[span]] &&
               model->start[span] >= account->at_ns &&
               (account->at_ns == model->end[0] || by == model->owner[account->at_ns]);
    default:
        return 0;
    }
}

static void test_explanations_are_true(void)
{
    const uint64_t seed = test_random_seed("explanations");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    size_t said[CPTI_SPAN_WHY_ELSEWHERE + 1] = {0};

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_spans_report report;
        struct model model;

        make(&model, &random);
        cut(&model);
        memset(model.owner, NO_OWNER, sizeof model.owner);
        walk(&model, 0, model.end[0]);
        cpti_spans_reset(spans);
        for (int k = 0; k < model.count; k++) {
            CU_ASSERT_EQUAL(cpti_spans_add(spans, &model.spans[k]), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        for (int k = 0; k < model.count; k++) {
            struct cpti_span_account account;

            CU_ASSERT_EQUAL(cpti_spans_explain(spans, (uint32_t)k, &account), CPT_OK);
            said[account.why]++;
            if (!is_true(&model, k, &account,
                         account.by != CPTI_SPAN_NONE ? (int)account.by : -1)) {
                printf("\n  seed %llu: span %s, reason %d\n",
                       (unsigned long long)(seed + i), model.ids[k], (int)account.why);
                CU_FAIL("not true");
            }
        }
    }
    CU_ASSERT_TRUE(said[CPTI_SPAN_WHY_HELD] > 0 && said[CPTI_SPAN_WHY_ABOVE] > 0 &&
                   said[CPTI_SPAN_WHY_BACKGROUND] > 0);
    cpti_spans_free(spans);
}

/* Jaeger's page's sections tile the root as well; CRISP's give the children all their
 * time. */
static void test_other_modes_hold(void)
{
    const uint64_t seed = test_random_seed("other modes");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_spans_report report;
        struct model model;
        uint64_t at = 0;
        uint64_t sum = 0;

        make(&model, &random);
        cpti_spans_reset(spans);
        for (int k = 0; k < model.count; k++) {
            (void)cpti_spans_add(spans, &model.spans[k]);
        }
        (void)cpti_spans_resolve(spans, &report);
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_JAEGER_UI), CPT_OK);
        at = cpti_spans_start_ns(spans, 0);
        for (size_t k = 0; k < cpti_spans_section_count(spans); k++) {
            CU_ASSERT_EQUAL(cpti_spans_section(spans, k)->start_ns, at);
            at = cpti_spans_section(spans, k)->end_ns;
        }
        CU_ASSERT_EQUAL(at, cpti_spans_end_ns(spans, 0));
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_CRISP), CPT_OK);
        for (size_t k = 0; k < cpti_spans_section_count(spans); k++) {
            sum += cpti_spans_section(spans, k)->end_ns -
                   cpti_spans_section(spans, k)->start_ns;
        }
        CU_ASSERT_TRUE(sum >= model.spans[0].duration_ns);
    }
    cpti_spans_free(spans);
}

/* --- Roots that were lost --- */

enum { LOST_SPANS_MAX = 10 };

/* Spans of which many have no time, whose parents may be missing, or in a circle. */
struct lost {
    int count;
    int parent[LOST_SPANS_MAX]; /* -1: it names none; `count`: one that is missing */
    char ids[LOST_SPANS_MAX + 1][12];
    struct cpti_span spans[LOST_SPANS_MAX];
};

static void make_lost(struct lost *lost, struct test_random *random)
{
    lost->count = 1 + (int)test_random_below(random, LOST_SPANS_MAX);
    for (int i = 0; i <= lost->count; i++) {
        (void)snprintf(lost->ids[i], sizeof lost->ids[i], "%x", 17 * (i + 1));
    }
    for (int i = 0; i < lost->count; i++) {
        const bool has_time = test_random_below(random, 2) != 0;

        lost->parent[i] = (int)test_random_below(random, (uint64_t)lost->count + 2) - 1;
        if (lost->parent[i] == i) {
            lost->parent[i] = -1;
        }
        lost->spans[i] = (struct cpti_span){
            .id = cpt_bytes_of(lost->ids[i]),
            .service = cpt_bytes_of("A"),
            .operation = cpt_bytes_of("o"),
            .start_ns = has_time ? test_random_below(random, 20) : 0,
            .duration_ns = has_time ? test_random_below(random, 20) : 0,
            .has_start = has_time,
            .has_duration = has_time,
            .has_time = has_time};
        if (lost->parent[i] >= 0) {
            lost->spans[i].parent = cpt_bytes_of(lost->ids[lost->parent[i]]);
        }
    }
}

/* How good a root span @number is: 2 by its own word, 1 of a fragment, 0 not at all;
 * then *@fragment says why. It climbs, at most past all spans. */
static int rank_of(const struct lost *lost, int number,
                   enum cpti_span_fragment *fragment)
{
    int at = lost->parent[number];

    *fragment = CPTI_SPAN_WHOLE;
    if (!lost->spans[number].has_time) {
        return 0;
    }
    for (int steps = 0; at >= 0 && at < lost->count && steps <= lost->count; steps++) {
        *fragment = CPTI_SPAN_ROOT_TIMELESS;
        if (lost->spans[at].has_time || steps == lost->count) {
            return 0;
        }
        at = lost->parent[at];
    }
    if (at == lost->count) {
        *fragment = CPTI_SPAN_ROOT_MISSING;
    }
    return *fragment == CPTI_SPAN_WHOLE ? 2 : 1;
}

/* Whether span @left comes before span @right. */
static bool is_earlier(const struct lost *lost, int left, int right)
{
    const struct cpti_span *a = &lost->spans[left];
    const struct cpti_span *b = &lost->spans[right];

    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns;
    }
    return a->duration_ns != b->duration_ns
               ? a->duration_ns > b->duration_ns
               : strcmp(lost->ids[left], lost->ids[right]) < 0;
}

/* The root of the model, or -1. */
static int find_lost_root(const struct lost *lost, enum cpti_span_fragment *fragment)
{
    int best = -1;
    int best_rank = 0;

    for (int i = 0; i < lost->count; i++) {
        enum cpti_span_fragment why;
        const int rank = rank_of(lost, i, &why);

        if (rank > best_rank ||
            (rank > 0 && rank == best_rank && is_earlier(lost, i, best))) {
            best = i;
            best_rank = rank;
            *fragment = why;
        }
    }
    return best;
}

static void check_lost(struct cpti_spans *spans, const struct lost *lost)
{
    struct cpti_spans_report report;
    enum cpti_span_fragment fragment = CPTI_SPAN_WHOLE;
    const int root = find_lost_root(lost, &fragment);
    uint64_t at = 0;
    size_t timeless = 0;

    cpti_spans_reset(spans);
    for (int i = 0; i < lost->count; i++) {
        timeless += !lost->spans[i].has_time;
        CU_ASSERT_EQUAL(cpti_spans_add(spans, &lost->spans[i]), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), root >= 0 ? CPT_OK : CPT_END);
    CU_ASSERT_EQUAL(report.fragment, fragment);
    if (root < 0) {
        CU_ASSERT_EQUAL(report.timeless, timeless);
        CU_ASSERT_EQUAL(report.dropped, (size_t)lost->count);
        return;
    }
    CU_ASSERT_EQUAL(cpti_spans_root(spans), (uint32_t)root);
    CU_ASSERT_EQUAL(cpti_spans_timeless_root(spans) != CPTI_SPAN_NONE,
                    fragment == CPTI_SPAN_ROOT_TIMELESS);
    for (int mode = CPTI_SPANS_CRISP; mode >= CPTI_SPANS_EXACT; mode--) {
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, (enum cpti_span_mode)mode), CPT_OK);
    }
    at = cpti_spans_start_ns(spans, (uint32_t)root);
    for (size_t k = 0; k < cpti_spans_section_count(spans); k++) {
        CU_ASSERT_EQUAL(cpti_spans_section(spans, k)->start_ns, at);
        at = cpti_spans_section(spans, k)->end_ns;
    }
    CU_ASSERT_EQUAL(at, cpti_spans_end_ns(spans, (uint32_t)root));
}

static void test_lost_roots(void)
{
    const uint64_t seed = test_random_seed("lost roots");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct lost lost;

        make_lost(&lost, &random);
        check_lost(spans, &lost);
    }
    cpti_spans_free(spans);
}

CU_TestInfo cpt_spans_model_tests[] = {
    {"sections are the model's", test_sections_are_the_models},
    {"other modes hold", test_other_modes_hold},
    {"lost roots", test_lost_roots},
    {"explanations are true", test_explanations_are_true},
    CU_TEST_INFO_NULL,
};
