/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept.c - requests whose whole graph is kept, and their way to the queue
 *
 *      ask with an id --> this id  \
 *      own policy     --> random id  > record: id, all tasks, waits and calls
 *      call           --> random id, in the ask, and in the record of the call
 *      retired        --> queue --> graph log
 *
 * While the request runs it notes what was waited for, in the records that the path is
 * made of; nothing is encoded before it is over. Then it is handed over as it is, and
 * keeps its memory until the thread of the log has written it, within the limits of the
 * queue. So a graph costs a request no more than its notes.
 *
 * A run of work that several requests share is not part of any of them: its call is
 * kept, with its time, and nothing of its inside.
 */
#include "framework/service/kept.h"

#include "framework/run/recording.h"
#include "framework/service/serving.h"
#include "framework/service/service.h"
#include "framework/service/spans.h"
#include "wire/cpt_graph_log.h"

/* Of the opened records of one request, while it is encoded. */
#define OPENED_BYTES_MAX ((size_t)256 << 20)
enum { OPENED_PART = 16 }; /* or this part of cpt_memory_max() */

static struct cpti_kept_item *item_of(const struct cpti_serving *serving)
{
    struct cpti_kept *kept = serving->request->inherited.kept;

    return kept != NULL ? CPTI_CONTAINER(kept, struct cpti_kept_item, kept) : NULL;
}

bool cpti_kept_is(const struct cpti_serving *serving)
{
    return serving->request->inherited.kept != NULL;
}

void cpti_kept_begin(struct cpti_serving *serving)
{
    struct cpt_service *service = serving->service;
    struct cpt_request *request = serving->request;
    struct cpti_kept_item *item = NULL;

    request->keeps_edges |= serving->decision.wants_drag;
    if (serving->decision.ask.graph_id == 0) {
        return;
    }
    item = cpt_arena_take(&request->notes, sizeof *item);
    if (item == NULL || (serving->service_name.data == NULL &&
                         !cpti_serving_copy_names(serving, &request->notes))) {
        cpti_log_queue_lose(service->options.graphs);
        return;
    }
    item->serving = serving;
    item->id = serving->decision.ask.graph_id;
    item->kept.seed = cpti_sampling_draw(&service->sampling);
    atomic_init(&item->kept.call_count, 0);
    request->inherited.kept = &item->kept;
    request->nest.retire = cpti_answer_retire;
    request->keeps_edges = true;
}

void cpti_kept_answered(struct cpti_serving *serving)
{
    const struct cpt_request *request = serving->request;
    struct cpti_kept_item *item = item_of(serving);

    item->item.record = serving->item.record;
    item->item.record.path = NULL;
    item->arrival_ns = request->trace.arrival_ns;
    item->dispatch_ns = request->trace.dispatch_ns;
    item->response_ns = request->trace.response_ns;
    item->answered_by = request->answered_by;
}

/* --- After the request --- */

static void release_item(struct cpti_log_item *item)
{
    cpti_spans_retire(((struct cpti_kept_item *)item)->serving);
}

static cpt_status encode(const struct cpti_log_item *kept,
                         const struct cpt_alloc *alloc, unsigned char **data,
                         size_t *bytes)
{
    const struct cpti_kept_item *item = (const struct cpti_kept_item *)kept;
    struct cpt_request *request = item->serving->request;
    struct cpt_dag_records records;
    struct cpt_arena arena;
    cpt_status status = CPT_OK;

    /* The record of what it did after its answer has changed them. */
    request->trace.arrival_ns = item->arrival_ns;
    request->trace.dispatch_ns = item->dispatch_ns;
    request->trace.response_ns = item->response_ns;
    request->answered_by = item->answered_by;
    cpt_arena_init(&arena, alloc, 0, cpt_memory_part(OPENED_BYTES_MAX, OPENED_PART));
    status = cpti_recording_dag_records(request, true, &arena, &records);
    if (status == CPT_OK) {
        status = cpt_graph_encode(&item->item.record, item->id, &records, alloc, data,
                                  bytes, NULL);
    }
    cpt_arena_deinit(&arena);
    return status;
}

void cpti_kept_retire(struct cpti_serving *serving)
{
    const struct cpt_request *request = serving->request;
    struct cpti_kept_item *item = item_of(serving);

    if (item == NULL || item->response_ns == 0) {
        cpti_spans_retire(serving);
        return;
    }
    item->item.encode = encode;
    item->item.release = release_item;
    item->item.memory_bytes = cpti_request_bytes(request);
    /* As for its record: a slow disk must not take memory from requests that come. */
    cpti_account_move(&serving->account, &serving->notes);
    cpti_log_queue_push(serving->service->options.graphs, &item->item);
}
