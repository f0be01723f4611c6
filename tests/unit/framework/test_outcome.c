/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_outcome.c - the table of outcomes, as it is and as it is set */
#include "tests/support/suites.h"

#include "framework/cpt_rpc.h"

#include <string.h>

static void test_grpc(void)
{
    for (unsigned code = 0; code <= 16; code++) {
        const unsigned outcome = cpt_outcome_of_grpc_code(code);

        CU_ASSERT_EQUAL(outcome, code + 1);
        CU_ASSERT_EQUAL(cpt_outcome_grpc_code(outcome), code);
    }
    CU_ASSERT_EQUAL(cpt_outcome_grpc_code(CPT_OUTCOME_NONE), 0);
    CU_ASSERT_EQUAL(cpt_outcome_grpc_code(99), 2);
    CU_ASSERT_EQUAL(cpt_outcome_of_grpc_code(17), CPT_OUTCOME_UNKNOWN);
    CU_ASSERT_EQUAL(cpt_outcome_of_grpc_code(UINT32_MAX), CPT_OUTCOME_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(cpt_outcome_name(CPT_OUTCOME_NOT_FOUND), "NOT_FOUND");
    CU_ASSERT_STRING_EQUAL(cpt_outcome_name(99), "UNKNOWN");
}

static void test_http_is_set(void)
{
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(503), CPT_OUTCOME_RESOURCE_EXHAUSTED);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_RESOURCE_EXHAUSTED, 429),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_UNAVAILABLE, 503), CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_http_status(CPT_OUTCOME_RESOURCE_EXHAUSTED), 429);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(429), CPT_OUTCOME_RESOURCE_EXHAUSTED);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(503), CPT_OUTCOME_UNAVAILABLE);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(502), CPT_OUTCOME_UNAVAILABLE);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(0), CPT_OUTCOME_OK);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_RESOURCE_EXHAUSTED, 0),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_UNAVAILABLE, 0), CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(503), CPT_OUTCOME_RESOURCE_EXHAUSTED);
}

static void test_bad_settings(void)
{
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_NONE, 200), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(99, 200), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_OK, 199), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_http_status(CPT_OUTCOME_OK, 600), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_of_status(CPT_OK, CPT_OUTCOME_UNKNOWN),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_of_status(-99, CPT_OUTCOME_UNKNOWN), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_of_status(CPT_FAILED, CPT_OUTCOME_OK), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_outcome_set_of_status(CPT_FAILED, 99), CPT_INVALID);
}

static void test_status_is_set(void)
{
    CU_ASSERT_EQUAL(cpt_outcome_of_status(CPT_CORRUPT), CPT_OUTCOME_UNKNOWN);
    CU_ASSERT_EQUAL(
        cpt_outcome_set_of_status(CPT_CORRUPT, CPT_OUTCOME_INVALID_ARGUMENT), CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_of_status(CPT_CORRUPT), CPT_OUTCOME_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(cpt_outcome_set_of_status(CPT_CORRUPT, CPT_OUTCOME_NONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_outcome_of_status(CPT_CORRUPT), CPT_OUTCOME_UNKNOWN);
    CU_ASSERT_EQUAL(cpt_outcome_of_status(CPT_TIMEOUT), CPT_OUTCOME_DEADLINE_EXCEEDED);
    CU_ASSERT_EQUAL(cpt_outcome_of_status(12345), CPT_OUTCOME_UNKNOWN);
}

CU_TestInfo cpt_outcome_tests[] = {
    {"each outcome is a code of gRPC, and back", test_grpc},
    {"the status of HTTP of an outcome can be set, and set back", test_http_is_set},
    {"what is no outcome, status or error is not set", test_bad_settings},
    {"the outcome of an error can be set, and set back", test_status_is_set},
    CU_TEST_INFO_NULL,
};
