/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_wire.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_log.h>
#include <cpt/cpt_metadata.h>

#include "api_0_1.h"

/* --- cpt_log.h --- */

VALUE(CPT_ATTRIBUTE_TEXT, 0);
VALUE(CPT_ATTRIBUTE_INTEGER, 1);
VALUE(CPT_ATTRIBUTE_FLOAT, 2);
VALUE(CPT_ATTRIBUTE_BOOL, 3);
ENUM(enum cpt_attribute_type);
VALUE(CPT_ATTRIBUTES_MAX, 32);
VALUE(CPT_ATTRIBUTE_BYTES_MAX, 4096);
VALUE(CPT_LOG_RECORD_BYTES_MAX, 67108864);
VALUE(CPT_LOG_ATTRIBUTES_MAX, 1024);
VALUE(CPT_LOG_VERSION, 1);
VALUE(CPT_LOG_HEADER_BYTES_MAX, 128);
VALUE(CPT_LOG_BLOCK_BYTES_DEFAULT, 65536);
TYPE(cpt_log_seek_fn, cpt_status (**)(void *, uint64_t));
TYPE(cpt_log_wants_fn, int (**)(void *, const struct cpt_log_index *,
                                const struct cpt_log_index_block *));
FIRST(union cpt_attribute_value, text, struct cpt_bytes *);
FIRST(union cpt_attribute_value, integer, int64_t *);
FIRST(union cpt_attribute_value, real, double *);
FIRST(union cpt_attribute_value, is_true, int *);
FIRST(struct cpt_attribute, key, struct cpt_bytes *);
NEXT(struct cpt_attribute, key, type, unsigned int *);
NEXT(struct cpt_attribute, type, value, union cpt_attribute_value *);
FIRST(struct cpt_record, start_unix_ns, uint64_t *);
NEXT(struct cpt_record, start_unix_ns, latency_ns, uint64_t *);
NEXT(struct cpt_record, latency_ns, probability, double *);
NEXT(struct cpt_record, probability, service, struct cpt_bytes *);
NEXT(struct cpt_record, service, method, struct cpt_bytes *);
NEXT(struct cpt_record, method, entry, struct cpt_bytes *);
NEXT(struct cpt_record, entry, status, struct cpt_bytes *);
NEXT(struct cpt_record, status, attributes, const struct cpt_attribute **);
NEXT(struct cpt_record, attributes, attribute_count, size_t *);
NEXT(struct cpt_record, attribute_count, is_failed, int *);
NEXT(struct cpt_record, is_failed, is_forced, int *);
NEXT(struct cpt_record, is_forced, is_random, int *);
NEXT(struct cpt_record, is_random, is_local_root, int *);
NEXT(struct cpt_record, is_local_root, is_background, int *);
NEXT(struct cpt_record, is_background, has_trace_id, int *);
NEXT(struct cpt_record, has_trace_id, has_parent_id, int *);
NEXT(struct cpt_record, has_parent_id, trace_id, unsigned char (*)[16]);
NEXT(struct cpt_record, trace_id, parent_id, unsigned char (*)[8]);
NEXT(struct cpt_record, parent_id, path, const struct cpt_path **);
NEXT(struct cpt_record, path, path_bytes, struct cpt_bytes *);
FIRST(struct cpt_log_reader_options, struct_bytes, size_t *);
NEXT(struct cpt_log_reader_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_log_reader_options, alloc, read, cpt_read_fn *);
NEXT(struct cpt_log_reader_options, read, context, void **);
NEXT(struct cpt_log_reader_options, context, block_bytes_max, size_t *);
NEXT(struct cpt_log_reader_options, block_bytes_max, record_bytes_max, size_t *);
NEXT(struct cpt_log_reader_options, record_bytes_max, index,
     const struct cpt_log_index **);
NEXT(struct cpt_log_reader_options, index, seek, cpt_log_seek_fn *);
NEXT(struct cpt_log_reader_options, seek, wants, cpt_log_wants_fn *);
NEXT(struct cpt_log_reader_options, wants, wants_context, void **);
NEXT(struct cpt_log_reader_options, wants_context, start_offset, uint64_t *);
NEXT(struct cpt_log_reader_options, start_offset, end_offset, uint64_t *);
FIRST(struct cpt_log_counts, records, uint64_t *);
NEXT(struct cpt_log_counts, records, blocks, uint64_t *);
NEXT(struct cpt_log_counts, blocks, other_blocks, uint64_t *);
NEXT(struct cpt_log_counts, other_blocks, skipped_records, uint64_t *);
NEXT(struct cpt_log_counts, skipped_records, skipped_blocks, uint64_t *);
NEXT(struct cpt_log_counts, skipped_blocks, skipped_bytes, uint64_t *);
NEXT(struct cpt_log_counts, skipped_bytes, tail_bytes, uint64_t *);
NEXT(struct cpt_log_counts, tail_bytes, passed_blocks, uint64_t *);
NEXT(struct cpt_log_counts, passed_blocks, passed_records, uint64_t *);
NEXT(struct cpt_log_counts, passed_records, is_index_refused, int *);
FUNCTION(cpt_status, cpt_record_encode,
         (const struct cpt_record *, const struct cpt_alloc *, unsigned char **,
          size_t *, struct cpt_error *));
FUNCTION(cpt_status, cpt_record_path,
         (const struct cpt_record *, const struct cpt_alloc *, struct cpt_path *,
          struct cpt_error *));
FUNCTION(const struct cpt_attribute *, cpt_record_attribute,
         (const struct cpt_record *, struct cpt_bytes));
FUNCTION(size_t, cpt_log_header, (unsigned char *));
FUNCTION(struct cpt_log_block *, cpt_log_block_new, (const struct cpt_alloc *, size_t));
FUNCTION(void, cpt_log_block_free, (struct cpt_log_block *));
FUNCTION(cpt_status, cpt_log_block_add, (struct cpt_log_block *, const void *, size_t));
FUNCTION(size_t, cpt_log_block_count, (const struct cpt_log_block *));
FUNCTION(cpt_status, cpt_log_block_compress, (struct cpt_log_block *, int));
FUNCTION(struct cpt_bytes, cpt_log_block_finish, (struct cpt_log_block *));
FUNCTION(struct cpt_log_reader *, cpt_log_reader_new,
         (const struct cpt_log_reader_options *, struct cpt_error *));
FUNCTION(void, cpt_log_reader_free, (struct cpt_log_reader *));
FUNCTION(cpt_status, cpt_log_reader_next,
         (struct cpt_log_reader *, struct cpt_record *, struct cpt_error *));
FUNCTION(uint64_t, cpt_log_reader_offset, (const struct cpt_log_reader *));
FUNCTION(struct cpt_bytes, cpt_log_reader_bytes, (const struct cpt_log_reader *));
FUNCTION(cpt_status, cpt_log_reader_decode,
         (struct cpt_log_reader *, struct cpt_bytes, struct cpt_record *,
          struct cpt_error *));
FUNCTION(const struct cpt_log_counts *, cpt_log_reader_counts,
         (const struct cpt_log_reader *));

/* --- cpt_metadata.h --- */

VALUE(CPT_BASE64_BYTES(1), 2);
VALUE(CPT_BASE64_BYTES(3), 4);
VALUE(CPT_METADATA_VERSION, 1);
VALUE(CPT_METADATA_BYTES_DEFAULT, 2048);
VALUE(CPT_METADATA_BYTES_CEILING, 4096);
VALUE(CPT_ASK_BYTES_MAX, 1024);
VALUE(CPT_FIT_WHOLE, 0);
VALUE(CPT_FIT_NEIGHBOURS, 1);
VALUE(CPT_FIT_UNLABELLED, 2);
VALUE(CPT_FIT_UNORDERED, 3);
VALUE(CPT_FIT_FOLDED, 4);
VALUE(CPT_FIT_SUM, 5);
ENUM(enum cpt_metadata_fit);
VALUE(CPT_METADATA_READ_BYTES_MAX, 65536);
VALUE(CPT_METADATA_SEGMENTS_MAX, 65535);
VALUE(CPT_METADATA_FRAMES_MAX, 65535);
VALUE(CPT_METADATA_LABELS_MAX, 65535);
VALUE(CPT_METADATA_DEPTH_MAX, 1024);
VALUE(CPT_METADATA_NAME_BYTES_MAX, 65536);
VALUE(CPT_TRACE_FLAG_SAMPLED, 1);
VALUE(CPT_TRACE_FLAG_RANDOM, 2);
FIRST(struct cpt_ask, version, unsigned int *);
NEXT(struct cpt_ask, version, is_forced, int *);
NEXT(struct cpt_ask, is_forced, bytes_max, size_t *);
FIRST(struct cpt_metadata_encode_options, struct_bytes, size_t *);
NEXT(struct cpt_metadata_encode_options, struct_bytes, alloc,
     const struct cpt_alloc **);
NEXT(struct cpt_metadata_encode_options, alloc, server_elapsed_ns, uint64_t *);
NEXT(struct cpt_metadata_encode_options, server_elapsed_ns, has_server_elapsed, int *);
NEXT(struct cpt_metadata_encode_options, has_server_elapsed, is_unlimited, int *);
NEXT(struct cpt_metadata_encode_options, is_unlimited, bytes_max, size_t *);
FIRST(struct cpt_metadata_decode_options, struct_bytes, size_t *);
NEXT(struct cpt_metadata_decode_options, struct_bytes, alloc,
     const struct cpt_alloc **);
NEXT(struct cpt_metadata_decode_options, alloc, bytes_max, size_t *);
NEXT(struct cpt_metadata_decode_options, bytes_max, segments_max, size_t *);
NEXT(struct cpt_metadata_decode_options, segments_max, frames_max, size_t *);
NEXT(struct cpt_metadata_decode_options, frames_max, labels_max, size_t *);
NEXT(struct cpt_metadata_decode_options, labels_max, depth_max, size_t *);
NEXT(struct cpt_metadata_decode_options, depth_max, name_bytes_max, size_t *);
FIRST(struct cpt_metadata_summary, version, unsigned int *);
NEXT(struct cpt_metadata_summary, version, path_flags, unsigned int *);
NEXT(struct cpt_metadata_summary, path_flags, sum_ns, uint64_t *);
NEXT(struct cpt_metadata_summary, sum_ns, server_elapsed_ns, uint64_t *);
NEXT(struct cpt_metadata_summary, server_elapsed_ns, has_server_elapsed, int *);
NEXT(struct cpt_metadata_summary, has_server_elapsed, is_sum_only, int *);
FIRST(struct cpt_traceparent, trace_id, unsigned char (*)[16]);
NEXT(struct cpt_traceparent, trace_id, parent_id, unsigned char (*)[8]);
NEXT(struct cpt_traceparent, parent_id, flags, unsigned char *);
FUNCTION(cpt_status, cpt_ask_parse,
         (const struct cpt_bytes *, size_t, struct cpt_ask *, struct cpt_error *));
FUNCTION(struct cpt_ask, cpt_ask_downstream, (const struct cpt_ask *, size_t));
FUNCTION(size_t, cpt_ask_format, (const struct cpt_ask *, char *, size_t));
FUNCTION(cpt_status, cpt_metadata_encode,
         (const struct cpt_path *, const struct cpt_metadata_encode_options *,
          unsigned char **, size_t *, int *));
FUNCTION(cpt_status, cpt_metadata_decode,
         (const void *, size_t, const struct cpt_metadata_decode_options *,
          struct cpt_path *, struct cpt_error *));
FUNCTION(cpt_status, cpt_metadata_peek,
         (const void *, size_t, struct cpt_metadata_summary *, struct cpt_error *));
FUNCTION(size_t, cpt_base64_encode, (const void *, size_t, char *, size_t));
FUNCTION(cpt_status, cpt_base64_decode,
         (struct cpt_bytes, void *, size_t, size_t *, struct cpt_error *));
FUNCTION(cpt_status, cpt_traceparent_parse,
         (struct cpt_bytes, struct cpt_traceparent *));
