/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_blocks.c - see graph_blocks.h */
#include "wire/graph/graph_blocks.h"

#include <stdbool.h>
#include <string.h>

/* A cpt_read_fn. */
static cpt_status read_on(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_graph_cursor *cursor = context;
    const uint64_t left =
        cursor->at < cursor->input->bytes ? cursor->input->bytes - cursor->at : 0;
    const size_t wanted = left < capacity ? (size_t)left : capacity;
    cpt_status status = CPT_OK;

    *bytes = 0;
    if (wanted != 0) {
        status =
            cursor->input->read_at(cursor->input->context, cursor->at, buffer, wanted);
    }
    if (status == CPT_OK) {
        cursor->at += wanted;
        *bytes = wanted;
    }
    return status;
}

struct cpt_log_reader *cpti_graph_reader_new(const struct cpt_alloc *alloc,
                                             struct cpti_graph_cursor *cursor,
                                             uint64_t end_offset,
                                             struct cpt_error *error)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .alloc = alloc,
                                                   .read = read_on,
                                                   .context = cursor,
                                                   .start_offset = cursor->at,
                                                   .end_offset = end_offset};

    return cpt_graph_log_reader_new(&options, error);
}

void cpti_graph_blocks_free(struct cpti_graph_blocks *blocks)
{
    for (size_t i = 0; i < CPTI_GRAPH_BLOCKS_MAX; i++) {
        cpt_alloc_free(blocks->alloc, blocks->blocks[i].data);
        cpt_alloc_free(blocks->alloc, blocks->blocks[i].ends);
    }
}

static void forget(struct cpti_graph_blocks *blocks, struct cpti_graph_block *block)
{
    cpt_alloc_free(blocks->alloc, block->data);
    cpt_alloc_free(blocks->alloc, block->ends);
    memset(block, 0, sizeof *block);
}

/* Makes room for another block: the one that was not used for longest, or more of them
 * if all together are too large. */
static struct cpti_graph_block *free_block(struct cpti_graph_blocks *blocks)
{
    for (;;) {
        struct cpti_graph_block *oldest = &blocks->blocks[0];
        size_t bytes = 0;
        bool is_full = true;

        for (size_t i = 0; i < CPTI_GRAPH_BLOCKS_MAX; i++) {
            struct cpti_graph_block *block = &blocks->blocks[i];

            bytes += block->capacity + block->end_capacity * sizeof *block->ends;
            is_full = is_full && block->input != NULL;
            if (block->input != NULL &&
                (oldest->input == NULL || block->used < oldest->used)) {
                oldest = block;
            }
        }
        if (oldest->input != NULL && (is_full || bytes > CPTI_GRAPH_BLOCK_BYTES_MAX)) {
            forget(blocks, oldest);
            continue;
        }
        for (size_t i = 0; i < CPTI_GRAPH_BLOCKS_MAX; i++) {
            if (blocks->blocks[i].input == NULL) {
                return &blocks->blocks[i];
            }
        }
    }
}

static cpt_status keep(struct cpti_graph_blocks *blocks, struct cpti_graph_block *block,
                       struct cpt_bytes record)
{
    cpt_status status =
        cpt_alloc_grow(blocks->alloc, (void **)&block->data, &block->capacity,
                       block->bytes + record.bytes, SIZE_MAX, 1);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(blocks->alloc, (void **)&block->ends,
                                &block->end_capacity, block->record_count + 1,
                                SIZE_MAX / sizeof *block->ends, sizeof *block->ends);
    }
    if (status == CPT_OK) {
        memcpy(block->data + block->bytes, record.data, record.bytes);
        block->bytes += record.bytes;
        block->ends[block->record_count++] = block->bytes;
    }
    return status;
}

/* Reads all records of a block. */
static cpt_status load(struct cpti_graph_blocks *blocks, struct cpti_graph_block *block,
                       struct cpt_error *error)
{
    struct cpti_graph_cursor cursor = {block->input, block->offset};
    struct cpt_log_reader *reader =
        cpti_graph_reader_new(blocks->alloc, &cursor, block->offset + 1, error);
    cpt_status status = reader != NULL ? CPT_OK : CPT_NO_MEMORY;

    while (reader != NULL && status != CPT_END) {
        struct cpt_record record;

        status = cpt_log_reader_next(reader, &record, error);
        if (status == CPT_OK) {
            status = keep(blocks, block, cpt_log_reader_bytes(reader));
        }
        if (status == CPT_NO_MEMORY || status == CPT_IO) {
            break;
        }
    }
    cpt_log_reader_free(reader);
    return status == CPT_END ? CPT_OK : status;
}

static struct cpti_graph_block *find(struct cpti_graph_blocks *blocks,
                                     const struct cpt_graph_input *input,
                                     uint64_t offset)
{
    for (size_t i = 0; i < CPTI_GRAPH_BLOCKS_MAX; i++) {
        struct cpti_graph_block *block = &blocks->blocks[i];

        if (block->input == input && block->offset == offset) {
            return block;
        }
    }
    return NULL;
}

cpt_status cpti_graph_blocks_record(struct cpti_graph_blocks *blocks,
                                    const struct cpt_graph_input *input,
                                    uint64_t offset, size_t number,
                                    struct cpt_bytes *record, struct cpt_error *error)
{
    struct cpti_graph_block *block = find(blocks, input, offset);
    size_t begin = 0;

    if (block == NULL) {
        cpt_status status = CPT_OK;

        block = free_block(blocks);
        block->input = input;
        block->offset = offset;
        status = load(blocks, block, error);
        if (status != CPT_OK) {
            forget(blocks, block);
            return status;
        }
    }
    block->used = ++blocks->now;
    if (number >= block->record_count) {
        return cpt_error_set(error, CPT_CORRUPT, offset,
                             "the input has changed while it was read");
    }
    begin = number != 0 ? block->ends[number - 1] : 0;
    *record = (struct cpt_bytes){(const char *)block->data + begin,
                                 block->ends[number] - begin};
    return CPT_OK;
}
