/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_structure_take.c - what the visits of a request do; see culprit_structure.h
 *
 * Segments stand in the order in which visits begin and end (span_all.c). A visit is
 * open from its first segment until one outside of it. Labels say when it began, and,
 * of the segment behind it, when it ended:
 *
 *      A   B@10  C  B   A@80   D@20   A@90        B from 10 to 80, D from 20 to 90
 *
 * Its calls are on a stack, above those of the visits that are open around it.
 */
#include "tool/culprit/culprit_structure_parts.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 256, TIMES_MAX = 1 << 22 };

/* Two calls may overlap by this part of the shorter one, as clocks differ. */
static const uint64_t overlap_part = 10;

/* --- Parts --- */

static uint64_t hash_of(const struct cpti_structure_part *part)
{
    uint64_t hash = cpti_hash_mix((uint64_t)part->what << 32 | part->parent);

    hash = cpti_hash_mix(hash ^ ((uint64_t)part->child << 32 | part->second));
    return cpti_hash_mix(hash ^ part->entry);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    return hash_of(&((const struct cpti_structure *)owner)->parts[number]);
}

static bool is_same(const struct cpti_structure_part *a,
                    const struct cpti_structure_part *b)
{
    return a->what == b->what && a->parent == b->parent && a->child == b->child &&
           a->second == b->second && a->entry == b->entry;
}

/* Adds @part, which is not there. */
static cpt_status add_part(struct cpti_structure *structure,
                           const struct cpti_structure_part *part)
{
    void *parts = structure->parts;
    cpt_status status = cpt_alloc_grow(
        structure->alloc, &parts, &structure->part_capacity, structure->part_count + 1,
        CPTI_STRUCTURE_PARTS_MAX, sizeof *structure->parts);

    structure->parts = parts;
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&structure->index, structure->part_count, 2)) {
        status = cpti_hash_index_grow(&structure->index, structure->alloc, FIRST_SLOTS,
                                      structure->part_count, hash_at, structure);
    }
    if (status == CPT_OK) {
        structure->parts[structure->part_count] = *part;
        cpti_hash_index_put(&structure->index, hash_of(part), structure->part_count++);
    }
    return status;
}

uint32_t cpti_structure_find(const struct cpti_structure *structure,
                             const struct cpti_structure_part *part)
{
    const struct cpti_hash_index *index = &structure->index;
    size_t slot;

    if (index->slot_count == 0) {
        return CPTI_STRUCTURE_NONE;
    }
    slot = cpti_hash_index_first(index, hash_of(part));
    while (index->slots[slot] != 0 &&
           !is_same(&structure->parts[index->slots[slot] - 1], part)) {
        slot = cpti_hash_index_next(index, slot);
    }
    return index->slots[slot] != 0 ? index->slots[slot] - 1 : CPTI_STRUCTURE_NONE;
}

/* Sets *@number to the part that is as @part; *@number is NONE if there is no room. */
static cpt_status find_part(struct cpti_structure *structure,
                            const struct cpti_structure_part *part, uint32_t *number)
{
    cpt_status status = CPT_OK;

    *number = cpti_structure_find(structure, part);
    if (*number == CPTI_STRUCTURE_NONE) {
        *number = (uint32_t)structure->part_count;
        status = add_part(structure, part);
    }
    if (status == CPT_LIMIT) {
        *number = CPTI_STRUCTURE_NONE;
        structure->is_cut = true;
    }
    return status == CPT_LIMIT ? CPT_OK : status;
}

/* Counts @times of a part of the request; *@number is its number. */
static cpt_status count_part(struct cpti_structure *structure,
                             const struct cpti_structure_part *part, size_t times,
                             uint32_t *number)
{
    void *touched = structure->touched;
    cpt_status status = find_part(structure, part, number);
    struct cpti_structure_part *found;

    if (status != CPT_OK || *number == CPTI_STRUCTURE_NONE || times == 0) {
        return status;
    }
    found = &structure->parts[*number];
    if (found->count == 0) {
        status =
            cpt_alloc_grow(structure->alloc, &touched, &structure->touched_capacity,
                           structure->touched_count + 1, CPTI_STRUCTURE_PARTS_MAX,
                           sizeof *structure->touched);
        structure->touched = touched;
        if (status != CPT_OK) {
            return status;
        }
        structure->touched[structure->touched_count++] = *number;
    }
    found->count += times < TIMES_MAX ? (uint32_t)times : TIMES_MAX;
    return CPT_OK;
}

/* Counts @times cases of @what among the visits of part @among, if that has room. */
static cpt_status count_cases(struct cpti_structure *structure,
                              enum cpti_structure_what what, uint32_t among,
                              uint32_t child, uint32_t second, size_t times)
{
    struct cpti_structure_part part;
    uint32_t number;

    if (among == CPTI_STRUCTURE_NONE) {
        return CPT_OK;
    }
    part = (struct cpti_structure_part){.what = what,
                                        .parent = structure->parts[among].parent,
                                        .child = child,
                                        .second = second,
                                        .entry = structure->entry,
                                        .among = among};
    return count_part(structure, &part, times, &number);
}

/* --- A visit that has ended --- */

static int compare_calls(const void *left, const void *right)
{
    const struct cpti_structure_call *a = left;
    const struct cpti_structure_call *b = right;

    if (a->operation != b->operation) {
        return a->operation < b->operation ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* The calls of one operation by a visit, in the order of time. */
struct run {
    const struct cpti_structure_call *calls;
    size_t count;
};

static bool have_times(const struct run *run)
{
    bool have = true;

    for (size_t i = 0; i < run->count; i++) {
        have = have && run->calls[i].has_times;
    }
    return have;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Whether two calls overlap, of which @later began later. */
static bool overlap(const struct cpti_structure_call *call,
                    const struct cpti_structure_call *later)
{
    const uint64_t end_ns = smaller(call->end_ns, later->end_ns);
    const uint64_t shorter_ns =
        smaller(call->end_ns - call->begin_ns, later->end_ns - later->begin_ns);

    return end_ns > later->begin_ns &&
           end_ns - later->begin_ns > shorter_ns / overlap_part;
}

/* Whether a call of @a overlaps one of @b, of those before it the one that ends last;
 * or two of them if both are the same. */
static bool are_beside(const struct run *a, const struct run *b)
{
    const struct run *runs[2] = {a, b};
    const struct cpti_structure_call *last[2] = {NULL, NULL};
    size_t at[2] = {0, a == b ? a->count : 0};

    while (at[0] < a->count || at[1] < b->count) {
        const unsigned next =
            at[1] == b->count || (at[0] < a->count &&
                                  a->calls[at[0]].begin_ns <= b->calls[at[1]].begin_ns)
                ? 0
                : 1;
        const unsigned other = a == b ? 0 : 1 - next;
        const struct cpti_structure_call *call = &runs[next]->calls[at[next]++];

        if (last[other] != NULL && overlap(last[other], call)) {
            return true;
        }
        if (last[next] == NULL || call->end_ns > last[next]->end_ns) {
            last[next] = call;
        }
    }
    return false;
}

/* Counts whether calls of two operations, or those of one, are side by side. */
static cpt_status count_order(struct cpti_structure *structure, uint32_t visits,
                              const struct run *a, const struct run *b)
{
    struct cpti_structure_part both = {.what = CPTI_STRUCTURE_BOTH,
                                       .parent = structure->parts[visits].parent,
                                       .child = a->calls->operation,
                                       .second = b->calls->operation,
                                       .entry = structure->entry,
                                       .among = (uint32_t)structure->part_count};
    uint32_t number;
    cpt_status status;

    if (!have_times(a) || !have_times(b) || (a == b && a->count < 2)) {
        return CPT_OK;
    }
    status = count_part(structure, &both, 1, &number);
    return status == CPT_OK && are_beside(a, b)
               ? count_cases(structure, CPTI_STRUCTURE_BESIDE, number, both.child,
                             both.second, 1)
               : status;
}

/* Counts the calls of a visit, which are sorted, by operation. */
static cpt_status count_calls(struct cpti_structure *structure, uint32_t visits,
                              const struct cpti_structure_call *calls, size_t count)
{
    struct run runs[CPTI_STRUCTURE_CALLEES_MAX];
    size_t run_count = 0;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK;) {
        const uint32_t operation = calls[i].operation;
        size_t end = i;

        while (end < count && calls[end].operation == operation) {
            end++;
        }
        if (run_count < CPTI_STRUCTURE_CALLEES_MAX) {
            runs[run_count++] = (struct run){.calls = &calls[i], .count = end - i};
        }
        status = count_cases(structure, CPTI_STRUCTURE_CALLED, visits, operation,
                             CPTI_STRUCTURE_NONE, 1);
        if (status == CPT_OK && end - i > 1) {
            status = count_cases(structure, CPTI_STRUCTURE_REPEATED, visits, operation,
                                 CPTI_STRUCTURE_NONE, end - i - 1);
        }
        i = end;
    }
    for (size_t i = 0; i < run_count; i++) {
        for (size_t k = i; k < run_count && status == CPT_OK; k++) {
            status = count_order(structure, visits, &runs[i], &runs[k]);
        }
    }
    return status;
}

/* Makes @visit, whose end is @end_ns if @has_end, a call of the visit around it. */
static cpt_status add_call(struct cpti_structure *structure,
                           const struct cpti_structure_visit *visit, bool has_end,
                           uint64_t end_ns)
{
    const bool has_times = has_end && visit->has_begin && visit->begin_ns <= end_ns;
    void *calls = structure->calls;
    cpt_status status = cpt_alloc_grow(
        structure->alloc, &calls, &structure->call_capacity, structure->call_count + 1,
        CPT_PATH_SEGMENTS_MAX, sizeof *structure->calls);

    structure->calls = calls;
    if (status == CPT_OK) {
        structure->calls[structure->call_count++] =
            (struct cpti_structure_call){.begin_ns = visit->begin_ns,
                                         .end_ns = end_ns,
                                         .operation = visit->operation,
                                         .has_times = has_times};
    }
    return status;
}

/* Counts a visit of @operation; *@number is the part that it counts for. */
static cpt_status count_visit(struct cpti_structure *structure,
                              enum cpti_structure_what what, uint32_t operation,
                              uint32_t *number)
{
    const struct cpti_structure_part part = {.what = what,
                                             .parent = operation,
                                             .child = CPTI_STRUCTURE_NONE,
                                             .second = CPTI_STRUCTURE_NONE,
                                             .entry = structure->entry,
                                             .among = (uint32_t)structure->part_count};

    return count_part(structure, &part, 1, number);
}

/* Ends the innermost visit. */
static cpt_status close_visit(struct cpti_structure *structure, bool has_end,
                              uint64_t end_ns)
{
    const struct cpti_structure_visit visit = structure->open[--structure->open_count];
    const size_t count = structure->call_count - visit.calls_at;
    uint32_t visits = CPTI_STRUCTURE_NONE;
    uint32_t known = CPTI_STRUCTURE_NONE;
    cpt_status status =
        count_visit(structure, CPTI_STRUCTURE_VISITS, visit.operation, &visits);

    if (status == CPT_OK && (visit.is_known || !visit.is_blind)) {
        status = count_visit(structure, CPTI_STRUCTURE_KNOWN, visit.operation, &known);
    }
    if (count > 1) {
        qsort(structure->calls + visit.calls_at, count, sizeof *structure->calls,
              compare_calls);
    }
    if (status == CPT_OK && count > 0 && known != CPTI_STRUCTURE_NONE) {
        status =
            count_calls(structure, known, structure->calls + visit.calls_at, count);
    }
    if (status == CPT_OK && visit.is_failed && !visit.has_failed_call) {
        status = count_cases(structure, CPTI_STRUCTURE_FAILED, visits,
                             CPTI_STRUCTURE_NONE, CPTI_STRUCTURE_NONE, 1);
    }
    structure->call_count = visit.calls_at;
    if (status == CPT_OK && structure->open_count > 0) {
        structure->open[structure->open_count - 1].has_failed_call |= visit.is_failed;
        status = add_call(structure, &visit, has_end, end_ns);
    }
    return status;
}

/* --- The visits of a path --- */

/* Finds the frames where visits begin: those of another service than the one above. */
static cpt_status find_roots(struct cpti_structure *structure,
                             const struct cpt_path *path)
{
    const size_t count = cpt_path_frame_count(path);
    void *roots = structure->roots;
    cpt_status status =
        cpt_alloc_grow(structure->alloc, &roots, &structure->root_capacity, count,
                       CPT_PATH_FRAMES_MAX, sizeof *structure->roots);

    structure->roots = roots;
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const bool is_inside =
            frame->parent != CPT_FRAME_NONE &&
            (frame->kind != CPT_KIND_WORK ||
             cpt_bytes_equal(cpt_path_frame_service(path, i),
                             cpt_path_frame_service(path, frame->parent)));

        structure->roots[i] = is_inside ? structure->roots[frame->parent] : i;
    }
    return status;
}

/* Begins the visit of frame @root. */
static cpt_status open_visit(struct cpti_structure *structure,
                             const struct cpt_path *path, uint32_t root)
{
    struct cpti_structure_visit visit = {.root = root,
                                         .calls_at = structure->call_count};
    void *open = structure->open;
    cpt_status status = cpt_alloc_grow(
        structure->alloc, &open, &structure->open_capacity, structure->open_count + 1,
        CPT_PATH_DEPTH_MAX, sizeof *structure->open);

    structure->open = open;
    if (status == CPT_OK) {
        status = cpt_path_frame_add(structure->table, CPT_FRAME_NONE,
                                    cpt_path_frame_name(path, root), CPT_KIND_WORK,
                                    &visit.operation);
    }
    if (status == CPT_OK) {
        structure->open[structure->open_count++] = visit;
    }
    return status;
}

/* What the labels of a segment say. */
struct marks {
    uint64_t begin_ns;
    bool has_begin;
    bool is_failed;
    bool is_of_caller; /* a span of the callee begins only when the call arrives */
};

/* Ends the visits that @root is not within, and begins those that it is. */
static cpt_status enter(struct cpti_structure *structure, const struct cpt_path *path,
                        uint32_t root, const struct marks *marks)
{
    size_t chain_count = 0;
    size_t same = 0;
    size_t before = structure->open_count;
    cpt_status status = CPT_OK;

    if (before > 0 && structure->open[before - 1].root == root) {
        return CPT_OK;
    }
    for (uint32_t i = root; i != CPT_FRAME_NONE;) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;

        structure->chain[chain_count++] = i;
        i = parent == CPT_FRAME_NONE ? CPT_FRAME_NONE : structure->roots[parent];
    }
    while (same < before && same < chain_count &&
           structure->open[same].root == structure->chain[chain_count - 1 - same]) {
        same++;
    }
    while (structure->open_count > same && status == CPT_OK) {
        status = close_visit(structure,
                             marks->has_begin && structure->open_count == same + 1 &&
                                 same == chain_count,
                             marks->begin_ns);
    }
    for (size_t i = same; i < chain_count && status == CPT_OK; i++) {
        status = open_visit(structure, path, structure->chain[chain_count - 1 - i]);
    }
    if (status == CPT_OK && same < chain_count && marks->has_begin &&
        marks->is_of_caller) {
        structure->open[chain_count - 1].begin_ns = marks->begin_ns;
        structure->open[chain_count - 1].has_begin = true;
    }
    return status;
}

/* The labels of segment @segment; *@label is the first that was not looked at. */
static struct marks marks_of(const struct cpt_path *path, size_t segment, size_t *label)
{
    struct marks marks = {
        .is_of_caller =
            cpt_path_frame(path, cpt_path_segment(path, segment)->frame)->kind !=
            CPT_KIND_WORK};

    while (*label < cpt_path_label_count(path) &&
           cpt_path_label(path, *label)->segment <= segment) {
        const struct cpt_label *at = cpt_path_label(path, (*label)++);

        if (at->segment == segment && at->key == CPT_LABEL_BEGIN) {
            marks.begin_ns = at->value;
            marks.has_begin = true;
        }
        marks.is_failed |= at->segment == segment && at->key == CPT_LABEL_STATUS;
    }
    return marks;
}

/* Whether @frame is the one where the visit of @root begins, or its call. */
static bool is_at_root(const struct cpt_path *path, uint32_t frame, uint32_t root)
{
    return frame == root || (cpt_path_frame(path, frame)->kind != CPT_KIND_WORK &&
                             cpt_path_frame(path, frame)->parent == root);
}

static cpt_status take_segments(struct cpti_structure *structure,
                                const struct cpt_path *path)
{
    cpt_status status = CPT_OK;
    size_t label = 0;

    structure->open_count = 0;
    structure->call_count = 0;
    for (size_t i = 0; i < cpt_path_segment_count(path) && status == CPT_OK; i++) {
        const uint32_t frame = cpt_path_segment(path, i)->frame;
        const uint32_t root = structure->roots[frame];
        const struct marks marks = marks_of(path, i, &label);

        status = enter(structure, path, root, &marks);
        if (status == CPT_OK) {
            struct cpti_structure_visit *visit =
                &structure->open[structure->open_count - 1];
            const bool is_blind =
                cpt_path_frame(path, frame)->kind == CPT_KIND_BLIND_SPOT;

            visit->is_blind |= is_blind;
            visit->is_known |= !is_blind;
            visit->is_failed |= marks.is_failed && is_at_root(path, frame, root);
        }
    }
    while (structure->open_count > 0 && status == CPT_OK) {
        status = close_visit(structure, false, 0);
    }
    return status;
}

/* --- A request --- */

/* Makes cells of the counts, and forgets these. */
static cpt_status add_cells(struct cpti_structure *structure,
                            struct cpti_structure_set *set, bool are_kept)
{
    void *cells = set->cells;
    cpt_status status = CPT_OK;

    if (are_kept) {
        status = cpt_alloc_grow(structure->alloc, &cells, &set->cell_capacity,
                                set->cell_count + structure->touched_count,
                                CPTI_STRUCTURE_CELLS_MAX, sizeof *set->cells);
        set->cells = cells;
    }
    for (size_t i = 0; i < structure->touched_count; i++) {
        struct cpti_structure_part *part = &structure->parts[structure->touched[i]];

        if (are_kept && status == CPT_OK) {
            set->cells[set->cell_count++] = (struct cpti_structure_cell){
                .part = structure->touched[i], .count = part->count};
        }
        part->count = 0;
    }
    structure->touched_count = 0;
    return status;
}

static cpt_status take(struct cpti_structure *structure, const struct cpt_path *path)
{
    void *chain = structure->chain;
    cpt_status status = cpt_alloc_grow(structure->alloc, &chain,
                                       &structure->chain_capacity, CPT_PATH_DEPTH_MAX,
                                       CPT_PATH_DEPTH_MAX, sizeof *structure->chain);

    structure->chain = chain;
    if (status == CPT_OK) {
        status = find_roots(structure, path);
    }
    if (status == CPT_OK && cpt_path_frame_count(path) > 0) {
        status = cpt_path_frame_add(structure->table, CPT_FRAME_NONE,
                                    cpt_path_frame_name(path, 0), CPT_KIND_WORK,
                                    &structure->entry);
    }
    return status == CPT_OK ? take_segments(structure, path) : status;
}

cpt_status cpti_structure_add(struct cpti_structure *structure,
                              enum cpti_culprit_side side, const struct cpt_path *path)
{
    struct cpti_structure_set *set = &structure->sets[side];
    void *requests = set->requests;
    cpt_status added;
    cpt_status status = cpt_alloc_grow(structure->alloc, &requests,
                                       &set->request_capacity, set->request_count + 1,
                                       CPTI_CULPRIT_SAMPLES_MAX, sizeof *set->requests);

    set->requests = requests;
    if (status != CPT_OK) {
        return status;
    }
    structure->is_cut = false;
    structure->entry = CPTI_STRUCTURE_NONE;
    status = take(structure, path);
    added = add_cells(structure, set, status == CPT_OK);
    if (status == CPT_NO_MEMORY || added == CPT_NO_MEMORY) {
        return CPT_NO_MEMORY;
    }
    structure->left_out += status != CPT_OK || added != CPT_OK || structure->is_cut;
    set->requests[set->request_count++] = (struct cpti_structure_request){
        .end = set->cell_count, .entry = structure->entry};
    return CPT_OK;
}
