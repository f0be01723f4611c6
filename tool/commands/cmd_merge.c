/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_merge.c - cpt merge: puts the trees of parts together into one */
#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/gather/parts.h"
#include "tool/log/tree_file.h"
#include "tool/requests/workers.h"
#include "aggregate/cpt_tree.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* The most threads, and the files for which one more is started. */
enum { THREADS_MAX = 64, FILES_A_THREAD = 8 };

/* Whether the requests of both may be put together: they have one entry service. */
static bool enter_alike(const struct cpt_tree *left, const struct cpt_tree *right)
{
    const char *before = cpt_tree_note_find(left, "entry");
    const char *entry = cpt_tree_note_find(right, "entry");

    return before == NULL || entry == NULL || strcmp(before, entry) == 0;
}

/* Refuses a tree of another entry service. 'cpt aggregate' has noted the entry. */
static int check_entries(const char *name, const struct cpt_tree *whole,
                         const struct cpt_tree *tree)
{
    const char *before = cpt_tree_note_find(whole, "entry");
    const char *entry = cpt_tree_note_find(tree, "entry");

    if (!enter_alike(whole, tree)) {
        return cpti_failed_at((struct cpti_at){.file = name},
                              "its requests entered at %s, those before at %s, which "
                              "are never averaged together",
                              cpti_printable(cpt_bytes_of(entry)),
                              cpti_printable(cpt_bytes_of(before)));
    }
    return CPTI_EXIT_DONE;
}

/* Adds *@tree, which may be swapped for another one, to *@whole, unless @parts says
 * that it was met before and counts once. */
static int add_tree(struct cpt_tree **whole, struct cpti_parts *parts, const char *name,
                    struct cpt_tree **tree, uint64_t digest)
{
    bool is_again;
    cpt_status status;

    if (check_entries(name, *whole, *tree) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    status = cpti_parts_meet(parts, *tree, digest, &is_again);
    if (status == CPT_OK && !is_again) {
        status = cpti_tree_absorb(whole, tree);
    }
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed_at((struct cpti_at){.file = name}, "%s",
                                             cpt_status_sentence(status));
}

static int merge_file(struct cpt_tree **whole, struct cpti_parts *parts,
                      const char *path)
{
    struct cpti_input input;
    struct cpt_tree *tree = NULL;
    uint64_t digest = 0;
    int status = cpti_input_open(&input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (input.kind == CPTI_INPUT_TREE) {
        status = cpti_tree_read(&input, &tree, &digest);
    } else {
        status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(&input)},
                           "is not a tree; 'cpt aggregate' makes one from a path log");
    }
    status = CPTI_THEN(status,
                       add_tree(whole, parts, cpti_input_name(&input), &tree, digest));
    cpt_tree_free(tree);
    cpti_input_close(&input);
    return status;
}

/* --- Threads --- */

/* Each thread has a tree of its own. */
struct crew {
    const char *const *paths;
    struct cpti_parts *parts;
    struct cpt_tree *trees[THREADS_MAX];
    bool has_failed[THREADS_MAX]; /* by thread: a file could not be merged */
};

static int merge_job(void *context, size_t worker, size_t job)
{
    struct crew *crew = context;

    if (!crew->has_failed[worker]) {
        crew->has_failed[worker] = merge_file(&crew->trees[worker], crew->parts,
                                              crew->paths[job]) != CPTI_EXIT_DONE;
    }
    return crew->has_failed[worker];
}

/* Whether all files went into *@whole. Prints nothing: after a failure one thread does
 * it again, and reports it. */
static bool merge_by_threads(struct cpt_tree **whole, struct cpti_parts *parts,
                             const char *const *paths, size_t path_count,
                             size_t thread_count)
{
    struct crew crew = {.paths = paths, .parts = parts};
    const struct cpti_workers workers = {.job_count = path_count,
                                         .worker_count = thread_count,
                                         .run = merge_job,
                                         .context = &crew,
                                         .noun = "trees",
                                         .is_silent = true};
    bool is_done = true;

    for (size_t i = 0; i < thread_count; i++) {
        crew.trees[i] = cpt_tree_new(NULL, NULL);
        is_done = is_done && crew.trees[i] != NULL;
    }
    is_done = is_done && cpti_workers_run(&workers) == 0;
    for (size_t i = 0; i < thread_count; i++) {
        is_done = is_done && !crew.has_failed[i] &&
                  enter_alike(*whole, crew.trees[i]) &&
                  cpti_tree_absorb(whole, &crew.trees[i]) == CPT_OK;
        cpt_tree_free(crew.trees[i]);
    }
    return is_done;
}

static int merge_by_turns(struct cpt_tree **whole, struct cpti_parts *parts,
                          const char *const *paths, size_t path_count)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = merge_file(whole, parts, paths[i]);
    }
    return status;
}

/* Whether all files can be read a second time. */
static bool are_regular(const char *const *paths, size_t path_count)
{
    struct stat info;

    for (size_t i = 0; i < path_count; i++) {
        if (strcmp(paths[i], "-") == 0 || stat(paths[i], &info) != 0 ||
            !S_ISREG(info.st_mode)) {
            return false;
        }
    }
    return true;
}

static int new_tree(struct cpt_tree **tree)
{
    cpt_tree_free(*tree);
    *tree = cpt_tree_new(NULL, NULL);
    return *tree != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
}

static int merge_all(struct cpt_tree **whole, struct cpti_parts *parts,
                     const char *const *paths, size_t path_count)
{
    size_t thread_count = cpti_processors();
    int status = new_tree(whole);

    thread_count = thread_count < THREADS_MAX ? thread_count : THREADS_MAX;
    if (status == CPTI_EXIT_DONE && thread_count > 1 &&
        path_count >= FILES_A_THREAD * thread_count && are_regular(paths, path_count)) {
        if (merge_by_threads(whole, parts, paths, path_count, thread_count)) {
            return CPTI_EXIT_DONE;
        }
        status = new_tree(whole);
        cpti_parts_reset(parts);
    }
    return status == CPTI_EXIT_DONE ? merge_by_turns(whole, parts, paths, path_count)
                                    : status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *whole = NULL;
    struct cpti_parts *parts = NULL;
    unsigned version = 0;
    int status;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage("'cpt merge' needs --output FILE; '-' is standard output");
    }
    status = cpti_tree_version(arguments, &version);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    parts = cpti_parts_new(cpti_has(arguments, "keep-duplicates"));
    if (parts == NULL) {
        return cpti_failed("out of memory");
    }
    status = merge_all(&whole, parts, arguments->operands, arguments->operand_count);
    if (status == CPTI_EXIT_DONE && cpti_parts_note(parts, whole) != CPT_OK) {
        status = cpti_failed("out of memory");
    }
    if (status == CPTI_EXIT_DONE) {
        cpti_parts_warn(parts, whole);
    }
    if (status == CPTI_EXIT_DONE) {
        cpti_tree_become(whole, version);
        status = cpti_tree_write(cpti_value(arguments, "output"), whole);
    }
    cpti_parts_free(parts);
    cpt_tree_free(whole);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the tree to FILE"},
    {"keep-duplicates", 0, NULL, "count a tree again that is given more than once"},
    CPTI_TREE_VERSION_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt merge -o week.cpttree *day.cpttree", "the days of a week"},
    {"cpt merge -o all.cpttree trees/", "all trees in a folder"},
    {"parallel cpt aggregate -o {.}.cpttree {} ::: *.cptlog && cpt merge -o "
     "all.cpttree *.cpttree",
     "each log as a job of its own, on any machine"},
    {0},
};

const struct cpti_command cpti_command_merge = {
    .name = "merge",
    .summary = "put trees together into the tree of all their requests",
    .group = CPTI_KEEP,
    .question = "How do the trees of many days or machines become one?",
    .needs = "trees",
    .usages = {"-o FILE TREE..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .has_tree_folders = true,
};
