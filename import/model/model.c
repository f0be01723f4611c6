/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model.c - a finished model; see model.h */
#include "import/model/model_inside.h"

void cpti_model_free(struct cpti_model *model)
{
    const struct cpt_alloc *alloc = model != NULL ? model->alloc : NULL;

    if (model == NULL) {
        return;
    }
    cpt_alloc_free(alloc, model->texts.bytes);
    cpt_alloc_free(alloc, model->texts.ends);
    cpt_alloc_free(alloc, model->ids.bytes);
    cpt_alloc_free(alloc, model->ids.ends);
    cpt_alloc_free(alloc, model->kinds);
    cpt_alloc_free(alloc, model->classes);
    cpt_alloc_free(alloc, model->places);
    cpt_alloc_free(alloc, model->pairs);
    cpt_alloc_free(alloc, model->steps);
    cpt_alloc_free(alloc, model->behaviours);
    cpt_alloc_free(alloc, model->cells);
    cpt_alloc_free(alloc, model->dropped);
    cpt_alloc_free(alloc, model);
}

struct cpt_bytes cpti_model_text(const struct cpti_model_texts *texts, uint32_t number)
{
    const size_t begin = number > 0 ? texts->ends[number - 1] : 0;

    return (struct cpt_bytes){texts->bytes + begin, texts->ends[number] - begin};
}

struct cpt_bytes cpti_model_service(const struct cpti_model *model, uint32_t number)
{
    return cpti_model_text(&model->texts, model->kinds[number].service);
}

struct cpt_bytes cpti_model_name(const struct cpti_model *model, uint32_t number)
{
    return cpti_model_text(&model->texts, model->kinds[number].name);
}

bool cpti_model_has_one_entry(const struct cpti_model *model)
{
    for (size_t i = 1; i < model->class_count; i++) {
        if (model->classes[i].entry != model->classes[0].entry) {
            return false;
        }
    }
    return true;
}

static int compare_cells(const struct cpti_model *model,
                         const struct cpti_model_behaviour *a,
                         const struct cpti_model_behaviour *b)
{
    const struct cpti_model_cell *left = &model->cells[a->cell];
    const struct cpti_model_cell *right = &model->cells[b->cell];
    const uint32_t count =
        a->cell_count < b->cell_count ? a->cell_count : b->cell_count;

    for (uint32_t i = 0; i < count; i++) {
        if (left[i].step != right[i].step) {
            return cpti_model_compare_numbers(left[i].step, right[i].step);
        }
        if (left[i].count != right[i].count) {
            return cpti_model_compare_numbers(left[i].count, right[i].count);
        }
    }
    return cpti_model_compare_numbers(a->cell_count, b->cell_count);
}

int cpti_model_compare_behaviours(const struct cpti_model *model,
                                  const struct cpti_model_behaviour *left,
                                  const struct cpti_model_behaviour *right)
{
    if (left->class != right->class) {
        return cpti_model_compare_numbers(left->class, right->class);
    }
    return left->level != right->level
               ? cpti_model_compare_numbers(left->level, right->level)
               : compare_cells(model, left, right);
}
