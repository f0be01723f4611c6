/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* consumer_grpc.c - a program outside the tree that has a gRPC transport */
#include <cpt/cpt_grpc.h>

#include <stdio.h>

int main(void)
{
    struct cpt_grpc *grpc = cpt_grpc_new(NULL, NULL);

    if (grpc == NULL || cpt_grpc_stop(grpc) != CPT_OK) {
        return 1;
    }
    cpt_grpc_free(grpc);
    (void)puts("gRPC");
    return 0;
}
