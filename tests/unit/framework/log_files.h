/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_files.h - a folder of path logs: written and read by the tests of log files */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include "cpt/cpt_name.h"
#include "framework/cpt_log_file.h"

#include <stdint.h>

enum { NAMES_MAX = 64 };

struct cpt_log_block;

extern char folder[64]; /* of the current test */

/* Makes the folder of a test; empties and removes it. */
void open_folder(void);
void close_folder(void);

/* The files of the folder, sorted; how many. */
int list_folder(char names[NAMES_MAX][400]);

/* The bytes of all files of the folder. */
uint64_t folder_bytes(void);

/* A block of @count records; the first one's latency is @first + 1. Borrowed. */
struct cpt_bytes make_block(struct cpt_log_block *block, uint64_t first, size_t count);

/* Writes such a block to @file. */
cpt_status write_block(struct cpt_log_file *file, uint64_t first, size_t count);

/* The number of records of an intact file; adds their latencies to *@sum. */
uint64_t read_file(const char *name, uint64_t *sum);

/* The same of all files of the folder. */
uint64_t read_folder(uint64_t *sum);

/* Blocks in the index of a file; -1 if it has none. */
int indexed_blocks(const char *name);

/* The options of a log in the folder. */
struct cpt_log_file_options in_folder(void);

struct cpt_log_file_counts counts_of(const struct cpt_log_file *file);

#endif
