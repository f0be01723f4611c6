/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_pprof.c - the suites of pprof-export/ */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_profile_tests[];
extern CU_TestInfo cpt_drag_profile_tests[];
extern CU_TestInfo cpt_folded_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"profile", NULL, NULL, NULL, NULL, cpt_profile_tests},
    {"drag_profile", NULL, NULL, NULL, NULL, cpt_drag_profile_tests},
    {"folded", NULL, NULL, NULL, NULL, cpt_folded_tests},
    CU_SUITE_INFO_NULL,
};
