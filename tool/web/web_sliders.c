/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_sliders.c - which frames have sliders; see web_sliders.h */
#include "tool/web/web_sliders.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/whatif/whatif_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups x nodes and edges up to which all groups are tried: some seconds. */
static const double sweep_parts_max = 1e9;

/* Adds @slider: behind those that are there, or by its time if no gain is known. */
static void add_slider(struct cpti_web_sliders *sliders,
                       const struct cpti_web_slider *slider)
{
    size_t at = sliders->count;

    if (!(slider->path_ns > 0)) {
        return;
    }
    while (at > 0 && sliders->all[at - 1].path_ns < slider->path_ns &&
           isnan(slider->gain_ns)) {
        at--;
    }
    if (at == CPTI_WEB_SLIDERS_MAX) {
        return;
    }
    sliders->count += sliders->count < CPTI_WEB_SLIDERS_MAX;
    memmove(&sliders->all[at + 1], &sliders->all[at],
            (sliders->count - at - 1) * sizeof sliders->all[0]);
    sliders->all[at] = *slider;
}

/* Those with the most time. */
static void choose_longest(struct cpti_web_sliders *sliders, const double *path_ns,
                           size_t frame_count)
{
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct cpti_web_slider slider = {
            .path_ns = path_ns[i], .gain_ns = NAN, .frame = i, .percent = 100};

        add_slider(sliders, &slider);
    }
}

/* Those with the largest gains. */
static cpt_status choose_best(struct cpti_web_sliders *sliders,
                              const struct cpti_whatif_set *set, const double *path_ns)
{
    const struct cpti_whatif_trial trial = {
        .set = set, .by = sliders->by, .change = CPT_WHATIF_SCALE, .share = 0.5};
    struct cpti_whatif_gain *gains = NULL;
    size_t count = 0;
    const cpt_status status = cpti_whatif_sweep(&trial, &gains, &count);

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpti_web_slider slider = {
            .path_ns = path_ns[gains[i].frame],
            .gain_ns = 0 - gains[i].stats.rows[CPTI_WHATIF_MEAN].change_ns,
            .could_be = cpti_could_be_less(&gains[i].could_be),
            .frame = gains[i].frame,
            .percent = 100};

        add_slider(sliders, &slider);
    }
    free(gains);
    return status;
}

cpt_status cpti_web_sliders_choose(struct cpti_web_sliders *sliders,
                                   const struct cpti_whatif_set *set,
                                   const double *before_ns)
{
    const size_t frames = cpt_whatif_frame_count(set->whatif);
    double *path_ns = calloc(frames + 1, sizeof *path_ns); /* of each group */
    uint32_t *groups = NULL;
    size_t group_count = 0;
    cpt_status status = path_ns != NULL ? CPT_OK : CPT_NO_MEMORY;

    *sliders = (struct cpti_web_sliders){.by = cpti_whatif_by_default(set)};
    status = CPTI_THEN(status, cpti_whatif_groups(set, sliders->by, &groups));
    for (uint32_t i = 0; i < frames && status == CPT_OK; i++) {
        if (groups[i] != CPTI_WHATIF_NO_GROUP) {
            path_ns[groups[i]] += before_ns[i];
            group_count += groups[i] == i;
        }
    }
    if (status == CPT_OK &&
        (double)group_count * (double)set->part_count > sweep_parts_max) {
        choose_longest(sliders, path_ns, frames);
    } else {
        status = CPTI_THEN(status, choose_best(sliders, set, path_ns));
    }
    free(groups);
    free(path_ns);
    return status;
}

const char *cpti_web_slider_name(const struct cpti_web_sliders *sliders,
                                 const struct cpti_whatif_set *set, size_t at)
{
    char name[2 * CPT_NAME_BYTES_MAX];

    return cpti_quoted(
        cpti_whatif_group_text(set, sliders->by, sliders->all[at].frame, name));
}

size_t cpti_web_slider_find(const struct cpti_web_sliders *sliders,
                            const struct cpti_whatif_set *set, const char *name)
{
    size_t at = 0;

    while (at < sliders->count &&
           strcmp(cpti_web_slider_name(sliders, set, at), name) != 0) {
        at++;
    }
    return at;
}

struct cpt_whatif_term cpti_web_slider_term(const struct cpti_web_sliders *sliders,
                                            const struct cpti_whatif_set *set,
                                            size_t at)
{
    const struct cpti_web_slider *slider = &sliders->all[at];
    const struct cpt_dag_name name = cpt_whatif_frame(set->whatif, slider->frame);
    struct cpt_whatif_term term = {
        .verb = CPT_WHATIF_SET,
        .change = CPT_WHATIF_SCALE,
        .share = slider->percent / 100.0,
        .frames = cpti_whatif_group_frames(set, sliders->by, slider->frame)};
    const struct cpt_whatif_frames work =
        cpti_whatif_group_frames(set, CPTI_WHATIF_BY_OPERATION, slider->frame);

    /* a name without a kind means all work of that name */
    if (sliders->by == CPTI_WHATIF_BY_FRAME && cpt_whatif_has(&work, &name) != 0) {
        term.frames = work;
    }
    return term;
}
