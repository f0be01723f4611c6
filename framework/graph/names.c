/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * names.c - names of tasks that outlive their plans, and names that requests make up
 *
 * The occupant of a worker while a task queued may be of any plan, even of one that is
 * gone when the path is made. So names of tasks are numbered once for the process and
 * never forgotten. There are as many as programmers have written; if a program makes
 * names up, those beyond NAMES_MAX have no number, and are shown as no occupant.
 *
 * Work elsewhere and components are named while a request runs. A name for each user or
 * each item would make every profile useless and a log large, so a plan has at most
 * CPT_PLAN_NAMES_MAX of them; any further name is ‹other›.
 *
 * Threads: any; one lock, taken when a plan is made, when a walk needs a name and when
 * a traced task names something.
 */
#include "framework/pool/lock.h"
#include "framework/graph/plan.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20 };

static struct {
    struct cpti_lock lock; /* guards the rest, and made_up_names of every plan */
    struct cpt_names *numbers;
    struct cpt_bytes *names; /* by number */
    size_t capacity;
} known = {.lock = CPTI_LOCK_INITIALIZER(CPTI_RANK_NAMES)};

/* A copy for ever at place @id, which is new. */
static cpt_status keep_name(struct cpt_bytes name, cpt_name_id id)
{
    char *text = NULL;
    cpt_status status = cpt_alloc_grow(NULL, (void **)&known.names, &known.capacity,
                                       (size_t)id + 1, NAMES_MAX, sizeof *known.names);

    if (status != CPT_OK) {
        return status;
    }
    text = malloc(name.bytes + 1);
    known.names[id] = (struct cpt_bytes){NULL, 0};
    if (text == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(text, name.data, name.bytes);
    text[name.bytes] = '\0';
    known.names[id] = (struct cpt_bytes){text, name.bytes};
    return CPT_OK;
}

static uint32_t number_of(struct cpt_bytes name)
{
    cpt_name_id id = 0;

    if (known.numbers == NULL) {
        known.numbers = cpt_names_new(NULL);
    }
    if (known.numbers == NULL) {
        return 0;
    }
    if (cpt_names_find(known.numbers, name, &id)) {
        return id + 1;
    }
    if (cpt_names_count(known.numbers) == NAMES_MAX ||
        cpt_names_add(known.numbers, name, &id) != CPT_OK ||
        keep_name(name, id) != CPT_OK) {
        return 0;
    }
    return id + 1;
}

uint32_t cpti_task_name_id(struct cpt_bytes name)
{
    uint32_t id = 0;

    cpti_lock_take(&known.lock);
    id = number_of(name);
    cpti_lock_release(&known.lock);
    return id;
}

struct cpt_bytes cpti_task_name(uint32_t id)
{
    struct cpt_bytes name = {NULL, 0};

    cpti_lock_take(&known.lock);
    if (id != 0 && known.names != NULL && id - 1 < cpt_names_count(known.numbers) &&
        id - 1 < known.capacity) {
        name = known.names[id - 1];
    }
    cpti_lock_release(&known.lock);
    return name;
}

/* --- Names that requests make up --- */

int cpti_plan_takes_name(const struct cpt_plan *plan, struct cpt_bytes name)
{
    struct cpt_names *made_up = plan->made_up_names;
    cpt_name_id id = 0;
    int takes = 0;

    cpti_lock_take(&known.lock);
    takes = cpt_names_find(made_up, name, &id) ||
            (cpt_names_count(made_up) < CPT_PLAN_NAMES_MAX &&
             cpt_names_add(made_up, name, &id) == CPT_OK);
    cpti_lock_release(&known.lock);
    return takes;
}
