/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_cpt.c - the suites of the core */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_alloc_tests[];
extern CU_TestInfo cpt_apportion_tests[];
extern CU_TestInfo cpt_critical_tests[];
extern CU_TestInfo cpt_critical_model_tests[];
extern CU_TestInfo cpt_semantics_tests[];
extern CU_TestInfo cpt_splice_tests[];
extern CU_TestInfo cpt_splice_model_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"alloc", NULL, NULL, NULL, NULL, cpt_alloc_tests},
    {"apportion", NULL, NULL, NULL, NULL, cpt_apportion_tests},
    {"critical", NULL, NULL, NULL, NULL, cpt_critical_tests},
    {"semantics", NULL, NULL, NULL, NULL, cpt_semantics_tests},
    {"splice", NULL, NULL, NULL, NULL, cpt_splice_tests},
    {"critical against a model", NULL, NULL, NULL, NULL, cpt_critical_model_tests},
    {"splice against a model", NULL, NULL, NULL, NULL, cpt_splice_model_tests},
    CU_SUITE_INFO_NULL,
};
