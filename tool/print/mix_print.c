/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mix_print.c - the mixes of traffic of both sets; see mix_print.h */
#include "tool/print/mix_print.h"

#include "tool/base/output.h"

void cpti_mix_print(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                    const struct cpt_diff *diff)
{
    const double moved_ns = cpt_diff_mix_ns(diff, gathers[0].tree, gathers[1].tree);
    char text[32];

    (void)printf("mix: ");
    for (size_t i = 0; i < mix->count && i < CPTI_MIX_SHOWN_MAX; i++) {
        (void)printf("%s%s=%s %.1f %% and %.1f %%", i == 0 ? "" : ", ",
                     cpti_quoted(mix->key), mix->strata[i]->value,
                     cpti_mix_share(mix, i, 0) * 100, cpti_mix_share(mix, i, 1) * 100);
    }
    if (mix->count > CPTI_MIX_SHOWN_MAX) {
        (void)printf(", and %zu more", mix->count - CPTI_MIX_SHOWN_MAX);
    }
    (void)printf("; below as in the base\n"
                 "the mix alone changed the mean latency by %s ms\n",
                 cpti_ms(moved_ns, text));
}

void cpti_mix_json(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                   const struct cpt_diff *diff, struct cpti_json *json)
{
    cpti_json_open(json, "mix", '{');
    cpti_json_text(json, "key", mix->key);
    cpti_json_ns(json, "moved_ns",
                 cpt_diff_mix_ns(diff, gathers[0].tree, gathers[1].tree));
    cpti_json_open(json, "values", '[');
    for (size_t i = 0; i < mix->count; i++) {
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "value", mix->strata[i]->value);
        if (mix->strata[i]->pooled_count != 0) {
            cpti_json_unsigned(json, "pooled", mix->strata[i]->pooled_count);
        }
        cpti_json_rough(json, "base_share", cpti_mix_share(mix, i, 0));
        cpti_json_rough(json, "new_share", cpti_mix_share(mix, i, 1));
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_close(json);
}
