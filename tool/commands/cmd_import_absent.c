/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_import_absent.c - cpt import, explain without a library for JSON */
#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without simdjson and jansson, so it cannot "
                       "read spans" CPTI_HINT "install libsimdjson-dev and g++, or "
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
    .group = CPTI_COLLECT,
    .question = "How do spans of other tracers become path logs?",
    .needs = "files of Jaeger, Zipkin or OpenTelemetry",
    .usages = {"[OPTION]... FILE..."},
    .description = "This cpt was built without 'cpt import'.",
    .examples = examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};

static const struct cpti_example explain_examples[] = {
    {"cpt explain 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 traces.json",
     "why that span of that trace is on the critical path, or is not"},
    {"cpt explain --json 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 traces.json",
     "the same, for programs"},
    {0},
};

const struct cpti_command cpti_command_explain = {
    .name = "explain",
    .summary = "why a span is on the critical path, or is not",
    .group = CPTI_LOOK,
    .question = "Why is this span on the critical path, or why not?",
    .needs = "spans, and the ids of the trace and the span",
    .usages = {"[OPTION]... TRACE SPAN FILE..."},
    .description = "This cpt was built without 'cpt explain'.",
    .examples = explain_examples,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
