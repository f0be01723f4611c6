/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_range.c - between what latencies a request would have had
 *
 * Terms become shares of the time of each line; the moments of its doubt follow from
 * these (cpt/dag/doubt.c).
 */
#include "cpt/whatif/whatif.h"

#include "cpt/dag/doubt.h"

/* --- Shares --- */

static double recorded_sum(const struct cpt_whatif *whatif,
                           const struct whatif_request *request, uint32_t at)
{
    double sum_ns = 0;

    for (; at != CPT_DAG_NONE; at = whatif->next[request->node + at]) {
        sum_ns += (double)whatif->duration_ns[request->node + at];
    }
    return sum_ns;
}

/* @share of @sum_ns becomes @to_ns together. */
static void resize(struct cpti_doubt_share *share, double sum_ns, double to_ns)
{
    const double now_ns = share->share * sum_ns + share->more_ns;
    const double by = now_ns > 0 ? to_ns / now_ns : 0;

    share->share *= by;
    share->more_ns = now_ns > 0 ? share->more_ns * by : to_ns;
}

static void change_share(const struct cpt_whatif_term *term, double sum_ns,
                         struct cpti_doubt_share *share)
{
    const double now_ns = share->share * sum_ns + share->more_ns;
    const double amount_ns = (double)term->amount_ns;

    switch (term->change) {
    case CPT_WHATIF_SCALE:
        share->share *= term->share;
        share->more_ns *= term->share;
        return;
    case CPT_WHATIF_MORE:
        share->more_ns += amount_ns;
        return;
    case CPT_WHATIF_TO:
        resize(share, sum_ns, amount_ns);
        return;
    case CPT_WHATIF_AT_MOST:
        if (now_ns > amount_ns) {
            resize(share, sum_ns, amount_ns);
        }
        return;
    case CPT_WHATIF_AT_LEAST:
        if (now_ns < amount_ns) {
            resize(share, sum_ns, amount_ns);
        }
        return;
    default:
        if (now_ns > 0) {
            resize(share, sum_ns, now_ns > amount_ns ? now_ns - amount_ns : 0);
        }
        return;
    }
}

/* What cpt_whatif_shares() gave line @line; false: nothing. */
static bool take_given(const struct cpt_whatif_plan *plan,
                       const struct whatif_request *request, uint32_t line,
                       double sum_ns, struct cpti_doubt_share *share)
{
    const uint32_t first = plan->whatif->lines[request->line + line].occurrence;
    const struct cpt_whatif_share given = plan->given[first != 0 ? first - 1 : line];
    const double more_ns = (double)given.more_ns;
    double now_ns = 0;

    share->share *= given.share;
    share->more_ns *= given.share;
    now_ns = share->share * sum_ns + share->more_ns;
    if (more_ns >= 0) {
        share->more_ns += more_ns;
    } else {
        resize(share, sum_ns, now_ns + more_ns > 0 ? now_ns + more_ns : 0);
    }
    return given.more_ns != 0 || given.share < 1 || given.share > 1;
}

/* What the terms, and what was given, do to each line; false: nothing. */
static bool find_shares(struct cpt_whatif_plan *plan,
                        const struct whatif_request *request)
{
    const struct cpt_whatif *whatif = plan->whatif;
    const bool is_given =
        plan->given != NULL && &whatif->requests[plan->given_request] == request;
    bool is_changed = false;

    for (uint32_t i = 0; i < request->line_count; i++) {
        const uint32_t own = whatif->lines[request->line + i].own;
        struct cpti_doubt_share *share = &plan->shares[i];
        uint32_t frame = 0;

        *share = (struct cpti_doubt_share){1, 0};
        if (own == CPT_DAG_NONE) {
            continue;
        }
        frame = whatif->frame[request->node + own] & ~WHATIF_NOT_FIRST;
        if (plan->first_op[frame] != plan->first_op[frame + 1]) {
            const double sum_ns = recorded_sum(whatif, request, own);

            is_changed = true;
            for (uint32_t op = plan->first_op[frame]; op < plan->first_op[frame + 1];
                 op++) {
                change_share(&plan->terms[plan->ops[op]], sum_ns, share);
            }
        }
        if (is_given) {
            is_changed = take_given(plan, request, i,
                                    recorded_sum(whatif, request, own), share) ||
                         is_changed;
        }
    }
    return is_changed;
}

/* --- The range --- */

static struct cpt_doubt doubt_of(const struct cpt_whatif *whatif, size_t request)
{
    static const struct cpt_doubt_holder no_holder = {0};
    const struct whatif_request *own = &whatif->requests[request];

    if (own->moment_count == 0) {
        return (struct cpt_doubt){.holders = &no_holder};
    }
    return (struct cpt_doubt){.moments = &whatif->moments[own->moment],
                              .moment_count = own->moment_count,
                              .holders = whatif->holders != NULL
                                             ? &whatif->holders[own->holder]
                                             : &no_holder};
}

int cpt_whatif_has_doubt(const struct cpt_whatif *whatif, size_t request)
{
    return whatif->requests[request].moment_count != 0;
}

cpt_status cpt_whatif_range(struct cpt_whatif_plan *plan, size_t request,
                            double *low_ns, double *high_ns)
{
    const struct cpt_whatif *whatif = plan->whatif;
    const struct whatif_request *own = &whatif->requests[request];
    const struct cpt_doubt doubt = doubt_of(whatif, request);

    if (own->moment_count == 0 || plan->edges != NULL || plan->queues != NULL) {
        return CPT_END;
    }
    if (!find_shares(plan, own)) {
        *low_ns = *high_ns = (double)doubt.moments[own->moment_count - 1].at_ns;
        return CPT_OK;
    }
    cpti_doubt_run(&doubt, plan->shares, plan->moments);
    *low_ns = plan->moments[own->moment_count - 1].low_ns;
    *high_ns = plan->moments[own->moment_count - 1].high_ns;
    return CPT_OK;
}

/* --- Waits in doubt --- */

/* The holder that gives moment @number its latest time, or its earliest; CPT_DAG_NONE:
 * it has none. */
static uint32_t holder_of(const struct cpt_whatif_plan *plan,
                          const struct cpt_doubt *doubt, uint32_t number,
                          bool is_latest)
{
    const struct cpt_doubt_moment *moment = &doubt->moments[number];
    const double share =
        moment->worker != CPT_DAG_NONE ? plan->shares[moment->worker].share : 1;
    uint32_t found = CPT_DAG_NONE;
    double found_ns = 0;

    for (uint32_t i = cpti_doubt_begin(doubt, number); i < moment->holder_end; i++) {
        const struct cpt_doubt_holder *holder = &doubt->holders[i];
        const struct cpti_doubt_time *from = &plan->moments[holder->from];
        const struct cpti_doubt_time lag = cpti_doubt_lag(moment, holder, share);
        const double at_ns =
            is_latest ? from->high_ns + lag.high_ns : from->low_ns + lag.low_ns;

        if ((is_latest || (holder->flags & CPT_DOUBT_MAY_HOLD) != 0) &&
            (found == CPT_DAG_NONE || (at_ns > found_ns) == is_latest)) {
            found = holder->from;
            found_ns = at_ns;
        }
    }
    return found;
}

static uint32_t frame_of(const struct cpt_whatif_plan *plan,
                         const struct whatif_request *request, uint32_t line)
{
    return plan->whatif->lines[request->line + line].frame;
}

/* The wait that @moment is the end of, if it may have been for @one or for @other. */
static struct cpt_whatif_wait wait_at(const struct cpt_whatif_plan *plan,
                                      const struct whatif_request *request,
                                      uint32_t moment, uint32_t one, uint32_t other)
{
    const struct whatif_line *lines = &plan->whatif->lines[request->line];
    const struct cpt_doubt_moment *moments = &plan->whatif->moments[request->moment];
    const uint32_t line = moments[moment].line;
    const uint32_t caller = lines[line].is_call != 0 ? lines[line].caller : line;
    const uint32_t own = caller != CPT_DAG_NONE ? caller : line;
    struct cpt_whatif_wait wait = {frame_of(plan, request, own),
                                   frame_of(plan, request, line),
                                   frame_of(plan, request, own), 0};

    for (unsigned i = 0; i < 2; i++) {
        const struct cpt_doubt_moment *from = &moments[i == 0 ? other : one];

        if ((from->flags & CPT_DOUBT_IS_END) != 0) {
            wait.holder = frame_of(plan, request, from->line);
        }
    }
    return wait;
}

void cpt_whatif_doubts(const struct cpt_whatif_plan *plan, size_t request,
                       void (*visit)(void *context, const struct cpt_whatif_wait *wait),
                       void *context)
{
    const struct whatif_request *own = &plan->whatif->requests[request];
    const struct cpt_doubt doubt = doubt_of(plan->whatif, request);
    uint32_t at = own->moment_count;

    while (at-- != 0) {
        const struct cpti_doubt_time *time = &plan->moments[at];
        const uint32_t latest = holder_of(plan, &doubt, at, true);
        const uint32_t earliest = holder_of(plan, &doubt, at, false);

        if (latest == CPT_DAG_NONE || earliest == CPT_DAG_NONE ||
            time->high_ns <= time->low_ns) {
            return;
        }
        if (latest != earliest) {
            struct cpt_whatif_wait wait = wait_at(plan, own, at, latest, earliest);

            wait.width_ns =
                time->high_ns - time->low_ns -
                (plan->moments[latest].high_ns - plan->moments[latest].low_ns);
            if (wait.width_ns > 0) {
                visit(context, &wait);
            }
        }
        at = latest + 1;
    }
}
