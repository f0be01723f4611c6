/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_index.h - an index in memory, and the constants of its block
 *
 * The payload of a block of type CPTI_LOG_BLOCK_INDEX is a CBOR map and a footer of
 * twelve bytes. The footer is the end of the file and leads a reader to the block:
 *
 *      map       0 => offset of the block in the file
 *                1 => [ service ... ]   2 => [ key ... ]
 *                3 => [ row ... ]
 *      row       [ bytes between the block before and this one, bytes of the block,
 *                  records, CRC-32C of its payload, earliest start, latest - earliest,
 *                  smallest latency, largest - smallest, services, keys ]
 *      footer    bytes of the payload, little-endian (4) | "cptindex"
 *
 * Private to wire/.
 */
#ifndef LOG_INDEX_H
#define LOG_INDEX_H

#include "wire/cpt_log_index.h"

#define CPTI_LOG_INDEX_MAGIC "cptindex"

enum {
    CPTI_LOG_INDEX_MAGIC_BYTES = 8,
    CPTI_LOG_INDEX_FOOTER_BYTES = 12,
    CPTI_LOG_INDEX_ROW_ITEMS = 10
};

/* Keys of the map. */
enum {
    CPTI_LOG_INDEX_OFFSET = 0,
    CPTI_LOG_INDEX_SERVICES = 1,
    CPTI_LOG_INDEX_KEYS = 2,
    CPTI_LOG_INDEX_BLOCKS = 3
};

/* Names with a bit each; the index owns them. */
struct cpti_log_names {
    struct cpt_bytes all[CPT_LOG_INDEX_NAMES_MAX];
    size_t count;
};

struct cpt_log_index {
    const struct cpt_alloc *alloc;
    struct cpt_log_index_block *blocks;
    size_t count;
    size_t capacity;
    struct cpti_log_names services;
    struct cpti_log_names keys;
};

/* log_index.c: the bit of @name; 0 if it has none. */
uint64_t cpti_log_names_bit(const struct cpti_log_names *names, struct cpt_bytes name);

/* log_index.c: adds a copy of @name; there must be room. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_log_names_add(const struct cpt_alloc *alloc,
                              struct cpti_log_names *names, struct cpt_bytes name);

#endif
