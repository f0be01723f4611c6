/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_tls_context.c - certificates and keys, read from files
 *
 *      certificate_file, key_file   who we are: of a port always, of calls if asked for
 *      ca_file                      whom we believe: clients of a port; services that
 *                                   are called, where the system's store is the default
 *
 * What is made of the files never changes. Reading them again makes another one, which
 * new connections use; open connections keep theirs. A file that is bad changes
 * nothing.
 *
 * TLS 1.2 with forward secrecy and authenticated ciphers only, or 1.3. No compression,
 * no renegotiation, no early data (it can be replayed). Sessions are resumed by
 * tickets: those need no memory here, and end with the certificate of the other side.
 * A port that asks for certificates gives its tickets a context of their own, without
 * which OpenSSL would refuse to resume.
 */
#include "framework/transport/http/tls/http_tls.h"

#include "framework/transport/base/pem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"

enum { SESSION_SECONDS = 600, TICKETS = 1 };

static const unsigned char protocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/* --- Errors --- */

/* Why OpenSSL did not take @file. */
static cpt_status refuse(const char *file, const char *what, struct cpt_error *error)
{
    const unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);

    if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for TLS");
    }
    return cpt_error_set(error, CPT_INVALID, 0, "%s: %s%s%s", file, what,
                         reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

/* Whether @file can be read, without waiting as for a pipe; a key not by strangers. */
static cpt_status look_at(const char *file, bool is_key, struct cpt_error *error)
{
    struct stat about;
    const int opened = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (opened < 0) {
        return cpt_error_set(error, CPT_IO, 0, "%s: %s", file, strerror(errno));
    }
    if (fstat(opened, &about) != 0) {
        about.st_mode = 0;
    }
    (void)close(opened);
    if (!S_ISREG(about.st_mode)) {
        return cpt_error_set(error, CPT_INVALID, 0, "%s: it is no regular file", file);
    }
    if (is_key && (about.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "%s: users that it does not belong to may read or write "
                             "the key in it; chmod 600, or 640",
                             file);
    }
    return CPT_OK;
}

/* Whether nothing is missing in @file, which OpenSSL has taken. */
static cpt_status check_whole(const char *file, struct cpt_error *error)
{
    const int opened = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const bool is_whole = opened >= 0 && cpti_pem_is_whole(opened);

    if (opened >= 0) {
        (void)close(opened);
    }
    return is_whole ? CPT_OK
                    : cpt_error_set(error, CPT_INVALID, 0,
                                    "%s: it was cut short, or something is amiss "
                                    "between its lines BEGIN and END",
                                    file);
}

/* --- Files --- */

/* A service has no terminal to ask. */
static int no_password(char *text, int bytes, int is_for_writing, void *context)
{
    (void)text;
    (void)bytes;
    (void)is_for_writing;
    (void)context;
    return -1;
}

static uint64_t expiry_of(SSL_CTX *made)
{
    const X509 *certificate = SSL_CTX_get0_certificate(made);
    struct tm time;
    time_t seconds = 0;

    if (certificate == NULL ||
        ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) {
        return 0;
    }
    seconds = timegm(&time);
    return seconds > 0 ? (uint64_t)seconds : 0;
}

static cpt_status read_own(const struct cpti_tls_context *context, SSL_CTX *made,
                           struct cpt_error *error)
{
    const char *key_file =
        context->key_file != NULL ? context->key_file : context->certificate_file;
    cpt_status status = look_at(context->certificate_file, false, error);

    if (status == CPT_OK) {
        status = look_at(key_file, true, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (SSL_CTX_use_certificate_chain_file(made, context->certificate_file) != 1) {
        return refuse(context->certificate_file, "it has no certificate that is good",
                      error);
    }
    if (SSL_CTX_use_PrivateKey_file(made, key_file, SSL_FILETYPE_PEM) != 1) {
        return refuse(key_file, "it has no key, without a password, of the certificate",
                      error);
    }
    return check_whole(context->certificate_file, error);
}

static cpt_status read_authorities(const struct cpti_tls_context *context,
                                   SSL_CTX *made, struct cpt_error *error)
{
    STACK_OF(X509_NAME) *names = NULL;
    cpt_status status = CPT_OK;

    if (context->ca_file == NULL) {
        return context->is_of_port || SSL_CTX_set_default_verify_paths(made) == 1
                   ? CPT_OK
                   : refuse("the system's certificates", "they cannot be read", error);
    }
    status = look_at(context->ca_file, false, error);
    if (status != CPT_OK) {
        return status;
    }
    if (SSL_CTX_load_verify_file(made, context->ca_file) != 1) {
        return refuse(context->ca_file, "it has no certificate that is good", error);
    }
    if (context->is_of_port) {
        names = SSL_load_client_CA_file(context->ca_file);
        if (names == NULL) {
            return refuse(context->ca_file, "it has no certificate that is good",
                          error);
        }
        SSL_CTX_set_client_CA_list(made, names);
    }
    return check_whole(context->ca_file, error);
}

/* --- Making --- */

/* The client offers protocols, mostly "h2" first. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen,
                           unsigned char *chosen_bytes, const unsigned char *offered,
                           unsigned offered_bytes, void *context)
{
    unsigned char *found = NULL;

    (void)ssl;
    (void)context;
    if (SSL_select_next_proto(&found, chosen_bytes, protocols, sizeof protocols,
                              offered, offered_bytes) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

bool cpti_tls_session_is_good(const struct ssl_session_st *session)
{
    X509 *certificate = SSL_SESSION_get0_peer((SSL_SESSION *)(uintptr_t)session);

    return certificate == NULL ||
           X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

/* The client has sent a ticket. Each time it is resumed, it is renewed; so only this
 * ends a session whose certificate has expired: the handshake asks for another one. */
static SSL_TICKET_RETURN take_ticket(SSL *ssl, SSL_SESSION *session,
                                     const unsigned char *name, size_t name_bytes,
                                     SSL_TICKET_STATUS status, void *context)
{
    (void)ssl;
    (void)name;
    (void)name_bytes;
    (void)context;
    if ((status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) ||
        !cpti_tls_session_is_good(session)) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE
                                        : SSL_TICKET_RETURN_USE_RENEW;
}

static bool configure_port(const struct cpti_tls_context *context, SSL_CTX *made)
{
    static const unsigned char session_context[] = "cpt";

    SSL_CTX_set_alpn_select_cb(made, choose_protocol, NULL);
    (void)SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    if (context->ca_file != NULL) {
        SSL_CTX_set_verify(
            made,
            SSL_VERIFY_PEER |
                (context->requires_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
            NULL);
    }
    return SSL_CTX_set_num_tickets(made, TICKETS) == 1 &&
           SSL_CTX_set_session_ticket_cb(made, NULL, take_ticket, NULL) == 1 &&
           SSL_CTX_set_session_id_context(made, session_context,
                                          sizeof session_context - 1) == 1;
}

static bool configure(const struct cpti_tls_context *context, SSL_CTX *made)
{
    (void)SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS |
                                     SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(made, 1);
    SSL_CTX_set_default_passwd_cb(made, no_password);
    (void)SSL_CTX_set_timeout(made, SESSION_SECONDS);
    if (SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(made, CIPHERS) != 1) {
        return false;
    }
    if (context->is_of_port) {
        return configure_port(context, made);
    }
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_CLIENT |
                                                   SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(made, cpti_tls_on_session);
    return SSL_CTX_set_alpn_protos(made, protocols, sizeof protocols) == 0;
}

cpt_status cpti_tls_context_read(const struct cpti_tls_context *context,
                                 struct cpti_tls_made *result, struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    SSL_CTX *made = NULL;

    ERR_clear_error();
    *result = (struct cpti_tls_made){NULL, 0};
    made = SSL_CTX_new(context->is_of_port ? TLS_server_method() : TLS_client_method());
    if (made == NULL || !configure(context, made)) {
        status = cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for TLS");
    }
    if (status == CPT_OK && context->certificate_file != NULL) {
        status = read_own(context, made, error);
    }
    if (status == CPT_OK) {
        status = read_authorities(context, made, error);
    }
    ERR_clear_error();
    if (status != CPT_OK) {
        SSL_CTX_free(made);
        return status;
    }
    result->made = made;
    result->expires_unix_s = expiry_of(made);
    return CPT_OK;
}

void cpti_tls_context_take(struct cpti_tls_context *context,
                           const struct cpti_tls_made *made)
{
    SSL_CTX_free(context->made);
    context->made = made->made;
    context->generation++;
    context->expires_unix_s = made->expires_unix_s;
}

void cpti_tls_made_free(struct cpti_tls_made *made)
{
    SSL_CTX_free(made->made);
    made->made = NULL;
}

/* --- Contexts --- */

/* false without memory. */
static bool copy(char **to, const char *text, const struct cpt_alloc *alloc)
{
    const size_t bytes = text != NULL ? strlen(text) + 1 : 0;

    if (text == NULL) {
        return true;
    }
    *to = cpt_alloc_zeroed(alloc, bytes);
    if (*to != NULL) {
        memcpy(*to, text, bytes);
    }
    return *to != NULL;
}

static cpt_status check(const struct cpt_http_tls *options, bool is_of_port,
                        struct cpt_error *error)
{
    if (is_of_port && options->certificate_file == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a port with TLS needs a certificate");
    }
    if (options->certificate_file == NULL && options->key_file != NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "%s: a key without a certificate",
                             options->key_file);
    }
    if (is_of_port && options->requires_certificate && options->ca_file == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "certificates of clients are required, but no file says "
                             "who may sign them");
    }
    return CPT_OK;
}

cpt_status cpti_tls_context_init(struct cpti_tls_context *context,
                                 const struct cpt_http_tls *given, bool is_of_port,
                                 const struct cpt_alloc *alloc, struct cpt_error *error)
{
    struct cpt_http_tls options;
    struct cpti_tls_made made;
    cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    memset(context, 0, sizeof *context);
    if (status == CPT_OK) {
        status = check(&options, is_of_port, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    context->alloc = alloc;
    context->is_of_port = is_of_port;
    context->requires_certificate = options.requires_certificate != 0;
    if (!copy(&context->certificate_file, options.certificate_file, alloc) ||
        !copy(&context->key_file, options.key_file, alloc) ||
        !copy(&context->ca_file, options.ca_file, alloc)) {
        cpti_tls_context_deinit(context);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for TLS");
    }
    status = cpti_tls_context_read(context, &made, error);
    if (status != CPT_OK) {
        cpti_tls_context_deinit(context);
        return status;
    }
    cpti_tls_context_take(context, &made);
    return CPT_OK;
}

void cpti_tls_context_deinit(struct cpti_tls_context *context)
{
    SSL_CTX_free(context->made);
    if (context->alloc != NULL) {
        cpt_alloc_free(context->alloc, context->certificate_file);
        cpt_alloc_free(context->alloc, context->key_file);
        cpt_alloc_free(context->alloc, context->ca_file);
    }
    memset(context, 0, sizeof *context);
}
