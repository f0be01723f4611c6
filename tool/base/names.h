/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * names.h - names as people type them: nearly right, and without ‹ ›
 *
 *      agregate    -> aggregate       a typing mistake
 *      A2, a: a2   -> A: A2           without its service, or in other letters
 *      <timeout>   -> ‹timeout›       no keyboard has ‹ ›
 *      a\x3bb      -> a;b             as tables and messages show it
 *      8448eb21…   -> 0af7651916cd43dd8448eb21…  the last 16 digits of a trace's id
 */
#ifndef CPTI_CLI_NAMES_H
#define CPTI_CLI_NAMES_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>

/* The attribute of a record that is a fragment: of a trace whose root was lost. Its
 * value says how. */
#define CPTI_FRAGMENT_ATTRIBUTE "cpt.fragment"

/* Of how it is known who waited in a request, cpt_evidence_word(). Without it that was
 * recorded, or, if the path is approximate, inferred. */
#define CPTI_EVIDENCE_ATTRIBUTE "cpt.evidence"

/* Of what a record was made, if its request was not traced: "events" are lines of event
 * logs. Of such a record, how its spans were found, cpti_event_method_word(), and the
 * id of its request, if that is no trace id. */
#define CPTI_SOURCE_ATTRIBUTE     "cpt.source"
#define CPTI_SOURCE_EVENTS        "events"
#define CPTI_EVENTS_ATTRIBUTE     "cpt.events"
#define CPTI_REQUEST_ID_ATTRIBUTE "request.id"

/* The format of the count of a tree's requests with such a word; "recorded" has none:
 * it has the rest. */
#define CPTI_EVIDENCE_COUNT "evidence_%s"

/* -1, 0 or 1: the order of @left and @right, byte by byte. */
int cpti_compare_bytes(struct cpt_bytes left, struct cpt_bytes right);

/* A set of names, of which the first ones stay. Zero at first. */
enum { CPTI_NAMES_MAX = 2048 };

struct cpti_names {
    char **all;
    size_t count;
    size_t capacity;
    bool is_cut; /* there were more */
};

void cpti_names_deinit(struct cpti_names *names);

/* Adds @name unless it is there. Without memory, or beyond the limit, it is left
 * out. */
void cpti_names_add(struct cpti_names *names, const char *name);

bool cpti_names_have(const struct cpti_names *names, const char *name);

/* The word among the @count @words that is most similar to @given, or NULL if none is
 * similar enough. */
const char *cpti_nearest_word(const char *given, const char *const *words,
                              size_t count);

/* The same for the name of a frame, service or value: in other letters, without its
 * service, with a typing mistake, or a part of one name alone. */
const char *cpti_nearest_name(const char *given, const struct cpti_names *names);

/* @name without its service, if the frame @above it has the same; otherwise @name. */
const char *cpti_name_below(const char *name, const char *above);

/* Writes @stack to @text, each frame without its service where the one above has the
 * same: "A: /;A: A1;B: B1" becomes "A: /;A1;B: B1". */
void cpti_stack_short(const char *stack, char *text, size_t capacity);

/* Writes @typed to @text with the marks of our own kinds: "B: <blind spot>" becomes
 * "B: ‹blind spot›". All else stays, also <b>. Returns the bytes that it has; at most
 * @capacity are written, without a NUL. */
size_t cpti_name_typed(struct cpt_bytes typed, char *text, size_t capacity);

/*
 * The name that is shown as @shown ("a\x3bb"), with escapes: written to @text, at most
 * @capacity bytes, without a NUL. Returns its bytes; 0 if @shown has no escapes, or if
 * no name is shown so: it is a name as it stands.
 */
size_t cpti_name_shown(struct cpt_bytes shown, char *text, size_t capacity);

/* Whether @typed can be the id of a trace: 32 hexadecimal digits, or the last 16. */
bool cpti_is_trace(const char *typed);

/* Whether @typed is the trace @id: it is that text, or the last 16 of its 32
 * hexadecimal digits, in any letters; an @id of 16 digits has zeros before. */
bool cpti_trace_is(struct cpt_bytes id, const char *typed);

#endif
