/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_import_absent.c - cpt import in a build without a library for JSON */
#include "cpt/cli/base/command.h"
#include "cpt/cli/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without simdjson and jansson, so 'cpt "
                       "import' cannot read spans; install libsimdjson-dev and g++, or "
                       "libjansson-dev, and build it again");
}

static const struct cpti_example examples[] = {
    {"cpt import traces.json -o traces.cptlog", "spans as a path log"},
    {"cpt import --sections trace.json", "which span has the critical path, and when"},
    {0},
};

const struct cpti_command cpti_command_import = {
    .name = "import",
    .summary = "critical paths from spans of Jaeger, Zipkin and OpenTelemetry",
    .usages = {"[OPTION]... FILE..."},
    .description = "This cpt was built without 'cpt import'.",
    .examples = examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
