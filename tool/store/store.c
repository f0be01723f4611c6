/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* store.c - addresses, shards and tables; see store.h */
#include "tool/store/store.h"

#include "tool/store/store_parts.h"
#include "tool/store/tables.h"
#include "cpt/cpt_alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain[] = "clickhouse://";
static const char secret[] = "clickhouses://";

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* --- Addresses --- */

/* The parts of an address: strings in `text`. */
struct address {
    char text[CPTI_STORE_ADDRESS_BYTES_MAX + 1];
    bool is_secret;
    char *user; /* NULL: none */
    char *places;
    char *database;
};

static bool is_name(const char *text)
{
    const size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                      "UVWXYZ0123456789_");

    return bytes != 0 && bytes <= CPTI_STORE_NAME_BYTES_MAX && text[bytes] == '\0';
}

static cpt_status parse_address(const char *given, struct address *address,
                                struct cpt_error *error)
{
    char *at;

    if (strlen(given) > CPTI_STORE_ADDRESS_BYTES_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0, "is longer than %d bytes",
                             CPTI_STORE_ADDRESS_BYTES_MAX);
    }
    (void)snprintf(address->text, sizeof address->text, "%s", given);
    address->is_secret = begins_with(given, secret);
    address->places = address->text + strlen(address->is_secret ? secret : plain);
    address->database = strchr(address->places, '/');
    if (address->database == NULL || !is_name(address->database + 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "needs a database of letters, digits and '_', as in "
                             "clickhouse://HOST:8123/DATABASE");
    }
    *address->database++ = '\0';
    at = strrchr(address->places, '@');
    if (at != NULL) {
        *at = '\0';
        address->user = address->places;
        address->places = at + 1;
    }
    if (address->user != NULL && strchr(address->user, ':') != NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "holds a password, which other users can see; set "
                             "CPT_CLICKHOUSE_PASSWORD in the environment");
    }
    return CPT_OK;
}

/* Whether @place is "HOST:PORT" or "[IPV6]:PORT", with no character that has another
 * meaning in a URL. */
static bool is_place(const char *place)
{
    const char *colon = strrchr(place, ':');
    const char *digits = "0123456789";

    return colon != NULL && colon != place && colon[1] != '\0' &&
           strspn(colon + 1, digits) == strlen(colon + 1) && strlen(colon + 1) <= 5 &&
           strspn(place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789.-_[]:") == strlen(place);
}

static cpt_status add_shard(struct cpti_store *store, const struct address *address,
                            const char *place, struct cpt_error *error)
{
    char text[CPTI_STORE_ADDRESS_BYTES_MAX + 16];
    const struct cpti_http_place where = {
        .address = text,
        .user = address->user,
        .password = getenv("CPT_CLICKHOUSE_PASSWORD"),
    };

    if (!is_place(place)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "needs HOST:PORT with the HTTP port of each shard, as in "
                             "clickhouse://HOST:8123/DATABASE");
    }
    if (store->shard_count == CPTI_STORE_SHARDS_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0, "has more than %d shards",
                             CPTI_STORE_SHARDS_MAX);
    }
    (void)snprintf(text, sizeof text, "%s://%s", address->is_secret ? "https" : "http",
                   place);
    store->shards[store->shard_count].http = cpti_http_new(&where, error);
    if (store->shards[store->shard_count].http == NULL) {
        return error != NULL ? error->status : CPT_UNAVAILABLE;
    }
    store->shard_count++;
    return CPT_OK;
}

static cpt_status add_shards(struct cpti_store *store, struct address *address,
                             struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    char *place = address->places;

    while (place != NULL && status == CPT_OK) {
        char *comma = strchr(place, ',');

        if (comma != NULL) {
            *comma = '\0';
        }
        status = add_shard(store, address, place, error);
        place = comma != NULL ? comma + 1 : NULL;
    }
    return status;
}

cpt_status cpti_store_open(const char *given, struct cpti_store **store,
                           struct cpt_error *error)
{
    struct address address = {.user = NULL};
    cpt_status status = parse_address(given, &address, error);
    struct cpti_store *made;

    if (status != CPT_OK) {
        return status;
    }
    made = cpt_alloc_zeroed(NULL, sizeof *made);
    if (made != NULL) {
        made->shards =
            cpt_alloc_zeroed(NULL, CPTI_STORE_SHARDS_MAX * sizeof *made->shards);
    }
    if (made == NULL || made->shards == NULL) {
        cpt_alloc_free(NULL, made);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    made->retry_seconds = CPTI_STORE_RETRY_SECONDS;
    made->batch_rows = CPTI_STORE_BATCH_ROWS;
    (void)snprintf(made->database, sizeof made->database, "%s", address.database);
    status = add_shards(made, &address, error);
    if (status != CPT_OK) {
        cpti_store_close(made);
        return status;
    }
    *store = made;
    return CPT_OK;
}

void cpti_store_close(struct cpti_store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < store->shard_count; i++) {
        cpti_shard_end(&store->shards[i]);
        cpti_http_free(store->shards[i].http);
    }
    cpti_stacks_deinit(&store->stacks);
    cpti_packed_deinit(&store->row);
    cpt_alloc_free(NULL, store->times);
    cpt_alloc_free(NULL, store->shards);
    cpt_alloc_free(NULL, store);
}

void cpti_store_retry_for(struct cpti_store *store, unsigned seconds)
{
    store->retry_seconds = seconds;
}

void cpti_store_batch_rows(struct cpti_store *store, size_t rows)
{
    store->batch_rows = rows;
}

void cpti_store_keep_copies(struct cpti_store *store, bool keeps_copies)
{
    store->keeps_copies = keeps_copies;
}

/* --- Tables --- */

static cpt_status take_count(void *context, const unsigned char *data, size_t bytes,
                             size_t *used, struct cpt_error *error)
{
    const unsigned char *at = data;

    (void)error;
    *used = cpti_row_get_u64(&at, data + bytes, context) ? (size_t)(at - data) : 0;
    return CPT_OK;
}

static cpt_status has_ordinal(const struct cpti_store *store, struct cpti_shard *shard,
                              uint64_t *count, struct cpt_error *error)
{
    const struct cpti_store_call call = {
        .database = store->database,
        .statement = CPTI_HAS_ORDINAL,
        .rows = take_count,
        .context = count,
        .timeout_seconds = CPTI_STATEMENT_SECONDS,
    };

    *count = 0;
    return cpti_http_run(shard->http, &call, error);
}

/* Adds the column to a table made before there was one. If that fails, another loader
 * may have added it in between. */
static cpt_status add_ordinal(const struct cpti_store *store, struct cpti_shard *shard,
                              struct cpt_error *error)
{
    struct cpt_error refusal = {0};
    uint64_t count;
    cpt_status status = has_ordinal(store, shard, &count, error);

    if (status != CPT_OK || count != 0 ||
        cpti_shard_run(store, shard, CPTI_TABLE_ORDINAL, NULL, &refusal) == CPT_OK) {
        return status;
    }
    status = has_ordinal(store, shard, &count, error);
    return status != CPT_OK || count != 0
               ? status
               : cpt_error_set(error, CPT_FAILED, 0, "%s", refusal.sentence);
}

static cpt_status create_on(const struct cpti_store *store, struct cpti_shard *shard,
                            struct cpt_error *error)
{
    static const char *const tables[] = {CPTI_TABLE_STACKS, CPTI_TABLE_REQUESTS};
    char statement[64 + CPTI_STORE_NAME_BYTES_MAX];
    const struct cpti_store_call call = {
        .database = "default", /* the store's own may not exist yet */
        .statement = statement,
        .timeout_seconds = CPTI_STATEMENT_SECONDS,
    };
    cpt_status status = cpti_shard_know(shard, "default", store->retry_seconds, error);

    (void)snprintf(statement, sizeof statement, "CREATE DATABASE IF NOT EXISTS `%s`",
                   store->database);
    if (status == CPT_OK) {
        status = cpti_shard_persist(shard, &call, store->retry_seconds, error);
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == CPT_OK; i++) {
        status = cpti_shard_run(store, shard, tables[i], NULL, error);
    }
    return status != CPT_OK ? status : add_ordinal(store, shard, error);
}

cpt_status cpti_store_create(struct cpti_store *store, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < store->shard_count && status == CPT_OK; i++) {
        status = create_on(store, &store->shards[i], error);
    }
    return status;
}
