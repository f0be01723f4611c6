/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_tls_absent.c - in place of http_tls.c and http_tls_context.c, without OpenSSL
 *
 * A context cannot be made, so nothing else here is ever called with one.
 */
#include "framework/transport/http/tls/http_tls.h"

#include <string.h>

cpt_status cpti_tls_context_read(const struct cpti_tls_context *context,
                                 struct cpti_tls_made *made, struct cpt_error *error)
{
    (void)context;
    *made = (struct cpti_tls_made){NULL, 0};
    return cpt_error_set(error, CPT_UNAVAILABLE, 0,
                         "cpt was built without TLS: install libssl-dev, and build it "
                         "with CPT_WITH_TLS=ON");
}

cpt_status cpti_tls_context_init(struct cpti_tls_context *context,
                                 const struct cpt_http_tls *options, bool is_of_port,
                                 const struct cpt_alloc *alloc, struct cpt_error *error)
{
    struct cpti_tls_made made;

    (void)options;
    (void)is_of_port;
    (void)alloc;
    memset(context, 0, sizeof *context);
    return cpti_tls_context_read(context, &made, error);
}

void cpti_tls_context_deinit(struct cpti_tls_context *context)
{
    (void)context;
}

void cpti_tls_context_take(struct cpti_tls_context *context,
                           const struct cpti_tls_made *made)
{
    (void)context;
    (void)made;
}

void cpti_tls_made_free(struct cpti_tls_made *made)
{
    (void)made;
}

void cpti_tls_target_deinit(struct cpti_tls_target *target)
{
    (void)target;
}

struct cpti_tls *cpti_tls_accept_new(struct cpti_tls_context *context, int descriptor)
{
    (void)context;
    (void)descriptor;
    return NULL;
}

struct cpti_tls *cpti_tls_connect_new(struct cpti_tls_target *target, int descriptor)
{
    (void)target;
    (void)descriptor;
    return NULL;
}

void cpti_tls_free(struct cpti_tls *tls)
{
    (void)tls;
}

void cpti_tls_may_receive(struct cpti_tls *tls)
{
    (void)tls;
}

bool cpti_tls_has_bytes(const struct cpti_tls *tls)
{
    (void)tls;
    return false;
}

enum cpti_tls_step cpti_tls_handshake(struct cpti_tls *tls)
{
    (void)tls;
    return CPTI_TLS_FAILED;
}

ssize_t cpti_tls_read(struct cpti_tls *tls, void *data, size_t bytes)
{
    (void)tls;
    (void)data;
    (void)bytes;
    return -2;
}

ssize_t cpti_tls_write(struct cpti_tls *tls, const struct iovec *parts, size_t count)
{
    (void)tls;
    (void)parts;
    (void)count;
    return -2;
}

void cpti_tls_end(struct cpti_tls *tls)
{
    (void)tls;
}

bool cpti_tls_is_resumed(const struct cpti_tls *tls)
{
    (void)tls;
    return false;
}

enum cpti_tls_failure cpti_tls_failure(const struct cpti_tls *tls)
{
    (void)tls;
    return CPTI_TLS_FAILURE_PROTOCOL;
}

void cpti_tls_reason(const struct cpti_tls *tls, char reason[CPTI_TLS_REASON_BYTES])
{
    (void)tls;
    reason[0] = '\0';
}

const struct cpt_bytes *cpti_tls_names(struct cpti_tls *tls, size_t *count)
{
    (void)tls;
    *count = 0;
    return NULL;
}
