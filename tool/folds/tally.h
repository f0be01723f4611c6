/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tally.h - rows of a table, found by three names and a kind
 *
 * There is room for CPTI_TALLY_ROWS_MAX of them. Those that find none become one, the
 * last, which has no names: its kind is CPT_KIND_OTHER.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_TALLY_H
#define CPTI_CLI_TALLY_H

#include "tool/folds/sums.h"
#include "cpt/cpt_name.h"
#include "cpt/base/hash_index.h"

enum { CPTI_TALLY_ROWS_MAX = 1 << 16 };

struct cpti_tally_row {
    cpt_name_id names[3];
    unsigned kind;
    struct cpti_sums sums;
    double more[2]; /* sums that need no error */
    uint64_t wait_count;
    uint64_t request_count;
    uint64_t last_request; /* that was counted */
};

struct cpti_tally {
    struct cpti_tally_row *rows; /* CPTI_TALLY_ROWS_MAX of them */
    size_t count;
    struct cpti_hash_index index;
};

/* false: no memory. */
bool cpti_tally_init(struct cpti_tally *rows);
void cpti_tally_deinit(struct cpti_tally *rows);

/* The row with the names and kind of @key, added if it is new; NULL without memory.
 * Not after the rows were sorted. */
struct cpti_tally_row *cpti_tally_find(struct cpti_tally *rows,
                                       const struct cpti_tally_row *key);

/* The sum of the times of all rows behind the first @skipped. */
double cpti_tally_time(const struct cpti_tally *rows, size_t skipped);

#endif
