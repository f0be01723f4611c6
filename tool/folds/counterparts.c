/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* counterparts.c - requests by strata and by a condition; see counterparts.h */
#include "tool/folds/counterparts.h"

#include "tool/base/output.h"
#include "tool/folds/mix.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below this part of the smaller group, a size of the path leaves too little. */
#define LEAST_PART 0.5

/* Service, method, keys and size, one a line. */
enum { KEY_BYTES = (CPTI_ALIKE_KEYS_MAX + 3) * CPTI_MIX_VALUE_BYTES };

/* --- The key of a stratum --- */

struct key_text {
    char text[KEY_BYTES];
    size_t bytes;
};

/* Adds a line: texts are escaped, so that none has a line break. */
static void key_add(struct key_text *key, const char *text)
{
    const size_t room = sizeof key->text - key->bytes;
    const int bytes = snprintf(key->text + key->bytes, room, "%s\n", text);

    key->bytes += (size_t)bytes < room ? (size_t)bytes : room - 1;
}

static void key_add_bytes(struct key_text *key, struct cpt_bytes bytes)
{
    char text[CPTI_MIX_VALUE_BYTES];

    (void)cpti_printable_to(bytes, text, sizeof text);
    key_add(key, text);
}

/* The power of two at or below @number, with its sign: alike ones have one text. */
static void size_class(double number, char text[32])
{
    if (number == 0 || !isfinite(number)) {
        (void)snprintf(text, 32, "%s", number == 0 ? "0" : "none");
    } else {
        (void)snprintf(text, 32, "%s2^%d", number < 0 ? "-" : "", ilogb(number));
    }
}

/* Adds the size of the attribute @name: a number by its power of two, and with
 * @takes_text a text as it is. false: it has no such one. */
static bool key_add_attribute(struct key_text *key, const struct cpt_record *record,
                              const char *name, bool takes_text)
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(name));
    char text[CPTI_MIX_VALUE_BYTES];

    if (attribute != NULL && attribute->type == CPT_ATTRIBUTE_INTEGER) {
        size_class((double)attribute->value.integer, text);
    } else if (attribute != NULL && attribute->type == CPT_ATTRIBUTE_FLOAT) {
        size_class(attribute->value.real, text);
    } else if (takes_text) {
        cpti_mix_value(record, name, text);
    } else {
        return false;
    }
    key_add(key, text);
    return attribute != NULL;
}

static double segments_of(const struct cpt_path *path)
{
    double count = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        count += cpt_path_segment(path, i)->count;
    }
    return count;
}

static enum cpti_alike_size key_add_size(const struct cpti_counterparts *parts,
                                         const struct cpt_record *record,
                                         const struct cpt_path *path,
                                         struct key_text *key)
{
    char text[32];

    if (parts->has_no_size) {
        return CPTI_ALIKE_SIZE_NONE;
    }
    if (parts->size_key != NULL) {
        return key_add_attribute(key, record, parts->size_key, true)
                   ? CPTI_ALIKE_SIZE_ATTRIBUTE
                   : CPTI_ALIKE_SIZE_NONE;
    }
    if (!parts->has_path_size &&
        key_add_attribute(key, record, CPTI_ALIKE_SIZE_KEY, false)) {
        return CPTI_ALIKE_SIZE_ATTRIBUTE;
    }
    size_class(segments_of(path), text);
    key_add(key, "path");
    key_add(key, text);
    return CPTI_ALIKE_SIZE_PATH;
}

/* *@coarse_bytes: of the key without a size of the path. */
static enum cpti_alike_size key_of(struct cpti_counterparts *parts,
                                   const struct cpt_record *record,
                                   const struct cpt_path *path, struct key_text *key,
                                   size_t *coarse_bytes)
{
    char text[CPTI_MIX_VALUE_BYTES];
    enum cpti_alike_size size;

    key->bytes = 0;
    key_add_bytes(key, record->service);
    key_add_bytes(key, record->method);
    for (size_t i = 0; i < parts->key_count; i++) {
        cpti_mix_value(record, parts->keys[i], text);
        key_add(key, text);
        parts->key_counts[i] += strcmp(text, CPTI_MIX_NO_VALUE) != 0;
    }
    *coarse_bytes = key->bytes;
    size = key_add_size(parts, record, path, key);
    if (size != CPTI_ALIKE_SIZE_PATH) {
        *coarse_bytes = key->bytes;
    }
    return size;
}

/* --- Strata --- */

static void free_alike(struct cpti_alike *alike)
{
    for (size_t i = 0; i < 2 && alike != NULL; i++) {
        cpt_tree_free(alike->stacks[i]);
        cpti_views_deinit(&alike->views[i]);
    }
    if (alike != NULL) {
        free(alike->key);
    }
    free(alike);
}

/* An empty stratum. NULL with the error printed. */
static struct cpti_alike *new_alike(const struct cpti_counterparts *parts,
                                    const char *key, size_t coarse_bytes)
{
    const unsigned wanted = parts->by == CPTI_BY_STACK ? 0 : 1U << (unsigned)parts->by;
    struct cpti_alike *alike = calloc(1, sizeof *alike);
    bool is_whole = alike != NULL;

    if (is_whole) {
        alike->coarse_bytes = coarse_bytes;
        alike->number = parts->count;
        alike->key = strdup(key);
        is_whole = alike->key != NULL;
    }
    for (size_t i = 0; i < 2 && is_whole; i++) {
        alike->stacks[i] = cpt_tree_new(NULL, NULL);
        is_whole = alike->stacks[i] != NULL;
        if (is_whole && cpti_views_init(&alike->views[i], wanted,
                                        &alike->views_of[i]) != CPTI_EXIT_DONE) {
            free_alike(alike);
            return NULL;
        }
    }
    if (!is_whole) {
        free_alike(alike);
        (void)cpti_failed("out of memory");
        return NULL;
    }
    return alike;
}

/* FNV-1a; the seed keeps keys from being chosen to collide. */
static uint64_t hash_of(const struct cpti_counterparts *parts, const char *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)parts;

    for (; *key != '\0'; key++) {
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3U;
    }
    return cpti_hash_mix(hash);
}

static uint64_t hash_of_stratum(const void *owner, size_t number)
{
    const struct cpti_counterparts *parts = owner;

    return hash_of(parts, parts->strata[number]->key);
}

/* Finds or makes the stratum of @key; *@alike is NULL beyond the limit. enum
 * cpti_exit. */
static int find_alike(struct cpti_counterparts *parts, const char *key,
                      size_t coarse_bytes, struct cpti_alike **alike)
{
    const uint64_t hash = hash_of(parts, key);
    size_t slot;

    *alike = NULL;
    if (cpti_hash_index_is_full(&parts->index, parts->count, 2) &&
        cpti_hash_index_grow(&parts->index, NULL, 64, parts->count, hash_of_stratum,
                             parts) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    slot = cpti_hash_index_first(&parts->index, hash);
    while (parts->index.slots[slot] != 0) {
        *alike = parts->strata[parts->index.slots[slot] - 1];
        if (strcmp((*alike)->key, key) == 0) {
            return CPTI_EXIT_DONE;
        }
        slot = cpti_hash_index_next(&parts->index, slot);
    }
    *alike = NULL;
    if (parts->count == CPTI_ALIKE_STRATA_MAX) {
        return CPTI_EXIT_DONE;
    }
    *alike = parts->strata[parts->count] = new_alike(parts, key, coarse_bytes);
    if (*alike == NULL) {
        return CPTI_EXIT_FAILED;
    }
    cpti_hash_index_put(&parts->index, hash, parts->count++);
    return CPTI_EXIT_DONE;
}

/* --- Requests --- */

/* Whether @record has what the condition asks for: one of its attributes, or all do. */
static bool has_a_key(const struct cpti_expression *when,
                      const struct cpt_record *record)
{
    for (size_t i = 0; i < when->test_count; i++) {
        if (when->tests[i].subject != CPTI_SUBJECT_ATTRIBUTE ||
            cpt_record_attribute(record, cpti_expression_key(when, i)) != NULL) {
            return true;
        }
    }
    return false;
}

/* Keeps a latency to be dealt, unless there are too many. enum cpti_exit. */
static int keep_latency(struct cpti_counterparts *parts,
                        const struct cpt_record *record, uint64_t weight,
                        const struct cpti_alike *alike, int group)
{
    if (parts->dealt_count == parts->dealt_capacity) {
        const size_t more =
            parts->dealt_capacity == 0 ? 1024 : 2 * parts->dealt_capacity;
        struct cpt_deal_request *dealt =
            cpt_alloc_array(NULL, parts->dealt, more, sizeof *dealt);

        if (dealt == NULL) {
            return cpti_failed("out of memory");
        }
        parts->dealt = dealt;
        parts->dealt_capacity = more;
    }
    parts->dealt[parts->dealt_count++] = (struct cpt_deal_request){
        (double)record->latency_ns, (double)weight / (double)CPT_WEIGHT_ONE,
        (uint32_t)alike->number, group};
    return CPTI_EXIT_DONE;
}

/* Adds a request to its stratum. enum cpti_exit. */
static int add_alike(struct cpti_counterparts *parts, const struct cpt_record *record,
                     const struct cpt_path *path, uint64_t weight,
                     struct cpti_alike *alike, int group)
{
    const struct cpti_gather *views = &alike->views_of[group];
    int status = CPTI_EXIT_DONE;

    if (parts->dealt_count <= CPTI_ALIKE_DEALT_MAX) {
        status = keep_latency(parts, record, weight, alike, group);
    }
    if (status == CPTI_EXIT_DONE && parts->by == CPTI_BY_STACK) {
        status = cpti_status_exit(cpt_tree_add(alike->stacks[group], path, weight));
    }
    if (status == CPTI_EXIT_DONE && views->request != NULL) {
        status = views->request(views->context, record, path, weight);
    }
    alike->counts[group]++;
    return status;
}

/* The request of a struct cpti_gather. */
static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct cpti_counterparts *parts = context;
    const int group = cpti_expression_holds(&parts->when->expression, record,
                                            &parts->when->scratch) > 0
                          ? CPTI_ALIKE_HOLDS
                          : CPTI_ALIKE_OTHERS;
    const double requests = (double)weight / (double)CPT_WEIGHT_ONE;
    struct cpti_alike *alike = NULL;
    struct key_text key;
    size_t coarse_bytes = 0;
    int status;

    parts->size_counts[key_of(parts, record, path, &key, &coarse_bytes)]++;
    status = find_alike(parts, key.text, coarse_bytes, &alike);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    parts->counts[group]++;
    parts->keyless_count +=
        group == CPTI_ALIKE_OTHERS && !has_a_key(&parts->when->expression, record);
    cpti_weights_add(&parts->weights[group], requests);
    cpti_weighted_add(&parts->latencies[group], requests, (double)record->latency_ns);
    if (alike == NULL) {
        parts->late_counts[group]++;
        return CPTI_EXIT_DONE;
    }
    return add_alike(parts, record, path, weight, alike, group);
}

int cpti_counterparts_init(struct cpti_counterparts *parts, struct cpti_gather *gather)
{
    parts->strata = calloc(CPTI_ALIKE_STRATA_MAX, sizeof(struct cpti_alike *));
    if (parts->strata == NULL) {
        return cpti_failed("out of memory");
    }
    gather->request = add_request;
    gather->context = parts;
    gather->names_place = true;
    gather->is_list = true; /* entries are held equal, so there may be several */
    return CPTI_EXIT_DONE;
}

void cpti_counterparts_deinit(struct cpti_counterparts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free_alike(parts->strata[i]);
    }
    free(parts->strata);
    free(parts->places);
    cpt_alloc_free(NULL, parts->index.slots);
    cpt_alloc_free(NULL, parts->dealt);
    *parts = (struct cpti_counterparts){0};
}

/* --- A size of the path that leaves too little --- */

/* Whether both groups have two requests: fewer have no variance. */
static bool is_common(const struct cpti_alike *alike)
{
    return alike->counts[0] >= 2 && alike->counts[1] >= 2;
}

/* Whether two strata differ in the size of the path alone. */
static bool is_as_coarse(const struct cpti_alike *a, const struct cpti_alike *b)
{
    return a->coarse_bytes == b->coarse_bytes && a->key[a->coarse_bytes] != '\0' &&
           b->key[b->coarse_bytes] != '\0' &&
           memcmp(a->key, b->key, a->coarse_bytes) == 0;
}

/* By their keys: those that differ in the size of the path alone are neighbours. */
static int by_key(const void *left, const void *right)
{
    const struct cpti_alike *a = *(struct cpti_alike *const *)left;
    const struct cpti_alike *b = *(struct cpti_alike *const *)right;

    return strcmp(a->key, b->key);
}

/* The first stratum behind those that differ from number @from in the size of the path
 * alone; @counts become the requests of all of them. */
static size_t coarse_end(const struct cpti_counterparts *parts, size_t from,
                         uint64_t counts[2])
{
    size_t end = from;

    counts[0] = counts[1] = 0;
    do {
        counts[0] += parts->strata[end]->counts[0];
        counts[1] += parts->strata[end]->counts[1];
        end++;
    } while (end < parts->count &&
             is_as_coarse(parts->strata[from], parts->strata[end]));
    return end;
}

/* Whether over half of the smaller group has no counterpart, but more of it has if the
 * size of the path is dropped. The strata are in the order of their keys. */
static bool path_size_leaves_little(const struct cpti_counterparts *parts)
{
    const int small = parts->counts[CPTI_ALIKE_HOLDS] < parts->counts[CPTI_ALIKE_OTHERS]
                          ? CPTI_ALIKE_HOLDS
                          : CPTI_ALIKE_OTHERS;
    uint64_t common = 0;
    uint64_t coarse = 0;
    uint64_t counts[2];
    size_t end;

    if (parts->has_path_size) {
        return false;
    }
    for (size_t i = 0; i < parts->count; i++) {
        common += is_common(parts->strata[i]) ? parts->strata[i]->counts[small] : 0;
    }
    for (size_t i = 0; i < parts->count; i = end) {
        end = coarse_end(parts, i, counts);
        coarse += counts[0] >= 2 && counts[1] >= 2 ? counts[small] : 0;
    }
    return coarse > common &&
           (double)common < LEAST_PART * (double)parts->counts[small];
}

/* Adds the requests of @from to @to. */
static cpt_status merge(struct cpti_alike *to, const struct cpti_alike *from,
                        enum cpti_by by)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < 2 && status == CPT_OK; i++) {
        to->counts[i] += from->counts[i];
        status = cpt_tree_merge(to->stacks[i], from->stacks[i]);
        if (by != CPTI_BY_STACK && status == CPT_OK) {
            status = cpt_tree_merge(to->views[i].self[by], from->views[i].self[by]);
            status = CPTI_THEN(status, cpt_tree_merge(to->views[i].inclusive[by],
                                                      from->views[i].inclusive[by]));
        }
    }
    return status;
}

/* Makes one stratum of those that differ in the size of the path alone. */
static cpt_status drop_path_size(struct cpti_counterparts *parts)
{
    cpt_status status = CPT_OK;
    size_t kept = 0;

    for (size_t i = 0; i < parts->count; i++) {
        struct cpti_alike *alike = parts->strata[i];

        if (kept == 0 || !is_as_coarse(parts->strata[kept - 1], alike)) {
            parts->strata[kept++] = alike;
            continue;
        }
        status = CPTI_THEN(status, merge(parts->strata[kept - 1], alike, parts->by));
        parts->places[alike->number] = (uint32_t)(kept - 1);
        free_alike(alike);
    }
    parts->count = kept;
    parts->compared.size_is_dropped = true;
    return status;
}

/* Puts the strata into the order of their keys, whichever came first, and drops the
 * size of the path where it leaves too little. No stratum is looked up afterwards. enum
 * cpti_exit. */
static int arrange(struct cpti_counterparts *parts)
{
    cpt_status status = CPT_OK;

    parts->places = calloc(parts->count + 1, sizeof *parts->places);
    if (parts->places == NULL) {
        return cpti_failed("out of memory");
    }
    qsort(parts->strata, parts->count, sizeof(struct cpti_alike *), by_key);
    if (path_size_leaves_little(parts)) {
        status = drop_path_size(parts);
    }
    for (size_t i = 0; i < parts->count; i++) {
        parts->places[parts->strata[i]->number] = (uint32_t)i;
    }
    for (size_t i = 0; i < parts->dealt_count; i++) {
        parts->dealt[i].stratum = parts->places[parts->dealt[i].stratum];
    }
    return cpti_status_exit(status);
}

/* --- Comparing --- */

static void count_compared(struct cpti_counterparts *parts)
{
    struct cpti_alike_counts *counts = &parts->compared;

    for (size_t i = 0; i < parts->count; i++) {
        const struct cpti_alike *alike = parts->strata[i];
        uint64_t *to = is_common(alike) ? counts->compared
                       : alike->counts[0] == 0 || alike->counts[1] == 0
                           ? counts->alone
                           : counts->single;

        to[0] += alike->counts[0];
        to[1] += alike->counts[1];
        counts->strata += is_common(alike);
    }
    for (size_t i = 0; i < 2; i++) {
        counts->alone[i] += parts->late_counts[i];
    }
}

/* The tree of a group by what a row is; and its effective count of requests. */
static const struct cpt_tree *tree_of(const struct cpti_counterparts *parts,
                                      const struct cpti_alike *alike, size_t group)
{
    return parts->by == CPTI_BY_STACK ? alike->stacks[group]
                                      : alike->views[group].self[parts->by];
}

static double count_of(const struct cpt_tree *tree)
{
    return cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.effective_count;
}

/* The strata that are compared, with their shares; and the shares of all. */
static size_t list_strata(const struct cpti_counterparts *parts,
                          struct cpt_diff_stratum *strata, double *shares)
{
    const bool is_view = parts->by != CPTI_BY_STACK;
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct cpti_alike *alike = parts->strata[i];
        struct cpt_diff_stratum *stratum = &strata[count];
        double n;
        double m;

        shares[i] = 0;
        if (!is_common(alike)) {
            continue;
        }
        *stratum = (struct cpt_diff_stratum){
            .base = tree_of(parts, alike, 0),
            .new_tree = tree_of(parts, alike, 1),
            .base_inclusive = is_view ? alike->views[0].inclusive[parts->by] : NULL,
            .new_inclusive = is_view ? alike->views[1].inclusive[parts->by] : NULL};
        n = count_of(stratum->base);
        m = count_of(stratum->new_tree);
        stratum->share = shares[i] = n * m / (n + m);
        sum += shares[i];
        count++;
    }
    for (size_t i = 0; i < parts->count; i++) {
        shares[i] /= sum;
    }
    for (size_t i = 0; i < count; i++) {
        strata[i].share /= sum;
    }
    return count;
}

static int compare(struct cpti_counterparts *parts, uint64_t seed,
                   struct cpt_diff_stratum *strata, double *shares,
                   struct cpt_diff **diff)
{
    const size_t count = list_strata(parts, strata, shares);
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    if (count == 0) {
        return CPTI_EXIT_DONE;
    }
    if (cpt_diff_new_strata(NULL, strata, count, NULL, diff, &error) != CPT_OK) {
        return cpti_failed("%s", error.sentence);
    }
    parts->deal.p_value = cpt_diff_total(*diff)->inclusive.p_value;
    if (parts->dealt_count <= CPTI_ALIKE_DEALT_MAX) {
        status = cpt_deal_strata(NULL, parts->dealt, parts->dealt_count, shares,
                                 parts->count, seed, &parts->deal);
    }
    return cpti_status_exit(status);
}

int cpti_counterparts_compare(struct cpti_counterparts *parts, uint64_t seed,
                              struct cpt_diff **diff)
{
    struct cpt_diff_stratum *strata;
    double *shares;
    int status = arrange(parts);

    *diff = NULL;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    count_compared(parts);
    strata = calloc(parts->count + 1, sizeof *strata);
    shares = calloc(parts->count + 1, sizeof *shares);
    status = strata == NULL || shares == NULL
                 ? cpti_failed("out of memory")
                 : compare(parts, seed, strata, shares, diff);
    free(strata);
    free(shares);
    return status;
}

struct cpt_mean cpti_counterparts_mean(const struct cpti_counterparts *parts, int group)
{
    return cpti_weighted_mean(&parts->latencies[group], &parts->weights[group]);
}
