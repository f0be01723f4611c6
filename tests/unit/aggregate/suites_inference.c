/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_inference.c - the suites of aggregate/ that simulate: their own program */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_coverage_tests[];
extern CU_TestInfo cpt_heaviness_tests[];
extern CU_TestInfo cpt_change_tests[];
extern CU_TestInfo cpt_quantile_tests[];
extern CU_TestInfo cpt_tail_tests[];
extern CU_TestInfo cpt_clusters_tests[];
extern CU_TestInfo cpt_serial_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"coverage", NULL, NULL, NULL, NULL, cpt_coverage_tests},
    {"heaviness", NULL, NULL, NULL, NULL, cpt_heaviness_tests},
    {"change", NULL, NULL, NULL, NULL, cpt_change_tests},
    {"quantile", NULL, NULL, NULL, NULL, cpt_quantile_tests},
    {"tail", NULL, NULL, NULL, NULL, cpt_tail_tests},
    {"clusters", NULL, NULL, NULL, NULL, cpt_clusters_tests},
    {"serial", NULL, NULL, NULL, NULL, cpt_serial_tests},
    CU_SUITE_INFO_NULL,
};
