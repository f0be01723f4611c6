/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* visits_record.c - see visits_record.h */
#include "tool/log/visits_record.h"

#include "tool/log/span_records.h"
#include "wire/cpt_metadata.h"

/* The attribute with them, or NULL. */
static const struct cpt_attribute *visits_of(const struct cpt_record *record)
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(CPTI_VISITS_KEY));

    return attribute != NULL && attribute->type == CPT_ATTRIBUTE_TEXT ? attribute
                                                                      : NULL;
}

bool cpti_visits_has(const struct cpt_record *record)
{
    return visits_of(record) != NULL;
}

cpt_status cpti_visits_read(const struct cpt_record *record, struct cpt_path *path)
{
    const struct cpt_bytes bytes = visits_of(record)->value.text;
    const struct cpt_metadata_decode_options options = {
        .struct_bytes = sizeof options,
        .bytes_max = SIZE_MAX,
        .segments_max = CPT_PATH_SEGMENTS_MAX,
        .frames_max = CPT_PATH_FRAMES_MAX,
        .labels_max = CPT_PATH_LABELS_MAX,
        .depth_max = CPT_PATH_DEPTH_MAX,
        .name_bytes_max = SIZE_MAX};

    cpt_path_reset(path);
    return cpt_metadata_decode(bytes.data, bytes.bytes, &options, path, NULL);
}
