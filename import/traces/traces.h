/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * traces.h - the traces of a file, one after the other
 *
 *      bytes --> inflate --> pieces --> JSON --> spans --> a trace
 *                gzip, zstd  pieces.h   json.h   formats.h
 *
 * A piece that is a whole trace is one at once. Spans that come one by one, or in
 * requests to a collector, wait until all of the file is read, or all of the files if
 * there are several, as more of their trace may come. If they need more memory than is
 * allowed, the trace that has waited longest is taken as it is; what comes of it later
 * is another trace. A trace that is larger than a single one may be is left out as a
 * whole.
 *
 * Memory in all: some seven times the largest trace, as its JSON is in memory twice and
 * a span takes some 200 bytes; and what waits, twice at most.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_TRACES_H
#define CPTI_TRACES_H

#include "import/bytes/pieces.h"
#include "import/spans/spans.h"

struct cpti_annotation;

struct cpti_traces_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    cpt_read_fn read;              /* the bytes of the file */
    void *context;
    size_t trace_bytes_max;   /* of a trace or a message, as it is read; 0: 256 MiB */
    size_t waiting_bytes_max; /* of spans whose trace is not complete; 0: 1 GiB */
    /* of text behind the last span, besides that of one trace, after which the rest of
     * a file is not read, as it may never end; 0: 1 GiB */
    uint64_t idle_bytes_max;
    /* what notes where the spans are in the text; NULL: nothing. Outlives the traces */
    struct cpti_annotation *annotation;
    /* keys of attributes that become the tags of spans, up to CPTI_TAG_KEYS_MAX; they
     * outlive the traces */
    const struct cpt_bytes *tag_keys;
    size_t tag_key_count;
    /* more files may come: the first one begins with cpti_traces_open(), and spans wait
     * until cpti_traces_finish() */
    bool has_files;
};

/* What was read so far. */
struct cpti_traces_counts {
    uint64_t traces;
    uint64_t spans;
    uint64_t refused_pieces; /* they are not JSON, too long, or of no known format */
    uint64_t refused_spans;  /* without an id */
    uint64_t refused_traces; /* whose spans together are too large */
    uint64_t messages;       /* of protobuf; no places are noted in them */
    uint64_t cut_traces;     /* taken before the end of the file, for want of memory */
    uint64_t again;          /* traces with the id of an earlier one */
    uint64_t other_signals;  /* documents with metrics, logs or profiles, passed over */
    uint64_t unknown_fields; /* that OpenTelemetry's protocol 1.x does not have */
    uint64_t replaced;       /* characters that are none: U+FFFD stands for them */
};

struct cpti_traces;

/* Whether a file that begins with the @bytes at @head may be one of spans: it is
 * compressed, begins as JSON does, or has messages of spans. 16 bytes are enough. */
bool cpti_traces_recognise(const unsigned char *head, size_t bytes);

enum { CPTI_TRACES_KNOWN_MAX = 1 << 22 /* whose ids are known again */ };

/* NULL without memory. The caller owns it. */
struct cpti_traces *cpti_traces_new(const struct cpti_traces_options *options);
void cpti_traces_free(struct cpti_traces *traces);

/* Goes on with the file that @read gives, once the one before it has ended. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_traces_open(struct cpti_traces *traces, cpt_read_fn read,
                            void *context);

/* There are no more files: the next calls give what waits. */
void cpti_traces_finish(struct cpti_traces *traces);

/*
 * Puts the spans of the next trace into @spans, which it resets, and its id into
 * *@trace. All bytes are borrowed until the next call.
 *
 * CPT_OK; CPT_END, if there may be more files: of this one; CPT_INVALID: a piece was
 * refused, with its place and the reason in @error, and the next call goes on behind
 * it. CPT_NO_MEMORY. CPT_CORRUPT, CPT_TRUNCATED, CPT_VERSION, and errors of the read
 * function: no more can be read; the next calls give what waits.
 */
cpt_status cpti_traces_next(struct cpti_traces *traces, struct cpti_spans *spans,
                            struct cpt_bytes *trace, struct cpt_error *error);

/* Whether the last trace has the id of an earlier one: it is a copy, or another part of
 * it that could not wait. */
bool cpti_traces_is_again(const struct cpti_traces *traces);

const struct cpti_traces_counts *cpti_traces_counts(const struct cpti_traces *traces);

#endif
