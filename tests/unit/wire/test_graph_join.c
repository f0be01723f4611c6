/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_graph_join.c - graph logs of several services become requests
 *
 * Random systems, some of whose services have no log, make the dag that the core makes
 * of all that they noted. What contradicts itself is left out and counted.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/graph_system.h"
#include "tests/unit/wire/log_memory.h"
#include "wire/cpt_graph_join.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 3000, FILES = 3 };

static struct graph_system made;

struct files {
    struct log_memory logs[FILES];
};

/* The last record that was refused. */
static struct {
    const void *input;
    uint64_t offset;
    unsigned count;
} refused;

static void note_refused(void *context, void *input, const struct cpt_error *error)
{
    (void)context;
    refused.input = input;
    refused.offset = error->offset;
    refused.count += error->sentence[0] != '\0';
}

/* Appends a block with the record of service @number, with @id, to @log. */
static void write_record(struct log_memory *log, size_t number, uint64_t id,
                         bool is_entry, bool is_damaged)
{
    const struct cpt_record record = {.latency_ns = 1, .is_local_root = !is_entry};
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    struct cpt_bytes finished;
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_graph_encode(&record, id, &made.services[number].records,
                                           NULL, &data, &bytes, NULL),
                          CPT_OK);
    data[bytes - 1] |= is_damaged ? 0x80 : 0; /* a column ends within a number */
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    finished = cpt_log_block_finish(block);
    log_memory_append(log, finished.data, finished.bytes);
    cpt_log_block_free(block);
    free(data);
}

static void write_as(struct log_memory *log, size_t number, uint64_t id, bool is_entry)
{
    write_record(log, number, id, is_entry, false);
}

static void write_service(struct log_memory *log, size_t number)
{
    write_as(log, number, made.services[number].id, number == 0);
}

static void free_files(struct files *files)
{
    for (size_t i = 0; i < FILES; i++) {
        free(files->logs[i].data);
        files->logs[i] = (struct log_memory){NULL, 0, 0, 0};
    }
}

static struct cpt_graph_join *join_of(struct files *files,
                                      const struct cpt_alloc *alloc)
{
    const struct cpt_graph_join_options options = {
        .struct_bytes = sizeof options, .alloc = alloc, .refused = note_refused};
    struct cpt_graph_join *join = cpt_graph_join_new(&options, NULL);

    for (size_t i = 0; i < FILES && join != NULL; i++) {
        const struct cpt_graph_input input = {log_memory_read_at, &files->logs[i],
                                              files->logs[i].bytes};

        if (cpt_graph_join_add(join, &input, NULL) != CPT_OK) {
            cpt_graph_join_free(join);
            return NULL;
        }
    }
    return join;
}

/* Whether the join gives the one request that the services in @present make. */
static bool is_joined(struct files *files, unsigned present)
{
    struct cpt_graph_join *join = join_of(files, NULL);
    struct cpt_graph_request request;
    struct cpt_dag_recorded wanted;
    struct cpt_dag_recorded found;
    struct cpt_dag_draft *wanted_draft = NULL;
    struct cpt_dag_draft *found_draft = NULL;
    bool is_same = false;

    if (cpt_graph_join_next(join, &request, NULL) == CPT_OK &&
        request.id == made.services[0].id) {
        graph_system_move(&made);
        wanted_draft = graph_system_draft(&made, present, &wanted);
        found_draft = graph_draft(&request.records, CPT_GRAPH_ARRIVAL_NS, &found);
        is_same = wanted_draft != NULL && found_draft != NULL &&
                  wanted.constant_count == found.constant_count &&
                  (graph_system_has_ties(&made) ? graph_is_alike(&wanted, &found)
                                                : graph_is_same(&wanted, &found)) &&
                  cpt_graph_join_next(join, &request, NULL) == CPT_END;
    }
    cpt_dag_draft_free(wanted_draft);
    cpt_dag_draft_free(found_draft);
    cpt_graph_join_free(join);
    return is_same;
}

static void test_systems(void)
{
    const uint64_t seed = test_random_seed("systems of services, joined");
    unsigned failed_count = 0;
    size_t joined_count = 0;
    size_t untied_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};
        struct files files = {0};
        const unsigned present = 1U | (unsigned)test_random_below(&random, 64);

        graph_system_make(&made, &random);
        for (size_t k = made.count; k-- != 0;) {
            if ((present >> k & 1U) != 0) {
                write_service(&files.logs[test_random_below(&random, FILES)], k);
            }
        }
        joined_count += made.count > 1;
        if (is_joined(&files, present)) {
            untied_count += !graph_system_has_ties(&made);
        } else {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
        free_files(&files);
    }
    CU_ASSERT_EQUAL(failed_count, 0);
    CU_ASSERT_TRUE(joined_count > test_case_count(CASES) / 4);
    CU_ASSERT_TRUE(untied_count > test_case_count(CASES) / 4);
}

/* A system with a callee, with B's call to the first service if it has one. */
static void make_two(struct test_random *random)
{
    do {
        graph_system_make(&made, random);
    } while (made.count < 2 || made.services[1].made.call_count == 0 ||
             made.services[1].made.calls[0].id != 0);
    made.count = 2;
    for (size_t i = 0; i < made.services[0].made.call_count; i++) {
        struct cpt_trace_call *call = &made.services[0].made.calls[i];

        call->id = call == made.services[1].caller ? call->id : 0;
    }
    for (size_t i = 0; i < made.services[1].made.call_count; i++) {
        made.services[1].made.calls[i].id = 0;
    }
}

/* All requests of the files, and what is counted. */
static struct cpt_graph_join_counts counts_of(struct files *files)
{
    struct cpt_graph_join *join = join_of(files, NULL);
    struct cpt_graph_join_counts counts;
    struct cpt_graph_request request;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(join);
    while ((status = cpt_graph_join_next(join, &request, NULL)) != CPT_END) {
        CU_ASSERT_TRUE(status == CPT_OK || status == CPT_CORRUPT);
    }
    counts = *cpt_graph_join_counts(join);
    cpt_graph_join_free(join);
    free_files(files);
    return counts;
}

static void test_left_out(void)
{
    struct test_random random = {17};
    struct files files = {0};
    struct cpt_graph_join_counts counts;

    make_two(&random);
    write_service(&files.logs[0], 0);
    write_service(&files.logs[1], 1);
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.requests, 1);
    CU_ASSERT_EQUAL(counts.joined_records, 1);
    CU_ASSERT_EQUAL(counts.missing_callees, 0);

    write_service(&files.logs[0], 0); /* B has no log */
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.requests, 1);
    CU_ASSERT_EQUAL(counts.missing_callees, 1);

    write_service(&files.logs[2], 1); /* A has none */
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.requests, 0);
    CU_ASSERT_EQUAL(counts.foreign_records, 1);

    write_service(&files.logs[0], 0); /* B's and another one have its id */
    write_service(&files.logs[1], 1);
    write_as(&files.logs[2], 0, made.services[1].id, false);
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.requests, 1);
    CU_ASSERT_EQUAL(counts.repeated_records, 2);
    CU_ASSERT_EQUAL(counts.missing_callees, 1);
    CU_ASSERT_EQUAL(counts.foreign_records, 0);

    write_service(&files.logs[0], 0); /* A's, too, and a copy of it */
    write_as(&files.logs[1], 1, made.services[0].id, true);
    write_service(&files.logs[2], 0);
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.requests, 0);
    CU_ASSERT_EQUAL(counts.repeated_records, 3);
    CU_ASSERT_EQUAL(counts.copied_records, 0);
}

/* A file and its copy, and a block that is there twice. */
static void test_copies(void)
{
    struct test_random random = {31};
    struct files files = {0};
    struct cpt_graph_join_counts counts;

    make_two(&random);
    for (size_t i = 0; i < FILES; i++) {
        write_service(&files.logs[i], 1);
        write_service(&files.logs[i], 0);
    }
    write_service(&files.logs[1], 1);
    counts = counts_of(&files);
    CU_ASSERT_EQUAL(counts.records, 7);
    CU_ASSERT_EQUAL(counts.requests, 1);
    CU_ASSERT_EQUAL(counts.joined_records, 1);
    CU_ASSERT_EQUAL(counts.missing_callees, 0);
    CU_ASSERT_EQUAL(counts.copied_records, 5);
    CU_ASSERT_EQUAL(counts.repeated_records, 0);
    CU_ASSERT_EQUAL(counts.foreign_records, 0);
}

/* Who reads the logs learns which one it is, and where. */
static void test_refused(void)
{
    struct test_random random = {29};

    for (size_t damaged = 0; damaged < 2; damaged++) {
        struct files files = {0};
        struct cpt_graph_join_counts counts;
        uint64_t offset = 0;

        make_two(&random);
        write_as(&files.logs[1], 1, 0, false); /* nothing calls it */
        offset = files.logs[1].bytes;
        write_record(&files.logs[1], damaged, made.services[damaged].id, damaged == 0,
                     true);
        write_service(&files.logs[0], 1 - damaged);
        refused.count = 0;
        counts = counts_of(&files);
        CU_ASSERT_EQUAL(counts.requests, damaged);
        CU_ASSERT_EQUAL(counts.refused_records, 1);
        CU_ASSERT_EQUAL(refused.count, 1);
        CU_ASSERT_PTR_EQUAL(refused.input, &files.logs[1]);
        CU_ASSERT_EQUAL(refused.offset, offset);
    }
}

/* A calls B, and B's call leads back: to A, to itself, or to what A called already. */
static void test_circles(void)
{
    struct test_random random = {19};

    for (unsigned i = 0; i < 2; i++) {
        struct files files = {0};
        struct cpt_graph_join_counts counts;

        make_two(&random);
        made.services[1].made.calls[0].id = made.services[i].id;
        /* only calls that something waits for are written */
        made.services[1].arrivals[0] =
            (struct cpt_dag_arrival){.waiter = &made.services[1].made.tasks[0],
                                     .call = &made.services[1].made.calls[0],
                                     .arrive_ns = 1};
        made.services[1].records.arrival_count = 1;
        write_service(&files.logs[0], 0);
        write_service(&files.logs[0], 1);
        counts = counts_of(&files);
        CU_ASSERT_EQUAL(counts.requests, 1);
        CU_ASSERT_EQUAL(counts.circular_calls, 1);
    }
}

/* Bytes that change anywhere in any file. */
static void test_any_byte(void)
{
    const uint64_t seed = test_random_seed("systems, one byte changed");

    for (uint64_t i = 0; i < test_case_count(CASES) / 10 + 1; i++) {
        struct test_random random = {seed + i};
        struct files files = {0};
        struct log_memory *log = NULL;

        graph_system_make(&made, &random);
        for (size_t k = 0; k < made.count; k++) {
            write_service(&files.logs[test_random_below(&random, FILES)], k);
        }
        do {
            log = &files.logs[test_random_below(&random, FILES)];
        } while (log->bytes == 0);
        if (test_random_chance(&random, 30)) {
            log->bytes = test_random_below(&random, log->bytes);
        } else {
            log->data[test_random_below(&random, log->bytes)] ^=
                (unsigned char)(1U << test_random_below(&random, 8));
        }
        CU_ASSERT_TRUE(counts_of(&files).requests <= 1);
    }
}

static struct files kept;

static bool join_with(const struct cpt_alloc *alloc)
{
    struct cpt_graph_join *join = join_of(&kept, alloc);
    struct cpt_graph_request request;
    const bool is_joined = join != NULL &&
                           cpt_graph_join_next(join, &request, NULL) == CPT_OK &&
                           request.service_count == 2;

    cpt_graph_join_free(join);
    return is_joined;
}

static void test_no_memory(void)
{
    struct test_random random = {23};

    make_two(&random);
    write_service(&kept.logs[0], 0);
    write_service(&kept.logs[1], 1);
    write_service(&kept.logs[2], 1); /* a copy */
    each_allocation_failure(join_with);
    free_files(&kept);
}

CU_TestInfo cpt_graph_join_tests[] = {
    {"random systems", test_systems},
    {"what is left out is counted", test_left_out},
    {"of copies of a record, one counts", test_copies},
    {"what is refused has a place", test_refused},
    {"circles end", test_circles},
    {"any byte may change", test_any_byte},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
