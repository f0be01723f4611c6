/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* trace_context.c - the trace that a request belongs to; see trace_context.h */
#include "framework/service/trace_context.h"

#include <endian.h>
#include <string.h>
#include <strings.h>

/* --- What came in --- */

void cpti_trace_read(struct cpti_trace_context *trace,
                     const struct cpt_inbound *inbound, struct cpti_counters *counters)
{
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

void cpti_trace_read_state(struct cpti_trace_context *trace,
                           const struct cpt_field *headers, size_t header_count,
                           struct cpt_arena *arena, struct cpti_counters *counters)
{
    struct cpt_bytes values[CPT_TRACESTATE_MEMBERS_MAX];
    char text[CPT_TRACESTATE_BYTES_MAX + 1];
    size_t count = 0;
    size_t bytes = 0;

    if (!trace->is_there) {
        return;
    }
    for (size_t i = 0; i < header_count; i++) {
        if (!is_state(headers[i].name)) {
            continue;
        }
        if (count == CPT_TRACESTATE_MEMBERS_MAX) {
            CPTI_COUNT(counters, refused_tracestates);
            return;
        }
        values[count++] = headers[i].value;
    }
    if (count == 0) {
        return;
    }
    if (cpt_tracestate_join(values, count, text, &bytes) != CPT_OK) {
        CPTI_COUNT(counters, refused_tracestates);
    } else if (bytes > 0) {
        trace->state.data = cpt_arena_copy(arena, text, bytes);
        trace->state.bytes = trace->state.data != NULL ? bytes : 0;
    }
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

/* The coin's threshold, for those who adjust counts by it. */
static void note_threshold(struct cpti_trace_context *trace, double probability,
                           struct cpt_arena *arena)
{
    const struct cpt_consistent consistent = {
        .has_threshold = 1, .threshold = cpt_sampling_threshold(probability)};
    char text[CPT_TRACESTATE_BYTES_MAX + 1];
    const size_t bytes =
        cpt_consistent_format((struct cpt_bytes){NULL, 0}, &consistent, text);

    trace->state.data = cpt_arena_copy(arena, text, bytes);
    trace->state.bytes = trace->state.data != NULL ? bytes : 0;
}

void cpti_trace_make(struct cpti_trace_context *trace, uint64_t seed, uint64_t number,
                     const struct cpti_decision *decision, struct cpt_arena *arena)
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
    if (decision->is_random) {
        note_threshold(trace, decision->probability, arena);
    }
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
