/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_untraced.c - what a service tells of its requests while none is traced
 *
 * It stands in a block of the type that a file begins with, whose map may have any
 * further keys. Readers that do not know them skip the block.
 */
#include "wire/log/cbor_pull.h"
#include "wire/log/cbor_put.h"
#include "wire/log/log_format.h"

#include <assert.h>
#include <string.h>

size_t cpt_log_untraced_block(const struct cpt_log_untraced *untraced,
                              unsigned char *buffer)
{
    /* the capacity is large enough: it never grows */
    struct cpti_put put = {.data = buffer + CPTI_LOG_HEAD_BYTES,
                           .capacity = CPT_LOG_UNTRACED_BYTES_MAX - CPTI_LOG_HEAD_BYTES,
                           .bytes_max = CPT_LOG_UNTRACED_BYTES_MAX};
    struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                 .type = CPTI_LOG_BLOCK_FILE};
    struct cpt_bytes service = untraced->service;

    if (service.bytes > CPT_NAME_BYTES_MAX) {
        service.bytes = CPT_NAME_BYTES_MAX;
    }
    cpti_put_map(&put, 7);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_FORMAT);
    cpti_put_text(&put, cpt_bytes_of("path log"));
    cpti_put_unsigned(&put, CPTI_LOG_FILE_WRITER);
    cpti_put_text(&put, cpt_bytes_of("cpt"));
    cpti_put_unsigned(&put, CPTI_LOG_FILE_SERVICE);
    cpti_put_text(&put, service);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_PROBABILITY);
    cpti_put_real(&put, untraced->probability);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_UNTRACED);
    cpti_put_unsigned(&put, untraced->request_count);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_PROCESS);
    cpti_put_unsigned(&put, untraced->process);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_IS_FINAL);
    cpti_put_bool(&put, untraced->is_final != 0);
    assert(put.status == CPT_OK);
    head.payload_bytes = (uint32_t)put.bytes;
    head.payload_crc = cpt_crc32c(0, put.data, put.bytes);
    cpti_log_head_write(&head, buffer);
    return CPTI_LOG_HEAD_BYTES + put.bytes;
}

/* Takes the value @item of @key. */
static void take(struct cpt_log_untraced *untraced, uint64_t key,
                 const struct cpti_cbor_item *item, bool *has_count)
{
    const bool is_number =
        item->type == CPTI_CBOR_UNSIGNED && item->number <= INT64_MAX;
    const bool is_text = item->type == CPTI_CBOR_TEXT || item->type == CPTI_CBOR_BYTES;

    if (key == CPTI_LOG_FILE_SERVICE && is_text &&
        item->text.bytes <= CPT_NAME_BYTES_MAX) {
        untraced->service = item->text;
    } else if (key == CPTI_LOG_FILE_PROBABILITY && item->type == CPTI_CBOR_FLOAT &&
               item->real >= 0 && item->real <= 1) { /* false for NaN */
        untraced->probability = item->real;
    } else if (key == CPTI_LOG_FILE_UNTRACED && is_number) {
        untraced->request_count = item->number;
        *has_count = true;
    } else if (key == CPTI_LOG_FILE_PROCESS && is_number) {
        untraced->process = item->number;
    } else if (key == CPTI_LOG_FILE_IS_FINAL && item->type == CPTI_CBOR_BOOL) {
        untraced->is_final = item->number != 0;
    }
}

bool cpti_log_untraced_read(struct cpt_bytes payload, struct cpt_log_untraced *untraced)
{
    struct cpti_cbor cbor = {(const unsigned char *)payload.data, payload.bytes, 0};
    struct cpti_cbor_item item;
    bool has_count = false;
    uint64_t count;

    *untraced = (struct cpt_log_untraced){0};
    if (cpti_cbor_next(&cbor, &item) != CPT_OK || item.type != CPTI_CBOR_MAP) {
        return false;
    }
    for (count = item.number; count > 0; count--) {
        struct cpti_cbor_item value;

        if (cpti_cbor_next(&cbor, &item) != CPT_OK ||
            cpti_cbor_skip_inside(&cbor, &item) != CPT_OK ||
            cpti_cbor_next(&cbor, &value) != CPT_OK ||
            cpti_cbor_skip_inside(&cbor, &value) != CPT_OK) {
            return false;
        }
        if (item.type == CPTI_CBOR_UNSIGNED) {
            take(untraced, item.number, &value, &has_count);
        }
    }
    return has_count;
}
