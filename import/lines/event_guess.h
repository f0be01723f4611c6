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
