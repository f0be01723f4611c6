/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_live_absent.c - cpt wait, graph without libcurl or a library for JSON */
#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without libcurl, or without simdjson and "
                       "jansson, so it cannot ask services; install "
                       "libcurl4-openssl-dev, and libsimdjson-dev with g++ or "
                       "libjansson-dev, and build it again");
}

static const struct cpti_example wait_examples[] = {
    {"cpt wait 127.0.0.1:8001", "what the requests of a service wait for just now"},
    {0},
};

const struct cpti_command cpti_command_wait = {
    .name = "wait",
    .summary = "draw who waits for whom in running services",
    .usages = {"[OPTION]... HOST:PORT"},
    .description = "This cpt was built without 'cpt wait'.",
    .examples = wait_examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};

static const struct cpti_example graph_examples[] = {
    {"cpt graph --svg 127.0.0.1:8001 >plans.svg", "the plans of a service that runs"},
    {0},
};

const struct cpti_command cpti_command_graph = {
    .name = "graph",
    .summary = "draw the graphs of tasks of a service or a program",
    .usages = {"[OPTION]... HOST:PORT"},
    .description = "This cpt was built without 'cpt graph'.",
    .examples = graph_examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
