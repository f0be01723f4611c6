/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_tree.c - paths as one tree; see whatif_tree.h */
#include "cpt/cli/whatif/whatif_tree.h"

#include <stdlib.h>

bool cpti_whatif_tree_init(struct cpti_whatif_tree *tree)
{
    *tree = (struct cpti_whatif_tree){.frames = cpt_path_new(NULL)};
    return tree->frames != NULL;
}

void cpti_whatif_tree_deinit(struct cpti_whatif_tree *tree)
{
    cpt_path_free(tree->frames);
    cpt_alloc_free(NULL, tree->branches);
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

/* Scratch of an addition. */
struct adding {
    struct cpt_path *path;
    uint32_t *map;
    size_t map_capacity;
};

static cpt_status add_path(struct cpti_whatif_tree *tree, struct adding *adding,
                           double share, unsigned side)
{
    const size_t frames = cpt_path_frame_count(adding->path);
    cpt_status status =
        cpt_alloc_grow(NULL, (void **)&adding->map, &adding->map_capacity, frames + 1,
                       UINT32_MAX, sizeof *adding->map);

    if (status == CPT_OK) {
        status = map_frames(tree, adding->path, adding->map);
    }
    for (size_t i = 0; i < cpt_path_segment_count(adding->path) && status == CPT_OK;
         i++) {
        const struct cpt_segment *segment = cpt_path_segment(adding->path, i);

        tree->branches[adding->map[segment->frame]].self_ns[side] +=
            share * (double)segment->duration_ns;
    }
    return status;
}

cpt_status cpti_whatif_tree_add(struct cpti_whatif_tree *tree,
                                const struct cpti_whatif_set *set,
                                struct cpt_whatif_plan *plan, unsigned side)
{
    struct adding adding = {.path = cpt_path_new(NULL)};
    cpt_status status = adding.path != NULL ? CPT_OK : CPT_NO_MEMORY;
    double weights = 0;

    for (size_t i = 0; i < set->count; i++) {
        weights += set->weight[i];
    }
    for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
        cpt_path_renew(adding.path);
        status = cpt_whatif_path(plan, i, cpt_names_at(set->names, set->entry[i]),
                                 adding.path);
        if (status == CPT_OK) {
            status = add_path(tree, &adding, set->weight[i] / weights, side);
        }
    }
    cpt_path_free(adding.path);
    cpt_alloc_free(NULL, adding.map);
    return status;
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
