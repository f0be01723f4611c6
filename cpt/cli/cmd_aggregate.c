/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_aggregate.c - cpt aggregate: many requests to one tree, kept in a file */
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/gather/tree_file.h"
#include "aggregate/cpt_tree.h"

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *tree;
    bool is_usable;
    int status;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage(
            "'cpt aggregate' needs --output FILE; '-' is standard output");
    }
    status = cpti_gather_operands(arguments, &tree, &is_usable);
    if (is_usable) {
        const int failed = cpti_tree_write(cpti_value(arguments, "output"), tree);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the tree to FILE", NULL},
    {"jobs", 'j', "COUNT",
     "read COUNT files, or pieces of large ones, at a time; default: as many as "
     "there are processors",
     NULL},
    {"no-source", 0, NULL,
     "do not note in the tree which files it was made of; there is room for 4,096",
     NULL},
    {"allow-empty", 0, NULL,
     "write a tree also if no request is selected, as some part of a large job may "
     "have none",
     NULL},
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
        "bit. Several logs are read at the same time, each by a thread of its own.\n"
        "\n" CPTI_SELECT_TEXT " From a tree nothing can be selected any more.",
    .options = {options, cpti_select_options, cpti_sample_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
