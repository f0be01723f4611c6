/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_input.c - models from files; see model_input.h */
#include "tool/model/model_input.h"

#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/base/private_file.h"
#include "import/lines/event_lines.h"
#include "import/model/model_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest model: it is held in memory beside what is read of it. */
#define MODEL_BYTES_MAX ((size_t)1 << 31)

/* --- Lines --- */

/* A function of struct cpti_requests_options. */
static int open_file(void)
{
    char path[CPTI_PRIVATE_PATH_BYTES];

    return cpti_private_file(path);
}

/* Says which lines of a file gave no event. */
static void warn_of_lines(const struct cpti_input *input,
                          const struct cpti_event_lines_counts *counts)
{
    const struct cpti_at at = {.file = cpti_input_name(input),
                               .line = (unsigned)counts->first_unmatched};
    const struct cpti_at file = {.file = cpti_input_name(input)};

    if (counts->unmatched > 0) {
        cpti_warn_at(at,
                     "%" PRIu64 " of %" PRIu64 " lines are of no form that is known",
                     counts->unmatched, counts->lines);
    }
    if (counts->timeless > 0) {
        cpti_warn_at(file, "%" PRIu64 " lines have no time that can be read",
                     counts->timeless);
    }
    if (counts->cut + counts->with_nul + counts->without_utf8 > 0) {
        cpti_warn_at(file, "%" PRIu64 " lines are too long, or have a NUL or no UTF-8",
                     counts->cut + counts->with_nul + counts->without_utf8);
    }
}

static int read_lines(struct cpti_input *input, uint32_t number,
                      struct cpti_requests *requests)
{
    const struct cpti_event_lines_options options = {.read = cpti_input_read,
                                                     .context = input,
                                                     .name = input->path,
                                                     .input = number};
    struct cpti_event_lines *lines = cpti_event_lines_new(&options);
    struct cpt_error error = {0};
    cpt_status status = lines != NULL ? CPT_OK : CPT_NO_MEMORY;

    while (status == CPT_OK) {
        struct cpti_event event;

        status = cpti_event_lines_next(lines, &event, &error);
        if (status == CPT_OK) {
            status = cpti_requests_add(requests, &event);
        }
    }
    if (lines != NULL) {
        warn_of_lines(input, cpti_event_lines_counts(lines));
    }
    cpti_event_lines_free(lines);
    if (status == CPT_END) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)}, "%s",
                          error.status != CPT_OK ? error.sentence
                          : status == CPT_IO     ? strerror(errno)
                                                 : cpt_status_sentence(status));
}

/* Says which events belong to no request. */
static void warn_of_requests(const struct cpti_requests *requests)
{
    const struct cpti_requests_counts *counts = cpti_requests_counts(requests);

    if (counts->without_id > 0) {
        cpti_warn("%" PRIu64 " events have no request id", counts->without_id);
    }
    if (counts->impossible + counts->far > 0) {
        cpti_warn("%" PRIu64 " events have a time that cannot be",
                  counts->impossible + counts->far);
    }
    if (counts->too_long > 0) {
        cpti_warn("%" PRIu64 " requests have more than %d lines, and are left out",
                  counts->too_long, CPTI_REQUEST_LINES_MAX);
    }
    if (counts->other_kinds > 0) {
        cpti_warn("%" PRIu64 " events have a name beyond the %d of their service",
                  counts->other_kinds, CPTI_KINDS_MAX);
    }
}

static int new_requests(struct cpti_requests **requests)
{
    const struct cpti_requests_options options = {.open_file = open_file};

    *requests = cpti_requests_new(&options);
    return *requests != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
}

/* Joins what was added; without success there are no requests. */
static int join(struct cpti_requests **requests)
{
    const cpt_status status = cpti_requests_rewind(*requests);

    if (status != CPT_OK) {
        cpti_requests_free(*requests);
        *requests = NULL;
        return cpti_status_exit(status);
    }
    warn_of_requests(*requests);
    return CPTI_EXIT_DONE;
}

int cpti_model_requests(const char *const *paths, size_t count,
                        struct cpti_requests **requests)
{
    int status = new_requests(requests);

    for (size_t i = 0; i < count && *requests != NULL; i++) {
        struct cpti_input input;
        int opened = cpti_input_open(&input, paths[i]);

        if (opened == CPTI_EXIT_DONE) {
            opened = read_lines(&input, (uint32_t)i, *requests);
            cpti_input_close(&input);
        }
        status = cpti_exit_last(status, opened);
    }
    return *requests != NULL ? cpti_exit_last(status, join(requests)) : status;
}

/* --- Models --- */

int cpti_model_learn_all(struct cpti_model_learner *learner,
                         struct cpti_requests *requests)
{
    cpt_status status = CPT_OK;

    cpti_model_learner_from(learner, requests);
    while (status == CPT_OK) {
        struct cpti_request request;

        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            status = cpti_model_learner_add(learner, &request);
        }
    }
    return status == CPT_END ? CPTI_EXIT_DONE : cpti_status_exit(status);
}

void cpti_model_warn(const struct cpti_model *model)
{
    if (model->dropped_count > 0) {
        const uint32_t kind = model->dropped[0];

        cpti_warn("%" PRIu64
                  " lines are of kinds beyond the limit of %d pairs, and have "
                  "no relations, as '%s' of %s",
                  model->dropped_lines, CPTI_MODEL_PAIRS_MAX,
                  cpti_quoted_bytes(cpti_model_name(model, kind)),
                  cpti_quoted_bytes(cpti_model_service(model, kind)));
    }
    if (model->dropped_steps > 0) {
        cpti_warn("%" PRIu64 " steps are beyond the limit of %d different ones",
                  model->dropped_steps, CPTI_MODEL_STEPS_MAX);
    }
}

/* The model of @requests, which are freed; @status: of reading them, the result if that
 * is all. enum cpti_exit. */
static int learn_from(struct cpti_requests *requests, int status,
                      struct cpti_model **model)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    int learnt = learner != NULL ? cpti_model_learn_all(learner, requests)
                                 : cpti_failed("out of memory");

    if (learnt == CPTI_EXIT_DONE && cpti_requests_counts(requests)->requests > 0) {
        learnt = cpti_status_exit(cpti_model_learner_finish(learner, model));
    } else if (learnt == CPTI_EXIT_DONE && status == CPTI_EXIT_DONE) {
        learnt = cpti_failed("there is no request to learn from" CPTI_HINT
                             "lines need an id, a time, a service and an event");
    }
    if (*model != NULL) {
        cpti_model_warn(*model);
    }
    cpti_requests_free(requests);
    cpti_model_learner_free(learner);
    return cpti_exit_last(status, learnt);
}

int cpti_model_learn(const char *const *paths, size_t count, struct cpti_model **model)
{
    struct cpti_requests *requests = NULL;
    const int status = cpti_model_requests(paths, count, &requests);

    *model = NULL;
    return requests != NULL ? learn_from(requests, status, model) : status;
}

/* The model of the lines of @input. */
static int learn_input(struct cpti_input *input, struct cpti_model **model)
{
    struct cpti_requests *requests = NULL;
    int status = new_requests(&requests);

    if (requests != NULL) {
        status = read_lines(input, 0, requests);
        status = cpti_exit_last(status, join(&requests));
    }
    return requests != NULL ? learn_from(requests, status, model) : status;
}

static bool is_model(const struct cpti_input *input)
{
    return input->head_bytes >= CPTI_MODEL_MAGIC_BYTES &&
           memcmp(input->head, CPTI_MODEL_MAGIC, CPTI_MODEL_MAGIC_BYTES) == 0;
}

static int read_model(struct cpti_input *input, struct cpti_model **model)
{
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;
    int status = cpti_input_slurp(input, MODEL_BYTES_MAX, &data, &bytes);
    cpt_status read = CPT_OK;

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    read = cpti_model_read(NULL, data, bytes, model, &error);
    if (read != CPT_OK) {
        status = cpti_failed_at(
            (struct cpti_at){.file = cpti_input_name(input),
                             .has_byte = error.status != CPT_OK,
                             .byte = error.offset},
            "%s", error.status != CPT_OK ? error.sentence : cpt_status_sentence(read));
    }
    free(data);
    return status;
}

int cpti_model_open(const char *path, struct cpti_model **model)
{
    struct cpti_input input;
    int status = cpti_input_open(&input, path);

    *model = NULL;
    if (status == CPTI_EXIT_DONE) {
        status = read_model(&input, model);
        cpti_input_close(&input);
    }
    return status;
}

int cpti_model_load(const char *path, struct cpti_model **model)
{
    struct cpti_input input;
    int status = cpti_input_open(&input, path);

    *model = NULL;
    if (status == CPTI_EXIT_DONE) {
        status =
            is_model(&input) ? read_model(&input, model) : learn_input(&input, model);
        cpti_input_close(&input);
    }
    return status;
}
