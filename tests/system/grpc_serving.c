/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_serving.c - requests from clients that know nothing of us, and from bad ones */
#include "grpc_support.h"

#include "wire/cpt_metadata.h"

#include <stdlib.h>

static struct plain_result result; /* large */

static void call(const struct grpc_service *service, const char *method,
                 const char *body, const char *ask)
{
    struct plain_call plain = {.port = service->port, .method = method, .body = body};

    if (ask != NULL) {
        plain.fields[0] =
            (struct cpt_field){cpt_bytes_of(CPT_HEADER_ASK), cpt_bytes_of(ask)};
    }
    plain_call(&plain, &result);
}

static void test_plain_client(void)
{
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    call(&service, "/t.G/Hello", "you", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_STRING_EQUAL(result.body, "hello you");
    CU_ASSERT_STRING_EQUAL(result.header, "yes");
    CU_ASSERT_EQUAL(result.path_count, 0);
    call(&service, "/t.G/Echo", "POST", NULL);
    CU_ASSERT_STRING_EQUAL(result.body, "POST");
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* The path of the last result adds up to what the service says that it took. */
static bool is_path_good(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_metadata_summary summary = {0};
    bool is_good = false;

    is_good =
        cpt_metadata_peek(result.path, result.path_bytes, &summary, NULL) == CPT_OK &&
        cpt_metadata_decode(result.path, result.path_bytes, NULL, path, NULL) ==
            CPT_OK &&
        summary.server_elapsed_ns > 0 &&
        cpt_path_check(path, summary.server_elapsed_ns, NULL) == CPT_OK;
    cpt_path_free(path);
    return is_good;
}

static void test_asked(void)
{
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    call(&service, "/t.G/Slow", "you", "1;max=2048");
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.path_count, 1);
    CU_ASSERT_TRUE(is_path_good());
    call(&service, "/t.G/Fail", "6", "1"); /* also with an error */
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(result.sentence, "why");
    CU_ASSERT_EQUAL(result.path_count, 1);
    CU_ASSERT_TRUE(is_path_good());
    call(&service, "/t.G/Hello", "you", "1;max=30");
    CU_ASSERT_EQUAL(result.path_count, 1);
    CU_ASSERT_TRUE(result.path_bytes <= 30);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* A path has the nonce of the ask, if that is one. */
static void test_nonce(void)
{
    static const struct {
        struct cpt_field fields[PLAIN_FIELDS_MAX];
        uint64_t nonce;
    } rows[] = {{{{{CPT_HEADER_ASK, 13}, {"1", 1}}}, 0},
                {{{{CPT_HEADER_ASK, 13}, {"1", 1}},
                  {{CPT_HEADER_NONCE, 19}, {"3b9aca00c0ffee11", 16}}},
                 UINT64_C(0x3b9aca00c0ffee11)},
                {{{{CPT_HEADER_ASK, 13}, {"1", 1}},
                  {{CPT_HEADER_NONCE, 19}, {"3b9aca00c0ffee11", 16}},
                  {{CPT_HEADER_NONCE, 19}, {"3b9aca00c0ffee11", 16}}},
                 0}};
    struct cpt_metadata_summary summary = {0};
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plain_call plain = {
            .port = service.port, .method = "/t.G/Hello", .body = "you"};

        memcpy(plain.fields, rows[i].fields, sizeof plain.fields);
        plain_call(&plain, &result);
        CU_ASSERT_EQUAL(
            cpt_metadata_peek(result.path, result.path_bytes, &summary, NULL), CPT_OK);
        CU_ASSERT_EQUAL(summary.nonce, rows[i].nonce);
    }
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* The bytes of the path of @method, where all trailing metadata have @bytes_max. */
static size_t path_bytes_of(const char *method, const char *body, size_t bytes_max)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .headers_bytes_max = bytes_max};
    struct grpc_service service;

    grpc_service_start(&service, &options, NULL);
    call(&service, method, body, "1;max=2048");
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    CU_ASSERT_EQUAL(result.path_count, result.path_bytes > 0);
    return result.path_bytes;
}

/* `grpc-status` is 45 bytes as HTTP/2 counts; an error has a message, and its head. */
static void test_room_for_paths(void)
{
    const size_t whole = path_bytes_of("/t.G/Hello", "you", 0);

    CU_ASSERT_TRUE(whole > 40);
    for (size_t left = 30; left < whole + 8; left += 5) {
        const size_t others = 45;
        const size_t bytes_max = CPT_HEADERS_BYTES_RESERVED + others +
                                 sizeof CPT_HEADER_PATH - 1 + 32 +
                                 CPT_BASE64_BYTES(left);
        const size_t bytes = path_bytes_of("/t.G/Hello", "you", bytes_max);

        CU_ASSERT_EQUAL(cpt_path_bytes_left(bytes_max, others, 1), left);
        CU_ASSERT_TRUE(bytes > 0 && bytes <= left);
        CU_ASSERT_EQUAL(path_bytes_of("/t.G/Fail", "6", bytes_max), 0);
    }
    CU_ASSERT_EQUAL(path_bytes_of("/t.G/Hello", "you", 600), 0);
    CU_ASSERT_TRUE(path_bytes_of("/t.G/Fail", "6", 1100) > 0);
}

/* How many segments of the path of the last result have a drag. */
static size_t dragged_count(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    size_t count = 0;

    CU_ASSERT_EQUAL(
        cpt_metadata_decode(result.path, result.path_bytes, NULL, path, NULL), CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        count += cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN;
    }
    cpt_path_free(path);
    return count;
}

static void test_drags(void)
{
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    call(&service, "/t.G/Slow", "you", "1;max=2048;drag");
    CU_ASSERT_EQUAL(result.path_count, 1);
    CU_ASSERT_TRUE(is_path_good());
    CU_ASSERT_TRUE(dragged_count() > 0);
    call(&service, "/t.G/Slow", "you", "1;max=2048");
    CU_ASSERT_EQUAL(result.path_count, 1);
    CU_ASSERT_EQUAL(dragged_count(), 0);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_bad_asks(void)
{
    const struct cpt_field ask = {cpt_bytes_of(CPT_HEADER_ASK), cpt_bytes_of("1")};
    struct plain_call twice = {.method = "/t.G/Hello", .body = "you"};
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    call(&service, "/t.G/Hello", "you", "what is this");
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.path_count, 0);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "refused_malformed"), 1);
    twice.port = service.port;
    twice.fields[0] = ask;
    twice.fields[1] = ask;
    plain_call(&twice, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.path_count, 0);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "refused_repeated"), 1);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* An entry heeds the ask of clients that it trusts, and not through a proxy. */
static void test_trust(void)
{
    static const char *const networks[] = {"127.0.0.0/8", NULL};
    struct cpt_service_options options = {
        .struct_bytes = sizeof options, .role = CPT_ROLE_ENTRY, .probability = -1};
    struct plain_call forwarded = {
        .method = "/t.G/Hello",
        .body = "you",
        .fields = {{cpt_bytes_of(CPT_HEADER_ASK), cpt_bytes_of("1")},
                   {cpt_bytes_of("x-forwarded-for"), cpt_bytes_of("192.0.2.1")}}};
    struct grpc_service service;

    grpc_service_start(&service, NULL, &options);
    call(&service, "/t.G/Hello", "you", "1;forced");
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.path_count, 0);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "refused_untrusted"), 1);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    options.trusted_networks = networks;
    grpc_service_start(&service, NULL, &options);
    call(&service, "/t.G/Hello", "you", "1;forced");
    CU_ASSERT_EQUAL(result.path_count, 1);
    forwarded.port = service.port;
    plain_call(&forwarded, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.path_count, 0);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* The deadline of a client that an entry trusts ends the request; that of another is no
 * more than the time at which it leaves: no failure of the service. */
static void test_deadlines_of_strangers(void)
{
    static const char *const networks[] = {"127.0.0.0/8", NULL};
    struct cpt_service_options options = {
        .struct_bytes = sizeof options, .role = CPT_ROLE_ENTRY, .probability = -1};
    struct plain_call hasty = {.method = "/t.G/Long", .body = "you", .timeout_ms = 100};
    struct grpc_service service;

    grpc_service_start(&service, NULL, &options);
    hasty.port = service.port;
    plain_call(&hasty, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_DEADLINE_EXCEEDED);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "cancelled", 1));
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "timed_out"), 0);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "untrusted_timeouts"), 1);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    options.trusted_networks = networks;
    grpc_service_start(&service, NULL, &options);
    hasty.port = service.port;
    plain_call(&hasty, &result);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "untrusted_timeouts"), 0);
    hasty.fields[0] =
        (struct cpt_field){cpt_bytes_of("x-client-ip"), cpt_bytes_of("192.0.2.1")};
    plain_call(&hasty, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_DEADLINE_EXCEEDED);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "untrusted_timeouts"), 1);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* How often slack of @text, from a client that is trusted or not, counts as @counter;
 * as metadata twice if @is_twice. */
static uint64_t slacks_of(const char *text, bool is_trusted, bool is_twice,
                          const char *counter)
{
    static const char *const networks[] = {"127.0.0.0/8", NULL};
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .role = CPT_ROLE_ENTRY,
                                                .probability = -1,
                                                .trusted_networks =
                                                    is_trusted ? networks : NULL,
                                                .slack_wait_ns_max = MS};
    struct plain_call slack = {.method = "/t.G/Hello", .body = "you"};
    struct grpc_service service;
    uint64_t count = 0;

    slack.fields[0] = (struct cpt_field){cpt_bytes_of("cpt-slack"), cpt_bytes_of(text)};
    if (is_twice) {
        slack.fields[1] = slack.fields[0];
    }
    grpc_service_start(&service, NULL, &options);
    slack.port = service.port;
    plain_call(&slack, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    count = grpc_service_counter(&service, counter);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    return count;
}

static void test_slack(void)
{
    CU_ASSERT_EQUAL(slacks_of("5000", true, false, "slack_requests"), 1);
    CU_ASSERT_EQUAL(slacks_of("5000", false, false, "untrusted_slacks"), 1);
    CU_ASSERT_EQUAL(slacks_of("5000", true, true, "refused_slacks"), 1);
    CU_ASSERT_EQUAL(slacks_of("-5", true, false, "refused_slacks"), 1);
}

static void test_unknown_methods(void)
{
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    call(&service, "/t.G/None", "", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_UNIMPLEMENTED);
    call(&service, "/", "", "1");
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_UNIMPLEMENTED);
    call(&service, "/grpc.health.v1.Health/Check", "", NULL); /* not switched on */
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_UNIMPLEMENTED);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_health(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .serves_health = 1};
    static const char *const check = "/grpc.health.v1.Health/Check";
    struct grpc_service service;

    grpc_service_start(&service, &options, NULL);
    call(&service, check, "", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(memcmp(result.body, "\x08\x01", 2), 0);
    call(&service, check, "\x0a\x01G", NULL);
    CU_ASSERT_EQUAL(memcmp(result.body, "\x08\x01", 2), 0);
    call(&service, check, "\x0a\x01H", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_NOT_FOUND);
    call(&service, check, "\x0a\x7fH", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_INVALID_ARGUMENT);
    cpt_grpc_set_ready(service.grpc, 0);
    call(&service, check, "", NULL);
    CU_ASSERT_EQUAL(memcmp(result.body, "\x08\x02", 2), 0);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* --- Limits --- */

static void test_large_message(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .body_bytes_max = 1000};
    static char body[1002];
    struct grpc_service service;

    memset(body, 'x', sizeof body - 1);
    grpc_service_start(&service, &options, NULL);
    call(&service, "/t.G/Echo", body, NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_RESOURCE_EXHAUSTED);
    body[1000] = '\0';
    call(&service, "/t.G/Echo", body, NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(result.body_bytes, 1000);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_large_metadata(void)
{
    static char large[70000];
    struct plain_call plain = {.method = "/t.G/Hello", .body = "you"};
    struct grpc_service service;

    memset(large, 'x', sizeof large);
    grpc_service_start(&service, NULL, NULL);
    plain.port = service.port;
    plain.fields[0].name = cpt_bytes_of("x-large");
    plain.fields[0].value = (struct cpt_bytes){large, sizeof large};
    plain_call(&plain, &result);
    CU_ASSERT_NOT_EQUAL(result.code, GRPC_STATUS_OK);
    plain.fields[0].value.bytes = 8000;
    plain_call(&plain, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* A request whose message never comes is cut off, and others are served meanwhile. */
static void test_slow_message(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .body_ns = 1};
    struct plain_call plain = {.method = "/t.G/Hello"};
    struct grpc_service service;

    grpc_service_start(&service, &options, NULL);
    plain.port = service.port;
    plain_call(&plain, &result); /* returns when it is cut off */
    CU_ASSERT_NOT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_cut_slow"), 1);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void *call_stuck(void *context)
{
    struct plain_call *plain = context;
    struct plain_result *own = malloc(sizeof *own);

    plain_call(plain, own);
    return own;
}

static void test_open_limit(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .requests_open_max = 1};
    struct plain_call plain = {.method = "/t.G/Stuck", .body = "you"};
    struct plain_result *first = NULL;
    struct cpt_pending *pending = NULL;
    struct grpc_service service;
    pthread_t thread;

    grpc_service_start(&service, &options, NULL);
    plain.port = service.port;
    (void)pthread_create(&thread, NULL, call_stuck, &plain);
    pending = grpc_service_stuck(&service);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    call(&service, "/t.G/Hello", "you", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_RESOURCE_EXHAUSTED);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_requests_refused"), 1);
    cpt_complete(pending, CPT_OK);
    (void)pthread_join(thread, (void **)&first);
    CU_ASSERT_EQUAL(first->code, GRPC_STATUS_OK);
    CU_ASSERT_STRING_EQUAL(first->body, "hello you");
    free(first);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    call(&service, "/t.G/Hello", "you", NULL);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* --- Clients that leave --- */

static void expect_left(const struct plain_call *call_of, grpc_status_code code,
                        const struct cpt_grpc_options *options, uint64_t abandoned)
{
    struct plain_call plain = *call_of;
    struct cpt_pending *pending = NULL;
    struct grpc_service service;

    grpc_service_start(&service, options, NULL);
    plain.port = service.port;
    plain.method = "/t.G/Stuck";
    plain.body = "you";
    plain_call(&plain, &result);
    CU_ASSERT_EQUAL(result.code, code);
    pending = grpc_service_stuck(&service);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    if (abandoned > 0) {
        CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_abandoned", abandoned));
    }
    cpt_complete(pending, CPT_OK);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_requests_abandoned"),
                    abandoned);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_client_cancels(void)
{
    const struct plain_call cancels = {.cancel_ms = 300};
    const struct cpt_grpc_options keeps = {.struct_bytes = sizeof keeps,
                                           .keeps_abandoned = 1};

    expect_left(&cancels, GRPC_STATUS_CANCELLED, NULL, 1);
    expect_left(&cancels, GRPC_STATUS_CANCELLED, &keeps, 0);
}

CU_TestInfo grpc_serving_tests[] = {
    {"a path has the nonce of its ask", test_nonce},
    {"a path has the room that other metadata leave", test_room_for_paths},
    {"a client that knows nothing of us gets its answer", test_plain_client},
    {"one that asks gets a path that adds up", test_asked},
    {"one that asks for drags gets them, no other", test_drags},
    {"bad asks are counted and not heeded", test_bad_asks},
    {"an entry trusts whom it was told to", test_trust},
    {"an entry heeds deadlines of clients that it trusts", test_deadlines_of_strangers},
    {"and their slack", test_slack},
    {"a path that no method takes is unimplemented", test_unknown_methods},
    {"health is told as it was set", test_health},
    {"a message that is too large is refused", test_large_message},
    {"metadata that are too large are refused", test_large_metadata},
    {"a message that does not come is waited for only for a while", test_slow_message},
    {"requests beyond the limit are refused", test_open_limit},
    {"the request of a client that cancels is cancelled", test_client_cancels},
    CU_TEST_INFO_NULL,
};
