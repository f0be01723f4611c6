/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather.c - from files to trees; see gather.h */
#include "tool/gather/parts.h"
#include "tool/gather/gather_run.h"

#include "tool/base/amounts.h"
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/requests/diagnosis.h"
#include "tool/requests/log_untraced.h"
#include "tool/requests/workers.h"
#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_tree.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Fails if there are several entry services, and names them. */
static int check_services(struct cpti_gather_services *services)
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
        "averaged together" CPTI_HINT "choose one by --entry: %s",
        services->count, services->more_count != 0 ? " or more" : "", text);
}

/* Bytes of @path up to its last '/', that one included. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* How many paths from @first on are named together: those of a folder that was given,
 * or of one folder. */
static size_t together(const struct cpti_gather *gather, const char *const *paths,
                       size_t first, size_t path_count, const char **folder)
{
    const size_t bytes = folder_bytes(paths[first]);
    size_t at = 0;
    size_t next = first + 1;

    for (size_t i = 0; i < gather->source_count && at <= first; i++) {
        if (gather->sources[i].is_folder && at == first) {
            *folder = gather->sources[i].name;
            return gather->sources[i].count;
        }
        at += gather->sources[i].count;
    }
    *folder = NULL;
    while (next < path_count && folder_bytes(paths[next]) == bytes &&
           strncmp(paths[next], paths[first], bytes) == 0 &&
           !cpti_is_store(paths[next])) {
        next++;
    }
    return next - first;
}

/* Notes @value; beyond the limit of notes not. enum cpti_exit. */
static int note(const struct cpti_gather *gather, const char *key, const char *value)
{
    return cpt_tree_note(gather->tree, key, value) == CPT_NO_MEMORY
               ? cpti_failed("out of memory")
               : CPTI_EXIT_DONE;
}

/* Inputs that are named together. */
struct named {
    const char *folder; /* that they were given as; or NULL */
    const char *const *paths;
    const struct cpti_outcome *outcomes;
    size_t count;
};

/* Notes which logs were read, to know them again (parts.h); they are one note. */
static int note_reading(struct cpti_parts *parts, const struct cpti_gather *gather,
                        const struct named *named)
{
    const char **logs = calloc(named->count, sizeof *logs);
    size_t log_count = 0;
    char text[17];
    int status = CPTI_EXIT_DONE;

    if (logs == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < named->count; i++) {
        if (named->outcomes[i].is_log) {
            logs[log_count++] = named->paths[i];
        }
    }
    status = cpti_parts_reading(logs, log_count, text);
    if (status == CPTI_EXIT_DONE && text[0] != '\0') {
        cpti_parts_meet_logs(parts, text);
        status = note(gather, "reading", text);
    }
    free(logs);
    return status;
}

/* Notes the logs among the inputs: a few by name, or how many of a folder. */
static int note_together(struct cpti_parts *parts, const struct cpti_gather *gather,
                         const struct named *named)
{
    enum { NAMED_MAX = 3 };
    const struct cpt_bytes path = {named->paths[0], folder_bytes(named->paths[0])};
    char text[CPTI_TEXT_BYTES + 32];
    size_t log_count = 0;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < named->count; i++) {
        log_count += named->outcomes[i].is_log;
    }
    if (log_count > NAMED_MAX || (named->folder != NULL && log_count > 1)) {
        const char *name = named->folder != NULL ? cpti_quoted(named->folder)
                           : path.bytes != 0     ? cpti_quoted_bytes(path)
                                                 : "./";

        (void)snprintf(text, sizeof text, "%zu files of %s%s", log_count, name,
                       name[strlen(name) - 1] == '/' ? "" : "/");
        status = note(gather, "source", text);
        return status == CPTI_EXIT_DONE ? note_reading(parts, gather, named) : status;
    }
    for (size_t i = 0; i < named->count && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_input input = {.path = named->paths[i]};
        const struct named one = {NULL, named->paths + i, named->outcomes + i, 1};

        if (one.outcomes->is_log) {
            status = note(gather, "source", cpti_input_name(&input));
            if (status == CPTI_EXIT_DONE) {
                status = note_reading(parts, gather, &one);
            }
        }
    }
    return status;
}

/* Notes the names of the logs; beyond the limit of notes the first ones stay. */
static int note_sources(struct cpti_parts *parts, const struct cpti_gather *gather,
                        const struct cpti_stream *stream)
{
    for (size_t i = 0; i < stream->path_count && !gather->omits_sources;) {
        struct named named = {NULL, stream->paths + i, stream->outcomes + i, 0};

        named.count =
            together(gather, stream->paths, i, stream->path_count, &named.folder);
        if (note_together(parts, gather, &named) != CPTI_EXIT_DONE) {
            return CPTI_EXIT_FAILED;
        }
        i += named.count;
    }
    return CPTI_EXIT_DONE;
}

/* Notes in the tree of @gather what trees it is made of (parts.h), and how the other
 * requests were selected. */
static cpt_status note_parts(struct cpti_parts *parts, const struct cpti_gather *gather,
                             bool met_requests)
{
    struct cpt_tree *own = cpt_tree_new(NULL, NULL);
    cpt_status status = own != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK && met_requests) {
        status = cpti_selection_note(gather->selection, own);
        if (status == CPT_OK) {
            status = cpti_parts_meet_others(parts, own);
        }
    }
    if (status == CPT_OK) {
        status = cpti_parts_note(parts, gather->tree);
    }
    if (status == CPT_OK) {
        status = cpti_selection_note(gather->selection, gather->tree);
    }
    cpt_tree_free(own);
    return status;
}

/* The first percentile, if there is one: of a few requests none may exceed the p99. */
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

/* Says how many records counted only once. */
static void warn_of_duplicates(const struct cpti_gather *gather)
{
    const uint64_t count =
        cpt_tree_count_find(gather->tree, "duplicates") - gather->tree_duplicates;
    const uint64_t unchecked =
        cpt_tree_count_find(gather->tree, "duplicates_unchecked");
    const char *what = gather->what != NULL ? gather->what : "";
    const char *colon = gather->what != NULL ? ": " : "";

    if (count != 0) {
        cpti_warn("%s%s%" PRIu64 " records were given more than once and count once; "
                  "--keep-duplicates counts them again",
                  what, colon, count);
    }
    if (unchecked != 0) {
        cpti_warn("%s%s%" PRIu64 " records were not compared with all others, as there "
                  "are too many: duplicates among them count",
                  what, colon, unchecked);
    }
}

/* What was left out of @tree, as text. */
static const char *left_text(const struct cpt_tree *tree, char text[CPTI_LEFT_BYTES])
{
    const struct cpti_fold_counts counts = {
        .forced_count = cpt_tree_count_find(tree, "forced_excluded"),
        .fragment_count = cpt_tree_count_find(tree, "fragments_excluded"),
        .local_root_count = cpt_tree_count_find(tree, "local_root_excluded"),
        .events_count = cpt_tree_count_find(tree, "events_excluded")};

    return cpti_fold_left_text(&counts, text);
}

/* Says if the requests of @gather that are near in time resemble each other. */
static void warn_of_time(const struct cpti_gather *gather, struct cpt_serial *serial)
{
    const struct cpt_serial_result result =
        serial != NULL ? cpt_serial_test(serial) : (struct cpt_serial_result){0};

    if (result.is_found) {
        cpti_warn("%s%srequests near in time resemble each other: errors, which take "
                  "them as independent, are too small by a factor of about %.1f (p %s "
                  "%.2g); give --cluster what they have in common: minute, host, user",
                  gather->what != NULL ? gather->what : "",
                  gather->what != NULL ? ": " : "", sqrt(result.inflation),
                  result.p_value < 1e-6 ? "<" : "=", fmax(result.p_value, 1e-6));
    }
}

/* Says that no request was selected, and what the reason may be. @is_diagnosed: terms
 * follow. */
static int say_none(const struct cpti_gather *gather, bool is_diagnosed)
{
    const struct cpt_bytes unseen = cpti_selection_unseen(gather->selection);
    const uint64_t records = cpti_parts_records(gather->tree);
    const char *for_what = gather->what != NULL ? " for " : "";
    const char *what = gather->what != NULL ? gather->what : "";
    char left[CPTI_LEFT_BYTES];
    char percentile_text[96];

    if (unseen.bytes != 0 && !is_diagnosed) {
        return cpti_failed("no request is selected%s%s: no record has '%s'", for_what,
                           what, cpti_quoted_bytes(unseen));
    }
    return cpti_failed(
        "no request is selected%s%s, of %" PRIu64 " record%s%s%s%s%s", for_what, what,
        records, records == 1 ? "" : "s",
        percentile_reason(gather->selection, percentile_text),
        left_text(gather->tree, left),
        cpti_selection_is_doubtful(gather->selection)
            ? "; what follows a single '=' is the value to its end: expressions have "
              "'=='"
            : "",
        is_diagnosed ? "; left after each term:" : "");
}

/* Fails if no request was selected, and says which term left none. */
static int check_count(const struct cpti_gather *gather, const char *const *paths,
                       size_t path_count)
{
    char left[CPTI_LEFT_BYTES];
    /* what was left out for its kind held for all terms */
    const bool is_diagnosed = cpti_selection_has_terms(gather->selection) &&
                              !gather->met_tree &&
                              left_text(gather->tree, left)[0] == '\0' &&
                              cpti_diagnosis_is_possible(paths, path_count);
    int status;

    if (gather->may_be_empty || cpt_tree_request_count(gather->tree) != 0) {
        return CPTI_EXIT_DONE;
    }
    if (cpt_tree_count_find(gather->tree, "records") == 0) {
        return cpti_untraced_failed(paths, path_count);
    }
    status = say_none(gather, is_diagnosed);
    if (is_diagnosed) {
        cpti_diagnosis_print(gather->selection, paths, path_count);
    }
    return status;
}

/* The services of all sides; those of a database have no place of their own. */
static void join_services(struct cpti_gather_side *sides, size_t side_count)
{
    struct cpti_gather_services *all = &sides[0].services;

    for (size_t i = 1; i < side_count; i++) {
        for (size_t k = 0; k < sides[i].services.count; k++) {
            (void)cpti_gather_enters(all, sides[i].services.names[k]);
        }
        all->more_count += sides[i].services.more_count;
        all->has_failed |= sides[i].services.has_failed;
    }
}

/* Adds the requests of the sample to the tree, unless a database has done so, and notes
 * how it was drawn. enum cpti_exit. */
static int add_sample(const struct cpti_gather_run *run, struct cpti_fold *fold,
                      const struct cpti_gather *gather)
{
    const struct cpti_sample *sample = &fold->sample;
    char text[96];
    int exit_status = CPTI_EXIT_DONE;

    if (!fold->is_sampled) {
        return CPTI_EXIT_DONE;
    }
    if (!run->is_drawn) {
        exit_status = cpti_fold_drawn(fold);
    }
    (void)snprintf(text, sizeof text, "%zu of %" PRIu64 ", seed %" PRIu64,
                   sample->count, sample->met_count, fold->selection->seed);
    return exit_status != CPTI_EXIT_DONE
               ? exit_status
               : cpti_status_exit(cpt_tree_note(gather->tree, "sample", text));
}

/* Counts the requests of each evidence, those that are recorded left out. */
static cpt_status note_evidence(const struct cpti_gather_side *side)
{
    cpt_status status = CPT_OK;

    for (unsigned i = CPT_EVIDENCE_RECORDED + 1;
         i < CPT_EVIDENCE_COUNT && status == CPT_OK; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, CPTI_EVIDENCE_COUNT, cpt_evidence_word(i));
        if (side->evidence[i] != 0) {
            status = cpt_tree_count_add(side->gather->tree, key, side->evidence[i]);
        }
    }
    return status;
}

/* Completes the tree of @side: checks what was selected, adds notes. @entry: the
 * service of all requests; or NULL. */
static int finish_side(const struct cpti_gather_run *run,
                       const struct cpti_gather_side *side,
                       const struct cpti_stream *stream, const char *entry)
{
    const struct cpti_gather *gather = side->gather;
    bool met_requests = false;
    int status;

    warn_of_duplicates(gather);
    warn_of_time(gather, side->serial);
    status = check_count(gather, stream->paths, stream->path_count);
    if (status == CPTI_EXIT_DONE && entry != NULL) {
        status = cpti_status_exit(cpt_tree_note(gather->tree, "entry", entry));
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_status_exit(note_evidence(side));
    }
    for (size_t i = 0; i < stream->path_count; i++) {
        met_requests = met_requests || stream->outcomes[i].is_log ||
                       cpti_is_store(stream->paths[i]);
    }
    return status != CPTI_EXIT_DONE
               ? status
               : cpti_status_exit(note_parts(run->parts, gather, met_requests));
}

/* Completes all trees. */
static int finish(const struct cpti_gather_run *run, struct cpti_gather_side *sides,
                  struct cpti_stream *stream)
{
    struct cpti_gather_services *services = &sides[0].services;
    int status = sides[0].gather->is_list ? CPTI_EXIT_DONE : check_services(services);

    for (size_t i = 0; i < run->side_count && status == CPTI_EXIT_DONE; i++) {
        status = add_sample(run, &stream->folds[i], sides[i].gather);
    }
    for (size_t i = 0; i < run->side_count && status == CPTI_EXIT_DONE; i++) {
        status = finish_side(run, &sides[i], stream,
                             services->count == 1 ? services->names[0] : NULL);
    }
    cpti_parts_warn(run->parts, sides[0].gather->tree);
    return status;
}

/* The weight of @records records in requests; @more is their weight beyond one each. */
static double requests_of(double records, uint64_t more)
{
    return records + (double)more / (double)CPT_WEIGHT_ONE;
}

struct cpti_gather_share cpti_gather_share(const struct cpti_gather *gather)
{
    const struct cpt_tree *tree = gather->tree;
    double whole = (double)cpt_tree_count_find(tree, CPTI_COUNT_WHOLE);
    double chosen = (double)cpt_tree_count_find(tree, CPTI_COUNT_CHOSEN);
    const double requests =
        requests_of(whole, cpt_tree_count_find(tree, CPTI_COUNT_WHOLE_WEIGHT));
    const double part =
        requests_of(chosen, cpt_tree_count_find(tree, CPTI_COUNT_CHOSEN_WEIGHT)) /
        requests;
    struct cpti_gather_share share = {.is_known = whole > 0 && !gather->met_tree};

    if (share.is_known) {
        share.requests = part;
        share.traced = whole / requests;
    } else {
        chosen = (double)cpt_tree_request_count(tree);
        whole = (double)cpti_parts_records(tree) -
                (double)cpt_tree_count_find(tree, "forced_excluded") -
                (double)cpt_tree_count_find(tree, "fragments_excluded") -
                (double)cpt_tree_count_find(tree, "local_root_excluded") -
                (double)cpt_tree_count_find(tree, "events_excluded");
        whole = fmax(whole, chosen);
    }
    share.records = whole > 0 ? chosen / whole : 1;
    if (!share.is_known) {
        share.requests = share.records;
        share.traced = chosen / cpt_tree_weight(tree);
    }
    return share;
}

/* Makes the sides, their folds, empty samples, and finds percentiles by a first pass.
 * enum cpti_exit. */
static int prepare(struct cpti_gather *gathers, size_t gather_count,
                   struct cpti_gather_side *sides, struct cpti_stream *stream)
{
    struct cpti_selection *selections[CPTI_GATHERS_MAX];
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < gather_count; i++) {
        struct cpti_selection *selection = gathers[i].selection;

        selections[i] = selection;
        status = cpti_exit_last(status, cpti_gather_side_init(&sides[i], &gathers[i]));
        stream->folds[i] = cpti_gather_fold(&sides[i]);
        /* two samples of one run have different seeds */
        cpti_fold_sample(&stream->folds[i],
                         selection->seed + i * UINT64_C(0x2545f4914f6cdd1d));
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_percentiles(selections, gather_count, stream->paths,
                                         stream->path_count, stream->thread_count);
    }
    stream->seen_max = selections[0]->seen_max;
    return status;
}

/* Reads all inputs, and notes what they were. */
static int read_all(const struct cpti_gather_run *run, struct cpti_gather_side *sides,
                    struct cpti_stream *stream, bool *is_usable)
{
    int status = cpti_stream_run(stream, is_usable);

    join_services(sides, run->side_count);
    if (sides[0].services.has_failed) {
        *is_usable = false;
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < run->side_count && *is_usable; i++) {
        const struct cpti_gather *gather = sides[i].gather;
        const int exit_status =
            cpti_gather_count(gather->tree, &stream->folds[i].counts) == CPT_NO_MEMORY
                ? cpti_failed("out of memory")
                : note_sources(run->parts, gather, stream);

        *is_usable = exit_status == CPTI_EXIT_DONE;
        status = cpti_exit_last(status, exit_status);
    }
    return status;
}

/* As cpti_gather(), with at most @job_count threads. */
static int gather_jobs(struct cpti_gather *gathers, size_t gather_count,
                       const char *const *paths, size_t path_count, bool stops_at_error,
                       size_t job_count, bool *is_usable)
{
    struct cpti_gather_run run = {
        .side_count = gather_count,
        .path_count = path_count,
        .parts = cpti_parts_new(gathers[0].selection->keeps_duplicates)};
    struct cpti_gather_side sides[CPTI_GATHERS_MAX] = {{0}};
    struct cpti_fold folds[CPTI_GATHERS_MAX];
    struct cpti_stream stream = {.folds = folds,
                                 .fold_count = gather_count,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .thread_count = job_count,
                                 .stops_at_error = stops_at_error,
                                 .context = &run,
                                 .begin = cpti_gather_begin,
                                 .other = cpti_gather_other,
                                 .store = cpti_gather_database,
                                 .outcomes =
                                     calloc(path_count + 1, sizeof *stream.outcomes)};
    int status = run.parts != NULL && stream.outcomes != NULL
                     ? CPTI_EXIT_DONE
                     : cpti_failed("out of memory");

    assert(gather_count <= CPTI_GATHERS_MAX);
    status = cpti_exit_last(status, prepare(gathers, gather_count, sides, &stream));
    *is_usable = status == CPTI_EXIT_DONE;
    if (*is_usable) {
        status = read_all(&run, sides, &stream, is_usable);
    }
    if (*is_usable) {
        const int exit_status = finish(&run, sides, &stream);

        *is_usable = exit_status == CPTI_EXIT_DONE;
        status = cpti_exit_last(status, exit_status);
    }
    for (size_t i = 0; i < gather_count; i++) {
        cpti_sample_deinit(&folds[i].sample);
        cpti_selection_deinit(gathers[i].selection);
        cpti_gather_side_deinit(&sides[i]);
    }
    cpti_parts_free(run.parts);
    free(stream.outcomes);
    return status;
}

int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, bool stops_at_error,
                bool *is_usable)
{
    return gather_jobs(gathers, gather_count, paths, path_count, stops_at_error,
                       cpti_processors(), is_usable);
}

int cpti_gather_arguments(struct cpti_gather *gather,
                          const struct cpti_arguments *arguments, bool *is_usable)
{
    struct cpti_selection selection;
    uint64_t job_count = cpti_processors();
    int status = cpti_selection_init(&selection, arguments);

    *is_usable = false;
    if (status == CPTI_EXIT_DONE) {
        status = cpti_whole_number(arguments, "jobs", 1, CPTI_WORKERS_MAX, &job_count);
    }
    if (status == CPTI_EXIT_DONE) {
        gather->selection = &selection;
        gather->sources = arguments->sources;
        gather->source_count = arguments->source_count;
        status =
            gather_jobs(gather, 1, arguments->operands, arguments->operand_count,
                        cpti_has(arguments, "stop-at-error"), job_count, is_usable);
    }
    gather->selection = NULL;
    return status;
}

int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         bool *is_usable)
{
    struct cpti_gather gather = {
        .may_be_empty = cpti_has(arguments, "allow-empty"),
        .omits_sources = cpti_has(arguments, "no-source"),
    };
    const int status = cpti_gather_arguments(&gather, arguments, is_usable);

    *tree = gather.tree;
    return status;
}
