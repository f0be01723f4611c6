/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* behaviour_absent.c - a build that reads no lines */
#include "tool/model/behaviour.h"

#include "tool/base/command.h"

int cpti_behaviour_find(const struct cpti_arguments *arguments, const char *base,
                        const char *new_one, struct cpti_model_changes **changes)
{
    (void)arguments;
    (void)base;
    (void)new_one;
    *changes = NULL;
    return CPTI_EXIT_DONE;
}

void cpti_behaviour_free(struct cpti_model_changes *changes)
{
    (void)changes;
}

void cpti_behaviour_print(const struct cpti_model_changes *changes, size_t row_max)
{
    (void)changes;
    (void)row_max;
}

void cpti_behaviour_json(const struct cpti_model_changes *changes, size_t row_max,
                         struct cpti_json *json)
{
    (void)changes;
    (void)row_max;
    (void)json;
}
