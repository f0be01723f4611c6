/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_path_room.c - a path has what the other headers of the answer leave for it */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_manual.h"

#include <stdbool.h>
#include <stdio.h>

static size_t room;         /* what the transport has for a path */
static unsigned room_count; /* how often it was asked */
static bool has_seen_reply; /* with the answer as it is sent, but for the path */

static size_t tell_room(void *context, const struct cpt_outbound *outbound)
{
    room_count++;
    has_seen_reply = context == &answer && outbound->metadata.bytes == 0 &&
                     cpt_bytes_equal(outbound->body, cpt_bytes_of("page")) &&
                     outbound->content_type.bytes > 0;
    return room;
}

/* Asks A by @header, with @room_bytes left; the bytes of its path. */
static size_t bytes_within(size_t room_bytes, const char *header)
{
    struct cpt_inbound inbound = inbound_with(header);

    room = room_bytes;
    inbound.path_room = tell_room;
    ask(pair.a, &inbound);
    return answer.metadata_bytes;
}

static void test_room_of_a_transport(void)
{
    size_t whole = 0;

    open_pair(never, never);
    whole = bytes_within(SIZE_MAX, "1;forced");
    CU_ASSERT_TRUE(whole > 60);
    CU_ASSERT_TRUE(has_seen_reply);
    CU_ASSERT_EQUAL(bytes_within(whole, "1;forced"), whole);
    CU_ASSERT_EQUAL(counter(pair.a, "returned_folded", NULL), 0);
    for (size_t left = whole - 1; left >= 30; left--) {
        const size_t bytes = bytes_within(left, "1;forced");

        CU_ASSERT_TRUE(bytes > 0 && bytes <= left);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "returned_folded", NULL), whole - 30);
    CU_ASSERT_EQUAL(counter(pair.a, "unreturned_paths", NULL), 0);
    CU_ASSERT_EQUAL(bytes_within(1, "1;forced"), 0);
    CU_ASSERT_EQUAL(bytes_within(0, "1;forced"), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "unreturned_paths", NULL), 2);
    close_pair();
}

/* The least of the three counts. */
static void test_the_ask_stays_the_upper_bound(void)
{
    struct cpt_service_options a = never;

    open_pair(a, never);
    CU_ASSERT_TRUE(bytes_within(SIZE_MAX, "1;forced;max=50") <= 50);
    CU_ASSERT_TRUE(bytes_within(45, "1;forced;max=50") <= 45);
    close_pair();
    a.metadata_bytes_max = 48;
    open_pair(a, never);
    CU_ASSERT_TRUE(bytes_within(SIZE_MAX, "1;forced;max=50") <= 48);
    CU_ASSERT_TRUE(bytes_within(45, "1;forced;max=50") <= 45);
    CU_ASSERT_TRUE(answer.metadata_bytes > 0);
    close_pair();
}

/* Headers are not counted for a path that is not sent. */
static void test_only_with_a_path(void)
{
    open_pair(always, never);
    room_count = 0;
    CU_ASSERT_EQUAL(bytes_within(SIZE_MAX, NULL), 0);
    CU_ASSERT_EQUAL(bytes_within(SIZE_MAX, "what"), 0);
    CU_ASSERT_EQUAL(room_count, 0);
    CU_ASSERT_TRUE(bytes_within(SIZE_MAX, "1;forced") > 0);
    CU_ASSERT_EQUAL(room_count, 1);
    close_pair();
}

static size_t manual_bytes(size_t bytes_max)
{
    const struct cpt_inbound inbound = inbound_with("1");
    struct cpt_manual *manual = cpt_manual_new(pair.b, &inbound);
    size_t bytes = 0;

    for (int i = 0; i < 20; i++) {
        char part[32];

        (void)snprintf(part, sizeof part, "part %d", i);
        cpt_manual_enter(manual, part);
        now.now_ns += MS;
        cpt_manual_leave(manual);
    }
    bytes = cpt_manual_end_within(manual, bytes_max).bytes;
    CU_ASSERT_EQUAL(cpt_manual_end(manual).bytes, bytes); /* it has ended */
    CU_ASSERT_PTR_NOT_NULL(cpt_manual_path(manual));
    cpt_manual_free(manual, 200);
    return bytes;
}

static void test_room_of_a_manual_request(void)
{
    size_t whole = 0;

    open_pair(never, never);
    whole = manual_bytes(SIZE_MAX);
    CU_ASSERT_TRUE(whole > 200);
    CU_ASSERT_EQUAL(manual_bytes(whole), whole);
    CU_ASSERT_TRUE(manual_bytes(whole - 1) < whole);
    CU_ASSERT_TRUE(manual_bytes(100) <= 100);
    CU_ASSERT_TRUE(manual_bytes(100) > 0);
    CU_ASSERT_EQUAL(manual_bytes(1), 0);
    CU_ASSERT_EQUAL(manual_bytes(0), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "unreturned_paths", NULL), 2);
    CU_ASSERT_EQUAL(cpt_manual_end_within(NULL, 100).bytes, 0);
    close_pair();
}

extern CU_TestInfo cpt_path_room_tests[];
CU_TestInfo cpt_path_room_tests[] = {
    {"a path fits beside the other headers of an answer", test_room_of_a_transport},
    {"what the caller asks for stays the upper bound",
     test_the_ask_stays_the_upper_bound},
    {"headers are counted only for a path", test_only_with_a_path},
    {"the same of requests told by hand", test_room_of_a_manual_request},
    CU_TEST_INFO_NULL,
};
