/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* about.c - what is in a file or folder; see about.h */
#include "tool/commands/about.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/log/span_logs.h"
#include "tool/log/tree_file.h"
#include "tool/requests/log_walk.h"
#include "tool/select/select.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "import/model/model_file.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WHOLE_BYTES_MAX = 64 << 20, /* of a file of which all is read */
    PART_BYTES = 16 << 20,      /* of one part of a larger one */
    ALL_BYTES_MAX = 256 << 20,  /* of all files of a folder */
    SERVICES_MAX = 1 << 16
};

/* --- Records --- */

/* The service @name, or NULL if there are too many. */
static struct cpti_about_service *service_of(struct cpti_about *about,
                                             struct cpt_bytes name)
{
    cpt_name_id id = 0;

    if (name.bytes == 0 || name.bytes > CPT_NAME_BYTES_MAX ||
        (cpt_names_count(about->names) >= SERVICES_MAX &&
         cpt_names_find(about->names, name, &id) == 0) ||
        cpt_names_add(about->names, name, &id) != CPT_OK ||
        cpt_alloc_grow(NULL, (void **)&about->services, &about->service_capacity,
                       (size_t)id + 1, SERVICES_MAX + 1,
                       sizeof *about->services) != CPT_OK) {
        return NULL;
    }
    while (about->service_count <= id) {
        about->services[about->service_count++] = (struct cpti_about_service){0};
    }
    return &about->services[id];
}

static void add_time(struct cpti_about_sums *sums, uint64_t first_ns, uint64_t last_ns)
{
    if (first_ns != 0 && (sums->first_ns == 0 || first_ns < sums->first_ns)) {
        sums->first_ns = first_ns;
    }
    sums->last_ns = last_ns > sums->last_ns ? last_ns : sums->last_ns;
}

/* Whether it counts without options: by its probability, which may be none. */
static bool is_plain(const struct cpt_record *record)
{
    static const struct cpti_selection plain;

    return !record->is_forced && !cpti_is_fragment(record) &&
           cpti_selection_weight(&plain, record) != 0;
}

static void add_counts(struct cpti_about_counts *counts,
                       const struct cpt_record *record)
{
    const bool is_request = record->is_local_root == 0;

    counts->entered += is_request;
    counts->entered_plain += is_request && is_plain(record);
    counts->records++;
    counts->plain += is_plain(record);
    counts->forced += record->is_forced != 0;
    counts->fragments += cpti_is_fragment(record);
}

static void add_record(struct cpti_about *about, const struct cpt_record *record)
{
    struct cpti_about_sums *sums = &about->sums[about->kind];
    struct cpti_about_service *service = service_of(about, record->service);

    sums->read++;
    add_time(sums, record->start_unix_ns, record->start_unix_ns + record->latency_ns);
    if (service != NULL && !record->is_background) {
        add_counts(&service->of[about->kind], record);
    }
    if (record->is_local_root != 0 || record->is_background) {
        *(record->is_background ? &sums->background : &sums->inner) += 1;
        return;
    }
    sums->requests++;
    sums->nameless += record->service.bytes == 0;
    sums->plain += is_plain(record);
    sums->forced += record->is_forced != 0;
    sums->fragments += cpti_is_fragment(record);
    sums->evidence[cpti_record_evidence(record)]++;
}

/* Whether the walk has read enough. */
static bool is_enough(struct cpti_about *about, const struct cpti_input *input)
{
    about->is_cut = input->read_bytes - about->start_bytes > about->bytes_max;
    return about->is_cut;
}

static int add_graph(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    add_record(walk->context, record);
    return is_enough(walk->context, walk->input) ? CPTI_EXIT_FAILED : CPTI_EXIT_DONE;
}

static int add_path(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct cpti_about *about = walk->context;
    const struct cpt_path *path = NULL;
    int status = cpti_log_path(walk, record, &path);

    if (path != NULL) {
        for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
            (void)service_of(about, cpt_path_frame_service(path, i));
        }
        add_record(about, record);
    }
    return is_enough(about, walk->input) ? CPTI_EXIT_FAILED : status;
}

/* --- Files --- */

/* Says what is wrong with @input, which does not begin as anything that is known. */
static int refuse_other(const struct cpti_input *input,
                        const struct cpti_log_walk *walk)
{
    const struct cpti_at at = {.file = cpti_input_name(input)};

    if (walk->record_count == 0 && input->head_bytes >= CPTI_MODEL_MAGIC_BYTES &&
        memcmp(input->head, CPTI_MODEL_MAGIC, CPTI_MODEL_MAGIC_BYTES) == 0) {
        return cpti_failed_at(at, "is a model of event logs" CPTI_HINT
                                  "'cpt model show' says what is in it");
    }
    if (walk->record_count == 0 && cpti_input_is_text(input)) {
        return cpti_failed_at(at, "is neither a path log, a graph log, a tree nor "
                                  "spans" CPTI_HINT_LINES);
    }
    return walk->record_count == 0
               ? cpti_failed_at(at, "is neither a path log, a graph log, a tree nor "
                                    "spans, or its beginning is damaged")
               : cpti_failed_at(at, "its beginning is damaged" CPTI_HINT
                                    "'cpt log --check' says where");
}

static bool ends_with(const char *name, const char *end)
{
    const size_t bytes = strlen(name);
    const size_t end_bytes = strlen(end);

    return bytes > end_bytes && strcmp(name + bytes - end_bytes, end) == 0;
}

/* The name tells profiles from what else gzip may have compressed. */
static int refuse_gzip(const struct cpti_input *input)
{
    return ends_with(input->path, ".pb.gz")
               ? cpti_refuse_gzip(input)
               : cpti_failed_at(
                     (struct cpti_at){.file = cpti_input_name(input)},
                     "is compressed by gzip, and not named as spans (*.json.gz) or a "
                     "profile (*.pb.gz)" CPTI_HINT
                     "name it so, or decompress it by 'gzip -d'");
}

/* Reads the records of @part, or of the whole @input if it is NULL, up to @bytes_max.
 * How many it met is in *@count. enum cpti_exit. */
static int walk_part(struct cpti_about *about, struct cpti_input *input,
                     const struct cpt_log_part *part, uint64_t bytes_max,
                     uint64_t *count)
{
    const bool is_graphs = input->kind == CPTI_INPUT_GRAPHS;
    struct cpti_log_walk walk = {.input = input,
                                 .part = part,
                                 .has_graphs = is_graphs,
                                 .is_quiet = input->kind == CPTI_INPUT_OTHER,
                                 .record = is_graphs ? add_graph : add_path,
                                 .context = about};
    int status = CPTI_EXIT_DONE;

    about->start_bytes = part != NULL ? part->offset : input->read_bytes;
    about->bytes_max = bytes_max;
    about->is_cut = false;
    status = cpti_log_walk(&walk);
    about->all_bytes += input->read_bytes - about->start_bytes;
    *count = walk.record_count;
    if (walk.is_quiet && walk.damage_count != 0) {
        status = refuse_other(input, &walk);
    }
    if (about->is_cut && walk.damage_count == 0) {
        status = CPTI_EXIT_DONE;
    }
    return status;
}

/* Of a large path log the first part, one in the middle, and the last one. */
static int walk_parts(struct cpti_about *about, struct cpti_input *input,
                      const struct cpt_log_part *parts, size_t part_count)
{
    const size_t chosen[] = {0, part_count / 2, part_count - 1};
    const struct cpt_log_part *last = &parts[part_count - 1];
    uint64_t count = 0;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        const struct cpt_log_part *part = &parts[chosen[i]];

        status = cpti_exit_last(
            status, walk_part(about, input, part,
                              part == last ? WHOLE_BYTES_MAX : PART_BYTES, &count));
    }
    about->sums[about->kind].records += last->record_count + count;
    about->sums[about->kind].is_least |= about->is_cut;
    return status;
}

static int walk_log(struct cpti_about *about, struct cpti_input *input)
{
    struct cpt_log_part *parts = NULL;
    size_t part_count = 1;
    uint64_t count = 0;
    int status = CPTI_EXIT_DONE;

    if (input->total_bytes > WHOLE_BYTES_MAX && input->kind != CPTI_INPUT_GRAPHS) {
        const uint64_t most = input->total_bytes / PART_BYTES;

        parts = calloc(CPT_LOG_PARTS_MAX, sizeof *parts);
        if (parts == NULL) {
            return cpti_failed("out of memory");
        }
        part_count = cpti_log_cut(
            input, parts, most < CPT_LOG_PARTS_MAX ? (size_t)most : CPT_LOG_PARTS_MAX);
    }
    if (part_count >= 3) {
        status = walk_parts(about, input, parts, part_count);
    } else {
        status = walk_part(about, input, NULL, WHOLE_BYTES_MAX, &count);
        about->sums[about->kind].records += count;
        about->sums[about->kind].is_least |= about->is_cut;
    }
    free(parts);
    return status;
}

/* Keeps the path of a tree, the first or the last one. */
static void note_tree(struct cpti_about *about, const char *path)
{
    const size_t at = about->trees[0] != NULL;

    free(about->trees[at]);
    about->trees[at] = strdup(path);
}

static int read_tree(struct cpti_about *about, struct cpti_input *input)
{
    struct cpti_about_sums *sums = &about->sums[about->kind];
    struct cpt_tree *tree = NULL;
    uint64_t digest = 0;
    const int status = cpti_tree_read(input, &tree, &digest);

    for (uint32_t i = 0; tree != NULL && i < cpt_tree_node_count(tree); i++) {
        (void)service_of(about, cpt_tree_service(tree, i));
    }
    if (tree != NULL) {
        const char *entry = cpt_tree_note_find(tree, "entry");
        struct cpti_about_service *service =
            entry != NULL ? service_of(about, cpt_bytes_of(entry)) : NULL;

        if (service != NULL) {
            service->of[CPTI_ABOUT_TREES].entered += cpt_tree_request_count(tree);
        }
        if (cpt_tree_request_count(tree) != 0) {
            note_tree(about, input->path);
        }
        sums->records += cpt_tree_request_count(tree);
        sums->read += cpt_tree_request_count(tree);
        sums->requests += cpt_tree_request_count(tree);
        add_time(sums, cpt_tree_time_first_ns(tree), cpt_tree_time_last_ns(tree));
    }
    about->all_bytes += input->total_bytes;
    cpt_tree_free(tree);
    return status;
}

static int read_file(struct cpti_about *about, const char *path)
{
    struct cpti_input input;
    enum cpti_about_kind kind = CPTI_ABOUT_LOGS;
    int status = cpti_input_open(&input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    kind = input.kind == CPTI_INPUT_GRAPHS ? CPTI_ABOUT_GRAPHS
           : input.kind == CPTI_INPUT_TREE ? CPTI_ABOUT_TREES
                                           : CPTI_ABOUT_LOGS;
    about->kind = kind;
    about->sums[about->kind].files++;
    if (about->all_bytes > ALL_BYTES_MAX) {
        about->sums[kind].is_least = true;
    } else if (input.kind == CPTI_INPUT_GZIP) {
        status = refuse_gzip(&input);
    } else if (kind == CPTI_ABOUT_TREES) {
        status = read_tree(about, &input);
    } else {
        status = walk_log(about, &input);
    }
    cpti_input_close(&input);
    return status;
}

/* Reads the files of the folder that @kinds takes. *@count gets their number. */
static int read_found(struct cpti_about *about, const struct cpti_command *kinds,
                      struct cpti_messages *messages, size_t *count)
{
    struct cpti_messages *before = cpti_messages();
    struct cpti_arguments files = {.command = kinds,
                                   .operands = calloc(2, sizeof(char *))};
    int status = CPTI_EXIT_DONE;

    *count = 0;
    if (files.operands == NULL) {
        return cpti_failed("out of memory");
    }
    files.operands[files.operand_count++] = about->name;
    cpti_messages_to(messages != NULL ? messages : before);
    status = cpti_folders_open(&files);
    cpti_messages_to(before);
    *count = status == CPTI_EXIT_DONE ? files.operand_count : 0;
    for (size_t i = 0; i < *count; i++) {
        status = cpti_exit_last(status, read_file(about, files.operands[i]));
    }
    cpti_arguments_deinit(&files);
    return status;
}

/* The same; says what kept it from finding any. */
static int read_kinds(struct cpti_about *about, const struct cpti_command *kinds)
{
    struct cpti_messages silence = {.is_silent = true};
    size_t count = 0;
    const int status = read_found(about, kinds, &silence, &count);

    return count != 0 ? status : read_found(about, kinds, NULL, &count);
}

/* All files of the folder: logs of both kinds, then trees. */
static int read_folder(struct cpti_about *about)
{
    static const struct cpti_command logs = {.has_log_folders = true};
    static const struct cpti_command trees = {.has_tree_folders = true};
    const unsigned has = cpti_folder_has(about->name);
    int status = CPTI_EXIT_DONE;

    about->has_spans = (has & CPTI_HAS_SPANS) != 0;
    if ((has & (CPTI_HAS_LOGS | CPTI_HAS_GRAPHS | CPTI_HAS_NAMED_LOGS)) != 0) {
        status = read_kinds(about, &logs);
    }
    if ((has & (CPTI_HAS_TREES | CPTI_HAS_NAMED_TREES)) != 0) {
        status = cpti_exit_last(status, read_kinds(about, &trees));
    }
    return (has & ~(unsigned)CPTI_HAS_SPANS) != 0
               ? status
               : cpti_failed_at((struct cpti_at){.file = cpti_quoted(about->name)},
                                "has no path log, graph log, tree or file of spans");
}

/* What is spans becomes a private path log; of many bytes only the beginning, and what
 * is wrong with its end is not said. @is_perhaps: it may be none. */
static int read_spans(struct cpti_about *about, struct cpti_arguments *files,
                      bool is_perhaps)
{
    struct cpti_messages silence = {.is_silent = true};
    struct cpti_messages *before = cpti_messages();
    bool is_cut = false;
    struct stat state;
    int status = CPTI_EXIT_DONE;

    about->is_used_up = strcmp(about->name, "-") == 0;
    if (!about->is_used_up && stat(about->name, &state) == 0) {
        about->is_folder = S_ISDIR(state.st_mode);
        about->is_used_up = !about->is_folder && !S_ISREG(state.st_mode);
        if (S_ISREG(state.st_mode) && state.st_size > WHOLE_BYTES_MAX) {
            is_cut = true;
            cpti_inputs_cut(WHOLE_BYTES_MAX);
        }
    }
    if (is_cut || is_perhaps) {
        cpti_messages_to(&silence);
    }
    status = cpti_span_logs_open(files, false);
    cpti_messages_to(before);
    cpti_inputs_cut(0);
    about->is_spans = files->operands[0] != about->name;
    about->sums[CPTI_ABOUT_LOGS].is_least = about->is_spans && is_cut;
    return status;
}

enum cpti_about_kind cpti_about_kind(const struct cpti_about *about)
{
    const struct cpti_about_sums *sums = about->sums;

    for (unsigned least = 0; least < 3; least++) {
        for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
            const bool is_enough = kind == CPTI_ABOUT_LOGS ? sums[kind].read != 0
                                                           : sums[kind].requests != 0;

            if (least == 0   ? is_enough
                : least == 1 ? sums[kind].read != 0
                             : sums[kind].files != 0) {
                return kind;
            }
        }
    }
    return CPTI_ABOUT_LOGS;
}

/* A log of inner services is of use beside those of the others, in one folder. */
static void read_whole(struct cpti_about *about)
{
    struct cpti_messages silence = {.is_silent = true};
    struct cpti_messages *before = cpti_messages();
    const char *slash = strrchr(about->name, '/');
    struct cpti_about *whole = calloc(1, sizeof *whole);
    char *name = slash == about->name ? strdup("/")
                 : slash != NULL ? strndup(about->name, (size_t)(slash - about->name))
                                 : strdup(".");

    about->whole = whole;
    about->whole_name = name;
    if (whole == NULL || name == NULL) {
        return;
    }
    whole->name = name;
    whole->is_folder = true;
    whole->names = cpt_names_new(NULL);
    cpti_messages_to(&silence);
    if (whole->names != NULL) {
        (void)read_folder(whole);
    }
    cpti_messages_to(before);
}

int cpti_about_read(struct cpti_about *about, const struct cpti_command *command)
{
    const char *operand[] = {about->name, NULL};
    struct cpti_arguments files = {
        .command = command, .operands = operand, .operand_count = 1};
    const struct cpti_about_sums *graphs = &about->sums[CPTI_ABOUT_GRAPHS];
    unsigned has = 0;
    int status = CPTI_EXIT_DONE;

    about->names = cpt_names_new(NULL);
    if (about->names == NULL) {
        return cpti_failed("out of memory");
    }
    /* beside trees and graph logs there may be JSON that is no spans */
    has = strcmp(about->name, "-") != 0 ? cpti_folder_has(about->name) : 0;
    has &= CPTI_HAS_GRAPHS | CPTI_HAS_TREES;
    status = read_spans(about, &files, has != 0);
    if (status != CPTI_EXIT_DONE && has == 0) {
        return status;
    }
    if (about->is_folder && !about->is_spans) {
        return read_folder(about);
    }
    status = read_file(about, operand[0]);
    if (graphs->read != 0 && graphs->requests == 0 && !about->is_used_up) {
        read_whole(about);
    }
    return status;
}

void cpti_about_deinit(struct cpti_about *about)
{
    if (about->whole != NULL) {
        cpti_about_deinit(about->whole);
    }
    free(about->whole);
    free(about->whole_name);
    free(about->trees[0]);
    free(about->trees[1]);
    cpt_names_free(about->names);
    cpt_alloc_free(NULL, about->services);
}
