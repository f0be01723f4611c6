/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_alloc.h - where memory comes from
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

CPT_END_DECLS

#endif
