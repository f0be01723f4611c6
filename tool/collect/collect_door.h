/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * collect_door.h - what cpt collect answers, and what it keeps
 *
 *      request --> uncompressed --> spans --> waiting traces (import/traces/live.h)
 *         '<-- answer                            |
 *                                 every second, those that have ended
 *                                                v
 *                                     records --> log file
 *
 * The door knows nothing of connections: collect_server.c has them. Answers are those
 * of the OpenTelemetry protocol 1.x: what is refused for good has a status of 4xx; what
 * may be sent again later 503.
 *
 * A large request is read in pieces (import/traces/batches.h): its memory is some
 * megabytes, and other requests, and writing, have their turns between its pieces. The
 * first of it are taken also if it is refused later. At most CPTI_COLLECT_LARGE_MAX are
 * read at a time, others may be sent again later; so give it more threads than that.
 *
 * Threads: any. It reads no clock: times are of one that hardly goes back.
 */
#ifndef CPTI_CLI_COLLECT_DOOR_H
#define CPTI_CLI_COLLECT_DOOR_H

#include "cpt/cpt_name.h"
#include "cpt/cpt_status.h"
#include "import/traces/live.h"

#include <stdbool.h>
#include <stdio.h>

struct cpt_log_file;

enum {
    CPTI_COLLECT_BODY_BYTES_MAX = 20 << 20,     /* of a request, as it comes */
    CPTI_COLLECT_INFLATED_BYTES_MAX = 64 << 20, /* the same, uncompressed */
    CPTI_COLLECT_BODY_PART = 16,                /* of cpt_memory_max(), at most … */
    CPTI_COLLECT_INFLATED_PART = 8,             /* … and of the same, uncompressed */
    CPTI_COLLECT_LARGE_MAX = 4, /* requests of more than CPTI_BATCHES_WHOLE_BYTES */
    CPTI_COLLECT_ANSWER_BYTES = 512
};

/* A request for /v1/traces. */
struct cpti_collect_request {
    struct cpt_bytes type;     /* its Content-Type */
    struct cpt_bytes encoding; /* its Content-Encoding; empty: none */
    struct cpt_bytes body;
};

/* Why a request is refused. X(name, HTTP status, code of gRPC, "reason") */
#define CPTI_COLLECT_REFUSAL_MAP(X)                                                    \
    X(TYPE, 415, 3, "type")                                                            \
    X(ENCODING, 415, 3, "encoding")                                                    \
    X(LARGE, 413, 3, "large")                                                          \
    X(MALFORMED, 400, 3, "malformed")                                                  \
    X(MEMORY, 503, 14, "memory")                                                       \
    X(LOG, 503, 14, "log")

enum cpti_collect_refusal {
    CPTI_COLLECT_TAKEN = 0,
#define CPTI_COLLECT_REFUSAL_(name, status, code, reason) CPTI_COLLECT_REFUSED_##name,
    CPTI_COLLECT_REFUSAL_MAP(CPTI_COLLECT_REFUSAL_)
#undef CPTI_COLLECT_REFUSAL_
        CPTI_COLLECT_REFUSALS
};

struct cpti_collect_answer {
    unsigned status; /* of HTTP */
    unsigned code;   /* of gRPC */
    const char *type;
    char body[CPTI_COLLECT_ANSWER_BYTES];
    size_t bytes;
    char message[CPTI_COLLECT_ANSWER_BYTES / 2]; /* if it is refused */
    unsigned retry_s;                            /* 0: not to be sent again */
};

struct cpti_collect_door_options {
    struct cpti_live_options live;
    struct cpt_log_file *log; /* outlives the door */
};

struct cpti_collect_door;

/* NULL without memory. The caller owns it. */
struct cpti_collect_door *
cpti_collect_door_new(const struct cpti_collect_door_options *options);
void cpti_collect_door_free(struct cpti_collect_door *door);

/* Takes the spans of @request, which came at @now_ns. */
void cpti_collect_door_take(struct cpti_collect_door *door,
                            const struct cpti_collect_request *request, uint64_t now_ns,
                            struct cpti_collect_answer *answer);

/*
 * Adds the traces that have ended at @now_ns to the log, or all if @takes_all, at most
 * @count_max of them, and writes them. true: more have ended.
 */
bool cpti_collect_door_write(struct cpti_collect_door *door, uint64_t now_ns,
                             bool takes_all, size_t count_max);

/* Whether the log could be written when it was last tried. */
bool cpti_collect_door_is_writing(struct cpti_collect_door *door);

/* Prints the counters for Prometheus. */
void cpti_collect_door_metrics(struct cpti_collect_door *door, FILE *file);

/* Tells in words what came and what became of it, for the end: what is not in the log
 * is lost then. CPTI_EXIT_DONE; CPTI_EXIT_FAILED: something is. */
int cpti_collect_door_tell(struct cpti_collect_door *door);

#endif
