/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_calls.c - calls to https, of our services and of OpenSSL's own server */
#include "tls_suites.h"
#include "tls_support.h"

#include "tests/support/failing_alloc.h"

#include "framework/transport/http/loop/http_loop.h"

#include <event2/dns.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELD_NS (200 * MS)
#define REPLY   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* --- A server of OpenSSL --- */

/* What it shows, and how it behaves; set before it is started. */
static struct {
    const struct certificate *own;
    const char *reply;
    size_t reply_bytes; /* 0: as a string */
    int max_version;
    bool requires_certificate;
    bool ends_silently;     /* without close_notify */
    bool is_slow;           /* it never shakes hands */
    struct test_loop *held; /* whose loop is held up when the reply comes; or NULL */
} server;

static SSL_CTX *server_context;

static void server_begin(const struct certificate *own, const char *reply)
{
    memset(&server, 0, sizeof(server));
    server.own = own;
    server.reply = reply;
}

static size_t reply_bytes(void)
{
    return server.reply_bytes != 0 ? server.reply_bytes : strlen(server.reply);
}

static bool reply_write(SSL *ssl)
{
    static struct test_hold hold; /* until its loop ends */
    const int on = 1;
    size_t written = 0;
    bool is_written = false;

    if (server.held == NULL) {
        return SSL_write_ex(ssl, server.reply, reply_bytes(), &written) == 1;
    }
    test_hold_begin(&hold, server.held, HELD_NS);
    test_hold_wait(&hold);
    /* else it waits for the acknowledgement of the session tickets */
    (void)setsockopt(SSL_get_fd(ssl), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    is_written = SSL_write_ex(ssl, server.reply, reply_bytes(), &written) == 1;
    test_hold_release(&hold);
    return is_written;
}

/* Answers each request. The session tickets need one context for all connections. */
static void serve_tls(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    SSL *ssl = SSL_new(server_context);
    char request[8192];
    size_t got = 0;
    size_t bytes = 0;

    (void)nth;
    (void)SSL_set_fd(ssl, descriptor);
    while (server.is_slow && recv(descriptor, request, sizeof(request), 0) > 0) {
    }
    if (!server.is_slow && SSL_accept(ssl) == 1) {
        while (SSL_read_ex(ssl, request + bytes, sizeof(request) - 1 - bytes, &got) ==
               1) {
            bytes += got;
            request[bytes] = '\0';
            if (strstr(request, "\r\n\r\n") == NULL) {
                continue;
            }
            bytes = 0;
            atomic_fetch_add(&stand_in->request_count, 1);
            if (!reply_write(ssl) || strstr(server.reply, "Content-Length") == NULL ||
                strstr(server.reply, "Connection: close") != NULL) {
                break;
            }
        }
        if (!server.ends_silently) {
            (void)SSL_shutdown(ssl);
        }
    }
    SSL_free(ssl);
}

static void server_start(struct stand_in *stand_in, const char *host)
{
    server_context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_file(server_context, server.own->file,
                                     SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(server_context, server.own->key_file,
                                    SSL_FILETYPE_PEM) != 1) {
        abort();
    }
    if (server.max_version != 0) {
        (void)SSL_CTX_set_max_proto_version(server_context, server.max_version);
    }
    if (server.requires_certificate) {
        (void)SSL_CTX_load_verify_file(server_context, certificates()->authority.file);
        SSL_CTX_set_verify(server_context,
                           SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    (void)SSL_CTX_set_session_id_context(server_context, (const unsigned char *)"t", 1);
    stand_in_start(stand_in, serve_tls, NULL);
    (void)snprintf(stand_in->target, sizeof(stand_in->target), "https://%s:%u", host,
                   (unsigned)stand_in->port);
}

static void server_stop(struct stand_in *stand_in)
{
    stand_in_stop(stand_in);
    SSL_CTX_free(server_context);
}

/* --- A loop that calls --- */

static const struct cpt_http_options *calls_options(const struct certificate *own)
{
    static struct cpt_http_tls tls;
    static struct cpt_http_options options;

    tls = (struct cpt_http_tls){.struct_bytes = sizeof(tls),
                                .ca_file = certificates()->authority.file};
    if (own != NULL) {
        tls.certificate_file = own->file;
        tls.key_file = own->key_file;
    }
    options =
        (struct cpt_http_options){.struct_bytes = sizeof(options), .calls_tls = &tls};
    return &options;
}

/* One call to the server that was begun; its status. */
static cpt_status status_with(const char *host, const struct cpt_http_options *options,
                              const char *counter)
{
    struct stand_in stand_in;
    struct test_loop loop;
    cpt_status status = CPT_OK;

    server_start(&stand_in, host);
    test_loop_make(&loop, options);
    test_loop_start(&loop);
    status = call_status(&loop, stand_in.target);
    CU_ASSERT_NOT_EQUAL(test_counter(&loop, counter), 0); /* more if it tried again */
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_resent"), 0);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    server_stop(&stand_in);
    return status;
}

/* --- Calls of our own services --- */

static void test_calls(void)
{
    struct call_request request = {.body = "you", .is_traced = true};
    struct call_result result;
    struct tls_serving serving;
    struct test_loop loop;
    char target[64];

    tls_serving_start(&serving, NULL, NULL);
    test_loop_make(&loop, calls_options(NULL));
    test_loop_start(&loop);
    (void)snprintf(target, sizeof(target), "https://localhost:%u",
                   (unsigned)serving.port);
    request.stub.target = target;
    for (unsigned i = 0; i < 5; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.http_statuses[0], 200);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "hello you");
        CU_ASSERT_TRUE(result.is_path_good);
        CU_ASSERT_NOT_EQUAL(result.kind_ns[CPT_KIND_NETWORK], 0);
    }
    CU_ASSERT_EQUAL(test_counter(&loop, "http_connections_opened"), 1);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_tls_handshakes"), 1);
    (void)snprintf(target, sizeof(target), "https://127.0.0.1:%u",
                   (unsigned)serving.port);
    CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    tls_serving_stop(&serving);
}

/* The kernel's queue is known below TLS, too. */
static void test_reply_waits(void)
{
    struct call_request request = {.is_traced = true};
    struct call_result result;
    struct stand_in stand_in;
    struct test_loop loop;

    server_begin(&certificates()->server, REPLY);
    server.held = &loop;
    server_start(&stand_in, "localhost");
    test_loop_make(&loop, calls_options(NULL));
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.http_statuses[0], 200);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_RECEIVE_QUEUE] >= test_ticks_least(HELD_NS));
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    server_stop(&stand_in);
}

static void test_many(void)
{
    enum { BODY = 200 << 10, CALLS = 16 };
    struct call_request request = {.count = CALLS};
    struct call_result result;
    struct tls_serving serving;
    struct test_loop loop;
    char target[64];
    char *body = malloc(BODY + 1);

    memset(body, 'b', BODY);
    body[BODY] = '\0';
    request.body = body;
    tls_serving_start(&serving, NULL, NULL);
    test_loop_make(&loop, calls_options(NULL));
    test_loop_start(&loop);
    (void)snprintf(target, sizeof(target), "https://localhost:%u",
                   (unsigned)serving.port);
    request.stub.target = target;
    for (unsigned round = 0; round < 2; round++) {
        call_out(&loop, &request, NULL, &result);
        for (size_t i = 0; i < CALLS; i++) {
            CU_ASSERT_EQUAL(result.statuses[i], CPT_OK);
            CU_ASSERT_EQUAL(result.body_bytes[i], BODY + 6);
        }
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    tls_serving_stop(&serving);
    free(body);
}

/* --- Who is believed --- */

static void test_untrusted(void)
{
    const struct certificates *all = certificates();
    struct certificate expired;
    struct certificate early;
    struct certificate named;
    struct certificate alone;

    certificate_make(&expired,
                     &(struct certificate_about){.name = "expired",
                                                 .alternatives = "DNS:localhost",
                                                 .from = &all->authority,
                                                 .begin_s = -7200,
                                                 .end_s = -3600});
    certificate_make(&early,
                     &(struct certificate_about){.name = "early",
                                                 .alternatives = "DNS:localhost",
                                                 .from = &all->authority,
                                                 .begin_s = 1800});
    certificate_make(&named, &(struct certificate_about){
                                 .name = "named",
                                 .alternatives = "DNS:other.example,DNS:*.localhost",
                                 .from = &all->authority});
    certificate_make(&alone, &(struct certificate_about){
                                 .name = "alone", .alternatives = "DNS:localhost"});
    {
        const struct certificate *bad[] = {&expired, &early, &named, &alone,
                                           &all->stranger};

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            server_begin(bad[i], REPLY);
            CU_ASSERT_EQUAL(status_with("localhost", calls_options(NULL),
                                        "http_calls_tls_untrusted"),
                            CPT_UNAVAILABLE);
        }
    }
    /* The system does not know our authority. */
    server_begin(&all->server, REPLY);
    CU_ASSERT_EQUAL(status_with("localhost", NULL, "http_calls_tls_untrusted"),
                    CPT_UNAVAILABLE);
    server_begin(&all->server, REPLY);
    CU_ASSERT_EQUAL(
        status_with("localhost", calls_options(NULL), "http_calls_tls_handshakes"),
        CPT_OK);
    certificate_free(&expired);
    certificate_free(&early);
    certificate_free(&named);
    certificate_free(&alone);
}

/* The status of a call of "localhost.", which a file of hosts knows. */
static cpt_status status_with_dot(const struct certificate *own)
{
    struct stand_in stand_in;
    struct test_loop loop;
    char file[TEST_FILE_BYTES + 16];
    FILE *hosts = NULL;
    cpt_status status = CPT_OK;

    (void)snprintf(file, sizeof(file), "%s/hosts", test_folder());
    hosts = fopen(file, "we");
    (void)fputs("127.0.0.1 localhost.\n", hosts);
    (void)fclose(hosts);
    server_begin(own, REPLY);
    server_start(&stand_in, "localhost.");
    test_loop_make(&loop, calls_options(NULL));
    CU_ASSERT_EQUAL(evdns_base_load_hosts(loop.http->dns, file), 0);
    (void)unlink(file);
    test_loop_start(&loop);
    status = call_status(&loop, stand_in.target);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_tls_untrusted") > 0,
                    status != CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    server_stop(&stand_in);
    return status;
}

/* A dot at the end says that a name is whole; certificates do not have it. */
static void test_dot(void)
{
    CU_ASSERT_EQUAL(status_with_dot(&certificates()->server), CPT_OK);
    CU_ASSERT_EQUAL(status_with_dot(&certificates()->stranger), CPT_UNAVAILABLE);
}

static void test_own_certificate(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    for (size_t i = 0; i < 2; i++) {
        server_begin(&certificates()->server, REPLY);
        server.requires_certificate = true;
        server.max_version = versions[i];
        CU_ASSERT_EQUAL(
            status_with("localhost", calls_options(NULL), "http_calls_tls_failed"),
            CPT_UNAVAILABLE);
        CU_ASSERT_EQUAL(status_with("localhost",
                                    calls_options(&certificates()->stranger),
                                    "http_calls_tls_failed"),
                        CPT_UNAVAILABLE);
        CU_ASSERT_EQUAL(status_with("localhost", calls_options(&certificates()->client),
                                    "http_calls_tls_handshakes"),
                        CPT_OK);
    }
}

/* --- What goes wrong --- */

static void test_no_tls(void)
{
    struct stand_in stand_in;
    struct test_loop loop;
    char target[64];

    stand_in_start(&stand_in, serve_reply, REPLY);
    (void)snprintf(target, sizeof(target), "https://127.0.0.1:%u",
                   (unsigned)stand_in.port);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    (void)call_status(&loop, stand_in.target);
    {
        const struct call_request request = {
            .stub = {.target = target, .timeout_ns = 300 * MS}};
        struct call_result result;

        /* The server waits for the end of a request, and so do we for its answer. */
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_TRUE(result.statuses[0] == CPT_TIMEOUT ||
                       result.statuses[0] == CPT_UNAVAILABLE);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

/* The handshake takes from the time of the call. */
static void test_slow(void)
{
    struct call_request request = {.stub = {.timeout_ns = 50 * MS}};
    struct call_result result;
    struct stand_in stand_in;
    struct test_loop loop;

    server_begin(&certificates()->server, REPLY);
    server.is_slow = true;
    server_start(&stand_in, "127.0.0.1");
    test_loop_make(&loop, calls_options(NULL));
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_TIMEOUT);
    CU_ASSERT_TRUE(result.elapsed_ns >= 50 * MS);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    server_stop(&stand_in);
}

/* A reply that ends with its connection is whole only if TLS says that it is. */
static void test_truncated(void)
{
    static const char until_end[] = "HTTP/1.1 200 OK\r\n\r\nall of it";

    server_begin(&certificates()->server, until_end);
    CU_ASSERT_EQUAL(
        status_with("localhost", calls_options(NULL), "http_calls_tls_handshakes"),
        CPT_OK);
    server.ends_silently = true;
    CU_ASSERT_EQUAL(
        status_with("localhost", calls_options(NULL), "http_calls_tls_handshakes"),
        CPT_IO);
}

/* Bytes behind a reply never answer the next call. */
static void test_poisoned(void)
{
    static const char two[] = REPLY "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad";
    struct call_request request = {.is_traced = false};
    struct call_result result;
    struct stand_in stand_in;
    struct test_loop loop;

    server_begin(&certificates()->server, two);
    server_start(&stand_in, "localhost");
    test_loop_make(&loop, calls_options(NULL));
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    for (unsigned i = 0; i < 4; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "ok");
    }
    CU_ASSERT_EQUAL(test_counter(&loop, "http_replies_refused"), 4);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    server_stop(&stand_in);
}

static void test_resumes(void)
{
    static const char reply[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    for (size_t i = 0; i < 2; i++) {
        struct stand_in stand_in;
        struct test_loop loop;

        server_begin(&certificates()->server, reply);
        server.max_version = versions[i];
        server_start(&stand_in, "localhost");
        test_loop_make(&loop, calls_options(NULL));
        test_loop_start(&loop);
        for (unsigned n = 0; n < 3; n++) {
            CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
        }
        CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_tls_handshakes"), 3);
        CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_tls_resumed"), 2);
        CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
        server_stop(&stand_in);
    }
}

/* --- Files, and memory --- */

/* A session does not outlive the certificate of its service. */
static void test_expired(void)
{
    struct certificate_about about = {.name = "brief",
                                      .alternatives = "DNS:localhost",
                                      .from = &certificates()->authority};
    cpt_status status = CPT_UNAVAILABLE;

    /* Later if the machine is so busy that it has expired before the first call. */
    for (about.end_s = 2; status != CPT_OK && about.end_s < 1000; about.end_s *= 2) {
        struct certificate brief;
        struct stand_in stand_in;
        struct test_loop loop;

        certificate_make(&brief, &about);
        server_begin(&brief, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                             "Content-Length: 2\r\n\r\nok");
        server_start(&stand_in, "localhost");
        test_loop_make(&loop, calls_options(NULL));
        test_loop_start(&loop);
        status = call_status(&loop, stand_in.target);
        while (X509_cmp_current_time(X509_get0_notAfter(brief.x509)) > 0) {
            test_sleep_ns(50 * MS);
        }
        CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_UNAVAILABLE);
        CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_tls_resumed"), 0);
        CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
        server_stop(&stand_in);
        certificate_free(&brief);
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
}

static void test_files(void)
{
    struct cpt_http_tls tls = {.struct_bytes = sizeof(tls),
                               .ca_file = "/nowhere/ca.pem"};
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .calls_tls = &tls};
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_http_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "/nowhere/ca.pem: No such file"));
    memset(&error, 0, sizeof(error));
    tls.ca_file = NULL;
    tls.key_file = certificates()->client.key_file;
    CU_ASSERT_PTR_NULL(cpt_http_new(&options, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "a key without a certificate"));
}

static bool makes(const struct cpt_alloc *alloc)
{
    const struct cpt_http_tls tls = {.struct_bytes = sizeof(tls),
                                     .certificate_file = certificates()->client.file,
                                     .key_file = certificates()->client.key_file,
                                     .ca_file = certificates()->authority.file};
    const struct cpt_http_options options = {
        .struct_bytes = sizeof(options), .alloc = alloc, .calls_tls = &tls};
    struct cpt_http *http = cpt_http_new(&options, NULL);
    const bool is_made = http != NULL;

    cpt_http_free(http);
    return is_made;
}

static void test_no_memory(void)
{
    each_allocation_failure(makes);
}

CU_TestInfo tls_calls_tests[] = {
    {"calls of our services keep their connection, and the path", test_calls},
    {"a reply waits for its caller", test_reply_waits},
    {"many large calls at once", test_many},
    {"services that are not believed are not called", test_untrusted},
    {"a name may end in a dot", test_dot},
    {"a service may ask for our certificate", test_own_certificate},
    {"a service without TLS is not called", test_no_tls},
    {"a handshake takes from the time of its call", test_slow},
    {"a reply that is cut is no reply", test_truncated},
    {"bytes behind a reply answer no call", test_poisoned},
    {"calls resume sessions", test_resumes},
    {"a session ends with the certificate of its service", test_expired},
    {"errors name file and reason", test_files},
    {"memory that is refused", test_no_memory},
    CU_TEST_INFO_NULL,
};
