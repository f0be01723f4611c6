/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather.c - from files to trees; see gather.h */
#include "cpt/cli/gather/gather.h"

#include "cpt/cli/base/files.h"
#include "cpt/cli/gather/gather_pieces.h"
#include "cpt/cli/gather/gather_sample.h"
#include "cpt/cli/gather/gather_store.h"
#include "cpt/cli/gather/log_sample.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/gather/tree_file.h"
#include "cpt/cli/gather/workers.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Entry services that selected requests had, escaped for printing. */
struct services {
    char *names[CPTI_SERVICES_MAX];
    size_t count;
    size_t more_count; /* that were not noted, counted again and again */
};

/* Records met, and those left out; added to the counts of the tree after each file. */
struct tally {
    uint64_t record_count;
    uint64_t forced_count;
    uint64_t local_root_count;
};

/* The gathering of all files. */
struct gathering {
    struct cpti_gather *gathers;
    size_t gather_count;
    struct services services;
    int stops_at_error;
    struct cpt_log_shapes *shapes; /* of the records met by this thread */
    struct tally tallies[CPTI_GATHERS_MAX];
    struct cpti_sample samples[CPTI_GATHERS_MAX];
    size_t path_count;
    int is_drawn; /* by a database, which has added the requests of the samples */
};

/* Notes @name; whether it is the first one of all, or the same again. */
static int service_is_first(struct services *services, const char *name)
{
    for (size_t i = 0; i < services->count; i++) {
        if (strcmp(services->names[i], name) == 0) {
            return i == 0;
        }
    }
    if (services->count == CPTI_SERVICES_MAX) {
        services->more_count++;
        return 0;
    }
    services->names[services->count] = strdup(name);
    services->count += services->names[services->count] != NULL;
    return services->count == 1;
}

static void services_deinit(struct services *services)
{
    for (size_t i = 0; i < services->count; i++) {
        free(services->names[i]);
    }
    *services = (struct services){0};
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* More than one entry service: say which there are. */
static int check_services(struct services *services)
{
    char text[4 * CPTI_TEXT_BYTES] = "";
    size_t bytes = 0;

    if (services->count <= 1) {
        return CPTI_EXIT_DONE;
    }
    qsort(services->names, services->count, sizeof services->names[0], compare_names);
    for (size_t i = 0; i < services->count && bytes < sizeof text; i++) {
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s%s",
                                  i == 0 ? "" : ", ",
                                  cpti_printable(cpt_bytes_of(services->names[i])));
    }
    return cpti_failed(
        "the selected requests entered at %zu services%s, which are never "
        "averaged together; choose one by --entry: %s",
        services->count, services->more_count != 0 ? " or more" : "", text);
}

static int failed_tree(cpt_status status)
{
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed("%s", cpt_status_sentence(status));
}

/* --- Logs --- */

/* Whether @record counts for @selection; counts those that are left out. */
static int is_selected(struct cpti_selection *selection, struct tally *tally,
                       const struct cpt_record *record)
{
    const enum cpti_selected selected = cpti_selection_counts(selection, record);

    tally->record_count++;
    tally->forced_count += selected == CPTI_FORCED_EXCLUDED;
    tally->local_root_count += selected == CPTI_LOCAL_ROOT_EXCLUDED;
    return selected == CPTI_SELECTED;
}

/* Adds the tallies of a file to the trees. */
static int add_tallies(struct gathering *gathering)
{
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gathering->gather_count; i++) {
        struct cpt_tree *tree = gathering->gathers[i].tree;
        struct tally *tally = &gathering->tallies[i];
        cpt_status status = CPT_OK;

        if (tally->record_count != 0) {
            status = cpt_tree_count_add(tree, "records", tally->record_count);
        }
        if (status == CPT_OK && tally->forced_count != 0) {
            status = cpt_tree_count_add(tree, "forced_excluded", tally->forced_count);
        }
        if (status == CPT_OK && tally->local_root_count != 0) {
            status = cpt_tree_count_add(tree, "local_root_excluded",
                                        tally->local_root_count);
        }
        failed = status != CPT_OK ? failed_tree(status) : failed;
        *tally = (struct tally){0};
    }
    return failed;
}

/* A request is in the tree: tells whoever wants to know. CPT_OK. */
static cpt_status told(struct cpti_gather *gather, const struct cpt_record *record,
                       const struct cpt_path *path, cpt_weight weight, int *failed)
{
    cpt_tree_time_add(gather->tree, record->start_unix_ns);
    if (gather->request != NULL) {
        *failed = gather->request(gather->context, record, path, weight);
    }
    return CPT_OK;
}

/* Adds a request to the tree; CPT_LIMIT if it cannot take it. */
static cpt_status add_path(struct cpti_gather *gather, const struct cpt_record *record,
                           const struct cpt_path *path, cpt_weight weight, int *failed)
{
    const cpt_status status = cpt_tree_add(gather->tree, path, weight);

    *failed = CPTI_EXIT_DONE;
    if (status == CPT_NO_MEMORY) {
        *failed = cpti_failed("out of memory");
    }
    return status == CPT_OK ? told(gather, record, path, weight, failed) : status;
}

/* Adds the times of a request whose frames are known; CPT_END if its path has to be
 * looked at. */
static cpt_status add_times(struct gathering *gathering, struct cpti_gather *gather,
                            const struct cpt_record *record, cpt_weight weight,
                            int *failed)
{
    struct cpt_log_times times;
    cpt_status status;

    if ((gather->request != NULL &&
         (gather->needs_path == NULL || gather->needs_path(gather->context, record))) ||
        cpt_log_shapes_find(gathering->shapes, record, &times) != CPT_OK ||
        !cpt_tree_shape_is_kept(gather->tree, times.shape)) {
        return CPT_END;
    }
    status = cpt_tree_shape_add(gather->tree, times.shape, times.self_ns, weight);
    return status == CPT_OK ? told(gather, record, NULL, weight, failed) : status;
}

/* So that requests like this one are known. Without memory they are not, and that is
 * all. */
static void keep_shape(struct gathering *gathering, struct cpti_gather *gather,
                       const struct cpt_record *record, const struct cpt_path *path)
{
    uint64_t shape = 0;

    if ((gather->request == NULL || gather->needs_path != NULL) &&
        cpt_log_shapes_keep(gathering->shapes, record, path, &shape) == CPT_OK) {
        (void)cpt_tree_shape_keep(gather->tree, shape, path);
    }
}

static int add_record(struct cpti_log_walk *walk, const struct cpt_record *record,
                      size_t index)
{
    struct gathering *gathering = walk->context;
    struct cpti_gather *gather = &gathering->gathers[index];
    const struct cpt_path *path;
    const cpt_weight weight = cpti_selection_weight(gather->selection, record);
    cpt_status status;
    int failed;

    if (weight == 0) {
        return cpti_log_skip(walk,
                             "its sampling probability is not above 0 and up to 1");
    }
    if (gather->selection->sample_count != 0) {
        return cpti_log_sample_add(walk, record, &gathering->samples[index], weight);
    }
    failed = CPTI_EXIT_DONE;
    status = add_times(gathering, gather, record, weight, &failed);
    failed = status == CPT_NO_MEMORY ? cpti_failed("out of memory") : failed;
    if (status == CPT_END) {
        failed = cpti_log_path(walk, record, &path);
        if (path == NULL) {
            return failed;
        }
        status = add_path(gather, record, path, weight, &failed);
        if (status == CPT_OK) {
            keep_shape(gathering, gather, record, path);
        }
    }
    if (status == CPT_OK || failed != CPTI_EXIT_DONE) {
        return failed;
    }
    return cpti_log_skip(walk,
                         "the tree cannot take it: a limit of aggregation is reached");
}

/* A cpti_sampled_fn that adds to the tree. */
static int add_sampled(void *context, const struct cpti_sampled *sampled,
                       const struct cpt_record *record, const struct cpt_path *path)
{
    int failed = CPTI_EXIT_DONE;
    const cpt_status status = add_path(context, record, path, sampled->weight, &failed);

    return status != CPT_OK && failed == CPTI_EXIT_DONE ? failed_tree(status) : failed;
}

static int note_sample(const struct cpti_gather *gather,
                       const struct cpti_sample *sample)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%zu of %" PRIu64 ", seed %" PRIu64,
                   sample->count, sample->met_count, gather->selection->seed);
    return failed_tree(cpt_tree_note(gather->tree, "sample", text));
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct gathering *gathering = walk->context;
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        if (is_selected(gathering->gathers[i].selection, &gathering->tallies[i],
                        record) &&
            service_is_first(&gathering->services,
                             cpti_quoted_bytes(record->service))) {
            failed = add_record(walk, record, i);
        }
    }
    return failed;
}

/* Counts the records of blocks that were passed over unseen. */
static void count_passed(struct gathering *gathering, uint64_t passed_count)
{
    for (size_t i = 0; i < gathering->gather_count && passed_count != 0; i++) {
        gathering->tallies[i].record_count += passed_count;
    }
}

/* What became of a piece of the input. */
struct outcome {
    int status;    /* enum cpti_exit */
    int is_usable; /* what it gave can be used nevertheless */
    int is_log;
    int is_broken; /* damage in a part of a log, of which only the whole log can tell */
};

static int gather_log(struct gathering *gathering, struct cpti_input *input,
                      const struct cpt_log_part *part, struct outcome *outcome)
{
    struct cpti_selection *selections[CPTI_GATHERS_MAX] = {NULL};
    struct cpti_log_walk walk = {
        .input = input,
        .stops_at_error = gathering->stops_at_error,
        .record = meet_record,
        .context = gathering,
        .selections = selections,
        .selection_count = gathering->gather_count,
        .part = part,
    };
    int status;

    for (size_t i = 0; i < gathering->gather_count; i++) {
        selections[i] = gathering->gathers[i].selection;
    }
    status = cpti_log_walk(&walk);
    count_passed(gathering, walk.passed_count);
    outcome->is_broken =
        part != NULL && (status != CPTI_EXIT_DONE || walk.damage_count != 0 ||
                         walk.skipped_count + walk.lost_count != 0);
    if (add_tallies(gathering) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    for (size_t i = 0; i < gathering->gather_count; i++) {
        if (walk.skipped_count + walk.lost_count != 0) {
            (void)cpt_tree_count_add(gathering->gathers[i].tree, "skipped",
                                     walk.skipped_count + walk.lost_count);
        }
    }
    /* records that were skipped do not take away the others */
    outcome->is_usable =
        status == CPTI_EXIT_DONE ||
        (walk.damage_count != 0 && walk.record_count + walk.passed_count != 0 &&
         !gathering->stops_at_error);
    return status;
}

/* --- Trees --- */

static int check_tree(struct gathering *gathering, const struct cpti_input *input,
                      const struct cpt_tree *tree)
{
    for (size_t i = 0; i < gathering->gather_count; i++) {
        const char *entry = gathering->gathers[i].selection->entry;

        if (cpti_selection_is_narrow(gathering->gathers[i].selection)) {
            return cpti_usage(
                "%s: is a tree: its requests can not be selected from any "
                "more; give the path log it was made from",
                cpti_input_name(input));
        }
        if (entry != NULL && cpt_tree_note_find(tree, "entry") != NULL &&
            strcmp(cpt_tree_note_find(tree, "entry"), cpti_quoted(entry)) != 0) {
            return cpti_failed(
                "%s: its requests entered at %s, not at %s", cpti_input_name(input),
                cpti_printable(cpt_bytes_of(cpt_tree_note_find(tree, "entry"))),
                cpti_quoted(entry));
        }
    }
    return CPTI_EXIT_DONE;
}

/* Adds @tree to each of ours; it may become another one. */
static int merge_tree(struct gathering *gathering, const struct cpti_input *input,
                      struct cpt_tree **tree)
{
    int failed = check_tree(gathering, input, *tree);

    for (size_t i = 0; i < cpt_tree_note_count(*tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(*tree, i);

        if (note.value != NULL && strcmp(note.key, "entry") == 0) {
            (void)service_is_first(&gathering->services, note.value);
        }
    }
    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        struct cpt_tree **whole = &gathering->gathers[i].tree;

        failed = failed_tree(i + 1 < gathering->gather_count
                                 ? cpt_tree_merge(*whole, *tree)
                                 : cpti_tree_absorb(whole, tree));
        gathering->gathers[i].met_tree = 1;
    }
    return failed;
}

static int gather_tree(struct gathering *gathering, struct cpti_input *input,
                       int *is_usable)
{
    struct cpt_tree *tree;
    int status = cpti_tree_read(input, &tree);

    if (status == CPTI_EXIT_DONE) {
        status = merge_tree(gathering, input, &tree);
    }
    *is_usable = status == CPTI_EXIT_DONE;
    cpt_tree_free(tree);
    return status;
}

/* --- Databases --- */

static void note_service(void *context, const char *name)
{
    struct gathering *gathering = context;

    (void)service_is_first(&gathering->services, name);
}

static int gather_store(struct gathering *gathering, const char *address)
{
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        struct cpti_gather *gather = &gathering->gathers[i];
        const int has_sample = gather->selection->sample_count != 0;

        if (has_sample && gathering->path_count != 1) {
            return cpti_usage("%s: a sample is drawn from one database or from path "
                              "logs, not from both",
                              cpti_quoted(address));
        }
        gathering->is_drawn = 1;
        failed = cpti_store_gather(address, gather,
                                   has_sample ? &gathering->samples[i] : NULL,
                                   note_service, gathering);
    }
    return failed;
}

/* --- Files --- */

/* All of the file at @path, or @part of it. */
static struct outcome gather_piece(struct gathering *gathering, const char *path,
                                   const struct cpt_log_part *part)
{
    struct outcome outcome = {0};
    struct cpti_input input;

    if (cpti_is_store(path)) {
        outcome.status = gather_store(gathering, path);
        outcome.is_usable = outcome.status == CPTI_EXIT_DONE;
        return outcome;
    }
    outcome.status = cpti_input_open(&input, path);
    if (outcome.status != CPTI_EXIT_DONE) {
        return outcome;
    }
    if (input.kind == CPTI_INPUT_GZIP) {
        outcome.status = cpti_refuse_gzip(&input);
    } else if (input.kind == CPTI_INPUT_TREE) {
        outcome.status = gather_tree(gathering, &input, &outcome.is_usable);
    } else {
        outcome.is_log = 1;
        outcome.status = gather_log(gathering, &input, part, &outcome);
    }
    cpti_input_close(&input);
    return outcome;
}

/* Notes which logs it was; beyond the limit of notes the first ones stay. */
static void note_sources(const struct gathering *gathering, const char *const *paths,
                         const struct outcome *outcomes, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        const struct cpti_input input = {.path = paths[i]};

        for (size_t k = 0; k < gathering->gather_count && outcomes[i].is_log; k++) {
            if (!gathering->gathers[k].omits_sources) {
                (void)cpt_tree_note(gathering->gathers[k].tree, "source",
                                    cpti_input_name(&input));
            }
        }
    }
}

static int make_trees(struct gathering *gathering)
{
    gathering->shapes = cpt_log_shapes_new(NULL);
    if (gathering->shapes == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < gathering->gather_count; i++) {
        gathering->gathers[i].tree = cpt_tree_new(NULL, NULL);
        if (gathering->gathers[i].tree == NULL) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

/* --- Threads --- */

/* Not of enum cpti_exit: damage was met, and nothing gathered. */
enum { GATHERED_IN_VAIN = -1 };

/* What one thread gathers: trees, selections (they note which keys they met) and
 * services of its own. */
struct share {
    struct gathering gathering;
    struct cpti_gather gathers[CPTI_GATHERS_MAX];
    struct cpti_selection selections[CPTI_GATHERS_MAX];
};

struct crew {
    struct share *shares;
    size_t share_count;
    const char *const *paths;
    const struct cpti_pieces *pieces;
    struct outcome *outcomes; /* of the pieces */
};

static int gather_job(void *context, size_t worker, size_t job)
{
    const struct crew *crew = context;
    const struct cpti_piece *piece = &crew->pieces->all[job];

    crew->outcomes[job] =
        gather_piece(&crew->shares[worker].gathering, crew->paths[piece->file],
                     piece->is_cut ? &piece->part : NULL);
    return !crew->outcomes[job].is_usable;
}

/* Whether what was gathered, and said, is of no use. */
static int is_in_vain(const void *context)
{
    const struct crew *crew = context;

    for (size_t i = 0; i < crew->pieces->count; i++) {
        if (crew->outcomes[i].is_broken) {
            return 1;
        }
    }
    return 0;
}

static int init_share(struct share *share, const struct gathering *whole)
{
    share->gathering = *whole;
    share->gathering.services = (struct services){0};
    share->gathering.gathers = share->gathers;
    for (size_t i = 0; i < whole->gather_count; i++) {
        share->selections[i] = *whole->gathers[i].selection;
        share->selections[i].scratch = (struct cpti_scratch){0}; /* one a thread */
        share->gathers[i] = whole->gathers[i];
        share->gathers[i].selection = &share->selections[i];
        share->gathers[i].tree = NULL;
        share->gathers[i].context = NULL;
    }
    for (size_t i = 0; i < whole->gather_count; i++) {
        const struct cpti_gather *gather = &whole->gathers[i];

        if (gather->request != NULL) {
            share->gathers[i].context = gather->threads->split(gather->context);
            if (share->gathers[i].context == NULL) {
                return cpti_failed("out of memory");
            }
        }
    }
    return make_trees(&share->gathering);
}

static void deinit_share(struct share *share)
{
    for (size_t i = 0; i < share->gathering.gather_count; i++) {
        cpt_tree_free(share->gathers[i].tree);
        if (share->gathers[i].context != NULL) {
            share->gathers[i].threads->drop(share->gathers[i].context);
        }
    }
    services_deinit(&share->gathering.services);
    cpt_log_shapes_free(share->gathering.shapes);
}

/* Adds what a thread has gathered to @whole. */
static int join_share(struct gathering *whole, struct share *share)
{
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < whole->gather_count; i++) {
        struct cpti_selection *selection = whole->gathers[i].selection;

        cpti_selection_join(selection, &share->selections[i]);
        if (failed == CPTI_EXIT_DONE && share->gathers[i].tree != NULL) {
            failed = failed_tree(
                cpti_tree_absorb(&whole->gathers[i].tree, &share->gathers[i].tree));
        }
        if (failed == CPTI_EXIT_DONE && share->gathers[i].context != NULL) {
            failed = failed_tree(whole->gathers[i].threads->join(
                whole->gathers[i].context, share->gathers[i].context));
        }
        cpt_tree_free(share->gathers[i].tree); /* before the next one grows ours */
        share->gathers[i].tree = NULL;
    }
    for (size_t i = 0; i < share->gathering.services.count; i++) {
        (void)service_is_first(&whole->services, share->gathering.services.names[i]);
    }
    whole->services.more_count += share->gathering.services.more_count;
    return failed;
}

static int run_crew(struct crew *crew, const struct gathering *whole)
{
    const struct cpti_workers workers = {
        .job_count = crew->pieces->count,
        .worker_count = crew->share_count,
        .run = gather_job,
        .context = crew,
        .noun = crew->pieces->are_cut ? "pieces" : "files",
        .is_in_vain = is_in_vain,
    };
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < crew->share_count && status == CPTI_EXIT_DONE; i++) {
        status = init_share(&crew->shares[i], whole);
    }
    if (status == CPTI_EXIT_DONE && cpti_workers_run(&workers) != 0) {
        status = cpti_failed("no thread can be started");
    }
    return status;
}

/* What became of the files, of what became of their pieces. */
static void sum_up(const struct crew *crew, struct outcome *outcomes)
{
    for (size_t i = 0; i < crew->pieces->count; i++) {
        struct outcome *outcome = &outcomes[crew->pieces->all[i].file];
        const struct outcome *piece = &crew->outcomes[i];
        const int is_first =
            i == 0 || crew->pieces->all[i - 1].file != crew->pieces->all[i].file;

        if (is_first) {
            *outcome = *piece;
        } else if (outcome->status == CPTI_EXIT_DONE) {
            outcome->status = piece->status;
            outcome->is_usable &= piece->is_usable;
        }
    }
}

/* enum cpti_exit, or GATHERED_IN_VAIN. */
static int gather_by_threads(struct gathering *whole, const char *const *paths,
                             const struct cpti_pieces *pieces, size_t thread_count,
                             struct outcome *outcomes)
{
    const size_t share_count =
        thread_count < pieces->count ? thread_count : pieces->count;
    struct crew crew = {.shares = calloc(share_count, sizeof *crew.shares),
                        .share_count = share_count,
                        .paths = paths,
                        .pieces = pieces,
                        .outcomes = calloc(pieces->count, sizeof *crew.outcomes)};
    int status = crew.shares == NULL || crew.outcomes == NULL
                     ? cpti_failed("out of memory")
                     : run_crew(&crew, whole);

    if (status == CPTI_EXIT_DONE) {
        sum_up(&crew, outcomes);
        status = is_in_vain(&crew) ? GATHERED_IN_VAIN : CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < share_count && crew.shares != NULL; i++) {
        if (status == CPTI_EXIT_DONE) {
            status = join_share(whole, &crew.shares[i]);
        }
        deinit_share(&crew.shares[i]);
    }
    free(crew.shares);
    free(crew.outcomes);
    return status;
}

static int gather_by_turns(struct gathering *gathering, const char *const *paths,
                           struct outcome *outcomes, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        outcomes[i] = gather_piece(gathering, paths[i], NULL);
        if (!outcomes[i].is_usable) {
            break;
        }
    }
    return CPTI_EXIT_DONE;
}

/* By as many threads as there are pieces for. If there is damage in a piece of a log,
 * all is read again with whole files for pieces, and only that is said and counted. */
static int gather_outcomes(struct gathering *gathering, const char *const *paths,
                           size_t path_count, size_t thread_count,
                           struct outcome *outcomes)
{
    struct cpti_pieces pieces = {0};
    int status = cpti_pieces_init(&pieces, paths, path_count, thread_count);

    if (status == CPTI_EXIT_DONE && thread_count > 1 && pieces.count > 1) {
        status = gather_by_threads(gathering, paths, &pieces, thread_count, outcomes);
    } else if (status == CPTI_EXIT_DONE) {
        status = gather_by_turns(gathering, paths, outcomes, path_count);
    }
    cpti_pieces_deinit(&pieces);
    if (status == GATHERED_IN_VAIN && path_count > 1) {
        status = cpti_pieces_init(&pieces, paths, path_count, 1);
        if (status == CPTI_EXIT_DONE) {
            status =
                gather_by_threads(gathering, paths, &pieces, thread_count, outcomes);
        }
        cpti_pieces_deinit(&pieces);
    } else if (status == GATHERED_IN_VAIN) {
        status = gather_by_turns(gathering, paths, outcomes, path_count);
    }
    return status;
}

/* --- All --- */

/* What the first percentile was, if there is one: of a few requests none may exceed the
 * p99. */
static const char *percentile_reason(const struct cpti_selection *selection,
                                     char text[96])
{
    const struct cpti_percentile *first = &selection->expression.percentiles[0];
    char ms[32];

    text[0] = '\0';
    if (selection->expression.percentile_count != 0 && first->latency_ns != 0) {
        (void)snprintf(text, 96, "; %s was %s ms", first->name,
                       cpti_ms((double)first->latency_ns, ms));
    }
    return text;
}

/* No request at all: say what might be the reason. */
static int check_count(const struct cpti_gather *gather)
{
    const struct cpt_bytes unseen = cpti_selection_unseen(gather->selection);
    const uint64_t forced = cpt_tree_count_find(gather->tree, "forced_excluded");
    const uint64_t roots = cpt_tree_count_find(gather->tree, "local_root_excluded");
    const uint64_t records = cpt_tree_count_find(gather->tree, "records");
    const char *for_what = gather->what != NULL ? " for " : "";
    const char *what = gather->what != NULL ? gather->what : "";
    char forced_text[96] = "";
    char roots_text[96] = "";
    char percentile_text[96];

    if (gather->may_be_empty || cpt_tree_request_count(gather->tree) != 0) {
        return CPTI_EXIT_DONE;
    }
    if (records == 0) {
        return cpti_failed("no request is selected: there is no record");
    }
    if (unseen.bytes != 0) {
        return cpti_failed("no request is selected%s%s: no record has '%s'", for_what,
                           what, cpti_quoted_bytes(unseen));
    }
    if (forced != 0) {
        (void)snprintf(forced_text, sizeof forced_text,
                       "; %" PRIu64 " forced left out, see --include-forced", forced);
    }
    if (roots != 0) {
        (void)snprintf(roots_text, sizeof roots_text,
                       "; %" PRIu64 " of inner services' own left out, see --entry",
                       roots);
    }
    return cpti_failed(
        "no request is selected%s%s, of %" PRIu64 " records%s%s%s%s", for_what, what,
        records, percentile_reason(gather->selection, percentile_text), forced_text,
        roots_text,
        cpti_selection_is_doubtful(gather->selection)
            ? "; what follows a single '=' is the value to its end: expressions have "
              "'=='"
            : "");
}

/* Adds the requests that were drawn, if only a sample was to be had. */
static int finish_samples(struct gathering *gathering)
{
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        if (gathering->gathers[i].selection->sample_count == 0) {
            continue;
        }
        failed = gathering->is_drawn
                     ? CPTI_EXIT_DONE
                     : cpti_log_sample_tell(&gathering->samples[i], add_sampled,
                                            &gathering->gathers[i]);
        if (failed == CPTI_EXIT_DONE) {
            failed = note_sample(&gathering->gathers[i], &gathering->samples[i]);
        }
    }
    return failed;
}

static int finish(struct gathering *gathering)
{
    int failed = check_services(&gathering->services);

    if (failed == CPTI_EXIT_DONE) {
        failed = finish_samples(gathering);
    }
    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        struct cpti_gather *gather = &gathering->gathers[i];

        failed = check_count(gather);
        if (failed == CPTI_EXIT_DONE && gathering->services.count == 1) {
            failed = failed_tree(
                cpt_tree_note(gather->tree, "entry", gathering->services.names[0]));
        }
        if (failed == CPTI_EXIT_DONE) {
            failed = failed_tree(cpti_selection_note(gather->selection, gather->tree));
        }
    }
    return failed;
}

static int has_sample(const struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->gather_count; i++) {
        if (gathering->gathers[i].selection->sample_count != 0) {
            return 1;
        }
    }
    return 0;
}

/* The first pass, and empty samples. */
static int prepare(struct gathering *gathering, const char *const *paths,
                   size_t path_count, size_t job_count)
{
    struct cpti_selection *selections[CPTI_GATHERS_MAX];

    for (size_t i = 0; i < gathering->gather_count; i++) {
        selections[i] = gathering->gathers[i].selection;
        if (selections[i]->sample_count != 0) {
            /* two samples of one run do not draw alike */
            cpti_sample_init(&gathering->samples[i], selections[i]->sample_count,
                             selections[i]->seed + i * UINT64_C(0x2545f4914f6cdd1d));
        }
    }
    return cpti_gather_percentiles(selections, gathering->gather_count, paths,
                                   path_count, job_count);
}

/* Whether somebody wants to be told of all requests by one thread. */
static int is_for_one_thread(const struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->gather_count; i++) {
        if (gathering->gathers[i].request != NULL &&
            gathering->gathers[i].threads == NULL) {
            return 1;
        }
    }
    return 0;
}

/* Reads all files. What could not be used at all ends it. */
static int gather_files(struct gathering *gathering, const char *const *paths,
                        size_t path_count, size_t job_count, int *is_usable)
{
    const size_t thread_count =
        is_for_one_thread(gathering) || has_sample(gathering) ? 1 : job_count;
    struct outcome *outcomes = calloc(path_count + 1, sizeof *outcomes);
    int status = CPTI_EXIT_FAILED;

    *is_usable = 0;
    if (outcomes == NULL) {
        return cpti_failed("out of memory");
    }
    status = gather_outcomes(gathering, paths, path_count, thread_count, outcomes);
    *is_usable = status == CPTI_EXIT_DONE;
    for (size_t i = 0; i < path_count && *is_usable; i++) {
        status = outcomes[i].status != CPTI_EXIT_DONE ? outcomes[i].status : status;
        *is_usable = outcomes[i].is_usable;
    }
    if (*is_usable) {
        note_sources(gathering, paths, outcomes, path_count);
    }
    free(outcomes);
    return status;
}

int cpti_gather_jobs(struct cpti_gather *gathers, size_t gather_count,
                     const char *const *paths, size_t path_count, int stops_at_error,
                     size_t job_count, int *is_usable)
{
    struct gathering gathering = {.gathers = gathers,
                                  .gather_count = gather_count,
                                  .path_count = path_count,
                                  .stops_at_error = stops_at_error};
    int status = make_trees(&gathering);

    assert(gather_count <= CPTI_GATHERS_MAX);
    if (status == CPTI_EXIT_DONE) {
        status = prepare(&gathering, paths, path_count, job_count);
    }
    *is_usable = status == CPTI_EXIT_DONE;
    if (*is_usable) {
        status = gather_files(&gathering, paths, path_count, job_count, is_usable);
    }
    if (*is_usable) {
        const int failed = finish(&gathering);

        *is_usable = failed == CPTI_EXIT_DONE;
        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    for (size_t i = 0; i < gather_count; i++) {
        cpti_sample_deinit(&gathering.samples[i]);
        cpti_selection_deinit(gathers[i].selection);
    }
    cpt_log_shapes_free(gathering.shapes);
    services_deinit(&gathering.services);
    return status;
}

int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, int stops_at_error,
                int *is_usable)
{
    return cpti_gather_jobs(gathers, gather_count, paths, path_count, stops_at_error,
                            cpti_processors(), is_usable);
}

/* How many threads --jobs asks for. enum cpti_exit. */
static int read_jobs(const struct cpti_arguments *arguments, size_t *job_count)
{
    const char *given = cpti_value(arguments, "jobs");
    char *end;
    unsigned long count;

    *job_count = cpti_processors();
    if (given == NULL) {
        return CPTI_EXIT_DONE;
    }
    count = strtoul(given, &end, 10);
    if (given[0] < '0' || given[0] > '9' || *end != '\0' || count == 0 ||
        count > CPTI_WORKERS_MAX) {
        return cpti_usage("option '--jobs' takes a number from 1 to %d, not '%s'",
                          CPTI_WORKERS_MAX, cpti_quoted(given));
    }
    *job_count = count;
    return CPTI_EXIT_DONE;
}

int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         int *is_usable)
{
    struct cpti_selection selection;
    struct cpti_gather gather = {
        .selection = &selection,
        .may_be_empty = cpti_has(arguments, "allow-empty"),
        .omits_sources = cpti_has(arguments, "no-source"),
    };
    size_t job_count;
    int status = cpti_selection_init(&selection, arguments);

    *tree = NULL;
    *is_usable = 0;
    if (status == CPTI_EXIT_DONE) {
        status = read_jobs(arguments, &job_count);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_jobs(
            &gather, 1, arguments->operands, arguments->operand_count,
            cpti_has(arguments, "stop-at-error"), job_count, is_usable);
    }
    *tree = gather.tree;
    return status;
}
