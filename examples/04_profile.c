/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 04_profile.c - many paths to one tree, and the tree to profile.pb.gz
 *
 *      path, path, path --> tree --> profile.pb.gz --> go tool pprof
 *
 * Half of the requests have ads on their path, the other half index: the average shows
 * both, although no request had both.
 */
#include <cpt/cpt_path.h>
#include <cpt/cpt_pprof.h>
#include <cpt/cpt_stats.h>
#include <cpt/cpt_tree.h>

#include <stdio.h>

/* A path of the entry and one task. */
static cpt_status make_path(struct cpt_path *path, const char *task, uint64_t task_ns)
{
    uint32_t entry = 0;
    uint32_t frame = 0;
    cpt_status status = cpt_path_frame_add(
        path, CPT_FRAME_NONE, cpt_bytes_of("A: /search"), CPT_KIND_WORK, &entry);

    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, entry, 200000);
    }
    if (status == CPT_OK) {
        status =
            cpt_path_frame_add(path, entry, cpt_bytes_of(task), CPT_KIND_WORK, &frame);
    }
    return status == CPT_OK ? cpt_path_append_ns(path, frame, task_ns) : status;
}

static cpt_status fill_tree(struct cpt_tree *tree, struct cpt_path *path)
{
    cpt_status status = cpt_tree_note(tree, "entry", "A");

    for (unsigned i = 0; i < 1000 && status == CPT_OK; i++) {
        cpt_path_reset(path);
        status = i % 2 == 0 ? make_path(path, "A: index", 400000 + i * 10)
                            : make_path(path, "A: ads", 300000 + i * 10);
        if (status == CPT_OK) {
            status = cpt_tree_add(tree, path, CPT_WEIGHT_ONE);
        }
    }
    return status;
}

/* Prints the tree as text. */
static cpt_status print_tree(const struct cpt_tree *tree)
{
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_TIME);
    char frame[CPT_TREE_FRAME_TEXT_BYTES];

    if (walk == NULL) {
        return CPT_NO_MEMORY;
    }
    (void)printf("  self ms  presence\n");
    for (uint32_t i = 1; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);
        const struct cpt_stats stats = cpt_stats_of(tree, row->node);

        (void)cpt_tree_frame_text(tree, row->node, frame, sizeof frame);
        (void)printf("%9.3f  %8.2f  %*s%s\n", (double)row->self_ns / 1e6,
                     stats.presence, 2 * ((int)row->depth - 1), "", frame);
    }
    (void)printf("%9.3f            the average request\n",
                 (double)cpt_tree_walk_row(walk, 0)->inclusive_ns / 1e6);
    cpt_tree_walk_free(walk);
    return CPT_OK;
}

static cpt_status write_some(void *file, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, file) == bytes ? CPT_OK : CPT_IO;
}

static cpt_status write_profile(const struct cpt_tree *tree, struct cpt_error *error)
{
    FILE *file = fopen("profile.pb.gz", "wb");
    const struct cpt_sink sink = {write_some, file};
    cpt_status status = CPT_IO;

    if (file != NULL) {
        status = cpt_pprof_write(NULL, tree, NULL, &sink, error);
        status = fclose(file) == 0 ? status : CPT_IO;
    }
    return status;
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    cpt_status status = path != NULL && tree != NULL ? CPT_OK : CPT_NO_MEMORY;

    status = status == CPT_OK ? fill_tree(tree, path) : status;
    status = status == CPT_OK ? print_tree(tree) : status;
    status = status == CPT_OK ? write_profile(tree, &error) : status;
    if (status == CPT_OK) {
        (void)printf("go tool pprof -unit=ms -top profile.pb.gz\n");
    } else {
        (void)fprintf(stderr, "04_profile: %s %s\n", cpt_status_sentence(status),
                      error.sentence);
    }
    cpt_tree_free(tree);
    cpt_path_free(path);
    return status == CPT_OK ? 0 : 1;
}
