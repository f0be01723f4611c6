/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_check.c - whether the index of a log says what is so; see log_check.h
 *
 * For each block that it lists an index of that block alone is made from its records.
 * What the file's index says must include what that one says: a range may be wider than
 * need be and a set larger, then a block is read in vain; the other way round records
 * would be hidden.
 */
#include "cpt/cli/gather/log_check.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/select/log_passing.h"
#include "cpt/cli/base/output.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <inttypes.h>
#include <stdlib.h>

/* Messages of one file; and of a block what no reader takes is not looked at. */
enum { MESSAGES_MAX = 10, BLOCK_BYTES_MAX = CPT_LOG_RECORD_BYTES_MAX + 128 * 1024 };

struct checking {
    struct cpti_input *input;
    const struct cpt_log_index *index;
    unsigned char *block; /* room for the largest so far */
    size_t capacity;
    size_t hidden_count; /* blocks that it tells wrong things of */
};

/* --- One block --- */

static int has_services(const struct checking *checking,
                        const struct cpt_log_index_block *said,
                        const struct cpt_log_index *own)
{
    for (size_t i = 0; i < cpt_log_index_service_count(own); i++) {
        if ((said->services & cpt_log_index_service_set(
                                  checking->index, cpt_log_index_service(own, i))) ==
            0) {
            return 0;
        }
    }
    return 1;
}

static int has_keys(const struct checking *checking,
                    const struct cpt_log_index_block *said,
                    const struct cpt_log_index *own)
{
    for (size_t i = 0; i < cpt_log_index_key_count(own); i++) {
        if ((said->keys &
             cpt_log_index_key_set(checking->index, cpt_log_index_key(own, i))) == 0) {
            return 0;
        }
    }
    return 1;
}

/* What of @said would hide a record of a block whose own index is @own; NULL: nothing.
 */
static const char *what_hides(const struct checking *checking,
                              const struct cpt_log_index_block *said,
                              const struct cpt_log_index *own)
{
    const struct cpt_log_index_block *is = cpt_log_index_block(own, 0);

    if (said->start_min_ns > is->start_min_ns ||
        said->start_max_ns < is->start_max_ns) {
        return "when requests arrived";
    }
    if (said->latency_min_ns > is->latency_min_ns ||
        said->latency_max_ns < is->latency_max_ns) {
        return "how long requests took";
    }
    if (!has_services(checking, said, own)) {
        return "where requests entered";
    }
    return has_keys(checking, said, own) ? NULL : "which keys there are";
}

/* Reads @said's block. 0 if it is not there, or not what the index was made from: then
 * no reader believes what is said of it. CPT_NO_MEMORY is told by *@failed. */
static int read_block(struct checking *checking, const struct cpt_log_index_block *said,
                      int *failed)
{
    if (said->bytes > BLOCK_BYTES_MAX) {
        return 0;
    }
    if (said->bytes > checking->capacity) {
        unsigned char *grown = realloc(checking->block, (size_t)said->bytes);

        if (grown == NULL) {
            *failed = cpti_failed("out of memory");
            return 0;
        }
        checking->block = grown;
        checking->capacity = (size_t)said->bytes;
    }
    return cpti_input_read_at(checking->input, said->offset, checking->block,
                              (size_t)said->bytes) == CPT_OK;
}

static int check_block(struct checking *checking,
                       const struct cpt_log_index_block *said)
{
    struct cpt_log_index *own;
    const char *hides = NULL;
    int failed = CPTI_EXIT_DONE;

    if (!read_block(checking, said, &failed)) {
        return failed;
    }
    own = cpt_log_index_new(NULL);
    if (own == NULL ||
        cpt_log_index_add(own, 0, checking->block, (size_t)said->bytes) != CPT_OK) {
        failed = cpti_failed("out of memory");
    } else if (cpt_log_index_count(own) == 1 &&
               cpt_log_index_block(own, 0)->payload_crc == said->payload_crc) {
        hides = what_hides(checking, said, own);
    }
    cpt_log_index_free(own);
    if (hides != NULL && checking->hidden_count++ < MESSAGES_MAX) {
        cpti_warn("%s: at byte %" PRIu64
                  ": the index is wrong about this block: %s; make a sound one by "
                  "--repair",
                  cpti_input_name(checking->input), said->offset, hides);
    }
    return failed;
}

/* --- All of it --- */

int cpti_log_check_index(struct cpti_input *input)
{
    struct cpt_log_index *index = cpti_log_index_of(input);
    struct checking checking = {.input = input, .index = index};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0;
         index != NULL && i < cpt_log_index_count(index) && status == CPTI_EXIT_DONE;
         i++) {
        status = check_block(&checking, cpt_log_index_block(index, i));
    }
    if (checking.hidden_count > MESSAGES_MAX) {
        cpti_warn("%s: and about %zu blocks more", cpti_input_name(input),
                  checking.hidden_count - MESSAGES_MAX);
    }
    free(checking.block);
    cpt_log_index_free(index);
    return checking.hidden_count != 0 ? CPTI_EXIT_FAILED : status;
}
