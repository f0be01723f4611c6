/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * service_pair.h - two services in virtual time, for the tests of services
 *
 * A calls B over the loopback transport, 1 ms each way. A computes 2 ms, calls, and
 * computes 3 ms; B computes 5 ms, and fails if the body is "fail". Both log to one
 * queue in memory. There is one pair at a time, in static variables.
 *
 * In order of use: open_pair; ask or ask_a; then answer, answered_path, counter,
 * read_record; close_pair.
 */
#ifndef SERVICE_PAIR_H
#define SERVICE_PAIR_H

#include "tests/support/loopback.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "framework/cpt_log_queue.h"
#include "framework/cpt_runtime.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#define MS 1000000U

struct pair {
    struct cpt_service *a;
    struct cpt_service *b;
    struct cpt_plan *a_plan;
    struct cpt_plan *b_plan;
    struct cpt_plan *work_plan;
    struct cpt_log_queue *log;
};

struct answer {
    int count;
    unsigned http_status;
    unsigned outcome;
    char body[64];
    unsigned char metadata[CPT_METADATA_BYTES_CEILING];
    size_t metadata_bytes;
};

extern struct virtual_time now;
extern struct loopback net;
extern struct pair pair;
extern struct answer answer; /* of the last request */

extern const struct cpt_stub b_stub;    /* what A calls */
extern const struct cpt_stub work_stub; /* "/work" of B; see serve_work() */
extern const struct cpt_graph b_graph;
extern struct cpt_pending *a_call; /* its call */
extern cpt_status call_status;     /* and how that ended */

/* Services that sample no request, or every request. */
extern const struct cpt_service_options never;
extern const struct cpt_service_options always;

/* Opens the pair; B is made an inner service. */
void open_pair(struct cpt_service_options a, struct cpt_service_options b);
void close_pair(void);

/* A service on the pair's clock; NULL if it is refused. */
struct cpt_service *make_service(struct cpt_service_options options, const char *name,
                                 const char *method, const struct cpt_plan *plan);

/* A request for "/" from loopback, with the header @ask; NULL: without. */
struct cpt_inbound inbound_with(const char *ask);

/* Sends a request, runs all work, and keeps the reply; there must be exactly one. */
void ask(struct cpt_service *service, const struct cpt_inbound *inbound);
void ask_a(const char *header);

/* Makes B also serve "/work", which waits for a disk for the ms that the body gives.
 * From now on the wire takes no time, and several calls may be outstanding. */
void serve_work(void);

/* Serves @method of A by @graph, and runs one request for it, with a path, to its
 * end. */
void ask_graph(const char *method, const struct cpt_graph *graph);

/* The last steps of A's task: after its call, and at its end. */
cpt_status a_called(struct cpt_task *task);
cpt_status a_answer(struct cpt_task *task);

/* A path as "A: /;A: ask 2, …", in ms. And that of the reply, "" if it has none. */
const char *path_text(const struct cpt_path *path);
const char *dragged_text(const struct cpt_path *path); /* "A: /;A: ask 2 ~2, …" */
const char *answered_path(void);

/* Record @index of the log, with the reader that owns it; NULL if there are fewer. */
struct cpt_log_reader *read_record(int index, struct cpt_record *record);
int record_count(void);

/* The counter @name of @service, for @member if it has a label. */
uint64_t counter(struct cpt_service *service, const char *name, const char *member);

#endif
