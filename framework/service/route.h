/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * route.h - what a method is added as: a verb and a path, both optional; see route.c
 *
 *      "/overlap"    "GET /users/{id}"    "PUT /files/{name...}"    "*"
 */
#ifndef CPT_ROUTE_H
#define CPT_ROUTE_H

#include "cpt/cpt_name.h"
#include "framework/cpt_rpc.h"

#include <stdbool.h>

enum { CPTI_ROUTE_SEGMENTS_MAX = 64, CPTI_ROUTE_ALLOW_BYTES = 256 };

enum cpti_route_kind {
    CPTI_ROUTE_LITERAL, /* the whole path */
    CPTI_ROUTE_PATTERN, /* with parameters */
    CPTI_ROUTE_ANY      /* "*" */
};

/* Borrows the name that it was parsed from. */
struct cpti_route {
    enum cpti_route_kind kind;
    struct cpt_bytes verb; /* empty: GET, HEAD, POST */
    struct cpt_bytes path;
    unsigned parameter_count;
};

/* What the parameters of a pattern are called, and what a path has in their places, not
 * decoded. */
struct cpti_route_match {
    struct cpt_field parameters[CPT_PARAMETERS_MAX];
    unsigned count;
};

/* Reads @name. CPT_OK; CPT_INVALID or CPT_LIMIT with the reason. */
cpt_status cpti_route_parse(struct cpti_route *route, const char *name,
                            struct cpt_error *error);

/* The order of looking: less than 0 if @left comes first, 0 if they take the same
 * requests. */
int cpti_route_compare(const struct cpti_route *left, const struct cpti_route *right);

/* The order of literal routes and a path. */
int cpti_route_compare_path(const struct cpti_route *route, struct cpt_bytes path);

/* Whether @path is one of @route, which is no literal; then @match is set. */
bool cpti_route_match(const struct cpti_route *route, struct cpt_bytes path,
                      struct cpti_route_match *match);

/* Whether @route takes @verb; empty: it is not known. */
bool cpti_route_takes(const struct cpti_route *route, struct cpt_bytes verb);

/* Adds the verbs of @route to @allow, "GET, HEAD", those that are not there. */
void cpti_route_allow(const struct cpti_route *route,
                      char allow[CPTI_ROUTE_ALLOW_BYTES]);

/* Adds @verb likewise. */
void cpti_route_allow_verb(struct cpt_bytes verb, char allow[CPTI_ROUTE_ALLOW_BYTES]);

/*
 * Decodes "%41b" to "Ab" at @to, which has at least @from.bytes, and, if
 * @plus_is_blank, '+' to ' '. The number of bytes; -1: it is malformed, or has a NUL.
 */
ptrdiff_t cpti_percent_decode(struct cpt_bytes from, bool plus_is_blank, char *to);

#endif
