/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata.c - bytes to metadata.proto in memory
 *
 * We walk over the fields with nanopb's primitives, because we must be stricter than
 * nanopb's reader: we check the wire type of each field, know its offset, and limit its
 * size. metadata_form.c writes.
 *
 *      08 01          version = 1
 *      18 b8 17       sum_ns = 3000
 *      2a 04 41…      name = "A: /"
 *      32 02 00 01    frame_parent = 0, 1 (packed)
 *
 * An unknown field is skipped; a known field of the wrong wire type is refused. Columns
 * may be packed or not, in several pieces and in any order: every reader of protobuf
 * must accept that.
 *
 * Cost: one pass over the bytes and eight bytes of memory for each number read, so that
 * memory never grows with a length that the input merely claims.
 */
#include "wire/metadata/metadata_form.h"

#include "wire/metadata/tag.h"
#include "wire/metadata/varint.h"

#include "metadata.pb.h"

#include <assert.h>
#include <pb_decode.h>

#define FIRST_COLUMN_TAG cpt_CriticalPath_frame_parent_tag
#define LAST_COLUMN_TAG  cpt_CriticalPath_segment_drag_tag

_Static_assert(LAST_COLUMN_TAG - FIRST_COLUMN_TAG + 1 == CPTI_COLUMN_COUNT,
               "a column of metadata.proto is missing in enum cpti_column_index");
_Static_assert(FIRST_COLUMN_TAG + CPTI_LABEL_KEY == cpt_CriticalPath_label_key_tag,
               "the columns stand in the order of metadata.proto");

void cpti_message_deinit(struct cpti_form_message *message)
{
    cpt_alloc_free(message->alloc, message->names);
    for (size_t i = 0; i < CPTI_COLUMN_COUNT; i++) {
        cpt_alloc_free(message->alloc, message->columns[i].values);
    }
}

/* A message being read, and its limits. */
struct reading {
    struct cpti_form_message *message;
    const struct cpt_metadata_decode_options *limits;
    const unsigned char *data;
    size_t bytes;
    size_t name_bytes; /* of all names so far */
    struct cpt_error *error;
};

static cpt_status refuse(const struct reading *reading, const pb_istream_t *stream,
                         const char *what)
{
    return cpt_error_set(reading->error, CPT_CORRUPT,
                         reading->bytes - stream->bytes_left,
                         "the path is not a protobuf message: %s", what);
}

static cpt_status refuse_stream(const struct reading *reading,
                                const pb_istream_t *stream)
{
    return refuse(reading, stream, PB_GET_ERROR(stream));
}

/* The most numbers of a column. */
static size_t column_count_max(const struct cpt_metadata_decode_options *limits,
                               unsigned index)
{
    switch (cpti_column_base(index)) {
    case CPTI_FRAME_PARENT:
        return limits->frames_max;
    case CPTI_SEGMENT_FRAME:
        return limits->segments_max;
    default:
        return limits->labels_max;
    }
}

/* The largest number of a column. */
static uint64_t column_value_max(unsigned index)
{
    return index == CPTI_SEGMENT_DURATION_NS || index == CPTI_LABEL_VALUE ||
                   index == CPTI_SEGMENT_DRAG
               ? UINT64_MAX
               : UINT32_MAX;
}

static const char *column_things(unsigned index)
{
    switch (cpti_column_base(index)) {
    case CPTI_FRAME_PARENT:
        return "frames";
    case CPTI_SEGMENT_FRAME:
        return "segments";
    default:
        return "labels";
    }
}

static cpt_status add_number(const struct reading *reading, unsigned index,
                             uint64_t value, uint64_t offset)
{
    struct cpti_form_column *column = &reading->message->columns[index];
    const size_t count_max = column_count_max(reading->limits, index);
    cpt_status status = CPT_OK;

    if (value > column_value_max(index)) {
        return cpt_error_set(reading->error, CPT_CORRUPT, offset,
                             "number %zu of field %u is %llu, the limit is %llu",
                             column->count, FIRST_COLUMN_TAG + index,
                             (unsigned long long)value,
                             (unsigned long long)column_value_max(index));
    }
    if (column->count == 0) {
        column->offset = offset;
    }
    status = cpt_alloc_grow(reading->message->alloc, (void **)&column->values,
                            &column->capacity, column->count + 1, count_max,
                            sizeof *column->values);
    if (status == CPT_LIMIT) {
        return cpt_error_set(reading->error, CPT_LIMIT, offset,
                             "path has more %s than the limit of %zu",
                             column_things(index), count_max);
    }
    if (status != CPT_OK) {
        return cpt_error_set(reading->error, status, offset, "out of memory");
    }
    column->values[column->count++] = value;
    return CPT_OK;
}

static cpt_status read_number(const struct reading *reading, pb_istream_t *stream,
                              unsigned index)
{
    const uint64_t offset = reading->bytes - stream->bytes_left;
    uint64_t value = 0;

    if (!pb_decode_varint(stream, &value)) {
        return refuse_stream(reading, stream);
    }
    return add_number(reading, index, value, offset);
}

/* Makes room for the numbers from @at up to @end, as many as there are last bytes of
 * numbers; at the limit of the column, for fewer. CPT_OK or CPT_NO_MEMORY. */
static cpt_status reserve_numbers(const struct reading *reading, unsigned index,
                                  const unsigned char *at, const unsigned char *end)
{
    struct cpti_form_column *column = &reading->message->columns[index];
    const size_t count_max = column_count_max(reading->limits, index);
    size_t count = column->count;

    for (; at < end; at++) {
        count += *at < 0x80;
    }
    return cpt_alloc_grow(reading->message->alloc, (void **)&column->values,
                          &column->capacity, count < count_max ? count : count_max,
                          count_max, sizeof *column->values);
}

/* Reads numbers up to @end while they are ordinary ones, for which the column has room:
 * nanopb takes each byte through a function of the stream. Returns where it stopped;
 * read_number() takes the number there, and refuses what is wrong. */
static const unsigned char *take_numbers(const struct reading *reading, unsigned index,
                                         const unsigned char *at,
                                         const unsigned char *end)
{
    struct cpti_form_column *column = &reading->message->columns[index];
    const size_t count_max = column_count_max(reading->limits, index);
    const size_t room = column->capacity < count_max ? column->capacity : count_max;
    const uint64_t value_max = column_value_max(index);

    uint64_t *values = column->values;
    size_t count = column->count;

    while (count != 0 && count < room && at < end) {
        const unsigned char *next = at;

        if (*at < 0x80) { /* in most columns all are */
            values[count++] = *at++;
            continue;
        }
        if (end - at < 8 || !cpti_varint_take(&next, &values[count]) ||
            values[count] > value_max) {
            break;
        }
        count++;
        at = next;
    }
    column->count = count;
    return at;
}

/* A column, or a piece of one. */
static cpt_status read_column(const struct reading *reading, pb_istream_t *stream,
                              pb_wire_type_t wire_type, unsigned index)
{
    uint64_t bytes = 0;
    size_t left_bytes = 0; /* of the stream, where the column ends */
    cpt_status status = CPT_OK;

    if (wire_type == PB_WT_VARINT) {
        return read_number(reading, stream, index);
    }
    if (!pb_decode_varint(stream, &bytes)) {
        return refuse_stream(reading, stream);
    }
    if (bytes > stream->bytes_left) {
        return refuse(reading, stream, "end-of-stream");
    }
    left_bytes = stream->bytes_left - (size_t)bytes;
    status = reserve_numbers(reading, index,
                             reading->data + (reading->bytes - stream->bytes_left),
                             reading->data + (reading->bytes - left_bytes));
    if (status != CPT_OK) {
        return cpt_error_set(reading->error, status,
                             reading->bytes - stream->bytes_left, "out of memory");
    }
    while (stream->bytes_left > left_bytes && status == CPT_OK) {
        const unsigned char *end = reading->data + (reading->bytes - left_bytes);
        const unsigned char *at = reading->data + (reading->bytes - stream->bytes_left);

        if (!pb_read(stream, NULL,
                     (size_t)(take_numbers(reading, index, at, end) - at))) {
            return refuse_stream(reading, stream);
        }
        if (stream->bytes_left > left_bytes) {
            status = read_number(reading, stream, index);
        }
    }
    if (status == CPT_OK && stream->bytes_left != left_bytes) {
        return refuse(reading, stream, "a number goes beyond its field");
    }
    return status;
}

/* Takes names that follow another one while they are ordinary, as take_numbers() does;
 * read_name() takes the next one. */
static bool take_names(struct reading *reading, pb_istream_t *stream)
{
    enum { NAME_KEY = cpt_CriticalPath_name_tag << 3 | PB_WT_STRING };
    struct cpti_form_message *message = reading->message;
    const unsigned char *start = reading->data + (reading->bytes - stream->bytes_left);
    const unsigned char *end = reading->data + reading->bytes;
    const unsigned char *at = start;
    size_t left = reading->limits->name_bytes_max - reading->name_bytes;

    while (message->name_count != 0 && message->name_count < message->name_capacity &&
           end - at >= 2 && at[0] == NAME_KEY && at[1] < 0x80 &&
           at[1] <= end - at - 2 && at[1] < left) {
        message->names[message->name_count++] =
            (struct cpt_bytes){(const char *)at + 2, at[1]};
        left -= at[1] + 1U;
        at += 2 + at[1];
    }
    reading->name_bytes = reading->limits->name_bytes_max - left;
    return pb_read(stream, NULL, (size_t)(at - start));
}

_Static_assert(CPT_NAME_BYTES_MAX >= 0x7f, "a name that take_names() takes fits");

static cpt_status read_name(struct reading *reading, pb_istream_t *stream)
{
    struct cpti_form_message *message = reading->message;
    const uint64_t start = reading->bytes - stream->bytes_left;
    uint64_t bytes = 0;
    cpt_status status = CPT_OK;

    if (!pb_decode_varint(stream, &bytes)) {
        return refuse_stream(reading, stream);
    }
    if (bytes > stream->bytes_left) {
        return refuse(reading, stream, "end-of-stream");
    }
    if (bytes > CPT_NAME_BYTES_MAX) {
        return cpt_error_set(reading->error, CPT_LIMIT, start,
                             "name %zu has %llu bytes, the limit is %d",
                             message->name_count, (unsigned long long)bytes,
                             CPT_NAME_BYTES_MAX);
    }
    reading->name_bytes += (size_t)bytes + 1; /* so that empty names are bounded, too */
    if (reading->name_bytes > reading->limits->name_bytes_max) {
        return cpt_error_set(reading->error, CPT_LIMIT, start,
                             "the names have more bytes than the limit of %zu",
                             reading->limits->name_bytes_max);
    }
    if (message->name_count == 0) {
        message->name_offset = start;
    }
    /* More names than frames and labels can refer to are of no use. */
    status = cpt_alloc_grow(message->alloc, (void **)&message->names,
                            &message->name_capacity, message->name_count + 1,
                            reading->limits->frames_max + reading->limits->labels_max,
                            sizeof *message->names);
    if (status == CPT_LIMIT) {
        return cpt_error_set(reading->error, status, start,
                             "the path has more names than the limits of frames and "
                             "labels together, %zu",
                             reading->limits->frames_max + reading->limits->labels_max);
    }
    if (status != CPT_OK) {
        return cpt_error_set(reading->error, status, start, "out of memory");
    }
    message->names[message->name_count++] = (struct cpt_bytes){
        (const char *)reading->data + (reading->bytes - stream->bytes_left),
        (size_t)bytes};
    return pb_read(stream, NULL, (size_t)bytes) && take_names(reading, stream)
               ? CPT_OK
               : refuse_stream(reading, stream);
}

/* Sets the field @tag of one number. */
static void set_scalar(struct cpti_form_message *message, uint32_t tag, uint64_t value)
{
    switch (tag) {
    case cpt_CriticalPath_version_tag:
        message->version = value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
        break;
    case cpt_CriticalPath_server_elapsed_ns_tag:
        message->has_server_elapsed = true;
        message->server_elapsed_ns = value;
        break;
    case cpt_CriticalPath_sum_ns_tag:
        message->sum_ns = value;
        break;
    case cpt_CriticalPath_nonce_tag:
        message->nonce = value;
        break;
    default:
        assert(tag == cpt_CriticalPath_flags_tag);
        message->flags = (unsigned)(value & UINT32_MAX);
        break;
    }
}

static bool is_known(uint32_t tag)
{
    return tag >= cpt_CriticalPath_version_tag && tag <= cpt_CriticalPath_nonce_tag;
}

/* Whether it is a field of one number, and no column. */
static bool is_scalar(uint32_t tag)
{
    return is_known(tag) &&
           (tag < cpt_CriticalPath_name_tag || tag == cpt_CriticalPath_nonce_tag);
}

/* Whether a field may have this wire type. */
static bool is_fitting(uint32_t tag, pb_wire_type_t wire_type)
{
    if (tag < cpt_CriticalPath_name_tag) {
        return wire_type == PB_WT_VARINT;
    }
    if (tag == cpt_CriticalPath_name_tag) {
        return wire_type == PB_WT_STRING;
    }
    if (tag == cpt_CriticalPath_nonce_tag) {
        return wire_type == PB_WT_64BIT;
    }
    return wire_type == PB_WT_VARINT || wire_type == PB_WT_STRING;
}

/* Reads the number of a scalar of this wire type. */
static bool read_scalar(pb_istream_t *stream, pb_wire_type_t wire_type, uint64_t *value)
{
    return wire_type == PB_WT_64BIT ? pb_decode_fixed64(stream, value)
                                    : pb_decode_varint(stream, value);
}

static cpt_status read_field(struct reading *reading, pb_istream_t *stream,
                             pb_wire_type_t wire_type, uint32_t tag)
{
    uint64_t value = 0;

    if (tag == 0) {
        return refuse(reading, stream, "field 0");
    }
    if (!is_known(tag)) {
        return pb_skip_field(stream, wire_type) ? CPT_OK
                                                : refuse_stream(reading, stream);
    }
    if (!is_fitting(tag, wire_type)) {
        return cpt_error_set(
            reading->error, CPT_CORRUPT, reading->bytes - stream->bytes_left,
            "field %u has wire type %d", (unsigned)tag, (int)wire_type);
    }
    if (tag == cpt_CriticalPath_name_tag) {
        return read_name(reading, stream);
    }
    if (!is_scalar(tag)) {
        return read_column(reading, stream, wire_type, tag - FIRST_COLUMN_TAG);
    }
    if (!read_scalar(stream, wire_type, &value)) {
        return refuse_stream(reading, stream);
    }
    set_scalar(reading->message, tag, value);
    return CPT_OK;
}

/* Checks the fields of one number. */
static cpt_status check_scalars(const struct cpti_form_message *message,
                                struct cpt_error *error)
{
    if (message->version == 0) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the path has no version");
    }
    if (message->version > CPT_METADATA_VERSION) {
        return cpt_error_set(error, CPT_VERSION, 0, "the path is of version %u, not %d",
                             message->version, CPT_METADATA_VERSION);
    }
    if (message->sum_ns > INT64_MAX || message->server_elapsed_ns > INT64_MAX) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "a time is not below 2^63 ns");
    }
    return CPT_OK;
}

cpt_status cpti_message_read(struct cpti_form_message *message, const void *data,
                             size_t bytes,
                             const struct cpt_metadata_decode_options *limits,
                             struct cpt_error *error)
{
    struct reading reading = {.message = message,
                              .limits = limits,
                              .data = data,
                              .bytes = bytes,
                              .error = error};
    pb_istream_t stream = pb_istream_from_buffer(data, bytes);
    pb_wire_type_t wire_type = PB_WT_VARINT;
    uint32_t tag = 0;
    bool is_end = false;
    cpt_status status = CPT_OK;

    if (bytes > limits->bytes_max) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "path has %zu bytes, the limit is %zu", bytes,
                             limits->bytes_max);
    }
    while (status == CPT_OK && cpti_tag_take(&stream, &wire_type, &tag, &is_end)) {
        status = read_field(&reading, &stream, wire_type, tag);
    }
    if (status == CPT_OK && !is_end) {
        status = refuse_stream(&reading, &stream);
    }
    return status == CPT_OK ? check_scalars(message, error) : status;
}

/* Takes the value of a field that is a number beside the columns, and skips others. */
static bool peek_field(struct cpti_form_message *message, pb_istream_t *stream,
                       pb_wire_type_t wire_type, uint32_t tag)
{
    uint64_t value = 0;

    if (!is_scalar(tag)) {
        return pb_skip_field(stream, wire_type);
    }
    if (!read_scalar(stream, wire_type, &value)) {
        return false;
    }
    set_scalar(message, tag, value);
    return true;
}

cpt_status cpt_metadata_peek(const void *data, size_t bytes,
                             struct cpt_metadata_summary *summary,
                             struct cpt_error *error)
{
    struct cpti_form_message message = {0};
    pb_istream_t stream = pb_istream_from_buffer(data, bytes);
    const struct reading reading = {
        .message = &message, .bytes = bytes, .error = error};
    pb_wire_type_t wire_type = PB_WT_VARINT;
    uint32_t tag = 0;
    bool is_end = false;
    bool has_segments = false;
    cpt_status status = CPT_OK;

    *summary = (struct cpt_metadata_summary){0};
    while (cpti_tag_take(&stream, &wire_type, &tag, &is_end)) {
        has_segments |= tag == cpt_CriticalPath_segment_duration_ns_tag;
        if (tag == 0 || (is_known(tag) && !is_fitting(tag, wire_type))) {
            return refuse(&reading, &stream, "wrong wire type");
        }
        if (!peek_field(&message, &stream, wire_type, tag)) {
            return refuse_stream(&reading, &stream);
        }
    }
    if (!is_end) {
        return refuse_stream(&reading, &stream);
    }
    status = check_scalars(&message, error);
    if (status != CPT_OK) {
        return status;
    }
    *summary = (struct cpt_metadata_summary){
        .version = message.version,
        .path_flags = message.flags,
        .sum_ns = message.sum_ns,
        .server_elapsed_ns = message.server_elapsed_ns,
        .has_server_elapsed = message.has_server_elapsed,
        .is_sum_only = !has_segments && message.sum_ns != 0,
        .nonce = message.nonce};
    return CPT_OK;
}
