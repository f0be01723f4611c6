/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_nonce.c - the path of another call, as a cache keeps it, is not taken */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_manual.h"
#include "framework/run/call.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NONCE "3b9aca00c0ffee11"

/* --- Callers --- */

static unsigned char kept[CPT_METADATA_BYTES_CEILING]; /* by a cache */
static size_t kept_bytes;

/* Keeps the first reply, and gives it to all who ask. */
static void cache(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    if (kept_bytes == 0) {
        memcpy(kept, reply->metadata.data, reply->metadata.bytes);
        kept_bytes = reply->metadata.bytes;
    }
    reply->metadata = (struct cpt_bytes){(char *)kept, kept_bytes};
}

static bool is_nonce(const char *text)
{
    const struct cpt_bytes value = cpt_bytes_of(text);

    return cpt_nonce_parse(&value, 1) != 0;
}

static void test_each_call_has_one(void)
{
    char first[sizeof net.last_nonce];

    open_pair(never, never);
    ask_a("1");
    CU_ASSERT_TRUE(is_nonce(net.last_nonce));
    memcpy(first, net.last_nonce, sizeof first);
    ask_a("1");
    CU_ASSERT_TRUE(is_nonce(net.last_nonce));
    CU_ASSERT_STRING_NOT_EQUAL(net.last_nonce, first);
    ask_a(NULL); /* no callee is asked */
    CU_ASSERT_STRING_EQUAL(net.last_nonce, "");
    close_pair();
}

static void test_path_of_another_call(void)
{
    open_pair(never, never);
    kept_bytes = 0;
    net.tamper = cache;
    ask_a("1");
    CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), "B: look 5"));
    CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), 0);
    for (unsigned i = 1; i <= 3; i++) {
        ask_a("1");
        CU_ASSERT_STRING_EQUAL(answer.body, "page");
        CU_ASSERT_PTR_NULL(strstr(answered_path(), "B: look"));
        CU_ASSERT_PTR_NULL(strstr(answered_path(), "network")); /* nor its time */
        CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), "blind spot"));
        CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), i);
        CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "cached"), i);
        CU_ASSERT_EQUAL(counter(pair.a, "callee_overcounts", "B: /look"), 0);
    }
    close_pair();
}

/* A path with told_nonce, as B might send it, in told_bytes_max. */
static uint64_t told_nonce;
static size_t told_bytes_max;
static void tell_nonce(void *context, struct cpt_transport_reply *reply)
{
    static unsigned char data[256];
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .bytes_max = told_bytes_max,
                                                        .nonce = told_nonce,
                                                        .server_elapsed_ns = 5 * MS,
                                                        .has_server_elapsed = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = 0;
    size_t bytes = 0;

    (void)context;
    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: another name"),
                             CPT_KIND_WORK, &frame);
    (void)cpt_path_append_ns(path, frame, 5 * MS);
    CU_ASSERT_EQUAL(cpt_metadata_write(path, &options, data, sizeof data, &bytes, NULL),
                    CPT_OK);
    reply->metadata = (struct cpt_bytes){(char *)data, bytes};
    cpt_path_free(path);
}

static void test_older_and_folded_callees(void)
{
    open_pair(never, never);
    net.tamper = tell_nonce;
    told_bytes_max = 0;
    told_nonce = 0; /* as a callee that knows no nonces */
    ask_a("1");
    CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), "B: another name 5"));
    told_nonce = 1;
    ask_a("1");
    CU_ASSERT_PTR_NULL(strstr(answered_path(), "another name"));
    told_bytes_max = 24; /* no more than the sum */
    ask_a("1");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), 2);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "cached"), 2);
    told_nonce = 0;
    ask_a("1");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), 2);
    close_pair();
}

/* --- Callees --- */

/* The nonce of the path that B gives to one who asks by @ask with @values. */
static uint64_t echoed(const char *ask_text, const char *const *values)
{
    struct cpt_field headers[4];
    struct cpt_inbound inbound = inbound_with(ask_text);
    struct cpt_metadata_summary summary = {0};

    inbound.method = cpt_bytes_of("/look");
    inbound.headers = headers;
    headers[0] = (struct cpt_field){cpt_bytes_of("X-Other"), cpt_bytes_of(NONCE)};
    for (inbound.header_count = 1; *values != NULL; values++) {
        headers[inbound.header_count++] = (struct cpt_field){
            cpt_bytes_of("Critical-Path-Nonce"), cpt_bytes_of(*values)};
    }
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(
        cpt_metadata_peek(answer.metadata, answer.metadata_bytes, &summary, NULL),
        CPT_OK);
    return summary.nonce;
}

#define ECHOED(ask, ...) echoed(ask, (const char *const[]){__VA_ARGS__, NULL})

static void test_a_callee_echoes(void)
{
    open_pair(never, never);
    CU_ASSERT_EQUAL(ECHOED("1", NONCE), UINT64_C(0x3b9aca00c0ffee11));
    CU_ASSERT_EQUAL(ECHOED("1;max=30", NONCE), UINT64_C(0x3b9aca00c0ffee11));
    CU_ASSERT_TRUE(answer.metadata_bytes <= 30);
    CU_ASSERT_EQUAL(ECHOED("1", NULL), 0);
    CU_ASSERT_EQUAL(ECHOED("1", NONCE, NONCE), 0);
    CU_ASSERT_EQUAL(ECHOED("1", NONCE ", " NONCE), 0);
    CU_ASSERT_EQUAL(ECHOED("1", "0000000000000000"), 0);
    CU_ASSERT_EQUAL(ECHOED("1", "3B9ACA00C0FFEE11"), 0);
    CU_ASSERT_EQUAL(ECHOED("1", "3b9aca00c0ffee1"), 0);
    CU_ASSERT_EQUAL(ECHOED("1", ""), 0);
    /* none of these is a bad ask */
    CU_ASSERT_EQUAL(counter(pair.b, "refused_malformed", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "refused_repeated", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "returned_paths", NULL), 9);
    close_pair();
}

/* --- By hand --- */

/* One call, whose reply has a path with @nonce. */
static void end_call(struct cpt_manual *manual, struct cpt_manual_call *call,
                     struct cpt_bytes nonce)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .nonce = cpt_nonce_parse(&nonce, 1)};
    struct cpt_manual_reply reply = {.status = CPT_OK};
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char data[64];
    uint32_t frame = 0;
    size_t bytes = 0;

    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: look"),
                             CPT_KIND_WORK, &frame);
    (void)cpt_path_append_ns(path, frame, MS);
    CU_ASSERT_EQUAL(cpt_metadata_write(path, &options, data, sizeof data, &bytes, NULL),
                    CPT_OK);
    cpt_path_free(path);
    reply.metadata = (struct cpt_bytes){(char *)data, bytes};
    cpt_manual_wait_begin(manual);
    now.now_ns += MS;
    cpt_manual_call_end(manual, call, &reply);
    cpt_manual_wait_end(manual);
}

static void test_calls_by_hand(void)
{
    const struct cpt_inbound inbound = inbound_with("1");
    struct cpt_manual *manual = NULL;
    struct cpt_manual_call *calls[3];
    struct cpt_bytes nonces[3];

    open_pair(never, never);
    manual = cpt_manual_new(pair.a, &inbound);
    for (int i = 0; i < 3; i++) {
        calls[i] = cpt_manual_call_begin(manual, "B: /look");
        nonces[i] = cpt_manual_call_nonce(manual, calls[i]);
        CU_ASSERT_TRUE(is_nonce(nonces[i].data));
        CU_ASSERT_PTR_EQUAL(cpt_manual_call_nonce(manual, calls[i]).data,
                            nonces[i].data);
        CU_ASSERT_TRUE(i == 0 || !cpt_bytes_equal(nonces[i], nonces[i - 1]));
        end_call(manual, calls[i], nonces[i == 1 ? 0 : i]); /* the second is stale */
    }
    (void)cpt_manual_end(manual);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "cached"), 1);
    cpt_manual_free(manual, 200);
    CU_ASSERT_EQUAL(cpt_manual_call_nonce(NULL, NULL).bytes, 0);
    close_pair();
}

/* Code that sends no nonce: what a callee makes one up for is not taken. */
static void test_calls_by_hand_without(void)
{
    const struct cpt_inbound inbound = inbound_with("1");
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = cpt_manual_new(pair.a, &inbound);
    end_call(manual, cpt_manual_call_begin(manual, "B: /look"), cpt_bytes_of(""));
    end_call(manual, cpt_manual_call_begin(manual, "B: /look"), cpt_bytes_of(NONCE));
    (void)cpt_manual_end(manual);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_stale_paths", "B: /look"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "cached"), 1);
    cpt_manual_free(manual, 200);
    close_pair();
}

/* --- The numbers --- */

enum { NUMBERS = 1000 };

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* At one time and at others, in this process and in one that it was forked to. */
static void test_numbers_differ(void)
{
    static uint64_t numbers[3 * NUMBERS];
    const size_t child_bytes = NUMBERS * sizeof numbers[0];
    int ends[2] = {-1, -1};
    pid_t child = -1;
    size_t bytes = 0;
    ssize_t more = 0;

    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = cpti_call_nonce(i % 2 * i);
    }
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    child = fork();
    CU_ASSERT_TRUE_FATAL(child >= 0);
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[NUMBERS + i] = cpti_call_nonce(2 * i + (child == 0));
    }
    if (child == 0) {
        _exit(write(ends[1], numbers + NUMBERS, child_bytes) == (ssize_t)child_bytes
                  ? 0
                  : 1);
    }
    (void)close(ends[1]);
    do {
        more = read(ends[0], (char *)(numbers + 2 * (size_t)NUMBERS) + bytes,
                    child_bytes - bytes);
        bytes += more > 0 ? (size_t)more : 0;
    } while (more > 0);
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    CU_ASSERT_EQUAL(bytes, child_bytes);
    qsort(numbers, 3 * (size_t)NUMBERS, sizeof numbers[0], compare_numbers);
    CU_ASSERT_NOT_EQUAL(numbers[0], 0);
    for (unsigned i = 1; i < 3 * NUMBERS; i++) {
        CU_ASSERT_NOT_EQUAL(numbers[i - 1], numbers[i]);
    }
}

extern CU_TestInfo cpt_nonce_tests[];
CU_TestInfo cpt_nonce_tests[] = {
    {"each call that asks has a nonce of its own", test_each_call_has_one},
    {"the path of another call is a blind spot, and counted",
     test_path_of_another_call},
    {"older callees, and paths of which only the sum is left",
     test_older_and_folded_callees},
    {"a callee writes the nonce of the ask into its path", test_a_callee_echoes},
    {"the same of calls told by hand", test_calls_by_hand},
    {"and of those that send none", test_calls_by_hand_without},
    {"no two calls have one number, nor do processes that were forked",
     test_numbers_differ},
    CU_TEST_INFO_NULL,
};
