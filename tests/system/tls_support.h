/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tls_support.h - support for tests of TLS: certificates that are made when the test
 * runs, a client and a server of OpenSSL's own, and services with TLS
 */
#ifndef TLS_SUPPORT_H
#define TLS_SUPPORT_H

#include "http_support.h"

#include <openssl/ssl.h>

enum { TEST_FILE_BYTES = 128, PATIENCE = 20000 };

/* --- Certificates --- */

struct certificate {
    char file[TEST_FILE_BYTES];     /* of the certificate */
    char key_file[TEST_FILE_BYTES]; /* of its key */
    X509 *x509;
    EVP_PKEY *key;
};

struct certificate_about {
    const char *name;               /* common name, and of its files */
    const char *alternatives;       /* "DNS:localhost,IP:127.0.0.1"; NULL: none */
    const struct certificate *from; /* who signs it; NULL: it does itself */
    long begin_s;                   /* from now; default: an hour ago */
    long end_s;                     /* default: in an hour */
    bool is_authority;
};

/* Writes it to the folder of the test; what was there under that name is replaced. */
void certificate_make(struct certificate *made, const struct certificate_about *about);
void certificate_free(struct certificate *made);

/* Those that most tests need, made once. */
struct certificates {
    struct certificate authority;
    struct certificate server; /* of localhost and 127.0.0.1 */
    struct certificate client; /* of dns:tools.shop, uri:spiffe://shop/tools */
    struct certificate other_authority;
    struct certificate stranger; /* of the other authority */
};

const struct certificates *certificates(void);

/* Makes the folder; removes it. */
int certificates_begin(void);
int certificates_end(void);
const char *test_folder(void);

/* --- A client of OpenSSL --- */

struct tls_client {
    SSL_CTX *context;
    SSL *ssl;
    int descriptor;
    int max_version; /* 0: any */
    const struct certificate *own;
    SSL_SESSION *session; /* to resume; taken over by tls_client_open() */
};

/* Whether the handshake has succeeded. All but the versions and what to show is set. */
bool tls_client_open(struct tls_client *client, uint16_t port);
void tls_client_close(struct tls_client *client);

/* Reads until the other side says that it is the end, or until @text ends in @until.
 * false: it ended without saying so. */
bool tls_client_read(struct tls_client *client, char *text, size_t capacity,
                     const char *until);
bool tls_client_write(struct tls_client *client, const void *data, size_t bytes);

/* --- Services with TLS --- */

struct tls_serving {
    struct test_loop loop;
    struct test_service service;
    uint16_t port; /* with TLS; that of the service is without */
};

/* @tls NULL: the server's certificate. */
void tls_serving_start(struct tls_serving *serving,
                       const struct cpt_http_options *options,
                       const struct cpt_http_tls *tls);
void tls_serving_stop(struct tls_serving *serving);

/* Whether GET /hello is answered, by a client that shows @own (or NULL). */
bool tls_is_answered(uint16_t port, const struct certificate *own);

#endif
