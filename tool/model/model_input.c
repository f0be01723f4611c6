/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_input.c - models from files; see model_input.h */
#include "tool/model/model_input.h"

#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_input.h"
#include "import/model/model_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest model: it is held in memory beside what is read of it. */
#define MODEL_BYTES_MAX ((size_t)1 << 31)

void cpti_model_warn(const struct cpti_model *model)
{
    if (model->dropped_count > 0) {
        const uint32_t kind = model->dropped[0];

        cpti_warn("%" PRIu64 " lines are of kinds beyond the limit of %d pairs, and "
                  "have no relations, as '%s' of %s",
                  model->dropped_lines, CPTI_MODEL_PAIRS_MAX,
                  cpti_quoted_bytes(cpti_model_name(model, kind)),
                  cpti_quoted_bytes(cpti_model_service(model, kind)));
    }
    if (model->dropped_steps > 0) {
        cpti_warn("%" PRIu64 " steps are beyond the limit of %d different ones",
                  model->dropped_steps, CPTI_MODEL_STEPS_MAX);
    }
}

/* --- Equal times --- */

/* Lines that follow another one of their unit. */
struct followers {
    const struct cpti_line **lasts; /* of each unit of a request */
    size_t capacity;
    uint64_t tied;      /* at the same time: the order is that of the input */
    uint64_t later;     /* at a later one … */
    uint64_t backwards; /* … and in front of it in the same input */
};

static cpt_status count_followers(struct followers *followers,
                                  const struct cpti_request *request)
{
    const cpt_status status = cpt_alloc_grow(
        NULL, (void **)&followers->lasts, &followers->capacity, request->unit_count,
        SIZE_MAX / 2, sizeof(const struct cpti_line *));

    if (status != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < request->unit_count; i++) {
        followers->lasts[i] = NULL;
    }
    for (size_t i = 0; i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];
        const struct cpti_line *last = followers->lasts[line->unit];

        followers->lasts[line->unit] = line;
        if (last != NULL && last->begin_ns == line->begin_ns) {
            followers->tied++;
        } else if (last != NULL) {
            followers->later++;
            followers->backwards += last->input == line->input && line->row < last->row;
        }
    }
    return CPT_OK;
}

/* Of an input that is in the order of time, or newest first, equal times are in order,
 * too. */
static void tell_followers(const struct followers *followers)
{
    const uint64_t few = followers->later / 20; /* as threads may write them */

    if (followers->tied > 0 && followers->backwards > few &&
        followers->later - followers->backwards > few) {
        cpti_warn("%" PRIu64 " lines have the time of the one before in their unit, so "
                  "that their order is that of the input; but there %" PRIu64 " of "
                  "%" PRIu64 " with other times are not in order: sort it by a finer "
                  "stamp",
                  followers->tied, followers->backwards, followers->later);
    }
}

/* --- Lines --- */

static cpt_status learn_all(struct cpti_model_learner *learner,
                            struct cpti_requests *requests)
{
    struct followers followers = {0};
    cpt_status status = cpti_requests_rewind(requests);

    cpti_model_learner_from(learner, requests);
    while (status == CPT_OK) {
        struct cpti_request request;

        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            status = count_followers(&followers, &request);
        }
        if (status == CPT_OK) {
            status = cpti_model_learner_add(learner, &request);
        }
    }
    if (status == CPT_END) {
        tell_followers(&followers);
    }
    cpt_alloc_free(NULL, followers.lasts);
    return status == CPT_END ? CPT_OK : status;
}

static int learn_from(struct cpti_event_input *input, struct cpti_model **model)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    cpt_status status =
        learner != NULL ? learn_all(learner, input->requests) : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        cpti_event_input_tell(input);
        if (cpti_requests_counts(input->requests)->requests > 0) {
            status = cpti_model_learner_finish(learner, model);
        }
    }
    cpti_model_learner_free(learner);
    if (status != CPT_OK) {
        return cpti_status_exit(status);
    }
    return *model != NULL
               ? CPTI_EXIT_DONE
               : cpti_failed("there is no request to learn from" CPTI_HINT
                             "lines need an id, a time, a service and an event");
}

int cpti_model_learn(const struct cpti_arguments *arguments, struct cpti_model **model)
{
    struct cpti_event_input input;
    int status = cpti_event_input_read(&input, arguments);

    *model = NULL;
    if (cpti_event_input_is_usable(&input, status)) {
        status = cpti_exit_last(status, learn_from(&input, model));
    }
    cpti_event_input_end(&input);
    if (*model != NULL) {
        cpti_model_warn(*model);
    }
    return status;
}

/* --- Models --- */

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

/* Reads the model @path; @is_lines, unless it is NULL, says whether it is none. */
static int open_model(const char *path, bool *is_lines, struct cpti_model **model)
{
    struct cpti_input input;
    int status = cpti_input_open(&input, path);

    *model = NULL;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (is_lines != NULL) {
        *is_lines = !is_model(&input);
    }
    if (is_lines == NULL || !*is_lines) {
        status = read_model(&input, model);
    }
    cpti_input_close(&input);
    return status;
}

int cpti_model_open(const char *path, struct cpti_model **model)
{
    return open_model(path, NULL, model);
}

int cpti_model_load(const struct cpti_arguments *arguments, const char *path,
                    struct cpti_model **model)
{
    struct cpti_arguments lines = *arguments;
    bool is_lines = false;
    const int status = open_model(path, &is_lines, model);

    if (!is_lines) {
        return status;
    }
    if (strcmp(path, "-") == 0) {
        return cpti_failed("standard input is no model" CPTI_HINT
                           "learn from it first: cpt model learn - -o MODEL");
    }
    lines.operands = &path;
    lines.operand_count = 1;
    return cpti_model_learn(&lines, model);
}
