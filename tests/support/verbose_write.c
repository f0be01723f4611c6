/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * verbose_write.c - a path written with the whole stack of each segment
 *
 * The lengths of messages stand before them, so each segment is measured and then
 * written, by the same functions: they count, and write only where there is memory.
 */
#include "tests/support/metadata_verbose.h"

#include "wire/metadata/varint.h"

#include "metadata_verbose.pb.h"

#include <stdbool.h>
#include <string.h>

/* Where bytes go; with `at` NULL they are only counted. */
struct output {
    unsigned char *at;
    uint64_t bytes;
};

static void put(struct output *out, uint64_t number)
{
    if (out->at != NULL) {
        out->at = cpti_varint_put(out->at, number);
    }
    out->bytes += cpti_varint_bytes(number);
}

/* A field that is left out if it is 0. */
static void put_number(struct output *out, unsigned tag, uint64_t number)
{
    if (number != 0) {
        put(out, (uint64_t)tag << 3 | CPTI_WIRE_NUMBER);
        put(out, number);
    }
}

static void put_fixed64(struct output *out, unsigned tag, uint64_t number)
{
    put(out, (uint64_t)tag << 3 | CPTI_WIRE_FIXED64);
    if (out->at != NULL) {
        out->at = cpti_fixed64_put(out->at, number);
    }
    out->bytes += sizeof number;
}

static void put_bytes(struct output *out, unsigned tag, struct cpt_bytes bytes)
{
    put(out, (uint64_t)tag << 3 | CPTI_WIRE_BYTES);
    put(out, bytes.bytes);
    if (out->at != NULL && bytes.bytes != 0) {
        memcpy(out->at, bytes.data, bytes.bytes);
        out->at += bytes.bytes;
    }
    out->bytes += bytes.bytes;
}

/* A path being written. */
struct writing {
    const struct cpt_path *path;
    bool has_drags; /* that are written */
    size_t label;   /* the next */
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    size_t depth;
};

/* Finds the stack of @frame, root first. */
static void find_stack(struct writing *writing, uint32_t frame)
{
    writing->depth = cpt_path_frame(writing->path, frame)->depth;
    for (size_t i = writing->depth; i-- > 0;) {
        writing->stack[i] = frame;
        frame = cpt_path_frame(writing->path, frame)->parent;
    }
}

static void put_kinds(struct output *out, const struct writing *writing)
{
    struct output sizing = {NULL, 0};
    size_t count = writing->depth;

    while (count != 0 &&
           cpt_path_frame(writing->path, writing->stack[count - 1])->kind == 0) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        put(&sizing, cpt_path_frame(writing->path, writing->stack[i])->kind);
    }
    if (count != 0) {
        put(out, (uint64_t)cpt_VerboseSegment_kind_tag << 3 | CPTI_WIRE_BYTES);
        put(out, sizing.bytes);
    }
    for (size_t i = 0; i < count; i++) {
        put(out, cpt_path_frame(writing->path, writing->stack[i])->kind);
    }
}

static void put_label_fields(struct output *out, const struct cpt_path *path,
                             const struct cpt_label *label)
{
    put_number(out, cpt_VerboseLabel_key_tag, label->key);
    if (label->is_name) {
        put_bytes(out, cpt_VerboseLabel_name_tag,
                  cpt_path_name(path, (cpt_name_id)label->value));
    } else {
        put_number(out, cpt_VerboseLabel_number_tag, label->value);
    }
}

static void put_labels(struct output *out, const struct writing *writing, size_t index)
{
    const size_t count = cpt_path_label_count(writing->path);

    for (size_t i = writing->label; i < count; i++) {
        const struct cpt_label *label = cpt_path_label(writing->path, i);
        struct output sizing = {NULL, 0};

        if (label->segment != index) {
            return;
        }
        put_label_fields(&sizing, writing->path, label);
        put(out, (uint64_t)cpt_VerboseSegment_label_tag << 3 | CPTI_WIRE_BYTES);
        put(out, sizing.bytes);
        put_label_fields(out, writing->path, label);
    }
}

static void put_segment_fields(struct output *out, const struct writing *writing,
                               size_t index)
{
    const struct cpt_segment *segment = cpt_path_segment(writing->path, index);

    for (size_t i = 0; i < writing->depth; i++) {
        put_bytes(out, cpt_VerboseSegment_name_tag,
                  cpt_path_frame_name(writing->path, writing->stack[i]));
    }
    put_kinds(out, writing);
    put_number(out, cpt_VerboseSegment_duration_ns_tag, segment->duration_ns);
    put_number(out, cpt_VerboseSegment_folded_tag, segment->count - 1);
    put_number(out, cpt_VerboseSegment_flags_tag, segment->flags);
    put_number(out, cpt_VerboseSegment_reason_tag, segment->reason);
    put_labels(out, writing, index);
    if (writing->has_drags && cpt_path_drag(writing->path, index) != CPT_DRAG_UNKNOWN) {
        put(out, (uint64_t)cpt_VerboseSegment_drag_ns_tag << 3 | CPTI_WIRE_NUMBER);
        put(out, cpt_path_drag(writing->path, index));
    }
}

/* The whole message; stops when there are more than @bytes_max. */
static void put_path(struct output *out, const struct cpt_path *path,
                     const struct cpt_metadata_encode_options *options,
                     uint64_t bytes_max)
{
    struct writing writing = {
        .path = path, .has_drags = !options->without_drags && cpt_path_has_drags(path)};

    put_number(out, cpt_VerbosePath_version_tag, CPT_METADATA_VERSION);
    if (options->has_server_elapsed) {
        put(out,
            (uint64_t)cpt_VerbosePath_server_elapsed_ns_tag << 3 | CPTI_WIRE_NUMBER);
        put(out, options->server_elapsed_ns < INT64_MAX ? options->server_elapsed_ns
                                                        : INT64_MAX);
    }
    for (size_t i = 0; i < cpt_path_segment_count(path) && out->bytes <= bytes_max;
         i++) {
        struct output sizing = {NULL, 0};

        find_stack(&writing, cpt_path_segment(path, i)->frame);
        put_segment_fields(&sizing, &writing, i);
        put(out, (uint64_t)cpt_VerbosePath_segment_tag << 3 | CPTI_WIRE_BYTES);
        put(out, sizing.bytes);
        put_segment_fields(out, &writing, i);
        while (writing.label < cpt_path_label_count(path) &&
               cpt_path_label(path, writing.label)->segment == i) {
            writing.label++;
        }
    }
    put_number(out, cpt_VerbosePath_flags_tag, cpt_path_flags(path));
    put_number(out, cpt_VerbosePath_sum_ns_tag, cpt_path_sum_ns(path));
    if (options->nonce != 0) {
        put_fixed64(out, cpt_VerbosePath_nonce_tag, options->nonce);
    }
}

cpt_status verbose_encode(const struct cpt_path *path,
                          const struct cpt_metadata_encode_options *options,
                          unsigned char **data, size_t *bytes)
{
    struct cpt_metadata_encode_options own;
    struct output out = {NULL, 0};
    cpt_status status = cpt_options_read(&own, sizeof own, options, NULL);
    size_t bytes_max = SIZE_MAX;

    if (status != CPT_OK) {
        return status;
    }
    if (!own.is_unlimited) {
        bytes_max = own.bytes_max != 0 ? own.bytes_max : (size_t)VERBOSE_BYTES_MAX;
    }
    put_path(&out, path, &own, bytes_max);
    if (out.bytes > bytes_max) {
        return CPT_LIMIT;
    }
    *bytes = (size_t)out.bytes;
    *data = cpt_alloc_array(own.alloc, NULL, *bytes, 1);
    if (*data == NULL) {
        return CPT_NO_MEMORY;
    }
    out = (struct output){*data, 0};
    put_path(&out, path, &own, bytes_max);
    return CPT_OK;
}
