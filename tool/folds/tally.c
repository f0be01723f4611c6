/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tally.c - see tally.h */
#include "tool/folds/tally.h"

#include "cpt/cpt_path.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

bool cpti_tally_init(struct cpti_tally *rows)
{
    *rows = (struct cpti_tally){.count = 0};
    rows->rows = calloc(CPTI_TALLY_ROWS_MAX, sizeof *rows->rows);
    return rows->rows != NULL;
}

void cpti_tally_deinit(struct cpti_tally *rows)
{
    free(rows->rows);
    cpt_alloc_free(NULL, rows->index.slots);
}

static uint64_t hash_of(const struct cpti_tally *rows, const struct cpti_tally_row *row)
{
    const uint64_t seed = (uint64_t)(uintptr_t)rows;
    const uint64_t who =
        cpti_hash_mix(seed ^ (uint64_t)row->names[0] << 32 ^ row->kind);

    return cpti_hash_mix(who ^ (uint64_t)row->names[1] << 32 ^ row->names[2]);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    const struct cpti_tally *rows = owner;

    return hash_of(rows, &rows->rows[number]);
}

static bool is_same(const struct cpti_tally_row *left,
                    const struct cpti_tally_row *right)
{
    return left->names[0] == right->names[0] && left->names[1] == right->names[1] &&
           left->names[2] == right->names[2] && left->kind == right->kind;
}

/* The row of all that found no room: it accuses no one. */
static struct cpti_tally_row *other_row(struct cpti_tally *rows)
{
    if (rows->count < CPTI_TALLY_ROWS_MAX) {
        rows->rows[rows->count++] = (struct cpti_tally_row){.kind = CPT_KIND_OTHER};
    }
    return &rows->rows[CPTI_TALLY_ROWS_MAX - 1];
}

struct cpti_tally_row *cpti_tally_find(struct cpti_tally *rows,
                                       const struct cpti_tally_row *key)
{
    size_t slot = 0;

    if (cpti_hash_index_is_full(&rows->index, rows->count, 3) &&
        cpti_hash_index_grow(&rows->index, NULL, FIRST_SLOTS, rows->count, hash_at,
                             rows) != CPT_OK) {
        return NULL;
    }
    slot = cpti_hash_index_first(&rows->index, hash_of(rows, key));
    while (rows->index.slots[slot] != 0) {
        struct cpti_tally_row *row = &rows->rows[rows->index.slots[slot] - 1];

        if (is_same(row, key)) {
            return row;
        }
        slot = cpti_hash_index_next(&rows->index, slot);
    }
    if (rows->count >= CPTI_TALLY_ROWS_MAX - 1) {
        return other_row(rows);
    }
    rows->index.slots[slot] = (uint32_t)rows->count + 1;
    rows->rows[rows->count] = *key;
    return &rows->rows[rows->count++];
}

double cpti_tally_time(const struct cpti_tally *rows, size_t skipped)
{
    double time = 0;

    for (size_t i = skipped; i < rows->count; i++) {
        time += rows->rows[i].sums.time;
    }
    return time;
}
