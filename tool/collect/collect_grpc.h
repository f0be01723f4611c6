/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * collect_grpc.h - gRPC of cpt collect
 *
 * The tool does not link gRPC: it would load 52 libraries at each start of any command.
 * The program cpt-collect-grpc does, and is else the same; `cpt collect --grpc-port`
 * becomes that program. Threads: one at a time.
 */
#ifndef CPTI_CLI_COLLECT_GRPC_H
#define CPTI_CLI_COLLECT_GRPC_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>

struct cpt_service;

/* Whether this program has gRPC. */
bool cpti_collect_has_grpc(void);

/* Serves @service on @address and @port; *@bound is the port. At most one at a time. */
cpt_status cpti_collect_grpc_listen(struct cpt_service *service, const char *address,
                                    uint16_t port, uint16_t *bound,
                                    struct cpt_error *error);

/* Ends what is open. CPT_OK; CPT_TIMEOUT: requests are left. */
cpt_status cpti_collect_grpc_stop(void);

/* Frees, once the service is freed. */
void cpti_collect_grpc_free(void);

#endif
