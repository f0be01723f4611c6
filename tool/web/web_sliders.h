/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_sliders.h - which frames have sliders: those of which half the time gives most
 *
 *      it is recorded who waited    a slider is a frame      share:C: C1 ‹queue›
 *      it is inferred               it is a service          share:C: *
 *
 * A slider changes what its name says and nothing else: in "a*: *" the first '*' is a
 * character of the service's name.
 *
 * Threads: any, once they are chosen.
 */
#ifndef CPTI_CLI_WEB_SLIDERS_H
#define CPTI_CLI_WEB_SLIDERS_H

#include "tool/whatif/could_be.h"
#include "tool/whatif/whatif_group.h"

enum { CPTI_WEB_SLIDERS_MAX = 12 };

struct cpti_web_slider {
    double path_ns;                /* its mean time on the path as recorded */
    double gain_ns;                /* of half its time; NAN: not known */
    struct cpti_could_be could_be; /* the gain */
    uint32_t frame;                /* the first of its group */
    unsigned percent;              /* of its time */
};

struct cpti_web_sliders {
    enum cpti_whatif_by by;
    struct cpti_web_slider all[CPTI_WEB_SLIDERS_MAX]; /* the largest gain first */
    size_t count;
};

/* Fills @sliders; @before_ns are the times of frames on the recorded paths. CPT_OK,
 * CPT_NO_MEMORY, CPT_LIMIT. */
cpt_status cpti_web_sliders_choose(struct cpti_web_sliders *sliders,
                                   const struct cpti_whatif_set *set,
                                   const double *before_ns);

/* Its name, with control bytes and invalid UTF-8 as \xNN: a browser sends it back as it
 * is. Borrowed like cpti_quoted(). */
const char *cpti_web_slider_name(const struct cpti_web_sliders *sliders,
                                 const struct cpti_whatif_set *set, size_t at);

/* The number of the slider @name; of none, the count. */
size_t cpti_web_slider_find(const struct cpti_web_sliders *sliders,
                            const struct cpti_whatif_set *set, const char *name);

/* What it changes when it is moved: to its percent. */
struct cpt_whatif_term cpti_web_slider_term(const struct cpti_web_sliders *sliders,
                                            const struct cpti_whatif_set *set,
                                            size_t at);

#endif
