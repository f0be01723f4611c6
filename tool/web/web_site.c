/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_site.c - what cpt web answers; see web_site.h */
#include "tool/web/web_site.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/table/json_write.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tool/html/html_page.h"
#include "tool/web/web_records.h"
#include "tool/web/web_source.h"
#include "tool/web/web_survey.h"
#include "tool/web/web_view.h"
#include "tool/web/web_whatif.h"
#include "cpt/cpt_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 200, BAD = 400, FORBIDDEN = 403, NOT_FOUND = 404, BUSY = 503 };
enum { KEY_PREFIX_BYTES = 48, HOME_BYTES = 80 };

/* A view since "15m" is kept for this long, and one of a database. */
#define STEP_NS  UINT64_C(10000000000)
#define STORE_NS UINT64_C(60000000000)

static const char type_json[] = "application/json; charset=utf-8";
static const char type_html[] = "text/html; charset=utf-8";

struct cpti_web_site {
    pthread_mutex_t mutex; /* guards the survey's pointer */
    struct cpti_web_survey *survey;
    struct cpti_web_cache *cache;
    const struct cpti_web_whatif *whatif; /* NULL: there are no graphs */
    const char *token;                    /* of the address; "": there is none */
    struct cpti_web_source *source;       /* of the watching thread, as the next */
    struct cpti_messages said;            /* what it has printed last */
    bool is_followed;
};

/* --- Errors --- */

/* Writes an error; its detail are lines that show the place. A page is never asked in
 * an expression, so it has none. */
static void write_error(FILE *file, bool is_page, const char *home,
                        const char *sentence, const char *detail)
{
    struct cpti_json json = {.file = file};

    if (is_page) {
        cpti_html_error(file, cpt_bytes_of(sentence), home);
        return;
    }
    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "error", sentence);
    if (detail != NULL) {
        cpti_json_bytes(&json, "detail",
                        (struct cpt_bytes){detail, strlen(detail) - 1});
    }
    cpti_json_close(&json);
}

static void no_memory(struct cpti_web_answer *answer)
{
    free(answer->body);
    memset(answer, 0, sizeof *answer);
    answer->status = BUSY;
    answer->type = type_json;
}

/* Makes an error the answer, with its status: a page with a link to @home, or data.
 * @detail: NULL: there is none. */
static void answer_error(struct cpti_web_answer *answer, bool is_page, const char *home,
                         const char *sentence, const char *detail)
{
    const unsigned status = answer->status;
    struct cpti_memory_file body;

    free(answer->body);
    memset(answer, 0, sizeof *answer);
    answer->status = status;
    answer->type = is_page ? type_html : type_json;
    if (cpti_memory_file_open(&body)) {
        write_error(body.file, is_page, home, sentence, detail);
        if (cpti_memory_file_close(&body)) {
            answer->body = body.text;
            answer->bytes = body.bytes;
            return;
        }
    }
    no_memory(answer);
}

void cpti_web_site_refuse(struct cpti_web_answer *answer, unsigned status,
                          const char *sentence)
{
    *answer = (struct cpti_web_answer){.status = status};
    answer_error(answer, false, NULL, sentence, NULL);
}

/* --- One answer that is being made --- */

struct work {
    struct cpti_web_site *site;
    struct cpti_web_survey *survey;
    struct cpti_web_query query;
    bool may_pass;
    const atomic_bool *is_unwanted;
    FILE *file;      /* the body */
    unsigned status; /* of HTTP, unless it fails */
    bool needs_pass; /* and may not */
};

static struct cpti_web_survey *take_survey(struct cpti_web_site *site)
{
    struct cpti_web_survey *survey;

    (void)pthread_mutex_lock(&site->mutex);
    survey = cpti_web_survey_hold(site->survey);
    (void)pthread_mutex_unlock(&site->mutex);
    return survey;
}

static struct cpti_web_input input_of(const struct work *work)
{
    return (struct cpti_web_input){cpti_web_survey_files(work->survey),
                                   work->is_unwanted};
}

/* Makes a view, or takes it from the cache. enum cpti_exit; *@kept is NULL if it needs
 * a pass that is not allowed. */
static int take_view(struct work *work, const char *key, struct cpti_web_kept **kept)
{
    const struct cpti_web_input input = input_of(work);
    int status;

    *kept = cpti_web_cache_take(work->site->cache, key);
    if (*kept != NULL) {
        return CPTI_EXIT_DONE;
    }
    if (!work->may_pass) {
        work->needs_pass = true;
        return cpti_web_view_check(&work->query); /* errors do not wait */
    }
    status = cpti_web_view_new(&work->query, &input, kept);
    if (status == CPTI_EXIT_DONE) {
        cpti_web_cache_add(work->site->cache, key, *kept);
    }
    return status;
}

/* Whether @text is a time before now, "15m", which moves. */
static bool is_relative(const char *text)
{
    const size_t bytes = text != NULL ? strlen(text) : 0;

    return bytes != 0 && text[bytes - 1] >= 'a' && text[bytes - 1] <= 'z';
}

/* Whether a database, which is not watched, is among the files. */
static bool has_store(const struct work *work)
{
    const struct cpti_web_files files = cpti_web_survey_files(work->survey);
    size_t at = 0;

    while (at < files.path_count && !cpti_is_store(files.paths[at])) {
        at++;
    }
    return at < files.path_count;
}

/* The key of the view that is asked for; NULL without memory. */
static char *key_of(const struct work *work)
{
    char prefix[KEY_PREFIX_BYTES];
    uint64_t step = 0;

    if (is_relative(cpti_web_query_value(&work->query, "from")) ||
        is_relative(cpti_web_query_value(&work->query, "to"))) {
        step = cpt_clock_unix_ns() / STEP_NS;
    } else if (has_store(work)) {
        step = cpt_clock_unix_ns() / STORE_NS;
    }
    (void)snprintf(prefix, sizeof prefix, "%" PRIu64 ";%" PRIu64 ";",
                   cpti_web_survey_revision(work->survey), step);
    return cpti_web_query_key(&work->query, prefix);
}

static int answer_view(struct work *work)
{
    struct cpti_web_kept *kept = NULL;
    char *key = key_of(work);
    int status;

    if (key == NULL) {
        return cpti_failed("out of memory");
    }
    status = take_view(work, key, &kept);
    free(key);
    if (status == CPTI_EXIT_DONE && kept != NULL) {
        const struct cpt_bytes json = cpti_web_view_json(kept);

        (void)fwrite(json.data, 1, json.bytes, work->file);
    }
    cpti_web_cache_release(work->site->cache, kept);
    return status;
}

static int answer_records(struct work *work)
{
    const struct cpti_web_input input = input_of(work);

    if (!work->may_pass) {
        work->needs_pass = true;
        return cpti_web_records_check(&work->query);
    }
    return cpti_web_records_write(&work->query, &input, work->file);
}

static int answer_record(struct work *work)
{
    const struct cpti_web_input input = input_of(work);
    bool is_found;
    int status;

    work->needs_pass = !work->may_pass;
    if (work->needs_pass) {
        return CPTI_EXIT_DONE;
    }
    status = cpti_web_record_write(&work->query, &input, work->file, &is_found);
    if (status == CPTI_EXIT_DONE && !is_found) {
        work->status = NOT_FOUND;
        return cpti_failed("there is no record with this id; perhaps its log is gone");
    }
    return status;
}

static int answer_page(struct work *work)
{
    cpti_html_live(work->file);
    return CPTI_EXIT_DONE;
}

static int answer_summary(struct work *work)
{
    cpti_web_survey_write(work->survey, work->file, work->site->is_followed,
                          cpti_web_whatif_count(work->site->whatif));
    return CPTI_EXIT_DONE;
}

static int answer_complete(struct work *work)
{
    const char *text = cpti_web_query_value(&work->query, "text");
    const int status = cpti_web_query_check(&work->query, "text");

    return status == CPTI_EXIT_DONE
               ? cpti_web_survey_complete(work->survey, text != NULL ? text : "",
                                          work->file)
               : status;
}

/* From memory: it reads no file. */
static int answer_whatif(struct work *work)
{
    return cpti_web_whatif_write(work->site->whatif, &work->query, work->file);
}

static int answer_sliders(struct work *work)
{
    return cpti_web_whatif_page(work->site->whatif, &work->query, work->site->token,
                                work->file);
}

static const struct {
    const char *path;
    int (*answer)(struct work *work); /* enum cpti_exit */
    bool is_at_once;
} routes[] = {
    {"/", answer_page, true},
    {"/api/summary", answer_summary, true},
    {"/api/complete", answer_complete, true},
    {"/api/view", answer_view, false},
    {"/api/records", answer_records, false},
    {"/api/record", answer_record, false},
    {"/api/whatif", answer_whatif, false},
    {"/whatif", answer_sliders, false},
};

enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

static size_t route_of(struct cpt_bytes path)
{
    size_t at = 0;

    while (at < ROUTE_COUNT && !cpt_bytes_equal(path, cpt_bytes_of(routes[at].path))) {
        at++;
    }
    return at;
}

/* Runs the route with @work; @messages gets what it says. */
static int run_route(struct work *work, size_t route, struct cpt_bytes query,
                     struct cpti_messages *messages)
{
    int status;

    cpti_messages_to(messages);
    cpti_inputs_end_if(work->is_unwanted);
    status = cpti_web_query_init(&work->query, query);
    status = CPTI_THEN(status, routes[route].answer(work));
    cpti_web_query_deinit(&work->query);
    cpti_inputs_end_if(NULL);
    cpti_messages_to(NULL);
    return status;
}

/* Whether the answer is a page rather than data. */
static bool is_page(size_t route)
{
    return strncmp(routes[route].path, "/api/", strlen("/api/")) != 0;
}

/* Makes the cause among @messages of the route the answer. */
static void answer_failure(const struct cpti_web_site *site, size_t route,
                           const struct cpti_messages *messages,
                           struct cpti_web_answer *answer)
{
    const struct cpti_message *cause = cpti_messages_cause(messages);
    char home[HOME_BYTES];

    (void)snprintf(home, sizeof home, "/%s%.64s",
                   site->token[0] != '\0' ? "?token=" : "", site->token);
    answer_error(answer, is_page(route), home,
                 cause != NULL ? cause->text : "out of memory",
                 cause != NULL ? cause->detail : NULL);
}

static bool make_answer(struct work *work, size_t route, struct cpt_bytes query,
                        struct cpti_web_answer *answer)
{
    struct cpti_memory_file body;
    struct cpti_messages messages = {0};
    int status;

    *answer = (struct cpti_web_answer){.status = OK,
                                       .type = is_page(route) ? type_html : type_json};
    work->status = BAD;
    if (!cpti_memory_file_open(&body)) {
        no_memory(answer);
        return true;
    }
    work->file = body.file;
    work->survey = take_survey(work->site);
    status = run_route(work, route, query, &messages);
    cpti_web_survey_release(work->survey);
    if (!cpti_memory_file_close(&body)) {
        no_memory(answer);
    } else {
        answer->body = body.text;
        answer->bytes = body.bytes;
    }
    if (body.has_failed) {
        status = CPTI_EXIT_FAILED;
    } else if (status != CPTI_EXIT_DONE) {
        answer->status = work->status;
        answer_failure(work->site, route, &messages, answer);
    } else if (work->needs_pass) {
        free(answer->body);
        memset(answer, 0, sizeof *answer);
    }
    cpti_messages_deinit(&messages);
    return status != CPTI_EXIT_DONE || !work->needs_pass;
}

bool cpti_web_site_at_once(struct cpti_web_site *site, struct cpt_bytes path,
                           struct cpt_bytes query, struct cpti_web_answer *answer)
{
    const size_t route = route_of(path);
    struct work work = {.site = site};

    if (route == ROUTE_COUNT) {
        cpti_web_site_refuse(answer, NOT_FOUND,
                             "nothing is served here; the page is at /, and the data "
                             "are below /api/");
        return true;
    }
    return routes[route].is_at_once && make_answer(&work, route, query, answer);
}

void cpti_web_site_forbid(struct cpt_bytes path, struct cpti_web_answer *answer)
{
    const size_t route = route_of(path);

    *answer = (struct cpti_web_answer){.status = FORBIDDEN};
    answer_error(
        answer, route < ROUTE_COUNT && is_page(route), NULL,
        "the token of this address is missing or wrong: open the whole address "
        "that 'cpt web' has printed, with '?token='; programs may send it as "
        "the header 'Authorization: Bearer TOKEN'",
        NULL);
}

bool cpti_web_site_answer(struct cpti_web_site *site, struct cpt_bytes path,
                          struct cpt_bytes query, bool may_pass,
                          const atomic_bool *is_unwanted,
                          struct cpti_web_answer *answer)
{
    struct work work = {.site = site, .may_pass = may_pass, .is_unwanted = is_unwanted};

    return make_answer(&work, route_of(path), query, answer);
}

/* --- The site --- */

static void publish(struct cpti_web_site *site, struct cpti_web_survey *survey)
{
    struct cpti_web_survey *old;

    (void)pthread_mutex_lock(&site->mutex);
    old = site->survey;
    site->survey = survey;
    (void)pthread_mutex_unlock(&site->mutex);
    cpti_web_survey_release(old);
}

static struct cpti_web_survey *survey_new(const struct cpti_web_source *source,
                                          uint64_t revision)
{
    struct cpti_web_files files;

    files.paths = cpti_web_source_paths(source, &files.path_count);
    files.sources = cpti_web_source_names(source, &files.source_count);
    return cpti_web_survey_new(&files, revision);
}

struct cpti_web_site *cpti_web_site_new(const char *const *operands, size_t count,
                                        size_t cache_bytes)
{
    struct cpti_web_site *site = calloc(1, sizeof *site);

    if (site == NULL || (site->cache = cpti_web_cache_new(cache_bytes)) == NULL) {
        (void)cpti_failed("out of memory");
        free(site);
        return NULL;
    }
    (void)pthread_mutex_init(&site->mutex, NULL);
    site->token = "";
    site->source = cpti_web_source_new(operands, count);
    if (site->source != NULL) {
        site->survey = survey_new(site->source, 0);
        site->is_followed = cpti_web_source_is_followed(site->source);
    }
    if (site->survey == NULL) {
        cpti_web_site_free(site);
        return NULL;
    }
    return site;
}

void cpti_web_site_graphs(struct cpti_web_site *site,
                          const struct cpti_web_whatif *whatif)
{
    site->whatif = whatif;
}

void cpti_web_site_token(struct cpti_web_site *site, const char *token)
{
    site->token = token;
}

void cpti_web_site_free(struct cpti_web_site *site)
{
    if (site != NULL) {
        cpti_web_survey_release(site->survey);
        cpti_web_source_free(site->source);
        cpti_messages_deinit(&site->said);
        cpti_web_cache_free(site->cache);
        (void)pthread_mutex_destroy(&site->mutex);
        free(site);
    }
}

/* Looks, and reads if files have changed. */
static void look(struct cpti_web_site *site, const atomic_bool *is_unwanted)
{
    const uint64_t revision = cpti_web_survey_revision(site->survey);
    struct cpti_web_survey *survey;
    bool is_changed;

    if (cpti_web_source_look(site->source, &is_changed) != CPTI_EXIT_DONE ||
        (!is_changed && revision != 0)) {
        return;
    }
    survey = survey_new(site->source, revision + 1);
    if (survey != NULL) {
        cpti_web_survey_read(survey, is_unwanted);
        publish(site, survey);
    }
}

/* Prints @messages, which it takes, unless they were the last ones printed: a folder
 * that is gone is reported once, not at each look. */
static void say(struct cpti_web_site *site, struct cpti_messages *messages)
{
    if (messages->count == 0 || cpti_messages_equal(&site->said, messages)) {
        cpti_messages_deinit(messages);
        return;
    }
    cpti_messages_say(messages);
    cpti_messages_deinit(&site->said);
    site->said = *messages;
}

void cpti_web_site_watch(struct cpti_web_site *site, const atomic_bool *is_unwanted)
{
    struct cpti_messages messages = {0};

    cpti_messages_to(&messages);
    cpti_inputs_end_if(is_unwanted);
    look(site, is_unwanted);
    cpti_inputs_end_if(NULL);
    cpti_messages_to(NULL);
    if (atomic_load(is_unwanted)) {
        cpti_messages_deinit(&messages); /* that reading was broken off */
    } else {
        say(site, &messages);
    }
}
