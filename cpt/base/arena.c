/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * arena.c - blocks in a list, the newest first; see cpt_arena.h
 *
 * Under AddressSanitizer what is not in use of a block is poisoned, so that a pointer
 * into an arena that was emptied is reported.
 */
#include "cpt/cpt_arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(data, bytes) __asan_poison_memory_region((data), (bytes))
#define SHOW(data, bytes) __asan_unpoison_memory_region((data), (bytes))
#else
#define HIDE(data, bytes) ((void)(data), (void)(bytes))
#define SHOW(data, bytes) ((void)(data), (void)(bytes))
#endif

struct cpt_arena_block {
    struct cpt_arena_block *older;
    size_t bytes; /* of the data */
    alignas(max_align_t) unsigned char data[];
};

enum { ALIGNMENT = alignof(max_align_t), DEFAULT_BLOCK_BYTES = 4096 };

void cpt_arena_init(struct cpt_arena *arena, const struct cpt_alloc *alloc,
                    size_t block_bytes, size_t limit_bytes)
{
    memset(arena, 0, sizeof *arena);
    arena->alloc = alloc != NULL ? alloc : cpt_alloc_default();
    arena->block_bytes = block_bytes != 0 ? block_bytes : DEFAULT_BLOCK_BYTES;
    arena->limit_bytes = limit_bytes != 0 ? limit_bytes : SIZE_MAX;
}

void cpt_arena_deinit(struct cpt_arena *arena)
{
    while (arena->blocks != NULL) {
        struct cpt_arena_block *block = arena->blocks;

        arena->blocks = block->older;
        SHOW(block->data, block->bytes);
        cpt_alloc_free(arena->alloc, block);
    }
    arena->next = NULL;
    arena->left_bytes = 0;
    arena->used_bytes = 0;
}

/* The newest block has the ordinary size, unless it is a large one and the only one. */
void cpt_arena_reset(struct cpt_arena *arena, size_t limit_bytes)
{
    struct cpt_arena_block *block = arena->blocks;
    const size_t block_bytes = sizeof(struct cpt_arena_block) + arena->block_bytes;

    if (block == NULL || block_bytes > limit_bytes ||
        arena->next + arena->left_bytes != block->data + arena->block_bytes) {
        cpt_arena_deinit(arena);
        arena->limit_bytes = limit_bytes;
        return;
    }
    arena->limit_bytes = limit_bytes;
    if (arena->next == block->data && block->older == NULL) {
        return; /* it is empty */
    }
    SHOW(block->data, block->bytes);
    memset(block->data, 0, (size_t)(arena->next - block->data));
    HIDE(block->data, block->bytes);
    if (block->older != NULL) { /* all others are freed */
        arena->blocks = block->older;
        cpt_arena_deinit(arena);
        block->older = NULL;
        arena->blocks = block;
    }
    arena->next = block->data;
    arena->left_bytes = arena->block_bytes;
    arena->used_bytes = block_bytes;
}

/* What a new block for @bytes has for data; 0: more than there may be. */
static size_t new_block_bytes(const struct cpt_arena *arena, size_t bytes)
{
    const size_t data_bytes =
        bytes > arena->block_bytes / 4 ? bytes : arena->block_bytes;
    const size_t block_bytes = sizeof(struct cpt_arena_block) + data_bytes;

    return block_bytes < data_bytes ||
                   block_bytes > arena->limit_bytes - arena->used_bytes
               ? 0
               : data_bytes;
}

/* Takes @bytes from a new block. A large block goes behind the newest one, whose rest
 * stays in use. */
static void *take_from_new_block(struct cpt_arena *arena, size_t bytes)
{
    const bool is_large = bytes > arena->block_bytes / 4;
    const size_t data_bytes = new_block_bytes(arena, bytes);
    const size_t block_bytes = sizeof(struct cpt_arena_block) + data_bytes;
    struct cpt_arena_block *block = NULL;

    if (data_bytes == 0) {
        return NULL;
    }
    block = cpt_alloc_zeroed(arena->alloc, block_bytes);
    if (block == NULL) {
        return NULL;
    }
    block->bytes = data_bytes;
    arena->used_bytes += block_bytes;
    if (is_large && arena->blocks != NULL) {
        block->older = arena->blocks->older;
        arena->blocks->older = block;
        return block->data;
    }
    block->older = arena->blocks;
    arena->blocks = block;
    arena->next = block->data + bytes;
    arena->left_bytes = data_bytes - bytes;
    HIDE(arena->next, arena->left_bytes);
    return block->data;
}

void *cpt_arena_take(struct cpt_arena *arena, size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *piece = arena->next;

    if (rounded < bytes) {
        return NULL;
    }
    if (rounded > arena->left_bytes || piece == NULL) {
        return take_from_new_block(arena, rounded);
    }
    arena->next += rounded;
    arena->left_bytes -= rounded;
    SHOW(piece, rounded);
    return piece;
}

int cpt_arena_is_full(const struct cpt_arena *arena, size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    return rounded < bytes || ((rounded > arena->left_bytes || arena->next == NULL) &&
                               new_block_bytes(arena, rounded) == 0);
}

void *cpt_arena_copy(struct cpt_arena *arena, const void *data, size_t bytes)
{
    unsigned char *copy = bytes < SIZE_MAX ? cpt_arena_take(arena, bytes + 1) : NULL;

    if (copy != NULL && bytes != 0) {
        memcpy(copy, data, bytes);
    }
    return copy;
}
