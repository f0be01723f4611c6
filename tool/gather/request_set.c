/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* request_set.c - see request_set.h */
#include "tool/gather/request_set.h"

#include "tool/base/output.h"
#include "tool/requests/diagnosis.h"
#include "tool/requests/workers.h"
#include "wire/cpt_log.h"

#include <inttypes.h>

/* Says that no request was selected, and which term left none, as 'cpt diff' does. */
static int say_none(const struct cpti_request_set *set)
{
    char left[CPTI_LEFT_BYTES];
    const bool is_diagnosed = cpti_fold_left_text(&set->fold.counts, left)[0] == '\0' &&
                              cpti_selection_has_terms(&set->selection) &&
                              cpti_diagnosis_is_possible(set->paths, set->path_count);
    const int status = cpti_failed(
        "no request is selected for %s, of %" PRIu64 " record%s%s%s", set->what,
        set->fold.counts.record_count, set->fold.counts.record_count == 1 ? "" : "s",
        left, is_diagnosed ? "; left after each term:" : "");

    if (is_diagnosed) {
        cpti_diagnosis_print(&set->selection, set->paths, set->path_count);
    }
    return status;
}

/* Tells what does not count. */
static void tell_left(const struct cpti_request_set *set)
{
    if (set->fold.sample.met_count > set->fold.sample.count) {
        cpti_warn("%s: a sample of %zu of %" PRIu64 " requests", set->what,
                  set->fold.sample.count, set->fold.sample.met_count);
    }
    if (set->fold.counts.fragment_count > 0) {
        cpti_warn("%s: %" PRIu64 " fragments are left out, of traces whose root was "
                  "lost; --include-fragments takes them",
                  set->what, set->fold.counts.fragment_count);
    }
    if (set->fold.counts.events_count > 0) {
        cpti_warn("%s: %" PRIu64 " records of event logs are left out, as there are "
                  "others; --evidence takes them",
                  set->what, set->fold.counts.events_count);
    }
    if (set->fold.counts.duplicate_count > 0) {
        cpti_warn("%s: %" PRIu64 " records were given before, and do not count again",
                  set->what, set->fold.counts.duplicate_count);
    }
}

/* Draws the sample; reads what is in it later. */
static int take_later(void *context, const struct cpti_request *request)
{
    (void)context;
    (void)request;
    return CPTI_EXIT_DONE;
}

int cpti_request_set_read(struct cpti_request_set *set,
                          const struct cpti_arguments *arguments)
{
    struct cpti_selection *selection = &set->selection;
    struct cpti_stream stream = {
        .folds = &set->fold,
        .fold_count = 1,
        .paths = set->paths,
        .path_count = set->path_count,
        .seen_max = selection->seen_max,
        .stops_at_error = cpti_has(arguments, "stop-at-error"),
        .goes_on = true,
    };
    bool is_usable = false;
    int status = cpti_gather_percentiles(&selection, 1, set->paths, set->path_count,
                                         cpti_processors());

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    set->fold = (struct cpti_fold){.selection = selection,
                                   .take = take_later,
                                   .counts_once = !selection->keeps_duplicates};
    cpti_fold_sample(&set->fold, selection->seed);
    status = cpti_stream_run(&stream, &is_usable);
    if (status != CPTI_EXIT_DONE && stream.stops_at_error) {
        cpti_sample_deinit(&set->fold.sample);
        set->fold.sample.count = 0;
        return status;
    }
    tell_left(set);
    if (set->fold.sample.count == 0 && status == CPTI_EXIT_DONE) {
        return say_none(set);
    }
    return status;
}

void cpti_request_set_deinit(struct cpti_request_set *set)
{
    cpti_selection_deinit(&set->selection);
    cpti_sample_deinit(&set->fold.sample);
}
