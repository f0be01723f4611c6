/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_parts.h - one path log cut into parts that several readers share
 *
 *      file    [ header ][ records ][ records ][ records ][ records ][ index ]
 *      parts   |-------- 0 ---------|-------- 1 ---------|------- 2 ---------|
 *
 * Each part begins where a block begins, and the parts make up the whole input: what
 * readers of all parts give out, one behind the other, is what one reader of the input
 * gives out.
 *
 * A place is a boundary only if heads of blocks, each sound by its own checksum, lead
 * there one behind the other from the beginning, for that is how a reader of the whole
 * input finds it, too, whatever the payloads between are worth. Behind the first place
 * where a head should be and is none, nobody knows what a reader will believe before
 * it has read all before it: from there on everything belongs to the last part.
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
    uint64_t offset;       /* of the input: where it begins */
    uint64_t end_offset;   /* where the next one does; of the last the input's end */
    uint64_t record_count; /* in all parts before, as the heads of the blocks say */
};

/* See cpt_options_read(). */
struct cpt_log_parts_options {
    size_t struct_bytes;
    cpt_log_read_at_fn read_at; /* required */
    void *context;
    uint64_t input_bytes;   /* of the whole input */
    size_t part_count_max;  /* 1 to CPT_LOG_PARTS_MAX; default 1 */
    uint64_t part_bytes;    /* none but the last is smaller; default 1 MiB */
    size_t block_bytes_max; /* as of the readers; 0: their default */
};

/*
 * Cuts an input into at most part_count_max parts of about the same length, and writes
 * them to @parts, which has room for as many, in ascending order; how many to
 * *@part_count, which is at least 1. The heads of all blocks are read.
 *
 * CPT_OK; CPT_INVALID for options that are none, with the reason in @error. An input
 * that cannot be read is one part: who reads it finds out.
 */
CPT_API cpt_status cpt_log_parts(const struct cpt_log_parts_options *options,
                                 struct cpt_log_part *parts, size_t *part_count,
                                 struct cpt_error *error);

CPT_END_DECLS

#endif
