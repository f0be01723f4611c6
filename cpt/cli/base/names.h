/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * names.h - names as people type them: nearly right, and without ‹ ›
 *
 *      agregate    -> aggregate       a typing mistake
 *      A2, a: a2   -> A: A2           without its service, or in other letters
 *      <timeout>   -> ‹timeout›       no keyboard has ‹ ›
 */
#ifndef CPTI_CLI_NAMES_H
#define CPTI_CLI_NAMES_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
