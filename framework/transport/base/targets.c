/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * targets.c - which target gets a call, and which gets none for a while
 *
 * Two targets are taken at random, and the one with fewer calls in flight gets the
 * call. That balances nearly as well as to look at all of them (M. Mitzenmacher, "The
 * Power of Two Choices in Randomized Load Balancing", IEEE Transactions on Parallel and
 * Distributed Systems 12(10), 2001), but a target that has just come back, and so has
 * nothing in flight, gets 2/n of the calls at most, not all of them. While it rises, it
 * gives most of those to the other of the two:
 *
 *      share of the calls that it keeps
 *        1 |               .---- good
 *          |          . '
 *          |     . '
 *     1/10 |. '
 *          '---|-----------|---> time
 *            returned   + rising_ns
 *
 * Which targets may be picked, from the best to the worst; the first level that has one
 * is taken:
 *
 *      fit and not tried yet > fit and not the last one tried > fit > any but the last
 *      one tried > any
 *
 * The last two are the panic: no target is fit, so what is known of them is of no use.
 *
 * A choice takes some 8 ns; while a target is not good, each is looked at, for 3 ns.
 */
#include "framework/transport/base/targets.h"

#include "framework/cpt_notice.h"

#include <stdlib.h>
#include <string.h>

enum { PERCENT = 100, RISING_BEGIN_PERCENT = 10, BACKOFFS_MAX = 32, JITTER_PART = 8 };

#define S         UINT64_C(1000000000)
#define PAUSED_NS UINT64_C(100000000)

static void use_default(uint64_t *field, uint64_t value)
{
    *field = *field != 0 ? *field : value;
}

void cpti_target_options_complete(struct cpt_target_options *options)
{
    options->failure_count_max =
        options->failure_count_max != 0 ? options->failure_count_max : 5;
    if (options->ejected_percent_max == 0) {
        options->ejected_percent_max = 50;
    }
    if (options->ejected_percent_max > PERCENT) {
        options->ejected_percent_max = PERCENT;
    }
    use_default(&options->ejected_ns, S);
    use_default(&options->ejected_ns_max, 60 * S);
    use_default(&options->rising_ns, 10 * S);
    use_default(&options->resolve_ns, 30 * S);
    use_default(&options->check_ns, S);
    options->notify = options->notify != NULL ? options->notify : cpt_notice_print;
}

void cpti_targets_init(struct cpti_targets *targets,
                       const struct cpt_target_options *options, uint64_t seed)
{
    memset(targets, 0, sizeof *targets);
    targets->options = options;
    targets->random = seed;
}

/* SplitMix64; the high half of the product is below @limit. */
uint64_t cpti_targets_random(struct cpti_targets *targets, uint64_t limit)
{
    uint64_t bits = targets->random += UINT64_C(0x9e3779b97f4a7c15);

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    return limit <= UINT32_MAX ? ((bits >> 32) * limit) >> 32 : bits % limit;
}

/* --- States --- */

static bool is_out(const struct cpti_target *target)
{
    return target->state == CPTI_TARGET_EJECTED ||
           (target->state == CPTI_TARGET_PROBED && target->was_ejected);
}

static bool is_fit(const struct cpti_target *target)
{
    return !target->is_unready && target->state != CPTI_TARGET_EJECTED &&
           target->state != CPTI_TARGET_PAUSED &&
           (target->state != CPTI_TARGET_PROBED || !target->is_probing);
}

/* The state of @target has changed. */
static void note_change(struct cpti_targets *targets, struct cpti_target *target)
{
    targets->flawed_count = 0;
    for (size_t i = 0; i < targets->count; i++) {
        targets->flawed_count += targets->items[i]->state != CPTI_TARGET_GOOD ||
                                 targets->items[i]->is_unready;
    }
    atomic_store_explicit(&target->is_usable, !target->is_unready && !is_out(target),
                          memory_order_relaxed);
}

static void enter(struct cpti_targets *targets, struct cpti_target *target,
                  enum cpti_target_state state, uint64_t now_ns)
{
    target->state = state;
    target->since_ns = now_ns;
    target->is_probing = false;
    target->failures = 0;
    note_change(targets, target);
}

static void report(const struct cpti_targets *targets, const struct cpti_target *target,
                   const char *reason, uint64_t for_ns)
{
    if (targets->report != NULL) {
        targets->report(targets->context, target, reason, for_ns);
    }
}

/* What time alone changes. */
static void refresh(struct cpti_targets *targets, struct cpti_target *target,
                    uint64_t now_ns)
{
    if ((target->state == CPTI_TARGET_EJECTED || target->state == CPTI_TARGET_PAUSED) &&
        now_ns >= target->until_ns) {
        target->was_ejected = target->state == CPTI_TARGET_EJECTED;
        enter(targets, target, CPTI_TARGET_PROBED, now_ns);
    } else if (target->state == CPTI_TARGET_RISING &&
               now_ns - target->since_ns >= targets->options->rising_ns) {
        target->ejections = 0;
        enter(targets, target, CPTI_TARGET_GOOD, now_ns);
    }
}

/* Twice as long each time, up to a limit, less a random part: targets that were ejected
 * together do not return together. */
static uint64_t ejected_ns(struct cpti_targets *targets, unsigned ejections)
{
    const struct cpt_target_options *options = targets->options;
    uint64_t ns = options->ejected_ns;

    for (unsigned i = 0; i < ejections && ns < options->ejected_ns_max; i++) {
        ns *= 2;
    }
    ns = ns < options->ejected_ns_max ? ns : options->ejected_ns_max;
    return ns - cpti_targets_random(targets, ns / JITTER_PART + 1);
}

/* Whether one more may be out. */
static bool may_eject(const struct cpti_targets *targets)
{
    const size_t percent = targets->options->ejected_percent_max;
    size_t out_count = 0;

    if (targets->count < 2) {
        return false;
    }
    for (size_t i = 0; i < targets->count; i++) {
        out_count += is_out(targets->items[i]);
    }
    return out_count < (targets->count * percent + PERCENT - 1) / PERCENT;
}

static void eject(struct cpti_targets *targets, struct cpti_target *target,
                  uint64_t now_ns)
{
    const uint64_t ns = ejected_ns(targets, target->ejections);
    const bool is_again = is_out(target);

    target->ejections += target->ejections < BACKOFFS_MAX;
    target->until_ns = now_ns + ns;
    cpti_target_count(&target->ejected_count, 1);
    enter(targets, target, CPTI_TARGET_EJECTED, now_ns);
    if (!is_again) {
        report(targets, target, "ejected", ns);
    }
}

/* --- Members --- */

bool cpti_targets_add(struct cpti_targets *targets, struct cpti_target *target,
                      bool is_late, uint64_t now_ns)
{
    if (targets->count == CPT_TARGETS_MAX) {
        return false;
    }
    targets->items[targets->count++] = target;
    target->is_member = true;
    enter(targets, target, is_late ? CPTI_TARGET_RISING : CPTI_TARGET_GOOD, now_ns);
    return true;
}

void cpti_targets_remove(struct cpti_targets *targets, struct cpti_target *target)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->items[i] == target) {
            targets->items[i] = targets->items[--targets->count];
            break;
        }
    }
    target->is_member = false;
    note_change(targets, target);
}

/* --- Picking --- */

/* Of two of @items taken at random, the one with fewer calls in flight; of equal ones
 * the first. */
static struct cpti_target *better_of_two(struct cpti_targets *targets,
                                         struct cpti_target *const *items, size_t count,
                                         struct cpti_target **other)
{
    const size_t i = (size_t)cpti_targets_random(targets, count);
    size_t j = (size_t)cpti_targets_random(targets, count - 1);

    j += j >= i;
    if (cpti_target_number(&items[j]->in_flight) <
        cpti_target_number(&items[i]->in_flight)) {
        *other = items[i];
        return items[j];
    }
    *other = items[j];
    return items[i];
}

/* Whether @target, which rises, keeps a call. */
static bool keeps(struct cpti_targets *targets, const struct cpti_target *target,
                  uint64_t now_ns)
{
    const double part =
        (double)(now_ns - target->since_ns) / (double)targets->options->rising_ns;
    const double percent =
        RISING_BEGIN_PERCENT + (PERCENT - RISING_BEGIN_PERCENT) * part;

    return (double)cpti_targets_random(targets, PERCENT) < percent;
}

static bool was_tried(const struct cpti_target *target, const uint64_t *tried,
                      size_t count)
{
    while (count > 0 && tried[count - 1] != target->id) {
        count--;
    }
    return count > 0;
}

/* Which of the levels above @target is of; the best is 0. */
static unsigned level_of(const struct cpti_target *target, const uint64_t *tried,
                         size_t count)
{
    const bool is_last = count > 0 && target->id == tried[count - 1];

    if (!is_fit(target)) {
        return is_last ? 4 : 3;
    }
    return is_last ? 2 : was_tried(target, tried, count);
}

struct cpti_target *cpti_targets_pick_but(struct cpti_targets *targets, uint64_t now_ns,
                                          const uint64_t *tried, size_t tried_count)
{
    struct cpti_target *items[CPT_TARGETS_MAX];
    struct cpti_target *target = NULL;
    struct cpti_target *other = NULL;
    unsigned best = UINT32_MAX;
    size_t count = 0;

    if (targets->flawed_count == 0 && tried_count == 0) {
        return better_of_two(targets, targets->items, targets->count, &other);
    }
    for (size_t i = 0; i < targets->count; i++) {
        unsigned level = 0;

        refresh(targets, targets->items[i], now_ns);
        level = level_of(targets->items[i], tried, tried_count);
        if (level < best) {
            best = level;
            count = 0;
        }
        if (level == best) {
            items[count++] = targets->items[i];
        }
    }
    if (count <= 1) {
        return count == 1 ? items[0] : NULL;
    }
    target = better_of_two(targets, items, count, &other);
    return target->state == CPTI_TARGET_RISING && !keeps(targets, target, now_ns)
               ? other
               : target;
}

/* --- What calls tell --- */

static void fail(struct cpti_targets *targets, struct cpti_target *target,
                 uint64_t now_ns)
{
    cpti_target_count(&target->failed_count, 1);
    switch (target->state) {
    case CPTI_TARGET_EJECTED:
        return;
    case CPTI_TARGET_PROBED:
        if (target->was_ejected || may_eject(targets)) {
            eject(targets, target, now_ns);
        }
        return;
    default:
        target->failures += target->failures < UINT32_MAX;
        if (target->failures >= targets->options->failure_count_max &&
            may_eject(targets)) {
            eject(targets, target, now_ns);
        }
    }
}

static void succeed(struct cpti_targets *targets, struct cpti_target *target,
                    uint64_t now_ns)
{
    target->failures = 0;
    if (target->state != CPTI_TARGET_PROBED) {
        return;
    }
    if (!target->was_ejected) {
        enter(targets, target, CPTI_TARGET_GOOD, now_ns);
        return;
    }
    enter(targets, target, CPTI_TARGET_RISING, now_ns);
    report(targets, target, "returned", 0);
}

static void close_soon(struct cpti_targets *targets, struct cpti_target *target,
                       uint64_t now_ns)
{
    target->has_kept = false;
    target->until_ns = now_ns + PAUSED_NS;
    enter(targets, target, CPTI_TARGET_PAUSED, now_ns);
}

void cpti_targets_end(struct cpti_targets *targets, struct cpti_target *target,
                      enum cpti_target_result result, uint64_t now_ns)
{
    cpti_target_count(&target->in_flight, UINT64_MAX); /* one less */
    target->is_probing = false;
    if (targets->count == 1 || !target->is_member) {
        if (result == CPTI_TARGET_FAILED) {
            cpti_target_count(&target->failed_count, 1);
        }
        return;
    }
    target->has_kept |= result == CPTI_TARGET_SUCCEEDED;
    if (result == CPTI_TARGET_FAILED) {
        fail(targets, target, now_ns);
    } else if (result == CPTI_TARGET_CLOSES && target->has_kept && !is_out(target)) {
        close_soon(targets, target, now_ns);
    } else if (result != CPTI_TARGET_NOTHING) {
        succeed(targets, target, now_ns);
    }
}

void cpti_targets_overtaken(struct cpti_targets *targets, struct cpti_target *target,
                            uint64_t now_ns)
{
    if (targets->count > 1 && target->is_member) {
        fail(targets, target, now_ns);
    }
}

void cpti_targets_ready(struct cpti_targets *targets, struct cpti_target *target,
                        bool is_ready)
{
    if (target->is_unready != is_ready) {
        return;
    }
    target->is_unready = !is_ready;
    if (!target->is_member) {
        return;
    }
    note_change(targets, target);
    report(targets, target, is_ready ? "ready" : "unready", 0);
}
