/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_load.h - HTTP requests at the rate of independent users
 *
 * The load is *open*: the time at which a request is due does not depend on how fast
 * others were answered, and its latency counts from that time. (A client that waits for
 * one reply before its next request sends less the slower the service is, and so hides
 * its slowness.) The gaps are exponential, like those between the requests of many
 * independent users.
 *
 * Each request has its own connection. One thread, non-blocking sockets, poll().
 */
#ifndef CPTI_CLI_DEMO_LOAD_H
#define CPTI_CLI_DEMO_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CPTI_LOAD_TARGET_BYTES = 160, /* "/?arm=control&page=home" */
    CPTI_LOAD_REPLY_BYTES = 16384 /* a longer reply is cut */
};

/* The next random number; equal seeds give equal sequences. */
uint64_t cpti_random(uint64_t *state);

/* The load to make. */
struct cpti_load {
    uint16_t port; /* on 127.0.0.1 */
    double rate;   /* requests a second */
    uint64_t duration_ns;
    uint64_t seed;
    /* Writes the target of request @index. */
    void (*target)(void *context, uint64_t index, char target[CPTI_LOAD_TARGET_BYTES]);
    /* Called for each reply; @http_status is 0 if there was none. */
    void (*answered)(void *context, uint64_t index, unsigned http_status,
                     uint64_t latency_ns);
    void *context;
};

/* Makes the load; returns when the last request is answered or cpti_stop_asked(). The
 * number of requests made. */
uint64_t cpti_load_run(const struct cpti_load *load);

/*
 * Requests @target once, with @header as a further line ("critical-path: 1") or NULL.
 * Returns the HTTP status, 0 without a reply; @reply is its head and body as received,
 * as text.
 */
unsigned cpti_http_get(uint16_t port, const char *target, const char *header,
                       char reply[CPTI_LOAD_REPLY_BYTES]);

/* Copies the value of the header @name, in lower case, from @reply to @value. false if
 * it is not there or does not fit. */
bool cpti_http_header(const char *reply, const char *name, char *value,
                      size_t capacity);

#endif
