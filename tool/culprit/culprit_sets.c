/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_sets.c - the sets of requests and the results of a comparison; culprit.h */
#include "tool/culprit/culprit_parts.h"
#include "tool/culprit/culprit_structure.h"
#include "tool/culprit/nested_keys.h"

struct cpti_culprit *cpti_culprit_new(const struct cpt_alloc *alloc,
                                      enum cpti_culprit_by by)
{
    struct cpti_culprit *culprit = cpt_alloc_zeroed(alloc, sizeof *culprit);

    if (culprit == NULL) {
        return NULL;
    }
    culprit->alloc = alloc;
    culprit->by = by;
    culprit->table = cpt_path_new(alloc);
    if (culprit->table == NULL) {
        cpt_alloc_free(alloc, culprit);
        return NULL;
    }
    return culprit;
}

void cpti_culprit_free(struct cpti_culprit *culprit)
{
    if (culprit == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(culprit->alloc, culprit->sets[i].samples);
        cpt_alloc_free(culprit->alloc, culprit->sets[i].ends);
        cpt_alloc_free(culprit->alloc, culprit->sets[i].starts);
        cpt_alloc_free(culprit->alloc, culprit->sets[i].clusters);
        cpt_alloc_free(culprit->alloc, culprit->sets[i].entries);
    }
    cpti_culprit_model_deinit(&culprit->model, culprit->alloc);
    cpti_culprit_scratch_deinit(&culprit->scratch, culprit->alloc);
    cpt_alloc_free(culprit->alloc, culprit->suspects);
    cpt_alloc_free(culprit->alloc, culprit->unjudged);
    cpt_path_free(culprit->table);
    cpti_structure_free(culprit->structure);
    cpt_alloc_free(culprit->alloc, culprit);
}

void cpti_culprit_lacks_callers(struct cpti_culprit *culprit)
{
    culprit->lacks_callers = true;
}

void cpti_culprit_has_all_visits(struct cpti_culprit *culprit)
{
    culprit->has_all_visits = true;
}

cpt_status cpti_culprit_compare_structure(struct cpti_culprit *culprit)
{
    culprit->structure = cpti_structure_new(culprit->alloc);
    return culprit->structure != NULL ? CPT_OK : CPT_NO_MEMORY;
}

void cpti_culprit_cluster(struct cpti_culprit *culprit, uint64_t cluster)
{
    culprit->has_clusters = true;
    culprit->cluster = cluster;
}

/* Makes room for one more request in @set. */
static cpt_status make_room(const struct cpti_culprit *culprit,
                            struct cpti_culprit_set *set)
{
    void *ends = set->ends;
    void *starts = set->starts;
    void *clusters = set->clusters;
    void *entries = set->entries;
    cpt_status status = cpt_alloc_grow(culprit->alloc, &ends, &set->end_capacity,
                                       set->request_count + 1, CPTI_CULPRIT_SAMPLES_MAX,
                                       sizeof *set->ends);

    set->ends = ends;
    if (status == CPT_OK) {
        status = cpt_alloc_grow(culprit->alloc, &starts, &set->start_capacity,
                                set->request_count + 1, CPTI_CULPRIT_SAMPLES_MAX,
                                sizeof *set->starts);
        set->starts = starts;
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(culprit->alloc, &clusters, &set->cluster_capacity,
                                set->request_count + 1, CPTI_CULPRIT_SAMPLES_MAX,
                                sizeof *set->clusters);
        set->clusters = clusters;
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(culprit->alloc, &entries, &set->entry_capacity,
                                set->request_count + 1, CPTI_CULPRIT_SAMPLES_MAX,
                                sizeof *set->entries);
        set->entries = entries;
    }
    return status;
}

/* The samples of a request were taken, with @status, after those before @before. */
static cpt_status end_request(const struct cpti_culprit *culprit,
                              struct cpti_culprit_set *set, size_t before,
                              uint64_t start_ns, cpt_status status)
{
    if (status != CPT_OK) {
        set->sample_count = before;
        return status;
    }
    set->clusters[set->request_count] = culprit->cluster;
    set->starts[set->request_count] = start_ns;
    set->ends[set->request_count++] = set->sample_count;
    return CPT_OK;
}

cpt_status cpti_culprit_add(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                            const struct cpt_path *path, uint64_t start_ns)
{
    struct cpti_culprit_set *set = &culprit->sets[side];
    const size_t before = set->sample_count;
    cpt_status status = make_room(culprit, set);

    if (status == CPT_OK) {
        set->entries[set->request_count] =
            cpt_path_frame_count(path) > 0
                ? cpti_nested_hash(cpt_path_frame_name(path, 0))
                : 0;
        status = cpti_culprit_take(culprit, set, path);
    }
    if (status == CPT_OK && culprit->structure != NULL) {
        status = cpti_structure_add(culprit->structure, side, path);
    }
    return end_request(culprit, set, before, start_ns, status);
}

cpt_status cpti_culprit_add_request(struct cpti_culprit *culprit,
                                    enum cpti_culprit_side side,
                                    const struct cpti_culprit_request *request)
{
    struct cpti_culprit_set *set = &culprit->sets[side];
    const size_t before = set->sample_count;
    cpt_status status = make_room(culprit, set);

    if (status == CPT_OK) {
        set->entries[set->request_count] = 0; /* they are compared by entry anyway */
        status = cpti_culprit_take_request(culprit, set, request);
    }
    return end_request(culprit, set, before, request->start_ns, status);
}

size_t cpti_culprit_suspect_count(const struct cpti_culprit *culprit)
{
    return culprit->suspect_count;
}

const struct cpti_suspect *cpti_culprit_suspect(const struct cpti_culprit *culprit,
                                                size_t index)
{
    return &culprit->suspects[index];
}

size_t cpti_culprit_unjudged_count(const struct cpti_culprit *culprit)
{
    return culprit->unjudged_count;
}

const struct cpti_unjudged *cpti_culprit_unjudged(const struct cpti_culprit *culprit,
                                                  size_t index)
{
    return &culprit->unjudged[index];
}

enum cpti_verdict cpti_culprit_verdict(const struct cpti_culprit *culprit)
{
    return culprit->verdict;
}

enum cpti_doubt cpti_culprit_doubt_reason(const struct cpti_culprit *culprit)
{
    return culprit->doubt;
}

size_t cpti_culprit_either_count(const struct cpti_culprit *culprit)
{
    return culprit->either_count;
}

struct cpt_bytes cpti_culprit_either(const struct cpti_culprit *culprit, size_t index,
                                     struct cpt_bytes *to)
{
    *to = culprit->either[index].to;
    return culprit->either[index].name;
}

const struct cpti_structure *cpti_culprit_structure(const struct cpti_culprit *culprit)
{
    return culprit->structure;
}

bool cpti_culprit_are_concurrent(const struct cpti_culprit *culprit)
{
    return culprit->are_concurrent;
}

double cpti_culprit_factor_min(const struct cpti_culprit *culprit)
{
    return culprit->are_concurrent ? CPTI_CONCURRENT_FACTOR : CPTI_CULPRIT_FACTOR;
}

double cpti_culprit_offset_ns(const struct cpti_culprit *culprit)
{
    return culprit->model.c;
}

uint64_t cpti_culprit_requests(const struct cpti_culprit *culprit,
                               enum cpti_culprit_side side)
{
    return culprit->sets[side].request_count;
}

uint64_t cpti_culprit_visits(const struct cpti_culprit *culprit,
                             enum cpti_culprit_side side, bool has_host)
{
    return culprit->sets[side].visits[has_host ? 1 : 0];
}

unsigned cpti_culprit_rounds(const struct cpti_culprit *culprit)
{
    return culprit->rounds;
}
