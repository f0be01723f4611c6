/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cbor_put.c - see cbor_put.h; each item is libcbor's, the memory is ours */
#include "wire/log/cbor_put.h"

#include "cpt/base/utf8.h"

#include <cbor.h>

#include <string.h>

enum { HEAD_BYTES_MAX = 9 };

/* Room for one head and @bytes more, or NULL. */
static unsigned char *room(struct cpti_put *put, size_t bytes)
{
    if (put->status != CPT_OK) {
        return NULL;
    }
    if (bytes > put->bytes_max || put->bytes > put->bytes_max - bytes) {
        put->status = CPT_LIMIT;
        return NULL;
    }
    put->status = cpt_alloc_grow(put->alloc, (void **)&put->data, &put->capacity,
                                 put->bytes + bytes + HEAD_BYTES_MAX, SIZE_MAX, 1);
    return put->status == CPT_OK ? put->data + put->bytes : NULL;
}

void cpti_put_unsigned(struct cpti_put *put, uint64_t number)
{
    unsigned char *at = room(put, 0);

    if (at != NULL) {
        put->bytes += cbor_encode_uint(number, at, HEAD_BYTES_MAX);
    }
}

void cpti_put_integer(struct cpti_put *put, int64_t number)
{
    unsigned char *at = NULL;

    if (number >= 0) {
        cpti_put_unsigned(put, (uint64_t)number);
        return;
    }
    at = room(put, 0);
    if (at != NULL) {
        put->bytes += cbor_encode_negint((uint64_t)(-1 - number), at, HEAD_BYTES_MAX);
    }
}

void cpti_put_real(struct cpti_put *put, double real)
{
    unsigned char *at = room(put, 0);

    if (at != NULL) {
        put->bytes += cbor_encode_double(real, at, HEAD_BYTES_MAX);
    }
}

void cpti_put_bool(struct cpti_put *put, bool is_true)
{
    unsigned char *at = room(put, 0);

    if (at != NULL) {
        put->bytes += cbor_encode_bool(is_true, at, HEAD_BYTES_MAX);
    }
}

/* Writes the bytes of a string behind its head of @head_bytes. */
static void put_string(struct cpti_put *put, struct cpt_bytes text, size_t head_bytes)
{
    put->bytes += head_bytes;
    if (text.bytes != 0) {
        memcpy(put->data + put->bytes, text.data, text.bytes);
        put->bytes += text.bytes;
    }
}

void cpti_put_bytes(struct cpti_put *put, struct cpt_bytes bytes)
{
    unsigned char *at = room(put, bytes.bytes);

    if (at != NULL) {
        put_string(put, bytes,
                   cbor_encode_bytestring_start(bytes.bytes, at, HEAD_BYTES_MAX));
    }
}

unsigned char *cpti_put_room(struct cpti_put *put, size_t bytes)
{
    unsigned char *at = room(put, bytes);

    if (at == NULL) {
        return NULL;
    }
    at += cbor_encode_bytestring_start(bytes, at, HEAD_BYTES_MAX);
    put->bytes = (size_t)(at - put->data) + bytes;
    return at;
}

void cpti_put_items(struct cpti_put *put, const struct cpti_put *items)
{
    if (room(put, items->bytes) != NULL) {
        put_string(put, (struct cpt_bytes){(const char *)items->data, items->bytes}, 0);
    }
}

static bool is_utf8(struct cpt_bytes text)
{
    const unsigned char *data = (const unsigned char *)text.data;

    for (size_t i = 0; i < text.bytes;) {
        const size_t bytes = cpti_utf8_bytes(data + i, text.bytes - i);

        if (bytes == 0) {
            return false;
        }
        i += bytes;
    }
    return true;
}

void cpti_put_text(struct cpti_put *put, struct cpt_bytes text)
{
    unsigned char *at = NULL;

    if (!is_utf8(text)) {
        cpti_put_bytes(put, text);
        return;
    }
    at = room(put, text.bytes);
    if (at != NULL) {
        put_string(put, text, cbor_encode_string_start(text.bytes, at, HEAD_BYTES_MAX));
    }
}

void cpti_put_map(struct cpti_put *put, size_t count)
{
    unsigned char *at = room(put, 0);

    if (at != NULL) {
        put->bytes += cbor_encode_map_start(count, at, HEAD_BYTES_MAX);
    }
}

void cpti_put_array(struct cpti_put *put, size_t count)
{
    unsigned char *at = room(put, 0);

    if (at != NULL) {
        put->bytes += cbor_encode_array_start(count, at, HEAD_BYTES_MAX);
    }
}

size_t cpti_cbor_bytes_head(unsigned char *data, size_t bytes)
{
    return cbor_encode_bytestring_start(bytes, data, HEAD_BYTES_MAX);
}
