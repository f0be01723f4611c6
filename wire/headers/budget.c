/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * budget.c - what other headers leave: those of a reply for its path, and those of a
 * request for its ask
 *
 *      headers_bytes_max   [ reserved | other headers | own header's name | value ]
 *                                                                            path
 *      8,192               [ reserved | other headers | the library's | ask, nonce ]
 */
#include "wire/cpt_metadata.h"

/* The path's own header beside its value: over gRPC its name and the 32 bytes that
 * HTTP/2 counts for each; over HTTP no more: its name, four bytes around it, and
 * `Vary`. */
enum {
    ASK_HEADERS = 2,
    FIELD_BYTES = 32,
    OWN_BYTES = sizeof CPT_HEADER_PATH - 1 + FIELD_BYTES
};

size_t cpt_path_bytes_left(size_t headers_bytes_max, size_t headers_bytes,
                           int is_base64)
{
    const size_t taken = (size_t)CPT_HEADERS_BYTES_RESERVED + OWN_BYTES;
    size_t left = 0;

    if (headers_bytes_max <= taken || headers_bytes >= headers_bytes_max - taken) {
        return 0;
    }
    left = headers_bytes_max - taken - headers_bytes;
    return is_base64 ? left / 4 * 3 + left % 4 * 3 / 4 : left;
}

int cpt_ask_has_room(size_t headers_bytes, size_t header_count)
{
    const size_t bytes_max = (size_t)CPT_HEADERS_BYTES_REQUEST -
                             CPT_HEADERS_BYTES_RESERVED - CPT_HEADERS_BYTES_LIBRARY -
                             CPT_HEADERS_BYTES_ASK;
    const size_t count_max =
        (size_t)CPT_HEADERS_BYTES_HTTP / CPT_HEADERS_BYTES_EACH - ASK_HEADERS;

    return headers_bytes <= bytes_max && header_count <= count_max;
}
