/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * views.h - the same requests by stack, by service, by name, by edge
 *
 * Stacks are in the tree that gather.h makes. What else is wanted is made beside it, of
 * the same requests, as two trees a view (aggregate/cpt_view.h):
 *
 *      a.cptlog --> cpti_gather --+--> tree of stacks
 *                                 '--> cpti_views_request --> trees of services …
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_VIEWS_H
#define CPTI_CLI_VIEWS_H

#include "cpt/cli/gather/gather.h"
#include "cpt/cli/base/json_write.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_view.h"

struct cpti_mix;

/* What a row is. The last ones are 1 + enum cpt_view_by. */
enum cpti_by {
    CPTI_BY_STACK = 0,
    CPTI_BY_SERVICE = 1 + CPT_VIEW_SERVICE,
    CPTI_BY_NAME = 1 + CPT_VIEW_NAME,
    CPTI_BY_EDGE = 1 + CPT_VIEW_EDGE,
    CPTI_BY_COUNT
};

/* "stack", "service" …, as --by takes them; and all of them, for an option's words. */
extern const char *const cpti_by_words[CPTI_BY_COUNT];
#define CPTI_BY_WORDS "stack service name edge"

/* What --by says; CPTI_BY_STACK if it was not given. */
enum cpti_by cpti_by_of(const struct cpti_arguments *arguments);

/* The views of one set of requests. */
struct cpti_views {
    struct cpt_view *views[CPTI_BY_COUNT]; /* NULL where not wanted */
    struct cpt_tree *self[CPTI_BY_COUNT];
    struct cpt_tree *inclusive[CPTI_BY_COUNT];
    const struct cpti_mix *mix; /* mix.h: where the difference is taken from instead */
};

/* Makes the views that have their bit (1 << enum cpti_by) in @wanted, and lets @gather
 * fill them. CPTI_EXIT_DONE or CPTI_EXIT_FAILED; then, too, to be freed. */
int cpti_views_init(struct cpti_views *views, unsigned wanted,
                    struct cpti_gather *gather);
void cpti_views_deinit(struct cpti_views *views);

/* After gathering: whether all requests were seen. CPTI_EXIT_USAGE with a sentence if
 * an operand was a tree, but views were wanted. */
int cpti_views_check(const struct cpti_views *views, const struct cpti_gather *gather);

/* The difference of two sets, @by of which both have the view; @gathers and @views of
 * base and new. NULL with the error printed. The caller frees it. */
struct cpt_diff *cpti_views_diff(const struct cpti_gather *gathers,
                                 const struct cpti_views *views, enum cpti_by by);

/* What a row @by is called: a stack's text, or a group's name. At most @capacity bytes
 * with the NUL. */
void cpti_by_text(const struct cpt_tree *tree, uint32_t node, enum cpti_by by,
                  char *text, size_t capacity);

/* The fields "stack" (of one element, if it is a group) and "kind". */
void cpti_by_json(struct cpti_json *json, const struct cpt_tree *tree, uint32_t node,
                  enum cpti_by by);

#endif
