/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather.c - from files to trees; see gather.h */
#include "cpt/cli/gather.h"

#include "cpt/cli/files.h"
#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest tree file that is read: it has to fit the memory beside its tree. */
#define TREE_BYTES_MAX ((size_t)1 << 32)

/* Entry services that selected requests had, escaped for printing. */
struct services {
    char *names[CPTI_SERVICES_MAX];
    size_t count;
    size_t more_count; /* that were not noted, counted again and again */
};

/* The gathering of all files. */
struct gathering {
    struct cpti_gather *gathers;
    size_t gather_count;
    struct services services;
    int stops_at_error;
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
                                  i == 0 ? "" : ", ", services->names[i]);
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

/* Whether @record counts for @gather; counts those that are left out. */
static int is_selected(struct cpti_gather *gather, const struct cpt_record *record,
                       cpt_status *status)
{
    const struct cpt_bytes service = record->service;
    const char *entry = gather->selection->entry;

    *status = cpt_tree_count_add(gather->tree, "records", 1);
    if (entry != NULL && !cpt_bytes_equal(service, cpt_bytes_of(entry))) {
        (void)cpti_selection_has(gather->selection,
                                 record); /* notes which keys it has */
        return 0;
    }
    switch (cpti_selection_has(gather->selection, record)) {
    case CPTI_SELECTED:
        return 1;
    case CPTI_FORCED_EXCLUDED:
        if (*status == CPT_OK) {
            *status = cpt_tree_count_add(gather->tree, "forced_excluded", 1);
        }
        return 0;
    case CPTI_NOT_SELECTED:
    default:
        return 0;
    }
}

static int add_record(struct cpti_log_walk *walk, const struct cpt_record *record,
                      struct cpti_gather *gather)
{
    const struct cpt_path *path;
    const cpt_weight weight = cpti_selection_weight(gather->selection, record);
    cpt_status status;
    int failed;

    if (weight == 0) {
        return cpti_log_skip(walk,
                             "its sampling probability is not above 0 and up to 1");
    }
    failed = cpti_log_path(walk, record, &path);
    if (path == NULL) {
        return failed;
    }
    status = cpt_tree_add(gather->tree, path, weight);
    if (status == CPT_OK) {
        cpt_tree_time_add(gather->tree, record->start_unix_ns);
        return CPTI_EXIT_DONE;
    }
    if (status == CPT_NO_MEMORY) {
        return cpti_failed("out of memory");
    }
    return cpti_log_skip(walk,
                         "the tree cannot take it: a limit of aggregation is reached");
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct gathering *gathering = walk->context;
    int failed = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        struct cpti_gather *gather = &gathering->gathers[i];
        cpt_status status;
        const int selected = is_selected(gather, record, &status);

        if (status != CPT_OK) {
            failed = failed_tree(status);
        } else if (selected && service_is_first(&gathering->services,
                                                cpti_quoted_bytes(record->service))) {
            failed = add_record(walk, record, gather);
        }
    }
    return failed;
}

static int gather_log(struct gathering *gathering, struct cpti_input *input,
                      int *is_usable)
{
    struct cpti_log_walk walk = {
        .input = input,
        .stops_at_error = gathering->stops_at_error,
        .record = meet_record,
        .context = gathering,
    };
    const int status = cpti_log_walk(&walk);

    for (size_t i = 0; i < gathering->gather_count; i++) {
        if (walk.skipped_count + walk.lost_count != 0) {
            (void)cpt_tree_count_add(gathering->gathers[i].tree, "skipped",
                                     walk.skipped_count + walk.lost_count);
        }
    }
    /* records that were skipped do not take away the others */
    *is_usable =
        status == CPTI_EXIT_DONE || (walk.damage_count != 0 && walk.record_count != 0 &&
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
            return cpti_failed("%s: its requests entered at %s, not at %s",
                               cpti_input_name(input),
                               cpt_tree_note_find(tree, "entry"), cpti_quoted(entry));
        }
    }
    return CPTI_EXIT_DONE;
}

static int merge_tree(struct gathering *gathering, const struct cpti_input *input,
                      const struct cpt_tree *tree)
{
    int failed = check_tree(gathering, input, tree);

    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, "entry") == 0) {
            (void)service_is_first(&gathering->services, note.value);
        }
    }
    for (size_t i = 0; i < gathering->gather_count && failed == CPTI_EXIT_DONE; i++) {
        failed = failed_tree(cpt_tree_merge(gathering->gathers[i].tree, tree));
    }
    return failed;
}

static int gather_tree(struct gathering *gathering, struct cpti_input *input,
                       int *is_usable)
{
    struct cpt_error error = {0};
    struct cpt_tree *tree = NULL;
    unsigned char *data;
    size_t bytes;
    int status = cpti_input_slurp(input, TREE_BYTES_MAX, &data, &bytes);

    *is_usable = 0;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (cpt_tree_decode(NULL, NULL, data, bytes, &tree, &error) != CPT_OK) {
        status = cpti_failed("%s: at byte %" PRIu64 ": %s", cpti_input_name(input),
                             error.offset, error.sentence);
    } else {
        status = merge_tree(gathering, input, tree);
    }
    *is_usable = status == CPTI_EXIT_DONE;
    cpt_tree_free(tree);
    free(data);
    return status;
}

/* --- All --- */

static int gather_file(struct gathering *gathering, const char *path, int *is_usable)
{
    struct cpti_input input;
    int status = cpti_input_open(&input, path);

    *is_usable = 0;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (input.kind == CPTI_INPUT_GZIP) {
        status = cpti_refuse_gzip(&input);
    } else if (input.kind == CPTI_INPUT_TREE) {
        status = gather_tree(gathering, &input, is_usable);
    } else {
        status = gather_log(gathering, &input, is_usable);
        for (size_t i = 0; i < gathering->gather_count && *is_usable; i++) {
            (void)cpt_tree_note(gathering->gathers[i].tree, "source",
                                cpti_input_name(&input));
        }
    }
    cpti_input_close(&input);
    return status;
}

/* No request at all: say what might be the reason. */
static int check_count(const struct cpti_gather *gather)
{
    const struct cpti_term *unseen = cpti_selection_unseen(gather->selection);
    const uint64_t forced = cpt_tree_count_find(gather->tree, "forced_excluded");
    const uint64_t records = cpt_tree_count_find(gather->tree, "records");
    char forced_text[96] = "";

    if (cpt_tree_request_count(gather->tree) != 0) {
        return CPTI_EXIT_DONE;
    }
    if (records == 0) {
        return cpti_failed("no request is selected: there is no record");
    }
    if (forced != 0) {
        (void)snprintf(forced_text, sizeof forced_text,
                       "; %" PRIu64 " forced left out, see --include-forced", forced);
    }
    if (unseen != NULL) {
        return cpti_failed("no request is selected%s%s: no record has '%s'",
                           gather->what != NULL ? " for " : "",
                           gather->what != NULL ? gather->what : "",
                           cpti_quoted_bytes(unseen->key));
    }
    return cpti_failed("no request is selected%s%s, of %" PRIu64 " records%s",
                       gather->what != NULL ? " for " : "",
                       gather->what != NULL ? gather->what : "", records, forced_text);
}

static int finish(struct gathering *gathering)
{
    int failed = check_services(&gathering->services);

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

int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, int stops_at_error,
                int *is_usable)
{
    struct gathering gathering = {gathers, gather_count, {{0}, 0, 0}, stops_at_error};
    int status = CPTI_EXIT_DONE;

    *is_usable = 1;
    for (size_t i = 0; i < gather_count; i++) {
        gathers[i].tree = cpt_tree_new(NULL, NULL);
        if (gathers[i].tree == NULL) {
            *is_usable = 0;
            status = cpti_failed("out of memory");
        }
    }
    for (size_t i = 0; i < path_count && *is_usable; i++) {
        const int failed = gather_file(&gathering, paths[i], is_usable);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    if (*is_usable) {
        const int failed = finish(&gathering);

        *is_usable = failed == CPTI_EXIT_DONE;
        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    services_deinit(&gathering.services);
    return status;
}

int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         int *is_usable)
{
    struct cpti_selection selection;
    struct cpti_gather gather = {&selection, NULL, NULL};
    int status = cpti_selection_init(&selection, arguments);

    *tree = NULL;
    *is_usable = 0;
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather(&gather, 1, arguments->operands, arguments->operand_count,
                             cpti_has(arguments, "stop-at-error"), is_usable);
    }
    *tree = gather.tree;
    return status;
}
