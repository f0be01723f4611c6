/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_collect_absent.c - cpt collect in a build without HTTP or a library for JSON */
#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without the HTTP transport, or without "
                       "simdjson and jansson, so 'cpt collect' cannot receive spans");
}

static const struct cpti_example examples[] = {
    {"cpt collect -o logs/", "what services send to port 4318"},
    {"cpt web logs/", "the paths, a few seconds later"},
    {0},
};

const struct cpti_command cpti_command_collect = {
    .name = "collect",
    .summary = "critical paths from spans of running services",
    .group = CPTI_COLLECT,
    .question = "How do spans of running services become path logs?",
    .needs = "services or a collector that send OTLP",
    .usages = {"[OPTION]... -o FOLDER"},
    .description = "This cpt was built without 'cpt collect'.",
    .examples = examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
