/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_tls_reload.c - certificates of ports, which are read again while they serve
 *
 *      cpt_grpc_reload_tls() --> files --> does gRPC take them? --> kept
 *      a handshake           --> gRPC asks fetch() --> the newest that are kept
 *
 * Either all ports get what was read, or, if a file of one is bad, none. gRPC takes
 * certificates without a word, and goes on with the old ones if they are bad; so they
 * are first tried on a server that never starts.
 */
#include "framework/transport/cpt_http.h"
#include "framework/transport/grpc/grpc_queue.h"
#include "framework/transport/base/pem.h"

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <string.h>

/* Of one port. Lives as long as the transport, as gRPC may ask until its end. */
struct cpti_grpc_certificates {
    struct cpti_grpc_certificates *next;
    struct cpt_http_tls tls; /* names of files: copies */
    struct cpti_lock lock;   /* guards what follows */
    struct cpti_grpc_pem pem;
    bool is_new;  /* gRPC has not fetched it */
    bool is_idle; /* the port could not be opened */
    struct cpti_grpc_pem
        fresh; /* read, and not taken yet; of the thread that reloads */
    char text[];
};

/* --- What gRPC asks --- */

static grpc_ssl_certificate_config_reload_status
fetch(void *context, grpc_ssl_server_certificate_config **config)
{
    struct cpti_grpc_certificates *own = context;
    grpc_ssl_certificate_config_reload_status status =
        GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;

    cpti_lock_take(&own->lock);
    if (own->is_new) {
        const grpc_ssl_pem_key_cert_pair pair = {own->pem.key, own->pem.certificate};

        /* gRPC aborts without certificates of authorities, also if clients are asked
         * for none; then nothing is compared with these. */
        *config = grpc_ssl_server_certificate_config_create(
            own->pem.ca != NULL ? own->pem.ca : own->pem.certificate, &pair, 1);
        own->is_new = false;
        status = GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
    }
    cpti_lock_release(&own->lock);
    return status;
}

grpc_server_credentials *
cpti_grpc_certificates_credentials(struct cpti_grpc_certificates *own)
{
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            cpti_grpc_pem_asks(&own->pem), fetch, own));
}

/* --- Life --- */

static const char *copy(char **to, const char *from)
{
    char *begin = *to;

    if (from == NULL) {
        return NULL;
    }
    memcpy(begin, from, strlen(from) + 1);
    *to += strlen(from) + 1;
    return begin;
}

static size_t bytes_of(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

struct cpti_grpc_certificates *
cpti_grpc_certificates_new(struct cpt_grpc *grpc, const struct cpt_http_tls *tls,
                           struct cpti_grpc_pem *pem)
{
    struct cpt_http_tls given;
    struct cpti_grpc_certificates *own = NULL;
    char *to = NULL;

    (void)cpt_options_read(&given, sizeof given, tls, NULL); /* it was read before */
    own = cpt_alloc_zeroed(grpc->alloc, sizeof *own + bytes_of(given.certificate_file) +
                                            bytes_of(given.key_file) +
                                            bytes_of(given.ca_file));
    if (own == NULL) {
        return NULL;
    }
    to = own->text;
    own->tls.struct_bytes = sizeof own->tls;
    own->tls.certificate_file = copy(&to, given.certificate_file);
    own->tls.key_file = copy(&to, given.key_file);
    own->tls.ca_file = copy(&to, given.ca_file);
    own->tls.requires_certificate = given.requires_certificate;
    cpti_lock_init(&own->lock, CPTI_RANK_GRPC);
    own->pem = *pem;
    own->is_new = true;
    memset(pem, 0, sizeof *pem);
    cpti_lock_take(&grpc->lock);
    own->next = grpc->certificates;
    grpc->certificates = own;
    cpti_lock_release(&grpc->lock);
    return own;
}

void cpti_grpc_certificates_forget(struct cpti_grpc_certificates *own)
{
    cpti_lock_take(&own->lock);
    own->is_idle = true;
    cpti_lock_release(&own->lock);
}

void cpti_grpc_certificates_free(struct cpt_grpc *grpc)
{
    while (grpc->certificates != NULL) {
        struct cpti_grpc_certificates *next = grpc->certificates->next;

        cpti_grpc_pem_clear(&grpc->certificates->pem, grpc->alloc);
        cpti_lock_deinit(&grpc->certificates->lock);
        cpt_alloc_free(grpc->alloc, grpc->certificates);
        grpc->certificates = next;
    }
}

/* --- Again --- */

/* A server with a port must not be destroyed otherwise. */
static void shut_down(grpc_server *server)
{
    grpc_completion_queue *queue = grpc_completion_queue_create_for_pluck(NULL);

    grpc_server_shutdown_and_notify(server, queue, server);
    (void)grpc_completion_queue_pluck(queue, server, gpr_inf_future(GPR_CLOCK_REALTIME),
                                      NULL);
    grpc_completion_queue_shutdown(queue);
    grpc_completion_queue_destroy(queue);
}

/* Whether gRPC would serve with @pem. */
static bool is_taken(const struct cpti_grpc_pem *pem)
{
    grpc_server *trial = grpc_server_create(NULL, NULL);
    grpc_server_credentials *credentials = cpti_grpc_pem_server(pem);
    const bool is_good =
        credentials != NULL &&
        grpc_server_add_http2_port(trial, "127.0.0.1:0", credentials) > 0;

    if (credentials != NULL) {
        grpc_server_credentials_release(credentials);
    }
    if (is_good) {
        shut_down(trial);
    }
    grpc_server_destroy(trial);
    return is_good;
}

/* Waits for those who write the files. */
static cpt_status await_still(const struct cpt_http_tls *tls, struct cpt_error *error)
{
    int looks = 0;

    while (!cpti_pem_is_still(tls->certificate_file) ||
           !cpti_pem_is_still(tls->key_file) || !cpti_pem_is_still(tls->ca_file)) {
        if (++looks == CPTI_PEM_LOOKS) {
            return cpt_error_set(error, CPT_IO, 0,
                                 "%s, its key or its authorities: being changed",
                                 tls->certificate_file);
        }
        cpti_pem_wait();
    }
    return CPT_OK;
}

static cpt_status read_again(struct cpti_grpc_certificates *own,
                             const struct cpt_alloc *alloc, struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    bool is_idle = false;

    cpti_lock_take(&own->lock);
    is_idle = own->is_idle;
    cpti_lock_release(&own->lock);
    if (is_idle) {
        return CPT_OK;
    }
    status = await_still(&own->tls, error);
    if (status != CPT_OK) {
        return status;
    }
    status = cpti_grpc_pem_read(&own->fresh, &own->tls, true, alloc, error);
    if (status != CPT_OK || is_taken(&own->fresh)) {
        return status;
    }
    cpti_grpc_pem_clear(&own->fresh, alloc);
    return cpt_error_set(error, CPT_INVALID, 0,
                         "%s: gRPC does not take it, its key, or those of clients",
                         own->tls.certificate_file);
}

cpt_status cpt_grpc_reload_tls(struct cpt_grpc *grpc, struct cpt_error *error)
{
    struct cpti_grpc_certificates *first = NULL;
    cpt_status status = CPT_OK;

    cpti_lock_take(&grpc->lock);
    first = grpc->certificates;
    cpti_lock_release(&grpc->lock);
    for (struct cpti_grpc_certificates *own = first; own != NULL && status == CPT_OK;
         own = own->next) {
        status = read_again(own, grpc->alloc, error);
    }
    for (struct cpti_grpc_certificates *own = first; own != NULL; own = own->next) {
        struct cpti_grpc_pem old = own->fresh;

        if (status == CPT_OK && own->fresh.certificate != NULL) {
            cpti_lock_take(&own->lock);
            old = own->pem;
            own->pem = own->fresh;
            own->is_new = true;
            cpti_lock_release(&own->lock);
        }
        cpti_grpc_pem_clear(&old, grpc->alloc);
        memset(&own->fresh, 0, sizeof own->fresh);
    }
    cpti_grpc_count(grpc, status == CPT_OK ? CPTI_GRPC_COUNTER_tls_reloads
                                           : CPTI_GRPC_COUNTER_tls_reloads_refused);
    return status;
}
