/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_parts.h - one path log cut into parts for several readers
 *
 *      file    [ header ][ records ][ records ][ records ][ records ][ index ]
 *      parts   |-------- 0 ---------|-------- 1 ---------|------- 2 ---------|
 *
 * Each part begins where a block begins, and the parts make up the whole input: the
 * records of all parts, one part after the other, are those that one reader of the
 * whole input returns.
 *
 * A position is a boundary only if a chain of heads, each with a valid checksum, leads
 * there from the beginning: a reader of the whole input reaches it by the same chain,
 * even if payloads before it are damaged. If a head is missing where one is expected,
 * the next block depends on everything before; so from there on all belongs to the last
 * part.
 *
 * In order of use: cpt_log_parts; for each part a reader of its own with start_offset
 * and end_offset of struct cpt_log_reader_options, whose read function begins at that
 * place.
 *
 * Threads: any.
 */
#ifndef CPT_LOG_PARTS_H
#define CPT_LOG_PARTS_H

#include "cpt_log_index.h"

CPT_BEGIN_DECLS

/* The most parts that an input is cut into. */
enum { CPT_LOG_PARTS_MAX = 4096 };

struct cpt_log_part {
    uint64_t offset;       /* in the input, of its beginning */
    uint64_t end_offset;   /* of the next part's beginning, or of the input's end */
    uint64_t record_count; /* in all parts before, by the heads of the blocks */
};

/* See cpt_options_read(). */
struct cpt_log_parts_options {
    size_t struct_bytes;
    cpt_read_at_fn read_at; /* required */
    void *context;
    uint64_t input_bytes;   /* of the whole input */
    size_t part_count_max;  /* 1 to CPT_LOG_PARTS_MAX; default 1 */
    uint64_t part_bytes;    /* only the last part may be smaller; default 1 MiB */
    size_t block_bytes_max; /* that of the readers; 0: their default */
};

/*
 * Cuts an input into at most part_count_max parts of about the same length. Writes them
 * in ascending order to @parts, which has room for as many, and their count, at least
 * 1, to *@part_count. Reads the heads of all blocks.
 *
 * CPT_OK; CPT_INVALID for wrong options, with the reason in @error. An input that
 * cannot be read is one part: its reader reports the error.
 */
CPT_API cpt_status cpt_log_parts(const struct cpt_log_parts_options *options,
                                 struct cpt_log_part *parts, size_t *part_count,
                                 struct cpt_error *error);

CPT_END_DECLS

#endif
