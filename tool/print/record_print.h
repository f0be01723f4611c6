/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * record_print.h - one record of a log, for people and for programs
 *
 *      2026-01-31T12:00:00.000000000Z  A: /  35.000 ms  ok
 *      probability 0.01, random
 *      trace 0123456789abcdef0123456789abcdef
 *      meta arm=control region=eu
 *      … and its path, see path_print.h
 */
#ifndef CPTI_CLI_RECORD_PRINT_H
#define CPTI_CLI_RECORD_PRINT_H

#include "tool/table/json_write.h"

struct cpt_path;
struct cpt_record;

/* Prints the line "2026-…  A: /  35.000 ms  ok", fitted to the terminal; the texts are
 * safe to print. */
void cpti_record_title(uint64_t start_unix_ns, const char *entry, uint64_t latency_ns,
                       const char *status);

/* Prints @record with its @path on standard output. enum cpti_exit. */
int cpti_record_print(const struct cpt_record *record, const struct cpt_path *path);

/* Prints the headings of a table of records, and the row of @record, number @number of
 * its logs. Rows are not kept until the table is complete: a log may have no end. */
void cpti_record_heading(void);
void cpti_record_row(const struct cpt_record *record, uint64_t number);

/* Writes the line "probability 0.01, random" without its end. */
void cpti_record_write_flags(FILE *file, const struct cpt_record *record,
                             const struct cpt_path *path);

/* Writes the attributes: "arm=control region=eu". */
void cpti_record_write_attributes(FILE *file, const struct cpt_record *record);

/* An id of @count bytes, at most 16, as hexadecimal digits. */
const char *cpti_record_id(const unsigned char *bytes, size_t count, char text[33]);

/* Writes the attributes as an object. */
void cpti_record_attributes_json(struct cpti_json *json, const char *key,
                                 const struct cpt_record *record);

/* Writes an object: the fields of @record and the segments of its @path. */
void cpti_record_json(struct cpti_json *json, const struct cpt_record *record,
                      const struct cpt_path *path);

#endif
