/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_serving.c - ports with TLS */
#include "tls_suites.h"
#include "tls_support.h"

#include "tests/support/test_random.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define GET "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n"

static struct cpt_http_tls own_tls(void)
{
    return (struct cpt_http_tls){.struct_bytes = sizeof(struct cpt_http_tls),
                                 .certificate_file = certificates()->server.file,
                                 .key_file = certificates()->server.key_file};
}

/* --- Requests --- */

static void test_serves(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_serving serving;

    tls_serving_start(&serving, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct tls_client client = {.max_version = versions[i]};
        const unsigned char *protocol = NULL;
        unsigned protocol_bytes = 0;
        char reply[1024];

        CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
        CU_ASSERT_EQUAL(SSL_version(client.ssl), versions[i]);
        SSL_get0_alpn_selected(client.ssl, &protocol, &protocol_bytes);
        CU_ASSERT_EQUAL(protocol_bytes, 8);
        CU_ASSERT_EQUAL(memcmp(protocol, "http/1.1", 8), 0);
        for (unsigned n = 0; n < 3; n++) {
            CU_ASSERT_TRUE(tls_client_write(&client, GET, sizeof(GET) - 1));
            CU_ASSERT_TRUE(tls_client_read(&client, reply, sizeof(reply), "hello "));
            CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
        }
        tls_client_close(&client);
    }
    /* The end of a connection is said, and other ports are as they were. */
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_tls_handshakes"), 3);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_tls_resumed"), 0);
    tls_serving_stop(&serving);
}

/* Requests in one write, and in records of one byte. */
static void test_records(void)
{
    enum { PIPELINED = 200 };
    static char replies[PIPELINED * 512];
    struct tls_serving serving;
    struct tls_client client = {0};
    char *requests = malloc(PIPELINED * sizeof(GET));
    size_t bytes = 0;
    unsigned found = 0;

    tls_serving_start(&serving, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
    for (size_t i = 0; i < sizeof(GET) - 1; i++) {
        CU_ASSERT_TRUE(tls_client_write(&client, &GET[i], 1));
    }
    CU_ASSERT_TRUE(tls_client_read(&client, replies, sizeof(replies), "hello "));
    for (unsigned i = 0; i < PIPELINED; i++) {
        memcpy(requests + bytes, GET, sizeof(GET) - 1);
        bytes += sizeof(GET) - 1;
    }
    memcpy(requests + bytes - 2, "Connection: close\r\n\r\n", 21);
    bytes += 19;
    CU_ASSERT_TRUE(tls_client_write(&client, requests, bytes));
    CU_ASSERT_TRUE(tls_client_read(&client, replies, sizeof(replies), NULL));
    for (const char *at = replies; (at = strstr(at, "HTTP/1.1 200 ")) != NULL; at++) {
        found++;
    }
    CU_ASSERT_EQUAL(found, PIPELINED);
    tls_client_close(&client);
    free(requests);
    tls_serving_stop(&serving);
}

static void test_large(void)
{
    enum { BODY = 3 << 20 };
    char *body = malloc(BODY + 1);
    char *reply = malloc(BODY + 4096);
    struct tls_serving serving;
    struct tls_client client = {0};
    char head[256];
    const int head_bytes = snprintf(
        head, sizeof(head),
        "POST /hello HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: "
        "%d\r\nConnection: close\r\n\r\n",
        (int)BODY);
    const char *found = NULL;

    for (size_t i = 0; i < BODY; i++) {
        body[i] = (char)('a' + i % 23);
    }
    body[BODY] = '\0';
    tls_serving_start(&serving, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
    CU_ASSERT_TRUE(tls_client_write(&client, head, (size_t)head_bytes));
    CU_ASSERT_TRUE(tls_client_read(&client, reply, 4096, "\r\n\r\n"));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 100 ", 13), 0);
    CU_ASSERT_TRUE(tls_client_write(&client, body, BODY));
    test_sleep_ns(20 * MS); /* the reply is more than the sockets hold */
    CU_ASSERT_TRUE(tls_client_read(&client, reply, BODY + 4096, NULL));
    found = strstr(reply, "\r\n\r\nhello ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_EQUAL(strcmp(found + 10, body), 0);
    tls_client_close(&client);
    tls_serving_stop(&serving);
    free(body);
    free(reply);
}

static void test_resumes(void)
{
    struct tls_serving serving;
    struct tls_client client = {0};
    char reply[1024];

    tls_serving_start(&serving, NULL, NULL);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
        CU_ASSERT_EQUAL(SSL_session_reused(client.ssl), i > 0);
        CU_ASSERT_TRUE(tls_client_write(&client, GET, sizeof(GET) - 1));
        CU_ASSERT_TRUE(tls_client_read(&client, reply, sizeof(reply), "hello "));
        client.session = SSL_get1_session(client.ssl);
        (void)SSL_shutdown(client.ssl);
        tls_client_close(&client);
    }
    SSL_SESSION_free(client.session);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_tls_resumed"), 2);
    tls_serving_stop(&serving);
}

/* --- What is refused --- */

static void test_plain(void)
{
    struct tls_serving serving;
    char reply[1024];

    tls_serving_start(&serving, NULL, NULL);
    raw_exchange(serving.port, GET, reply, sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 400 ", 13), 0);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_plain", 1));
    raw_exchange(serving.port, "\x01\x02\x03 what is this? \xff\xff", reply,
                 sizeof(reply));
    CU_ASSERT_NOT_EQUAL(strncmp(reply, "HTTP", 4), 0);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_protocol", 1));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_tls_failed_plain"), 1);
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    tls_serving_stop(&serving);
}

static void test_old_version(void)
{
    struct tls_client client = {.max_version = TLS1_1_VERSION};
    struct tls_serving serving;

    tls_serving_start(&serving, NULL, NULL);
    CU_ASSERT_FALSE(tls_client_open(&client, serving.port));
    tls_client_close(&client);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_protocol", 1));
    tls_serving_stop(&serving);
}

static void test_renegotiation(void)
{
    struct tls_client client = {.max_version = TLS1_2_VERSION};
    struct tls_serving serving;
    char reply[1024];

    tls_serving_start(&serving, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
    if (SSL_renegotiate(client.ssl) == 1) {
        (void)SSL_do_handshake(client.ssl);
    }
    CU_ASSERT_FALSE(tls_client_write(&client, GET, sizeof(GET) - 1) &&
                    tls_client_read(&client, reply, sizeof(reply), "hello ") &&
                    strncmp(reply, "HTTP", 4) == 0 &&
                    SSL_num_renegotiations(client.ssl) > 1);
    tls_client_close(&client);
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    tls_serving_stop(&serving);
}

/* A client that begins and goes away; one that begins and waits. */
static void test_half(void)
{
    static const char begun[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_ns = 20 * MS};
    struct tls_serving serving;
    char reply[64];
    int descriptor = -1;

    tls_serving_start(&serving, NULL, NULL);
    descriptor = raw_connect(serving.port);
    CU_ASSERT_EQUAL(send(descriptor, begun, sizeof(begun) - 1, 0), sizeof(begun) - 1);
    (void)close(descriptor);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_closed", 1));
    tls_serving_stop(&serving);

    tls_serving_start(&serving, &options, NULL);
    descriptor = raw_connect(serving.port); /* and sends nothing at all */
    CU_ASSERT_EQUAL(raw_read(descriptor, reply, sizeof(reply), NULL), 0);
    (void)close(descriptor);
    descriptor = raw_connect(serving.port);
    CU_ASSERT_EQUAL(send(descriptor, begun, sizeof(begun) - 1, 0), sizeof(begun) - 1);
    CU_ASSERT_EQUAL(raw_read(descriptor, reply, sizeof(reply), NULL), 0);
    (void)close(descriptor);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_slow", 2));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_input_bytes"), 0);
    tls_serving_stop(&serving);
}

/* A client that ends without saying so has sent no request. */
static void test_truncated(void)
{
    static const char half[] = "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 9";
    struct tls_serving serving;
    struct tls_client client = {0};

    tls_serving_start(&serving, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
    CU_ASSERT_TRUE(tls_client_write(&client, half, sizeof(half) - 1));
    tls_client_close(&client);
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_requests_served"), 1);
    tls_serving_stop(&serving);
}

/* On a busy machine one may be slower than those that are silent: it tries again. */
static bool is_answered_soon(uint16_t port)
{
    bool is_good = false;

    for (unsigned i = 0; i < 5 && !is_good; i++) {
        is_good = tls_is_answered(port, NULL);
    }
    return is_good;
}

static void test_budgets(void)
{
    enum { CLIENTS = 8 };
    const struct cpt_http_options bytes = {.struct_bytes = sizeof(bytes),
                                           .input_bytes_max = 4 * (32 << 10)};
    const struct cpt_http_options clients = {.struct_bytes = sizeof(clients),
                                             .accepted_per_address_max = 2};
    struct tls_serving serving;
    int descriptors[CLIENTS];

    tls_serving_start(&serving, &bytes, NULL);
    for (size_t i = 0; i < CLIENTS; i++) {
        descriptors[i] = raw_connect(serving.port);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_full", CLIENTS - 4));
    CU_ASSERT_TRUE(is_answered_soon(serving.port)); /* the slowest make room */
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)close(descriptors[i]);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_closed", 2));
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    tls_serving_stop(&serving);

    tls_serving_start(&serving, &clients, NULL);
    for (size_t i = 0; i < 3; i++) {
        descriptors[i] = raw_connect(serving.port);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_clients", 1));
    for (size_t i = 0; i < 3; i++) {
        (void)close(descriptors[i]);
    }
    tls_serving_stop(&serving);
}

/* Clients that send a part of a body and fall silent make room, and are told. */
static void test_room(void)
{
    enum { CLIENTS = 8, PART = 200 << 10 };
    static const char head[] =
        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 4194304\r\n\r\n";
    const struct cpt_http_options bytes = {.struct_bytes = sizeof(bytes),
                                           .input_bytes_max = 1 << 20};
    struct tls_serving serving;
    struct tls_client clients[CLIENTS];
    char *part = calloc(1, PART);
    char reply[1024];
    unsigned told_count = 0;

    memset(clients, 0, sizeof(clients));
    tls_serving_start(&serving, &bytes, NULL);
    for (size_t i = 0; i < CLIENTS; i++) {
        CU_ASSERT_TRUE(tls_client_open(&clients[i], serving.port));
        (void)tls_client_write(&clients[i], head, sizeof(head) - 1);
        (void)tls_client_write(&clients[i], part, PART);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_full", CLIENTS - 5));
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_TRUE(is_answered_soon(serving.port));
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)shutdown(clients[i].descriptor, SHUT_WR);
        (void)tls_client_read(&clients[i], reply, sizeof(reply), NULL);
        told_count += strncmp(reply, "HTTP/1.1 503 ", 13) == 0;
        tls_client_close(&clients[i]);
    }
    CU_ASSERT_TRUE(told_count >= CLIENTS - 5);
    tls_serving_stop(&serving);
    free(part);
}

/* After the handshake, a record that never ends takes time and memory, too. */
static void test_half_record(void)
{
    enum { CLIENTS = 6 };
    static const char begun[] = "\x17\x03\x03\x20\x00 and nothing more";
    const struct cpt_http_options slow = {.struct_bytes = sizeof(slow),
                                          .header_ns = 30 * MS};
    const struct cpt_http_options full = {.struct_bytes = sizeof(full),
                                          .input_bytes_max = 3 * (17 << 10)};
    const struct cpt_http_options *const all[] = {&slow, &full};
    static const char *const counters[] = {"http_cut_slow", "http_cut_full"};
    struct tls_serving serving;

    for (size_t i = 0; i < 2; i++) {
        struct tls_client clients[CLIENTS];

        memset(clients, 0, sizeof(clients));
        tls_serving_start(&serving, all[i], NULL);
        for (size_t n = 0; n < CLIENTS; n++) {
            (void)tls_client_open(&clients[n], serving.port); /* it may be cut before */
            (void)send(clients[n].descriptor, begun, sizeof(begun) - 1, MSG_NOSIGNAL);
        }
        CU_ASSERT_TRUE(test_comes_to(&serving.loop, counters[i], CLIENTS - 3));
        for (size_t n = 0; n < CLIENTS; n++) {
            tls_client_close(&clients[n]);
        }
        tls_serving_stop(&serving);
    }
}

/* --- Certificates of clients --- */

static void test_client_certificates(void)
{
    struct cpt_http_tls tls = own_tls();
    struct tls_serving serving;

    tls.ca_file = certificates()->authority.file;
    tls.requires_certificate = 1;
    tls_serving_start(&serving, NULL, &tls);
    CU_ASSERT_TRUE(tls_is_answered(serving.port, &certificates()->client));
    CU_ASSERT_FALSE(tls_is_answered(serving.port, NULL));
    CU_ASSERT_FALSE(tls_is_answered(serving.port, &certificates()->stranger));
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_failed_certificate", 2));
    tls_serving_stop(&serving);

    tls.requires_certificate = 0;
    tls_serving_start(&serving, NULL, &tls);
    CU_ASSERT_TRUE(tls_is_answered(serving.port, &certificates()->client));
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    CU_ASSERT_FALSE(tls_is_answered(serving.port, &certificates()->stranger));
    tls_serving_stop(&serving);
}

/* --- Files --- */

static bool listens(const struct cpt_http_tls *tls, const char *expected)
{
    struct test_loop loop;
    struct test_service service;
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, NULL);
    status =
        cpt_http_listen_tls(loop.http, service.service, tls, NULL, 0, NULL, &error);
    if (status != CPT_OK && strstr(error.sentence, expected) == NULL) {
        (void)fprintf(stderr, "%s\n", error.sentence);
    }
    cpt_http_free(loop.http);
    test_service_free(&service);
    return status != CPT_OK && strstr(error.sentence, expected) != NULL;
}

static void test_files(void)
{
    struct cpt_http_tls tls = {.struct_bytes = sizeof(tls)};
    char pipe_file[TEST_FILE_BYTES + 16];

    CU_ASSERT_TRUE(listens(&tls, "needs a certificate"));
    tls = own_tls();
    tls.certificate_file = "/nowhere/at/all.pem";
    CU_ASSERT_TRUE(listens(&tls, "/nowhere/at/all.pem: No such file"));
    tls.certificate_file = "/";
    CU_ASSERT_TRUE(listens(&tls, "/: it is no regular file"));
    (void)snprintf(pipe_file, sizeof(pipe_file), "%s/pipe", test_folder());
    CU_ASSERT_EQUAL(mkfifo(pipe_file, 0600), 0);
    tls.certificate_file = pipe_file; /* it is not waited for one who writes there */
    CU_ASSERT_TRUE(listens(&tls, "/pipe: it is no regular file"));
    (void)unlink(pipe_file);
    tls.certificate_file = certificates()->server.key_file;
    CU_ASSERT_TRUE(listens(&tls, "server.key: it has no certificate"));
    tls = own_tls();
    tls.key_file = certificates()->client.key_file;
    CU_ASSERT_TRUE(listens(&tls, "client.key: it has no key, without a password, of "
                                 "the certificate: key values mismatch"));
    tls.key_file = NULL; /* it would stand beside the certificate */
    CU_ASSERT_TRUE(listens(&tls, "server.pem: "));
    tls = own_tls();
    tls.ca_file = certificates()->server.key_file;
    CU_ASSERT_TRUE(listens(&tls, "server.key: it has no certificate"));
    tls.ca_file = NULL;
    tls.requires_certificate = 1;
    CU_ASSERT_TRUE(listens(&tls, "no file says who may sign them"));
    tls = own_tls();
    (void)chmod(tls.key_file, 0644);
    CU_ASSERT_TRUE(listens(&tls, "server.key: users that it does not belong to"));
    (void)chmod(tls.key_file, 0600);
}

enum { BUNDLE_BYTES = 8192 };

/* Adds the text of @file to @text. */
static size_t add_file(char text[BUNDLE_BYTES], size_t bytes, const char *file)
{
    FILE *from = fopen(file, "re");

    CU_ASSERT_PTR_NOT_NULL_FATAL(from);
    bytes += fread(text + bytes, 1, BUNDLE_BYTES - bytes, from);
    (void)fclose(from);
    return bytes;
}

static void write_text(const char *file, const char *text, size_t bytes)
{
    FILE *to = fopen(file, "we");

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, to), bytes);
    (void)fclose(to);
}

/* A file of two certificates that was cut within the second one, at any byte: it would
 * be good with the first one alone. */
static void test_cut_files(void)
{
    char file[TEST_FILE_BYTES + 16];
    char text[BUNDLE_BYTES];
    struct cpt_http_tls chain = own_tls();
    struct cpt_http_tls clients = own_tls();
    size_t first = 0;
    size_t bytes = 0;

    (void)snprintf(file, sizeof file, "%s/cut.pem", test_folder());
    chain.certificate_file = file;
    clients.ca_file = file;
    first = add_file(text, 0, certificates()->server.file);
    bytes = add_file(text, first, certificates()->authority.file);
    CU_ASSERT_TRUE_FATAL(bytes > first + 100 && text[bytes - 1] == '\n');
    for (size_t cut = first + 1; cut < bytes - 1;
         cut += cut < first + 40 || cut > bytes - 40 ? 1 : 37) {
        write_text(file, text, cut);
        CU_ASSERT_TRUE(listens(&chain, "cut.pem: "));
        CU_ASSERT_TRUE(listens(&clients, "cut.pem: "));
    }
    write_text(file, text, bytes);
    memset(text + first, '\0', bytes - first); /* blocks that were never written */
    CU_ASSERT_FALSE(listens(&chain, ""));
    write_text(file, text, bytes);
    CU_ASSERT_TRUE(listens(&chain, "cut.pem: it was cut short"));
    CU_ASSERT_TRUE(listens(&clients, "cut.pem: it was cut short"));
    write_text(file, text, first - 1); /* only the last line end is missing */
    CU_ASSERT_FALSE(listens(&chain, ""));
    (void)unlink(file);
}

/* --- Reading again --- */

/* The serial number of the certificate that is shown. */
static bool shows(uint16_t port, const struct certificate *expected)
{
    struct tls_client client = {0};
    X509 *shown = NULL;
    bool is_same = false;

    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, port));
    shown = SSL_get1_peer_certificate(client.ssl);
    is_same = X509_cmp(shown, expected->x509) == 0;
    X509_free(shown);
    tls_client_close(&client);
    return is_same;
}

static void renewed_make(struct certificate *made)
{
    certificate_make(made,
                     &(struct certificate_about){.name = "renewed",
                                                 .alternatives = "DNS:localhost",
                                                 .from = &certificates()->authority});
}

static void test_reload(void)
{
    struct cpt_http_tls tls = {.struct_bytes = sizeof(tls)};
    struct tls_client before = {0};
    struct certificate first;
    struct certificate second;
    struct tls_serving serving;
    char reply[1024];

    renewed_make(&first);
    tls.certificate_file = first.file;
    tls.key_file = first.key_file;
    tls_serving_start(&serving, NULL, &tls);
    CU_ASSERT_NOT_EQUAL(test_counter(&serving.loop, "http_tls_expires_unix_seconds"),
                        0);
    CU_ASSERT_TRUE_FATAL(tls_client_open(&before, serving.port));
    CU_ASSERT_TRUE(shows(serving.port, &first));
    renewed_make(&second);
    CU_ASSERT_TRUE(shows(serving.port, &first));
    cpt_http_reload_tls(serving.loop.http);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_reloads", 1));
    CU_ASSERT_TRUE(shows(serving.port, &second));
    /* A bad file changes nothing. */
    (void)truncate(second.key_file, 0);
    cpt_http_reload_tls(serving.loop.http);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_reloads_refused", 1));
    CU_ASSERT_TRUE(shows(serving.port, &second));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_tls_reloads"), 1);
    CU_ASSERT_TRUE(tls_client_write(&before, GET, sizeof(GET) - 1));
    CU_ASSERT_TRUE(tls_client_read(&before, reply, sizeof(reply), "hello "));
    tls_client_close(&before);
    tls_serving_stop(&serving);
    certificate_free(&first);
    certificate_free(&second);
}

/* While a file is being written, what is there is not read; not even if it is good. */
static void test_reload_waits(void)
{
    struct cpt_http_tls tls = {.struct_bytes = sizeof(tls)};
    struct certificate first;
    struct certificate second;
    struct tls_serving serving;
    char text[BUNDLE_BYTES];
    size_t bytes = 0;
    uint64_t begin_ns = 0;

    renewed_make(&first);
    tls.certificate_file = first.file;
    tls.key_file = first.key_file;
    tls_serving_start(&serving, NULL, &tls);
    renewed_make(&second);
    bytes = add_file(text, 0, second.file);
    begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());
    write_text(second.file, text, bytes);
    cpt_http_reload_tls(serving.loop.http);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_reloads", 1));
    /* a tick of the file system's clock less than a second */
    CU_ASSERT_TRUE(cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns > 900000000);
    CU_ASSERT_TRUE(shows(serving.port, &second));
    write_text(second.file, text, bytes);
    cpt_http_reload_tls(serving.loop.http);
    tls_serving_stop(&serving); /* it does not wait for that */
    certificate_free(&first);
    certificate_free(&second);
}

/* Asked for by several threads, while requests come and the loop ends. */
static void *ask_often(void *context)
{
    for (unsigned i = 0; i < 50; i++) {
        cpt_http_reload_tls(context);
    }
    return NULL;
}

static void test_reloads_at_once(void)
{
    struct tls_serving serving;
    pthread_t threads[2];

    tls_serving_start(&serving, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, ask_often, serving.loop.http);
    }
    for (unsigned i = 0; i < 10; i++) {
        CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    }
    for (size_t i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_tls_reloads", 1));
    cpt_http_reload_tls(serving.loop.http);
    tls_serving_stop(&serving);
}

/* --- Random bytes --- */

static void attack(uint16_t port, const unsigned char *data, size_t bytes)
{
    char reply[4096];
    const int descriptor = raw_connect(port);

    (void)send(descriptor, data, bytes, MSG_NOSIGNAL);
    (void)shutdown(descriptor, SHUT_WR);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    (void)close(descriptor);
}

/* The first bytes that a client sends. */
static size_t hello_of_client(unsigned char *data, size_t capacity)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    BIO *out = BIO_new(BIO_s_mem());
    int bytes = 0;

    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl);
    bytes = BIO_read(out, data, (int)capacity);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return bytes > 0 ? (size_t)bytes : 0;
}

static void test_random(void)
{
    enum { ROUNDS = 150 };
    struct tls_serving serving;
    unsigned char hello[4096];
    unsigned char data[4096];
    const size_t hello_bytes = hello_of_client(hello, sizeof(hello));
    struct test_random state = {test_random_seed("bytes to a port with TLS")};

    CU_ASSERT_NOT_EQUAL_FATAL(hello_bytes, 0);
    tls_serving_start(&serving, NULL, NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t bytes = 1 + test_random_below(&state, sizeof(data));

        for (size_t i = 0; i < bytes; i++) {
            data[i] = (unsigned char)test_random_below(&state, 256);
        }
        if (round % 2 == 1) { /* most of it is good */
            bytes = hello_bytes;
            memcpy(data, hello, bytes);
            for (unsigned i = 0; i <= round % 5; i++) {
                data[test_random_below(&state, bytes)] ^=
                    (unsigned char)(1 + test_random_below(&state, 255));
            }
        } else if (round % 4 == 2) { /* a handshake record of random bytes */
            memcpy(data, hello, bytes < 9 ? bytes : 9);
        }
        attack(serving.port, data, bytes);
    }
    CU_ASSERT_TRUE(tls_is_answered(serving.port, NULL));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_requests_served"), 1);
    for (unsigned i = 0;
         i < PATIENCE && test_counter(&serving.loop, "http_input_bytes") != 0; i++) {
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_input_bytes"), 0);
    tls_serving_stop(&serving);
}

CU_TestInfo tls_serving_tests[] = {
    {"a port with TLS serves, in TLS 1.2 and 1.3", test_serves},
    {"records of one byte, and many requests in one", test_records},
    {"bodies larger than the sockets hold", test_large},
    {"sessions are resumed", test_resumes},
    {"clients without TLS are told, and counted", test_plain},
    {"old versions are refused", test_old_version},
    {"nothing is negotiated again", test_renegotiation},
    {"half a handshake ends by its deadline", test_half},
    {"half a record has a deadline, and counts", test_half_record},
    {"a connection that is cut has sent no request", test_truncated},
    {"handshakes count for the budgets", test_budgets},
    {"clients that fall silent make room", test_room},
    {"certificates of clients are verified", test_client_certificates},
    {"errors name file and reason", test_files},
    {"certificates that were cut short are refused", test_cut_files},
    {"certificates are read again, but not bad ones", test_reload},
    {"certificates are read when they are still", test_reload_waits},
    {"certificates are read again by several at once", test_reloads_at_once},
    {"random bytes do no harm", test_random},
    CU_TEST_INFO_NULL,
};
