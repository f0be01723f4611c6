/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_shape.c - known shapes, and the times of paths with a known shape
 *
 * The encoder writes the fields of metadata.proto in their order, so the bytes from the
 * first name to the last column of the frames are one piece, the shape. Two paths with
 * the same shape have the same frames; if one of them was accepted, the frames of the
 * other are valid. A shape is compared with the one found last, else looked up by a
 * hash and then compared byte for byte: a collision costs time and nothing else.
 *
 * The fields behind the shape, segments and labels, are read and checked here by the
 * same rules as in metadata_path.c, two columns at a time; only the sum of each frame
 * is stored. Any unusual form (a field twice, out of order or not packed, a number of
 * ten bytes, a sum that does not match) ends the attempt, and the caller decodes the
 * path.
 *
 * A shape is kept when it occurs for the second time; otherwise a log whose records all
 * differ would only be copied here.
 *
 * Cost: a comparison of the shape, and about ten instructions for each segment.
 */
#include "wire/cpt_log_shape.h"

#include "wire/cpt_metadata.h"
#include "wire/metadata/varint.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    SLOT_COUNT = 4 * CPT_LOG_SHAPES_MAX, /* of the hash table */
    PROBES_MAX = 8,
    VERSION_TAG = 1,
    ELAPSED_TAG = 2,
    SUM_TAG = 3,
    FLAGS_TAG = 4,
    NAME_TAG = 5,
    LAST_FRAME_TAG = 8,
    SEGMENT_TAG = 9, /* and the five columns of segments from there */
    DURATION_TAG = 10,
    FOLDED_TAG = 11,
    SEGMENT_FLAGS_TAG = 12,
    REASON_TAG = 13,
    LABEL_TAG = 14,
    LABEL_KEY_TAG = 15,
    LABEL_IS_NAME_TAG = 16,
    LABEL_VALUE_TAG = 17
};

struct shape {
    unsigned char *data; /* from the first name to the end of the frames */
    size_t bytes;
    size_t frame_count;
    size_t name_count;
    uint64_t hash;
};

struct cpt_log_shapes {
    const struct cpt_alloc *alloc;
    struct shape shapes[CPT_LOG_SHAPES_MAX];
    size_t count;
    size_t bytes;               /* of all shapes */
    uint64_t first;             /* the number of shapes[0] */
    size_t last;                /* index of the shape found last */
    uint16_t slots[SLOT_COUNT]; /* hash -> index + 1; 0: free */
    uint32_t once[SLOT_COUNT];  /* marks of shapes that occurred once */
    uint64_t *self_ns;          /* scratch, for the shape with the most frames */
    size_t self_capacity;
};

_Static_assert(CPT_LOG_SHAPES_MAX <= UINT16_MAX, "an index and 1 fit a slot");

struct cpt_log_shapes *cpt_log_shapes_new(const struct cpt_alloc *alloc)
{
    struct cpt_log_shapes *shapes = cpt_alloc_zeroed(alloc, sizeof *shapes);

    if (shapes != NULL) {
        shapes->alloc = alloc;
    }
    return shapes;
}

/* Forgets all shapes; their numbers are not reused. */
static void forget(struct cpt_log_shapes *shapes)
{
    for (size_t i = 0; i < shapes->count; i++) {
        cpt_alloc_free(shapes->alloc, shapes->shapes[i].data);
    }
    shapes->first += shapes->count;
    shapes->count = 0;
    shapes->bytes = 0;
    memset(shapes->slots, 0, sizeof shapes->slots);
}

void cpt_log_shapes_free(struct cpt_log_shapes *shapes)
{
    if (shapes != NULL) {
        forget(shapes);
        cpt_alloc_free(shapes->alloc, shapes->self_ns);
        cpt_alloc_free(shapes->alloc, shapes);
    }
}

/* --- Bytes --- */

struct span {
    const unsigned char *at;
    const unsigned char *end;
};

/* Takes a number of at most nine bytes; false if there is none. */
static bool take_number(struct span *span, uint64_t *number)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 63 && span->at < span->end; shift += 7) {
        const unsigned char byte = *span->at++;

        value |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte < 0x80) {
            *number = value;
            return true;
        }
    }
    return false;
}

static uint64_t hash_of(const struct span *span)
{
    const uint64_t factor = UINT64_C(0x9fb21c651e98df25);
    const unsigned char *at = span->at;
    uint64_t hash = (uint64_t)(span->end - span->at) * factor;
    uint64_t other = factor;
    unsigned char rest[8] = {0};

    /* Two at a time: a step waits only for the one before the last. */
    for (; span->end - at >= 16; at += 16) {
        hash = (hash ^ cpti_load(at)) * factor;
        other = (other ^ cpti_load(at + 8)) * factor;
        hash ^= hash >> 32;
        other ^= other >> 32;
    }
    if (span->end - at >= 8) {
        hash = (hash ^ cpti_load(at)) * factor;
        at += 8;
    }
    memcpy(rest, at, (size_t)(span->end - at));
    hash = (hash ^ cpti_load(rest) ^ other << 1) * factor;
    return hash ^ hash >> 29;
}

/* --- Fields --- */

/* The fields of a path's bytes. */
struct parts {
    struct span rest;  /* from the first field that was not taken yet */
    struct span shape; /* its bytes */
    struct span columns[LABEL_VALUE_TAG + 1]; /* by tag; without those of frames */
    uint64_t sum_ns;
    unsigned flags; /* of the path */
    size_t name_count;
};

/* The tag of the next field, which is not taken; 0 at the end or if it is unusual. */
static unsigned next_tag(const struct span *rest)
{
    const ptrdiff_t bytes = rest->end - rest->at;

    if (bytes >= 2 && rest->at[0] >= 0x80) {
        return rest->at[1] == 1 ? 16U + (rest->at[0] - 0x80U) / 8U : 0;
    }
    return bytes >= 2 ? rest->at[0] / 8U : 0;
}

/* Takes a field of bytes, whose tag was read. */
static bool take_bytes(struct span *rest, struct span *field)
{
    const unsigned tag_bytes = rest->at[0] >= 0x80 ? 2 : 1;
    uint64_t bytes = 0;

    if (rest->at[0] % 8 != 2) {
        return false;
    }
    rest->at += tag_bytes;
    if (!take_number(rest, &bytes) || bytes > (uint64_t)(rest->end - rest->at)) {
        return false;
    }
    *field = (struct span){rest->at, rest->at + bytes};
    rest->at += bytes;
    return true;
}

/* Takes the fields before the names: version, sum and others. */
static bool take_head(struct parts *parts)
{
    uint64_t numbers[NAME_TAG] = {0};
    unsigned last = 0;

    for (unsigned tag = next_tag(&parts->rest); tag != 0 && tag < NAME_TAG;
         tag = next_tag(&parts->rest)) {
        if (tag <= last || parts->rest.at[0] % 8 != 0) {
            return false;
        }
        parts->rest.at++;
        if (!take_number(&parts->rest, &numbers[tag])) {
            return false;
        }
        last = tag;
    }
    parts->sum_ns = numbers[SUM_TAG];
    parts->flags = (unsigned)numbers[FLAGS_TAG];
    return numbers[VERSION_TAG] == CPT_METADATA_VERSION;
}

/* Takes names while they are short. */
static void take_names(struct parts *parts)
{
    struct span *rest = &parts->rest;

    while (rest->end - rest->at >= 2 && rest->at[0] == NAME_TAG * 8 + 2 &&
           rest->at[1] < 0x80 && rest->at[1] <= rest->end - rest->at - 2) {
        rest->at += 2 + rest->at[1];
        parts->name_count++;
    }
}

/* Takes names and frames; their bytes are the shape. */
static bool take_shape(struct parts *parts)
{
    struct span field;
    unsigned last = NAME_TAG;

    parts->shape.at = parts->rest.at;
    take_names(parts);
    for (unsigned tag = next_tag(&parts->rest); tag != 0 && tag <= LAST_FRAME_TAG;
         tag = next_tag(&parts->rest)) {
        if (tag < last || (tag == last && tag != NAME_TAG) ||
            !take_bytes(&parts->rest, &field)) {
            return false;
        }
        parts->name_count += tag == NAME_TAG;
        last = tag;
    }
    parts->shape.end = parts->rest.at;
    return true;
}

/* Takes the rest: columns of segments and of labels. */
static bool take_columns(struct parts *parts)
{
    unsigned last = LAST_FRAME_TAG;

    while (parts->rest.at != parts->rest.end) {
        const unsigned tag = next_tag(&parts->rest);

        if (tag <= last || tag > LABEL_VALUE_TAG ||
            !take_bytes(&parts->rest, &parts->columns[tag])) {
            return false;
        }
        last = tag;
    }
    return true;
}

static struct parts parts_of(const struct cpt_record *record)
{
    const unsigned char *data = (const unsigned char *)record->path_bytes.data;

    if (data == NULL) {
        return (struct parts){.rest = {NULL, NULL}};
    }
    return (struct parts){.rest = {data, data + record->path_bytes.bytes}};
}

/* --- Segments and labels --- */

/* The sums of segments. */
struct adding {
    uint64_t *self_ns; /* by frame */
    size_t frame_count;
    size_t count;
    uint64_t sum_ns;
    uint64_t above; /* bit 63 is set if it ever was in sum_ns */
};

static inline bool add_segment(struct adding *adding, uint64_t frame,
                               uint64_t duration_ns)
{
    if (frame >= adding->frame_count || duration_ns == 0) {
        return false;
    }
    adding->self_ns[frame] += duration_ns;
    adding->sum_ns += duration_ns;
    adding->above |= adding->sum_ns;
    adding->count++;
    return true;
}

/*
 * Adds up all segments; false if they are unusual. A duration has at most nine bytes,
 * so 63 bits, and so has the sum before it: adding them cannot overflow 64 bits.
 */
static bool add_segments(struct adding *to, struct span frames, struct span durations)
{
    struct adding adding = *to;
    uint64_t frame = 0;
    uint64_t duration_ns = 0;

    while (frames.end - frames.at >= 8 && durations.end - durations.at >= 8) {
        if (!cpti_varint_take(&frames.at, &frame) ||
            !cpti_varint_take(&durations.at, &duration_ns) ||
            !add_segment(&adding, frame, duration_ns)) {
            return false;
        }
    }
    while (frames.at != frames.end && durations.at != durations.end) {
        if (!take_number(&frames, &frame) || !take_number(&durations, &duration_ns) ||
            !add_segment(&adding, frame, duration_ns)) {
            return false;
        }
    }
    *to = adding;
    return frames.at == frames.end && durations.at == durations.end &&
           adding.above >> 63 == 0;
}

/* Whether a column has at most @count_max numbers, each at most @value_max. */
static bool is_bounded(struct span column, size_t count_max, uint64_t value_max)
{
    size_t count = 0;
    uint64_t value = 0;

    while (column.at != column.end) {
        if (!take_number(&column, &value) || value > value_max || ++count > count_max) {
            return false;
        }
    }
    return true;
}

/* Whether cpt_metadata_decode() accepts the labels. */
static bool labels_hold(const struct parts *parts, size_t segment_count)
{
    struct span segments = parts->columns[LABEL_TAG];
    struct span keys = parts->columns[LABEL_KEY_TAG];
    struct span are_names = parts->columns[LABEL_IS_NAME_TAG];
    struct span values = parts->columns[LABEL_VALUE_TAG];
    uint64_t segment = 0;
    size_t count = 0;

    while (segments.at != segments.end) {
        uint64_t step = 0;
        uint64_t key = 0;
        uint64_t is_name = 0;
        uint64_t value = 0;

        if (!take_number(&segments, &step) || !take_number(&keys, &key) ||
            !take_number(&values, &value) ||
            (are_names.at != are_names.end && !take_number(&are_names, &is_name))) {
            return false;
        }
        segment += step;
        if (step > UINT32_MAX || segment >= segment_count || key > UINT32_MAX ||
            is_name > 1 || (is_name == 1 && value > parts->name_count) ||
            ++count > CPT_PATH_LABELS_MAX) {
            return false;
        }
    }
    return keys.at == keys.end && are_names.at == are_names.end &&
           values.at == values.end;
}

/* Writes the times of a path with @shape to shapes->self_ns; false if it is unusual. */
static bool sum_path(struct cpt_log_shapes *shapes, const struct shape *shape,
                     const struct parts *parts, uint64_t latency_ns)
{
    struct adding adding = {.self_ns = shapes->self_ns,
                            .frame_count = shape->frame_count};

    memset(shapes->self_ns, 0, shape->frame_count * sizeof *shapes->self_ns);
    return add_segments(&adding, parts->columns[SEGMENT_TAG],
                        parts->columns[DURATION_TAG]) &&
           adding.count != 0 && adding.count <= CPT_PATH_SEGMENTS_MAX &&
           adding.sum_ns == latency_ns && adding.sum_ns == parts->sum_ns &&
           is_bounded(parts->columns[FOLDED_TAG], adding.count, UINT32_MAX - 1) &&
           is_bounded(parts->columns[SEGMENT_FLAGS_TAG], adding.count, UINT16_MAX) &&
           is_bounded(parts->columns[REASON_TAG], adding.count, CPT_REASON_MAX) &&
           labels_hold(parts, adding.count);
}

/* --- Finding --- */

static bool is_shape(const struct shape *shape, const struct span *span)
{
    return shape->bytes == (size_t)(span->end - span->at) &&
           memcmp(shape->data, span->at, shape->bytes) == 0;
}

/* The slot of a shape, or the first free slot for it, or SIZE_MAX. */
static size_t slot_of(const struct cpt_log_shapes *shapes, const struct span *span,
                      uint64_t hash)
{
    size_t slot = hash % SLOT_COUNT;

    for (int i = 0; i < PROBES_MAX; i++) {
        const uint16_t entry = shapes->slots[slot];

        if (entry == 0 || (shapes->shapes[entry - 1].hash == hash &&
                           is_shape(&shapes->shapes[entry - 1], span))) {
            return slot;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    return SIZE_MAX;
}

/* Takes the shape that was found last, if the path has it. The bytes of a shape are
 * whole fields, so a field begins behind them. */
static bool take_last(const struct cpt_log_shapes *shapes, struct parts *parts)
{
    const struct shape *shape = &shapes->shapes[shapes->last];
    struct span rest = parts->rest;

    if (shapes->last >= shapes->count || shape->bytes > (size_t)(rest.end - rest.at) ||
        memcmp(shape->data, rest.at, shape->bytes) != 0) {
        return false;
    }
    rest.at += shape->bytes;
    if (next_tag(&rest) <= LAST_FRAME_TAG) {
        return false; /* the path's shape is longer, or unusual */
    }
    parts->shape = (struct span){parts->rest.at, rest.at};
    parts->rest = rest;
    parts->name_count = shape->name_count;
    return true;
}

cpt_status cpt_log_shapes_find(struct cpt_log_shapes *shapes,
                               const struct cpt_record *record,
                               struct cpt_log_times *times)
{
    struct parts parts = parts_of(record);
    const struct shape *shape = NULL;

    if (shapes->count == 0 || parts.rest.at == parts.rest.end || !take_head(&parts)) {
        return CPT_END;
    }
    if (!take_last(shapes, &parts)) {
        size_t slot = SIZE_MAX;

        if (take_shape(&parts)) {
            slot = slot_of(shapes, &parts.shape, hash_of(&parts.shape));
        }
        if (slot == SIZE_MAX || shapes->slots[slot] == 0) {
            return CPT_END;
        }
        shapes->last = shapes->slots[slot] - 1U;
    }
    shape = &shapes->shapes[shapes->last];
    if (!take_columns(&parts) || !sum_path(shapes, shape, &parts, record->latency_ns)) {
        return CPT_END;
    }
    *times = (struct cpt_log_times){shapes->first + shapes->last, shapes->self_ns,
                                    shape->frame_count, parts.flags};
    return CPT_OK;
}

/* --- Keeping --- */

/* Whether a shape with @hash occurs again, as far as the marks remember. */
static bool is_second(struct cpt_log_shapes *shapes, uint64_t hash)
{
    uint32_t *once = &shapes->once[hash % SLOT_COUNT];
    const uint32_t mark = (uint32_t)(hash >> 32) | 1U;

    if (*once == mark) {
        return true;
    }
    *once = mark;
    return false;
}

static cpt_status add_shape(struct cpt_log_shapes *shapes, const struct parts *parts,
                            size_t frame_count, size_t slot, uint64_t hash)
{
    struct shape *shape = &shapes->shapes[shapes->count];
    const size_t bytes = (size_t)(parts->shape.end - parts->shape.at);
    const cpt_status status =
        cpt_alloc_grow(shapes->alloc, (void **)&shapes->self_ns, &shapes->self_capacity,
                       frame_count, CPT_PATH_FRAMES_MAX, sizeof *shapes->self_ns);

    if (status != CPT_OK) {
        return status;
    }
    *shape = (struct shape){.data = cpt_alloc_array(shapes->alloc, NULL, bytes, 1),
                            .bytes = bytes,
                            .frame_count = frame_count,
                            .name_count = parts->name_count,
                            .hash = hash};
    if (shape->data == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(shape->data, parts->shape.at, bytes);
    shapes->bytes += bytes;
    shapes->last = shapes->count++;
    shapes->slots[slot] = (uint16_t)shapes->count;
    return CPT_OK;
}

cpt_status cpt_log_shapes_keep(struct cpt_log_shapes *shapes,
                               const struct cpt_record *record,
                               const struct cpt_path *path, uint64_t *shape)
{
    const size_t frame_count = cpt_path_frame_count(path);
    struct parts parts = parts_of(record);
    uint64_t hash = 0;
    size_t bytes = 0;
    size_t slot = 0;
    cpt_status status = CPT_OK;

    if (frame_count == 0 || !take_head(&parts) || !take_shape(&parts) ||
        !take_columns(&parts)) {
        return CPT_END;
    }
    bytes = (size_t)(parts.shape.end - parts.shape.at);
    hash = hash_of(&parts.shape);
    if (bytes == 0 || bytes > CPT_LOG_SHAPE_BYTES_MAX || !is_second(shapes, hash)) {
        return CPT_END;
    }
    if (shapes->count == CPT_LOG_SHAPES_MAX ||
        shapes->bytes + bytes > CPT_LOG_SHAPES_BYTES_MAX) {
        forget(shapes);
    }
    slot = slot_of(shapes, &parts.shape, hash);
    if (slot == SIZE_MAX) {
        return CPT_END;
    }
    if (shapes->slots[slot] == 0) {
        status = add_shape(shapes, &parts, frame_count, slot, hash);
    }
    if (status == CPT_OK) {
        *shape = shapes->first + shapes->slots[slot] - 1;
    }
    return status;
}
