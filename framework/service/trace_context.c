/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* trace_context.c - the trace that a request belongs to; see trace_context.h */
#include "framework/service/trace_context.h"

#include "framework/run/overlap.h"
#include "framework/service/serving.h"

#include <endian.h>
#include <string.h>
#include <strings.h>

/* --- What came in --- */

void cpti_trace_read(struct cpti_trace_context *trace,
                     const struct cpt_inbound *inbound, struct cpti_counters *counters)
{
    *trace = (struct cpti_trace_context){.is_there = false};
    if (inbound->traceparent.data == NULL) {
        return;
    }
    trace->is_there =
        cpt_traceparent_parse(inbound->traceparent, &trace->parent) == CPT_OK;
    if (!trace->is_there) {
        CPTI_COUNT(counters, refused_traceparents);
    } else if (inbound->traceparent.bytes > CPT_TRACEPARENT_BYTES) {
        /* Of a later version: passed on as one of ours, whose other flags are 0. */
        trace->parent.flags &= CPT_TRACE_FLAG_SAMPLED | CPT_TRACE_FLAG_RANDOM;
    }
}

static bool is_state(struct cpt_bytes name)
{
    const size_t bytes = sizeof CPT_HEADER_TRACESTATE - 1;

    return name.bytes == bytes &&
           strncasecmp(name.data, CPT_HEADER_TRACESTATE, bytes) == 0;
}

/* What became of the tracestate of a request. */
enum verdict {
    VERDICT_OPEN, /* it was not looked at */
    VERDICT_NONE, /* there is none */
    VERDICT_REFUSED,
    VERDICT_AS_CAME, /* it is the value of the one header */
    VERDICT_JOINED   /* it is made of several, or cut */
};

/* Joins what stands in @headers to *@state: the value of the one header, or @text. */
static enum verdict join_state(const struct cpt_field *headers, size_t header_count,
                               char text[CPT_TRACESTATE_BYTES_MAX + 1],
                               struct cpt_bytes *state)
{
    struct cpt_bytes values[CPT_TRACESTATE_MEMBERS_MAX];
    size_t count = 0;

    *state = (struct cpt_bytes){NULL, 0};
    for (size_t i = 0; i < header_count; i++) {
        if (!is_state(headers[i].name)) {
            continue;
        }
        if (count == CPT_TRACESTATE_MEMBERS_MAX) {
            return VERDICT_REFUSED;
        }
        values[count++] = headers[i].value;
    }
    if (count == 0) {
        return VERDICT_NONE;
    }
    if (cpt_tracestate_join(values, count, text, &state->bytes) != CPT_OK) {
        return VERDICT_REFUSED;
    }
    if (state->bytes == 0) {
        return VERDICT_NONE;
    }
    if (count == 1 && state->bytes == values[0].bytes) {
        *state = values[0];
        return VERDICT_AS_CAME;
    }
    state->data = text;
    return VERDICT_JOINED;
}

struct cpt_bytes cpti_trace_read_state(const struct cpt_field *headers,
                                       size_t header_count, struct cpt_arena *arena,
                                       struct cpti_counters *counters)
{
    char text[CPT_TRACESTATE_BYTES_MAX + 1];
    struct cpt_bytes state;

    if (join_state(headers, header_count, text, &state) == VERDICT_REFUSED) {
        CPTI_COUNT(counters, refused_tracestates);
    }
    if (state.bytes != 0) {
        state.data = cpt_arena_copy(arena, state.data, state.bytes);
        state.bytes = state.data != NULL ? state.bytes : 0;
    }
    return state;
}

/* The value of the one header. */
static struct cpt_bytes state_as_came(const struct cpt_rpc_request *input)
{
    size_t i = 0;

    while (!is_state(input->headers[i].name)) {
        i++;
    }
    return input->headers[i].value;
}

struct cpt_bytes cpti_trace_state(struct cpti_trace_origin *origin,
                                  char text[CPT_TRACESTATE_BYTES_MAX + 1])
{
    struct cpt_bytes state = {NULL, 0};
    const struct cpt_rpc_request *input = NULL;
    enum verdict verdict = VERDICT_NONE;

    if (origin == NULL) {
        return state;
    }
    if (origin->serving == NULL || !origin->context.is_there) {
        return origin->state;
    }
    input = &origin->serving->input;
    verdict = (enum verdict)atomic_load_explicit(&origin->state_verdict,
                                                 memory_order_relaxed);
    if (verdict == VERDICT_NONE || verdict == VERDICT_REFUSED) {
        return state;
    }
    if (verdict == VERDICT_AS_CAME) {
        return state_as_came(input);
    }
    verdict = join_state(input->headers, input->header_count, text, &state);
    if (atomic_exchange_explicit(&origin->state_verdict, (unsigned char)verdict,
                                 memory_order_relaxed) == VERDICT_OPEN &&
        verdict == VERDICT_REFUSED) {
        CPTI_COUNT(&origin->serving->service->counters, refused_tracestates);
    }
    return state;
}

/* --- What is made --- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A number below @range, of the 64 random bits @x. */
static uint64_t scale(uint64_t x, uint64_t range)
{
    const uint64_t high = x >> 32;
    const uint64_t low = x & UINT32_MAX;
    const uint64_t range_high = range >> 32;
    const uint64_t range_low = range & UINT32_MAX;
    const uint64_t middle = (low * range_low >> 32) + high * range_low;
    const uint64_t other = (middle & UINT32_MAX) + low * range_high;

    return high * range_high + (middle >> 32) + (other >> 32);
}

static void put(unsigned char bytes[8], uint64_t number)
{
    const uint64_t big_endian = htobe64(number);

    memcpy(bytes, &big_endian, sizeof big_endian);
}

/* R of the 64 random bits @x, which led to @decision. */
static uint64_t randomness_of(const struct cpti_decision *decision, uint64_t x)
{
    uint64_t threshold = CPT_SAMPLING_RANGE;

    if (decision->is_thrown) {
        return decision->randomness;
    }
    if (decision->probability > 0) {
        threshold = cpt_sampling_threshold(decision->probability);
    }
    return decision->is_random ? threshold + scale(x, CPT_SAMPLING_RANGE - threshold)
                               : scale(x, threshold);
}

struct cpt_bytes cpti_trace_make_state(const struct cpti_decision *decision,
                                       struct cpt_arena *arena)
{
    struct cpt_consistent consistent = {.has_threshold = 1};
    struct cpt_bytes state = {NULL, 0};
    char text[CPT_TRACESTATE_BYTES_MAX + 1];

    if (!decision->is_random) {
        return state;
    }
    /* The coin's threshold, for those who adjust counts by it. */
    consistent.threshold = cpt_sampling_threshold(decision->probability);
    state.bytes = cpt_consistent_format(state, &consistent, text);
    state.data = cpt_arena_copy(arena, text, state.bytes);
    state.bytes = state.data != NULL ? state.bytes : 0;
    return state;
}

void cpti_trace_make(struct cpti_trace_context *trace, uint64_t seed, uint64_t number,
                     const struct cpti_decision *decision)
{
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t first = seed + 3 * number * gamma;
    const uint64_t high = mix(first) | 1U; /* so that it is never all 0 */
    const uint64_t span = mix(first + 2 * gamma) | 1U;
    const uint64_t randomness = randomness_of(decision, mix(first + gamma));
    struct cpt_traceparent *parent = &trace->parent;

    put(parent->trace_id, high);
    put(parent->trace_id + 8, ((high ^ span) >> 56 << 56) | randomness);
    put(parent->parent_id, span);
    parent->flags = CPT_TRACE_FLAG_RANDOM;
    trace->is_there = true;
    trace->is_made = true;
    if (decision->is_random || decision->is_forced) {
        parent->flags |= CPT_TRACE_FLAG_SAMPLED;
    }
}

/* --- Of a request that is served --- */

static void make_for(const struct cpti_serving *serving,
                     struct cpti_trace_context *trace)
{
    cpti_trace_make(trace, serving->service->sampling.trace_seed, serving->running.id,
                    &serving->decision);
}

/* The last 8 bytes of a trace's id, which are those that are random in any case. */
static uint64_t tail_of(const unsigned char id[16])
{
    uint64_t tail = 0;

    memcpy(&tail, id + 8, sizeof tail);
    return be64toh(tail);
}

void cpti_trace_open(struct cpti_serving *serving,
                     const struct cpti_trace_context *came, bool is_enabled)
{
    struct cpt_request *request = serving->request;
    struct cpti_trace_origin *origin = &serving->trace;

    request->inherited.trace = origin;
    if (came->is_there) {
        origin->context = *came;
        origin->serving = serving;
    } else if (is_enabled && !request->is_traced) {
        origin->serving = serving;
    } else if (is_enabled) { /* what is decided of it may change at its end */
        make_for(serving, &origin->context);
        origin->state = cpti_trace_make_state(&serving->decision, &request->arena);
    }
}

void cpti_trace_enter(struct cpti_serving *serving)
{
    serving->request->inherited.overlap_number =
        cpti_overlap_enter(tail_of(serving->trace.context.parent.trace_id));
}

struct cpti_trace_context cpti_trace_of(const struct cpti_trace_origin *origin)
{
    struct cpti_trace_context trace = {.is_there = false};

    if (origin != NULL && (origin->context.is_there || origin->serving == NULL)) {
        return origin->context;
    }
    if (origin != NULL) {
        make_for(origin->serving, &trace);
    }
    return trace;
}

void cpti_trace_keep(struct cpti_trace_origin *kept, struct cpti_trace_origin *origin,
                     char text[CPT_TRACESTATE_BYTES_MAX + 1])
{
    struct cpt_bytes state = cpti_trace_state(origin, text);

    kept->context = cpti_trace_of(origin);
    kept->serving = NULL;
    if (state.bytes != 0 && state.data != text) {
        memcpy(text, state.data, state.bytes);
        state.data = text;
    }
    kept->state = state;
}

/* --- What goes out --- */

struct cpt_bytes cpti_trace_write(const struct cpti_trace_context *trace,
                                  const unsigned char *span_id,
                                  char text[CPT_TRACEPARENT_BYTES + 1])
{
    struct cpt_traceparent parent = trace->parent;

    if (!trace->is_there) {
        return (struct cpt_bytes){NULL, 0};
    }
    if (span_id != NULL) {
        memcpy(parent.parent_id, span_id, sizeof parent.parent_id);
    }
    cpt_traceparent_format(&parent, text);
    return (struct cpt_bytes){text, CPT_TRACEPARENT_BYTES};
}
