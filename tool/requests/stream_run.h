/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stream_run.h - a run of a stream: its inputs, its threads
 *
 *      stream.c          one input: its records, to the folds of one thread
 *      stream_threads.c  all inputs, in pieces, by several threads
 *      stream_events.c   a second reading, for folds with nothing but event logs
 *
 * Private to these three files.
 */
#ifndef CPTI_CLI_STREAM_RUN_H
#define CPTI_CLI_STREAM_RUN_H

#include "tool/requests/stream.h"

struct cpt_log_part;

/* Reads the input at @path, or @part of it unless that is NULL, into the folds of
 * @stream, which is a thread's own. */
struct cpti_outcome cpti_stream_input(struct cpti_stream *stream, const char *path,
                                      const struct cpt_log_part *part);

/* Reads all inputs; @outcomes gets one for each. By one thread it ends at the first
 * that ends the stream. enum cpti_exit. */
int cpti_stream_inputs(struct cpti_stream *stream, struct cpti_outcome *outcomes);

/* Whether all inputs can be read again. */
bool cpti_stream_is_regular(const struct cpti_stream *stream);

/* Keeps the record of @request, which came by a pipe, if it may be needed again; frees
 * all that was kept. enum cpti_exit. */
int cpti_stream_keep(struct cpti_stream *stream, const struct cpti_request *request);
void cpti_stream_keep_end(struct cpti_stream *stream);

/* Behind cpti_stream_inputs(): gives records made from event logs to the folds that
 * have met nothing else. enum cpti_exit. */
int cpti_stream_repeat(struct cpti_stream *stream);

#endif
