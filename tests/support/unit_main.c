/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* unit_main.c - runs the suites of one program; fails also when no test ran */
#include "tests/support/suites.h"

#include <CUnit/Basic.h>

int main(void)
{
    int is_good = 0;

    if (CU_initialize_registry() != CUE_SUCCESS ||
        CU_register_suites(cpt_suites) != CUE_SUCCESS) {
        return 1;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    is_good = CU_basic_run_tests() == CUE_SUCCESS && CU_get_number_of_failures() == 0 &&
              CU_get_number_of_tests_run() > 0;
    CU_cleanup_registry();
    return is_good ? 0 : 1;
}
