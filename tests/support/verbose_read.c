/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * verbose_read.c - a path from segments that have their whole stacks
 *
 * Three levels of messages, each read in two passes, as fields may come in any order:
 * first what the others depend on (the version; the frames of a segment and its time),
 * then the rest (segments; labels). Nothing is kept of a message but the stack of one
 * segment, and what goes into the path.
 *
 * As in metadata.c, an unknown field is skipped, and a known one of the wrong wire type
 * is refused. So the compact form is refused: its field 3 is a number.
 */
#include "tests/support/metadata_verbose.h"

#include "wire/metadata/tag.h"

#include "metadata_verbose.pb.h"

#include <assert.h>
#include <pb_decode.h>
#include <stdbool.h>
#include <string.h>

/* A frame of the stack of the segment that is being read. */
struct level {
    struct cpt_bytes name; /* its bytes are borrowed from the input */
    uint32_t kind;
};

/* A path being read. */
struct reading {
    struct cpt_path *path;
    struct cpt_metadata_decode_options limits; /* every one is set */
    const unsigned char *data;
    struct cpt_error *error;
    struct cpt_metadata_summary summary;
    size_t segment_count;
    size_t label_count; /* also of those that are skipped */
    size_t name_count;  /* of those whose bytes are counted */
    size_t name_bytes;
    struct level *stack;
    size_t depth;
    size_t stack_capacity;
    size_t kind_count; /* of the stack, so far */
    struct cpt_segment segment;
    uint64_t drag_ns; /* of the segment, or CPT_DRAG_UNKNOWN */
    uint64_t clamped; /* drags above their segments */
};

/* The rest of a message. */
struct cursor {
    pb_istream_t stream;
    const unsigned char *end;
};

/* A field whose tag has been read. */
struct field {
    uint32_t tag;
    pb_wire_type_t wire_type;
    uint64_t number;        /* of one that is a number, or 8 bytes */
    struct cpt_bytes bytes; /* of one that is bytes */
};

static struct cursor cursor_of(struct cpt_bytes bytes)
{
    const unsigned char *data = (const unsigned char *)bytes.data;

    return (struct cursor){pb_istream_from_buffer(data, bytes.bytes),
                           data + bytes.bytes};
}

static uint64_t offset_of(const struct reading *reading, const struct cursor *cursor)
{
    return (uint64_t)(cursor->end - reading->data) - cursor->stream.bytes_left;
}

static cpt_status refuse(const struct reading *reading, const struct cursor *cursor,
                         cpt_status status, const char *what)
{
    return cpt_error_set(reading->error, status, offset_of(reading, cursor), "%s",
                         what);
}

static cpt_status refuse_stream(const struct reading *reading,
                                const struct cursor *cursor)
{
    return cpt_error_set(reading->error, CPT_CORRUPT, offset_of(reading, cursor),
                         "the path is not a protobuf message: %s",
                         PB_GET_ERROR(&cursor->stream));
}

/* --- Fields --- */

static bool take_bytes(struct cursor *cursor, struct cpt_bytes *bytes)
{
    uint64_t count = 0;

    if (!pb_decode_varint(&cursor->stream, &count) ||
        count > cursor->stream.bytes_left) {
        return false;
    }
    *bytes = (struct cpt_bytes){(const char *)cursor->end - cursor->stream.bytes_left,
                                (size_t)count};
    return pb_read(&cursor->stream, NULL, (size_t)count);
}

/* A bit for each field that a message may have as a number, as bytes, as 8 bytes. */
struct fields {
    unsigned numbers;
    unsigned bytes;
    unsigned fixed64;
};

/* Whether the field is one that the schema does not know, or has the right wire type.
 */
static bool is_fitting(const struct fields *fields, const struct field *field)
{
    const unsigned bit = field->tag < 32 ? 1U << field->tag : 0;

    if (((fields->numbers | fields->bytes | fields->fixed64) & bit) == 0) {
        return true;
    }
    switch (field->wire_type) {
    case PB_WT_VARINT:
        return (fields->numbers & bit) != 0;
    case PB_WT_STRING:
        return (fields->bytes & bit) != 0;
    default:
        return field->wire_type == PB_WT_64BIT && (fields->fixed64 & bit) != 0;
    }
}

/* Takes the value of the field, or skips one that has another wire type. */
static bool take_value(struct cursor *cursor, struct field *field)
{
    switch (field->wire_type) {
    case PB_WT_VARINT:
        return pb_decode_varint(&cursor->stream, &field->number);
    case PB_WT_64BIT:
        return pb_decode_fixed64(&cursor->stream, &field->number);
    case PB_WT_STRING:
        return take_bytes(cursor, &field->bytes);
    default:
        return pb_skip_field(&cursor->stream, field->wire_type);
    }
}

/* Takes the next field; those in @fields must have one of their wire types, and the
 * value of another means nothing. CPT_END at the end. */
static cpt_status next_field(const struct reading *reading, struct cursor *cursor,
                             const struct fields *fields, struct field *field)
{
    bool is_end = false;

    *field = (struct field){.wire_type = PB_WT_VARINT};
    if (!cpti_tag_take(&cursor->stream, &field->wire_type, &field->tag, &is_end)) {
        return is_end ? CPT_END : refuse_stream(reading, cursor);
    }
    if (field->tag == 0) {
        return refuse(reading, cursor, CPT_CORRUPT, "a field has number 0");
    }
    if (!is_fitting(fields, field)) {
        return cpt_error_set(reading->error, CPT_CORRUPT, offset_of(reading, cursor),
                             "field %u has wire type %d; is this the compact form?",
                             (unsigned)field->tag, (int)field->wire_type);
    }
    return take_value(cursor, field) ? CPT_OK : refuse_stream(reading, cursor);
}

#define BIT(tag) (1U << (tag))

/* --- Frames --- */

/* Bounds the names of the path; each counts once. */
static cpt_status count_names(struct reading *reading, const struct cursor *cursor)
{
    for (; reading->name_count < cpt_path_name_count(reading->path);
         reading->name_count++) {
        reading->name_bytes +=
            cpt_path_name(reading->path, (cpt_name_id)reading->name_count).bytes + 1;
    }
    if (reading->name_bytes > reading->limits.name_bytes_max) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset_of(reading, cursor),
                             "the names have more bytes than the limit of %zu",
                             reading->limits.name_bytes_max);
    }
    return CPT_OK;
}

static cpt_status check_name(const struct reading *reading, const struct cursor *cursor,
                             struct cpt_bytes name)
{
    if (name.bytes > CPT_NAME_BYTES_MAX) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset_of(reading, cursor),
                             "a name has %zu bytes, the limit is %d", name.bytes,
                             CPT_NAME_BYTES_MAX);
    }
    if (name.bytes != 0 && memchr(name.data, 0, name.bytes) != NULL) {
        return refuse(reading, cursor, CPT_CORRUPT, "a name has a NUL byte");
    }
    return CPT_OK;
}

/* Makes the stack at least @depth deep. */
static cpt_status need_level(struct reading *reading, const struct cursor *cursor,
                             size_t depth)
{
    const cpt_status status = cpt_alloc_grow(
        reading->limits.alloc, (void **)&reading->stack, &reading->stack_capacity,
        depth, reading->limits.depth_max, sizeof *reading->stack);

    if (status == CPT_LIMIT) {
        return cpt_error_set(reading->error, status, offset_of(reading, cursor),
                             "a stack is deeper than the limit of %zu",
                             reading->limits.depth_max);
    }
    return status == CPT_OK ? CPT_OK : refuse(reading, cursor, status, "out of memory");
}

static cpt_status add_name(struct reading *reading, const struct cursor *cursor,
                           struct cpt_bytes name)
{
    cpt_status status = check_name(reading, cursor, name);

    status =
        status == CPT_OK ? need_level(reading, cursor, reading->depth + 1) : status;
    if (status != CPT_OK) {
        return status;
    }
    if (reading->depth >= reading->kind_count) {
        reading->stack[reading->depth].kind = CPT_KIND_WORK;
    }
    reading->stack[reading->depth++].name = name;
    return CPT_OK;
}

static cpt_status add_kind(struct reading *reading, const struct cursor *cursor,
                           uint64_t kind)
{
    cpt_status status = CPT_OK;

    if (kind > CPT_KIND_MAX) {
        return refuse(reading, cursor, CPT_CORRUPT, "a frame has a kind above 255");
    }
    status = need_level(reading, cursor, reading->kind_count + 1);
    if (status == CPT_OK) {
        reading->stack[reading->kind_count++].kind = (uint32_t)kind;
    }
    return status;
}

static cpt_status add_kinds(struct reading *reading, const struct cursor *cursor,
                            const struct field *field)
{
    struct cursor kinds;
    cpt_status status = CPT_OK;
    uint64_t kind = 0;

    if (field->wire_type == PB_WT_VARINT) {
        return add_kind(reading, cursor, field->number);
    }
    kinds = cursor_of(field->bytes);
    while (kinds.stream.bytes_left != 0 && status == CPT_OK) {
        if (!pb_decode_varint(&kinds.stream, &kind)) {
            return refuse_stream(reading, &kinds);
        }
        status = add_kind(reading, &kinds, kind);
    }
    return status;
}

/* Adds the frames of the stack; the last one becomes that of the segment. */
static cpt_status add_frames(struct reading *reading, const struct cursor *cursor)
{
    uint32_t frame = CPT_FRAME_NONE;

    if (reading->depth == 0 || reading->kind_count > reading->depth) {
        return cpt_error_set(reading->error, CPT_CORRUPT, offset_of(reading, cursor),
                             "segment %zu has %zu names and %zu kinds",
                             reading->segment_count, reading->depth,
                             reading->kind_count);
    }
    for (size_t i = 0; i < reading->depth; i++) {
        const cpt_status status =
            cpt_path_frame_add(reading->path, frame, reading->stack[i].name,
                               reading->stack[i].kind, &frame);

        if (status != CPT_OK) {
            return refuse(reading, cursor, status, cpt_status_sentence(status));
        }
    }
    if (cpt_path_frame_count(reading->path) > reading->limits.frames_max) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset_of(reading, cursor),
                             "path has more frames than the limit of %zu",
                             reading->limits.frames_max);
    }
    reading->segment.frame = frame;
    return count_names(reading, cursor);
}

/* --- Labels --- */

static cpt_status add_label(struct reading *reading, struct cpt_bytes bytes)
{
    static const struct fields fields = {.numbers = BIT(cpt_VerboseLabel_key_tag) |
                                                    BIT(cpt_VerboseLabel_number_tag),
                                         .bytes = BIT(cpt_VerboseLabel_name_tag)};
    struct cursor cursor = cursor_of(bytes);
    struct cpt_bytes name = {NULL, 0};
    struct field field;
    uint64_t key = 0;
    uint64_t number = 0;
    bool has_name = false;
    int takes_name = 0;
    cpt_status status = next_field(reading, &cursor, &fields, &field);

    for (; status == CPT_OK; status = next_field(reading, &cursor, &fields, &field)) {
        if (field.tag == cpt_VerboseLabel_key_tag) {
            key = field.number;
        } else if (field.tag == cpt_VerboseLabel_number_tag) {
            number = field.number;
        } else if (field.tag == cpt_VerboseLabel_name_tag) {
            has_name = true;
            name = field.bytes;
        }
    }
    status = status == CPT_END ? check_name(reading, &cursor, name) : status;
    if (status != CPT_OK) {
        return status;
    }
    if (++reading->label_count > reading->limits.labels_max) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset_of(reading, &cursor),
                             "path has more labels than the limit of %zu",
                             reading->limits.labels_max);
    }
    if (key > CPT_LABEL_KEY_MAX || cpt_label_word((unsigned)key, &takes_name) == NULL ||
        has_name != (takes_name != 0)) {
        return CPT_OK;
    }
    status = has_name ? cpt_path_label_name(reading->path, (unsigned)key, name)
                      : cpt_path_label_number(reading->path, (unsigned)key, number);
    return status == CPT_OK ? count_names(reading, &cursor)
                            : refuse(reading, &cursor, status, "out of memory");
}

/* --- Segments --- */

static const struct fields segment_fields = {
    .numbers = BIT(cpt_VerboseSegment_kind_tag) |
               BIT(cpt_VerboseSegment_duration_ns_tag) |
               BIT(cpt_VerboseSegment_folded_tag) | BIT(cpt_VerboseSegment_flags_tag) |
               BIT(cpt_VerboseSegment_reason_tag) | BIT(cpt_VerboseSegment_drag_ns_tag),
    .bytes = BIT(cpt_VerboseSegment_name_tag) | BIT(cpt_VerboseSegment_kind_tag) |
             BIT(cpt_VerboseSegment_label_tag)};

/* Takes a field other than a label. */
static cpt_status take_segment_field(struct reading *reading,
                                     const struct cursor *cursor,
                                     const struct field *field)
{
    struct cpt_segment *segment = &reading->segment;
    uint64_t number_max = UINT64_MAX;

    switch (field->tag) {
    case cpt_VerboseSegment_name_tag:
        return add_name(reading, cursor, field->bytes);
    case cpt_VerboseSegment_kind_tag:
        return add_kinds(reading, cursor, field);
    case cpt_VerboseSegment_duration_ns_tag:
        segment->duration_ns = field->number;
        break;
    case cpt_VerboseSegment_folded_tag:
        number_max = UINT32_MAX - 1;
        segment->count = (uint32_t)field->number + 1;
        break;
    case cpt_VerboseSegment_flags_tag:
        number_max = UINT16_MAX;
        segment->flags = (uint16_t)field->number;
        break;
    case cpt_VerboseSegment_reason_tag:
        number_max = CPT_REASON_MAX;
        segment->reason = (uint16_t)field->number;
        break;
    case cpt_VerboseSegment_drag_ns_tag:
        number_max = CPT_DRAG_UNKNOWN - 1;
        reading->drag_ns = field->number;
        break;
    default:
        return CPT_OK;
    }
    if (field->number > number_max) {
        return cpt_error_set(reading->error, CPT_CORRUPT, offset_of(reading, cursor),
                             "field %u of segment %zu is above %llu",
                             (unsigned)field->tag, reading->segment_count,
                             (unsigned long long)number_max);
    }
    return CPT_OK;
}

static cpt_status append_segment(struct reading *reading, const struct cursor *cursor)
{
    cpt_status status = CPT_OK;

    if (reading->segment.duration_ns == 0) {
        return cpt_error_set(reading->error, CPT_CORRUPT, offset_of(reading, cursor),
                             "segment %zu has no duration", reading->segment_count);
    }
    if (++reading->segment_count > reading->limits.segments_max) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset_of(reading, cursor),
                             "path has more segments than the limit of %zu",
                             reading->limits.segments_max);
    }
    status = cpt_path_append(reading->path, reading->segment);
    if (status == CPT_LIMIT) {
        return refuse(reading, cursor, CPT_CORRUPT,
                      "the durations are not below 2^63 ns");
    }
    if (status == CPT_OK && reading->drag_ns != CPT_DRAG_UNKNOWN) {
        const uint64_t duration_ns = reading->segment.duration_ns;
        const bool is_above = reading->drag_ns > duration_ns;

        reading->clamped += is_above;
        status = cpt_path_drag_set(reading->path, reading->segment_count - 1,
                                   is_above ? duration_ns : reading->drag_ns);
    }
    return status == CPT_OK ? CPT_OK : refuse(reading, cursor, status, "out of memory");
}

static cpt_status add_segment(struct reading *reading, struct cpt_bytes bytes)
{
    struct cursor cursor = cursor_of(bytes);
    struct field field;
    cpt_status status = CPT_OK;

    reading->depth = 0;
    reading->kind_count = 0;
    reading->segment = (struct cpt_segment){.count = 1};
    reading->drag_ns = CPT_DRAG_UNKNOWN;
    while (status == CPT_OK) {
        status = next_field(reading, &cursor, &segment_fields, &field);
        if (status == CPT_OK) {
            status = take_segment_field(reading, &cursor, &field);
        }
    }
    status = status == CPT_END ? add_frames(reading, &cursor) : status;
    status = status == CPT_OK ? append_segment(reading, &cursor) : status;
    cursor = cursor_of(bytes);
    while (status == CPT_OK) {
        status = next_field(reading, &cursor, &segment_fields, &field);
        if (status == CPT_OK && field.tag == cpt_VerboseSegment_label_tag) {
            status = add_label(reading, field.bytes);
        }
    }
    return status == CPT_END ? CPT_OK : status;
}

/* --- The path --- */

static const struct fields path_fields = {
    .numbers = BIT(cpt_VerbosePath_version_tag) |
               BIT(cpt_VerbosePath_server_elapsed_ns_tag) |
               BIT(cpt_VerbosePath_flags_tag) | BIT(cpt_VerbosePath_sum_ns_tag),
    .bytes = BIT(cpt_VerbosePath_segment_tag),
    .fixed64 = BIT(cpt_VerbosePath_nonce_tag)};

static void take_path_field(struct cpt_metadata_summary *summary,
                            const struct field *field)
{
    switch (field->tag) {
    case cpt_VerbosePath_version_tag:
        summary->version =
            field->number > UINT32_MAX ? UINT32_MAX : (unsigned)field->number;
        break;
    case cpt_VerbosePath_server_elapsed_ns_tag:
        summary->has_server_elapsed = 1;
        summary->server_elapsed_ns = field->number;
        break;
    case cpt_VerbosePath_flags_tag:
        summary->path_flags = (unsigned)(field->number & UINT32_MAX);
        break;
    case cpt_VerbosePath_sum_ns_tag:
        summary->sum_ns = field->number;
        break;
    case cpt_VerbosePath_nonce_tag:
        summary->nonce = field->number;
        break;
    default:
        break;
    }
}

static cpt_status read_summary(struct reading *reading, struct cpt_bytes bytes)
{
    const struct cpt_metadata_summary *summary = &reading->summary;
    struct cursor cursor = cursor_of(bytes);
    struct field field;
    cpt_status status = next_field(reading, &cursor, &path_fields, &field);

    for (; status == CPT_OK;
         status = next_field(reading, &cursor, &path_fields, &field)) {
        take_path_field(&reading->summary, &field);
    }
    if (status != CPT_END) {
        return status;
    }
    if (summary->version == 0) {
        return refuse(reading, &cursor, CPT_CORRUPT, "the path has no version");
    }
    if (summary->version > CPT_METADATA_VERSION) {
        return cpt_error_set(reading->error, CPT_VERSION, 0,
                             "the path is of version %u, not %d", summary->version,
                             CPT_METADATA_VERSION);
    }
    if (summary->sum_ns > INT64_MAX || summary->server_elapsed_ns > INT64_MAX) {
        return refuse(reading, &cursor, CPT_CORRUPT, "a time is not below 2^63 ns");
    }
    return CPT_OK;
}

static cpt_status read_path(struct reading *reading, struct cpt_bytes bytes)
{
    const uint64_t sum_ns = reading->summary.sum_ns;
    struct cursor cursor = cursor_of(bytes);
    struct field field;
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = next_field(reading, &cursor, &path_fields, &field);
        if (status == CPT_OK && field.tag == cpt_VerbosePath_segment_tag) {
            status = add_segment(reading, field.bytes);
        }
    }
    if (status != CPT_END) {
        return status;
    }
    if (cpt_path_sum_ns(reading->path) != sum_ns) {
        return cpt_error_set(reading->error, CPT_CORRUPT, 0,
                             "the segments sum to %llu ns, the path says %llu ns",
                             (unsigned long long)cpt_path_sum_ns(reading->path),
                             (unsigned long long)sum_ns);
    }
    cpt_path_flags_add(reading->path, reading->summary.path_flags);
    assert(cpt_path_check(reading->path, sum_ns, NULL) == CPT_OK);
    return CPT_OK;
}

static void set_default(size_t *option, size_t value)
{
    if (*option == 0) {
        *option = value;
    }
}

static void set_limits(struct cpt_metadata_decode_options *limits)
{
    set_default(&limits->bytes_max, VERBOSE_BYTES_MAX);
    set_default(&limits->segments_max, CPT_METADATA_SEGMENTS_MAX);
    set_default(&limits->frames_max, CPT_METADATA_FRAMES_MAX);
    set_default(&limits->labels_max, CPT_METADATA_LABELS_MAX);
    set_default(&limits->depth_max, CPT_METADATA_DEPTH_MAX);
    set_default(&limits->name_bytes_max, CPT_METADATA_NAME_BYTES_MAX);
    if (limits->depth_max > CPT_PATH_DEPTH_MAX) {
        limits->depth_max = CPT_PATH_DEPTH_MAX;
    }
}

cpt_status verbose_decode(const void *data, size_t bytes,
                          const struct cpt_metadata_decode_options *options,
                          struct cpt_path *path, struct cpt_metadata_summary *summary,
                          struct cpt_error *error)
{
    struct reading reading = {.path = path, .error = error};
    const struct cpt_bytes all = {bytes != 0 ? data : "", bytes};
    cpt_status status =
        cpt_options_read(&reading.limits, sizeof reading.limits, options, error);

    assert(cpt_path_frame_count(path) == 0);
    if (summary != NULL) {
        *summary = (struct cpt_metadata_summary){0};
    }
    if (status != CPT_OK) {
        return status;
    }
    set_limits(&reading.limits);
    reading.data = (const unsigned char *)all.data;
    if (bytes > reading.limits.bytes_max) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "path has %zu bytes, the limit is %zu", bytes,
                             reading.limits.bytes_max);
    }
    status = read_summary(&reading, all);
    status = status == CPT_OK ? read_path(&reading, all) : status;
    cpt_alloc_free(reading.limits.alloc, reading.stack);
    if (status != CPT_OK) {
        cpt_path_reset(path);
        return status;
    }
    if (summary != NULL) {
        *summary = reading.summary;
    }
    if (reading.limits.clamped_drags != NULL) {
        *reading.limits.clamped_drags += reading.clamped;
    }
    return CPT_OK;
}
