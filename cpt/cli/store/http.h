/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http.h - one shard, spoken to over HTTP
 *
 * Every statement is one POST. Answers are asked for with wait_end_of_query: otherwise
 * the server has said "200 OK" long before it notices that it cannot go on, and writes
 * its excuse behind the rows.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_STORE_HTTP_H
#define CPTI_STORE_HTTP_H

#include "cpt/cpt_name.h"

struct cpti_http;

/* Where and as whom. All texts are borrowed until cpti_http_new() returns. */
struct cpti_http_place {
    const char *address; /* "http://127.0.0.1:8123" */
    const char *user;    /* NULL: the server's default */
    const char *password;
};

/* NULL with the reason in @error: CPT_UNAVAILABLE without libcurl, CPT_NO_MEMORY. The
 * caller owns it. Not while another thread uses one. */
struct cpti_http *cpti_http_new(const struct cpti_http_place *place,
                                struct cpt_error *error);
void cpti_http_free(struct cpti_http *http);

/* What answers go to: takes as many bytes as it can use, 0 if it needs more to come.
 * Not CPT_OK ends it. */
typedef cpt_status (*cpti_http_rows_fn)(void *context, const unsigned char *data,
                                        size_t bytes, size_t *used,
                                        struct cpt_error *error);

/* A table that goes with a statement, which can name it as any other. */
struct cpti_http_table {
    const char *name;      /* letters, digits and '_' only */
    const char *structure; /* "id UInt64" */
    const void *data;      /* RowBinary */
    size_t bytes;
};

/* One statement. */
struct cpti_http_call {
    const char *database;  /* letters, digits and '_' only */
    const char *statement; /* SQL */
    const void *data;      /* that follows it, for INSERT */
    size_t bytes;
    const struct cpti_http_table *tables; /* not with data */
    size_t table_count;
    cpti_http_rows_fn rows; /* NULL: there is no answer */
    void *context;
    size_t row_bytes_max;     /* of the answer; default 64 KiB */
    unsigned timeout_seconds; /* 0: as long as it takes */
};

/*
 * Runs @call. CPT_OK; CPT_UNAVAILABLE if nobody answered or the server is too busy;
 * CPT_FAILED if it refused, with what it said; CPT_CORRUPT if the answer ends within a
 * row; CPT_NO_MEMORY; or what `rows` returned. All with a sentence in @error.
 */
cpt_status cpti_http_run(struct cpti_http *http, const struct cpti_http_call *call,
                         struct cpt_error *error);

#endif
