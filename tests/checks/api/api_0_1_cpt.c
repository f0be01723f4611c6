/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_cpt.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_alloc.h>
#include <cpt/cpt_clock.h>
#include <cpt/cpt_io.h>
#include <cpt/cpt_name.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_status.h>
#include <cpt/cpt_trace.h>

#include "api_0_1.h"

/* --- cpt_alloc.h --- */

FIRST(struct cpt_alloc, resize, void *(**)(void *, void *, size_t));
NEXT(struct cpt_alloc, resize, context, void **);
FUNCTION(const struct cpt_alloc *, cpt_alloc_default, (void));
FUNCTION(void *, cpt_alloc_zeroed, (const struct cpt_alloc *, size_t));
FUNCTION(void *, cpt_alloc_array, (const struct cpt_alloc *, void *, size_t, size_t));
FUNCTION(cpt_status, cpt_alloc_grow,
         (const struct cpt_alloc *, void **, size_t *, size_t, size_t, size_t));
FUNCTION(void, cpt_alloc_free, (const struct cpt_alloc *, void *));

/* --- cpt_clock.h --- */

FIRST(struct cpt_clock, now_ns, uint64_t (**)(void *));
NEXT(struct cpt_clock, now_ns, context, void **);
FUNCTION(const struct cpt_clock *, cpt_clock_monotonic, (void));
FUNCTION(const struct cpt_clock *, cpt_clock_tsc, (void));
FUNCTION(const struct cpt_clock *, cpt_clock_fastest, (void));
FUNCTION(const char *, cpt_clock_name, (const struct cpt_clock *));
FUNCTION(uint64_t, cpt_clock_now_ns, (const struct cpt_clock *));
FUNCTION(uint64_t, cpt_clock_unix_ns, (void));

/* --- cpt_io.h --- */

TYPE(cpt_read_fn, cpt_status (**)(void *, void *, size_t, size_t *));
TYPE(cpt_read_at_fn, cpt_status (**)(void *, uint64_t, void *, size_t));
TYPE(cpt_write_fn, cpt_status (**)(void *, const void *, size_t));
FIRST(struct cpt_sink, write, cpt_write_fn *);
NEXT(struct cpt_sink, write, context, void **);

/* --- cpt_name.h --- */

VALUE(CPT_NAME_BYTES_MAX, 255);
VALUE(CPT_NAMES_MAX, 2097152);
TYPE(cpt_name_id, uint32_t *);
FIRST(struct cpt_bytes, data, const char **);
NEXT(struct cpt_bytes, data, bytes, size_t *);
FUNCTION(struct cpt_bytes, cpt_bytes_of, (const char *));
FUNCTION(int, cpt_bytes_equal, (struct cpt_bytes, struct cpt_bytes));
FUNCTION(struct cpt_bytes, cpt_name_service, (struct cpt_bytes));
FUNCTION(struct cpt_bytes, cpt_name_bound, (struct cpt_bytes, char *));
FUNCTION(struct cpt_names *, cpt_names_new, (const struct cpt_alloc *));
FUNCTION(void, cpt_names_free, (struct cpt_names *));
FUNCTION(void, cpt_names_reset, (struct cpt_names *));
FUNCTION(cpt_status, cpt_names_add,
         (struct cpt_names *, struct cpt_bytes, cpt_name_id *));
FUNCTION(int, cpt_names_find,
         (const struct cpt_names *, struct cpt_bytes, cpt_name_id *));
FUNCTION(struct cpt_bytes, cpt_names_at, (const struct cpt_names *, cpt_name_id));
FUNCTION(size_t, cpt_names_count, (const struct cpt_names *));
FUNCTION(uint64_t, cpt_hash_bytes, (uint64_t, const void *, size_t));

/* --- cpt_path.h --- */

VALUE(CPT_FRAME_NONE, UINT32_MAX);
VALUE(CPT_PATH_SEGMENTS_MAX, 4194304);
VALUE(CPT_PATH_FRAMES_MAX, 1048576);
VALUE(CPT_PATH_DEPTH_MAX, 1024);
VALUE(CPT_PATH_LABELS_MAX, 1048576);
VALUE(CPT_KIND_WORK, 0);
VALUE(CPT_KIND_QUEUE, 1);
VALUE(CPT_KIND_NETWORK, 2);
VALUE(CPT_KIND_UNATTRIBUTED, 3);
VALUE(CPT_KIND_BLIND_SPOT, 4);
VALUE(CPT_KIND_TIMEOUT, 5);
VALUE(CPT_KIND_FOLDED, 6);
VALUE(CPT_KIND_BACKOFF, 7);
VALUE(CPT_KIND_HEDGE_WAIT, 8);
VALUE(CPT_KIND_LOCK, 9);
VALUE(CPT_KIND_BATCH_WAIT, 10);
VALUE(CPT_KIND_FLOW_CONTROL, 11);
VALUE(CPT_KIND_GAP, 12);
VALUE(CPT_KIND_ACCEPT_QUEUE, 13);
VALUE(CPT_KIND_OTHER, 14);
VALUE(CPT_KIND_OFF_CPU, 15);
ENUM(enum cpt_kind);
VALUE(CPT_KIND_MAX, 255);
VALUE(CPT_REASON_MAX, 255);
VALUE(CPT_LABEL_KEY_MAX, 255);
VALUE(CPT_REASON_NONE, 0);
VALUE(CPT_REASON_UNSUPPORTED, 1);
VALUE(CPT_REASON_NOT_SAMPLED, 2);
VALUE(CPT_REASON_SIZE, 3);
VALUE(CPT_REASON_UNDECODABLE, 4);
VALUE(CPT_REASON_FAILED, 5);
VALUE(CPT_REASON_CACHED, 6);
VALUE(CPT_REASON_SHARED, 7);
VALUE(CPT_REASON_LIMIT, 8);
ENUM(enum cpt_reason);
VALUE(CPT_SEGMENT_OVERCOUNT, 1);
VALUE(CPT_SEGMENT_FOLDED, 2);
VALUE(CPT_LABEL_ATTEMPT, 1);
VALUE(CPT_LABEL_MARGIN, 2);
VALUE(CPT_LABEL_HOLDER, 3);
VALUE(CPT_LABEL_EXECUTOR, 4);
VALUE(CPT_LABEL_EXCESS, 5);
VALUE(CPT_LABEL_STATUS, 6);
VALUE(CPT_LABEL_COALESCED, 7);
ENUM(enum cpt_label_key);
VALUE(CPT_PATH_UNORDERED, 1);
VALUE(CPT_PATH_INCOMPLETE, 2);
VALUE(CPT_PATH_APPROXIMATE, 4);
VALUE(CPT_OVERCOUNT_SCALE, 0);
VALUE(CPT_OVERCOUNT_CLIP, 1);
ENUM(enum cpt_overcount);
FIRST(struct cpt_frame, parent, uint32_t *);
NEXT(struct cpt_frame, parent, name, cpt_name_id *);
NEXT(struct cpt_frame, name, kind, uint16_t *);
NEXT(struct cpt_frame, kind, depth, uint16_t *);
FIRST(struct cpt_segment, duration_ns, uint64_t *);
NEXT(struct cpt_segment, duration_ns, frame, uint32_t *);
NEXT(struct cpt_segment, frame, count, uint32_t *);
NEXT(struct cpt_segment, count, flags, uint16_t *);
NEXT(struct cpt_segment, flags, reason, uint16_t *);
FIRST(struct cpt_label, segment, uint32_t *);
NEXT(struct cpt_label, segment, key, uint16_t *);
NEXT(struct cpt_label, key, is_name, uint16_t *);
NEXT(struct cpt_label, is_name, value, uint64_t *);
FIRST(struct cpt_splice, observed_ns, uint64_t *);
NEXT(struct cpt_splice, observed_ns, server_elapsed_ns, uint64_t *);
NEXT(struct cpt_splice, server_elapsed_ns, has_server_elapsed, int *);
NEXT(struct cpt_splice, has_server_elapsed, skip_ns, uint64_t *);
NEXT(struct cpt_splice, skip_ns, reason, unsigned int *);
NEXT(struct cpt_splice, reason, overcount, unsigned int *);
FIRST(struct cpt_splice_report, overcount_ns, uint64_t *);
NEXT(struct cpt_splice_report, overcount_ns, undercount_ns, uint64_t *);
NEXT(struct cpt_splice_report, undercount_ns, is_inconsistent, int *);
FUNCTION(const char *, cpt_kind_word, (unsigned int));
FUNCTION(const char *, cpt_kind_words, (unsigned int));
FUNCTION(const char *, cpt_reason_word, (unsigned int));
FUNCTION(const char *, cpt_label_word, (unsigned int, int *));
FUNCTION(struct cpt_path *, cpt_path_new, (const struct cpt_alloc *));
FUNCTION(void, cpt_path_free, (struct cpt_path *));
FUNCTION(void, cpt_path_reset, (struct cpt_path *));
FUNCTION(cpt_status, cpt_path_frame_add,
         (struct cpt_path *, uint32_t, struct cpt_bytes, unsigned int, uint32_t *));
FUNCTION(cpt_status, cpt_path_append, (struct cpt_path *, struct cpt_segment));
FUNCTION(cpt_status, cpt_path_append_ns, (struct cpt_path *, uint32_t, uint64_t));
FUNCTION(cpt_status, cpt_path_label_number,
         (struct cpt_path *, unsigned int, uint64_t));
FUNCTION(cpt_status, cpt_path_label_name,
         (struct cpt_path *, unsigned int, struct cpt_bytes));
FUNCTION(unsigned int, cpt_path_flags, (const struct cpt_path *));
FUNCTION(void, cpt_path_flags_add, (struct cpt_path *, unsigned int));
FUNCTION(size_t, cpt_path_segment_count, (const struct cpt_path *));
FUNCTION(const struct cpt_segment *, cpt_path_segment,
         (const struct cpt_path *, size_t));
FUNCTION(size_t, cpt_path_frame_count, (const struct cpt_path *));
FUNCTION(const struct cpt_frame *, cpt_path_frame, (const struct cpt_path *, uint32_t));
FUNCTION(size_t, cpt_path_name_count, (const struct cpt_path *));
FUNCTION(struct cpt_bytes, cpt_path_name, (const struct cpt_path *, cpt_name_id));
FUNCTION(size_t, cpt_path_label_count, (const struct cpt_path *));
FUNCTION(const struct cpt_label *, cpt_path_label, (const struct cpt_path *, size_t));
FUNCTION(struct cpt_bytes, cpt_path_frame_name, (const struct cpt_path *, uint32_t));
FUNCTION(struct cpt_bytes, cpt_path_frame_service, (const struct cpt_path *, uint32_t));
FUNCTION(uint64_t, cpt_path_sum_ns, (const struct cpt_path *));
FUNCTION(cpt_status, cpt_path_check,
         (const struct cpt_path *, uint64_t, struct cpt_error *));
FUNCTION(cpt_status, cpt_path_copy, (struct cpt_path *, const struct cpt_path *));
FUNCTION(cpt_status, cpt_path_splice,
         (struct cpt_path *, uint32_t, const struct cpt_path *,
          const struct cpt_splice *, struct cpt_splice_report *));
FUNCTION(size_t, cpt_text_name, (struct cpt_bytes, char *, size_t));
FUNCTION(size_t, cpt_text_frame,
         (struct cpt_bytes, unsigned int, struct cpt_bytes, char *, size_t));
FUNCTION(size_t, cpt_path_frame_text,
         (const struct cpt_path *, uint32_t, char *, size_t));
FUNCTION(size_t, cpt_path_stack_text,
         (const struct cpt_path *, uint32_t, char *, size_t));

/* --- cpt_status.h --- */

VALUE(CPT_OK, 0);
VALUE(CPT_WAITING, 1);
VALUE(CPT_NO_MEMORY, -1);
VALUE(CPT_LIMIT, -2);
VALUE(CPT_TRUNCATED, -3);
VALUE(CPT_CORRUPT, -4);
VALUE(CPT_VERSION, -5);
VALUE(CPT_IO, -6);
VALUE(CPT_CANCELLED, -7);
VALUE(CPT_TIMEOUT, -8);
VALUE(CPT_FAILED, -9);
VALUE(CPT_INVALID, -10);
VALUE(CPT_UNAVAILABLE, -11);
VALUE(CPT_END, -12);
VALUE(CPT_ERROR_SENTENCE_BYTES, 240);
TYPE(cpt_status, int *);
FIRST(struct cpt_error, status, cpt_status *);
NEXT(struct cpt_error, status, offset, uint64_t *);
NEXT(struct cpt_error, offset, sentence, char (*)[240]);
FUNCTION(const char *, cpt_status_name, (cpt_status));
FUNCTION(const char *, cpt_status_sentence, (cpt_status));
FUNCTION(cpt_status, cpt_error_set,
         (struct cpt_error *, cpt_status, uint64_t, const char *, ...));
FUNCTION(cpt_status, cpt_error_set_v,
         (struct cpt_error *, cpt_status, uint64_t, const char *, va_list));
FUNCTION(cpt_status, cpt_options_read,
         (void *, size_t, const void *, struct cpt_error *));

/* --- cpt_trace.h --- */

VALUE(CPT_BEGIN_REQUEST, 0);
VALUE(CPT_BEGIN_TASK, 1);
VALUE(CPT_BEGIN_UNKNOWN, 2);
ENUM(enum cpt_trace_begin);
VALUE(CPT_CALL_LOCAL, 0);
VALUE(CPT_CALL_REMOTE, 1);
VALUE(CPT_CALL_TIMEOUT, 2);
VALUE(CPT_CALL_KIND, 3);
VALUE(CPT_CALL_COMPONENT, 4);
VALUE(CPT_CALL_LOCK, 5);
ENUM(enum cpt_trace_outcome);
VALUE(CPT_ATTRIBUTE_LONGEST, 0);
VALUE(CPT_ATTRIBUTE_BLOCKED, 1);
ENUM(enum cpt_attribution);
FIRST(struct cpt_trace_group, name, struct cpt_bytes *);
NEXT(struct cpt_trace_group, name, parent, const struct cpt_trace_group **);
FIRST(struct cpt_trace_task, unblocker, struct cpt_trace_task **);
NEXT(struct cpt_trace_task, unblocker, ready_ns, uint64_t *);
NEXT(struct cpt_trace_task, ready_ns, start_ns, uint64_t *);
NEXT(struct cpt_trace_task, start_ns, last_await, struct cpt_trace_await **);
NEXT(struct cpt_trace_task, last_await, margin_ns, uint64_t *);
NEXT(struct cpt_trace_task, margin_ns, begin, unsigned char *);
NEXT(struct cpt_trace_task, begin, has_margin, unsigned char *);
NEXT(struct cpt_trace_task, has_margin, has_no_frame, unsigned char *);
NEXT(struct cpt_trace_task, has_no_frame, name, struct cpt_bytes *);
NEXT(struct cpt_trace_task, name, group, const struct cpt_trace_group **);
NEXT(struct cpt_trace_task, group, starter, struct cpt_trace_task **);
NEXT(struct cpt_trace_task, starter, executor, struct cpt_bytes *);
NEXT(struct cpt_trace_task, executor, occupant, struct cpt_bytes *);
NEXT(struct cpt_trace_task, occupant, end_ns, uint64_t *);
NEXT(struct cpt_trace_task, end_ns, off_cpu_ns, uint64_t *);
NEXT(struct cpt_trace_task, off_cpu_ns, source, void **);
FIRST(struct cpt_trace_call, name, struct cpt_bytes *);
NEXT(struct cpt_trace_call, name, issuer, struct cpt_trace_task **);
NEXT(struct cpt_trace_call, issuer, issue_ns, uint64_t *);
NEXT(struct cpt_trace_call, issue_ns, sent_ns, uint64_t *);
NEXT(struct cpt_trace_call, sent_ns, arrive_ns, uint64_t *);
NEXT(struct cpt_trace_call, arrive_ns, executor, struct cpt_bytes *);
NEXT(struct cpt_trace_call, executor, server_elapsed_ns, uint64_t *);
NEXT(struct cpt_trace_call, server_elapsed_ns, has_server_elapsed, unsigned char *);
NEXT(struct cpt_trace_call, has_server_elapsed, outcome, unsigned char *);
NEXT(struct cpt_trace_call, outcome, kind, unsigned char *);
NEXT(struct cpt_trace_call, kind, reason, unsigned char *);
NEXT(struct cpt_trace_call, reason, attempt, uint32_t *);
NEXT(struct cpt_trace_call, attempt, status, struct cpt_bytes *);
NEXT(struct cpt_trace_call, status, holder, struct cpt_bytes *);
NEXT(struct cpt_trace_call, holder, reply, const void **);
NEXT(struct cpt_trace_call, reply, reply_bytes, size_t *);
FIRST(struct cpt_trace_await, previous, struct cpt_trace_await **);
NEXT(struct cpt_trace_await, previous, call, struct cpt_trace_call **);
NEXT(struct cpt_trace_await, call, task, struct cpt_trace_task **);
NEXT(struct cpt_trace_await, task, block_ns, uint64_t *);
NEXT(struct cpt_trace_await, block_ns, arrive_ns, uint64_t *);
NEXT(struct cpt_trace_await, arrive_ns, resume_ns, uint64_t *);
NEXT(struct cpt_trace_await, resume_ns, margin_ns, uint64_t *);
NEXT(struct cpt_trace_await, margin_ns, off_cpu_ns, uint64_t *);
NEXT(struct cpt_trace_await, off_cpu_ns, occupant, struct cpt_bytes *);
NEXT(struct cpt_trace_await, occupant, has_margin, unsigned char *);
FIRST(struct cpt_trace, entry, struct cpt_bytes *);
NEXT(struct cpt_trace, entry, arrival_ns, uint64_t *);
NEXT(struct cpt_trace, arrival_ns, response_ns, uint64_t *);
NEXT(struct cpt_trace, response_ns, answered_by, struct cpt_trace_task **);
NEXT(struct cpt_trace, answered_by, dropped_event_count, uint64_t *);
NEXT(struct cpt_trace, dropped_event_count, attribution, unsigned int *);
NEXT(struct cpt_trace, attribution, open_task,
     cpt_status (**)(void *, struct cpt_trace_task *));
NEXT(struct cpt_trace, open_task, open_callee,
     cpt_status (**)(void *, struct cpt_trace_call *, struct cpt_path *));
NEXT(struct cpt_trace, open_callee, spliced,
     void (**)(void *, const struct cpt_trace_call *, uint64_t, uint64_t, int));
NEXT(struct cpt_trace, spliced, context, void **);
NEXT(struct cpt_trace, context, overcount, unsigned int *);
NEXT(struct cpt_trace, overcount, dispatch_ns, uint64_t *);
NEXT(struct cpt_trace, dispatch_ns, measures_off_cpu, unsigned char *);
FUNCTION(cpt_status, cpt_critical_path,
         (const struct cpt_alloc *, const struct cpt_trace *, struct cpt_path *,
          struct cpt_error *));
