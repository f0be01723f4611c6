/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_html_data.c - the limits of the HTML report; its sums stay right */
#include "cpt/cli/print/html_data.h"

#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <CUnit/CUnit.h>

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
    const struct cpti_html_side side = {"all", tree, &bands};
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

static void test_rows(void)
{
    /* the root and the entry are rows, too */
    for (size_t rows = CPTI_HTML_ROWS_MAX - 1; rows <= CPTI_HTML_ROWS_MAX + 1; rows++) {
        struct cpt_path *path = make_path(rows - 2, 1);
        char *json = report_of(path);

        CU_ASSERT_EQUAL(number_of(json, "\"left_out\":"),
                        rows > CPTI_HTML_ROWS_MAX ? rows - CPTI_HTML_ROWS_MAX : 0);
        CU_ASSERT_EQUAL(number_of(json, "\"inclusive_ns\":"), cpt_path_sum_ns(path));
        /* the smallest is dropped */
        CU_ASSERT_EQUAL(strstr(json, "\"text\":\"A: 0\"") == NULL,
                        rows > CPTI_HTML_ROWS_MAX);
        free(json);
        cpt_path_free(path);
    }
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
    {"of too many rows the largest stay, and the sum", test_rows},
    {"of too many segments the first stay, and the sum", test_segments},
    {"of too many frames the first stay, and the sum", test_frames},
    CU_TEST_INFO_NULL,
};
