/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_select.c - any bytes as an expression of --where
 *
 * A refused expression is refused with a column. An accepted one ends on every record,
 * gives the same result twice, and the opposite after a `not`. If it holds for a
 * record, the index must allow that it holds for a block with that record.
 */
#include "tool/select/expression.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"
#include "wire/cpt_metadata.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* The encoded path of a request whose A1 called B1. */
static struct cpt_bytes make_path(uint64_t *latency_ns)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;
    uint32_t a1;
    uint32_t b1;

    must(path != NULL);
    must(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A"), CPT_KIND_WORK,
                            &a1) == CPT_OK);
    must(cpt_path_append_ns(path, a1, 1000) == CPT_OK);
    must(cpt_path_frame_add(path, a1, cpt_bytes_of("B"), CPT_KIND_LOCK, &b1) == CPT_OK);
    must(cpt_path_append_ns(path, b1, 2000) == CPT_OK);
    *latency_ns = cpt_path_sum_ns(path);
    must(cpt_metadata_encode(path, &options, &data, &bytes, NULL) == CPT_OK);
    cpt_path_free(path);
    return (struct cpt_bytes){(const char *)data, bytes};
}

/* Records with and without the things that an expression can test. */
static struct cpt_record record_at(size_t index, const struct cpt_attribute *attributes,
                                   struct cpt_bytes path, uint64_t latency_ns)
{
    struct cpt_record record = {.latency_ns = latency_ns,
                                .path_bytes = path,
                                .status = cpt_bytes_of("503"),
                                .is_failed = (index & 1) != 0,
                                .has_trace_id = (index & 2) != 0,
                                .attributes = attributes,
                                .attribute_count = index & 4};

    if (index == 7) {
        record.path_bytes.bytes = 0;
    }
    return record;
}

/* "not (TEXT)"; NULL unless that is longer and an expression. */
static char *negated(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 8);

    must(text != NULL);
    memcpy(text, "not (", 5);
    if (size != 0) {
        memcpy(text + 5, data, size);
    }
    memcpy(text + 5 + size, ")", 2);
    return text;
}

/* Checks that the index of a block with @record alone allows what holds for it. */
static void check_index(const struct cpti_expression *is,
                        const struct cpt_record *record, int holds)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_bytes whole;

    must(index != NULL && block != NULL);
    must(cpt_record_encode(record, NULL, &data, &bytes, NULL) == CPT_OK);
    must(cpt_log_block_add(block, data, bytes) == CPT_OK);
    whole = cpt_log_block_finish(block);
    must(cpt_log_index_add(index, 0, whole.data, whole.bytes) == CPT_OK);
    must(cpt_log_index_count(index) == 1);
    must(holds == 0 ||
         cpti_expression_may_hold(is, index, cpt_log_index_block(index, 0)));
    cpt_alloc_free(NULL, data);
    cpt_log_block_free(block);
    cpt_log_index_free(index);
}

static void run_all(const struct cpti_expression *is,
                    const struct cpti_expression * not )
{
    static const struct cpt_attribute attributes[] = {
        {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"B", 1}}},
        {{"x", 1}, CPT_ATTRIBUTE_INTEGER, {.integer = -3}},
        {{"y", 1}, CPT_ATTRIBUTE_FLOAT, {.real = 2.5}},
        {{"z", 1}, CPT_ATTRIBUTE_BOOL, {.is_true = 1}},
    };
    struct cpti_scratch scratch = {0};
    uint64_t latency_ns;
    const struct cpt_bytes path = make_path(&latency_ns);

    for (size_t i = 0; i < 8; i++) {
        const struct cpt_record record = record_at(i, attributes, path, latency_ns);
        const int holds = cpti_expression_holds(is, &record, &scratch);

        must(holds >= -1 && holds <= 1);
        must(cpti_expression_holds(is, &record, &scratch) == holds);
        check_index(is, &record, holds);
        if (not != NULL) {
            must(cpti_expression_holds(not, &record, &scratch) ==
                 (holds < 0 ? -1 : !holds));
        }
    }
    cpti_scratch_deinit(&scratch);
    free((void *)(uintptr_t)path.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cpti_expression is;
    static struct cpti_expression contrary;
    const struct cpt_bytes text = {(const char *)data, size};
    struct cpti_expression_error error = {.at = SIZE_MAX};
    char *other = negated(data, size);
    int has_contrary;

    is = (struct cpti_expression){0};
    contrary = (struct cpti_expression){0};
    if (!cpti_expression_add(&is, text, 1000000000, &error)) {
        must(error.at <= size && error.sentence[0] != '\0');
        must(is.test_count == 0 && is.node_count == 0 && is.term_count == 0);
        free(other);
        return 0;
    }
    has_contrary =
        !cpti_expression_is_simple(text) &&
        cpti_expression_add(&contrary, cpt_bytes_of(other), 1000000000, &error) != 0;
    run_all(&is, has_contrary ? &contrary : NULL);
    cpti_expression_link(&is, 1);
    run_all(&is, NULL);
    free(other);
    return 0;
}
