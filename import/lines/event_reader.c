/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_reader.c - lines of one source; see event_reader.h */
#include "import/lines/event_reader.h"

#include "import/lines/event_members.h"
#include "import/lines/event_shape.h"

#include <string.h>

enum { OPEN_MAX = 1 << 14 }; /* units whose end is awaited */

/* A unit that has begun; of two with one place the later one. */
struct open_unit {
    uint64_t key; /* of id and unit; 0: none */
    int64_t begin_ns;
};

struct cpti_event_reader {
    const struct cpt_alloc *alloc;
    struct cpti_line_source *source;
    struct cpti_outer_reader outer;
    struct cpti_shape shape;
    size_t next; /* event of the line */
    char *
        room; /* for strings without their escapes: of the outer line, and of its own */
    size_t room_bytes;
    size_t last_regex;      /* that fitted; tried first */
    struct open_unit *open; /* OPEN_MAX, if lines tell begin and end; or NULL */
    char service[CPT_NAME_BYTES_MAX + 1];
};

struct cpti_event_reader *cpti_event_reader_new(const struct cpt_alloc *alloc,
                                                struct cpti_line_source *source,
                                                struct cpt_bytes service)
{
    struct cpti_event_reader *reader = NULL;

    alloc = alloc != NULL ? alloc : cpt_alloc_default();
    reader = cpt_alloc_zeroed(alloc, sizeof *reader);
    if (reader == NULL) {
        return NULL;
    }
    reader->alloc = alloc;
    reader->source = source;
    service.bytes =
        service.bytes < CPT_NAME_BYTES_MAX ? service.bytes : CPT_NAME_BYTES_MAX;
    memcpy(reader->service, service.data, service.bytes);
    if (source->begin_event.bytes > 0) {
        reader->open = cpt_alloc_zeroed(alloc, OPEN_MAX * sizeof *reader->open);
    }
    if (cpti_outer_init(&reader->outer, alloc, source->outer) != CPT_OK ||
        (source->begin_event.bytes > 0) != (reader->open != NULL)) {
        cpti_event_reader_free(reader);
        return NULL;
    }
    cpti_shape_init(&reader->shape, source,
                    (struct cpt_bytes){reader->service, service.bytes});
    return reader;
}

void cpti_event_reader_free(struct cpti_event_reader *reader)
{
    if (reader != NULL) {
        cpti_outer_deinit(&reader->outer);
        cpt_alloc_free(reader->alloc, reader->room);
        cpt_alloc_free(reader->alloc, reader->open);
        cpt_alloc_free(reader->alloc, reader);
    }
}

/* Makes room for the strings of a line of @bytes, twice: joined parts may be longer. */
static cpt_status make_room(struct cpti_event_reader *reader, size_t bytes)
{
    void *room = reader->room;
    cpt_status status = CPT_OK;

    if (reader->room_bytes >= bytes) {
        return CPT_OK;
    }
    status =
        cpt_alloc_grow(reader->alloc, &room, &reader->room_bytes, bytes, SIZE_MAX, 1);
    reader->room = room;
    return status;
}

static void take_groups(const struct cpti_source_regex *regex, struct cpt_bytes line,
                        struct cpti_fields *fields)
{
    for (size_t i = 0; i < regex->group_count; i++) {
        const unsigned char field = regex->fields[i];
        struct cpt_bytes found;

        if (field == CPTI_FIELDS) {
            continue;
        }
        found = cpti_regex_found(regex->regex, i, line);
        if (found.bytes > 0 &&
            (fields->of[field].bytes == 0 || regex->ranks[i] < fields->ranks[field])) {
            fields->of[field] = found;
            fields->ranks[field] = regex->ranks[i];
        }
    }
}

/* Tries the expressions, the one that fitted last first. */
static cpt_status match(struct cpti_event_reader *reader, struct cpt_bytes line,
                        struct cpti_fields *fields)
{
    const struct cpti_line_source *source = reader->source;
    cpt_status status = CPT_END;

    for (size_t i = 0; i <= source->regex_count && status != CPT_OK; i++) {
        const size_t which = i == 0 ? reader->last_regex : i - 1;
        const struct cpti_source_regex *regex = &source->regexes[which];
        const cpt_status tried = i > 0 && which == reader->last_regex
                                     ? CPT_END
                                     : cpti_regex_match(regex->regex, line);

        if (tried == CPT_OK) {
            reader->last_regex = which;
            take_groups(regex, line, fields);
        }
        status = tried != CPT_END ? tried : status;
    }
    return status == CPT_END ? CPT_CORRUPT : status;
}

/* Finds the fields of the program's own line. */
static cpt_status take_apart(struct cpti_event_reader *reader, struct cpt_bytes line,
                             char *room, struct cpti_fields *fields)
{
    const struct cpti_line_source *source = reader->source;
    bool is_read = false;

    switch (source->way) {
    case CPTI_WAY_REGEX:
        return match(reader, line, fields);
    case CPTI_WAY_JSON:
        is_read = cpti_members_json(source, line, room, fields);
        break;
    case CPTI_WAY_LOGFMT:
        is_read = cpti_members_logfmt(source, line, room, fields);
        break;
    default:
        break;
    }
    return is_read ? CPT_OK : CPT_CORRUPT;
}

/* Makes the end of a unit its interval, if its begin came before. */
static void pair(struct cpti_event_reader *reader)
{
    const struct cpti_line_source *source = reader->source;
    struct cpti_event *event = &reader->shape.events[0];
    const uint64_t seed = (uint64_t)(uintptr_t)reader;
    const uint64_t key =
        cpt_hash_bytes(cpt_hash_bytes(seed, event->id.data, event->id.bytes) | 1,
                       event->unit.data, event->unit.bytes);
    struct open_unit *unit = &reader->open[key % OPEN_MAX];

    if (cpt_bytes_equal(event->name, source->begin_event)) {
        *unit = (struct open_unit){key, event->begin_ns};
    } else if (cpt_bytes_equal(event->name, source->end_event) && unit->key == key &&
               unit->begin_ns <= event->begin_ns) {
        event->begin_ns = unit->begin_ns;
        event->is_interval = true;
        event->name = source->begin_event;
        event->role = cpti_shape_role(source->constants[CPTI_FIELD_ROLE]);
        unit->key = 0;
    }
}

cpt_status cpti_event_reader_line(struct cpti_event_reader *reader,
                                  struct cpt_bytes line)
{
    struct cpti_fields fields = {0};
    struct cpti_wrapped wrapped;
    const size_t outer_bytes = line.bytes;
    cpt_status status = CPT_OK;

    reader->next = 0;
    reader->shape.event_count = 0;
    if (reader->source->way != CPTI_WAY_REGEX ||
        reader->source->outer != CPTI_OUTER_NONE) {
        status = make_room(reader, 2 * line.bytes + reader->outer.bytes[0] +
                                       reader->outer.bytes[1]);
    }
    if (status == CPT_OK) {
        status = cpti_outer_read(&reader->outer, line, reader->room, &wrapped);
    }
    if (status != CPT_OK || wrapped.line.bytes == 0) {
        return status == CPT_OK ? CPT_CORRUPT : status;
    }
    status =
        take_apart(reader, wrapped.line,
                   reader->room != NULL ? reader->room + outer_bytes : NULL, &fields);
    if (status != CPT_OK) {
        return status;
    }
    if (!cpti_shape_line(&reader->shape, &fields, &wrapped)) {
        return CPT_INVALID;
    }
    if (reader->open != NULL && !reader->shape.events[0].is_interval) {
        pair(reader);
    }
    return CPT_OK;
}

const struct cpti_event *cpti_event_reader_next(struct cpti_event_reader *reader)
{
    return reader->next < reader->shape.event_count
               ? &reader->shape.events[reader->next++]
               : NULL;
}

bool cpti_event_reader_has_time(const struct cpti_event_reader *reader)
{
    return reader->shape.has_own_time;
}
