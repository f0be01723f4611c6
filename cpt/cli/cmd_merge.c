/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_merge.c - cpt merge: trees that were made apart become the tree of all */
#include "cpt/cli/command.h"
#include "cpt/cli/options.h"
#include "cpt/cli/output.h"
#include "cpt/cli/tree_file.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>
#include <string.h>

/* Trees of several entry services do not go together; "entry" is noted by whoever made
 * them of logs. */
static int check_entries(const char *name, const struct cpt_tree *whole,
                         const struct cpt_tree *tree)
{
    const char *before = cpt_tree_note_find(whole, "entry");
    const char *entry = cpt_tree_note_find(tree, "entry");

    if (before != NULL && entry != NULL && strcmp(before, entry) != 0) {
        return cpti_failed("%s: its requests entered at %s, those before at %s, which "
                           "are never averaged together",
                           name, cpti_printable(cpt_bytes_of(entry)),
                           cpti_printable(cpt_bytes_of(before)));
    }
    return CPTI_EXIT_DONE;
}

static int add_tree(struct cpt_tree *whole, const char *name,
                    const struct cpt_tree *tree)
{
    cpt_status status;

    if (check_entries(name, whole, tree) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    status = cpt_tree_merge(whole, tree);
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed("%s: %s", name, cpt_status_sentence(status));
}

static int merge_file(struct cpt_tree *whole, const char *path)
{
    struct cpti_input input;
    struct cpt_tree *tree = NULL;
    int status = cpti_input_open(&input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (input.kind == CPTI_INPUT_TREE) {
        status = cpti_tree_read(&input, &tree);
    } else {
        status = cpti_failed("%s: is no tree; 'cpt aggregate' makes one of a path log",
                             cpti_input_name(&input));
    }
    if (status == CPTI_EXIT_DONE) {
        status = add_tree(whole, cpti_input_name(&input), tree);
    }
    cpt_tree_free(tree);
    cpti_input_close(&input);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *whole;
    int status = CPTI_EXIT_DONE;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage("'cpt merge' needs --output FILE; '-' is standard output");
    }
    whole = cpt_tree_new(NULL, NULL);
    if (whole == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < arguments->operand_count && status == CPTI_EXIT_DONE; i++) {
        status = merge_file(whole, arguments->operands[i]);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_tree_write(cpti_value(arguments, "output"), whole);
    }
    cpt_tree_free(whole);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the tree to FILE", NULL},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt merge -o week.cpttree *day.cpttree", "the days of a week"},
    {"parallel cpt aggregate -o {.}.cpttree {} ::: *.cptlog && cpt merge -o "
     "all.cpttree *.cpttree",
     "each log by a job of its own, wherever it runs"},
    {0},
};

const struct cpti_command cpti_command_merge = {
    .name = "merge",
    .summary = "put trees together to the tree of all their requests",
    .usages = {"-o FILE TREE..."},
    .description =
        "Adds up trees that 'cpt aggregate' made of parts of the requests, on one "
        "machine or on many. Sums are whole numbers: in whatever order and in however "
        "many steps trees are merged, the result is the tree that one run over all the "
        "logs would have made, bit for bit.\n"
        "\n"
        "It takes trees only: of a log it has to be said which requests count, which "
        "is "
        "what 'cpt aggregate' is for, and that takes trees and logs.\n"
        "\n"
        "One tree at a time is held beside the result. A tree that was given twice "
        "counts twice. If one cannot be read, or its requests entered at another "
        "service, nothing is written.",
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
