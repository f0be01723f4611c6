/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_store.c - see graph_store.h */
#include "tests/unit/framework/graph_store.h"

#include "tests/unit/framework/service_pair.h"

#include <string.h>

static cpt_status keep(void *context, const void *block, size_t bytes)
{
    struct graph_store *store = context;

    CU_ASSERT_FATAL(bytes <= sizeof store->data - store->bytes);
    if (store->fails) {
        return CPT_IO;
    }
    memcpy(store->data + store->bytes, block, bytes);
    store->bytes += bytes;
    return CPT_OK;
}

static void say_nothing(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)notice;
}

void graph_store_open(struct graph_store *store, size_t queue_bytes_max)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = keep,
                                                  .context = store,
                                                  .memory_bytes_max = queue_bytes_max,
                                                  .notify = say_nothing,
                                                  .content = CPT_LOG_GRAPHS};

    store->bytes = 0;
    store->fails = false;
    store->queue = cpt_log_queue_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store->queue);
    cpt_log_queue_flush(store->queue);
    store->header_bytes = store->bytes;
}

static cpt_status read_on(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct graph_store *store = context;
    const size_t left = store->bytes - store->read;

    *bytes = capacity < left ? capacity : left;
    memcpy(buffer, store->data + store->read, *bytes);
    store->read += *bytes;
    return CPT_OK;
}

struct cpt_log_reader *graph_store_read(struct graph_store *store)
{
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_on, .context = store};
    struct cpt_log_reader *reader = NULL;

    cpt_log_queue_flush(pair.log); /* graphs follow the record */
    cpt_log_queue_flush(store->queue);
    store->read = 0;
    reader = cpt_graph_log_reader_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    return reader;
}

void graph_store_clear(struct graph_store *store)
{
    store->bytes = store->header_bytes;
}

cpt_status graph_store_read_at(void *context, uint64_t offset, void *buffer,
                               size_t bytes)
{
    const struct graph_store *store = context;

    if (offset > store->bytes || bytes > store->bytes - offset) {
        return CPT_IO;
    }
    memcpy(buffer, store->data + offset, bytes);
    return CPT_OK;
}

uint64_t graph_latency_ns(const struct cpt_dag_records *records)
{
    struct cpt_dag_draft *draft =
        cpt_dag_draft_new(NULL, records->runs[0].trace->arrival_ns);
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    uint64_t latency_ns = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_draft_trace(draft, records, &recorded), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &recorded.shape, &dag, NULL), CPT_OK);
    latency_ns = cpt_dag_latency_ns(dag);
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return latency_ns;
}
