/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_aggregate.c - cpt aggregate: puts many requests into one tree, in a file */
#include "tool/gather/gather.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/log/tree_file.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_tree.h"

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *tree;
    bool is_usable;
    unsigned version = 0;
    int status;

    if (cpti_value(arguments, "output") == NULL) {
        return cpti_usage(
            "'cpt aggregate' needs --output FILE; '-' is standard output");
    }
    status = cpti_tree_version(arguments, &version);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_gather_operands(arguments, &tree, &is_usable);
    if (is_usable) {
        cpti_tree_become(tree, version);
        status = cpti_exit_last(status,
                                cpti_tree_write(cpti_value(arguments, "output"), tree));
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the tree to FILE"},
    {"jobs", 'j', "COUNT",
     "read COUNT files, or pieces of large ones, at a time; default: the number of "
     "processors"},
    {"no-source", 0, NULL,
     "do not record the names of the files in the tree, which has room for 2,047"},
    {"allow-empty", 0, NULL,
     "write a tree even if no request is selected, as may happen in one part of a "
     "large job"},
    CPTI_TREE_VERSION_OPTION,
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt aggregate -o monday.cpttree monday/*.cptlog",
     "a day of many logs, as one file that you keep when the logs are gone"},
    {"cpt aggregate -o week.cpttree *day.cpttree",
     "the tree of a week from trees of days: the same as from all logs"},
    {0},
};

const struct cpti_command cpti_command_aggregate = {
    .name = "aggregate",
    .summary = "put path logs together into one tree with statistics",
    .group = CPTI_KEEP,
    .question = "How do many path logs become one small file?",
    .needs = "path logs, spans or trees",
    .usages = {"[OPTION]... -o FILE LOG|TREE..."},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
