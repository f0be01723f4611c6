/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_suites.c - the transport's tests, listed */
#include "http_suites.h"

#include "tests/support/suites.h"

CU_SuiteInfo cpt_suites[] = {
    {"calls", NULL, NULL, NULL, NULL, http_calls_tests},
    {"calls that are sent again", NULL, NULL, NULL, NULL, http_resent_tests},
    {"serving", NULL, NULL, NULL, NULL, http_serving_tests},
    {"headers of replies", NULL, NULL, NULL, NULL, http_headers_tests},
    {"calls of REST services", NULL, NULL, NULL, NULL, http_rest_tests},
    {"routes", NULL, NULL, NULL, NULL, http_routes_tests},
    {"operators", NULL, NULL, NULL, NULL, http_operators_tests},
    {"draining", NULL, NULL, NULL, NULL, http_draining_tests},
    {"cancelling", NULL, NULL, NULL, NULL, http_cancelling_tests},
    {"ambiguous messages", NULL, NULL, NULL, NULL, http_ambiguous_tests},
    {"limits", NULL, NULL, NULL, NULL, http_limits_tests},
    {"room", NULL, NULL, NULL, NULL, http_room_tests},
    {"targets", NULL, NULL, NULL, NULL, http_targets_tests},
    {"queues", NULL, NULL, NULL, NULL, http_queues_tests},
    {"names", NULL, NULL, NULL, NULL, http_names_tests},
    CU_SUITE_INFO_NULL,
};
