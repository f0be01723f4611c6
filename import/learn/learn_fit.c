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
 */
#include "import/learn/learn_inside.h"

#include <math.h>
#include <stdlib.h>

enum { EXCHANGES_MAX = 200, ANCHORS_MAX = 3, APART_NS = 1000 };

static const unsigned percentiles[LEARN_COLUMNS_MAX - 1] = {0,  5,  10, 20, 30, 40, 50,
                                                            60, 70, 80, 90, 95, 100};

/* The least sum of squares of a row that is worth explaining, in ns². */
static const double quiet = 4e6;

/* What is fitted: how long a row was held, and when its event came. */
struct point {
    int64_t x;
    double y;
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

/* c = 0 alone, unless others explain much of the squares; the sum that is left, with
 * @rest, that nothing explains. */
static double fit_points(const struct point *points, size_t count, double rest,
                         double quiet_sum, struct learn_fit *fit)
{
    const double share = 2 * log((double)count) / (double)count;
    struct squares squares;
    double alone = 0;
    double sum = 0;
    size_t best = 0;

    find_columns(points, count, fit);
    sum_squares(points, count, fit, &squares);
    alone = single_sum(&squares, 0) + rest;
    for (size_t k = 1; k < fit->column_count; k++) {
        best = single_sum(&squares, k) < single_sum(&squares, best) ? k : best;
    }
    fit->weights[best] = 1;
    for (unsigned i = 0; i < EXCHANGES_MAX && exchange(&squares, fit); i++) {
    }
    sum = sum_of(&squares, fit) + rest;
    if (count == 0 || alone < quiet_sum ||
        sum >= alone * (1 - (share > 0.05 ? share : 0.05))) {
        fit->column_count = 0;
        sum = alone;
        fit->gap_ns = squares.y_mean - squares.means[0];
        return sum;
    }
    fit->gap_ns = squares.y_mean;
    for (size_t k = 0; k < fit->column_count; k++) {
        fit->gap_ns -= fit->weights[k] * squares.means[k];
    }
    return sum;
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
                           uint32_t anchors[ANCHORS_MAX])
{
    uint32_t seen[LEARN_PLACES_MAX] = {0};
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < LEARN_ROW_ENDS_MAX && rows[i].places[k] != 0; k++) {
            seen[rows[i].places[k]]++;
        }
    }
    /* in the order of the first row that has them, which no order of traces changes */
    for (size_t i = 0; i < count && found < ANCHORS_MAX; i++) {
        for (size_t k = 0; k < LEARN_ROW_ENDS_MAX && rows[i].places[k] != 0; k++) {
            const uint32_t place = rows[i].places[k];

            if (found < ANCHORS_MAX && (size_t)seen[place] * 2 >= count) {
                anchors[found++] = place;
                seen[place] = 0;
            }
        }
    }
    return found;
}

void cpti_learn_fit(struct learn_row *rows, size_t count, bool has_anchors,
                    uint64_t stamp_ns, struct learn_fit *fit)
{
    const double stamp = (double)stamp_ns;
    const double quiet_sum =
        (double)count * (stamp * stamp / 2 > quiet ? stamp * stamp / 2 : quiet);
    struct point points[LEARN_ROWS_MAX];
    uint32_t anchors[ANCHORS_MAX];
    size_t anchor_count = 0;
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        points[i] = (struct point){rows[i].held_ns, (double)rows[i].event_ns};
    }
    sum = fit_points(points, count, 0, quiet_sum, fit);
    anchor_count =
        has_anchors && sum >= quiet_sum ? find_anchors(rows, count, anchors) : 0;
    for (size_t i = 0; i < anchor_count; i++) {
        struct learn_fit other = {.anchor = anchors[i]};
        double rest = 0;
        const size_t kept = anchor(rows, count, anchors[i], points, &rest);
        const double left = fit_points(points, kept, rest, quiet_sum, &other);

        if (left < sum * (1 - 3 * log((double)count) / (double)count)) {
            *fit = other;
            sum = left;
        }
    }
}
