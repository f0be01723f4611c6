/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * select.h - which requests count
 *
 * A selection is a list of terms that must all hold, in the language of expression.h, a
 * window of time, an entry service, and whether requests that somebody forced are among
 * them (by default not: who forces a request does not choose it at random). Nor are the
 * records that inner services made on their own account, unless somebody asks for them:
 * the entry may have one of the same request.
 *
 * Its percentiles are known only after a first pass over all files; see gather.h.
 *
 * A selection holds memory only between the first call of cpti_selection_has() and
 * cpti_selection_deinit(); before, it may be copied by assignment. It is large: some
 * 70 KiB.
 */
#ifndef CPTI_CLI_SELECT_H
#define CPTI_CLI_SELECT_H

#include "cpt/cli/select/expression.h"
#include "cpt/cli/base/options.h"
#include "cpt/cpt_name.h"

struct cpt_log_index;
struct cpt_log_index_block;
struct cpt_record;
struct cpt_tree;

/* The options that every command with a selection has. */
extern const struct cpti_option cpti_select_options[];

/* And those of a sample: commands that put requests together. */
extern const struct cpti_option cpti_sample_options[];

/* What the descriptions of those commands say about them. */
#define CPTI_SELECT_TEXT                                                               \
    "Of a path log only the selected requests count: those for which every --where "   \
    "holds and that arrived in the window. A --where is KEY=VALUE or an expression "   \
    "such as\n\n  arm == \"B\" and region in (\"eu\", \"us\") and latency > p99\n"     \
    "  has(page.carousel) and path(\"A: A2\") > 20ms\n\n"                              \
    "over attributes that the application set, service, method, entry, status, "       \
    "forced, random, failed, local_root, trace_id, latency, start and the time of "    \
    "frames and stacks; see cpt-select(7). Requests that somebody forced are left "    \
    "out unless --include-forced says otherwise, and so are inner services' own "      \
    "records, unless --entry or a term with local_root asks for them. Requests of "    \
    "several entry services are never mixed: --entry chooses one."

/* Requests of a sample whose size is not said, and the most that one can have. */
enum { CPTI_SAMPLE_DEFAULT = 100000, CPTI_SAMPLE_MAX = 100000000 };

struct cpti_selection {
    struct cpti_expression expression;
    struct cpt_bytes texts[CPTI_EXPRESSION_TERMS_MAX]; /* its terms, borrowed */
    /* some record had the key of the test: a mistyped one shows by its absence */
    unsigned char was_seen[CPTI_EXPRESSION_TESTS_MAX];
    size_t unseen_count;
    struct cpti_scratch scratch;
    uint64_t since_ns; /* wall clock; 0: no limit */
    uint64_t until_ns; /* UINT64_MAX: no limit */
    const char *since; /* as the user gave it; NULL if he did not */
    const char *until;
    const char *entry; /* the entry service; NULL: whichever there is */
    int includes_forced;
    int includes_local_roots; /* somebody asked for them */
    int is_random_only;       /* random is a term: see cpti_selection_weight() */
    uint64_t sample_count;    /* at most so many requests; 0: all */
    uint64_t seed;            /* of the sample */
};

/* Reads the options of cpti_select_options and cpti_sample_options. enum cpti_exit. */
int cpti_selection_init(struct cpti_selection *selection,
                        const struct cpti_arguments *arguments);

/* Gives back what cpti_selection_has() took. */
void cpti_selection_deinit(struct cpti_selection *selection);

/* Adds an expression, or the terms of "key=value,key=value"; the text must outlive the
 * selection. @option is named in messages. enum cpti_exit. */
int cpti_selection_add(struct cpti_selection *selection, const char *option,
                       const char *expression);

/* Why a record is not selected. */
enum cpti_selected {
    CPTI_SELECTED,
    CPTI_NOT_SELECTED,
    CPTI_FORCED_EXCLUDED,    /* all else holds, but somebody forced it */
    CPTI_LOCAL_ROOT_EXCLUDED /* or it is an inner service's own */
};

/*
 * Whether @record belongs to @selection; neither the entry service nor whether it is an
 * inner service's own is looked at. One whose path would decide and cannot be decoded
 * is said to be selected: who goes on to decode it finds out and says so.
 */
enum cpti_selected cpti_selection_has(struct cpti_selection *selection,
                                      const struct cpt_record *record);

/* The same with both looked at: whether it counts in an average. */
enum cpti_selected cpti_selection_counts(struct cpti_selection *selection,
                                         const struct cpt_record *record);

/* The same in a first pass, in which cpti_expression_link() has left out the terms with
 * percentiles: whether it is of those that they are percentiles of. */
int cpti_selection_is_population(struct cpti_selection *selection,
                                 const struct cpt_record *record);

/* Whether anything of it is such that an index can tell blocks without any selected
 * record. */
int cpti_selection_may_pass(const struct cpti_selection *selection);

/* Whether a record of @block may be selected, or one that would be but for being forced
 * or an inner service's own, by what @index says of the block. */
int cpti_selection_may_have(const struct cpti_selection *selection,
                            const struct cpt_log_index *index,
                            const struct cpt_log_index_block *block);

/* Notes that blocks with @keys, a set of @index, were not looked at. */
void cpti_selection_note_passed(struct cpti_selection *selection,
                                const struct cpt_log_index *index, uint64_t keys);

/*
 * The weight of a selected record in an average, 0 if its probability is none. A
 * request that was traced by chance stands for 1/p others. Where forced ones are
 * included nobody knows what a request stands for, and each counts 1, unless only
 * random ones are selected: then a forced one is there by chance too, since the coin
 * knew nothing of the forcing.
 */
uint64_t cpti_selection_weight(const struct cpti_selection *selection,
                               const struct cpt_record *record);

/* Writes the selection's notes into @tree. CPT_OK or what cpt_tree_note() said. */
cpt_status cpti_selection_note(const struct cpti_selection *selection,
                               struct cpt_tree *tree);

/* Whether it says anything that a tree cannot be asked any more. */
int cpti_selection_is_narrow(const struct cpti_selection *selection);

/* Notes in @selection what its copy @from, which a thread used, has seen; and gives
 * back what the copy took. */
void cpti_selection_join(struct cpti_selection *selection, struct cpti_selection *from);

/* The first key that no record had; empty if there is none. */
struct cpt_bytes cpti_selection_unseen(const struct cpti_selection *selection);

/* Whether a term of the simple form looks as if an expression had been meant. */
int cpti_selection_is_doubtful(const struct cpti_selection *selection);

#endif
