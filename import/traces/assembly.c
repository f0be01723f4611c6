/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assembly.c - spans that wait for the others of their trace
 *
 *      buckets  [ . | o | . | o ]     by a hash of the trace's id
 *                     |       '-> trace -> trace
 *                     '-> trace
 *      line of age      trace <-> trace <-> trace    by their first span
 *      line of quiet    trace <-> trace              by their latest one: with a root,
 *                       trace                        and without
 */
#include "import/traces/assembly.h"

#include "import/formats/tags.h"

#include "cpt/cpt_arena.h"

enum {
    BUCKETS = 1 << 18,
    /* Many traces have one span or two: their texts take little, those of others come
     * in larger blocks. */
    FIRST_BLOCK_BYTES = 256,
    BLOCK_BYTES = 2048,
    FIRST_SPANS = 2,
    MALLOC_BYTES = 48 /* that malloc() takes for itself: a trace, a block, its spans */
};

/* The lines in which a trace stands: in that of age, and in one of the others. */
enum line { LINE_AGE, LINE_ROOTED, LINE_ROOTLESS, LINES };

/* A trace of which some spans have come. */
struct waiting {
    struct waiting *next_in_bucket;
    struct waiting *before[LINES];
    struct waiting *after[LINES];
    uint64_t first_ns; /* when its first span came, and the latest one */
    uint64_t latest_ns;
    bool is_rooted;
    bool is_refused; /* it was too large: only its id is left */
    struct cpt_bytes id;
    struct cpt_arena arena; /* of all bytes of its spans */
    struct cpti_span *spans;
    size_t count;
    size_t capacity;
};

struct cpti_assembly {
    const struct cpt_alloc *alloc;
    struct waiting *first[LINES];
    struct waiting *last[LINES];
    struct waiting *taken;  /* whose spans are borrowed */
    struct waiting *latest; /* to which a span was added last; NULL: it is gone */
    uint64_t now_ns;
    size_t spans_max; /* of a trace */
    size_t bytes_max; /* likewise; 0: no limit */
    size_t bytes;
    size_t count;
    size_t span_count;
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
        assembly->spans_max = CPTI_SPANS_MAX;
    }
    return assembly;
}

void cpti_assembly_limit(struct cpti_assembly *assembly, size_t spans_max,
                         size_t bytes_max)
{
    assembly->spans_max =
        spans_max != 0 && spans_max < CPTI_SPANS_MAX ? spans_max : CPTI_SPANS_MAX;
    assembly->bytes_max = bytes_max;
}

void cpti_assembly_set_now(struct cpti_assembly *assembly, uint64_t now_ns)
{
    assembly->now_ns = now_ns;
}

static size_t bytes_of(const struct waiting *waiting)
{
    return sizeof *waiting + waiting->arena.used_bytes +
           waiting->capacity * sizeof *waiting->spans + MALLOC_BYTES;
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
    for (struct waiting *next, *at = assembly->first[LINE_AGE]; at != NULL; at = next) {
        next = at->after[LINE_AGE];
        waiting_free(assembly, at);
    }
    cpt_alloc_free(assembly->alloc, assembly);
}

size_t cpti_assembly_bytes(const struct cpti_assembly *assembly)
{
    return assembly->bytes;
}

size_t cpti_assembly_count(const struct cpti_assembly *assembly)
{
    return assembly->count;
}

size_t cpti_assembly_span_count(const struct cpti_assembly *assembly)
{
    return assembly->span_count;
}

/* --- Lines --- */

static void line_join(struct cpti_assembly *assembly, struct waiting *waiting,
                      enum line line)
{
    struct waiting *last = assembly->last[line];

    waiting->before[line] = last;
    waiting->after[line] = NULL;
    *(last != NULL ? &last->after[line] : &assembly->first[line]) = waiting;
    assembly->last[line] = waiting;
}

static void line_leave(struct cpti_assembly *assembly, struct waiting *waiting,
                       enum line line)
{
    struct waiting *before = waiting->before[line];
    struct waiting *after = waiting->after[line];

    *(before != NULL ? &before->after[line] : &assembly->first[line]) = after;
    *(after != NULL ? &after->before[line] : &assembly->last[line]) = before;
}

static enum line quiet_line(const struct waiting *waiting)
{
    return waiting->is_rooted ? LINE_ROOTED : LINE_ROOTLESS;
}

/* --- Adding --- */

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

static struct waiting *find(struct waiting *waiting, struct cpt_bytes id)
{
    while (waiting != NULL && !cpti_ids_equal(waiting->id, id)) {
        waiting = waiting->next_in_bucket;
    }
    return waiting;
}

/* The trace @id, which may be new; NULL without memory. */
static struct waiting *waiting_of(struct cpti_assembly *assembly, struct cpt_bytes id)
{
    struct waiting **bucket = NULL;
    struct waiting *waiting = assembly->latest;

    if (waiting != NULL && cpti_ids_equal(waiting->id, id)) {
        return waiting;
    }
    bucket = bucket_of(assembly, id);
    waiting = find(*bucket, id);
    if (waiting != NULL) {
        assembly->latest = waiting;
        return waiting;
    }
    waiting = cpt_alloc_zeroed(assembly->alloc, sizeof *waiting);
    if (waiting == NULL) {
        return NULL;
    }
    cpt_arena_init(&waiting->arena, assembly->alloc, FIRST_BLOCK_BYTES, 0);
    waiting->id = id;
    if (!copy(&waiting->arena, &waiting->id)) {
        waiting_free(assembly, waiting);
        return NULL;
    }
    waiting->next_in_bucket = *bucket;
    *bucket = waiting;
    waiting->first_ns = assembly->now_ns;
    line_join(assembly, waiting, LINE_AGE);
    line_join(assembly, waiting, LINE_ROOTLESS);
    assembly->count++;
    assembly->bytes += bytes_of(waiting);
    assembly->latest = waiting;
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

/* Makes room for one more span. */
static cpt_status reserve(struct cpti_assembly *assembly, struct waiting *waiting)
{
    void *spans = waiting->spans;
    cpt_status status = CPT_OK;

    if (waiting->capacity == 0 && assembly->spans_max >= FIRST_SPANS) {
        spans =
            cpt_alloc_array(assembly->alloc, NULL, FIRST_SPANS, sizeof *waiting->spans);
        waiting->capacity = spans != NULL ? FIRST_SPANS : 0;
        status = spans != NULL ? CPT_OK : CPT_NO_MEMORY;
    } else {
        status = cpt_alloc_grow(assembly->alloc, &spans, &waiting->capacity,
                                waiting->count + 1, assembly->spans_max,
                                sizeof *waiting->spans);
    }
    waiting->spans = spans;
    if (waiting->count == FIRST_SPANS) {
        waiting->arena.block_bytes = BLOCK_BYTES;
    }
    return status;
}

static cpt_status add(struct cpti_assembly *assembly, struct waiting *waiting,
                      struct cpti_span span)
{
    const struct cpti_span none = {.id = {"", 0}};
    const struct cpti_span *last =
        waiting->count > 0 ? &waiting->spans[waiting->count - 1] : &none;
    cpt_status status = CPT_OK;

    if (waiting->is_refused) {
        return CPT_LIMIT;
    }
    if (assembly->bytes_max != 0 && bytes_of(waiting) > assembly->bytes_max) {
        return CPT_LIMIT;
    }
    if (!copy(&waiting->arena, &span.id) || !copy(&waiting->arena, &span.parent) ||
        !copy(&waiting->arena, &span.link) ||
        !copy_like(waiting, &span.service, last->service) ||
        !copy_like(waiting, &span.operation, last->operation) ||
        !copy_like(waiting, &span.peer, last->peer) ||
        !copy_like(waiting, &span.host, last->host) ||
        !copy(&waiting->arena, &span.note) ||
        !cpti_tags_copy(&span.tags, last->tags, &waiting->arena)) {
        return CPT_NO_MEMORY;
    }
    status = reserve(assembly, waiting);
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
        assembly->span_count += status == CPT_OK;
        line_leave(assembly, waiting, quiet_line(waiting));
        waiting->latest_ns = assembly->now_ns;
        waiting->is_rooted |= span->parent.bytes == 0;
        line_join(assembly, waiting, quiet_line(waiting));
    }
    return status;
}

/* --- Taking --- */

/* Takes @waiting out of all but its memory. */
static void leave(struct cpti_assembly *assembly, struct waiting *waiting)
{
    struct waiting **bucket = bucket_of(assembly, waiting->id);

    while (*bucket != waiting) {
        bucket = &(*bucket)->next_in_bucket;
    }
    *bucket = waiting->next_in_bucket;
    assembly->latest = assembly->latest != waiting ? assembly->latest : NULL;
    line_leave(assembly, waiting, LINE_AGE);
    line_leave(assembly, waiting, quiet_line(waiting));
    assembly->bytes -= bytes_of(waiting);
    assembly->span_count -= waiting->count;
    assembly->count--;
}

static cpt_status take(struct cpti_assembly *assembly, struct waiting *waiting,
                       struct cpti_spans *spans, struct cpt_bytes *trace)
{
    cpt_status status = CPT_OK;

    waiting_free(assembly, assembly->taken);
    assembly->taken = NULL;
    if (waiting == NULL) {
        return CPT_END;
    }
    for (size_t i = 0; i < waiting->count && status == CPT_OK; i++) {
        status = cpti_spans_add(spans, &waiting->spans[i]);
    }
    if (status == CPT_OK) {
        leave(assembly, waiting);
        assembly->taken = waiting;
        *trace = waiting->id;
    }
    return status;
}

cpt_status cpti_assembly_take(struct cpti_assembly *assembly, struct cpti_spans *spans,
                              struct cpt_bytes *trace)
{
    struct waiting *oldest = assembly->first[LINE_AGE];

    while (oldest != NULL && oldest->is_refused) {
        leave(assembly, oldest);
        waiting_free(assembly, oldest);
        oldest = assembly->first[LINE_AGE];
    }
    return take(assembly, assembly->first[LINE_AGE], spans, trace);
}

/* Whether @time_ns is @wait_ns ago. */
static bool has_passed(const struct cpti_assembly *assembly, uint64_t time_ns,
                       uint64_t wait_ns)
{
    return assembly->now_ns - time_ns >= wait_ns;
}

cpt_status cpti_assembly_take_ended(struct cpti_assembly *assembly, uint64_t quiet_ns,
                                    uint64_t age_ns, struct cpti_spans *spans,
                                    struct cpt_bytes *trace)
{
    struct waiting *rooted = assembly->first[LINE_ROOTED];
    struct waiting *rootless = assembly->first[LINE_ROOTLESS];
    struct waiting *oldest = assembly->first[LINE_AGE];
    struct waiting *ended = NULL;

    if (rooted != NULL && has_passed(assembly, rooted->latest_ns, quiet_ns)) {
        ended = rooted;
    } else if (rootless != NULL &&
               has_passed(assembly, rootless->latest_ns, 2 * quiet_ns)) {
        ended = rootless;
    } else if (oldest != NULL && has_passed(assembly, oldest->first_ns, age_ns)) {
        ended = oldest;
    }
    return take(assembly, ended, spans, trace);
}

uint64_t cpti_assembly_taken_ns(const struct cpti_assembly *assembly)
{
    return assembly->taken != NULL ? assembly->taken->first_ns : assembly->now_ns;
}

void cpti_assembly_remove(struct cpti_assembly *assembly,
                          bool (*is_unwanted)(void *context, struct cpt_bytes trace,
                                              size_t span_count, size_t bytes),
                          void *context)
{
    for (struct waiting *next, *at = assembly->first[LINE_AGE]; at != NULL; at = next) {
        next = at->after[LINE_AGE];
        if (is_unwanted(context, at->id, at->count, bytes_of(at))) {
            leave(assembly, at);
            waiting_free(assembly, at);
        }
    }
}

bool cpti_assembly_refuse(struct cpti_assembly *assembly, struct cpt_bytes trace)
{
    struct waiting *waiting = find(*bucket_of(assembly, trace), trace);
    struct cpt_arena arena;
    struct cpt_bytes id = {"", 0};

    if (waiting == NULL || waiting->is_refused) {
        return false;
    }
    assembly->bytes -= bytes_of(waiting);
    assembly->span_count -= waiting->count;
    cpt_arena_init(&arena, assembly->alloc, 1, 0);
    id = waiting->id;
    if (copy(&arena, &id)) {
        cpt_arena_deinit(&waiting->arena);
        waiting->arena = arena;
        waiting->id = id;
    } else {
        cpt_arena_deinit(&arena); /* then its texts stay, too */
    }
    cpt_alloc_free(assembly->alloc, waiting->spans);
    waiting->spans = NULL;
    waiting->count = 0;
    waiting->capacity = 0;
    waiting->is_refused = true;
    assembly->bytes += bytes_of(waiting);
    return true;
}

size_t cpti_assembly_remove_one(struct cpti_assembly *assembly, struct cpt_bytes trace)
{
    struct waiting *waiting = find(*bucket_of(assembly, trace), trace);
    const size_t span_count = waiting != NULL ? waiting->count : 0;

    if (waiting != NULL) {
        leave(assembly, waiting);
        waiting_free(assembly, waiting);
    }
    return span_count;
}
