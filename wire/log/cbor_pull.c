/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cbor_pull.c - items one at a time over libcbor's streaming decoder
 *
 * cbor_pull.h decodes the common types of a log, in a few cycles each; all others, and
 * malformed items, come here. A test compares the two for all possible heads.
 *
 * libcbor calls one callback for each item; ours store it. Its other interface, which
 * builds a tree, is not used: it allocates lengths that a head merely claims. Lengths
 * are compared here with the bytes that are left, since libcbor's own check may
 * overflow.
 *
 * A skipped item may contain others, to any depth. That needs no stack, only the count
 * of items still to come: an array of n adds n, and each item subtracts one. The count
 * can never exceed the bytes that are left, which refuses a hostile length at once.
 */
#include "wire/log/cbor_pull.h"

#include <cbor.h>

/* libcbor 0.9 made all lengths 64 bits wide. */
#if CBOR_MAJOR_VERSION > 0 || CBOR_MINOR_VERSION >= 9
typedef uint64_t cbor_count;
#else
typedef size_t cbor_count;
#endif

/* The item of a callback. */
struct decoded {
    struct cpti_cbor_item item;
    bool is_known;
};

static void set(void *context, enum cpti_cbor_type type, uint64_t number)
{
    struct decoded *decoded = context;

    decoded->item.type = type;
    decoded->item.number = number;
    decoded->is_known = true;
}

/* A callback for a number of @value_type. */
#define ON_NUMBER(name, value_type, item_type)                                         \
    static void name(void *context, value_type value)                                  \
    {                                                                                  \
        set(context, item_type, value);                                                \
    }

ON_NUMBER(on_uint8, uint8_t, CPTI_CBOR_UNSIGNED)
ON_NUMBER(on_uint16, uint16_t, CPTI_CBOR_UNSIGNED)
ON_NUMBER(on_uint32, uint32_t, CPTI_CBOR_UNSIGNED)
ON_NUMBER(on_uint64, uint64_t, CPTI_CBOR_UNSIGNED)
ON_NUMBER(on_negint8, uint8_t, CPTI_CBOR_NEGATIVE)
ON_NUMBER(on_negint16, uint16_t, CPTI_CBOR_NEGATIVE)
ON_NUMBER(on_negint32, uint32_t, CPTI_CBOR_NEGATIVE)
ON_NUMBER(on_negint64, uint64_t, CPTI_CBOR_NEGATIVE)
ON_NUMBER(on_array, cbor_count, CPTI_CBOR_ARRAY)
ON_NUMBER(on_map, cbor_count, CPTI_CBOR_MAP)
ON_NUMBER(on_tag, uint64_t, CPTI_CBOR_TAG)
ON_NUMBER(on_bool, bool, CPTI_CBOR_BOOL)

static void on_bytes(void *context, cbor_data data, cbor_count bytes)
{
    struct decoded *decoded = context;

    set(context, CPTI_CBOR_BYTES, 0);
    decoded->item.text = (struct cpt_bytes){(const char *)data, (size_t)bytes};
}

static void on_text(void *context, cbor_data data, cbor_count bytes)
{
    on_bytes(context, data, bytes);
    ((struct decoded *)context)->item.type = CPTI_CBOR_TEXT;
}

static void on_double(void *context, double value)
{
    set(context, CPTI_CBOR_FLOAT, 0);
    ((struct decoded *)context)->item.real = value;
}

static void on_float(void *context, float value)
{
    on_double(context, (double)value);
}

static void on_null(void *context)
{
    set(context, CPTI_CBOR_NULL, 0);
}

/* Indefinite lengths, and the break that ends them, are not known. */
static void on_refused(void *context)
{
    (void)context;
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint8 = on_negint8,
    .negint16 = on_negint16,
    .negint32 = on_negint32,
    .negint64 = on_negint64,
    .byte_string_start = on_refused,
    .byte_string = on_bytes,
    .string = on_text,
    .string_start = on_refused,
    .indef_array_start = on_refused,
    .array_start = on_array,
    .indef_map_start = on_refused,
    .map_start = on_map,
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_null,
    .null = on_null,
    .boolean = on_bool,
    .indef_break = on_refused,
};

cpt_status cpti_cbor_next_any(struct cpti_cbor *cbor, struct cpti_cbor_item *item)
{
    const size_t left_bytes = cbor->bytes - cbor->at;
    struct decoded decoded = {.is_known = false};
    struct cbor_decoder_result result;

    if (left_bytes == 0) {
        return CPT_END;
    }
    result =
        cbor_stream_decode(cbor->data + cbor->at, left_bytes, &callbacks, &decoded);
    if (result.status != CBOR_DECODER_FINISHED || !decoded.is_known ||
        result.read == 0 || result.read > left_bytes ||
        decoded.item.text.bytes > result.read ||
        cpti_cbor_count_inside(&decoded.item) > left_bytes - result.read) {
        return CPT_CORRUPT;
    }
    cbor->at += result.read;
    *item = decoded.item;
    return CPT_OK;
}

cpt_status cpti_cbor_skip_items(struct cpti_cbor *cbor,
                                const struct cpti_cbor_item *item)
{
    struct cpti_cbor ahead = *cbor;
    uint64_t pending = cpti_cbor_count_inside(item);

    while (pending != 0) {
        struct cpti_cbor_item inside;

        if (pending > ahead.bytes - ahead.at ||
            cpti_cbor_next(&ahead, &inside) != CPT_OK) {
            return CPT_CORRUPT;
        }
        pending += cpti_cbor_count_inside(&inside) - 1;
    }
    *cbor = ahead;
    return CPT_OK;
}
