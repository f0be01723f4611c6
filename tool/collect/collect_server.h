/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_server.h - the door of cpt collect on the transports of framework/ */
#ifndef CPTI_CLI_COLLECT_SERVER_H
#define CPTI_CLI_COLLECT_SERVER_H

#include "import/traces/live.h"
#include "framework/cpt_log_file.h"

struct cpti_collect_options {
    const char *address; /* numeric; NULL: 127.0.0.1 */
    uint16_t port;
    bool has_grpc; /* listens for gRPC, too */
    uint16_t grpc_port;
    struct cpti_live_options live;
    struct cpt_log_file_options log;
};

/* Collects until SIGINT or SIGTERM; SIGHUP begins another log file. enum cpti_exit. */
int cpti_collect_serve(const struct cpti_collect_options *options);

#endif
