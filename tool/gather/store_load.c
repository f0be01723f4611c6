/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* store_load.c - requests into ClickHouse; see gather_store.h */
#include "tool/gather/gather_store.h"

#include "tool/requests/stream.h"
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
    uint64_t loaded_count;
    bool has_failed; /* the database refused a record */
};

/* Forced requests are loaded whatever their probability is. */
static uint64_t weigh(const struct cpti_selection *selection,
                      const struct cpt_record *record)
{
    const uint64_t weight = cpt_weight_of_probability(record->probability);

    (void)selection;
    return weight == 0 && record->is_forced ? CPT_WEIGHT_ONE : weight;
}

static int take(void *context, const struct cpti_request *request)
{
    struct loading *loading = context;
    const struct cpt_record *record = request->record;
    struct cpt_error error = {0};
    cpt_status status;

    if (cpt_path_sum_ns(request->path) > CPT_TREE_TIME_MAX) {
        return cpti_log_skip(request->walk, "it took longer than a tree can hold");
    }
    status = cpti_store_load_add(loading->store, cpti_input_name(request->walk->input),
                                 record, request->path,
                                 cpt_weight_of_probability(record->probability),
                                 request->walk->record_count, &error);
    loading->loaded_count += status == CPT_OK;
    loading->has_failed = status != CPT_OK;
    return cpti_store_exit_status(loading->address, status, &error);
}

static int load_logs(struct loading *loading, struct cpti_stream *stream)
{
    struct cpt_error error = {0};
    bool is_usable;
    int status = cpti_store_exit_status(
        loading->address, cpti_store_create(loading->store, &error), &error);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_stream_run(stream, &is_usable);
    if (loading->has_failed) {
        return status;
    }
    return cpti_exit_last(
        status,
        cpti_store_exit_status(loading->address,
                               cpti_store_load_end(loading->store, &error), &error));
}

/* Says how many records were loaded only once. */
static void warn_of_duplicates(const struct cpti_fold_counts *counts)
{
    if (counts->duplicate_count != 0) {
        cpti_warn("%" PRIu64 " records were given more than once and are loaded once; "
                  "--keep-duplicates loads them again",
                  counts->duplicate_count);
    }
    if (counts->unchecked_count != 0) {
        cpti_warn("%" PRIu64 " records were not compared with all others, as there are "
                  "too many: duplicates among them are loaded",
                  counts->unchecked_count);
    }
}

int cpti_store_load(const char *address, const struct cpti_store_load_options *options,
                    const char *const *paths, size_t path_count)
{
    struct loading loading = {.address = address};
    struct cpti_fold fold = {.weigh = weigh,
                             .take = take,
                             .context = &loading,
                             .counts_once = !options->keeps_duplicates};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .stops_at_error = options->stops_at_error,
                                 .goes_on = true};
    int status = cpti_store_open_operand(address, &loading.store);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    cpti_store_retry_for(loading.store, (unsigned)options->retry_seconds);
    cpti_store_batch_rows(loading.store, options->batch_rows);
    cpti_store_keep_copies(loading.store, options->keeps_duplicates);
    status = load_logs(&loading, &stream);
    cpti_store_close(loading.store);
    warn_of_duplicates(&fold.counts);
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%" PRIu64 " requests\n", loading.loaded_count);
    }
    return status;
}
