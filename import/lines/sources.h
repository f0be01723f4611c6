/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sources.h - which lines there are, and where in them time, id and name stand
 *
 *      source web  = format nginx;  service shop-web;  files /var/log/nginx/cpt.log*
 *      source shop = json;  id trace_id;  time time ms;  event msg;  unit span_id
 *      source pay  = regex ^(?<time>\S+) (?<event>\S+) id=(?<id>\w+);  outer cri
 *
 * One source a line, clauses separated by ';', each once, `regex` several times: the
 * first one that fits a line reads it. docs/events.md lists the clauses. A built-in
 * format is such a text, too (event_formats.h), which the clauses behind it change.
 *
 * Threads: a source is not changed by reading, but for its expressions (event_regex.h).
 */
#ifndef CPTI_SOURCES_H
#define CPTI_SOURCES_H

#include "import/lines/event_fields.h"
#include "import/lines/event_regex.h"
#include "import/lines/event_times.h"

enum {
    CPTI_SOURCES_MAX = 64,
    CPTI_SOURCES_BYTES_MAX = 1 << 20, /* of the file, and of each file of lnav */
    CPTI_SOURCE_REGEXES_MAX = 16,
    CPTI_SOURCE_GROUPS_MAX = 64,
    CPTI_SOURCE_MEMBERS_MAX = 64,
    CPTI_MEMBER_SLOTS = 256
};

/* How a line is taken apart. */
enum cpti_source_way {
    CPTI_WAY_NONE = 0,
    CPTI_WAY_REGEX,
    CPTI_WAY_JSON,
    CPTI_WAY_LOGFMT
};

/* Whose line is around the program's own. */
enum cpti_outer {
    CPTI_OUTER_NONE = 0,
    CPTI_OUTER_CRI,
    CPTI_OUTER_DOCKER,
    CPTI_OUTER_JOURNAL
};

/* An expression, and the field and its rank that each of its named groups gives. */
struct cpti_source_regex {
    struct cpti_regex *regex;
    size_t group_count;
    unsigned char fields[CPTI_SOURCE_GROUPS_MAX]; /* CPTI_FIELDS: none */
    unsigned char ranks[CPTI_SOURCE_GROUPS_MAX];
};

/* A member "a.b", or a group, that gives a field; of several that a line has, the one
 * with the lowest rank. */
struct cpti_member {
    struct cpt_bytes path;
    unsigned char field; /* enum cpti_event_field */
    unsigned char rank;
    unsigned char next; /* number of the next one of its list, from 1; 0: none */
};

/* Where the list of the members with the path @path begins. */
static inline size_t cpti_member_slot(struct cpt_bytes path)
{
    const size_t last = path.bytes > 0 ? (unsigned char)path.data[path.bytes - 1] : 0;
    const size_t first = path.bytes > 0 ? (unsigned char)path.data[0] : 0;

    return (path.bytes * 37 + first * 11 + last) % CPTI_MEMBER_SLOTS;
}

struct cpti_line_source {
    struct cpt_bytes name;
    struct cpt_bytes format; /* the built-in one that it began with; or empty */
    struct cpt_bytes files;  /* a pattern; empty: any */
    enum cpti_source_way way;
    enum cpti_outer outer;
    struct cpti_source_regex regexes[CPTI_SOURCE_REGEXES_MAX];
    size_t regex_count;
    struct cpti_member members[CPTI_SOURCE_MEMBERS_MAX];
    size_t member_count;
    bool has_members_alone; /* groups with the names of fields give nothing */
    /* Numbers of the first members of lists, from 1; 0: empty */
    unsigned char member_slots[CPTI_MEMBER_SLOTS];
    struct cpt_bytes constants[CPTI_FIELDS]; /* of lines that do not say it */
    struct cpti_time_format time;            /* of TIME, BEGIN and END */
    struct cpti_time_format begin;
    struct cpti_time_format end;
    int64_t duration_ns; /* the unit of DURATION, and of UPSTREAM */
    int64_t upstream_ns;
    int32_t zone_s;
    struct cpt_bytes begin_event; /* the names of lines that begin and end a unit */
    struct cpt_bytes end_event;
};

/* Reads the file that a clause `lnav FILE` names. CPT_OK: the @bytes at *text are the
 * caller's, from the allocator of the sources, at most CPTI_SOURCES_BYTES_MAX; else the
 * reason is in @error. */
typedef cpt_status (*cpti_sources_open_fn)(void *context, struct cpt_bytes file,
                                           char **text, size_t *bytes,
                                           struct cpt_error *error);

struct cpti_sources_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    cpti_sources_open_fn open;     /* NULL: `lnav` is refused */
    void *context;
};

struct cpti_sources;

/* Reads the sources of @text. CPT_OK: the caller owns *@sources; CPT_INVALID with line
 * and column in the sentence, and the byte in error->offset; CPT_LIMIT;
 * CPT_NO_MEMORY. */
cpt_status cpti_sources_read(const struct cpti_sources_options *options,
                             struct cpt_bytes text, struct cpti_sources **sources,
                             struct cpt_error *error);
void cpti_sources_free(struct cpti_sources *sources);

size_t cpti_sources_count(const struct cpti_sources *sources);
struct cpti_line_source *cpti_sources_at(struct cpti_sources *sources, size_t number);

/* What of lnav's files was not understood, a sentence each, joined by "; "; or "". */
const char *cpti_sources_notes(const struct cpti_sources *sources);

/* The first source whose `files` fit the file @name, or that has none; NULL: there is
 * no such source. A pattern with more folders than @name is compared by its end. */
struct cpti_line_source *cpti_sources_find(struct cpti_sources *sources,
                                           const char *name);

#endif
