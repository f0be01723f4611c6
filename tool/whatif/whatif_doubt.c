/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_doubt.c - intervals of inferred waits; see whatif_doubt.h */
#include "tool/whatif/whatif_doubt.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/table/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As many waits are listed before equal ones are put together. */
enum { WAITS_MAX = 1 << 16 };

/* --- Waits --- */

static int by_frames(const void *left, const void *right)
{
    const struct cpt_whatif_wait *a =
        &((const struct cpti_whatif_doubtful *)left)->wait;
    const struct cpt_whatif_wait *b =
        &((const struct cpti_whatif_doubtful *)right)->wait;
    const uint32_t keys[][2] = {
        {a->waiter, b->waiter}, {a->before, b->before}, {a->holder, b->holder}};

    for (size_t i = 0; i < 3; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static int by_width(const void *left, const void *right)
{
    const struct cpti_whatif_doubtful *a = left;
    const struct cpti_whatif_doubtful *b = right;

    if (a->width_ns < b->width_ns || a->width_ns > b->width_ns) {
        return a->width_ns > b->width_ns ? -1 : 1;
    }
    return by_frames(left, right);
}

static int by_frames_and_request(const void *left, const void *right)
{
    const struct cpti_whatif_doubtful *a = left;
    const struct cpti_whatif_doubtful *b = right;
    const int order = by_frames(a, b);

    return order != 0 ? order : (a->request > b->request) - (a->request < b->request);
}

/* Equal ones become one, in which each request counts once: those of one request follow
 * one another. */
static void put_together(struct cpti_whatif_doubt *doubt)
{
    size_t count = 0;

    if (doubt->wait_count != 0) {
        qsort(doubt->waits, doubt->wait_count, sizeof *doubt->waits,
              by_frames_and_request);
    }
    for (size_t i = 0; i < doubt->wait_count; i++) {
        if (count != 0 && by_frames(&doubt->waits[count - 1], &doubt->waits[i]) == 0) {
            struct cpti_whatif_doubtful *one = &doubt->waits[count - 1];
            const struct cpti_whatif_doubtful *other = &doubt->waits[i];

            one->width_ns += other->width_ns;
            one->count += other->request != one->request ? other->count : 0;
            one->request = other->request;
        } else {
            doubt->waits[count++] = doubt->waits[i];
        }
    }
    doubt->wait_count = count;
}

/* Of a request. */
struct listing {
    struct cpti_whatif_doubt *doubt;
    double weight;
    size_t request;
};

static void take_wait(void *context, const struct cpt_whatif_wait *wait)
{
    const struct listing *listing = context;
    struct cpti_whatif_doubt *doubt = listing->doubt;

    if (doubt->wait_count == WAITS_MAX) {
        put_together(doubt);
    }
    if (cpt_alloc_grow(NULL, (void **)&doubt->waits, &doubt->wait_capacity,
                       doubt->wait_count + 1, WAITS_MAX,
                       sizeof *doubt->waits) == CPT_OK) {
        doubt->waits[doubt->wait_count++] = (struct cpti_whatif_doubtful){
            *wait, listing->weight * wait->width_ns, 1, listing->request};
    }
}

/* --- The interval --- */

cpt_status cpti_whatif_doubt_add(struct cpti_whatif_doubt *doubt,
                                 const struct cpti_whatif_set *set,
                                 struct cpt_whatif_plan *plan, size_t request,
                                 uint64_t after_ns)
{
    const double weight = set->weight[request];
    const double before_ns = (double)set->recorded_ns[request];
    double low_ns = (double)after_ns;
    double high_ns = (double)after_ns;
    cpt_status status = CPT_OK;

    if (set->evidence[request] >= CPT_EVIDENCE_LEARNT && !set->by_walk) {
        doubt->is_inferred = true;
        status = cpt_whatif_range(plan, request, &low_ns, &high_ns);
        if (status == CPT_END) {
            low_ns = 0;
            high_ns = high_ns > before_ns ? high_ns : before_ns;
            doubt->unknown++;
            doubt->has_other_waits |= cpt_whatif_has_doubt(set->whatif, request) != 0;
            status = CPT_OK;
        } else if (status == CPT_OK && doubt->lists_waits && low_ns < high_ns) {
            struct listing listing = {doubt, weight, request};

            cpt_whatif_doubts(plan, request, take_wait, &listing);
        }
    }
    doubt->weight += weight;
    doubt->before_sum_ns += weight * before_ns;
    doubt->low_sum_ns += weight * low_ns;
    doubt->high_sum_ns += weight * high_ns;
    return status;
}

void cpti_whatif_doubt_judge(struct cpti_whatif_doubt *doubt, double before_ns,
                             double change_ns)
{
    put_together(doubt);
    if (doubt->wait_count != 0) {
        qsort(doubt->waits, doubt->wait_count, sizeof *doubt->waits, by_width);
    }
    if (!doubt->is_inferred || !(doubt->weight > 0)) {
        return;
    }
    doubt->could_be = cpti_could_be_of(doubt->low_sum_ns / doubt->weight - before_ns,
                                       doubt->high_sum_ns / doubt->weight - before_ns,
                                       change_ns, before_ns);
    if (doubt->has_other_waits) {
        doubt->could_be.verdict = CPTI_VERDICT_CANNOT_TELL;
    }
}

void cpti_whatif_doubt_deinit(struct cpti_whatif_doubt *doubt)
{
    cpt_alloc_free(NULL, doubt->waits);
    doubt->waits = NULL;
}

/* --- Words --- */

/* The name of @frame, whatever its kind is. */
static const char *name_of(const struct cpti_whatif_set *set, uint32_t frame)
{
    return cpti_quoted_bytes(cpt_whatif_frame(set->whatif, frame).name);
}

/* "svc0: op0 may not wait for svc3: op1 before svc5: op0: 112 requests do not tell" */
static void put_widest(const struct cpti_whatif_doubt *doubt,
                       const struct cpti_whatif_set *set, FILE *file)
{
    const struct cpt_whatif_wait *wait = &doubt->waits[0].wait;

    (void)fprintf(file, "%s ", name_of(set, wait->waiter));
    if (wait->holder == wait->waiter) {
        (void)fprintf(file, "may compute or wait");
    } else {
        (void)fprintf(file, "may not wait for %s", name_of(set, wait->holder));
    }
    if (wait->before == wait->waiter) {
        (void)fprintf(file, " before it ends");
    } else {
        (void)fprintf(file, " before %s", name_of(set, wait->before));
    }
    (void)fprintf(file, ": %" PRIu64 " requests do not tell\n", doubt->waits[0].count);
}

const char cpti_whatif_doubt_kinds[] =
    "could be: whatever services waited for; 95%: of other requests like these";

static void write_verdict(const struct cpti_whatif_doubt *doubt,
                          const struct cpti_whatif_set *set, FILE *file)
{
    if (doubt->could_be.verdict == CPTI_VERDICT_NOTHING) {
        (void)fputs("nothing: the mean changes by less than 0.5% in any case\n", file);
    }
    if (cpti_has_number(&doubt->could_be)) {
        return;
    }
    if (doubt->has_other_waits) {
        (void)fputs("cannot tell: a term changes who waits for whom, and that is "
                    "inferred\n",
                    file);
    } else {
        (void)fputs("cannot tell: spans do not say who waits for whom\n", file);
        if (doubt->wait_count != 0) {
            put_widest(doubt, set, file);
        }
    }
    (void)fputs("graph logs, or spans with notes (docs/format-spans.md), would tell\n",
                file);
}

void cpti_whatif_doubt_write(const struct cpti_whatif_doubt *doubt,
                             const struct cpti_whatif_set *set, FILE *file)
{
    if (doubt->could_be.verdict == CPTI_VERDICT_NONE) {
        return;
    }
    write_verdict(doubt, set, file);
    (void)fputs("queues of pools stay as they were: near a full pool it is more\n",
                file);
    if (set->counts.server != 0) {
        (void)fputs(
            "calls without a client's span: work and network are not told apart\n",
            file);
    }
}
