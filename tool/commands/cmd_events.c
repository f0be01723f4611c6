/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_events.c - cpt events: what lines of logs tell of requests
 *
 *      spans   the requests as spans, for other tools
 */
#include "tool/commands/absent.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_spans.h"

#include <stdlib.h>
#include <string.h>

/* Runs @verb without the first operand, which names it. */
static int run_verb(const struct cpti_arguments *arguments,
                    int (*verb)(const struct cpti_arguments *arguments))
{
    struct cpti_arguments rest = *arguments;

    if (arguments->operand_count < 2) {
        return cpti_usage("'cpt events %s' needs files of lines; '-' is standard input",
                          cpti_quoted(arguments->operands[0]));
    }
    rest.operands++;
    rest.operand_count--;
    return verb(&rest);
}

static int run(const struct cpti_arguments *arguments)
{
    static const struct {
        const char *name;
        int (*run)(const struct cpti_arguments *arguments);
    } verbs[] = {{"spans", cpti_event_spans}};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(arguments->operands[0], verbs[i].name) == 0) {
            return run_verb(arguments, verbs[i].run);
        }
    }
    return cpti_usage("'cpt events' takes spans, not '%s'",
                      cpti_quoted(arguments->operands[0]));
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "with spans, write them there; '-' is standard output"},
    {"format", 0, "FORMAT", "with spans, as Jaeger or OpenTelemetry; default: jaeger",
     "jaeger otlp"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt events spans lines.csv -o spans.json",
     "the spans of each request, with a parent each, for Jaeger's page"},
    {"cpt events spans lines.csv -o - --format otlp | cpt import - -o lines.cptlog",
     "as OpenTelemetry writes them"},
    {0},
};

const struct cpti_command cpti_command_events = {
    CPTI_IS_EVENTS,         .usages = {"[OPTION]... spans FILE... -o SPANS"},
    .options = {options},   .examples = examples,
    .operand_count_min = 1, .run = run,
    .operand = "a verb",
};
