/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_outer.c - a line out of that of a container; see event_outer.h */
#include "import/lines/event_outer.h"

#include "import/lines/event_lines.h"
#include "import/lines/event_members.h"
#include "cpt/base/text.h"

cpt_status cpti_outer_init(struct cpti_outer_reader *reader,
                           const struct cpt_alloc *alloc, enum cpti_outer outer)
{
    const struct cpti_sources_options options = {.alloc = alloc};
    const char *text =
        outer == CPTI_OUTER_DOCKER
            ? "source docker = json; text log; time time; level stream"
            : "source journal = json; text MESSAGE; host _HOSTNAME; time "
              "__REALTIME_TIMESTAMP us; service SYSLOG_IDENTIFIER";

    *reader = (struct cpti_outer_reader){.alloc = alloc, .outer = outer};
    return outer == CPTI_OUTER_DOCKER || outer == CPTI_OUTER_JOURNAL
               ? cpti_sources_read(&options, cpt_bytes_of(text), &reader->members, NULL)
               : CPT_OK;
}

void cpti_outer_deinit(struct cpti_outer_reader *reader)
{
    cpti_sources_free(reader->members);
    cpt_alloc_free(reader->alloc, reader->parts[0]);
    cpt_alloc_free(reader->alloc, reader->parts[1]);
}

/* Adds @part to the line of stream @which; what is above the limit is dropped. */
static cpt_status add_part(struct cpti_outer_reader *reader, int which,
                           struct cpt_bytes part)
{
    const size_t left = CPTI_EVENT_LINE_MAX - reader->bytes[which];
    void *grown = reader->parts[which];
    cpt_status status = CPT_OK;

    part.bytes = part.bytes < left ? part.bytes : left;
    if (part.bytes == 0) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(reader->alloc, &grown, &reader->capacities[which],
                            reader->bytes[which] + part.bytes, CPTI_EVENT_LINE_MAX, 1);
    if (status != CPT_OK) {
        return status;
    }
    reader->parts[which] = grown;
    memcpy(reader->parts[which] + reader->bytes[which], part.data, part.bytes);
    reader->bytes[which] += part.bytes;
    return CPT_OK;
}

/* Joins the parts of a line, of which wrapped->line is the last one if @is_last. */
static cpt_status join(struct cpti_outer_reader *reader, int which, bool is_last,
                       struct cpti_wrapped *wrapped)
{
    cpt_status status = CPT_OK;

    if (is_last && !reader->is_open[which]) {
        return CPT_OK;
    }
    status = add_part(reader, which, wrapped->line);
    if (status != CPT_OK) {
        return status;
    }
    reader->is_open[which] = !is_last;
    if (!is_last) {
        return CPT_WAITING;
    }
    wrapped->line = (struct cpt_bytes){reader->parts[which], reader->bytes[which]};
    reader->bytes[which] = 0;
    return CPT_OK;
}

static void set_stamp(struct cpt_bytes text, struct cpti_wrapped *wrapped)
{
    static const struct cpti_time_format any = {.way = CPTI_TIME_AUTO};
    struct cpti_time time;

    wrapped->has_outer = cpti_time_read(&any, 0, text, &time);
    wrapped->outer_ns = wrapped->has_outer ? time.ns : 0;
}

static cpt_status read_cri(struct cpti_outer_reader *reader, struct cpt_bytes line,
                           struct cpti_wrapped *wrapped)
{
    const struct cpt_bytes stamp = cpti_text_take(&line, ' ');
    const struct cpt_bytes stream = cpti_text_take(&line, ' ');
    const struct cpt_bytes flag = cpti_text_take(&line, ' ');
    const bool is_error = cpti_text_is(stream, "stderr");

    set_stamp(stamp, wrapped);
    if (!wrapped->has_outer || (!is_error && !cpti_text_is(stream, "stdout")) ||
        flag.bytes == 0 || (flag.data[0] != 'F' && flag.data[0] != 'P')) {
        return CPT_CORRUPT;
    }
    wrapped->line = line;
    return join(reader, is_error, flag.data[0] == 'F', wrapped);
}

cpt_status cpti_outer_read(struct cpti_outer_reader *reader, struct cpt_bytes line,
                           char *room, struct cpti_wrapped *wrapped)
{
    struct cpti_fields fields = {0};
    struct cpt_bytes text;
    bool is_last = true;

    *wrapped = (struct cpti_wrapped){.line = line};
    if (reader->outer == CPTI_OUTER_NONE) {
        return CPT_OK;
    }
    if (reader->outer == CPTI_OUTER_CRI) {
        return read_cri(reader, line, wrapped);
    }
    if (!cpti_members_json(cpti_sources_at(reader->members, 0), line, room, &fields)) {
        return CPT_CORRUPT;
    }
    text = fields.of[CPTI_FIELD_TEXT];
    set_stamp(fields.of[CPTI_FIELD_TIME], wrapped);
    wrapped->host = fields.of[CPTI_FIELD_HOST];
    wrapped->service = fields.of[CPTI_FIELD_SERVICE];
    if (text.bytes == 0 || !wrapped->has_outer) {
        return CPT_CORRUPT;
    }
    if (reader->outer == CPTI_OUTER_DOCKER) {
        is_last = text.data[text.bytes - 1] == '\n';
        text.bytes -= is_last;
    }
    wrapped->line = text;
    return join(reader, cpti_text_is(fields.of[CPTI_FIELD_LEVEL], "stderr"), is_last,
                wrapped);
}
