/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_wire.c - the suites of wire/ */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_ask_tests[];
extern CU_TestInfo cpt_forwarding_tests[];
extern CU_TestInfo cpt_base64_tests[];
extern CU_TestInfo cpt_budget_tests[];
extern CU_TestInfo cpt_traceparent_tests[];
extern CU_TestInfo cpt_tracestate_tests[];
extern CU_TestInfo cpt_metadata_tests[];
extern CU_TestInfo cpt_metadata_nanopb_tests[];
extern CU_TestInfo cpt_verbose_tests[];
extern CU_TestInfo cpt_metadata_drags_tests[];
extern CU_TestInfo cpt_metadata_nonce_tests[];
extern CU_TestInfo cpt_metadata_fit_tests[];
extern CU_TestInfo cpt_fit_model_tests[];
extern CU_TestInfo cpt_cbor_pull_tests[];
extern CU_TestInfo cpt_log_record_tests[];
extern CU_TestInfo cpt_log_tests[];
extern CU_TestInfo cpt_log_index_tests[];
extern CU_TestInfo cpt_log_parts_tests[];
extern CU_TestInfo cpt_log_shape_tests[];
extern CU_TestInfo cpt_log_zstd_tests[];
extern CU_TestInfo cpt_files_tests[];
extern CU_TestInfo cpt_graph_log_tests[];
extern CU_TestInfo cpt_graph_join_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"ask", NULL, NULL, NULL, NULL, cpt_ask_tests},
    {"forwarding", NULL, NULL, NULL, NULL, cpt_forwarding_tests},
    {"base64", NULL, NULL, NULL, NULL, cpt_base64_tests},
    {"budget", NULL, NULL, NULL, NULL, cpt_budget_tests},
    {"traceparent", NULL, NULL, NULL, NULL, cpt_traceparent_tests},
    {"tracestate", NULL, NULL, NULL, NULL, cpt_tracestate_tests},
    {"metadata", NULL, NULL, NULL, NULL, cpt_metadata_tests},
    {"metadata by nanopb", NULL, NULL, NULL, NULL, cpt_metadata_nanopb_tests},
    {"verbose form", NULL, NULL, NULL, NULL, cpt_verbose_tests},
    {"drags in metadata", NULL, NULL, NULL, NULL, cpt_metadata_drags_tests},
    {"nonce in metadata", NULL, NULL, NULL, NULL, cpt_metadata_nonce_tests},
    {"metadata fit", NULL, NULL, NULL, NULL, cpt_metadata_fit_tests},
    {"fit against a model", NULL, NULL, NULL, NULL, cpt_fit_model_tests},
    {"cbor pull", NULL, NULL, NULL, NULL, cpt_cbor_pull_tests},
    {"log record", NULL, NULL, NULL, NULL, cpt_log_record_tests},
    {"log", NULL, NULL, NULL, NULL, cpt_log_tests},
    {"log index", NULL, NULL, NULL, NULL, cpt_log_index_tests},
    {"parts of a log", NULL, NULL, NULL, NULL, cpt_log_parts_tests},
    {"shapes of paths", NULL, NULL, NULL, NULL, cpt_log_shape_tests},
    {"compressed log", NULL, NULL, NULL, NULL, cpt_log_zstd_tests},
    {"graph log", NULL, NULL, NULL, NULL, cpt_graph_log_tests},
    {"graphs joined", NULL, NULL, NULL, NULL, cpt_graph_join_tests},
    {"files", NULL, NULL, NULL, NULL, cpt_files_tests},
    CU_SUITE_INFO_NULL,
};
