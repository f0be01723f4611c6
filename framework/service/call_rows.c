/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * call_rows.c - a call as one row of a graph: its attempts, until one counts
 *
 *      encode --> attempt 1 --------------------> an answer that counts --> decode
 *                   |  |  hedge_ns over, or failed
 *                   |  '----> attempt 2, beside --^
 *                   | failed, no other outstanding
 *                   '-------> pause --> attempt --^
 *                               | none left, no budget, no time
 *                               '--> fallback, or the task fails
 *
 * Each wait is one that a task could have written itself, so the path is the same. The
 * timeout of the row bounds that of each attempt, so it needs no timer of its own.
 *
 * The budget is a bucket for all requests of the row. A retry or hedge puts in 100, a
 * first attempt takes out extra_percent_max; a full bucket refuses.
 */
#include "framework/cpt_calls.h"
#include "framework/run/pending.h"
#include "framework/service/calls.h"
#include "framework/service/outcome.h"
#include "framework/service/service.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ATTEMPTS_AT_ONCE = 2, EXTRA_COST = 100, BACKOFFS_MAX = 20 };

#define BACKOFF_NS_DEFAULT UINT64_C(5000000)
#define BACKOFF_NS_MAX     UINT64_C(1000000000)

/* What the steps of the task keep. */
struct call_state {
    struct cpt_bytes body;
    const struct cpt_call_request *request;      /* what it says; NULL: only the body */
    struct cpti_call_line line;                  /* of row->stub */
    struct cpt_pending *calls[ATTEMPTS_AT_ONCE]; /* not looked at yet */
    struct cpt_pending *hedge_wait;
    const struct cpt_call_reply *failure; /* the last one; NULL: none yet */
    const struct cpt_stub *failed_stub;
    const struct cpt_stub *stubs[ATTEMPTS_AT_ONCE];     /* of calls */
    const struct cpt_pending *latest[ATTEMPTS_AT_ONCE]; /* of stub, of other_stub */
    uint64_t end_ns; /* of the clock of the request; UINT64_MAX: no timeout */
    unsigned attempt_count;
    unsigned retry_count;
    bool is_hedged; /* or cannot be any more */
};

static struct cpt_call_row *row_of(const struct cpt_task *task)
{
    return cpt_task_context(task);
}

void *cpt_call_context(const struct cpt_task *task)
{
    return row_of(task)->context;
}

#define COUNT(task, field)                                                             \
    do {                                                                               \
        struct cpt_service *const service_ = cpti_service_of((task)->request);         \
                                                                                       \
        if (service_ != NULL) {                                                        \
            CPTI_COUNT(&service_->counters, field);                                    \
        }                                                                              \
    } while (0)

/* --- The budget --- */

static void note_first_attempt(struct cpt_call_row *row)
{
    const unsigned percent = row->extra_percent_max != 0
                                 ? row->extra_percent_max
                                 : (unsigned)CPT_CALL_EXTRA_PERCENT;
    unsigned spent = __atomic_load_n(&row->reserved[0], __ATOMIC_RELAXED);

    while (spent != 0 &&
           !__atomic_compare_exchange_n(&row->reserved[0], &spent,
                                        spent > percent ? spent - percent : 0, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static bool take_extra(struct cpt_task *task)
{
    struct cpt_call_row *row = row_of(task);
    unsigned spent = __atomic_load_n(&row->reserved[0], __ATOMIC_RELAXED);

    do {
        if (spent > EXTRA_COST * (CPT_CALL_EXTRA_BURST_COUNT - 1)) {
            COUNT(task, call_extras_refused);
            return false;
        }
    } while (!__atomic_compare_exchange_n(&row->reserved[0], &spent, spent + EXTRA_COST,
                                          true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

/* --- Replies --- */

/* What an answer counts as. */
static unsigned outcome_of(const struct cpt_call_row *row,
                           const struct cpt_call_reply *reply)
{
    const struct cpt_call_answer *answer = row->answers;

    for (; answer != NULL && answer->http_status != 0; answer++) {
        if (answer->http_status == reply->http_status) {
            return answer->outcome;
        }
    }
    return reply->outcome;
}

static bool has_succeeded(const struct cpt_call_row *row,
                          const struct cpt_call_reply *reply)
{
    return reply->status == CPT_OK && outcome_of(row, reply) == CPT_OUTCOME_OK;
}

/* Whether another attempt might succeed. */
static bool may_repeat(const struct cpt_call_row *row,
                       const struct cpt_call_reply *reply)
{
    if (reply->status != CPT_OK) {
        return reply->status != CPT_LIMIT && reply->status != CPT_CANCELLED;
    }
    switch (outcome_of(row, reply)) {
    case CPT_OUTCOME_UNKNOWN:
    case CPT_OUTCOME_DEADLINE_EXCEEDED:
    case CPT_OUTCOME_RESOURCE_EXHAUSTED:
    case CPT_OUTCOME_ABORTED:
    case CPT_OUTCOME_INTERNAL:
    case CPT_OUTCOME_UNAVAILABLE:
        return true;
    default:
        return false;
    }
}

static cpt_status status_of(const struct cpt_call_row *row,
                            const struct cpt_call_reply *reply)
{
    const unsigned outcome = outcome_of(row, reply);

    return reply->status != CPT_OK                     ? reply->status
           : outcome == CPT_OUTCOME_DEADLINE_EXCEEDED  ? CPT_TIMEOUT
           : outcome == CPT_OUTCOME_UNAVAILABLE        ? CPT_UNAVAILABLE
           : outcome == CPT_OUTCOME_RESOURCE_EXHAUSTED ? CPT_LIMIT
                                                       : CPT_FAILED;
}

/* --- The end --- */

static bool is_all_zeros(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    return count == 0 || (at[0] == 0 && memcmp(at, at + 1, count - 1) == 0);
}

/* Gives the fallback; false: there is none. */
static bool fall_back(struct cpt_task *task)
{
    const struct cpt_value *value = cpti_task_plan(task)->def->gives;
    const struct cpt_call_row *row = row_of(task);

    if (row->fall_back == NULL &&
        (row->fallback == NULL ||
         (value->cleanup != NULL && !is_all_zeros(row->fallback, value->bytes)))) {
        return false;
    }
    if (value->cleanup != NULL && !is_all_zeros(cpti_task_value(task), value->bytes)) {
        value->cleanup(cpti_task_value(task)); /* what `decode` had begun */
    }
    if (row->fall_back == NULL) {
        memcpy(cpti_task_value(task), row->fallback, value->bytes);
    } else {
        memset(cpti_task_value(task), 0, value->bytes);
        if (row->fall_back(task) != CPT_OK) {
            return false;
        }
    }
    COUNT(task, call_fallbacks);
    return true;
}

static bool is_type(const struct cpt_value *value, const char *type)
{
    return value->type != NULL && strcmp(value->type, type) == 0;
}

/* Without a function of the row. */
static cpt_status decode_plainly(struct cpt_task *task,
                                 const struct cpt_call_reply *reply)
{
    const struct cpt_value *value = cpti_task_plan(task)->def->gives;
    cpt_status status = CPT_OK;

    if (is_type(value, "struct cpt_bytes")) {
        *(struct cpt_bytes *)cpti_task_value(task) = reply->body;
        return CPT_OK;
    }
    if (!is_type(value, "int64_t")) {
        return cpt_fail(
            task, CPT_INVALID,
            "a call without `decode` gives a struct cpt_bytes or an int64_t");
    }
    status = cpt_number_of(reply->body, cpti_task_value(task));
    return status == CPT_OK
               ? CPT_OK
               : cpt_fail(task, status, "'%s' did not answer with a number",
                          row_of(task)->stub->name);
}

static cpt_status encode_plainly(struct cpt_task *task, struct cpt_bytes *body)
{
    const struct cpt_value *value = cpti_task_plan(task)->def->needs[0];
    const char *method = row_of(task)->stub->method;

    if (value == NULL ||
        (method != NULL && (cpti_call_line_has_no_body(method) ||
                            cpti_call_line_names(method, value->name)))) {
        return CPT_OK;
    }
    if (is_type(value, "struct cpt_bytes")) {
        *body = *(const struct cpt_bytes *)cpt_task_input(task, value);
        return CPT_OK;
    }
    return is_type(value, "int64_t")
               ? cpt_print(task, body, "%lld",
                           (long long)*(const int64_t *)cpt_task_input(task, value))
               : CPT_OK;
}

static cpt_status decode(struct cpt_task *task, const struct cpt_call_reply *reply)
{
    const struct cpt_call_row *row = row_of(task);
    const cpt_status status =
        row->decode != NULL ? row->decode(task, reply) : decode_plainly(task, reply);

    return status == CPT_OK || status == CPT_WAITING || !fall_back(task) ? status
                                                                         : CPT_OK;
}

/* No attempt has succeeded, and none is left. */
static cpt_status fail(struct cpt_task *task, const struct call_state *state)
{
    const struct cpt_call_reply *reply = state->failure;
    const unsigned count = state->attempt_count;
    const struct cpti_answered answered =
        cpti_answered_of(reply->message.data != NULL, reply->outcome,
                         reply->http_status, reply->message);
    char said[CPTI_ANSWERED_BYTES];

    if (row_of(task)->decodes_errors && reply->status == CPT_OK) {
        return decode(task, reply);
    }
    if (fall_back(task)) {
        return CPT_OK;
    }
    cpti_answered_text(&answered, said);
    return reply->status != CPT_OK ? cpt_fail(task, status_of(row_of(task), reply),
                                              "call of '%s' failed (attempt %u): %s",
                                              state->failed_stub->name, count,
                                              cpt_status_sentence(reply->status))
                                   : cpt_fail(task, status_of(row_of(task), reply),
                                              "'%s' answered %s (attempt %u)",
                                              state->failed_stub->name, said, count);
}

/* The reply to call @i counts: the other attempt is not needed. */
static cpt_status finish(struct cpt_task *task, struct call_state *state, unsigned i,
                         const struct cpt_call_reply *reply)
{
    if (state->calls[1 - i] != NULL) {
        cpt_cancel(state->calls[1 - i]);
    }
    if (state->hedge_wait != NULL) {
        cpt_cancel(state->hedge_wait);
    }
    if (has_succeeded(row_of(task), reply)) {
        return decode(task, reply);
    }
    state->failure = reply;
    state->failed_stub = state->stubs[i];
    return fail(task, state);
}

/* --- Attempts --- */

static uint64_t remaining_ns(struct cpt_task *task, const struct call_state *state)
{
    const uint64_t of_request_ns = cpt_task_remaining_ns(task);
    uint64_t now_ns = 0;
    uint64_t left_ns = UINT64_MAX;

    if (state->end_ns != UINT64_MAX) {
        now_ns = cpt_clock_now_ns(task->request->clock);
        left_ns = now_ns < state->end_ns ? state->end_ns - now_ns : 0;
    }
    return left_ns < of_request_ns ? left_ns : of_request_ns;
}

static bool may_be_repeated(const struct cpt_call_row *row)
{
    return row->retry_count_max != 0 || row->hedge_ns != 0;
}

/* Makes one more attempt, which may take @timeout_ns. */
static void call(struct cpt_task *task, struct call_state *state, uint64_t timeout_ns)
{
    const struct cpt_call_row *row = row_of(task);
    const unsigned i = state->calls[0] != NULL;
    const unsigned number = ++state->attempt_count;
    const bool is_other = number % 2 == 0 && row->other_stub != NULL;
    struct cpt_call_request request = {.body = state->body};
    struct cpti_call_line line = state->line;
    struct cpti_attempt attempt = {.stub = is_other ? row->other_stub : row->stub,
                                   .line = &line,
                                   .request = &request,
                                   .timeout_ns = timeout_ns,
                                   .previous = state->latest[is_other]};
    cpt_status status = CPT_OK;

    if (state->request != NULL) {
        request = *state->request;
    }
    request.attempt = may_be_repeated(row) ? number : 0;
    request.slack_ns = number == 1 ? request.slack_ns : 0; /* the first has used it */
    request.is_idempotent |= row->is_idempotent;
    if (is_other) {
        status = cpti_call_line_make(task, attempt.stub, &request, &line);
    }
    state->stubs[i] = attempt.stub;
    state->calls[i] = status == CPT_OK ? cpti_call_within(task, &attempt)
                                       : cpti_pending_failed(status);
    state->latest[is_other] = state->calls[i];
}

static cpt_status go_on(struct cpt_task *task);

static cpt_status repeat(struct cpt_task *task)
{
    struct call_state *state = cpt_state(task, struct call_state);

    COUNT(task, call_retries);
    call(task, state, remaining_ns(task, state));
    return go_on(task);
}

/* The pause before the next attempt: twice the last one, less a random half. */
static uint64_t pause_ns(struct cpt_task *task, const struct call_state *state)
{
    const struct cpt_call_row *row = row_of(task);
    uint64_t pause = row->backoff_ns != 0 ? row->backoff_ns : BACKOFF_NS_DEFAULT;
    uint64_t random = cpt_clock_now_ns(task->request->clock) ^ (uintptr_t)task;

    for (unsigned i = 0; i < state->retry_count && pause < BACKOFF_NS_MAX; i++) {
        pause *= 2;
    }
    pause = pause < BACKOFF_NS_MAX ? pause : BACKOFF_NS_MAX;
    random = (random ^ (random >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return pause - (random >> 32) % (pause / 2 + 1);
}

/* All attempts so far have failed: pauses before another one, or ends. */
static cpt_status retry(struct cpt_task *task, struct call_state *state)
{
    const struct cpt_call_row *row = row_of(task);
    const uint64_t delay_ns = pause_ns(task, state);
    struct cpt_pending *pause = NULL;

    if (state->retry_count >= row->retry_count_max ||
        state->retry_count >= CPT_CALL_RETRIES_MAX ||
        remaining_ns(task, state) <= delay_ns || !take_extra(task)) {
        return fail(task, state);
    }
    state->retry_count++;
    pause = cpt_back_off(task, delay_ns);
    /* It may be over already, on a busy machine. */
    return cpt_pending_status(pause) >= CPT_OK ? cpt_await(task, pause, repeat)
                                               : fail(task, state);
}

/* Looks at the attempts that have ended. true: one of them counts, *@winner; else
 * *@outstanding is how many there still are. */
static bool look(const struct cpt_call_row *row, struct call_state *state,
                 unsigned *winner, unsigned *outstanding)
{
    *outstanding = 0;
    for (unsigned i = 0; i < ATTEMPTS_AT_ONCE; i++) {
        const struct cpt_call_reply *reply =
            state->calls[i] != NULL ? cpt_call_reply(state->calls[i]) : NULL;

        if (state->calls[i] == NULL) {
            continue;
        }
        if (reply == NULL) {
            ++*outstanding;
        } else if (has_succeeded(row, reply) || !may_repeat(row, reply)) {
            *winner = i;
            return true;
        } else {
            state->failure = reply;
            state->failed_stub = state->stubs[i];
            state->calls[i] = NULL;
        }
    }
    return false;
}

/* Makes the second attempt if it is time, or the first has failed; true: it is made. */
static bool hedge(struct cpt_task *task, struct call_state *state, unsigned outstanding)
{
    if (state->is_hedged ||
        (outstanding != 0 && cpt_pending_status(state->hedge_wait) != CPT_OK)) {
        return false;
    }
    state->is_hedged = true;
    cpt_cancel(state->hedge_wait);
    state->hedge_wait = NULL;
    if (remaining_ns(task, state) == 0 || !take_extra(task)) {
        return false;
    }
    COUNT(task, call_hedges);
    call(task, state, remaining_ns(task, state));
    return true;
}

/* Waits for the first of what is outstanding. */
static cpt_status wait(struct cpt_task *task, const struct call_state *state)
{
    struct cpt_pending *pendings[ATTEMPTS_AT_ONCE + 1];
    size_t count = 0;

    for (unsigned i = 0; i < ATTEMPTS_AT_ONCE; i++) {
        if (state->calls[i] != NULL) {
            pendings[count++] = state->calls[i];
        }
    }
    if (state->hedge_wait != NULL &&
        cpt_pending_status(state->hedge_wait) == CPT_WAITING) {
        pendings[count++] = state->hedge_wait;
    }
    return cpt_await_some(task, pendings, count, 1, go_on);
}

static cpt_status go_on(struct cpt_task *task)
{
    struct call_state *state = cpt_state(task, struct call_state);
    unsigned winner = 0;
    unsigned outstanding = 0;

    do {
        if (look(row_of(task), state, &winner, &outstanding)) {
            return finish(task, state, winner, cpt_call_reply(state->calls[winner]));
        }
    } while (hedge(task, state, outstanding));
    return outstanding == 0 ? retry(task, state) : wait(task, state);
}

/* Sets what all attempts say. */
static cpt_status encode(struct cpt_task *task, struct call_state *state)
{
    const struct cpt_call_row *row = row_of(task);
    struct cpt_call_request *request = NULL;
    cpt_status status = row->encode != NULL ? row->encode(task, &state->body)
                                            : encode_plainly(task, &state->body);

    if (status == CPT_OK && (row->prepare != NULL || row->reply_headers != NULL)) {
        request = cpt_task_memory(task, sizeof *request);
        if (request == NULL) {
            return cpt_fail(task, CPT_LIMIT,
                            "the memory limit of the request was reached");
        }
        request->struct_bytes = sizeof *request;
        request->body = state->body;
        request->reply_headers = row->reply_headers;
        state->request = request;
        status = row->prepare != NULL ? row->prepare(task, request) : CPT_OK;
    }
    return status == CPT_OK
               ? cpti_call_line_make(task, row->stub, request, &state->line)
               : status;
}

cpt_status cpt_call_run(struct cpt_task *task)
{
    struct cpt_call_row *row = row_of(task);
    struct call_state *state = cpt_state(task, struct call_state);
    cpt_status status = CPT_OK;

    if (row == NULL || row->stub == NULL) {
        return cpt_fail(task, CPT_INVALID, "the row of a call has no stub");
    }
    if (state == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    status = encode(task, state);
    if (status != CPT_OK) {
        return status;
    }
    state->end_ns = UINT64_MAX;
    if (row->timeout_ns != 0 && may_be_repeated(row)) {
        const uint64_t now_ns = cpt_clock_now_ns(task->request->clock);

        state->end_ns = row->timeout_ns < UINT64_MAX - now_ns ? now_ns + row->timeout_ns
                                                              : UINT64_MAX;
    }
    note_first_attempt(row);
    call(task, state, row->timeout_ns != 0 ? row->timeout_ns : UINT64_MAX);
    state->is_hedged = row->hedge_ns == 0;
    if (!state->is_hedged) {
        state->hedge_wait = cpt_hedge_wait(
            task, row->other_stub != NULL ? row->other_stub : row->stub, row->hedge_ns);
    }
    return go_on(task);
}

/* --- Bodies as text --- */

cpt_status cpt_print(struct cpt_task *task, struct cpt_bytes *text, const char *format,
                     ...)
{
    va_list arguments;
    char *memory = NULL;
    int bytes = 0;

    va_start(arguments, format);
    bytes = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (bytes < 0) {
        return cpt_fail(task, CPT_INVALID, "the text cannot be printed");
    }
    memory = cpt_task_memory(task, (size_t)bytes + 1);
    if (memory == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    va_start(arguments, format);
    (void)vsnprintf(memory, (size_t)bytes + 1, format, arguments);
    va_end(arguments);
    *text = (struct cpt_bytes){memory, (size_t)bytes};
    return CPT_OK;
}

cpt_status cpt_number_of(struct cpt_bytes text, int64_t *number)
{
    const bool is_negative = text.bytes != 0 && text.data[0] == '-';
    int64_t sum = 0; /* negative: INT64_MIN has no counterpart */

    if (text.bytes == (size_t)is_negative) {
        return CPT_CORRUPT;
    }
    for (size_t i = is_negative; i < text.bytes; i++) {
        const int digit = text.data[i] - '0';

        if (digit < 0 || digit > 9 || sum < (INT64_MIN + digit) / 10) {
            return CPT_CORRUPT;
        }
        sum = 10 * sum - digit;
    }
    if (!is_negative && sum == INT64_MIN) {
        return CPT_CORRUPT;
    }
    *number = is_negative ? sum : -sum;
    return CPT_OK;
}
