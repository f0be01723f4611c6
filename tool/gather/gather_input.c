/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_input.c - adds one log, tree or database to the trees; see gather_run.h */
#include "tool/gather/gather_run.h"

#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/gather/gather_store.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/log_walk.h"
#include "tool/gather/parts.h"
#include "tool/log/tree_file.h"
#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int cpti_gather_run_init(struct cpti_gather_run *run)
{
    run->shapes = cpt_log_shapes_new(NULL);
    if (run->shapes == NULL) {
        return cpti_failed("out of memory");
    }
    memset(run->serials, 0, sizeof run->serials);
    for (size_t i = 0; i < run->gather_count; i++) {
        const bool checks_time = run->gathers[i].checks_time;

        run->gathers[i].tree = cpt_tree_new(NULL, NULL);
        run->serials[i] = checks_time ? cpt_serial_new(NULL) : NULL;
        if (run->gathers[i].tree == NULL || (checks_time && run->serials[i] == NULL)) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

void cpti_gather_run_deinit(struct cpti_gather_run *run)
{
    for (size_t i = 0; i < run->services.count; i++) {
        free(run->services.names[i]);
    }
    run->services = (struct cpti_gather_services){0};
    for (size_t i = 0; i < run->gather_count; i++) {
        cpt_serial_free(run->serials[i]);
        run->serials[i] = NULL;
    }
    cpt_log_shapes_free(run->shapes);
}

bool cpti_gather_run_enters(struct cpti_gather_run *run, const char *name)
{
    struct cpti_gather_services *services = &run->services;

    for (size_t i = 0; i < services->count; i++) {
        if (strcmp(services->names[i], name) == 0) {
            return i == 0;
        }
    }
    if (services->count == CPTI_SERVICES_MAX) {
        services->more_count++;
        return false;
    }
    services->names[services->count] = strdup(name);
    if (services->names[services->count] == NULL) {
        services->has_failed = true;
        return false;
    }
    services->count++;
    return services->count == 1;
}

/* --- Logs --- */

/* Adds the weight of a request to *@weight, but for one; a sum ends at its limit. */
static void add_weight(uint64_t *weight, cpt_weight more)
{
    more -= CPT_WEIGHT_ONE;
    *weight = more > UINT64_MAX - *weight ? UINT64_MAX : *weight + more;
}

/* Counts @record among all, and among those that are selected. */
static void count_whole(const struct cpti_selection *selection,
                        struct cpti_gather_tally *tally,
                        const struct cpt_record *record, bool is_chosen)
{
    const cpt_weight weight = cpti_selection_weight(selection, record);

    if (weight == 0 || !cpti_selection_may_count(selection, record)) {
        return;
    }
    tally->whole_count++;
    add_weight(&tally->whole_weight, weight);
    if (is_chosen) {
        tally->chosen_count++;
        add_weight(&tally->chosen_weight, weight);
    }
}

/* Whether @record counts for @gather. Counts it. */
static bool is_selected(const struct cpti_gather *gather,
                        struct cpti_gather_tally *tally,
                        const struct cpt_record *record)
{
    const enum cpti_selected selected =
        cpti_selection_counts(gather->selection, record);

    if (gather->counts_all) {
        count_whole(gather->selection, tally, record, selected == CPTI_SELECTED);
    }
    tally->record_count++;
    cpti_gather_tally_add(tally, selected);
    return selected == CPTI_SELECTED;
}

cpt_status cpti_gather_count(struct cpt_tree *tree,
                             const struct cpti_gather_tally *tally)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"records", tally->record_count},
                  {"forced_excluded", tally->forced_count},
                  {"fragments_excluded", tally->fragment_count},
                  {"local_root_excluded", tally->local_root_count},
                  {"duplicates", tally->duplicate_count},
                  {"duplicates_unchecked", tally->unchecked_count},
                  {CPTI_COUNT_WHOLE, tally->whole_count},
                  {CPTI_COUNT_WHOLE_WEIGHT, tally->whole_weight},
                  {CPTI_COUNT_CHOSEN, tally->chosen_count},
                  {CPTI_COUNT_CHOSEN_WEIGHT, tally->chosen_weight}};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == CPT_OK; i++) {
        if (counts[i].count != 0) {
            status = cpt_tree_count_add(tree, counts[i].key, counts[i].count);
        }
    }
    return status;
}

/* Moves the tallies to the counts of the trees. enum cpti_exit. */
static int add_tallies(struct cpti_gather_run *run)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < run->gather_count; i++) {
        const cpt_status status =
            cpti_gather_count(run->gathers[i].tree, &run->tallies[i]);

        exit_status = status != CPT_OK ? cpti_status_exit(status) : exit_status;
        run->tallies[i] = (struct cpti_gather_tally){0};
    }
    return exit_status;
}

/* A request is in the tree: notes its time, and calls gather->request. enum cpti_exit.
 */
static int report_request(struct cpti_gather *gather, const struct cpt_record *record,
                          const struct cpt_path *path,
                          const struct cpt_log_times *times, cpt_weight weight)
{
    cpt_tree_time_add(gather->tree, record->start_unix_ns);
    if (path == NULL && gather->shapes != NULL) {
        return gather->shapes->add(gather->context, times, weight);
    }
    return gather->request != NULL
               ? gather->request(gather->context, record, path, weight)
               : CPTI_EXIT_DONE;
}

/* Whether the request of @record, which is selected, was not added before. Counts it if
 * it was. Sets *@exit_status if it fails. */
static bool is_new(struct cpti_log_walk *walk, const struct cpt_record *record,
                   size_t index, int *exit_status)
{
    struct cpti_gather_run *run = walk->context;
    enum cpti_seen_result result;

    if (run->seen == NULL || run->gathers[index].selection->keeps_duplicates) {
        return true;
    }
    if (!run->has_mark) {
        run->mark =
            cpti_seen_mark(run->seen, record, cpt_log_reader_bytes(walk->reader));
        run->has_mark = true;
    }
    result = cpti_seen_add(run->seen, &run->mark, (unsigned)index);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *exit_status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    run->tallies[index].duplicate_count += result == CPTI_SEEN_BEFORE;
    run->tallies[index].unchecked_count += result == CPTI_SEEN_UNKNOWN;
    return result != CPTI_SEEN_BEFORE;
}

/* Whether some requests can be added without their paths. */
static bool may_lack_path(const struct cpti_gather *gather)
{
    return gather->request == NULL || gather->needs_path != NULL ||
           gather->shapes != NULL;
}

/* Finds the times of a request whose shape is known. Otherwise its path has to be
 * decoded. */
static bool find_times(struct cpti_gather_run *run, struct cpti_gather *gather,
                       const struct cpt_record *record, struct cpt_log_times *times)
{
    if (!may_lack_path(gather) ||
        (gather->needs_path != NULL && gather->needs_path(gather->context, record)) ||
        cpt_log_shapes_find(run->shapes, record, times) != CPT_OK) {
        return false;
    }
    return cpt_tree_shape_is_kept(gather->tree, times->shape) &&
           (gather->shapes == NULL ||
            gather->shapes->is_kept(gather->context, times->shape));
}

/* Keeps the shape of a request: find_times() then takes the next one like it. Without
 * memory the shape is not kept, and the next path is decoded. */
static void keep_shape(struct cpti_gather_run *run, struct cpti_gather *gather,
                       const struct cpt_record *record, const struct cpt_path *path)
{
    uint64_t shape = 0;

    if (!may_lack_path(gather) ||
        cpt_log_shapes_keep(run->shapes, record, path, &shape) != CPT_OK) {
        return;
    }
    (void)cpt_tree_shape_keep(gather->tree, shape, path);
    if (gather->shapes != NULL) {
        gather->shapes->keep(gather->context, shape, path);
    }
}

/* Adds a request that was not added before, with its @path or, if that is NULL, its
 * @times. enum cpti_exit. */
static int add_request(struct cpti_log_walk *walk, const struct cpt_record *record,
                       size_t index, const struct cpt_path *path,
                       const struct cpt_log_times *times)
{
    struct cpti_gather_run *run = walk->context;
    struct cpti_gather *gather = &run->gathers[index];
    const cpt_weight weight = cpti_selection_weight(gather->selection, record);
    const cpt_status status =
        path != NULL
            ? cpt_tree_add(gather->tree, path, weight)
            : cpt_tree_shape_add(gather->tree, times->shape, times->self_ns, weight);
    int exit_status;

    if (status == CPT_NO_MEMORY) {
        return cpti_failed("out of memory");
    }
    if (status != CPT_OK) {
        return cpti_log_skip(
            walk, "the tree cannot take it: a limit of aggregation is reached");
    }
    if (run->serials[index] != NULL &&
        cpt_serial_add(run->serials[index], record->start_unix_ns,
                       record->latency_ns) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    exit_status = report_request(gather, record, path, times, weight);
    if (exit_status == CPTI_EXIT_FAILED && gather->names_place) {
        cpti_warn_at((struct cpti_at){.file = cpti_input_name(walk->input),
                                      .record = cpti_log_record_number(walk),
                                      .has_byte = true,
                                      .byte = cpt_log_reader_offset(walk->reader)},
                     "so it cannot be added");
    }
    if (path != NULL) {
        keep_shape(run, gather, record, path);
    }
    return exit_status;
}

static int add_record(struct cpti_log_walk *walk, const struct cpt_record *record,
                      size_t index)
{
    struct cpti_gather_run *run = walk->context;
    struct cpti_gather *gather = &run->gathers[index];
    const struct cpt_path *path = NULL;
    const cpt_weight weight = cpti_selection_weight(gather->selection, record);
    struct cpt_log_times times;
    int exit_status = CPTI_EXIT_DONE;

    if (weight == 0) {
        return cpti_log_skip(walk, "its sampling probability is not from 2^-28 to 1");
    }
    if (gather->selection->sample_count != 0) {
        return is_new(walk, record, index, &exit_status)
                   ? cpti_log_sample_add(walk, record, &run->samples[index], weight)
                   : exit_status;
    }
    if (!find_times(run, gather, record, &times)) {
        exit_status = cpti_log_path(walk, record, &path);
        if (path == NULL) {
            return exit_status;
        }
    }
    /* only now: a record that is not sound is no request that could be met again */
    return is_new(walk, record, index, &exit_status)
               ? add_request(walk, record, index, path, &times)
               : exit_status;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct cpti_gather_run *run = walk->context;
    int exit_status = CPTI_EXIT_DONE;

    run->has_mark = false;
    for (size_t i = 0; i < run->gather_count && exit_status == CPTI_EXIT_DONE; i++) {
        if (is_selected(&run->gathers[i], &run->tallies[i], record) &&
            (cpti_gather_run_enters(run, cpti_quoted_bytes(record->service)) ||
             run->gathers[i].is_list)) {
            exit_status = add_record(walk, record, i);
        }
    }
    return exit_status;
}

static int gather_log(struct cpti_gather_run *run, struct cpti_input *input,
                      const struct cpt_log_part *part,
                      struct cpti_gather_outcome *outcome)
{
    struct cpti_selection *selections[CPTI_GATHERS_MAX] = {NULL};
    struct cpti_log_walk walk = {
        .input = input,
        .stops_at_error = run->stops_at_error,
        .record = meet_record,
        .context = run,
        .selections = selections,
        .selection_count = run->gather_count,
        .part = part,
    };
    uint64_t skipped_count;
    int status;

    for (size_t i = 0; i < run->gather_count; i++) {
        selections[i] = run->gathers[i].selection;
        if (run->gathers[i].counts_all) {
            walk.selection_count = 0; /* what is passed over is not weighed */
        }
    }
    status = cpti_log_walk(&walk);
    skipped_count = walk.skipped_count + walk.lost_count;
    for (size_t i = 0; i < run->gather_count; i++) {
        run->tallies[i].record_count += walk.passed_count;
    }
    outcome->is_broken = part != NULL && (status != CPTI_EXIT_DONE ||
                                          walk.damage_count != 0 || skipped_count != 0);
    if (add_tallies(run) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    for (size_t i = 0; i < run->gather_count && skipped_count != 0; i++) {
        if (cpt_tree_count_add(run->gathers[i].tree, "skipped", skipped_count) ==
            CPT_NO_MEMORY) {
            return cpti_failed("out of memory");
        }
    }
    /* skipped records leave the others usable */
    outcome->is_usable =
        status == CPTI_EXIT_DONE ||
        (walk.damage_count != 0 && walk.record_count + walk.passed_count != 0 &&
         !run->stops_at_error);
    return status;
}

/* --- Trees --- */

/* Whether the @note of a tree, a name as it is shown, is the service @entry. */
static bool is_noted(const char *note, const char *entry)
{
    return strcmp(note, entry) == 0 || strcmp(note, cpti_quoted(entry)) == 0;
}

static int check_tree(struct cpti_gather_run *run, const struct cpti_input *input,
                      const struct cpt_tree *tree)
{
    for (size_t i = 0; i < run->gather_count; i++) {
        const char *entry = run->gathers[i].selection->entry;

        if (cpti_selection_is_narrow(run->gathers[i].selection)) {
            return cpti_usage(
                "%s: is a tree, from which no requests can be selected" CPTI_HINT
                "give the path "
                "log it was made from",
                cpti_input_name(input));
        }
        if (entry != NULL && cpt_tree_note_find(tree, "entry") != NULL &&
            !is_noted(cpt_tree_note_find(tree, "entry"), entry)) {
            return cpti_failed_at(
                (struct cpti_at){.file = cpti_input_name(input)},
                "its requests entered at %s, not at %s",
                cpti_printable(cpt_bytes_of(cpt_tree_note_find(tree, "entry"))),
                cpti_printable(cpt_bytes_of(entry)));
        }
    }
    return CPTI_EXIT_DONE;
}

/* Adds *@tree, which may be swapped for another one, to each tree. */
static int merge_tree(struct cpti_gather_run *run, const struct cpti_input *input,
                      struct cpt_tree **tree)
{
    const uint64_t duplicates = cpt_tree_count_find(*tree, "duplicates");
    int exit_status = check_tree(run, input, *tree);

    for (size_t i = 0; i < cpt_tree_note_count(*tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(*tree, i);

        if (note.value != NULL && strcmp(note.key, "entry") == 0) {
            (void)cpti_gather_run_enters(run, note.value);
        }
    }
    for (size_t i = 0; i < run->gather_count && exit_status == CPTI_EXIT_DONE; i++) {
        struct cpt_tree **whole = &run->gathers[i].tree;

        exit_status =
            cpti_status_exit(i + 1 < run->gather_count ? cpt_tree_merge(*whole, *tree)
                                                       : cpti_tree_absorb(whole, tree));
        run->gathers[i].met_tree = true;
        run->gathers[i].tree_duplicates += duplicates;
    }
    return exit_status;
}

static int gather_tree(struct cpti_gather_run *run, struct cpti_input *input,
                       bool *is_usable)
{
    struct cpt_tree *tree;
    bool is_again = false;
    uint64_t digest;
    int status = cpti_tree_read(input, &tree, &digest);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_status_exit(cpti_parts_meet(run->parts, tree, digest, &is_again));
    }
    if (status == CPTI_EXIT_DONE && !is_again) {
        status = merge_tree(run, input, &tree);
    }
    *is_usable = status == CPTI_EXIT_DONE;
    cpt_tree_free(tree);
    return status;
}

/* --- Databases --- */

static void note_service(void *context, const char *name)
{
    struct cpti_gather_run *run = context;

    (void)cpti_gather_run_enters(run, name);
}

static int gather_store(struct cpti_gather_run *run, const char *address)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < run->gather_count && exit_status == CPTI_EXIT_DONE; i++) {
        struct cpti_gather *gather = &run->gathers[i];
        const bool has_sample = gather->selection->sample_count != 0;

        if (has_sample && run->path_count != 1) {
            return cpti_usage("%s: a sample is drawn from one database or from path "
                              "logs, not from both",
                              cpti_quoted(address));
        }
        run->is_drawn = true;
        exit_status = cpti_store_gather(
            address, gather, has_sample ? &run->samples[i] : NULL, note_service, run);
    }
    return exit_status;
}

/* --- Files --- */

struct cpti_gather_outcome cpti_gather_input(struct cpti_gather_run *run,
                                             const char *path,
                                             const struct cpt_log_part *part)
{
    struct cpti_gather_outcome outcome = {0};
    struct cpti_input input;

    if (cpti_is_store(path)) {
        outcome.exit_status = gather_store(run, path);
        outcome.is_usable = outcome.exit_status == CPTI_EXIT_DONE;
        return outcome;
    }
    outcome.exit_status = cpti_input_open(&input, path);
    if (outcome.exit_status != CPTI_EXIT_DONE) {
        return outcome;
    }
    if (input.kind == CPTI_INPUT_GZIP) {
        outcome.exit_status = cpti_refuse_gzip(&input);
    } else if (input.kind == CPTI_INPUT_GRAPHS) {
        outcome.exit_status = cpti_refuse_graphs(&input);
    } else if (input.kind == CPTI_INPUT_TREE) {
        outcome.exit_status = gather_tree(run, &input, &outcome.is_usable);
    } else {
        outcome.is_log = true;
        outcome.exit_status = gather_log(run, &input, part, &outcome);
    }
    cpti_input_close(&input);
    return outcome;
}

/* --- Samples --- */

/* A cpti_sampled_fn: adds a drawn request to the tree. */
static int add_sampled(void *context, const struct cpti_sampled *sampled,
                       const struct cpt_record *record, const struct cpt_path *path)
{
    struct cpti_gather *gather = context;
    const cpt_status status = cpt_tree_add(gather->tree, path, sampled->weight);

    return status == CPT_OK
               ? report_request(gather, record, path, NULL, sampled->weight)
               : cpti_status_exit(status);
}

static int note_sample(const struct cpti_gather *gather,
                       const struct cpti_sample *sample)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%zu of %" PRIu64 ", seed %" PRIu64,
                   sample->count, sample->met_count, gather->selection->seed);
    return cpti_status_exit(cpt_tree_note(gather->tree, "sample", text));
}

int cpti_gather_samples(struct cpti_gather_run *run)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < run->gather_count && exit_status == CPTI_EXIT_DONE; i++) {
        if (run->gathers[i].selection->sample_count == 0) {
            continue;
        }
        if (!run->is_drawn) {
            exit_status =
                cpti_log_sample_each(&run->samples[i], add_sampled, &run->gathers[i]);
        }
        if (exit_status == CPTI_EXIT_DONE) {
            exit_status = note_sample(&run->gathers[i], &run->samples[i]);
        }
    }
    return exit_status;
}
