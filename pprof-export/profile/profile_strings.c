/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_strings.c - a hash set over one block of text; see profile_strings.h and
 * cpt/base/hash_index.h. The index grows when it is three quarters full.
 */
#include "pprof-export/profile/profile_strings.h"

#include "cpt/base/utf8.h"

#include <assert.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void cpti_strings_deinit(struct cpti_strings *strings)
{
    cpt_alloc_free(strings->alloc, strings->entries);
    cpt_alloc_free(strings->alloc, strings->text);
    cpt_alloc_free(strings->alloc, strings->index.slots);
    *strings = (struct cpti_strings){.alloc = strings->alloc};
}

/* The slot of these bytes, or the free one where they belong. */
static size_t slot_of(const struct cpti_strings *strings, const void *data,
                      size_t bytes, uint32_t hash)
{
    const struct cpti_hash_index *index = &strings->index;
    size_t slot = cpti_hash_index_first(index, hash);

    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        const struct cpti_string *entry = &strings->entries[index->slots[slot] - 1];

        if (entry->hash == hash && entry->bytes == bytes &&
            (bytes == 0 || memcmp(strings->text + entry->offset, data, bytes) == 0)) {
            break;
        }
    }
    return slot;
}

static uint64_t entry_hash(const void *strings, size_t number)
{
    return ((const struct cpti_strings *)strings)->entries[number].hash;
}

static cpt_status grow(struct cpti_strings *strings, size_t bytes)
{
    cpt_status status = CPT_OK;

    if (bytes >= (size_t)1 << 31) {
        return CPT_LIMIT;
    }
    status =
        cpt_alloc_grow(strings->alloc, (void **)&strings->entries, &strings->capacity,
                       strings->count + 1, CPTI_STRINGS_MAX, sizeof *strings->entries);
    if (status != CPT_OK) {
        return status;
    }
    return cpt_alloc_grow(strings->alloc, (void **)&strings->text,
                          &strings->text_capacity, strings->text_bytes + bytes + 1,
                          SIZE_MAX / 2, 1);
}

cpt_status cpti_strings_add(struct cpti_strings *strings, const void *data,
                            size_t bytes, uint32_t *number)
{
    const uint32_t hash =
        (uint32_t)cpt_hash_bytes((uint64_t)(uintptr_t)strings, data, bytes);
    cpt_status status = CPT_OK;
    size_t slot = 0;

    if (cpti_hash_index_is_full(&strings->index, strings->count, 3)) {
        status = cpti_hash_index_grow(&strings->index, strings->alloc, FIRST_SLOTS,
                                      strings->count, entry_hash, strings);
        if (status != CPT_OK) {
            return status;
        }
    }
    slot = slot_of(strings, data, bytes, hash);
    if (strings->index.slots[slot] != 0) {
        *number = strings->index.slots[slot] - 1;
        return CPT_OK;
    }
    status = grow(strings, bytes);
    if (status != CPT_OK) {
        return status;
    }
    memcpy(strings->text + strings->text_bytes, data, bytes);
    strings->entries[strings->count] =
        (struct cpti_string){strings->text_bytes, (uint32_t)bytes, hash};
    strings->text_bytes += bytes;
    *number = (uint32_t)strings->count++;
    strings->index.slots[slot] = *number + 1;
    return CPT_OK;
}

struct cpt_bytes cpti_strings_at(const struct cpti_strings *strings, uint32_t number)
{
    assert(number < strings->count);
    return (struct cpt_bytes){strings->text + strings->entries[number].offset,
                              strings->entries[number].bytes};
}

size_t cpti_text_clean(const char *data, size_t bytes, char *text)
{
    static const char replacement[3] = {'\xef', '\xbf', '\xbd'}; /* U+FFFD */
    const unsigned char *at = (const unsigned char *)data;
    size_t written = 0;

    for (size_t i = 0; i < bytes;) {
        const size_t count = cpti_utf8_bytes(at + i, bytes - i);

        if (count == 0) {
            memcpy(text + written, replacement, sizeof replacement);
            written += sizeof replacement;
            i++;
        } else if (at[i] < 0x20 || at[i] == 0x7f) {
            text[written++] = ' ';
            i++;
        } else if (count == 2 && at[i] == 0xc2 && at[i + 1] < 0xa0) {
            text[written++] = ' '; /* C1 controls, which terminals obey, too */
            i += 2;
        } else {
            memcpy(text + written, data + i, count);
            written += count;
            i += count;
        }
    }
    return written;
}
