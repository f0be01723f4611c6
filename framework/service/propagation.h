/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * propagation.h - headers of other tracers that go on to callees as they came
 *
 * `baggage` of W3C, and B3: in one header, or in several that begin with `x-b3-`. The
 * caller's mesh finds its trace again behind us, whatever we trace. What is passed on
 * is chosen and checked when the request comes, as then it is known who sent it; most
 * requests have no such header, and pay one comparison a header that they have.
 *
 *      client --- b3, baggage ---> entry              only of clients that it trusts
 *                                    |
 *                                    v  each call, traced or not
 *                                  inner service      of all its callers
 *
 * Each value leaves as a header of a call, so it is bounded and has no line ends.
 */
#ifndef CPT_PROPAGATION_H
#define CPT_PROPAGATION_H

#include "cpt/cpt_arena.h"
#include "framework/cpt_rpc.h"
#include "framework/service/counters.h"
#include "framework/service/sampling.h"

#include <stdbool.h>

/* What goes on to the callees of a request; in one block of memory, with its texts. */
struct cpti_propagated {
    size_t block_bytes; /* of all of it */
    size_t count;
    struct cpt_field fields[CPT_PROPAGATED_MAX];
};

/* Whether @name may be one of the names: by its first letter, and its length, a bit
 * each. Most headers are told apart so. */
static inline bool cpti_propagated_may_be(struct cpt_bytes name)
{
    const uint32_t lengths = UINT32_C(1) << 2 | UINT32_C(1) << 7 | UINT32_C(1) << 10 |
                             UINT32_C(1) << 11 | UINT32_C(1) << 12 | UINT32_C(1) << 17;

    return name.bytes - 1 < 31 &&
           ((name.data[0] | 0x20) == 'b' || (name.data[0] | 0x20) == 'x') &&
           (lengths >> name.bytes & 1) != 0;
}

/* Whether @inbound has such a header. Most have none: then nothing is called. */
static inline bool cpti_propagated_is_in(const struct cpt_inbound *inbound)
{
    const size_t count = inbound->header_count < CPT_HEADERS_MAX ? inbound->header_count
                                                                 : CPT_HEADERS_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct cpt_bytes name = inbound->headers[i].name;

        if (cpti_propagated_may_be(name) && cpt_header_is_propagated(name)) {
            return true;
        }
    }
    return false;
}

/* Reads what @inbound passes on into @arena. *@propagated stays as it is if
 * its sender is not trusted, which is counted, as is what is malformed. CPT_OK;
 * CPT_LIMIT: the arena is full. */
cpt_status cpti_propagated_read(struct cpti_sampling *sampling,
                                const struct cpt_inbound *inbound,
                                struct cpti_counters *counters, struct cpt_arena *arena,
                                const struct cpti_propagated **propagated);

/* A copy of @from, which may be NULL, from @alloc; NULL also without memory. */
struct cpti_propagated *cpti_propagated_copy(const struct cpti_propagated *from,
                                             const struct cpt_alloc *alloc);

/* Writes the headers of a call to @fields, which has room for all: @own, those that the
 * program has set, and @propagated. What the program sets itself is not passed on; of
 * B3 that is all, as its headers belong together. Returns how many they are. */
size_t cpti_propagated_merge(const struct cpti_propagated *propagated,
                             const struct cpt_field *own, size_t own_count,
                             struct cpt_field *fields);

#endif
