/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * manual_graph.c - graphs of requests whose code tells the path
 *
 *      ask with an id --> this id  \
 *      own policy     --> random id  > record: id, all parts, waits and calls
 *      call           --> random id, in its ask
 *      freed          --> path log --> graph log
 *
 * A graph has what the drags are computed of (manual_drags.c), and so the same nodes.
 * Nothing is encoded before the thread of its log does it; until then the request keeps
 * its memory, within the limits of the queue.
 *
 * A graph of which something could not be noted is not written, but counted: it would
 * have the latency, but not what decided it.
 */
#include "framework/share/manual.h"

#include "framework/run/span_ids.h"
#include "wire/cpt_graph_log.h"

#include <assert.h>

void cpti_manual_keep(struct cpt_manual *manual)
{
    struct cpti_manual_kept *kept = NULL;

    if (manual->decision.ask.graph_id == 0) {
        return;
    }
    kept = cpt_arena_take(&manual->arena, sizeof *kept);
    if (kept == NULL) {
        cpti_log_queue_lose(manual->service->options.graphs);
        return;
    }
    kept->manual = manual;
    kept->seed = cpti_sampling_draw(&manual->service->sampling);
    manual->kept = kept;
    manual->keeps_edges = true;
}

/* --- Calls --- */

/* The ask of @call, with an id for the callee's graph; NULL: there is no memory. Apart,
 * so that the calls of other requests do not pay for its room. */
static __attribute__((noinline)) const char *make_ask(struct cpt_manual *manual,
                                                      struct cpt_manual_call *call)
{
    struct cpti_manual_kept *kept = manual->kept;
    struct cpt_ask ask = cpti_sampling_ask(&manual->decision,
                                           manual->service->options.metadata_bytes_max);
    char text[CPTI_MANUAL_ASK_BYTES];
    const char *copy = NULL;
    size_t bytes = 0;

    ask.graph_id = cpti_span_id(kept->seed, kept->call_count);
    bytes = cpt_ask_format(&ask, text, sizeof text);
    assert(bytes < sizeof text);
    copy = cpt_arena_copy(&manual->arena, text, bytes + 1);
    if (copy != NULL) {
        kept->call_count++;
        call->call.id = ask.graph_id;
    }
    return copy;
}

struct cpt_bytes cpt_manual_call_ask(struct cpt_manual *manual,
                                     struct cpt_manual_call *call)
{
    if (manual == NULL || manual->kept == NULL || manual->has_ended || call == NULL) {
        return cpt_manual_ask(manual);
    }
    if (call->ask == NULL) {
        call->ask = make_ask(manual, call);
    }
    return call->ask != NULL ? cpt_bytes_of(call->ask) : cpt_manual_ask(manual);
}

/* --- After the request --- */

void cpti_manual_kept_answered(struct cpt_manual *manual)
{
    if (manual->kept != NULL) {
        manual->kept->item.record = manual->item.record;
        manual->kept->item.record.path = NULL;
    }
}

static cpt_status encode(const struct cpti_log_item *item,
                         const struct cpt_alloc *alloc, unsigned char **data,
                         size_t *bytes)
{
    struct cpt_manual *manual = ((const struct cpti_manual_kept *)item)->manual;
    struct cpt_dag_records records;
    struct cpt_arena arena;
    cpt_status status = CPT_LIMIT;

    manual->root.task.name = manual->trace.entry; /* its steps need one here */
    cpt_arena_init(&arena, alloc, 0, 0);
    if (cpti_manual_records(manual, CPT_GRAPH_ROWS_MAX, &arena, &records)) {
        status = cpt_graph_encode(&item->record, manual->decision.ask.graph_id,
                                  &records, alloc, data, bytes, NULL);
    }
    cpt_arena_deinit(&arena);
    return status;
}

bool cpti_manual_kept_push(struct cpt_manual *manual,
                           void (*release)(struct cpti_log_item *item))
{
    struct cpti_manual_kept *kept = manual->kept;

    if (kept == NULL) {
        return false;
    }
    if (manual->trace.dropped_event_count != 0) {
        cpti_log_queue_lose(manual->service->options.graphs);
        return false;
    }
    kept->item.encode = encode;
    kept->item.release = release;
    kept->item.memory_bytes = sizeof *manual + manual->arena.used_bytes;
    cpti_log_queue_push(manual->service->options.graphs, &kept->item);
    return true;
}
