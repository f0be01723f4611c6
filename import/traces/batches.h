/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * batches.h - a request to an OpenTelemetry collector, cut into small ones
 *
 *      body --> uncompressed --> [ window ] --> spans --> batch, batch, batch ...
 *
 * A request may be large: 5 MB of gzip can be a million spans. It is uncompressed and
 * read in pieces, so its memory is some megabytes, whatever it says, and who takes the
 * batches can do something else between two of them. Each batch is a request by itself,
 * of the same format: some spans, with their resource. A request of up to
 * CPTI_BATCHES_WHOLE_BYTES is one batch, as it came.
 *
 * A resource may come behind its spans: then the body is read by a second reader, ahead
 * of the first.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_BATCHES_H
#define CPTI_BATCHES_H

#include "cpt/cpt_name.h"
#include "cpt/cpt_status.h"

#include <stdbool.h>

enum {
    CPTI_BATCHES_WHOLE_BYTES = 1 << 20,
    CPTI_BATCHES_SPAN_BYTES_MAX = 1 << 20, /* of a span or resource of larger ones */
    CPTI_BATCHES_BYTES = 128 << 10         /* of a batch, about */
};

struct cpti_batches_options {
    bool is_json;       /* else protobuf */
    bool is_compressed; /* by gzip or zstd; if it is not, it is taken as it is */
    size_t bytes_max;   /* uncompressed */
};

struct cpti_batches;

/* What cuts @body, which outlives it; NULL without memory. The caller owns it. */
struct cpti_batches *cpti_batches_new(struct cpt_bytes body,
                                      const struct cpti_batches_options *options);
void cpti_batches_free(struct cpti_batches *batches);

/*
 * The next batch, borrowed until the next call; behind JSON are CPTI_DOC_PADDING
 * readable bytes.
 *
 * CPT_OK; CPT_END; CPT_LIMIT: it has more than bytes_max; CPT_CORRUPT, CPT_TRUNCATED;
 * CPT_INVALID: it is large and has no span, but fields that OTLP 1.x does not have: one
 * of another version, whose spans would be lost; CPT_VERSION: zstd is not built in;
 * CPT_NO_MEMORY. What is before that place has come.
 */
cpt_status cpti_batches_next(struct cpti_batches *batches, struct cpt_bytes *batch,
                             struct cpt_error *error);

/* Whether the request has more than the first batch, which was taken: it is large. */
bool cpti_batches_have_more(const struct cpti_batches *batches);

/* How many fields around the spans of a large request OTLP 1.x does not have. */
uint64_t cpti_batches_unknown_fields(const struct cpti_batches *batches);

/* How many spans were passed over, as they are larger than
 * CPTI_BATCHES_SPAN_BYTES_MAX. */
uint64_t cpti_batches_refused(const struct cpti_batches *batches);

#endif
