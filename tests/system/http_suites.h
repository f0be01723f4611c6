/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_suites.h - the transport's tests, file by file */
#ifndef HTTP_SUITES_H
#define HTTP_SUITES_H

#include <CUnit/CUnit.h>

extern CU_TestInfo http_calls_tests[];
extern CU_TestInfo http_resent_tests[];
extern CU_TestInfo http_serving_tests[];
extern CU_TestInfo http_headers_tests[];
extern CU_TestInfo http_rest_tests[];
extern CU_TestInfo http_routes_tests[];
extern CU_TestInfo http_operators_tests[];
extern CU_TestInfo http_draining_tests[];
extern CU_TestInfo http_cancelling_tests[];
extern CU_TestInfo http_ambiguous_tests[];
extern CU_TestInfo http_limits_tests[];
extern CU_TestInfo http_room_tests[];
extern CU_TestInfo http_targets_tests[];
extern CU_TestInfo http_names_tests[];
extern CU_TestInfo http_queues_tests[];

#endif
