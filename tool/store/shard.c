/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * shard.c - the statements and batches that go to one shard
 *
 *      filling:  rows … rows … rows | swap |  rows …            the loader's thread
 *      sending:                     '------'--POST-->|  shard   the sender's thread
 *
 * Each shard has two batches: one is filled while the other is sent. When the first is
 * full and the second has arrived, they change places. So all shards receive rows at
 * the same time, while the loader continues.
 *
 * A batch is sent again if its answer was lost. It is never sent to another shard,
 * which would count its rows once more. While a shard does not answer, its rows and the
 * loader wait.
 *
 * A server takes rows of a limited number of partitions at once (100 by default). A
 * batch with more months is sent in parts, each with all rows of some months.
 *
 * Threads: from its start to cpti_shard_wait(), only the sender uses `sending` and the
 * connection.
 */
#include "tool/store/store_parts.h"
#include "tool/store/tables.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The first and the longest pause before a retry; the most months in an INSERT. */
enum { PAUSE_FIRST_MS = 100, PAUSE_MAX_MS = 3000, MONTHS_MAX = 90 };

/* The thread that sends to a shard. */
struct cpti_sender {
    const struct cpti_store *store;
    struct cpti_shard *shard;
    pthread_t thread;
    cpt_status status;
    struct cpt_error error;
};

static void pause_ms(unsigned ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

cpt_status cpti_shard_run(const struct cpti_store *store, struct cpti_shard *shard,
                          const char *statement, const struct cpti_packed *rows,
                          struct cpt_error *error)
{
    const struct cpti_store_call call = {
        .database = store->database,
        .statement = statement,
        .data = rows != NULL ? rows->data : NULL,
        .bytes = rows != NULL ? rows->bytes : 0,
        .timeout_seconds = CPTI_STATEMENT_SECONDS,
    };

    return cpti_http_run(shard->http, &call, error);
}

cpt_status cpti_shard_persist(struct cpti_shard *shard,
                              const struct cpti_store_call *call,
                              unsigned retry_seconds, struct cpt_error *error)
{
    const uint64_t until_ns =
        cpt_clock_now_ns(cpt_clock_monotonic()) + retry_seconds * UINT64_C(1000000000);
    unsigned ms = PAUSE_FIRST_MS;

    for (;;) {
        struct cpt_error why = {0};
        const cpt_status status = cpti_http_run(shard->http, call, &why);

        if (status == CPT_OK) {
            return CPT_OK;
        }
        if (status != CPT_UNAVAILABLE ||
            (!shard->is_known && !cpti_http_has_reached(shard->http)) ||
            cpt_clock_now_ns(cpt_clock_monotonic()) + ms * UINT64_C(1000000) >=
                until_ns) {
            return cpt_error_set(error, status, 0, "%s", why.sentence);
        }
        pause_ms(ms);
        ms = 2 * ms < PAUSE_MAX_MS ? 2 * ms : PAUSE_MAX_MS;
    }
}

/* Repeats an INSERT until the shard takes it, refuses it, or the time for retries
 * ends. */
static cpt_status insert(const struct cpti_store *store, struct cpti_shard *shard,
                         const char *statement, const struct cpti_packed *rows,
                         struct cpt_error *error)
{
    const struct cpti_store_call call = {
        .database = store->database,
        .statement = statement,
        .data = rows->data,
        .bytes = rows->bytes,
        .timeout_seconds = CPTI_STATEMENT_SECONDS,
    };

    return rows->bytes != 0
               ? cpti_shard_persist(shard, &call, store->retry_seconds, error)
               : CPT_OK;
}

/* --- Is it ClickHouse? --- */

/* The number that is expected, and those that came. */
struct echo {
    uint64_t wanted;
    size_t wrong_count;
    size_t count;
};

static cpt_status take_echo(void *context, const unsigned char *data, size_t bytes,
                            size_t *used, struct cpt_error *error)
{
    struct echo *echo = context;
    const unsigned char *at = data;
    uint64_t number = 0;

    (void)error;
    *used = 0;
    if (cpti_row_get_u64(&at, data + bytes, &number)) {
        *used = (size_t)(at - data);
        echo->wrong_count += number != echo->wanted;
        echo->count++;
    }
    return CPT_OK;
}

cpt_status cpti_shard_know(struct cpti_shard *shard, const char *database,
                           unsigned retry_seconds, struct cpt_error *error)
{
    struct echo echo = {.wanted = cpt_clock_unix_ns()}; /* no page contains it */
    char statement[80];
    const struct cpti_store_call call = {
        .database = database,
        .statement = statement,
        .rows = take_echo,
        .context = &echo,
        .timeout_seconds = CPTI_STATEMENT_SECONDS,
    };
    struct cpt_error why = {0};
    cpt_status status;

    if (shard->is_known) {
        return CPT_OK;
    }
    (void)snprintf(statement, sizeof statement,
                   "SELECT toUInt64(%" PRIu64 ") FORMAT RowBinary", echo.wanted);
    status = cpti_shard_persist(shard, &call, retry_seconds, &why);
    if (status == CPT_CORRUPT ||
        (status == CPT_OK && (echo.count != 1 || echo.wrong_count != 0))) {
        return cpt_error_set(error, CPT_FAILED, 0,
                             "%s: is not ClickHouse's HTTP port: it did not repeat a "
                             "number",
                             cpti_http_address(shard->http));
    }
    shard->is_known = status == CPT_OK;
    return status == CPT_OK ? CPT_OK
                            : cpt_error_set(error, status, 0, "%s", why.sentence);
}

/* --- Parts of a batch --- */

static int compare_places(const void *left, const void *right)
{
    const struct cpti_row_place *a = left;
    const struct cpti_row_place *b = right;

    if (a->month != b->month) {
        return a->month < b->month ? -1 : 1;
    }
    return (a->at > b->at) - (a->at < b->at);
}

size_t cpti_batch_part(const struct cpti_store_batch *batch, size_t from)
{
    size_t month_count = 1;
    size_t to = from + 1;

    for (; to < batch->row_count; to++) {
        month_count += batch->places[to].month != batch->places[to - 1].month;
        if (month_count > MONTHS_MAX) {
            break;
        }
    }
    return to;
}

static cpt_status insert_parts(const struct cpti_store *store, struct cpti_shard *shard,
                               const struct cpti_store_batch *batch,
                               struct cpt_error *error)
{
    struct cpti_packed part = {0};
    cpt_status status = CPT_OK;
    size_t to;

    for (size_t from = 0; from < batch->row_count && status == CPT_OK; from = to) {
        to = cpti_batch_part(batch, from);
        part.bytes = 0;
        for (size_t i = from; i < to; i++) {
            cpti_row_bytes(&part, batch->requests.data + batch->places[i].at,
                           batch->places[i].end - batch->places[i].at);
        }
        status = part.has_failed
                     ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                     : insert(store, shard, CPTI_INSERT_REQUESTS, &part, error);
    }
    cpti_packed_deinit(&part);
    return status;
}

void cpti_batch_sort(struct cpti_store_batch *batch)
{
    if (batch->row_count != 0) {
        qsort(batch->places, batch->row_count, sizeof *batch->places, compare_places);
    }
}

/* Stacks first: a reader of a request then finds the stacks that it names. */
static cpt_status send_batch(const struct cpti_store *store, struct cpti_shard *shard,
                             struct cpti_store_batch *batch, struct cpt_error *error)
{
    cpt_status status = insert(store, shard, CPTI_INSERT_STACKS, &batch->stacks, error);

    cpti_batch_sort(batch);
    if (status == CPT_OK && batch->row_count != 0) {
        status =
            cpti_batch_part(batch, 0) == batch->row_count
                ? insert(store, shard, CPTI_INSERT_REQUESTS, &batch->requests, error)
                : insert_parts(store, shard, batch, error);
    }
    batch->stacks.bytes = 0;
    batch->requests.bytes = 0;
    batch->row_count = 0;
    return status;
}

/* --- Senders --- */

static void *run_sender(void *context)
{
    struct cpti_sender *sender = context;

    sender->status = send_batch(sender->store, sender->shard, &sender->shard->sending,
                                &sender->error);
    return NULL;
}

cpt_status cpti_shard_wait(struct cpti_shard *shard, struct cpt_error *error)
{
    cpt_status status;

    if (shard->sender == NULL) {
        return CPT_OK;
    }
    (void)pthread_join(shard->sender->thread, NULL);
    status = shard->sender->status;
    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "%s", shard->sender->error.sentence);
    }
    cpt_alloc_free(NULL, shard->sender);
    shard->sender = NULL;
    return status;
}

cpt_status cpti_shard_send(const struct cpti_store *store, struct cpti_shard *shard,
                           struct cpt_error *error)
{
    const cpt_status status = cpti_shard_wait(shard, error);
    const struct cpti_store_batch full = shard->filling;
    struct cpti_sender *sender;

    if (status != CPT_OK) {
        return status;
    }
    shard->filling = shard->sending;
    shard->sending = full;
    sender = cpt_alloc_zeroed(NULL, sizeof *sender);
    if (sender != NULL) {
        sender->store = store;
        sender->shard = shard;
        if (pthread_create(&sender->thread, NULL, run_sender, sender) == 0) {
            shard->sender = sender;
            return CPT_OK;
        }
    }
    cpt_alloc_free(NULL, sender); /* no thread: send it from this one */
    return send_batch(store, shard, &shard->sending, error);
}

static void free_batch(struct cpti_store_batch *batch)
{
    cpti_packed_deinit(&batch->requests);
    cpti_packed_deinit(&batch->stacks);
    cpt_alloc_free(NULL, batch->places);
    *batch = (struct cpti_store_batch){.row_count = 0};
}

void cpti_shard_end(struct cpti_shard *shard)
{
    (void)cpti_shard_wait(shard, NULL);
    free_batch(&shard->filling);
    free_batch(&shard->sending);
}
