/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_splice_model.c - splicing against a model, on random callees */
#include "tests/support/model_splice.h"
#include "tests/support/suites.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 100000 };

static const char call_name[] = "B: get";
static const char call_text[] = "A: /;B: get";

/* Times of about the same size, so that every order of O, S, P and skip occurs. */
static struct cpt_splice make_splice(struct test_random *random, uint64_t most_ns)
{
    struct cpt_splice splice = {
        .observed_ns = test_random_below(random, most_ns * 4),
        .server_elapsed_ns = test_random_below(random, most_ns * 4),
        .has_server_elapsed = test_random_chance(random, 60),
        .reason = 1 + (unsigned)test_random_below(random, 8),
        .overcount =
            test_random_chance(random, 30) ? CPT_OVERCOUNT_CLIP : CPT_OVERCOUNT_SCALE};

    if (test_random_chance(random, 30)) {
        splice.send_queue_ns = test_random_below(random, most_ns * 2);
    }
    if (test_random_chance(random, 30)) {
        splice.receive_queue_ns = test_random_below(random, most_ns * 2);
    }
    if (test_random_chance(random, 30)) {
        splice.skip_ns = test_random_below(random, splice.observed_ns + 1);
    }
    return splice;
}

/* The number of the excess label on segment @index; 0: none. */
static uint64_t excess_of(const struct cpt_path *path, size_t index)
{
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        if (label->segment == index && label->key == CPT_LABEL_EXCESS) {
            return label->value;
        }
    }
    return 0;
}

static int is_run(const struct cpt_path *path, size_t index,
                  const struct model_run *run)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    char stack[MODEL_TEXT_BYTES];

    (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
    if (strcmp(stack, run->stack) == 0 && segment->duration_ns == run->duration_ns &&
        segment->reason == run->reason && segment->flags == run->flags &&
        excess_of(path, index) == run->excess_ns) {
        return 1;
    }
    printf("\n  segment %zu: got %s %" PRIu64 ", expected %s %" PRIu64 "\n", index,
           stack, segment->duration_ns, run->stack, run->duration_ns);
    return 0;
}

static int is_the_models(const struct cpt_path *path, const struct model_runs *runs)
{
    if (cpt_path_segment_count(path) != runs->count) {
        printf("\n  got %zu segments, expected %zu\n", cpt_path_segment_count(path),
               runs->count);
        return 0;
    }
    for (size_t i = 0; i < runs->count; i++) {
        if (!is_run(path, i, &runs->runs[i])) {
            return 0;
        }
    }
    return 1;
}

static int case_is_right(struct cpt_path *path, struct cpt_path *callee,
                         struct test_random *random)
{
    static const uint64_t sizes[] = {3, 30, 100000, (uint64_t)1 << 45};
    const uint64_t most_ns = sizes[test_random_below(random, 4)];
    const int has_path = test_random_chance(random, 90);
    const struct cpt_splice splice = make_splice(random, most_ns);
    struct cpt_splice_report report = {0};
    struct model_callee made;
    struct model_runs runs;
    uint32_t frame = 0;

    model_callee_make(&made, random, call_name, most_ns);
    model_splice(&runs, call_text, call_name, has_path ? &made : NULL, &splice);
    cpt_path_reset(callee);
    model_callee_path(&made, callee);
    cpt_path_reset(path);
    CU_ASSERT_EQUAL_FATAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &frame),
        CPT_OK);
    CU_ASSERT_EQUAL_FATAL(
        cpt_path_frame_add(path, frame, cpt_bytes_of(call_name), 0, &frame), CPT_OK);
    return cpt_path_splice(path, frame, has_path ? callee : NULL, &splice, &report) ==
               CPT_OK &&
           cpt_path_check(path, splice.observed_ns - splice.skip_ns, NULL) == CPT_OK &&
           is_the_models(path, &runs) && report.overcount_ns == runs.overcount_ns &&
           report.undercount_ns == runs.undercount_ns &&
           report.is_inconsistent == runs.is_inconsistent;
}

static void test_is_the_models_splice(void)
{
    const uint64_t seed = test_random_seed("splice");
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    uint64_t failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        if (!case_is_right(path, callee, &random)) {
            printf("\n  splice: again with CPT_TEST_SEED=%" PRIu64
                   " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
    cpt_path_free(path);
    cpt_path_free(callee);
}

extern CU_TestInfo cpt_splice_model_tests[];
CU_TestInfo cpt_splice_model_tests[] = {
    {"a spliced call is what the model says", test_is_the_models_splice},
    CU_TEST_INFO_NULL,
};
