/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_edges.c - a tree by calls between services; see gather_edges.h */
#include "tool/gather/gather_edges.h"

#include "tool/gather/gather.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"
#include "aggregate/cpt_view.h"
#include "cpt/cpt_path.h"

#include <stdlib.h>

/* The context of the requests. */
struct edges {
    struct cpt_path *path; /* of one request */
    struct cpt_tree *tree; /* of all */
};

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct edges *edges = context;
    cpt_status status = cpt_view_edge_path(NULL, path, edges->path);

    (void)record;
    status = CPTI_THEN(status, cpt_tree_add(edges->tree, edges->path, weight));
    return cpti_status_exit(status);
}

static void drop(void *part)
{
    struct edges *edges = part;

    cpt_path_free(edges->path);
    cpt_tree_free(edges->tree);
    free(edges);
}

static void *split(const void *context)
{
    struct edges *part = calloc(1, sizeof *part);

    (void)context;
    if (part == NULL) {
        return NULL;
    }
    part->path = cpt_path_new(NULL);
    part->tree = cpt_tree_new(NULL, NULL);
    if (part->path == NULL || part->tree == NULL) {
        drop(part);
        return NULL;
    }
    return part;
}

static cpt_status join(void *context, void *part)
{
    const struct edges *edges = context;
    const struct edges *more = part;

    return cpt_tree_merge(edges->tree, more->tree);
}

static const struct cpti_gather_threads threads = {split, join, drop};

/* Copies the notes, counts and times of @from. */
static cpt_status copy_notes(struct cpt_tree *tree, const struct cpt_tree *from)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < cpt_tree_note_count(from) && status == CPT_OK; i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(from, i);

        status = note.value != NULL ? cpt_tree_note(tree, note.key, note.value)
                                    : cpt_tree_count_add(tree, note.key, note.count);
    }
    if (cpt_tree_time_last_ns(from) != 0) {
        cpt_tree_time_add(tree, cpt_tree_time_first_ns(from));
        cpt_tree_time_add(tree, cpt_tree_time_last_ns(from));
    }
    return status == CPT_OK ? cpt_tree_note(tree, "view", "edge") : status;
}

/* Adds the operands to @edges. As cpti_gather_operands(). */
static int gather(const struct cpti_arguments *arguments, struct edges *edges,
                  bool *is_usable)
{
    struct cpti_gather gather = {
        .request = add_request, .context = edges, .threads = &threads};
    int status = cpti_gather_arguments(&gather, arguments, is_usable);

    if (*is_usable && gather.met_tree) {
        *is_usable = false;
        status = cpti_usage(
            "a tree knows its requests by stack only, not by edge" CPTI_HINT "give "
            "the path log it was made from");
    }
    if (*is_usable && copy_notes(edges->tree, gather.tree) != CPT_OK) {
        *is_usable = false;
        status = cpti_failed("out of memory");
    }
    cpt_tree_free(gather.tree);
    return status;
}

int cpti_gather_edges(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                      bool *is_usable)
{
    struct edges edges = {cpt_path_new(NULL), cpt_tree_new(NULL, NULL)};
    int status;

    *is_usable = false;
    if (edges.path != NULL && edges.tree != NULL) {
        status = gather(arguments, &edges, is_usable);
    } else {
        status = cpti_failed("out of memory");
    }
    cpt_path_free(edges.path);
    *tree = edges.tree;
    return status;
}
