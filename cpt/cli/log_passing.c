/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_passing.c - the blocks of a log that need not be read; see log_passing.h */
#include "cpt/cli/log_passing.h"

#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <time.h>

/* How often a log that is followed is looked at. */
static const struct timespec follow_pause = {0, 100000000};

static int is_narrow(const struct cpti_log_window *window)
{
    return window->since_ns != 0 || window->until_ns != UINT64_MAX ||
           window->entry != NULL;
}

static int window_wants(const struct cpti_log_window *window,
                        const struct cpt_log_index *index,
                        const struct cpt_log_index_block *block)
{
    return block->start_max_ns >= window->since_ns &&
           block->start_min_ns < window->until_ns &&
           (window->entry == NULL ||
            (block->services &
             cpt_log_index_service_set(index, cpt_bytes_of(window->entry))) != 0);
}

/* A cpt_log_wants_fn. */
static int wants(void *context, const struct cpt_log_index *index,
                 const struct cpt_log_index_block *block)
{
    const struct cpti_log_passing *passing = context;

    for (size_t i = 0; i < passing->window_count; i++) {
        if (window_wants(&passing->windows[i], index, block)) {
            return 1;
        }
    }
    return 0;
}

/* The index of a file; NULL if it has none that holds. */
static struct cpt_log_index *read_index(struct cpti_input *input)
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
                           const struct cpti_log_window *windows, size_t window_count,
                           struct cpt_log_reader_options *options)
{
    size_t narrow_count = 0;

    *passing = (struct cpti_log_passing){windows, window_count, NULL};
    for (size_t i = 0; i < window_count; i++) {
        narrow_count += is_narrow(&windows[i]) != 0;
    }
    /* one that wants all makes every block wanted */
    if (window_count == 0 || narrow_count != window_count) {
        return;
    }
    passing->index = read_index(input);
    options->index = passing->index;
    options->seek = cpti_input_seek;
    options->wants = wants;
    options->wants_context = passing;
}

void cpti_log_passing_deinit(struct cpti_log_passing *passing)
{
    cpt_log_index_free(passing->index);
    passing->index = NULL;
}

int cpti_log_is_finished(struct cpti_input *input)
{
    struct cpt_log_index *index = read_index(input);
    const int is_finished = index != NULL;

    cpt_log_index_free(index);
    return is_finished;
}

cpt_status cpti_log_read_following(void *context, void *buffer, size_t capacity,
                                   size_t *bytes)
{
    struct cpti_input *input = context;

    for (;;) {
        const uint64_t total_bytes = cpti_input_bytes(input);
        const cpt_status status = cpti_input_read(input, buffer, capacity, bytes);

        /* a pipe ends; a file that did not grow meanwhile may be finished */
        if (status != CPT_OK || *bytes != 0 || total_bytes == 0 ||
            (cpti_input_bytes(input) == total_bytes && cpti_log_is_finished(input))) {
            return status;
        }
        (void)fflush(stdout);
        (void)nanosleep(&follow_pause, NULL);
        clearerr(input->file);
    }
}
