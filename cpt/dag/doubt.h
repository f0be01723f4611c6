/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * doubt.h - the moments of a doubt, with other times of its lines
 */
#ifndef DOUBT_H
#define DOUBT_H

#include "cpt/cpt_dag_draft.h"

#include <stdbool.h>

/* What becomes of the time of a line's occurrence: share times it, and more. */
struct cpti_doubt_share {
    double share;
    double more_ns;
};

/* The least and the largest new time of a moment, or lag of a holder. */
struct cpti_doubt_time {
    double low_ns;
    double high_ns;
};

/* Whether all that @doubt names is there, of @line_count lines. */
bool cpti_doubt_is_whole(const struct cpt_doubt *doubt, size_t line_count);

/* Whether a node of @kind has what the lags of a line are: the work of a task; the way
 * of a call, or its work if that is all that is known of it. */
static inline bool cpti_doubt_is_own(const struct cpt_dag_line *line, uint32_t kind)
{
    return line->is_call == 0 ? kind == CPT_DAG_STEP
                              : kind == CPT_DAG_NETWORK || kind == CPT_DAG_CALL;
}

static inline uint32_t cpti_doubt_begin(const struct cpt_doubt *doubt, size_t moment)
{
    return moment != 0 ? doubt->moments[moment - 1].holder_end : 0;
}

/* What @share makes of the lag of @holder. */
struct cpti_doubt_time cpti_doubt_lag(const struct cpt_doubt_moment *moment,
                                      const struct cpt_doubt_holder *holder,
                                      double share);

/* All moments, into @times, with @shares of the lines. */
void cpti_doubt_run(const struct cpt_doubt *doubt,
                    const struct cpti_doubt_share *shares,
                    struct cpti_doubt_time *times);

#endif
