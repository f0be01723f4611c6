/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_strings.c - a hash set over one block of text; see profile_strings.h
 *
 * Open addressing, linear probing, grown at three quarters. Nothing that is written
 * depends on the order of slots.
 */
#include "pprof-export/profile_strings.h"

#include "cpt/cpt_name.h"
#include "cpt/utf8.h"

#include <assert.h>
#include <string.h>

void cpti_strings_deinit(struct cpti_strings *strings)
{
    cpt_alloc_free(strings->alloc, strings->entries);
    cpt_alloc_free(strings->alloc, strings->text);
    cpt_alloc_free(strings->alloc, strings->slots);
    *strings = (struct cpti_strings){.alloc = strings->alloc};
}

/* The slot of those bytes, or the free one where they belong. */
static size_t slot_of(const struct cpti_strings *strings, const void *data,
                      size_t bytes, uint32_t hash)
{
    size_t slot = hash & (strings->slot_count - 1);

    while (strings->slots[slot] != 0) {
        const struct cpti_string *entry = &strings->entries[strings->slots[slot] - 1];

        if (entry->hash == hash && entry->bytes == bytes &&
            (bytes == 0 || memcmp(strings->text + entry->offset, data, bytes) == 0)) {
            break;
        }
        slot = (slot + 1) & (strings->slot_count - 1);
    }
    return slot;
}

static cpt_status grow_slots(struct cpti_strings *strings)
{
    const size_t slot_count = strings->slot_count != 0 ? strings->slot_count * 2 : 64;
    uint32_t *slots = NULL;

    if (strings->slot_count != 0 &&
        (strings->count + 1) * 4 <= strings->slot_count * 3) {
        return CPT_OK;
    }
    slots = cpt_alloc_zeroed(strings->alloc, slot_count * sizeof *slots);
    if (slots == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < strings->count; i++) {
        size_t slot = strings->entries[i].hash & (slot_count - 1);

        while (slots[slot] != 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = (uint32_t)i + 1;
    }
    cpt_alloc_free(strings->alloc, strings->slots);
    strings->slots = slots;
    strings->slot_count = slot_count;
    return CPT_OK;
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
    cpt_status status = grow_slots(strings);
    size_t slot = 0;

    if (status != CPT_OK) {
        return status;
    }
    slot = slot_of(strings, data, bytes, hash);
    if (strings->slots[slot] != 0) {
        *number = strings->slots[slot] - 1;
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
    strings->slots[slot] = (uint32_t)++strings->count;
    *number = (uint32_t)(strings->count - 1);
    return CPT_OK;
}

const char *cpti_strings_at(const struct cpti_strings *strings, uint32_t number,
                            size_t *bytes)
{
    assert(number < strings->count);
    *bytes = strings->entries[number].bytes;
    return strings->text + strings->entries[number].offset;
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
            text[written++] = ' '; /* C1: a terminal obeys these, too */
            i += 2;
        } else {
            memcpy(text + written, data + i, count);
            written += count;
            i += count;
        }
    }
    return written;
}
