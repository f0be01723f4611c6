/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * marks.c - the stacks that a condition on the time of stacks names; see query.h
 *
 * A term names the stacks whose last frames are its frames, as in expression_path.c.
 * Only the topmost of them are marked. To find out whether a stack is below another
 * one, we walk up to the first stack with a known state and set the states on the way
 * back. Each stack is decided once, so the cost is one step for each stack.
 */
#include "tool/store/query.h"

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <string.h>

/* The state of a stack. WITHIN: it or one above it ends with the frames. */
enum { UNKNOWN, OUTSIDE, WITHIN };

/* The longest text of a frame; a longer one equals none. */
enum { SHOWN_BYTES = 2304 };

bool cpti_marks_needed(const struct cpti_store_question *question)
{
    for (size_t i = 0; i < question->term_count; i++) {
        if (question->terms[i].subject == CPTI_SUBJECT_PATH) {
            return true;
        }
    }
    return false;
}

static const struct cpti_store_stack *parent_of(const struct cpti_stacks *stacks,
                                                const struct cpti_store_stack *stack)
{
    return stack->parent == CPTI_STACK_ROOT ? NULL
                                            : cpti_stacks_find(stacks, stack->parent);
}

/* The service of the nearest frame from @stack upwards that has one. walk_up() has
 * found the chain to be finite. */
static struct cpt_bytes service_of(const struct cpti_stacks *stacks,
                                   const struct cpti_store_stack *stack)
{
    for (; stack != NULL; stack = parent_of(stacks, stack)) {
        const struct cpt_bytes service =
            cpt_name_service(cpt_names_at(stacks->names, stack->name));

        if (service.bytes != 0) {
            return service;
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

static bool is_frame(const struct cpti_stacks *stacks,
                     const struct cpti_store_stack *stack,
                     const struct cpti_store_frame *frame)
{
    const struct cpt_bytes name = cpt_names_at(stacks->names, stack->name);
    char shown[SHOWN_BYTES];
    size_t bytes;

    if (!frame->is_shown) {
        return stack->kind == CPT_KIND_WORK && cpt_bytes_equal(name, frame->text);
    }
    bytes =
        cpt_text_frame(name, stack->kind, service_of(stacks, parent_of(stacks, stack)),
                       shown, sizeof shown);
    return bytes == frame->text.bytes && bytes < sizeof shown &&
           memcmp(shown, frame->text.data, bytes) == 0;
}

static bool ends_with(const struct cpti_stacks *stacks,
                      const struct cpti_store_stack *stack,
                      const struct cpti_store_term *term)
{
    for (size_t i = term->frame_count; i-- > 0;) {
        if (stack == NULL || !is_frame(stacks, stack, &term->frames[i])) {
            return false;
        }
        stack = parent_of(stacks, stack);
    }
    return true;
}

/* Lists the stacks from @at upwards to the first with a known state, and sets *@above
 * to that state. */
static cpt_status walk_up(const struct cpti_stacks *stacks, const unsigned char *states,
                          size_t at, size_t *chain, size_t *count, unsigned char *above,
                          struct cpt_error *error)
{
    const struct cpti_store_stack *stack = &stacks->entries[at];

    *above = OUTSIDE;
    for (*count = 0; stack != NULL; stack = parent_of(stacks, stack)) {
        const size_t index = (size_t)(stack - stacks->entries);

        if (states[index] != UNKNOWN) {
            *above = states[index];
            return CPT_OK;
        }
        if (*count == CPT_TREE_DEPTH_MAX) {
            return cpt_error_set(error, CPT_LIMIT, 0,
                                 "stack %016" PRIx64 " has more than %d frames",
                                 stacks->entries[at].id, CPT_TREE_DEPTH_MAX);
        }
        chain[(*count)++] = index;
    }
    return CPT_OK;
}

/* Adds the marks of one term. */
static cpt_status mark(const struct cpti_stacks *stacks,
                       const struct cpti_store_term *term, unsigned char *states,
                       struct cpti_packed *marks, struct cpt_error *error)
{
    size_t chain[CPT_TREE_DEPTH_MAX];
    size_t count;
    unsigned char state;

    memset(states, UNKNOWN, stacks->count);
    for (size_t i = 0; i < stacks->count; i++) {
        const cpt_status status =
            walk_up(stacks, states, i, chain, &count, &state, error);

        if (status != CPT_OK) {
            return status;
        }
        while (count-- > 0) {
            const struct cpti_store_stack *stack = &stacks->entries[chain[count]];

            if (state == OUTSIDE && ends_with(stacks, stack, term)) {
                state = WITHIN;
                cpti_row_u64(marks, stack->id);
            }
            states[chain[count]] = state;
        }
    }
    return marks->has_failed ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                             : CPT_OK;
}

cpt_status cpti_marks_make(struct cpti_query *query, struct cpt_error *error)
{
    const struct cpti_store_question *question = query->question;
    unsigned char *states = cpt_alloc_zeroed(NULL, query->stacks.count + 1);
    cpt_status status = CPT_OK;

    if (states == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    for (size_t i = 0; i < question->term_count && status == CPT_OK; i++) {
        if (i == CPTI_TABLES_MAX - 1) {
            status = cpt_error_set(error, CPT_LIMIT, 0, "there are more than %d terms",
                                   CPTI_TABLES_MAX - 1);
        } else if (question->terms[i].subject == CPTI_SUBJECT_PATH) {
            status = mark(&query->stacks, &question->terms[i], states, &query->marks[i],
                          error);
        }
    }
    cpt_alloc_free(NULL, states);
    return status;
}
