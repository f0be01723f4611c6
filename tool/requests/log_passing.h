/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_passing.h - skips the blocks of a log that hold no selected record
 *
 * A finished log ends with an index of its blocks: times, latencies, entry services and
 * keys. By these a selection passes over blocks that cannot hold a selected record. The
 * result is the same as without an index. An input without a valid index, or without
 * seeking (a pipe), is read as a whole.
 */
#ifndef CPTI_CLI_LOG_PASSING_H
#define CPTI_CLI_LOG_PASSING_H

#include "tool/base/files.h"

struct cpt_log_index;
struct cpt_log_reader_options;
struct cpti_selection;

struct cpti_log_passing {
    struct cpti_selection *const *selections; /* a block is read if one needs it */
    size_t selection_count;
    struct cpt_log_index *index;
    uint64_t passed_keys; /* of the blocks that were passed over */
};

/* If an index can spare blocks for each selection, reads the index of @input and sets
 * the fields of @options by which a reader uses it. All must outlive the reader. */
void cpti_log_passing_init(struct cpti_log_passing *passing, struct cpti_input *input,
                           struct cpti_selection *const *selections,
                           size_t selection_count,
                           struct cpt_log_reader_options *options);

/* Notes in the selections the keys of blocks that were passed over. */
void cpti_log_passing_deinit(struct cpti_log_passing *passing);

/* The index at the end of a file, which the caller frees; NULL if there is no valid
 * one. */
struct cpt_log_index *cpti_log_index_of(struct cpti_input *input);

/* Whether @input ends with a valid index: its writer has finished it. */
bool cpti_log_is_finished(struct cpti_input *input);

#endif
