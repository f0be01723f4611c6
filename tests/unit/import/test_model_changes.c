/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_model_changes.c - what two models do differently
 *
 * Requests are made of steps that are written as text: "a:x y z" is a unit of service a
 * with three events.
 */
#include "import/model/model_changes.h"
#include "tests/unit/import/model_system.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct system_events *sides[2];
static unsigned request_count;

static void begin(void)
{
    for (unsigned i = 0; i < 2; i++) {
        sides[i] = calloc(1, sizeof *sides[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sides[i]);
    }
    request_count = 0;
}

/* Adds @times requests to @side, of the units in @text: "in:e; a:x y". */
static void add(unsigned side, unsigned times, const char *text)
{
    for (unsigned i = 0; i < times; i++) {
        char words[600];
        char id[SYSTEM_TEXT_BYTES];
        char *rest = NULL;
        int64_t at_us = (int64_t)request_count * 1000;

        (void)snprintf(id, sizeof id, "r%u", request_count++);
        (void)snprintf(words, sizeof words, "%s", text);
        for (char *unit = strtok_r(words, ";", &rest); unit != NULL;
             unit = strtok_r(NULL, ";", &rest)) {
            char *names = NULL;
            const char *service = strtok_r(unit, " :", &names);

            for (const char *name = strtok_r(NULL, " :", &names); name != NULL;
                 name = strtok_r(NULL, " :", &names)) {
                system_add(sides[side], id, service, "", name, at_us++, -1);
            }
        }
    }
}

static struct cpti_model_changes *compare_with(const struct cpt_alloc *alloc,
                                               uint64_t seed)
{
    const struct cpti_changes_options options = {
        .rule = {CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT}, .seed = seed};
    struct cpti_model *models[2];
    struct cpti_model_changes *changes = NULL;

    for (unsigned i = 0; i < 2; i++) {
        models[i] = system_learn(NULL, system_requests(sides[i], 1, 0));
        free(sides[i]);
    }
    (void)cpti_model_changes_find(alloc, models[0], models[1], &options, &changes);
    cpti_model_free(models[0]);
    cpti_model_free(models[1]);
    return changes;
}

static struct cpti_model_changes *compare(void)
{
    struct cpti_model_changes *changes = compare_with(NULL, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(changes);
    return changes;
}

static const char *event_of(const struct cpti_model_changes *changes, uint32_t number,
                            char text[64])
{
    const struct cpt_bytes name =
        number != 0 ? cpti_model_name(changes->joint, number - 1) : cpt_bytes_of("-");

    (void)snprintf(text, 64, "%.*s", (int)name.bytes, name.data);
    return text;
}

/* Row @index as "a: x y > z, 4/4 0/3". */
static void expect_row(const struct cpti_model_changes *changes, size_t index,
                       const char *expected)
{
    const struct cpti_model_change *row = &changes->rows[index];
    char texts[3][64];
    char text[400] = "";

    if (index < changes->row_count) {
        const struct cpt_bytes service =
            cpti_model_text(&changes->joint->texts, row->service);

        (void)snprintf(
            text, sizeof text, "%.*s: %s %s > %s, %g/%u %g/%u", (int)service.bytes,
            service.data, event_of(changes, row->after, texts[0]),
            event_of(changes, row->was, texts[1]),
            event_of(changes, row->now, texts[2]),
            row->shares[0] * (double)row->requests[0], (unsigned)row->requests[0],
            row->shares[1] * (double)row->requests[1], (unsigned)row->requests[1]);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static void test_another_line(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 60, "in:e; basic:405 418");
    add(1, 19, "in:e; basic:405 415");
    changes = compare();
    CU_ASSERT_EQUAL(changes->row_count, 1);
    expect_row(changes, 0, "basic: 405 418 > 415, 60/60 0/19");
    CU_ASSERT_DOUBLE_EQUAL(changes->rows[0].p, 0.001, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(fabs(changes->rows[0].z), sqrt(79 - 1), 1e-6);
    CU_ASSERT_TRUE(changes->rows[0].is_mix_equal);
    CU_ASSERT_EQUAL(changes->kind_count, 2); /* 415 is new, 418 is gone */
    CU_ASSERT_TRUE(changes->kinds[0].p < 0.001 && changes->kinds[1].p < 0.001);
    cpti_model_changes_free(changes);

    begin();
    add(0, 30, "in:e; a:x y z");
    add(1, 30, "in:e; a:x y"); /* it ends early */
    changes = compare();
    expect_row(changes, 0, "a: y z > -, 30/30 0/30");
    cpti_model_changes_free(changes);
}

/* The request is the sample, however often a step is in it. */
static void test_loops(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 5, "in:e; a:x x x y");
    add(0, 5, "in:e; a:x y");
    add(1, 4, "in:e; a:x z x x y");
    changes = compare();
    expect_row(changes, 0, "a: x y > z, 6.66667/10 1.33333/4");
    cpti_model_changes_free(changes);
}

static void test_same(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 10, "in:e; a:x y");
    add(1, 40, "in:e; a:x y");
    changes = compare();
    CU_ASSERT_EQUAL(changes->row_count, 0);
    CU_ASSERT_EQUAL(changes->kind_count, 0);
    cpti_model_changes_free(changes);

    begin(); /* a side without requests */
    add(0, 3, "in:e; a:x y");
    changes = compare();
    CU_ASSERT_EQUAL(changes->row_count, 0);
    cpti_model_changes_free(changes);
}

/* Two classes do different things in one service; only their shares change. */
static void test_mix(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 50, "in:read; a:x y");
    add(0, 50, "in:write; a:x z");
    add(1, 95, "in:read; a:x y");
    add(1, 5, "in:write; a:x z");
    changes = compare();
    CU_ASSERT_TRUE(changes->is_coarse);
    for (size_t i = 0; i < changes->row_count; i++) {
        CU_ASSERT_FALSE(changes->rows[i].is_mix_equal);
        CU_ASSERT_TRUE(changes->rows[i].p > 0.5);
    }
    cpti_model_changes_free(changes);

    begin(); /* a smaller change that is one */
    add(0, 50, "in:read; a:x y; b:p q");
    add(0, 50, "in:write; a:x z; b:p q");
    add(1, 95, "in:read; a:x y; b:p q");
    add(1, 2, "in:write; a:x z; b:p q");
    add(1, 7, "in:write; a:x z; b:p");
    changes = compare();
    expect_row(changes, 0, "b: p q > -, 100/100 97/104");
    CU_ASSERT_TRUE(changes->rows[0].p < 0.05);
    cpti_model_changes_free(changes);
}

/* A call that one class does not make any more. */
static void test_no_call(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 40, "in:read; a:x");
    add(0, 20, "in:write; a:y");
    add(1, 20, "in:read");
    add(1, 10, "in:write; a:y");
    changes = compare();
    expect_row(changes, 0, "a: - x > y, 40/60 0/10");
    CU_ASSERT_TRUE(changes->rows[0].is_mix_equal);
    CU_ASSERT_TRUE(changes->rows[0].p < 0.05);
    cpti_model_changes_free(changes);
}

static void test_orders(void)
{
    struct cpti_model_changes *changes = NULL;

    begin();
    add(0, 40, "in:e; a:x; b:y");
    add(1, 20, "in:e; a:x; b:y");
    for (unsigned i = 0; i < 20; i++) {
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "z%u", i);
        system_add(sides[1], id, "in", "", "e", 0, -1);
        system_add(sides[1], id, "a", "", "x", 9, -1);
        system_add(sides[1], id, "b", "", "y", 5, -1);
        system_add(sides[1], id, "a", "", "w", 2, -1); /* of the same class */
    }
    for (unsigned i = 0; i < 40; i++) {
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "y%u", i);
        system_add(sides[0], id, "in", "", "e", 0, -1);
        system_add(sides[0], id, "a", "", "x", 4, -1);
        system_add(sides[0], id, "b", "", "y", 5, -1);
        system_add(sides[0], id, "a", "", "w", 2, -1);
    }
    changes = compare();
    CU_ASSERT_EQUAL(changes->order_count, 1);
    if (changes->order_count == 1) {
        const struct cpti_model_order_change *order = &changes->orders[0];

        CU_ASSERT_EQUAL(order->was, CPTI_MODEL_BEFORE);
        CU_ASSERT_EQUAL(order->now, CPTI_MODEL_AFTER);
        CU_ASSERT_EQUAL(order->refuted[0], 0);
        CU_ASSERT_EQUAL(order->refuted[1], 20);
        CU_ASSERT_TRUE(cpt_bytes_equal(
            cpti_model_text(&changes->joint->ids, order->witness), cpt_bytes_of("z0")));
        CU_ASSERT_TRUE(order->p < 0.001);
    }
    cpti_model_changes_free(changes);
}

/* Halves of requests that do the same: loops repeat an event up to 100 times. */
static void test_halves(void)
{
    const uint64_t seed = test_random_seed("halves");
    const uint64_t cases = 60;
    unsigned wrong = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_model_changes *changes = NULL;
        double least = 1;

        begin();
        for (unsigned k = 0; k < 80; k++) {
            const uint64_t times = 1 + test_random_below(&random, 100);
            const char *other = test_random_chance(&random, 30) ? " q" : " r";
            char text[600] = "in:e; a:s";

            for (uint64_t n = 0; n < times; n++) {
                (void)strcat(text, other);
            }
            (void)strcat(text, test_random_chance(&random, 50) ? " t" : " u");
            add(k % 2, 1, text);
        }
        changes = compare_with(NULL, seed + i);
        for (size_t k = 0; k < changes->row_count; k++) {
            least = fmin(least, changes->rows[k].p);
        }
        wrong += least < 0.05;
        cpti_model_changes_free(changes);
    }
    CU_ASSERT_TRUE(wrong <= 10); /* 3 are expected; this happens once in 10,000 runs */
}

static bool without_memory(const struct cpt_alloc *alloc)
{
    struct cpti_model_changes *changes = NULL;
    bool is_done = false;

    begin();
    add(0, 3, "in:e; a:x y");
    add(0, 2, "in:f; a:x y");
    add(1, 4, "in:e; a:x z; b:p");
    changes = compare_with(alloc, 1);
    is_done = changes != NULL;
    cpti_model_changes_free(changes);
    return is_done;
}

static void test_without_memory(void)
{
    each_allocation_failure(without_memory);
}

CU_TestInfo cpt_model_changes_tests[] = {
    {"another line follows", test_another_line},
    {"the request is the sample", test_loops},
    {"what is the same has no row", test_same},
    {"another mix is no change", test_mix},
    {"a call that is not made any more", test_no_call},
    {"an order that is lost", test_orders},
    {"random halves", test_halves},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
