/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_blocks.h - records of graph logs, read again where they were found
 *
 * A record is the n-th of the block at some place of an input. Records of one request
 * are near those of the one before, in each input. So the blocks that were read last
 * are kept.
 *
 * Private to wire/. Threads: one at a time.
 */
#ifndef GRAPH_BLOCKS_H
#define GRAPH_BLOCKS_H

#include "wire/cpt_graph_join.h"

enum {
    CPTI_GRAPH_BLOCKS_MAX = 64,           /* that are kept … */
    CPTI_GRAPH_BLOCK_BYTES_MAX = 64 << 20 /* … or one, if that has more bytes */
};

/* A block that was read. */
struct cpti_graph_block {
    const struct cpt_graph_input *input;
    uint64_t offset;
    uint64_t used; /* when; larger is later */
    unsigned char *data;
    size_t bytes, capacity;
    size_t *ends; /* of each record in `data` */
    size_t record_count, end_capacity;
};

struct cpti_graph_blocks {
    const struct cpt_alloc *alloc;
    struct cpti_graph_block blocks[CPTI_GRAPH_BLOCKS_MAX];
    uint64_t now;
};

/* A reader of @input from @offset on, up to the first block at or behind @end; 0: to
 * the end. @at is where it reads, and outlives it. */
struct cpti_graph_cursor {
    const struct cpt_graph_input *input;
    uint64_t at;
};
struct cpt_log_reader *cpti_graph_reader_new(const struct cpt_alloc *alloc,
                                             struct cpti_graph_cursor *cursor,
                                             uint64_t end_offset,
                                             struct cpt_error *error);

void cpti_graph_blocks_free(struct cpti_graph_blocks *blocks);

/*
 * Sets *@record to the bytes of record @number of the block at @offset, borrowed until
 * the next call.
 *
 * CPT_OK; CPT_CORRUPT: it is no longer there; CPT_NO_MEMORY; what read_at returned.
 */
cpt_status cpti_graph_blocks_record(struct cpti_graph_blocks *blocks,
                                    const struct cpt_graph_input *input,
                                    uint64_t offset, size_t number,
                                    struct cpt_bytes *record, struct cpt_error *error);

#endif
