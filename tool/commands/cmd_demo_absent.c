/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_demo_absent.c - cpt demo in a build without the services of the demo */
#include "tool/base/command.h"
#include "tool/base/output.h"

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed(
        "this cpt was built without the demo: it needs the HTTP transport "
        "and the examples");
}

static const struct cpti_example examples[] = {
    {"cpt demo", "three services, their critical paths and a diff"},
    {"cpt demo --serve", "services to talk to with curl, until ^C"},
    {0},
};

const struct cpti_command cpti_command_demo = {
    .name = "demo",
    .summary = "start three services, make requests, find what made them slow",
    .group = CPTI_COLLECT,
    .question = "What does all this look like, in half a minute?",
    .needs = "nothing: it starts three services and makes requests",
    .usages = {"[OPTION]..."},
    .description = "This cpt was built without the demo.",
    .examples = examples,
    .operand_count_max = 8,
    .run = run,
};
