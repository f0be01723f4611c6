/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * interval.c - intervals and p values of a mean, also of skewed data
 *
 * T = value / error has Student's distribution if the data are normal. Times are not:
 * they are skewed to the right, and so a mean is nearly always too small together with
 * its error. Then Student's interval ends too early on the right side. Hall (1992, On
 * the removal of skewness by transformation) removes the skewness L of the mean by a
 * polynomial that rises everywhere and so has an inverse:
 *
 *      g(T) = T + L T²/3 + L² T³/27 + L/6  =  ((1 + L T/3)³ - 1) / L + L/6
 *      g⁻¹(y) = 3/L · (cbrt(1 + L (y - L/6)) - 1)
 *
 * Hall's interval alone is too short on the other side. So each end of an interval is
 * the outer one of Student's and Hall's, with the quantile t of Student:
 *
 *      low  = min(value - t·error, value - error·g⁻¹(t))
 *      high = max(value + t·error, value - error·g⁻¹(-t))
 *
 * 0 is below this interval if both T and g(T) are above t, and above it if both are
 * below -t. So the p value is that of the T or g(T) nearer to 0, and 1 if their signs
 * differ. Interval and p value never contradict each other.
 */
#include "aggregate/cpt_stats.h"

#include <math.h>
#include <stdbool.h>

/* g⁻¹. With c³ = 1 + u, c - 1 is u / (c² + c + 1), which needs no division by L. */
static double skewed_quantile(double y, double skewness)
{
    const double shifted = y - skewness / 6;
    const double root = cbrt(1 + skewness * shifted);

    return 3 * shifted / (root * root + root + 1);
}

/* g */
static double unskewed(double t, double skewness)
{
    const double part = skewness * t / 3;

    return t * (1 + part + part * part / 3) + skewness / 6;
}

static bool is_estimate(double error, double degrees)
{
    return isfinite(error) && error > 0 && degrees > 0;
}

void cpt_interval(double value, double error, double skewness, double degrees,
                  double confidence, double *low, double *high)
{
    double below = INFINITY; /* from the value to the lower end, in errors */
    double above = INFINITY;

    if (error == 0) {
        *low = value;
        *high = value;
        return;
    }
    if (is_estimate(error, degrees)) {
        const double t = cpt_student_quantile(0.5 + confidence / 2, degrees);

        below = t;
        above = t;
        if (isfinite(skewness)) {
            below = fmax(t, skewed_quantile(t, skewness));
            above = fmax(t, -skewed_quantile(-t, skewness));
        }
    }
    *low = value - error * below;
    *high = value + error * above;
}

double cpt_p_value(double value, double error, double skewness, double degrees)
{
    const double t = value / error;
    double nearer = t;

    if (error == 0) {
        return value == 0 ? 1 : 0;
    }
    if (!is_estimate(error, degrees)) {
        return 1;
    }
    if (isfinite(skewness)) {
        const double straight = unskewed(t, skewness);

        nearer = t > 0 ? fmax(fmin(t, straight), 0) : fmin(fmax(t, straight), 0);
    }
    return fmin(1, 2 * cpt_student_cdf(-fabs(nearer), degrees));
}

void cpt_mean_interval(const struct cpt_mean *mean, double confidence, double *low_ns,
                       double *high_ns)
{
    cpt_interval(mean->mean_ns, mean->error_ns, mean->skewness,
                 mean->effective_count - 1, confidence, low_ns, high_ns);
}
