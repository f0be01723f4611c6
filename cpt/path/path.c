/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * path.c - the frame table and the segments of one request; see cpt_path.h
 *
 * An index by (parent, name, kind) finds a frame, so each frame stands once. All tables
 * are arrays that double; paths share nothing.
 */
#include "cpt/path/path.h"

#include "cpt/base/name.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* The first allocation has room for a usual path. */
enum { FIRST_FRAMES = 32, FIRST_SLOTS = 2 * FIRST_FRAMES };

/* The words of the maps in cpt_path.h, by number. */
#define KIND(name, number, word, words) [number] = {word, words},
static const char *const kinds[][2] = {CPT_KIND_MAP(KIND)};

#define REASON(name, number, word) [number] = word,
static const char *const reasons[] = {CPT_REASON_MAP(REASON)};

#define LABEL(name, number, word, takes_name) [number] = {word, takes_name},
static const struct {
    const char *word;
    int takes_name;
} labels[] = {CPT_LABEL_MAP(LABEL)};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

const char *cpt_kind_word(unsigned kind)
{
    return kind < COUNT_OF(kinds) ? kinds[kind][0] : NULL;
}

const char *cpt_kind_words(unsigned kind)
{
    return kind < COUNT_OF(kinds) ? kinds[kind][1] : NULL;
}

const char *cpt_reason_word(unsigned reason)
{
    return reason < COUNT_OF(reasons) ? reasons[reason] : NULL;
}

const char *cpt_label_word(unsigned key, int *is_name)
{
    if (key >= COUNT_OF(labels) || labels[key].word == NULL) {
        return NULL;
    }
    *is_name = labels[key].takes_name;
    return labels[key].word;
}

struct cpt_path *cpt_path_new(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = cpt_alloc_zeroed(alloc, sizeof *path);

    if (path == NULL) {
        return NULL;
    }
    path->alloc = alloc;
    path->names = cpt_names_new(alloc);
    if (path->names == NULL) {
        cpt_alloc_free(alloc, path);
        return NULL;
    }
    return path;
}

void cpt_path_free(struct cpt_path *path)
{
    if (path == NULL) {
        return;
    }
    cpt_names_free(path->names);
    cpt_alloc_free(path->alloc, path->frames);
    cpt_alloc_free(path->alloc, path->frame_index.slots);
    cpt_alloc_free(path->alloc, path->segments);
    cpt_alloc_free(path->alloc, path->labels);
    cpt_alloc_free(path->alloc, path->drags);
    cpt_alloc_free(path->alloc, path);
}

void cpt_path_reset(struct cpt_path *path)
{
    cpt_names_reset(path->names);
    cpt_path_renew(path);
}

void cpt_path_renew(struct cpt_path *path)
{
    cpti_hash_index_reset(&path->frame_index);
    path->frame_count = 0;
    path->segment_count = 0;
    path->label_count = 0;
    path->drag_count = 0;
    path->sum_ns = 0;
    path->flags = 0;
    path->folds_at = 0;
}

static uint64_t hash_of(const struct cpt_path *path, const struct cpt_frame *frame)
{
    const uint64_t key = (uint64_t)frame->parent << 32 | frame->name;

    return cpti_hash_mix(key ^ (uint64_t)(uintptr_t)path ^ (uint64_t)frame->kind << 48);
}

static uint64_t frame_hash(const void *path, size_t number)
{
    return hash_of(path, &((const struct cpt_path *)path)->frames[number]);
}

/* The slot of @frame, or the free one where it belongs. */
static inline size_t slot_of(const struct cpt_path *path, const struct cpt_frame *frame)
{
    const struct cpti_hash_index *index = &path->frame_index;
    size_t slot = cpti_hash_index_first(index, hash_of(path, frame));

    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        const struct cpt_frame *other = &path->frames[index->slots[slot] - 1];

        if (other->parent == frame->parent && other->name == frame->name &&
            other->kind == frame->kind) {
            break;
        }
    }
    return slot;
}

static cpt_status frame_append(struct cpt_path *path, const struct cpt_frame *frame)
{
    if (path->frame_count == path->frame_capacity) {
        const cpt_status status = cpt_alloc_grow(
            path->alloc, (void **)&path->frames, &path->frame_capacity,
            path->frame_count < FIRST_FRAMES ? FIRST_FRAMES : path->frame_count + 1,
            CPT_PATH_FRAMES_MAX, sizeof *path->frames);

        if (status != CPT_OK) {
            return status;
        }
    }
    path->frames[path->frame_count++] = *frame;
    return CPT_OK;
}

static cpt_status add_frame(struct cpt_path *path, uint32_t parent,
                            struct cpt_bytes name, unsigned kind, uint32_t *frame)
{
    struct cpt_frame wanted = {.parent = parent, .kind = (uint16_t)kind, .depth = 1};
    cpt_status status = CPT_OK;
    size_t slot = 0;

    assert(parent == CPT_FRAME_NONE || parent < path->frame_count);
    assert(kind <= CPT_KIND_MAX);
    if (parent != CPT_FRAME_NONE) {
        if (path->frames[parent].depth >= CPT_PATH_DEPTH_MAX) {
            *frame = parent;
            return CPT_OK;
        }
        wanted.depth = (uint16_t)(path->frames[parent].depth + 1);
    }
    status = cpti_names_add_any(path->names, name, &wanted.name);
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&path->frame_index, path->frame_count, 2)) {
        status = cpti_hash_index_grow(&path->frame_index, path->alloc, FIRST_SLOTS,
                                      path->frame_count, frame_hash, path);
    }
    if (status != CPT_OK) {
        return status;
    }
    slot = slot_of(path, &wanted);
    if (path->frame_index.slots[slot] == 0) {
        status = frame_append(path, &wanted);
        if (status != CPT_OK) {
            return status;
        }
        path->frame_index.slots[slot] = (uint32_t)path->frame_count;
    }
    *frame = path->frame_index.slots[slot] - 1;
    return CPT_OK;
}

cpt_status cpt_path_frame_add(struct cpt_path *path, uint32_t parent,
                              struct cpt_bytes name, unsigned kind, uint32_t *frame)
{
    const cpt_status status = add_frame(path, parent, name, kind, frame);

    if (status != CPT_LIMIT || path->folds_at == 0 || path->frame_count == 0) {
        return status;
    }
    *frame = parent != CPT_FRAME_NONE ? parent : 0;
    path->flags |= CPT_PATH_INCOMPLETE;
    return CPT_OK;
}

/* Adds @more to @into, which belongs to the same frame. */
static void merge_segment(struct cpt_segment *into, const struct cpt_segment *more)
{
    into->duration_ns += more->duration_ns;
    into->count =
        more->count < UINT32_MAX - into->count ? into->count + more->count : UINT32_MAX;
    into->flags |= more->flags | CPT_SEGMENT_FOLDED;
}

/* The drag of a segment that stands for two: the larger, as far as it is known. */
static uint64_t larger_drag(uint64_t a, uint64_t b)
{
    if (a == CPT_DRAG_UNKNOWN || b == CPT_DRAG_UNKNOWN) {
        return a == CPT_DRAG_UNKNOWN ? b : a;
    }
    return a > b ? a : b;
}

/* Moves the drag of segment @from to @into, which is not behind it. */
static void fold_drag(struct cpt_path *path, size_t into, size_t from, bool is_first)
{
    const uint64_t drag_ns = cpt_path_drag(path, from);

    if (into < path->drag_count) {
        path->drags[into] =
            is_first ? drag_ns : larger_drag(path->drags[into], drag_ns);
    }
}

/* Makes the segments of one frame one, in the place of the first. */
static cpt_status fold(struct cpt_path *path)
{
    uint32_t *places =
        cpt_alloc_zeroed(path->alloc, path->frame_count * sizeof *places);
    size_t count = 0; /* of the segments that are left; the place of each is + 1 */

    if (places == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < path->segment_count; i++) {
        const struct cpt_segment *segment = &path->segments[i];
        uint32_t *place = &places[segment->frame];

        if (*place != 0) {
            merge_segment(&path->segments[*place - 1], segment);
            fold_drag(path, *place - 1, i, false);
        } else {
            fold_drag(path, count, i, true);
            path->segments[count++] = *segment;
            *place = (uint32_t)count;
        }
    }
    cpt_alloc_free(path->alloc, places);
    path->segment_count = count;
    if (path->drag_count > count) {
        path->drag_count = count;
    }
    path->label_count = 0;
    path->flags |= CPT_PATH_UNORDERED;
    return CPT_OK;
}

/* Makes room for one more segment. */
static cpt_status make_room(struct cpt_path *path)
{
    cpt_status status = CPT_OK;

    if (path->folds_at == 0 || path->segment_count < path->folds_at) {
        return path->segment_count < path->segment_capacity
                   ? CPT_OK
                   : cpti_path_reserve(path, 1);
    }
    status = fold(path);
    return status != CPT_OK || path->segment_count < path->folds_at ? status
                                                                    : CPT_LIMIT;
}

cpt_status cpti_path_reserve(struct cpt_path *path, size_t segment_count)
{
    return cpt_alloc_grow(path->alloc, (void **)&path->segments,
                          &path->segment_capacity, path->segment_count + segment_count,
                          path->folds_at != 0 ? path->folds_at : CPT_PATH_SEGMENTS_MAX,
                          sizeof *path->segments);
}

cpt_status cpt_path_append(struct cpt_path *path, struct cpt_segment segment)
{
    cpt_status status = CPT_OK;

    assert(segment.frame < path->frame_count);
    if (segment.duration_ns == 0) {
        return CPT_OK;
    }
    if (segment.duration_ns > INT64_MAX - path->sum_ns) {
        return CPT_LIMIT;
    }
    status = make_room(path);
    if (status != CPT_OK) {
        return status;
    }
    if (segment.count == 0) {
        segment.count = 1;
    }
    path->segments[path->segment_count++] = segment;
    path->sum_ns += segment.duration_ns;
    return CPT_OK;
}

cpt_status cpt_path_append_ns(struct cpt_path *path, uint32_t frame,
                              uint64_t duration_ns)
{
    assert(frame < path->frame_count);
    if (duration_ns != 0 && duration_ns <= INT64_MAX - path->sum_ns &&
        path->segment_count < path->segment_capacity && path->folds_at == 0) {
        path->segments[path->segment_count++] = (struct cpt_segment){
            .duration_ns = duration_ns, .frame = frame, .count = 1};
        path->sum_ns += duration_ns;
        return CPT_OK;
    }
    return cpt_path_append(
        path,
        (struct cpt_segment){.duration_ns = duration_ns, .frame = frame, .count = 1});
}

/* The label with @key of the last segment, or NULL. */
static struct cpt_label *last_label(struct cpt_path *path, unsigned key)
{
    for (size_t i = path->label_count;
         i-- > 0 && path->labels[i].segment + 1 == path->segment_count;) {
        if (path->labels[i].key == key) {
            return &path->labels[i];
        }
    }
    return NULL;
}

static cpt_status label_add(struct cpt_path *path, struct cpt_label label)
{
    struct cpt_label *same = last_label(path, label.key);
    cpt_status status = CPT_OK;

    if (same != NULL) {
        same->is_name = label.is_name;
        same->value = label.value;
        return CPT_OK;
    }
    if (path->segment_count == 0 || path->label_count == CPT_PATH_LABELS_MAX) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(path->alloc, (void **)&path->labels, &path->label_capacity,
                            path->label_count + 1, CPT_PATH_LABELS_MAX,
                            sizeof *path->labels);
    if (status != CPT_OK) {
        return status;
    }
    label.segment = (uint32_t)(path->segment_count - 1);
    path->labels[path->label_count++] = label;
    return CPT_OK;
}

cpt_status cpt_path_label_number(struct cpt_path *path, unsigned key, uint64_t number)
{
    if (key > CPT_LABEL_KEY_MAX) {
        return CPT_OK;
    }
    return label_add(path, (struct cpt_label){0, (uint16_t)key, 0, number});
}

cpt_status cpt_path_label_name(struct cpt_path *path, unsigned key,
                               struct cpt_bytes name)
{
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;

    if (key > CPT_LABEL_KEY_MAX || path->segment_count == 0) {
        return CPT_OK;
    }
    status = cpti_names_add_any(path->names, name, &id);
    if (status != CPT_OK) {
        return status == CPT_LIMIT && path->folds_at != 0 ? CPT_OK : status;
    }
    return label_add(path, (struct cpt_label){0, (uint16_t)key, 1, id});
}

/* Makes all segments up to @count have an entry in the array of drags. */
static cpt_status drags_reach(struct cpt_path *path, size_t count)
{
    const cpt_status status =
        cpt_alloc_grow(path->alloc, (void **)&path->drags, &path->drag_capacity, count,
                       CPT_PATH_SEGMENTS_MAX, sizeof *path->drags);

    if (status != CPT_OK) {
        return status;
    }
    while (path->drag_count < count) {
        path->drags[path->drag_count++] = CPT_DRAG_UNKNOWN;
    }
    return CPT_OK;
}

cpt_status cpt_path_drag_set(struct cpt_path *path, size_t segment, uint64_t drag_ns)
{
    assert(segment < path->segment_count);
    if (drag_ns != CPT_DRAG_UNKNOWN && drag_ns > path->segments[segment].duration_ns) {
        return CPT_INVALID;
    }
    if (segment >= path->drag_count) {
        const cpt_status status =
            drag_ns == CPT_DRAG_UNKNOWN ? CPT_OK : drags_reach(path, segment + 1);

        if (status != CPT_OK || drag_ns == CPT_DRAG_UNKNOWN) {
            return status;
        }
    }
    path->drags[segment] = drag_ns;
    return CPT_OK;
}

uint64_t cpt_path_drag(const struct cpt_path *path, size_t segment)
{
    return segment < path->drag_count ? path->drags[segment] : CPT_DRAG_UNKNOWN;
}

int cpt_path_has_drags(const struct cpt_path *path)
{
    return path->drag_count != 0;
}

unsigned cpt_path_flags(const struct cpt_path *path)
{
    return path->flags;
}

void cpt_path_flags_add(struct cpt_path *path, unsigned flags)
{
    path->flags |= flags;
}

size_t cpt_path_segment_count(const struct cpt_path *path)
{
    return path->segment_count;
}

const struct cpt_segment *cpt_path_segment(const struct cpt_path *path, size_t index)
{
    assert(index < path->segment_count);
    return &path->segments[index];
}

size_t cpt_path_frame_count(const struct cpt_path *path)
{
    return path->frame_count;
}

const struct cpt_frame *cpt_path_frame(const struct cpt_path *path, uint32_t index)
{
    assert(index < path->frame_count);
    return &path->frames[index];
}

size_t cpt_path_name_count(const struct cpt_path *path)
{
    return cpt_names_count(path->names);
}

struct cpt_bytes cpt_path_name(const struct cpt_path *path, cpt_name_id id)
{
    return cpt_names_at(path->names, id);
}

size_t cpt_path_label_count(const struct cpt_path *path)
{
    return path->label_count;
}

const struct cpt_label *cpt_path_label(const struct cpt_path *path, size_t index)
{
    assert(index < path->label_count);
    return &path->labels[index];
}

struct cpt_bytes cpt_path_frame_name(const struct cpt_path *path, uint32_t index)
{
    return cpt_names_at(path->names, cpt_path_frame(path, index)->name);
}

struct cpt_bytes cpt_path_frame_service(const struct cpt_path *path, uint32_t index)
{
    while (index != CPT_FRAME_NONE) {
        const struct cpt_bytes service =
            cpt_name_service(cpt_path_frame_name(path, index));

        if (service.bytes != 0) {
            return service;
        }
        index = path->frames[index].parent;
    }
    return (struct cpt_bytes){NULL, 0};
}

uint64_t cpt_path_sum_ns(const struct cpt_path *path)
{
    return path->sum_ns;
}

static cpt_status check_frames(const struct cpt_path *path, struct cpt_error *error)
{
    for (size_t i = 0; i < path->frame_count; i++) {
        const struct cpt_frame *frame = &path->frames[i];
        const unsigned depth = frame->parent == CPT_FRAME_NONE ? 1
                               : frame->parent < i
                                   ? path->frames[frame->parent].depth + 1U
                                   : 0;

        if (depth == 0 || frame->depth != depth || depth > CPT_PATH_DEPTH_MAX) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "frame %zu does not stand below an earlier frame", i);
        }
        if (frame->name >= cpt_names_count(path->names)) {
            return cpt_error_set(error, CPT_CORRUPT, 0, "frame %zu has no name", i);
        }
        if (path->frame_index.slots[slot_of(path, frame)] != i + 1) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "frame %zu is the same as an earlier one", i);
        }
    }
    return CPT_OK;
}

static cpt_status check_labels(const struct cpt_path *path, struct cpt_error *error)
{
    uint32_t segment = 0;

    for (size_t i = 0; i < path->label_count; i++) {
        const struct cpt_label *label = &path->labels[i];

        if (label->segment < segment || label->segment >= path->segment_count ||
            (label->is_name && label->value >= cpt_names_count(path->names))) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "label %zu belongs to no segment", i);
        }
        segment = label->segment;
    }
    return CPT_OK;
}

cpt_status cpt_path_check(const struct cpt_path *path, uint64_t latency_ns,
                          struct cpt_error *error)
{
    uint64_t sum_ns = 0;
    cpt_status status = check_frames(path, error);

    if (status != CPT_OK) {
        return status;
    }
    status = check_labels(path, error);
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < path->segment_count; i++) {
        const struct cpt_segment *segment = &path->segments[i];

        if (segment->frame >= path->frame_count || segment->duration_ns == 0 ||
            segment->count == 0) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "segment %zu has no frame, duration or count", i);
        }
        if (i < path->drag_count && path->drags[i] != CPT_DRAG_UNKNOWN &&
            path->drags[i] > segment->duration_ns) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "segment %zu has a drag above its duration", i);
        }
        if (__builtin_add_overflow(sum_ns, segment->duration_ns, &sum_ns)) {
            return cpt_error_set(error, CPT_CORRUPT, 0, "the durations overflow");
        }
    }
    if (sum_ns != latency_ns || sum_ns != path->sum_ns) {
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "the segments sum to %llu ns, the latency is %llu ns",
                             (unsigned long long)sum_ns,
                             (unsigned long long)latency_ns);
    }
    return CPT_OK;
}
