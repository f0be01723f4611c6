/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_html_data.c - the limits of the HTML report; its sums stay right */
#include "tool/html/html_data.h"
#include "tool/html/html_example.h"

#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <CUnit/CUnit.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A path below one entry with @count segments, each with its own frame on request; the
 * i-th takes 1000 + i ns. */
static struct cpt_path *make_path(size_t count, int has_frames)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t entry = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), CPT_KIND_WORK,
                             &entry);
    for (size_t i = 0; i < count; i++) {
        uint32_t frame = entry;
        char name[32];

        (void)snprintf(name, sizeof name, "A: %zu", has_frames ? i : i % 2);
        (void)cpt_path_frame_add(path, entry, cpt_bytes_of(name), CPT_KIND_WORK,
                                 &frame);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 1000 + i), CPT_OK);
    }
    return path;
}

/* The report of one request with @path, in memory from malloc(). */
static char *report_of(const struct cpt_path *path)
{
    static struct cpti_bands bands;
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    const struct cpti_html_side side = {.name = "all", .tree = tree, .bands = &bands};
    const struct cpt_record record = {.latency_ns = cpt_path_sum_ns(path),
                                      .probability = 1,
                                      .entry = cpt_bytes_of("A: /")};
    char *json = NULL;
    size_t bytes;
    FILE *file = open_memstream(&json, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    bands = (struct cpti_bands){0};
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpti_bands_meet(&bands, &record, path, CPT_WEIGHT_ONE), 0);
    CU_ASSERT_EQUAL(cpti_html_data(file, &side, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    cpti_bands_deinit(&bands);
    cpt_tree_free(tree);
    return json;
}

/* The number after the first @key. */
static unsigned long long number_of(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return strtoull(at + strlen(key), NULL, 10);
}

/* How often @text is in @json. */
static size_t count_of(const char *json, const char *text)
{
    size_t count = 0;

    for (const char *at = strstr(json, text); at != NULL; at = strstr(at + 1, text)) {
        count++;
    }
    return count;
}

/* The rows with all numbers are the largest; the others are brief, and have names. */
static void test_full_rows(void)
{
    /* the root and the entry are rows, too */
    for (size_t rows = CPTI_HTML_ROWS_MAX - 1; rows <= CPTI_HTML_ROWS_MAX + 1; rows++) {
        struct cpt_path *path = make_path(rows - 2, 1);
        char *json = report_of(path);
        const bool is_above = rows > CPTI_HTML_ROWS_MAX;

        CU_ASSERT_EQUAL(count_of(json, "\"parent\":"),
                        is_above ? CPTI_HTML_ROWS_MAX : rows);
        CU_ASSERT_EQUAL(number_of(json, "\"inclusive_ns\":"), cpt_path_sum_ns(path));
        /* the smallest is brief, below row 1, the entry */
        CU_ASSERT_EQUAL(strstr(json, "\"text\":\"A: 0\"") == NULL, is_above);
        CU_ASSERT_EQUAL(strstr(json, "\"names\":[[\"A: 0\",\"A\",\"work\"]],"
                                     "\"brief\":[[1,0,1000,1000]]") != NULL,
                        is_above);
        CU_ASSERT_EQUAL(number_of(json, "\"left_out\":"), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"rest\":[]"));
        free(json);
        cpt_path_free(path);
    }
}

/* Rows that are left out are counted and summed below their parent. */
static void test_rest(void)
{
    for (size_t rows = CPTI_HTML_STACKS_MAX - 1; rows <= CPTI_HTML_STACKS_MAX + 2;
         rows++) {
        struct cpt_path *path = make_path(rows - 2, 1);
        char *json = report_of(path);
        const char *rest = rows == CPTI_HTML_STACKS_MAX + 2   ? "\"rest\":[[1,2,2001]]"
                           : rows == CPTI_HTML_STACKS_MAX + 1 ? "\"rest\":[[1,1,1000]]"
                                                              : "\"rest\":[]";

        CU_ASSERT_EQUAL(number_of(json, "\"left_out\":"),
                        rows > CPTI_HTML_STACKS_MAX ? rows - CPTI_HTML_STACKS_MAX : 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(json, rest));
        free(json);
        cpt_path_free(path);
    }
}

/* Rows of equal size do not drop out together. */
static void test_equal_rows(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    char *json;

    for (size_t i = 0; i < CPTI_HTML_STACKS_MAX; i++) {
        char name[32];
        uint32_t frame = 0;

        (void)snprintf(name, sizeof name, "A: %zu", i);
        (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name),
                                 CPT_KIND_WORK, &frame);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 1000), CPT_OK);
    }
    json = report_of(path);
    CU_ASSERT_EQUAL(number_of(json, "\"left_out\":"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"rest\":[[0,1,1000]]"));
    free(json);
    cpt_path_free(path);
}

/* A tree of requests with @count stacks each; the first one, the smallest, takes
 * @smallest_ns and a little. */
static struct cpt_tree *make_tree(size_t count, uint64_t smallest_ns)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    for (uint64_t request = 0; request < 40; request++) {
        struct cpt_path *path = make_path(count, 1);
        uint32_t frame = 0;

        (void)cpt_path_frame_add(path, 0, cpt_bytes_of("A: needle"), CPT_KIND_WORK,
                                 &frame);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, smallest_ns + request % 7),
                        CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
        cpt_path_free(path);
    }
    return tree;
}

static void test_significant_row(void)
{
    struct cpt_tree *trees[2] = {make_tree(5000, 100), make_tree(5000, 150)};
    const struct cpti_html_side sides[2] = {{.name = "base", .tree = trees[0]},
                                            {.name = "new", .tree = trees[1]}};
    struct cpt_diff *diff = NULL;
    char *json = NULL;
    size_t bytes;
    FILE *file = open_memstream(&json, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpti_html_data(file, sides, 2, diff), 0);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"text\":\"A: needle\""));
    CU_ASSERT_EQUAL(count_of(json, "\"parent\":"), CPTI_HTML_ROWS_MAX + 1);
    CU_ASSERT_EQUAL(number_of(json, "\"left_out_significant\":"), 0);
    free(json);
    cpt_diff_free(diff);
    cpt_tree_free(trees[0]);
    cpt_tree_free(trees[1]);
}

/* A stack that the comparison left out, as a mix does, is part of the sum. */
static void test_not_compared(void)
{
    struct cpt_tree *trees[3] = {make_tree(2, 100), make_tree(2, 150),
                                 make_tree(3, 100)};
    const struct cpti_html_side sides[2] = {{.name = "base", .tree = trees[2]},
                                            {.name = "new", .tree = trees[1]}};
    struct cpt_diff *diff = NULL;
    char *json = NULL;
    size_t bytes;
    FILE *file = open_memstream(&json, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(cpt_diff_new(NULL, trees[0], trees[1], NULL, &diff, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpti_html_data(file, sides, 2, diff), 0);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    CU_ASSERT_EQUAL(count_of(json, "\"parent\":"), 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"rest\":[[1,1,1002,0]]"));
    free(json);
    cpt_diff_free(diff);
    for (size_t i = 0; i < 3; i++) {
        cpt_tree_free(trees[i]);
    }
}

/* The bins of the latencies follow each other, and have all requests. */
static void test_histogram(void)
{
    struct cpt_path *path = make_path(3, 1);
    char *json = report_of(path);
    const char *at = strstr(json, "\"histogram\":");
    const char *end = strstr(json, "\"bands\":");
    unsigned long long next = 0;
    unsigned long long requests = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    while ((at = strstr(at, "\"low_ns\":")) != NULL && at < end) {
        CU_ASSERT(next == 0 || number_of(at, "\"low_ns\":") == next);
        CU_ASSERT(number_of(at, "\"high_ns\":") >= number_of(at, "\"low_ns\":"));
        next = number_of(at, "\"high_ns\":") + 1;
        requests += number_of(at, "\"count\":");
        at++;
    }
    CU_ASSERT(next > cpt_path_sum_ns(path));
    CU_ASSERT_EQUAL(requests, 1);
    free(json);
    cpt_path_free(path);
}

static void test_segments(void)
{
    for (size_t count = CPTI_HTML_SEGMENTS_MAX - 1; count <= CPTI_HTML_SEGMENTS_MAX + 1;
         count++) {
        struct cpt_path *path = make_path(count, 0);
        char *json = report_of(path);

        CU_ASSERT_EQUAL(number_of(json, "\"rest_ns\":"),
                        count > CPTI_HTML_SEGMENTS_MAX ? 1000 + count - 1 : 0);
        CU_ASSERT_EQUAL(number_of(json, "\"latency_ns\":"), cpt_path_sum_ns(path));
        free(json);
        cpt_path_free(path);
    }
}

/* Frames have the same limit: the time of later frames is the rest. */
static void test_frames(void)
{
    struct cpt_path *path = make_path(CPTI_HTML_SEGMENTS_MAX, 1);
    char *json = report_of(path);

    CU_ASSERT_EQUAL(number_of(json, "\"rest_ns\":"), 1000 + CPTI_HTML_SEGMENTS_MAX - 1);
    free(json);
    cpt_path_free(path);
}

CU_TestInfo cpt_html_data_tests[] = {
    {"the largest rows have all numbers, the others a name", test_full_rows},
    {"rows that are left out are summed below their parent", test_rest},
    {"rows of equal size do not drop out together", test_equal_rows},
    {"a significant row is there, however small", test_significant_row},
    {"a stack that is not compared is in the sum", test_not_compared},
    {"the bins of the latencies have all requests", test_histogram},
    {"of too many segments the first stay, and the sum", test_segments},
    {"of too many frames the first stay, and the sum", test_frames},
    CU_TEST_INFO_NULL,
};
