/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * manual_calls.c - calls and waits of requests whose code tells the path
 *
 *      call            begin -------------------- end
 *      wait                     begin                   end
 *      part      ===============|.................|queue|=======
 *
 * Which call a wait is for is not told, so it is for the one that ends last within it.
 * A wait has a call, or nothing, as what ended it. Code that begins a call, or a
 * part, while it waits does not wait then:
 *
 *      wait      [ first call ends ]       [ second call ends ]
 *      part      ==................|==|.........................|==
 *                                  | begins the second call
 */
#include "framework/share/manual.h"

#include "framework/run/call.h"

/* --- Calls --- */

struct cpt_manual_call *cpt_manual_call_begin(struct cpt_manual *manual,
                                              const char *callee)
{
    struct cpt_manual_call *call = NULL;

    if (manual == NULL || manual->has_ended) {
        return NULL;
    }
    call = cpti_manual_take(manual, sizeof *call);
    if (call != NULL) {
        const uint64_t now_ns = cpti_manual_now(manual);

        cpti_manual_wait_on(manual, manual->current, now_ns);
        call->call.name =
            cpti_manual_copy(manual, cpti_manual_name(cpt_bytes_of(callee)));
        call->call.issuer = &manual->current->task;
        call->call.outcome = CPT_CALL_REMOTE;
        call->call.reason = CPT_REASON_LIMIT;
        call->call.issue_ns = now_ns;
        CPTI_COUNT(cpti_counters_callee(&manual->service->counters, call->call.name),
                   calls);
    }
    return call;
}

struct cpt_bytes cpt_manual_call_ask_beside(struct cpt_manual *manual,
                                            struct cpt_manual_call *call,
                                            size_t headers_bytes, size_t header_count)
{
    const bool has_room = cpt_ask_has_room(headers_bytes, header_count) != 0;

    if (call != NULL) {
        call->is_unasked = !has_room;
    }
    return has_room ? cpt_manual_call_ask(manual, call) : (struct cpt_bytes){NULL, 0};
}

struct cpt_bytes cpt_manual_call_nonce(struct cpt_manual *manual,
                                       struct cpt_manual_call *call)
{
    if (manual == NULL || call == NULL || manual->ask_bytes == 0 || call->is_unasked) {
        return (struct cpt_bytes){NULL, 0};
    }
    if (call->call.nonce == 0) {
        call->call.nonce = cpti_call_nonce(call->call.issue_ns);
        cpt_nonce_format(call->call.nonce, call->nonce);
    }
    return (struct cpt_bytes){call->nonce, CPT_NONCE_BYTES};
}

/* Decodes the header with the callee's path into the arena. Returns a reason. */
static unsigned keep_text(struct cpt_manual *manual, struct cpt_trace_call *call,
                          struct cpt_bytes text)
{
    const size_t most = manual->metadata_bytes_max;
    const size_t capacity =
        text.bytes / 4 * 3 + 3 < most ? text.bytes / 4 * 3 + 3 : most;
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    if (text.bytes > CPT_BASE64_BYTES(most) + 2) { /* padding */
        return CPT_REASON_SIZE;
    }
    data = cpti_manual_take(manual, capacity);
    if (data == NULL) {
        return CPT_REASON_LIMIT;
    }
    status = cpt_base64_decode(text, data, capacity, &bytes, NULL);
    if (status != CPT_OK) {
        return status == CPT_LIMIT ? CPT_REASON_SIZE : CPT_REASON_UNDECODABLE;
    }
    call->reply = data;
    call->reply_bytes = bytes;
    return CPT_REASON_NONE;
}

/* Keeps the callee's path; else returns the reason. */
static unsigned keep_path(struct cpt_manual *manual, struct cpt_manual_call *ended,
                          const struct cpt_manual_reply *reply)
{
    struct cpt_trace_call *call = &ended->call;
    struct cpt_bytes kept = {NULL, 0};

    if (reply->status != CPT_OK) {
        return CPT_REASON_FAILED;
    }
    if (ended->is_unasked) {
        return CPT_REASON_LIMIT;
    }
    if (reply->is_cached) {
        return CPT_REASON_CACHED;
    }
    if (reply->metadata.bytes == 0) {
        return reply->metadata_text.data != NULL
                   ? keep_text(manual, call, reply->metadata_text)
                   : CPT_REASON_UNSUPPORTED;
    }
    if (reply->metadata.bytes > manual->metadata_bytes_max) {
        return CPT_REASON_SIZE;
    }
    kept = cpti_manual_copy(manual, reply->metadata);
    call->reply = kept.data;
    call->reply_bytes = kept.bytes;
    return kept.data != NULL ? CPT_REASON_NONE : CPT_REASON_LIMIT;
}

/* One more call has ended, in the current wait if there is one. */
static void note_arrival(struct cpt_manual *manual, struct cpt_trace_call *call)
{
    struct cpt_trace_await *await = manual->await;

    if (await == NULL) {
        if (manual->keeps_edges) {
            cpti_manual_add_pass(manual, call);
        }
        return;
    }
    if (await->call != NULL) {
        if (manual->keeps_edges) {
            cpti_manual_add_arrival(manual, await, await->call);
        }
        await->has_margin = 1;
        await->margin_ns = call->arrive_ns - await->arrive_ns;
    }
    await->call = call;
    await->arrive_ns = call->arrive_ns;
}

void cpt_manual_call_end(struct cpt_manual *manual, struct cpt_manual_call *ended,
                         const struct cpt_manual_reply *reply)
{
    static const struct cpt_manual_reply answered = {.status = CPT_OK};
    struct cpt_trace_call *call = ended != NULL ? &ended->call : NULL;
    struct cpti_call_observer *observer = NULL;

    if (manual == NULL || manual->has_ended || call == NULL || call->arrive_ns != 0) {
        return;
    }
    observer = &manual->service->observer;
    reply = reply != NULL ? reply : &answered;
    call->arrive_ns = cpti_manual_now(manual);
    call->attempt = reply->attempt;
    if (reply->outcome > CPT_OUTCOME_OK && reply->status != CPT_TIMEOUT) {
        call->status = cpt_bytes_of(cpt_outcome_name(reply->outcome));
    }
    if (reply->status == CPT_TIMEOUT) {
        call->outcome = CPT_CALL_TIMEOUT;
        observer->given_up(observer, call, CPT_TIMEOUT);
    } else {
        call->reason = (unsigned char)keep_path(manual, ended, reply);
        if (call->reason != CPT_REASON_NONE) {
            observer->blind_spot(observer, call);
        } else {
            observer->kept(observer, call->reply_bytes);
        }
    }
    note_arrival(manual, call);
}

/* --- Waits --- */

void cpti_manual_wait_on(struct cpt_manual *manual, struct cpti_part *part,
                         uint64_t now_ns)
{
    struct cpt_trace_await *await = manual->await;

    if (await == NULL) {
        return;
    }
    if (await->call == NULL) { /* nothing has ended: it did not wait so far */
        manual->current->task.last_await = await->previous;
    } else {
        await->resume_ns = await->arrive_ns;
        await = manual->await = cpti_manual_take(manual, sizeof *await);
    }
    if (await != NULL) {
        cpti_manual_await(part, await, now_ns);
    }
}

void cpt_manual_wait_begin(struct cpt_manual *manual)
{
    if (manual == NULL || manual->has_ended || manual->await != NULL) {
        return;
    }
    manual->await = cpti_manual_take(manual, sizeof *manual->await);
    if (manual->await != NULL) {
        const uint64_t now_ns = cpti_manual_now(manual);

        cpti_manual_await(manual->current, manual->await, now_ns);
        cpti_manual_turn(manual, now_ns, NULL);
    }
}

void cpti_manual_wait_over(struct cpt_manual *manual, uint64_t now_ns)
{
    struct cpt_trace_await *await = manual->await;

    if (await != NULL) {
        await->resume_ns = now_ns;
        if (await->call == NULL) {
            await->arrive_ns = now_ns;
        }
        cpti_manual_turn(manual, now_ns, &await->off_cpu_ns);
        manual->await = NULL;
    }
}

void cpt_manual_wait_end(struct cpt_manual *manual)
{
    if (manual != NULL && manual->await != NULL) {
        cpti_manual_wait_over(manual, cpti_manual_now(manual));
    }
}
