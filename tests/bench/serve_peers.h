/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * serve_peers.h - servers of other libraries for bench_serve.c, if they are installed
 *
 * Each serves in this process until it is killed: one thread, "found" to any GET. It
 * writes its port, a uint16_t, to @told first.
 */
#ifndef BENCH_SERVE_PEERS_H
#define BENCH_SERVE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_SERVE_BODY "found"

/* --- bench_serve.c --- */

/* A TCP socket of the loopback that does not listen yet, and its port. */
int bench_bound_socket(uint16_t *port);

/* Ends the process with @what unless @condition holds. */
void bench_must(bool condition, const char *what);

/* --- Peers --- */

void bench_serve_microhttpd(int told);
void bench_serve_h2o(int told);

#endif
