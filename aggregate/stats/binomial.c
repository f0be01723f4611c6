/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * binomial.c - ranks by the binomial distribution; see cpt_quantile.h
 *
 * Probabilities are added from the far end of the tail inwards. One of them is computed
 * by itself (Loader's formula), its neighbours by their ratios:
 *
 *      P(k+1) / P(k) = (n-k)/(k+1) · p/(1-p)
 *
 * Ten standard deviations from the middle a tail is below 1e-20, so sums begin there.
 * They take a number of steps proportional to the standard deviation. Where that is
 * above DEVIATION_MAX, the normal distribution takes their place, with the correction
 * for skewness, and rounded outwards by one rank.
 */
#include "aggregate/cpt_quantile.h"

#include <math.h>

#define DEVIATION_MAX 2000.0
#define DEVIATIONS    10.0
#define ROOT_TWO_PI   2.50662827463100050242

/* log n! - log(sqrt(2 π n) (n/e)^n): the error of Stirling's formula. */
static double stirling_error(double n)
{
    const double square = n * n;
    int sign = 0;

    if (n < 16) {
        return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - log(ROOT_TWO_PI);
    }
    return (1.0 / 12 -
            (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) /
           n;
}

/* x log(x / mean) + mean - x, without cancellation where both are near. */
static double deviance(double x, double mean)
{
    const double v = (x - mean) / (x + mean);
    double power = 2 * x * v;
    double sum = (x - mean) * v;

    if (fabs(v) > 0.1) {
        return x * log(x / mean) + mean - x;
    }
    for (int i = 1; i < 100; i++) {
        double next;

        power *= v * v;
        next = sum + power / (2 * i + 1);
        if (next == sum) {
            break;
        }
        sum = next;
    }
    return sum;
}

/* log P(B = k), B binomial of @n trials; 0 < @p < 1 (Loader 2000: exact where n is
 * large, since only deviations from the mean enter). */
static double log_binomial(double n, double k, double p)
{
    if (k == 0) {
        return n * log1p(-p);
    }
    if (k == n) {
        return n * log(p);
    }
    return stirling_error(n) - stirling_error(k) - stirling_error(n - k) -
           deviance(k, n * p) - deviance(n - k, n * (1 - p)) +
           0.5 * log(n / k / (n - k)) - log(ROOT_TWO_PI);
}

/* The rank by the normal distribution, with the first term of Cornish and Fisher. */
static uint64_t normal_rank(double count, double probability, double deviation,
                            double tail)
{
    const double z = cpt_normal_quantile(tail);
    const double skew = (1 - 2 * probability) * (z * z - 1) / 6;
    const double rank = floor(count * probability + z * deviation + skew - 0.5) - 1;

    return rank > 0 ? (uint64_t)rank : 0;
}

uint64_t cpt_binomial_rank(uint64_t count, double probability, double tail)
{
    const double n = (double)count;
    const double mean = n * probability;
    const double deviation = sqrt(mean * (1 - probability));
    uint64_t at;
    double chance;
    double sum = 0;

    if (count == 0 || !(probability > 0)) {
        return 0; /* B is 0 */
    }
    if (probability >= 1) {
        return count;
    }
    if (deviation > DEVIATION_MAX) {
        return normal_rank(n, probability, deviation, tail);
    }
    at = mean > DEVIATIONS * deviation + DEVIATIONS
             ? (uint64_t)(mean - DEVIATIONS * deviation - DEVIATIONS)
             : 0;
    chance = exp(log_binomial(n, (double)at, probability));
    while (at < count && sum + chance <= tail) {
        sum += chance; /* P(B <= at) */
        chance *=
            (n - (double)at) / ((double)at + 1) * (probability / (1 - probability));
        at++;
    }
    return at;
}
