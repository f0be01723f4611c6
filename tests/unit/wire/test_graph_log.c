/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_graph_log.c - graphs in a log
 *
 * What a service noted, written and read again, makes the same dag, node by node. No
 * change of a byte makes a reader do anything but refuse, or read other records.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/graph_system.h"
#include "tests/unit/wire/log_memory.h"
#include "wire/cpt_graph_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 5000, ID = 0x31 };

static struct graph_system made;

static const struct cpt_record request = {
    .start_unix_ns = 1700000000000000000, .latency_ns = 17, .probability = 0.5};

/* The first service of `made` as a record. */
static unsigned char *encode(const struct cpt_alloc *alloc, size_t *bytes)
{
    unsigned char *data = NULL;

    return cpt_graph_encode(&request, ID, &made.services[0].records, alloc, &data,
                            bytes, NULL) == CPT_OK
               ? data
               : NULL;
}

/* A graph log of the first service of `made`. */
static struct log_memory log_of(void)
{
    struct log_memory log = {0};
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    size_t bytes = 0;
    unsigned char *data = encode(NULL, &bytes);
    struct cpt_bytes finished;

    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    log_memory_append(&log, header, cpt_graph_log_header(header));
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    finished = cpt_log_block_finish(block);
    log_memory_append(&log, finished.data, finished.bytes);
    cpt_log_block_free(block);
    free(data);
    return log;
}

static struct cpt_log_reader *reader_of(struct log_memory *log)
{
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = log_memory_read, .context = log};

    return cpt_graph_log_reader_new(&options, NULL);
}

/* Whether the record that @reader has next makes the dag of the first service. */
static bool is_read(struct cpt_log_reader *reader)
{
    const struct cpt_dag_records *records = &made.services[0].records;
    struct cpt_arena arena;
    struct cpt_record record;
    struct cpt_kept_graph graph;
    struct cpt_dag_recorded wanted;
    struct cpt_dag_recorded found;
    struct cpt_dag_draft *wanted_draft =
        graph_draft(records, records->runs[0].trace->arrival_ns, &wanted);
    struct cpt_dag_draft *found_draft = NULL;
    uint64_t id = 0;
    bool is_same = false;

    cpt_arena_init(&arena, NULL, 0, 0);
    if (cpt_log_reader_next(reader, &record, NULL) == CPT_OK &&
        cpt_graph_id(&record, &id, NULL) == CPT_OK && id == ID &&
        record.latency_ns == request.latency_ns &&
        cpt_graph_decode(&record, CPT_GRAPH_ARRIVAL_NS, &arena, &graph, NULL) ==
            CPT_OK) {
        found_draft = graph_draft(&graph.records, CPT_GRAPH_ARRIVAL_NS, &found);
        is_same = found_draft != NULL && wanted_draft != NULL && graph.id == ID &&
                  graph_is_same(&wanted, &found);
    }
    cpt_dag_draft_free(wanted_draft);
    cpt_dag_draft_free(found_draft);
    cpt_arena_deinit(&arena);
    return is_same;
}

static void test_round_trip(void)
{
    const uint64_t seed = test_random_seed("graphs written and read");
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};
        struct log_memory log;
        struct cpt_log_reader *reader = NULL;

        graph_system_make(&made, &random);
        log = log_of();
        reader = reader_of(&log);
        if (!is_read(reader)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
        cpt_log_reader_free(reader);
        free(log.data);
    }
    CU_ASSERT_EQUAL(failed_count, 0);
}

/* Reads whatever can be read, and makes dags of it. */
static size_t read_all(struct log_memory *log)
{
    struct cpt_log_reader *reader = reader_of(log);
    struct cpt_record record;
    struct cpt_arena arena;
    cpt_status status = CPT_OK;
    size_t count = 0;

    cpt_arena_init(&arena, NULL, 0, 0);
    while ((status = cpt_log_reader_next(reader, &record, NULL)) != CPT_END) {
        struct cpt_dag_recorded recorded;
        struct cpt_kept_graph graph;
        uint64_t id = 0;

        if (status == CPT_OK && cpt_graph_id(&record, &id, NULL) == CPT_OK &&
            cpt_graph_decode(&record, CPT_GRAPH_ARRIVAL_NS, &arena, &graph, NULL) ==
                CPT_OK) {
            cpt_dag_draft_free(
                graph_draft(&graph.records, CPT_GRAPH_ARRIVAL_NS, &recorded));
            count++;
        }
    }
    cpt_arena_deinit(&arena);
    cpt_log_reader_free(reader);
    return count;
}

/* In the file each flip is damage; in the record, behind the checksum, it may be
 * another record, or none. */
static void test_any_byte(void)
{
    const uint64_t seed = test_random_seed("graphs, one byte changed");

    for (uint64_t i = 0; i < test_case_count(CASES) / 50 + 1; i++) {
        struct test_random random = {seed + i};
        struct log_memory log;
        size_t bytes = 0;
        unsigned char *data = NULL;

        graph_system_make(&made, &random);
        log = log_of();
        data = encode(NULL, &bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(data);
        CU_ASSERT_EQUAL(read_all(&log), 1);
        for (size_t at = 0; at < log.bytes; at++) {
            log.data[at] ^= (unsigned char)(1U << test_random_below(&random, 8));
            log.at = 0;
            (void)read_all(&log);
        }
        for (size_t at = 0; at < bytes; at++) {
            struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
            struct cpt_bytes finished;
            struct log_memory changed = {0};

            data[at] ^= (unsigned char)(1U << test_random_below(&random, 8));
            CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
            finished = cpt_log_block_finish(block);
            log_memory_append(&changed, finished.data, finished.bytes);
            (void)read_all(&changed);
            cpt_log_block_free(block);
            free(changed.data);
        }
        free(data);
        free(log.data);
    }
}

/* The two kinds of logs are told apart by their magic. */
static void test_other_logs(void)
{
    struct test_random random = {7};
    struct log_memory paths = log_memory_new(2, 3);
    struct log_memory graphs;
    struct cpt_log_reader *reader = NULL;
    struct cpt_record record;

    graph_system_make(&made, &random);
    graphs = log_of();
    CU_ASSERT_EQUAL(read_all(&paths), 0);
    reader = log_memory_reader(&graphs, NULL);
    CU_ASSERT_EQUAL(cpt_log_reader_next(reader, &record, NULL), CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_log_reader_next(reader, &record, NULL), CPT_END);
    cpt_log_reader_free(reader);
    free(paths.data);
    free(graphs.data);
}

static void test_far_times(void)
{
    struct test_random random = {11};
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;

    graph_system_make(&made, &random);
    made.services[0].made.tasks[0].end_ns = (uint64_t)1 << 62;
    CU_ASSERT_EQUAL(cpt_graph_encode(&request, ID, &made.services[0].records, NULL,
                                     &data, &bytes, &error),
                    CPT_INVALID);
    CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
}

static bool encode_with(const struct cpt_alloc *alloc)
{
    size_t bytes = 0;
    unsigned char *data = encode(alloc, &bytes);

    cpt_alloc_free(alloc, data);
    return data != NULL;
}

static void test_no_memory(void)
{
    struct test_random random = {13};

    graph_system_make(&made, &random);
    each_allocation_failure(encode_with);
}

CU_TestInfo cpt_graph_log_tests[] = {
    {"a record makes the same dag", test_round_trip},
    {"any byte may change", test_any_byte},
    {"path logs are no graph logs", test_other_logs},
    {"times that are too far", test_far_times},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
