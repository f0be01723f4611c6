/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_sources.c - the option --sources; see event_sources.h */
#include "tool/events/event_sources.h"

#include "tool/base/files.h"
#include "tool/base/output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Reads @path, a settings file or one of lnav. enum cpti_exit. */
static int read_file(const char *path, char **text, size_t *bytes)
{
    struct cpti_input input;
    unsigned char *data = NULL;
    int status = cpti_input_open(&input, path);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_input_slurp(&input, CPTI_SOURCES_BYTES_MAX, &data, bytes);
        cpti_input_close(&input);
    }
    *text = (char *)data;
    return status;
}

/* A cpti_sources_open_fn: @file beside the path in the context, unless it begins with
 * '/'. */
static cpt_status open_file(void *context, struct cpt_bytes file, char **text,
                            size_t *bytes, struct cpt_error *error)
{
    const char *beside = context;
    const char *slash = strrchr(beside, '/');
    const size_t folder_bytes =
        slash != NULL && file.data[0] != '/' ? (size_t)(slash - beside) + 1 : 0;
    char path[PATH_MAX];

    if (folder_bytes + file.bytes >= sizeof path) {
        return cpt_error_set(error, CPT_INVALID, 0, "its name is too long");
    }
    memcpy(path, beside, folder_bytes);
    memcpy(path + folder_bytes, file.data, file.bytes);
    path[folder_bytes + file.bytes] = '\0';
    return read_file(path, text, bytes) == CPTI_EXIT_DONE
               ? CPT_OK
               : cpt_error_set(error, CPT_IO, 0, "it cannot be read");
}

int cpti_event_sources_read(const struct cpti_arguments *arguments,
                            struct cpti_sources **sources)
{
    const char *path = cpti_value(arguments, "sources");
    struct cpti_sources_options options = {.open = open_file};
    char *beside = NULL;
    char *text = NULL;
    size_t bytes = 0;
    struct cpt_error error = {0};
    int status = CPTI_EXIT_DONE;
    cpt_status read = CPT_OK;

    *sources = NULL;
    if (path == NULL) {
        return CPTI_EXIT_DONE;
    }
    status = read_file(path, &text, &bytes);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    beside = strdup(path);
    options.context = beside;
    read = beside != NULL ? cpti_sources_read(&options, (struct cpt_bytes){text, bytes},
                                              sources, &error)
                          : CPT_NO_MEMORY;
    free(beside);
    free(text);
    if (read != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)}, "%s",
                              error.status != CPT_OK ? error.sentence
                                                     : cpt_status_sentence(read));
    }
    if (cpti_sources_count(*sources) == 0) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                              "it names no source");
    }
    if (cpti_sources_notes(*sources)[0] != '\0') {
        cpti_warn_at((struct cpti_at){.file = cpti_quoted(path)}, "%s",
                     cpti_quoted(cpti_sources_notes(*sources)));
    }
    return CPTI_EXIT_DONE;
}
