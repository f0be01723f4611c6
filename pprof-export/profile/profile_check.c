/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_check.c - checks before writing what pprof will check when it reads
 *
 * pprof refuses a profile whose first string is not empty, whose ids are 0 or not
 * unique, or whose samples have another number of values than there are types or refer
 * to something that does not exist. Ids and value counts are right by construction
 * (they are indices and an array), so the checks are of the indices, and of the
 * averages: those of critical paths must add up to the mean latency, which no reader
 * could find out.
 */
#include "pprof-export/profile/profile_model.h"

static cpt_status check_strings(const struct cpti_profile *profile,
                                struct cpt_error *error)
{
    const size_t count = profile->strings.count;

    if (count == 0 || cpti_strings_at(&profile->strings, 0).bytes != 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "the first string is not empty");
    }
    for (int i = 0; i < CPTI_VALUE_COUNT; i++) {
        if (profile->types[i].type == 0 || profile->types[i].type >= count ||
            profile->types[i].unit == 0 || profile->types[i].unit >= count) {
            return cpt_error_set(error, CPT_INVALID, 0, "sample type %d has no name",
                                 i);
        }
    }
    for (size_t i = 0; i < profile->comment_count; i++) {
        if (profile->comments[i] >= count) {
            return cpt_error_set(error, CPT_INVALID, 0, "comment %zu does not exist",
                                 i);
        }
    }
    return CPT_OK;
}

static cpt_status check_functions(const struct cpti_profile *profile,
                                  struct cpt_error *error)
{
    const size_t count = profile->strings.count;

    for (size_t i = 0; i < profile->function_count; i++) {
        if (profile->functions[i].name == 0 || profile->functions[i].name >= count ||
            profile->functions[i].filename >= count) {
            return cpt_error_set(error, CPT_INVALID, 0, "function %zu has no name",
                                 i + 1);
        }
    }
    for (uint32_t i = 1; i < cpt_tree_node_count(profile->tree); i++) {
        if (profile->node_functions[i] >= profile->function_count) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "location %zu names a function that does not exist",
                                 (size_t)profile->node_functions[i] + 1);
        }
    }
    return CPT_OK;
}

static cpt_status check_samples(const struct cpti_profile *profile,
                                struct cpt_error *error)
{
    uint64_t sums[CPTI_VALUE_COUNT] = {0};

    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct cpti_profile_sample *sample = &profile->samples[i];

        if (sample->node == CPT_TREE_ROOT ||
            sample->node >= cpt_tree_node_count(profile->tree)) {
            return cpt_error_set(error, CPT_INVALID, 0, "sample %zu has no stack", i);
        }
        for (int j = 0; j < CPTI_VALUE_COUNT; j++) {
            if (sample->values[j] > CPT_PPROF_TOTAL_MAX - sums[j]) {
                return cpt_error_set(error, CPT_LIMIT, 0,
                                     "the values of type %d add up to more than 2^62",
                                     j);
            }
            sums[j] += sample->values[j];
        }
    }
    if (profile->kind == CPT_PPROF_CRITICAL_PATH &&
        sums[CPTI_VALUE_AVERAGE] != profile->mean_ns) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "the samples add up to %llu ns, the mean latency is %llu ns",
            (unsigned long long)sums[CPTI_VALUE_AVERAGE],
            (unsigned long long)profile->mean_ns);
    }
    return CPT_OK;
}

cpt_status cpti_profile_check(const struct cpti_profile *profile,
                              struct cpt_error *error)
{
    cpt_status status = check_strings(profile, error);

    if (status != CPT_OK) {
        return status;
    }
    status = check_functions(profile, error);
    return status == CPT_OK ? check_samples(profile, error) : status;
}
