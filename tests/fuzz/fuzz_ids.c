/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_ids.c - any bytes as a file of ids
 *
 * A search of it ends, and gives places in ascending order or says that the file is
 * damaged. The checksums of the head and of the pages are made right first, as an
 * attacker would.
 */
#include "tool/depot/ids.h"
#include "cpt/cpt_crc32c.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct file {
    unsigned char *bytes;
    size_t count;
};

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static cpt_status read_at(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    const struct file *file = context;

    if (offset > file->count || bytes > file->count - offset) {
        return CPT_IO;
    }
    memcpy(buffer, file->bytes + offset, bytes);
    return CPT_OK;
}

static void put_crc(unsigned char *at, uint32_t crc)
{
    for (size_t i = 0; i < 4; i++) {
        at[i] = (unsigned char)(crc >> (8 * i));
    }
}

static void mend(struct file *file)
{
    if (file->count >= CPTI_IDS_HEAD_BYTES) {
        put_crc(file->bytes + 64, cpt_crc32c(0, file->bytes, 64));
    }
    for (size_t at = CPTI_IDS_HEAD_BYTES;
         at < file->count && file->count - at >= CPTI_IDS_PAGE_BYTES;
         at += CPTI_IDS_PAGE_BYTES) {
        put_crc(file->bytes + at,
                cpt_crc32c(0, file->bytes + at + 4, CPTI_IDS_PAGE_BYTES - 4));
    }
}

static void try_file(struct file *file)
{
    struct cpti_ids ids = {
        .read_at = read_at, .context = file, .file_bytes = file->count};
    static const unsigned char id[CPTI_ID_BYTES] = {'A'};
    uint64_t offsets[CPTI_IDS_PLACES_MAX];
    size_t count = 0;
    struct cpti_id_place *places;

    if (cpti_ids_open(&ids) != CPT_OK) {
        return;
    }
    must(ids.head.id_count <= file->count / CPTI_IDS_ENTRY_BYTES);
    if (cpti_ids_find(&ids, id, offsets, &count) == CPT_OK) {
        must(count <= CPTI_IDS_PLACES_MAX);
    }
    places = calloc((size_t)ids.head.id_count + 1, sizeof *places);
    must(places != NULL);
    (void)cpti_ids_read(&ids, places);
    free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = {malloc(size + 1), size};

    must(file.bytes != NULL);
    if (size > 0) {
        memcpy(file.bytes, data, size);
    }
    try_file(&file);
    mend(&file);
    try_file(&file);
    free(file.bytes);
    return 0;
}
