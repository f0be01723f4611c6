/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_group.c - frames that are made shorter together; see whatif_group.h */
#include "tool/whatif/whatif_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_words[] = {[CPTI_WHATIF_BY_FRAME] = "frame",
                                       [CPTI_WHATIF_BY_OPERATION] = "operation",
                                       [CPTI_WHATIF_BY_SERVICE] = "service"};

bool cpti_whatif_by_of(const char *word, enum cpti_whatif_by *by)
{
    for (size_t i = 0; i < sizeof by_words / sizeof by_words[0]; i++) {
        if (strcmp(word, by_words[i]) == 0) {
            *by = (enum cpti_whatif_by)i;
            return true;
        }
    }
    return false;
}

const char *cpti_whatif_by_word(enum cpti_whatif_by by)
{
    return by_words[by];
}

enum cpti_whatif_by cpti_whatif_by_default(const struct cpti_whatif_set *set)
{
    return set->counts.inferred != 0 ? CPTI_WHATIF_BY_SERVICE : CPTI_WHATIF_BY_FRAME;
}

/* The service of @name; a name without one is its own. */
static struct cpt_bytes service_of(struct cpt_bytes name)
{
    const struct cpt_bytes service = cpt_name_service(name);

    return service.bytes != 0 ? service : name;
}

struct cpt_whatif_frames cpti_whatif_group_frames(const struct cpti_whatif_set *set,
                                                  enum cpti_whatif_by by,
                                                  uint32_t frame)
{
    const struct cpt_dag_name name = cpt_whatif_frame(set->whatif, frame);
    const bool is_service = by == CPTI_WHATIF_BY_SERVICE;

    return (struct cpt_whatif_frames){.name = is_service ? service_of(name.name)
                                                         : name.name,
                                      .has_kind = by == CPTI_WHATIF_BY_FRAME,
                                      .kind = name.kind,
                                      .is_service = is_service,
                                      .is_exact = 1};
}

const char *cpti_whatif_group_text(const struct cpti_whatif_set *set,
                                   enum cpti_whatif_by by, uint32_t frame,
                                   char text[2 * CPT_NAME_BYTES_MAX])
{
    const struct cpt_bytes name = cpt_whatif_frame(set->whatif, frame).name;
    const struct cpt_bytes service = cpt_name_service(name);

    if (by == CPTI_WHATIF_BY_SERVICE && service.bytes != 0) {
        (void)snprintf(text, 2 * (size_t)CPT_NAME_BYTES_MAX, "%.*s: *",
                       (int)service.bytes, service.data);
        return text;
    }
    return cpti_whatif_frame_text(set, frame, text); /* work has no word of its kind */
}

/* The first frame of the group that @frame is in; @firsts has those of the names of
 * groups, which become @names. */
static cpt_status group_of(const struct cpti_whatif_set *set, enum cpti_whatif_by by,
                           uint32_t frame, struct cpt_names *names, uint32_t *firsts,
                           uint32_t *group)
{
    const struct cpt_dag_name name = cpt_whatif_frame(set->whatif, frame);
    const struct cpt_whatif_frames frames = cpti_whatif_group_frames(set, by, frame);
    const size_t count = cpt_names_count(names);
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;

    *group = by == CPTI_WHATIF_BY_FRAME ? frame : CPTI_WHATIF_NO_GROUP;
    if (by == CPTI_WHATIF_BY_FRAME || cpt_whatif_has(&frames, &name) == 0) {
        return CPT_OK;
    }
    status = cpt_names_add(names, frames.name, &id);
    if (status == CPT_OK) {
        if (cpt_names_count(names) != count) {
            firsts[id] = frame;
        }
        *group = firsts[id];
    }
    return status;
}

cpt_status cpti_whatif_groups(const struct cpti_whatif_set *set, enum cpti_whatif_by by,
                              uint32_t **groups)
{
    const size_t count = cpt_whatif_frame_count(set->whatif);
    struct cpt_names *names = cpt_names_new(NULL);
    uint32_t *firsts = calloc(count + 1, sizeof *firsts);
    cpt_status status = CPT_OK;

    *groups = calloc(count + 1, sizeof **groups);
    if (names == NULL || firsts == NULL || *groups == NULL) {
        status = CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        status = group_of(set, by, i, names, firsts, &(*groups)[i]);
    }
    if (status != CPT_OK) {
        free(*groups);
        *groups = NULL;
    }
    free(firsts);
    cpt_names_free(names);
    return status;
}
