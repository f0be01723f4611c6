/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather.h - from files to trees: every command that takes a tree takes logs too
 *
 *      a.cptlog --.   records that the selection takes
 *      b.cptlog --+-> cpt_tree_add  --.
 *      c.cpttree ---> cpt_tree_merge --'--> one tree, with notes of what it holds
 *
 * A log can be read for two trees at once (`cpt diff LOG --base … --new …`), each with
 * its own selection. Several entry services are never put together: that is an error
 * which lists them.
 */
#ifndef CPTI_CLI_GATHER_H
#define CPTI_CLI_GATHER_H

#include "cpt/cli/select.h"

struct cpt_tree;

/* A tree to be made. */
struct cpti_gather {
    struct cpti_selection *selection;
    const char *what;      /* "base", to tell several apart in messages; or NULL */
    struct cpt_tree *tree; /* out: the caller frees it, also after an error */
};

/* Entry services that are listed; more are counted. */
enum { CPTI_SERVICES_MAX = 32 };

/*
 * Reads @path_count files at @paths into the @gather_count trees at @gathers. A file
 * that is a tree goes whole into each, and only a selection without terms allows it.
 *
 * CPTI_EXIT_DONE; CPTI_EXIT_FAILED, where *@is_usable says whether the trees are there
 * nevertheless because just some records were skipped; CPTI_EXIT_USAGE.
 */
int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, int stops_at_error,
                int *is_usable);

/* The usual case: all operands of @arguments into one tree, by the options of
 * cpti_select_options. As above; the caller frees *@tree. */
int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         int *is_usable);

#endif
