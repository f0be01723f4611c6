/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_file.h - trees from files and to files
 *
 * Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_TREE_FILE_H
#define CPTI_CLI_TREE_FILE_H

#include "tool/base/files.h"

#include <stdbool.h>

struct cpt_tree;
struct cpti_arguments;

/* The option --tree-version of commands that write trees. */
#define CPTI_TREE_VERSION_OPTION                                                       \
    {                                                                                  \
        "tree-version", 0, "NUMBER",                                                   \
            "write this version of the file: 1 for tools of release 0.1, 2 without "   \
            "drags; default: 2, or 3 where requests have drags"                        \
    }

/* Reads --tree-version: 1 or 2; 0: the default. enum cpti_exit. */
int cpti_tree_version(const struct cpti_arguments *arguments, unsigned *version);

/* Makes @tree one that is written as this version. */
void cpti_tree_become(struct cpt_tree *tree, unsigned version);

/* Reads the rest of @input as a tree, which the caller owns; *@digest gets a hash of
 * its bytes. enum cpti_exit; after a failure *@tree is NULL. */
int cpti_tree_read(struct cpti_input *input, struct cpt_tree **tree, uint64_t *digest);

/* Writes @tree to the file @path; "-" is standard output. enum cpti_exit. */
int cpti_tree_write(const char *path, const struct cpt_tree *tree);

/*
 * Adds *@from to *@tree. May swap them first, as adding the smaller one is less work;
 * the caller frees both. Errors of cpt_tree_merge(); after one neither is usable.
 */
cpt_status cpti_tree_absorb(struct cpt_tree **tree, struct cpt_tree **from);

#endif
