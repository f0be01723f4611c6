/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * doubt.c - as far as the moments of a request could move
 *
 * One pass over the moments, each with the least and the largest new time. A moment
 * comes not before the earliest of those that may have held it lets it, and not after
 * the latest of all does:
 *
 *      low  = max( min over may hold (low + lag),  lows that it is not before )
 *      high = max over all (high + lag)
 *
 * A lag is the time of the occurrence that did something meanwhile, so it changes by
 * the share by which that changes; an amount more comes once, at its beginning. Of a
 * lag that may be a way in part, any part may be.
 *
 * By how much a moment may be late follows from the last one backwards: by the least if
 * all that may have held a moment did, by the most if only those did that must have.
 */
#include "cpt/dag/doubt.h"

#include "cpt/dag/dag.h"

/* Frames times moments and holders: about a second. */
static const double work_max = 4e8;

bool cpti_doubt_is_whole(const struct cpt_doubt *doubt, size_t line_count)
{
    size_t begin = 0;

    for (size_t i = 0; i < doubt->moment_count; i++) {
        const struct cpt_doubt_moment *moment = &doubt->moments[i];

        if (moment->holder_end < begin || moment->holder_end > doubt->holder_count ||
            moment->line >= line_count ||
            (moment->worker != CPT_DAG_NONE && moment->worker >= line_count)) {
            return false;
        }
        for (; begin < moment->holder_end; begin++) {
            if (doubt->holders[begin].from >= i) {
                return false;
            }
        }
    }
    return doubt->moment_count != 0;
}

/* --- New times --- */

struct cpti_doubt_time cpti_doubt_lag(const struct cpt_doubt_moment *moment,
                                      const struct cpt_doubt_holder *holder,
                                      double share)
{
    const uint64_t wire_ns =
        moment->wire_ns < holder->lag_ns ? moment->wire_ns : holder->lag_ns;
    const double all_ns = (double)holder->lag_ns * share;
    const double part_ns = (double)(holder->lag_ns - wire_ns) * share + (double)wire_ns;

    return all_ns < part_ns ? (struct cpti_doubt_time){all_ns, part_ns}
                            : (struct cpti_doubt_time){part_ns, all_ns};
}

static struct cpti_doubt_time time_of(const struct cpt_doubt *doubt, size_t number,
                                      struct cpti_doubt_share share,
                                      const struct cpti_doubt_time *times)
{
    const struct cpt_doubt_moment *moment = &doubt->moments[number];
    struct cpti_doubt_time time = {0, 0};
    double not_before_ns = 0;
    bool has_low = false;

    for (uint32_t i = cpti_doubt_begin(doubt, number); i < moment->holder_end; i++) {
        const struct cpt_doubt_holder *holder = &doubt->holders[i];
        const struct cpti_doubt_time *from = &times[holder->from];
        const struct cpti_doubt_time lag = cpti_doubt_lag(moment, holder, share.share);

        if ((holder->flags & CPT_DOUBT_MAY_HOLD) != 0 &&
            (!has_low || from->low_ns + lag.low_ns < time.low_ns)) {
            time.low_ns = from->low_ns + lag.low_ns;
            has_low = true;
        }
        if ((holder->flags & CPT_DOUBT_NOT_BEFORE) != 0 &&
            from->low_ns > not_before_ns) {
            not_before_ns = from->low_ns;
        }
        if (from->high_ns + lag.high_ns > time.high_ns) {
            time.high_ns = from->high_ns + lag.high_ns;
        }
    }
    time.low_ns = time.low_ns > not_before_ns ? time.low_ns : not_before_ns;
    time.high_ns = time.high_ns > time.low_ns ? time.high_ns : time.low_ns;
    if ((moment->flags & CPT_DOUBT_ADDS) != 0) {
        time.low_ns += share.more_ns;
        time.high_ns += share.more_ns;
    }
    return time;
}

void cpti_doubt_run(const struct cpt_doubt *doubt,
                    const struct cpti_doubt_share *shares,
                    struct cpti_doubt_time *times)
{
    static const struct cpti_doubt_share same = {1, 0};

    for (size_t i = 0; i < doubt->moment_count; i++) {
        const uint32_t worker = doubt->moments[i].worker;

        times[i] =
            time_of(doubt, i, worker != CPT_DAG_NONE ? shares[worker] : same, times);
    }
}

/* --- Frames --- */

static double least(double one, double other)
{
    return one < other ? one : other;
}

struct measuring {
    const struct cpt_dag_recorded *recorded;
    const struct cpt_doubt *doubt;
    uint32_t *frames; /* of each line: that of its own nodes, or CPT_DAG_NONE */
    struct cpti_doubt_share *shares;
    struct cpti_doubt_time *times;
    double *late_ns; /* how late each moment may be, in one of the two cases */
};

static void find_frames(struct measuring *measuring)
{
    const struct cpt_dag_recorded *recorded = measuring->recorded;

    for (size_t i = 0; i < recorded->line_count; i++) {
        measuring->frames[i] = CPT_DAG_NONE;
        measuring->shares[i] = (struct cpti_doubt_share){1, 0};
    }
    for (size_t i = 0; i < recorded->shape.node_count; i++) {
        const uint32_t frame = recorded->shape.nodes[i].frame;
        const struct cpt_dag_line *line = &recorded->lines[recorded->node_lines[i]];

        if (line->occurrence <= recorded->line_count &&
            cpti_doubt_is_own(line, recorded->frames[frame].kind)) {
            measuring->frames[line->occurrence != 0 ? line->occurrence - 1
                                                    : recorded->node_lines[i]] = frame;
        }
    }
}

/* The gains of @frame: the latency less that with all its lines at 0. */
static void find_gain(struct measuring *measuring, uint32_t frame, double latency_ns,
                      struct cpt_doubt_frame *found)
{
    const struct cpt_doubt *doubt = measuring->doubt;
    const struct cpti_doubt_time *end = &measuring->times[doubt->moment_count - 1];

    for (size_t i = 0; i < measuring->recorded->line_count; i++) {
        measuring->shares[i].share = measuring->frames[i] == frame ? 0 : 1;
    }
    cpti_doubt_run(doubt, measuring->shares, measuring->times);
    found->gain_low_ns = latency_ns - end->high_ns;
    found->gain_high_ns = latency_ns - end->low_ns;
}

/* How many may have held @moment: at most two are counted. */
static unsigned count_holders(const struct cpt_doubt *doubt, size_t moment)
{
    unsigned count = 0;

    for (uint32_t i = cpti_doubt_begin(doubt, moment);
         i < doubt->moments[moment].holder_end && count < 2; i++) {
        count += (doubt->holders[i].flags & CPT_DOUBT_MAY_HOLD) != 0;
    }
    return count;
}

/* Whether @holder must have held a moment that @count may have held, and by what lag:
 * if it is the only one of these, or the moment is not before it. */
static bool must_hold(const struct cpt_doubt_holder *holder, unsigned count,
                      double *lag_ns)
{
    if (count == 1 && (holder->flags & CPT_DOUBT_MAY_HOLD) != 0) {
        *lag_ns = (double)holder->lag_ns;
        return true;
    }
    *lag_ns = 0;
    return (holder->flags & CPT_DOUBT_NOT_BEFORE) != 0;
}

/* By how much each moment may be late, and its line with it. */
static void find_slacks(struct measuring *measuring, bool is_most, double latency_ns,
                        struct cpt_doubt_frame *found)
{
    const struct cpt_doubt *doubt = measuring->doubt;
    double *late_ns = measuring->late_ns;

    for (size_t i = 0; i < doubt->moment_count; i++) {
        late_ns[i] = (double)doubt->moments[i].at_ns + latency_ns;
    }
    late_ns[doubt->moment_count - 1] = latency_ns;
    for (size_t i = doubt->moment_count; i-- != 0;) {
        const struct cpt_doubt_moment *moment = &doubt->moments[i];
        const uint32_t frame = moment->worker != CPT_DAG_NONE
                                   ? measuring->frames[moment->worker]
                                   : CPT_DAG_NONE;
        const double late = late_ns[i] - (double)moment->at_ns;
        const unsigned count = is_most ? count_holders(doubt, i) : 0;

        if (frame != CPT_DAG_NONE) {
            double *own =
                is_most ? &found[frame].slack_high_ns : &found[frame].slack_low_ns;

            *own = least(*own, late > 0 ? late : 0);
        }
        for (uint32_t k = cpti_doubt_begin(doubt, i); k < moment->holder_end; k++) {
            double lag_ns = (double)doubt->holders[k].lag_ns;
            double *from_ns = &late_ns[doubt->holders[k].from];

            if (!is_most || must_hold(&doubt->holders[k], count, &lag_ns)) {
                *from_ns = least(*from_ns, late_ns[i] - lag_ns);
            }
        }
    }
}

static cpt_status measure(struct measuring *measuring, const struct cpt_alloc *alloc,
                          struct cpt_doubt_frame *found)
{
    const struct cpt_dag_recorded *recorded = measuring->recorded;
    const struct cpt_doubt *doubt = measuring->doubt;
    const double latency_ns = (double)doubt->moments[doubt->moment_count - 1].at_ns;
    const uint32_t count = recorded->shape.frame_count;

    measuring->frames =
        cpt_alloc_array(alloc, NULL, recorded->line_count, sizeof *measuring->frames);
    measuring->shares =
        cpt_alloc_array(alloc, NULL, recorded->line_count, sizeof *measuring->shares);
    measuring->times =
        cpt_alloc_array(alloc, NULL, doubt->moment_count, sizeof *measuring->times);
    measuring->late_ns =
        cpt_alloc_array(alloc, NULL, doubt->moment_count, sizeof *measuring->late_ns);
    if (measuring->frames == NULL || measuring->shares == NULL ||
        measuring->times == NULL || measuring->late_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    find_frames(measuring);
    for (uint32_t i = 0; i < count; i++) {
        found[i] = (struct cpt_doubt_frame){0, 0, latency_ns, latency_ns};
        find_gain(measuring, i, latency_ns, &found[i]);
    }
    find_slacks(measuring, false, latency_ns, found);
    find_slacks(measuring, true, latency_ns, found);
    return CPT_OK;
}

cpt_status cpt_doubt_frames(const struct cpt_alloc *alloc,
                            const struct cpt_dag_recorded *recorded,
                            struct cpt_doubt_frame *frames)
{
    const struct cpt_doubt *doubt = recorded->doubt;
    struct measuring measuring = {.recorded = recorded, .doubt = doubt};
    cpt_status status = CPT_OK;

    if (doubt == NULL || recorded->node_lines == NULL ||
        !cpti_doubt_is_whole(doubt, recorded->line_count)) {
        return CPT_END;
    }
    if ((double)recorded->shape.frame_count *
            (double)(doubt->moment_count + doubt->holder_count) >
        work_max) {
        return CPT_LIMIT;
    }
    status = measure(&measuring, alloc, frames);
    cpt_alloc_free(alloc, measuring.frames);
    cpt_alloc_free(alloc, measuring.shares);
    cpt_alloc_free(alloc, measuring.times);
    cpt_alloc_free(alloc, measuring.late_ns);
    return status;
}
