/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_tls.h - TLS between a connection and its socket
 *
 *      files --> context --> [ TLS of a connection ] <--> socket
 *                 of a port,        |
 *                 or of calls    handshake, read, write, end
 *
 * http_tls.c and http_tls_context.c do it with OpenSSL; where that is missing,
 * http_tls_absent.c refuses every context, so that no connection ever has TLS.
 *
 * One rule differs from a socket's: bytes may lie here, already received, and no event
 * of the socket tells of them. See cpti_tls_may_receive() and cpti_tls_has_bytes().
 *
 * Threads: the loop thread, but for cpti_tls_context_read().
 */
#ifndef CPT_HTTP_TLS_H
#define CPT_HTTP_TLS_H

#include "cpt/cpt_name.h"
#include "framework/transport/cpt_http.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

/* --- http_tls_context.c: certificates --- */

/* The files of a port, or of calls, and what was last made of them. */
struct cpti_tls_context {
    const struct cpt_alloc *alloc;
    bool is_of_port;
    bool requires_certificate;
    char *certificate_file; /* copies; NULL: none */
    char *key_file;
    char *ca_file;
    struct ssl_ctx_st *made;
    unsigned generation;     /* how often that was replaced */
    uint64_t expires_unix_s; /* our own certificate; 0: there is none */
};

/* What was read from the files, and is not in use yet. */
struct cpti_tls_made {
    struct ssl_ctx_st *made;
    uint64_t expires_unix_s; /* our own certificate; 0: there is none */
};

/* Reads the files. @options NULL: the defaults, for calls. CPT_OK; CPT_IO, CPT_INVALID
 * with file and reason; CPT_NO_MEMORY. */
cpt_status cpti_tls_context_init(struct cpti_tls_context *context,
                                 const struct cpt_http_tls *options, bool is_of_port,
                                 const struct cpt_alloc *alloc,
                                 struct cpt_error *error);
void cpti_tls_context_deinit(struct cpti_tls_context *context);

/* Reads the files once more, on any thread. Errors as above. */
cpt_status cpti_tls_context_read(const struct cpti_tls_context *context,
                                 struct cpti_tls_made *made, struct cpt_error *error);

/* Connections from now on use @made; those that are open stay as they are. */
void cpti_tls_context_take(struct cpti_tls_context *context,
                           const struct cpti_tls_made *made);
void cpti_tls_made_free(struct cpti_tls_made *made);

/* Whether the certificate of the other side, if @session has one, is valid by now. */
bool cpti_tls_session_is_good(const struct ssl_session_st *session);

/* --- http_tls.c: a connection --- */

/* Whom calls are for, and the session that the next connection resumes. */
struct cpti_tls_target {
    struct cpti_tls_context *context;
    const char *host; /* that the certificate must name */
    bool is_name;     /* it is no number */
    struct ssl_session_st *session;
    unsigned session_generation; /* of the context that it was made with */
};

void cpti_tls_target_deinit(struct cpti_tls_target *target);

/* OpenSSL calls it with a session that may be resumed: 1 if it is kept. */
int cpti_tls_on_session(struct ssl_st *ssl, struct ssl_session_st *session);

struct cpti_tls;

/* For a connected socket, which stays the caller's. NULL without memory. @target
 * outlives it. */
struct cpti_tls *cpti_tls_accept_new(struct cpti_tls_context *context, int descriptor);
struct cpti_tls *cpti_tls_connect_new(struct cpti_tls_target *target, int descriptor);
void cpti_tls_free(struct cpti_tls *tls);

/* The socket is readable: the next function may receive from it, once. So one
 * connection that is sent much does not keep the others waiting. */
void cpti_tls_may_receive(struct cpti_tls *tls);

/* Whether bytes lie here that a read may give, without an event of the socket. */
bool cpti_tls_has_bytes(const struct cpti_tls *tls);

enum cpti_tls_step {
    CPTI_TLS_DONE,
    CPTI_TLS_WANTS_READ,
    CPTI_TLS_WANTS_WRITE,
    CPTI_TLS_FAILED
};

/* Goes on with the handshake. */
enum cpti_tls_step cpti_tls_handshake(struct cpti_tls *tls);

/* Bytes read; 0: the other side has said that it is the end; -1: none now; -2: it is
 * broken, or ended without saying so. */
ssize_t cpti_tls_read(struct cpti_tls *tls, void *data, size_t bytes);

/* Bytes written, maybe 0; -2: it is broken. What was not written must come again,
 * first, with the next write. */
ssize_t cpti_tls_write(struct cpti_tls *tls, const struct iovec *parts, size_t count);

/* Says that nothing more is sent; if the socket takes it. */
void cpti_tls_end(struct cpti_tls *tls);

/* Whether the handshake took up an earlier session. */
bool cpti_tls_is_resumed(const struct cpti_tls *tls);

enum cpti_tls_failure {
    CPTI_TLS_FAILURE_NONE,
    CPTI_TLS_FAILURE_CLOSED,      /* the other side has closed the connection */
    CPTI_TLS_FAILURE_PLAIN,       /* it speaks HTTP without TLS */
    CPTI_TLS_FAILURE_CERTIFICATE, /* its certificate was refused, or is missing */
    CPTI_TLS_FAILURE_REFUSED,     /* it has refused, mostly our certificate */
    CPTI_TLS_FAILURE_PROTOCOL     /* all else */
};

/* Why it has failed. */
enum cpti_tls_failure cpti_tls_failure(const struct cpti_tls *tls);

enum { CPTI_TLS_REASON_BYTES = 160 };

/* The same as a sentence without its subject: "certificate has expired". */
void cpti_tls_reason(const struct cpti_tls *tls, char reason[CPTI_TLS_REASON_BYTES]);

/* The names of the certificate that the other side has shown, and that was verified:
 * "dns:", "uri:", "email:", and "issuer:" for the name of who signed it. *@count 0:
 * there is none. Valid as long as @tls. */
const struct cpt_bytes *cpti_tls_names(struct cpti_tls *tls, size_t *count);

#endif
