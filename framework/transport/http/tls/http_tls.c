/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_tls.c - TLS of one connection, by OpenSSL
 *
 *      parser <-- cpti_tls_read() <-- [ records ] <-- bio_read() <-- socket
 *      reply  --> cpti_tls_write() -> [ records ] --> bio_write() -> socket
 *
 * The socket is not OpenSSL's own, but behind a BIO of ours: its writes would raise
 * SIGPIPE on threads that do not block it.
 *
 * Receiving. OpenSSL takes as much as comes (read ahead), so that a record costs one
 * call of the system instead of two. But then bytes lie here of which no event of the
 * socket tells. So one event allows one call of recv(), and what that left here is
 * taken by events that the connection makes for itself, which allow none: these come to
 * an end, however fast the other side sends.
 *
 * Writing. A record has at most 16 KiB. Head and body of a reply are put together, as
 * two records would cost more than the copy. What the socket does not take remains
 * in OpenSSL as a record, and is asked for again: the same bytes come first in the next
 * write.
 *
 * After the handshake nothing may turn around: there is no renegotiation, and a change
 * of keys that the socket cannot take at once breaks the connection.
 */
#include "framework/transport/http/tls/http_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    RECORD_BYTES = 16 << 10,
    NAMES_MAX = 32, /* of a certificate */
    NAME_BYTES_MAX = 255
};

struct cpti_tls {
    SSL *ssl;
    struct cpti_tls_target *target; /* of a call; NULL: it was accepted */
    int descriptor;
    bool may_receive;
    bool has_ended; /* the socket, not TLS */
    bool is_broken;
    bool is_unwritable; /* what came before may still be read */
    enum cpti_tls_failure failure;
    unsigned long error; /* of OpenSSL */
    bool has_names;      /* they were looked for */
    struct cpt_bytes *names;
    size_t name_count;
};

/* --- The socket --- */

static bool is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static int bio_write(BIO *bio, const char *data, int bytes)
{
    const struct cpti_tls *tls = BIO_get_data(bio);
    const ssize_t sent =
        send(tls->descriptor, data, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (sent < 0 && is_later(errno)) {
        BIO_set_retry_write(bio);
    }
    return (int)sent;
}

static int bio_read(BIO *bio, char *data, int bytes)
{
    struct cpti_tls *tls = BIO_get_data(bio);
    ssize_t got = -1;

    BIO_clear_retry_flags(bio);
    if (!tls->may_receive) {
        BIO_set_retry_read(bio);
        return -1;
    }
    tls->may_receive = false;
    got = recv(tls->descriptor, data, (size_t)bytes, MSG_DONTWAIT);
    tls->has_ended |= got == 0;
    if (got < 0 && is_later(errno)) {
        BIO_set_retry_read(bio);
    }
    return (int)got;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    const struct cpti_tls *tls = BIO_get_data(bio);

    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && tls->has_ended);
}

static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method; /* of the whole process; NULL: no memory */

static void method_make(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cpt");
    if (method != NULL && (BIO_meth_set_write(method, bio_write) != 1 ||
                           BIO_meth_set_read(method, bio_read) != 1 ||
                           BIO_meth_set_ctrl(method, bio_control) != 1)) {
        BIO_meth_free(method);
        method = NULL;
    }
}

/* --- Making --- */

static struct cpti_tls *tls_new(struct ssl_ctx_st *made, int descriptor)
{
    struct cpti_tls *tls = calloc(1, sizeof *tls);
    BIO *bio = NULL;

    ERR_clear_error();
    (void)pthread_once(&method_once, method_make);
    if (tls == NULL || method == NULL) {
        free(tls);
        return NULL;
    }
    tls->descriptor = descriptor;
    tls->ssl = SSL_new(made);
    bio = BIO_new(method);
    if (tls->ssl == NULL || bio == NULL || SSL_set_app_data(tls->ssl, tls) != 1) {
        (void)BIO_free(bio);
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    return tls;
}

struct cpti_tls *cpti_tls_accept_new(struct cpti_tls_context *context, int descriptor)
{
    struct cpti_tls *tls = tls_new(context->made, descriptor);

    if (tls != NULL) {
        SSL_set_accept_state(tls->ssl);
    }
    return tls;
}

/* The certificate must be of the host. A name that ends in a dot, as it is whole,
 * stands in certificates without it, and is asked for without it (RFC 6066). */
static bool expect_host(SSL *ssl, const struct cpti_tls_target *target)
{
    char name[NAME_BYTES_MAX + 1];
    const size_t bytes = strlen(target->host);
    const bool has_dot = bytes > 1 && target->host[bytes - 1] == '.';

    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!target->is_name) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), target->host) == 1;
    }
    if (bytes - has_dot >= sizeof name) {
        return false;
    }
    memcpy(name, target->host, bytes - has_dot);
    name[bytes - has_dot] = '\0';
    return SSL_set1_host(ssl, name) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    name) == 1;
}

struct cpti_tls *cpti_tls_connect_new(struct cpti_tls_target *target, int descriptor)
{
    struct cpti_tls *tls = tls_new(target->context->made, descriptor);

    if (tls == NULL) {
        return NULL;
    }
    tls->target = target;
    if (!expect_host(tls->ssl, target)) {
        cpti_tls_free(tls);
        return NULL;
    }
    SSL_set_connect_state(tls->ssl);
    if (target->session != NULL &&
        target->session_generation == target->context->generation &&
        cpti_tls_session_is_good(target->session)) {
        (void)SSL_set_session(tls->ssl, target->session);
    }
    return tls;
}

static void names_free(struct cpti_tls *tls)
{
    for (size_t i = 0; i < tls->name_count; i++) {
        free((void *)(uintptr_t)tls->names[i].data);
    }
    free(tls->names);
}

void cpti_tls_free(struct cpti_tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        names_free(tls);
        free(tls);
    }
}

/* --- Sessions of calls --- */

int cpti_tls_on_session(struct ssl_st *ssl, struct ssl_session_st *session)
{
    const struct cpti_tls *tls = SSL_get_app_data(ssl);
    struct cpti_tls_target *target = tls->target;

    if (SSL_get_SSL_CTX(ssl) != target->context->made) {
        return 0; /* of certificates that were replaced meanwhile */
    }
    SSL_SESSION_free(target->session);
    target->session = session;
    target->session_generation = target->context->generation;
    return 1;
}

void cpti_tls_target_deinit(struct cpti_tls_target *target)
{
    SSL_SESSION_free(target->session);
    target->session = NULL;
}

/* --- Failures --- */

static enum cpti_tls_failure failure_of(const struct cpti_tls *tls)
{
    const int reason = ERR_GET_REASON(tls->error);

    if (tls->error == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return CPTI_TLS_FAILURE_CLOSED;
    }
    if (ERR_GET_LIB(tls->error) != ERR_LIB_SSL) {
        return CPTI_TLS_FAILURE_PROTOCOL;
    }
    switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
        return CPTI_TLS_FAILURE_PLAIN;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return CPTI_TLS_FAILURE_CERTIFICATE;
    default:
        return reason > SSL_AD_REASON_OFFSET ? CPTI_TLS_FAILURE_REFUSED
                                             : CPTI_TLS_FAILURE_PROTOCOL;
    }
}

/* The other side has closed it, or it is of no use any more. */
static void note_failure(struct cpti_tls *tls)
{
    tls->is_broken = true;
    tls->error = ERR_peek_error();
    tls->failure = failure_of(tls);
    ERR_clear_error();
}

enum cpti_tls_failure cpti_tls_failure(const struct cpti_tls *tls)
{
    return tls->failure;
}

void cpti_tls_reason(const struct cpti_tls *tls, char reason[CPTI_TLS_REASON_BYTES])
{
    const long verified = SSL_get_verify_result(tls->ssl);
    const char *text = ERR_reason_error_string(tls->error);

    if (tls->failure == CPTI_TLS_FAILURE_CERTIFICATE && verified != X509_V_OK) {
        text = X509_verify_cert_error_string(verified);
    } else if (tls->failure == CPTI_TLS_FAILURE_CLOSED) {
        text = "the connection was closed";
    } else if (text == NULL) {
        text = "unknown error";
    }
    (void)snprintf(reason, CPTI_TLS_REASON_BYTES, "%s", text);
}

/* --- The handshake --- */

enum cpti_tls_step cpti_tls_handshake(struct cpti_tls *tls)
{
    int result = 0;

    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        return CPTI_TLS_DONE;
    }
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return CPTI_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return CPTI_TLS_WANTS_WRITE;
    default:
        note_failure(tls);
        return CPTI_TLS_FAILED;
    }
}

bool cpti_tls_is_resumed(const struct cpti_tls *tls)
{
    return SSL_session_reused(tls->ssl) == 1;
}

/* --- Reading and writing --- */

void cpti_tls_may_receive(struct cpti_tls *tls)
{
    tls->may_receive = true;
}

bool cpti_tls_has_bytes(const struct cpti_tls *tls)
{
    return !tls->is_broken && SSL_has_pending(tls->ssl) == 1;
}

ssize_t cpti_tls_read(struct cpti_tls *tls, void *data, size_t bytes)
{
    size_t got = 0;

    if (tls->is_broken) {
        return -2;
    }
    ERR_clear_error();
    if (SSL_read_ex(tls->ssl, data, bytes, &got) == 1) {
        return (ssize_t)got;
    }
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        note_failure(tls);
        return -2;
    }
}

/* The bytes of the next record, of @parts after @done bytes: where they lie, or put
 * together in @record. */
static const void *record_of(const struct iovec *parts, size_t count, size_t done,
                             char record[RECORD_BYTES], size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < count && *bytes < RECORD_BYTES; i++) {
        const size_t skipped = done < parts[i].iov_len ? done : parts[i].iov_len;
        const char *data = (const char *)parts[i].iov_base + skipped;
        const size_t room = RECORD_BYTES - *bytes;
        size_t part = parts[i].iov_len - skipped;

        done -= skipped;
        if (part == 0) {
            continue;
        }
        part = part < room ? part : room;
        if (*bytes == 0 && (part == room || i + 1 == count)) {
            *bytes = part;
            return data;
        }
        memcpy(record + *bytes, data, part);
        *bytes += part;
    }
    return record;
}

ssize_t cpti_tls_write(struct cpti_tls *tls, const struct iovec *parts, size_t count)
{
    char record[RECORD_BYTES];
    size_t total = 0;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        total += parts[i].iov_len;
    }
    while (done < total && !tls->is_broken && !tls->is_unwritable) {
        size_t bytes = 0;
        size_t sent = 0;
        const void *data = record_of(parts, count, done, record, &bytes);

        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, data, bytes, &sent) == 1) {
            done += sent;
        } else if (SSL_get_error(tls->ssl, 0) == SSL_ERROR_WANT_WRITE) {
            break;
        } else {
            tls->is_unwritable = true;
            ERR_clear_error();
        }
    }
    return tls->is_broken || tls->is_unwritable ? -2 : (ssize_t)done;
}

void cpti_tls_end(struct cpti_tls *tls)
{
    if (!tls->is_broken && !tls->is_unwritable && SSL_is_init_finished(tls->ssl)) {
        ERR_clear_error();
        (void)SSL_shutdown(tls->ssl);
        ERR_clear_error();
    }
}

/* --- Names of the other side --- */

/* Adds @prefix and @bytes of @text, unless they are no plain text. */
static void add_name(struct cpti_tls *tls, const char *prefix,
                     const unsigned char *text, size_t bytes)
{
    const size_t prefix_bytes = strlen(prefix);
    char *name = NULL;

    if (bytes == 0 || bytes > NAME_BYTES_MAX || tls->name_count == NAMES_MAX) {
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < ' ' || text[i] == 0x7f) {
            return;
        }
    }
    name = malloc(prefix_bytes + bytes);
    if (name != NULL) {
        memcpy(name, prefix, prefix_bytes);
        memcpy(name + prefix_bytes, text, bytes);
        tls->names[tls->name_count++] = (struct cpt_bytes){name, prefix_bytes + bytes};
    }
}

static void add_alternative(struct cpti_tls *tls, const GENERAL_NAME *alternative)
{
    int type = 0;
    const ASN1_STRING *text = GENERAL_NAME_get0_value(alternative, &type);
    const char *prefix = type == GEN_DNS     ? "dns:"
                         : type == GEN_URI   ? "uri:"
                         : type == GEN_EMAIL ? "email:"
                                             : NULL;

    if (prefix != NULL) {
        add_name(tls, prefix, ASN1_STRING_get0_data(text),
                 (size_t)ASN1_STRING_length(text));
    }
}

/* The common name of who has signed @certificate, if there is one only. */
static void add_issuer(struct cpti_tls *tls, const X509 *certificate)
{
    const X509_NAME *issuer = X509_get_issuer_name(certificate);
    const int at = X509_NAME_get_index_by_NID(issuer, NID_commonName, -1);
    unsigned char *text = NULL;
    int bytes = 0;

    if (at < 0 || X509_NAME_get_index_by_NID(issuer, NID_commonName, at) >= 0) {
        return;
    }
    bytes = ASN1_STRING_to_UTF8(
        &text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(issuer, at)));
    if (bytes > 0) {
        add_name(tls, "issuer:", text, (size_t)bytes);
    }
    if (bytes >= 0) {
        OPENSSL_free(text);
    }
}

static void names_read(struct cpti_tls *tls)
{
    const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    GENERAL_NAMES *alternatives = NULL;

    if (certificate == NULL || SSL_get_verify_result(tls->ssl) != X509_V_OK) {
        return;
    }
    tls->names = calloc(NAMES_MAX, sizeof *tls->names);
    if (tls->names == NULL) {
        return;
    }
    add_issuer(tls, certificate);
    alternatives = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); i++) {
        add_alternative(tls, sk_GENERAL_NAME_value(alternatives, i));
    }
    GENERAL_NAMES_free(alternatives);
    ERR_clear_error();
}

const struct cpt_bytes *cpti_tls_names(struct cpti_tls *tls, size_t *count)
{
    if (!tls->has_names) {
        tls->has_names = true;
        names_read(tls);
    }
    *count = tls->name_count;
    return tls->names;
}
