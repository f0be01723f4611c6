/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dying_grpc.c - calls over gRPC of a callee that dies at any byte
 *
 *      dying_grpc [COUNT]
 */
#include "dying.h"

#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_grpc.h"
#include "tests/support/test_random.h"

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    struct cpt_grpc *callee = cpt_grpc_new(NULL, NULL);
    struct cpt_grpc *caller = cpt_grpc_new(NULL, NULL);
    struct cpt_executor *pool = cpt_pool_new(NULL, NULL);
    struct dying_wire wire = {.name = "grpc", .scheme = ""};
    struct cpt_service *service = NULL;
    bool is_good = false;

    if (callee == NULL || caller == NULL || pool == NULL) {
        return 1;
    }
    service = dying_service_new(count, NULL);
    if (cpt_grpc_listen(callee, service, NULL, 0, &wire.port, NULL) != CPT_OK) {
        return 1;
    }
    wire.transport = cpt_grpc_transport(caller);
    dying_calls_make(&wire, pool, test_random_seed("grpc"));
    (void)cpt_grpc_stop(caller);
    (void)cpt_grpc_stop(callee);
    is_good = dying_calls_judge(&wire);
    cpt_pool_free(pool);
    dying_service_free(service);
    cpt_grpc_free(caller);
    cpt_grpc_free(callee);
    return is_good ? 0 : 1;
}
