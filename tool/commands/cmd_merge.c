/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_merge.c - cpt merge: puts the trees of parts together into one */
#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/gather/parts.h"
#include "tool/log/tree_file.h"
#include "tool/requests/stream.h"
#include "tool/requests/workers.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>

/* The most threads, and the files for which one more is started. */
enum { THREADS_MAX = 64, FILES_A_THREAD = 8 };

/* The trees that one thread puts together. */
struct side {
    struct cpt_tree *tree;
    struct cpti_parts *parts; /* of all threads */
    bool is_part;
};

/* Refuses a tree of another entry service. 'cpt aggregate' has noted the entry. */
static int check_entry(const char *name, struct cpti_parts *parts,
                       const struct cpt_tree *tree)
{
    const char *entry = cpt_tree_note_find(tree, "entry");
    const char *before = NULL;

    if (entry == NULL || cpti_parts_enter(parts, entry, &before)) {
        return CPTI_EXIT_DONE;
    }
    if (before == NULL) {
        return cpti_failed("out of memory");
    }
    return cpti_failed_at((struct cpti_at){.file = name},
                          "its requests entered at %s, those before at %s, which "
                          "are never averaged together",
                          cpti_printable(cpt_bytes_of(entry)),
                          cpti_printable(cpt_bytes_of(before)));
}

/* Adds *@tree, which may be swapped for another one, to that of @side, unless it was
 * met before and counts once. */
static int add_tree(struct side *side, const char *name, struct cpt_tree **tree,
                    uint64_t digest)
{
    bool is_again;
    cpt_status status;

    if (check_entry(name, side->parts, *tree) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    status = cpti_parts_meet(side->parts, *tree, digest, &is_again);
    if (status == CPT_OK && !is_again) {
        status = cpti_tree_absorb(&side->tree, tree);
    }
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed_at((struct cpti_at){.file = name}, "%s",
                                             cpt_status_sentence(status));
}

/* --- The stream --- */

/* Takes a tree. What a thread refuses is read again, by one. */
static void meet_input(void *context, struct cpti_fold *folds, struct cpti_input *input,
                       struct cpti_outcome *outcome)
{
    struct side *side = folds[0].context;
    struct cpt_tree *tree = NULL;
    uint64_t digest = 0;
    int status = CPTI_EXIT_DONE;

    (void)context;
    if (input->kind == CPTI_INPUT_TREE) {
        status = cpti_tree_read(input, &tree, &digest);
        status =
            CPTI_THEN(status, add_tree(side, cpti_input_name(input), &tree, digest));
        cpt_tree_free(tree);
    } else {
        status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                           "is not a tree; 'cpt aggregate' makes one from a path log");
    }
    outcome->exit_status = status;
    outcome->is_usable = status == CPTI_EXIT_DONE;
    outcome->is_broken = side->is_part && !outcome->is_usable;
}

static void begin(void *context)
{
    cpti_parts_reset(context);
}

static void drop(void *part)
{
    struct side *side = part;

    if (side != NULL) {
        cpt_tree_free(side->tree);
        free(side);
    }
}

static void *split(const void *context)
{
    const struct side *whole = context;
    struct side *side = calloc(1, sizeof *side);

    if (side != NULL) {
        *side = (struct side){cpt_tree_new(NULL, NULL), whole->parts, true};
        if (side->tree == NULL) {
            drop(side);
            side = NULL;
        }
    }
    return side;
}

static cpt_status join(void *context, void *part)
{
    return cpti_tree_absorb(&((struct side *)context)->tree,
                            &((struct side *)part)->tree);
}

static int merge_all(struct side *side, const char *const *paths, size_t path_count)
{
    const size_t processors = cpti_processors();
    const size_t thread_count = processors < THREADS_MAX ? processors : THREADS_MAX;
    struct cpti_fold fold = {
        .context = side, .split = split, .join = join, .drop = drop};
    struct cpti_stream stream = {
        .folds = &fold,
        .fold_count = 1,
        .paths = paths,
        .path_count = path_count,
        .thread_count = path_count >= FILES_A_THREAD * thread_count ? thread_count : 1,
        .context = side->parts,
        .begin = begin,
        .other = meet_input,
        .gives_logs = true};
    bool is_usable;

    return cpti_stream_run(&stream, &is_usable);
}

static int run(const struct cpti_arguments *arguments)
{
    struct side side = {0};
    unsigned version = 0;
    int status;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage("'cpt merge' needs --output FILE; '-' is standard output");
    }
    status = cpti_tree_version(arguments, &version);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    side.parts = cpti_parts_new(cpti_has(arguments, "keep-duplicates"));
    side.tree = cpt_tree_new(NULL, NULL);
    status = side.parts != NULL && side.tree != NULL
                 ? merge_all(&side, arguments->operands, arguments->operand_count)
                 : cpti_failed("out of memory");
    if (status == CPTI_EXIT_DONE && cpti_parts_note(side.parts, side.tree) != CPT_OK) {
        status = cpti_failed("out of memory");
    }
    if (status == CPTI_EXIT_DONE) {
        cpti_parts_warn(side.parts, side.tree);
        cpti_tree_become(side.tree, version);
        status = cpti_tree_write(cpti_value(arguments, "output"), side.tree);
    }
    cpti_parts_free(side.parts);
    cpt_tree_free(side.tree);
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
