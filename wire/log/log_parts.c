/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_parts.c - where a path log can be cut; see cpt_log_parts.h */
#include "wire/cpt_log_parts.h"

#include "wire/log/log_format.h"

#define PART_BYTES_DEFAULT (UINT64_C(1) << 20)

/* A position in the chain of heads. */
struct chain {
    const struct cpt_log_parts_options *options;
    uint64_t at;           /* where a head is expected */
    uint64_t record_count; /* of the blocks before */
};

/* Moves on behind the block at the position. Returns false if there is no sound block
 * within the limit: in a longer one a reader searches for the next head. */
static bool follow(struct chain *chain)
{
    const struct cpt_log_parts_options *options = chain->options;
    unsigned char data[CPTI_LOG_HEAD_BYTES];
    struct cpti_log_head head;

    if (chain->at > options->input_bytes ||
        options->input_bytes - chain->at < sizeof data ||
        options->read_at(options->context, chain->at, data, sizeof data) != CPT_OK ||
        !cpti_log_head_read(&head, data) ||
        head.payload_bytes > options->block_bytes_max) {
        return false;
    }
    chain->at += CPTI_LOG_HEAD_BYTES + (uint64_t)head.payload_bytes;
    if (head.type == CPTI_LOG_BLOCK_RECORDS || head.type == CPTI_LOG_BLOCK_ZSTD) {
        chain->record_count += head.record_count;
    }
    return true;
}

/* Whether a sound block is at the position. */
static bool is_head(const struct chain *chain)
{
    struct chain ahead = *chain;

    return follow(&ahead);
}

/* Where part @number would begin if all parts had the same length. */
static uint64_t wanted_offset(const struct cpt_log_parts_options *options,
                              size_t number)
{
    return options->input_bytes / options->part_count_max * number;
}

static size_t cut(const struct cpt_log_parts_options *options,
                  struct cpt_log_part *parts)
{
    struct chain chain = {options, 0, 0};
    size_t count = 1;

    parts[0] = (struct cpt_log_part){0, options->input_bytes, 0};
    while (count < options->part_count_max && follow(&chain)) {
        const struct cpt_log_part *last = &parts[count - 1];

        if (chain.at < wanted_offset(options, count) ||
            chain.at - last->offset < options->part_bytes || !is_head(&chain)) {
            continue;
        }
        parts[count - 1].end_offset = chain.at;
        parts[count] =
            (struct cpt_log_part){chain.at, options->input_bytes, chain.record_count};
        count++;
    }
    return count;
}

cpt_status cpt_log_parts(const struct cpt_log_parts_options *given,
                         struct cpt_log_part *parts, size_t *part_count,
                         struct cpt_error *error)
{
    struct cpt_log_parts_options options;
    const cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    if (status != CPT_OK) {
        return status;
    }
    if (options.read_at == NULL || options.part_count_max > CPT_LOG_PARTS_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a log is cut into 1 to %d parts, by a function that "
                             "reads it",
                             CPT_LOG_PARTS_MAX);
    }
    options.part_count_max += options.part_count_max == 0;
    if (options.part_bytes == 0) {
        options.part_bytes = PART_BYTES_DEFAULT;
    }
    if (options.block_bytes_max == 0) {
        options.block_bytes_max = CPTI_LOG_BLOCK_BYTES_MAX;
    }
    *part_count = cut(&options, parts);
    return CPT_OK;
}
