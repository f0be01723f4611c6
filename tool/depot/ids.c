/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* ids.c - the file of ids of a path log; see ids.h */
#include "tool/depot/ids.h"

#include "cpt/cpt_crc32c.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char magic[8] = {0x89, 'c', 'p', 't', 'i', 'd', 's', '\n'};

enum { VERSION = 1 };

/* --- Numbers --- */

static void put(unsigned char *at, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(number >> (8 * i));
    }
}

static uint64_t get(const unsigned char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = bytes; i-- > 0;) {
        number = number << 8 | at[i];
    }
    return number;
}

/* --- Ids --- */

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

void cpti_id_of(struct cpt_bytes text, unsigned char id[CPTI_ID_BYTES])
{
    const bool may_be_digits = text.bytes == 32 || text.bytes == 16;
    const size_t before = 32 - (may_be_digits ? text.bytes : 32);
    size_t at = 0;

    memset(id, 0, CPTI_ID_BYTES);
    for (; may_be_digits && at < text.bytes; at++) {
        const int digit = digit_of(text.data[at]);
        unsigned char *byte = &id[(before + at) / 2];

        if (digit < 0) {
            break;
        }
        *byte = (unsigned char)(*byte << 4 | digit);
    }
    if (!may_be_digits || at < text.bytes) {
        put(id, cpt_hash_bytes(1, text.data, text.bytes), 8);
        put(id + 8, cpt_hash_bytes(2, text.data, text.bytes), 8);
    }
}

static int compare_places(const void *left, const void *right)
{
    const struct cpti_id_place *a = left;
    const struct cpti_id_place *b = right;
    const int order = memcmp(a->id, b->id, sizeof a->id);

    return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* --- Writing --- */

static void encode_head(const struct cpti_ids_head *head, unsigned char *at)
{
    memcpy(at, magic, sizeof magic);
    put(at + 8, VERSION, 4);
    put(at + 12, CPTI_IDS_PAGE_BYTES, 4);
    put(at + 16, head->id_count, 8);
    put(at + 24, head->log_bytes, 8);
    put(at + 32, head->start_min_ns, 8);
    put(at + 40, head->start_max_ns, 8);
    put(at + 48, head->record_count, 8);
    put(at + 56, head->first_crc, 4);
    put(at + 60, head->last_crc, 4);
    put(at + 64, cpt_crc32c(0, at, 64), 4);
}

cpt_status cpti_ids_write(const struct cpti_ids_head *head,
                          struct cpti_id_place *places, size_t count,
                          const struct cpt_sink *sink)
{
    unsigned char bytes[CPTI_IDS_PAGE_BYTES] = {0};
    struct cpti_ids_head own = *head;
    cpt_status status;

    if (count > 0) {
        qsort(places, count, sizeof *places, compare_places);
    }
    own.id_count = count;
    encode_head(&own, bytes);
    status = sink->write(sink->context, bytes, CPTI_IDS_HEAD_BYTES);
    for (size_t i = 0; i < count && status == CPT_OK; i += CPTI_IDS_PAGE_ENTRIES) {
        const size_t left = count - i;
        const size_t own_count =
            left < CPTI_IDS_PAGE_ENTRIES ? left : (size_t)CPTI_IDS_PAGE_ENTRIES;
        unsigned char *at = bytes + CPTI_IDS_PAGE_HEAD_BYTES;

        memset(bytes, 0, sizeof bytes);
        put(bytes + 4, own_count, 4);
        for (size_t k = 0; k < own_count; k++, at += CPTI_IDS_ENTRY_BYTES) {
            memcpy(at, places[i + k].id, CPTI_ID_BYTES);
            put(at + CPTI_ID_BYTES, places[i + k].offset, 8);
        }
        put(bytes, cpt_crc32c(0, bytes + 4, sizeof bytes - 4), 4);
        status = sink->write(sink->context, bytes, sizeof bytes);
    }
    return status;
}

/* --- Reading --- */

bool cpti_ids_begin(const unsigned char *head, size_t bytes)
{
    return bytes >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

static uint64_t page_count_of(uint64_t id_count)
{
    return id_count / CPTI_IDS_PAGE_ENTRIES + (id_count % CPTI_IDS_PAGE_ENTRIES != 0);
}

cpt_status cpti_ids_open(struct cpti_ids *ids)
{
    unsigned char bytes[CPTI_IDS_HEAD_BYTES];
    struct cpti_ids_head *head = &ids->head;

    if (ids->file_bytes < sizeof bytes ||
        ids->read_at(ids->context, 0, bytes, sizeof bytes) != CPT_OK ||
        memcmp(bytes, magic, sizeof magic) != 0 || get(bytes + 8, 4) != VERSION ||
        get(bytes + 12, 4) != CPTI_IDS_PAGE_BYTES ||
        get(bytes + 64, 4) != cpt_crc32c(0, bytes, 64)) {
        return CPT_CORRUPT;
    }
    *head = (struct cpti_ids_head){.id_count = get(bytes + 16, 8),
                                   .log_bytes = get(bytes + 24, 8),
                                   .start_min_ns = get(bytes + 32, 8),
                                   .start_max_ns = get(bytes + 40, 8),
                                   .record_count = get(bytes + 48, 8),
                                   .first_crc = (uint32_t)get(bytes + 56, 4),
                                   .last_crc = (uint32_t)get(bytes + 60, 4)};
    return head->id_count <= CPTI_IDS_MAX &&
                   ids->file_bytes ==
                       CPTI_IDS_HEAD_BYTES +
                           page_count_of(head->id_count) * CPTI_IDS_PAGE_BYTES
               ? CPT_OK
               : CPT_CORRUPT;
}

/* The entries of page @number, which has as many as it must. */
static cpt_status read_page(const struct cpti_ids *ids, uint64_t number,
                            unsigned char *page, size_t *count)
{
    const uint64_t before = number * CPTI_IDS_PAGE_ENTRIES;
    const uint64_t left = ids->head.id_count - before;

    *count = left < CPTI_IDS_PAGE_ENTRIES ? (size_t)left : CPTI_IDS_PAGE_ENTRIES;
    if (ids->read_at(ids->context, CPTI_IDS_HEAD_BYTES + number * CPTI_IDS_PAGE_BYTES,
                     page, CPTI_IDS_PAGE_BYTES) != CPT_OK ||
        get(page, 4) != cpt_crc32c(0, page + 4, CPTI_IDS_PAGE_BYTES - 4) ||
        get(page + 4, 4) != *count) {
        return CPT_CORRUPT;
    }
    return CPT_OK;
}

static const unsigned char *entry_at(const unsigned char *page, size_t number)
{
    return page + CPTI_IDS_PAGE_HEAD_BYTES + number * CPTI_IDS_ENTRY_BYTES;
}

/* The last page whose first id is below @id: the first place of @id is in it, or at the
 * beginning of the next one. */
static cpt_status find_page(const struct cpti_ids *ids, const unsigned char *id,
                            unsigned char *page, uint64_t *number)
{
    uint64_t low = 0; /* pages before it begin below @id, but for page 0 */
    uint64_t high = page_count_of(ids->head.id_count);

    while (low + 1 < high) {
        const uint64_t middle = low + (high - low) / 2;
        size_t count;

        if (read_page(ids, middle, page, &count) != CPT_OK) {
            return CPT_CORRUPT;
        }
        if (memcmp(entry_at(page, 0), id, CPTI_ID_BYTES) < 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *number = low;
    return CPT_OK;
}

cpt_status cpti_ids_find(const struct cpti_ids *ids, const unsigned char *id,
                         uint64_t offsets[CPTI_IDS_PLACES_MAX], size_t *count)
{
    unsigned char page[CPTI_IDS_PAGE_BYTES];
    const uint64_t page_count = page_count_of(ids->head.id_count);
    uint64_t number = 0;
    int order = -1;

    *count = 0;
    if (find_page(ids, id, page, &number) != CPT_OK) {
        return CPT_CORRUPT;
    }
    for (; number < page_count && order <= 0; number++) {
        size_t entries;

        if (read_page(ids, number, page, &entries) != CPT_OK) {
            return CPT_CORRUPT;
        }
        for (size_t i = 0; i < entries && order <= 0; i++) {
            const uint64_t offset = get(entry_at(page, i) + CPTI_ID_BYTES, 8);

            order = memcmp(entry_at(page, i), id, CPTI_ID_BYTES);
            if (order != 0 || (*count > 0 && offsets[*count - 1] == offset)) {
                continue;
            }
            if (*count == CPTI_IDS_PLACES_MAX) {
                return CPT_LIMIT;
            }
            offsets[(*count)++] = offset;
        }
    }
    return CPT_OK;
}

cpt_status cpti_ids_read(const struct cpti_ids *ids, struct cpti_id_place *places)
{
    unsigned char page[CPTI_IDS_PAGE_BYTES];
    const uint64_t page_count = page_count_of(ids->head.id_count);

    for (uint64_t number = 0; number < page_count; number++) {
        size_t count;

        if (read_page(ids, number, page, &count) != CPT_OK) {
            return CPT_CORRUPT;
        }
        for (size_t i = 0; i < count; i++, places++) {
            memcpy(places->id, entry_at(page, i), CPTI_ID_BYTES);
            places->offset = get(entry_at(page, i) + CPTI_ID_BYTES, 8);
        }
    }
    return CPT_OK;
}
