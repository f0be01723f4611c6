/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_framework.c - the suites of the runtime */
#include "tests/support/suites.h"

extern CU_TestInfo cpt_graph_tests[];
extern CU_TestInfo cpt_request_tests[];
extern CU_TestInfo cpt_pending_tests[];
extern CU_TestInfo cpt_owner_tests[];
extern CU_TestInfo cpt_optional_tests[];
extern CU_TestInfo cpt_nesting_model_tests[];
extern CU_TestInfo cpt_nesting_stress_tests[];
extern CU_TestInfo cpt_nested_calls_tests[];
extern CU_TestInfo cpt_subgraph_tests[];
extern CU_TestInfo cpt_shared_tests[];
extern CU_TestInfo cpt_mutex_tests[];
extern CU_TestInfo cpt_blocked_tests[];
extern CU_TestInfo cpt_tight_tests[];
extern CU_TestInfo cpt_timer_thread_tests[];
extern CU_TestInfo cpt_kept_locks_tests[];
extern CU_TestInfo cpt_monkey_tests[];
extern CU_TestInfo cpt_lanes_tests[];
extern CU_TestInfo cpt_slack_tests[];
extern CU_TestInfo cpt_given_up_tests[];
extern CU_TestInfo cpt_manual_tests[];
extern CU_TestInfo cpt_manual_mistakes_tests[];
extern CU_TestInfo cpt_manual_drags_tests[];
extern CU_TestInfo cpt_manual_random_tests[];
extern CU_TestInfo cpt_manual_graph_tests[];
extern CU_TestInfo cpt_path_room_tests[];
extern CU_TestInfo cpt_ask_room_tests[];
extern CU_TestInfo cpt_nonce_tests[];
extern CU_TestInfo cpt_runtime_model_tests[];
extern CU_TestInfo cpt_pool_tests[];
extern CU_TestInfo cpt_deque_tests[];
extern CU_TestInfo cpt_stealing_tests[];
extern CU_TestInfo cpt_waiting_tests[];
extern CU_TestInfo cpt_waiting_random_tests[];
extern CU_TestInfo cpt_recording_dag_tests[];
extern CU_TestInfo cpt_edges_tests[];
extern CU_TestInfo cpt_kept_tests[];
extern CU_TestInfo cpt_drags_inband_tests[];
extern CU_TestInfo cpt_queue_executor_tests[];
extern CU_TestInfo cpt_service_tests[];
extern CU_TestInfo cpt_trace_context_tests[];
extern CU_TestInfo cpt_propagation_tests[];
extern CU_TestInfo cpt_contention_tests[];
extern CU_TestInfo cpt_one_trace_tests[];
extern CU_TestInfo cpt_policy_tests[];
extern CU_TestInfo cpt_policy_head_tests[];
extern CU_TestInfo cpt_route_tests[];
extern CU_TestInfo cpt_outcome_tests[];
extern CU_TestInfo cpt_refuse_tests[];
extern CU_TestInfo cpt_settings_tests[];
extern CU_TestInfo cpt_experiment_tests[];
extern CU_TestInfo cpt_trust_tests[];
extern CU_TestInfo cpt_calls_tests[];
extern CU_TestInfo cpt_repeats_tests[];
extern CU_TestInfo cpt_recipes_tests[];
extern CU_TestInfo cpt_hedge_tests[];
extern CU_TestInfo cpt_program_tests[];
extern CU_TestInfo cpt_call_rows_tests[];
extern CU_TestInfo cpt_call_rest_tests[];
extern CU_TestInfo cpt_elsewhere_tests[];
extern CU_TestInfo cpt_timers_tests[];
extern CU_TestInfo cpt_values_tests[];
extern CU_TestInfo cpt_cancel_tests[];
extern CU_TestInfo cpt_deadline_tests[];
extern CU_TestInfo cpt_failure_tests[];
extern CU_TestInfo cpt_four_executors_tests[];
extern CU_TestInfo cpt_limits_tests[];
extern CU_TestInfo cpt_traced_answers_tests[];
extern CU_TestInfo cpt_spans_tests[];
extern CU_TestInfo cpt_mistakes_tests[];
extern CU_TestInfo cpt_stress_tests[];
extern CU_TestInfo cpt_log_file_tests[];
extern CU_TestInfo cpt_log_trouble_tests[];
extern CU_TestInfo cpt_running_tests[];
extern CU_TestInfo cpt_semaphore_tests[];
extern CU_TestInfo cpt_stalls_tests[];
extern CU_TestInfo cpt_targets_tests[];

CU_SuiteInfo cpt_suites[] = {
    {"graph", NULL, NULL, NULL, NULL, cpt_graph_tests},
    {"request", NULL, NULL, NULL, NULL, cpt_request_tests},
    {"pendings", NULL, NULL, NULL, NULL, cpt_pending_tests},
    {"owner", NULL, NULL, NULL, NULL, cpt_owner_tests},
    {"optional inputs", NULL, NULL, NULL, NULL, cpt_optional_tests},
    {"sub-graphs", NULL, NULL, NULL, NULL, cpt_subgraph_tests},
    {"shared work", NULL, NULL, NULL, NULL, cpt_shared_tests},
    {"semaphores", NULL, NULL, NULL, NULL, cpt_semaphore_tests},
    {"stalls", NULL, NULL, NULL, NULL, cpt_stalls_tests},
    {"targets", NULL, NULL, NULL, NULL, cpt_targets_tests},
    {"locks", NULL, NULL, NULL, NULL, cpt_mutex_tests},
    {"blocked", NULL, NULL, NULL, NULL, cpt_blocked_tests},
    {"tight", NULL, NULL, NULL, NULL, cpt_tight_tests},
    {"timer thread", NULL, NULL, NULL, NULL, cpt_timer_thread_tests},
    {"locks that are kept", NULL, NULL, NULL, NULL, cpt_kept_locks_tests},
    {"what is given up", NULL, NULL, NULL, NULL, cpt_given_up_tests},
    {"monkey", NULL, NULL, NULL, NULL, cpt_monkey_tests},
    {"lanes", NULL, NULL, NULL, NULL, cpt_lanes_tests},
    {"slack", NULL, NULL, NULL, NULL, cpt_slack_tests},
    {"segments by hand", NULL, NULL, NULL, NULL, cpt_manual_tests},
    {"mistakes by hand", NULL, NULL, NULL, NULL, cpt_manual_mistakes_tests},
    {"drags by hand", NULL, NULL, NULL, NULL, cpt_manual_drags_tests},
    {"drags by hand, random", NULL, NULL, NULL, NULL, cpt_manual_random_tests},
    {"graphs by hand", NULL, NULL, NULL, NULL, cpt_manual_graph_tests},
    {"room for paths", NULL, NULL, NULL, NULL, cpt_path_room_tests},
    {"room for asks", NULL, NULL, NULL, NULL, cpt_ask_room_tests},
    {"nonces", NULL, NULL, NULL, NULL, cpt_nonce_tests},
    {"random graphs", NULL, NULL, NULL, NULL, cpt_runtime_model_tests},
    {"pool", NULL, NULL, NULL, NULL, cpt_pool_tests},
    {"deque", NULL, NULL, NULL, NULL, cpt_deque_tests},
    {"stealing", NULL, NULL, NULL, NULL, cpt_stealing_tests},
    {"waiting", NULL, NULL, NULL, NULL, cpt_waiting_tests},
    {"waiting, random graphs", NULL, NULL, NULL, NULL, cpt_waiting_random_tests},
    {"records for a dag", NULL, NULL, NULL, NULL, cpt_recording_dag_tests},
    {"edges of a request", NULL, NULL, NULL, NULL, cpt_edges_tests},
    {"kept graphs", NULL, NULL, NULL, NULL, cpt_kept_tests},
    {"drags in band", NULL, NULL, NULL, NULL, cpt_drags_inband_tests},
    {"queue executor", NULL, NULL, NULL, NULL, cpt_queue_executor_tests},
    {"service", NULL, NULL, NULL, NULL, cpt_service_tests},
    {"the trace of a request", NULL, NULL, NULL, NULL, cpt_trace_context_tests},
    {"headers that go on", NULL, NULL, NULL, NULL, cpt_propagation_tests},
    {"what was in the way", NULL, NULL, NULL, NULL, cpt_contention_tests},
    {"one trace for all", NULL, NULL, NULL, NULL, cpt_one_trace_tests},
    {"rules of an operator", NULL, NULL, NULL, NULL, cpt_policy_tests},
    {"what rules see", NULL, NULL, NULL, NULL, cpt_policy_head_tests},
    {"routes", NULL, NULL, NULL, NULL, cpt_route_tests},
    {"running requests", NULL, NULL, NULL, NULL, cpt_running_tests},
    {"outcomes", NULL, NULL, NULL, NULL, cpt_outcome_tests},
    {"refusals", NULL, NULL, NULL, NULL, cpt_refuse_tests},
    {"settings", NULL, NULL, NULL, NULL, cpt_settings_tests},
    {"experiment", NULL, NULL, NULL, NULL, cpt_experiment_tests},
    {"trust", NULL, NULL, NULL, NULL, cpt_trust_tests},
    {"calls", NULL, NULL, NULL, NULL, cpt_calls_tests},
    {"repeated calls", NULL, NULL, NULL, NULL, cpt_repeats_tests},
    {"recipes", NULL, NULL, NULL, NULL, cpt_recipes_tests},
    {"the recipe of a hedge", NULL, NULL, NULL, NULL, cpt_hedge_tests},
    {"the recipe of a program", NULL, NULL, NULL, NULL, cpt_program_tests},
    {"calls as rows", NULL, NULL, NULL, NULL, cpt_call_rows_tests},
    {"calls of REST services", NULL, NULL, NULL, NULL, cpt_call_rest_tests},
    {"on another executor", NULL, NULL, NULL, NULL, cpt_elsewhere_tests},
    {"timers that cannot be set", NULL, NULL, NULL, NULL, cpt_timers_tests},
    {"values that own something", NULL, NULL, NULL, NULL, cpt_values_tests},
    {"cancelling", NULL, NULL, NULL, NULL, cpt_cancel_tests},
    {"deadlines", NULL, NULL, NULL, NULL, cpt_deadline_tests},
    {"failures", NULL, NULL, NULL, NULL, cpt_failure_tests},
    {"four executors", NULL, NULL, NULL, NULL, cpt_four_executors_tests},
    {"limits", NULL, NULL, NULL, NULL, cpt_limits_tests},
    {"traced or not", NULL, NULL, NULL, NULL, cpt_traced_answers_tests},
    {"spans", NULL, NULL, NULL, NULL, cpt_spans_tests},
    {"mistakes", NULL, NULL, NULL, NULL, cpt_mistakes_tests},
    {"random components", NULL, NULL, NULL, NULL, cpt_nesting_model_tests},
    {"nested calls", NULL, NULL, NULL, NULL, cpt_nested_calls_tests},
    {"nesting, stress", NULL, NULL, NULL, NULL, cpt_nesting_stress_tests},
    {"log file", NULL, NULL, NULL, NULL, cpt_log_file_tests},
    {"log in trouble", NULL, NULL, NULL, NULL, cpt_log_trouble_tests},
    {"stress", NULL, NULL, NULL, NULL, cpt_stress_tests},
    CU_SUITE_INFO_NULL,
};
