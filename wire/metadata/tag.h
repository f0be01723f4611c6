/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tag.h - the tag of a field, as a number of 32 bits; inline
 *
 * pb_decode_tag() drops the bits of a longer one, as of a negative number: what is
 * field 1 to it is a field that no schema has to every other reader.
 */
#ifndef TAG_H
#define TAG_H

#include <pb_decode.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes the tag of the next field. False: there is none, and *@is_end says whether
 * because the message ends; otherwise the stream says why. */
static inline bool cpti_tag_take(pb_istream_t *stream, pb_wire_type_t *wire_type,
                                 uint32_t *tag, bool *is_end)
{
    uint64_t number = 0;

    *is_end = stream->bytes_left == 0;
    if (*is_end || !pb_decode_varint(stream, &number)) {
        return false;
    }
    if (number > UINT32_MAX) {
        PB_RETURN_ERROR(stream, "a tag of more than 32 bits");
    }
    *wire_type = (pb_wire_type_t)(number & 7);
    *tag = (uint32_t)number >> 3;
    return true;
}

#endif
