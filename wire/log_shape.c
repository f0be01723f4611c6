/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_shape.c - known shapes, and the times of a path of one of them
 *
 * The fields of metadata.proto stand in their order when we write them, so the bytes
 * from the first name to the last column of the frames are one piece, the shape. Two
 * paths with the same piece have the same frames, and if one of them was accepted, so
 * are the frames of the other. A shape is found by comparing with the one found last,
 * else by a hash, and then it is compared byte for byte: a collision costs time, never
 * truth.
 *
 * What comes behind, segments and labels, is read and checked here by the same rules as
 * in metadata_path.c, two columns at a time, and nothing is stored but the sum of each
 * frame. Whatever is not plain (a field twice, out of order or not packed, a number of
 * ten bytes, a sum that does not fit) ends the attempt, and the slow way decides.
 *
 * A shape is kept when it comes for the second time: logs whose records are all
 * different would only be copied here.
 *
 * Cost: a comparison of the shape, some ten steps of the processor for each segment.
 */
#include "wire/cpt_log_shape.h"

#include "wire/cpt_metadata.h"

#include <assert.h>
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
    size_t bytes;               /* of all */
    uint64_t first;             /* the number of shapes[0] */
    size_t last;                /* found last */
    uint16_t slots[SLOT_COUNT]; /* hash -> index + 1; 0: free */
    uint32_t once[SLOT_COUNT];  /* of shapes that were met once */
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

/* Forgets all shapes; their numbers do not come again. */
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

static inline uint64_t load(const unsigned char *at)
{
    uint64_t word = 0;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* A number of at most nine bytes; 0 if there is none. */
static int take_number(struct span *span, uint64_t *number)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 63 && span->at < span->end; shift += 7) {
        const unsigned char byte = *span->at++;

        value |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte < 0x80) {
            *number = value;
            return 1;
        }
    }
    return 0;
}

/* The same of at most eight bytes where that many can be read, without a branch on how
 * many it has: groups of seven bits are moved together two by two. */
static inline int take_number_fast(struct span *span, uint64_t *number)
{
    uint64_t word = load(span->at);
    const uint64_t ends = ~word & UINT64_C(0x8080808080808080);

    if (ends == 0) {
        return 0;
    }
    word &= ends ^ (ends - 1); /* up to the last byte's high bit */
    word = (word & UINT64_C(0x007f007f007f007f)) |
           (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) |
           (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    *number =
        (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    span->at += ((unsigned)__builtin_ctzll(ends) + 1) / 8;
    return 1;
}

static uint64_t hash_of(const struct span *span)
{
    const uint64_t factor = UINT64_C(0x9fb21c651e98df25);
    const unsigned char *at = span->at;
    uint64_t hash = (uint64_t)(span->end - span->at) * factor;
    unsigned char rest[8] = {0};

    for (; span->end - at >= 8; at += 8) {
        hash = (hash ^ load(at)) * factor;
        hash ^= hash >> 32;
    }
    memcpy(rest, at, (size_t)(span->end - at));
    hash = (hash ^ load(rest)) * factor;
    return hash ^ hash >> 29;
}

/* --- Fields --- */

/* The path's bytes, taken apart. */
struct parts {
    struct span rest;  /* from the first field that is not taken yet */
    struct span shape; /* its bytes */
    struct span columns[LABEL_VALUE_TAG + 1]; /* by tag; those of frames are not used */
    uint64_t sum_ns;
    size_t name_count;
};

/* The tag of the next field; 0 at the end, or if it is unusual. Takes nothing. */
static unsigned next_tag(const struct span *rest)
{
    const ptrdiff_t bytes = rest->end - rest->at;

    if (bytes >= 2 && rest->at[0] >= 0x80) {
        return rest->at[1] == 1 ? 16U + (rest->at[0] - 0x80U) / 8U : 0;
    }
    return bytes >= 2 ? rest->at[0] / 8U : 0;
}

/* A field of bytes, whose tag has been looked at. */
static int take_bytes(struct span *rest, struct span *field)
{
    const unsigned tag_bytes = rest->at[0] >= 0x80 ? 2 : 1;
    uint64_t bytes = 0;

    if (rest->at[0] % 8 != 2) {
        return 0;
    }
    rest->at += tag_bytes;
    if (!take_number(rest, &bytes) || bytes > (uint64_t)(rest->end - rest->at)) {
        return 0;
    }
    *field = (struct span){rest->at, rest->at + bytes};
    rest->at += bytes;
    return 1;
}

/* Takes what stands before the names: version, sum and the like. */
static int take_head(struct parts *parts)
{
    uint64_t numbers[NAME_TAG] = {0};
    unsigned last = 0;

    for (unsigned tag = next_tag(&parts->rest); tag != 0 && tag < NAME_TAG;
         tag = next_tag(&parts->rest)) {
        if (tag <= last || parts->rest.at[0] % 8 != 0) {
            return 0;
        }
        parts->rest.at++;
        if (!take_number(&parts->rest, &numbers[tag])) {
            return 0;
        }
        last = tag;
    }
    parts->sum_ns = numbers[SUM_TAG];
    return numbers[VERSION_TAG] == CPT_METADATA_VERSION;
}

/* Takes names and frames; the bytes of all of them are the shape. */
static int take_shape(struct parts *parts)
{
    struct span field;
    unsigned last = NAME_TAG;

    parts->shape.at = parts->rest.at;
    for (unsigned tag = next_tag(&parts->rest); tag != 0 && tag <= LAST_FRAME_TAG;
         tag = next_tag(&parts->rest)) {
        if (tag < last || (tag == last && tag != NAME_TAG) ||
            !take_bytes(&parts->rest, &field)) {
            return 0;
        }
        parts->name_count += tag == NAME_TAG;
        last = tag;
    }
    parts->shape.end = parts->rest.at;
    return 1;
}

/* Takes all that is left: columns of segments and of labels. */
static int take_columns(struct parts *parts)
{
    unsigned last = LAST_FRAME_TAG;

    while (parts->rest.at != parts->rest.end) {
        const unsigned tag = next_tag(&parts->rest);

        if (tag <= last || tag > LABEL_VALUE_TAG ||
            !take_bytes(&parts->rest, &parts->columns[tag])) {
            return 0;
        }
        last = tag;
    }
    return 1;
}

static struct parts parts_of(const struct cpt_record *record)
{
    const unsigned char *data = (const unsigned char *)record->path_bytes.data;

    return (struct parts){.rest = {data, data + record->path_bytes.bytes}};
}

/* --- Segments and labels --- */

/* Segments that are being added up. */
struct adding {
    uint64_t *self_ns; /* by frame */
    size_t frame_count;
    size_t count;
    uint64_t sum_ns;
    uint64_t above; /* whose bit 63 is set if the sum ever had it set */
};

static inline int add_segment(struct adding *adding, uint64_t frame,
                              uint64_t duration_ns)
{
    if (frame >= adding->frame_count || duration_ns == 0) {
        return 0;
    }
    adding->self_ns[frame] += duration_ns;
    adding->sum_ns += duration_ns;
    adding->above |= adding->sum_ns;
    adding->count++;
    return 1;
}

/*
 * Adds up all segments; 0 if they are not plain. A duration has at most nine bytes,
 * that is, 63 bits, and the sum has no more: of two such numbers none overflows 64.
 */
static int add_segments(struct adding *to, struct span frames, struct span durations)
{
    struct adding adding = *to;
    uint64_t frame = 0;
    uint64_t duration_ns = 0;

    while (frames.end - frames.at >= 8 && durations.end - durations.at >= 8) {
        if (!take_number_fast(&frames, &frame) ||
            !take_number_fast(&durations, &duration_ns) ||
            !add_segment(&adding, frame, duration_ns)) {
            return 0;
        }
    }
    while (frames.at != frames.end && durations.at != durations.end) {
        if (!take_number(&frames, &frame) || !take_number(&durations, &duration_ns) ||
            !add_segment(&adding, frame, duration_ns)) {
            return 0;
        }
    }
    *to = adding;
    return frames.at == frames.end && durations.at == durations.end &&
           adding.above >> 63 == 0;
}

/* Whether a column has at most @count_max numbers, each at most @value_max. */
static int is_bounded(struct span column, size_t count_max, uint64_t value_max)
{
    size_t count = 0;
    uint64_t value = 0;

    while (column.at != column.end) {
        if (!take_number(&column, &value) || value > value_max || ++count > count_max) {
            return 0;
        }
    }
    return 1;
}

/* Whether the labels are such as cpt_metadata_decode() accepts. */
static int labels_hold(const struct parts *parts, size_t segment_count)
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
            return 0;
        }
        segment += step;
        if (step > UINT32_MAX || segment >= segment_count || key > UINT32_MAX ||
            is_name > 1 || (is_name == 1 && value > parts->name_count) ||
            ++count > CPT_PATH_LABELS_MAX) {
            return 0;
        }
    }
    return keys.at == keys.end && are_names.at == are_names.end &&
           values.at == values.end;
}

/* The times of a path with @shape, in shapes->self_ns. */
static int sum_path(struct cpt_log_shapes *shapes, const struct shape *shape,
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

static int is_shape(const struct shape *shape, const struct span *span)
{
    return shape->bytes == (size_t)(span->end - span->at) &&
           memcmp(shape->data, span->at, shape->bytes) == 0;
}

/* The slot of a shape, or the first one where it could be put, or SIZE_MAX. */
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

/* Whether the path goes on with the shape that was found last; takes it if so. The
 * bytes of a shape are whole fields, so what follows them is the next one. */
static int take_last(const struct cpt_log_shapes *shapes, struct parts *parts)
{
    const struct shape *shape = &shapes->shapes[shapes->last];
    struct span rest = parts->rest;

    if (shapes->last >= shapes->count || shape->bytes > (size_t)(rest.end - rest.at) ||
        memcmp(shape->data, rest.at, shape->bytes) != 0) {
        return 0;
    }
    rest.at += shape->bytes;
    if (next_tag(&rest) <= LAST_FRAME_TAG) {
        return 0; /* it goes on, or something is unusual */
    }
    parts->shape = (struct span){parts->rest.at, rest.at};
    parts->rest = rest;
    parts->name_count = shape->name_count;
    return 1;
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
                                    shape->frame_count};
    return CPT_OK;
}

/* --- Keeping --- */

/* Whether a shape with @hash comes for the second time, as far as is remembered. */
static int is_second(struct cpt_log_shapes *shapes, uint64_t hash)
{
    uint32_t *once = &shapes->once[hash % SLOT_COUNT];
    const uint32_t mark = (uint32_t)(hash >> 32) | 1U;

    if (*once == mark) {
        return 1;
    }
    *once = mark;
    return 0;
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
