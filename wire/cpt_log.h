/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log.h - the path log: one record for each traced request
 *
 * A record is what is kept of a request: its arrival, its method, its latency, the
 * probability with which it was traced, the application's remarks on it (*attributes*),
 * and its critical path. Records are CBOR maps. They stand in blocks, each with its
 * length and checksums. So a reader that meets damage continues at the next block, and
 * a killed writer loses only what it had not written yet:
 *
 *      file    [ header ][ block of records ][ block of records ][ block ...
 *      block   | magic type count length crc | record record record ... |
 *
 * (Byte tables and CDDL: docs/format-path-log.md.)
 *
 * Nothing here opens a file: blocks are made in memory, and read through a function of
 * the caller.
 *
 * In order of use. A writer: cpt_log_header once for each new file; cpt_record_encode
 * and cpt_log_block_add for each record; cpt_log_block_finish when that returns that
 * the block is full, or when it is old enough. A reader: cpt_log_reader_new,
 * cpt_log_reader_next until CPT_END, cpt_record_path for records of interest.
 *
 * Threads: one at a time for each block and each reader; cpt_record_encode from any.
 */
#ifndef CPT_LOG_H
#define CPT_LOG_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"
#include "cpt/cpt_path.h"

CPT_BEGIN_DECLS

/* --- Records --- */

/* The type of an attribute's value. The numbers are not those of the file format. */
enum cpt_attribute_type {
    CPT_ATTRIBUTE_TEXT = 0,
    CPT_ATTRIBUTE_INTEGER = 1,
    CPT_ATTRIBUTE_FLOAT = 2,
    CPT_ATTRIBUTE_BOOL = 3
};

/* Limits of the attributes of one request: their count, and the bytes of keys and
 * texts. A recorder drops what is above the limits and counts it. */
enum { CPT_ATTRIBUTES_MAX = 32, CPT_ATTRIBUTE_BYTES_MAX = 4096 };

/* Text, number or boolean, by type. */
union cpt_attribute_value {
    struct cpt_bytes text; /* CPT_ATTRIBUTE_TEXT */
    int64_t integer;       /* CPT_ATTRIBUTE_INTEGER */
    double real;           /* CPT_ATTRIBUTE_FLOAT */
    int is_true;           /* CPT_ATTRIBUTE_BOOL */
};

/* A remark of the application on a request. */
struct cpt_attribute {
    struct cpt_bytes key;
    unsigned type; /* enum cpt_attribute_type */
    union cpt_attribute_value value;
};

/*
 * One record. A writer fills in what it has; zero fields are left out. A reader returns
 * pointers that are borrowed until its next call. Texts may be any bytes.
 */
struct cpt_record {
    uint64_t start_unix_ns;   /* wall clock at the arrival; below 2^63 */
    uint64_t latency_ns;      /* the sum of the path; below 2^63 */
    double probability;       /* with which this request was traced at random: [0, 1] */
    struct cpt_bytes service; /* where the request entered: "A" */
    struct cpt_bytes method;  /* "/", "GET /search" */
    struct cpt_bytes entry;   /* the entry frame's name, "A: /" */
    struct cpt_bytes status;  /* its outcome, in the service's words: "ok", "503" */
    const struct cpt_attribute *attributes;
    size_t attribute_count;
    int is_failed;     /* the request failed, whatever its status */
    int is_forced;     /* a person asked to trace this request */
    int is_random;     /* it was traced at random; both may be set */
    int is_local_root; /* of an inner service; the entry may have its own record */
    int is_background; /* no request, but its work after the answer, until the end of
                          its last task. is_local_root is set, too, so that readers
                          that do not know this flag leave the record out. */
    int has_trace_id;  /* whether trace_id is set, from a traceparent */
    int has_parent_id; /* whether parent_id is set */
    unsigned char trace_id[16];
    unsigned char parent_id[8];
    const struct cpt_path *path; /* to write; NULL: write path_bytes as they are */
    struct cpt_bytes path_bytes; /* as read; see cpt_record_path() */
};

/* Limits of a record. */
enum {
    CPT_LOG_RECORD_BYTES_MAX = 1 << 26, /* written or read; options may set less */
    CPT_LOG_ATTRIBUTES_MAX = 1024       /* that a reader accepts */
};

/*
 * Encodes @record into a new block of memory, which the caller owns and frees by
 * cpt_alloc_free(). @record is not needed afterwards. Threads: any that owns @record.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if it is larger than CPT_LOG_RECORD_BYTES_MAX or has
 * more than CPT_LOG_ATTRIBUTES_MAX attributes; CPT_INVALID if a time is not below 2^63
 * or the probability not in [0, 1].
 */
CPT_API cpt_status cpt_record_encode(const struct cpt_record *record,
                                     const struct cpt_alloc *alloc,
                                     unsigned char **data, size_t *bytes,
                                     struct cpt_error *error);

/*
 * Decodes the path of @record, which was read, into @path, which is empty, and checks
 * that it adds up to the latency. The limits are those of cpt_path.h. @alloc (NULL:
 * malloc's) is for scratch memory.
 *
 * Errors of cpt_metadata_decode(); after one @path is empty.
 */
CPT_API cpt_status cpt_record_path(const struct cpt_record *record,
                                   const struct cpt_alloc *alloc, struct cpt_path *path,
                                   struct cpt_error *error);

/* The last attribute @key of @record, or NULL. */
CPT_API const struct cpt_attribute *
cpt_record_attribute(const struct cpt_record *record, struct cpt_bytes key);

/* --- Writing --- */

enum {
    CPT_LOG_VERSION = 1,
    CPT_LOG_HEADER_BYTES_MAX = 128,         /* enough for cpt_log_header() */
    CPT_LOG_BLOCK_BYTES_DEFAULT = 64 * 1024 /* of a block's records */
};

/*
 * Writes the block that a new file begins with to @buffer, of at least
 * CPT_LOG_HEADER_BYTES_MAX bytes, and returns its bytes. The block does no harm in the
 * middle of a file, where another writer continued.
 */
CPT_API size_t cpt_log_header(unsigned char *buffer);

/* What a service tells of its requests while it has traced none of them. */
struct cpt_log_untraced {
    struct cpt_bytes service;
    double probability;     /* with which it traces a request */
    uint64_t request_count; /* that it got */
    uint64_t process;       /* tells the writers of one log apart; up to 2^63 - 1 */
    int is_final;           /* the service ended; otherwise it may have got more */
};

/* Enough for cpt_log_untraced_block(). */
enum { CPT_LOG_UNTRACED_BYTES_MAX = 512 };

/*
 * Writes a block that tells it to @buffer, of at least CPT_LOG_UNTRACED_BYTES_MAX
 * bytes, and returns its bytes. It may stand anywhere in a log; of one service and
 * process the last one counts. A longer name of the service is cut.
 */
CPT_API size_t cpt_log_untraced_block(const struct cpt_log_untraced *untraced,
                                      unsigned char *buffer);

/* A block that is being filled. */
struct cpt_log_block;

/* An empty block for about @bytes_max bytes of records (0: the default), or NULL
 * without memory. It takes its memory as it fills. The caller owns it. */
CPT_API struct cpt_log_block *cpt_log_block_new(const struct cpt_alloc *alloc,
                                                size_t bytes_max);
CPT_API void cpt_log_block_free(struct cpt_log_block *block);

/*
 * Adds one record, the @bytes at @data from cpt_record_encode(). The first record is
 * accepted at any size.
 *
 * CPT_OK; CPT_LIMIT if the block is full: finish it, then add again; CPT_NO_MEMORY.
 * After an error the block is as before.
 */
CPT_API cpt_status cpt_log_block_add(struct cpt_log_block *block, const void *data,
                                     size_t bytes);

/* The count of records in the block. */
CPT_API size_t cpt_log_block_count(const struct cpt_log_block *block);

/*
 * Compresses blocks that are finished from now on by zstd at @level, 1 (fast) to 19
 * (small); 0: no longer. A block that would not become smaller is not compressed.
 *
 * CPT_OK; CPT_INVALID for another level; CPT_UNAVAILABLE if the library was built
 * without zstd.
 */
CPT_API cpt_status cpt_log_block_compress(struct cpt_log_block *block, int level);

/*
 * Completes the block and empties it. Returns the bytes to write, which are borrowed
 * until the block is added to or freed; 0 bytes if it held no record.
 */
CPT_API struct cpt_bytes cpt_log_block_finish(struct cpt_log_block *block);

/* --- Reading --- */

struct cpt_log_index;
struct cpt_log_index_block;

/* Goes to byte @offset of the input, where the next read begins. */
typedef cpt_status (*cpt_log_seek_fn)(void *context, uint64_t offset);

/* Whether @block may hold wanted records: 0 passes over it. */
typedef int (*cpt_log_wants_fn)(void *context, const struct cpt_log_index *index,
                                const struct cpt_log_index_block *block);

/* What a reader allows. Zero fields mean their defaults; see cpt_options_read(). */
struct cpt_log_reader_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    cpt_read_fn read; /* required */
    void *context;
    size_t block_bytes_max;  /* longest block; default 2^26 + 64 KiB */
    size_t record_bytes_max; /* longest record; default CPT_LOG_RECORD_BYTES_MAX */
    /* To pass over blocks, as our tool does (cpt_log_index.h, which is not installed).
     * Without all three, all blocks are read. */
    const struct cpt_log_index *index; /* of this input; must outlive the reader */
    cpt_log_seek_fn seek;
    cpt_log_wants_fn wants;
    void *wants_context;
    /* To read a part of the input, see cpt_log_parts.h: `read` begins at start_offset,
     * and the first block at or behind end_offset (0: none) ends the part. */
    uint64_t start_offset;
    uint64_t end_offset;
    /* If set: called within cpt_log_reader_next() for what services tell of requests
     * while none is traced. @untraced is borrowed for the call. */
    void (*untraced)(void *context, const struct cpt_log_untraced *untraced);
    void *untraced_context;
    /* An input may never end: so much without a block ends it; default 2^30. */
    uint64_t lost_bytes_max;
};

/* What a reader has read and skipped. */
struct cpt_log_counts {
    uint64_t records;         /* returned */
    uint64_t blocks;          /* sound blocks of records */
    uint64_t other_blocks;    /* file headers and unknown types, skipped: no damage */
    uint64_t skipped_records; /* lost to damage, as far as known */
    uint64_t skipped_blocks;  /* damaged */
    uint64_t skipped_bytes;   /* in no sound block, without the tail */
    uint64_t tail_bytes;      /* of an incomplete last block */
    uint64_t passed_blocks;   /* not wanted, by the index, and not read */
    uint64_t passed_records;  /* in those blocks */
    int is_index_refused;     /* it did not match the input: ignored from there on */
};

struct cpt_log_reader;

/* A reader at the beginning, or NULL without memory or without a read function. The
 * caller owns it. It holds one block at a time, with memory only for the bytes that
 * were read. */
CPT_API struct cpt_log_reader *
cpt_log_reader_new(const struct cpt_log_reader_options *options,
                   struct cpt_error *error);
CPT_API void cpt_log_reader_free(struct cpt_log_reader *reader);

/*
 * Reads the next record. Unknown keys are skipped; the path is not decoded.
 *
 * CPT_OK; CPT_END at the end. CPT_CORRUPT, CPT_LIMIT, CPT_VERSION: there is no valid
 * record here; it was counted, the reason is in @error, and the next call continues
 * after it. CPT_TRUNCATED: the last block is incomplete, because a writer is at work or
 * was killed; the next call returns CPT_END, and so it does if CPT_CORRUPT is for
 * lost_bytes_max. CPT_NO_MEMORY and errors of the read function: the next call tries
 * again.
 */
CPT_API cpt_status cpt_log_reader_next(struct cpt_log_reader *reader,
                                       struct cpt_record *record,
                                       struct cpt_error *error);

/* The offset in the input of the record returned last; for a compressed block that of
 * the block. */
CPT_API uint64_t cpt_log_reader_offset(const struct cpt_log_reader *reader);

/* The encoded bytes of that record, to copy it to another log (cpt_log_block_add);
 * borrowed until the next call. */
CPT_API struct cpt_bytes cpt_log_reader_bytes(const struct cpt_log_reader *reader);

/*
 * Decodes @data, a copy of cpt_log_reader_bytes(), into @record, whose pointers are
 * borrowed from @data and, until its next call, from @reader. Does not change the
 * reader's position.
 *
 * CPT_OK; CPT_CORRUPT, CPT_LIMIT, CPT_VERSION with the reason in @error; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_log_reader_decode(struct cpt_log_reader *reader,
                                         struct cpt_bytes data,
                                         struct cpt_record *record,
                                         struct cpt_error *error);

/* The counts so far; borrowed until the reader is freed. */
CPT_API const struct cpt_log_counts *
cpt_log_reader_counts(const struct cpt_log_reader *reader);

CPT_END_DECLS

#endif
