/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_alloc.h - where memory comes from
 *
 * Every object that owns memory takes a struct cpt_alloc when it is made, and nothing
 * in the libraries calls malloc otherwise. A test counts and refuses allocations
 * through it; a service may cap them. NULL in place of one means malloc's.
 *
 * Threads: as the one who wrote it says; cpt_alloc_default() may be used from any.
 */
#ifndef CPT_ALLOC_H
#define CPT_ALLOC_H

#include "cpt/cpt_status.h"

CPT_BEGIN_DECLS

/*
 * One function in the manner of realloc: @memory NULL allocates, @bytes 0 frees and
 * returns NULL, otherwise the block grows or shrinks. NULL means: none; @memory is
 * then still good.
 */
struct cpt_alloc {
    void *(*resize)(void *context, void *memory, size_t bytes);
    void *context;
};

/* malloc's. Static memory. */
CPT_API const struct cpt_alloc *cpt_alloc_default(void);

/* @bytes of zeroed memory, or NULL. */
CPT_API void *cpt_alloc_zeroed(const struct cpt_alloc *alloc, size_t bytes);

/*
 * @memory made to hold @count elements of @element_bytes each; NULL also where the
 * product overflows.
 */
CPT_API void *cpt_alloc_array(const struct cpt_alloc *alloc, void *memory, size_t count,
                              size_t element_bytes);

/*
 * Grows an array so that it holds at least @needed elements, doubling, and never more
 * than @limit. @capacity is that of @memory and is updated.
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
