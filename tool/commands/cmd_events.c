/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_events.c - cpt events: what lines of logs tell of requests
 *
 *      check   what the lines carry, and what would mend them
 *      spans   the requests as spans, for other tools
 */
#include "tool/commands/absent.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/check_print.h"
#include "tool/events/event_input.h"
#include "tool/events/event_sources.h"
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
    } verbs[] = {{"check", cpti_events_check}, {"spans", cpti_event_spans}};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(arguments->operands[0], verbs[i].name) == 0) {
            return run_verb(arguments, verbs[i].run);
        }
    }
    return cpti_usage("'cpt events' takes check or spans, not '%s'",
                      cpti_quoted(arguments->operands[0]));
}

static const struct cpti_option options[] = {
    CPTI_SOURCES_OPTION,
    {"output", 'o', "FILE", "with spans, write them there; '-' is standard output"},
    {"format", 0, "FORMAT",
     "with check: text (the default), markdown, csv or json; with spans: jaeger (the "
     "default) or otlp",
     "text markdown csv json jaeger otlp"},
    {"json", 'j', NULL, "with check, print one JSON object"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt events check /var/log/nginx/access.log shop.log",
     "what these lines carry, and the directive that would mend them"},
    {"cpt events check --sources sources.conf --json logs/*.log", "for programs"},
    {"cpt events spans lines.csv -o spans.json",
     "the spans of each request, with a parent each, for Jaeger's page"},
    {"cpt events spans lines.csv -o - --format otlp | cpt import - -o lines.cptlog",
     "as OpenTelemetry writes them"},
    {0},
};

const struct cpti_command cpti_command_events = {
    CPTI_IS_EVENTS,
    .usages = {"check [OPTION]... FILE...", "spans [OPTION]... FILE... -o SPANS"},
    .options = {options, cpti_view_options + 1 /* its format stands above */},
    .relations = {&cpti_check_sources_relation, &cpti_check_classes_relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .is_in_folder = cpti_event_input_recognise,
    .folder_noun = "text file",
    .operand = "a verb and files of lines",
};
