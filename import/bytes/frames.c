/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * frames.c - messages in a file; see frames.h
 *
 * A length whose first byte is below 9 begins no text; longer messages than 144 MiB are
 * not expected. A message alone begins with 0a, as a text may that begins with an empty
 * line: so it must have four lengths within each other that fit.
 *
 *      0a L1 { 0a L2 { 0a L3 { 0a L4 ...   L1 > L2 > L3 > L4
 */
#include "import/bytes/frames.h"

#include "import/bytes/inflate.h"

enum {
    LENGTH_BYTES = 4,
    TEXT_BYTE_MIN = 9,
    RESOURCE_SPANS = 0x0a, /* field 1, of a length */
    HEADER_BYTES_MAX = 20, /* of a field: its tag, its length or number */
    NESTED_MIN = 4,
    TYPE_NUMBER = 0,
    TYPE_64_BITS = 1,
    TYPE_LENGTH = 2,
    TYPE_32_BITS = 5
};

/* Reads the varint at *@at. CPT_TRUNCATED if it does not end before @bytes, CPT_CORRUPT
 * if it has more than 64 bits. */
static cpt_status read_varint(const char *data, size_t bytes, size_t *at,
                              uint64_t *number)
{
    enum { BITS = 7, SHIFT_MAX = 63 };

    *number = 0;
    for (unsigned shift = 0; *at < bytes && shift <= SHIFT_MAX; shift += BITS) {
        const unsigned char byte = (unsigned char)data[(*at)++];

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (shift == SHIFT_MAX && byte > 1) {
            return CPT_CORRUPT;
        }
        if (byte < 0x80) {
            return CPT_OK;
        }
    }
    return CPT_TRUNCATED;
}

/* Whether @tag may begin a message within a ResourceSpans; 20 may in theory, but is a
 * blank. */
static bool may_begin(unsigned char tag)
{
    return tag == 0x0a || tag == 0x10 || tag == 0x12 || tag == 0x1a;
}

/* Whether lengths lie within each other as in a message. */
static bool is_nested(const char *head, size_t bytes)
{
    uint64_t within = UINT64_MAX;
    size_t at = 0;

    for (unsigned depth = 0; depth < NESTED_MIN && at < bytes && within > 0; depth++) {
        const size_t from = at;
        const unsigned char tag = (unsigned char)head[at++];
        uint64_t length = 0;

        if (depth == 0 ? tag != RESOURCE_SPANS : !may_begin(tag)) {
            return false;
        }
        if ((tag & 7) != TYPE_LENGTH) {
            return true;
        }
        if (read_varint(head, bytes, &at, &length) != CPT_OK || within < at - from ||
            length > within - (at - from)) {
            return false;
        }
        within = length;
    }
    return true;
}

/* Empty messages, as far as one sees: of a device, or where nothing was written. */
static bool are_zeros(const char *head, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && head[at] == 0) {
        at++;
    }
    return at >= CPTI_FRAMES_HEAD_BYTES;
}

enum cpti_framing cpti_frames_recognise(const char *head, size_t bytes)
{
    if (bytes == 0) {
        return CPTI_FRAMING_NONE;
    }
    if ((unsigned char)head[0] < TEXT_BYTE_MIN) {
        return are_zeros(head, bytes) ? CPTI_FRAMING_NONE : CPTI_FRAMING_LENGTHS;
    }
    return head[0] == RESOURCE_SPANS && is_nested(head, bytes) ? CPTI_FRAMING_FIELDS
                                                               : CPTI_FRAMING_NONE;
}

bool cpti_frames_are_likely(const char *head, size_t bytes)
{
    switch (cpti_frames_recognise(head, bytes)) {
    case CPTI_FRAMING_LENGTHS:
        return bytes > LENGTH_BYTES &&
               (head[LENGTH_BYTES] == '{' ||
                cpti_inflate_recognise(head + LENGTH_BYTES, bytes - LENGTH_BYTES) ||
                is_nested(head + LENGTH_BYTES, bytes - LENGTH_BYTES));
    case CPTI_FRAMING_FIELDS:
        return true;
    default:
        return false;
    }
}

static cpt_status cut_short(struct cpti_window *window, struct cpt_error *error)
{
    return cpt_error_set(error, CPT_TRUNCATED, window->start_offset,
                         "the file ends within a message");
}

static cpt_status not_protobuf(struct cpti_window *window, struct cpt_error *error)
{
    return cpt_error_set(error, CPT_CORRUPT, window->start_offset,
                         "no protobuf; the rest is not read");
}

/* Takes @bytes from `start` on; if they are too many, passes them. */
static cpt_status take(struct cpti_window *window, uint64_t bytes,
                       struct cpt_error *error)
{
    const uint64_t offset = window->start_offset;
    cpt_status status = CPT_OK;

    if (bytes <= window->bytes_max) {
        status = cpti_window_need(window, (size_t)bytes);
        window->at = window->start + (size_t)bytes;
        return status == CPT_END ? cut_short(window, error) : status;
    }
    while (bytes > 0 && status == CPT_OK) {
        const size_t there = window->end - window->start;
        const size_t now = there < bytes ? there : (size_t)bytes;

        cpti_window_forget(window, window->start + now);
        window->at = window->start;
        bytes -= now;
        status = bytes > 0 ? cpti_window_fill(window) : CPT_OK;
    }
    if (status != CPT_OK) {
        return status == CPT_END ? cut_short(window, error) : status;
    }
    return cpt_error_set(error, CPT_LIMIT, offset, "longer than %zu bytes",
                         window->bytes_max);
}

static cpt_status next_by_length(struct cpti_window *window, struct cpt_error *error)
{
    const cpt_status status = cpti_window_need(window, LENGTH_BYTES);
    uint64_t bytes = 0;

    if (status == CPT_END && window->end == window->start) {
        return CPT_END;
    }
    if (status == CPT_OK || status == CPT_END) {
        if (window->end - window->start < LENGTH_BYTES) {
            return cut_short(window, error);
        }
        for (window->at = window->start; window->at < window->start + LENGTH_BYTES;) {
            bytes = bytes << 8 | (unsigned char)window->buffer[window->at++];
        }
        cpti_window_forget(window, window->at);
        return take(window, bytes, error);
    }
    return status;
}

/* The field at `start`; *@is_spans: it is a ResourceSpans. */
static cpt_status next_field(struct cpti_window *window, bool *is_spans,
                             struct cpt_error *error)
{
    static const size_t fixed[] = {[TYPE_64_BITS] = 8, [TYPE_32_BITS] = 4};
    cpt_status status = cpti_window_need(window, HEADER_BYTES_MAX);
    const char *head = window->buffer + window->start;
    const size_t there = window->end - window->start;
    uint64_t tag = 0;
    uint64_t number = 0;
    size_t at = 0;
    cpt_status found = CPT_OK;

    if ((status != CPT_OK && status != CPT_END) || there == 0) {
        return status;
    }
    found = read_varint(head, there, &at, &tag);
    if (found == CPT_OK && (tag >> 3 == 0 || tag > UINT32_MAX)) {
        return not_protobuf(window, error);
    }
    *is_spans = tag == RESOURCE_SPANS;
    switch (tag & 7) {
    case TYPE_NUMBER:
    case TYPE_LENGTH:
        found = found == CPT_OK ? read_varint(head, there, &at, &number) : found;
        break;
    case TYPE_64_BITS:
    case TYPE_32_BITS:
        at += fixed[tag & 7];
        break;
    default:
        return not_protobuf(window, error);
    }
    if (found == CPT_TRUNCATED && status == CPT_END) {
        return cut_short(window, error);
    }
    number = (tag & 7) == TYPE_LENGTH ? number : 0;
    if (found != CPT_OK || number > UINT64_MAX - at) {
        return not_protobuf(window, error);
    }
    return take(window, at + number, error);
}

cpt_status cpti_frames_next(struct cpti_window *window, enum cpti_framing framing,
                            struct cpt_bytes *message, struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    bool is_message = false;

    while (status == CPT_OK && !is_message) {
        is_message = true;
        window->is_dropped = false;
        cpti_window_forget(window, window->at);
        status = framing == CPTI_FRAMING_LENGTHS
                     ? next_by_length(window, error)
                     : next_field(window, &is_message, error);
        is_message &= window->at > window->start;
    }
    if (status == CPT_OK) {
        *message = (struct cpt_bytes){window->buffer + window->start,
                                      window->at - window->start};
    }
    return status;
}
