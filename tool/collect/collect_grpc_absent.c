/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_grpc_absent.c - in a program without gRPC; see collect_grpc.h */
#include "tool/collect/collect_grpc.h"

bool cpti_collect_has_grpc(void)
{
    return false;
}

cpt_status cpti_collect_grpc_listen(struct cpt_service *service, const char *address,
                                    uint16_t port, uint16_t *bound,
                                    struct cpt_error *error)
{
    (void)service;
    (void)address;
    (void)port;
    (void)bound;
    return cpt_error_set(error, CPT_UNAVAILABLE, 0, "this program has no gRPC");
}

cpt_status cpti_collect_grpc_stop(void)
{
    return CPT_OK;
}

void cpti_collect_grpc_free(void)
{
}
