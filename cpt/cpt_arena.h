/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_arena.h - memory that is freed all at once
 *
 * A request takes memory from its arena, piece by piece, and never gives a piece back.
 * When the request is over, a few calls free the whole arena.
 *
 *      block            block                    block
 *      [aaa|bb|cccc|..] [a large piece.........] [dd|.........]
 *                                                    ^ next piece
 *
 * An arena has a limit: beyond it the caller gets NULL, and counts what it lost instead
 * of growing without bound.
 *
 * Threads: one at a time.
 */
#ifndef CPT_ARENA_H
#define CPT_ARENA_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_arena_block;

/* The caller's storage; see cpt_arena_init(). All fields are private. */
struct cpt_arena {
    const struct cpt_alloc *alloc;
    struct cpt_arena_block *blocks; /* newest first */
    unsigned char *next;            /* first free byte of the newest block */
    size_t left_bytes;              /* free bytes from there on */
    size_t block_bytes;             /* size of an ordinary block */
    size_t used_bytes;              /* of all blocks */
    size_t limit_bytes;             /* of all blocks */
};

/*
 * Makes an empty arena over @alloc (NULL: malloc's). Allocates nothing yet.
 * @block_bytes 0 means 4 KiB, @limit_bytes 0 means none.
 */
CPT_API void cpt_arena_init(struct cpt_arena *arena, const struct cpt_alloc *alloc,
                            size_t block_bytes, size_t limit_bytes);

/* Frees all memory; the arena is then as after cpt_arena_init(). */
CPT_API void cpt_arena_deinit(struct cpt_arena *arena);

/* Empties the arena for another use with another limit. It keeps one block of the
 * ordinary size if it has one and the limit allows it. */
CPT_API void cpt_arena_reset(struct cpt_arena *arena, size_t limit_bytes);

/* @bytes of zeroed memory, aligned for any type; NULL at the limit or without
 * memory. */
CPT_API void *cpt_arena_take(struct cpt_arena *arena, size_t bytes);

/* Whether @bytes would exceed the limit: why cpt_arena_take() returns NULL. 0: it does
 * so without memory only. */
CPT_API int cpt_arena_is_full(const struct cpt_arena *arena, size_t bytes);

/* A copy of the @bytes at @data, and a NUL byte after it; NULL as above. */
CPT_API void *cpt_arena_copy(struct cpt_arena *arena, const void *data, size_t bytes);

CPT_END_DECLS

#endif
