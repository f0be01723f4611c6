/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_guess.h - which built-in format a file has that no source names
 *
 * Threads: any.
 */
#ifndef CPTI_EVENT_GUESS_H
#define CPTI_EVENT_GUESS_H

#include "import/lines/sources.h"

enum { CPTI_SERVICE_BYTES = 129 /* of the name of a file or a source, and a NUL */ };

/* The service of lines of @source in the file @name that name none: the source's name,
 * or, if its `files` may be of many services, that of the file, if it says one. That
 * is so without `files`, and if they are "*…", in whatever folder that is no pattern.
 * Borrowed from the source or @room. */
struct cpt_bytes cpti_event_service_of(const struct cpti_line_source *source,
                                       const char *name, char room[CPTI_SERVICE_BYTES]);

/*
 * The built-in format that reads most of the first lines of a file, @text, and finds
 * their time and id; of two the one that is listed first. The source is called after
 * the file @name, or after the format, if the name says nothing ("access.log").
 *
 * CPT_OK: the caller owns *@sources, with one source; CPT_INVALID: no format reads half
 * of the lines; CPT_NO_MEMORY.
 */
cpt_status cpti_event_guess(const struct cpt_alloc *alloc, struct cpt_bytes text,
                            const char *name, struct cpti_sources **sources);

#endif
