/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_check.h - what lines of logs carry, by source, and what they lack
 *
 *      files --> lines --> events --> sources: ids, times, roles, services, hosts
 *                             '-----> requests: which of them have all sources
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EVENT_CHECK_H
#define CPTI_CLI_EVENT_CHECK_H

#include "tool/events/event_classes.h"
#include "tool/events/event_input.h"

enum { CPTI_CHECK_SOURCES_MAX = 64, CPTI_CHECK_TEXT_BYTES = 161 };

/* One source, of one or several files. */
struct cpti_check_source {
    char name[CPTI_CHECK_TEXT_BYTES];
    char format[CPTI_CHECK_TEXT_BYTES]; /* "csv"; empty: none that is built in */
    uint64_t files;
    uint64_t lines;
    uint64_t unread; /* of no form, with a NUL, without UTF-8 */
    uint64_t cut;
    uint64_t timeless;
    uint64_t events;
    uint64_t without_id;
    uint64_t intervals_without_id;
    uint64_t points;
    uint64_t points_outside; /* of requests with intervals: in none of them */
    uint64_t unknown;        /* intervals that say no role */
    uint64_t servers;
    uint64_t clients;
    uint64_t resolution_ns;
    uint64_t requests; /* that have a line of it */
    struct cpt_names *services;
    struct cpt_names *hosts;
    char unread_file[CPTI_CHECK_TEXT_BYTES]; /* where the first line of no form is */
    uint64_t unread_line;
    char unread_text[CPTI_CHECK_TEXT_BYTES];
    const char *unread_why; /* NULL: there is no more to say */
    uint64_t
        callers;    /* of requests, in which lines of others lie within its interval */
    double apart_s; /* of requests: its first line behind that of the first source */
    uint64_t apart_count;
    bool has_split_ms; /* CSV alone: its times are not all whole ms */
};

struct cpti_check {
    struct cpti_check_source sources[CPTI_CHECK_SOURCES_MAX];
    size_t source_count;
    unsigned char *inputs;             /* the source of each file */
    struct cpti_check_source *current; /* of the file that is read */
    struct cpti_event_input input;
    struct cpti_event_traces *traces;
    uint64_t request_count;
    uint64_t with_all; /* that have lines of all sources */
    struct cpti_event_classes *classes;
};

/* Reads the operands of @arguments. enum cpti_exit: CPTI_EXIT_FAILED also if a part of
 * a file could not be read. End it in any case. */
int cpti_check_read(struct cpti_check *check, const struct cpti_arguments *arguments);
void cpti_check_end(struct cpti_check *check);

/* How far the stamps of @source are behind those of the first one, in s, if that is a
 * difference of zones: over 10 minutes, on average; else 0. */
double cpti_check_zone_s(const struct cpti_check_source *source);

/* What its lines lack: bits of enum cpti_lack. */
unsigned cpti_check_lacks(const struct cpti_check_source *source);

#endif
