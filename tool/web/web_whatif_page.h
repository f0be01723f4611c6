/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_whatif_page.h - the page of sliders, whole: it works without scripts
 *
 *      form: a slider for each frame, terms  |  latencies, who takes over, flame graph
 *
 * Where it is inferred who waited, sliders and the change of the mean have an interval,
 * and words for whether to believe the number (could_be.h).
 *
 * A script asks for the same page again while a slider moves, and exchanges the answer.
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WEB_WHATIF_PAGE_H
#define CPTI_CLI_WEB_WHATIF_PAGE_H

#include "tool/web/web_sliders.h"
#include "tool/whatif/whatif_answer.h"
#include "tool/whatif/whatif_tree.h"

#include <stdio.h>

struct cpti_web_whatif_page {
    const struct cpti_whatif *answer;
    const struct cpti_whatif_tree *tree; /* summed */
    const struct cpti_web_sliders *sliders;
    const char *terms; /* as typed; may be "" */
    const char *token; /* which its links carry; "": none */
};

void cpti_web_whatif_page_write(const struct cpti_web_whatif_page *page, FILE *file);

#endif
