/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_check.c - what lines of logs carry; see event_check.h */
#include "tool/events/event_check.h"

#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_advice.h"
#include "import/lines/sources.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 /* of services, and of hosts, of a source */ };

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

/* The source of @path; files of CSV are sources of their own. The last one is for all
 * that find no room. NULL without memory. */
static struct cpti_check_source *source_of(struct cpti_check *check,
                                           const struct cpti_event_lines *lines,
                                           const char *path)
{
    const struct cpti_line_source *from = cpti_event_lines_source(lines);
    struct cpti_check_source *source = NULL;
    char text[CPTI_CHECK_TEXT_BYTES];

    copy_text(text, from != NULL ? from->name : end_of(path));
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
    source->intervals_without_id += event->id.bytes == 0 && event->is_interval;
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

/* The `event` of a struct cpti_event_visitor. */
static cpt_status visit_event(void *context, const struct cpti_event_lines *lines,
                              const char *path, const struct cpti_event *event)
{
    struct cpti_check *check = context;

    if (check->current == NULL) {
        check->current = source_of(check, lines, path);
        if (check->current == NULL) {
            return CPT_NO_MEMORY;
        }
        check->inputs[event->input] = (unsigned char)(check->current - check->sources);
    }
    count_event(check->current, event);
    return CPT_OK;
}

/* The `end` of a struct cpti_event_visitor. */
static void visit_end(void *context, const struct cpti_event_lines *lines,
                      const char *path)
{
    struct cpti_check *check = context;
    const struct cpti_event_lines_counts *counts = cpti_event_lines_counts(lines);
    struct cpti_check_source *source = check->current;

    check->current = NULL;
    if (source == NULL &&
        (cpti_event_lines_source(lines) != NULL || counts->lines > 0)) {
        source = source_of(check, lines, path);
    }
    if (source == NULL) {
        return; /* of CSV without a row, or of no source */
    }
    source->files++;
    source->lines += counts->lines;
    source->unread += counts->unmatched + counts->with_nul + counts->without_utf8;
    source->cut += counts->cut;
    source->timeless += counts->timeless;
    if (source->unread_line == 0 && counts->unmatched > 0) {
        source->unread_line = counts->first_unmatched;
        copy_text(source->unread_file, cpt_bytes_of(path));
        copy_text(source->unread_text, cpti_event_lines_unmatched(lines));
        source->unread_why = cpti_event_lines_why(lines);
    }
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
static void count_request(struct cpti_check *check,
                          const struct cpti_event_trace *trace)
{
    const struct cpti_request *request = &trace->request;
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
        check->sources[source].points_outside += !request->lines[i].is_interval &&
                                                 trace->owners != NULL &&
                                                 trace->owners[i] == CPTI_NO_PARENT;
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
    struct cpti_event_trace trace;
    cpt_status status = CPT_NO_MEMORY;

    check->traces = cpti_event_traces_new(NULL, check->input.requests);
    check->classes = cpti_event_classes_new();
    if (check->traces != NULL && check->classes != NULL) {
        status = cpti_event_traces_learn(check->traces);
    }
    while (status == CPT_OK) {
        status = cpti_event_traces_next(check->traces, &trace);
        if (status == CPT_OK) {
            count_request(check, &trace);
            status = cpti_event_classes_add(check->classes, &trace);
        }
    }
    return status == CPT_END ? CPTI_EXIT_DONE : cpti_status_exit(status);
}

int cpti_check_read(struct cpti_check *check, const struct cpti_arguments *arguments)
{
    const struct cpti_event_visitor visitor = {check, visit_event, visit_end};
    int status = CPTI_EXIT_DONE;

    *check = (struct cpti_check){.inputs = calloc(arguments->operand_count + 1, 1)};
    if (check->inputs == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_event_input_visit(&check->input, arguments, &visitor);
    return check->source_count > 0 ? cpti_exit_last(status, go_through(check)) : status;
}

void cpti_check_end(struct cpti_check *check)
{
    for (size_t i = 0; i < check->source_count; i++) {
        cpt_names_free(check->sources[i].services);
        cpt_names_free(check->sources[i].hosts);
    }
    cpti_event_classes_free(check->classes);
    cpti_event_traces_free(check->traces);
    cpti_event_input_end(&check->input);
    free(check->inputs);
}

unsigned cpti_check_lacks(const struct cpti_check_source *source)
{
    const uint64_t intervals = source->servers + source->clients + source->unknown;
    unsigned lacks = 0;

    if (source->events == 0) {
        return 0;
    }
    /* a program also writes points that are of no request */
    lacks |= (intervals > 0 ? 10 * source->intervals_without_id > intervals
                            : 2 * source->without_id > source->events)
                 ? CPTI_LACKS_ID
                 : 0;
    lacks |= intervals == 0 ? CPTI_LACKS_LENGTH : 0;
    lacks |= source->resolution_ns >= 1000000000 ? CPTI_LACKS_FINENESS : 0;
    /* beside other work, lines of others lie within those of a leaf, too, by chance */
    lacks |=
        intervals > 0 && source->clients == 0 && 10 * source->callers > 9 * intervals
            ? CPTI_LACKS_CALLS
            : 0;
    return lacks;
}
