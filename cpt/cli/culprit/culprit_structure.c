/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_structure.c - what changed in structure; culprit_structure.h */
#include "cpt/cli/culprit/culprit_structure_parts.h"

struct cpti_structure *cpti_structure_new(const struct cpt_alloc *alloc)
{
    struct cpti_structure *structure = cpt_alloc_zeroed(alloc, sizeof *structure);

    if (structure == NULL) {
        return NULL;
    }
    structure->alloc = alloc;
    structure->table = cpt_path_new(alloc);
    if (structure->table == NULL) {
        cpt_alloc_free(alloc, structure);
        return NULL;
    }
    return structure;
}

void cpti_structure_free(struct cpti_structure *structure)
{
    if (structure == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(structure->alloc, structure->sets[i].cells);
        cpt_alloc_free(structure->alloc, structure->sets[i].requests);
    }
    cpt_alloc_free(structure->alloc, structure->index.slots);
    cpt_alloc_free(structure->alloc, structure->parts);
    cpt_alloc_free(structure->alloc, structure->rows);
    cpt_alloc_free(structure->alloc, structure->roots);
    cpt_alloc_free(structure->alloc, structure->chain);
    cpt_alloc_free(structure->alloc, structure->open);
    cpt_alloc_free(structure->alloc, structure->calls);
    cpt_alloc_free(structure->alloc, structure->touched);
    cpt_path_free(structure->table);
    cpt_alloc_free(structure->alloc, structure);
}

uint64_t cpti_structure_left_out(const struct cpti_structure *structure)
{
    return structure != NULL ? structure->left_out : 0;
}
