/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * change.h - the change of one mean between two samples, and whether to trust it
 *
 * Welch's test takes each sample's variance from that sample. Between a small sample
 * and a large one this fails in the worst way: a stack that one request of a hundred
 * has is probably absent from a sample of fifty, and then its variance there is 0,
 * which makes a certainty of nothing. But if nothing has changed, the small sample has
 * the variance of the large one, which is known well. So the variance of one request in
 * the smaller sample, of n requests beside N, is
 *
 *      max(its own, (1 - n/N) · that of the larger sample)
 *
 * Own variance counts if it is more, since a heavy request raises the mean and the
 * variance together. The factor lets the rule fade out where it is not needed: samples
 * of the same size are compared by Welch's test.
 *
 * Skewness is then unknown, so interval and p value are Student's: the correction for
 * it is for errors that rise and fall with their mean. A borrowed one does not; with
 * the correction hardly any improvement in a small sample would be found.
 *
 * Threads: any; all functions work on values.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "aggregate/cpt_diff.h"

#include <stdbool.h>

/* Applies the rule above to the means of one quantity in two samples, which consist of
 * @base_units and @new_units independent requests or clusters. */
void cpti_change_share_variance(struct cpt_mean *base, struct cpt_mean *other,
                                double base_units, double new_units);

/* The change from @base to @other with its interval and p value; see cpt_diff.h. */
struct cpt_change cpti_change_of(const struct cpt_mean *base,
                                 const struct cpt_mean *other, double confidence);

/* The smallest change that a test at level @p finds in four of five samples: its error
 * is that of @change. Infinite if the error is unknown. */
double cpti_change_detectable_ns(const struct cpt_change *change, double p);

/* Whether to test the self time of a row that @present_count requests had, of both
 * samples together. Rows that no request spent time of its own in are not tested: they
 * cannot differ, and would make the q values of all others larger. */
bool cpti_change_is_tested(const struct cpt_change *self, double present_count);

/*
 * Why the test of a row must not be trusted, by its requests alone: @base_count and
 * @new_count are the effective counts of all requests, the others those of the requests
 * that had the stack.
 */
enum cpt_diff_doubt cpti_change_doubt(double base_count, double new_count,
                                      double base_present, double new_present);

#endif
