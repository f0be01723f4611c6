/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* bench_import_json.h - the JSON library alone, for bench_import.c */
#ifndef BENCH_IMPORT_JSON_H
#define BENCH_IMPORT_JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_json;

struct bench_json *bench_json_new(void);
void bench_json_free(struct bench_json *json);

/* Parses the documents in the @count bytes at @bytes, behind which there are 64 more,
 * and looks at each value. A sum of them, so that none is left out; 0: not JSON. */
uint64_t bench_json_read(struct bench_json *json, const char *bytes, size_t count);

#ifdef __cplusplus
}
#endif

#endif
