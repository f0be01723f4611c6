/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_guess.c - which built-in format a file has; see event_guess.h */
#include "import/lines/event_guess.h"

#include "import/lines/event_formats.h"
#include "import/lines/event_reader.h"
#include "cpt/base/text.h"

#include <stdio.h>

enum { LINES_MAX = 64, CLAUSES_BYTES = 256, STEM_BYTES_MAX = 64 };
_Static_assert((int)CPTI_SERVICE_BYTES > (int)STEM_BYTES_MAX, "the room holds a stem");

/* Names of files that say nothing of the service. */
static const char *const plain[] = {"access", "error",  "cpt", "log",   "logs",
                                    "stdout", "stderr", "0",   "other", "stdin"};

/* How much of "shop-7c9f8d6b5-x2x4q_default_server-…", the log of a pod of Kubernetes,
 * is the name of what it runs: behind it are words of 8 to 10 and of 5 characters, none
 * of them a vowel, and an underscore. 0: it is no such name. */
static size_t without_pod(const char *stem)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    size_t at = strcspn(stem, "_");

    if (stem[at] == '\0') {
        return 0;
    }
    for (int part = 0; part < 2; part++) {
        size_t length = 0;

        while (length < at && strchr(letters, stem[at - length - 1]) != NULL) {
            length++;
        }
        if (length + 1 >= at || stem[at - length - 1] != '-' ||
            (part == 0 ? length != 5 : length < 8 || length > 10)) {
            return 0;
        }
        at -= length + 1;
    }
    return at;
}

/* The name of a source out of that of a file: "shop" of "/var/log/shop.log.1.gz". */
static const char *stem_of(const char *name, const char *otherwise,
                           char stem[STEM_BYTES_MAX + 1])
{
    const char *slash = strrchr(name, '/');
    size_t bytes = 0;

    name = slash != NULL ? slash + 1 : name;
    while (bytes < STEM_BYTES_MAX && name[bytes] != '\0' && name[bytes] != '.') {
        const char c = name[bytes];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_';

        stem[bytes++] = (char)(is_plain ? c : '-');
    }
    stem[bytes] = '\0';
    if (without_pod(stem) > 0) {
        stem[without_pod(stem)] = '\0';
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(stem, plain[i]) == 0) {
            return otherwise;
        }
    }
    return bytes > 0 && strcmp(stem, "-") != 0 ? stem : otherwise;
}

/* Whether files of @source may be of many services: "", "*.log". */
static bool has_many(const struct cpti_line_source *source)
{
    struct cpt_bytes files = source->files;
    size_t at = files.bytes;

    while (at > 0 && files.data[at - 1] != '/') {
        at--;
    }
    if (at > 0 && memchr(files.data, '*', at) != NULL) {
        return false; /* its folders tell services apart */
    }
    return files.bytes == at || files.data[at] == '*';
}

struct cpt_bytes cpti_event_service_of(const struct cpti_line_source *source,
                                       const char *name, char room[CPTI_SERVICE_BYTES])
{
    const char *stem = has_many(source) ? stem_of(name, "", room) : "";

    return stem[0] != '\0' ? cpt_bytes_of(stem) : source->name;
}

/* What is around the first line of @text. */
static const char *outer_of(struct cpt_bytes text)
{
    static const char docker[] = "{\"log\":\"";
    static const char journal[] = "\"__REALTIME_TIMESTAMP\":\"";
    static const char *const streams[] = {" stdout F ", " stderr F ", " stdout P ",
                                          " stderr P "};
    const struct cpt_bytes line = cpti_text_take(&text, '\n');

    if (line.bytes > sizeof docker &&
        memcmp(line.data, docker, sizeof docker - 1) == 0) {
        return "docker";
    }
    if (line.bytes > 0 &&
        memmem(line.data, line.bytes, journal, sizeof journal - 1) != NULL) {
        return "journal";
    }
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        const char *found = line.bytes > 0 ? memmem(line.data, line.bytes, streams[i],
                                                    strlen(streams[i]))
                                           : NULL;

        if (found != NULL && found - line.data >= 19 && found - line.data <= 35) {
            return "cri";
        }
    }
    return NULL;
}

/* How well @reader reads the lines: a point for each that has a time, one more for an
 * id, and one for a unit or a length. *@count: of lines. */
static cpt_status score(struct cpti_event_reader *reader, struct cpt_bytes text,
                        unsigned *points, unsigned *read_count, unsigned *count)
{
    *points = 0;
    *read_count = 0;
    for (*count = 0; text.bytes > 0 && *count < LINES_MAX; ++*count) {
        const struct cpt_bytes line =
            cpti_text_trim(cpti_text_take(&text, '\n'), cpti_is_blank_of_file);
        const cpt_status status = cpti_event_reader_line(reader, line);
        const struct cpti_event *event = cpti_event_reader_next(reader);

        if (status == CPT_NO_MEMORY) {
            return status;
        }
        *read_count += status == CPT_OK || status == CPT_WAITING;
        if (event != NULL) {
            *points += 1U + cpti_event_reader_has_time(reader) + (event->id.bytes > 0) +
                       (event->unit.bytes > 0 || event->is_interval);
        }
    }
    return CPT_OK;
}

/* Makes a source of @format for the file. */
static cpt_status source_of(const struct cpt_alloc *alloc,
                            const struct cpti_format *format, const char *outer,
                            const char *name, struct cpti_sources **sources)
{
    const struct cpti_sources_options options = {.alloc = alloc};
    char clauses[CLAUSES_BYTES];
    char stem[STEM_BYTES_MAX + 1];

    (void)snprintf(clauses, sizeof clauses, "source %s = format %s%s%s",
                   stem_of(name, format->name, stem), format->name,
                   outer != NULL ? "; outer " : "", outer != NULL ? outer : "");
    return cpti_sources_read(&options, cpt_bytes_of(clauses), sources, NULL);
}

/* Whether the folder or the file is called after the format: apache2/access.log. */
static bool says_format(const char *name, struct cpt_bytes format)
{
    return memmem(name, strlen(name), format.data, format.bytes) != NULL;
}

/* The source that reads the lines best so far. */
struct best {
    struct cpti_sources *sources; /* NULL: none does */
    unsigned points;
};

/* Tries the source; takes it as the best one if it is better than what is there. */
static cpt_status try_format(const struct cpt_alloc *alloc, struct cpt_bytes text,
                             struct cpti_sources *sources, const char *name,
                             struct best *best)
{
    struct cpti_event_reader *reader =
        cpti_event_reader_new(alloc, cpti_sources_at(sources, 0), cpt_bytes_of("file"));
    unsigned points = 0;
    unsigned read_count = 0;
    unsigned count = 0;
    cpt_status status = CPT_NO_MEMORY;

    if (reader != NULL) {
        status = score(reader, text, &points, &read_count, &count);
    }
    cpti_event_reader_free(reader);
    points += points > 0 && says_format(name, cpti_sources_at(sources, 0)->format);
    if (status == CPT_OK && points > best->points && 2 * read_count >= count) {
        cpti_sources_free(best->sources);
        *best = (struct best){sources, points};
    } else {
        cpti_sources_free(sources);
    }
    return status;
}

/* Tries all formats within @outer, or NULL. */
static cpt_status try_all(const struct cpt_alloc *alloc, struct cpt_bytes text,
                          const char *name, const char *outer, struct best *best)
{
    cpt_status status = CPT_OK;

    for (const struct cpti_format *format = cpti_formats;
         format->name != NULL && status == CPT_OK; format++) {
        struct cpti_sources *tried = NULL;

        status = source_of(alloc, format, outer, name, &tried);
        if (status == CPT_OK) {
            status = try_format(alloc, text, tried, name, best);
        }
    }
    return status;
}

cpt_status cpti_event_guess(const struct cpt_alloc *alloc, struct cpt_bytes text,
                            const char *name, struct cpti_sources **sources)
{
    const char *outer = outer_of(text);
    const bool is_journal = outer != NULL && strcmp(outer, "journal") == 0;
    struct best best = {NULL, 0};
    cpt_status status = CPT_OK;

    if (is_journal) { /* it is a format itself, too, and may be all that there is */
        status = try_all(alloc, text, name, NULL, &best);
    }
    if (status == CPT_OK) {
        status = try_all(alloc, text, name, outer, &best);
    }
    if (status != CPT_OK) {
        cpti_sources_free(best.sources);
        return status;
    }
    *sources = best.sources;
    return best.sources != NULL ? CPT_OK : CPT_INVALID;
}
