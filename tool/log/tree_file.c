/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tree_file.c - trees from files and to files; see tree_file.h */
#include "tool/log/tree_file.h"

#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest tree file: it is held in memory beside its tree. */
#define TREE_BYTES_MAX ((size_t)1 << 32)

int cpti_tree_read(struct cpti_input *input, struct cpt_tree **tree, uint64_t *digest)
{
    struct cpt_error error = {0};
    unsigned char *data;
    size_t bytes;
    int status = cpti_input_slurp(input, TREE_BYTES_MAX, &data, &bytes);

    *tree = NULL;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (cpt_tree_decode(NULL, NULL, data, bytes, tree, &error) != CPT_OK) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_input_name(input),
                                                 .has_byte = true,
                                                 .byte = error.offset},
                                "%s", error.sentence);
    }
    *digest = cpt_hash_bytes(0, data, bytes);
    free(data);
    return status;
}

int cpti_tree_version(const struct cpti_arguments *arguments, unsigned *version)
{
    const char *text = cpti_value(arguments, "tree-version");

    *version = 0;
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(text, "1") != 0 && strcmp(text, "2") != 0) {
        return cpti_usage("option '--tree-version' takes 1 or 2, not '%s'",
                          cpti_quoted(text));
    }
    *version = (unsigned)(text[0] - '0');
    return CPTI_EXIT_DONE;
}

void cpti_tree_become(struct cpt_tree *tree, unsigned version)
{
    if (version == 1) {
        cpt_tree_forget_cubes(tree);
    } else if (version == 2) {
        cpt_tree_forget_drags(tree);
    }
}

int cpti_tree_write(const char *path, const struct cpt_tree *tree)
{
    struct cpti_output output;
    const struct cpt_sink sink = {cpti_output_write, &output};
    int status = cpti_output_open(&output, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    /* the commit reports failed writes */
    if (cpt_tree_write(NULL, tree, &sink) == CPT_NO_MEMORY) {
        cpti_output_abort(&output);
        return cpti_failed("out of memory");
    }
    return cpti_output_commit(&output);
}

cpt_status cpti_tree_absorb(struct cpt_tree **tree, struct cpt_tree **from)
{
    if (cpt_tree_node_count(*from) > cpt_tree_node_count(*tree)) {
        struct cpt_tree *smaller = *tree;

        *tree = *from;
        *from = smaller;
    }
    return cpt_tree_merge(*tree, *from);
}
