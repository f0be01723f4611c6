/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_gain.c - drags in trees, against a table of requests
 *
 * The table keeps, for each request with drags and each stack (or name), the largest
 * drag and the time. Means and errors are computed from it by their definitions, in two
 * passes.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/model_tree.h"
#include "tests/unit/aggregate/paths.h"
#include "tests/unit/aggregate/tree_patch.h"

#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_view.h"

#include <math.h>

enum { REQUESTS = 40 };

/* The requests with drags, by stack. */
struct table {
    struct model drags; /* self: the largest drag */
    struct model times; /* self: the time on the path */
    uint8_t is_known[MODEL_STACKS_MAX][MODEL_REQUESTS_MAX];
};

/* Each drag is unknown, 0, the whole duration or in between. */
static void set_drags(struct cpt_path *path, uint64_t *state)
{
    if (random_below(state, 4) == 0) {
        return;
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t duration_ns = cpt_path_segment(path, i)->duration_ns;
        const uint64_t choices[] = {CPT_DRAG_UNKNOWN, 0, duration_ns,
                                    random_below(state, duration_ns + 1)};

        MUST(cpt_path_drag_set(path, i, choices[random_below(state, 4)]) == CPT_OK);
    }
}

static bool knows_drags(const struct cpt_path *path)
{
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        if (cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN) {
            return true;
        }
    }
    return false;
}

static unsigned column_of(struct table *table, const char *stack)
{
    const unsigned found = model_find(&table->drags, stack);

    if (found == table->drags.stack_count) {
        MUST(found < MODEL_STACKS_MAX && strlen(stack) < MODEL_TEXT_BYTES);
        strcpy(table->drags.stacks[found], stack);
        table->drags.stack_count++;
    }
    return found;
}

/* The text of a frame on its stack, or alone as the view by name has it. */
static void text_of(const struct cpt_path *path, uint32_t frame, char *text)
{
    (void)cpt_path_stack_text(path, frame, text, MODEL_TEXT_BYTES);
}

static void table_add(struct table *table, const struct cpt_path *path,
                      cpt_weight weight)
{
    const unsigned row = table->drags.request_count;

    if (!knows_drags(path)) {
        return;
    }
    MUST(row < MODEL_REQUESTS_MAX);
    table->drags.weight[row] = weight;
    table->times.weight[row] = weight;
    table->drags.request_count++;
    table->times.request_count++;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const uint64_t drag_ns = cpt_path_drag(path, i);
        char text[MODEL_TEXT_BYTES];
        unsigned column = 0;

        text_of(path, segment->frame, text);
        column = column_of(table, text);
        table->times.self[column][row] += segment->duration_ns;
        if (drag_ns != CPT_DRAG_UNKNOWN) {
            table->is_known[column][row] = 1;
            if (table->drags.self[column][row] < drag_ns) {
                table->drags.self[column][row] = drag_ns;
            }
        }
    }
}

static void check_mean(const struct cpt_mean *mean, const struct model *model,
                       const uint64_t *cells)
{
    const struct model_mean expected = model_mean_of(model, cells);
    const double error = (double)expected.error;

    CU_ASSERT_DOUBLE_EQUAL(mean->mean_ns, (double)expected.mean,
                           1e-9 * (1 + (double)expected.mean));
    CU_ASSERT_DOUBLE_EQUAL(mean->effective_count, (double)expected.effective_count,
                           1e-9 * (double)expected.effective_count);
    if (model->request_count > 1) {
        CU_ASSERT_DOUBLE_EQUAL(mean->error_ns, error, 1e-9 * (1 + error));
    }
}

static void check_tree(const struct cpt_tree *tree, const struct table *table)
{
    const unsigned requests = table->drags.request_count;

    CU_ASSERT_EQUAL(cpt_gain_request_count(tree), requests);
    for (uint32_t node = 1; node < cpt_tree_node_count(tree) && requests != 0; node++) {
        const struct cpt_gain gain = cpt_gain_of(tree, node);
        char stack[MODEL_TEXT_BYTES];
        unsigned column = 0;
        uint64_t present = 0;
        uint64_t known = 0;

        (void)cpt_tree_stack_text(tree, node, stack, sizeof stack);
        column = model_find(&table->drags, stack);
        for (unsigned i = 0; i < requests && column < MODEL_STACKS_MAX; i++) {
            present += table->times.self[column][i] != 0;
            known += table->is_known[column][i];
        }
        CU_ASSERT_EQUAL(gain.present_count, present);
        CU_ASSERT_EQUAL(gain.known_count, known);
        check_mean(&gain.drag, &table->drags, table->drags.self[column]);
        check_mean(&gain.time, &table->times, table->times.self[column]);
        CU_ASSERT_TRUE(gain.drag.mean_ns <= gain.time.mean_ns);
        CU_ASSERT_DOUBLE_EQUAL((double)gain.drag_ns, gain.drag.mean_ns, 0.5001);
    }
}

static cpt_weight weight_in(int round, uint64_t *state)
{
    if (round % 3 == 0) {
        return CPT_WEIGHT_ONE;
    }
    return round % 3 == 1 ? 37 * CPT_WEIGHT_ONE
                          : CPT_WEIGHT_ONE + random_below(state, 90 * CPT_WEIGHT_ONE);
}

static void table_reset(struct table *table)
{
    memset(table, 0, sizeof *table);
    model_reset(&table->drags);
    model_reset(&table->times);
}

/* Trees of stacks and of names, each against the table of its own paths. */
static void test_gains_are_those_of_the_table_of_requests(void)
{
    uint64_t state = random_seed("gains");
    struct table *tables = calloc(2, sizeof *tables);
    struct cpt_view *view = cpt_view_new(NULL, CPT_VIEW_NAME);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(tables != NULL && view != NULL && path != NULL);
    for (int round = 0; round < 60; round++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};

        table_reset(&tables[0]);
        table_reset(&tables[1]);
        for (int i = 0; i < REQUESTS; i++) {
            const cpt_weight weight = weight_in(round, &state);

            path_random(path, &state, 12, 1000000000);
            set_drags(path, &state);
            CU_ASSERT_EQUAL(cpt_tree_add(trees[0], path, weight), CPT_OK);
            table_add(&tables[0], path, weight);
            CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
            CU_ASSERT_EQUAL(
                cpt_path_check(cpt_view_self(view), cpt_path_sum_ns(path), NULL),
                CPT_OK);
            CU_ASSERT_EQUAL(knows_drags(cpt_view_self(view)), knows_drags(path));
            CU_ASSERT_EQUAL(cpt_tree_add(trees[1], cpt_view_self(view), weight),
                            CPT_OK);
            table_add(&tables[1], cpt_view_self(view), weight);
        }
        check_tree(trees[0], &tables[0]);
        check_tree(trees[1], &tables[1]);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    cpt_path_free(path);
    cpt_view_free(view);
    free(tables);
}

/* The largest drag of a name is that of all its segments, on any stack. */
static void test_a_name_has_the_largest_drag_of_its_segments(void)
{
    struct cpt_path *path = path_of("A;B 5, A;C;B 7, A;B 4, A;C 2");
    struct cpt_view *view = cpt_view_new(NULL, CPT_VIEW_NAME);
    struct cpt_tree *stacks = cpt_tree_new(NULL, NULL);
    struct cpt_tree *names = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 0, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, 6), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 2, 3), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(stacks, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_gain_of(stacks, tree_node(stacks, "A;B")).drag_ns, 3);
    CU_ASSERT_EQUAL(cpt_gain_of(stacks, tree_node(stacks, "A;C;B")).drag_ns, 6);
    CU_ASSERT_EQUAL(cpt_gain_of(stacks, tree_node(stacks, "A;C")).known_count, 0);
    CU_ASSERT_EQUAL(cpt_gain_of(stacks, tree_node(stacks, "A;C")).time.mean_ns, 2);
    CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(names, cpt_view_self(view), CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_gain_of(names, tree_node(names, "B")).drag_ns, 6);
    CU_ASSERT_EQUAL(cpt_gain_of(names, tree_node(names, "B")).time.mean_ns, 16);
    cpt_tree_free(stacks);
    cpt_tree_free(names);
    cpt_view_free(view);
    cpt_path_free(path);
}

/* Dealt out at random over several trees, and these merged in any order and through
 * bytes: the same to the bit. */
static void test_merging_makes_no_difference(void)
{
    enum { PARTS = 4 };
    uint64_t state = random_seed("merging gains");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *whole = cpt_tree_new(NULL, NULL);
        struct cpt_tree *parts[PARTS];
        struct cpt_tree *sum = cpt_tree_new(NULL, NULL);

        for (int i = 0; i < PARTS; i++) {
            parts[i] = cpt_tree_new(NULL, NULL);
        }
        for (int i = 0; i < REQUESTS; i++) {
            const cpt_weight weight = weight_in(round, &state);
            struct cpt_tree *part = parts[random_below(&state, PARTS)];

            path_random(path, &state, 8, CPT_TREE_TIME_MAX / 16);
            set_drags(path, &state);
            CU_ASSERT_EQUAL(cpt_tree_add(whole, path, weight), CPT_OK);
            CU_ASSERT_EQUAL(cpt_tree_add(part, path, weight), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpt_tree_merge(parts[3], parts[1]), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_merge(sum, parts[2]), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_merge(sum, parts[3]), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_merge(sum, parts[0]), CPT_OK);
        CU_ASSERT_TRUE(tree_equal(whole, sum));
        for (int i = 0; i < PARTS; i++) {
            cpt_tree_free(parts[i]);
        }
        cpt_tree_free(whole);
        cpt_tree_free(sum);
    }
    cpt_path_free(path);
}

/* --- Bytes --- */

/* A tree of @count random requests, most of them with drags. */
static struct cpt_tree *tree_with_drags(uint64_t *state, int round, unsigned count)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(tree != NULL && path != NULL);
    path_append_text(path, "A 10");
    MUST(cpt_path_drag_set(path, 0, 4) == CPT_OK);
    MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    for (unsigned i = 0; i < count; i++) {
        path_random(path, state, 6, 1000000);
        set_drags(path, state);
        MUST(cpt_tree_add(tree, path, weight_in(round, state)) == CPT_OK);
    }
    cpt_path_free(path);
    return tree;
}

static void test_bytes_hold_the_gains(void)
{
    uint64_t state = random_seed("gain bytes");

    for (int round = 0; round < 100; round++) {
        struct cpt_tree *tree = tree_with_drags(&state, round, 10);
        struct cpt_tree *read = NULL;
        struct cpt_error error = {0};
        void *bytes = NULL;
        size_t count = 0;

        CU_ASSERT_EQUAL(cpt_tree_encode(NULL, tree, &bytes, &count), CPT_OK);
        CU_ASSERT_EQUAL(((unsigned char *)bytes)[7], 3);
        CU_ASSERT_EQUAL(cpt_tree_decode(NULL, NULL, bytes, count, &read, &error),
                        CPT_OK);
        CU_ASSERT_STRING_EQUAL_FATAL(error.sentence, "");
        CU_ASSERT_TRUE(tree_equal(tree, read));
        CU_ASSERT_EQUAL(cpt_gain_request_count(read), cpt_gain_request_count(tree));
        CU_ASSERT_EQUAL(cpt_gain_of(read, tree_node(read, "A")).drag.mean_ns,
                        cpt_gain_of(tree, tree_node(tree, "A")).drag.mean_ns);
        cpt_alloc_free(NULL, bytes);
        cpt_tree_free(tree);
        cpt_tree_free(read);
    }
}

/* The version in the bytes of a tree. */
static unsigned version_of(const struct cpt_tree *tree)
{
    void *bytes = NULL;
    size_t count = 0;
    unsigned version = 0;

    MUST(cpt_tree_encode(NULL, tree, &bytes, &count) == CPT_OK);
    version = ((unsigned char *)bytes)[7];
    cpt_alloc_free(NULL, bytes);
    return version;
}

static void test_a_tree_without_drags_is_as_before(void)
{
    struct cpt_path *path = path_of("A;B 5, A 3");
    struct cpt_tree *plain = cpt_tree_new(NULL, NULL);
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(cpt_tree_add(plain, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(version_of(plain), 2);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 0, CPT_DRAG_UNKNOWN), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_TRUE(tree_equal(plain, tree)); /* no drag is known */
    CU_ASSERT_EQUAL(cpt_gain_of(tree, 1).drag.mean_ns, 0);
    cpt_tree_free(tree);
    tree = cpt_tree_new(NULL, NULL);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 0, 2), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(version_of(tree), 3);
    cpt_tree_forget_drags(tree);
    CU_ASSERT_TRUE(tree_equal(plain, tree));
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_gain_request_count(tree), 1);
    cpt_tree_forget_cubes(tree); /* for programs that know no drags either */
    CU_ASSERT_EQUAL(version_of(tree), 1);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(version_of(tree), 4);
    CU_ASSERT_EQUAL(cpt_gain_request_count(tree), 1);
    cpt_tree_free(plain);
    cpt_tree_free(tree);
    cpt_path_free(path);
}

static void check_sound(const struct cpt_tree *tree)
{
    for (uint32_t i = 0; i < cpt_tree_node_count(tree); i++) {
        const struct cpt_gain gain = cpt_gain_of(tree, i);

        CU_ASSERT_TRUE(gain.known_count <= gain.present_count);
        CU_ASSERT_TRUE(gain.present_count <= cpt_gain_request_count(tree));
        CU_ASSERT_TRUE(gain.drag.mean_ns >= 0 &&
                       gain.drag.mean_ns <= gain.time.mean_ns);
        CU_ASSERT_TRUE(cpt_gain_request_count(tree) < 2 || gain.drag.error_ns >= 0);
    }
}

/* With a right checksum: refused, or sound, mergeable and with one encoding only. */
static void test_forged_gains_are_refused_or_sound(void)
{
    uint64_t state = random_seed("forged gains");
    unsigned accepted = 0;

    for (int round = 0; round < 150; round++) {
        struct cpt_tree *tree = tree_with_drags(&state, round, 3);
        unsigned char *bytes = NULL;
        size_t count = 0;

        CU_ASSERT_EQUAL(cpt_tree_encode(NULL, tree, (void **)&bytes, &count), CPT_OK);
        for (int i = 0; i < 100; i++) {
            const size_t at = 16 + random_below(&state, count - 20);
            const unsigned char before = bytes[at];
            struct cpt_tree *forged = NULL;
            void *again = NULL;
            size_t again_count = 0;

            bytes[at] = (unsigned char)random_next(&state);
            patch_tree(bytes, count);
            if (cpt_tree_decode(NULL, NULL, bytes, count, &forged, NULL) == CPT_OK) {
                accepted++;
                MUST(cpt_tree_encode(NULL, forged, &again, &again_count) == CPT_OK);
                CU_ASSERT_TRUE(again_count == count &&
                               memcmp(again, bytes, count) == 0);
                CU_ASSERT_EQUAL(cpt_tree_merge(forged, tree), CPT_OK);
                check_sound(forged);
            }
            cpt_alloc_free(NULL, again);
            cpt_tree_free(forged);
            bytes[at] = before;
        }
        cpt_alloc_free(NULL, bytes);
        cpt_tree_free(tree);
    }
    printf("[%u of 15000 accepted] ", accepted);
}

static void test_every_prefix_is_refused(void)
{
    uint64_t state = 7;
    struct cpt_tree *tree = tree_with_drags(&state, 2, 3);
    unsigned char *bytes = NULL;
    size_t count = 0;

    CU_ASSERT_EQUAL(cpt_tree_encode(NULL, tree, (void **)&bytes, &count), CPT_OK);
    for (size_t i = 20; i < count; i++) {
        unsigned char *part = malloc(i);
        struct cpt_tree *read = NULL;

        memcpy(part, bytes, i);
        patch_tree(part, i);
        CU_ASSERT_NOT_EQUAL(cpt_tree_decode(NULL, NULL, part, i, &read, NULL), CPT_OK);
        free(part);
    }
    cpt_alloc_free(NULL, bytes);
    cpt_tree_free(tree);
}

/* --- Limits --- */

static void test_the_largest_sums_are_exact(void)
{
    enum { COUNT = 3000 };
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_gain gain;
    uint32_t frame = 0;

    MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A"), 0, &frame) ==
         CPT_OK);
    MUST(cpt_path_append_ns(path, frame, CPT_TREE_TIME_MAX) == CPT_OK);
    MUST(cpt_path_drag_set(path, 0, CPT_TREE_TIME_MAX) == CPT_OK);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_MAX), CPT_OK);
    }
    gain = cpt_gain_of(tree, 1);
    CU_ASSERT_EQUAL(gain.drag.mean_ns, (double)CPT_TREE_TIME_MAX);
    CU_ASSERT_EQUAL(gain.drag.error_ns, 0);
    CU_ASSERT_EQUAL(gain.drag_ns, CPT_TREE_TIME_MAX);
    CU_ASSERT_EQUAL(gain.drag_total_ns, UINT64_MAX); /* it is more */
    CU_ASSERT_EQUAL(gain.known_count, COUNT);
    cpt_tree_free(tree);
    cpt_path_free(path);
}

/* The true mean is in an interval of 95 %: drags that are 0 in most requests. */
static void test_intervals_cover_the_true_mean(void)
{
    enum { SAMPLES = 400, SIZE = 200 };
    uint64_t state = random_seed("coverage of gains");
    const double truth = 0.4 * 1e6 * exp(0.5);
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned covered = 0;

    for (int i = 0; i < SAMPLES; i++) {
        struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
        struct cpt_gain gain;
        double low = 0;
        double high = 0;

        for (int j = 0; j < SIZE; j++) {
            const double u = (double)(1 + random_below(&state, 1 << 20)) / (1 << 20);
            const double v = (double)random_below(&state, 1 << 20) / (1 << 20);
            const double normal = sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
            const double drag = random_below(&state, 5) < 2 ? 1e6 * exp(normal) : 0;
            uint32_t frame = 0;

            cpt_path_reset(path);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A"), 0,
                                    &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame, (uint64_t)1 << 32) == CPT_OK);
            MUST(cpt_path_drag_set(path, 0, (uint64_t)drag) == CPT_OK);
            MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
        }
        gain = cpt_gain_of(tree, 1);
        cpt_mean_interval(&gain.drag, 0.95, &low, &high);
        covered += low <= truth && truth <= high;
        cpt_tree_free(tree);
    }
    printf("[%u of %d covered] ", covered, SAMPLES);
    CU_ASSERT_TRUE(covered >= SAMPLES * 89 / 100 && covered <= SAMPLES * 98 / 100);
    cpt_path_free(path);
}

static bool build(const struct cpt_alloc *alloc)
{
    uint64_t state = 11;
    struct cpt_tree *other = tree_with_drags(&state, 2, 6);
    struct cpt_path *path = path_of("A;A1 5, A;A1;A2 20, A;#4 3");
    struct cpt_tree *tree = cpt_tree_new(alloc, NULL);
    struct cpt_tree *read = NULL;
    void *bytes = NULL;
    size_t count = 0;
    bool is_done = tree != NULL;

    MUST(cpt_path_drag_set(path, 1, 7) == CPT_OK);
    if (is_done) {
        is_done = cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK;
        CU_ASSERT_EQUAL(cpt_tree_request_count(tree), is_done);
        CU_ASSERT_EQUAL(cpt_gain_request_count(tree), is_done);
    }
    if (is_done) {
        is_done = cpt_tree_merge(tree, other) == CPT_OK;
        CU_ASSERT_EQUAL(cpt_gain_request_count(tree),
                        is_done ? 1 + cpt_gain_request_count(other) : 1);
    }
    is_done = is_done && cpt_tree_encode(alloc, tree, &bytes, &count) == CPT_OK &&
              cpt_tree_decode(alloc, NULL, bytes, count, &read, NULL) == CPT_OK;
    cpt_alloc_free(alloc, bytes);
    cpt_tree_free(read);
    cpt_tree_free(tree);
    cpt_tree_free(other);
    cpt_path_free(path);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(build);
}

extern CU_TestInfo cpt_gain_tests[];
CU_TestInfo cpt_gain_tests[] = {
    {"gains are those of the table of requests",
     test_gains_are_those_of_the_table_of_requests},
    {"a name has the largest drag of its segments",
     test_a_name_has_the_largest_drag_of_its_segments},
    {"merging makes no difference", test_merging_makes_no_difference},
    {"bytes hold the gains", test_bytes_hold_the_gains},
    {"a tree without drags is as before", test_a_tree_without_drags_is_as_before},
    {"forged gains are refused or sound", test_forged_gains_are_refused_or_sound},
    {"every prefix is refused", test_every_prefix_is_refused},
    {"the largest sums are exact", test_the_largest_sums_are_exact},
    {"intervals cover the true mean", test_intervals_cover_the_true_mean},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
