/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_formats.h - the formats of programs that many systems have
 *
 * Each is a text in the language of sources.h. Threads: any; they are constant.
 */
#ifndef CPTI_EVENT_FORMATS_H
#define CPTI_EVENT_FORMATS_H

#include "cpt/cpt_name.h"

struct cpti_format {
    const char *name;
    const char *clauses;
};

/* The last one has no name. They are in the order in which a file is tried for them. */
extern const struct cpti_format cpti_formats[];

/* The format called @name, or NULL. */
const struct cpti_format *cpti_format_find(struct cpt_bytes name);

#endif
