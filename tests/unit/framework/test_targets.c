/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_targets.c - which target gets a call: balance, ejection and return, by a clock
 * that the test sets; and random events against a model that says it in words */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"
#include "framework/transport/base/targets.h"

#include <string.h>

#include <recipe_several_replicas.inc>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

struct fixture {
    struct cpt_target_options options;
    struct cpti_targets set;
    struct cpti_target items[CPT_TARGETS_MAX];
    uint64_t now_ns;
    unsigned ejected_count;
    unsigned returned_count;
};

static void count_report(void *context, const struct cpti_target *target,
                         const char *reason, uint64_t for_ns)
{
    struct fixture *fixture = context;

    (void)target;
    fixture->ejected_count += strcmp(reason, "ejected") == 0;
    fixture->returned_count += strcmp(reason, "returned") == 0;
    CU_ASSERT_EQUAL(for_ns > 0, strcmp(reason, "ejected") == 0);
}

static void begin(struct fixture *fixture, size_t count, uint64_t seed)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->now_ns = 1000 * S;
    cpti_target_options_complete(&fixture->options);
    cpti_targets_init(&fixture->set, &fixture->options, seed);
    fixture->set.report = count_report;
    fixture->set.context = fixture;
    for (size_t i = 0; i < count; i++) {
        fixture->items[i].id = i + 1;
        CU_ASSERT_TRUE(cpti_targets_add(&fixture->set, &fixture->items[i], false,
                                        fixture->now_ns));
    }
}

static struct cpti_target *call(struct fixture *fixture)
{
    struct cpti_target *target =
        cpti_targets_pick(&fixture->set, fixture->now_ns, NULL, 0);

    cpti_targets_begin(target);
    return target;
}

static void end(struct fixture *fixture, struct cpti_target *target,
                enum cpti_target_result result)
{
    cpti_targets_end(&fixture->set, target, result, fixture->now_ns);
}

/* @count calls of @target fail. */
static void fail_calls(struct fixture *fixture, struct cpti_target *target,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cpti_targets_begin(target);
        end(fixture, target, CPTI_TARGET_FAILED);
    }
}

/* How many of @count calls, each ended at once, get to @target. */
static unsigned share_of(struct fixture *fixture, const struct cpti_target *target,
                         unsigned count)
{
    unsigned hits = 0;

    for (unsigned i = 0; i < count; i++) {
        struct cpti_target *picked = call(fixture);

        hits += picked == target;
        end(fixture, picked, CPTI_TARGET_SUCCEEDED);
    }
    return hits;
}

/* Calls that never end are spread: at n targets no one has many more than another.
 * Thrown at random, 10,000 calls would leave a gap of some 150. */
static void test_balance(void)
{
    const uint64_t seed = test_random_seed("targets: balance");
    struct fixture fixture;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    begin(&fixture, 10, seed);
    for (unsigned i = 0; i < 10000; i++) {
        (void)call(&fixture);
    }
    for (size_t i = 0; i < 10; i++) {
        const uint64_t calls = cpti_target_number(&fixture.items[i].in_flight);

        least = calls < least ? calls : least;
        most = calls > most ? calls : most;
    }
    CU_ASSERT_TRUE(most - least <= 20);
}

static void test_same_seed(void)
{
    struct fixture a;
    struct fixture b;

    begin(&a, 7, 42);
    begin(&b, 7, 42);
    for (unsigned i = 0; i < 1000; i++) {
        struct cpti_target *first = call(&a);
        struct cpti_target *second = call(&b);

        CU_ASSERT_EQUAL(first->id, second->id);
        if (i % 3 == 0) {
            end(&a, first, CPTI_TARGET_SUCCEEDED);
            end(&b, second, CPTI_TARGET_SUCCEEDED);
        }
    }
}

static void test_one_target(void)
{
    struct fixture fixture;

    begin(&fixture, 1, 1);
    fail_calls(&fixture, &fixture.items[0], 100);
    CU_ASSERT_EQUAL(fixture.items[0].state, CPTI_TARGET_GOOD);
    CU_ASSERT_PTR_EQUAL(call(&fixture), &fixture.items[0]);
    CU_ASSERT_EQUAL(cpti_target_number(&fixture.items[0].failed_count), 100);
    CU_ASSERT_EQUAL(cpti_target_number(&fixture.items[0].in_flight), 1);
}

static void test_ejection(void)
{
    struct fixture fixture;
    struct cpti_target *bad = &fixture.items[1];

    begin(&fixture, 3, 2);
    fail_calls(&fixture, bad, 4);
    CU_ASSERT_TRUE(share_of(&fixture, bad, 100) > 0); /* a success among them */
    fail_calls(&fixture, bad, 4);
    CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_GOOD);
    fail_calls(&fixture, bad, 1);
    CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_EJECTED);
    CU_ASSERT_EQUAL(fixture.ejected_count, 1);
    CU_ASSERT_EQUAL(share_of(&fixture, bad, 1000), 0);
}

/* Out, probed by one call at a time, and each failure doubles the time. */
static void test_probation(void)
{
    struct fixture fixture;
    struct cpti_target *bad = &fixture.items[0];
    uint64_t expected_ns = S;

    begin(&fixture, 3, 3);
    fail_calls(&fixture, bad, 5);
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t out_ns = bad->until_ns - fixture.now_ns;
        struct cpti_target *picked = NULL;

        CU_ASSERT_TRUE(out_ns <= expected_ns && out_ns >= expected_ns * 7 / 8);
        fixture.now_ns = bad->until_ns - 1;
        CU_ASSERT_EQUAL(share_of(&fixture, bad, 100), 0);
        fixture.now_ns++;
        while (picked != bad) { /* of the others each call ends at once */
            picked = call(&fixture);
            if (picked != bad) {
                end(&fixture, picked, CPTI_TARGET_SUCCEEDED);
            }
        }
        CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_PROBED);
        CU_ASSERT_EQUAL(share_of(&fixture, bad, 100), 0); /* one at a time */
        end(&fixture, bad, CPTI_TARGET_FAILED);
        CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_EJECTED);
        expected_ns = expected_ns * 2 < 60 * S ? expected_ns * 2 : 60 * S;
    }
    CU_ASSERT_EQUAL(fixture.ejected_count, 1); /* one notice while it stays out */
}

/* It comes back with few calls, and has its share at the end. */
static void test_rising(void)
{
    const uint64_t seed = test_random_seed("targets: rising");
    struct fixture fixture;
    struct cpti_target *back = &fixture.items[0];
    unsigned early = 0;

    begin(&fixture, 4, seed);
    fail_calls(&fixture, back, 5);
    fixture.now_ns = back->until_ns;
    while (back->state != CPTI_TARGET_RISING) {
        (void)share_of(&fixture, back, 1);
    }
    CU_ASSERT_EQUAL(fixture.returned_count, 1);
    early = share_of(&fixture, back, 4000); /* its share would be 1,000 */
    CU_ASSERT_TRUE(early > 20 && early < 300);
    fixture.now_ns += 10 * S;
    early = share_of(&fixture, back, 4000);
    CU_ASSERT_TRUE(early > 800 && early < 1200);
    CU_ASSERT_EQUAL(back->state, CPTI_TARGET_GOOD);
    CU_ASSERT_EQUAL(fixture.set.flawed_count, 0);
    fail_calls(&fixture, back, 5); /* the time begins at its first value again */
    CU_ASSERT_TRUE(back->until_ns - fixture.now_ns <= S);
}

static size_t count_out(const struct fixture *fixture, size_t count)
{
    size_t out = 0;

    for (size_t i = 0; i < count; i++) {
        out += fixture->items[i].state == CPTI_TARGET_EJECTED;
    }
    return out;
}

static void test_share_that_is_ejected(void)
{
    static const size_t allowed[] = {0, 0, 1, 2, 2, 3};
    struct fixture fixture;

    for (size_t count = 1; count <= 5; count++) {
        begin(&fixture, count, 4);
        for (size_t i = 0; i < count; i++) {
            fail_calls(&fixture, &fixture.items[i], 20);
        }
        CU_ASSERT_EQUAL(count_out(&fixture, count), allowed[count]);
    }
}

static void test_panic(void)
{
    struct fixture fixture;
    bool is_used[3] = {false, false, false};

    begin(&fixture, 3, 5);
    fixture.options.ejected_percent_max = 100;
    for (size_t i = 0; i < 3; i++) {
        fail_calls(&fixture, &fixture.items[i], 5);
    }
    CU_ASSERT_EQUAL(count_out(&fixture, 3), 3);
    for (unsigned i = 0; i < 100; i++) {
        is_used[call(&fixture)->id - 1] = true;
    }
    CU_ASSERT_TRUE(is_used[0] && is_used[1] && is_used[2]);
}

static void test_unready(void)
{
    struct fixture fixture;

    begin(&fixture, 2, 6);
    cpti_targets_ready(&fixture.set, &fixture.items[0], false);
    CU_ASSERT_EQUAL(share_of(&fixture, &fixture.items[0], 100), 0);
    cpti_targets_ready(&fixture.set, &fixture.items[1], false);
    CU_ASSERT_TRUE(share_of(&fixture, &fixture.items[0], 100) > 0); /* all are used */
    cpti_targets_ready(&fixture.set, &fixture.items[0], true);
    CU_ASSERT_EQUAL(share_of(&fixture, &fixture.items[1], 100), 0);
    cpti_targets_ready(&fixture.set, &fixture.items[1], true);
    CU_ASSERT_TRUE(share_of(&fixture, &fixture.items[1], 100) > 0);
}

/* A target that closes a connection, but has kept others, rests for a moment; one that
 * never keeps any is used as before. */
static void test_closing(void)
{
    struct fixture fixture;
    struct cpti_target *old = &fixture.items[0];

    begin(&fixture, 2, 7);
    cpti_targets_begin(old);
    end(&fixture, old, CPTI_TARGET_CLOSES);
    CU_ASSERT_EQUAL(old->state, CPTI_TARGET_GOOD);
    cpti_targets_begin(old);
    end(&fixture, old, CPTI_TARGET_SUCCEEDED);
    cpti_targets_begin(old);
    end(&fixture, old, CPTI_TARGET_CLOSES);
    CU_ASSERT_EQUAL(share_of(&fixture, old, 100), 0);
    fixture.now_ns += 100 * MS;
    CU_ASSERT_TRUE(share_of(&fixture, old, 100) > 0);
    CU_ASSERT_EQUAL(old->state, CPTI_TARGET_GOOD);
    cpti_targets_begin(old);
    end(&fixture, old, CPTI_TARGET_CLOSES);
    fixture.now_ns += 100 * MS;
    while (old->state != CPTI_TARGET_EJECTED) { /* the first failure is enough */
        struct cpti_target *picked = call(&fixture);

        end(&fixture, picked,
            picked == old ? CPTI_TARGET_FAILED : CPTI_TARGET_SUCCEEDED);
    }
    CU_ASSERT_EQUAL(fixture.ejected_count, 1);
    CU_ASSERT_EQUAL(fixture.returned_count, 0);
}

static void test_other_target(void)
{
    struct fixture fixture;
    uint64_t tried[3] = {2, 0, 0};

    begin(&fixture, 3, 8);
    for (unsigned i = 0; i < 100; i++) {
        tried[0] = 2;
        tried[1] = cpti_targets_pick_but(&fixture.set, 0, tried, 1)->id;
        CU_ASSERT_NOT_EQUAL(tried[1], 2);
        tried[2] = cpti_targets_pick_but(&fixture.set, 0, tried, 2)->id;
        CU_ASSERT_EQUAL(tried[2], 6 - tried[0] - tried[1]);
        CU_ASSERT_NOT_EQUAL(cpti_targets_pick_but(&fixture.set, 0, tried, 3)->id,
                            tried[2]);
    }
    fail_calls(&fixture, &fixture.items[0], 5);
    tried[0] = 2;
    CU_ASSERT_EQUAL(cpti_targets_pick_but(&fixture.set, fixture.now_ns, tried, 1)->id,
                    3);
    fail_calls(&fixture, &fixture.items[2], 5);
    CU_ASSERT_EQUAL(cpti_targets_pick_but(&fixture.set, fixture.now_ns, tried, 1)->id,
                    2); /* the others are known to be bad */
}

/* A target that only ever loses to hedges is ejected, though no call of it fails. */
static void test_overtaken(void)
{
    struct fixture fixture;

    begin(&fixture, 2, 9);
    for (unsigned i = 0; i < 5; i++) {
        cpti_targets_begin(&fixture.items[0]);
        cpti_targets_overtaken(&fixture.set, &fixture.items[0], fixture.now_ns);
        end(&fixture, &fixture.items[0], CPTI_TARGET_NOTHING);
    }
    CU_ASSERT_EQUAL(fixture.items[0].state, CPTI_TARGET_EJECTED);
    CU_ASSERT_EQUAL(cpti_target_number(&fixture.items[0].in_flight), 0);
}

/* While it is the only one, what its calls tell is not looked at. But the one that
 * probes it ends all the same: once there are others, the next may probe it. */
static void test_probed_alone(void)
{
    struct fixture fixture;
    struct cpti_target *bad = &fixture.items[0];

    begin(&fixture, 2, 1);
    fail_calls(&fixture, bad, 5);
    CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_EJECTED);
    fixture.now_ns += 2 * S;
    while (call(&fixture) != bad) {
    }
    CU_ASSERT_EQUAL(bad->state, CPTI_TARGET_PROBED);
    cpti_targets_remove(&fixture.set, &fixture.items[1]);
    end(&fixture, bad, CPTI_TARGET_SUCCEEDED);
    fixture.items[2].id = 3;
    CU_ASSERT_TRUE(
        cpti_targets_add(&fixture.set, &fixture.items[2], true, fixture.now_ns));
    CU_ASSERT_TRUE(share_of(&fixture, bad, 100) > 0);
    CU_ASSERT_EQUAL(fixture.returned_count, 1);
}

static void test_removed(void)
{
    struct fixture fixture;
    struct cpti_target more[CPT_TARGETS_MAX + 1];
    struct cpti_target *gone = &fixture.items[1];

    begin(&fixture, 3, 10);
    cpti_targets_begin(gone);
    cpti_targets_remove(&fixture.set, gone);
    CU_ASSERT_EQUAL(share_of(&fixture, gone, 100), 0);
    fail_calls(&fixture, gone, 20);
    end(&fixture, gone, CPTI_TARGET_FAILED);
    CU_ASSERT_EQUAL(cpti_target_number(&gone->in_flight), 0);
    CU_ASSERT_EQUAL(fixture.ejected_count, 0);
    memset(more, 0, sizeof more);
    for (size_t i = 0; i <= CPT_TARGETS_MAX; i++) {
        more[i].id = 100 + i;
        CU_ASSERT_EQUAL(cpti_targets_add(&fixture.set, &more[i], true, fixture.now_ns),
                        i < CPT_TARGETS_MAX - 2);
    }
    CU_ASSERT_EQUAL(more[0].state, CPTI_TARGET_RISING);
}

static void test_recipe(void)
{
    struct cpt_target_options options = *http_options.targets;

    cpti_target_options_complete(&options);
    CU_ASSERT_STRING_EQUAL(options.check_path, "/readyz");
    CU_ASSERT_EQUAL(options.check_ns, S);
    CU_ASSERT_EQUAL(options.failure_count_max, 5);
    CU_ASSERT_EQUAL(options.ejected_ns, S);
    CU_ASSERT_EQUAL(options.rising_ns, 10 * S);
    CU_ASSERT_EQUAL(options.resolve_ns, 30 * S);
    CU_ASSERT_PTR_NOT_NULL(strstr(price_stub.target, ",http://price-2:8080,"));
}

/* --- A model --- */

/* What is true of a target, in the words of cpt_targets.h. */
struct known {
    bool is_ejected, is_paused, is_on_probation, is_probation_of_pause, is_probed;
    bool is_rising, is_unready, has_kept;
    uint64_t until_ns, rises_since_ns;
    unsigned failures_in_a_row;
    unsigned in_flight;
};

struct model {
    struct known targets[8];
    size_t count;
    uint64_t now_ns;
};

static bool model_is_out(const struct known *target)
{
    return target->is_ejected ||
           (target->is_on_probation && !target->is_probation_of_pause);
}

static void model_time(struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        struct known *target = &model->targets[i];

        if ((target->is_ejected || target->is_paused) &&
            model->now_ns >= target->until_ns) {
            target->is_on_probation = true;
            target->is_probation_of_pause = target->is_paused;
            target->is_ejected = target->is_paused = target->is_probed = false;
            target->failures_in_a_row = 0;
        }
        if (target->is_rising && model->now_ns >= target->rises_since_ns + 10 * S) {
            target->is_rising = false;
            target->failures_in_a_row = 0;
        }
    }
}

static bool model_is_fit(const struct known *target)
{
    return !target->is_ejected && !target->is_paused && !target->is_unready &&
           (!target->is_on_probation || !target->is_probed);
}

static bool model_was_tried(size_t i, const uint64_t *tried, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        if (tried[j] == i + 1) {
            return true;
        }
    }
    return false;
}

/* Whether target @i is allowed at level @level. */
static bool model_allows(const struct model *model, size_t i, unsigned level,
                         const uint64_t *tried, size_t count)
{
    const bool is_fit = model_is_fit(&model->targets[i]);
    const bool is_last = count > 0 && tried[count - 1] == i + 1;

    switch (level) {
    case 0:
        return is_fit && !model_was_tried(i, tried, count);
    case 1:
        return is_fit && !is_last;
    case 2:
        return is_fit;
    case 3:
        return !is_last;
    default:
        return true;
    }
}

/* Whether target @picked is a good choice. */
static bool model_accepts(const struct model *model, size_t picked,
                          const uint64_t *tried, size_t count)
{
    unsigned level = 0;
    unsigned allowed_count = 0;
    unsigned worse_count = 0;
    bool is_any_rising = false;

    for (; allowed_count == 0; level++) {
        for (size_t i = 0; i < model->count; i++) {
            allowed_count += model_allows(model, i, level, tried, count);
        }
    }
    level--;
    for (size_t i = 0; i < model->count; i++) {
        if (model_allows(model, i, level, tried, count)) {
            is_any_rising |= model->targets[i].is_rising;
            worse_count += i != picked && model->targets[i].in_flight >=
                                              model->targets[picked].in_flight;
        }
    }
    return model_allows(model, picked, level, tried, count) &&
           (allowed_count == 1 || worse_count > 0 || is_any_rising);
}

static void model_enter(struct known *target)
{
    target->is_ejected = target->is_paused = target->is_on_probation = false;
    target->is_rising = target->is_probed = false;
    target->failures_in_a_row = 0;
}

/* A failure of target @i; @until_ns: when it would return. */
static void model_fail(struct model *model, size_t i, uint64_t until_ns)
{
    struct known *target = &model->targets[i];
    size_t out_count = 0;

    if (target->is_ejected) {
        return;
    }
    for (size_t j = 0; j < model->count; j++) {
        out_count += model_is_out(&model->targets[j]);
    }
    target->failures_in_a_row += !target->is_on_probation;
    if (target->is_on_probation && !target->is_probation_of_pause) {
        model_enter(target);
        target->is_ejected = true;
    } else if ((target->is_on_probation || target->failures_in_a_row >= 5) &&
               2 * out_count < model->count) {
        model_enter(target);
        target->is_ejected = true;
    }
    target->until_ns = target->is_ejected ? until_ns : target->until_ns;
}

static void model_end(struct model *model, size_t i, enum cpti_target_result result,
                      uint64_t until_ns)
{
    struct known *target = &model->targets[i];

    target->in_flight--;
    target->is_probed = false;
    target->has_kept |= result == CPTI_TARGET_SUCCEEDED;
    if (result == CPTI_TARGET_NOTHING) {
        return;
    }
    if (result == CPTI_TARGET_FAILED) {
        model_fail(model, i, until_ns);
        return;
    }
    if (result == CPTI_TARGET_CLOSES && target->has_kept && !model_is_out(target)) {
        model_enter(target);
        target->has_kept = false;
        target->is_paused = true;
        target->until_ns = model->now_ns + 100 * MS;
        return;
    }
    target->failures_in_a_row = 0;
    if (target->is_on_probation) {
        const bool rises = !target->is_probation_of_pause;

        model_enter(target);
        target->is_rising = rises;
        target->rises_since_ns = model->now_ns;
    }
}

/* One event, in both; false: they differ. */
static bool step(struct fixture *fixture, struct model *model,
                 struct test_random *random)
{
    const size_t i = test_random_below(random, model->count);
    struct cpti_target *target = &fixture->items[i];

    if (test_random_chance(random, 45)) {
        uint64_t tried[3];
        const size_t count =
            test_random_chance(random, 70) ? 0 : 1 + test_random_below(random, 3);
        struct cpti_target *picked = NULL;

        for (size_t j = 0; j < count; j++) {
            tried[j] = 1 + test_random_below(random, model->count);
        }
        model_time(model);
        picked = cpti_targets_pick_but(&fixture->set, fixture->now_ns, tried, count);
        if (!model_accepts(model, picked->id - 1, tried, count)) {
            return false;
        }
        cpti_targets_begin(picked);
        model->targets[picked->id - 1].in_flight++;
        model->targets[picked->id - 1].is_probed |=
            model->targets[picked->id - 1].is_on_probation;
    } else if (test_random_chance(random, 85)) {
        const enum cpti_target_result result =
            (enum cpti_target_result)test_random_below(random, 4);

        if (model->targets[i].in_flight == 0) {
            return true;
        }
        end(fixture, target, result);
        model_end(model, i, result, target->until_ns);
    } else if (test_random_chance(random, 30)) {
        const bool is_ready = test_random_chance(random, 70);

        cpti_targets_ready(&fixture->set, target, is_ready);
        model->targets[i].is_unready = !is_ready;
    } else {
        fixture->now_ns += test_random_below(random, 4 * S);
        model->now_ns = fixture->now_ns;
        (void)cpti_targets_pick_but(&fixture->set, fixture->now_ns,
                                    &(uint64_t){UINT64_MAX}, 1); /* time passes */
        model_time(model);
    }
    return target->state == CPTI_TARGET_EJECTED ? model->targets[i].is_ejected
                                                : !model->targets[i].is_ejected;
}

static void test_model(void)
{
    const uint64_t seed = test_random_seed("targets: model");
    const uint64_t cases = test_environment_number("CPT_TEST_CASES", 2000);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct fixture fixture;
        struct model model = {.count = 2 + test_random_below(&random, 7)};
        bool is_same = true;

        begin(&fixture, model.count, seed + i);
        model.now_ns = fixture.now_ns;
        for (unsigned step_number = 0; is_same && step_number < 400; step_number++) {
            is_same = step(&fixture, &model, &random);
        }
        CU_ASSERT_TRUE(is_same);
        if (!is_same) {
            (void)fprintf(stderr, "targets: CPT_TEST_SEED=%llu CPT_TEST_CASES=1\n",
                          (unsigned long long)(seed + i));
            return;
        }
    }
}

CU_TestInfo cpt_targets_tests[] = {
    {"calls are spread over the targets", test_balance},
    {"the same seed makes the same choices", test_same_seed},
    {"the only target is never ejected", test_one_target},
    {"failures in a row eject a target", test_ejection},
    {"an ejected target is probed by one call, later and later", test_probation},
    {"a target that returns gets more and more calls", test_rising},
    {"only a share of the targets is ejected", test_share_that_is_ejected},
    {"if no target is fit, all are used", test_panic},
    {"a target that is not ready gets no calls", test_unready},
    {"a target that closes a connection rests for a moment", test_closing},
    {"a further attempt goes to another target", test_other_target},
    {"a target that is slower than its hedges is ejected", test_overtaken},
    {"a target that is probed while it is the only one returns", test_probed_alone},
    {"a target that was removed gets no calls", test_removed},
    {"the defaults are those that the documents name", test_recipe},
    {"random events agree with a model", test_model},
    CU_TEST_INFO_NULL,
};
