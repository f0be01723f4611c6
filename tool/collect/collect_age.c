/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_age.c - how old what was collected is; see collect_age.h */
#include "tool/collect/collect_age.h"

#include <inttypes.h>

static const unsigned bounds_s[CPTI_COLLECT_AGES] = {1,  2,  4,  6,  8,   10,  12,
                                                     15, 20, 30, 60, 120, 300, 900};

static const double ns_per_s = 1e9;

void cpti_collect_age_note(struct cpti_collect_ages *ages, uint64_t end_ns,
                           uint64_t now_ns)
{
    const double age_s = now_ns > end_ns ? (double)(now_ns - end_ns) / ns_per_s : 0;
    unsigned at = 0;

    while (at < CPTI_COLLECT_AGES && age_s > bounds_s[at]) {
        at++;
    }
    ages->counts[at]++;
    ages->count++;
    ages->seconds += age_s;
}

void cpti_collect_age_metrics(const struct cpti_collect_ages *ages, FILE *file)
{
    uint64_t below = 0;

    (void)fputs(
        "# HELP cpt_collect_record_age_seconds From the end of a request to its "
        "record in the log.\n"
        "# TYPE cpt_collect_record_age_seconds histogram\n",
        file);
    for (unsigned i = 0; i < CPTI_COLLECT_AGES; i++) {
        below += ages->counts[i];
        (void)fprintf(file,
                      "cpt_collect_record_age_seconds_bucket{le=\"%u\"} %" PRIu64 "\n",
                      bounds_s[i], below);
    }
    (void)fprintf(file,
                  "cpt_collect_record_age_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                  "cpt_collect_record_age_seconds_sum %.3f\n"
                  "cpt_collect_record_age_seconds_count %" PRIu64 "\n",
                  ages->count, ages->seconds, ages->count);
}

unsigned cpti_collect_age_within(const struct cpti_collect_ages *ages, double part)
{
    uint64_t below = 0;

    for (unsigned i = 0; i < CPTI_COLLECT_AGES; i++) {
        below += ages->counts[i];
        if ((double)below >= part * (double)ages->count) {
            return bounds_s[i];
        }
    }
    return 0;
}
