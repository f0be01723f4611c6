/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_cli.c - the suites of the parts of the tool */
#include "tests/support/suites.h"

#include "tool/base/command.h"

extern CU_TestInfo cpt_when_tests[];
extern CU_TestInfo cpt_options_tests[];
extern CU_TestInfo cpt_json_write_tests[];
extern CU_TestInfo cpt_output_tests[];
extern CU_TestInfo cpt_names_tests[];
extern CU_TestInfo cpt_passwords_tests[];
extern CU_TestInfo cpt_sessions_tests[];
extern CU_TestInfo cpt_select_tests[];
extern CU_TestInfo cpt_expression_tests[];
extern CU_TestInfo cpt_expression_sql_tests[];
extern CU_TestInfo cpt_gather_tests[];
extern CU_TestInfo cpt_expression_path_tests[];
extern CU_TestInfo cpt_passing_tests[];
extern CU_TestInfo cpt_seen_tests[];
extern CU_TestInfo cpt_largest_tests[];
extern CU_TestInfo cli_relation_tests[];
extern CU_TestInfo cli_weighted_tests[];
extern CU_TestInfo cli_demo_jitter_tests[];
extern CU_TestInfo cli_whatif_inside_tests[];
extern CU_TestInfo cli_whatif_stats_tests[];
extern CU_TestInfo cpt_ids_tests[];
extern CU_TestInfo cpt_rule_tests[];
extern CU_TestInfo cpt_culprit_doubt_tests[];
extern CU_TestInfo cpt_culprit_kinds_tests[];
extern CU_TestInfo cpt_culprit_structure_tests[];
extern CU_TestInfo cpt_culprit_tests[];
extern CU_TestInfo cpt_web_tests[];
extern CU_TestInfo cpt_plans_tests[];
extern CU_TestInfo cpt_html_tests[];
extern CU_TestInfo cpt_html_data_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"points of time", NULL, NULL, NULL, NULL, cpt_when_tests},
    {"options", NULL, NULL, NULL, NULL, cpt_options_tests},
    {"JSON", NULL, NULL, NULL, NULL, cpt_json_write_tests},
    {"output", NULL, NULL, NULL, NULL, cpt_output_tests},
    {"names", NULL, NULL, NULL, NULL, cpt_names_tests},
    {"passwords", NULL, NULL, NULL, NULL, cpt_passwords_tests},
    {"sessions", NULL, NULL, NULL, NULL, cpt_sessions_tests},
    {"selections", NULL, NULL, NULL, NULL, cpt_select_tests},
    {"expressions", NULL, NULL, NULL, NULL, cpt_expression_tests},
    {"expressions from left to right", NULL, NULL, NULL, NULL,
     cpt_expression_sql_tests},
    {"percentiles and samples", NULL, NULL, NULL, NULL, cpt_gather_tests},
    {"paths in expressions", NULL, NULL, NULL, NULL, cpt_expression_path_tests},
    {"blocks passed over", NULL, NULL, NULL, NULL, cpt_passing_tests},
    {"answers of limited length", NULL, NULL, NULL, NULL, cpt_largest_tests},
    {"relations", NULL, NULL, NULL, NULL, cli_relation_tests},
    {"weighted means", NULL, NULL, NULL, NULL, cli_weighted_tests},
    {"jitter of the demo", NULL, NULL, NULL, NULL, cli_demo_jitter_tests},
    {"spans within operations", NULL, NULL, NULL, NULL, cli_whatif_inside_tests},
    {"intervals of what if", NULL, NULL, NULL, NULL, cli_whatif_stats_tests},
    {"records that were seen", NULL, NULL, NULL, NULL, cpt_seen_tests},
    {"files of ids", NULL, NULL, NULL, NULL, cpt_ids_tests},
    {"rules on traces", NULL, NULL, NULL, NULL, cpt_rule_tests},
    {"culprits", NULL, NULL, NULL, NULL, cpt_culprit_tests},
    {"culprits in doubt", NULL, NULL, NULL, NULL, cpt_culprit_doubt_tests},
    {"culprits by kind", NULL, NULL, NULL, NULL, cpt_culprit_kinds_tests},
    {"changes of structure", NULL, NULL, NULL, NULL, cpt_culprit_structure_tests},
    {"cpt web", NULL, NULL, NULL, NULL, cpt_web_tests},
#ifdef TEST_WITH_JSON
    {"plans as graphs", NULL, NULL, NULL, NULL, cpt_plans_tests},
#endif
    {"HTML", NULL, NULL, NULL, NULL, cpt_html_tests},
    {"data of HTML", NULL, NULL, NULL, NULL, cpt_html_data_tests},
    CU_SUITE_INFO_NULL,
};
