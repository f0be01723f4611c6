/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * failure.c - why a request failed: a word for groups, and a sentence for people
 *
 *      request ended        its status, whose it is, the last call that failed
 *          |  cpti_failure_of()
 *      reason + sentence --> counter by reason
 *          |            '--> notice to the operator, traced or not
 *          '--> two attributes of the record, if it is traced
 *
 * All of this is done only for requests that have failed. What is known then is what
 * the runtime keeps for its own sake; only a call that fails keeps a line of its own
 * (struct cpti_failed_call), as its task may end before the request does.
 *
 * The attributes have places of their own beside those of the application: a request
 * that has noted all that it may still says why it failed. What the application itself
 * notes under the same key stands: it knows better.
 */
#include "framework/service/failure.h"

#include "framework/run/deadline.h"

#include <stdio.h>
#include <string.h>

static const char *const reason_words[CPTI_FAILURE_REASONS] = {
#define WORD_(name, help) #name,
    CPTI_FAILURE_MAP(WORD_)
#undef WORD_
};

/* --- What has happened --- */

static enum cpti_failure_reason reason_of(const struct cpt_request *request,
                                          const struct cpti_failed_call *call,
                                          bool is_starved)
{
    const cpt_status status = request->status;
    const bool has_no_memory = status == CPT_LIMIT || status == CPT_NO_MEMORY;

    if (is_starved) {
        return cpti_failure_busy;
    }
    if (status == CPT_OK) {
        return call != NULL ? cpti_failure_callee : cpti_failure_answer;
    }
    if (request->failed_task == 0) {
        return status == CPT_TIMEOUT     ? cpti_failure_deadline
               : status == CPT_CANCELLED ? cpti_failure_cancelled
               : has_no_memory           ? cpti_failure_memory
                                         : cpti_failure_stuck;
    }
    if (call != NULL && call->task == request->failed_task &&
        (call->status == status || !has_no_memory)) {
        return cpti_failure_callee;
    }
    return has_no_memory ? cpti_failure_memory : cpti_failure_task;
}

static size_t limit_of(const struct cpt_service *service, bool is_starved)
{
    return is_starved ? service->budget.bytes_max : service->options.memory_bytes_max;
}

/* Appends to the sentence what is known beside that of the request. */
static void append_detail(const struct cpt_request *request,
                          const struct cpti_failed_call *call,
                          struct cpti_failure *failure)
{
    const struct cpt_service *service = cpti_service_of(request);
    const size_t used = strlen(failure->sentence);
    char *end = failure->sentence + used;
    const size_t left = sizeof failure->sentence - used;

    if (failure->reason == cpti_failure_busy ||
        failure->reason == cpti_failure_memory) {
        const bool is_all = failure->reason == cpti_failure_busy;

        if (service != NULL) {
            (void)snprintf(end, left, ", %s %zu bytes",
                           is_all ? "all requests together may take" : "it may take",
                           limit_of(service, is_all));
        }
    } else if (failure->reason == cpti_failure_deadline) {
        (void)snprintf(end, left, ", the deadline was %.6g ms",
                       (double)cpti_deadline_ns(request) / 1e6);
    } else if (call != NULL && failure->reason != cpti_failure_cancelled &&
               strstr(failure->sentence, call->text) == NULL) {
        (void)snprintf(end, left, ", after %s", call->text);
    }
}

/* "task 'A: root' answered 502", or "… answered UNAVAILABLE: no stock"; or the sentence
 * of the request, with the name of its task also where there was no memory for it. */
static void write_sentence(const struct cpt_request *request,
                           const struct cpti_answered *answered,
                           struct cpti_failure *failure)
{
    const struct cpt_plan *plan = request->plan;
    const uint32_t number =
        request->status == CPT_OK ? plan->output_task + 1 : request->failed_task;
    const struct cpt_bytes name =
        number != 0 ? plan->tasks[number - 1].frame_name : (struct cpt_bytes){"", 0};

    char said[CPTI_ANSWERED_BYTES];

    if (request->status == CPT_OK) {
        cpti_answered_text(answered, said);
        (void)snprintf(failure->sentence, sizeof failure->sentence,
                       "task '%.*s' answered %s", (int)name.bytes, name.data, said);
    } else if (number != 0 &&
               strncmp(cpt_request_sentence(request), "task '", 6) != 0) {
        (void)snprintf(failure->sentence, sizeof failure->sentence, "task '%.*s': %s",
                       (int)name.bytes, name.data, cpt_request_sentence(request));
    } else {
        (void)snprintf(failure->sentence, sizeof failure->sentence, "%s",
                       cpt_request_sentence(request));
    }
}

void cpti_failure_of(struct cpt_request *request, const struct cpti_answered *answered,
                     bool is_starved, struct cpti_failure *failure)
{
    struct cpti_failed_call call;
    const bool has_call = cpti_call_failure(request, &call);

    failure->reason = reason_of(request, has_call ? &call : NULL, is_starved);
    write_sentence(request, answered, failure);
    append_detail(request, has_call ? &call : NULL, failure);
}

void cpti_failure_of_answer(const struct cpti_answered *answered,
                            struct cpti_failure *failure)
{
    char said[CPTI_ANSWERED_BYTES];

    failure->reason = cpti_failure_answer;
    cpti_answered_text(answered, said);
    (void)snprintf(failure->sentence, sizeof failure->sentence, "the answer was %s",
                   said);
}

void cpti_failure_of_code(unsigned reason, const char *sentence,
                          struct cpti_failure *failure)
{
    _Static_assert((int)CPT_FAILURE_DEADLINE == (int)cpti_failure_deadline + 1 &&
                       (int)CPT_FAILURE_CALLEE == (int)cpti_failure_callee + 1 &&
                       (int)CPT_FAILURE_ANSWER == (int)CPTI_FAILURE_REASONS,
                   "the public numbers are these plus 1");
    failure->reason = reason != 0 && reason <= CPTI_FAILURE_REASONS
                          ? (enum cpti_failure_reason)(reason - 1)
                          : cpti_failure_task;
    (void)snprintf(failure->sentence, sizeof failure->sentence, "%s",
                   sentence != NULL ? sentence : "no reason was given");
}

void cpti_failure_of_task(const struct cpt_request *request, uint32_t number,
                          cpt_status status, struct cpti_failure *failure)
{
    const struct cpt_bytes name = request->plan->tasks[number].frame_name;

    failure->reason = cpti_failure_task;
    (void)snprintf(failure->sentence, sizeof failure->sentence, "task '%.*s': %s",
                   (int)name.bytes, name.data, cpt_status_sentence(status));
}

/* --- Counted and told --- */

void cpti_failure_count(struct cpt_service *service, const struct cpti_failure *failure)
{
    CPTI_COUNT(&service->counters, failures[failure->reason]);
}

static void tell(struct cpt_service *service, struct cpti_notice_limit *limit,
                 struct cpt_notice *notice)
{
    const struct cpt_service_options *options = &service->options;

    if (options->notices_per_second_max < 0) {
        return;
    }
    notice->service = cpt_bytes_of(service->name);
    cpti_notice_tell(limit, cpt_clock_now_ns(options->clock), options->notify,
                     options->notify_context, notice);
}

void cpti_failure_tell(struct cpt_service *service, const struct cpti_failure *failure,
                       struct cpt_bytes method, const struct cpti_answered *answered)
{
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_FAILURE,
        .http_status = answered->http_status,
        .outcome = answered->name,
        .method = method,
        .reason = reason_words[failure->reason],
        .sentence = cpt_bytes_of(failure->sentence),
        .count = 1,
    };

    tell(service, &service->notices[failure->reason], &notice);
}

void cpti_refusal_tell(struct cpt_service *service, const struct cpt_inbound *inbound,
                       bool is_busy)
{
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_REFUSAL,
        .http_status = cpt_outcome_http_status(CPT_OUTCOME_RESOURCE_EXHAUSTED),
        .outcome = inbound->has_outcomes != 0
                       ? cpt_outcome_name(CPT_OUTCOME_RESOURCE_EXHAUSTED)
                       : NULL,
        .method = inbound->method,
        .reason = is_busy ? "busy" : "memory",
        .count = 1,
    };
    char sentence[CPTI_FAILURE_SENTENCE_BYTES];

    (void)snprintf(sentence, sizeof sentence,
                   is_busy ? "requests in flight are limited to %zu, and to %zu bytes"
                           : "there was no memory for the request",
                   service->options.requests_in_flight_max, service->budget.bytes_max);
    notice.sentence = cpt_bytes_of(sentence);
    tell(service, &service->notices[is_busy ? cpti_failure_busy : cpti_failure_memory],
         &notice);
}

static const char *const refusal_words[CPTI_REFUSALS] = {
    NULL,   "malformed", "large",   "verb",   "foreign",
    "slow", "full",      "clients", "unread", "memory"};

void cpt_service_refused(struct cpt_service *service, unsigned refusal,
                         unsigned http_status, struct cpt_bytes method,
                         struct cpt_bytes sentence)
{
    const unsigned known =
        refusal != 0 && refusal < CPTI_REFUSALS ? refusal : CPT_REFUSAL_MALFORMED;
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_REFUSAL,
        .http_status = http_status,
        .method = method,
        .reason = refusal_words[known],
        .sentence = sentence,
        .count = 1,
    };

    tell(service, &service->refusals[known], &notice);
}

static void tell_rest(struct cpt_service *service, struct cpti_notice_limit *limit,
                      const char *word)
{
    const uint64_t count = cpti_notice_untold(limit);
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_FAILURE,
        .service = cpt_bytes_of(service->name),
        .reason = word,
        .sentence = cpt_bytes_of("failed or were refused, and were not told"),
        .count = count,
    };

    if (count != 0) {
        service->options.notify(service->options.notify_context, &notice);
    }
}

void cpti_failure_tell_rest(struct cpt_service *service)
{
    for (unsigned i = 0; i < CPTI_FAILURE_REASONS; i++) {
        tell_rest(service, &service->notices[i], reason_words[i]);
    }
    for (unsigned i = 1; i < CPTI_REFUSALS; i++) {
        tell_rest(service, &service->refusals[i], refusal_words[i]);
    }
}

/* --- In the record --- */

static bool has_key(const struct cpt_attribute *attributes, size_t count,
                    struct cpt_bytes key)
{
    for (size_t i = 0; i < count; i++) {
        if (cpt_bytes_equal(attributes[i].key, key)) {
            return true;
        }
    }
    return false;
}

struct cpt_attribute *cpti_failure_note(const struct cpti_failure *failure,
                                        const struct cpt_service *service,
                                        struct cpt_arena *arena,
                                        struct cpt_attribute *attributes, size_t *count)
{
    const size_t bytes = strlen(failure->sentence);
    const char *sentence = cpt_arena_copy(arena, failure->sentence, bytes);
    const struct cpt_attribute added[CPTI_FAILURE_ATTRIBUTES] = {
        {.key = cpt_bytes_of(CPT_ATTRIBUTE_FAILURE),
         .type = CPT_ATTRIBUTE_TEXT,
         .value.text = cpt_bytes_of(reason_words[failure->reason])},
        {.key = cpt_bytes_of(CPT_ATTRIBUTE_WHY),
         .type = CPT_ATTRIBUTE_TEXT,
         .value.text = {sentence, sentence != NULL ? bytes : 0}},
    };

    if (attributes == NULL) {
        attributes = cpt_arena_take(arena, sizeof added);
    }
    for (size_t i = 0; attributes != NULL && i < CPTI_FAILURE_ATTRIBUTES; i++) {
        if (added[i].value.text.data != NULL &&
            !has_key(attributes, *count, added[i].key) &&
            !cpti_service_drops_attribute(service, added[i].key)) {
            attributes[(*count)++] = added[i];
        }
    }
    return attributes;
}
