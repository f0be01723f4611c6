/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_tls.h - certificates of ports and calls over gRPC; and whose a client's is
 */
#ifndef CPTI_GRPC_TLS_H
#define CPTI_GRPC_TLS_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <grpc/grpc_security.h>

#include <stdbool.h>

struct cpt_http_tls;

enum { CPTI_GRPC_NAMES_MAX = 32, CPTI_GRPC_NAME_BYTES = 4096 };

/* The contents of the files of a struct cpt_http_tls, as text; NULL: not given. */
struct cpti_grpc_pem {
    char *certificate;
    char *key;
    char *ca;
    bool requires_certificate;
};

/* Reads the files of @tls. CPT_OK; CPT_IO, CPT_INVALID, CPT_LIMIT with the name of the
 * file and the reason, CPT_NO_MEMORY; then @pem is empty. */
cpt_status cpti_grpc_pem_read(struct cpti_grpc_pem *pem, const struct cpt_http_tls *tls,
                              bool is_of_port, const struct cpt_alloc *alloc,
                              struct cpt_error *error);

/* Frees; the key is overwritten first. */
void cpti_grpc_pem_clear(struct cpti_grpc_pem *pem, const struct cpt_alloc *alloc);

/* NULL: gRPC does not take them. */
grpc_server_credentials *cpti_grpc_pem_server(const struct cpti_grpc_pem *pem);
grpc_channel_credentials *cpti_grpc_pem_channel(const struct cpti_grpc_pem *pem);

/* Whether clients are asked for a certificate. */
grpc_ssl_client_certificate_request_type
cpti_grpc_pem_asks(const struct cpti_grpc_pem *pem);

/* The alternative names of the client's certificate, as `peer_names` of cpt_inbound. */
struct cpti_grpc_names {
    struct cpt_bytes names[CPTI_GRPC_NAMES_MAX];
    size_t count;
    size_t bytes;
    char text[CPTI_GRPC_NAME_BYTES];
};

void cpti_grpc_names_read(grpc_call *call, struct cpti_grpc_names *names);

#endif
