/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_room.c - who makes room when requests that are incomplete take all of it */
#include "http_suites.h"
#include "http_support.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 20000, ALL_MAX = 1 << 20, CLIENTS_MAX = 400 };

struct serving {
    struct test_loop loop;
    struct test_service service;
    int clients[CLIENTS_MAX];
    int client_count;
};

static void serving_start(struct serving *serving, struct cpt_http_options options)
{
    options.struct_bytes = sizeof options;
    options.input_bytes_max =
        options.input_bytes_max != 0 ? options.input_bytes_max : (size_t)ALL_MAX;
    serving->client_count = 0;
    test_loop_make(&serving->loop, &options);
    test_service_make(&serving->service, &serving->loop, CPT_ROLE_ENTRY, -1, NULL);
    test_loop_start(&serving->loop);
}

static void serving_stop(struct serving *serving)
{
    for (int i = 0; i < serving->client_count; i++) {
        (void)close(serving->clients[i]);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&serving->loop), CPT_OK);
    test_service_free(&serving->service);
}

/* Sends @head and @bytes more, and falls silent. */
static int client_add(struct serving *serving, const char *head, size_t bytes)
{
    const int descriptor = raw_connect(serving->service.port);
    char *rest = malloc(bytes + 1);

    memset(rest, 'x', bytes);
    rest[bytes] = '\0';
    raw_write(descriptor, head);
    raw_write(descriptor, rest);
    free(rest);
    serving->clients[serving->client_count++] = descriptor;
    return descriptor;
}

/* A request that is good: the beginning of its answer. */
static void post(const struct serving *serving, size_t bytes, char answer[64])
{
    char *request = malloc(bytes + 256);
    char *reply = malloc(bytes + 1024);
    const int head = snprintf(request, 256,
                              "POST /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"
                              "Content-Length: %zu\r\n\r\n",
                              bytes);

    memset(request + head, 'y', bytes);
    request[(size_t)head + bytes] = '\0';
    raw_exchange(serving->service.port, request, reply, bytes + 1024);
    (void)snprintf(answer, 64, "%.12s", reply);
    free(request);
    free(reply);
}

/* On a busy machine one may be slower than those that are silent: it tries again. */
static void expect_post(const struct serving *serving, size_t bytes)
{
    char answer[64] = "";

    for (unsigned i = 0; i < 5 && strcmp(answer, "HTTP/1.1 200") != 0; i++) {
        post(serving, bytes, answer);
    }
    CU_ASSERT_STRING_EQUAL(answer, "HTTP/1.1 200");
}

#define LENGTH "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 4194304\r\n\r\n"
#define CHUNKED                                                                        \
    "POST /hello HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n400000\r\n"
#define HEAD "GET /hello HTTP/1.1\r\nHost: s\r\nx: "

/* Clients hold the limit and fall silent; the next ones are answered. */
static void test_silent(void)
{
    static const struct {
        const char *head;
        size_t bytes;
        int count;
    } rows[] = {
        {LENGTH, 250 << 10, 12}, {CHUNKED, 250 << 10, 12}, {LENGTH, 5000, 350},
        {CHUNKED, 5000, 350},    {HEAD, 15000, 150},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct serving serving;

        serving_start(&serving, (struct cpt_http_options){.struct_bytes = 0});
        for (int k = 0; k < rows[i].count; k++) {
            (void)client_add(&serving, rows[i].head, rows[i].bytes);
        }
        CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_full", 1));
        CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_input_bytes", ALL_MAX / 2));
        test_sleep_ns(100 * MS);
        for (unsigned k = 0; k < 5; k++) {
            expect_post(&serving, 10);
            expect_post(&serving, 100000);
            expect_post(&serving, 900000);
        }
        CU_ASSERT_TRUE(test_counter(&serving.loop, "http_input_bytes") <= ALL_MAX);
        serving_stop(&serving);
    }
}

/* Those that make room are told so, though they were about to send more. */
static void test_told_so(void)
{
    struct serving serving;
    char reply[1024];
    unsigned told_count = 0;

    serving_start(&serving, (struct cpt_http_options){.struct_bytes = 0});
    for (int i = 0; i < 4; i++) {
        (void)client_add(&serving, LENGTH, 250 << 10);
        CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_input_bytes",
                                     (uint64_t)(i + 1) * (250 << 10)));
    }
    expect_post(&serving, 100000);
    for (int i = 0; i < serving.client_count; i++) {
        raw_write(serving.clients[i], "more of it");
        (void)shutdown(serving.clients[i], SHUT_WR);
        (void)raw_read(serving.clients[i], reply, sizeof reply, NULL);
        told_count += strncmp(reply, "HTTP/1.1 503 ", 13) == 0;
    }
    CU_ASSERT_TRUE(told_count > 0);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_full", told_count));
    serving_stop(&serving);
}

/* A byte now and then keeps no place. */
static void test_drips(void)
{
    struct serving serving;

    serving_start(&serving, (struct cpt_http_options){.struct_bytes = 0});
    for (int i = 0; i < 6; i++) {
        (void)client_add(&serving, LENGTH, 200 << 10);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_input_bytes", 5 * (200 << 10)));
    for (unsigned i = 0; i < 20; i++) {
        for (int k = 0; k < serving.client_count; k++) {
            raw_write(serving.clients[k], "x");
        }
        expect_post(&serving, 200000);
        test_sleep_ns(5 * MS);
    }
    serving_stop(&serving);
}

/* One that sends a large body steadily after others have been silent for @silent_ns,
 * and one that has sent a byte before these: whether both are answered. */
static bool outlives(uint64_t silent_ns)
{
    enum { PARTS = 40, PART = 10000 };
    struct serving serving;
    char part[PART + 1];
    char steady_reply[1024];
    char small_reply[1024];
    int small = -1;
    int steady = -1;

    memset(part, 'z', PART);
    part[PART] = '\0';
    serving_start(&serving, (struct cpt_http_options){.struct_bytes = 0});
    small = client_add(&serving,
                       "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 6\r\n"
                       "Connection: close\r\n\r\n",
                       1);
    for (uint64_t i = 1; i <= 3; i++) {
        (void)client_add(&serving, LENGTH, 250 << 10);
        CU_ASSERT_TRUE(
            test_comes_to(&serving.loop, "http_input_bytes", i * (250 << 10)));
    }
    test_sleep_ns(silent_ns);
    steady = client_add(&serving,
                        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 400000\r\n"
                        "Connection: close\r\n\r\n",
                        0);
    for (int i = 0; i < PARTS; i++) {
        raw_write(steady, part);
        test_sleep_ns(MS / 2);
    }
    raw_write(small, "small");
    (void)raw_read(steady, steady_reply, sizeof steady_reply, "hello zzz");
    (void)raw_read(small, small_reply, sizeof small_reply, NULL);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_cut_full") > 0);
    serving_stop(&serving);
    return strncmp(steady_reply, "HTTP/1.1 200 ", 13) == 0 &&
           strncmp(small_reply, "HTTP/1.1 200 ", 13) == 0;
}

/* On a busy machine the steady one may be slower than it wants. */
static void test_steady(void)
{
    bool is_good = false;

    for (uint64_t ns = 100 * MS; ns <= 6400 * MS && !is_good; ns *= 2) {
        is_good = outlives(ns);
    }
    CU_ASSERT_TRUE(is_good);
}

/* What has come at once buys no time for the rest. */
static void test_no_credit(void)
{
    struct serving serving;
    char reply[1024];

    serving_start(&serving, (struct cpt_http_options){.body_ns = 50 * MS,
                                                      .body_bytes_per_second_min = 1});
    (void)client_add(&serving, LENGTH, 100000);
    (void)client_add(&serving, CHUNKED, 100000);
    for (int i = 0; i < 2; i++) { /* these would have had a day */
        (void)raw_read(serving.clients[i], reply, sizeof reply, NULL);
        CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 408 ", 13), 0);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_slow", 2));
    serving_stop(&serving);
}

/* A request that is whole is not cut off, and others are answered beside it. */
static void test_whole(void)
{
    struct serving serving;
    char reply[1024];
    char answer[64];

    serving_start(&serving, (struct cpt_http_options){.struct_bytes = 0});
    (void)client_add(&serving,
                     "POST /slow HTTP/1.1\r\nHost: s\r\nContent-Length: 1048000\r\n"
                     "Connection: close\r\n\r\n",
                     1048000);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_requests_served", 1));
    post(&serving, 900, answer); /* it comes at once, and exceeds the limit */
    CU_ASSERT_STRING_EQUAL(answer, "HTTP/1.1 200");
    (void)raw_read(serving.clients[0], reply, sizeof reply, "hello xxx");
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    serving_stop(&serving);
}

/* A client that does not take its reply holds no place for what it has sent. */
static void test_answered(void)
{
    enum { BYTES = 6 << 20 }; /* more than the system's buffers hold */
    struct serving serving;
    uint64_t kept = 1;

    serving_start(&serving, (struct cpt_http_options){.input_bytes_max = 7 << 20,
                                                      .body_bytes_max = 7 << 20});
    for (unsigned n = 1; n <= 3; n++) {
        (void)client_add(
            &serving,
            "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 6291456\r\n\r\n",
            BYTES);
        CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_requests_served", n));
    }
    for (unsigned i = 0; i < PATIENCE && kept > 0; i++) {
        kept = test_counter(&serving.loop, "http_input_bytes");
        test_sleep_ns(kept > 0 ? MS : 0);
    }
    CU_ASSERT_EQUAL(kept, 0);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_output_bytes") > 0);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_cut_full"), 0);
    serving_stop(&serving);
}

CU_TestInfo http_room_tests[] = {
    {"clients that fall silent make room", test_silent},
    {"they are told so", test_told_so},
    {"a byte now and then keeps no place", test_drips},
    {"one that sends steadily outlives those that are silent", test_steady},
    {"what came at once buys no time", test_no_credit},
    {"a request that is whole is not cut off", test_whole},
    {"a request that is answered takes no room", test_answered},
    CU_TEST_INFO_NULL,
};
