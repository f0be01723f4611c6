/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_inside.c - spans within operations; see whatif_inside.h */
#include "tool/whatif/whatif_inside.h"

#include "tool/base/names.h"

#include <stdlib.h>

/* False without memory. */
static bool begin(struct cpti_whatif_inside *inside)
{
    if (inside->names == NULL) {
        cpti_whatif_inside_deinit(inside);
        inside->operations = cpt_names_new(NULL);
        inside->operation = calloc(CPTI_WHATIF_INSIDE_MAX, sizeof *inside->operation);
        inside->has_others = calloc(CPTI_WHATIF_INSIDE_MAX, sizeof *inside->has_others);
        inside->names = cpt_names_new(NULL);
    }
    return inside->names != NULL && inside->operations != NULL &&
           inside->operation != NULL && inside->has_others != NULL;
}

void cpti_whatif_inside_add(struct cpti_whatif_inside *inside, struct cpt_bytes name,
                            struct cpt_bytes operation)
{
    char bounds[2][CPT_NAME_BYTES_MAX + 1];
    cpt_name_id id = 0;
    cpt_name_id own = 0;
    bool is_new = false;

    if (!begin(inside)) {
        return;
    }
    name = cpt_name_bound(name, bounds[0]);
    operation = cpt_name_bound(operation, bounds[1]);
    is_new = cpt_names_find(inside->names, name, &id) == 0;
    if ((is_new && cpt_names_count(inside->names) == CPTI_WHATIF_INSIDE_MAX) ||
        (cpt_names_find(inside->operations, operation, &own) == 0 &&
         (cpt_names_count(inside->operations) == CPTI_WHATIF_INSIDE_MAX ||
          cpt_names_add(inside->operations, operation, &own) != CPT_OK)) ||
        (is_new && cpt_names_add(inside->names, name, &id) != CPT_OK)) {
        return;
    }
    if (is_new) {
        inside->operation[id] = own;
    } else if (inside->operation[id] != own) {
        const struct cpt_bytes before =
            cpt_names_at(inside->operations, inside->operation[id]);

        inside->has_others[id] = true;
        if (cpti_compare_bytes(cpt_names_at(inside->operations, own), before) < 0) {
            inside->operation[id] = own;
        }
    }
}

void cpti_whatif_inside_deinit(struct cpti_whatif_inside *inside)
{
    cpt_names_free(inside->names);
    cpt_names_free(inside->operations);
    free(inside->operation);
    free(inside->has_others);
    *inside = (struct cpti_whatif_inside){0};
}

size_t cpti_whatif_inside_count(const struct cpti_whatif_inside *inside)
{
    return inside->names != NULL ? cpt_names_count(inside->names) : 0;
}

struct cpt_bytes cpti_whatif_inside_at(const struct cpti_whatif_inside *inside,
                                       size_t index, struct cpt_bytes *operation,
                                       bool *has_others)
{
    *operation = cpt_names_at(inside->operations, inside->operation[index]);
    *has_others = inside->has_others[index];
    return cpt_names_at(inside->names, (cpt_name_id)index);
}
