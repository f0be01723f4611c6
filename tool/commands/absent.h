/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * absent.h - commands that a build may lack: what they are for, and what says so in
 * their place
 */
#ifndef CPTI_TOOL_ABSENT_H
#define CPTI_TOOL_ABSENT_H

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdint.h>

#define CPTI_IS_DEMO                                                                   \
    .name = "demo", .group = CPTI_COLLECT,                                             \
    .summary = "start three services, make requests, find what made them slow",        \
    .question = "What does all this look like, in half a minute?",                     \
    .needs = "nothing: it starts three services and makes requests"
#define CPTI_IS_WEB                                                                    \
    .name = "web", .group = CPTI_LOOK,                                                 \
    .summary = "show requests in a browser, and answer questions about them",          \
    .question = "What is in all of this? Let me look around, in a browser.",           \
    .needs = "path logs, spans, trees or ClickHouse"
#define CPTI_IS_COLLECT                                                                \
    .name = "collect", .group = CPTI_COLLECT,                                          \
    .summary = "critical paths from spans of running services",                        \
    .question = "How do spans of running services become path logs?",                  \
    .needs = "services or a collector that send OTLP"
#define CPTI_IS_IMPORT                                                                 \
    .name = "import", .group = CPTI_COLLECT,                                           \
    .summary = "critical paths from spans of Jaeger, Zipkin and OpenTelemetry",        \
    .question = "How do spans of other tracers become path logs?",                     \
    .needs = "files of Jaeger, Zipkin or OpenTelemetry"
#define CPTI_IS_EVENTS                                                                 \
    .name = "events", .group = CPTI_COLLECT,                                           \
    .summary = "what lines of logs tell of requests, and what they lack",              \
    .question = "Do the logs that I have tell why a request is slow?",                 \
    .needs = "files of lines, of any program"
#define CPTI_IS_EXPLAIN                                                                \
    .name = "explain", .group = CPTI_LOOK,                                             \
    .summary = "why a span is on the critical path, or is not",                        \
    .question = "Why is this span on the critical path, or why not?",                  \
    .needs = "spans, and the ids of the trace and the span"
#define CPTI_IS_WAIT                                                                   \
    .name = "wait", .group = CPTI_LOOK,                                                \
    .summary = "draw who waits for whom in running services",                          \
    .question = "What do the requests of a running service wait for now?",             \
    .needs = "the address of a service"
#define CPTI_IS_GRAPH                                                                  \
    .name = "graph", .group = CPTI_CHECK,                                              \
    .summary = "draw the graphs of tasks of a service or a program",                   \
    .question = "Is the graph of tasks the one that I meant?",                         \
    .needs = "a running service, or its program"
#define CPTI_IS_MODEL                                                                  \
    .name = "model", .group = CPTI_COMPARE,                                            \
    .summary = "learn from event logs what comes before what, and what changed",       \
    .question = "Which code behaves in another way than it did before?",               \
    .needs = "event logs of services, or models learnt from them"

/* Defines the command @word in a build that lacks it; it prints @why. */
#define CPTI_ABSENT(word, is_what, why)                                                \
    static int run_##word(const struct cpti_arguments *arguments)                      \
    {                                                                                  \
        (void)arguments;                                                               \
        return cpti_failed("this cpt was built without " why);                         \
    }                                                                                  \
    static const struct cpti_example word##_examples[] = {                             \
        {"cpt --version", "which build it is"},                                        \
        {"cpt --help", "the commands that it has"},                                    \
        {0},                                                                           \
    };                                                                                 \
    const struct cpti_command cpti_command_##word = {                                  \
        is_what,                                                                       \
        .usages = {"[OPTION]... [OPERAND]..."},                                        \
        .description = "This cpt was built without 'cpt " #word "'.",                  \
        .examples = word##_examples,                                                   \
        .run = run_##word,                                                             \
    }

#endif
