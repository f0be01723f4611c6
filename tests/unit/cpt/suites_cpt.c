/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_cpt.c - the suites of the core */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_status_tests[];
extern CU_TestInfo cpt_alloc_tests[];
extern CU_TestInfo cpt_arena_tests[];
extern CU_TestInfo cpt_name_tests[];
extern CU_TestInfo cpt_memory_tests[];
extern CU_TestInfo cpt_clock_tests[];
extern CU_TestInfo cpt_crc32c_tests[];
extern CU_TestInfo cpt_apportion_tests[];
extern CU_TestInfo cpt_trace_build_tests[];
extern CU_TestInfo cpt_path_tests[];
extern CU_TestInfo cpt_path_text_tests[];
extern CU_TestInfo cpt_drags_tests[];
extern CU_TestInfo cpt_critical_tests[];
extern CU_TestInfo cpt_semantics_tests[];
extern CU_TestInfo cpt_splice_tests[];
extern CU_TestInfo cpt_large_tests[];
extern CU_TestInfo cpt_waits_tests[];
extern CU_TestInfo cpt_folding_tests[];
extern CU_TestInfo cpt_dag_tests[];
extern CU_TestInfo cpt_dag_trace_tests[];
extern CU_TestInfo cpt_drag_tests[];
extern CU_TestInfo cpt_drag_systems_tests[];
extern CU_TestInfo cpt_busy_tests[];
extern CU_TestInfo cpt_whatif_tests[];
extern CU_TestInfo cpt_whatif_queue_tests[];
extern CU_TestInfo cpt_whatif_range_tests[];
extern CU_TestInfo cpt_critical_model_tests[];
extern CU_TestInfo cpt_open_task_tests[];
extern CU_TestInfo cpt_splice_model_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"status", NULL, NULL, NULL, NULL, cpt_status_tests},
    {"alloc", NULL, NULL, NULL, NULL, cpt_alloc_tests},
    {"arena", NULL, NULL, NULL, NULL, cpt_arena_tests},
    {"name", NULL, NULL, NULL, NULL, cpt_name_tests},
    {"memory", NULL, NULL, NULL, NULL, cpt_memory_tests},
    {"clock", NULL, NULL, NULL, NULL, cpt_clock_tests},
    {"crc32c", NULL, NULL, NULL, NULL, cpt_crc32c_tests},
    {"apportion", NULL, NULL, NULL, NULL, cpt_apportion_tests},
    {"trace build", NULL, NULL, NULL, NULL, cpt_trace_build_tests},
    {"path", NULL, NULL, NULL, NULL, cpt_path_tests},
    {"path as text", NULL, NULL, NULL, NULL, cpt_path_text_tests},
    {"drags", NULL, NULL, NULL, NULL, cpt_drags_tests},
    {"critical", NULL, NULL, NULL, NULL, cpt_critical_tests},
    {"semantics", NULL, NULL, NULL, NULL, cpt_semantics_tests},
    {"splice", NULL, NULL, NULL, NULL, cpt_splice_tests},
    {"large traces", NULL, NULL, NULL, NULL, cpt_large_tests},
    {"holders of waits", NULL, NULL, NULL, NULL, cpt_waits_tests},
    {"folding", NULL, NULL, NULL, NULL, cpt_folding_tests},
    {"dag", NULL, NULL, NULL, NULL, cpt_dag_tests},
    {"dags of traces", NULL, NULL, NULL, NULL, cpt_dag_trace_tests},
    {"drags of segments", NULL, NULL, NULL, NULL, cpt_drag_tests},
    {"drags through services", NULL, NULL, NULL, NULL, cpt_drag_systems_tests},
    {"normalised processor time", NULL, NULL, NULL, NULL, cpt_busy_tests},
    {"what if", NULL, NULL, NULL, NULL, cpt_whatif_tests},
    {"what if, queues", NULL, NULL, NULL, NULL, cpt_whatif_queue_tests},
    {"what if, ranges", NULL, NULL, NULL, NULL, cpt_whatif_range_tests},
    {"critical against a model", NULL, NULL, NULL, NULL, cpt_critical_model_tests},
    {"tasks opened by the walk", NULL, NULL, NULL, NULL, cpt_open_task_tests},
    {"splice against a model", NULL, NULL, NULL, NULL, cpt_splice_model_tests},
    CU_SUITE_INFO_NULL,
};
