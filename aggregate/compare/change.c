/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * change.c - Welch's test with the variance that no change implies; see change.h
 *
 * The samples are independent, so the variances of their means add:
 *
 *      error² = e_base² + e_new²
 *      degrees = error⁴ / (e_base⁴ / (n_base - 1) + e_new⁴ / (n_new - 1))
 *
 * with e the standard error of a mean and n the effective sample size (Welch 1947,
 * Satterthwaite 1946). So do their third moments, which correct interval and p value
 * for skewness (interval.c). A sample with the variance of the other keeps its own n:
 * the fewer requests, the less its mean is normal, and the wider the interval.
 */
#include "aggregate/compare/change.h"

#include <math.h>

/* The share of samples in which a detectable change is found. */
#define POWER 0.8

void cpti_change_share_variance(struct cpt_mean *base, struct cpt_mean *other,
                                double base_units, double new_units)
{
    struct cpt_mean *smaller = base_units < new_units ? base : other;
    const struct cpt_mean *larger = smaller == base ? other : base;
    const double ratio = fmin(base_units, new_units) / fmax(base_units, new_units);
    const double error_ns = larger->error_ns * sqrt((1 - ratio) / ratio);

    if (ratio < 1 && error_ns > smaller->error_ns && isfinite(error_ns)) {
        smaller->error_ns = error_ns;
        smaller->deviation_ns = error_ns * sqrt(smaller->effective_count);
        smaller->skewness = NAN; /* see change.h */
    }
}

static double degrees_of(const struct cpt_mean *base, const struct cpt_mean *other)
{
    const double b = base->error_ns * base->error_ns;
    const double o = other->error_ns * other->error_ns;
    double below = 0;

    /* relative to the larger, so that no fourth power overflows or underflows */
    const double scale = b > o ? b : o;
    const double bs = scale > 0 ? b / scale : 0;
    const double os = scale > 0 ? o / scale : 0;

    if (bs > 0) {
        below += bs * bs / (base->effective_count - 1);
    }
    if (os > 0) {
        below += os * os / (other->effective_count - 1);
    }
    return below > 0 ? (bs + os) * (bs + os) / below : INFINITY;
}

/* The third central moment of a mean in units of error_ns³. */
static double cube_of(const struct cpt_mean *mean, double error_ns)
{
    const double part = mean->error_ns / error_ns;

    return mean->error_ns > 0 ? mean->skewness * part * part * part : 0;
}

/* Of the difference; NAN if unknown. Samples of the same skewness cancel. */
static double skewness_of(const struct cpt_mean *base, const struct cpt_mean *other)
{
    const double error_ns = hypot(base->error_ns, other->error_ns);

    return cube_of(other, error_ns) - cube_of(base, error_ns);
}

struct cpt_change cpti_change_of(const struct cpt_mean *base,
                                 const struct cpt_mean *other, double confidence)
{
    struct cpt_change change = {.base_ns = base->mean_ns,
                                .new_ns = other->mean_ns,
                                .delta_ns = other->mean_ns - base->mean_ns,
                                .error_ns = hypot(base->error_ns, other->error_ns)};

    if (!isfinite(change.error_ns) || base->effective_count <= 1 ||
        other->effective_count <= 1) {
        change.degrees = 0;
        change.p_value = 1;
    } else if (change.error_ns == 0) {
        change.degrees = INFINITY;
        change.p_value = change.delta_ns == 0 ? 1 : 0;
    } else {
        change.degrees = degrees_of(base, other);
        change.p_value = cpt_p_value(change.delta_ns, change.error_ns,
                                     skewness_of(base, other), change.degrees);
    }
    cpt_interval(change.delta_ns, change.error_ns, skewness_of(base, other),
                 change.degrees, confidence, &change.low_ns, &change.high_ns);
    return change;
}

double cpti_change_detectable_ns(const struct cpt_change *change, double p)
{
    if (!isfinite(change->error_ns) || !(change->degrees > 0)) {
        return INFINITY;
    }
    if (change->error_ns == 0) {
        return 0;
    }
    return change->error_ns * (cpt_student_quantile(1 - p / 2, change->degrees) +
                               cpt_student_quantile(POWER, change->degrees));
}

bool cpti_change_is_tested(const struct cpt_change *self, double present_count)
{
    return present_count >= CPT_DIFF_TESTED_MIN &&
           (self->base_ns > 0 || self->new_ns > 0);
}

enum cpt_diff_doubt cpti_change_doubt(double base_count, double new_count,
                                      double base_present, double new_present)
{
    if (fmin(base_count, new_count) < CPT_STATS_PRESENT_MIN) {
        return CPT_DIFF_FEW_REQUESTS;
    }
    return fmax(base_present, new_present) < CPT_STATS_PRESENT_MIN ? CPT_DIFF_RARE
                                                                   : CPT_DIFF_TRUSTED;
}

const char *cpt_diff_doubt_text(enum cpt_diff_doubt doubt)
{
    switch (doubt) {
    case CPT_DIFF_FEW_REQUESTS:
        return "one side has fewer than 30 requests, by their weights";
    case CPT_DIFF_RARE:
        return "fewer than 30 requests of each side had time of it";
    case CPT_DIFF_FEW_CLUSTERS:
        return "one side, or what had time of it, is worth fewer than 10 clusters";
    case CPT_DIFF_TRUSTED:
        break;
    }
    return "";
}
