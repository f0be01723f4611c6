/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* failing_alloc.c - malloc's memory, counted; see failing_alloc.h */
#include "tests/support/failing_alloc.h"

#include <stdlib.h>

static void *resize(void *context, void *memory, size_t bytes)
{
    struct failing_alloc *failing = context;
    void *resized = NULL;

    if (bytes == 0) {
        if (memory != NULL) {
            atomic_fetch_sub(&failing->live_count, 1);
        }
        free(memory);
        return NULL;
    }
    if (atomic_fetch_add(&failing->call_count, 1) + 1 == failing->refused_call) {
        return NULL;
    }
    resized = realloc(memory, bytes);
    if (memory == NULL && resized != NULL) {
        atomic_fetch_add(&failing->live_count, 1);
    }
    return resized;
}

void failing_alloc_init(struct failing_alloc *failing, size_t refused_call)
{
    failing->alloc = (struct cpt_alloc){resize, failing};
    atomic_init(&failing->call_count, 0);
    atomic_init(&failing->live_count, 0);
    failing->refused_call = refused_call;
}
