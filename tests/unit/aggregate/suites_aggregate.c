/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_aggregate.c - the suites of aggregate/ */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_wide_tests[];
extern CU_TestInfo cpt_histogram_tests[];
extern CU_TestInfo cpt_shape_tests[];
extern CU_TestInfo cpt_tree_tests[];
extern CU_TestInfo cpt_tree_bytes_tests[];
extern CU_TestInfo cpt_group_tests[];
extern CU_TestInfo cpt_gain_tests[];
extern CU_TestInfo cpt_stats_tests[];
extern CU_TestInfo cpt_interval_tests[];
extern CU_TestInfo cpt_diff_tests[];
extern CU_TestInfo cpt_view_tests[];
extern CU_TestInfo cpt_sample_tests[];
extern CU_TestInfo cpt_deal_tests[];
extern CU_TestInfo cpt_strata_tests[];
extern CU_TestInfo cpt_edge_path_tests[];
extern CU_TestInfo cpt_sizing_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"wide", NULL, NULL, NULL, NULL, cpt_wide_tests},
    {"histogram", NULL, NULL, NULL, NULL, cpt_histogram_tests},
    {"shape", NULL, NULL, NULL, NULL, cpt_shape_tests},
    {"tree", NULL, NULL, NULL, NULL, cpt_tree_tests},
    {"tree_bytes", NULL, NULL, NULL, NULL, cpt_tree_bytes_tests},
    {"group", NULL, NULL, NULL, NULL, cpt_group_tests},
    {"gain", NULL, NULL, NULL, NULL, cpt_gain_tests},
    {"stats", NULL, NULL, NULL, NULL, cpt_stats_tests},
    {"interval", NULL, NULL, NULL, NULL, cpt_interval_tests},
    {"diff", NULL, NULL, NULL, NULL, cpt_diff_tests},
    {"view", NULL, NULL, NULL, NULL, cpt_view_tests},
    {"sample", NULL, NULL, NULL, NULL, cpt_sample_tests},
    {"deal", NULL, NULL, NULL, NULL, cpt_deal_tests},
    {"strata", NULL, NULL, NULL, NULL, cpt_strata_tests},
    {"edge_path", NULL, NULL, NULL, NULL, cpt_edge_path_tests},
    {"sizing", NULL, NULL, NULL, NULL, cpt_sizing_tests},
    CU_SUITE_INFO_NULL,
};
