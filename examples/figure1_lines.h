/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_lines.h - lines that the services of the demo log, as any service might
 *
 *      {"ts":1700000000.123456,"request_id":"0af7…","service":"B","span_id":"B2-17",
 *       "msg":"B2 begins"}
 *
 * With --lines FILE each component writes a line when it begins, before and after it
 * calls others, and one with its duration when it ends. The id of the request is the
 * header X-Request-Id; calls carry it on. Requests without one are not logged. There is
 * no tracing in this: `make demo-events` finds paths from such lines alone.
 *
 * Threads: any.
 */
#ifndef FIGURE1_LINES_H
#define FIGURE1_LINES_H

#include <cpt/cpt_calls.h>
#include <cpt/cpt_rpc.h>

/* Appends the lines of @service to @file from now on. 1; 0: it cannot be opened. */
int figure1_lines_open(const char *file, const char *service);
void figure1_lines_close(void);

/* Component @name of the request of @task begins: what it logs from now on is one unit.
 */
void figure1_line_begin(struct cpt_task *task, const char *name);

/* It logs that it does @what. */
void figure1_line(struct cpt_task *task, const char *name, const char *what);

/* It has the answers to all its calls, which it logs. */
void figure1_line_answers(struct cpt_task *task, const char *name);

/* It ends. */
void figure1_line_end(struct cpt_task *task, const char *name);

/* cpt_call(), with the id of the request; the component logs it when it has the answer.
 */
struct cpt_pending *figure1_call(struct cpt_task *task, const struct cpt_stub *stub,
                                 struct cpt_bytes body);

/* cpt_await_all(), which logs each call as soon as it has ended. */
cpt_status figure1_await_all(struct cpt_task *task, cpt_task_fn next);

/* The database of --database HOST:PORT, a server of PostgreSQL that asks for no
 * password: @query is sent to it with the id of the request as application_name, and
 * its answer awaited. Nothing happens without --database. */
void figure1_database_set(const char *address);
void figure1_query(struct cpt_task *task, const char *name, const char *query);

#endif
