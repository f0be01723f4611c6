/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_text.c - what is shown of a model; see model_text.h */
#include "tool/model/model_text.h"

#include <stdio.h>
#include <string.h>

struct cpt_bytes cpti_model_kind_text(const struct cpti_model *model, uint32_t kind,
                                      char text[CPTI_MODEL_TEXT_BYTES])
{
    const struct cpt_bytes service = cpti_model_service(model, kind);
    const struct cpt_bytes name = cpti_model_name(model, kind);
    const int bytes =
        snprintf(text, CPTI_MODEL_TEXT_BYTES, "%.*s: %.*s", (int)service.bytes,
                 service.data, (int)name.bytes, name.data);

    return (struct cpt_bytes){text, (size_t)bytes};
}

/* What stands behind the kind of @place. */
static void turn_text(const struct cpti_model_place *place, char text[16])
{
    text[0] = '\0';
    if (place->turn > CPTI_MODEL_TURNS_MAX) {
        (void)snprintf(text, 16, "#(many)");
    } else if (place->turn > 1) {
        (void)snprintf(text, 16, "#%u", (unsigned)place->turn);
    }
}

struct cpt_bytes cpti_model_place_text(const struct cpti_model *model,
                                       const struct cpti_model_place *place,
                                       char text[CPTI_MODEL_TEXT_BYTES])
{
    struct cpt_bytes shown = cpti_model_kind_text(model, place->kind, text);
    char turn[16];

    turn_text(place, turn);
    memcpy(text + shown.bytes, turn, strlen(turn) + 1);
    shown.bytes += strlen(turn);
    return shown;
}

/* Whether @typed is @shown, or @shown with @turn behind it. */
static bool is_typed(struct cpt_bytes shown, const char *turn, const char *typed)
{
    const size_t bytes = strlen(typed);

    if (bytes < shown.bytes || memcmp(typed, shown.data, shown.bytes) != 0) {
        return false;
    }
    return typed[shown.bytes] == '\0' || strcmp(typed + shown.bytes, turn) == 0;
}

bool cpti_model_place_is(const struct cpti_model *model,
                         const struct cpti_model_place *place, const char *typed)
{
    char text[CPTI_MODEL_TEXT_BYTES];
    char turn[16];

    turn_text(place, turn);
    if (place->turn == 1) {
        (void)snprintf(turn, sizeof turn, "#1");
    }
    return is_typed(cpti_model_name(model, place->kind), turn, typed) ||
           is_typed(cpti_model_kind_text(model, place->kind, text), turn, typed);
}
