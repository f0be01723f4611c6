/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mix.c - both sets as if their traffic were of the same mix; see mix.h */
#include "tool/folds/mix.h"

#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_VALUE "\u2039other\u203a"

/* --- Filling the strata --- */

void cpti_mix_value(const struct cpt_record *record, const char *key,
                    char text[CPTI_MIX_VALUE_BYTES])
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(key));

    if (strcmp(key, "method") == 0 && attribute == NULL) {
        (void)cpti_printable_to(record->method, text, CPTI_MIX_VALUE_BYTES);
    } else if (strcmp(key, "status") == 0 && attribute == NULL) {
        (void)cpti_printable_to(record->status, text, CPTI_MIX_VALUE_BYTES);
    } else if (attribute == NULL) {
        (void)snprintf(text, CPTI_MIX_VALUE_BYTES, "%s", CPTI_MIX_NO_VALUE);
    } else if (attribute->type == CPT_ATTRIBUTE_TEXT) {
        (void)cpti_printable_to(attribute->value.text, text, CPTI_MIX_VALUE_BYTES);
    } else if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
        (void)snprintf(text, CPTI_MIX_VALUE_BYTES, "%" PRId64,
                       attribute->value.integer);
    } else if (attribute->type == CPT_ATTRIBUTE_FLOAT) {
        (void)snprintf(text, CPTI_MIX_VALUE_BYTES, "%.17g", attribute->value.real);
    } else {
        (void)snprintf(text, CPTI_MIX_VALUE_BYTES, "%s",
                       attribute->value.is_true ? "true" : "false");
    }
}

static void free_stratum(struct cpti_stratum *stratum)
{
    for (size_t i = 0; i < 2 && stratum != NULL; i++) {
        cpt_tree_free(stratum->stacks[i]);
        cpti_views_deinit(&stratum->views[i]);
    }
    free(stratum);
}

/* An empty stratum of @value. NULL with the error printed. */
static struct cpti_stratum *new_stratum(const struct cpti_mix *mix, const char *value)
{
    struct cpti_stratum *stratum = calloc(1, sizeof *stratum);

    if (stratum == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    (void)snprintf(stratum->value, sizeof stratum->value, "%s", value);
    for (size_t i = 0; i < 2; i++) {
        stratum->stacks[i] = cpt_tree_new(NULL, NULL);
        if (stratum->stacks[i] == NULL) {
            (void)cpti_failed("out of memory");
        }
        if (stratum->stacks[i] == NULL ||
            cpti_views_init(&stratum->views[i], mix->wanted, &stratum->views_of[i]) !=
                CPTI_EXIT_DONE) {
            free_stratum(stratum);
            return NULL;
        }
    }
    return stratum;
}

/* ‹other›, made when it is first needed. NULL with the error printed. */
static struct cpti_stratum *other_of(struct cpti_mix *mix)
{
    if (mix->other == NULL) {
        mix->other = new_stratum(mix, OTHER_VALUE);
    }
    return mix->other;
}

/* FNV-1a; the seed keeps values from being chosen to collide. */
static uint64_t hash_of(const struct cpti_mix *mix, const char *value)
{
    uint64_t hash = (uint64_t)(uintptr_t)mix;

    for (; *value != '\0'; value++) {
        hash = (hash ^ (unsigned char)*value) * 0x100000001b3U;
    }
    return cpti_hash_mix(hash);
}

static uint64_t hash_of_stratum(const void *owner, size_t number)
{
    const struct cpti_mix *mix = owner;

    return hash_of(mix, mix->strata[number]->value);
}

/* Finds or makes the stratum of @value. NULL with the error printed. */
static struct cpti_stratum *stratum_of(struct cpti_mix *mix, const char *value)
{
    const uint64_t hash = hash_of(mix, value);
    size_t slot;

    if (cpti_hash_index_is_full(&mix->index, mix->count, 2) &&
        cpti_hash_index_grow(&mix->index, NULL, 64, mix->count, hash_of_stratum, mix) !=
            CPT_OK) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    slot = cpti_hash_index_first(&mix->index, hash);
    while (mix->index.slots[slot] != 0) {
        struct cpti_stratum *stratum = mix->strata[mix->index.slots[slot] - 1];

        if (strcmp(stratum->value, value) == 0) {
            return stratum;
        }
        slot = cpti_hash_index_next(&mix->index, slot);
    }
    if (mix->count == CPTI_MIX_STRATA_MAX) {
        mix->late_count++;
        return other_of(mix);
    }
    mix->strata[mix->count] = new_stratum(mix, value);
    if (mix->strata[mix->count] == NULL) {
        return NULL;
    }
    cpti_hash_index_put(&mix->index, hash, mix->count);
    return mix->strata[mix->count++];
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    const struct cpti_mix_side *side = context;
    char value[CPTI_MIX_VALUE_BYTES];
    struct cpti_stratum *stratum;
    const struct cpti_gather *views;
    cpt_status status;

    cpti_mix_value(record, side->mix->key, value);
    stratum = stratum_of(side->mix, value);
    if (stratum == NULL) {
        return CPTI_EXIT_FAILED;
    }
    status = cpt_tree_add(stratum->stacks[side->index], path, weight);
    if (status != CPT_OK) {
        return cpti_status_exit(status);
    }
    stratum->weights[side->index] += (double)weight;
    views = &stratum->views_of[side->index];
    return views->request == NULL
               ? CPTI_EXIT_DONE
               : views->request(views->context, record, path, weight);
}

int cpti_mix_init(struct cpti_mix *mix, const char *key, unsigned wanted,
                  struct cpti_gather *gathers)
{
    *mix = (struct cpti_mix){.key = key, .wanted = wanted};
    mix->strata = calloc(CPTI_MIX_STRATA_MAX + 1, sizeof(struct cpti_stratum *));
    if (mix->strata == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < 2; i++) {
        mix->sides[i] = (struct cpti_mix_side){mix, i};
        gathers[i].request = add_request;
        gathers[i].names_place = true;
        gathers[i].threads = NULL; /* the order in which values come is shown */
        gathers[i].context = &mix->sides[i];
    }
    return CPTI_EXIT_DONE;
}

void cpti_mix_deinit(struct cpti_mix *mix)
{
    bool has_other = false;

    for (size_t i = 0; i < mix->count; i++) {
        has_other = has_other || mix->strata[i] == mix->other;
        free_stratum(mix->strata[i]);
    }
    if (!has_other) {
        free_stratum(mix->other);
    }
    cpt_alloc_free(NULL, mix->index.slots);
    free(mix->strata);
    *mix = (struct cpti_mix){0};
}

/* --- Pooling --- */

/* The effective count of requests of one side. */
static double count_of(const struct cpti_stratum *stratum, size_t side)
{
    return cpt_stats_of(stratum->stacks[side], CPT_TREE_ROOT).inclusive.effective_count;
}

/* Whether a set that has the value has few requests of it. */
static bool is_thin(const struct cpti_stratum *stratum)
{
    const double base = count_of(stratum, 0);
    const double other = count_of(stratum, 1);

    return (base > 0 && base < CPT_STATS_PRESENT_MIN) ||
           (other > 0 && other < CPT_STATS_PRESENT_MIN);
}

/* Adds the requests of @from to @to. */
static cpt_status pool(struct cpti_stratum *to, const struct cpti_stratum *from)
{
    cpt_status status = CPT_OK;

    for (size_t side = 0; side < 2 && status == CPT_OK; side++) {
        status = cpt_tree_merge(to->stacks[side], from->stacks[side]);
        for (int by = 1; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
            if (to->views[side].self[by] != NULL) {
                status = cpt_tree_merge(to->views[side].self[by],
                                        from->views[side].self[by]);
            }
            if (status == CPT_OK && to->views[side].inclusive[by] != NULL) {
                status = cpt_tree_merge(to->views[side].inclusive[by],
                                        from->views[side].inclusive[by]);
            }
        }
        to->weights[side] += from->weights[side];
    }
    to->pooled_count++;
    return status;
}

/* Moves the thin strata into ‹other›, which becomes the last. A single one stays: there
 * is nothing to pool it with. */
static int pool_thin(struct cpti_mix *mix)
{
    size_t thin = 0;
    size_t kept = 0;

    for (size_t i = 0; i < mix->count; i++) {
        thin += is_thin(mix->strata[i]);
    }
    if (thin + (mix->other != NULL) >= 2) {
        for (size_t i = 0; i < mix->count; i++) {
            struct cpti_stratum *stratum = mix->strata[i];

            if (!is_thin(stratum)) {
                mix->strata[kept++] = stratum;
                continue;
            }
            if (other_of(mix) == NULL || pool(mix->other, stratum) != CPT_OK) {
                mix->count -= i - kept;
                memmove(mix->strata + kept, mix->strata + i,
                        (mix->count - kept) * sizeof(struct cpti_stratum *));
                return cpti_failed("out of memory");
            }
            free_stratum(stratum);
        }
        mix->count = kept;
    }
    if (mix->other != NULL) {
        mix->strata[mix->count++] = mix->other;
    }
    return CPTI_EXIT_DONE;
}

static void warn_of_pooled(const struct cpti_mix *mix,
                           const struct cpti_gather *gathers)
{
    const size_t last = mix->count - 1;

    if (mix->other == NULL) {
        return;
    }
    if (mix->other->pooled_count != 0) {
        cpti_warn("%zu values of '%s' have fewer than %d requests each, by their "
                  "weights, and are "
                  "compared as one, " OTHER_VALUE " (%.1f %% of %s, %.1f %% of %s)",
                  mix->other->pooled_count, cpti_quoted(mix->key),
                  CPT_STATS_PRESENT_MIN, cpti_mix_share(mix, last, 0) * 100,
                  gathers[0].what, cpti_mix_share(mix, last, 1) * 100, gathers[1].what);
    }
    if (mix->late_count != 0) {
        cpti_warn("'%s' has more than %d values: %zu requests with later ones are "
                  "among " OTHER_VALUE,
                  cpti_quoted(mix->key), CPTI_MIX_STRATA_MAX, mix->late_count);
    }
}

/* --- Comparing --- */

/* Whether both sets have two requests with the value: fewer have no variance, and would
 * make that of the whole comparison unknown. */
static bool is_common(const struct cpti_stratum *stratum)
{
    return cpt_tree_request_count(stratum->stacks[0]) >= 2 &&
           cpt_tree_request_count(stratum->stacks[1]) >= 2;
}

static double weight_of(const struct cpti_mix *mix, size_t side)
{
    double weight = 0;

    for (size_t i = 0; i < mix->count; i++) {
        weight += mix->strata[i]->weights[side];
    }
    return weight;
}

double cpti_mix_share(const struct cpti_mix *mix, size_t stratum, size_t side)
{
    return mix->strata[stratum]->weights[side] / weight_of(mix, side);
}

/* Warns of the values that are left out: names the first ones, and says how much of
 * each set the others are. */
static void warn_of_left_out(const struct cpti_mix *mix,
                             const struct cpti_gather *gathers)
{
    double more[2] = {0, 0};
    size_t count = 0;

    for (size_t i = 0; i < mix->count; i++) {
        const struct cpti_stratum *stratum = mix->strata[i];
        const size_t side = stratum->weights[0] > 0 ? 0 : 1;
        const bool has_one = stratum->weights[1 - side] > 0;

        if (is_common(stratum)) {
            continue;
        }
        if (++count <= CPTI_MIX_SHOWN_MAX) {
            cpti_warn(has_one
                          ? "left out: %s=%s, of which one set has one request only "
                            "(%s: %.1f %%)"
                          : "left out: %s=%s, which only %s has (%.1f %% of it)",
                      cpti_quoted(mix->key), stratum->value, gathers[side].what,
                      cpti_mix_share(mix, i, side) * 100);
        } else {
            more[0] += stratum->weights[0];
            more[1] += stratum->weights[1];
        }
    }
    if (count > CPTI_MIX_SHOWN_MAX) {
        cpti_warn("left out: %zu more values of '%s', which only one of them has "
                  "(%.1f %% of %s, %.1f %% of %s)",
                  count - CPTI_MIX_SHOWN_MAX, cpti_quoted(mix->key),
                  more[0] / weight_of(mix, 0) * 100, gathers[0].what,
                  more[1] / weight_of(mix, 1) * 100, gathers[1].what);
    }
}

static int compare_values(const void *left, const void *right)
{
    const struct cpti_stratum *const *a = left;
    const struct cpti_stratum *const *b = right;

    return strcmp((*a)->value, (*b)->value);
}

int cpti_mix_check(struct cpti_mix *mix, const struct cpti_gather *gathers)
{
    int status;

    /* whichever came first: the answer is the same; from here on none is looked up */
    if (mix->count != 0) {
        qsort(mix->strata, mix->count, sizeof(struct cpti_stratum *), compare_values);
    }
    for (size_t i = 0; i < 2; i++) {
        if (gathers[i].met_tree) {
            return cpti_usage("%s: a tree does not know the '%s' of its requests; "
                              "give the path log it was made from",
                              gathers[i].what, cpti_quoted(mix->key));
        }
    }
    if (mix->count == 1 && strcmp(mix->strata[0]->value, CPTI_MIX_NO_VALUE) == 0) {
        return cpti_failed("option '--mix': no request has '%s'",
                           cpti_quoted(mix->key));
    }
    status = pool_thin(mix);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    warn_of_pooled(mix, gathers);
    warn_of_left_out(mix, gathers);
    for (size_t i = 0; i < mix->count; i++) {
        if (is_common(mix->strata[i])) {
            return CPTI_EXIT_DONE;
        }
    }
    return cpti_failed("base and new have no value of '%s' in common, with two "
                       "requests each",
                       cpti_quoted(mix->key));
}

struct cpt_diff *cpti_mix_diff(const struct cpti_mix *mix, enum cpti_by by)
{
    const bool is_view = by != CPTI_BY_STACK;
    struct cpt_diff_stratum strata[CPTI_MIX_STRATA_MAX + 1];
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;
    size_t count = 0;

    for (size_t i = 0; i < mix->count; i++) {
        const struct cpti_stratum *own = mix->strata[i];

        if (!is_common(own)) {
            continue;
        }
        strata[count++] = (struct cpt_diff_stratum){
            .base = is_view ? own->views[0].self[by] : own->stacks[0],
            .new_tree = is_view ? own->views[1].self[by] : own->stacks[1],
            .base_inclusive = is_view ? own->views[0].inclusive[by] : NULL,
            .new_inclusive = is_view ? own->views[1].inclusive[by] : NULL};
    }
    if (cpt_diff_new_strata(NULL, strata, cpt_diff_strata_share(strata, count), NULL,
                            &diff, &error) != CPT_OK) {
        (void)cpti_failed("%s", error.sentence);
        return NULL;
    }
    return diff;
}
