/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_members.h - fields out of lines of JSON and of key=value
 *
 *      {"time":1674982122425,"msg":"hello","req":{"id":"7f3a"}}    members time, req.id
 *      ts=2023-01-29T08:48:42.425Z level=info msg="hello" id=7f3a     members ts, id
 *
 * Only the members that a source names are looked at; what lies between is passed by
 * its quotes and brackets. Not through json.h: its numbers are doubles, which drop how
 * many digits a stamp has, and with them its resolution.
 *
 * Threads: any.
 */
#ifndef CPTI_EVENT_MEMBERS_H
#define CPTI_EVENT_MEMBERS_H

#include "import/lines/sources.h"

/* Reads @line to @fields, which are empty. Strings with escapes go to @room, which is
 * as large as the line. false: it is no object of JSON, or nests deeper than 8 where a
 * member may be. */
bool cpti_members_json(const struct cpti_line_source *source, struct cpt_bytes line,
                       char *room, struct cpti_fields *fields);

/* The same of key=value. false: the line has no such pair. */
bool cpti_members_logfmt(const struct cpti_line_source *source, struct cpt_bytes line,
                         char *room, struct cpti_fields *fields);

#endif
