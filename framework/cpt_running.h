/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_running.h - what a service does just now
 *
 * Requests that are not answered yet, as JSON: their age, what each of their tasks
 * waits for, which locks they hold. The HTTP transport serves it beside the counters,
 * as GET /cpt/requests, and `cpt wait` draws it; docs/running.md describes it.
 *
 *      {"service":"A","requests":[{"id":7,"method":"/page","us":1204,...,"tasks":[
 *          {"name":"A: ads","state":"waits","for":[{"kind":"call","us":1100,
 *           "name":"B: /ads","target":"http://127.0.0.1:8002","method":"/ads"}]}]}]}
 *
 * Beside it, GET /cpt/plans tells the plans of its methods.
 *
 * Threads: any.
 */
#ifndef CPT_RUNNING_H
#define CPT_RUNNING_H

#include "cpt_rpc.h"

CPT_BEGIN_DECLS

enum {
    CPT_RUNNING_REQUESTS_MAX = 1000, /* told at once; the others are counted */
    CPT_RUNNING_BYTES_MAX = 4 << 20  /* of the JSON, with its last line end */
};

/* Takes a piece of text. Called without locks. */
typedef void (*cpt_write_fn)(void *context, const char *text, size_t bytes);

/*
 * Writes what @service does just now, by one call of @write. Older requests come first,
 * more or less. A task that is not traced is "runnable" both while it runs and while it
 * is queued, and only its calls and its locks have a time ("us").
 *
 * CPT_OK; CPT_NO_MEMORY, and nothing is written.
 */
CPT_API cpt_status cpt_service_requests_json(struct cpt_service *service,
                                             cpt_write_fn write, void *context);

/*
 * Writes the plans of the methods of @service as JSON, with the types of their values;
 * GET /cpt/plans, and `cpt graph` draws them. CPT_OK; CPT_NO_MEMORY, and nothing is
 * written.
 */
CPT_API cpt_status cpt_service_plans_json(struct cpt_service *service,
                                          cpt_write_fn write, void *context);

/* All plans of the process are made: tells it `cpt graph PROGRAM`, if that has started
 * it (CPT_PLANS in the environment); else does nothing. cpt_http_run() calls it. */
CPT_API void cpt_plans_are_made(void);

CPT_END_DECLS

#endif
