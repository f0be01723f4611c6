/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_culprit_structure.c - what requests do, as numbers */
#include "tests/unit/cli/culprit_paths.h"

#include "cpt/cli/culprit/culprit_structure.h"

#include <stdio.h>

/* --- Limits --- */

/* Names without an end: what does not fit is counted, and the rest is compared. */
static void test_limits(void)
{
    struct cpti_structure *structure = cpti_structure_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    enum { MANY = 140, CALLS = 1000 };

    for (int i = 0; i < MANY; i++) {
        uint32_t a;

        cpt_path_reset(path);
        a = add(path, CPT_FRAME_NONE, "A: /");
        put(path, a, 1);
        for (int k = 0; k < CALLS; k++) {
            char name[32];

            (void)snprintf(name, sizeof name, "B: %d", i * CALLS + k);
            put(path, add(path, a, name), 1);
            put(path, a, 1);
        }
        CU_ASSERT_EQUAL(cpti_structure_add(structure, CPTI_CULPRIT_BASE, path), CPT_OK);
    }
    CU_ASSERT_TRUE(cpti_structure_left_out(structure) > 0);
    CU_ASSERT_TRUE(cpti_structure_left_out(structure) < MANY);
    cpt_path_free(path);
    cpti_structure_free(structure);
}

CU_TestInfo cpt_culprit_structure_tests[] = {
    {"limits", test_limits},
    CU_TEST_INFO_NULL,
};
