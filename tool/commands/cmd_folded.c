/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_folded.c - cpt folded: a tree as folded stacks for flame graph tools */
#include "tool/table/capped.h"
#include "tool/base/files.h"
#include "tool/table/largest.h"
#include "tool/base/output.h"
#include "tool/gather/gather.h"
#include "tool/requests/log_walk.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_tree.h"
#include "pprof-export/cpt_pprof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Answers of limited length --- */

/* A stack of its own, so that the lines still add up to the mean latency. */
static void print_rest(uint64_t count, uint64_t sum)
{
    (void)printf("\u2039%" PRIu64 " more stacks\u203a %" PRIu64 "\n", count, sum);
}

/* A cpt_write_fn: one line, with its nanoseconds behind the last space. */
static cpt_status add_line(void *context, const void *data, size_t bytes)
{
    const char *line = data;
    size_t at = bytes;

    while (at != 0 && line[at - 1] != ' ') {
        at--;
    }
    return cpti_largest_add(context, strtoull(line + at, NULL, 10), line, bytes) ==
                   CPTI_EXIT_DONE
               ? CPT_OK
               : CPT_NO_MEMORY;
}

static int print_largest(const struct cpt_tree *tree, uint64_t bytes_max)
{
    struct cpti_largest largest = {.bytes_max = bytes_max, .print_rest = print_rest};
    const struct cpt_sink sink = {add_line, &largest};
    struct cpt_error error = {0};
    int status = CPTI_EXIT_DONE;

    if (cpt_folded_write(NULL, tree, &sink, &error) != CPT_OK) {
        status = cpti_failed("%s", error.sentence);
    } else {
        status = cpti_largest_print(&largest);
    }
    cpti_largest_deinit(&largest);
    return status;
}

/* --- The command --- */

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
    struct cpt_tree *tree = NULL;
    uint64_t bytes_max = 0;
    bool is_usable = false;
    int status = cpti_capped_option(arguments, &bytes_max);

    if (status == CPTI_EXIT_DONE && bytes_max != 0 && cpti_has(arguments, "output")) {
        status = cpti_usage("options '--max-bytes' and '--output' exclude each other");
    }
    status = CPTI_THEN(status, cpti_gather_operands(arguments, &tree, &is_usable));
    if (is_usable) {
        status = cpti_exit_last(status, bytes_max != 0 ? print_largest(tree, bytes_max)
                                                       : write_stacks(arguments, tree));
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    CPTI_CAPPED_OPTION("the largest lines"),
    CPTI_TAG_OPTION,
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
    .group = CPTI_KEEP,
    .question = "How do I get a flame graph?",
    .needs = "path logs, spans or trees",
    .usages = {"[OPTION]... LOG|TREE..."},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
