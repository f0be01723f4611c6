/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * name.c - a hash set of names in one block of text; see cpt_name.h
 *
 * The index (hash_index.h) grows when it is half full: most names of a path are new,
 * and a miss is then short. Its hash is seeded by the address of the set.
 */
#include "cpt/base/name.h"

#include "cpt/base/hash_index.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The first allocation has room for the names of a usual path. */
enum { FIRST_NAMES = 32, FIRST_SLOTS = 2 * FIRST_NAMES, FIRST_TEXT_BYTES = 512 };

struct entry {
    size_t offset; /* in text */
    uint32_t bytes;
    uint32_t hash;
};

struct cpt_names {
    const struct cpt_alloc *alloc;
    struct entry *entries;
    size_t count;
    size_t capacity;
    char *text;
    size_t text_bytes;
    size_t text_capacity;
    struct cpti_hash_index index;
};

struct cpt_bytes cpt_bytes_of(const char *text)
{
    return (struct cpt_bytes){text, text != NULL ? strlen(text) : 0};
}

int cpt_bytes_equal(struct cpt_bytes left, struct cpt_bytes right)
{
    return left.bytes == right.bytes &&
           (left.bytes == 0 || memcmp(left.data, right.data, left.bytes) == 0);
}

struct cpt_bytes cpt_name_service(struct cpt_bytes name)
{
    for (size_t i = 0; i + 1 < name.bytes; i++) {
        if (name.data[i] == ':' && name.data[i + 1] == ' ') {
            return (struct cpt_bytes){name.data, i};
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

uint64_t cpt_hash_bytes(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xcbf29ce484222325U ^ seed;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * 0x100000001b3U;
    }
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdU;
    return hash ^ (hash >> 33);
}

struct cpt_bytes cpt_name_bound(struct cpt_bytes name,
                                char buffer[CPT_NAME_BYTES_MAX + 1])
{
    enum { KEPT_BYTES = CPT_NAME_BYTES_MAX - 17 };
    const char *nul = name.bytes != 0 ? memchr(name.data, 0, name.bytes) : NULL;
    size_t kept = nul != NULL ? (size_t)(nul - name.data) : name.bytes;
    uint64_t hash = 0;

    if (nul == NULL && name.bytes <= CPT_NAME_BYTES_MAX) {
        return name;
    }
    hash = cpt_hash_bytes(0, name.data, name.bytes);
    if (kept > KEPT_BYTES) {
        kept = KEPT_BYTES;
    }
    while (kept > 0 && kept < name.bytes &&
           ((unsigned char)name.data[kept] & 0xc0U) == 0x80U) {
        kept--; /* cut between characters */
    }
    memcpy(buffer, name.data, kept);
    (void)snprintf(buffer + kept, 18, "~%016llx", (unsigned long long)hash);
    return (struct cpt_bytes){buffer, kept + 17};
}

struct cpt_names *cpt_names_new(const struct cpt_alloc *alloc)
{
    struct cpt_names *names = cpt_alloc_zeroed(alloc, sizeof *names);

    if (names != NULL) {
        names->alloc = alloc;
    }
    return names;
}

void cpt_names_free(struct cpt_names *names)
{
    if (names == NULL) {
        return;
    }
    cpt_alloc_free(names->alloc, names->entries);
    cpt_alloc_free(names->alloc, names->text);
    cpt_alloc_free(names->alloc, names->index.slots);
    cpt_alloc_free(names->alloc, names);
}

void cpt_names_reset(struct cpt_names *names)
{
    names->count = 0;
    names->text_bytes = 0;
    cpti_hash_index_reset(&names->index);
}

/* The last 8 bytes of @name; of a shorter one all bytes, in some order. */
static uint64_t last_word(struct cpt_bytes name)
{
    const char *end = name.data + name.bytes;
    uint32_t halves[2];
    uint64_t word = 0;

    if (name.bytes >= 8) {
        memcpy(&word, end - 8, 8);
    } else if (name.bytes >= 4) {
        memcpy(&halves[0], name.data, 4);
        memcpy(&halves[1], end - 4, 4);
        word = (uint64_t)halves[0] << 32 | halves[1];
    } else {
        for (size_t i = 0; i < name.bytes; i++) {
            word = word << 8 | (unsigned char)name.data[i];
        }
    }
    return word;
}

/* Takes eight bytes at a time; the last eight may overlap those before. It is five
 * times as fast as cpt_hash_bytes() for a name of usual length. */
static uint32_t hash_of(const struct cpt_names *names, struct cpt_bytes name)
{
    uint64_t hash = (uint64_t)(uintptr_t)names ^ name.bytes;

    if (name.bytes == 0) {
        return 0;
    }
    for (size_t at = 0; at + 8 < name.bytes; at += 8) {
        uint64_t word = 0;

        memcpy(&word, name.data + at, 8);
        hash = cpti_hash_mix(hash ^ word);
    }
    return (uint32_t)cpti_hash_mix(hash ^ last_word(name));
}

static uint64_t entry_hash(const void *names, size_t number)
{
    return ((const struct cpt_names *)names)->entries[number].hash;
}

/* Makes room for the bytes of @name, which may lie in the text itself; the text may
 * move. */
static cpt_status grow_text(struct cpt_names *names, struct cpt_bytes *name)
{
    const uintptr_t offset = (uintptr_t)name->data - (uintptr_t)names->text;
    const bool is_inside = names->text != NULL && offset < names->text_bytes;
    const size_t needed = names->text_bytes + name->bytes + 1;
    const cpt_status status = cpt_alloc_grow(
        names->alloc, (void **)&names->text, &names->text_capacity,
        needed > FIRST_TEXT_BYTES ? needed : FIRST_TEXT_BYTES, SIZE_MAX / 2, 1);

    if (status == CPT_OK && is_inside) {
        name->data = names->text + offset;
    }
    return status;
}

/* Makes room for one more name. */
static cpt_status make_room(struct cpt_names *names, struct cpt_bytes *name)
{
    cpt_status status = CPT_OK;

    if (cpti_hash_index_is_full(&names->index, names->count, 2)) {
        status = cpti_hash_index_grow(&names->index, names->alloc, FIRST_SLOTS,
                                      names->count, entry_hash, names);
    }
    if (status == CPT_OK && names->count == names->capacity) {
        status =
            cpt_alloc_grow(names->alloc, (void **)&names->entries, &names->capacity,
                           names->count < FIRST_NAMES ? FIRST_NAMES : names->count + 1,
                           CPT_NAMES_MAX, sizeof *names->entries);
    }
    if (status != CPT_OK ||
        names->text_capacity - names->text_bytes >= name->bytes + 1) {
        return status;
    }
    return grow_text(names, name);
}

/* Adds @name, which is new. */
static cpt_status append(struct cpt_names *names, struct cpt_bytes name, uint32_t hash,
                         cpt_name_id *id)
{
    const cpt_status status = make_room(names, &name);

    if (status != CPT_OK) {
        return status;
    }
    if (name.bytes != 0) {
        memcpy(names->text + names->text_bytes, name.data, name.bytes);
    }
    cpti_hash_index_put(&names->index, hash, names->count);
    names->entries[names->count] =
        (struct entry){names->text_bytes, (uint32_t)name.bytes, hash};
    names->text_bytes += name.bytes;
    *id = (cpt_name_id)names->count++;
    return CPT_OK;
}

/* Whether the set holds @name; if it does, *@id is its number. */
static inline bool find(const struct cpt_names *names, struct cpt_bytes name,
                        uint32_t hash, cpt_name_id *id)
{
    const struct cpti_hash_index *index = &names->index;
    uint32_t found = 0;

    if (index->slot_count == 0) {
        return false;
    }
    for (size_t slot = cpti_hash_index_first(index, hash);
         (found = index->slots[slot]) != 0; slot = cpti_hash_index_next(index, slot)) {
        const struct entry *entry = &names->entries[found - 1];

        if (entry->hash == hash && entry->bytes == name.bytes &&
            (name.bytes == 0 ||
             memcmp(names->text + entry->offset, name.data, name.bytes) == 0)) {
            *id = found - 1;
            return true;
        }
    }
    return false;
}

cpt_status cpt_names_add(struct cpt_names *names, struct cpt_bytes name,
                         cpt_name_id *id)
{
    const uint32_t hash = hash_of(names, name);

    assert(name.bytes <= CPT_NAME_BYTES_MAX);
    return find(names, name, hash, id) ? CPT_OK : append(names, name, hash, id);
}

cpt_status cpti_names_add_any(struct cpt_names *names, struct cpt_bytes name,
                              cpt_name_id *id)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    uint32_t hash = 0;

    if (name.bytes > CPT_NAME_BYTES_MAX) {
        return cpt_names_add(names, cpt_name_bound(name, buffer), id);
    }
    hash = hash_of(names, name);
    if (find(names, name, hash, id)) { /* a name in the set needs no bound */
        return CPT_OK;
    }
    return name.bytes == 0 || memchr(name.data, 0, name.bytes) == NULL
               ? append(names, name, hash, id)
               : cpt_names_add(names, cpt_name_bound(name, buffer), id);
}

int cpt_names_find(const struct cpt_names *names, struct cpt_bytes name,
                   cpt_name_id *id)
{
    return find(names, name, hash_of(names, name), id);
}

struct cpt_bytes cpt_names_at(const struct cpt_names *names, cpt_name_id id)
{
    return (struct cpt_bytes){names->text + names->entries[id].offset,
                              names->entries[id].bytes};
}

size_t cpt_names_count(const struct cpt_names *names)
{
    return names->count;
}
