/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_notes.c - the origin of a tree's requests, in words and counts
 *
 * The notes are a sorted set of pairs (key, value), and counts by key. Merging takes
 * the union of the sets and the sum of the counts, so its order does not matter either.
 * A count that would overflow stays at the largest number, which is associative, too.
 */
#include "aggregate/tree/tree_node.h"

#include <string.h>

void cpti_notes_deinit(struct cpti_notes *notes, const struct cpt_alloc *alloc)
{
    for (size_t i = 0; i < notes->count; i++) {
        cpt_alloc_free(alloc, notes->entries[i].key); /* the value lies in that block */
    }
    cpt_alloc_free(alloc, notes->entries);
    *notes = (struct cpti_notes){0};
}

/* By key, then value; a count (no value) comes before the notes of its key. */
static int compare(const char *left_key, const char *left_value, const char *right_key,
                   const char *right_value)
{
    const int order = strcmp(left_key, right_key);

    if (order != 0 || left_value == right_value) {
        return order;
    }
    if (left_value == NULL || right_value == NULL) {
        return left_value == NULL ? -1 : 1;
    }
    return strcmp(left_value, right_value);
}

static uint64_t saturated_sum(uint64_t left, uint64_t right)
{
    return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

/* Inserts a copy at index @at; the entries from there on move up by one. */
static cpt_status insert(const struct cpt_alloc *alloc, struct cpti_notes *notes,
                         size_t at, const char *key, const char *value, uint64_t count)
{
    const size_t key_bytes = strlen(key) + 1;
    const size_t value_bytes = value != NULL ? strlen(value) + 1 : 0;
    char *block = NULL;
    const cpt_status status =
        cpt_alloc_grow(alloc, (void **)&notes->entries, &notes->capacity,
                       notes->count + 1, CPT_TREE_NOTES_MAX, sizeof *notes->entries);

    if (status != CPT_OK) {
        return status;
    }
    block = cpt_alloc_array(alloc, NULL, key_bytes + value_bytes, 1);
    if (block == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(block, key, key_bytes);
    if (value != NULL) {
        memcpy(block + key_bytes, value, value_bytes);
    }
    memmove(notes->entries + at + 1, notes->entries + at,
            (notes->count - at) * sizeof *notes->entries);
    notes->entries[at] =
        (struct cpti_tree_note){block, value != NULL ? block + key_bytes : NULL, count};
    notes->count++;
    return CPT_OK;
}

/* The index of (key, value), or where to insert it; *@is_there says which. */
static size_t find(const struct cpti_notes *notes, const char *key, const char *value,
                   bool *is_there)
{
    size_t low = 0;
    size_t high = notes->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct cpti_tree_note *note = &notes->entries[middle];

        if (compare(note->key, note->value, key, value) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *is_there =
        low < notes->count &&
        compare(notes->entries[low].key, notes->entries[low].value, key, value) == 0;
    return low;
}

/* The order of @left's entry @i and @right's entry @j; an index behind the end of its
 * set comes last. */
static int merge_order(const struct cpti_notes *left, size_t i,
                       const struct cpti_notes *right, size_t j)
{
    if (i >= left->count) {
        return 1;
    }
    if (j >= right->count) {
        return -1;
    }
    return compare(left->entries[i].key, left->entries[i].value, right->entries[j].key,
                   right->entries[j].value);
}

cpt_status cpti_notes_union(const struct cpt_alloc *alloc, struct cpti_notes *result,
                            const struct cpti_notes *left,
                            const struct cpti_notes *right)
{
    size_t i = 0;
    size_t j = 0;
    cpt_status status = CPT_OK;

    *result = (struct cpti_notes){0};
    while (status == CPT_OK && (i < left->count || j < right->count)) {
        const int order = merge_order(left, i, right, j);
        struct cpti_tree_note note = order <= 0 ? left->entries[i] : right->entries[j];

        if (order == 0) {
            note.count = saturated_sum(note.count, right->entries[j].count);
        }
        status = insert(alloc, result, result->count, note.key, note.value, note.count);
        i += order <= 0;
        j += order >= 0;
    }
    if (status != CPT_OK) {
        cpti_notes_deinit(result, alloc);
    }
    return status;
}

static bool key_fits(const char *key)
{
    const size_t bytes = strlen(key);

    return bytes > 0 && bytes <= CPT_TREE_NOTE_KEY_BYTES_MAX;
}

cpt_status cpt_tree_note(struct cpt_tree *tree, const char *key, const char *value)
{
    bool is_there = false;
    size_t at = 0;

    if (!key_fits(key) || strlen(value) > CPT_TREE_NOTE_VALUE_BYTES_MAX) {
        return CPT_LIMIT;
    }
    at = find(&tree->notes, key, value, &is_there);
    return is_there ? CPT_OK : insert(tree->alloc, &tree->notes, at, key, value, 0);
}

cpt_status cpt_tree_count_add(struct cpt_tree *tree, const char *key, uint64_t count)
{
    bool is_there = false;
    size_t at = 0;

    if (!key_fits(key)) {
        return CPT_LIMIT;
    }
    at = find(&tree->notes, key, NULL, &is_there);
    if (!is_there) {
        return insert(tree->alloc, &tree->notes, at, key, NULL, count);
    }
    tree->notes.entries[at].count = saturated_sum(tree->notes.entries[at].count, count);
    return CPT_OK;
}

size_t cpt_tree_note_count(const struct cpt_tree *tree)
{
    return tree->notes.count;
}

struct cpt_tree_note_entry cpt_tree_note_at(const struct cpt_tree *tree, size_t index)
{
    const struct cpti_tree_note *note = &tree->notes.entries[index];

    return (struct cpt_tree_note_entry){note->key, note->value, note->count};
}

const char *cpt_tree_note_find(const struct cpt_tree *tree, const char *key)
{
    bool is_there = false;
    size_t at = find(&tree->notes, key, NULL, &is_there);

    at += is_there;
    if (at < tree->notes.count && strcmp(tree->notes.entries[at].key, key) == 0) {
        return tree->notes.entries[at].value;
    }
    return NULL;
}

uint64_t cpt_tree_count_find(const struct cpt_tree *tree, const char *key)
{
    bool is_there = false;
    const size_t at = find(&tree->notes, key, NULL, &is_there);

    return is_there ? tree->notes.entries[at].count : 0;
}
