/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* request_set.c - see request_set.h */
#include "tool/gather/request_set.h"

#include "tool/base/output.h"
#include "tool/requests/diagnosis.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/log_walk.h"
#include "tool/requests/workers.h"
#include "wire/cpt_log.h"

#include <inttypes.h>

/* Whether the record was not met before. Sets *@status if it fails. */
static bool is_new(struct cpti_log_walk *walk, const struct cpt_record *record,
                   int *status)
{
    struct cpti_request_set *set = walk->context;
    struct cpti_seen_mark mark;
    enum cpti_seen_result result;

    if (set->seen == NULL) {
        return true;
    }
    mark = cpti_seen_mark(set->seen, record, cpt_log_reader_bytes(walk->reader));
    result = cpti_seen_add(set->seen, &mark, 0);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    set->tally.duplicate_count += result == CPTI_SEEN_BEFORE;
    return result != CPTI_SEEN_BEFORE;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct cpti_request_set *set = walk->context;
    const enum cpti_selected selected = cpti_selection_counts(&set->selection, record);
    int status = CPTI_EXIT_DONE;

    cpti_gather_tally_add(&set->tally, selected);
    if (selected != CPTI_SELECTED || !is_new(walk, record, &status)) {
        return status;
    }
    return cpti_log_sample_add(walk, record, &set->sample, 1);
}

static int walk_file(struct cpti_request_set *set,
                     const struct cpti_arguments *arguments, const char *file)
{
    struct cpti_selection *const selection = &set->selection;
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .stops_at_error = cpti_has(arguments, "stop-at-error"),
        .record = meet_record,
        .context = set,
        .selections = &selection,
        .selection_count = 1,
    };
    int status = cpti_log_open(&input, file);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_log_walk(&walk);
    set->tally.record_count += walk.record_count + walk.passed_count;
    cpti_input_close(&input);
    return status;
}

/* Says that no request was selected, and which term left none, as 'cpt diff' does. */
static int say_none(const struct cpti_request_set *set)
{
    char left[CPTI_GATHER_LEFT_BYTES];
    const bool is_diagnosed = cpti_gather_left_text(&set->tally, left)[0] == '\0' &&
                              cpti_selection_has_terms(&set->selection) &&
                              cpti_diagnosis_is_possible(set->paths, set->path_count);
    const int status = cpti_failed(
        "no request is selected for %s, of %" PRIu64 " record%s%s%s", set->what,
        set->tally.record_count, set->tally.record_count == 1 ? "" : "s", left,
        is_diagnosed ? "; left after each term:" : "");

    if (is_diagnosed) {
        cpti_diagnosis_print(&set->selection, set->paths, set->path_count);
    }
    return status;
}

/* Tells what does not count. */
static void tell_left(const struct cpti_request_set *set)
{
    if (set->sample.met_count > set->sample.count) {
        cpti_warn("%s: a sample of %zu of %" PRIu64 " requests", set->what,
                  set->sample.count, set->sample.met_count);
    }
    if (set->tally.fragment_count > 0) {
        cpti_warn("%s: %" PRIu64 " fragments are left out, of traces whose root was "
                  "lost; --include-fragments takes them",
                  set->what, set->tally.fragment_count);
    }
    if (set->tally.duplicate_count > 0) {
        cpti_warn("%s: %" PRIu64 " records were given before, and do not count again",
                  set->what, set->tally.duplicate_count);
    }
}

int cpti_request_set_read(struct cpti_request_set *set,
                          const struct cpti_arguments *arguments)
{
    struct cpti_selection *selection = &set->selection;
    int status = cpti_gather_percentiles(&selection, 1, set->paths, set->path_count,
                                         cpti_processors());

    if (status == CPTI_EXIT_DONE && !selection->keeps_duplicates) {
        set->seen = cpti_seen_new(selection->seen_max);
        status = set->seen != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    cpti_sample_init(&set->sample, (size_t)selection->sample_count, selection->seed);
    for (size_t i = 0; i < set->path_count; i++) {
        status = cpti_exit_last(status, walk_file(set, arguments, set->paths[i]));
        if (status != CPTI_EXIT_DONE && cpti_has(arguments, "stop-at-error")) {
            cpti_sample_deinit(&set->sample);
            set->sample.count = 0;
            return status;
        }
    }
    cpti_seen_free(set->seen);
    set->seen = NULL;
    tell_left(set);
    if (set->sample.count == 0 && status != CPTI_EXIT_DONE) {
        return status;
    }
    if (set->sample.count == 0) {
        return say_none(set);
    }
    return status;
}

void cpti_request_set_deinit(struct cpti_request_set *set)
{
    cpti_selection_deinit(&set->selection);
    cpti_sample_deinit(&set->sample);
    cpti_seen_free(set->seen);
}
