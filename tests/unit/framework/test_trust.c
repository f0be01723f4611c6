/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_trust.c - whose header an entry heeds: networks, certificates */
#include "tests/unit/framework/service_pair.h"

#include <string.h>

static void test_whom_an_entry_trusts(void)
{
    static const char *const networks[] = {"192.0.2.0/25", "2001:db8::/32", "fe80::/10",
                                           NULL};
    static const struct {
        const char *peer;
        int is_forwarded;
        int is_trusted;
    } cases[] = {
        {"192.0.2.1", 0, 1},
        {"192.0.2.127", 0, 1},
        {"192.0.2.128", 0, 0},
        {"::ffff:192.0.2.1", 0, 1},
        {"2001:db8::1", 0, 1},
        {"2001:db9::1", 0, 0},
        {"127.0.0.1", 0, 0},
        {"192.0.2.1", 1, 0},
        {"", 0, 0},
        {"nonsense", 0, 0},
        {"fe80::1%eth0", 0, 1},
        {"fe80::1", 0, 1},
        {"fd80::1%eth0", 0, 0},
        {"%eth0", 0, 0},
        {"febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff%a-long-name1234", 0, 1},
    };
    struct cpt_service_options a = never;

    a.trusted_networks = networks;
    open_pair(a, never);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpt_inbound inbound = inbound_with("1");

        inbound.peer_address = cpt_bytes_of(cases[i].peer);
        inbound.is_forwarded = cases[i].is_forwarded;
        ask(pair.a, &inbound);
        CU_ASSERT_EQUAL(answer.metadata_bytes != 0, cases[i].is_trusted);
    }
    close_pair();
}

/* Names of certificates: those of clients that the transport has verified. */
static void test_names_that_an_entry_trusts(void)
{
    static const char *const rules[] = {"192.0.2.0/25", "dns:tools.shop",
                                        "uri:spiffe://shop/Tools", "issuer:Shop people",
                                        NULL};
    static const struct {
        const char *names[2];
        const char *peer;
        int is_forwarded;
        int is_trusted;
    } cases[] = {
        {{"dns:tools.shop"}, "10.0.0.1", 0, 1},
        {{"dns:TOOLS.shop"}, "10.0.0.1", 0, 1},
        {{"dns:other", "uri:spiffe://shop/Tools"}, "10.0.0.1", 0, 1},
        {{"issuer:Shop people"}, "", 0, 1},
        {{"dns:none"}, "192.0.2.1", 0, 1},
        {{"dns:tools.shop"}, "10.0.0.1", 1, 0},
        {{"uri:spiffe://shop/tools"}, "10.0.0.1", 0, 0},
        {{"dns:tools.shop.evil"}, "10.0.0.1", 0, 0},
        {{"dns:tools.sho"}, "10.0.0.1", 0, 0},
        {{"issuer:shop people"}, "10.0.0.1", 0, 0},
        {{"uri:dns:tools.shop"}, "10.0.0.1", 0, 0},
        {{NULL}, "10.0.0.1", 0, 0},
    };
    struct cpt_service_options a = never;

    a.trusted_networks = rules;
    open_pair(a, never);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpt_inbound inbound = inbound_with("1");
        struct cpt_bytes names[2];

        while (inbound.peer_name_count < 2 &&
               cases[i].names[inbound.peer_name_count] != NULL) {
            names[inbound.peer_name_count] =
                cpt_bytes_of(cases[i].names[inbound.peer_name_count]);
            inbound.peer_name_count++;
        }
        inbound.peer_names = names;
        inbound.peer_address = cpt_bytes_of(cases[i].peer);
        inbound.is_forwarded = cases[i].is_forwarded;
        ask(pair.a, &inbound);
        CU_ASSERT_EQUAL(answer.metadata_bytes != 0, cases[i].is_trusted);
    }
    close_pair();
}

static void test_lengths_of_trusted_names(void)
{
    enum { LIMIT = 128 };
    char name[LIMIT + 2];
    const char *const names[] = {name, NULL};

    open_pair(never, never);
    memset(name, 'a', sizeof name);
    memcpy(name, "dns:", 4);
    for (size_t bytes = LIMIT - 1; bytes <= LIMIT + 1; bytes++) {
        name[bytes] = '\0';
        CU_ASSERT_EQUAL(cpt_service_set_trust(pair.a, names, NULL),
                        bytes <= LIMIT ? CPT_OK : CPT_LIMIT);
        name[bytes] = 'a';
    }
    memcpy(name, "dns:", 5); /* a name of nothing */
    CU_ASSERT_EQUAL(cpt_service_set_trust(pair.a, names, NULL), CPT_INVALID);
    close_pair();
}

/* An entry that was told nothing heeds the header of none, not even of loopback. */
static void test_an_entry_trusts_nobody_unless_told(void)
{
    static const char *const peers[] = {"127.0.0.1", "::1", "10.0.0.1"};
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = "A",
                                          .executor = &now.executor,
                                          .clock = &now.clock,
                                          .probability = -1};
    struct cpt_service *entry = NULL;

    open_pair(never, never);
    entry = cpt_service_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL(cpt_service_method_add(entry, "/", pair.a_plan, NULL), CPT_OK);
    for (size_t i = 0; i < 3; i++) {
        struct cpt_inbound inbound = inbound_with("1;forced");

        inbound.peer_address = cpt_bytes_of(peers[i]);
        ask(entry, &inbound);
        CU_ASSERT_EQUAL(answer.http_status, 200);
        CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    }
    CU_ASSERT_EQUAL(counter(entry, "refused_untrusted", NULL), 3);
    CU_ASSERT_EQUAL(counter(entry, "traced", NULL), 0);
    close_pair();
    cpt_service_free(entry);
}

CU_TestInfo cpt_trust_tests[] = {
    {"clients that an entry trusts", test_whom_an_entry_trusts},
    {"certificates that an entry trusts", test_names_that_an_entry_trusts},
    {"lengths of trusted names", test_lengths_of_trusted_names},
    {"an entry trusts no client unless told", test_an_entry_trusts_nobody_unless_told},
    CU_TEST_INFO_NULL,
};
