/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_index.h - what the blocks of a path log hold, told at the end of the file
 *
 *      file    [ header ][ records ][ records ][ records ] ... [ index ]
 *                            ^          ^          ^              |
 *                            '----------'----------'--------------'
 *                  where each is; its range of times and latencies; its services, keys
 *
 * Who looks for a few requests of a day reads the index and passes over every block in
 * which they cannot be. It is an offer: a file without one, such as that of a killed
 * writer, is read from the beginning to the end, with the same result.
 *
 * An index is never believed on its word. It has a checksum and says where in the file
 * it stands; and before a block is passed over, that block's head must be what the
 * index says, its checksum included. So an index that was copied, or whose file was put
 * together from others, costs a comparison and is forgotten.
 *
 * In order of use. A writer: cpt_log_index_new, cpt_log_index_add for each block that
 * it wrote, cpt_log_index_encode in the end. A reader: cpt_log_index_read, then the
 * members `index`, `seek` and `wants` of struct cpt_log_reader_options.
 *
 * Threads: one at a time; any number only reads.
 */
#ifndef CPT_LOG_INDEX_H
#define CPT_LOG_INDEX_H

#include "cpt_log.h"

CPT_BEGIN_DECLS

enum {
    CPT_LOG_INDEX_NAMES_MAX = 63,       /* services that it tells apart; keys, too */
    CPT_LOG_INDEX_NAME_BYTES_MAX = 255, /* of one of those */
    CPT_LOG_INDEX_BLOCKS_MAX = 1 << 18, /* what is beyond is not in it, but read */
    CPT_LOG_INDEX_BYTES_MAX = 1 << 25   /* of its block that a reader takes */
};

/* In the sets below: others besides those that have a name in the index. */
#define CPT_LOG_INDEX_OTHERS (UINT64_C(1) << 63)

/* What an index says of one block of records. */
struct cpt_log_index_block {
    uint64_t offset;       /* of the file; each lies behind the one before */
    uint64_t bytes;        /* of all of it */
    uint32_t record_count; /* as its head has it */
    uint32_t payload_crc;  /* likewise */
    uint64_t start_min_ns; /* the earliest start_unix_ns of its records */
    uint64_t start_max_ns; /* the latest */
    uint64_t latency_min_ns;
    uint64_t latency_max_ns;
    uint64_t services; /* bit i: cpt_log_index_service(i) is among them */
    uint64_t keys;     /* bit i: a record has attribute cpt_log_index_key(i) */
};

struct cpt_log_index;

/* --- Writing --- */

/* An empty one, or NULL without memory. The caller owns it. */
CPT_API struct cpt_log_index *cpt_log_index_new(const struct cpt_alloc *alloc);
CPT_API void cpt_log_index_free(struct cpt_log_index *index);

/*
 * Notes the block that stands at @offset of the file, its @bytes at @block. They come
 * in ascending order. What is no block of records, or more than fits, is left out;
 * readers then read it.
 *
 * CPT_OK; CPT_NO_MEMORY, and the index is as before.
 */
CPT_API cpt_status cpt_log_index_add(struct cpt_log_index *index, uint64_t offset,
                                     const void *block, size_t bytes);

/*
 * The index as a block to be written at @offset of the file, behind all that it tells
 * of. The caller owns *@data and gives it back by cpt_alloc_free().
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT beyond CPT_LOG_INDEX_BYTES_MAX.
 */
CPT_API cpt_status cpt_log_index_encode(const struct cpt_log_index *index,
                                        uint64_t offset, unsigned char **data,
                                        size_t *bytes);

/* --- Reading --- */

/* Reads @bytes at @offset of the input to @buffer. CPT_OK; anything else if that is not
 * there. */
typedef cpt_status (*cpt_log_read_at_fn)(void *context, uint64_t offset, void *buffer,
                                         size_t bytes);

/* Where to look for an index. See cpt_options_read(). */
struct cpt_log_index_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    cpt_log_read_at_fn read_at; /* required */
    void *context;
    uint64_t input_bytes; /* of the whole input */
};

/*
 * Reads the index at the end of an input into *@index, which the caller owns.
 *
 * CPT_OK; CPT_END if there is none; CPT_CORRUPT, CPT_LIMIT, CPT_VERSION if what is
 * there cannot be used, with the reason in @error: read without; CPT_NO_MEMORY; what
 * the read function said. *@index is set only with CPT_OK.
 */
CPT_API cpt_status cpt_log_index_read(const struct cpt_log_index_options *options,
                                      struct cpt_log_index **index,
                                      struct cpt_error *error);

/* Blocks that it tells of, and one of those; borrowed until the index is freed. */
CPT_API size_t cpt_log_index_count(const struct cpt_log_index *index);
CPT_API const struct cpt_log_index_block *
cpt_log_index_block(const struct cpt_log_index *index, size_t number);

/* The entry services, and the keys of attributes, that its sets tell of. */
CPT_API size_t cpt_log_index_service_count(const struct cpt_log_index *index);
CPT_API struct cpt_bytes cpt_log_index_service(const struct cpt_log_index *index,
                                               size_t number);
CPT_API size_t cpt_log_index_key_count(const struct cpt_log_index *index);
CPT_API struct cpt_bytes cpt_log_index_key(const struct cpt_log_index *index,
                                           size_t number);

/*
 * The set of @service, to be intersected with cpt_log_index_block.services: its bit, or
 * CPT_LOG_INDEX_OTHERS if it has none. A block with no common bit does not hold it.
 */
CPT_API uint64_t cpt_log_index_service_set(const struct cpt_log_index *index,
                                           struct cpt_bytes service);
CPT_API uint64_t cpt_log_index_key_set(const struct cpt_log_index *index,
                                       struct cpt_bytes key);

CPT_END_DECLS

#endif
