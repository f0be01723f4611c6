/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* pieces.c - inputs cut into pieces; see pieces.h */
#include "tool/requests/pieces.h"

#include "tool/base/files.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pieces for each thread: a thread that is done early takes another one. */
enum { PIECES_A_THREAD = 4 };

bool cpti_is_regular(const char *path)
{
    struct stat info;

    return strcmp(path, "-") != 0 && !cpti_is_store(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && access(path, R_OK) == 0;
}

/* Cuts the input at @path into at most @count_max parts; how many. 0: it cannot be
 * opened, and the error is printed. */
static size_t cut(const char *path, struct cpt_log_part *parts, size_t count_max)
{
    struct cpti_input input;
    size_t count = 1;

    if (count_max < 2 || !cpti_is_regular(path)) {
        return 1;
    }
    if (cpti_input_open(&input, path) != CPTI_EXIT_DONE) {
        return 0;
    }
    if (input.kind == CPTI_INPUT_LOG) {
        count = cpti_log_cut(&input, parts, count_max);
    }
    cpti_input_close(&input);
    return count;
}

static int add(struct cpti_pieces *pieces, size_t file,
               const struct cpt_log_part *parts, size_t part_count)
{
    struct cpti_piece *all =
        realloc(pieces->all, (pieces->count + part_count) * sizeof *all);

    if (all == NULL) {
        return cpti_failed("out of memory");
    }
    pieces->all = all;
    pieces->are_cut = pieces->are_cut || part_count > 1;
    for (size_t i = 0; i < part_count; i++) {
        all[pieces->count++] = (struct cpti_piece){file, part_count > 1, parts[i]};
    }
    return CPTI_EXIT_DONE;
}

int cpti_pieces_init(struct cpti_pieces *pieces, const char *const *paths,
                     size_t path_count, size_t thread_count)
{
    const size_t wanted =
        thread_count > 1 ? thread_count * PIECES_A_THREAD / (path_count + 1) + 1 : 1;
    const size_t count_max = wanted < CPT_LOG_PARTS_MAX ? wanted : CPT_LOG_PARTS_MAX;
    struct cpt_log_part *parts = calloc(count_max, sizeof *parts);
    int status = CPTI_EXIT_DONE;

    *pieces = (struct cpti_pieces){0};
    if (parts == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        const size_t count = cut(paths[i], parts, count_max);

        status = count != 0 ? add(pieces, i, parts, count) : CPTI_EXIT_FAILED;
    }
    free(parts);
    return status;
}

void cpti_pieces_deinit(struct cpti_pieces *pieces)
{
    free(pieces->all);
    *pieces = (struct cpti_pieces){0};
}
