/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_kernel.h - what the kernel knows of the queues of a TCP connection
 *
 * The time since the last bytes came is how long they have waited for us; the time in
 * which the other side had no room for more is how long ours have waited for it. Linux
 * tells both, in ticks of its clock (1 to 10 ms), for one call of the system and
 * nothing before: so only requests that are traced pay.
 *
 * Why not time stamps (SO_TIMESTAMPING): they are exact, but have to be asked for
 * before it is known whether a request is traced; the kernel then stamps each packet of
 * the machine, and what it says of sent ones comes by a queue that wakes the loop.
 */
#ifndef CPT_HTTP_KERNEL_H
#define CPT_HTTP_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

struct cpti_http_queues {
    uint64_t unread_ns;  /* since the last bytes came; never more than it is */
    uint64_t limited_ns; /* of the connection's life: the other side took no more */
    bool has_limited;    /* the kernel tells it (4.10) */
};

/* false: it is no TCP connection, or the kernel does not tell. */
bool cpti_http_queues_read(int descriptor, struct cpti_http_queues *queues);

/* @ns as measured in ticks is at least this. */
uint64_t cpti_http_ticks_least(uint64_t ns);

#endif
