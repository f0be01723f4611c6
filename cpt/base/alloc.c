/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* alloc.c - malloc as a struct cpt_alloc, and checked sizes */
#include "cpt/cpt_alloc.h"

#include <stdlib.h>
#include <string.h>

static void *resize_by_malloc(void *context, void *memory, size_t bytes)
{
    (void)context;
    if (bytes == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, bytes);
}

static const struct cpt_alloc malloc_alloc = {resize_by_malloc, NULL};

const struct cpt_alloc *cpt_alloc_default(void)
{
    return &malloc_alloc;
}

static const struct cpt_alloc *or_default(const struct cpt_alloc *alloc)
{
    return alloc != NULL ? alloc : &malloc_alloc;
}

void *cpt_alloc_zeroed(const struct cpt_alloc *alloc, size_t bytes)
{
    alloc = or_default(alloc);
    void *memory = alloc->resize(alloc->context, NULL, bytes != 0 ? bytes : 1);

    if (memory != NULL) {
        memset(memory, 0, bytes != 0 ? bytes : 1);
    }
    return memory;
}

void *cpt_alloc_array(const struct cpt_alloc *alloc, void *memory, size_t count,
                      size_t element_bytes)
{
    size_t bytes = 0;

    alloc = or_default(alloc);
    if (__builtin_mul_overflow(count, element_bytes, &bytes)) {
        return NULL;
    }
    return alloc->resize(alloc->context, memory, bytes != 0 ? bytes : 1);
}

cpt_status cpt_alloc_grow(const struct cpt_alloc *alloc, void **memory,
                          size_t *capacity, size_t needed, size_t limit,
                          size_t element_bytes)
{
    size_t wanted = *capacity != 0 ? *capacity : 8;
    void *grown = NULL;

    if (needed <= *capacity) {
        return CPT_OK;
    }
    if (needed > limit) {
        return CPT_LIMIT;
    }
    while (wanted < needed) {
        wanted = wanted > limit / 2 ? limit : wanted * 2;
    }
    if (wanted > limit) {
        wanted = limit;
    }
    grown = cpt_alloc_array(alloc, *memory, wanted, element_bytes);
    if (grown == NULL) {
        return CPT_NO_MEMORY;
    }
    *memory = grown;
    *capacity = wanted;
    return CPT_OK;
}

void cpt_alloc_free(const struct cpt_alloc *alloc, void *memory)
{
    alloc = or_default(alloc);
    if (memory != NULL) {
        (void)alloc->resize(alloc->context, memory, 0);
    }
}
