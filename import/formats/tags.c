/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tags.c - attributes of spans that were asked for; see tags.h */
#include "import/formats/tags.h"

#include <math.h>

bool cpti_tagging_has(const struct cpti_tagging *tagging, struct cpt_bytes key,
                      uint32_t *number)
{
    for (uint32_t i = 0; i < tagging->key_count; i++) {
        if (cpt_bytes_equal(tagging->keys[i], key)) {
            *number = i;
            return true;
        }
    }
    return false;
}

static bool is_tag(const struct cpti_tag_value *value)
{
    return value->type != CPTI_TAG_NONE &&
           (value->type != CPTI_TAG_TEXT || value->text.bytes <= CPTI_TAG_BYTES_MAX) &&
           (value->type != CPTI_TAG_REAL || isfinite(value->real));
}

/* The first tag of @tags that belongs to a process. */
static struct cpti_tag **shared_of(struct cpti_tag **tags)
{
    while (*tags != NULL && !(*tags)->is_of_process) {
        tags = &(*tags)->next;
    }
    return tags;
}

void cpti_tag_note(struct cpti_tagging *tagging, struct cpti_tag **tags, uint32_t key,
                   struct cpti_tag_value value, bool is_of_process)
{
    struct cpti_tag *tag = *tags;

    if (!is_tag(&value)) {
        return;
    }
    while (tag != NULL && tag->is_of_process == is_of_process && tag->key != key) {
        tag = tag->next;
    }
    if (tag == NULL || tag->is_of_process != is_of_process) {
        tag = cpt_arena_take(&tagging->arena, sizeof *tag);
        if (tag == NULL) {
            tagging->lacks_memory = true;
            return;
        }
        *tag = (struct cpti_tag){
            .next = *tags, .key = key, .is_of_process = is_of_process};
        *tags = tag;
    }
    tag->value = value;
}

void cpti_tags_share(struct cpti_tag **tags, struct cpti_tag *of_process)
{
    *shared_of(tags) = of_process;
}

const struct cpti_tag_value *cpti_tag_find(const struct cpti_tag *tags, uint32_t key)
{
    while (tags != NULL && tags->key != key) {
        tags = tags->next;
    }
    return tags != NULL ? &tags->value : NULL;
}

static bool are_same(const struct cpti_tag *a, const struct cpti_tag *b)
{
    while (a != NULL && b != NULL && a != b) {
        if (a->key != b->key || a->is_of_process != b->is_of_process ||
            a->value.type != b->value.type || a->value.is_true != b->value.is_true ||
            a->value.integer != b->value.integer ||
            (a->value.type == CPTI_TAG_REAL && a->value.real != b->value.real) ||
            !cpt_bytes_equal(a->value.text, b->value.text)) {
            return false;
        }
        a = a->next;
        b = b->next;
    }
    return a == b;
}

bool cpti_tags_copy(struct cpti_tag **tags, struct cpti_tag *last,
                    struct cpt_arena *arena)
{
    const struct cpti_tag *from = *tags;

    if (are_same(from, last)) {
        *tags = last;
        return true;
    }
    for (; from != NULL; from = from->next) {
        struct cpti_tag *tag = cpt_arena_take(arena, sizeof *tag);
        struct cpt_bytes *text = NULL;

        if (tag == NULL) {
            return false;
        }
        *tag = *from;
        *tags = tag;
        tags = &tag->next;
        text = &tag->value.text;
        text->data =
            text->bytes > 0 ? cpt_arena_copy(arena, text->data, text->bytes) : "";
        if (text->data == NULL) {
            return false;
        }
    }
    *tags = NULL;
    return true;
}
