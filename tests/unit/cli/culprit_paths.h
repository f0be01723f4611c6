/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_paths.h - paths by hand, and what is found of them, for tests of culprits */
#ifndef TESTS_CULPRIT_PATHS_H
#define TESTS_CULPRIT_PATHS_H

#include "tests/support/suites.h"

#include "tool/culprit/culprit.h"

static inline uint32_t add(struct cpt_path *path, uint32_t parent, const char *name)
{
    uint32_t frame = CPT_FRAME_NONE;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), CPT_KIND_WORK, &frame),
        CPT_OK);
    return frame;
}

static inline void put(struct cpt_path *path, uint32_t frame, uint64_t ns)
{
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, ns), CPT_OK);
}

/* @ns of @kind right below @frame. */
static inline void put_kind(struct cpt_path *path, uint32_t frame, unsigned kind,
                            uint64_t ns)
{
    uint32_t below = CPT_FRAME_NONE;

    CU_ASSERT_EQUAL(cpt_path_frame_add(path, frame, cpt_bytes_of(""), kind, &below),
                    CPT_OK);
    put(path, below, ns);
}

static inline const struct cpti_suspect *find(const struct cpti_culprit *culprit,
                                              const char *name)
{
    for (size_t i = 0; i < cpti_culprit_suspect_count(culprit); i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        if (cpt_bytes_equal(suspect->name, cpt_bytes_of(name))) {
            return suspect;
        }
    }
    return NULL;
}

#endif
