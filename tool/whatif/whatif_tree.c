/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_tree.c - paths as one tree; see whatif_tree.h */
#include "tool/whatif/whatif_tree.h"

#include <stdlib.h>

bool cpti_whatif_tree_init(struct cpti_whatif_tree *tree)
{
    *tree = (struct cpti_whatif_tree){.frames = cpt_path_new(NULL),
                                      .path = cpt_path_new(NULL)};
    return tree->frames != NULL && tree->path != NULL;
}

void cpti_whatif_tree_deinit(struct cpti_whatif_tree *tree)
{
    cpt_path_free(tree->frames);
    cpt_path_free(tree->path);
    cpt_alloc_free(NULL, tree->branches);
    cpt_alloc_free(NULL, tree->map);
}

/* Sets *@at to the frame of the tree that is frame @index of @path below @parent. */
static cpt_status find(struct cpti_whatif_tree *tree, const struct cpt_path *path,
                       uint32_t index, uint32_t parent, uint32_t *at)
{
    cpt_status status =
        cpt_path_frame_add(tree->frames, parent, cpt_path_frame_name(path, index),
                           cpt_path_frame(path, index)->kind, at);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(NULL, (void **)&tree->branches, &tree->capacity,
                                (size_t)*at + 1, UINT32_MAX, sizeof *tree->branches);
    }
    while (status == CPT_OK && tree->count <= *at) {
        tree->branches[tree->count++] = (struct cpti_whatif_branch){0};
    }
    return status;
}

/* Sets @map, an element for each frame of @path, to the frames of the tree. */
static cpt_status map_frames(struct cpti_whatif_tree *tree, const struct cpt_path *path,
                             uint32_t *map)
{
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < cpt_path_frame_count(path) && status == CPT_OK; i++) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;

        status = find(tree, path, i,
                      parent == CPT_FRAME_NONE ? CPT_FRAME_NONE : map[parent], &map[i]);
    }
    return status;
}

static cpt_status add_path(struct cpti_whatif_tree *tree, double share, unsigned side)
{
    cpt_status status = cpt_alloc_grow(NULL, (void **)&tree->map, &tree->map_capacity,
                                       (size_t)cpt_path_frame_count(tree->path) + 1,
                                       UINT32_MAX, sizeof *tree->map);

    if (status == CPT_OK) {
        status = map_frames(tree, tree->path, tree->map);
    }
    for (size_t i = 0; i < cpt_path_segment_count(tree->path) && status == CPT_OK;
         i++) {
        const struct cpt_segment *segment = cpt_path_segment(tree->path, i);

        tree->branches[tree->map[segment->frame]].self_ns[side] +=
            share * (double)segment->duration_ns;
    }
    return status;
}

cpt_status cpti_whatif_tree_add(struct cpti_whatif_tree *tree,
                                const struct cpti_whatif_set *set,
                                struct cpt_whatif_plan *plan, size_t request,
                                double share, unsigned side)
{
    cpt_status status = CPT_OK;

    cpt_path_renew(tree->path);
    status = cpt_whatif_path(plan, request,
                             cpt_names_at(set->names, set->entry[request]), tree->path);
    return status == CPT_OK ? add_path(tree, share, side) : status;
}

cpt_status cpti_whatif_tree_copy(struct cpti_whatif_tree *tree,
                                 const struct cpti_whatif_tree *from)
{
    uint32_t *map = calloc(from->count + 1, sizeof *map);
    cpt_status status =
        map != NULL ? map_frames(tree, from->frames, map) : CPT_NO_MEMORY;

    for (size_t i = 0; i < from->count && status == CPT_OK; i++) {
        tree->branches[map[i]] = from->branches[i];
    }
    free(map);
    return status;
}

void cpti_whatif_tree_sum(struct cpti_whatif_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        for (unsigned side = 0; side < CPTI_WHATIF_SIDES; side++) {
            tree->branches[i].total_ns[side] = tree->branches[i].self_ns[side];
        }
    }
    for (size_t i = tree->count; i-- > 0;) {
        const uint32_t parent = cpt_path_frame(tree->frames, (uint32_t)i)->parent;

        for (unsigned side = 0; side < CPTI_WHATIF_SIDES && parent != CPT_FRAME_NONE;
             side++) {
            tree->branches[parent].total_ns[side] += tree->branches[i].total_ns[side];
        }
    }
}
