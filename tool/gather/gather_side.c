/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_side.c - requests, trees and databases, added to one tree; see gather_run.h */
#include "tool/gather/gather_run.h"

#include "tool/base/output.h"
#include "tool/gather/gather_store.h"
#include "tool/gather/parts.h"
#include "tool/log/tree_file.h"
#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"

#include <stdlib.h>
#include <string.h>

int cpti_gather_side_init(struct cpti_gather_side *side, struct cpti_gather *gather)
{
    side->gather = gather;
    gather->tree = cpt_tree_new(NULL, NULL);
    side->shapes = cpt_log_shapes_new(NULL);
    side->serial = gather->checks_time ? cpt_serial_new(NULL) : NULL;
    return gather->tree != NULL && side->shapes != NULL &&
                   (side->serial != NULL || !gather->checks_time)
               ? CPTI_EXIT_DONE
               : cpti_failed("out of memory");
}

void cpti_gather_side_deinit(struct cpti_gather_side *side)
{
    for (size_t i = 0; i < side->services.count; i++) {
        free(side->services.names[i]);
    }
    cpt_serial_free(side->serial);
    cpt_log_shapes_free(side->shapes);
}

bool cpti_gather_enters(struct cpti_gather_services *services, const char *name)
{
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

cpt_status cpti_gather_count(struct cpt_tree *tree,
                             const struct cpti_fold_counts *counts)
{
    const struct {
        const char *key;
        uint64_t count;
    } all[] = {{"records", counts->record_count},
               {"forced_excluded", counts->forced_count},
               {"fragments_excluded", counts->fragment_count},
               {"events_excluded", counts->events_count},
               {"local_root_excluded", counts->local_root_count},
               {"duplicates", counts->duplicate_count},
               {"duplicates_unchecked", counts->unchecked_count},
               {CPTI_COUNT_WHOLE, counts->whole_count},
               {CPTI_COUNT_WHOLE_WEIGHT, counts->whole_weight},
               {CPTI_COUNT_CHOSEN, counts->chosen_count},
               {CPTI_COUNT_CHOSEN_WEIGHT, counts->chosen_weight},
               {"skipped", counts->skipped_count}};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == CPT_OK; i++) {
        if (all[i].count != 0) {
            status = cpt_tree_count_add(tree, all[i].key, all[i].count);
        }
    }
    return status;
}

/* --- Requests --- */

/* Whether some requests can be added without their paths. */
static bool may_lack_path(const struct cpti_gather *gather)
{
    return gather->selection->sample_count == 0 &&
           (gather->request == NULL || gather->needs_path != NULL ||
            gather->shapes != NULL);
}

/* Only requests of one entry service are added. Of one whose shape is known, the times
 * are enough; otherwise its path has to be decoded. */
static enum cpti_needs needs(void *context, struct cpti_request *request)
{
    struct cpti_gather_side *side = context;
    const struct cpti_gather *gather = side->gather;
    const struct cpt_record *record = request->record;

    if (!cpti_gather_enters(&side->services, cpti_quoted_bytes(record->service)) &&
        !gather->is_list) {
        return CPTI_NEEDS_NOTHING;
    }
    if (!may_lack_path(gather) ||
        (gather->needs_path != NULL && gather->needs_path(gather->context, record)) ||
        cpt_log_shapes_find(side->shapes, record, &request->times) != CPT_OK) {
        return CPTI_NEEDS_PATH;
    }
    return cpt_tree_shape_is_kept(gather->tree, request->times.shape) &&
                   (gather->shapes == NULL ||
                    gather->shapes->is_kept(gather->context, request->times.shape))
               ? CPTI_NEEDS_RECORD
               : CPTI_NEEDS_PATH;
}

/* Keeps the shape of a request: needs() then takes the next one like it. Without memory
 * the shape is not kept, and the next path is decoded. */
static void keep_shape(struct cpti_gather_side *side,
                       const struct cpti_request *request)
{
    const struct cpti_gather *gather = side->gather;
    uint64_t shape = 0;

    if (!may_lack_path(gather) ||
        cpt_log_shapes_keep(side->shapes, request->record, request->path, &shape) !=
            CPT_OK) {
        return;
    }
    (void)cpt_tree_shape_keep(gather->tree, shape, request->path);
    if (gather->shapes != NULL) {
        gather->shapes->keep(gather->context, shape, request->path);
    }
}

/* A request is in the tree: notes its time and evidence, and calls gather->request.
 * enum cpti_exit. */
static int report_request(struct cpti_gather_side *side,
                          const struct cpti_request *request)
{
    const struct cpti_gather *gather = side->gather;
    const unsigned flags = request->path != NULL ? cpt_path_flags(request->path)
                                                 : request->times.path_flags;

    side->evidence[cpti_evidence_of(request->record, flags)]++;
    cpt_tree_time_add(gather->tree, request->record->start_unix_ns);
    if (request->path == NULL && gather->shapes != NULL) {
        return gather->shapes->add(gather->context, &request->times, request->weight);
    }
    return gather->request != NULL ? gather->request(gather->context, request->record,
                                                     request->path, request->weight)
                                   : CPTI_EXIT_DONE;
}

static int take(void *context, const struct cpti_request *request)
{
    struct cpti_gather_side *side = context;
    const struct cpti_gather *gather = side->gather;
    struct cpti_log_walk *walk = request->walk;
    cpt_status status =
        request->path != NULL
            ? cpt_tree_add(gather->tree, request->path, request->weight)
            : cpt_tree_shape_add(gather->tree, request->times.shape,
                                 request->times.self_ns, request->weight);
    int exit_status;

    if (status != CPT_OK && status != CPT_NO_MEMORY && walk != NULL) {
        return cpti_log_skip(
            walk, "the tree cannot take it: a limit of aggregation is reached");
    }
    if (status == CPT_OK && side->serial != NULL && walk != NULL) {
        status = cpt_serial_add(side->serial, request->record->start_unix_ns,
                                request->record->latency_ns);
    }
    if (status != CPT_OK) {
        return cpti_status_exit(status);
    }
    exit_status = report_request(side, request);
    if (exit_status == CPTI_EXIT_FAILED && gather->names_place && walk != NULL) {
        cpti_warn_at((struct cpti_at){.file = cpti_input_name(walk->input),
                                      .record = cpti_log_record_number(walk),
                                      .has_byte = true,
                                      .byte = cpt_log_reader_offset(walk->reader)},
                     "so it cannot be added");
    }
    if (request->path != NULL && walk != NULL) {
        keep_shape(side, request);
    }
    return exit_status;
}

/* --- Threads --- */

static void drop(void *part)
{
    struct cpti_gather_side *side = part;

    cpt_tree_free(side->own.tree);
    if (side->own.context != NULL) {
        side->own.threads->drop(side->own.context);
    }
    cpti_gather_side_deinit(side);
    free(side);
}

static void *split(const void *context)
{
    const struct cpti_gather_side *whole = context;
    struct cpti_gather_side *side = calloc(1, sizeof *side);
    bool is_made;

    if (side == NULL) {
        return NULL;
    }
    side->own = *whole->gather;
    side->own.context = side->own.request != NULL
                            ? side->own.threads->split(whole->gather->context)
                            : NULL;
    is_made = side->own.request == NULL || side->own.context != NULL;
    side->own.tree = NULL;
    if (!is_made || cpti_gather_side_init(side, &side->own) != CPTI_EXIT_DONE) {
        drop(side);
        return NULL;
    }
    return side;
}

static cpt_status join(void *context, void *part)
{
    struct cpti_gather_side *whole = context;
    struct cpti_gather_side *side = part;
    struct cpti_gather *gather = whole->gather;
    cpt_status status = cpti_tree_absorb(&gather->tree, &side->own.tree);

    gather->met_tree |= side->own.met_tree;
    gather->tree_duplicates += side->own.tree_duplicates;
    if (status == CPT_OK && whole->serial != NULL) {
        status = cpt_serial_join(whole->serial, side->serial);
    }
    if (status == CPT_OK && side->own.context != NULL) {
        status = gather->threads->join(gather->context, side->own.context);
    }
    for (size_t i = 0; i < CPT_EVIDENCE_COUNT; i++) {
        whole->evidence[i] += side->evidence[i];
    }
    for (size_t i = 0; i < side->services.count; i++) {
        (void)cpti_gather_enters(&whole->services, side->services.names[i]);
    }
    whole->services.more_count += side->services.more_count;
    whole->services.has_failed |= side->services.has_failed;
    return status;
}

struct cpti_fold cpti_gather_fold(struct cpti_gather_side *side)
{
    const struct cpti_gather *gather = side->gather;
    struct cpti_fold fold = {.selection = gather->selection,
                             .weigh = cpti_selection_weight,
                             .needs = needs,
                             .take = take,
                             .context = side,
                             .counts_once = !gather->selection->keeps_duplicates,
                             .counts_all = gather->counts_all};

    if (gather->request == NULL || gather->threads != NULL) {
        fold.split = split;
        fold.join = join;
        fold.drop = drop;
    }
    return fold;
}

/* --- Trees --- */

/* Whether the @note of a tree, a name as it is shown, is the service @entry. */
static bool is_noted(const char *note, const char *entry)
{
    return strcmp(note, entry) == 0 || strcmp(note, cpti_quoted(entry)) == 0;
}

static int check_tree(const struct cpti_selection *selection,
                      const struct cpti_input *input, const struct cpt_tree *tree)
{
    const char *note = cpt_tree_note_find(tree, "entry");
    const char *entry = selection->entry;

    if (cpti_selection_is_narrow(selection)) {
        return cpti_usage(
            "%s: is a tree, from which no requests can be selected" CPTI_HINT
            "give the path log it was made from",
            cpti_input_name(input));
    }
    if (entry != NULL && note != NULL && !is_noted(note, entry)) {
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                              "its requests entered at %s, not at %s",
                              cpti_printable(cpt_bytes_of(note)),
                              cpti_printable(cpt_bytes_of(entry)));
    }
    return CPTI_EXIT_DONE;
}

/* Adds *@tree to the one of @side; it may be swapped for another one if it @is_last. */
static int merge_tree(struct cpti_gather_side *side, struct cpt_tree **tree,
                      bool is_last)
{
    struct cpti_gather *gather = side->gather;

    gather->met_tree = true;
    gather->tree_duplicates += cpt_tree_count_find(*tree, "duplicates");
    for (size_t i = 0; i < cpt_tree_note_count(*tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(*tree, i);

        if (note.value != NULL && strcmp(note.key, "entry") == 0) {
            (void)cpti_gather_enters(&side->services, note.value);
        }
    }
    return cpti_status_exit(is_last ? cpti_tree_absorb(&gather->tree, tree)
                                    : cpt_tree_merge(gather->tree, *tree));
}

static int gather_tree(const struct cpti_gather_run *run, struct cpti_fold *folds,
                       struct cpti_input *input)
{
    struct cpt_tree *tree;
    bool is_again = false;
    uint64_t digest;
    int status = cpti_tree_read(input, &tree, &digest);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_status_exit(cpti_parts_meet(run->parts, tree, digest, &is_again));
    }
    for (size_t i = 0; i < run->side_count && status == CPTI_EXIT_DONE && !is_again;
         i++) {
        status = check_tree(folds[i].selection, input, tree);
    }
    for (size_t i = 0; i < run->side_count && status == CPTI_EXIT_DONE && !is_again;
         i++) {
        status = merge_tree(folds[i].context, &tree, i + 1 == run->side_count);
    }
    cpt_tree_free(tree);
    return status;
}

void cpti_gather_begin(void *context)
{
    const struct cpti_gather_run *run = context;

    cpti_parts_reset(run->parts);
}

void cpti_gather_other(void *context, struct cpti_fold *folds, struct cpti_input *input,
                       struct cpti_outcome *outcome)
{
    if (input->kind == CPTI_INPUT_GZIP) {
        outcome->exit_status = cpti_refuse_gzip(input);
    } else if (input->kind == CPTI_INPUT_GRAPHS) {
        outcome->exit_status = cpti_refuse_graphs(input);
    } else if (input->kind == CPTI_INPUT_TREE) {
        outcome->exit_status = gather_tree(context, folds, input);
        outcome->is_usable = outcome->exit_status == CPTI_EXIT_DONE;
    } else {
        outcome->is_log = true;
    }
}

/* --- Databases --- */

static void note_service(void *context, const char *name)
{
    (void)cpti_gather_enters(context, name);
}

int cpti_gather_database(void *context, struct cpti_fold *folds, const char *address)
{
    struct cpti_gather_run *run = context;
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < run->side_count && exit_status == CPTI_EXIT_DONE; i++) {
        struct cpti_gather_side *side = folds[i].context;
        const bool has_sample = folds[i].is_sampled;

        if (has_sample && run->path_count != 1) {
            return cpti_usage("%s: a sample is drawn from one database or from path "
                              "logs, not from both",
                              cpti_quoted(address));
        }
        if (has_sample) { /* by one thread; without one, threads share the run */
            run->is_drawn = true;
        }
        exit_status = cpti_store_gather(address, side->gather, folds[i].selection,
                                        has_sample ? &folds[i].sample : NULL,
                                        note_service, &side->services);
    }
    return exit_status;
}
