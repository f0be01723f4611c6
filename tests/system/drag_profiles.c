/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * drag_profiles.c - writes profiles of drags, and the expected output of pprof
 *
 *      drag_profiles SEED FOLDER
 *
 * makes two random trees with drags and writes them as profiles of the kind drag,
 * base.pb.gz and new.pb.gz; base also as one of critical paths, path.pb.gz. base.flat
 * and diff.flat have what -top shows as flat, "ns TAB name": the drag of a frame, added
 * up over its stacks, and its difference.
 */
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_gain.h"
#include "pprof-export/cpt_pprof.h"

#include <inttypes.h>

enum { ROWS_MAX = 4096, REQUESTS = 30 };

struct row {
    char name[CPT_TREE_FRAME_TEXT_BYTES];
    int64_t flat_ns;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

static void add_rows(const struct cpt_tree *tree, int64_t sign)
{
    for (uint32_t node = 1; node < cpt_tree_node_count(tree); node++) {
        char name[CPT_TREE_FRAME_TEXT_BYTES];
        size_t i = 0;

        (void)cpt_tree_frame_text(tree, node, name, sizeof name);
        while (i < row_count && strcmp(rows[i].name, name) != 0) {
            i++;
        }
        MUST(i < ROWS_MAX);
        if (i == row_count) {
            (void)snprintf(rows[row_count++].name, sizeof rows[i].name, "%s", name);
        }
        rows[i].flat_ns += sign * (int64_t)cpt_gain_of(tree, node).drag_ns;
    }
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    MUST(file != NULL);
    return file;
}

static void print_rows(const char *folder, const char *name)
{
    FILE *file = open_file(folder, name);

    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].flat_ns != 0) {
            (void)fprintf(file, "%" PRId64 "\t%s\n", rows[i].flat_ns, rows[i].name);
        }
    }
    (void)fclose(file);
}

static cpt_status to_file(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes ? CPT_OK : CPT_IO;
}

static void write_profile(const char *folder, const char *name,
                          const struct cpt_tree *tree, enum cpt_pprof_kind kind)
{
    FILE *file = open_file(folder, name);
    const struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                              .kind = kind};
    const struct cpt_sink sink = {to_file, file};

    MUST(cpt_pprof_write(NULL, tree, &options, &sink, NULL) == CPT_OK);
    MUST(fclose(file) == 0);
}

static struct cpt_tree *tree_of_drags(uint64_t *state)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(tree != NULL && path != NULL);
    for (int i = 0; i < REQUESTS; i++) {
        path_random(path, state, 12, 1000000000);
        for (size_t j = 0; j < cpt_path_segment_count(path); j++) {
            const uint64_t most_ns = cpt_path_segment(path, j)->duration_ns;

            MUST(cpt_path_drag_set(path, j, random_below(state, most_ns + 1)) ==
                 CPT_OK);
        }
        MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    }
    cpt_path_free(path);
    return tree;
}

int main(int argument_count, char **arguments)
{
    uint64_t state = argument_count == 3 ? strtoull(arguments[1], NULL, 10) : 0;
    struct cpt_tree *base = NULL;
    struct cpt_tree *other = NULL;

    if (state == 0) {
        fprintf(stderr, "usage: drag_profiles SEED FOLDER\n");
        return 2;
    }
    base = tree_of_drags(&state);
    other = tree_of_drags(&state);
    write_profile(arguments[2], "path.pb.gz", base, CPT_PPROF_CRITICAL_PATH);
    write_profile(arguments[2], "base.pb.gz", base, CPT_PPROF_DRAG);
    write_profile(arguments[2], "new.pb.gz", other, CPT_PPROF_DRAG);
    add_rows(base, 1);
    print_rows(arguments[2], "base.flat");
    add_rows(base, -2);
    add_rows(other, 1);
    print_rows(arguments[2], "diff.flat");
    cpt_tree_free(base);
    cpt_tree_free(other);
    return 0;
}
