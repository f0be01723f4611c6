/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * unit_main.c - runs the suites of one program; the variable CPT_TEST_SUITE selects one
 * by name. Fails also if no test ran. What failed is said again at the end, where a
 * reader of a log's last lines finds it.
 */
#include "tests/support/suites.h"

#include <CUnit/Basic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The selected suites. */
static CU_ErrorCode add_suites(void)
{
    const char *only = getenv("CPT_TEST_SUITE");
    CU_SuiteInfo one[2] = {CU_SUITE_INFO_NULL, CU_SUITE_INFO_NULL};

    if (only == NULL) {
        return CU_register_suites(cpt_suites);
    }
    for (const CU_SuiteInfo *suite = cpt_suites; suite->pName != NULL; suite++) {
        if (strcmp(suite->pName, only) == 0) {
            one[0] = *suite;
        }
    }
    if (one[0].pName == NULL) {
        (void)fprintf(stderr, "CPT_TEST_SUITE: no suite is named '%s'; there are:\n",
                      only);
        for (const CU_SuiteInfo *suite = cpt_suites; suite->pName != NULL; suite++) {
            (void)fprintf(stderr, "  %s\n", suite->pName);
        }
    }
    return CU_register_suites(one);
}

int main(void)
{
    int is_good = 0;

    (void)setvbuf(stdout, NULL, _IONBF, 0); /* shows which test hangs */
    if (CU_initialize_registry() != CUE_SUCCESS || add_suites() != CUE_SUCCESS) {
        return 1;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    is_good = CU_basic_run_tests() == CUE_SUCCESS && CU_get_number_of_failures() == 0 &&
              CU_get_number_of_tests_run() > 0;
    CU_basic_show_failures(CU_get_failure_list());
    CU_cleanup_registry();
    return is_good ? 0 : 1;
}
