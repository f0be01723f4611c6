/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_arena.h - memory that is given back all at once
 *
 * A request takes whatever it needs from its arena, piece by piece, and never gives a
 * piece back; when the request is over, the arena is freed in a few calls, whatever
 * was in it.
 *
 *      block            block                    block
 *      [aaa|bb|cccc|..] [a large piece.........] [dd|.........]
 *                                                    ^ next piece
 *
 * An arena has a limit: what would exceed it gets NULL, and the caller counts what is
 * lost instead of growing without bound.
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
    size_t left_bytes;              /* free bytes behind it */
    size_t block_bytes;             /* size of an ordinary block */
    size_t used_bytes;              /* of all blocks */
    size_t limit_bytes;             /* of all blocks */
};

/*
 * An empty arena over @alloc (NULL: malloc's), which allocates nothing yet.
 * @block_bytes 0 means 4 KiB, @limit_bytes 0 means none.
 */
CPT_API void cpt_arena_init(struct cpt_arena *arena, const struct cpt_alloc *alloc,
                            size_t block_bytes, size_t limit_bytes);

/* Gives everything back; the arena is then as after cpt_arena_init(). */
CPT_API void cpt_arena_deinit(struct cpt_arena *arena);

/* Makes it empty for another use with another limit. It keeps one block of the ordinary
 * size, if it has one and the limit allows it. */
CPT_API void cpt_arena_reset(struct cpt_arena *arena, size_t limit_bytes);

/* @bytes of zeroed memory, aligned for any type; NULL at the limit or without any. */
CPT_API void *cpt_arena_take(struct cpt_arena *arena, size_t bytes);

/* A copy of @bytes at @data, with a NUL byte behind it; NULL as above. */
CPT_API void *cpt_arena_copy(struct cpt_arena *arena, const void *data, size_t bytes);

CPT_END_DECLS

#endif
