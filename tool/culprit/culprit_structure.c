/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_structure.c - what changed in structure; culprit_structure.h
 *
 *      parts --> rows that can differ --> T, p --> what is told
 *
 * Rows that are the same in every visit have no part in chance, of which
 * culprit_structure_deal.c is.
 */
#include "tool/culprit/culprit_parts.h"
#include "tool/culprit/culprit_structure_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cpti_structure *cpti_structure_new(const struct cpt_alloc *alloc)
{
    struct cpti_structure *structure = cpt_alloc_zeroed(alloc, sizeof *structure);

    if (structure == NULL) {
        return NULL;
    }
    structure->alloc = alloc;
    structure->table = cpt_path_new(alloc);
    if (structure->table == NULL) {
        cpt_alloc_free(alloc, structure);
        return NULL;
    }
    return structure;
}

void cpti_structure_free(struct cpti_structure *structure)
{
    if (structure == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(structure->alloc, structure->sets[i].cells);
        cpt_alloc_free(structure->alloc, structure->sets[i].requests);
    }
    cpt_alloc_free(structure->alloc, structure->index.slots);
    cpt_alloc_free(structure->alloc, structure->parts);
    cpt_alloc_free(structure->alloc, structure->rows);
    cpt_alloc_free(structure->alloc, structure->roots);
    cpt_alloc_free(structure->alloc, structure->chain);
    cpt_alloc_free(structure->alloc, structure->open);
    cpt_alloc_free(structure->alloc, structure->calls);
    cpt_alloc_free(structure->alloc, structure->touched);
    cpt_path_free(structure->table);
    cpt_alloc_free(structure->alloc, structure);
}

/* --- Rows --- */

/* By row, then by entry operation. */
static int compare_strata(const void *left, const void *right, void *context)
{
    const struct cpti_structure_part *parts = context;
    const struct cpti_structure_part *a =
        &parts[((const struct cpti_structure_stratum *)left)->cases];
    const struct cpti_structure_part *b =
        &parts[((const struct cpti_structure_stratum *)right)->cases];
    int order = cpti_structure_compare(a->what, b->what);

    order = order != 0 ? order : cpti_structure_compare(a->parent, b->parent);
    order = order != 0 ? order : cpti_structure_compare(a->child, b->child);
    order = order != 0 ? order : cpti_structure_compare(a->second, b->second);
    return order != 0 ? order : cpti_structure_compare(a->entry, b->entry);
}

static bool is_of_row(const struct cpti_structure_part *a,
                      const struct cpti_structure_part *b)
{
    return a->what == b->what && a->parent == b->parent && a->child == b->child &&
           a->second == b->second;
}

static void find_totals(struct cpti_structure_judging *judging)
{
    for (int i = 0; i < 2; i++) {
        const struct cpti_structure_set *set = &judging->structure->sets[i];

        for (size_t k = 0; k < set->cell_count; k++) {
            judging->totals[i][set->cells[k].part] += set->cells[k].count;
        }
    }
}

/* Lists the cases whose visits both sets have. */
static void find_strata(struct cpti_structure_judging *judging)
{
    struct cpti_structure *structure = judging->structure;
    uint64_t *const *totals = judging->totals;

    for (uint32_t i = 0; i < structure->part_count; i++) {
        const uint32_t among = structure->parts[i].among;

        structure->is_compared |= among == i && totals[0][i] > 0 && totals[1][i] > 0;
        if (among != i && totals[0][among] > 0 && totals[1][among] > 0) {
            judging->strata[judging->stratum_count++] = (struct cpti_structure_stratum){
                .cases = i,
                .visits = among,
                .rate = (double)(totals[0][i] + totals[1][i]) /
                        (double)(totals[0][among] + totals[1][among])};
        }
    }
    if (judging->stratum_count > 1) {
        qsort_r(judging->strata, judging->stratum_count, sizeof *judging->strata,
                compare_strata, structure->parts);
    }
}

/* Whether enough is different between visits of the strata from @from to @end. */
static bool can_differ(const struct cpti_structure_judging *judging, size_t from,
                       size_t end)
{
    const struct cpti_structure_part *parts = judging->structure->parts;
    double cases = 0;
    double others = 0;

    for (size_t i = from; i < end; i++) {
        const struct cpti_structure_stratum *stratum = &judging->strata[i];

        for (int k = 0; k < 2; k++) {
            const double part = (double)judging->totals[k][stratum->cases];

            cases += part;
            others += (double)judging->totals[k][stratum->visits] - part;
        }
    }
    return cases >= CPTI_STRUCTURE_CASES_MIN &&
           (parts[judging->strata[from].cases].what == CPTI_STRUCTURE_REPEATED ||
            others >= CPTI_STRUCTURE_CASES_MIN);
}

/* Makes rows of the strata of those that can differ, and drops the others. */
static void find_tested(struct cpti_structure_judging *judging)
{
    const struct cpti_structure_part *parts = judging->structure->parts;
    struct cpti_structure_stratum *strata = judging->strata;
    size_t kept = 0;

    for (size_t i = 0; i < judging->stratum_count;) {
        size_t end = i;
        size_t from = kept;

        while (end < judging->stratum_count &&
               is_of_row(&parts[strata[end].cases], &parts[strata[i].cases])) {
            end++;
        }
        if (can_differ(judging, i, end)) {
            for (; i < end; i++) {
                strata[kept] = strata[i];
                strata[kept++].row = (uint32_t)judging->tested_count;
            }
            judging->tested[judging->tested_count++] = (struct cpti_structure_tested){
                .from = (uint32_t)from, .end = (uint32_t)kept};
        }
        i = end;
    }
    judging->stratum_count = kept;
    for (size_t i = 0; i < judging->structure->part_count; i++) {
        judging->firsts[i] = CPTI_STRUCTURE_NONE;
    }
    for (size_t i = kept; i-- > 0;) {
        judging->nexts[i] = judging->firsts[strata[i].visits];
        judging->firsts[strata[i].visits] = (uint32_t)i;
    }
}

/* Drops the cells that no row needs. */
static void drop_cells(struct cpti_structure_judging *judging)
{
    struct cpti_structure *structure = judging->structure;
    uint64_t *is_needed = judging->sums;

    for (size_t i = 0; i < judging->stratum_count; i++) {
        is_needed[judging->strata[i].cases] = 1;
        is_needed[judging->strata[i].visits] = 1;
    }
    for (int i = 0; i < 2; i++) {
        struct cpti_structure_set *set = &structure->sets[i];
        size_t kept = 0;
        size_t at = 0;

        for (size_t k = 0; k < set->request_count; k++) {
            for (; at < set->requests[k].end; at++) {
                if (is_needed[set->cells[at].part] != 0) {
                    set->cells[kept++] = set->cells[at];
                }
            }
            set->requests[k].end = kept;
        }
        set->cell_count = kept;
    }
    memset(judging->sums, 0, structure->part_count * sizeof *judging->sums);
}

/* --- What is told --- */

static enum cpti_structure_kind kind_of(const struct cpti_structure_row *row,
                                        unsigned what)
{
    switch (what) {
    case CPTI_STRUCTURE_BESIDE:
        return CPTI_STRUCTURE_ORDER;
    case CPTI_STRUCTURE_FAILED:
        return CPTI_STRUCTURE_FAILURES;
    default:
        break;
    }
    if (!row->is_repeated && row->cases[1] == 0) {
        return CPTI_STRUCTURE_CALL_VANISHED;
    }
    if (!row->is_repeated && row->cases[0] == 0) {
        return CPTI_STRUCTURE_CALL_NEW;
    }
    return row->shares[1] > row->shares[0] ? CPTI_STRUCTURE_CALLS_MORE
                                           : CPTI_STRUCTURE_CALLS_FEWER;
}

/* Whether @row is no trifle. */
static bool is_much(const struct cpti_structure_row *row)
{
    const double least = fmin(row->shares[0], row->shares[1]);
    const double most = fmax(row->shares[0], row->shares[1]);

    if (row->kind == CPTI_STRUCTURE_ORDER) {
        return most - least >= CPTI_STRUCTURE_ORDER_CHANGE;
    }
    return most - least >= CPTI_STRUCTURE_CHANGE * fmax(1, most) ||
           (row->kind == CPTI_STRUCTURE_FAILURES &&
            most >= CPTI_STRUCTURE_FACTOR * least);
}

static struct cpt_bytes name_of(const struct cpti_structure *structure, uint32_t number)
{
    return number == CPTI_STRUCTURE_NONE
               ? (struct cpt_bytes){"", 0}
               : cpt_path_frame_name(structure->table, number);
}

/* The part of @what of the calls of @child by the visits of @part. */
static uint32_t find_calls(const struct cpti_structure_judging *judging,
                           const struct cpti_structure_part *part,
                           enum cpti_structure_what what, uint32_t child)
{
    const struct cpti_structure_part calls = {.what = what,
                                              .parent = part->parent,
                                              .child = child,
                                              .second = CPTI_STRUCTURE_NONE,
                                              .entry = part->entry};

    return cpti_structure_find(judging->structure, &calls);
}

/* Calls beyond the first are told as all calls: adds the first ones, which are those of
 * the row of visits that make a call. */
static void add_first_calls(const struct cpti_structure_judging *judging,
                            const struct cpti_structure_stratum *stratum,
                            double counts[2])
{
    const struct cpti_structure_part *part = &judging->structure->parts[stratum->cases];
    const uint32_t called =
        find_calls(judging, part, CPTI_STRUCTURE_CALLED, part->child);

    for (int i = 0; i < 2 && called != CPTI_STRUCTURE_NONE; i++) {
        counts[i] += (double)judging->totals[i][called];
    }
}

/* The two calls of a row of order have no order. */
static void sort_names(struct cpti_structure_row *row)
{
    const struct cpt_bytes child = row->child;

    if (row->second.bytes > 0 && cpti_culprit_compare_names(child, row->second) > 0) {
        row->child = row->second;
        row->second = child;
    }
}

static struct cpti_structure_row row_of(const struct cpti_structure_judging *judging,
                                        const struct cpti_structure_tested *tested)
{
    const struct cpti_structure *structure = judging->structure;
    const struct cpti_structure_part *part =
        &structure->parts[judging->strata[tested->from].cases];
    struct cpti_structure_row row = {.is_repeated =
                                         part->what == CPTI_STRUCTURE_REPEATED,
                                     .parent = name_of(structure, part->parent),
                                     .child = name_of(structure, part->child),
                                     .second = name_of(structure, part->second),
                                     .p = cpti_structure_p(judging, tested->t),
                                     .t = tested->t};
    double weights = 0;

    for (uint32_t i = tested->from; i < tested->end; i++) {
        const struct cpti_structure_stratum *stratum = &judging->strata[i];
        double counts[2];
        double visits[2];

        for (int k = 0; k < 2; k++) {
            counts[k] = (double)judging->totals[k][stratum->cases];
            visits[k] = (double)judging->totals[k][stratum->visits];
        }
        if (row.is_repeated) {
            add_first_calls(judging, stratum, counts);
        }
        for (int k = 0; k < 2; k++) {
            row.visits[k] += (uint64_t)visits[k];
            row.cases[k] += (uint64_t)counts[k];
            row.shares[k] += counts[k] * visits[1 - k] / (visits[0] + visits[1]);
        }
        weights += visits[0] * visits[1] / (visits[0] + visits[1]);
    }
    row.shares[0] /= weights;
    row.shares[1] /= weights;
    row.kind = kind_of(&row, part->what);
    sort_names(&row);
    return row;
}

/* The surest first. */
static int compare_rows(const void *left, const void *right)
{
    const struct cpti_structure_row *a = left;
    const struct cpti_structure_row *b = right;
    int order;

    if (a->p != b->p) {
        return a->p < b->p ? -1 : 1;
    }
    if (fabs(a->t) != fabs(b->t)) {
        return fabs(a->t) > fabs(b->t) ? -1 : 1;
    }
    order = cpti_culprit_compare_names(a->parent, b->parent);
    order = order != 0 ? order : cpti_culprit_compare_names(a->child, b->child);
    order = order != 0 ? order : cpti_culprit_compare_names(a->second, b->second);
    return order != 0 ? order : cpti_structure_compare(a->kind, b->kind);
}

/* Whether it was told of calls of @child by the visits of @part. `sums` marks what was
 * told. */
static bool is_told(const struct cpti_structure_judging *judging,
                    const struct cpti_structure_part *part,
                    enum cpti_structure_what what, uint32_t child)
{
    const uint32_t number = find_calls(judging, part, what, child);

    return number != CPTI_STRUCTURE_NONE && judging->sums[number] != 0;
}

/* Whether a row that was told explains @tested: if fewer visits make a call, fewer make
 * it again; and if calls are more or fewer, so are those side by side. */
static bool is_explained(const struct cpti_structure_judging *judging,
                         const struct cpti_structure_tested *tested)
{
    const struct cpti_structure_part *part =
        &judging->structure->parts[judging->strata[tested->from].cases];

    switch (part->what) {
    case CPTI_STRUCTURE_REPEATED:
        return is_told(judging, part, CPTI_STRUCTURE_CALLED, part->child);
    case CPTI_STRUCTURE_BESIDE:
        return is_told(judging, part, CPTI_STRUCTURE_CALLED, part->child) ||
               is_told(judging, part, CPTI_STRUCTURE_CALLED, part->second) ||
               is_told(judging, part, CPTI_STRUCTURE_REPEATED, part->child) ||
               is_told(judging, part, CPTI_STRUCTURE_REPEATED, part->second);
    default:
        return false;
    }
}

/* Makes rows of what is told: in the order of enum cpti_structure_what, so that what
 * explains others comes first. */
static cpt_status tell(struct cpti_structure_judging *judging)
{
    struct cpti_structure *structure = judging->structure;

    memset(judging->sums, 0, structure->part_count * sizeof *judging->sums);
    structure->rows = cpt_alloc_array(structure->alloc, NULL, judging->tested_count,
                                      sizeof *structure->rows);
    if (structure->rows == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < judging->tested_count; i++) {
        const struct cpti_structure_tested *tested = &judging->tested[i];
        struct cpti_structure_row row;

        if (cpti_structure_p(judging, tested->t) > CPTI_STRUCTURE_P ||
            is_explained(judging, tested)) {
            continue;
        }
        row = row_of(judging, tested);
        if (is_much(&row)) {
            structure->rows[structure->row_count++] = row;
            for (uint32_t k = tested->from; k < tested->end; k++) {
                judging->sums[judging->strata[k].cases] = 1;
            }
        }
    }
    if (structure->row_count > 1) {
        qsort(structure->rows, structure->row_count, sizeof *structure->rows,
              compare_rows);
    }
    return CPT_OK;
}

/* --- All of it --- */

static cpt_status allocate(struct cpti_structure_judging *judging)
{
    const struct cpti_structure *structure = judging->structure;
    const struct cpt_alloc *alloc = structure->alloc;
    const size_t parts = structure->part_count + 1;
    const size_t units = judging->groups[0].count + judging->groups[1].count + 1;

    judging->totals[0] = cpt_alloc_zeroed(alloc, parts * sizeof(uint64_t));
    judging->totals[1] = cpt_alloc_zeroed(alloc, parts * sizeof(uint64_t));
    judging->sums = cpt_alloc_zeroed(alloc, parts * sizeof(uint64_t));
    judging->strata = cpt_alloc_array(alloc, NULL, parts, sizeof *judging->strata);
    judging->firsts = cpt_alloc_array(alloc, NULL, parts, sizeof(uint32_t));
    judging->nexts = cpt_alloc_array(alloc, NULL, parts, sizeof(uint32_t));
    judging->tested = cpt_alloc_array(alloc, NULL, parts, sizeof *judging->tested);
    judging->units = cpt_alloc_array(alloc, NULL, units, sizeof *judging->units);
    judging->blocks = cpt_alloc_array(alloc, NULL, units, sizeof *judging->blocks);
    judging->paired = cpt_alloc_array(alloc, NULL, units, sizeof *judging->paired);
    judging->largest =
        cpt_alloc_array(alloc, NULL, CPTI_CULPRIT_ROUNDS, sizeof *judging->largest);
    return judging->totals[0] != NULL && judging->totals[1] != NULL &&
                   judging->sums != NULL && judging->strata != NULL &&
                   judging->firsts != NULL && judging->nexts != NULL &&
                   judging->tested != NULL && judging->units != NULL &&
                   judging->blocks != NULL && judging->paired != NULL &&
                   judging->largest != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

static void deallocate(struct cpti_structure_judging *judging)
{
    const struct cpt_alloc *alloc = judging->structure->alloc;

    cpt_alloc_free(alloc, judging->totals[0]);
    cpt_alloc_free(alloc, judging->totals[1]);
    cpt_alloc_free(alloc, judging->sums);
    cpt_alloc_free(alloc, judging->strata);
    cpt_alloc_free(alloc, judging->firsts);
    cpt_alloc_free(alloc, judging->nexts);
    cpt_alloc_free(alloc, judging->tested);
    cpt_alloc_free(alloc, judging->units);
    cpt_alloc_free(alloc, judging->blocks);
    cpt_alloc_free(alloc, judging->paired);
    cpt_alloc_free(alloc, judging->largest);
}

cpt_status cpti_structure_judge(struct cpti_structure *structure,
                                const struct cpti_culprit_groups *groups,
                                bool has_clusters, uint64_t seed)
{
    struct cpti_structure_judging judging = {.structure = structure,
                                             .groups = groups,
                                             .has_clusters = has_clusters,
                                             .random = seed};
    cpt_status status = allocate(&judging);

    if (status == CPT_OK) {
        find_totals(&judging);
        find_strata(&judging);
        find_tested(&judging);
    }
    if (status == CPT_OK && judging.tested_count > 0) {
        drop_cells(&judging);
        if (cpti_structure_deal(&judging)) {
            status = tell(&judging);
        }
    }
    deallocate(&judging);
    return status;
}

bool cpti_structure_is_compared(const struct cpti_structure *structure)
{
    return structure->is_compared;
}

size_t cpti_structure_row_count(const struct cpti_structure *structure)
{
    return structure != NULL ? structure->row_count : 0;
}

const struct cpti_structure_row *
cpti_structure_row(const struct cpti_structure *structure, size_t index)
{
    return &structure->rows[index];
}

uint64_t cpti_structure_left_out(const struct cpti_structure *structure)
{
    return structure != NULL ? structure->left_out : 0;
}
