/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * entry_records.h - lines of an entry become records of a path log
 *
 *      line --> path of the service behind it --> path of the entry --> record
 *
 *      latency of the line   |------------ 20 ------------|
 *      its path              |------ 16 ------|
 *      the record            [ path 16        ][ network 4 ]
 *
 * The entry is a caller: what its latency has beyond the path is spliced as that of any
 * call (cpt_path_splice()). So the record's path adds up to the latency of the line,
 * whatever the two say.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_ENTRY_RECORDS_H
#define CPTI_CLI_ENTRY_RECORDS_H

#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"

struct cpt_path;
struct cpti_entry_line;
struct cpti_span_records;

/* Where the records go, and what became of the lines. Zero but for the first two. */
struct cpti_entry_records {
    struct cpti_span_records *records; /* their log; borrowed */
    struct cpt_bytes service; /* of lines that name none; empty: that of the path */
    struct cpt_path *callee;
    unsigned char *data;   /* a path as bytes */
    uint64_t lines;        /* that are not empty */
    uint64_t written;      /* records */
    uint64_t pathless;     /* lines without a path: not traced */
    uint64_t refused;      /* lines */
    uint64_t longer;       /* whose path is longer than their latency: scaled */
    uint64_t left_members; /* that are no attributes */
    uint64_t replaced;     /* characters that are none */
};

/* CPT_OK, CPT_NO_MEMORY; free it in any case. */
cpt_status cpti_entry_records_init(struct cpti_entry_records *entry);
void cpti_entry_records_deinit(struct cpti_entry_records *entry);

/*
 * Adds @line as a record. A path that is longer than the latency by no more than the
 * unit in which that is given is the latency: a program rounds.
 *
 * CPT_OK; CPT_INVALID: the line is refused, with the reason in @error; CPT_NO_MEMORY,
 * CPT_LIMIT; errors of cpti_span_records_add().
 */
cpt_status cpti_entry_records_add(struct cpti_entry_records *entry,
                                  const struct cpti_entry_line *line,
                                  struct cpt_error *error);

/* Adds all lines of the file @name that @read gives, and tells on stderr which are
 * refused, and why. enum cpti_exit. */
int cpti_entry_records_read(struct cpti_entry_records *entry, const char *name,
                            cpt_read_fn read, void *context);

/* Tells on stderr what became of all lines. */
void cpti_entry_records_tell(const struct cpti_entry_records *entry);

#endif
