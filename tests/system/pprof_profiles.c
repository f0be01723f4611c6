/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pprof_profiles.c - writes profiles, and the expected output of pprof
 *
 *      pprof_profiles SEED FOLDER
 *
 * makes two random trees, base and new, and writes base.pb.gz and new.pb.gz; for each
 * the average request's time by stack (base.stacks: "ns TAB stack", root first, frames
 * joined by ';'), by frame (base.frames: "flat TAB cum TAB name"; a frame that is in a
 * stack several times counts once) and by service (base.services, likewise); and for
 * both the differences by frame (diff.frames). Lines are sorted by their text.
 */
#include "tests/unit/aggregate/paths.h"

#include "pprof-export/cpt_pprof.h"

#include <inttypes.h>

enum { ROWS_MAX = 4096, TEXT_BYTES = 8192 };

/* Sums by name; linear search is simple, and fast enough here. */
struct sum {
    char name[TEXT_BYTES];
    int64_t flat_ns;
    int64_t cum_ns;
};

struct sums {
    struct sum *rows;
    size_t count;
};

static struct sum *find(struct sums *sums, const char *name)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (strcmp(sums->rows[i].name, name) == 0) {
            return &sums->rows[i];
        }
    }
    if (sums->count == ROWS_MAX) {
        fprintf(stderr, "pprof_profiles: too many rows\n");
        exit(1);
    }
    (void)snprintf(sums->rows[sums->count].name, TEXT_BYTES, "%s", name);
    return &sums->rows[sums->count++];
}

static void frame_name(const struct cpt_tree *tree, uint32_t node, int by_service,
                       char *name)
{
    if (!by_service) {
        (void)cpt_tree_frame_text(tree, node, name, TEXT_BYTES);
    } else if (cpt_tree_service(tree, node).bytes == 0) {
        (void)snprintf(name, TEXT_BYTES, "(no service)");
    } else {
        (void)cpt_text_name(cpt_tree_service(tree, node), name, TEXT_BYTES);
    }
}

/* Adds @sign times the averages of @tree. */
static void add_tree(struct sums *sums, const struct cpt_tree *tree, int by_service,
                     int64_t sign)
{
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    static char name[TEXT_BYTES];

    for (uint32_t i = 1; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);
        const int64_t self_ns = sign * (int64_t)row->self_ns;
        const struct sum *counted[CPT_TREE_DEPTH_MAX];
        size_t counted_count = 0;

        frame_name(tree, row->node, by_service, name);
        find(sums, name)->flat_ns += self_ns;
        for (uint32_t node = row->node; node != CPT_TREE_ROOT;
             node = cpt_tree_parent(tree, node)) {
            struct sum *sum = NULL;
            size_t seen = 0;

            frame_name(tree, node, by_service, name);
            sum = find(sums, name);
            while (seen < counted_count && counted[seen] != sum) {
                seen++;
            }
            if (seen == counted_count) {
                counted[counted_count++] = sum;
                sum->cum_ns += self_ns;
            }
        }
    }
    cpt_tree_walk_free(walk);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct sum *)left)->name, ((const struct sum *)right)->name);
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[TEXT_BYTES];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static void print_sums(const char *folder, const char *name, struct sums *sums)
{
    FILE *file = open_file(folder, name);

    qsort(sums->rows, sums->count, sizeof *sums->rows, by_name);
    for (size_t i = 0; i < sums->count; i++) {
        if (sums->rows[i].flat_ns != 0 || sums->rows[i].cum_ns != 0) {
            (void)fprintf(file, "%" PRId64 "\t%" PRId64 "\t%s\n", sums->rows[i].flat_ns,
                          sums->rows[i].cum_ns, sums->rows[i].name);
        }
    }
    (void)fclose(file);
    memset(sums->rows, 0, sums->count * sizeof *sums->rows);
    sums->count = 0;
}

static void print_stacks(const char *folder, const char *name,
                         const struct cpt_tree *tree)
{
    FILE *file = open_file(folder, name);
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    static char text[1 << 16];

    for (uint32_t i = 1; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);

        if (row->self_ns != 0) {
            (void)cpt_tree_stack_text(tree, row->node, text, sizeof text);
            (void)fprintf(file, "%" PRIu64 "\t%s\n", row->self_ns, text);
        }
    }
    cpt_tree_walk_free(walk);
    (void)fclose(file);
}

static cpt_status to_file(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes ? CPT_OK : CPT_IO;
}

static void write_profile(const char *folder, const char *name,
                          const struct cpt_tree *tree)
{
    FILE *file = open_file(folder, name);
    const struct cpt_sink sink = {to_file, file};
    struct cpt_error error = {0};

    if (cpt_pprof_write(NULL, tree, NULL, &sink, &error) != CPT_OK ||
        fclose(file) != 0) {
        fprintf(stderr, "pprof_profiles: %s: %s\n", name, error.sentence);
        exit(1);
    }
}

int main(int argument_count, char **arguments)
{
    struct sums sums = {cpt_alloc_zeroed(NULL, ROWS_MAX * sizeof(struct sum)), 0};
    uint64_t state = argument_count == 3 ? strtoull(arguments[1], NULL, 10) : 0;
    const char *folder = arguments[2];
    struct cpt_tree *base = NULL;
    struct cpt_tree *other = NULL;

    if (state == 0 || sums.rows == NULL) {
        fprintf(stderr, "usage: pprof_profiles SEED FOLDER\n");
        return 2;
    }
    base = tree_random(&state, 30);
    other = tree_random(&state, 40);
    (void)cpt_tree_note(base, "entry", "A");
    (void)cpt_tree_note(base, "where", "arm=control");
    write_profile(folder, "base.pb.gz", base);
    write_profile(folder, "new.pb.gz", other);
    print_stacks(folder, "base.stacks", base);
    add_tree(&sums, base, 0, 1);
    print_sums(folder, "base.frames", &sums);
    add_tree(&sums, base, 1, 1);
    print_sums(folder, "base.services", &sums);
    add_tree(&sums, base, 0, -1);
    add_tree(&sums, other, 0, 1);
    print_sums(folder, "diff.frames", &sums);
    printf("%" PRIu64 " %" PRIu64 "\n", cpt_tree_request_count(base),
           cpt_tree_request_count(other));
    cpt_tree_free(base);
    cpt_tree_free(other);
    cpt_alloc_free(NULL, sums.rows);
    return 0;
}
