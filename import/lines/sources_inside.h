/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sources_inside.h - what the sources are made of, for the files that read them */
#ifndef CPTI_SOURCES_INSIDE_H
#define CPTI_SOURCES_INSIDE_H

#include "import/lines/sources.h"

#include "cpt/cpt_arena.h"

enum { CPTI_NOTES_BYTES = 1024 };

struct cpti_sources {
    const struct cpt_alloc *alloc;
    struct cpt_arena arena; /* the texts that the sources borrow */
    struct cpti_line_source *items[CPTI_SOURCES_MAX];
    size_t count;
    char notes[CPTI_NOTES_BYTES];
};

/* Adds a member that gives @field to @source. false: there are too many. */
bool cpti_source_member(struct cpti_line_source *source, struct cpt_bytes path,
                        enum cpti_event_field field, unsigned rank);

/* Adds an expression. CPT_OK; CPT_INVALID with the place in @text; CPT_LIMIT;
 * CPT_NO_MEMORY. */
cpt_status cpti_source_regex(const struct cpt_alloc *alloc,
                             struct cpti_line_source *source, struct cpt_bytes text,
                             struct cpt_error *error);

/* Reads the clauses of @text, which outlives the source, into @source. @error has the
 * place in @text. */
cpt_status cpti_source_clauses(struct cpti_sources *sources,
                               const struct cpti_sources_options *options,
                               struct cpti_line_source *source, struct cpt_bytes text,
                               struct cpt_error *error);

/* Reads a file of formats of lnav into @source. CPT_INVALID and CPT_CORRUPT with the
 * reason; what is not understood is in the notes. */
cpt_status cpti_source_lnav(struct cpti_sources *sources,
                            struct cpti_line_source *source, struct cpt_bytes text,
                            struct cpt_error *error);

/* Adds a sentence to the notes. */
void cpti_sources_note(struct cpti_sources *sources, const char *format, ...)
    CPT_PRINTF(2, 3);

#endif
