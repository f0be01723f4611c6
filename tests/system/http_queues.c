/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_queues.c - time in the kernel's queues, on either side of a call
 *
 * A loop is held up while bytes lie in its kernel, or the other side does not read. The
 * kernel counts in ticks, so what a path shows may be less than the truth by two of
 * them, and never more.
 */
#include "http_suites.h"
#include "http_support.h"

#include "wire/cpt_metadata.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define GOOD_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

#define HELD_NS (200 * MS)

enum { LARGE_BYTES = 3 << 20 };

/* --- The caller reads late --- */

static struct test_hold reader;
static struct test_loop *reading;

/* The reply is written while the caller's loop is held up. */
static void serve_to_held(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    if (stand_in_read(stand_in, descriptor)) {
        test_hold_begin(&reader, reading, HELD_NS);
        test_hold_wait(&reader);
        raw_write(descriptor, GOOD_REPLY);
        test_hold_release(&reader);
        (void)stand_in_read(stand_in, descriptor);
    }
}

static void call_held(bool is_traced, struct call_result *result)
{
    struct call_request request = {.is_traced = is_traced};
    struct test_loop loop;
    struct stand_in stand_in;

    reading = &loop;
    stand_in_start(&stand_in, serve_to_held, NULL);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, result);
    CU_ASSERT_EQUAL(result->http_statuses[0], 200);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

static void test_reply_waits(void)
{
    struct call_result result;

    call_held(true, &result);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_RECEIVE_QUEUE] >= test_ticks_least(HELD_NS));
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_RECEIVE_QUEUE] +
                       result.kind_ns[CPT_KIND_BLIND_SPOT] <=
                   result.elapsed_ns);
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_UNSUPPORTED);
    call_held(false, &result);
    CU_ASSERT_EQUAL(result.kind_ns[CPT_KIND_RECEIVE_QUEUE], 0);
}

/* --- The callee does not read --- */

/* Lets the request lie for HELD_NS after its first bytes are there. */
static void serve_late(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    struct pollfd first = {.fd = descriptor, .events = POLLIN};
    char *text = malloc(RAW_BYTES_MAX);
    size_t got = 0;

    (void)stand_in;
    (void)nth;
    (void)poll(&first, 1, -1);
    test_sleep_ns(HELD_NS);
    while (text != NULL && got < LARGE_BYTES) {
        const ssize_t more = read(descriptor, text, RAW_BYTES_MAX);

        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    free(text);
    test_sleep_ns(10 * MS); /* the head comes on top */
    raw_write(descriptor, GOOD_REPLY);
    (void)poll(&first, 1, 10);
}

static void test_request_waits(void)
{
    struct call_request request = {.is_traced = true};
    char *body = malloc(LARGE_BYTES + 1);
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    memset(body, 'x', LARGE_BYTES);
    body[LARGE_BYTES] = '\0';
    stand_in_start(&stand_in, serve_late, NULL);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    request.body = body;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.http_statuses[0], 200);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_SEND_QUEUE] >= HELD_NS / 2);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    free(body);
}

/* A small request leaves at once; its callee is late, and says so. */
static void test_service_reads_late(void)
{
    static const char text[] = "GET /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"
                               "critical-path: 1\r\n\r\n";
    struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_bytes encoded = {NULL, 0};
    unsigned char metadata[CPT_METADATA_BYTES_DEFAULT];
    char reply[RAW_BYTES_MAX / 16];
    struct test_service service;
    struct test_loop loop;
    struct test_hold hold;
    size_t bytes = 0;
    int descriptor = -1;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_INNER, -1, NULL);
    test_hold_begin(&hold, &loop, HELD_NS);
    test_loop_start(&loop);
    test_hold_wait(&hold);
    descriptor = raw_connect(service.port);
    raw_write(descriptor, text);
    test_hold_release(&hold);
    (void)raw_read(descriptor, reply, sizeof reply, NULL);
    (void)close(descriptor);
    encoded.data = strstr(reply, "critical-path-bin: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(encoded.data);
    encoded.data += strlen("critical-path-bin: ");
    encoded.bytes = strcspn(encoded.data, "\r");
    CU_ASSERT_EQUAL_FATAL(
        cpt_base64_decode(encoded, metadata, sizeof metadata, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_metadata_decode(metadata, bytes, &options, path, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame(path, cpt_path_segment(path, 0)->frame)->kind,
                    CPT_KIND_ACCEPT_QUEUE);
    CU_ASSERT_TRUE(cpt_path_segment(path, 0)->duration_ns >= test_ticks_least(HELD_NS));
    cpt_path_free(path);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
}

CU_TestInfo http_queues_tests[] = {
    {"a reply waits for its caller", test_reply_waits},
    {"a request waits for room at its callee", test_request_waits},
    {"a request waits for its callee", test_service_reads_late},
    CU_TEST_INFO_NULL,
};
