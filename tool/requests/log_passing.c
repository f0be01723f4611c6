/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_passing.c - skips blocks of a log; see log_passing.h */
#include "tool/requests/log_passing.h"

#include "tool/select/select.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

/* A cpt_log_wants_fn. */
static int wants(void *context, const struct cpt_log_index *index,
                 const struct cpt_log_index_block *block)
{
    struct cpti_log_passing *passing = context;

    for (size_t i = 0; i < passing->selection_count; i++) {
        if (cpti_selection_may_have(passing->selections[i], index, block)) {
            return 1;
        }
    }
    passing->passed_keys |= block->keys;
    return 0;
}

struct cpt_log_index *cpti_log_index_of(struct cpti_input *input)
{
    struct cpt_log_index_options options = {.struct_bytes = sizeof options,
                                            .read_at = cpti_input_read_at,
                                            .context = input,
                                            .input_bytes = cpti_input_bytes(input)};
    struct cpt_log_index *index = NULL;

    if (options.input_bytes == 0 ||
        cpt_log_index_read(&options, &index, NULL) != CPT_OK) {
        return NULL;
    }
    return index;
}

void cpti_log_passing_init(struct cpti_log_passing *passing, struct cpti_input *input,
                           struct cpti_selection *const *selections,
                           size_t selection_count,
                           struct cpt_log_reader_options *options)
{
    *passing = (struct cpti_log_passing){.selections = selections,
                                         .selection_count = selection_count};
    for (size_t i = 0; i < selection_count; i++) {
        if (!cpti_selection_may_pass(selections[i])) {
            return; /* one selection that needs all blocks is enough */
        }
    }
    if (selection_count == 0) {
        return;
    }
    passing->index = cpti_log_index_of(input);
    options->index = passing->index;
    options->seek = cpti_input_seek;
    options->wants = wants;
    options->wants_context = passing;
}

void cpti_log_passing_deinit(struct cpti_log_passing *passing)
{
    for (size_t i = 0; i < passing->selection_count && passing->index != NULL; i++) {
        cpti_selection_note_passed(passing->selections[i], passing->index,
                                   passing->passed_keys);
    }
    cpt_log_index_free(passing->index);
    *passing = (struct cpti_log_passing){.index = NULL};
}

bool cpti_log_is_finished(struct cpti_input *input)
{
    struct cpt_log_index *index = cpti_log_index_of(input);
    const bool is_finished = index != NULL;

    cpt_log_index_free(index);
    return is_finished;
}
