/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_grpc.c - gRPC of cpt collect; see collect_grpc.h */
#include "tool/collect/collect_grpc.h"

#include "tool/collect/collect_door.h"
#include "framework/transport/cpt_grpc.h"

static struct cpt_grpc *grpc; /* the only one of the process */

enum { REQUESTS_MAX = 256, STREAMS_MAX = 100 };

bool cpti_collect_has_grpc(void)
{
    return true;
}

cpt_status cpti_collect_grpc_listen(struct cpt_service *service, const char *address,
                                    uint16_t port, uint16_t *bound,
                                    struct cpt_error *error)
{
    const struct cpt_grpc_options options = {
        .struct_bytes = sizeof options,
        .body_bytes_max =
            cpt_memory_part(CPTI_COLLECT_BODY_BYTES_MAX, CPTI_COLLECT_BODY_PART),
        .requests_open_max = REQUESTS_MAX,
        .streams_max = STREAMS_MAX,
        .serves_health = 1,
        .takes_compressed = 1,
    };

    grpc = cpt_grpc_new(&options, error);
    return grpc != NULL ? cpt_grpc_listen(grpc, service, address, port, bound, error)
                        : CPT_FAILED;
}

cpt_status cpti_collect_grpc_stop(void)
{
    return grpc != NULL ? cpt_grpc_stop(grpc) : CPT_OK;
}

void cpti_collect_grpc_free(void)
{
    cpt_grpc_free(grpc);
    grpc = NULL;
}
