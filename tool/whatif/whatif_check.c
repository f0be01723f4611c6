/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_check.c - the times of one window in another; see whatif_check.h */
#include "tool/whatif/whatif_windows.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_NS = 1000 /* no stamp of a span is finer */ };

/* An own time below is no measure for what it grows by. */
static const uint64_t scaled_min_ns = 200000;

static const double standard_errors = 1.96;

/* --- The times of NEW in BASE --- */

static int compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

static int compare_times(const void *left, const void *right)
{
    const struct cpti_check_time *a = left;
    const struct cpti_check_time *b = right;
    int order = compare_numbers(a->key, b->key);

    order = order != 0 ? order : compare_numbers(a->ns, b->ns);
    order = order != 0 ? order : compare_numbers(a->order, b->order);
    return order != 0 ? order : compare_numbers(a->line, b->line);
}

static int compare_places(const void *left, const void *right)
{
    const struct cpti_check_time *a = left;
    const struct cpti_check_time *b = right;
    const int order = compare_numbers(a->request, b->request);

    return order != 0 ? order : compare_numbers(a->line, b->line);
}

/* Where the times with the key of @times[@at] end. */
static size_t end_of_key(const struct cpti_check_time *times, size_t count, size_t at)
{
    const uint64_t key = times[at].key;

    while (at < count && times[at].key == key) {
        at++;
    }
    return at;
}

/* The quantile @share of @times, which are in order: of as many times it is one of
 * them. */
static uint64_t quantile_of(const struct cpti_check_time *times, size_t count,
                            double share)
{
    const double at = share * (double)count - 0.5;
    const size_t low = at > 0 ? (size_t)at : 0;
    const size_t high = low + 1 < count ? low + 1 : count - 1;
    const double part = at > (double)low ? at - (double)low : 0;

    return times[low].ns +
           (uint64_t)((double)(times[high].ns - times[low].ns) * part + 0.5);
}

static bool has_row(const struct cpti_check_kind *kind)
{
    return kind->counts[CPTI_BASE] >= CPTI_CHECK_REQUESTS_MIN &&
           kind->counts[CPTI_NEW] >= CPTI_CHECK_REQUESTS_MIN;
}

/* Leaves only times of requests whose kind is compared, in order. */
static void sort_times(const struct cpti_windows *windows, struct cpti_window *window)
{
    size_t kept = 0;

    for (size_t i = 0; i < window->time_count; i++) {
        const struct cpti_check_request *request =
            &window->requests[window->times[i].request];

        if (has_row(&windows->kinds[request->kind])) {
            window->times[kept++] = window->times[i];
        }
    }
    window->time_count = kept;
    if (kept != 0) {
        qsort(window->times, kept, sizeof *window->times, compare_times);
    }
}

/* Gives each time of BASE its new one. */
static void match_times(struct cpti_windows *windows)
{
    struct cpti_window *base = &windows->all[CPTI_BASE];
    struct cpti_window *later = &windows->all[CPTI_NEW];
    size_t from = 0;

    sort_times(windows, base);
    sort_times(windows, later);
    for (size_t i = 0; i < base->time_count;) {
        const size_t end = end_of_key(base->times, base->time_count, i);
        size_t to = 0;

        while (from < later->time_count &&
               later->times[from].key < base->times[i].key) {
            from++;
        }
        to = from;
        if (from < later->time_count && later->times[from].key == base->times[i].key) {
            to = end_of_key(later->times, later->time_count, from);
        }
        for (size_t k = i; k < end && to - from >= CPTI_CHECK_TIMES_MIN; k++) {
            base->times[k].new_ns =
                quantile_of(&later->times[from], to - from,
                            ((double)(k - i) + 0.5) / (double)(end - i));
        }
        windows->check->stay_count += to - from < CPTI_CHECK_TIMES_MIN ? end - i : 0;
        i = end;
    }
    windows->check->time_count = base->time_count;
    if (base->time_count != 0) {
        qsort(base->times, base->time_count, sizeof *base->times, compare_places);
    }
}

/* --- Predictions --- */

/* What @time becomes: own work grows in proportion, a short one at its beginning. */
static struct cpt_whatif_share share_of(const struct cpti_check_time *time)
{
    struct cpt_whatif_share share = {.share = 1};

    if (time->ns == 0 || (time->is_own && time->ns < scaled_min_ns)) {
        share.more_ns = (int64_t)(time->new_ns - time->ns);
    } else {
        share.share = (double)time->new_ns / (double)time->ns;
    }
    return share;
}

/* Replays each request of BASE. */
static cpt_status predict(struct cpti_windows *windows, struct cpt_whatif_plan *plan,
                          struct cpt_whatif_share *shares)
{
    struct cpti_window *base = &windows->all[CPTI_BASE];
    size_t at = 0;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < base->request_count && status == CPT_OK; i++) {
        struct cpti_check_request *request = &base->requests[i];

        if (!has_row(&windows->kinds[request->kind])) {
            continue;
        }
        for (uint32_t k = 0; k < request->line_count; k++) {
            shares[k] = (struct cpt_whatif_share){.share = 1};
        }
        for (; at < base->time_count && base->times[at].request == i; at++) {
            shares[base->times[at].line] = share_of(&base->times[at]);
            windows->kinds[request->kind].times++;
        }
        status = cpt_whatif_shares(plan, i, shares, request->line_count);
        if (status == CPT_OK) {
            status = cpt_whatif_run(plan, i, 1, &request->predicted_ns);
        }
        request->has_range =
            status == CPT_OK &&
            cpt_whatif_range(plan, i, &request->low_ns, &request->high_ns) == CPT_OK;
    }
    return status;
}

static cpt_status replay(struct cpti_windows *windows)
{
    const struct cpti_window *base = &windows->all[CPTI_BASE];
    struct cpt_whatif_plan *plan = NULL;
    struct cpt_whatif_share *shares = NULL;
    size_t line_max = 1;
    cpt_status status =
        cpt_whatif_plan_new(windows->whatif, NULL, 0, NULL, &plan, NULL, NULL);

    for (size_t i = 0; i < base->request_count; i++) {
        line_max = base->requests[i].line_count > line_max
                       ? base->requests[i].line_count
                       : line_max;
    }
    shares = cpt_alloc_array(NULL, NULL, line_max, sizeof *shares);
    if (status == CPT_OK) {
        status = shares != NULL ? predict(windows, plan, shares) : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        windows->check->replayed = cpt_whatif_counts(plan);
    }
    cpt_whatif_plan_free(plan);
    cpt_alloc_free(NULL, shares);
    return status;
}

/* --- Rows --- */

static int compare_requests(const void *left, const void *right)
{
    const struct cpti_check_request *a = left;
    const struct cpti_check_request *b = right;
    int order = compare_numbers(a->kind, b->kind);

    order = order != 0 ? order : compare_numbers(a->latency_ns, b->latency_ns);
    return order != 0 ? order : compare_numbers(a->order, b->order);
}

/* The mean latency of the @count requests, and the square of its standard error. */
static double mean_of(const struct cpti_check_request *requests, size_t count,
                      double *error)
{
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)requests[i].latency_ns;
    }
    for (size_t i = 0; i < count; i++) {
        const double apart = (double)requests[i].latency_ns - sum / (double)count;

        squares += apart * apart;
    }
    *error += squares / (double)(count - 1) / (double)count;
    return sum / (double)count;
}

static void fill_row(struct cpti_windows *windows, struct cpti_check_kind *kind,
                     struct cpti_check_row *row)
{
    const size_t count = kind->counts[CPTI_BASE];
    const struct cpti_check_request *base =
        &windows->all[CPTI_BASE].requests[kind->first[CPTI_BASE]];
    double error = 0;
    double low = 0;
    double high = 0;
    bool has_ranges = true;

    *row = (struct cpti_check_row){.name = kind->name,
                                   .calls = kind->calls,
                                   .times = kind->times,
                                   .base_requests = count,
                                   .new_requests = kind->counts[CPTI_NEW]};
    kind->name = NULL;
    kind->calls = NULL;
    row->base_ns = mean_of(base, count, &error);
    row->new_ns = mean_of(&windows->all[CPTI_NEW].requests[kind->first[CPTI_NEW]],
                          kind->counts[CPTI_NEW], &error);
    for (size_t i = 0; i < count; i++) {
        row->predicted_ns += (double)base[i].predicted_ns / (double)count;
        low += base[i].low_ns / (double)count;
        high += base[i].high_ns / (double)count;
        has_ranges = has_ranges && base[i].has_range;
    }
    row->low_ns = has_ranges ? fmin(low, row->predicted_ns) : NAN;
    row->high_ns = has_ranges ? fmax(high, row->predicted_ns) : NAN;
    row->error_ns = standard_errors * sqrt(error);
    row->is_within = fabs(row->predicted_ns - row->new_ns) <= row->error_ns + EXACT_NS;
    windows->check->within_count += row->is_within;
    windows->check->part_count += row->times != 0;
    windows->check->part_within_count += row->times != 0 && row->is_within;
}

static int compare_rows(const void *left, const void *right)
{
    const struct cpti_check_row *a = left;
    const struct cpti_check_row *b = right;
    const int order = compare_numbers(b->base_requests, a->base_requests);

    return order != 0 ? order : strcmp(a->name, b->name);
}

static cpt_status make_rows(struct cpti_windows *windows)
{
    struct cpti_check *check = windows->check;

    for (unsigned side = CPTI_BASE; side < CPTI_WINDOWS; side++) {
        struct cpti_window *window = &windows->all[side];

        qsort(window->requests, window->request_count, sizeof *window->requests,
              compare_requests);
        for (size_t i = window->request_count; i-- > 0;) {
            windows->kinds[window->requests[i].kind].first[side] = i;
        }
    }
    check->rows =
        cpt_alloc_zeroed(NULL, (windows->kind_count + 1) * sizeof *check->rows);
    if (check->rows == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < windows->kind_count; i++) {
        struct cpti_check_kind *kind = &windows->kinds[i];

        if (has_row(kind)) {
            fill_row(windows, kind, &check->rows[check->row_count++]);
        } else {
            check->other_kinds++;
            check->other_requests += kind->counts[CPTI_BASE];
        }
    }
    qsort(check->rows, check->row_count, sizeof *check->rows, compare_rows);
    return CPT_OK;
}

/* --- All of it --- */

int cpti_check_run(struct cpti_check *check, const struct cpti_check_options *options)
{
    struct cpti_windows windows = {.check = check};
    int status = CPTI_EXIT_DONE;
    cpt_status made = CPT_OK;

    *check = (struct cpti_check){.options = *options};
    status = cpti_windows_read(&windows);
    if (status != CPTI_EXIT_USAGE && windows.all[CPTI_NEW].request_count != 0) {
        match_times(&windows);
        made = replay(&windows);
        made = CPTI_THEN(made, make_rows(&windows));
    }
    cpti_windows_deinit(&windows);
    if (made != CPT_OK) {
        return cpti_failed("%s", cpt_status_sentence(made));
    }
    if (check->rows != NULL && check->row_count == 0) {
        return cpti_failed("no kind of request has %d requests in both windows",
                           CPTI_CHECK_REQUESTS_MIN);
    }
    return status;
}

void cpti_check_deinit(struct cpti_check *check)
{
    for (size_t i = 0; i < check->row_count; i++) {
        free(check->rows[i].name);
        free(check->rows[i].calls);
    }
    cpt_alloc_free(NULL, check->rows);
    check->rows = NULL;
}
