/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_model.c - any bytes as a learnt model
 *
 * An accepted model must be valid: it gives the same bytes again, can be merged with
 * itself, and compared with itself, of which nothing comes. Length and checksum are
 * corrected first; they lie where those of a tree do.
 */
#include "import/model/model_changes.h"
#include "import/model/model_file.h"
#include "tests/unit/aggregate/tree_patch.h"

#include <stdlib.h>
#include <string.h>

/* Of larger models not all is tried, which would be slow. */
enum { PLACES_MAX = 512, REQUESTS_MAX = 5000 };

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

struct bytes {
    const unsigned char *expected;
    size_t count;
    size_t at;
};

static cpt_status compare(void *context, const void *data, size_t count)
{
    struct bytes *bytes = context;

    must(count <= bytes->count - bytes->at);
    must(memcmp(bytes->expected + bytes->at, data, count) == 0);
    bytes->at += count;
    return CPT_OK;
}

static void check_same(const struct cpti_model *model, const unsigned char *data,
                       size_t size)
{
    struct bytes bytes = {data, size, 0};
    const struct cpt_sink sink = {compare, &bytes};

    must(cpti_model_write(model, &sink) == CPT_OK && bytes.at == size);
}

static void check_relations(const struct cpti_model *model)
{
    const struct cpti_model_rule rule = {CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT};

    for (size_t i = 0; i < model->class_count; i++) {
        uint64_t tally[CPTI_MODEL_RELATIONS];
        uint64_t sum = 0;

        cpti_model_tally(model, &model->classes[i], &rule, tally);
        for (unsigned k = 0; k < CPTI_MODEL_RELATIONS; k++) {
            sum += tally[k];
        }
        must(sum == model->classes[i].pair_count);
        must(cpti_model_certainty(tally) <= 1);
    }
}

static void check_merged(const struct cpti_model *model)
{
    const struct cpti_model_learner_options options = {.pairs_max = 1 << 20};
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, &options);
    struct cpti_model *merged = NULL;

    must(learner != NULL);
    must(cpti_model_learner_absorb(learner, model) == CPT_OK);
    must(cpti_model_learner_absorb(learner, model) == CPT_OK);
    must(cpti_model_learner_finish(learner, &merged) == CPT_OK);
    must(merged->requests == 2 * model->requests);
    check_relations(merged);
    cpti_model_free(merged);
    cpti_model_learner_free(learner);
}

static void check_changes(const struct cpti_model *model)
{
    const struct cpti_changes_options options = {
        .rule = {CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT}};
    struct cpti_model_changes *changes = NULL;

    must(cpti_model_changes_find(NULL, model, model, &options, &changes) == CPT_OK);
    must(changes->row_count == 0 && changes->kind_count == 0 &&
         changes->order_count == 0);
    cpti_model_changes_free(changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    struct cpti_model *model = NULL;

    must(bytes != NULL);
    if (size != 0) {
        memcpy(bytes, data, size);
    }
    patch_tree(bytes, size);
    if (cpti_model_read(NULL, bytes, size, &model, NULL) == CPT_OK) {
        check_same(model, bytes, size);
        check_relations(model);
        if (model->place_count < PLACES_MAX && model->requests < REQUESTS_MAX) {
            check_merged(model);
            check_changes(model);
        }
    }
    cpti_model_free(model);
    free(bytes);
    return 0;
}
