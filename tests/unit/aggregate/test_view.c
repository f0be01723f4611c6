/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_view.c - groups of stacks, against a slow model that uses only texts */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_view.h"

/* The time of the group @name in @path; 0 if it has none. */
static uint64_t time_of(const struct cpt_path *path, const char *name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (cpt_bytes_equal(cpt_path_frame_name(path, segment->frame),
                            cpt_bytes_of(name))) {
            sum += segment->duration_ns;
        }
    }
    return sum;
}

static struct cpt_view *view_of(enum cpt_view_by by, const char *text)
{
    struct cpt_view *view = cpt_view_new(NULL, by);
    struct cpt_path *path = path_of(text);

    MUST(view != NULL);
    CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(cpt_view_self(view)), cpt_path_sum_ns(path));
    cpt_path_free(path);
    return view;
}

/* The notation has no spaces in names, so services are added by hand. */
static void add(struct cpt_path *path, uint32_t parent, const char *name, unsigned kind,
                uint64_t time_ns, uint32_t *frame)
{
    MUST(cpt_path_frame_add(path, parent, cpt_bytes_of(name), kind, frame) == CPT_OK);
    MUST(cpt_path_append_ns(path, *frame, time_ns) == CPT_OK);
}

/* The path in the table of the header file. */
static struct cpt_path *path_of_header(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t parse = 0;
    uint32_t last = 0;

    add(path, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK, 1, &a);
    add(path, a, "B: x", CPT_KIND_WORK, 2, &b);
    add(path, b, "", CPT_KIND_NETWORK, 4, &last);
    add(path, b, "parse", CPT_KIND_WORK, 8, &parse);
    add(path, parse, "C: y", CPT_KIND_WORK, 16, &last);
    add(path, last, "B: x", CPT_KIND_WORK, 32, &last); /* B again, below B */
    return path;
}

/* Takes the path above by @by and compares groups: name, self, inclusive. */
static void check_groups(enum cpt_view_by by, const char *const *names,
                         const uint64_t (*times)[2], size_t count)
{
    struct cpt_path *path = path_of_header();
    struct cpt_view *view = cpt_view_new(NULL, by);

    CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_count(cpt_view_self(view)), count);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(cpt_view_self(view)), 63);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(time_of(cpt_view_self(view), names[i]), times[i][0]);
        CU_ASSERT_EQUAL(time_of(cpt_view_inclusive(view), names[i]), times[i][1]);
    }
    cpt_view_free(view);
    cpt_path_free(path);
}

static void test_groups_are_those_of_the_header(void)
{
    static const char *const services[] = {"A", "B", "C"};
    static const uint64_t of_services[][2] = {{1, 63}, {46, 62}, {16, 48}};
    static const char *const names[] = {
        "A: /", "B: x", "B: \xe2\x80\xb9network+serialization\xe2\x80\xba", "B: parse",
        "C: y"};
    static const uint64_t of_names[][2] = {
        {1, 63}, {34, 62}, {4, 4}, {8, 56}, {16, 48}};
    static const char *const edges[] = {"-> A", "A -> B", "B -> C", "C -> B"};
    static const uint64_t of_edges[][2] = {{1, 63}, {14, 62}, {16, 48}, {32, 32}};

    check_groups(CPT_VIEW_SERVICE, services, of_services, 3);
    check_groups(CPT_VIEW_NAME, names, of_names, 5);
    check_groups(CPT_VIEW_EDGE, edges, of_edges, 4);
}

static void test_no_service_has_a_word(void)
{
    struct cpt_view *view = view_of(CPT_VIEW_SERVICE, "a 5, a;b 6");

    CU_ASSERT_EQUAL(time_of(cpt_view_self(view), CPT_VIEW_NO_SERVICE), 11);
    cpt_view_free(view);
    view = view_of(CPT_VIEW_EDGE, "a 5, a;b 6");
    CU_ASSERT_EQUAL(time_of(cpt_view_self(view), "-> " CPT_VIEW_NO_SERVICE), 11);
    cpt_view_free(view);
    view = view_of(CPT_VIEW_NAME, "");
    CU_ASSERT_EQUAL(cpt_path_sum_ns(cpt_view_inclusive(view)), 0);
    cpt_view_free(view);
}

/* --- Against a model --- */

/* The group of frame @index in text. */
static void model_group(const struct cpt_path *path, uint32_t index,
                        enum cpt_view_by by, char text[4096])
{
    char service[1500];
    char above[1500] = CPT_VIEW_NO_SERVICE;
    char frame[2048];
    uint32_t parent = cpt_path_frame(path, index)->parent;
    const struct cpt_bytes own = cpt_path_frame_service(path, index);

    (void)cpt_text_name(own.bytes != 0 ? own : cpt_bytes_of(CPT_VIEW_NO_SERVICE),
                        service, sizeof service);
    (void)cpt_path_frame_text(path, index, frame, sizeof frame);
    if (by == CPT_VIEW_SERVICE) {
        (void)snprintf(text, 4096, "%s", service);
    } else if (by == CPT_VIEW_NAME) {
        const int is_bare =
            cpt_path_frame(path, index)->kind == CPT_KIND_WORK && own.bytes != 0 &&
            cpt_name_service(cpt_path_frame_name(path, index)).bytes == 0;

        (void)snprintf(text, 4096, "%s%s%s", is_bare ? service : "",
                       is_bare ? ": " : "", frame);
    } else {
        /* up to where the service changes */
        while (parent != CPT_FRAME_NONE &&
               cpt_bytes_equal(cpt_path_frame_service(path, parent), own)) {
            parent = cpt_path_frame(path, parent)->parent;
        }
        if (parent != CPT_FRAME_NONE) {
            const struct cpt_bytes bytes = cpt_path_frame_service(path, parent);

            (void)cpt_text_name(bytes.bytes != 0 ? bytes
                                                 : cpt_bytes_of(CPT_VIEW_NO_SERVICE),
                                above, sizeof above);
        }
        (void)snprintf(text, 4096, "%s%s-> %s", parent != CPT_FRAME_NONE ? above : "",
                       parent != CPT_FRAME_NONE ? " " : "", service);
    }
}

/* The time of group @name, segment by segment. */
static uint64_t model_time(const struct cpt_path *path, enum cpt_view_by by,
                           const char *name, int is_inclusive)
{
    char text[4096];
    uint64_t sum = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        int is_in = 0;

        for (uint32_t at = segment->frame; at != CPT_FRAME_NONE;
             at = cpt_path_frame(path, at)->parent) {
            model_group(path, at, by, text);
            is_in = is_in || strcmp(text, name) == 0;
            if (!is_inclusive) {
                break;
            }
        }
        sum += is_in ? segment->duration_ns : 0;
    }
    return sum;
}

static void test_views_are_as_the_model_says(void)
{
    uint64_t state = random_seed("views");
    struct cpt_path *path = cpt_path_new(NULL);
    char text[4096];

    for (int round = 0; round < 300; round++) {
        for (unsigned by = CPT_VIEW_SERVICE; by <= CPT_VIEW_EDGE; by++) {
            struct cpt_view *view = cpt_view_new(NULL, (enum cpt_view_by)by);

            path_random(path, &state, 12, 1000000);
            CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
            CU_ASSERT_EQUAL(cpt_path_sum_ns(cpt_view_self(view)),
                            cpt_path_sum_ns(path));
            for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
                model_group(path, i, (enum cpt_view_by)by, text);
                CU_ASSERT_EQUAL(time_of(cpt_view_self(view), text),
                                model_time(path, (enum cpt_view_by)by, text, 0));
                CU_ASSERT_EQUAL(time_of(cpt_view_inclusive(view), text),
                                model_time(path, (enum cpt_view_by)by, text, 1));
            }
            cpt_view_free(view);
        }
    }
    cpt_path_free(path);
}

/* --- Shapes --- */

/* The times of a kept shape are those of the two paths. */
static void check_shape(struct cpt_view *view, const struct cpt_path *path,
                        uint64_t shape)
{
    uint64_t self_ns[64] = {0};
    struct cpt_view_times times;

    MUST(cpt_path_frame_count(path) <= 64);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        self_ns[segment->frame] += segment->duration_ns;
    }
    CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
    cpt_view_shape_take(view, shape, self_ns, &times);
    CU_ASSERT_EQUAL_FATAL(times.group_count, cpt_path_frame_count(cpt_view_self(view)));
    for (uint32_t i = 0; i < times.group_count; i++) {
        const struct cpt_bytes name = cpt_path_frame_name(cpt_view_self(view), i);
        char text[4096];

        (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
        CU_ASSERT_TRUE(
            cpt_bytes_equal(cpt_path_frame_name(cpt_view_inclusive(view), i), name));
        CU_ASSERT_EQUAL(times.self_ns[i], time_of(cpt_view_self(view), text));
        CU_ASSERT_EQUAL(times.inclusive_ns[i], time_of(cpt_view_inclusive(view), text));
    }
}

static void test_shapes_give_the_times_of_the_paths(void)
{
    uint64_t state = random_seed("view shapes");
    struct cpt_path *path = cpt_path_new(NULL);

    for (unsigned by = CPT_VIEW_SERVICE; by <= CPT_VIEW_EDGE; by++) {
        struct cpt_view *view = cpt_view_new(NULL, (enum cpt_view_by)by);

        CU_ASSERT_EQUAL(cpt_view_shape_is_kept(view, 0), 0);
        for (uint64_t shape = 0; shape < 3000; shape++) { /* more than are kept */
            path_random(path, &state, 12, 1000000);
            if (by == CPT_VIEW_NAME || shape % 100 == 0) {
                CU_ASSERT_EQUAL(cpt_view_shape_keep(view, shape, path), CPT_OK);
                CU_ASSERT_EQUAL(cpt_view_shape_is_kept(view, shape), 1);
                check_shape(view, path, shape);
            }
        }
        CU_ASSERT_EQUAL(cpt_view_shape_is_kept(view, 2900), 1);
        CU_ASSERT_EQUAL(cpt_view_shape_is_kept(view, 100), by != CPT_VIEW_NAME);
        cpt_view_free(view);
    }
    cpt_path_free(path);
}

/* --- In a diff --- */

static void test_a_diff_takes_inclusive_times_from_the_other_trees(void)
{
    struct cpt_tree *trees[4];
    struct cpt_view *view = cpt_view_new(NULL, CPT_VIEW_EDGE);
    struct cpt_diff_options options = {.struct_bytes = sizeof options};
    struct cpt_diff *diff = NULL;

    for (int i = 0; i < 4; i++) {
        trees[i] = cpt_tree_new(NULL, NULL);
    }
    for (int i = 0; i < 80; i++) {
        struct cpt_path *path = path_of_header();

        if (i >= 40) {
            MUST(cpt_path_append_ns(path, 4, 5) == CPT_OK); /* C: y */
        }
        CU_ASSERT_EQUAL(cpt_view_take(view, path), CPT_OK);
        CU_ASSERT_EQUAL(
            cpt_tree_add(trees[i >= 40], cpt_view_self(view), CPT_WEIGHT_ONE), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_add(trees[2 + (i >= 40)], cpt_view_inclusive(view),
                                     CPT_WEIGHT_ONE),
                        CPT_OK);
        cpt_path_free(path);
    }
    options.base_inclusive = trees[2];
    CU_ASSERT_EQUAL(cpt_diff_new(NULL, trees[0], trees[1], &options, &diff, NULL),
                    CPT_INVALID);
    options.new_inclusive = trees[3];
    CU_ASSERT_EQUAL(cpt_diff_new(NULL, trees[0], trees[1], &options, &diff, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_row_count(diff), 4);
    CU_ASSERT_TRUE(cpt_bytes_equal(
        cpt_tree_name(cpt_diff_tree(diff), cpt_diff_row_at(diff, 0)->node),
        cpt_bytes_of("B -> C")));
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->self.delta_ns, 5);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->inclusive.base_ns, 48);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->inclusive.new_ns, 53);
    CU_ASSERT_EQUAL(cpt_diff_total(diff)->inclusive.new_ns, 68);
    cpt_diff_free(diff);
    for (int i = 0; i < 4; i++) {
        cpt_tree_free(trees[i]);
    }
    cpt_view_free(view);
}

static bool take(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = path_of_header();
    struct cpt_view *view = cpt_view_new(alloc, CPT_VIEW_NAME);
    const cpt_status status = view == NULL ? CPT_NO_MEMORY : cpt_view_take(view, path);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_view_free(view);
    cpt_path_free(path);
    return status == CPT_OK;
}

static bool keep(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = path_of_header();
    struct cpt_view *view = cpt_view_new(alloc, CPT_VIEW_NAME);
    const cpt_status status =
        view == NULL ? CPT_NO_MEMORY : cpt_view_shape_keep(view, 7, path);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    CU_ASSERT_EQUAL(view != NULL && cpt_view_shape_is_kept(view, 7), status == CPT_OK);
    cpt_view_free(view);
    cpt_path_free(path);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(take);
    each_allocation_failure(keep);
}

extern CU_TestInfo cpt_view_tests[];
CU_TestInfo cpt_view_tests[] = {
    {"groups are those of the header file", test_groups_are_those_of_the_header},
    {"no service has a word", test_no_service_has_a_word},
    {"views equal those of the model", test_views_are_as_the_model_says},
    {"shapes give the times of the paths", test_shapes_give_the_times_of_the_paths},
    {"a diff takes inclusive times from the other trees",
     test_a_diff_takes_inclusive_times_from_the_other_trees},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
