/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_folded.c - cpt folded: a tree as folded stacks for flame graph tools */
#include "cpt/cli/base/files.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_walk.h"
#include "aggregate/cpt_tree.h"
#include "pprof-export/cpt_pprof.h"

static int write_stacks(const struct cpti_arguments *arguments,
                        const struct cpt_tree *tree)
{
    struct cpt_error error = {0};
    struct cpti_output output;
    const struct cpt_sink sink = {cpti_output_write, &output};
    const int status = cpti_output_open(&output, cpti_value(arguments, "output"));

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    return cpti_output_finish(&output, cpt_folded_write(NULL, tree, &sink, &error),
                              &error);
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpt_tree *tree;
    bool is_usable;
    int status = cpti_gather_operands(arguments, &tree, &is_usable);

    if (is_usable) {
        status = cpti_exit_last(status, write_stacks(arguments, tree));
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt folded paths.cptlog | flamegraph.pl --countname ns > a.svg", "a flame graph"},
    {"cpt folded --entry A -o a.folded monday.cpttree",
     "for a viewer that cannot read profiles"},
    {0},
};

const struct cpti_command cpti_command_folded = {
    .name = "folded",
    .summary = "print folded stacks for flame graph tools",
    .usages = {"[OPTION]... LOG|TREE..."},
    .description =
        "Prints one line for each stack with time of its own: its frames, root first, "
        "separated by ';', a space, and the nanoseconds that it takes in the average "
        "request. The lines add up to the mean latency. A ';' in a name is written "
        "\\x3b.\n"
        "\n" CPTI_SELECT_TEXT "\n\n" CPTI_COUNT_TEXT,
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
};
