/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * entry_members.h - the members of a line of an entry
 *
 * Threads: any.
 */
#ifndef CPTI_ENTRY_MEMBERS_H
#define CPTI_ENTRY_MEMBERS_H

#include "import/bytes/json.h"
#include "import/lines/entry_lines.h"

/* Reads the members of @root into @line, whose `number` and `probability` are set, and
 * counts what it leaves out. CPT_OK, also without a path; CPT_INVALID, with the reason
 * in @error. */
cpt_status cpti_entry_members_read(struct cpti_doc_value root,
                                   struct cpti_entry_line *line,
                                   struct cpti_entry_lines_counts *counts,
                                   struct cpt_error *error);

#endif
