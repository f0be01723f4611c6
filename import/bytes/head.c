/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* head.c - the beginning of a file that is read twice; see head.h */
#include "import/bytes/head.h"

#include <string.h>

cpt_status cpti_head_init(struct cpti_head *head, const struct cpt_alloc *alloc,
                          cpt_read_fn read, void *context)
{
    *head = (struct cpti_head){.alloc = alloc != NULL ? alloc : cpt_alloc_default(),
                               .read = read,
                               .context = context,
                               .is_look = true};
    head->bytes = cpt_alloc_zeroed(head->alloc, CPTI_HEAD_BYTES_MAX);
    return head->bytes != NULL ? CPT_OK : CPT_NO_MEMORY;
}

void cpti_head_deinit(struct cpti_head *head)
{
    if (head->bytes != NULL) {
        cpt_alloc_free(head->alloc, head->bytes);
        head->bytes = NULL;
    }
}

void cpti_head_rewind(struct cpti_head *head)
{
    head->at = 0;
    head->is_look = false;
}

/* Reads more of the file behind the head. */
static cpt_status read_more(struct cpti_head *head)
{
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    if (head->count < CPTI_HEAD_BYTES_MAX) {
        status = head->read(head->context, head->bytes + head->count,
                            CPTI_HEAD_BYTES_MAX - head->count, &bytes);
        head->count += bytes;
    }
    return status;
}

cpt_status cpti_head_read(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_head *head = context;
    cpt_status status = CPT_OK;

    if (head->at == head->count && !head->is_look) {
        return head->read(head->context, buffer, capacity, bytes);
    }
    if (head->at == head->count) {
        status = read_more(head);
    }
    *bytes = head->count - head->at;
    *bytes = *bytes < capacity ? *bytes : capacity;
    if (*bytes > 0) {
        memcpy(buffer, head->bytes + head->at, *bytes);
    }
    head->at += *bytes;
    return status;
}
