/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_check.c - what lines of logs carry; see event_check.h */
#include "tool/events/event_check.h"

#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/base/private_file.h"
#include "tool/events/event_advice.h"
#include "import/lines/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 /* of services, and of hosts, of a source */ };

/* A file that is read. */
struct reading {
    struct cpti_check *check;
    struct cpti_input input;
    struct cpti_event_lines *lines;
    struct cpti_check_source *source; /* NULL before its first event */
};

static void copy_text(char to[CPTI_CHECK_TEXT_BYTES], struct cpt_bytes text)
{
    const size_t bytes =
        text.bytes < CPTI_CHECK_TEXT_BYTES ? text.bytes : CPTI_CHECK_TEXT_BYTES - 1;

    if (bytes > 0) {
        memcpy(to, text.data, bytes);
    }
    to[bytes] = '\0';
}

/* The last part of a path. */
static struct cpt_bytes end_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return cpt_bytes_of(slash != NULL ? slash + 1 : path);
}

/* The source of the file that is read; files of CSV are sources of their own. The last
 * one is for all that find no room. NULL without memory. */
static struct cpti_check_source *source_of(struct reading *reading)
{
    struct cpti_check *check = reading->check;
    const struct cpti_line_source *from = cpti_event_lines_source(reading->lines);
    const struct cpt_bytes name =
        from != NULL ? from->name : end_of(reading->input.path);
    struct cpti_check_source *source = NULL;
    char text[CPTI_CHECK_TEXT_BYTES];

    copy_text(text, name);
    for (size_t i = 0; i < check->source_count; i++) {
        if (strcmp(check->sources[i].name, text) == 0) {
            return &check->sources[i];
        }
    }
    if (check->source_count == CPTI_CHECK_SOURCES_MAX) {
        return &check->sources[CPTI_CHECK_SOURCES_MAX - 1];
    }
    source = &check->sources[check->source_count++];
    memcpy(source->name, text, sizeof text);
    copy_text(source->format, from != NULL ? from->format : cpt_bytes_of("csv"));
    source->services = cpt_names_new(NULL);
    source->hosts = cpt_names_new(NULL);
    return source->services != NULL && source->hosts != NULL ? source : NULL;
}

/* --- Events --- */

static void add_name(struct cpt_names *names, struct cpt_bytes name)
{
    char room[CPT_NAME_BYTES_MAX + 1];
    cpt_name_id id = 0;

    if (name.bytes > 0 && cpt_names_count(names) < NAMES_MAX) {
        (void)cpt_names_add(names, cpt_name_bound(name, room), &id);
    }
}

static void count_event(struct cpti_check_source *source,
                        const struct cpti_event *event)
{
    uint64_t *const roles[] = {&source->unknown, &source->servers, &source->clients};

    source->events++;
    source->without_id += event->id.bytes == 0;
    ++*(event->is_interval ? roles[event->role] : &source->points);
    source->has_split_ms |=
        event->begin_ns % 1000000 != 0 || event->end_ns % 1000000 != 0;
    if (event->resolution_ns != CPTI_RESOLUTION_OPEN) {
        source->resolution_ns = event->resolution_ns;
    } else {
        source->resolution_ns = source->has_split_ms ? 0 : 1000000;
    }
    add_name(source->services, event->service);
    add_name(source->hosts, event->host);
}

static cpt_status add_event(struct reading *reading, const struct cpti_event *event)
{
    if (reading->source == NULL) {
        reading->source = source_of(reading);
        if (reading->source == NULL) {
            return CPT_NO_MEMORY;
        }
        reading->check->inputs[event->input] =
            (unsigned char)(reading->source - reading->check->sources);
    }
    count_event(reading->source, event);
    return cpti_requests_add(reading->check->requests, event);
}

/* --- Files --- */

static int read_events(struct reading *reading)
{
    struct cpt_error error = {0};
    struct cpti_event event;
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = cpti_event_lines_next(reading->lines, &event, &error);
        if (status == CPT_OK) {
            status = add_event(reading, &event);
            if (status != CPT_OK) {
                return cpti_failed("the requests cannot be kept: %s",
                                   status == CPT_IO ? strerror(errno)
                                                    : cpt_status_sentence(status));
            }
        }
    }
    return status == CPT_END
               ? CPTI_EXIT_DONE
               : cpti_failed_at(
                     (struct cpti_at){.file = cpti_input_name(&reading->input)}, "%s",
                     error.sentence[0] != '\0' ? error.sentence
                                               : cpt_status_sentence(status));
}

static void add_counts(struct reading *reading, struct cpti_check_source *source)
{
    const struct cpti_event_lines_counts *counts =
        cpti_event_lines_counts(reading->lines);

    source->files++;
    source->lines += counts->lines;
    source->unread += counts->unmatched + counts->with_nul + counts->without_utf8;
    source->cut += counts->cut;
    source->timeless += counts->timeless;
    if (source->unread_line == 0 && counts->unmatched > 0) {
        source->unread_line = counts->first_unmatched;
        copy_text(source->unread_file, cpt_bytes_of(reading->input.path));
        copy_text(source->unread_text, cpti_event_lines_unmatched(reading->lines));
    }
}

static int read_file(struct cpti_check *check, struct cpti_sources *sources,
                     const char *path, uint32_t number)
{
    struct reading reading = {.check = check};
    const struct cpti_event_lines_options options = {.sources = sources,
                                                     .read = cpti_input_read,
                                                     .context = &reading.input,
                                                     .name = path,
                                                     .input = number};
    int status = cpti_input_open(&reading.input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    reading.lines = cpti_event_lines_new(&options);
    status =
        reading.lines != NULL ? read_events(&reading) : cpti_failed("out of memory");
    if (reading.lines != NULL &&
        (reading.source != NULL || cpti_event_lines_source(reading.lines) != NULL)) {
        struct cpti_check_source *source = source_of(&reading);

        if (source != NULL) {
            add_counts(&reading, source);
        }
    }
    cpti_event_lines_free(reading.lines);
    cpti_input_close(&reading.input);
    return status;
}

/* --- Requests --- */

/* The first line of another service within the interval of line @at, if it is near. */
static bool has_inner(const struct cpti_request *request, size_t at)
{
    enum { NEAR = 16 };
    const struct cpti_line *line = &request->lines[at];

    for (size_t i = at + 1; i < request->count && i <= at + NEAR; i++) {
        if (request->lines[i].begin_ns > line->end_ns) {
            return false;
        }
        if (request->lines[i].service != line->service &&
            request->lines[i].end_ns <= line->end_ns) {
            return true;
        }
    }
    return false;
}

/* Adds how far the first lines of sources are apart: @firsts, of those in @seen. */
static void count_apart(struct cpti_check *check, uint64_t seen,
                        const int64_t firsts[CPTI_CHECK_SOURCES_MAX])
{
    for (size_t i = 1; (seen & 1) != 0 && i < check->source_count; i++) {
        if ((seen >> i & 1) != 0) {
            check->sources[i].apart_s += (double)(firsts[i] - firsts[0]) / 1e9;
            check->sources[i].apart_count++;
        }
    }
}

double cpti_check_zone_s(const struct cpti_check_source *source)
{
    const double mean_s =
        source->apart_count > 0 ? source->apart_s / (double)source->apart_count : 0;

    return mean_s > 600 || mean_s < -600 ? mean_s : 0;
}

/* Counts the sources of a request. */
static void count_request(struct cpti_check *check, const struct cpti_request *request)
{
    int64_t firsts[CPTI_CHECK_SOURCES_MAX];
    uint64_t seen = 0;

    check->request_count++;
    for (size_t i = 0; i < request->count; i++) {
        const unsigned source = check->inputs[request->lines[i].input];

        if ((seen >> source & 1) == 0) {
            check->sources[source].requests++;
            firsts[source] = request->lines[i].begin_ns;
        }
        check->sources[source].callers +=
            request->lines[i].is_interval && has_inner(request, i);
        seen |= UINT64_C(1) << source;
    }
    count_apart(check, seen, firsts);
    for (size_t i = 0; i < check->source_count; i++) {
        if ((seen >> i & 1) == 0) {
            return;
        }
    }
    check->with_all++;
}

static int go_through(struct cpti_check *check)
{
    struct cpti_request request;
    cpt_status status = cpti_requests_rewind(check->requests);

    check->classes = cpti_event_classes_new(check->requests);
    status = status == CPT_OK && check->classes == NULL ? CPT_NO_MEMORY : status;
    while (status == CPT_OK) {
        status = cpti_requests_next(check->requests, &request);
        if (status == CPT_OK) {
            count_request(check, &request);
            status = cpti_event_classes_add(check->classes, &request);
        }
    }
    return status == CPT_END ? CPTI_EXIT_DONE
                             : cpti_failed("%s", cpt_status_sentence(status));
}

static int open_private_file(void)
{
    char path[CPTI_PRIVATE_PATH_BYTES];

    return cpti_private_file(path);
}

int cpti_check_read(struct cpti_check *check, const struct cpti_arguments *arguments,
                    struct cpti_sources *sources)
{
    const struct cpti_requests_options options = {.open_file = open_private_file};
    int status = CPTI_EXIT_DONE;

    *check = (struct cpti_check){.requests = cpti_requests_new(&options),
                                 .inputs = calloc(arguments->operand_count + 1, 1)};
    if (check->requests == NULL || check->inputs == NULL ||
        arguments->operand_count > CPTI_INPUTS_MAX) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < arguments->operand_count; i++) {
        status = cpti_exit_last(
            status, read_file(check, sources, arguments->operands[i], (uint32_t)i));
    }
    return cpti_exit_last(status, go_through(check));
}

void cpti_check_end(struct cpti_check *check)
{
    for (size_t i = 0; i < check->source_count; i++) {
        cpt_names_free(check->sources[i].services);
        cpt_names_free(check->sources[i].hosts);
    }
    cpti_event_classes_free(check->classes);
    cpti_requests_free(check->requests);
    free(check->inputs);
}

unsigned cpti_check_lacks(const struct cpti_check_source *source)
{
    const uint64_t intervals = source->servers + source->clients + source->unknown;
    unsigned lacks = 0;

    if (source->events == 0) {
        return 0;
    }
    lacks |= 10 * source->without_id > source->events ? CPTI_LACKS_ID : 0;
    lacks |= intervals == 0 ? CPTI_LACKS_LENGTH : 0;
    lacks |= source->resolution_ns >= 1000000000 ? CPTI_LACKS_FINENESS : 0;
    lacks |= source->callers > 0 && source->clients == 0 ? CPTI_LACKS_CALLS : 0;
    return lacks;
}
