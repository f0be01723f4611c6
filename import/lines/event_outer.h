/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_outer.h - the program's own line out of that of a container or of the journal
 *
 *      2023-01-29T08:48:42.425293566Z stdout F hello                        cri
 *      {"log":"hello\n","stream":"stdout","time":"2023-01-29T08:48:42.4Z"}   docker
 *      {"MESSAGE":"hello","__REALTIME_TIMESTAMP":"1674982122425293"}       journal
 *
 * A long line comes in parts, which are joined again, up to CPTI_EVENT_LINE_MAX. The
 * stamp around it is late by up to some ms, so it is not the time of the line.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_OUTER_H
#define CPTI_EVENT_OUTER_H

#include "import/lines/sources.h"

/* What was around a line. Bytes are borrowed until the next one. */
struct cpti_wrapped {
    struct cpt_bytes line;
    struct cpt_bytes host;
    struct cpt_bytes service;
    int64_t outer_ns;
    bool has_outer;
};

/* Parts of lines of stdout and stderr. */
struct cpti_outer_reader {
    const struct cpt_alloc *alloc;
    enum cpti_outer outer;
    struct cpti_sources *members; /* of docker and journal */
    char *parts[2];
    size_t bytes[2];
    size_t capacities[2];
    bool is_open[2];
};

/* CPT_OK; CPT_NO_MEMORY. End it in any case. */
cpt_status cpti_outer_init(struct cpti_outer_reader *reader,
                           const struct cpt_alloc *alloc, enum cpti_outer outer);
void cpti_outer_deinit(struct cpti_outer_reader *reader);

/* Takes @line out of what is around it. @room: as in event_members.h. CPT_OK;
 * CPT_WAITING: it is a part, and more is to come; CPT_CORRUPT: it is not so wrapped;
 * CPT_NO_MEMORY. */
cpt_status cpti_outer_read(struct cpti_outer_reader *reader, struct cpt_bytes line,
                           char *room, struct cpti_wrapped *wrapped);

#endif
