/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_framework.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_log_file.h>
#include <cpt/cpt_log_queue.h>
#include <cpt/cpt_manual.h>
#include <cpt/cpt_mutex.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>
#include <cpt/cpt_shared.h>

#include "api_0_1.h"

/* --- cpt_graph.h --- */

VALUE(CPT_TASK_VALUES_MAX, 16);
VALUE(CPT_WAIT_DEPTH_MAX, 16);
VALUE(CPT_GRAPH_TASKS_MAX, 65535);
VALUE(CPT_PLAN_NAMES_MAX, 1000);
VALUE(CPT_NESTING_MAX, 32);
TYPE(cpt_task_fn, cpt_status (**)(struct cpt_task *));
FIRST(struct cpt_value, name, const char **);
NEXT(struct cpt_value, name, bytes, size_t *);
NEXT(struct cpt_value, bytes, type, const char **);
NEXT(struct cpt_value, type, otherwise, const void **);
FIRST(struct cpt_group, name, const char **);
NEXT(struct cpt_group, name, parent, const struct cpt_group **);
FIRST(struct cpt_task_def, name, const char **);
NEXT(struct cpt_task_def, name, run, cpt_task_fn *);
NEXT(struct cpt_task_def, run, gives, const struct cpt_value **);
NEXT(struct cpt_task_def, gives, needs, const struct cpt_value *(*)[17]);
NEXT(struct cpt_task_def, needs, starts, const struct cpt_value *(*)[17]);
NEXT(struct cpt_task_def, starts, group, const struct cpt_group **);
NEXT(struct cpt_task_def, group, wants, const struct cpt_value *(*)[17]);
NEXT(struct cpt_task_def, wants, component, const struct cpt_graph **);
FIRST(struct cpt_graph, service, const char **);
NEXT(struct cpt_graph, service, input, const struct cpt_value **);
NEXT(struct cpt_graph, input, output, const struct cpt_value **);
NEXT(struct cpt_graph, output, tasks, const struct cpt_task_def **);
NEXT(struct cpt_graph, tasks, task_count, size_t *);
FUNCTION(struct cpt_plan *, cpt_plan_new,
         (const struct cpt_graph *, const struct cpt_alloc *, struct cpt_error *));
FUNCTION(void, cpt_plan_free, (struct cpt_plan *));
FUNCTION(const void *, cpt_task_input, (struct cpt_task *, const struct cpt_value *));
FUNCTION(cpt_status, cpt_task_input_status,
         (struct cpt_task *, const struct cpt_value *));
FUNCTION(void *, cpt_task_output, (struct cpt_task *, const struct cpt_value *));
FUNCTION(void *, cpt_task_state, (struct cpt_task *, size_t));
FUNCTION(void *, cpt_task_memory, (struct cpt_task *, size_t));
FUNCTION(struct cpt_request *, cpt_task_request, (struct cpt_task *));
FUNCTION(uint64_t, cpt_task_remaining_ns, (struct cpt_task *));
FUNCTION(uint64_t, cpt_task_slack_ns, (const struct cpt_task *));
FUNCTION(void, cpt_task_set_slack, (struct cpt_task *, uint64_t));
FUNCTION(int, cpt_task_is_cancelled, (struct cpt_task *));
FUNCTION(struct cpt_task *, cpt_current_task, (void));
FUNCTION(cpt_status, cpt_fail, (struct cpt_task *, cpt_status, const char *, ...));
FUNCTION(struct cpt_pending *, cpt_task_start,
         (struct cpt_task *, const struct cpt_value *));
FUNCTION(struct cpt_pending *, cpt_defer, (struct cpt_task *, const char *));
FUNCTION(struct cpt_pending *, cpt_defer_cancellable,
         (struct cpt_task *, const char *, void (*)(void *), void *));
FUNCTION(struct cpt_pending *, cpt_sleep, (struct cpt_task *, const char *, uint64_t));
FUNCTION(struct cpt_pending *, cpt_back_off, (struct cpt_task *, uint64_t));
FUNCTION(struct cpt_pending *, cpt_task_spawn,
         (struct cpt_task *, const char *, const struct cpt_plan *,
          const struct cpt_value *, const void *));
FUNCTION(const void *, cpt_task_run_output,
         (struct cpt_pending *, const struct cpt_value *));
FUNCTION(const char *, cpt_run_sentence, (struct cpt_pending *));
FUNCTION(void, cpt_complete, (struct cpt_pending *, cpt_status));
FUNCTION(cpt_status, cpt_await, (struct cpt_task *, struct cpt_pending *, cpt_task_fn));
FUNCTION(cpt_status, cpt_await_some,
         (struct cpt_task *, struct cpt_pending *const *, size_t, size_t, cpt_task_fn));
FUNCTION(cpt_status, cpt_await_all, (struct cpt_task *, cpt_task_fn));
FUNCTION(cpt_status, cpt_await_all_for, (struct cpt_task *, uint64_t, cpt_task_fn));
FUNCTION(cpt_status, cpt_wait, (struct cpt_task *, struct cpt_pending *));
FUNCTION(cpt_status, cpt_pending_status, (struct cpt_pending *));
FUNCTION(void, cpt_cancel, (struct cpt_pending *));

/* --- cpt_log_file.h --- */

VALUE(CPT_LOG_FILE_NAME_BYTES_MAX, 128);
FIRST(struct cpt_log_file_options, struct_bytes, size_t *);
NEXT(struct cpt_log_file_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_log_file_options, alloc, directory, const char **);
NEXT(struct cpt_log_file_options, directory, name, const char **);
NEXT(struct cpt_log_file_options, name, file_bytes_max, uint64_t *);
NEXT(struct cpt_log_file_options, file_bytes_max, file_age_ns_max, uint64_t *);
NEXT(struct cpt_log_file_options, file_age_ns_max, kept_file_count_max, size_t *);
NEXT(struct cpt_log_file_options, kept_file_count_max, is_synced, int *);
FIRST(struct cpt_log_file_counts, file_count, uint64_t *);
NEXT(struct cpt_log_file_counts, file_count, block_count, uint64_t *);
NEXT(struct cpt_log_file_counts, block_count, byte_count, uint64_t *);
NEXT(struct cpt_log_file_counts, byte_count, failed_count, uint64_t *);
NEXT(struct cpt_log_file_counts, failed_count, removed_count, uint64_t *);
NEXT(struct cpt_log_file_counts, removed_count, unindexed_count, uint64_t *);
FUNCTION(struct cpt_log_file *, cpt_log_file_new,
         (const struct cpt_log_file_options *, struct cpt_error *));
FUNCTION(void, cpt_log_file_free, (struct cpt_log_file *));
FUNCTION(cpt_status, cpt_log_file_write, (void *, const void *, size_t));
FUNCTION(cpt_status, cpt_log_file_finish, (struct cpt_log_file *));
FUNCTION(void, cpt_log_file_counts,
         (const struct cpt_log_file *, struct cpt_log_file_counts *));

/* --- cpt_log_queue.h --- */

TYPE(cpt_log_sink_fn, cpt_status (**)(void *, const void *, size_t));
FIRST(struct cpt_log_queue_options, struct_bytes, size_t *);
NEXT(struct cpt_log_queue_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_log_queue_options, alloc, sink, cpt_log_sink_fn *);
NEXT(struct cpt_log_queue_options, sink, context, void **);
NEXT(struct cpt_log_queue_options, context, record_count_max, size_t *);
NEXT(struct cpt_log_queue_options, record_count_max, memory_bytes_max, size_t *);
NEXT(struct cpt_log_queue_options, memory_bytes_max, flush_ns, uint64_t *);
NEXT(struct cpt_log_queue_options, flush_ns, zstd_level, int *);
FIRST(struct cpt_log_queue_counts, logged_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, logged_count, dropped_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, dropped_count, unencodable_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, unencodable_count, sink_lost_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, sink_lost_count, block_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, block_count, byte_count, uint64_t *);
NEXT(struct cpt_log_queue_counts, byte_count, failed_block_count, uint64_t *);
FUNCTION(struct cpt_log_queue *, cpt_log_queue_new,
         (const struct cpt_log_queue_options *, struct cpt_error *));
FUNCTION(void, cpt_log_queue_free, (struct cpt_log_queue *));
FUNCTION(void, cpt_log_queue_flush, (struct cpt_log_queue *));
FUNCTION(void, cpt_log_queue_counts,
         (struct cpt_log_queue *, struct cpt_log_queue_counts *));
FUNCTION(cpt_status, cpt_log_sink_descriptor, (void *, const void *, size_t));

/* --- cpt_manual.h --- */

FIRST(struct cpt_manual_reply, status, cpt_status *);
NEXT(struct cpt_manual_reply, status, attempt, unsigned int *);
NEXT(struct cpt_manual_reply, attempt, is_cached, int *);
NEXT(struct cpt_manual_reply, is_cached, metadata_text, struct cpt_bytes *);
NEXT(struct cpt_manual_reply, metadata_text, metadata, struct cpt_bytes *);
FUNCTION(struct cpt_manual *, cpt_manual_new,
         (struct cpt_service *, const struct cpt_inbound *));
FUNCTION(void, cpt_manual_enter, (struct cpt_manual *, const char *));
FUNCTION(void, cpt_manual_leave, (struct cpt_manual *));
FUNCTION(struct cpt_bytes, cpt_manual_ask, (const struct cpt_manual *));
FUNCTION(struct cpt_manual_call *, cpt_manual_call_begin,
         (struct cpt_manual *, const char *));
FUNCTION(void, cpt_manual_call_end,
         (struct cpt_manual *, struct cpt_manual_call *,
          const struct cpt_manual_reply *));
FUNCTION(void, cpt_manual_wait_begin, (struct cpt_manual *));
FUNCTION(void, cpt_manual_wait_end, (struct cpt_manual *));
FUNCTION(void, cpt_manual_set_text, (struct cpt_manual *, const char *, const char *));
FUNCTION(struct cpt_bytes, cpt_manual_end, (struct cpt_manual *));
FUNCTION(const struct cpt_path *, cpt_manual_path, (const struct cpt_manual *));
FUNCTION(void, cpt_manual_free, (struct cpt_manual *, unsigned int));

/* --- cpt_mutex.h --- */

FUNCTION(struct cpt_mutex *, cpt_mutex_new, (const char *, const struct cpt_alloc *));
FUNCTION(void, cpt_mutex_free, (struct cpt_mutex *));
FUNCTION(void, cpt_mutex_lock, (struct cpt_mutex *));
FUNCTION(int, cpt_mutex_trylock, (struct cpt_mutex *));
FUNCTION(void, cpt_mutex_unlock, (struct cpt_mutex *));
FUNCTION(struct cpt_pending *, cpt_mutex_acquire,
         (struct cpt_task *, struct cpt_mutex *));
FUNCTION(void, cpt_mutex_release, (struct cpt_pending *));

/* --- cpt_rpc.h --- */

VALUE(CPT_ROLE_ENTRY, 0);
VALUE(CPT_ROLE_INNER, 1);
ENUM(enum cpt_role);
VALUE(CPT_COIN_NONE, 0);
VALUE(CPT_COIN_HIT, 1);
VALUE(CPT_COIN_MISSED, 2);
ENUM(enum cpt_coin);
TYPE(cpt_value_type_rpc_request, struct cpt_rpc_request *);
TYPE(cpt_value_type_rpc_reply, struct cpt_rpc_reply *);
TYPE(cpt_reply_fn, void (**)(void *, const struct cpt_outbound *));
FIRST(struct cpt_rpc_request, method, struct cpt_bytes *);
NEXT(struct cpt_rpc_request, method, query, struct cpt_bytes *);
NEXT(struct cpt_rpc_request, query, body, struct cpt_bytes *);
FIRST(struct cpt_rpc_reply, http_status, unsigned int *);
NEXT(struct cpt_rpc_reply, http_status, content_type, struct cpt_bytes *);
NEXT(struct cpt_rpc_reply, content_type, body, struct cpt_bytes *);
FIRST(struct cpt_stub, name, const char **);
NEXT(struct cpt_stub, name, target, const char **);
NEXT(struct cpt_stub, target, method, const char **);
NEXT(struct cpt_stub, method, transport, struct cpt_transport **);
NEXT(struct cpt_stub, transport, timeout_ns, uint64_t *);
FIRST(struct cpt_call_reply, status, cpt_status *);
NEXT(struct cpt_call_reply, status, http_status, unsigned int *);
NEXT(struct cpt_call_reply, http_status, body, struct cpt_bytes *);
FIRST(struct cpt_service_options, struct_bytes, size_t *);
NEXT(struct cpt_service_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_service_options, alloc, name, const char **);
NEXT(struct cpt_service_options, name, role, unsigned int *);
NEXT(struct cpt_service_options, role, probability, double *);
NEXT(struct cpt_service_options, probability, metadata_bytes_max, size_t *);
NEXT(struct cpt_service_options, metadata_bytes_max, executor, struct cpt_executor **);
NEXT(struct cpt_service_options, executor, log, struct cpt_log_queue **);
NEXT(struct cpt_service_options, log, clock, const struct cpt_clock **);
NEXT(struct cpt_service_options, clock, trusted_networks, const char *const **);
NEXT(struct cpt_service_options, trusted_networks, trusts_forwarded, int *);
NEXT(struct cpt_service_options, trusts_forwarded, dropped_attributes,
     const char *const **);
NEXT(struct cpt_service_options, dropped_attributes, memory_bytes_max, size_t *);
NEXT(struct cpt_service_options, memory_bytes_max, attribution, unsigned int *);
NEXT(struct cpt_service_options, attribution, measures_cpu, int *);
NEXT(struct cpt_service_options, measures_cpu, overcount, unsigned int *);
NEXT(struct cpt_service_options, overcount, seed, uint64_t *);
NEXT(struct cpt_service_options, seed, timeout_ns, uint64_t *);
NEXT(struct cpt_service_options, timeout_ns, requests_in_flight_max, size_t *);
NEXT(struct cpt_service_options, requests_in_flight_max, memory_in_flight_bytes_max,
     size_t *);
FIRST(struct cpt_method_options, struct_bytes, size_t *);
NEXT(struct cpt_method_options, struct_bytes, timeout_ns, uint64_t *);
FIRST(struct cpt_counter, name, const char **);
NEXT(struct cpt_counter, name, help, const char **);
NEXT(struct cpt_counter, help, label, const char **);
NEXT(struct cpt_counter, label, member, struct cpt_bytes *);
NEXT(struct cpt_counter, member, value, uint64_t *);
FIRST(struct cpt_inbound, method, struct cpt_bytes *);
NEXT(struct cpt_inbound, method, query, struct cpt_bytes *);
NEXT(struct cpt_inbound, query, body, struct cpt_bytes *);
NEXT(struct cpt_inbound, body, critical_path, struct cpt_bytes *);
NEXT(struct cpt_inbound, critical_path, critical_path_count, unsigned int *);
NEXT(struct cpt_inbound, critical_path_count, traceparent, struct cpt_bytes *);
NEXT(struct cpt_inbound, traceparent, peer_address, struct cpt_bytes *);
NEXT(struct cpt_inbound, peer_address, is_forwarded, int *);
NEXT(struct cpt_inbound, is_forwarded, arrival_ns, uint64_t *);
NEXT(struct cpt_inbound, arrival_ns, timeout, struct cpt_bytes *);
NEXT(struct cpt_inbound, timeout, coin, unsigned int *);
NEXT(struct cpt_inbound, coin, handle, struct cpt_request_handle ***);
FIRST(struct cpt_outbound, http_status, unsigned int *);
NEXT(struct cpt_outbound, http_status, content_type, struct cpt_bytes *);
NEXT(struct cpt_outbound, content_type, body, struct cpt_bytes *);
NEXT(struct cpt_outbound, body, metadata, struct cpt_bytes *);
FIRST(struct cpt_transport_call, target, const char **);
NEXT(struct cpt_transport_call, target, method, const char **);
NEXT(struct cpt_transport_call, method, body, struct cpt_bytes *);
NEXT(struct cpt_transport_call, body, critical_path, struct cpt_bytes *);
NEXT(struct cpt_transport_call, critical_path, traceparent, struct cpt_bytes *);
NEXT(struct cpt_transport_call, traceparent, metadata_bytes_max, size_t *);
NEXT(struct cpt_transport_call, metadata_bytes_max, timeout_ns, uint64_t *);
NEXT(struct cpt_transport_call, timeout_ns, state, void **);
NEXT(struct cpt_transport_call, state, has_deadline, int *);
FIRST(struct cpt_transport_reply, status, cpt_status *);
NEXT(struct cpt_transport_reply, status, http_status, unsigned int *);
NEXT(struct cpt_transport_reply, http_status, body, struct cpt_bytes *);
NEXT(struct cpt_transport_reply, body, metadata, struct cpt_bytes *);
NEXT(struct cpt_transport_reply, metadata, is_metadata_bad, int *);
NEXT(struct cpt_transport_reply, is_metadata_bad, is_metadata_large, int *);
NEXT(struct cpt_transport_reply, is_metadata_large, is_cached, int *);
FIRST(struct cpt_transport, name, const char **);
NEXT(struct cpt_transport, name, send,
     void (**)(struct cpt_transport *, struct cpt_transport_call *));
NEXT(struct cpt_transport, send, cancel,
     void (**)(struct cpt_transport *, struct cpt_transport_call *));
FUNCTION(struct cpt_pending *, cpt_call,
         (struct cpt_task *, const struct cpt_stub *, struct cpt_bytes));
FUNCTION(struct cpt_pending *, cpt_call_attempt,
         (struct cpt_task *, const struct cpt_stub *, struct cpt_bytes, unsigned int));
FUNCTION(struct cpt_pending *, cpt_hedge_wait,
         (struct cpt_task *, const struct cpt_stub *, uint64_t));
FUNCTION(const struct cpt_call_reply *, cpt_call_reply, (const struct cpt_pending *));
FUNCTION(struct cpt_service *, cpt_service_new,
         (const struct cpt_service_options *, struct cpt_error *));
FUNCTION(cpt_status, cpt_service_drain, (struct cpt_service *, uint64_t));
FUNCTION(void, cpt_service_free, (struct cpt_service *));
FUNCTION(cpt_status, cpt_service_method_add,
         (struct cpt_service *, const char *, const struct cpt_plan *,
          struct cpt_error *));
FUNCTION(cpt_status, cpt_service_method_add_with,
         (struct cpt_service *, const char *, const struct cpt_plan *,
          const struct cpt_method_options *, struct cpt_error *));
FUNCTION(void, cpt_service_enable, (struct cpt_service *, int));
FUNCTION(const char *, cpt_service_name, (const struct cpt_service *));
FUNCTION(const struct cpt_clock *, cpt_service_clock, (const struct cpt_service *));
FUNCTION(void, cpt_service_counters,
         (struct cpt_service *, void (*)(void *, const struct cpt_counter *), void *));
FUNCTION(int, cpt_service_is_enabled, (const struct cpt_service *));
FUNCTION(unsigned int, cpt_service_coin, (struct cpt_service *));
FUNCTION(void, cpt_service_serve,
         (struct cpt_service *, const struct cpt_inbound *, cpt_reply_fn, void *));
FUNCTION(void, cpt_transport_sent, (struct cpt_transport_call *));
FUNCTION(void, cpt_transport_complete,
         (struct cpt_transport_call *, const struct cpt_transport_reply *));

/* --- cpt_runtime.h --- */

VALUE(CPT_HUNGRY_THREAD, 1);
VALUE(CPT_HUNGRY_WORK, 2);
ENUM(enum cpt_hunger);
TYPE(cpt_done_fn, void (**)(struct cpt_request *, void *));
FIRST(struct cpt_work, next, struct cpt_work **);
NEXT(struct cpt_work, next, run, void (**)(struct cpt_work *));
FIRST(struct cpt_timer, next, struct cpt_timer **);
NEXT(struct cpt_timer, next, at_ns, uint64_t *);
NEXT(struct cpt_timer, at_ns, index, size_t *);
NEXT(struct cpt_timer, index, handle, void **);
NEXT(struct cpt_timer, handle, fire, void (**)(struct cpt_timer *));
FIRST(struct cpt_executor, name, const char **);
NEXT(struct cpt_executor, name, submit,
     void (**)(struct cpt_executor *, struct cpt_work *));
NEXT(struct cpt_executor, submit, after,
     cpt_status (**)(struct cpt_executor *, struct cpt_timer *, uint64_t));
NEXT(struct cpt_executor, after, cancel,
     int (**)(struct cpt_executor *, struct cpt_timer *));
NEXT(struct cpt_executor, cancel, hunger, unsigned int (**)(struct cpt_executor *));
NEXT(struct cpt_executor, hunger, yield,
     int (**)(struct cpt_executor *, struct cpt_work *));
NEXT(struct cpt_executor, yield, help, int (**)(struct cpt_executor *));
NEXT(struct cpt_executor, help, block, void (**)(struct cpt_executor *, int));
FIRST(struct cpt_pool_options, struct_bytes, size_t *);
NEXT(struct cpt_pool_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_pool_options, alloc, worker_count, unsigned int *);
NEXT(struct cpt_pool_options, worker_count, name, const char **);
NEXT(struct cpt_pool_options, name, extra_worker_count_max, unsigned int *);
FIRST(struct cpt_queue_executor_options, struct_bytes, size_t *);
NEXT(struct cpt_queue_executor_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_queue_executor_options, alloc, name, const char **);
NEXT(struct cpt_queue_executor_options, name, wake, void (**)(void *));
NEXT(struct cpt_queue_executor_options, wake, context, void **);
NEXT(struct cpt_queue_executor_options, context, clock, const struct cpt_clock **);
FIRST(struct cpt_request_options, struct_bytes, size_t *);
NEXT(struct cpt_request_options, struct_bytes, plan, const struct cpt_plan **);
NEXT(struct cpt_request_options, plan, executor, struct cpt_executor **);
NEXT(struct cpt_request_options, executor, input, const void **);
NEXT(struct cpt_request_options, input, done, cpt_done_fn *);
NEXT(struct cpt_request_options, done, gone, void (**)(void *));
NEXT(struct cpt_request_options, gone, context, void **);
NEXT(struct cpt_request_options, context, alloc, const struct cpt_alloc **);
NEXT(struct cpt_request_options, alloc, memory_bytes_max, size_t *);
NEXT(struct cpt_request_options, memory_bytes_max, is_traced, int *);
NEXT(struct cpt_request_options, is_traced, entry, const char **);
NEXT(struct cpt_request_options, entry, clock, const struct cpt_clock **);
NEXT(struct cpt_request_options, clock, arrival_ns, uint64_t *);
NEXT(struct cpt_request_options, arrival_ns, attribution, unsigned int *);
NEXT(struct cpt_request_options, attribution, measures_cpu, int *);
NEXT(struct cpt_request_options, measures_cpu, timeout_ns, uint64_t *);
FUNCTION(struct cpt_executor *, cpt_executor_inline, (void));
FUNCTION(struct cpt_executor *, cpt_pool_new,
         (const struct cpt_pool_options *, struct cpt_error *));
FUNCTION(void, cpt_pool_free, (struct cpt_executor *));
FUNCTION(struct cpt_executor *, cpt_queue_executor_new,
         (const struct cpt_queue_executor_options *, struct cpt_error *));
FUNCTION(size_t, cpt_queue_executor_run, (struct cpt_executor *, size_t));
FUNCTION(uint64_t, cpt_queue_executor_next_ns, (struct cpt_executor *));
FUNCTION(void, cpt_queue_executor_free, (struct cpt_executor *));
FUNCTION(cpt_status, cpt_request_start,
         (const struct cpt_request_options *, struct cpt_error *));
FUNCTION(cpt_status, cpt_request_start_held,
         (const struct cpt_request_options *, struct cpt_request_handle **,
          struct cpt_error *));
FUNCTION(int, cpt_request_cancel, (struct cpt_request_handle *));
FUNCTION(void, cpt_request_handle_free, (struct cpt_request_handle *));
FUNCTION(cpt_status, cpt_request_run,
         (const struct cpt_request_options *, void *, struct cpt_path *,
          struct cpt_error *));
FUNCTION(cpt_status, cpt_request_status, (const struct cpt_request *));
FUNCTION(const char *, cpt_request_sentence, (const struct cpt_request *));
FUNCTION(const void *, cpt_request_output, (const struct cpt_request *));
FUNCTION(uint64_t, cpt_request_latency_ns, (struct cpt_request *));
FUNCTION(cpt_status, cpt_request_path,
         (struct cpt_request *, struct cpt_path *, struct cpt_error *));
FUNCTION(void, cpt_request_set_text,
         (struct cpt_request *, const char *, const char *));
FUNCTION(void, cpt_request_set_integer, (struct cpt_request *, const char *, int64_t));
FUNCTION(void, cpt_request_set_float, (struct cpt_request *, const char *, double));
FUNCTION(void, cpt_request_set_bool, (struct cpt_request *, const char *, int));

/* --- cpt_shared.h --- */

VALUE(CPT_SHARED_KEY_BYTES_MAX, 1024);
VALUE(CPT_SHARED_BATCH_MAX, 4096);
VALUE(CPT_SHARED_KEYS_MAX, 1048576);
FIRST(struct cpt_batch, count, size_t *);
NEXT(struct cpt_batch, count, items, const void **);
FIRST(struct cpt_shared_options, struct_bytes, size_t *);
NEXT(struct cpt_shared_options, struct_bytes, plan, const struct cpt_plan **);
NEXT(struct cpt_shared_options, plan, name, const char **);
NEXT(struct cpt_shared_options, name, executor, struct cpt_executor **);
NEXT(struct cpt_shared_options, executor, alloc, const struct cpt_alloc **);
NEXT(struct cpt_shared_options, alloc, memory_bytes_max, size_t *);
NEXT(struct cpt_shared_options, memory_bytes_max, keys_max, size_t *);
NEXT(struct cpt_shared_options, keys_max, waiters_max, size_t *);
NEXT(struct cpt_shared_options, waiters_max, batch_count_max, size_t *);
NEXT(struct cpt_shared_options, batch_count_max, batch_delay_ns, uint64_t *);
NEXT(struct cpt_shared_options, batch_delay_ns, item, const struct cpt_value **);
NEXT(struct cpt_shared_options, item, is_traced_on_demand, int *);
FUNCTION(struct cpt_shared *, cpt_shared_new,
         (const struct cpt_shared_options *, struct cpt_error *));
FUNCTION(void, cpt_shared_free, (struct cpt_shared *));
FUNCTION(struct cpt_pending *, cpt_task_share,
         (struct cpt_task *, struct cpt_shared *, struct cpt_bytes,
          const struct cpt_value *, const void *));
FUNCTION(size_t, cpt_share_index, (const struct cpt_pending *));
