/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_presence.c - visits that are on the path less often; see culprit.h
 *
 * A path has only what delayed the request. Of two calls side by side the slower one is
 * on it:
 *
 *      base   x |=========|          new   x |=========|
 *             y |====|                     y |=============|
 *             on the path: x               on the path: y; x only where it was slowest
 *
 * So if y becomes slower, the visits of x that are still on the path are the slow ones,
 * although x is as before. It shows in their number: of the calls that visits on the
 * path make, fewer are on the path. Such samples are not alike, and are not compared.
 * Nor are those of what the visits called, as they are why these were slow.
 *
 * With all visits, on the path or not, there is nothing to be wrong.
 */
#include "tool/culprit/culprit_parts.h"

#include <math.h>

/* Standard errors below what is expected. */
static const double much = 2.5;

enum { PASSES_MAX = 64 /* levels of callees that a missing visit takes with it */ };

/* The calls of one key, by all callers. */
struct presence {
    double expected; /* in the new set, if callers call as in the base */
    double observed;
    double variance;
    double doubtful; /* of `expected`, by callers that are themselves missing */
};

static void add_calls(struct presence *presence, const double calls[2],
                      const double callers[2])
{
    const double rate = (calls[0] + calls[1]) / (callers[0] + callers[1]);
    const double spread = rate < 1 ? rate * (1 - rate) : rate;

    presence->expected += calls[0] / callers[0] * callers[1];
    presence->observed += calls[1];
    presence->variance += spread * callers[1] * (1 + callers[1] / callers[0]);
}

uint32_t cpti_culprit_caller(const struct cpt_path *table, uint32_t node)
{
    const struct cpt_bytes digits = cpt_path_frame_name(table, node);
    uint32_t caller = 0;

    for (size_t i = 0; i < digits.bytes; i++) {
        caller = 10 * caller + (uint32_t)(digits.data[i] - '0');
    }
    return caller;
}

/* Adds the calls of kind CALL at @node to those of its key. */
static void add_node(const struct cpt_path *table, uint64_t *const counts[2],
                     const unsigned char *fell, uint32_t node,
                     struct presence *presences)
{
    const uint32_t key = cpt_path_frame(table, node)->parent;
    const uint32_t caller = cpti_culprit_caller(table, node);
    const double calls[2] = {(double)counts[0][node], (double)counts[1][node]};
    const double callers[2] = {(double)counts[0][caller], (double)counts[1][caller]};

    if (callers[0] > 0 && callers[1] > 0) {
        add_calls(&presences[key], calls, callers);
        presences[key].doubtful +=
            fell[caller] != 0 ? calls[0] / callers[0] * callers[1] : 0;
    }
}

/* Notes the services of which more visits are on the path. */
static void find_rising(struct cpti_culprit *culprit, const struct presence *presences)
{
    for (uint32_t i = 0; i < cpt_path_frame_count(culprit->table); i++) {
        const struct presence *at = &presences[i];

        if (at->observed - at->expected > much * sqrt(at->variance + 1)) {
            culprit->model.rose[cpt_path_frame(culprit->table, i)->parent] = 1;
        }
    }
}

cpt_status cpti_culprit_find_missing(struct cpti_culprit *culprit,
                                     uint64_t *const counts[2], unsigned char *fell)
{
    const struct cpt_path *table = culprit->table;
    const size_t count = cpt_path_frame_count(table);
    struct presence *presences =
        cpt_alloc_array(culprit->alloc, NULL, count + 1, sizeof *presences);
    bool goes_on = true;

    if (presences == NULL) {
        return CPT_NO_MEMORY;
    }
    for (int pass = 0; pass < PASSES_MAX && goes_on; pass++) {
        goes_on = false;
        for (uint32_t i = 0; i < count; i++) {
            presences[i] = (struct presence){0};
        }
        for (uint32_t i = 0; i < count; i++) {
            if (cpt_path_frame(table, i)->kind == CPTI_CULPRIT_KIND_CALL) {
                add_node(table, counts, fell, i, presences);
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct presence *at = &presences[i];
            const double missing = at->expected - at->observed;

            if (fell[i] == 0 && at->expected > 0 &&
                (missing > much * sqrt(at->variance + 1) ||
                 2 * at->doubtful > at->expected)) {
                fell[i] = 1;
                goes_on = true;
            }
        }
    }
    find_rising(culprit, presences);
    cpt_alloc_free(culprit->alloc, presences);
    return CPT_OK;
}
