/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_tree.c - see model_tree.h */
#include "tests/unit/aggregate/model_tree.h"

#include "cpt/cpt_path.h"

#include <CUnit/CUnit.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void model_reset(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->stack_count = 1;
}

unsigned model_find(const struct model *model, const char *stack)
{
    unsigned i = 0;

    while (i < model->stack_count && strcmp(model->stacks[i], stack) != 0) {
        i++;
    }
    return i;
}

static unsigned find_or_add(struct model *model, const char *stack)
{
    const unsigned found = model_find(model, stack);

    if (found == model->stack_count) {
        CU_ASSERT_TRUE_FATAL(found < MODEL_STACKS_MAX &&
                             strlen(stack) < MODEL_TEXT_BYTES);
        strcpy(model->stacks[found], stack);
        model->stack_count++;
    }
    return found;
}

void model_add(struct model *model, const struct cpt_path *path, cpt_weight weight)
{
    const unsigned request = model->request_count++;

    CU_ASSERT_TRUE_FATAL(request < MODEL_REQUESTS_MAX);
    model->weight[request] = weight;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        uint32_t frame = segment->frame;
        char stack[MODEL_TEXT_BYTES];

        (void)cpt_path_stack_text(path, frame, stack, sizeof stack);
        model->self[find_or_add(model, stack)][request] += segment->duration_ns;
        for (; frame != CPT_FRAME_NONE; frame = cpt_path_frame(path, frame)->parent) {
            (void)cpt_path_stack_text(path, frame, stack, sizeof stack);
            model->inclusive[find_or_add(model, stack)][request] +=
                segment->duration_ns;
        }
        model->inclusive[0][request] += segment->duration_ns;
    }
}

struct model_mean model_mean_of(const struct model *model, const uint64_t *cells)
{
    const long double n = model->request_count;
    struct model_mean result = {0, 0, 0, 0};
    long double w = 0;
    long double ww = 0;
    long double spread = 0;
    long double cubes = 0;

    for (unsigned i = 0; i < model->request_count; i++) {
        const long double weight = model->weight[i];

        w += weight;
        ww += weight * weight;
        result.mean += weight * cells[i];
    }
    result.mean /= w;
    for (unsigned i = 0; i < model->request_count; i++) {
        const long double off = model->weight[i] * (cells[i] - result.mean);

        spread += off * off;
        cubes += off * off * off;
    }
    spread *= n / (n - 1);
    result.error = sqrtl(spread / (w * w));
    result.skewness = spread > 0 ? cubes / spread / sqrtl(spread) : 0;
    result.effective_count = w * w / ww;
    return result;
}

unsigned model_present(const struct model *model, unsigned stack, uint64_t *weight)
{
    unsigned count = 0;

    *weight = 0;
    for (unsigned i = 0; i < model->request_count; i++) {
        if (stack == 0 || model->inclusive[stack][i] != 0) {
            *weight += model->weight[i];
            count++;
        }
    }
    return count;
}

long double model_present_effective(const struct model *model, unsigned stack)
{
    long double w = 0;
    long double ww = 0;

    for (unsigned i = 0; i < model->request_count; i++) {
        if (stack == 0 || model->inclusive[stack][i] != 0) {
            const long double weight = model->weight[i];

            w += weight;
            ww += weight * weight;
        }
    }
    return w * w / ww;
}

/* The smallest value such that enough weight does not exceed it; tries all. */
uint64_t model_quantile(const struct model *model, unsigned stack, unsigned per_mille)
{
    const uint64_t *cells = model->inclusive[stack];
    uint64_t total = 0;
    uint64_t best = UINT64_MAX;

    (void)model_present(model, stack, &total);
    for (unsigned i = 0; i < model->request_count; i++) {
        uint64_t below = 0;

        if (stack != 0 && cells[i] == 0) {
            continue;
        }
        for (unsigned j = 0; j < model->request_count; j++) {
            if ((stack == 0 || cells[j] != 0) && cells[j] <= cells[i]) {
                below += model->weight[j];
            }
        }
        if (cells[i] < best &&
            (long double)below * 1000 >= (long double)total * per_mille) {
            best = cells[i];
        }
    }
    return best;
}
