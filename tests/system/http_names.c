/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_names.c - calls of stubs whose target is a name with several addresses, for
 * which a name server of the test answers; and all kinds of trouble at once */
#include "http_targets.h"
#include "http_suites.h"

#include "tests/support/test_random.h"

#include "framework/transport/http/loop/http_loop.h"

#include <event2/dns.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A name server: it has addresses 127.0.0.x of every name, by the bits of @bits. */
struct names {
    int descriptor;
    uint16_t port;
    pthread_t thread;
    atomic_uint bits;
    atomic_bool has_v6; /* it has ::1, too */
    atomic_uint question_count;
};

static void *names_main(void *context)
{
    struct names *names = context;
    unsigned char packet[1024];
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof from;
    ssize_t got = 0;

    while ((got = recvfrom(names->descriptor, packet, 512, 0, (struct sockaddr *)&from,
                           &from_bytes)) > 17) {
        const unsigned bits = atomic_load(&names->bits);
        size_t at = 12;
        unsigned type = 0;
        unsigned count = 0;

        while (at < (size_t)got && packet[at] != 0) {
            at += packet[at] + 1u;
        }
        type = packet[at + 2];
        at += 5;
        for (unsigned i = 1; type == 1 && i < 8; i++) {
            const unsigned char answer[] = {
                0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, (unsigned char)i};

            if (bits & (1u << i)) {
                memcpy(packet + at, answer, sizeof answer);
                at += sizeof answer;
                count++;
            }
        }
        if (type == 28 && atomic_load(&names->has_v6)) {
            static const unsigned char answer[28] = {0xc0, 12, 0, 28, 0,  1,       0,
                                                     0,    0,  1, 0,  16, [27] = 1};

            memcpy(packet + at, answer, sizeof answer);
            at += sizeof answer;
            count++;
        }
        packet[2] = 0x81;
        packet[3] = 0x80;
        packet[7] = (unsigned char)count;
        packet[10] = packet[11] = 0; /* no additional records */
        atomic_fetch_add(&names->question_count, 1);
        (void)sendto(names->descriptor, packet, at, 0, (struct sockaddr *)&from,
                     from_bytes);
    }
    return NULL;
}

static void names_start(struct names *names, unsigned bits)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;

    memset(names, 0, sizeof *names);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    atomic_store(&names->bits, bits);
    names->descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(names->descriptor, (struct sockaddr *)&address, bytes) != 0 ||
        getsockname(names->descriptor, (struct sockaddr *)&address, &bytes) != 0) {
        abort();
    }
    names->port = ntohs(address.sin_port);
    (void)pthread_create(&names->thread, NULL, names_main, names);
}

static void names_stop(struct names *names)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;

    (void)getsockname(names->descriptor, (struct sockaddr *)&address, &bytes);
    (void)sendto(names->descriptor, "", 1, 0, (struct sockaddr *)&address, bytes);
    (void)pthread_join(names->thread, NULL);
    (void)close(names->descriptor);
}

static void loop_start_with_names(struct test_loop *loop, const struct names *names,
                                  const struct cpt_target_options *targets)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .targets = targets};
    char server[32];

    test_loop_make(loop, &options);
    (void)snprintf(server, sizeof server, "127.0.0.1:%u", (unsigned)names->port);
    (void)evdns_base_clear_nameservers_and_suspend(loop->http->dns);
    CU_ASSERT_EQUAL(evdns_base_nameserver_ip_add(loop->http->dns, server), 0);
    (void)evdns_base_resume(loop->http->dns);
    test_loop_start(loop);
}

/* @b serves at 127.0.0.2, at the port of @a. */
static void start_beside(const struct stand_in *a, struct stand_in *b,
                         const char *reply)
{
    stand_in_start_at(b, "127.0.0.2", a->port, serve_reply, reply);
}

/* Waits until @stand_in has no connection. */
static bool is_left(struct stand_in *stand_in)
{
    for (unsigned i = 0; atomic_load(&stand_in->open_count) != 0 && i < PATIENCE_MS;
         i++) {
        test_sleep_ns(MS);
    }
    return atomic_load(&stand_in->open_count) == 0;
}

/* A name with two addresses is two targets; one that vanishes is let go. */
static void test_name_changes(void)
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct call_request request = {.count = 32};
    struct call_result result;
    struct stand_in a;
    struct stand_in b;
    struct names names;
    struct test_loop loop;
    char target[64];
    unsigned seen = 0;

    targets.resolve_ns = 20 * MS;
    names_start(&names, 1 << 1 | 1 << 2);
    stand_in_start(&a, serve_reply, A_REPLY);
    start_beside(&a, &b, B_REPLY);
    (void)snprintf(target, sizeof target, "replicas.test:%u", (unsigned)a.port);
    loop_start_with_names(&loop, &names, &targets);
    request.stub.target = target;
    call_out(&loop, &request, NULL, &result);
    for (unsigned i = 0; i < request.count; i++) {
        CU_ASSERT_EQUAL(result.statuses[i], CPT_OK);
    }
    CU_ASSERT_TRUE(atomic_load(&a.request_count) >= 12);
    CU_ASSERT_TRUE(atomic_load(&b.request_count) >= 12);
    atomic_store(&names.bits, 1 << 2);
    for (unsigned i = 0; atomic_load(&a.open_count) > 0 && i < PATIENCE_MS; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
        test_sleep_ns(MS);
    }
    CU_ASSERT_TRUE(is_left(&a));
    seen = atomic_load(&a.request_count);
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
    }
    CU_ASSERT_EQUAL(atomic_load(&a.request_count), seen);
    atomic_store(&names.bits, 0); /* no address: what was known is used */
    for (unsigned i = 0; i < 50; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
        test_sleep_ns(2 * MS);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.first_request, "\r\nHost: replicas.test:"));
    names_stop(&names);
}

/* All connections of a name need one look-up of it. */
static void test_name_is_looked_up_once(void)
{
    struct call_request request = {.count = 32};
    struct call_result result;
    struct stand_in a;
    struct names names;
    struct test_loop loop;
    char target[64];

    names_start(&names, 1 << 1);
    stand_in_start(&a, serve_reply, A_REPLY);
    (void)snprintf(target, sizeof target, "http://one.test:%u", (unsigned)a.port);
    loop_start_with_names(&loop, &names, NULL);
    request.stub.target = target;
    for (unsigned i = 0; i < 5; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[31], CPT_OK);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    names_stop(&names);
    CU_ASSERT_TRUE(atomic_load(&names.question_count) <= 2); /* evdns may ask again */
}

static bool has_ipv6(void)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int descriptor = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_bound =
        descriptor >= 0 &&
        bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0;

    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return is_bound;
}

/* Nothing listens at the IPv4 address: the IPv6 one is used, and remembered. */
static void test_other_family(void)
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct names names;
    struct stand_in a;
    struct test_loop loop;
    char target[64];

    if (!has_ipv6()) {
        (void)printf("(left out: no IPv6) ");
        return;
    }
    targets.resolve_ns = 10 * MS;
    names_start(&names, 1 << 1);
    atomic_store(&names.has_v6, true);
    stand_in_start_at(&a, "::1", 0, serve_reply, A_REPLY);
    (void)snprintf(target, sizeof target, "both.test:%u", (unsigned)a.port);
    loop_start_with_names(&loop, &names, &targets);
    for (unsigned i = 0; i < 50; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
        test_sleep_ns(1 * MS);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    names_stop(&names);
    CU_ASSERT_EQUAL(atomic_load(&a.connection_count), 1);
}

static void test_unknown_name(void)
{
    struct names names;
    struct stand_in a;
    struct test_loop loop;
    char target[64];

    names_start(&names, 0);
    stand_in_start(&a, serve_reply, A_REPLY);
    (void)snprintf(target, sizeof target, "later.test:%u", (unsigned)a.port);
    loop_start_with_names(&loop, &names, NULL);
    CU_ASSERT_EQUAL(call_status(&loop, target), CPT_UNAVAILABLE);
    CU_ASSERT_EQUAL(call_status(&loop, target), CPT_UNAVAILABLE);
    atomic_store(&names.bits, 1 << 1); /* it is asked for again by the next call */
    CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    names_stop(&names);
}

/* --- Anything may happen --- */

enum { TROUBLED_THREADS = 6, TROUBLED_CALLS = 40 };

static atomic_uint trouble_number;

static void serve_trouble(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
        struct test_random random = {atomic_fetch_add(&trouble_number, 1)};

        switch (test_random_below(&random, 9)) {
        case 0:
            return;
        case 1:
            raw_write(descriptor, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
            return;
        case 2:
            raw_write(descriptor, BUSY);
            break;
        case 3:
            raw_write(descriptor, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                                  "Content-Length: 1\r\n\r\nc");
            return;
        case 4:
            test_sleep_ns(5 * MS);
            raw_write(descriptor, A_REPLY);
            break;
        case 5:
            raw_write(descriptor, "nonsense\r\n\r\n");
            break;
        default:
            raw_write(descriptor, A_REPLY);
        }
    }
}

struct troubled {
    struct test_loop *loop;
    struct cpt_call_row *row;
    struct names *names;
    uint64_t seed;
};

static void *troubled_main(void *context)
{
    const struct troubled *troubled = context;
    struct test_random random = {troubled->seed};

    for (unsigned i = 0; i < TROUBLED_CALLS; i++) {
        atomic_store(&troubled->names->bits, (unsigned)test_random_below(&random, 16)
                                                 << 1);
        (void)run_row(troubled->loop, troubled->row);
    }
    return NULL;
}

static void sum_in_flight(void *context, const struct cpt_counter *counter)
{
    if (strcmp(counter->name, "http_target_in_flight") == 0) {
        *(uint64_t *)context += counter->value;
    }
}

/* Targets that break, stall and refuse, and addresses that come and go: each request
 * ends, and nothing is left in flight. */
static void test_trouble(void)
{
    const uint64_t seed = test_random_seed("targets in trouble");
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct stand_in servers[3];
    struct names names;
    struct test_loop loop;
    struct cpt_stub stub = {.name = "S: /", .method = "/", .timeout_ns = 40 * MS};
    struct cpt_call_row row = {.stub = &stub,
                               .decode = take_letter,
                               .hedge_ns = 1 * MS,
                               .retry_count_max = 2,
                               .backoff_ns = 1 * MS,
                               .extra_percent_max = 100};
    struct troubled troubled[TROUBLED_THREADS];
    pthread_t threads[TROUBLED_THREADS];
    uint64_t in_flight = 1;
    char target[64];

    atomic_store(&trouble_number, (unsigned)seed);
    targets.seed = seed + 1;
    targets.resolve_ns = 3 * MS;
    targets.ejected_ns = 5 * MS;
    targets.rising_ns = 20 * MS;
    targets.check_path = "/readyz";
    targets.check_ns = 7 * MS;
    names_start(&names, 1 << 1);
    stand_in_start(&servers[0], serve_trouble, NULL);
    stand_in_start_at(&servers[1], "127.0.0.2", servers[0].port, serve_trouble, NULL);
    stand_in_start_at(&servers[2], "127.0.0.3", servers[0].port, serve_trouble, NULL);
    (void)snprintf(target, sizeof target, "trouble.test:%u", (unsigned)servers[0].port);
    loop_start_with_names(&loop, &names, &targets);
    stub.target = target;
    stub.transport = cpt_http_transport(loop.http);
    for (unsigned i = 0; i < TROUBLED_THREADS; i++) {
        troubled[i] = (struct troubled){&loop, &row, &names, seed + i};
        (void)pthread_create(&threads[i], NULL, troubled_main, &troubled[i]);
    }
    for (unsigned i = 0; i < TROUBLED_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; in_flight != 0 && i < PATIENCE_MS; i++) {
        in_flight = 0;
        cpt_http_counters(loop.http, sum_in_flight, &in_flight);
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(in_flight, 0);
    (void)test_loop_stop(&loop);
    for (unsigned i = 0; i < 3; i++) {
        stand_in_stop(&servers[i]);
    }
    names_stop(&names);
}

CU_TestInfo http_names_tests[] = {
    {"the addresses of a name are targets, and change", test_name_changes},
    {"a name is looked up once for all connections", test_name_is_looked_up_once},
    {"a name that cannot be reached is looked up as IPv6", test_other_family},
    {"a name without addresses is looked up by the next call", test_unknown_name},
    {"whatever targets and addresses do, each request ends", test_trouble},
    CU_TEST_INFO_NULL,
};
