/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_import.c - the suites of the importers */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_spans_tests[];
extern CU_TestInfo cpt_span_pieces_tests[];
extern CU_TestInfo cpt_span_path_tests[];
extern CU_TestInfo cpt_note_path_tests[];
extern CU_TestInfo cpt_spans_model_tests[];
extern CU_TestInfo cpt_span_waits_tests[];
extern CU_TestInfo cpt_span_trace_tests[];
extern CU_TestInfo cpt_learn_tests[];
extern CU_TestInfo cpt_learn_trees_tests[];
extern CU_TestInfo cpt_interval_vote_tests[];
extern CU_TestInfo cpt_span_clocks_tests[];
extern CU_TestInfo cpt_span_liars_tests[];
extern CU_TestInfo cpt_span_explain_tests[];
extern CU_TestInfo cpt_span_all_tests[];
extern CU_TestInfo cpt_requests_tests[];
extern CU_TestInfo cpt_nesting_tests[];
extern CU_TestInfo cpt_event_traces_tests[];
extern CU_TestInfo cpt_model_tests[];
extern CU_TestInfo cpt_model_changes_tests[];
extern CU_TestInfo cpt_event_lines_tests[];
extern CU_TestInfo cpt_entry_lines_tests[];
extern CU_TestInfo cpt_json_tests[];
extern CU_TestInfo cpt_pieces_tests[];
extern CU_TestInfo cpt_formats_tests[];
extern CU_TestInfo cpt_traces_tests[];
extern CU_TestInfo cpt_live_tests[];
extern CU_TestInfo cpt_otlp_protobuf_tests[];
extern CU_TestInfo cpt_batches_tests[];
extern CU_TestInfo cpt_event_formats_tests[];
extern CU_TestInfo cpt_event_times_tests[];
extern CU_TestInfo cpt_sources_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"spans", NULL, NULL, NULL, NULL, cpt_spans_tests},
    {"span pieces", NULL, NULL, NULL, NULL, cpt_span_pieces_tests},
    {"span path", NULL, NULL, NULL, NULL, cpt_span_path_tests},
    {"note path", NULL, NULL, NULL, NULL, cpt_note_path_tests},
    {"spans model", NULL, NULL, NULL, NULL, cpt_spans_model_tests},
    {"span waits", NULL, NULL, NULL, NULL, cpt_span_waits_tests},
    {"span trace", NULL, NULL, NULL, NULL, cpt_span_trace_tests},
    {"learning", NULL, NULL, NULL, NULL, cpt_learn_tests},
    {"learning from trees", NULL, NULL, NULL, NULL, cpt_learn_trees_tests},
    {"interval vote", NULL, NULL, NULL, NULL, cpt_interval_vote_tests},
    {"span clocks", NULL, NULL, NULL, NULL, cpt_span_clocks_tests},
    {"span liars", NULL, NULL, NULL, NULL, cpt_span_liars_tests},
    {"span explain", NULL, NULL, NULL, NULL, cpt_span_explain_tests},
    {"span all", NULL, NULL, NULL, NULL, cpt_span_all_tests},
    {"requests", NULL, NULL, NULL, NULL, cpt_requests_tests},
    {"nesting", NULL, NULL, NULL, NULL, cpt_nesting_tests},
    {"event traces", NULL, NULL, NULL, NULL, cpt_event_traces_tests},
    {"models", NULL, NULL, NULL, NULL, cpt_model_tests},
    {"changes of models", NULL, NULL, NULL, NULL, cpt_model_changes_tests},
#ifdef TEST_WITH_JSON
    {"lines of events", NULL, NULL, NULL, NULL, cpt_event_lines_tests},
    {"lines of an entry", NULL, NULL, NULL, NULL, cpt_entry_lines_tests},
    {"JSON", NULL, NULL, NULL, NULL, cpt_json_tests},
    {"pieces", NULL, NULL, NULL, NULL, cpt_pieces_tests},
    {"formats", NULL, NULL, NULL, NULL, cpt_formats_tests},
    {"traces", NULL, NULL, NULL, NULL, cpt_traces_tests},
    {"live", NULL, NULL, NULL, NULL, cpt_live_tests},
    {"OTLP in protobuf", NULL, NULL, NULL, NULL, cpt_otlp_protobuf_tests},
    {"batches", NULL, NULL, NULL, NULL, cpt_batches_tests},
    {"event formats", NULL, NULL, NULL, NULL, cpt_event_formats_tests},
    {"event times", NULL, NULL, NULL, NULL, cpt_event_times_tests},
    {"sources", NULL, NULL, NULL, NULL, cpt_sources_tests},
#endif
    CU_SUITE_INFO_NULL,
};
