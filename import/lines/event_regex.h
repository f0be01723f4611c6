/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_regex.h - regular expressions with named groups, bounded in time and memory
 *
 * By PCRE2, compiled to machine code where it can be. An expression that tries too many
 * ways, or nests too deep, for a line gives up on it; the caller counts such lines.
 *
 * Threads: one at a time for a struct cpti_regex.
 */
#ifndef CPTI_EVENT_REGEX_H
#define CPTI_EVENT_REGEX_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

enum {
    CPTI_REGEX_BYTES_MAX = 8192, /* of an expression */
    CPTI_REGEX_MATCH_MAX = 100000,
    CPTI_REGEX_DEPTH_MAX = 1000
};

struct cpti_regex;

/* Compiles @text. CPT_OK: the caller owns *@regex; CPT_INVALID with the byte of the
 * text in error->offset, and the reason; CPT_NO_MEMORY. */
cpt_status cpti_regex_new(const struct cpt_alloc *alloc, struct cpt_bytes text,
                          struct cpti_regex **regex, struct cpt_error *error);
void cpti_regex_free(struct cpti_regex *regex);

/* Whether the expression is found in @text. CPT_OK; CPT_END: it is not; CPT_LIMIT: it
 * gave up. */
cpt_status cpti_regex_match(struct cpti_regex *regex, struct cpt_bytes text);

/* How many named groups there are, and the name of each; two may have one name. */
size_t cpti_regex_groups(const struct cpti_regex *regex);
struct cpt_bytes cpti_regex_name(const struct cpti_regex *regex, size_t group);

/* What group @group found in @text, which was matched last; empty: nothing. */
struct cpt_bytes cpti_regex_found(const struct cpti_regex *regex, size_t group,
                                  struct cpt_bytes text);

#endif
