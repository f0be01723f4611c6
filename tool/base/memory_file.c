/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* memory_file.c - a stream into memory that tells whether all of it is there */
#include "tool/base/memory_file.h"

#include "cpt/cpt_alloc.h"

#include <stdint.h>
#include <string.h>

static ssize_t keep(void *context, const char *data, size_t bytes)
{
    struct cpti_memory_file *memory = context;

    if (memory->has_failed || bytes >= SIZE_MAX - memory->bytes ||
        cpt_alloc_grow(NULL, (void **)&memory->text, &memory->capacity,
                       memory->bytes + bytes + 1, SIZE_MAX, 1) != CPT_OK) {
        memory->has_failed = true;
        return -1;
    }
    memcpy(memory->text + memory->bytes, data, bytes);
    memory->bytes += bytes;
    memory->text[memory->bytes] = '\0';
    return (ssize_t)bytes;
}

bool cpti_memory_file_open(struct cpti_memory_file *memory)
{
    const cookie_io_functions_t functions = {.write = keep};

    *memory = (struct cpti_memory_file){0};
    (void)keep(memory, "", 0); /* an empty text is a text, too */
    memory->file = memory->has_failed ? NULL : fopencookie(memory, "w", functions);
    if (memory->file == NULL) {
        cpt_alloc_free(NULL, memory->text);
        memory->text = NULL;
        memory->has_failed = true;
    }
    return memory->file != NULL;
}

bool cpti_memory_file_close(struct cpti_memory_file *memory)
{
    if (memory->file != NULL && fclose(memory->file) != 0) {
        memory->has_failed = true;
    }
    memory->file = NULL;
    if (memory->has_failed) {
        cpt_alloc_free(NULL, memory->text);
        memory->text = NULL;
        memory->bytes = 0;
    }
    return !memory->has_failed;
}
