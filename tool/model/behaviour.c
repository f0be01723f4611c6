/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* behaviour.c - what code does in another way; see behaviour.h */
#include "tool/model/behaviour.h"

#include "tool/base/output.h"
#include "tool/model/model_diff.h"
#include "tool/model/model_input.h"

/* Loads both without a word about what is left out: that was said when they were
 * imported. */
static int load(const struct cpti_arguments *arguments, const char *const paths[2],
                struct cpti_model *models[2])
{
    struct cpti_messages *before = cpti_messages();
    struct cpti_messages silent = {.is_silent = true};
    int status = CPTI_EXIT_DONE;

    cpti_messages_to(&silent);
    for (unsigned i = 0; i < 2; i++) {
        status =
            cpti_exit_last(status, cpti_model_load(arguments, paths[i], &models[i]));
    }
    cpti_messages_to(before);
    cpti_messages_deinit(&silent);
    return models[0] != NULL && models[1] != NULL ? CPTI_EXIT_DONE : status;
}

int cpti_behaviour_find(const struct cpti_arguments *arguments, const char *base,
                        const char *new_one, struct cpti_model_changes **changes)
{
    const struct cpti_changes_options options = {
        .rule = {CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT}, .seed = 1};
    const char *const paths[2] = {base, new_one};
    struct cpti_model *models[2] = {NULL, NULL};
    int status = load(arguments, paths, models);

    *changes = NULL;
    if (status == CPTI_EXIT_DONE) {
        status = cpti_status_exit(
            cpti_model_changes_find(NULL, models[0], models[1], &options, changes));
    }
    cpti_model_free(models[0]);
    cpti_model_free(models[1]);
    return status;
}

void cpti_behaviour_free(struct cpti_model_changes *changes)
{
    cpti_model_changes_free(changes);
}

void cpti_behaviour_print(const struct cpti_model_changes *changes, size_t row_max)
{
    (void)printf("\nbehind which line another one comes:\n");
    cpti_model_tell_rows(changes, row_max);
}

void cpti_behaviour_json(const struct cpti_model_changes *changes, size_t row_max,
                         struct cpti_json *json)
{
    cpti_model_put_rows(changes, "behaviour", row_max, json);
}
