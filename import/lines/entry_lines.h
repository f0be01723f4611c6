/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * entry_lines.h - what an entry says of its requests, a line of JSON each
 *
 *      {"time": 1700000000.123, "latency": 0.25, "method": "GET", "status": 200,
 *       "path": "CAEQ…", "region": "eu"}
 *
 * Entries that are no services of our framework write such lines: nginx by its
 * log_format, programs in Python and Node by their file of examples/interop. `time` is
 * when the request began, in seconds since 1970; `end`, in its place, when it ended.
 * `path` is the value of the header critical-path-bin; a line without one is counted
 * and passed over. Members that mean nothing here are handed on. docs/import.md has all
 * names.
 *
 * A line is input: one that is none is refused with its number and the reason, and the
 * next one is read.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ENTRY_LINES_H
#define CPTI_ENTRY_LINES_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

enum {
    CPTI_ENTRY_LINE_MAX = 1 << 20,      /* bytes of a line */
    CPTI_ENTRY_MEMBERS_MAX = 32,        /* of a line, that are handed on */
    CPTI_ENTRY_MEMBER_BYTES_MAX = 4096, /* of their keys and texts together */
    CPTI_ENTRY_TEXT_BYTES_MAX = 1024,   /* of one text */
    CPTI_ENTRY_STATUS_BYTES = 24        /* of a status that is a number */
};

enum cpti_entry_type {
    CPTI_ENTRY_TEXT,
    CPTI_ENTRY_INTEGER,
    CPTI_ENTRY_REAL,
    CPTI_ENTRY_BOOL
};

/* A member that means nothing here. */
struct cpti_entry_member {
    struct cpt_bytes key;
    enum cpti_entry_type type;
    bool is_true;
    int64_t integer;
    double real;
    struct cpt_bytes text;
};

/* A line. Texts are borrowed until the next one; empty: it does not say it. */
struct cpti_entry_line {
    uint64_t number; /* in its file, from 1 */
    uint64_t start_unix_ns;
    uint64_t latency_ns; /* together below 2^63 */
    uint64_t unit_ns;    /* that the latency is given in: 1,000,000, 1,000 or 1 */
    struct cpt_bytes path;
    struct cpt_bytes service;
    struct cpt_bytes method;
    struct cpt_bytes status;
    struct cpt_bytes trace;
    uint64_t nonce;     /* that the path was asked for with; 0: it does not say */
    double probability; /* with which it was traced: (0, 1] */
    bool is_forced;
    bool is_failed;
    size_t member_count;
    struct cpti_entry_member members[CPTI_ENTRY_MEMBERS_MAX];
    char status_digits[CPTI_ENTRY_STATUS_BYTES]; /* memory of `status` */
};

struct cpti_entry_lines_counts {
    uint64_t lines; /* that are not empty */
    uint64_t pathless;
    uint64_t refused;
    uint64_t left_members; /* lists, objects, and what there is no room for */
    uint64_t replaced;     /* characters that are none: U+FFFD stands for them */
};

struct cpti_entry_lines_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    cpt_read_fn read;              /* the file, which may be compressed */
    void *context;
    uint64_t idle_bytes_max; /* without a line that is one; 0: 1 GiB */
};

struct cpti_entry_lines;

/* Whether the file that @read gives, compressed or not, has such a line among its first
 * ones. At most 1 MiB of text is looked at. Without memory: false. */
bool cpti_entry_lines_recognise(const struct cpt_alloc *alloc, cpt_read_fn read,
                                void *context);

/* NULL without memory. The caller owns it. */
struct cpti_entry_lines *
cpti_entry_lines_new(const struct cpti_entry_lines_options *options);
void cpti_entry_lines_free(struct cpti_entry_lines *lines);

/*
 * The next line with a path.
 *
 * CPT_OK; CPT_END; CPT_INVALID: line->number is refused, with the place in it and the
 * reason in @error; the next call goes on behind it. CPT_NO_MEMORY. CPT_CORRUPT,
 * CPT_TRUNCATED, CPT_VERSION, and errors of the read function: no more can be read.
 */
cpt_status cpti_entry_lines_next(struct cpti_entry_lines *lines,
                                 struct cpti_entry_line *line, struct cpt_error *error);

const struct cpti_entry_lines_counts *
cpti_entry_lines_counts(const struct cpti_entry_lines *lines);

#endif
