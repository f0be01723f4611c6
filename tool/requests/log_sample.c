/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_sample.c - a sample of the requests of a stream; see log_sample.h */
#include "tool/requests/log_sample.h"

#include "tool/base/output.h"
#include "tool/requests/stream.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>

int cpti_log_sample_add(struct cpti_sample *sample, const struct cpti_request *request)
{
    const struct cpti_sampled kept = {.weight = request->weight,
                                      .record_number = request->number};
    const size_t place = cpti_sample_draw(sample);
    const struct cpt_path *path;
    int exit_status;

    if (place == SIZE_MAX) {
        return CPTI_EXIT_DONE;
    }
    exit_status = cpti_log_path(request->walk, request->record, &path);
    if (path == NULL) {
        sample->met_count--; /* as if it were not in the log */
        return exit_status;
    }
    return cpti_sample_put(sample, place, request->bytes, &kept) == CPT_OK
               ? CPTI_EXIT_DONE
               : cpti_failed("out of memory");
}

void cpti_log_sample_warn(const struct cpti_sample *sample, uint64_t seed)
{
    cpti_warn("a sample of %zu of %" PRIu64 " records, seed %" PRIu64, sample->count,
              sample->met_count, seed);
}

static int compare(const void *left, const void *right)
{
    const struct cpti_sampled *a = left;
    const struct cpti_sampled *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

/* A cpt_read_fn for a reader that only decodes. */
static cpt_status read_nothing(void *context, void *buffer, size_t capacity,
                               size_t *bytes)
{
    (void)context;
    (void)buffer;
    (void)capacity;
    *bytes = 0;
    return CPT_OK;
}

static int call_with(const struct cpti_sampled *sampled, struct cpt_log_reader *reader,
                     struct cpt_path *path, cpti_sampled_fn each, void *context)
{
    struct cpt_record record;
    const struct cpti_request request = {
        .record = &record,
        .path = path,
        .weight = sampled->weight,
        .number = sampled->record_number,
        .bytes = {(const char *)sampled->data, sampled->data_bytes}};
    cpt_status status = cpt_log_reader_decode(reader, request.bytes, &record, NULL);

    cpt_path_reset(path);
    status = CPTI_THEN(status, cpt_record_path(&record, NULL, path, NULL));
    /* both succeeded before, when the record was drawn */
    return status == CPT_OK ? each(context, &request)
                            : cpti_failed("%s", cpt_status_sentence(status));
}

int cpti_log_sample_each(struct cpti_sample *sample, cpti_sampled_fn each,
                         void *context)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_nothing};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    int status =
        reader != NULL && path != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");

    if (sample->count != 0) {
        qsort(sample->kept, sample->count, sizeof *sample->kept, compare);
    }
    for (size_t i = 0; i < sample->count && status == CPTI_EXIT_DONE; i++) {
        status = call_with(&sample->kept[i], reader, path, each, context);
    }
    cpt_log_reader_free(reader);
    cpt_path_free(path);
    return status;
}
