/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_records.h - traces of spans become records of a path log
 *
 *      trace --> sections --> path --> record --> [ block ] --> write
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_SPAN_RECORDS_H
#define CPTI_CLI_SPAN_RECORDS_H

#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_attribute;
struct cpt_log_block;
struct cpt_path;
struct cpt_record;
struct cpti_spans;

enum { CPTI_EXTRA_MAX = 4 };

/* An attribute of a record: all visits of the request, as a path is encoded
 * (cpti_spans_all()). */
#define CPTI_VISITS_KEY "cpt.visits"

/* The log that records are added to. */
struct cpti_span_records {
    struct cpt_sink sink; /* gets the blocks of the log */
    struct cpt_log_block *block;
    struct cpt_path *path;
    struct cpt_path *visits;
    const struct cpt_bytes *tag_keys; /* of attributes of the entry's span; borrowed */
    size_t tag_key_count;
    const struct cpt_attribute *extra; /* of each record; at most
                                        * CPTI_EXTRA_MAX; borrowed */
    size_t extra_count;
    bool adds_visits;           /* records have all visits, too, in CPTI_VISITS_KEY */
    struct cpt_bytes unwritten; /* a block that could not be stored, within `block` */
    size_t unwritten_count;     /* of its records */
};

/* `sink` is set. CPT_OK, CPT_NO_MEMORY; free it in any case. */
cpt_status cpti_span_records_init(struct cpti_span_records *records);
void cpti_span_records_deinit(struct cpti_span_records *records);

/* Appends to @path, which is empty, the path of a trace whose sections were found: what
 * notes of our services tell, else the sections. CPT_OK; CPT_NO_MEMORY, CPT_LIMIT: then
 * discard @path. */
cpt_status cpti_span_path(struct cpti_spans *spans, struct cpt_path *path);

/*
 * Adds @trace, whose sections were found by cpti_spans_walk(), as the record of a
 * request that entered at the root's service and was kept with @probability, after the
 * sampler of its tracer, if the root names one, had kept it. A fragment says so, in the
 * attribute CPTI_FRAGMENT_ATTRIBUTE. Tags of the root are attributes, too, and if it is
 * the client's side of a call, those of the callee that it has not.
 *
 * CPT_OK; CPT_NO_MEMORY, CPT_LIMIT: the trace is left out, as its path is too large;
 * errors of `write`: the trace is left out, and nothing can be added until
 * cpti_span_records_flush() is successful.
 */
cpt_status cpti_span_records_add(struct cpti_span_records *records,
                                 struct cpti_spans *spans, struct cpt_bytes trace,
                                 double probability);

/* Adds @record with the id of @trace and the path of `path`: its service, latency and
 * attributes are set. CPT_OK; as above. */
cpt_status cpti_span_records_put(struct cpti_span_records *records,
                                 struct cpt_record *record, struct cpt_bytes trace);

/* Adds @record, which is whole. Errors as above. */
cpt_status cpti_span_records_write(struct cpti_span_records *records,
                                   const struct cpt_record *record);

/* Whether @text is a trace id, a number of up to 32 hexadecimal digits; it is then in
 * @id. */
bool cpti_read_trace_id(struct cpt_bytes text, unsigned char id[16]);

/* How many records were added and are not written. */
size_t cpti_span_records_waiting(const struct cpti_span_records *records);

/* Writes what was added. CPT_OK; errors of `write`: it is there still. */
cpt_status cpti_span_records_flush(struct cpti_span_records *records);

#endif
