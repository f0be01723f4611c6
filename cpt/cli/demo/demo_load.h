/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_load.h - HTTP requests at the times at which users would make them
 *
 * The load is *open*: when a request is due does not depend on how fast others were
 * answered, and its latency counts from the time at which it was due. (A client that
 * waits for one answer before it asks again asks less the slower the service gets, and
 * hides just what one wants to see.) Gaps are exponential, as of many independent
 * users.
 *
 * Each request has a connection of its own, which it closes. One thread, sockets that
 * do not block, poll().
 */
#ifndef CPTI_CLI_DEMO_LOAD_H
#define CPTI_CLI_DEMO_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum {
    CPTI_LOAD_TARGET_BYTES = 160, /* "/?arm=control&page=home" */
    CPTI_LOAD_REPLY_BYTES = 16384 /* of one reply; what is longer is cut */
};

/* A chain of numbers; the same seed gives the same. */
uint64_t cpti_random(uint64_t *state);

/* What load to make. */
struct cpti_load {
    uint16_t port; /* on 127.0.0.1 */
    double rate;   /* requests a second */
    uint64_t duration_ns;
    uint64_t seed;
    /* Writes what request @index asks for. */
    void (*target)(void *context, uint64_t index, char target[CPTI_LOAD_TARGET_BYTES]);
    /* Told about each answer: @http_status 0 if there was none. */
    void (*answered)(void *context, uint64_t index, unsigned http_status,
                     uint64_t latency_ns);
    void *context;
};

/* Makes it; returns when the last one is answered, or somebody asks us to stop. How
 * many requests were made. */
uint64_t cpti_load_run(const struct cpti_load *load);

/*
 * Asks for @target once, with @header as a further line ("critical-path: 1") or NULL.
 * The HTTP status, 0 without an answer; @reply is head and body as they came, as text.
 */
unsigned cpti_http_get(uint16_t port, const char *target, const char *header,
                       char reply[CPTI_LOAD_REPLY_BYTES]);

/* Copies the value of the header @name, in lower case, out of @reply to @value. 0 if it
 * is not there or does not fit. */
int cpti_http_header(const char *reply, const char *name, char *value, size_t capacity);

#endif
