/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_support.c - certificates, clients and services of the tests of TLS */
#include "tls_support.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static struct certificates made_once;
static const char *file_names[64]; /* to remove */
static size_t file_count;

static void must(bool is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "tls_support: %s\n", what);
        abort();
    }
}

const char *test_folder(void)
{
    return folder;
}

/* --- Certificates --- */

static void extend(X509 *x509, X509 *issuer, int id, const char *text)
{
    X509V3_CTX context;
    X509_EXTENSION *extension = NULL;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, id, text);
    must(extension != NULL && X509_add_ext(x509, extension, -1) == 1, text);
    X509_EXTENSION_free(extension);
}

static X509 *x509_make(const struct certificate_about *about, EVP_PKEY *key)
{
    X509 *x509 = X509_new();
    X509 *issuer = about->from != NULL ? about->from->x509 : x509;
    X509_NAME *name = NULL;
    int64_t serial = 0;

    must(x509 != NULL && X509_set_version(x509, X509_VERSION_3) == 1, "X509_new");
    must(RAND_bytes((unsigned char *)&serial, sizeof serial) == 1, "RAND_bytes");
    (void)ASN1_INTEGER_set_int64(X509_get_serialNumber(x509), serial & INT64_MAX);
    (void)X509_gmtime_adj(X509_getm_notBefore(x509),
                          about->begin_s != 0 ? about->begin_s : -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(x509),
                          about->end_s != 0 ? about->end_s : 3600);
    name = X509_get_subject_name(x509);
    (void)X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                     (const unsigned char *)about->name, -1, -1, 0);
    (void)X509_set_issuer_name(x509, X509_get_subject_name(issuer));
    (void)X509_set_pubkey(x509, key);
    extend(x509, issuer, NID_basic_constraints,
           about->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (about->alternatives != NULL) {
        extend(x509, issuer, NID_subject_alt_name, about->alternatives);
    }
    must(X509_sign(x509, about->from != NULL ? about->from->key : key, EVP_sha256()) >
             0,
         "X509_sign");
    return x509;
}

static void path_make(char path[TEST_FILE_BYTES], const char *name, const char *end)
{
    (void)snprintf(path, TEST_FILE_BYTES, "%s/%s%s", folder, name, end);
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(file_names[i], path) == 0) {
            return;
        }
    }
    must(file_count < sizeof file_names / sizeof file_names[0], "too many files");
    file_names[file_count++] = strdup(path);
}

void certificate_make(struct certificate *made, const struct certificate_about *about)
{
    FILE *file = NULL;

    memset(made, 0, sizeof *made);
    path_make(made->file, about->name, ".pem");
    path_make(made->key_file, about->name, ".key");
    made->key = EVP_EC_gen("P-256");
    must(made->key != NULL, "EVP_EC_gen");
    made->x509 = x509_make(about, made->key);
    file = fopen(made->file, "w");
    must(file != NULL && PEM_write_X509(file, made->x509) == 1, made->file);
    (void)fclose(file);
    file = fopen(made->key_file, "w");
    must(file != NULL && fchmod(fileno(file), 0600) == 0 &&
             PEM_write_PrivateKey(file, made->key, NULL, NULL, 0, NULL, NULL) == 1,
         made->key_file);
    (void)fclose(file);
}

void certificate_free(struct certificate *made)
{
    X509_free(made->x509);
    EVP_PKEY_free(made->key);
}

const struct certificates *certificates(void)
{
    return &made_once;
}

int certificates_begin(void)
{
    struct certificates *all = &made_once;

    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to what the service has closed */
    (void)snprintf(folder, sizeof folder, "/tmp/cpt-tls-XXXXXX");
    must(mkdtemp(folder) != NULL, "mkdtemp");
    certificate_make(&all->authority, &(struct certificate_about){
                                          .name = "authority", .is_authority = true});
    certificate_make(&all->server, &(struct certificate_about){
                                       .name = "server",
                                       .alternatives = "DNS:localhost,IP:127.0.0.1",
                                       .from = &all->authority});
    certificate_make(&all->client,
                     &(struct certificate_about){
                         .name = "client",
                         .alternatives = "DNS:Tools.shop,URI:spiffe://shop/tools",
                         .from = &all->authority});
    certificate_make(
        &all->other_authority,
        &(struct certificate_about){.name = "other authority", .is_authority = true});
    certificate_make(&all->stranger, &(struct certificate_about){
                                         .name = "stranger",
                                         .alternatives = "DNS:localhost,IP:127.0.0.1",
                                         .from = &all->other_authority});
    return 0;
}

int certificates_end(void)
{
    certificate_free(&made_once.authority);
    certificate_free(&made_once.server);
    certificate_free(&made_once.client);
    certificate_free(&made_once.other_authority);
    certificate_free(&made_once.stranger);
    while (file_count > 0) {
        (void)unlink(file_names[--file_count]);
        free((void *)(uintptr_t)file_names[file_count]);
    }
    (void)rmdir(folder);
    return 0;
}

/* --- A client --- */

static SSL_CTX *client_context(const struct tls_client *client)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    must(context != NULL, "SSL_CTX_new");
    SSL_CTX_set_security_level(context, 0); /* it shows what the server refuses */
    (void)SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    if (client->max_version != 0) {
        (void)SSL_CTX_set_max_proto_version(context, client->max_version);
    }
    must(SSL_CTX_load_verify_file(context, made_once.authority.file) == 1, "authority");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (client->own != NULL) {
        must(SSL_CTX_use_certificate_file(context, client->own->file,
                                          SSL_FILETYPE_PEM) == 1 &&
                 SSL_CTX_use_PrivateKey_file(context, client->own->key_file,
                                             SSL_FILETYPE_PEM) == 1,
             client->own->file);
    }
    return context;
}

bool tls_client_open(struct tls_client *client, uint16_t port)
{
    static const unsigned char offered[] = "\x02h2\x08http/1.1";

    client->context = client_context(client);
    client->ssl = SSL_new(client->context);
    client->descriptor = raw_connect(port);
    (void)SSL_set_alpn_protos(client->ssl, offered, sizeof offered - 1);
    (void)SSL_set1_host(client->ssl, "localhost");
    (void)SSL_set_fd(client->ssl, client->descriptor);
    if (client->session != NULL) {
        (void)SSL_set_session(client->ssl, client->session);
        SSL_SESSION_free(client->session);
        client->session = NULL;
    }
    return SSL_connect(client->ssl) == 1;
}

void tls_client_close(struct tls_client *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->context);
    (void)close(client->descriptor);
    client->ssl = NULL;
    client->context = NULL;
}

bool tls_client_read(struct tls_client *client, char *text, size_t capacity,
                     const char *until)
{
    size_t bytes = 0;
    size_t got = 0;

    text[0] = '\0';
    while (bytes + 1 < capacity &&
           SSL_read_ex(client->ssl, text + bytes, capacity - 1 - bytes, &got) == 1) {
        bytes += got;
        text[bytes] = '\0';
        if (until != NULL && bytes >= strlen(until) &&
            strcmp(text + bytes - strlen(until), until) == 0) {
            return true;
        }
    }
    return (SSL_get_shutdown(client->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool tls_client_write(struct tls_client *client, const void *data, size_t bytes)
{
    size_t sent = 0;

    return SSL_write_ex(client->ssl, data, bytes, &sent) == 1;
}

/* --- Services --- */

void tls_serving_start(struct tls_serving *serving,
                       const struct cpt_http_options *options,
                       const struct cpt_http_tls *tls)
{
    const struct cpt_http_tls own = {.struct_bytes = sizeof own,
                                     .certificate_file = made_once.server.file,
                                     .key_file = made_once.server.key_file};
    struct cpt_error error = {0};

    test_loop_make(&serving->loop, options);
    test_service_make(&serving->service, &serving->loop, CPT_ROLE_ENTRY, -1, NULL);
    must(cpt_http_listen_tls(serving->loop.http, serving->service.service,
                             tls != NULL ? tls : &own, NULL, 0, &serving->port,
                             &error) == CPT_OK,
         error.sentence);
    test_loop_start(&serving->loop);
}

void tls_serving_stop(struct tls_serving *serving)
{
    CU_ASSERT_EQUAL(test_loop_stop(&serving->loop), CPT_OK);
    test_service_free(&serving->service);
}

bool tls_is_answered(uint16_t port, const struct certificate *own)
{
    static const char request[] =
        "GET /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n";
    struct tls_client client = {.own = own};
    char reply[1024] = "";
    const bool is_whole = tls_client_open(&client, port) &&
                          tls_client_write(&client, request, sizeof request - 1) &&
                          tls_client_read(&client, reply, sizeof reply, NULL);

    tls_client_close(&client);
    return is_whole && strncmp(reply, "HTTP/1.1 200 ", 13) == 0;
}
