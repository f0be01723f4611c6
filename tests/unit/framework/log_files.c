/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_files.c - a folder of path logs; see log_files.h */
#include "tests/unit/framework/log_files.h"

#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <CUnit/CUnit.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char folder[64];

void open_folder(void)
{
    strcpy(folder, "/tmp/cpt_log_file_XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

/* The files of the folder, sorted; how many. */
int list_folder(char names[NAMES_MAX][400])
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    int kept = 0;

    CU_ASSERT_TRUE_FATAL(count >= 0);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && kept < NAMES_MAX) {
            snprintf(names[kept++], 400, "%s/%s", folder, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    return kept;
}

void close_folder(void)
{
    char names[NAMES_MAX][400];
    const int count = list_folder(names);

    for (int i = 0; i < count; i++) {
        (void)unlink(names[i]);
    }
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

/* A block of @count records; the first one's latency is @first + 1. Borrowed. */
struct cpt_bytes make_block(struct cpt_log_block *block, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct cpt_record record = {.latency_ns = first + i + 1,
                                          .start_unix_ns = 1000 + first + i,
                                          .service = cpt_bytes_of("A"),
                                          .probability = 1};
        unsigned char *data = NULL;
        size_t bytes = 0;

        CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                              CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
        cpt_alloc_free(NULL, data);
    }
    return cpt_log_block_finish(block);
}

cpt_status write_block(struct cpt_log_file *file, uint64_t first, size_t count)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const struct cpt_bytes bytes = make_block(block, first, count);
    const cpt_status status = cpt_log_file_write(file, bytes.data, bytes.bytes);

    cpt_log_block_free(block);
    return status;
}

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    *bytes = fread(buffer, 1, capacity, context);
    return CPT_OK;
}

/* The number of records of an intact file; adds their latencies to *@sum. */
uint64_t read_file(const char *name, uint64_t *sum)
{
    FILE *in = fopen(name, "rb");
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = in};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;
    cpt_status status = CPT_OK;
    uint64_t count = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    while ((status = cpt_log_reader_next(reader, &record, NULL)) == CPT_OK) {
        *sum += record.latency_ns;
        count++;
    }
    CU_ASSERT_EQUAL(status, CPT_END);
    CU_ASSERT_EQUAL(cpt_log_reader_counts(reader)->skipped_bytes, 0);
    cpt_log_reader_free(reader);
    fclose(in);
    return count;
}

static cpt_status read_at(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    (void)fseek(context, (long)offset, SEEK_SET);
    return fread(buffer, 1, bytes, context) == bytes ? CPT_OK : CPT_IO;
}

/* Blocks in the index of a file; -1 if it has none. */
int indexed_blocks(const char *name)
{
    struct stat about = {0};
    FILE *in = fopen(name, "rb");
    struct cpt_log_index_options options = {
        .struct_bytes = sizeof options, .read_at = read_at, .context = in};
    struct cpt_log_index *index = NULL;
    int count = -1;

    CU_ASSERT_EQUAL_FATAL(stat(name, &about), 0);
    options.input_bytes = (uint64_t)about.st_size;
    if (cpt_log_index_read(&options, &index, NULL) == CPT_OK) {
        count = (int)cpt_log_index_count(index);
    }
    cpt_log_index_free(index);
    (void)fclose(in);
    return count;
}

uint64_t read_folder(uint64_t *sum)
{
    char names[NAMES_MAX][400];
    const int count = list_folder(names);
    uint64_t records = 0;

    for (int i = 0; i < count; i++) {
        records += read_file(names[i], sum);
    }
    return records;
}

uint64_t folder_bytes(void)
{
    char names[NAMES_MAX][400];
    const int count = list_folder(names);
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++) {
        struct stat about;

        CU_ASSERT_EQUAL(stat(names[i], &about), 0);
        bytes += (uint64_t)about.st_size;
    }
    return bytes;
}

struct cpt_log_file_options in_folder(void)
{
    return (struct cpt_log_file_options){
        .struct_bytes = sizeof(struct cpt_log_file_options), .directory = folder};
}

struct cpt_log_file_counts counts_of(const struct cpt_log_file *file)
{
    struct cpt_log_file_counts counts;

    cpt_log_file_counts(file, &counts);
    return counts;
}
