/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_survey.c - what all files hold; see web_survey.h */
#include "cpt/cli/web/web_survey.h"

#include "cpt/cli/base/files.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_walk.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>

/* An entry service, and its records. */
struct service {
    char *name;
    uint64_t record_count;
};

struct cpti_web_survey {
    atomic_size_t holder_count;
    uint64_t revision;
    char **paths;
    size_t path_count;
    uint64_t record_count;
    uint64_t first_ns;
    uint64_t last_ns;
    struct service services[CPTI_SERVICES_MAX]; /* beyond these, none is listed */
    size_t service_count;
};

/* One pass. */
struct pass {
    struct cpti_web_survey *survey;
    const atomic_bool *is_unwanted;
};

static void note_service(struct cpti_web_survey *survey, struct cpt_bytes name)
{
    const char *text = cpti_quoted_bytes(name);
    size_t at = 0;

    while (at < survey->service_count && strcmp(survey->services[at].name, text) != 0) {
        at++;
    }
    if (at == CPTI_SERVICES_MAX) {
        return;
    }
    if (at == survey->service_count) {
        survey->services[at] = (struct service){.name = strdup(text)};
        if (survey->services[at].name == NULL) {
            return;
        }
        survey->service_count++;
    }
    survey->services[at].record_count++;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    const struct pass *pass = walk->context;
    struct cpti_web_survey *survey = pass->survey;

    /* relaxed: nothing else depends on it */
    if (atomic_load_explicit(pass->is_unwanted, memory_order_relaxed)) {
        return CPTI_EXIT_FAILED;
    }
    survey->record_count++;
    if (survey->first_ns == 0 || record->start_unix_ns < survey->first_ns) {
        survey->first_ns = record->start_unix_ns;
    }
    if (record->start_unix_ns > survey->last_ns) {
        survey->last_ns = record->start_unix_ns;
    }
    if (!record->is_background && !record->is_local_root) {
        note_service(survey, record->service);
    }
    return CPTI_EXIT_DONE;
}

static void walk_file(struct pass *pass, const char *path)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input, .is_quiet = true, .record = meet_record, .context = pass};

    if (cpti_is_store(path) || cpti_log_open(&input, path) != CPTI_EXIT_DONE) {
        return;
    }
    (void)cpti_log_walk(&walk);
    cpti_input_close(&input);
}

struct cpti_web_survey *cpti_web_survey_new(const char *const *paths, size_t path_count,
                                            uint64_t revision)
{
    struct cpti_web_survey *survey = calloc(1, sizeof *survey);

    if (survey == NULL ||
        (survey->paths = calloc(path_count + 1, sizeof(char *))) == NULL) {
        free(survey);
        (void)cpti_failed("out of memory");
        return NULL;
    }
    atomic_init(&survey->holder_count, 1);
    survey->revision = revision;
    for (; survey->path_count < path_count; survey->path_count++) {
        survey->paths[survey->path_count] = strdup(paths[survey->path_count]);
        if (survey->paths[survey->path_count] == NULL) {
            cpti_web_survey_release(survey);
            (void)cpti_failed("out of memory");
            return NULL;
        }
    }
    return survey;
}

void cpti_web_survey_read(struct cpti_web_survey *survey,
                          const atomic_bool *is_unwanted)
{
    struct pass pass = {survey, is_unwanted};

    for (size_t i = 0; i < survey->path_count; i++) {
        walk_file(&pass, survey->paths[i]);
    }
}

struct cpti_web_survey *cpti_web_survey_hold(struct cpti_web_survey *survey)
{
    if (survey != NULL) {
        (void)atomic_fetch_add(&survey->holder_count, 1);
    }
    return survey;
}

void cpti_web_survey_release(struct cpti_web_survey *survey)
{
    if (survey == NULL || atomic_fetch_sub(&survey->holder_count, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < survey->path_count; i++) {
        free(survey->paths[i]);
    }
    for (size_t i = 0; i < survey->service_count; i++) {
        free(survey->services[i].name);
    }
    free(survey->paths);
    free(survey);
}

const char *const *cpti_web_survey_paths(const struct cpti_web_survey *survey,
                                         size_t *count)
{
    *count = survey->path_count;
    return (const char *const *)survey->paths;
}

uint64_t cpti_web_survey_revision(const struct cpti_web_survey *survey)
{
    return survey->revision;
}

void cpti_web_survey_write(const struct cpti_web_survey *survey, FILE *file,
                           bool is_followed)
{
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    cpti_json_bool(&json, "reading", survey->revision == 0);
    cpti_json_open(&json, "sources", '[');
    for (size_t i = 0; i < survey->path_count; i++) {
        cpti_json_text(&json, NULL, cpti_quoted(survey->paths[i]));
    }
    cpti_json_close(&json);
    cpti_json_unsigned(&json, "records", survey->record_count);
    cpti_json_unsigned(&json, "first_ns", survey->first_ns);
    cpti_json_unsigned(&json, "last_ns", survey->last_ns);
    cpti_json_unsigned(&json, "revision", survey->revision);
    cpti_json_bool(&json, "followed", is_followed);
    cpti_json_text(&json, "version", CPTI_VERSION);
    cpti_json_open(&json, "entries", '[');
    for (size_t i = 0; i < survey->service_count; i++) {
        cpti_json_open(&json, NULL, '{');
        cpti_json_text(&json, "text", survey->services[i].name);
        cpti_json_unsigned(&json, "count", survey->services[i].record_count);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_close(&json);
}
