/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * select.h - which requests count
 *
 * A selection has terms that must all hold, in the language of expression.h, a time
 * window and an entry service. By default it leaves out requests with forced tracing,
 * which are not chosen at random, the own records of inner services (local roots), as
 * the entry service may have a record of the same request, and fragments: what is known
 * of requests whose root was lost, which took longer. Records that were made from event
 * logs count only where nothing else is selected (stream.h).
 *
 * Percentiles are known only after a first pass over all files; see gather.h.
 *
 * A selection holds memory from the first call of cpti_selection_has() to
 * cpti_selection_deinit(); before, it may be copied by assignment. It is large: about
 * 60 KiB.
 */
#ifndef CPTI_CLI_SELECT_H
#define CPTI_CLI_SELECT_H

#include "tool/select/expression.h"
#include "tool/base/folders.h"
#include "tool/base/options.h"
#include "cpt/cpt_name.h"

struct cpt_log_index;
struct cpt_log_index_block;
struct cpt_record;
struct cpt_tree;

/* The options of each command with a selection. */
extern const struct cpti_option cpti_select_options[];

/* The options of a sample, for commands that aggregate requests. */
extern const struct cpti_option cpti_sample_options[];

/* The option of commands that count requests: whether copies of a record count. */
extern const struct cpti_option cpti_count_options[];

/* The default size of a sample, and the largest. */
enum { CPTI_SAMPLE_DEFAULT = 100000, CPTI_SAMPLE_MAX = 100000000 };

/* What becomes of records that were made from event logs. */
enum cpti_events {
    CPTI_EVENTS_ALONE, /* not known yet: only if there are no others */
    CPTI_EVENTS_LEFT,  /* there are others */
    CPTI_EVENTS_TAKEN
};

struct cpti_selection {
    struct cpti_expression expression;
    struct cpt_bytes texts[CPTI_EXPRESSION_TERMS_MAX]; /* that were added; borrowed */
    /* whether a record had the key of the test: a key that none has may be mistyped */
    bool was_seen[CPTI_EXPRESSION_TESTS_MAX];
    size_t unseen_count;
    struct cpti_scratch scratch;
    uint64_t since_ns; /* wall clock; 0: no limit */
    uint64_t until_ns; /* UINT64_MAX: no limit */
    const char *since; /* as given by the user; NULL: not given */
    const char *until;
    const char
        *entry; /* the entry service, as typed; NULL: any, if there is only one */
    bool includes_forced;
    bool includes_local_roots;
    bool includes_fragments;
    unsigned events;       /* enum cpti_events */
    bool has_evidence;     /* only requests of which … */
    unsigned evidence;     /* … enum cpt_evidence is known, or better */
    bool keeps_duplicates; /* each copy of a record counts */
    size_t seen_max;       /* records to compare for duplicates; 0: the default */
    bool is_random_only;   /* random is a term: see cpti_selection_weight() */
    uint64_t sample_count; /* the most requests; 0: all */
    uint64_t seed;         /* of the sample */
};

/* Reads the options of cpti_select_options and cpti_sample_options. enum cpti_exit. */
int cpti_selection_init(struct cpti_selection *selection,
                        const struct cpti_arguments *arguments);

/* Frees what cpti_selection_has() allocated. */
void cpti_selection_deinit(struct cpti_selection *selection);

/* Adds an expression, or the terms of "key=value,key=value". The text must outlive the
 * selection. Messages name @option. enum cpti_exit. */
int cpti_selection_add(struct cpti_selection *selection, const char *option,
                       const char *expression);

/* Prints @error and its place in @text, with a caret below. @what is that of which it
 * is the text. CPTI_EXIT_USAGE. */
int cpti_expression_refused(const char *what, struct cpt_bytes text,
                            const struct cpti_expression_error *error);

/* Whether --entry, if there is one, allows a record of the service @name: it is its
 * name, or its name as it is shown ("a\x3bb"). */
bool cpti_selection_enters(const struct cpti_selection *selection,
                           struct cpt_bytes name);

/* Whether @record is a fragment; whether it was made from an event log. */
bool cpti_is_fragment(const struct cpt_record *record);
bool cpti_is_of_events(const struct cpt_record *record);

/* How it is known who waited in the request of @record, whose path has @path_flags or,
 * in the second case, is looked into: enum cpt_evidence. */
unsigned cpti_evidence_of(const struct cpt_record *record, unsigned path_flags);
unsigned cpti_record_evidence(const struct cpt_record *record);

/* Whether a record is selected, or why not. */
enum cpti_selected {
    CPTI_SELECTED,
    CPTI_NOT_SELECTED,
    CPTI_FORCED_EXCLUDED,    /* all else holds, but its tracing was forced */
    CPTI_FRAGMENT_EXCLUDED,  /* all else holds, but it is a fragment */
    CPTI_EVENTS_EXCLUDED,    /* all else holds, but it was made from an event log */
    CPTI_LOCAL_ROOT_EXCLUDED /* all else holds, but it is an inner service's own */
};

/* Whether @selection selects @record, apart from its entry service and whether it is an
 * inner service's own. A record whose path decides and is invalid is selected: the
 * caller reports the error when it decodes the path. */
enum cpti_selected cpti_selection_has(struct cpti_selection *selection,
                                      const struct cpt_record *record);

/* The same with both conditions: whether @record counts in an average. */
enum cpti_selected cpti_selection_counts(struct cpti_selection *selection,
                                         const struct cpt_record *record);

/* The same in a first pass, for which cpti_expression_link() has left out the terms
 * with percentiles: whether the percentiles are taken of @record. */
enum cpti_selected cpti_selection_population(struct cpti_selection *selection,
                                             const struct cpt_record *record);

/* Whether @record is one of the requests that the terms of the selection choose from:
 * what they would be if there were none. */
bool cpti_selection_may_count(const struct cpti_selection *selection,
                              const struct cpt_record *record);

/* Whether an index can find blocks without a selected record. */
bool cpti_selection_may_pass(const struct cpti_selection *selection);

/* Whether, according to @index, a record of @block may be selected, or excluded only
 * for its kind. */
bool cpti_selection_may_have(const struct cpti_selection *selection,
                             const struct cpt_log_index *index,
                             const struct cpt_log_index_block *block);

/* Notes that blocks with @keys, a set of @index, were not read. */
void cpti_selection_note_passed(struct cpti_selection *selection,
                                const struct cpt_log_index *index, uint64_t keys);

/*
 * The weight of a selected record in an average; 0 if its probability is invalid. A
 * request sampled at random stands for 1/p requests. Where forced ones are included, no
 * request stands for a known number, and each counts 1. But if only random ones are
 * selected, each has its weight: a forced request was also drawn at random,
 * independently.
 */
uint64_t cpti_selection_weight(const struct cpti_selection *selection,
                               const struct cpt_record *record);

/* Writes the selection's notes into @tree. CPT_OK or the error of cpt_tree_note(). */
cpt_status cpti_selection_note(const struct cpti_selection *selection,
                               struct cpt_tree *tree);

/* Whether it has a term: --where, --since, --until or --entry. */
bool cpti_selection_has_terms(const struct cpti_selection *selection);

/* Whether it has a condition that a tree can no longer answer. */
bool cpti_selection_is_narrow(const struct cpti_selection *selection);

/* Notes in @selection the keys that its copy @from, used by a thread, has seen, and
 * frees the memory of @from. */
void cpti_selection_join(struct cpti_selection *selection, struct cpti_selection *from);

/* Whether a term asks for the path of a request. */
bool cpti_selection_has_paths(const struct cpti_selection *selection);

/* The first key that no record had; empty if there is no such key. */
struct cpt_bytes cpti_selection_unseen(const struct cpti_selection *selection);

/* Whether a KEY=VALUE looks as if an expression was meant. */
bool cpti_selection_is_doubtful(const struct cpti_selection *selection);

#endif
