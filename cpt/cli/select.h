/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * select.h - which requests count
 *
 * A selection is a list of terms key=value that must all hold, a window of time, an
 * entry service, and whether requests that somebody forced are among them (by default
 * not: who forces a request does not choose it at random). A key is one of the record's
 * own fields or an attribute:
 *
 *      service method entry status        texts of the record
 *      forced random local_root failed    true or false
 *      trace_id                           32 hexadecimal digits
 *      anything else                      an attribute; meta.KEY is always one
 */
#ifndef CPTI_CLI_SELECT_H
#define CPTI_CLI_SELECT_H

#include "cpt/cli/options.h"
#include "cpt/cpt_name.h"

struct cpt_record;
struct cpt_tree;

/* The options that every command with a selection has. */
extern const struct cpti_option cpti_select_options[];

/* What the descriptions of those commands say about them. */
#define CPTI_SELECT_TEXT                                                               \
    "Of a path log only the selected requests count: those for which every --where "   \
    "holds and that arrived in the window. Its key is an attribute that the "          \
    "application set, or one of service, method, entry, status, forced, random, "      \
    "failed, local_root, trace_id; meta.KEY is always an attribute. Requests that "    \
    "somebody forced are left out unless --include-forced says otherwise. Requests "   \
    "of several entry services are never mixed: --entry chooses one."

struct cpti_term {
    struct cpt_bytes key; /* into the command line, or the text behind */
    struct cpt_bytes value;
    int is_attribute; /* meta.KEY */
    int was_seen;     /* some record had the key: a mistyped one shows by its absence */
};

enum { CPTI_TERMS_MAX = 64 };

struct cpti_selection {
    struct cpti_term terms[CPTI_TERMS_MAX];
    size_t term_count;
    uint64_t since_ns; /* wall clock; 0: no limit */
    uint64_t until_ns; /* UINT64_MAX: no limit */
    const char *since; /* as the user gave it; NULL if he did not */
    const char *until;
    const char *entry; /* the entry service; NULL: whichever there is */
    int includes_forced;
    int is_random_only; /* random=true is a term: see cpti_selection_weight() */
};

/* Reads the options of cpti_select_options. enum cpti_exit. */
int cpti_selection_init(struct cpti_selection *selection,
                        const struct cpti_arguments *arguments);

/* Adds the terms of "key=value,key=value", which must outlive the selection; @option
 * is named in messages. enum cpti_exit. */
int cpti_selection_add(struct cpti_selection *selection, const char *option,
                       const char *expression);

/* Why a record is not selected. */
enum cpti_selected {
    CPTI_SELECTED,
    CPTI_NOT_SELECTED,
    CPTI_FORCED_EXCLUDED /* all else holds, but somebody forced it */
};

/* Whether @record belongs to @selection; the entry service is not looked at. */
enum cpti_selected cpti_selection_has(struct cpti_selection *selection,
                                      const struct cpt_record *record);

/*
 * The weight of a selected record in an average, 0 if its probability is none. A
 * request that was traced by chance stands for 1/p others. A forced one would have been
 * traced in any case and stands for itself, unless only random ones are selected: then
 * it is there by chance too, since the coin knew nothing of the forcing.
 */
uint64_t cpti_selection_weight(const struct cpti_selection *selection,
                               const struct cpt_record *record);

/* Writes the selection's notes into @tree. CPT_OK or what cpt_tree_note() said. */
cpt_status cpti_selection_note(const struct cpti_selection *selection,
                               struct cpt_tree *tree);

/* Whether it says anything that a tree cannot be asked any more. */
int cpti_selection_is_narrow(const struct cpti_selection *selection);

/* The first term whose key no record had, or NULL. */
const struct cpti_term *cpti_selection_unseen(const struct cpti_selection *selection);

#endif
