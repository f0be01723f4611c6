/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_graph.c - any bytes as graph logs
 *
 * The bytes are a file; the payload of a sound block; and graphs, one behind the other,
 * each with its length in front, as the records of two files of one system. They are
 * joined, and of each request that comes out a dag is made. A graph that was accepted
 * can be written again and makes the same dag, a dag that could be ordered is no
 * longer than its path, and every record is counted once.
 */
#include "wire/cpt_graph_join.h"
#include "wire/log/log_format.h"

#include <stdlib.h>
#include <string.h>

enum { FILES = 2, RECORDS_MAX = 64 };

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

struct bytes {
    unsigned char *data;
    size_t bytes;
};

static void append(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0) {
        return;
    }
    bytes->data = realloc(bytes->data, bytes->bytes + count);
    must(bytes->data != NULL);
    memcpy(bytes->data + bytes->bytes, data, count);
    bytes->bytes += count;
}

/* A cpt_read_at_fn. */
static cpt_status read_at(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    const struct bytes *input = context;

    must(offset <= input->bytes && bytes <= input->bytes - offset);
    memcpy(buffer, input->data + offset, bytes);
    return CPT_OK;
}

/* The dag of @records, if they make one. */
static size_t measure(const struct cpt_dag_records *records)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    struct cpt_dag_draft *draft =
        cpt_dag_draft_new(NULL, records->runs[0].trace->arrival_ns);
    size_t node_count = 0;

    must(draft != NULL);
    if (cpt_dag_draft_trace(draft, records, &recorded) == CPT_OK) {
        node_count = recorded.shape.node_count;
        for (size_t i = 0; i < node_count; i++) {
            must(recorded.node_lines[i] < recorded.line_count);
            must(i == 0 || recorded.node_lines[i - 1] <= recorded.node_lines[i]);
        }
        for (size_t i = 0; i < recorded.line_count; i++) {
            must(recorded.lines[i].caller == CPT_DAG_NONE ||
                 recorded.lines[i].caller < recorded.line_count);
        }
        if (cpt_dag_new(NULL, &recorded.shape, &dag, NULL) == CPT_OK) {
            must(cpt_dag_latency_ns(dag) <= INT64_MAX);
        }
    }
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return node_count;
}

/* A graph that was read can be written, and is the same when it is read again. */
static void check_again(const struct cpt_record *record,
                        const struct cpt_kept_graph *graph)
{
    struct cpt_record again = *record;
    struct cpt_arena arena;
    struct cpt_kept_graph other;
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    struct cpt_bytes finished;
    struct bytes file = {NULL, 0};
    struct cpt_graph_input input = {read_at, &file, 0};
    struct cpt_graph_join *join = cpt_graph_join_new(NULL, NULL);
    struct cpt_graph_request request;
    cpt_status status = CPT_OK;

    must(block != NULL && join != NULL);
    again.path_bytes = (struct cpt_bytes){NULL, 0};
    again.is_local_root = again.is_background = 0;
    cpt_arena_init(&arena, NULL, 0, 0);
    status = cpt_graph_encode(&again, 0, &graph->records, NULL, &data, &bytes, NULL);
    /* a component's call may be one that no task waits for */
    must(status == CPT_OK || status == CPT_INVALID);
    if (status == CPT_OK) {
        must(cpt_log_block_add(block, data, bytes) == CPT_OK);
        finished = cpt_log_block_finish(block);
        append(&file, finished.data, finished.bytes);
        input.bytes = file.bytes;
        must(cpt_graph_join_add(join, &input, NULL) == CPT_OK);
        status = cpt_graph_join_next(join, &request, NULL);
        must(status == CPT_OK);
        must(request.records.task_count == graph->records.task_count);
        must(measure(&graph->records) == measure(&request.records));
    }
    (void)other;
    cpt_alloc_free(NULL, data);
    cpt_arena_deinit(&arena);
    cpt_graph_join_free(join);
    cpt_log_block_free(block);
    free(file.data);
}

static void check_record(const struct cpt_record *record)
{
    struct cpt_arena arena;
    struct cpt_kept_graph graph;
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    cpt_arena_init(&arena, NULL, 0, (size_t)256 << 20);
    status = cpt_graph_decode(record, CPT_GRAPH_ARRIVAL_NS, &arena, &graph, &error);
    must(status == CPT_OK || (error.status == status && error.sentence[0] != '\0'));
    if (status == CPT_OK) {
        (void)measure(&graph.records);
        check_again(record, &graph);
    }
    cpt_arena_deinit(&arena);
}

/* All of one file. */
static void read_file(struct bytes *file)
{
    struct cpt_graph_input input = {read_at, file, file->bytes};
    const struct cpt_graph_join_options options = {
        .struct_bytes = sizeof options, .request_bytes_max = (size_t)256 << 20};
    struct cpt_graph_join *join = cpt_graph_join_new(&options, NULL);
    struct cpt_graph_request request;
    cpt_status status = CPT_OK;

    must(join != NULL);
    must(cpt_graph_join_add(join, &input, NULL) == CPT_OK);
    while ((status = cpt_graph_join_next(join, &request, NULL)) != CPT_END) {
        must(status == CPT_OK || status == CPT_CORRUPT || status == CPT_LIMIT);
        if (status == CPT_OK) {
            (void)measure(&request.records);
        }
    }
    cpt_graph_join_free(join);
}

static void read_payload(const unsigned char *data, size_t bytes)
{
    const struct cpti_log_head head = {.magic = CPTI_GRAPH_MAGIC,
                                       .version = CPT_GRAPH_LOG_VERSION,
                                       .type = CPTI_LOG_BLOCK_RECORDS,
                                       .payload_bytes = (uint32_t)bytes,
                                       .record_count = 1,
                                       .payload_crc = cpt_crc32c(0, data, bytes)};
    unsigned char block[CPTI_LOG_HEAD_BYTES];
    struct bytes file = {NULL, 0};

    cpti_log_head_write(&head, block);
    append(&file, block, sizeof block);
    append(&file, data, bytes);
    read_file(&file);
    free(file.data);
}

/* --- A system --- */

/* A record of the graph of @bytes at @data to @file. */
static void add_record(struct bytes *file, const unsigned char *data, size_t bytes,
                       int is_entry)
{
    const struct cpt_record record = {.latency_ns = 1,
                                      .is_local_root = !is_entry,
                                      .path_bytes = {(const char *)data, bytes}};
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    unsigned char *encoded = NULL;
    struct cpt_bytes finished;
    size_t encoded_bytes = 0;

    must(block != NULL &&
         cpt_record_encode(&record, NULL, &encoded, &encoded_bytes, NULL) == CPT_OK);
    must(cpt_log_block_add(block, encoded, encoded_bytes) == CPT_OK);
    finished = cpt_log_block_finish(block);
    append(file, finished.data, finished.bytes);
    cpt_alloc_free(NULL, encoded);
    cpt_log_block_free(block);
    if (is_entry) {
        check_record(&record);
    }
}

static void check_counts(const struct cpt_graph_join_counts *counts, uint64_t left_out)
{
    must(counts->skipped_blocks == 0 && counts->torn_inputs == 0);
    must(counts->requests + left_out + counts->joined_records +
             counts->repeated_records + counts->copied_records +
             counts->foreign_records <=
         counts->records);
}

/* Graphs with two bytes of length in front, whose highest bits are file and entry. */
static void read_system(const unsigned char *data, size_t bytes)
{
    struct bytes files[FILES] = {{NULL, 0}, {NULL, 0}};
    struct cpt_graph_join *join = cpt_graph_join_new(NULL, NULL);
    struct cpt_graph_request request;
    cpt_status status = CPT_OK;
    uint64_t left_out = 0;
    size_t at = 0;

    must(join != NULL);
    for (unsigned i = 0; i < RECORDS_MAX && bytes - at >= 2; i++) {
        const unsigned head = data[at] | (unsigned)data[at + 1] << 8;
        const size_t left = bytes - at - 2;
        const size_t length = (head & 0x3fffU) < left ? head & 0x3fffU : left;

        add_record(&files[head >> 15], data + at + 2, length, (head & 0x4000U) != 0);
        at += 2 + length;
    }
    for (size_t i = 0; i < FILES; i++) {
        const struct cpt_graph_input input = {read_at, &files[i], files[i].bytes};

        must(cpt_graph_join_add(join, &input, NULL) == CPT_OK);
    }
    while ((status = cpt_graph_join_next(join, &request, NULL)) != CPT_END) {
        must(status == CPT_OK || status == CPT_CORRUPT || status == CPT_LIMIT);
        left_out += status != CPT_OK;
        if (status == CPT_OK) {
            (void)measure(&request.records);
        }
    }
    check_counts(cpt_graph_join_counts(join), left_out);
    cpt_graph_join_free(join);
    free(files[0].data);
    free(files[1].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes file = {NULL, 0};

    append(&file, data, size);
    read_file(&file);
    free(file.data);
    read_payload(data, size);
    read_system(data, size);
    return 0;
}
