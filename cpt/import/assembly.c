/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assembly.c - spans that wait for the others of their trace
 *
 *      buckets  [ . | o | . | o ]     by a hash of the trace's id
 *                     |       '-> trace -> trace
 *                     '-> trace
 *      oldest -> trace -> trace -> trace <- newest, by their first span
 */
#include "cpt/import/assembly.h"

#include "cpt/cpt_arena.h"

enum { BUCKETS = 1 << 16, BLOCK_BYTES = 2048 };

/* A trace of which some spans have come. */
struct waiting {
    struct waiting *next_in_bucket;
    struct waiting *next; /* that began to wait later */
    struct cpt_bytes id;
    struct cpt_arena arena; /* of all bytes of its spans */
    struct cpti_span *spans;
    size_t count;
    size_t capacity;
};

struct cpti_assembly {
    const struct cpt_alloc *alloc;
    struct waiting *oldest;
    struct waiting *newest;
    struct waiting *taken; /* whose spans are borrowed */
    size_t bytes;
    struct waiting *buckets[BUCKETS];
};

struct cpti_assembly *cpti_assembly_new(const struct cpt_alloc *alloc)
{
    struct cpti_assembly *assembly = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    assembly = cpt_alloc_zeroed(alloc, sizeof *assembly);
    if (assembly != NULL) {
        assembly->alloc = alloc;
    }
    return assembly;
}

static size_t bytes_of(const struct waiting *waiting)
{
    return sizeof *waiting + waiting->arena.used_bytes +
           waiting->capacity * sizeof *waiting->spans;
}

static void waiting_free(struct cpti_assembly *assembly, struct waiting *waiting)
{
    if (waiting != NULL) {
        cpt_arena_deinit(&waiting->arena);
        cpt_alloc_free(assembly->alloc, waiting->spans);
        cpt_alloc_free(assembly->alloc, waiting);
    }
}

void cpti_assembly_free(struct cpti_assembly *assembly)
{
    if (assembly == NULL) {
        return;
    }
    waiting_free(assembly, assembly->taken);
    while (assembly->oldest != NULL) {
        struct waiting *next = assembly->oldest->next;

        waiting_free(assembly, assembly->oldest);
        assembly->oldest = next;
    }
    cpt_alloc_free(assembly->alloc, assembly);
}

size_t cpti_assembly_bytes(const struct cpti_assembly *assembly)
{
    return assembly->bytes;
}

static struct waiting **bucket_of(struct cpti_assembly *assembly, struct cpt_bytes id)
{
    const uint64_t hash = cpti_id_hash((uint64_t)(uintptr_t)assembly, id);

    return &assembly->buckets[hash % BUCKETS];
}

static bool copy(struct cpt_arena *arena, struct cpt_bytes *bytes)
{
    bytes->data =
        bytes->bytes > 0 ? cpt_arena_copy(arena, bytes->data, bytes->bytes) : "";
    return bytes->data != NULL;
}

/* The trace @id, which may be new; NULL without memory. */
static struct waiting *waiting_of(struct cpti_assembly *assembly, struct cpt_bytes id)
{
    struct waiting **bucket = bucket_of(assembly, id);
    struct waiting *waiting = *bucket;

    while (waiting != NULL && !cpti_ids_equal(waiting->id, id)) {
        waiting = waiting->next_in_bucket;
    }
    if (waiting != NULL) {
        return waiting;
    }
    waiting = cpt_alloc_zeroed(assembly->alloc, sizeof *waiting);
    if (waiting == NULL) {
        return NULL;
    }
    cpt_arena_init(&waiting->arena, assembly->alloc, BLOCK_BYTES, 0);
    waiting->id = id;
    if (!copy(&waiting->arena, &waiting->id)) {
        waiting_free(assembly, waiting);
        return NULL;
    }
    waiting->next_in_bucket = *bucket;
    *bucket = waiting;
    *(assembly->newest != NULL ? &assembly->newest->next : &assembly->oldest) = waiting;
    assembly->newest = waiting;
    assembly->bytes += bytes_of(waiting);
    return waiting;
}

/* The bytes of @text, of which @waiting may already have a copy: neighbours often have
 * the same service. */
static bool copy_like(struct waiting *waiting, struct cpt_bytes *text,
                      struct cpt_bytes last)
{
    if (text->bytes > 0 && cpt_bytes_equal(*text, last)) {
        *text = last;
        return true;
    }
    return copy(&waiting->arena, text);
}

static cpt_status add(struct cpti_assembly *assembly, struct waiting *waiting,
                      struct cpti_span span)
{
    const struct cpti_span none = {.id = {"", 0}};
    const struct cpti_span *last =
        waiting->count > 0 ? &waiting->spans[waiting->count - 1] : &none;
    void *spans = waiting->spans;
    cpt_status status = CPT_OK;

    if (!copy(&waiting->arena, &span.id) || !copy(&waiting->arena, &span.parent) ||
        !copy_like(waiting, &span.service, last->service) ||
        !copy_like(waiting, &span.operation, last->operation) ||
        !copy_like(waiting, &span.peer, last->peer)) {
        return CPT_NO_MEMORY;
    }
    status = cpt_alloc_grow(assembly->alloc, &spans, &waiting->capacity,
                            waiting->count + 1, CPTI_SPANS_MAX, sizeof span);
    waiting->spans = spans;
    if (status == CPT_OK) {
        waiting->spans[waiting->count++] = span;
    }
    return status;
}

cpt_status cpti_assembly_add(struct cpti_assembly *assembly, struct cpt_bytes trace,
                             const struct cpti_span *span)
{
    struct waiting *waiting = waiting_of(assembly, trace);
    cpt_status status = CPT_NO_MEMORY;

    if (waiting != NULL) {
        assembly->bytes -= bytes_of(waiting);
        status = add(assembly, waiting, *span);
        assembly->bytes += bytes_of(waiting);
    }
    return status;
}

cpt_status cpti_assembly_take(struct cpti_assembly *assembly, struct cpti_spans *spans,
                              struct cpt_bytes *trace)
{
    struct waiting *waiting = assembly->oldest;
    struct waiting **bucket = NULL;
    cpt_status status = CPT_OK;

    waiting_free(assembly, assembly->taken);
    assembly->taken = NULL;
    if (waiting == NULL) {
        return CPT_END;
    }
    for (size_t i = 0; i < waiting->count && status == CPT_OK; i++) {
        status = cpti_spans_add(spans, &waiting->spans[i]);
    }
    if (status != CPT_OK) {
        return status;
    }
    bucket = bucket_of(assembly, waiting->id);
    while (*bucket != waiting) {
        bucket = &(*bucket)->next_in_bucket;
    }
    *bucket = waiting->next_in_bucket;
    assembly->oldest = waiting->next;
    assembly->newest = waiting->next != NULL ? assembly->newest : NULL;
    assembly->bytes -= bytes_of(waiting);
    assembly->taken = waiting;
    *trace = waiting->id;
    return CPT_OK;
}
