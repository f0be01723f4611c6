/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mix.c - both sets as if their traffic were of the same mix; see mix.h */
#include "cpt/cli/gather/mix.h"

#include "cpt/cli/base/output.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The text of a missing value. An attribute "(none)" counts as missing, too. */
#define NO_VALUE "(none)"

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
        (void)snprintf(text, CPTI_MIX_VALUE_BYTES, "%s", NO_VALUE);
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

/* Finds or makes the stratum of @value. NULL with the error printed. */
static struct cpti_stratum *stratum_of(struct cpti_mix *mix, const char *value)
{
    struct cpti_stratum *stratum;

    for (size_t i = 0; i < mix->count; i++) {
        if (strcmp(mix->strata[i].value, value) == 0) {
            return &mix->strata[i];
        }
    }
    if (mix->count == CPTI_MIX_STRATA_MAX) {
        (void)cpti_failed("'%s' has more than %d values: such a mix cannot be compared",
                          cpti_quoted(mix->key), CPTI_MIX_STRATA_MAX);
        return NULL;
    }
    stratum = &mix->strata[mix->count++];
    (void)snprintf(stratum->value, sizeof stratum->value, "%s", value);
    for (size_t i = 0; i < 2; i++) {
        stratum->stacks[i] = cpt_tree_new(NULL, NULL);
        if (stratum->stacks[i] == NULL ||
            cpti_views_init(&stratum->views[i], mix->wanted, &stratum->views_of[i]) !=
                CPTI_EXIT_DONE) {
            return NULL;
        }
    }
    return stratum;
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
    mix->strata = calloc(CPTI_MIX_STRATA_MAX, sizeof *mix->strata);
    if (mix->strata == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < 2; i++) {
        mix->sides[i] = (struct cpti_mix_side){mix, i};
        gathers[i].request = add_request;
        gathers[i].threads = NULL; /* the order in which values come is shown */
        gathers[i].context = &mix->sides[i];
    }
    return CPTI_EXIT_DONE;
}

void cpti_mix_deinit(struct cpti_mix *mix)
{
    for (size_t i = 0; i < mix->count; i++) {
        for (size_t k = 0; k < 2; k++) {
            cpt_tree_free(mix->strata[i].stacks[k]);
            cpti_views_deinit(&mix->strata[i].views[k]);
        }
    }
    free(mix->strata);
    *mix = (struct cpti_mix){0};
}

/* --- Comparing --- */

static bool is_common(const struct cpti_stratum *stratum)
{
    return stratum->weights[0] > 0 && stratum->weights[1] > 0;
}

static double weight_of(const struct cpti_mix *mix, size_t side)
{
    double weight = 0;

    for (size_t i = 0; i < mix->count; i++) {
        weight += mix->strata[i].weights[side];
    }
    return weight;
}

double cpti_mix_share(const struct cpti_mix *mix, size_t stratum, size_t side)
{
    return mix->strata[stratum].weights[side] / weight_of(mix, side);
}

/* Warns of the values that only one set has: names the first ones, and says how much
 * of each set the others are. */
static void warn_of_left_out(const struct cpti_mix *mix,
                             const struct cpti_gather *gathers)
{
    double more[2] = {0, 0};
    size_t count = 0;

    for (size_t i = 0; i < mix->count; i++) {
        const struct cpti_stratum *stratum = &mix->strata[i];
        const size_t side = stratum->weights[0] > 0 ? 0 : 1;

        if (is_common(stratum)) {
            continue;
        }
        if (++count <= CPTI_MIX_SHOWN_MAX) {
            cpti_warn("left out: %s=%s, which only %s has (%.1f %% of it)",
                      cpti_quoted(mix->key), stratum->value, gathers[side].what,
                      cpti_mix_share(mix, i, side) * 100);
        } else {
            more[side] += stratum->weights[side];
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

int cpti_mix_check(const struct cpti_mix *mix, const struct cpti_gather *gathers)
{
    for (size_t i = 0; i < 2; i++) {
        if (gathers[i].met_tree) {
            return cpti_usage("%s: a tree does not know the '%s' of its requests; "
                              "give the path log it was made from",
                              gathers[i].what, cpti_quoted(mix->key));
        }
    }
    if (mix->count == 1 && strcmp(mix->strata[0].value, NO_VALUE) == 0) {
        return cpti_failed("option '--mix': no request has '%s'",
                           cpti_quoted(mix->key));
    }
    warn_of_left_out(mix, gathers);
    for (size_t i = 0; i < mix->count; i++) {
        if (is_common(&mix->strata[i])) {
            return CPTI_EXIT_DONE;
        }
    }
    return cpti_failed("base and new have no value of '%s' in common",
                       cpti_quoted(mix->key));
}

struct cpt_diff *cpti_mix_diff(const struct cpti_mix *mix, enum cpti_by by)
{
    const bool is_view = by != CPTI_BY_STACK;
    struct cpt_diff_stratum strata[CPTI_MIX_STRATA_MAX];
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;

    for (size_t i = 0; i < mix->count; i++) {
        const struct cpti_stratum *own = &mix->strata[i];

        strata[i] = (struct cpt_diff_stratum){
            .base = is_view ? own->views[0].self[by] : own->stacks[0],
            .new_tree = is_view ? own->views[1].self[by] : own->stacks[1],
            .base_inclusive = is_view ? own->views[0].inclusive[by] : NULL,
            .new_inclusive = is_view ? own->views[1].inclusive[by] : NULL};
    }
    if (cpt_diff_new_strata(NULL, strata, cpt_diff_strata_share(strata, mix->count),
                            NULL, &diff, &error) != CPT_OK) {
        (void)cpti_failed("%s", error.sentence);
        return NULL;
    }
    return diff;
}
