/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_check.c - whether the index of a log agrees with its records; see log_check.h
 *
 * For each block an index of that block alone is made from its records. The file's
 * index must include it: a range that is too wide, or a set that is too large, costs
 * the reading of a block; one that is too small would hide records.
 */
#include "tool/log/log_check.h"

#include "tool/base/command.h"
#include "tool/requests/log_passing.h"
#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <inttypes.h>
#include <stdbool.h>

/* The most messages of a file; and the largest block that any reader accepts. */
enum { MESSAGES_MAX = 10, BLOCK_BYTES_MAX = CPT_LOG_RECORD_BYTES_MAX + 128 * 1024 };

struct checking {
    struct cpti_input *input;
    const struct cpt_log_index *index;
    unsigned char *block; /* room for the largest so far */
    size_t capacity;
    size_t hidden_count; /* blocks about which the index is wrong */
};

/* --- One block --- */

static bool has_services(const struct checking *checking,
                         const struct cpt_log_index_block *said,
                         const struct cpt_log_index *own)
{
    for (size_t i = 0; i < cpt_log_index_service_count(own); i++) {
        if ((said->services & cpt_log_index_service_set(
                                  checking->index, cpt_log_index_service(own, i))) ==
            0) {
            return false;
        }
    }
    return true;
}

static bool has_keys(const struct checking *checking,
                     const struct cpt_log_index_block *said,
                     const struct cpt_log_index *own)
{
    for (size_t i = 0; i < cpt_log_index_key_count(own); i++) {
        if ((said->keys &
             cpt_log_index_key_set(checking->index, cpt_log_index_key(own, i))) == 0) {
            return false;
        }
    }
    return true;
}

/* What in @said would hide a record of a block whose own index is @own; NULL: nothing.
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

/* Reads the block of @said. False if it is missing or too long, as then no reader
 * trusts its entry; and without memory, with *@exit_status set. */
static bool read_block(struct checking *checking,
                       const struct cpt_log_index_block *said, int *exit_status)
{
    const cpt_status status =
        cpt_alloc_grow(NULL, (void **)&checking->block, &checking->capacity,
                       (size_t)said->bytes, BLOCK_BYTES_MAX, 1);

    if (status == CPT_NO_MEMORY) {
        *exit_status = cpti_failed("out of memory");
    }
    if (status != CPT_OK) {
        return false;
    }
    return cpti_input_read_at(checking->input, said->offset, checking->block,
                              (size_t)said->bytes) == CPT_OK;
}

static int check_block(struct checking *checking,
                       const struct cpt_log_index_block *said)
{
    struct cpt_log_index *own;
    const char *hides = NULL;
    int exit_status = CPTI_EXIT_DONE;

    if (!read_block(checking, said, &exit_status)) {
        return exit_status;
    }
    own = cpt_log_index_new(NULL);
    if (own == NULL ||
        cpt_log_index_add(own, 0, checking->block, (size_t)said->bytes) != CPT_OK) {
        exit_status = cpti_failed("out of memory");
    } else if (cpt_log_index_count(own) == 1 &&
               cpt_log_index_block(own, 0)->payload_crc == said->payload_crc) {
        hides = what_hides(checking, said, own);
    }
    cpt_log_index_free(own);
    if (hides != NULL && checking->hidden_count++ < MESSAGES_MAX) {
        cpti_warn_at((struct cpti_at){.file = cpti_input_name(checking->input),
                                      .has_byte = true,
                                      .byte = said->offset},
                     "the index is wrong about this block: %s" CPTI_HINT
                     "make a sound one by --repair",
                     hides);
    }
    return exit_status;
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
        cpti_warn("%s: and about %zu more blocks", cpti_input_name(input),
                  checking.hidden_count - MESSAGES_MAX);
    }
    cpt_alloc_free(NULL, checking.block);
    cpt_log_index_free(index);
    return checking.hidden_count != 0 ? CPTI_EXIT_FAILED : status;
}
