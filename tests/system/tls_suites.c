/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_suites.c - the tests of TLS, listed */
#include "tls_suites.h"
#include "tls_support.h"

#include "tests/support/suites.h"

CU_SuiteInfo cpt_suites[] = {
    {"ports with TLS", certificates_begin, certificates_end, NULL, NULL,
     tls_serving_tests},
    {"calls to https", certificates_begin, certificates_end, NULL, NULL,
     tls_calls_tests},
    {"trust by certificates", certificates_begin, certificates_end, NULL, NULL,
     tls_trust_tests},
    CU_SUITE_INFO_NULL,
};
