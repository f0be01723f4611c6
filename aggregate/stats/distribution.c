/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * distribution.c - the normal and Student's distribution, and their inverses
 *
 * Everything is computed from the upper tail P(X > t), t >= 0, which keeps its
 * precision where the distribution function itself is nearly 1. Student's tail with v
 * degrees of freedom is half a regularised incomplete beta function,
 *
 *      P(T > t) = I(v / (v + t²); v/2, 1/2) / 2
 *
 * which is computed as a continued fraction (by the method of Lentz, from the front).
 * It converges fast where its argument lies below the mean of the beta distribution; on
 * the other side it is 1 minus the tail of the mirrored distribution.
 *
 * With many degrees of freedom the fraction takes ever more steps, and an expansion in
 * their number ever fewer terms. With s = v / (v + t²) = exp(-z) the tail is
 *
 *      ∫ s^(v/2 - 1) (1 - s)^(-1/2) ds  =  ∫ exp(-T z) (2 sinh(z/2))^(-1/2) dz
 *
 * up to a factor, from z = log(1 + t²/v) to infinity, with T = v/2 - 1/4. The power of
 * sinh is z^(-1/2) times a series in z², and each term of it gives an incomplete gamma
 * function of T z, the first of them erfc(sqrt(T z)). The factor is the same sum from
 * z = 0. (DiDonato and Morris, ACM TOMS 708, for b = 1/2.)
 *
 * Inverses are found by Newton's method on the logarithm of the tail, between bounds
 * that close in; a step that would leave them is replaced by bisection. The start is
 * the normal quantile with the correction for v of Cornish and Fisher; from there one
 * to three steps suffice for all v that occur in practice.
 *
 * Above a million degrees of freedom, Student's t multiplied by a factor close to 1 is
 * taken as normal; the error is below 1e-11.
 */
#include "aggregate/cpt_stats.h"

#include <math.h>

enum { STEPS_MAX = 400, FRACTION_STEPS_MAX = 10000, SERIES_TERMS = 11 };

/* From these degrees on, and up to this log(1 + t²/v), the series has all digits. */
#define SERIES_FROM_DEGREES 20
#define SERIES_REACH        1.0

#define ROOT_HALF           0.70710678118654752440
#define ROOT_PI             1.77245385090551602730
#define ROOT_TWO_PI         2.50662827463100050242
#define NORMAL_FROM_DEGREES 1e6

static double normal_tail(double z)
{
    return 0.5 * erfc(z * ROOT_HALF);
}

static double normal_density(double z)
{
    return exp(-0.5 * z * z) / ROOT_TWO_PI;
}

/* --- The incomplete beta function --- */

/* log Γ(a + 1/2) - log Γ(a), without cancellation for large a. */
static double log_gamma_step(double a)
{
    const double b = 1 / a;
    int sign = 0;

    if (a > 100) {
        return 0.5 * log(a) - b / 8 * (1 - b * b / 24 * (1 - b * b * 3 / 10));
    }
    return lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);
}

static double away_from_zero(double value)
{
    return fabs(value) < 1e-300 ? 1e-300 : value;
}

/* The continued fraction of I(x; a, b) without the factor in front of it. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double fraction = d;

    for (int m = 1; m <= FRACTION_STEPS_MAX; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double factor = 0;

        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        fraction *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        factor = d * c;
        fraction *= factor;
        if (fabs(factor - 1) < 1e-15) {
            break;
        }
    }
    return fraction;
}

/* --- Student's distribution --- */

/* Σ c(n) Γ(1/2 + 2n, u) / (T^2n sqrt(π)), where u = T z and
 * Σ c(n) z^2n = (sinh(z/2) / (z/2))^(-1/2). @gamma and @power are the first Γ(1/2, u)
 * and u^(1/2) exp(-u), also divided by sqrt(π). */
static double gamma_series(double u, double gamma, double power, double t)
{
    static const double factors[SERIES_TERMS] = {1,
                                                 -1.0 / 48,
                                                 1.0 / 2560,
                                                 -61.0 / 7741440,
                                                 1261.0 / 7431782400,
                                                 -3.805064191721906e-09,
                                                 8.748377596315407e-11,
                                                 -2.044523359411974e-12,
                                                 4.833351797967704e-14,
                                                 -1.152434101767386e-15,
                                                 2.76605204359937e-17};
    double sum = gamma;
    double scale = 1;

    for (int n = 1; n < SERIES_TERMS; n++) {
        double term = 0;

        for (int half = 0; half < 2; half++) { /* Γ(s + 1) = s Γ(s) + u^s e^-u */
            const double s = 2 * n - 1.5 + half;

            gamma = s * gamma + power;
            power *= u;
        }
        scale /= t * t;
        term = factors[n] * gamma * scale;
        sum += term;
        if (fabs(term) < 1e-17 * sum) {
            break;
        }
    }
    return sum;
}

/* The tail where log(1 + t²/v) is @z. */
static double series_tail(double z, double degrees)
{
    const double t = degrees / 2 - 0.25;
    const double u = t * z;
    const double root = sqrt(u);

    return 0.5 * gamma_series(u, erfc(root), root * exp(-u) / ROOT_PI, t) /
           gamma_series(0, 1, 0, t);
}

static double student_density(double t, double degrees)
{
    const double log_front =
        log_gamma_step(degrees / 2) - 0.5 * log(degrees * 3.14159265358979323846);

    return exp(log_front - (degrees + 1) / 2 * log1p(t * t / degrees));
}

static double student_tail(double t, double degrees)
{
    const double a = degrees / 2;
    const double ratio = t / degrees * t; /* t² / v */
    const double x = 1 / (1 + ratio);     /* v / (v + t²) */
    const double y = isinf(ratio) ? 1 : ratio / (1 + ratio);
    double front = 0;

    if (t == 0) {
        return 0.5;
    }
    if (degrees >= SERIES_FROM_DEGREES && ratio < 1 && log1p(ratio) <= SERIES_REACH) {
        return series_tail(log1p(ratio), degrees);
    }
    /* log of x^a y^(1/2) / B(a, 1/2), where Γ(1/2) = sqrt(π) */
    front = exp(log_gamma_step(a) - 0.5 * log(3.14159265358979323846) -
                a * log1p(ratio) + 0.5 * log(y));
    if (x < (a + 1) / (a + 2.5)) {
        return 0.5 * front * beta_fraction(x, a, 0.5) / a;
    }
    return 0.5 - 0.5 * front * beta_fraction(y, 0.5, a) / 0.5;
}

/* The normal tail at z is Student's at t, to order 1/v². */
static double nearly_normal(double t, double degrees)
{
    return t * (1 - 1 / (4 * degrees)) / sqrt(1 + t * t / (2 * degrees));
}

/* --- Inverses --- */

static double tail(double t, double degrees)
{
    return isinf(degrees) ? normal_tail(t) : student_tail(t, degrees);
}

static double density(double t, double degrees)
{
    return isinf(degrees) ? normal_density(t) : student_density(t, degrees);
}

/* The t >= 0 with tail(t) = @wanted (0 < wanted <= 1/2), from @start on. */
static double inverse_tail(double wanted, double degrees, double start)
{
    double low = 0;
    double high = INFINITY;
    double t = start;

    for (int step = 0; step < STEPS_MAX; step++) {
        const double found = tail(t, degrees);
        double next = 0;

        if (found > wanted) {
            low = t;
        } else {
            high = t;
        }
        next = t + found / density(t, degrees) * log(found / wanted);
        if (fabs(next - t) <= 1e-8 * t) {
            return next; /* the error is of the order of the square of the step */
        }
        if (!(next > low && next < high)) {
            /* t may have to grow by many powers of ten where v is below 1 */
            next = isinf(high) ? 4 * t + 1
                               : (low > 1 ? sqrt(low) * sqrt(high) : (low + high) / 2);
        }
        if (isinf(next)) {
            return next;
        }
        t = next;
    }
    return t;
}

/* A rough start, from the tail's first asymptotic term or the tangent in the middle. */
static double normal_start(double upper)
{
    const double r = sqrt(-2 * log(upper));

    return r > 1.2 ? r - log(r * ROOT_TWO_PI) / r : 1.25 * (1 - 2 * upper);
}

static double normal_inverse_tail(double upper)
{
    const double start = normal_start(upper);

    return upper == 0.5 ? 0 : inverse_tail(upper, INFINITY, start > 0 ? start : 0);
}

/* The first terms of Cornish and Fisher for Student's t. */
static double student_start(double z, double degrees)
{
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;

    return z + (z3 + z) / (4 * degrees) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

static double student_inverse_tail(double upper, double degrees)
{
    const double z = normal_inverse_tail(upper);

    if (upper == 0.5) {
        return 0;
    }
    if (degrees > NORMAL_FROM_DEGREES) {
        return student_start(z, degrees);
    }
    return inverse_tail(upper, degrees, degrees < 3 ? z : student_start(z, degrees));
}

/* --- Public --- */

double cpt_normal_cdf(double z)
{
    return normal_tail(-z);
}

double cpt_normal_quantile(double probability)
{
    if (probability < 0.5) {
        return -normal_inverse_tail(probability);
    }
    return normal_inverse_tail(1 - probability);
}

double cpt_student_cdf(double t, double degrees)
{
    double upper = 0;

    if (degrees > NORMAL_FROM_DEGREES) {
        return normal_tail(-(isinf(degrees) ? t : nearly_normal(t, degrees)));
    }
    upper = student_tail(fabs(t), degrees);
    return t < 0 ? upper : 1 - upper;
}

double cpt_student_quantile(double probability, double degrees)
{
    if (probability < 0.5) {
        return -student_inverse_tail(probability, degrees);
    }
    return student_inverse_tail(1 - probability, degrees);
}
