/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_sources.h - where kept graphs come from: files of spans, and graph logs
 *
 * They are inputs of a stream (stream.h): each source gets all of its files, and is
 * finished then; it hands on requests as soon as it knows them. Functions that return
 * an enum cpti_exit have printed what is wrong.
 *
 * Private to tool/requests. Threads: one at a time.
 */
#ifndef CPTI_CLI_KEPT_SOURCES_H
#define CPTI_CLI_KEPT_SOURCES_H

#include "tool/base/files.h"
#include "tool/base/names.h"
#include "tool/requests/kept_graphs.h"
#include "tool/requests/stream.h"

enum { CPTI_KEPT_TOLD_MAX = 5 /* errors of one file */ };

struct cpti_kept_spans;
struct cpti_kept_logs;

/* One reading of all files. */
struct cpti_kept {
    const struct cpti_kept_options *options;
    struct cpti_kept_counts *counts;
    struct cpti_stream stream;
    struct cpti_fold fold;
    struct cpti_kept_spans *spans;
    struct cpti_kept_logs *logs;
    struct cpti_names keys; /* attributes of all requests */
    size_t again_count;     /* files that were given before */
};

/* Whether @record, of which the trace is @id, counts; otherwise it was counted. */
bool cpti_kept_counts_record(struct cpti_kept *kept, struct cpt_bytes id,
                             const struct cpt_record *record);

/* Hands on a request whose record counts. The status of the visit. */
cpt_status cpti_kept_visit(struct cpti_kept *kept, const struct cpti_kept_graph *graph);

/* NULL without memory. Borrows @kept until it is freed. */
struct cpti_kept_spans *cpti_kept_spans_new(struct cpti_kept *kept);
void cpti_kept_spans_free(struct cpti_kept_spans *spans);

/* Reads an open file, which the caller closes then. enum cpti_exit. */
int cpti_kept_spans_add(struct cpti_kept_spans *spans, struct cpti_input *input);
int cpti_kept_spans_finish(struct cpti_kept_spans *spans);

/* Whether a file may be one of spans; false if the program cannot read those. */
bool cpti_kept_spans_recognise(const unsigned char *head, size_t bytes);

/* The same for graph logs. An open file is taken over: the source closes it. */
struct cpti_kept_logs *cpti_kept_logs_new(struct cpti_kept *kept);
void cpti_kept_logs_free(struct cpti_kept_logs *logs);
int cpti_kept_logs_add(struct cpti_kept_logs *logs, struct cpti_input *input);
int cpti_kept_logs_finish(struct cpti_kept_logs *logs);

#endif
