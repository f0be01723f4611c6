/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tags.h - attributes of spans that were asked for by their keys
 *
 * Most attributes say nothing of a path, and are passed over. Those whose keys were
 * asked for become the tags of their span, a list: its own ones first, then those of
 * its process, which all of its spans share.
 *
 *      span  --> tenant=a --.
 *                            +--> region=eu        of the process
 *      span  --> tenant=b --'
 *
 * Of several with one key the last one of a span counts, and before those of its
 * process. A text that is too long is no tag, nor is a list or an object.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_TAGS_H
#define CPTI_TAGS_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

enum { CPTI_TAG_KEYS_MAX = 16, CPTI_TAG_BYTES_MAX = 1024 /* of a text */ };

enum cpti_tag_type {
    CPTI_TAG_NONE = 0, /* nothing that can be a tag */
    CPTI_TAG_TEXT,
    CPTI_TAG_INTEGER,
    CPTI_TAG_REAL,
    CPTI_TAG_BOOL
};

struct cpti_tag_value {
    enum cpti_tag_type type;
    bool is_true;
    int64_t integer;
    double real; /* finite */
    struct cpt_bytes text;
};

struct cpti_tag {
    struct cpti_tag *next;
    struct cpti_tag_value value; /* its text is borrowed, as the bytes of a span are */
    uint32_t key;                /* its number among those that were asked for */
    bool is_of_process;
};

/* What is asked for, and where tags are until the arena is reset. */
struct cpti_tagging {
    const struct cpt_bytes *keys; /* borrowed */
    size_t key_count;             /* up to CPTI_TAG_KEYS_MAX */
    struct cpt_arena arena;
    bool lacks_memory; /* a tag is missing for that */
};

/* Whether @key is asked for; then its number is in *@number. */
bool cpti_tagging_has(const struct cpti_tagging *tagging, struct cpt_bytes key,
                      uint32_t *number);

/* Adds a tag to the list *@tags, of a process or of a span, unless its value is none.
 * One of the same that has the same key is replaced. */
void cpti_tag_note(struct cpti_tagging *tagging, struct cpti_tag **tags, uint32_t key,
                   struct cpti_tag_value value, bool is_of_process);

/* Puts the tags of its process behind those of a span. */
void cpti_tags_share(struct cpti_tag **tags, struct cpti_tag *of_process);

/* The value of @key in @tags, or NULL. */
const struct cpti_tag_value *cpti_tag_find(const struct cpti_tag *tags, uint32_t key);

/* A copy of *@tags and of their texts in @arena; @last, if it is the same. false:
 * without memory. */
bool cpti_tags_copy(struct cpti_tag **tags, struct cpti_tag *last,
                    struct cpt_arena *arena);

#endif
