/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_web_absent.c - cpt web in a build without the HTTP transport */
#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without the HTTP transport, so 'cpt web' "
                       "cannot serve; 'cpt report --html' writes a page");
}

static const struct cpti_example examples[] = {
    {"cpt web paths.cptlog", "a page for a log that is still being written"},
    {"cpt web logs/", "the same for all logs of a folder, also those to come"},
    {0},
};

const struct cpti_command cpti_command_web = {
    .name = "web",
    .summary = "show requests in a browser, and answer questions about them",
    .group = CPTI_LOOK,
    .question = "What is in all of this? Let me look around, in a browser.",
    .needs = "path logs, spans, trees or ClickHouse",
    .usages = {"[OPTION]... LOG|TREE|FOLDER|clickhouse://ADDRESS..."},
    .description = "This cpt was built without 'cpt web'.",
    .examples = examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
