/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http.h - the HTTP connection to one shard
 *
 * Each statement is one POST, with wait_end_of_query: otherwise the server sends "200
 * OK" at once, and if it fails later, writes the error after the rows.
 *
 * Every statement must be one that may be run twice: libcurl sends a POST again if a
 * kept connection ends before a byte of the answer, whether the server has run it or
 * not. Rows are the same row when they come again (tables.h); a column that is there is
 * looked for once more.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_STORE_HTTP_H
#define CPTI_STORE_HTTP_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpti_http;

/* Address and user. The texts are borrowed until cpti_http_new() returns. */
struct cpti_http_place {
    const char *address; /* "http://127.0.0.1:8123" */
    const char *user;    /* NULL: the server's default */
    const char *password;
};

/* A connection that the caller owns. NULL with @error: CPT_UNAVAILABLE without libcurl,
 * CPT_NO_MEMORY. Must not be called while another thread uses a connection. */
struct cpti_http *cpti_http_new(const struct cpti_http_place *place,
                                struct cpt_error *error);
void cpti_http_free(struct cpti_http *http);

/* Receives an answer: sets *@used to the bytes that it has used, 0 if it needs more.
 * Anything but CPT_OK ends the call. */
typedef cpt_status (*cpti_http_rows_fn)(void *context, const unsigned char *data,
                                        size_t bytes, size_t *used,
                                        struct cpt_error *error);

/* A temporary table, which the statement can use by its name. */
struct cpti_http_table {
    const char *name;      /* letters, digits and '_' only */
    const char *structure; /* "id UInt64" */
    const void *data;      /* RowBinary */
    size_t bytes;
};

/* One statement. */
struct cpti_store_call {
    const char *database;  /* letters, digits and '_' only */
    const char *statement; /* SQL */
    const void *data;      /* follows the statement, for INSERT */
    size_t bytes;
    const struct cpti_http_table *tables; /* not with data */
    size_t table_count;
    cpti_http_rows_fn rows; /* NULL: no answer is expected */
    void *context;
    size_t row_bytes_max;     /* of the answer; default 64 KiB */
    unsigned timeout_seconds; /* 0: no limit */
    bool is_stream;           /* `rows` keeps next to nothing of a row */
};

/* The longest answer by default, the same where rows are not kept, and the variable of
 * the environment that sets both. */
#define CPTI_HTTP_ANSWER_BYTES_MAX (UINT64_C(1) << 30)
#define CPTI_HTTP_STREAM_BYTES_MAX (UINT64_C(1) << 36)
#define CPTI_HTTP_ANSWER_VARIABLE  "CPT_CLICKHOUSE_MAX_BYTES"

/*
 * Runs @call. CPT_OK; CPT_UNAVAILABLE if the server does not answer or is too busy;
 * CPT_FAILED if it refused, with its reason, or answered what has no answer;
 * CPT_CORRUPT if the answer ends within a row; CPT_LIMIT if it is too long;
 * CPT_NO_MEMORY; or the status of `rows`. All with a sentence in @error.
 */
cpt_status cpti_http_run(struct cpti_http *http, const struct cpti_store_call *call,
                         struct cpt_error *error);

/* "http://127.0.0.1:8123"; borrowed from @http. */
const char *cpti_http_address(const struct cpti_http *http);

/* Whether a server took the connection of the last call, whatever became of it then. */
bool cpti_http_has_reached(const struct cpti_http *http);

#endif
