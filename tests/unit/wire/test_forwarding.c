/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_forwarding.c - headers that say that a request was sent on for another */
#include "tests/support/suites.h"
#include "wire/cpt_metadata.h"
#include "wire/forwarding-headers.made.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum verdict { VERDICT_no, VERDICT_yes };

static void expect(const char *name, size_t bytes, int is_forwarding)
{
    const struct cpt_bytes given = {name, bytes};

    if (cpt_header_is_forwarding(given) != is_forwarding) {
        (void)fprintf(stderr, "'%.*s'\n", (int)bytes, bytes != 0 ? name : "");
        CU_FAIL("a wrong verdict");
    }
}

/* As they are, and in upper and in lower case. */
static void test_examples(void)
{
    static const struct {
        enum verdict verdict;
        const char *name;
    } examples[] = {
#define EXAMPLE_(verdict, name) {VERDICT_##verdict, name},
        CPTI_FORWARDING_EXAMPLES(EXAMPLE_)
#undef EXAMPLE_
    };
    char changed[64];

    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const char *name = examples[i].name;
        const size_t bytes = strlen(name);

        expect(name, bytes, (int)examples[i].verdict);
        for (size_t at = 0; at < bytes; at++) {
            changed[at] = (char)toupper((unsigned char)name[at]);
        }
        expect(changed, bytes, (int)examples[i].verdict);
        for (size_t at = 0; at < bytes; at++) {
            changed[at] = (char)tolower((unsigned char)name[at]);
        }
        expect(changed, bytes, (int)examples[i].verdict);
    }
}

/* Only the bytes of the name count, not what stands around it. */
static void test_bytes(void)
{
    expect("Via", 2, 0);
    expect("Viaduct", 3, 1);
    expect("X-Real-IPX", 9, 1);
    expect("X-Real-IP", 8, 0);
    expect("-IP", 3, 1);
    expect("IP", 2, 0);
    expect("X-Forwarded-", 12, 1);
    expect("X-Forwarded-For\0", 16, 1);
    expect("Via\0", 4, 0);
    expect("", 0, 0);
    expect(NULL, 0, 0);
}

CU_TestInfo cpt_forwarding_tests[] = {
    {"the examples of the list", test_examples},
    {"a name is its bytes", test_bytes},
    CU_TEST_INFO_NULL,
};
