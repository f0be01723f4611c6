/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept.h - one record that outlives the reading of its log
 *
 * What a reader gives out is gone at the next record. This is a copy of what people are
 * shown of a request: its path, and its texts escaped for a terminal.
 */
#ifndef CPTI_CLI_KEPT_H
#define CPTI_CLI_KEPT_H

#include <stdint.h>

struct cpt_path;
struct cpt_record;

/* Zero: nothing is kept. */
struct cpti_kept {
    struct cpt_path *path; /* NULL: nothing */
    uint64_t start_unix_ns;
    uint64_t latency_ns;
    uint64_t record_number; /* counted from 1 over all files */
    double probability;
    char *entry; /* escaped */
    char *status;
    char *remarks;  /* "random, forced, trace 0123…"; may be empty */
    char *metadata; /* "arm=control region=eu"; may be empty */
};

/* Keeps @record and its @path in place of what was kept. CPTI_EXIT_DONE, or
 * CPTI_EXIT_FAILED without memory, which has been said. */
int cpti_kept_set(struct cpti_kept *kept, const struct cpt_record *record,
                  const struct cpt_path *path, uint64_t record_number);
void cpti_kept_deinit(struct cpti_kept *kept);

#endif
