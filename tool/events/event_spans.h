/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_spans.h - lines of logs become spans, for other tools: cpt events spans
 *
 *      requests --> traces --> JSON, as Jaeger or OpenTelemetry write it
 *
 * Each span has the attributes cpt.row, the number of its line from 1, after a header;
 * cpt.unit, if its line names one; cpt.evidence, learnt or inferred; and, if several
 * files were read, cpt.input, the number of the file from 1.
 */
#ifndef CPTI_CLI_EVENT_SPANS_H
#define CPTI_CLI_EVENT_SPANS_H

struct cpti_arguments;

/* Runs `cpt events spans`. enum cpti_exit. */
int cpti_event_spans(const struct cpti_arguments *arguments);

#endif
