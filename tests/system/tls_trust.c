/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_trust.c - clients that may ask for a path because of their certificates */
#include "tls_suites.h"
#include "tls_support.h"

#include <strings.h>

/* A port that asks clients for a certificate, but serves those that have none. */
static void trusting_start(struct tls_serving *serving)
{
    const struct cpt_http_tls tls = {.struct_bytes = sizeof(tls),
                                     .certificate_file = certificates()->server.file,
                                     .key_file = certificates()->server.key_file,
                                     .ca_file = certificates()->authority.file};

    tls_serving_start(serving, NULL, &tls);
}

static void trust(const struct tls_serving *serving, const char *rule)
{
    const char *const rules[] = {rule, NULL};

    CU_ASSERT_EQUAL(cpt_service_set_trust(serving->service.service, rules, NULL),
                    CPT_OK);
}

/* Whether @client, which is connected, is given the path that it asks for. */
static bool asks(struct tls_client *client, const char *more)
{
    char request[512];
    char reply[4096];
    const int bytes = snprintf(
        request, sizeof(request),
        "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1;forced\r\n%s\r\n", more);

    CU_ASSERT_TRUE(tls_client_write(client, request, (size_t)bytes));
    CU_ASSERT_TRUE(tls_client_read(client, reply, sizeof(reply), "hello "));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    return strcasestr(reply, "\r\ncritical-path-bin: ") != NULL;
}

static bool is_trusted(const struct tls_serving *serving, const struct certificate *own)
{
    struct tls_client client = {.own = own};
    bool is_given = false;

    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving->port));
    is_given = asks(&client, "");
    tls_client_close(&client);
    return is_given;
}

static void test_trust(void)
{
    struct tls_serving serving;

    trusting_start(&serving);
    trust(&serving, "dns:tools.shop");
    CU_ASSERT_TRUE(is_trusted(&serving, &certificates()->client));
    CU_ASSERT_FALSE(is_trusted(&serving, &certificates()->server));
    CU_ASSERT_FALSE(is_trusted(&serving, NULL));
    CU_ASSERT_FALSE(tls_is_answered(serving.port, &certificates()->stranger));
    trust(&serving, "uri:spiffe://shop/tools");
    CU_ASSERT_TRUE(is_trusted(&serving, &certificates()->client));
    trust(&serving, "issuer:authority");
    CU_ASSERT_TRUE(is_trusted(&serving, &certificates()->client));
    CU_ASSERT_TRUE(is_trusted(&serving, &certificates()->server));
    CU_ASSERT_FALSE(is_trusted(&serving, NULL));
    trust(&serving, "issuer:other authority");
    CU_ASSERT_FALSE(is_trusted(&serving, &certificates()->client));
    trust(&serving, "127.0.0.0/8");
    CU_ASSERT_TRUE(is_trusted(&serving, NULL));
    tls_serving_stop(&serving);
}

/* The status of a request that takes 50 ms, whose client says that it waits for one. */
static int status_of_hasty(const struct tls_serving *serving,
                           const struct certificate *own)
{
    static const char request[] = "GET /slow HTTP/1.1\r\nHost: s\r\n"
                                  "cpt-timeout: 1000\r\nConnection: close\r\n\r\n";
    struct tls_client client = {.own = own};
    char reply[4096] = "";

    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving->port));
    CU_ASSERT_TRUE(tls_client_write(&client, request, sizeof(request) - 1));
    CU_ASSERT_TRUE(tls_client_read(&client, reply, sizeof(reply), NULL));
    tls_client_close(&client);
    return atoi(reply + strlen("HTTP/1.1 "));
}

static void test_deadlines(void)
{
    struct tls_serving serving;

    trusting_start(&serving);
    trust(&serving, "dns:tools.shop");
    CU_ASSERT_EQUAL(status_of_hasty(&serving, &certificates()->client), 504);
    CU_ASSERT_EQUAL(status_of_hasty(&serving, &certificates()->server), 200);
    CU_ASSERT_EQUAL(status_of_hasty(&serving, NULL), 200);
    tls_serving_stop(&serving);
}

/* What is trusted changes for open connections, too; a proxy has no say. */
static void test_changes(void)
{
    struct tls_client client = {.own = &certificates()->client};
    struct tls_serving serving;

    trusting_start(&serving);
    trust(&serving, "dns:tools.shop");
    CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
    CU_ASSERT_TRUE(asks(&client, ""));
    CU_ASSERT_FALSE(asks(&client, "X-Forwarded-For: 10.0.0.1\r\n"));
    trust(&serving, "dns:others.shop");
    CU_ASSERT_FALSE(asks(&client, ""));
    trust(&serving, "dns:tools.shop");
    CU_ASSERT_TRUE(asks(&client, ""));
    tls_client_close(&client);
    tls_serving_stop(&serving);
}

/* A session that is resumed is of the same client. */
static void test_resumed(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_serving serving;

    trusting_start(&serving);
    trust(&serving, "dns:tools.shop");
    for (size_t i = 0; i < 2; i++) {
        struct tls_client client = {.own = &certificates()->client,
                                    .max_version = versions[i]};

        for (unsigned n = 0; n < 2; n++) {
            CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
            CU_ASSERT_EQUAL(SSL_session_reused(client.ssl), n > 0);
            CU_ASSERT_TRUE(asks(&client, ""));
            client.session = SSL_get1_session(client.ssl);
            client.own = NULL;
            (void)SSL_shutdown(client.ssl);
            tls_client_close(&client);
        }
        SSL_SESSION_free(client.session);
    }
    tls_serving_stop(&serving);
}

/* Opens @client with a certificate that expires in a moment, and is given a path; later
 * if the machine is so busy that it has expired by then. */
static bool opens_with(struct certificate *brief, struct tls_client *client,
                       const struct tls_serving *serving)
{
    static const char request[] =
        "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1;forced\r\n\r\n";
    struct certificate_about about = {.name = "brief",
                                      .alternatives = "DNS:tools.shop",
                                      .from = &certificates()->authority};
    char reply[4096] = "";

    for (about.end_s = 2; about.end_s < 1000; about.end_s *= 2) {
        certificate_make(brief, &about);
        client->own = brief;
        if (tls_client_open(client, serving->port) &&
            tls_client_write(client, request, sizeof(request) - 1) &&
            tls_client_read(client, reply, sizeof(reply), "hello ") &&
            strcasestr(reply, "\r\ncritical-path-bin: ") != NULL) {
            return true;
        }
        tls_client_close(client);
        certificate_free(brief);
    }
    return false;
}

/* A session does not outlive the certificate of its client, however often it is
 * resumed: the handshake is a whole one then. */
static void test_expired(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_serving serving;

    trusting_start(&serving);
    trust(&serving, "dns:tools.shop");
    for (size_t i = 0; i < 2; i++) {
        struct tls_client client = {.max_version = versions[i]};
        struct certificate brief;

        CU_ASSERT_TRUE_FATAL(opens_with(&brief, &client, &serving));
        client.session = SSL_get1_session(client.ssl);
        client.own = NULL;
        (void)SSL_shutdown(client.ssl);
        tls_client_close(&client);
        while (X509_cmp_current_time(X509_get0_notAfter(brief.x509)) > 0) {
            test_sleep_ns(50 * MS);
        }
        CU_ASSERT_TRUE_FATAL(tls_client_open(&client, serving.port));
        CU_ASSERT_EQUAL(SSL_session_reused(client.ssl), 0);
        CU_ASSERT_FALSE(asks(&client, ""));
        tls_client_close(&client);
        certificate_free(&brief);
    }
    tls_serving_stop(&serving);
}

/* A certificate that was not verified has no names. */
static void test_unasked(void)
{
    struct tls_serving serving;

    tls_serving_start(&serving, NULL, NULL);
    trust(&serving, "dns:tools.shop");
    CU_ASSERT_FALSE(is_trusted(&serving, &certificates()->client));
    tls_serving_stop(&serving);
}

CU_TestInfo tls_trust_tests[] = {
    {"a certificate may be what is trusted", test_trust},
    {"a deadline is heeded of a certificate that is trusted", test_deadlines},
    {"trust changes while connections are open", test_changes},
    {"a resumed session has its certificate", test_resumed},
    {"a session ends with the certificate of its client", test_expired},
    {"a port that asks for no certificate sees none", test_unasked},
    CU_TEST_INFO_NULL,
};
