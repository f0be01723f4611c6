/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tls_suites.h - the tests of TLS; each table is in the file of its name */
#ifndef TLS_SUITES_H
#define TLS_SUITES_H

#include <CUnit/CUnit.h>

extern CU_TestInfo tls_serving_tests[];
extern CU_TestInfo tls_calls_tests[];
extern CU_TestInfo tls_trust_tests[];

#endif
