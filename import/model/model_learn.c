/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_learn.c - requests, taken a block at a time; see model.h
 *
 * A block is counted in the order of its ids, so that the first counterexample of a
 * pair in it has the smallest id of the block: ids are compared once a block and pair.
 */
#include "import/model/model_inside.h"

#include "import/events/requests.h"

#include <stdlib.h>

enum { SLOTS_FIRST = 256 };

/* Times of a request lie within days; one that does not is only kept from overflow. */
static const uint64_t span_ns_max = UINT64_C(1) << 61;

struct cpti_model_learner *
cpti_model_learner_new(const struct cpt_alloc *alloc,
                       const struct cpti_model_learner_options *options)
{
    struct cpti_model_learner *learner = cpt_alloc_zeroed(alloc, sizeof *learner);

    if (learner == NULL) {
        return NULL;
    }
    learner->alloc = alloc;
    if (options != NULL) {
        learner->options = *options;
    }
    if (learner->options.pairs_max == 0) {
        learner->options.pairs_max = CPTI_MODEL_PAIRS_MAX;
    }
    if (learner->options.cells_max == 0) {
        learner->options.cells_max = CPTI_MODEL_CELLS_MAX;
    }
    learner->hash_seed = cpti_hash_mix((uint64_t)(uintptr_t)learner);
    learner->block_number = 1;
    learner->names = cpt_names_new(alloc);
    learner->ids = cpt_names_new(alloc);
    if (learner->names == NULL || learner->ids == NULL) {
        cpti_model_learner_free(learner);
        return NULL;
    }
    return learner;
}

void cpti_model_learner_free(struct cpti_model_learner *learner)
{
    const struct cpt_alloc *alloc = learner != NULL ? learner->alloc : NULL;

    if (learner == NULL) {
        return;
    }
    for (size_t i = 0; i < learner->class_count; i++) {
        cpti_learnt_class_deinit(alloc, &learner->classes[i]);
    }
    cpti_counting_deinit(alloc, &learner->counting);
    cpti_steps_deinit(alloc, &learner->steps);
    cpt_names_free(learner->names);
    cpt_names_free(learner->ids);
    cpt_alloc_free(alloc, learner->kinds);
    cpt_alloc_free(alloc, learner->kind_index.slots);
    cpt_alloc_free(alloc, learner->classes);
    cpt_alloc_free(alloc, learner->class_index.slots);
    cpt_alloc_free(alloc, learner->kind_of);
    cpt_alloc_free(alloc, learner->block);
    cpt_alloc_free(alloc, learner->block_lines);
    cpt_alloc_free(alloc, learner->block_ids);
    cpt_alloc_free(alloc, learner);
}

/* --- Kinds and classes --- */

static uint64_t hash_pair(const struct cpti_model_learner *learner, uint32_t first,
                          uint32_t second)
{
    return cpti_hash_mix(learner->hash_seed ^ ((uint64_t)first << 32 | second));
}

static uint64_t hash_kind(const void *owner, size_t number)
{
    const struct cpti_model_learner *learner = owner;

    return hash_pair(learner, learner->kinds[number].service,
                     learner->kinds[number].name);
}

static cpt_status add_kind(struct cpti_model_learner *learner,
                           struct cpti_model_kind kind, uint32_t *number)
{
    cpt_status status = cpt_alloc_grow(learner->alloc, (void **)&learner->kinds,
                                       &learner->kind_capacity, learner->kind_count + 1,
                                       CPTI_MODEL_KINDS_MAX, sizeof *learner->kinds);

    if (status == CPT_LIMIT) {
        *number = CPTI_MODEL_NONE;
        return CPT_OK;
    }
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&learner->kind_index, learner->kind_count, 2)) {
        status = cpti_hash_index_grow(&learner->kind_index, learner->alloc, SLOTS_FIRST,
                                      learner->kind_count, hash_kind, learner);
    }
    if (status != CPT_OK) {
        return status;
    }
    learner->kinds[learner->kind_count] = kind;
    cpti_hash_index_put(&learner->kind_index,
                        hash_pair(learner, kind.service, kind.name),
                        learner->kind_count);
    *number = (uint32_t)learner->kind_count++;
    return CPT_OK;
}

cpt_status cpti_learner_kind(struct cpti_model_learner *learner,
                             struct cpt_bytes service, struct cpt_bytes name,
                             uint32_t *number)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    const struct cpti_hash_index *index = &learner->kind_index;
    struct cpti_model_kind kind = {0};
    cpt_status status =
        cpt_names_add(learner->names, cpt_name_bound(service, buffer), &kind.service);
    size_t slot = 0;

    if (status == CPT_OK) {
        status =
            cpt_names_add(learner->names, cpt_name_bound(name, buffer), &kind.name);
    }
    if (status == CPT_LIMIT) {
        *number = CPTI_MODEL_NONE;
        return CPT_OK;
    }
    if (status != CPT_OK || index->slot_count == 0) {
        return status != CPT_OK ? status : add_kind(learner, kind, number);
    }
    slot = cpti_hash_index_first(index, hash_pair(learner, kind.service, kind.name));
    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        const uint32_t found = index->slots[slot] - 1;

        if (learner->kinds[found].service == kind.service &&
            learner->kinds[found].name == kind.name) {
            *number = found;
            return CPT_OK;
        }
    }
    return add_kind(learner, kind, number);
}

static uint64_t hash_class(const void *owner, size_t number)
{
    const struct cpti_model_learner *learner = owner;

    return hash_pair(learner, learner->classes[number].entry,
                     learner->classes[number].second);
}

static cpt_status add_class(struct cpti_model_learner *learner, uint32_t entry,
                            uint32_t second, struct cpti_learnt_class **class)
{
    cpt_status status = cpt_alloc_grow(
        learner->alloc, (void **)&learner->classes, &learner->class_capacity,
        learner->class_count + 1, CPTI_MODEL_CLASSES_MAX + 1, sizeof *learner->classes);

    if (status == CPT_OK &&
        cpti_hash_index_is_full(&learner->class_index, learner->class_count, 2)) {
        status = cpti_hash_index_grow(&learner->class_index, learner->alloc, 16,
                                      learner->class_count, hash_class, learner);
    }
    if (status != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    learner->classes[learner->class_count] =
        (struct cpti_learnt_class){.entry = entry, .second = second};
    cpti_hash_index_put(&learner->class_index, hash_pair(learner, entry, second),
                        learner->class_count);
    *class = &learner->classes[learner->class_count++];
    return CPT_OK;
}

static struct cpti_learnt_class *find_class(struct cpti_model_learner *learner,
                                            uint32_t entry, uint32_t second)
{
    const struct cpti_hash_index *index = &learner->class_index;
    size_t slot = 0;

    if (index->slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(index, hash_pair(learner, entry, second));
    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        struct cpti_learnt_class *class = &learner->classes[index->slots[slot] - 1];

        if (class->entry == entry && class->second == second) {
            return class;
        }
    }
    return NULL;
}

cpt_status cpti_learner_class(struct cpti_model_learner *learner, uint32_t entry,
                              uint32_t second, struct cpti_learnt_class **class)
{
    if (learner->options.is_coarse) {
        second = 0;
    }
    *class = find_class(learner, entry, second);
    if (*class == NULL && learner->class_count >= CPTI_MODEL_CLASSES_MAX) {
        entry = 0; /* there are too many: one for all others */
        second = 0;
        *class = find_class(learner, 0, 0);
    }
    return *class != NULL ? CPT_OK : add_class(learner, entry, second, class);
}

void cpti_learner_drop(struct cpti_model_learner *learner, uint32_t kind,
                       uint64_t lines)
{
    learner->dropped_lines += lines;
    for (size_t i = 0; i < learner->dropped_count; i++) {
        if (learner->dropped[i] == kind) {
            return;
        }
    }
    if (learner->dropped_count < CPTI_MODEL_DROPPED_MAX) {
        learner->dropped[learner->dropped_count++] = kind;
    }
}

cpt_status cpti_learner_witness(struct cpti_model_learner *learner, struct cpt_bytes id,
                                uint32_t *witness)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    cpt_status status = CPT_OK;
    uint32_t number = 0;

    id = cpt_name_bound(id, buffer);
    if (*witness != CPTI_MODEL_NONE &&
        cpti_model_compare(cpt_names_at(learner->ids, *witness), id) <= 0) {
        return CPT_OK;
    }
    status = cpt_names_add(learner->ids, id, &number);
    if (status == CPT_OK) {
        *witness = number;
    }
    /* Beyond the limit the one that is there stays: a counterexample, too. */
    return status == CPT_LIMIT && *witness != CPTI_MODEL_NONE ? CPT_OK : status;
}

/* --- The block --- */

static struct cpt_bytes id_of(const struct cpti_model_learner *learner,
                              const struct cpti_block_request *request)
{
    return (struct cpt_bytes){learner->block_ids + request->id, request->id_bytes};
}

static int by_id(const void *left, const void *right, void *context)
{
    return cpti_model_compare(id_of(context, left), id_of(context, right));
}

/* The class that @request is of: its first event, and the first of another service. */
static cpt_status class_of(struct cpti_model_learner *learner,
                           const struct cpti_block_request *request,
                           struct cpti_learnt_class **class)
{
    const struct cpti_block_line *lines = &learner->block_lines[request->line];
    const uint32_t service = learner->kinds[lines[0].kind].service;
    uint32_t second = 0;

    for (uint32_t i = 1; i < request->line_count && second == 0; i++) {
        if (learner->kinds[lines[i].kind].service != service) {
            second = lines[i].kind + 1;
        }
    }
    return cpti_learner_class(learner, lines[0].kind + 1, second, class);
}

static cpt_status count_request(struct cpti_model_learner *learner,
                                const struct cpti_block_request *request)
{
    struct cpti_learnt_class *class = NULL;
    cpt_status status = class_of(learner, request, &class);

    if (status == CPT_OK) {
        status = cpti_learner_step_lines(learner, (uint32_t)(class - learner->classes),
                                         request);
    }
    if (status == CPT_OK) {
        class->requests++;
        status = cpti_learner_count(learner, class, request);
    }
    return status;
}

cpt_status cpti_learner_flush(struct cpti_model_learner *learner)
{
    cpt_status status = CPT_OK;

    if (learner->block_count > 1) {
        qsort_r(learner->block, learner->block_count, sizeof *learner->block, by_id,
                learner);
    }
    for (size_t i = 0; i < learner->block_count && status == CPT_OK; i++) {
        status = count_request(learner, &learner->block[i]);
    }
    learner->block_count = 0;
    learner->block_line_count = 0;
    learner->block_id_bytes = 0;
    learner->block_number++;
    return status;
}

void cpti_model_learner_from(struct cpti_model_learner *learner,
                             const struct cpti_requests *requests)
{
    learner->source = requests;
    cpt_alloc_free(learner->alloc, learner->kind_of);
    learner->kind_of = NULL;
    learner->kind_of_count = 0;
}

/* Our number of a kind of the source. */
static cpt_status translate(struct cpti_model_learner *learner, uint32_t kind,
                            uint32_t *number)
{
    const struct cpti_requests *source = learner->source;
    cpt_status status = CPT_OK;

    if (kind < learner->kind_of_count && learner->kind_of[kind] != 0) {
        *number = learner->kind_of[kind] - 1;
        return CPT_OK;
    }
    if (kind >= learner->kind_of_count) {
        const size_t count = cpti_requests_names(source, CPTI_NAMES_KIND);
        uint32_t *grown =
            cpt_alloc_array(learner->alloc, learner->kind_of, count, sizeof *grown);

        if (grown == NULL) {
            return CPT_NO_MEMORY;
        }
        memset(grown + learner->kind_of_count, 0,
               (count - learner->kind_of_count) * sizeof *grown);
        learner->kind_of = grown;
        learner->kind_of_count = count;
    }
    status =
        cpti_learner_kind(learner,
                          cpti_requests_text(source, CPTI_NAMES_SERVICE,
                                             cpti_requests_kind_service(source, kind)),
                          cpti_requests_text(source, CPTI_NAMES_KIND, kind), number);
    if (status == CPT_OK && *number != CPTI_MODEL_NONE) {
        learner->kind_of[kind] = *number + 1;
    }
    return status;
}

static cpt_status reserve(struct cpti_model_learner *learner,
                          const struct cpti_request *request)
{
    const struct cpt_alloc *alloc = learner->alloc;
    cpt_status status =
        cpt_alloc_grow(alloc, (void **)&learner->block, &learner->block_capacity,
                       learner->block_count + 1, SIZE_MAX / 2, sizeof *learner->block);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(alloc, (void **)&learner->block_lines,
                                &learner->block_line_capacity,
                                learner->block_line_count + request->count,
                                SIZE_MAX / 2, sizeof *learner->block_lines);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(
            alloc, (void **)&learner->block_ids, &learner->block_id_capacity,
            learner->block_id_bytes + request->id.bytes + 1, SIZE_MAX / 2, 1);
    }
    return status;
}

/* From @from_ns to @to_ns, which is not before it. */
static int64_t since(int64_t from_ns, int64_t to_ns)
{
    const uint64_t ns =
        to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : UINT64_C(0);

    return (int64_t)(ns < span_ns_max ? ns : span_ns_max);
}

/* Copies the lines of @request into the block. */
static cpt_status take_lines(struct cpti_model_learner *learner,
                             const struct cpti_request *request, uint32_t *count)
{
    const int64_t from_ns = request->lines[0].begin_ns;
    struct cpti_block_line *lines = &learner->block_lines[learner->block_line_count];

    *count = 0;
    for (size_t i = 0; i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];
        uint32_t kind = 0;
        const cpt_status status = translate(learner, line->kind, &kind);

        if (status != CPT_OK) {
            return status;
        }
        if (kind == CPTI_MODEL_NONE) {
            learner->dropped_lines++;
            continue;
        }
        lines[(*count)++] =
            (struct cpti_block_line){.begin_ns = since(from_ns, line->begin_ns),
                                     .end_ns = since(from_ns, line->end_ns),
                                     .kind = kind,
                                     .unit = line->unit,
                                     .resolution_ns = line->resolution_ns,
                                     .is_interval = line->is_interval};
    }
    return CPT_OK;
}

cpt_status cpti_model_learner_add(struct cpti_model_learner *learner,
                                  const struct cpti_request *request)
{
    uint32_t count = 0;
    cpt_status status = CPT_OK;

    if (request->count == 0) {
        return CPT_OK;
    }
    if (learner->requests == UINT32_MAX) {
        return CPT_LIMIT;
    }
    status = reserve(learner, request);
    if (status == CPT_OK) {
        status = take_lines(learner, request, &count);
    }
    if (status != CPT_OK || count == 0) {
        return status;
    }
    memcpy(learner->block_ids + learner->block_id_bytes, request->id.data,
           request->id.bytes);
    learner->block[learner->block_count++] =
        (struct cpti_block_request){.id = learner->block_id_bytes,
                                    .id_bytes = (uint32_t)request->id.bytes,
                                    .line = learner->block_line_count,
                                    .line_count = count,
                                    .unit_count = (uint32_t)request->unit_count};
    learner->block_line_count += count;
    learner->block_id_bytes += request->id.bytes;
    learner->requests++;
    return learner->block_count >= CPTI_BLOCK_REQUESTS ||
                   learner->block_line_count >= CPTI_BLOCK_LINES
               ? cpti_learner_flush(learner)
               : CPT_OK;
}
