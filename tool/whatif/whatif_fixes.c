/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_fixes.c - the best fixes of a sweep; see whatif_fixes.h */
#include "tool/whatif/whatif_fixes.h"

#include "tool/base/output.h"

#include <stdio.h>

enum { FIXES_MAX = 3 };

/* Whether @gain may be named as a fix. */
static bool is_fix(const struct cpti_whatif_gain *gain)
{
    return gain->stats.rows[CPTI_WHATIF_MEAN].change_ns < 0 &&
           cpti_has_number(&gain->could_be);
}

/* The order of the rows without --sort. */
static bool is_better(const struct cpti_whatif_gain *gain,
                      const struct cpti_whatif_gain *other)
{
    const double own_ns = gain->stats.rows[CPTI_WHATIF_MEAN].change_ns;
    const double other_ns = other->stats.rows[CPTI_WHATIF_MEAN].change_ns;

    if (own_ns < other_ns || own_ns > other_ns) {
        return own_ns < other_ns;
    }
    return gain->path_ns > other->path_ns ||
           (!(gain->path_ns < other->path_ns) && gain->frame < other->frame);
}

/* The rows may be in any order, that of --sort. */
static size_t find_fixes(const struct cpti_whatif *whatif,
                         const struct cpti_whatif_gain *fixes[FIXES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < whatif->gain_count; i++) {
        const struct cpti_whatif_gain *gain = &whatif->gains[i];
        size_t at = count;

        if (!is_fix(gain)) {
            continue;
        }
        while (at > 0 && is_better(gain, fixes[at - 1])) {
            at--;
        }
        if (at == FIXES_MAX) {
            continue;
        }
        count += count < FIXES_MAX;
        for (size_t k = count - 1; k > at; k--) {
            fixes[k] = fixes[k - 1];
        }
        fixes[at] = gain;
    }
    return count;
}

void cpti_whatif_print_fixes(const struct cpti_whatif *whatif, const char *amount)
{
    const struct cpti_whatif_gain *fixes[FIXES_MAX];
    const size_t count = find_fixes(whatif, fixes);
    bool is_untold = false;

    for (size_t i = 0; i < whatif->gain_count && count == 0; i++) {
        is_untold = is_untold || !cpti_has_number(&whatif->gains[i].could_be);
    }
    if (is_untold) {
        (void)printf("best: cannot tell: spans do not say who waits for whom\n");
    }
    for (size_t i = 0; i < count; i++) {
        const struct cpti_whatif_row *mean = &fixes[i]->stats.rows[CPTI_WHATIF_MEAN];
        char text[2 * CPT_NAME_BYTES_MAX];

        (void)cpti_whatif_group_text(whatif->set, whatif->trial.by, fixes[i]->frame,
                                     text);
        (void)printf("%s%9.3f ms %5.1f %%  %s=", i == 0 ? "best: " : "      ",
                     mean->change_ns / 1e6, 100 * mean->change_ns / mean->before_ns,
                     cpti_quoted(text));
        (void)printf("-%s\n", cpti_quoted(amount));
    }
}
