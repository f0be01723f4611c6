/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_index.h - an index at the end of a path log: what its blocks contain
 *
 *      file    [ header ][ records ][ records ][ records ] ... [ index ]
 *                            ^          ^          ^              |
 *                            '----------'----------'--------------'
 *                  of each: offset; range of times and latencies; services, keys
 *
 * To find a few requests of a day, a reader uses the index to pass over all blocks that
 * cannot contain them. The index is optional: a file without one, such as that of a
 * killed writer, is read from the beginning to the end, with the same result.
 *
 * An index is never trusted unchecked. It has a checksum and its own offset in the
 * file, and before a block is passed over, the head of that block must match the index
 * entry, including the checksum. So an index that was copied, or whose file was
 * concatenated from others, costs a comparison and is ignored.
 *
 * In order of use. A writer: cpt_log_index_new, cpt_log_index_add for each block that
 * it wrote, cpt_log_index_encode at the end. A reader: cpt_log_index_read, then the
 * members `index`, `seek` and `wants` of struct cpt_log_reader_options.
 *
 * Threads: one at a time; any number may read it while no thread adds to it.
 */
#ifndef CPT_LOG_INDEX_H
#define CPT_LOG_INDEX_H

#include "cpt_log.h"

CPT_BEGIN_DECLS

enum {
    CPT_LOG_INDEX_NAMES_MAX = 63, /* services with a bit of their own; also keys */
    CPT_LOG_INDEX_NAME_BYTES_MAX = 255, /* of one name */
    CPT_LOG_INDEX_BLOCKS_MAX = 1 << 18, /* further ones are not listed, but read */
    CPT_LOG_INDEX_BYTES_MAX = 1 << 25   /* of its block that a reader accepts */
};

/* In the sets below: all that have no bit of their own. */
#define CPT_LOG_INDEX_OTHERS (UINT64_C(1) << 63)

/* The index entry of one block of records. */
struct cpt_log_index_block {
    uint64_t offset;       /* in the file; each block lies behind the one before */
    uint64_t bytes;        /* of the whole block */
    uint32_t record_count; /* from its head */
    uint32_t payload_crc;  /* from its head */
    uint64_t start_min_ns; /* the earliest start_unix_ns of its records */
    uint64_t start_max_ns; /* the latest */
    uint64_t latency_min_ns;
    uint64_t latency_max_ns;
    uint64_t services; /* bit i: cpt_log_index_service(i) is among them */
    uint64_t keys;     /* bit i: a record has attribute cpt_log_index_key(i) */
};

struct cpt_log_index;

/* --- Writing --- */

/* An empty index, or NULL without memory. The caller owns it. */
CPT_API struct cpt_log_index *cpt_log_index_new(const struct cpt_alloc *alloc);
CPT_API void cpt_log_index_free(struct cpt_log_index *index);

/*
 * Adds the block at @offset of the file, whose @bytes are at @block. Add blocks in
 * ascending order. A block that has no records, or that the index has no room for, is
 * left out; readers then read it.
 *
 * CPT_OK; CPT_NO_MEMORY, and the index is as before.
 */
CPT_API cpt_status cpt_log_index_add(struct cpt_log_index *index, uint64_t offset,
                                     const void *block, size_t bytes);

/*
 * Encodes the index as a block to be written at @offset of the file, behind all blocks
 * that it lists. The caller owns *@data and frees it by cpt_alloc_free().
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT above CPT_LOG_INDEX_BYTES_MAX.
 */
CPT_API cpt_status cpt_log_index_encode(const struct cpt_log_index *index,
                                        uint64_t offset, unsigned char **data,
                                        size_t *bytes);

/* --- Reading --- */

/* Where to look for an index. See cpt_options_read(). */
struct cpt_log_index_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    cpt_read_at_fn read_at; /* required */
    void *context;
    uint64_t input_bytes; /* of the whole input */
};

/*
 * Reads the index at the end of an input into *@index, which the caller owns.
 *
 * CPT_OK; CPT_END if there is none; CPT_CORRUPT, CPT_LIMIT, CPT_VERSION if it cannot be
 * used, with the reason in @error: read the input without it; CPT_NO_MEMORY; errors of
 * the read function. *@index is set only with CPT_OK.
 */
CPT_API cpt_status cpt_log_index_read(const struct cpt_log_index_options *options,
                                      struct cpt_log_index **index,
                                      struct cpt_error *error);

/* The count of its entries, and one of them; borrowed until the index is freed. */
CPT_API size_t cpt_log_index_count(const struct cpt_log_index *index);
CPT_API const struct cpt_log_index_block *
cpt_log_index_block(const struct cpt_log_index *index, size_t number);

/* The entry services, and the keys of attributes, that have a bit of their own. */
CPT_API size_t cpt_log_index_service_count(const struct cpt_log_index *index);
CPT_API struct cpt_bytes cpt_log_index_service(const struct cpt_log_index *index,
                                               size_t number);
CPT_API size_t cpt_log_index_key_count(const struct cpt_log_index *index);
CPT_API struct cpt_bytes cpt_log_index_key(const struct cpt_log_index *index,
                                           size_t number);

/*
 * The set of @service: its bit, or CPT_LOG_INDEX_OTHERS if it has none. If it has no
 * bit in common with cpt_log_index_block.services, the block has no record of @service.
 */
CPT_API uint64_t cpt_log_index_service_set(const struct cpt_log_index *index,
                                           struct cpt_bytes service);
CPT_API uint64_t cpt_log_index_key_set(const struct cpt_log_index *index,
                                       struct cpt_bytes key);

CPT_END_DECLS

#endif
