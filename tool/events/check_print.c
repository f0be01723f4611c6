/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * check_print.c - cpt events check; see check_print.h
 *
 *      sources    a row each: what was read, what it lacks
 *      classes    a row each: what can be said of these requests, and how surely
 *      below      the first line that is of no form, the directive against what lacks,
 *                 the largest gaps
 */
#include "tool/events/check_print.h"

#include "tool/base/output.h"
#include "tool/events/event_advice.h"
#include "tool/events/event_check.h"
#include "tool/table/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is printed. */
struct printed {
    struct cpti_check check;
    struct cpti_view view;
    const struct cpti_event_class *classes;
    size_t class_count;
};

/* --- Sources --- */

enum { FORMAT, SHARE, SERVICES, HOSTS, LACKS };

/* The first names, and how many there are beside them. */
static struct cpti_cell names_cell(const struct cpti_asked *asked,
                                   const struct cpt_names *names)
{
    enum { SHOWN = 3 };
    const size_t count = cpt_names_count(names);
    char text[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && i < SHOWN; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s",
                                 i > 0 ? ", " : "",
                                 (int)cpt_names_at(names, (cpt_name_id)i).bytes,
                                 cpt_names_at(names, (cpt_name_id)i).data);
    }
    return count == 0 ? cpti_cell_unknown()
           : count > SHOWN
               ? cpti_cell_format(asked, "%s and %zu more", text, count - SHOWN)
               : cpti_cell_format(asked, "%s", text);
}

static struct cpti_cell get_source(const struct cpti_asked *asked)
{
    const struct cpti_check *check = asked->context;
    const struct cpti_check_source *source = asked->row;

    switch (asked->what) {
    case FORMAT:
        return source->format[0] != '\0' ? cpti_cell_text(source->format)
                                         : cpti_cell_unknown();
    case SHARE:
        return cpti_cell_known(check->request_count > 0,
                               (double)source->requests / (double)check->request_count);
    case SERVICES:
        return names_cell(asked, source->services);
    case HOSTS:
        return names_cell(asked, source->hosts);
    default:
        return cpti_cell_text(source->name);
    }
}

enum { NAME = LACKS + 1 };

#define COUNT(field) CPTI_COUNT, CPTI_OF(struct cpti_check_source, field)

static const struct cpti_column source_columns[] = {
    {"source", "source", CPTI_NAME, get_source, NAME, "of --sources, or of the file"},
    {"format", "format", CPTI_TEXT, get_source, FORMAT, "the built-in one"},
    {"files", "files", COUNT(files)},
    {"lines", "lines", COUNT(lines)},
    {"unread", "unread", COUNT(unread),
     "lines of no form, with a NUL or without UTF-8"},
    {"cut", "cut", COUNT(cut), "lines longer than 1 MiB"},
    {"without_time", "no time", COUNT(timeless), "lines whose time cannot be read"},
    {"events", "events", COUNT(events), "that lines gave: a proxy's gives several"},
    {"without_id", "no id", COUNT(without_id), "events that say no request"},
    {"resolution_ns", "res. ms", CPTI_NS_WHOLE,
     CPTI_OF(struct cpti_check_source, resolution_ns), "the unit of the last digit"},
    {"points", "points", COUNT(points), "events with one time"},
    {"servers", "server", COUNT(servers), "intervals of work for a caller"},
    {"clients", "client", COUNT(clients), "intervals of calls, as callers saw them"},
    {"others", "other", COUNT(unknown), "intervals that say no role"},
    {"requests", "requests", COUNT(requests), "that have a line of it"},
    {"share", "of all", CPTI_SHARE, get_source, SHARE, "of all requests"},
    {"services", "services", CPTI_NAME, get_source, SERVICES},
    {"hosts", "hosts", CPTI_NAME, get_source, HOSTS},
    {0},
};

const struct cpti_relation cpti_check_sources_relation = {
    "sources", source_columns,
    "lines,unread,without_time,without_id,resolution_ns,points,servers,clients,share,"
    "source"};

/* --- Classes --- */

enum { CLASS, METHOD, ORDER, COVER, GAPS };

/* "service: name" of a kind. */
static struct cpti_cell kind_cell(const struct cpti_asked *asked,
                                  const struct cpti_check *check, uint32_t kind)
{
    const struct cpti_requests *requests = check->input.requests;
    struct cpt_bytes service;
    struct cpt_bytes name;

    if (kind == UINT32_MAX) {
        return cpti_cell_text("(other)");
    }
    service = cpti_requests_text(requests, CPTI_NAMES_SERVICE,
                                 cpti_requests_kind_service(requests, kind));
    name = cpti_requests_text(requests, CPTI_NAMES_KIND, kind);
    return cpti_cell_format(asked, "%.*s: %.*s", (int)service.bytes, service.data,
                            (int)name.bytes, name.data);
}

static struct cpti_cell get_class(const struct cpti_asked *asked)
{
    const struct cpti_event_class *class = asked->row;
    uint32_t pair[2];
    double share = 0;
    bool is_known = false;

    switch (asked->what) {
    case CLASS:
        return kind_cell(asked, asked->context, class->kind);
    case METHOD:
        return cpti_cell_text(cpti_event_method_word(cpti_event_class_method(class)));
    case ORDER:
        is_known = cpti_event_class_order(class, &share, pair);
        return cpti_cell_known(is_known, share);
    case COVER:
        return cpti_cell_known(class->span_ns > 0 && cpti_event_class_method(class) !=
                                                         CPTI_EVENT_BY_POINTS,
                               class->cover_ns / class->span_ns);
    default:
        /* calls that lie within each other count twice */
        return cpti_cell_known(class->span_ns > 0,
                               fmin(class->gap_ns / class->span_ns, 1));
    }
}

static void put_kind(struct cpti_json *json, const char *key,
                     const struct cpti_check *check, uint32_t kind)
{
    char room[CPTI_VALUE_BYTES];
    const struct cpti_asked asked = {.room = room};

    cpti_json_bytes(json, key, kind_cell(&asked, check, kind).text);
}

/* A cpti_put_fn: the largest gaps. */
static void put_gaps(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct cpti_event_class *class = asked->row;

    cpti_json_open(json, "gaps", '[');
    for (size_t i = 0; i < class->gap_count && i < CPTI_CLASS_GAPS_SHOWN; i++) {
        cpti_json_open(json, NULL, '{');
        put_kind(json, "from", asked->context, class->gaps[i].from);
        if (class->gaps[i].to == UINT32_MAX) {
            cpti_json_null(json, "to");
        } else {
            put_kind(json, "to", asked->context, class->gaps[i].to);
        }
        cpti_json_ns(json, "mean_ns", class->gaps[i].ns / (double)class->requests);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static const struct cpti_column class_columns[] = {
    {"entry", "entry", CPTI_NAME, get_class, CLASS, "of these requests"},
    {"requests", "requests", CPTI_COUNT, CPTI_OF(struct cpti_event_class, requests)},
    {"method", "method", CPTI_TEXT, get_class, METHOD,
     "calls: as of spans; servers: callers look slower than they are; points: order"},
    {"order", "order", CPTI_SHARE, get_class, ORDER,
     "of pairs of kinds, those that come in one order, in all requests but 2 %"},
    {"cover", "cover", CPTI_SHARE, get_class, COVER,
     "of the entry's interval, between the first and the last other line"},
    {"gap_share", "gaps", CPTI_SHARE, get_class, GAPS,
     "time between points of different services, or in calls without a callee's line"},
    {"gaps", "largest gaps", CPTI_TEXT, NULL, 0, "the three largest", 0, put_gaps},
    {0},
};

const struct cpti_relation cpti_check_classes_relation = {
    "classes", class_columns, "requests,method,order,cover,gap_share,entry"};

/* --- Below the tables --- */

static void print_unread(const struct cpti_check_source *source)
{
    if (source->unread_line > 0) {
        const char *why = source->unread_why;

        (void)printf(
            "\n%s: of no form is, first, line %" PRIu64 " of %s%s%s:\n    %s\n",
            cpti_quoted(source->name), source->unread_line,
            cpti_quoted(source->unread_file), why != NULL ? ", as " : "",
            why != NULL ? why : "", cpti_printable(cpt_bytes_of(source->unread_text)));
    }
}

/* Prints each line of @directive, indented. */
static void print_directive(const char *directive)
{
    while (directive[0] != '\0') {
        const size_t bytes = strcspn(directive, "\n");

        (void)printf("    %.*s\n", (int)bytes, directive);
        directive += bytes + (directive[bytes] == '\n');
    }
}

/* Prints which sources lack @lack. */
static void print_lack(const struct cpti_check *check, unsigned lack)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "%s: ", cpti_lack_text(lack));
    bool is_first = true;

    for (size_t i = 0; i < check->source_count; i++) {
        if ((cpti_check_lacks(&check->sources[i]) & lack) != 0 &&
            used + CPTI_CHECK_TEXT_BYTES < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     is_first ? "" : ", ",
                                     cpti_quoted(check->sources[i].name));
            is_first = false;
        }
    }
    if (!is_first) {
        (void)printf("\n");
        cpti_print_wrapped(stdout, 0, text);
    }
}

static const struct cpti_advice *advice_of(const struct cpti_check_source *source)
{
    return cpti_advice_of(cpt_bytes_of(source->format), cpti_check_lacks(source));
}

/* Prints what helps source @number, unless it helps one before, too. */
static void print_advice(const struct cpti_check *check, size_t number)
{
    const struct cpti_advice *advice = advice_of(&check->sources[number]);

    for (size_t i = 0; i < number; i++) {
        if (advice == advice_of(&check->sources[i])) {
            return;
        }
    }
    if (advice != NULL) {
        (void)printf("\nFor %s", cpti_quoted(check->sources[number].name));
        for (size_t i = number + 1; i < check->source_count; i++) {
            if (advice == advice_of(&check->sources[i])) {
                (void)printf(", %s", cpti_quoted(check->sources[i].name));
            }
        }
        (void)printf(", in %s:\n", advice->where);
        print_directive(advice->directive);
    }
}

static const char *kind_text(const struct cpti_check *check, uint32_t kind)
{
    char room[CPTI_VALUE_BYTES];
    const struct cpti_asked asked = {.room = room};

    return cpti_quoted_bytes(kind_cell(&asked, check, kind).text);
}

/* Prints the largest gaps between points. */
static void print_point_gaps(const struct cpti_check *check,
                             const struct cpti_event_class *class)
{
    uint32_t pair[2];
    double share = 1;
    char ms[32];

    if (cpti_event_class_order(class, &share, pair) && share < 0.98) {
        (void)printf(
            "\nparallel: lines of\n    %s\n    %s\ncome in either order; lines "
            "at their begin and end would show what is parallel.\n",
            kind_text(check, pair[0]), kind_text(check, pair[1]));
    }
    for (size_t i = 0; i < class->gap_count && i < CPTI_CLASS_GAPS_SHOWN; i++) {
        const struct cpti_gap *gap = &class->gaps[i];

        (void)printf("\ngap of %s ms on average between\n    %s\n    %s\n",
                     cpti_ms(gap->ns / (double)class->requests, ms),
                     kind_text(check, gap->from), kind_text(check, gap->to));
    }
    if (class->gap_count > 0) {
        (void)printf(
            "A later line of the first one's service, or an earlier one of the "
            "second's, splits a\ngap: those of a call at both of its ends.\n");
    }
}

/* Prints the largest calls that have no line of their callee. */
static void print_call_gaps(const struct cpti_check *check,
                            const struct cpti_event_class *class)
{
    char ms[32];

    for (size_t i = 0; i < class->gap_count && i < CPTI_CLASS_GAPS_SHOWN; i++) {
        (void)printf("\ncall of %s ms on average without a line of the callee's begin "
                     "and end:\n    %s\n",
                     cpti_ms(class->gaps[i].ns / (double)class->requests, ms),
                     kind_text(check, class->gaps[i].from));
    }
}

/* Says which sources have another zone than the first one. */
static void print_zones(const struct cpti_check *check)
{
    for (size_t i = 1; i < check->source_count; i++) {
        const double zone_s = cpti_check_zone_s(&check->sources[i]);
        const long minutes = lround((zone_s > 0 ? zone_s : -zone_s) / 60);

        if (zone_s != 0) {
            (void)printf(
                "\nstamps of %s are %ld h %02ld min %s those of %s: is it another "
                "zone? In --sources:\n    source %s = ...; zone %c%02ld:%02ld\n",
                cpti_quoted(check->sources[i].name), minutes / 60, minutes % 60,
                zone_s > 0 ? "later than" : "earlier than",
                cpti_quoted(check->sources[0].name),
                cpti_quoted(check->sources[i].name), zone_s > 0 ? '+' : '-',
                (minutes + 7) / 15 * 15 / 60, (minutes + 7) / 15 * 15 % 60);
        }
    }
}

/* Says whose points lie in no interval, and what that means. */
static void print_outside(const struct cpti_check_source *source)
{
    char text[1024];

    if (source->points_outside > 0) {
        (void)snprintf(text, sizeof text,
                       "%s: %" PRIu64 " of its %" PRIu64
                       " points lie in no interval of their service, in requests that "
                       "have intervals: they are left out. A line with begin and end, "
                       "or with a duration, around the work of each request makes them "
                       "count.",
                       cpti_quoted(source->name), source->points_outside,
                       source->points);
        (void)printf("\n");
        cpti_print_wrapped(stdout, 0, text);
    }
}

/* Says how many requests the lines were joined to. */
static void print_joined(const struct cpti_check *check)
{
    if (check->request_count > 0) {
        (void)printf("\n%" PRIu64 " of %" PRIu64
                     " requests have lines of all sources.\n",
                     check->with_all, check->request_count);
    } else {
        (void)printf("\nno line has an id of its request, so none can be joined.\n");
    }
}

static void foot(const void *context, size_t row_max)
{
    const struct printed *printed = context;
    const struct cpti_check *check = &printed->check;
    const struct cpti_view view =
        cpti_view_beside(&printed->view, &cpti_check_classes_relation, NULL);
    const struct cpti_rows rows =
        CPTI_ROWS(printed->classes, printed->class_count, check);

    (void)row_max;
    print_joined(check);
    if (printed->class_count > 0) {
        (void)printf("\n");
        (void)cpti_relation_print(&view, &rows, rows.count);
    }
    for (size_t i = 0; i < check->source_count; i++) {
        print_unread(&check->sources[i]);
    }
    for (size_t i = 0; i < check->source_count; i++) {
        print_outside(&check->sources[i]);
    }
    for (unsigned lack = CPTI_LACKS_ID; lack <= CPTI_LACKS_CALLS; lack *= 2) {
        print_lack(check, lack);
    }
    for (size_t i = 0; i < check->source_count; i++) {
        print_advice(check, i);
    }
    print_zones(check);
    if (printed->class_count > 0) {
        const struct cpti_event_class *class = &printed->classes[0];

        (cpti_event_class_method(class) == CPTI_EVENT_BY_POINTS
             ? print_point_gaps
             : print_call_gaps)(check, class);
    }
    if (check->request_count > 0) {
        (void)printf("\nnext: their critical paths, and what they say on average\n"
                     "  cpt import --events%s FILE... -o paths.cptlog\n"
                     "  cpt report paths.cptlog\n",
                     check->input.sources != NULL ? " --sources SOURCES" : "");
    }
}

/* --- JSON --- */

static void put_advice(const struct cpti_check_source *source, struct cpti_json *json)
{
    const unsigned lacks = cpti_check_lacks(source);
    const struct cpti_advice *advice = advice_of(source);

    for (unsigned lack = CPTI_LACKS_ID; lack <= CPTI_LACKS_CALLS; lack *= 2) {
        if ((lacks & lack) != 0) {
            const bool helps = advice != NULL && (advice->lacks & lack) != 0;

            cpti_json_open(json, NULL, '{');
            cpti_json_text(json, "source", source->name);
            cpti_json_text(json, "lacks", cpti_lack_text(lack));
            cpti_json_text(json, "where", helps ? advice->where : NULL);
            cpti_json_text(json, "directive", helps ? advice->directive : NULL);
            cpti_json_close(json);
        }
    }
}

static void put(const void *context, struct cpti_json *json)
{
    const struct printed *printed = context;
    const struct cpti_check *check = &printed->check;
    const struct cpti_view view =
        cpti_view_beside(&printed->view, &cpti_check_classes_relation, NULL);
    const struct cpti_rows rows =
        CPTI_ROWS(printed->classes, printed->class_count, check);

    cpti_json_unsigned(json, "requests", check->request_count);
    cpti_json_unsigned(json, "with_all_sources", check->with_all);
    cpti_json_open(json, "lacks", '[');
    for (size_t i = 0; i < check->source_count; i++) {
        put_advice(&check->sources[i], json);
    }
    cpti_json_close(json);
    cpti_json_open(json, "unread", '[');
    for (size_t i = 0; i < check->source_count; i++) {
        if (check->sources[i].unread_line > 0) {
            cpti_json_open(json, NULL, '{');
            cpti_json_text(json, "file", check->sources[i].unread_file);
            cpti_json_unsigned(json, "line", check->sources[i].unread_line);
            cpti_json_text(json, "text", check->sources[i].unread_text);
            cpti_json_text(json, "why", check->sources[i].unread_why);
            cpti_json_close(json);
        }
    }
    cpti_json_close(json);
    cpti_relation_json(&view, &rows, rows.count, json);
}

/* --- The command --- */

static int print(struct printed *printed)
{
    struct cpti_check *check = &printed->check;
    const struct cpti_sheet sheet = {
        .view = &printed->view,
        .rows = CPTI_ROWS(check->sources, check->source_count, check),
        .context = printed,
        .foot = foot,
        .put = put};

    printed->classes = cpti_event_classes_sort(check->classes, &printed->class_count);
    cpti_relation_sort(&printed->view, check->sources, check->source_count,
                       sizeof *check->sources, check);
    return cpti_sheet_print(&sheet);
}

int cpti_events_check(const struct cpti_arguments *arguments)
{
    static struct printed printed; /* large */
    int status =
        cpti_view_read(arguments, &cpti_check_sources_relation, NULL, &printed.view);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_check_read(&printed.check, arguments);
    if (printed.check.source_count > 0 && printed.check.classes != NULL) {
        status = cpti_exit_last(status, print(&printed));
        if (printed.check.traces != NULL) {
            cpti_event_input_tell_clocks(
                &printed.check.input, cpti_event_traces_clocks(printed.check.traces));
        }
    } else if (status == CPTI_EXIT_DONE) {
        status = cpti_failed("there is no event in the files");
    }
    cpti_check_end(&printed.check);
    return status;
}
