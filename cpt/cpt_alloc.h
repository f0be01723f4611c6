/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_alloc.h - where memory comes from, and how much there is
 *
 * Every object that owns memory takes a struct cpt_alloc when it is made; the libraries
 * call malloc only through it. Tests count and refuse allocations with one; a service
 * may limit them. NULL means malloc's.
 *
 * Threads: as its author says; any thread may use cpt_alloc_default().
 */
#ifndef CPT_ALLOC_H
#define CPT_ALLOC_H

#include "cpt/cpt_status.h"

CPT_BEGIN_DECLS

/*
 * One function like realloc: @memory NULL allocates, @bytes 0 frees and returns NULL,
 * otherwise the block grows or shrinks. It returns NULL if there is no memory; @memory
 * is then still valid.
 */
struct cpt_alloc {
    void *(*resize)(void *context, void *memory, size_t bytes);
    void *context;
};

/* An allocator that uses malloc. Static memory. */
CPT_API const struct cpt_alloc *cpt_alloc_default(void);

/* @bytes of zeroed memory, or NULL. */
CPT_API void *cpt_alloc_zeroed(const struct cpt_alloc *alloc, size_t bytes);

/*
 * Resizes @memory to @count elements of @element_bytes each. Returns NULL if there is
 * no memory, or if the product overflows.
 */
CPT_API void *cpt_alloc_array(const struct cpt_alloc *alloc, void *memory, size_t count,
                              size_t element_bytes);

/*
 * Grows an array by doubling, so that it holds at least @needed elements and at most
 * @limit. *@capacity is the capacity of *@memory and is updated.
 *
 * CPT_OK; CPT_LIMIT if @needed > @limit; CPT_NO_MEMORY. After an error *@memory and
 * *@capacity are as before.
 */
CPT_API cpt_status cpt_alloc_grow(const struct cpt_alloc *alloc, void **memory,
                                  size_t *capacity, size_t needed, size_t limit,
                                  size_t element_bytes);

/* Frees; NULL is fine. */
CPT_API void cpt_alloc_free(const struct cpt_alloc *alloc, void *memory);

/* --- How much there is --- */

/*
 * The most memory that this process may have: the lowest limit of its control group and
 * of those around it, of version 2 (memory.max) and 1 (memory.limit_in_bytes), or what
 * CPT_MEMORY_MAX in the environment says in its place, as "64MiB"; at least 1 MiB.
 * SIZE_MAX: there is no limit. Read once, at the first call. Threads: any.
 */
CPT_API size_t cpt_memory_max(void);

/* A default limit of @bytes: it, but at most one @part-th of cpt_memory_max(). */
CPT_API size_t cpt_memory_part(size_t bytes, unsigned part);

CPT_END_DECLS

#endif
