/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_fit.c - how long a service computes before it blocks
 *
 * An event at t comes behind another one at p, and was held until m:
 *
 *      p |==c==|.........m|==g==| t            t = max(p + c, m) + g
 *
 * c is hidden where it is shorter than the wait. Over many requests it shows: with
 * x = m - p and y = t - p, the mean of y is a + sum of w_k max(c_k, x), with weights w
 * of sum 1. They are found by least squares, from the best single c on: weight moves
 * from one c to another while that makes the sum smaller.
 *
 * Beside the one that is taken stands what is not refuted: the largest c that alone
 * explains the rows nearly as well, or has some weight.
 */
#include "import/learn/learn_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGES_MAX = 200, APART_NS = 1000 };

static const unsigned percentiles[LEARN_COLUMNS_MAX - 1] = {0,  5,  10, 20, 30, 40, 50,
                                                            60, 70, 80, 90, 95, 100};

/* The least sum of squares of a row that is worth explaining, in ns². */
static const double quiet = 4e6;

/* What is fitted: how long a row was held, and when its event came. */
struct point {
    int64_t x;
    double y;
};

/* A fit, and what each of its columns alone leaves of the squares. */
struct fitted {
    struct learn_fit fit;
    double sum; /* that is left */
    uint32_t column_count;
    double sums[LEARN_COLUMNS_MAX];
};

struct squares {
    double gram[LEARN_COLUMNS_MAX][LEARN_COLUMNS_MAX];
    double moment[LEARN_COLUMNS_MAX];
    double means[LEARN_COLUMNS_MAX];
    double y_mean;
    double y_square;
};

static int compare_numbers(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The times c that may be. */
static void find_columns(const struct point *points, size_t count,
                         struct learn_fit *fit)
{
    int64_t sorted[LEARN_ROWS_MAX];

    fit->column_count = 1;
    fit->c_ns[0] = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = points[i].x;
    }
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < LEARN_COLUMNS_MAX - 1 && count != 0; i++) {
        const int64_t c_ns = sorted[(count - 1) * percentiles[i] / 100];

        if (c_ns > fit->c_ns[fit->column_count - 1] + APART_NS) {
            fit->c_ns[fit->column_count++] = c_ns;
        }
    }
}

static double column(const struct learn_fit *fit, size_t k, const struct point *point)
{
    return (double)(fit->c_ns[k] > point->x ? fit->c_ns[k] : point->x);
}

static void sum_squares(const struct point *points, size_t count,
                        const struct learn_fit *fit, struct squares *squares)
{
    const double share = count != 0 ? 1 / (double)count : 0;

    *squares = (struct squares){0};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < fit->column_count; k++) {
            squares->means[k] += share * column(fit, k, &points[i]);
        }
        squares->y_mean += share * points[i].y;
    }
    for (size_t i = 0; i < count; i++) {
        const double y = points[i].y - squares->y_mean;
        double centred[LEARN_COLUMNS_MAX];

        squares->y_square += y * y;
        for (size_t k = 0; k < fit->column_count; k++) {
            centred[k] = column(fit, k, &points[i]) - squares->means[k];
            squares->moment[k] += centred[k] * y;
            for (size_t j = 0; j <= k; j++) {
                squares->gram[k][j] += centred[k] * centred[j];
            }
        }
    }
    for (size_t k = 0; k < fit->column_count; k++) {
        for (size_t j = 0; j < k; j++) {
            squares->gram[j][k] = squares->gram[k][j];
        }
    }
}

/* Moves weight from the column where it costs most to that where it costs least; false:
 * nothing is to be gained. */
static bool exchange(const struct squares *squares, struct learn_fit *fit)
{
    double slopes[LEARN_COLUMNS_MAX];
    size_t least = 0;
    size_t most = LEARN_COLUMNS_MAX;
    double curve = 0;
    double moved = 0;

    for (size_t k = 0; k < fit->column_count; k++) {
        slopes[k] = -squares->moment[k];
        for (size_t j = 0; j < fit->column_count; j++) {
            slopes[k] += squares->gram[k][j] * fit->weights[j];
        }
        least = slopes[k] < slopes[least] ? k : least;
        if (fit->weights[k] > 0 &&
            (most == LEARN_COLUMNS_MAX || slopes[k] > slopes[most])) {
            most = k;
        }
    }
    if (most == LEARN_COLUMNS_MAX || slopes[most] <= slopes[least]) {
        return false;
    }
    curve = squares->gram[most][most] + squares->gram[least][least] -
            2 * squares->gram[most][least];
    moved = curve > 0 ? (slopes[most] - slopes[least]) / curve : fit->weights[most];
    moved = moved < fit->weights[most] ? moved : fit->weights[most];
    if (moved <= 1e-9) {
        return false;
    }
    fit->weights[most] = moved < fit->weights[most] ? fit->weights[most] - moved : 0;
    fit->weights[least] += moved;
    return true;
}

static double sum_of(const struct squares *squares, const struct learn_fit *fit)
{
    double sum = squares->y_square;

    for (size_t k = 0; k < fit->column_count; k++) {
        sum -= 2 * fit->weights[k] * squares->moment[k];
        for (size_t j = 0; j < fit->column_count; j++) {
            sum += fit->weights[k] * fit->weights[j] * squares->gram[k][j];
        }
    }
    return sum > 0 ? sum : 0;
}

static double single_sum(const struct squares *squares, size_t k)
{
    const double sum = squares->y_square - 2 * squares->moment[k] + squares->gram[k][k];

    return sum > 0 ? sum : 0;
}

/* c = 0 alone, unless others explain much of the squares. @rest is what nothing
 * explains. */
static void fit_points(const struct point *points, size_t count, double rest,
                       double quiet_sum, struct fitted *fitted)
{
    const double share = 2 * log((double)count) / (double)count;
    struct learn_fit *fit = &fitted->fit;
    struct squares squares;
    size_t best = 0;

    find_columns(points, count, fit);
    sum_squares(points, count, fit, &squares);
    fitted->column_count = fit->column_count;
    for (size_t k = 0; k < fit->column_count; k++) {
        fitted->sums[k] = single_sum(&squares, k) + rest;
        best = fitted->sums[k] < fitted->sums[best] ? k : best;
    }
    fit->weights[best] = 1;
    for (unsigned i = 0; i < EXCHANGES_MAX && exchange(&squares, fit); i++) {
    }
    fitted->sum = sum_of(&squares, fit) + rest;
    if (count == 0 || fitted->sums[0] < quiet_sum ||
        fitted->sum >= fitted->sums[0] * (1 - (share > 0.05 ? share : 0.05))) {
        fit->column_count = 0;
        fitted->sum = fitted->sums[0];
        fit->gap_ns = squares.y_mean - squares.means[0];
        return;
    }
    fit->gap_ns = squares.y_mean;
    for (size_t k = 0; k < fit->column_count; k++) {
        fit->gap_ns -= fit->weights[k] * squares.means[k];
    }
}

/* The largest c that @bound does not refute, or that has some weight if @has_weights
 * and c is not 0 alone. *@is_last: nothing is refuted, so that it may never wait. */
static int64_t largest_of(const struct fitted *fitted, double bound, bool has_weights,
                          bool *is_last)
{
    static const double weight_min = 0.02;
    uint32_t largest = 0;

    for (uint32_t k = 1; k < fitted->column_count; k++) {
        if (fitted->sums[k] <= bound || (has_weights && fitted->fit.column_count != 0 &&
                                         fitted->fit.weights[k] > weight_min)) {
            largest = k;
        }
    }
    *is_last = fitted->column_count > 1 && largest + 1 == fitted->column_count;
    return fitted->fit.c_ns[largest];
}

/* --- Anchors --- */

static int64_t end_at(const struct learn_row *row, uint32_t place)
{
    for (size_t i = 0; i < LEARN_ROW_ENDS_MAX && row->places[i] != 0; i++) {
        if (row->places[i] == place) {
            return row->end_ns[i];
        }
    }
    return INT64_MIN;
}

/* The last end of a row but that of @place; INT64_MIN: there is no other. */
static int64_t end_without(const struct learn_row *row, uint32_t place)
{
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < LEARN_ROW_ENDS_MAX && row->places[i] != 0; i++) {
        if (row->places[i] != place && row->end_ns[i] > last) {
            last = row->end_ns[i];
        }
    }
    return last;
}

/* The rows as counted from the end of @place, in @points; how many, and the squares of
 * those that had nothing else to wait for. */
static size_t anchor(const struct learn_row *rows, size_t count, uint32_t place,
                     struct point *points, double *rest)
{
    size_t kept = 0;
    size_t gaps = 0;
    double mean = 0;

    *rest = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t end_ns = end_at(&rows[i], place);
        const int64_t held_ns = end_without(&rows[i], place);

        if (end_ns == INT64_MIN) {
            points[kept++] = (struct point){rows[i].held_ns, (double)rows[i].event_ns};
        } else if (held_ns != INT64_MIN) {
            points[kept++] = (struct point){
                held_ns - end_ns, (double)((int64_t)rows[i].event_ns - end_ns)};
        } else {
            const double gap = (double)((int64_t)rows[i].event_ns - end_ns);
            const double before = gap - mean;

            mean += before / (double)++gaps;
            *rest += before * (gap - mean);
        }
    }
    return kept;
}

/* Names in at least half of the rows, the most frequent ones first. */
static size_t find_anchors(const struct learn_row *rows, size_t count,
                           uint32_t anchors[LEARN_ANCHORS_MAX])
{
    uint32_t seen[LEARN_PLACES_MAX] = {0};
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < LEARN_ROW_ENDS_MAX && rows[i].places[k] != 0; k++) {
            seen[rows[i].places[k]]++;
        }
    }
    /* in the order of the first row that has them, which no order of traces changes */
    for (size_t i = 0; i < count && found < LEARN_ANCHORS_MAX; i++) {
        for (size_t k = 0; k < LEARN_ROW_ENDS_MAX && rows[i].places[k] != 0; k++) {
            const uint32_t place = rows[i].places[k];

            if (found < LEARN_ANCHORS_MAX && (size_t)seen[place] * 2 >= count) {
                anchors[found++] = place;
                seen[place] = 0;
            }
        }
    }
    return found;
}

/* What the fits do not refute; @fitted are that of P and those of the anchors. */
static void bound_holds(const struct fitted *fitted, size_t anchor_count, size_t count,
                        double stamp, struct learn_fit *fit)
{
    static const double quiet_row = 1e6; /* ns² */
    const double row = stamp * stamp / 4 > quiet_row ? stamp * stamp / 4 : quiet_row;
    double best = fitted[0].sum;
    double bound = 0;
    bool is_last = false;

    for (size_t i = 1; i <= anchor_count; i++) {
        if (fit->anchor == fitted[i].fit.anchor && fitted[i].sum < best) {
            best = fitted[i].sum;
        }
    }
    bound = best * (1 + 8 / (double)count) + (double)count * row;
    fit->hi_ns = largest_of(&fitted[0], bound, true, &fit->may_never_wait);
    fit->anchor_count = (uint32_t)anchor_count;
    for (size_t i = 1; i <= anchor_count; i++) {
        fit->anchors[i - 1].place = fitted[i].fit.anchor;
        fit->anchors[i - 1].hi_ns =
            largest_of(&fitted[i], bound, fitted[i].sum <= 1.05 * best, &is_last);
    }
}

void cpti_learn_fit(struct learn_row *rows, size_t count, bool has_anchors,
                    uint64_t stamp_ns, struct learn_fit *fit)
{
    const double stamp = (double)stamp_ns;
    const double quiet_sum =
        (double)count * (stamp * stamp / 2 > quiet ? stamp * stamp / 2 : quiet);
    struct fitted fitted[1 + LEARN_ANCHORS_MAX];
    struct point points[LEARN_ROWS_MAX] = {{0, 0}};
    uint32_t anchors[LEARN_ANCHORS_MAX];
    size_t anchor_count = has_anchors ? find_anchors(rows, count, anchors) : 0;
    size_t taken = 0;

    memset(fitted, 0, sizeof fitted);
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct point){rows[i].held_ns, (double)rows[i].event_ns};
    }
    fit_points(points, count, 0, quiet_sum, &fitted[0]);
    for (size_t i = 0; i < anchor_count; i++) {
        struct fitted *other = &fitted[i + 1];
        double rest = 0;
        const size_t kept = anchor(rows, count, anchors[i], points, &rest);

        other->fit.anchor = anchors[i];
        fit_points(points, kept, rest, quiet_sum, other);
        if (fitted[0].sum >= quiet_sum &&
            other->sum <
                fitted[taken].sum * (1 - 3 * log((double)count) / (double)count)) {
            taken = i + 1;
        }
    }
    *fit = fitted[taken].fit;
    bound_holds(fitted, anchor_count, count, stamp, fit);
}
