/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites.h - the table of the suites of a unit-test program */
#ifndef SUITES_H
#define SUITES_H

#include <CUnit/CUnit.h>

/* Ends with CU_SUITE_INFO_NULL; each unit-test program defines its own. */
extern CU_SuiteInfo cpt_suites[];

#endif
