/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_graphs.c - each file to the source that reads it, by its first bytes
 */
#include "tool/requests/kept_graphs.h"

#include "tool/base/amounts.h"
#include "tool/base/command.h"
#include "tool/base/folders.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/requests/kept_sources.h"
#include "tool/select/select.h"
#include "tool/table/json_write.h"
#include "import/learn/learn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cpti_kept_is_log(const unsigned char *head, size_t bytes)
{
    return cpti_input_kind_of(head, bytes) == CPTI_INPUT_GRAPHS;
}

bool cpti_kept_recognise(const unsigned char *head, size_t bytes)
{
    return cpti_kept_is_log(head, bytes) || cpti_kept_spans_recognise(head, bytes);
}

/* --- Which requests count --- */

/* NULL: @selection can be answered for each kept request alone. */
static const char *refusal_of(const struct cpti_selection *selection)
{
    if (cpti_selection_has_paths(selection)) {
        return "path(...)";
    }
    return selection->expression.percentile_count != 0 ? "pNN" : NULL;
}

int cpti_kept_selection(const struct cpti_arguments *arguments,
                        struct cpti_selection **selection)
{
    int status = CPTI_EXIT_DONE;

    *selection = calloc(1, sizeof **selection); /* large */
    if (*selection == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_selection_init(*selection, arguments);
    if (status == CPTI_EXIT_DONE && refusal_of(*selection) != NULL) {
        status = cpti_usage("cpt %s selects by attributes and times, not by %s",
                            arguments->command->name, refusal_of(*selection));
    }
    return status;
}

int cpti_kept_read(const struct cpti_arguments *arguments,
                   struct cpti_kept_options *options)
{
    options->files = arguments->operands;
    options->file_count = arguments->operand_count;
    options->wanted = cpti_value(arguments, "trace");
    options->by_walk = cpti_kept_by_walk(arguments);
    return cpti_kept_selection(arguments, &options->selection);
}

void cpti_kept_selection_free(struct cpti_selection *selection)
{
    if (selection != NULL) {
        cpti_selection_deinit(selection);
        free(selection);
    }
}

bool cpti_kept_by_walk(const struct cpti_arguments *arguments)
{
    const char *waits = cpti_value(arguments, "waits");

    return waits != NULL && strcmp(waits, "walk") == 0;
}

/* The attribute that no request had, as far as known; empty: none. */
static struct cpt_bytes unknown_key(const struct cpti_kept_options *options,
                                    const struct cpti_kept_counts *counts)
{
    const struct cpt_bytes unseen = options->selection != NULL
                                        ? cpti_selection_unseen(options->selection)
                                        : (struct cpt_bytes){NULL, 0};

    return unseen.bytes == 0 && options->by != NULL && counts->with_by == 0
               ? cpt_bytes_of(options->by)
               : unseen;
}

static void note_keys(struct cpti_kept *kept, const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        const struct cpt_bytes key = record->attributes[i].key;
        char text[CPTI_KEPT_KEY_BYTES];

        if (key.bytes < sizeof text) {
            (void)snprintf(text, sizeof text, "%.*s", (int)key.bytes, key.data);
            cpti_names_add(&kept->keys, text);
        }
    }
}

static void note_nearest(struct cpti_kept *kept)
{
    struct cpti_kept_counts *counts = kept->counts;
    const struct cpt_bytes key = unknown_key(kept->options, counts);
    const char *nearest = NULL;
    char text[CPTI_KEPT_KEY_BYTES];

    (void)snprintf(text, sizeof text, "%.*s", (int)key.bytes, key.data);
    nearest = key.bytes != 0 ? cpti_nearest_name(text, &kept->keys) : NULL;
    if (nearest != NULL) {
        (void)snprintf(counts->nearest, sizeof counts->nearest, "%s", nearest);
    }
}

/* A fold's selects(). Requests of inner services count, as no other of the same was
 * joined; none is of an event log. */
static enum cpti_selected selects(struct cpti_selection *selection,
                                  const struct cpt_record *record)
{
    enum cpti_selected selected = CPTI_SELECTED;

    if (selection != NULL) {
        selected = cpti_selection_counts(selection, record);
    } else if (record->is_forced) {
        selected = CPTI_FORCED_EXCLUDED;
    } else if (cpti_is_fragment(record)) {
        selected = CPTI_FRAGMENT_EXCLUDED;
    }
    return selected == CPTI_LOCAL_ROOT_EXCLUDED || selected == CPTI_EVENTS_EXCLUDED
               ? CPTI_SELECTED
               : selected;
}

/* The same where one trace is wanted. */
static enum cpti_selected selects_wanted(struct cpti_selection *selection,
                                         const struct cpt_record *record)
{
    const enum cpti_selected selected = selects(selection, record);

    return selected == CPTI_FORCED_EXCLUDED || selected == CPTI_FRAGMENT_EXCLUDED
               ? CPTI_SELECTED
               : selected;
}

bool cpti_kept_counts_record(struct cpti_kept *kept, struct cpt_bytes id,
                             const struct cpt_record *record)
{
    const struct cpti_kept_options *options = kept->options;
    struct cpti_kept_counts *counts = kept->counts;
    bool is_selected = true;

    if (options->wanted != NULL && !cpti_trace_is(id, options->wanted)) {
        return false;
    }
    is_selected = cpti_fold_select(&kept->fold, record) == CPTI_SELECTED;
    if (!options->takes_all && unknown_key(options, counts).bytes != 0) {
        note_keys(kept, record);
    }
    counts->with_by += is_selected && options->by != NULL &&
                       cpt_record_attribute(record, cpt_bytes_of(options->by)) != NULL;
    return is_selected;
}

cpt_status cpti_kept_visit(struct cpti_kept *kept, const struct cpti_kept_graph *graph)
{
    struct cpti_kept_counts *counts = kept->counts;
    const unsigned evidence = graph->recorded->evidence;
    const cpt_status status = kept->options->visit(kept->options->context, graph);

    if (status == CPT_OK) {
        counts->requests++;
        counts->inferred += evidence >= CPT_EVIDENCE_LEARNT;
        counts->evidence = evidence > counts->evidence ? evidence : counts->evidence;
    }
    return status;
}

int cpti_kept_none(const struct cpti_kept_options *options,
                   const struct cpti_kept_counts *counts)
{
    const struct cpt_bytes unknown = unknown_key(options, counts);
    char key[2 * CPTI_KEPT_KEY_BYTES];
    char hint[2 * CPTI_KEPT_KEY_BYTES] = "";

    if (counts->is_broken) {
        return CPTI_EXIT_FAILED;
    }
    (void)snprintf(key, sizeof key, "%s", cpti_quoted_bytes(unknown));
    if (counts->nearest[0] != '\0') {
        (void)snprintf(hint, sizeof hint, "; did you mean '%s'?",
                       cpti_quoted(counts->nearest));
    }
    if (counts->requests != 0 && options->by != NULL) {
        return cpti_failed("option '--by': no request has '%s'%s", key, hint);
    }
    if (counts->unselected == 0) {
        return cpti_failed("no request %s",
                           options->wanted != NULL ? "of that trace" : "is kept");
    }
    return unknown.bytes != 0
               ? cpti_failed("no request is selected: none has '%s'%s", key, hint)
               : cpti_failed("no request is selected");
}

/* --- Files --- */

int cpti_kept_option(const struct cpti_arguments *given, const char *option,
                     struct cpti_arguments *files)
{
    static const struct cpti_command folders = {CPTI_KEPT_FOLDERS};

    *files = (struct cpti_arguments){.command = &folders};
    files->operands = calloc(given->option_count + 1, sizeof *files->operands);
    if (files->operands == NULL) {
        return cpti_failed("out of memory");
    }
    for (;;) {
        const char *name = cpti_value_at(given, option, files->operand_count);

        if (name == NULL) {
            return cpti_folders_open(files);
        }
        files->operands[files->operand_count++] = name;
    }
}

/* A stream's other(). */
static void meet_file(void *context, struct cpti_fold *folds, struct cpti_input *input,
                      struct cpti_outcome *outcome)
{
    struct cpti_kept *kept = context;

    (void)folds;
    switch (input->kind) {
    case CPTI_INPUT_GRAPHS:
        outcome->is_taken = true;
        outcome->exit_status = cpti_kept_logs_add(kept->logs, input);
        break;
    case CPTI_INPUT_LOG:
        outcome->exit_status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                           "is a path log: it has what was on the critical path, "
                           "and nothing else" CPTI_HINT "give graph logs, or spans");
        break;
    case CPTI_INPUT_TREE:
        outcome->exit_status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                           "is a tree: it holds averages, no single requests; "
                           "give graph logs, or spans");
        break;
    default:
        outcome->exit_status = cpti_kept_spans_add(kept->spans, input);
        break;
    }
}

/* A name that was given, and its file. */
struct given {
    dev_t device;
    ino_t number;
    size_t at; /* its place among the names */
};

static int compare_given(const void *left, const void *right)
{
    const struct given *a = left;
    const struct given *b = right;

    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return (a->at > b->at) - (a->at < b->at);
}

/* The names, those left out that are further ones of a regular file that came before:
 * each file is read once, rather than all of its records as copies. The caller frees
 * the list. NULL: no memory. */
static const char **list_files(const struct cpti_kept_options *options, size_t *listed)
{
    const char **names = calloc(options->file_count + 1, sizeof *names);
    struct given *given = calloc(options->file_count + 1, sizeof *given);
    size_t count = 0;

    *listed = 0;
    if (given == NULL || names == NULL) {
        free(given);
        free(names);
        return NULL;
    }
    for (size_t i = 0; i < options->file_count; i++) {
        names[i] = options->files[i];
    }
    for (size_t i = 0; i < options->file_count; i++) {
        struct stat about;

        if (strcmp(options->files[i], "-") != 0 &&
            stat(options->files[i], &about) == 0 && S_ISREG(about.st_mode)) {
            given[count++] = (struct given){about.st_dev, about.st_ino, i};
        }
    }
    qsort(given, count, sizeof *given, compare_given);
    for (size_t i = 1; i < count; i++) {
        if (given[i].device == given[i - 1].device &&
            given[i].number == given[i - 1].number) {
            names[given[i].at] = NULL;
        }
    }
    for (size_t i = 0; i < options->file_count; i++) {
        if (names[i] != NULL) {
            names[(*listed)++] = names[i];
        }
    }
    free(given);
    return names;
}

/* Tells what is left out. */
static void tell_left(const struct cpti_kept_options *options,
                      const struct cpti_kept_counts *counts)
{
    if (counts->fragments != 0) {
        cpti_warn("fragments that are left out, of traces whose root was lost: %" PRIu64
                  "%s",
                  counts->fragments,
                  options->selection != NULL ? "; --include-fragments takes them" : "");
    }
    if (counts->empty != 0) {
        cpti_warn("traces left out that took no time: %" PRIu64, counts->empty);
    }
    if (counts->others != 0) {
        cpti_warn("traces that are left out, as they do not fit together, or are too "
                  "large: %" PRIu64,
                  counts->others);
    }
}

/* Of which services and operations there are too few requests. */
static void put_few(struct cpti_json *json, const struct cpti_kept_counts *counts)
{
    if (counts->few_of_count == 0) {
        return;
    }
    cpti_json_open(json, "other_events_of", '[');
    for (size_t i = 0; i < counts->few_of_count; i++) {
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "name", counts->few_of[i].name);
        cpti_json_unsigned(json, "events", counts->few_of[i].events);
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_bool(json, "other_events_of_all", !counts->is_few_of_some);
}

static void write_few(const struct cpti_kept_counts *counts, FILE *file)
{
    if (counts->few_of_count == 0 || counts->traces < CPTI_LEARN_NODES_MIN) {
        return;
    }
    (void)fprintf(file,
                  "too few requests of a kind, to learn from them, for %" PRIu64
                  " of %" PRIu64 " events; ",
                  counts->few, counts->learnt + counts->few);
    if (counts->is_few_of_some) {
        (void)fprintf(file, "there are more than %d kinds, of those that were counted ",
                      CPTI_LEARN_FEW_CLASSES_MAX);
    }
    (void)fprintf(file, "most are of");
    for (size_t i = 0; i < counts->few_of_count; i++) {
        (void)fprintf(file, "%s %s (%" PRIu64 ")", i == 0 ? "" : ",",
                      cpti_quoted(counts->few_of[i].name), counts->few_of[i].events);
    }
    (void)fprintf(file, "; ids in names are the usual reason\n");
}

void cpti_kept_put_evidence(struct cpti_json *json,
                            const struct cpti_kept_counts *counts)
{
    cpti_json_text(json, "evidence", cpt_evidence_word(counts->evidence));
    cpti_json_unsigned(json, "inferred", counts->inferred);
    cpti_json_unsigned(json, "learnt_events", counts->learnt);
    cpti_json_unsigned(json, "other_events", counts->few);
    put_few(json, counts);
    cpti_json_unsigned(json, "server_calls", counts->server);
    cpti_json_unsigned(json, "resolution_ns", counts->resolution_ns);
    cpti_json_unsigned(json, "cut", counts->cut);
    cpti_json_unsigned(json, "cut_ns", counts->cut_ns);
}

void cpti_kept_write_evidence(const struct cpti_kept_counts *counts, FILE *file)
{
    if (counts->inferred == 0) {
        return;
    }
    (void)fprintf(file, "spans without waits: who waited is inferred, ");
    if (counts->learnt == 0) {
        (void)fprintf(file, "from one request each");
        if (counts->traces != 0 && counts->traces < CPTI_LEARN_NODES_MIN) {
            (void)fprintf(file, ", as they are fewer than %d", CPTI_LEARN_NODES_MIN);
        }
    } else {
        char text[32];

        (void)fprintf(file,
                      "learnt from all requests for %" PRIu64 " of %" PRIu64
                      " events; calls without a client's span: %" PRIu64
                      "; stamps of %s ms",
                      counts->learnt, counts->learnt + counts->few, counts->server,
                      cpti_ms((double)counts->resolution_ns, text));
    }
    if (counts->inferred != counts->requests) {
        (void)fprintf(file, ", in %" PRIu64 " of %" PRIu64, counts->inferred,
                      counts->requests);
    }
    if (counts->cut != 0) {
        char text[32];

        (void)fprintf(file,
                      "; calls cut to their caller or to the next call: %" PRIu64
                      ", by %s ms",
                      counts->cut, cpti_ms((double)counts->cut_ns, text));
    }
    (void)fprintf(file, "\n");
    write_few(counts, file);
}

void cpti_kept_print_evidence(const struct cpti_kept_counts *counts)
{
    cpti_kept_write_evidence(counts, stdout);
}

/* A stream's finish(): the requests of all files. */
static int finish(void *context)
{
    struct cpti_kept *kept = context;
    struct cpti_kept_counts *counts = kept->counts;
    const struct cpti_fold_counts *of = &kept->fold.counts;
    uint64_t of_spans = 0;
    int status = CPTI_EXIT_DONE;

    if (kept->again_count != 0) {
        cpti_warn("files that are given again, and are read once: %zu",
                  kept->again_count);
    }
    status = cpti_kept_spans_finish(kept->spans);
    of_spans = counts->requests;
    status = cpti_exit_last(status, cpti_kept_logs_finish(kept->logs));
    if (of_spans != 0 && counts->requests != of_spans) {
        cpti_warn("requests of spans: %" PRIu64 ", of graph logs: %" PRIu64 "; "
                  "a request that has both counts twice: give one kind",
                  of_spans, counts->requests - of_spans);
    }
    counts->fragments = of->fragment_count;
    counts->unselected = of->record_count - of->selected_count - of->forced_count -
                         of->fragment_count - of->events_count;
    tell_left(kept->options, counts);
    return status;
}

/* Reads @files, which is a list of its own. */
static int read_files(struct cpti_kept *kept, const char *const *files, size_t count)
{
    const struct cpti_kept_options *options = kept->options;
    bool is_usable = false;

    kept->again_count = options->file_count - count;
    kept->fold =
        (struct cpti_fold){.selection = options->selection, .selects = selects};
    if (options->takes_all) {
        kept->fold = (struct cpti_fold){0};
    } else if (options->wanted != NULL) {
        kept->fold.selects = selects_wanted;
    }
    kept->stream = (struct cpti_stream){.folds = &kept->fold,
                                        .fold_count = 1,
                                        .paths = files,
                                        .path_count = count,
                                        .goes_on = true,
                                        .gives_logs = true,
                                        .context = kept,
                                        .other = meet_file,
                                        .finish = finish};
    return cpti_stream_run(&kept->stream, &is_usable);
}

int cpti_kept_graphs(const struct cpti_kept_options *options,
                     struct cpti_kept_counts *counts)
{
    struct cpti_kept kept = {.options = options, .counts = counts};
    size_t count = 0;
    const char **files = list_files(options, &count);
    int status = CPTI_EXIT_DONE;

    memset(counts, 0, sizeof *counts);
    kept.spans = cpti_kept_spans_new(&kept);
    kept.logs = cpti_kept_logs_new(&kept);
    status = files != NULL && kept.spans != NULL && kept.logs != NULL
                 ? read_files(&kept, files, count)
                 : cpti_failed("out of memory");
    if (counts->is_broken) {
        counts->requests = 0;
    }
    note_nearest(&kept);
    cpti_names_deinit(&kept.keys);
    cpti_kept_spans_free(kept.spans);
    cpti_kept_logs_free(kept.logs);
    free(files);
    return status;
}
