/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_vectors.c - the files of tests/data/metadata/; see conform_vectors.h */
#include "tests/interop/conform/conform_vectors.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/output.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_BYTES_MAX = 1 << 20 };

static int read_file(struct cpti_conform_vector *vector, const char *path,
                     size_t folder_bytes)
{
    const char *name = path + folder_bytes + 1;
    struct cpti_input input;
    int status = cpti_input_open(&input, path);

    if (status == CPTI_EXIT_DONE) {
        status =
            cpti_input_slurp(&input, VECTOR_BYTES_MAX, &vector->data, &vector->bytes);
        cpti_input_close(&input);
    }
    (void)snprintf(vector->name, sizeof vector->name, "%.*s",
                   (int)(strlen(name) - strlen(".bin")), name);
    return status;
}

/* Adds the files that @pattern names. */
static int read_files(struct cpti_conform_vectors *vectors, const char *folder,
                      const char *pattern)
{
    char path[4096];
    glob_t found;
    struct cpti_conform_vector *all = NULL;
    int status = CPTI_EXIT_DONE;

    (void)snprintf(path, sizeof path, "%s/%s", folder, pattern);
    if (glob(path, 0, NULL, &found) != 0) {
        return cpti_failed("%s: there are no such files; --data names the folder",
                           cpti_quoted(path));
    }
    all = realloc(vectors->all, (vectors->count + found.gl_pathc) * sizeof *all);
    if (all == NULL) {
        globfree(&found);
        return cpti_failed("out of memory");
    }
    vectors->all = all;
    for (size_t i = 0; i < found.gl_pathc && status == CPTI_EXIT_DONE; i++) {
        memset(&all[vectors->count], 0, sizeof *all);
        status = read_file(&all[vectors->count++], found.gl_pathv[i], strlen(folder));
    }
    globfree(&found);
    return status;
}

int cpti_conform_vectors_read(struct cpti_conform_vectors *vectors, const char *folder)
{
    int status = read_files(vectors, folder, "bad/*.bin");

    return status == CPTI_EXIT_DONE ? read_files(vectors, folder, "v1/*.bin") : status;
}

void cpti_conform_vectors_deinit(struct cpti_conform_vectors *vectors)
{
    for (size_t i = 0; i < vectors->count; i++) {
        free(vectors->all[i].data);
    }
    free(vectors->all);
}
