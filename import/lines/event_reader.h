/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_reader.h - lines of one source, each taken apart into its events
 *
 *      line --> event_outer --> regex, JSON or logfmt --> fields --> event_shape
 *
 * Where a source names the events that begin and end a unit, the end becomes an
 * interval from its begin on: in one file, while at most 16,384 units are open.
 *
 * Threads: one at a time, for all readers of a source together.
 */
#ifndef CPTI_EVENT_READER_H
#define CPTI_EVENT_READER_H

#include "import/events/event.h"
#include "import/lines/sources.h"

struct cpti_event_reader;

/* Reads lines of @source, which outlives it; @service, which is copied, is that of
 * lines that do not say it. NULL without memory. The caller owns it. */
struct cpti_event_reader *cpti_event_reader_new(const struct cpt_alloc *alloc,
                                                struct cpti_line_source *source,
                                                struct cpt_bytes service);
void cpti_event_reader_free(struct cpti_event_reader *reader);

/*
 * Takes @line apart; its events follow from cpti_event_reader_next().
 *
 * CPT_OK; CPT_WAITING: it is a part of a line; CPT_CORRUPT: it is of no form that the
 * source has; CPT_LIMIT: an expression gave up on it; CPT_INVALID: its time cannot be
 * read; CPT_NO_MEMORY.
 */
cpt_status cpti_event_reader_line(struct cpti_event_reader *reader,
                                  struct cpt_bytes line);

/* The next event of the line, without its row, borrowed until the next line; NULL:
 * there is no more. */
const struct cpti_event *cpti_event_reader_next(struct cpti_event_reader *reader);

/* Whether the last line told its time itself, not the one around it. */
bool cpti_event_reader_has_time(const struct cpti_event_reader *reader);

#endif
