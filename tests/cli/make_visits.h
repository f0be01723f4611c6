/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* make_visits.h - requests whose records have all visits: three are damaged; or one
 * record has none */
#ifndef MAKE_VISITS_H
#define MAKE_VISITS_H

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <string.h>

enum { VISITS_REQUESTS = 60 };

static inline cpt_status set_visits(struct cpt_path *path, struct cpt_record *record,
                                    unsigned index)
{
    static char bytes[256];
    static struct cpt_attribute attribute = {
        {"cpt.visits", 10}, CPT_ATTRIBUTE_TEXT, {.text = {bytes, 0}}};
    unsigned char *data = NULL;
    uint32_t entry = 0;
    size_t count = 0;
    cpt_status status;

    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, entry, 1000000 + index * 1000);
    }
    if (status == CPT_OK) {
        status = cpt_metadata_encode(path, NULL, &data, &count, NULL);
    }
    if (status == CPT_OK && count <= sizeof bytes) {
        memcpy(bytes, data, count);
    }
    cpt_alloc_free(NULL, data);
    attribute.value.text.bytes = index >= 3 && index < 6 ? count / 2 : count;
    record->attributes = &attribute;
    record->attribute_count = 1;
    return status;
}

/* Of request 9 only the path is known. */
static inline cpt_status set_some_visits(struct cpt_path *path,
                                         struct cpt_record *record, unsigned index)
{
    const cpt_status status = set_visits(path, record, 10);

    record->attribute_count = index != 9;
    return status;
}

#endif
