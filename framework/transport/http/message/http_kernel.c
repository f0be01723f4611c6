/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_kernel.c - what the kernel knows of a connection's queues; see http_kernel.h */
#include "framework/transport/http/message/http_kernel.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

enum { NS_PER_MS = 1000000, NS_PER_US = 1000 };

uint64_t cpti_http_ticks_least(uint64_t ns)
{
    struct timespec tick = {0, 0};
    uint64_t tick_ns = 0;

    if (ns == 0 || clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0) {
        return 0;
    }
    tick_ns = (uint64_t)tick.tv_sec * NS_PER_S + (uint64_t)tick.tv_nsec;
    return ns > tick_ns ? ns - tick_ns : 0;
}

bool cpti_http_queues_read(int descriptor, struct cpti_http_queues *queues)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;

    memset(queues, 0, sizeof *queues);
    memset(&info, 0, sizeof info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        bytes < offsetof(struct tcp_info, tcpi_last_data_recv) +
                    sizeof info.tcpi_last_data_recv) {
        return false;
    }
    queues->unread_ns =
        cpti_http_ticks_least((uint64_t)info.tcpi_last_data_recv * NS_PER_MS);
    queues->has_limited = bytes >= offsetof(struct tcp_info, tcpi_rwnd_limited) +
                                       sizeof info.tcpi_rwnd_limited;
    queues->limited_ns = queues->has_limited ? info.tcpi_rwnd_limited * NS_PER_US : 0;
    return true;
}
