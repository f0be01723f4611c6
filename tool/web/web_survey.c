/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_survey.c - what all files hold; see web_survey.h */
#include "tool/web/web_survey.h"

#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/gather/gather.h"
#include "tool/requests/stream.h"
#include "tool/web/web_complete.h"
#include "cpt/cpt_path.h"
#include "cpt/base/utf8.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The paths of the first records are read for the names of their frames, and then that
 * of every FRAMES_STEP-th. */
enum { FRAMES_FIRST = 2000, FRAMES_STEP = 64, VALUE_BYTES = 40 };

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
    struct cpti_source *sources;
    size_t source_count;
    uint64_t record_count;
    uint64_t first_ns;
    uint64_t last_ns;
    struct service services[CPTI_SERVICES_MAX]; /* beyond these, none is listed */
    size_t service_count;
    struct cpti_web_vocabulary vocabulary;
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

/* @text as a selection can have it: with escapes if JSON cannot carry its bytes. */
static struct cpt_bytes typable(struct cpt_bytes text)
{
    for (size_t at = 0; at < text.bytes;) {
        const size_t bytes = cpti_utf8_bytes(text.data + at, text.bytes - at);

        if (bytes == 0 || text.data[at] == '\0') {
            return cpt_bytes_of(cpti_quoted_bytes(text));
        }
        at += bytes;
    }
    return text;
}

static void note_attribute(struct cpti_web_survey *survey,
                           const struct cpt_attribute *attribute)
{
    const union cpt_attribute_value *value = &attribute->value;
    char text[VALUE_BYTES] = "";

    switch (attribute->type) {
    case CPT_ATTRIBUTE_TEXT:
        break;
    case CPT_ATTRIBUTE_INTEGER:
        (void)snprintf(text, sizeof text, "%" PRId64, value->integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        (void)snprintf(text, sizeof text, "%.17g", value->real);
        break;
    default:
        (void)snprintf(text, sizeof text, "%s", value->is_true ? "true" : "false");
        break;
    }
    cpti_web_vocabulary_note(
        &survey->vocabulary, attribute->key,
        attribute->type == CPT_ATTRIBUTE_TEXT ? typable(value->text)
                                              : cpt_bytes_of(text),
        attribute->type == CPT_ATTRIBUTE_TEXT, survey->record_count);
}

/* Notes the words of @record, the latest of those that are counted. */
static void note_words(struct cpti_web_survey *survey, const struct cpt_record *record)
{
    const struct {
        const char *key;
        struct cpt_bytes value;
    } texts[] = {{"service", record->service},
                 {"method", record->method},
                 {"entry", record->entry},
                 {"status", record->status}};

    for (size_t i = 0; i < record->attribute_count; i++) {
        note_attribute(survey, &record->attributes[i]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cpti_web_vocabulary_note(&survey->vocabulary, cpt_bytes_of(texts[i].key),
                                 typable(texts[i].value), true, survey->record_count);
    }
}

static void note_frames(struct cpti_web_survey *survey, const struct cpt_path *path)
{
    char text[CPTI_TEXT_BYTES];

    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        (void)cpt_path_frame_text(path, i, text, sizeof text);
        (void)cpti_web_words_add(survey->vocabulary.frames, cpt_bytes_of(text), true,
                                 survey->record_count);
    }
}

static int meet_record(void *context, const struct cpti_request *request)
{
    const struct pass *pass = context;
    const struct cpt_record *record = request->record;
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
    note_words(survey, record);
    if (survey->record_count <= FRAMES_FIRST ||
        survey->record_count % FRAMES_STEP == 0) {
        const struct cpt_path *path;

        (void)cpti_log_path(request->walk, record, &path);
        if (path != NULL) {
            note_frames(survey, path);
        }
    }
    return CPTI_EXIT_DONE;
}

/* Copies @files. False without memory. */
static bool copy_files(struct cpti_web_survey *survey,
                       const struct cpti_web_files *files)
{
    survey->paths = calloc(files->path_count + 1, sizeof(char *));
    survey->sources = calloc(files->source_count + 1, sizeof *survey->sources);
    if (survey->paths == NULL || survey->sources == NULL) {
        return false;
    }
    for (; survey->source_count < files->source_count; survey->source_count++) {
        survey->sources[survey->source_count] = files->sources[survey->source_count];
    }
    for (; survey->path_count < files->path_count; survey->path_count++) {
        survey->paths[survey->path_count] = strdup(files->paths[survey->path_count]);
        if (survey->paths[survey->path_count] == NULL) {
            return false;
        }
    }
    return true;
}

struct cpti_web_survey *cpti_web_survey_new(const struct cpti_web_files *files,
                                            uint64_t revision)
{
    struct cpti_web_survey *survey = calloc(1, sizeof *survey);

    if (survey != NULL) {
        atomic_init(&survey->holder_count, 1);
        survey->revision = revision;
    }
    if (survey == NULL || !cpti_web_vocabulary_init(&survey->vocabulary) ||
        !copy_files(survey, files)) {
        cpti_web_survey_release(survey);
        (void)cpti_failed("out of memory");
        return NULL;
    }
    return survey;
}

void cpti_web_survey_read(struct cpti_web_survey *survey,
                          const atomic_bool *is_unwanted)
{
    struct pass pass = {survey, is_unwanted};

    (void)cpti_stream_look((const char *const *)survey->paths, survey->path_count,
                           meet_record, &pass);
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
    cpti_web_vocabulary_deinit(&survey->vocabulary);
    free(survey->paths);
    free(survey->sources);
    free(survey);
}

struct cpti_web_files cpti_web_survey_files(const struct cpti_web_survey *survey)
{
    return (struct cpti_web_files){(const char *const *)survey->paths,
                                   survey->path_count, survey->sources,
                                   survey->source_count};
}

uint64_t cpti_web_survey_revision(const struct cpti_web_survey *survey)
{
    return survey->revision;
}

void cpti_web_survey_write(const struct cpti_web_survey *survey, FILE *file,
                           bool is_followed, size_t graph_count)
{
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    cpti_json_bool(&json, "reading", survey->revision == 0);
    cpti_json_open(&json, "sources", '[');
    for (size_t i = 0; i < survey->source_count; i++) {
        cpti_json_text(&json, NULL, cpti_quoted(survey->sources[i].name));
    }
    cpti_json_close(&json);
    cpti_json_unsigned(&json, "files", survey->path_count);
    cpti_json_unsigned(&json, "records", survey->record_count);
    cpti_json_unsigned(&json, "first_ns", survey->first_ns);
    cpti_json_unsigned(&json, "last_ns", survey->last_ns);
    cpti_json_unsigned(&json, "revision", survey->revision);
    cpti_json_bool(&json, "followed", is_followed);
    cpti_json_unsigned(&json, "graphs", graph_count);
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

int cpti_web_survey_complete(const struct cpti_web_survey *survey, const char *text,
                             FILE *file)
{
    return cpti_web_complete(&survey->vocabulary, text, file);
}
