/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_queue.c - the queue of events and its thread; starting and stopping; counters
 *
 * The end, in the order in which it must happen, as gRPC aborts otherwise:
 *
 *      stop   no new requests; the drain; requests and calls are cancelled; the servers
 *             report that they have ended
 *      free   the gate is closed, and all threads have left it; the queue is shut down,
 *             its thread takes out what is left and ends; servers, channels are freed
 *      last   the queue and gRPC itself, with the last reference: an exchange whose
 *             service has not replied yet has one
 *
 * The lock is never held while gRPC is called: gRPC takes locks of its own.
 */
#include "framework/transport/grpc/grpc_queue.h"

#include "cpt/base/now.h"

#include <grpc/support/time.h>

#include <signal.h>

enum {
    REQUESTS_DEFAULT = 10000,
    CALLS_DEFAULT = 10000,
    STREAMS_DEFAULT = 1000,
    BODY_BYTES_DEFAULT = 4 << 20,
    BODY_BYTES_MAX = 1 << 30,
    METADATA_BYTES_DEFAULT = 64 << 10,
    METADATA_BYTES_MAX = 16 << 20,
    INPUT_BYTES_DEFAULT = 128 << 20,
    STREAM_BYTES_DEFAULT = 16 << 20,
    STREAMS_BYTES_DEFAULT = 256 << 20,
    BODY_PART = 16,  /* of cpt_memory_max(), for what one request or stream has … */
    QUEUES_PART = 8, /* … and all */
    COUNT_MAX = 1 << 30
};

#define DRAIN_DEFAULT_NS (5 * CPTI_GRPC_NS_PER_S)
#define BODY_DEFAULT_NS  (30 * CPTI_GRPC_NS_PER_S)

/* --- The gate --- */

bool cpti_grpc_enter(struct cpt_grpc *grpc)
{
    bool is_open = false;

    cpti_lock_take(&grpc->lock);
    is_open = !grpc->is_closed;
    grpc->entered_count += is_open;
    cpti_lock_release(&grpc->lock);
    return is_open;
}

void cpti_grpc_leave(struct cpt_grpc *grpc)
{
    cpti_lock_take(&grpc->lock);
    grpc->entered_count--;
    if (grpc->is_closed) {
        (void)pthread_cond_broadcast(&grpc->has_changed);
    }
    cpti_lock_release(&grpc->lock);
}

bool cpti_grpc_start(struct cpt_grpc *grpc, grpc_call *call, const grpc_op *ops,
                     size_t count, struct cpti_grpc_tag *tag)
{
    bool is_started = false;

    if (!cpti_grpc_enter(grpc)) {
        return false;
    }
    is_started = grpc_call_start_batch(call, ops, count, tag, NULL) == GRPC_CALL_OK;
    cpti_grpc_leave(grpc);
    return is_started;
}

/* --- The thread --- */

/* Until when to wait for an event: a second, if something is to be looked at then. */
static gpr_timespec next_look(const struct cpt_grpc *grpc)
{
    if (grpc->reading.next == &grpc->reading && !grpc->asks_again) {
        return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    }
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_seconds(1, GPR_TIMESPAN));
}

static void look(struct cpt_grpc *grpc)
{
    const uint64_t now_ns = cpti_now_ns();

    if (now_ns - grpc->looked_ns >= CPTI_GRPC_NS_PER_S) {
        grpc->looked_ns = now_ns;
        cpti_grpc_exchanges_sweep(grpc, now_ns);
        if (grpc->asks_again) {
            grpc->asks_again = false;
            cpti_grpc_servers_ask(grpc);
        }
    }
}

static void *run_queue(void *context)
{
    struct cpt_grpc *grpc = context;

    for (;;) {
        const grpc_event event =
            grpc_completion_queue_next(grpc->queue, next_look(grpc), NULL);

        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return NULL;
        }
        if (event.type == GRPC_OP_COMPLETE) {
            struct cpti_grpc_tag *tag = event.tag;

            tag->run(tag, event.success != 0);
        }
        if (grpc->reading.next != &grpc->reading || grpc->asks_again) {
            look(grpc);
        }
    }
}

/* Signals are for the threads of the program. */
static bool thread_begin(struct cpt_grpc *grpc)
{
    sigset_t all;
    sigset_t before;
    bool is_begun = false;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    is_begun = pthread_create(&grpc->thread, NULL, run_queue, grpc) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_begun;
}

/* --- New and free --- */

static void set_default(size_t *value, size_t by_default, size_t most)
{
    *value = *value == 0 ? by_default : *value < most ? *value : most;
}

static cpt_status read_options(struct cpt_grpc_options *own,
                               const struct cpt_grpc_options *given,
                               struct cpt_error *error)
{
    const cpt_status status = cpt_options_read(own, sizeof *own, given, error);

    if (status != CPT_OK) {
        return status;
    }
    own->alloc = own->alloc != NULL ? own->alloc : cpt_alloc_default();
    own->drain_ns = own->drain_ns != 0 ? own->drain_ns : DRAIN_DEFAULT_NS;
    own->body_ns = own->body_ns != 0 ? own->body_ns : BODY_DEFAULT_NS;
    set_default(&own->body_bytes_max, cpt_memory_part(BODY_BYTES_DEFAULT, BODY_PART),
                BODY_BYTES_MAX);
    set_default(&own->metadata_bytes_max, METADATA_BYTES_DEFAULT, METADATA_BYTES_MAX);
    set_default(&own->requests_open_max, REQUESTS_DEFAULT, COUNT_MAX);
    set_default(&own->calls_open_max, CALLS_DEFAULT, COUNT_MAX);
    set_default(&own->streams_max, STREAMS_DEFAULT, COUNT_MAX);
    set_default(&own->input_bytes_max,
                cpt_memory_part(INPUT_BYTES_DEFAULT, QUEUES_PART), SIZE_MAX / 2);
    set_default(&own->stream_bytes_max,
                cpt_memory_part(STREAM_BYTES_DEFAULT, BODY_PART), SIZE_MAX / 2);
    set_default(&own->streams_bytes_max,
                cpt_memory_part(STREAMS_BYTES_DEFAULT, QUEUES_PART), SIZE_MAX / 2);
    return CPT_OK;
}

struct cpt_grpc *cpt_grpc_new(const struct cpt_grpc_options *options,
                              struct cpt_error *error)
{
    struct cpt_grpc_options own;
    struct cpt_grpc *grpc = NULL;
    struct cpti_grpc_pem pem = {NULL, NULL, NULL, false};

    if (read_options(&own, options, error) != CPT_OK) {
        return NULL;
    }
    if (own.calls_tls != NULL &&
        cpti_grpc_pem_read(&pem, own.calls_tls, false, own.alloc, error) != CPT_OK) {
        return NULL;
    }
    grpc = cpt_alloc_zeroed(own.alloc, sizeof *grpc);
    if (grpc == NULL) {
        cpti_grpc_pem_clear(&pem, own.alloc);
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for the transport");
        return NULL;
    }
    grpc_init();
    grpc->secure = own.calls_tls != NULL ? cpti_grpc_pem_channel(&pem) : NULL;
    cpti_grpc_pem_clear(&pem, own.alloc);
    own.calls_tls = NULL; /* the caller's, and not used any more */
    grpc->options = own;
    grpc->alloc = own.alloc;
    grpc->transport = (struct cpt_transport){.name = "grpc",
                                             .send = cpti_grpc_client_send,
                                             .cancel = cpti_grpc_client_cancel};
    grpc->queue = grpc_completion_queue_create_for_next(NULL);
    grpc->quota = grpc_resource_quota_create("cpt");
    grpc_resource_quota_resize(grpc->quota, own.input_bytes_max);
    cpti_grpc_link_init(&grpc->reading);
    cpti_grpc_link_init(&grpc->calls);
    cpti_grpc_link_init(&grpc->cut);
    cpti_lock_init(&grpc->lock, CPTI_RANK_GRPC);
    cpti_cond_init(&grpc->has_changed);
    grpc->reference_count = 1;
    if (!thread_begin(grpc)) {
        (void)cpt_error_set(error, CPT_IO, 0, "no thread for the events of gRPC");
        grpc_completion_queue_shutdown(grpc->queue);
        cpti_grpc_release(grpc);
        return NULL;
    }
    return grpc;
}

void cpti_grpc_reference(struct cpt_grpc *grpc)
{
    cpti_lock_take(&grpc->lock);
    grpc->reference_count++;
    cpti_lock_release(&grpc->lock);
}

void cpti_grpc_release(struct cpt_grpc *grpc)
{
    bool is_last = false;

    cpti_lock_take(&grpc->lock);
    is_last = --grpc->reference_count == 0;
    cpti_lock_release(&grpc->lock);
    if (!is_last) {
        return;
    }
    grpc_completion_queue_destroy(grpc->queue);
    grpc_resource_quota_unref(grpc->quota);
    if (grpc->secure != NULL) {
        grpc_channel_credentials_release(grpc->secure);
    }
    grpc_shutdown();
    cpti_grpc_certificates_free(grpc);
    (void)pthread_cond_destroy(&grpc->has_changed);
    cpti_lock_deinit(&grpc->lock);
    cpt_alloc_free(grpc->alloc, grpc);
}

void cpt_grpc_free(struct cpt_grpc *grpc)
{
    if (grpc == NULL) {
        return;
    }
    if (!grpc->is_stopped) {
        grpc->options.drain_ns = 0;
        grpc->options.unready_ns = 0;
        (void)cpt_grpc_stop(grpc);
    }
    cpti_lock_take(&grpc->lock);
    grpc->is_closed = true;
    while (grpc->entered_count > 0) {
        cpti_cond_wait(&grpc->has_changed, &grpc->lock, UINT64_MAX);
    }
    cpti_lock_release(&grpc->lock);
    grpc_completion_queue_shutdown(grpc->queue);
    (void)pthread_join(grpc->thread, NULL);
    cpti_grpc_servers_free(grpc);
    cpti_grpc_client_free(grpc);
    cpti_grpc_release(grpc);
}

struct cpt_transport *cpt_grpc_transport(struct cpt_grpc *grpc)
{
    return &grpc->transport;
}

/* --- Stop --- */

void cpt_grpc_set_ready(struct cpt_grpc *grpc, int is_ready)
{
    atomic_store_explicit(&grpc->is_unready, !is_ready, memory_order_relaxed);
}

static void wait_unready(struct cpt_grpc *grpc)
{
    const uint64_t until_ns = cpti_now_ns() + grpc->options.unready_ns;

    cpti_lock_take(&grpc->lock);
    while (grpc->options.unready_ns != 0 && cpti_now_ns() < until_ns) {
        cpti_cond_wait(&grpc->has_changed, &grpc->lock, until_ns);
    }
    cpti_lock_release(&grpc->lock);
}

static void wait_drained(struct cpt_grpc *grpc)
{
    const uint64_t until_ns = cpti_now_ns() + grpc->options.drain_ns;

    cpti_lock_take(&grpc->lock);
    while ((grpc->requests_open > 0 || grpc->calls_open > 0) &&
           cpti_now_ns() < until_ns) {
        cpti_cond_wait(&grpc->has_changed, &grpc->lock, until_ns);
    }
    cpti_lock_release(&grpc->lock);
}

cpt_status cpt_grpc_stop(struct cpt_grpc *grpc)
{
    bool is_left = false;

    atomic_store_explicit(&grpc->is_unready, true, memory_order_relaxed);
    wait_unready(grpc);
    cpti_lock_take(&grpc->lock);
    grpc->is_stopped = true;
    cpti_lock_release(&grpc->lock);
    cpti_grpc_servers_refuse(grpc);
    wait_drained(grpc);
    cpti_grpc_client_cut(grpc);
    cpti_grpc_servers_cut(grpc);
    cpti_lock_take(&grpc->lock);
    while (grpc->servers_ending > 0 || grpc->calls_open > 0) {
        cpti_cond_wait(&grpc->has_changed, &grpc->lock, UINT64_MAX);
    }
    is_left = grpc->requests_open > 0;
    cpti_lock_release(&grpc->lock);
    return is_left ? CPT_TIMEOUT : CPT_OK;
}

/* --- Counters --- */

void cpt_grpc_counters(struct cpt_grpc *grpc,
                       void (*visit)(void *context, const struct cpt_counter *counter),
                       void *context)
{
    struct cpt_counter counters[CPTI_GRPC_COUNTER_COUNT] = {
#define CPTI_GRPC_COUNTER_TEXT_(text, sentence)                                        \
    {.name = "grpc_" #text, .help = sentence},
        CPTI_GRPC_COUNTER_MAP(CPTI_GRPC_COUNTER_TEXT_)
#undef CPTI_GRPC_COUNTER_TEXT_
    };

    for (size_t i = 0; i < CPTI_GRPC_COUNTER_COUNT; i++) {
        counters[i].is_gauge = i >= CPTI_GRPC_GAUGES_BEGIN;
        counters[i].value =
            atomic_load_explicit(&grpc->counters[i], memory_order_relaxed);
        visit(context, &counters[i]);
    }
}
