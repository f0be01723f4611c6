/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* store_load.c - requests into ClickHouse; see gather_store.h */
#include "tool/gather/gather_store.h"

#include "tool/requests/log_walk.h"
#include "tool/requests/seen.h"
#include "tool/base/output.h"
#include "tool/store/question.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "tool/store/store.h"
#include "wire/cpt_log.h"

#include <inttypes.h>

struct loading {
    const char *address;
    struct cpti_store *store;
    struct cpti_seen *seen; /* NULL: duplicates are loaded */
    uint64_t loaded_count;
    uint64_t duplicate_count;
    uint64_t unchecked_count; /* not compared with all others */
    bool has_failed;          /* the database refused a record */
};

/* Whether @record was not loaded before by this command. Sets *@exit_status if it
 * fails. */
static bool is_new(struct cpti_log_walk *walk, const struct cpt_record *record,
                   int *exit_status)
{
    struct loading *loading = walk->context;
    struct cpti_seen_mark mark;
    enum cpti_seen_result result;

    if (loading->seen == NULL) {
        return true;
    }
    mark = cpti_seen_mark(loading->seen, record, cpt_log_reader_bytes(walk->reader));
    result = cpti_seen_add(loading->seen, &mark, 0);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *exit_status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    loading->duplicate_count += result == CPTI_SEEN_BEFORE;
    loading->unchecked_count += result == CPTI_SEEN_UNKNOWN;
    return result != CPTI_SEEN_BEFORE;
}

static int load_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct loading *loading = walk->context;
    const uint64_t weight = cpt_weight_of_probability(record->probability);
    const struct cpt_path *path;
    struct cpt_error error = {0};
    cpt_status status;
    int exit_status;

    if (weight == 0 && !record->is_forced) {
        return cpti_log_skip(walk, "its sampling probability is not from 2^-28 to 1");
    }
    exit_status = cpti_log_path(walk, record, &path);
    if (path == NULL) {
        return exit_status;
    }
    if (cpt_path_sum_ns(path) > CPT_TREE_TIME_MAX) {
        return cpti_log_skip(walk, "it took longer than a tree can hold");
    }
    if (!is_new(walk, record, &exit_status)) {
        return exit_status;
    }
    status = cpti_store_load_add(loading->store, cpti_input_name(walk->input), record,
                                 path, weight, walk->record_count, &error);
    loading->loaded_count += status == CPT_OK;
    loading->has_failed = status != CPT_OK;
    return cpti_store_exit_status(loading->address, status, &error);
}

static int load_log(struct loading *loading,
                    const struct cpti_store_load_options *options, const char *path)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .stops_at_error = options->stops_at_error,
        .record = load_record,
        .context = loading,
    };
    int status = cpti_log_open(&input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_log_walk(&walk);
    cpti_input_close(&input);
    return status;
}

static int load_logs(struct loading *loading,
                     const struct cpti_store_load_options *options,
                     const char *const *paths, size_t path_count)
{
    struct cpt_error error = {0};
    int status = cpti_store_exit_status(
        loading->address, cpti_store_create(loading->store, &error), &error);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < path_count; i++) {
        status = cpti_exit_last(status, load_log(loading, options, paths[i]));
        if (loading->has_failed) {
            return status;
        }
        if (status != CPTI_EXIT_DONE && options->stops_at_error) {
            break;
        }
    }
    return cpti_exit_last(
        status,
        cpti_store_exit_status(loading->address,
                               cpti_store_load_end(loading->store, &error), &error));
}

/* Says how many records were loaded only once. */
static void warn_of_duplicates(const struct loading *loading)
{
    if (loading->duplicate_count != 0) {
        cpti_warn("%" PRIu64 " records were given more than once and are loaded once; "
                  "--keep-duplicates loads them again",
                  loading->duplicate_count);
    }
    if (loading->unchecked_count != 0) {
        cpti_warn("%" PRIu64 " records were not compared with all others, as there are "
                  "too many: duplicates among them are loaded",
                  loading->unchecked_count);
    }
}

int cpti_store_load(const char *address, const struct cpti_store_load_options *options,
                    const char *const *paths, size_t path_count)
{
    struct loading loading = {.address = address};
    int status = cpti_store_open_operand(address, &loading.store);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (!options->keeps_duplicates) {
        loading.seen = cpti_seen_new(0);
        if (loading.seen == NULL) {
            cpti_store_close(loading.store);
            return cpti_failed(
                "no memory or random numbers to find duplicates" CPTI_HINT "see "
                "--keep-duplicates");
        }
    }
    cpti_store_retry_for(loading.store, (unsigned)options->retry_seconds);
    cpti_store_batch_rows(loading.store, options->batch_rows);
    cpti_store_keep_copies(loading.store, options->keeps_duplicates);
    status = load_logs(&loading, options, paths, path_count);
    cpti_store_close(loading.store);
    cpti_seen_free(loading.seen);
    warn_of_duplicates(&loading);
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%" PRIu64 " requests\n", loading.loaded_count);
    }
    return status;
}
