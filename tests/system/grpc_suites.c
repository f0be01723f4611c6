/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_suites.c - the tests of the gRPC transport, listed */
#include "grpc_support.h"

#include "tests/support/suites.h"

CU_SuiteInfo cpt_suites[] = {
    {"calls", NULL, NULL, NULL, NULL, grpc_calls_tests},
    {"serving", NULL, NULL, NULL, NULL, grpc_serving_tests},
    {"streams", NULL, NULL, NULL, NULL, grpc_streams_tests},
    {"ending", NULL, NULL, NULL, NULL, grpc_ending_tests},
    CU_SUITE_INFO_NULL,
};
