/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_fit.c - a path cut down to a byte budget: what goes first, and why
 *
 * A response with too long a header is lost to the user, so the budget is hard. A path
 * that exceeds it loses detail, never time: a merged segment keeps the sum, a count and
 * CPT_SEGMENT_FOLDED, and the largest drag, if drags were asked for. The steps go from
 * the detail that a reader misses least to the one that is missed most, and stop as
 * soon as the path fits:
 *
 *   1  Neighbours with the same stack become one. Only the single durations are lost.
 *   2  Labels are dropped: they are remarks and carry no time.
 *   3  All segments of one stack become one, at the place of the first; the path is
 *      CPT_PATH_UNORDERED. Order goes before names: if leaves were folded first, a loop
 *      of calls (A, A;B, A, A;B, …) would be merged into A before a byte is saved.
 *   4  The leaf with the smallest sum is folded into its parent's ‹folded›, repeatedly:
 *
 *        A: /             5                       A: /             5
 *        |- A: parse     30     smallest leaf:    |- A: parse     30
 *        |- B: Get       20     B: Disk, 2        |- B: Get       20
 *        |  |- B: Disk    2                       |  |- B: ‹folded› 2
 *        |  '- B: Cache   7     then B: Cache,    |  '- B: Cache   7
 *
 *      A frame with no child but ‹folded› is a leaf, and ‹folded› goes with it. So in
 *      the end only the roots are left, each with its ‹folded›.
 *   5  Only the sum: for the caller a blind spot with reason size.
 *
 * Ties go to the stack whose bytes come first: frames are compared root first, by name
 * (memcmp, a prefix first) and then by kind. So the same path gives the same bytes on
 * every machine.
 *
 * Step 4 takes leaves from a heap by sum. Numbering the frames again after each leaf,
 * to get the exact size, would cost leaves × frames, which a hostile callee could make
 * long. So a lower bound of the size, the *floor*, is updated in constant time for each
 * leaf: the bytes of all names, two for each frame, for each segment the bytes of its
 * duration and one more, and what is there once. Once the floor is within the budget,
 * some hundreds of frames are left at most, and from there on the size is measured
 * after each leaf. The floor never exceeds the size, so nothing is folded without need.
 *
 * Cost: n log n in the frames, and about budget² / 10 at worst for the last part.
 */
#include "wire/metadata/metadata_form.h"

#include "wire/metadata/varint.h"

#include <assert.h>
#include <string.h>

/* Tag and length of the four columns that are never empty, and with a byte each of the
 * two that have the kind and the flag of what was folded. */
enum { COLUMN_HEADS_BYTES = 4 * 2 + 2 * 3 };

#define NO_SEGMENT UINT32_MAX

/* --- Steps 1 to 3: the same stacks --- */

/* The merged segment keeps the larger drag, as far as one is known: what both together
 * would gain is at least that. */
static void merge_drags(struct cpti_form *form, size_t to, size_t from)
{
    uint64_t *drags = form->drags;

    if (drags != NULL && drags[from] != CPT_DRAG_UNKNOWN &&
        (drags[to] == CPT_DRAG_UNKNOWN || drags[to] < drags[from])) {
        drags[to] = drags[from];
    }
}

/* Moves segment @from to the place @to, which is not behind it. */
static void move_segment(struct cpti_form *form, size_t to, size_t from)
{
    form->segments[to] = form->segments[from];
    if (form->drags != NULL) {
        form->drags[to] = form->drags[from];
    }
}

/* Merges segment @index into @to, of the same stack or not. */
static void merge_segment(struct cpti_form *form, size_t to, size_t index)
{
    struct cpt_segment *into = &form->segments[to];
    const struct cpt_segment *from = &form->segments[index];

    merge_drags(form, to, index);
    into->duration_ns += from->duration_ns;
    into->count =
        from->count > UINT32_MAX - into->count ? UINT32_MAX : into->count + from->count;
    into->flags = (uint16_t)(into->flags | from->flags | CPT_SEGMENT_FOLDED);
    if (into->reason != from->reason) {
        into->reason = CPT_REASON_NONE;
    }
}

/* The first label from @label on that belongs to a segment after @segment. */
static size_t skip_labels(const struct cpti_form *form, size_t label, size_t segment)
{
    while (label < form->label_count && form->labels[label].segment <= segment) {
        label++;
    }
    return label;
}

/* Step 1. Labels of merged segments are dropped, as they would seem to belong to all of
 * them; the other labels follow their segments. */
static void merge_neighbours(struct cpti_form *form)
{
    size_t kept = 0;       /* segments so far */
    size_t kept_label = 0; /* labels so far */
    size_t label = 0;

    for (size_t i = 0; i < form->segment_count;) {
        const size_t end_label = skip_labels(form, label, i);
        size_t next = i + 1;

        move_segment(form, kept, i);
        while (next < form->segment_count &&
               form->segments[next].frame == form->segments[kept].frame) {
            merge_segment(form, kept, next++);
        }
        for (; next == i + 1 && label < end_label; label++) {
            form->labels[kept_label] = form->labels[label];
            form->labels[kept_label++].segment = (uint32_t)kept;
        }
        label = skip_labels(form, label, next - 1);
        kept++;
        i = next;
    }
    form->segment_count = kept;
    form->label_count = kept_label;
}

/* Step 3. Writes the segment of each frame to @segments. */
static void merge_stacks(struct cpti_form *form, uint32_t *segments)
{
    size_t kept = 0;

    memset(segments, 0xff, 2 * form->frame_count * sizeof *segments); /* NO_SEGMENT */
    for (size_t i = 0; i < form->segment_count; i++) {
        const uint32_t frame = form->segments[i].frame;

        if (segments[frame] != NO_SEGMENT) {
            merge_segment(form, segments[frame], i);
        } else {
            segments[frame] = (uint32_t)kept;
            move_segment(form, kept++, i);
        }
    }
    form->segment_count = kept;
    form->flags |= CPT_PATH_UNORDERED;
}

/* --- Step 4: the smallest leaves --- */

/* A frame while leaves are folded. */
struct leaf {
    uint32_t segment;     /* its segment, or NO_SEGMENT */
    uint32_t folded;      /* the frame of its ‹folded›, or CPT_FRAME_NONE */
    uint32_t child_count; /* children that are in use, without its ‹folded› */
    bool is_folded;       /* it is the ‹folded› of its parent, without children */
    uint64_t sum_ns; /* key in the heap: its own time and that of its ‹folded› */
};

struct folding {
    struct cpti_form *form;
    struct leaf *leaves; /* by frame */
    uint32_t *heap;      /* of frames that are leaves, the smallest at 0 */
    size_t heap_count;
    uint32_t *name_use_count; /* frames in use, by name */
    size_t floor_bytes;
};

static size_t name_bytes(const struct folding *folding, cpt_name_id name)
{
    const size_t bytes =
        name == CPTI_NAME_NONE ? 0 : cpt_path_name(folding->form->path, name).bytes;

    return bytes == 0 ? 0 : 1 + cpti_varint_bytes(bytes) + bytes;
}

static size_t segment_floor(const struct cpt_segment *segment)
{
    return 1 + cpti_varint_bytes(segment->duration_ns);
}

static void use_frame(struct folding *folding, uint32_t frame)
{
    const cpt_name_id name = folding->form->frames[frame].name;

    folding->floor_bytes += 2;
    if (name != CPTI_NAME_NONE && folding->name_use_count[name]++ == 0) {
        folding->floor_bytes += name_bytes(folding, name);
    }
}

static void drop_frame(struct folding *folding, uint32_t frame)
{
    const cpt_name_id name = folding->form->frames[frame].name;

    folding->floor_bytes -= 2;
    if (name != CPTI_NAME_NONE && --folding->name_use_count[name] == 0) {
        folding->floor_bytes -= name_bytes(folding, name);
    }
}

static struct cpt_bytes frame_name(const struct cpti_form *form, uint32_t frame)
{
    const cpt_name_id name = form->frames[frame].name;

    return name == CPTI_NAME_NONE ? (struct cpt_bytes){"", 0}
                                  : cpt_path_name(form->path, name);
}

static int compare_frames(const struct cpti_form *form, uint32_t left, uint32_t right)
{
    const struct cpt_bytes a = frame_name(form, left);
    const struct cpt_bytes b = frame_name(form, right);
    const size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = common != 0 ? memcmp(a.data, b.data, common) : 0;

    if (order != 0) {
        return order;
    }
    if (a.bytes != b.bytes) {
        return a.bytes < b.bytes ? -1 : 1;
    }
    return (int)form->frames[left].kind - (int)form->frames[right].kind;
}

/* Compares the stacks of two frames, root first; a prefix comes first. */
static int compare_stacks(const struct cpti_form *form, uint32_t left, uint32_t right)
{
    const struct cpt_frame *frames = form->frames;
    const int deeper = (int)frames[left].depth - (int)frames[right].depth;

    while (frames[left].depth > frames[right].depth) {
        left = frames[left].parent;
    }
    while (frames[right].depth > frames[left].depth) {
        right = frames[right].parent;
    }
    if (left == right) {
        return deeper;
    }
    while (frames[left].parent != frames[right].parent) {
        left = frames[left].parent;
        right = frames[right].parent;
    }
    return compare_frames(form, left, right);
}

static bool is_before(const struct folding *folding, uint32_t left, uint32_t right)
{
    const uint64_t left_ns = folding->leaves[left].sum_ns;
    const uint64_t right_ns = folding->leaves[right].sum_ns;

    if (left_ns != right_ns) {
        return left_ns < right_ns;
    }
    return compare_stacks(folding->form, left, right) < 0;
}

static void heap_push(struct folding *folding, uint32_t frame)
{
    uint32_t *heap = folding->heap;
    size_t at = folding->heap_count++;

    while (at != 0 && is_before(folding, frame, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = frame;
}

static uint32_t heap_pop(struct folding *folding)
{
    uint32_t *heap = folding->heap;
    const uint32_t smallest = heap[0];
    const uint32_t last = heap[--folding->heap_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < folding->heap_count &&
            is_before(folding, heap[child + 1], heap[child])) {
            child++;
        }
        if (child >= folding->heap_count || !is_before(folding, heap[child], last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return smallest;
}

static uint64_t own_ns(const struct folding *folding, uint32_t frame)
{
    const uint32_t segment = folding->leaves[frame].segment;

    return segment == NO_SEGMENT ? 0 : folding->form->segments[segment].duration_ns;
}

static uint64_t leaf_ns(const struct folding *folding, uint32_t frame)
{
    const uint32_t folded = folding->leaves[frame].folded;

    return own_ns(folding, frame) +
           (folded != CPT_FRAME_NONE ? own_ns(folding, folded) : 0);
}

/* Pushes @frame on the heap if it is a leaf; roots are never folded. */
static void push_if_leaf(struct folding *folding, uint32_t frame)
{
    struct leaf *leaf = &folding->leaves[frame];

    if (leaf->child_count == 0 && !leaf->is_folded &&
        folding->form->frames[frame].parent != CPT_FRAME_NONE) {
        leaf->sum_ns = leaf_ns(folding, frame);
        heap_push(folding, frame);
    }
}

/*
 * Pops the smallest leaf. A leaf that is a ‹folded› and had children may have received
 * time of its siblings while it was on the heap; then it goes back with its new sum.
 * Sums only grow, so the first leaf with an unchanged sum is the smallest.
 */
static uint32_t pop_smallest(struct folding *folding)
{
    for (;;) {
        const uint32_t frame = heap_pop(folding);
        const uint64_t sum_ns = leaf_ns(folding, frame);

        if (sum_ns == folding->leaves[frame].sum_ns) {
            return frame;
        }
        folding->leaves[frame].sum_ns = sum_ns;
        heap_push(folding, frame);
    }
}

/* The ‹folded› of @parent, which is added if there is none. */
static uint32_t folded_of(struct folding *folding, uint32_t parent)
{
    struct cpti_form *form = folding->form;
    struct leaf *leaf = &folding->leaves[parent];

    if (leaf->folded == CPT_FRAME_NONE) {
        leaf->folded = (uint32_t)form->frame_count++;
        form->frames[leaf->folded] =
            (struct cpt_frame){.parent = parent,
                               .name = CPTI_NAME_NONE,
                               .kind = CPT_KIND_FOLDED,
                               .depth = (uint16_t)(form->frames[parent].depth + 1)};
        folding->leaves[leaf->folded] = (struct leaf){
            .segment = NO_SEGMENT, .folded = CPT_FRAME_NONE, .is_folded = true};
        use_frame(folding, leaf->folded);
    }
    return leaf->folded;
}

/* Moves the time of frame @from, if it has any, to frame @to. A segment that becomes
 * empty keeps 0 ns until sweep() removes it. */
static void move_time(struct folding *folding, uint32_t from, uint32_t to)
{
    struct cpt_segment *segments = folding->form->segments;
    struct leaf *source = &folding->leaves[from];
    struct leaf *target = &folding->leaves[to];

    if (source->segment == NO_SEGMENT) {
        return;
    }
    if (target->segment == NO_SEGMENT) {
        target->segment = source->segment;
        segments[target->segment].frame = to;
        segments[target->segment].reason = CPT_REASON_NONE;
        segments[target->segment].flags |= CPT_SEGMENT_FOLDED;
    } else {
        folding->floor_bytes -= segment_floor(&segments[source->segment]);
        folding->floor_bytes -= segment_floor(&segments[target->segment]);
        merge_segment(folding->form, target->segment, source->segment);
        folding->floor_bytes += segment_floor(&segments[target->segment]);
        segments[source->segment].duration_ns = 0;
    }
    source->segment = NO_SEGMENT;
}

/* Folds one leaf into its parent. */
static void fold_leaf(struct folding *folding, uint32_t frame)
{
    const uint32_t parent = folding->form->frames[frame].parent;
    const uint32_t folded = folded_of(folding, parent);
    struct leaf *leaf = &folding->leaves[frame];

    if (leaf->folded != CPT_FRAME_NONE) {
        move_time(folding, leaf->folded, folded);
        drop_frame(folding, leaf->folded);
        leaf->folded = CPT_FRAME_NONE;
    }
    if (folded == frame) { /* a ‹folded› that had children stays, without them */
        leaf->is_folded = true;
    } else {
        move_time(folding, frame, folded);
        drop_frame(folding, frame);
    }
    folding->leaves[parent].child_count--;
    push_if_leaf(folding, parent);
}

/* Removes empty segments. */
static void sweep(struct cpti_form *form, struct leaf *leaves)
{
    size_t kept = 0;

    for (size_t i = 0; i < form->segment_count; i++) {
        if (form->segments[i].duration_ns != 0) {
            leaves[form->segments[i].frame].segment = (uint32_t)kept;
            move_segment(form, kept++, i);
        }
    }
    form->segment_count = kept;
}

/* Whether a frame is such as folding adds; a callee may also have sent one. */
static bool is_folded_frame(const struct cpti_form *form, uint32_t frame)
{
    return form->frames[frame].kind == CPT_KIND_FOLDED &&
           frame_name(form, frame).bytes == 0 &&
           form->frames[frame].parent != CPT_FRAME_NONE;
}

/* Fills in the leaves. Children stand behind their parents, so this goes backwards. */
static void link_leaves(struct folding *folding, const uint32_t *segments)
{
    struct cpti_form *form = folding->form;

    for (size_t i = 0; i < form->frame_count; i++) {
        folding->leaves[i] =
            (struct leaf){.segment = segments[i], .folded = CPT_FRAME_NONE};
    }
    for (uint32_t i = (uint32_t)form->frame_count; i-- > 0;) {
        struct leaf *leaf = &folding->leaves[i];
        const uint32_t parent = form->frames[i].parent;

        if (leaf->segment == NO_SEGMENT && leaf->child_count == 0 &&
            leaf->folded == CPT_FRAME_NONE) {
            continue; /* not in use */
        }
        use_frame(folding, i);
        if (is_folded_frame(form, i)) {
            folding->leaves[parent].folded = i;
            leaf->is_folded = leaf->child_count == 0 && leaf->folded == CPT_FRAME_NONE;
        }
        if (parent != CPT_FRAME_NONE && !leaf->is_folded) {
            folding->leaves[parent].child_count++;
        }
        if (leaf->segment != NO_SEGMENT) {
            folding->floor_bytes += segment_floor(&form->segments[leaf->segment]);
        }
    }
    for (uint32_t i = 0; i < form->frame_count; i++) {
        if (form->frame_numbers[i] != 0) {
            push_if_leaf(folding, i);
        }
    }
}

/* A form and the room for its message. */
struct fitting {
    struct cpti_form *form;
    unsigned char *data;
    size_t bytes_max;
    size_t bytes; /* written */
};

/* CPT_OK if the form fits as it is, and is written; CPT_LIMIT if not. */
static cpt_status try_write(struct fitting *fitting)
{
    fitting->bytes = cpti_form_write(fitting->form, fitting->data, fitting->bytes_max);
    return fitting->bytes != 0 ? CPT_OK : CPT_LIMIT;
}

/* The bytes of the fields beside the columns. */
static size_t scalar_bytes(const struct cpti_form *form)
{
    const uint64_t sum_ns = cpt_path_sum_ns(form->path);
    size_t bytes = 1 + cpti_varint_bytes(CPT_METADATA_VERSION);

    if (form->has_server_elapsed) {
        bytes += 1 + cpti_varint_bytes(form->server_elapsed_ns);
    }
    if (sum_ns != 0) {
        bytes += 1 + cpti_varint_bytes(sum_ns);
    }
    if (form->nonce != 0) {
        bytes += CPTI_NONCE_BYTES;
    }
    return form->flags != 0 ? bytes + 1 + cpti_varint_bytes(form->flags) : bytes;
}

/* Folds leaves until the message fits; CPT_LIMIT if none is left and it does not. */
static cpt_status fold_until(struct folding *folding, struct fitting *fitting)
{
    cpt_status status = CPT_LIMIT;

    while (status == CPT_LIMIT && folding->heap_count != 0) {
        fold_leaf(folding, pop_smallest(folding));
        if (folding->floor_bytes <= fitting->bytes_max) {
            sweep(folding->form, folding->leaves);
            status = try_write(fitting);
        }
    }
    return status;
}

static cpt_status fold_leaves(struct fitting *fitting, const uint32_t *segments)
{
    struct cpti_form *form = fitting->form;
    const size_t frame_count = form->frame_count;
    struct folding folding = {.form = form,
                              .floor_bytes = scalar_bytes(form) + COLUMN_HEADS_BYTES};
    cpt_status status = CPT_NO_MEMORY;

    folding.leaves =
        cpt_alloc_array(form->alloc, NULL, 2 * frame_count, sizeof *folding.leaves);
    folding.heap =
        cpt_alloc_array(form->alloc, NULL, frame_count, sizeof *folding.heap);
    folding.name_use_count =
        cpt_alloc_zeroed(form->alloc, (cpt_path_name_count(form->path) + 1) *
                                          sizeof *folding.name_use_count);
    if (folding.leaves != NULL && folding.heap != NULL &&
        folding.name_use_count != NULL) {
        link_leaves(&folding, segments);
        status = fold_until(&folding, fitting);
    }
    cpt_alloc_free(form->alloc, folding.leaves);
    cpt_alloc_free(form->alloc, folding.heap);
    cpt_alloc_free(form->alloc, folding.name_use_count);
    return status;
}

/* --- All steps --- */

/* Steps 3 and 4. */
static cpt_status fit_without_order(struct fitting *fitting, int *fit)
{
    struct cpti_form *form = fitting->form;
    uint32_t *segments =
        cpt_alloc_array(form->alloc, NULL, 2 * form->frame_count, sizeof *segments);
    const size_t segment_count = form->segment_count;
    cpt_status status = CPT_LIMIT;

    if (segments == NULL) {
        return CPT_NO_MEMORY;
    }
    merge_stacks(form, segments);
    *fit = CPT_FIT_UNORDERED;
    if (form->segment_count != segment_count) {
        status = try_write(fitting);
    }
    if (status == CPT_LIMIT) {
        *fit = CPT_FIT_FOLDED;
        status = fold_leaves(fitting, segments);
    }
    cpt_alloc_free(form->alloc, segments);
    return status;
}

/* Step 5. */
static cpt_status fit_sum(struct fitting *fitting, int *fit)
{
    fitting->form->segment_count = 0;
    fitting->form->label_count = 0;
    fitting->form->flags &= ~(unsigned)CPT_PATH_UNORDERED;
    *fit = CPT_FIT_SUM;
    return try_write(fitting);
}

/* All steps, for a form that does not fit as it is. A step that merges nothing makes
 * nothing shorter, so the next one is taken at once. */
static cpt_status cut_down(struct fitting *fitting, int *fit)
{
    struct cpti_form *form = fitting->form;
    const size_t segment_count = form->segment_count;
    cpt_status status = cpti_form_own(form);

    if (status != CPT_OK) {
        return status;
    }
    *fit = CPT_FIT_NEIGHBOURS;
    merge_neighbours(form);
    status = form->segment_count != segment_count ? try_write(fitting) : CPT_LIMIT;
    if (status == CPT_LIMIT && form->label_count != 0) {
        *fit = CPT_FIT_UNLABELLED;
        form->label_count = 0;
        status = try_write(fitting);
    }
    if (status == CPT_LIMIT) {
        status = fit_without_order(fitting, fit);
    }
    return status == CPT_LIMIT ? fit_sum(fitting, fit) : status;
}

cpt_status cpti_form_fit(struct cpti_form *form, unsigned char *data, size_t bytes_max,
                         size_t *bytes, int *fit)
{
    struct fitting fitting = {.form = form, .data = data, .bytes_max = bytes_max};
    cpt_status status = try_write(&fitting);

    *fit = CPT_FIT_WHOLE;
    if (status == CPT_LIMIT && form->segment_count != 0) {
        status = cut_down(&fitting, fit);
    }
    *bytes = fitting.bytes;
    return status;
}
