/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * trace_builder.h - traces written by hand, and the paths expected of them as text
 *
 * Times are milliseconds. A path is one line: "A1 5, A1;B1 20, A1 8". The entry frame,
 * which a test calls "A: /", is left out of the stacks. Remarks on a segment follow it:
 *
 *      A1;B1;B: ‹blind spot› 20 (unsupported)      its reason
 *      A1;B1 20 {attempt=1, margin_ns=2}           its labels, times in milliseconds
 *      A1;B1 20 !                                  flagged as overcount
 *      A1;B1 20 ~9                                 its drag, if known, in milliseconds
 */
#ifndef TRACE_BUILDER_H
#define TRACE_BUILDER_H

#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"

#define MS 1000000U

/* A task; one without a starter begins with the request. */
struct cpt_trace_task trace_task(const char *name, struct cpt_trace_task *starter,
                                 uint64_t start_ms, uint64_t end_ms);

/* A task that @unblocker's output made ready at @ready_ms. */
struct cpt_trace_task trace_next(const char *name, struct cpt_trace_task *unblocker,
                                 uint64_t ready_ms, uint64_t start_ms, uint64_t end_ms);

/* A call that is work under its own name. */
struct cpt_trace_call trace_call(const char *name, struct cpt_trace_task *issuer,
                                 uint64_t issue_ms, uint64_t arrive_ms);

/* @waiting waits for a call or for a task, and resumes at once. */
void trace_wait(struct cpt_trace_task *waiting, struct cpt_trace_await *await,
                struct cpt_trace_call *on_call, struct cpt_trace_task *on_task,
                uint64_t block_ms, uint64_t arrive_ms);

/* The text of @path; static memory, valid until the next call. */
const char *trace_path_text(const struct cpt_path *path);

/* Asserts that the critical path of @trace is @expected and conserves time. */
void trace_expect(struct cpt_trace *trace, const char *expected);

#endif
