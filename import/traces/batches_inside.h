/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* batches_inside.h - what the two formats of batches.h share */
#ifndef CPTI_BATCHES_INSIDE_H
#define CPTI_BATCHES_INSIDE_H

#include "import/traces/batches.h"
#include "import/bytes/inflate.h"
#include "import/bytes/scan.h"

struct cpti_reader {
    struct cpt_bytes left; /* of the body */
    struct cpti_inflate *inflate;
    uint64_t read_bytes;
    uint64_t bytes_max;
    struct cpti_scan scan;
    bool is_open;
};

struct cpti_buffer {
    void *data;
    size_t bytes;
    size_t capacity;
};

/* Which value the reader is in; each format uses some of them. */
enum cpti_batches_level {
    CPTI_AT_FIRST, /* nothing was looked at */
    CPTI_IN_ROOT,
    CPTI_IN_LIST, /* of resources with spans */
    CPTI_IN_RESOURCE,
    CPTI_IN_SCOPES,
    CPTI_IN_SCOPE,
    CPTI_IN_SPANS,
    CPTI_AT_END
};

struct cpti_batches {
    struct cpti_batches_options options;
    struct cpt_bytes body;
    struct cpti_reader reader;
    struct cpti_reader ahead;
    bool has_begun;
    bool is_large;
    bool has_spans; /* of any batch */
    uint64_t unknown_fields;
    enum cpti_batches_level level;
    uint64_t ends[CPTI_IN_SPANS]; /* of the messages around, for protobuf */
    /* of what the reader is in: */
    uint64_t resource_offset;    /* where what describes its resource may be */
    struct cpti_buffer resource; /* JSON: the value; protobuf: fields */
    bool has_resource;           /* it is known that it has this one, or none */
    struct cpti_buffer spans;    /* JSON: with commas between; protobuf: fields */
    struct cpti_buffer batch;    /* what is complete of the next one */
    uint64_t refused;
    cpt_status status; /* that follows the batch at hand */
};

/* --- Both --- */

/* The place in the uncompressed body of what is read next. */
uint64_t cpti_reader_offset(const struct cpti_reader *reader);

/* The second reader, at @offset, which is not before where it was. */
cpt_status cpti_batches_ahead(struct cpti_batches *batches, uint64_t offset,
                              struct cpti_reader **ahead);

cpt_status cpti_buffer_add(struct cpti_buffer *buffer, const void *data, size_t bytes);

/* Sets the resource of the spans that follow; *@value is borrowed. */
cpt_status cpti_batches_describe(struct cpti_batches *batches, struct cpt_bytes value);

/* --- By format --- */

/* Reads one member or element. CPT_OK; at the end, level is CPTI_AT_END. */
cpt_status cpti_batches_json_step(struct cpti_batches *batches);
cpt_status cpti_batches_protobuf_step(struct cpti_batches *batches);

/* Moves `spans`, which are not empty, with their resource to `batch`. */
cpt_status cpti_batches_json_close(struct cpti_batches *batches);
cpt_status cpti_batches_protobuf_close(struct cpti_batches *batches);

/* Ends `batch`. */
cpt_status cpti_batches_json_finish(struct cpti_batches *batches);

#endif
