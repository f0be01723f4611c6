/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_aggregate.c - cpt aggregate: many requests to one tree, kept in a file */
#include "cpt/cli/files.h"
#include "cpt/cli/gather.h"
#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_alloc.h"

/* Writes @tree to the file that --output names. */
static int write_tree(const struct cpti_arguments *arguments,
                      const struct cpt_tree *tree)
{
    struct cpti_output output;
    void *bytes = NULL;
    size_t byte_count = 0;
    int status;

    if (cpt_tree_encode(NULL, tree, &bytes, &byte_count) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    status = cpti_output_open(&output, cpti_value(arguments, "output"));
    if (status == CPTI_EXIT_DONE) {
        (void)cpti_output_write(&output, bytes, byte_count);
        status = cpti_output_commit(&output);
    }
    cpt_alloc_free(NULL, bytes);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *tree;
    int is_usable;
    int status;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage(
            "'cpt aggregate' needs --output FILE; '-' is standard output");
    }
    status = cpti_gather_operands(arguments, &tree, &is_usable);
    if (is_usable) {
        const int failed = write_tree(arguments, tree);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the tree to FILE", NULL},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt aggregate -o monday.cpttree monday/*.cptlog",
     "a day of many logs, to be kept when the logs are gone"},
    {"cpt aggregate -o week.cpttree *day.cpttree",
     "trees put together: the same as if made of all their logs"},
    {0},
};

const struct cpti_command cpti_command_aggregate = {
    .name = "aggregate",
    .summary = "put path logs together to one tree with statistics",
    .usages = {"[OPTION]... -o FILE LOG|TREE..."},
    .description =
        "Adds the critical paths of all selected requests to one tree of stacks with "
        "exact "
        "sums, and writes it to a file, which every other command takes in place of "
        "the "
        "logs. Trees can be put together in any order; the result is the same, bit for "
        "bit.\n"
        "\n" CPTI_SELECT_TEXT " From a tree nothing can be selected any more.",
    .options = {options, cpti_select_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
