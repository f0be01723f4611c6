/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_expression_path.c - selecting by paths whose frames were seen before
 *
 * Requests of a few shapes, repeated with different times: with a scratch that learns,
 * and with a new scratch for each.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/select/expression.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 6, FRAMES_MAX = 12, ROUNDS = 60, TESTS = 5 };

/* The frames of a shape: parents come before their children. */
struct shape {
    size_t count;
    unsigned parents[FRAMES_MAX]; /* of frame 0 none */
    unsigned names[FRAMES_MAX];
    unsigned kinds[FRAMES_MAX];
};

static const char *const names[] = {"A: /", "A: A1", "A: A2", "B: B1", "B: B2"};

static struct shape make_shape(struct test_random *random)
{
    struct shape shape = {.count = 1 + (size_t)test_random_below(random, FRAMES_MAX)};

    for (size_t i = 0; i < shape.count; i++) {
        shape.parents[i] = i == 0 ? 0 : (unsigned)test_random_below(random, i);
        shape.names[i] = i == 0 ? 0 : (unsigned)test_random_below(random, 5);
        shape.kinds[i] = i != 0 && test_random_chance(random, 15) ? CPT_KIND_BLIND_SPOT
                                                                  : CPT_KIND_WORK;
    }
    return shape;
}

/* A path of @shape with some segments, encoded; free() its bytes. */
static struct cpt_record make_record(const struct shape *shape,
                                     struct test_random *random)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record = {.probability = 1};
    uint32_t frames[FRAMES_MAX];
    unsigned char *data = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    for (size_t i = 0; i < shape->count; i++) {
        CU_ASSERT_EQUAL_FATAL(
            cpt_path_frame_add(
                path, i == 0 ? CPT_FRAME_NONE : frames[shape->parents[i]],
                cpt_bytes_of(names[shape->names[i]]), shape->kinds[i], &frames[i]),
            CPT_OK);
    }
    for (uint64_t i = test_random_below(random, 8) + 1; i > 0; i--) {
        CU_ASSERT_EQUAL_FATAL(
            cpt_path_append_ns(path, frames[test_random_below(random, shape->count)],
                               test_random_below(random, 20)),
            CPT_OK);
    }
    record.latency_ns = cpt_path_sum_ns(path);
    CU_ASSERT_EQUAL_FATAL(
        cpt_metadata_encode(path, &options, &data, &record.path_bytes.bytes, NULL),
        CPT_OK);
    record.path_bytes.data = (const char *)data;
    if (test_random_chance(random, 5)) {
        record.latency_ns++; /* it does not add up */
    }
    cpt_path_free(path);
    return record;
}

static void make_expression(struct cpti_expression *expression,
                            struct test_random *random)
{
    static const char *const stacks[] = {"A: A1",
                                         "A: A2",
                                         "B: B1",
                                         "A: /",
                                         "A: A1;B: B1",
                                         "A: /;A: A2",
                                         "B: \u2039blind spot\u203a",
                                         "none",
                                         "B: B1;B: B2",
                                         "A: \u2039blind spot\u203a"};
    char text[128];

    *expression = (struct cpti_expression){0};
    for (size_t i = 0; i < TESTS; i++) {
        struct cpti_expression_error error;

        (void)snprintf(text, sizeof text, "not (path(\"%s\") > %uns)",
                       stacks[test_random_below(random, 10)],
                       (unsigned)test_random_below(random, 60) + 10);
        CU_ASSERT_TRUE_FATAL(
            cpti_expression_add(expression, cpt_bytes_of(text), 0, &error));
    }
}

static void test_frames_that_were_met(void)
{
    static struct cpti_expression expression;
    const uint64_t seed = test_random_seed("known frames");
    const uint64_t cases = test_case_count(30);
    uint64_t held = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_scratch learning = {0};
        struct shape shapes[SHAPES];

        make_expression(&expression, &random);
        for (size_t k = 0; k < SHAPES; k++) {
            shapes[k] = make_shape(&random);
        }
        for (size_t k = 0; k < (size_t)SHAPES * ROUNDS; k++) {
            struct cpt_record record = make_record(&shapes[k % SHAPES], &random);
            struct cpti_scratch fresh = {0};
            const int wanted = cpti_expression_holds(&expression, &record, &fresh);
            const int got = cpti_expression_holds(&expression, &record, &learning);

            if (got != wanted) {
                (void)printf("CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1: %d, not %d\n",
                             seed + i, got, wanted);
                CU_FAIL("a path whose frames were met is not what it was");
            }
            held += wanted == 1;
            cpti_scratch_deinit(&fresh);
            free((void *)(uintptr_t)record.path_bytes.data);
        }
        cpti_scratch_deinit(&learning);
    }
    CU_ASSERT_TRUE(cases < 10 || (held > cases && held < cases * SHAPES * ROUNDS));
}

CU_TestInfo cpt_expression_path_tests[] = {
    {"a result is the same whether or not frames were seen before",
     test_frames_that_were_met},
    CU_TEST_INFO_NULL,
};
