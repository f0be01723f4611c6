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
 * Threads: any; one lock, taken when a plan is made and when a traced task names
 * something. Who needs the name of a number takes none: names stay where they are, and
 * are published by a pointer each.
 */
#include "framework/pool/lock.h"
#include "framework/graph/plan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20, BLOCK_NAMES = 1 << 10 };

/* A name that is known for ever. */
struct known_name {
    size_t bytes;
    char text[];
};

/* NULL: not known. Release by who adds it, acquire by any reader. */
typedef _Atomic(const struct known_name *) known_place;

static struct {
    struct cpti_lock lock; /* guards the rest, and made_up_names of every plan */
    struct cpt_names *numbers;
    _Atomic(known_place *) blocks[NAMES_MAX / BLOCK_NAMES]; /* by number; likewise */
} known = {.lock = CPTI_LOCK_INITIALIZER(CPTI_RANK_NAMES)};

/* The place of number @id; NULL: there is none yet. */
static known_place *place_of(uint32_t id)
{
    known_place *block =
        atomic_load_explicit(&known.blocks[id / BLOCK_NAMES], memory_order_acquire);

    return block != NULL ? &block[id % BLOCK_NAMES] : NULL;
}

/* A copy for ever at place @id, which is new. */
static cpt_status keep_name(struct cpt_bytes name, cpt_name_id id)
{
    struct known_name *kept = malloc(sizeof *kept + name.bytes + 1);

    if (place_of(id) == NULL) {
        atomic_store_explicit(&known.blocks[id / BLOCK_NAMES],
                              calloc(BLOCK_NAMES, sizeof(known_place)),
                              memory_order_release);
    }
    if (place_of(id) == NULL || kept == NULL) {
        free(kept);
        return CPT_NO_MEMORY;
    }
    kept->bytes = name.bytes;
    memcpy(kept->text, name.data, name.bytes);
    kept->text[name.bytes] = '\0';
    atomic_store_explicit(place_of(id), kept, memory_order_release);
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
    known_place *place = id != 0 && id <= NAMES_MAX ? place_of(id - 1) : NULL;
    const struct known_name *name =
        place != NULL ? atomic_load_explicit(place, memory_order_acquire) : NULL;

    return name != NULL ? (struct cpt_bytes){name->text, name->bytes}
                        : (struct cpt_bytes){NULL, 0};
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
