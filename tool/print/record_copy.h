/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * record_copy.h - a record that outlives the reading of its log
 *
 * A reader reuses its memory at the next record. This is a copy of what people are
 * shown of a request: its path, and its texts escaped for a terminal.
 */
#ifndef CPTI_CLI_RECORD_COPY_H
#define CPTI_CLI_RECORD_COPY_H

#include <stdint.h>

struct cpt_path;
struct cpt_record;

/* Zero at first, without a record. */
struct cpti_record_copy {
    struct cpt_path *path; /* NULL: no record */
    uint64_t start_unix_ns;
    uint64_t latency_ns;
    uint64_t record_number; /* counted from 1 over all files */
    double probability;
    char *entry; /* escaped */
    char *status;
    char *remarks;  /* "random, forced, trace 0123…"; may be empty */
    char *metadata; /* "arm=control region=eu"; may be empty */
};

/* Replaces the copy by one of @record and its @path. CPTI_EXIT_DONE, or
 * CPTI_EXIT_FAILED without memory, with the error printed. */
int cpti_record_copy_set(struct cpti_record_copy *copy, const struct cpt_record *record,
                         const struct cpt_path *path, uint64_t record_number);
void cpti_record_copy_deinit(struct cpti_record_copy *copy);

#endif
