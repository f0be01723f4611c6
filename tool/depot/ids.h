/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * ids.h - where in a path log the trace with an id is: its file of ids
 *
 *      .paths.cptlog.ids   [ head ][ page ][ page ][ page ] …
 *      page                | crc | count | id, place | id, place | …
 *
 * The ids are in ascending order, in pages of one size, so a search reads a few pages
 * of any number. A place is the offset in the log of a block with such a record, or of
 * one before it. Head and pages have checksums. The head says how much of the log the
 * ids are of, and knows that part by two checksums, so a log that has grown is told
 * from one that was replaced.
 *
 * A file of ids can always be made anew from its log. It is a cache, of the tool alone,
 * and is not trusted: what it leads to is compared with what was looked for.
 *
 * Numbers are little-endian. The head:
 *
 *      at  bytes
 *       0   8    magic 89 63 70 74 69 64 73 0a  ("\x89cptids\n")
 *       8   4    version, 1
 *      12   4    bytes of a page
 *      16   8    count of ids
 *      24   8    bytes of the log that they are of
 *      32   8    the earliest start of its records, in ns since 1970
 *      40   8    the latest
 *      48   8    count of its records
 *      56   4    CRC-32C of the first 4,096 bytes of that part, or of all of it
 *      60   4    the same of its last ones
 *      64   4    CRC-32C of the 64 bytes before
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_IDS_H
#define CPTI_CLI_IDS_H

#include "cpt/cpt_name.h"
#include "wire/cpt_log_index.h"

#include <stdbool.h>

enum {
    CPTI_ID_BYTES = 16,
    CPTI_IDS_HEAD_BYTES = 68,
    CPTI_IDS_PAGE_BYTES = 4096,
    CPTI_IDS_PAGE_HEAD_BYTES = 8,
    CPTI_IDS_ENTRY_BYTES = CPTI_ID_BYTES + 8,
    CPTI_IDS_PAGE_ENTRIES =
        (CPTI_IDS_PAGE_BYTES - CPTI_IDS_PAGE_HEAD_BYTES) / CPTI_IDS_ENTRY_BYTES,
    CPTI_IDS_MAX = 1 << 27,  /* of one log */
    CPTI_IDS_PLACES_MAX = 64 /* of one id that a search returns */
};

/* What a file of ids says of its log. */
struct cpti_ids_head {
    uint64_t id_count;
    uint64_t log_bytes;
    uint64_t start_min_ns;
    uint64_t start_max_ns;
    uint64_t record_count;
    uint32_t first_crc;
    uint32_t last_crc;
};

struct cpti_id_place {
    unsigned char id[CPTI_ID_BYTES];
    uint64_t offset;
};

/* The id that stands for @text: 32 hexadecimal digits are its bytes, 16 are the last
 * ones of it; of any other text it is a hash. */
void cpti_id_of(struct cpt_bytes text, unsigned char id[CPTI_ID_BYTES]);

/* Writes the head and the pages of @count places, which it sorts. CPT_OK, or what @sink
 * ended it with. */
cpt_status cpti_ids_write(const struct cpti_ids_head *head,
                          struct cpti_id_place *places, size_t count,
                          const struct cpt_sink *sink);

/* Whether the @bytes at @head are the beginning of a file of ids. */
bool cpti_ids_begin(const unsigned char *head, size_t bytes);

/* A file of ids that is read. */
struct cpti_ids {
    cpt_read_at_fn read_at;
    void *context;
    uint64_t file_bytes;
    struct cpti_ids_head head; /* by cpti_ids_open() */
};

/* Reads and checks the head; the first three fields are set. CPT_OK; CPT_CORRUPT. */
cpt_status cpti_ids_open(struct cpti_ids *ids);

/* Writes the places of @id to @offsets, ascending, each once, and their count. CPT_OK;
 * CPT_CORRUPT; CPT_LIMIT: there are more, these are the first. */
cpt_status cpti_ids_find(const struct cpti_ids *ids, const unsigned char *id,
                         uint64_t offsets[CPTI_IDS_PLACES_MAX], size_t *count);

/* Reads all places to @places, which has room for head.id_count. CPT_OK;
 * CPT_CORRUPT. */
cpt_status cpti_ids_read(const struct cpti_ids *ids, struct cpti_id_place *places);

#endif
