/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_store.c - any bytes as the replies of a database
 *
 * The first byte chooses the query. Then follow the replies, one for each statement
 * that has one: a length of two bytes, low byte first, and that many bytes of rows.
 * This file replaces http.c, which talks to a server.
 *
 * The results must be consistent: the path of a row adds up to its latency, and a tree
 * can be written.
 */
#include "tool/store/store.h"

#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "tool/store/http.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKS = 7 };

struct cpti_http {
    int is_there;
};

static const uint8_t *answers;
static size_t answers_left;

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* --- Replaces http.c --- */

struct cpti_http *cpti_http_new(const struct cpti_http_place *place,
                                struct cpt_error *error)
{
    (void)place;
    (void)error;
    return calloc(1, sizeof(struct cpti_http));
}

void cpti_http_free(struct cpti_http *http)
{
    free(http);
}

/* Removes and returns the bytes of the next reply. */
static size_t next_answer(void)
{
    size_t bytes = 0;

    if (answers_left < 2) {
        return 0;
    }
    bytes = answers[0] | (size_t)answers[1] << 8;
    answers += 2;
    answers_left -= 2;
    return bytes < answers_left ? bytes : answers_left;
}

bool cpti_http_has_reached(const struct cpti_http *http)
{
    (void)http;
    return false;
}

const char *cpti_http_address(const struct cpti_http *http)
{
    (void)http;
    return "";
}

/* What ClickHouse answers, and is not asked again. */
static cpt_status repeat(const struct cpti_store_call *call, uint64_t number,
                         struct cpt_error *error)
{
    unsigned char bytes[8];
    size_t used = 0;

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> (8 * i));
    }
    return call->rows(call->context, bytes, sizeof bytes, &used, error);
}

cpt_status cpti_http_run(struct cpti_http *http, const struct cpti_store_call *call,
                         struct cpt_error *error)
{
    uint64_t echoed = 0;
    size_t bytes = 0;
    unsigned char *copy = NULL; /* of its own, so that sanitizers detect overreads */
    cpt_status status = CPT_OK;
    size_t at = 0;
    size_t used = 1;

    (void)http;
    if (sscanf(call->statement, "SELECT toUInt64(%" SCNu64 ")", &echoed) == 1) {
        return repeat(call, echoed, error);
    }
    bytes = call->rows != NULL ? next_answer() : 0;
    copy = malloc(bytes + 1);
    must(copy != NULL);
    memcpy(copy, answers, bytes);
    while (status == CPT_OK && used != 0 && at < bytes) {
        used = 0;
        status = call->rows(call->context, copy + at, bytes - at, &used, error);
        must(used <= bytes - at);
        at += used;
    }
    if (status == CPT_OK && at < bytes) {
        status = cpt_error_set(error, CPT_CORRUPT, 0, "the answer ends within a row");
    }
    answers += call->rows != NULL ? bytes : 0;
    answers_left -= call->rows != NULL ? bytes : 0;
    free(copy);
    return status;
}

/* --- The queries --- */

static cpt_status meet_row(void *context, const struct cpti_store_row *row)
{
    struct cpt_path *path = cpt_path_new(NULL);

    (void)context;
    must(path != NULL);
    if (cpt_record_path(row->record, NULL, path, NULL) == CPT_OK) {
        must(cpt_path_check(path, row->record->latency_ns, NULL) == CPT_OK);
    }
    cpt_path_free(path);
    return CPT_OK;
}

static cpt_status meet_service(void *context, const struct cpti_store_service *service)
{
    (void)context;
    must(service->name.bytes == 0 || service->name.data != NULL);
    return CPT_OK;
}

static cpt_status meet_source(void *context, struct cpt_bytes name, uint64_t hash)
{
    (void)context;
    (void)hash;
    must(name.bytes == 0 || name.data != NULL);
    return CPT_OK;
}

static cpt_status meet_place(void *context, const struct cpti_store_place *place)
{
    (void)context;
    (void)place;
    return CPT_OK;
}

static cpt_status meet_sum(void *context, uint64_t number, uint64_t low, uint64_t high)
{
    (void)context;
    (void)number;
    (void)low;
    (void)high;
    return CPT_OK;
}

static void ask_for_tree(struct cpti_store *store,
                         const struct cpti_store_question *question)
{
    struct cpt_tree *tree = NULL;
    void *data = NULL;
    size_t bytes = 0;

    if (cpti_store_ask(store, question, &tree, NULL) == CPT_OK) {
        must(cpt_tree_encode(NULL, tree, &data, &bytes) == CPT_OK);
    }
    free(data);
    cpt_tree_free(tree);
}

static void ask(struct cpti_store *store, unsigned what)
{
    const struct cpti_store_question question = {.until_ns = UINT64_MAX};
    const struct cpti_store_span span = {.to_ns = UINT64_MAX, .shift = 4};
    int has_key = 0;

    switch (what % ASKS) {
    case 0:
        (void)cpti_store_survey(store, &question, meet_service, NULL, NULL);
        break;
    case 1:
        ask_for_tree(store, &question);
        break;
    case 2:
        (void)cpti_store_undecided(store, &question, meet_row, NULL, NULL);
        break;
    case 3:
        (void)cpti_store_rows(store, &question, meet_row, NULL, NULL);
        break;
    case 4:
        (void)cpti_store_places(store, &question, meet_source, meet_place, NULL, NULL);
        break;
    case 5:
        (void)cpti_store_weigh(store, &question, &span, meet_sum, NULL, NULL);
        break;
    default:
        (void)cpti_store_has_key(store, cpt_bytes_of("arm"), &has_key, NULL);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct cpti_store *store = NULL;

    if (bytes == 0) {
        return 0;
    }
    answers = data + 1;
    answers_left = bytes - 1;
    must(cpti_store_open("clickhouse://localhost:1/fuzz", &store, NULL) == CPT_OK);
    ask(store, data[0]);
    cpti_store_close(store);
    return 0;
}
