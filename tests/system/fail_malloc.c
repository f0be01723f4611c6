/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fail_malloc.c - a library for LD_PRELOAD that refuses one request for memory
 *
 * CPT_FAIL_MALLOC=k refuses the k-th request of the process, of whichever library:
 * zlib, zstd and the C library ask here, too. CPT_COUNT_MALLOC=FILE writes the number
 * of all requests to FILE when the process ends. Only for glibc.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own, below the names that are replaced here. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_ulong call_count;
static atomic_ulong refused_call; /* 0: none */

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("CPT_FAIL_MALLOC");

    atomic_store(&call_count, 0); /* not what came before main() */
    atomic_store(&refused_call, text != NULL ? strtoul(text, NULL, 10) : 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("CPT_COUNT_MALLOC");
    const int descriptor =
        path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

    if (descriptor >= 0) {
        (void)dprintf(descriptor, "%lu\n", atomic_load(&call_count));
        (void)close(descriptor);
    }
}

static bool is_refused(void)
{
    const unsigned long wanted = atomic_load(&refused_call);

    if (atomic_fetch_add(&call_count, 1) + 1 != wanted) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return is_refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return is_refused() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return bytes != 0 && is_refused() ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made = is_refused() ? NULL : __libc_memalign(alignment, bytes);

    if (made == NULL) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}
