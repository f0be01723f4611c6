/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_target_counters.c - what operators see of targets: numbers and notices
 *
 * Targets that several stubs name are shown as one. Beyond SHOWN_MAX the others share
 * the last place, so that names that change daily do not fill the operator's database.
 */
#include "cpt/base/now.h"
#include "framework/transport/http/client/http_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 128, TEXT_BYTES = 96, SENTENCE_BYTES = 256 };

/* --- Notices --- */

static size_t place_of(const char *reason)
{
    static const char *const reasons[CPTI_HTTP_NOTICES] = {"ejected", "returned",
                                                           "unready", "ready"};
    size_t i = 0;

    while (i + 1 < CPTI_HTTP_NOTICES && strcmp(reasons[i], reason) != 0) {
        i++;
    }
    return i;
}

void cpti_http_target_report(void *context, const struct cpti_target *health,
                             const char *reason, uint64_t for_ns)
{
    const struct cpti_http_set *set = context;
    const struct cpti_http_target *target =
        CPTI_CONST_CONTAINER(health, struct cpti_http_target, health);
    struct cpti_http_client *client = set->client;
    const size_t place = place_of(reason);
    const uint64_t now_ns = cpti_now_ns();
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_TARGET, .reason = reason, .count = 1};
    char sentence[SENTENCE_BYTES];

    if (now_ns < client->notices[place].next_ns) {
        client->notices[place].untold_count++;
        return;
    }
    client->notices[place].next_ns = now_ns + CPTI_NS_PER_S;
    if (for_ns != 0) {
        (void)snprintf(sentence, sizeof sentence,
                       "target %.100s gets no calls for %.3g s, as too many in a row "
                       "failed (of %zu targets)",
                       target->address.text, (double)for_ns / 1e9, set->targets.count);
    } else {
        (void)snprintf(
            sentence, sizeof sentence, "target %.100s %s", target->address.text,
            strcmp(reason, "returned") == 0  ? "has answered a call, and gets "
                                               "more and more again"
            : strcmp(reason, "unready") == 0 ? "gets no calls, as it is not "
                                               "ready"
                                             : "is ready for calls again");
    }
    notice.sentence = cpt_bytes_of(sentence);
    notice.untold_count = client->notices[place].untold_count;
    client->notices[place].untold_count = 0;
    client->options.notify(client->options.notify_context, &notice);
}

/* --- Numbers --- */

enum number { IN_FLIGHT, USABLE, CALLS, FAILED, EJECTED, NUMBER_COUNT };

static const struct {
    const char *name;
    const char *help;
    bool is_gauge;
} numbers[NUMBER_COUNT] = {
    [IN_FLIGHT] = {"http_target_in_flight", "calls to a target, now", true},
    [USABLE] = {"http_target_usable",
                "1: a target may get calls; 0: it is ejected, or not ready", true},
    [CALLS] = {"http_target_calls", "calls and tries to connect, by target", false},
    [FAILED] = {"http_target_failures", "of these, those that failed", false},
    [EJECTED] = {"http_target_ejections", "times that a target was ejected", false},
};

struct shown {
    char text[TEXT_BYTES];
    uint64_t values[NUMBER_COUNT];
};

static void add(struct shown *shown, const struct cpti_target *health)
{
    const bool is_usable =
        atomic_load_explicit(&health->is_usable, memory_order_relaxed);

    shown->values[IN_FLIGHT] += cpti_target_number(&health->in_flight);
    shown->values[USABLE] |= is_usable;
    shown->values[CALLS] += cpti_target_number(&health->calls_count);
    shown->values[FAILED] += cpti_target_number(&health->failed_count);
    shown->values[EJECTED] += cpti_target_number(&health->ejected_count);
}

/* Fills in @shown, and returns how many there are. Lock held. */
static size_t collect(const struct cpti_http_client *client, struct shown *shown)
{
    const struct cpti_http_target *target = NULL;
    size_t count = 0;

    LIST_FOREACH(target, &client->targets, all)
    {
        char text[TEXT_BYTES];
        size_t i = 0;

        (void)snprintf(text, sizeof text, "%s", target->address.text);
        while (i < count && strcmp(shown[i].text, text) != 0) {
            i++;
        }
        if (i == count) {
            i = count < SHOWN_MAX ? count++ : SHOWN_MAX - 1;
            (void)snprintf(shown[i].text, TEXT_BYTES, "%s",
                           i + 1 < SHOWN_MAX ? text : "others");
        }
        add(&shown[i], &target->health);
    }
    return count;
}

void cpti_http_targets_show(struct cpt_http *http,
                            void (*visit)(void *context,
                                          const struct cpt_counter *counter),
                            void *context)
{
    struct shown *shown = cpt_alloc_zeroed(http->alloc, SHOWN_MAX * sizeof *shown);
    size_t count = 0;

    if (shown == NULL) {
        return;
    }
    cpti_lock_take(&http->lock);
    count = collect(http->client, shown);
    cpti_lock_release(&http->lock);
    for (int number = 0; number < NUMBER_COUNT; number++) {
        for (size_t i = 0; i < count; i++) {
            const struct cpt_counter counter = {.name = numbers[number].name,
                                                .help = numbers[number].help,
                                                .label = "target",
                                                .member = cpt_bytes_of(shown[i].text),
                                                .value = shown[i].values[number],
                                                .is_gauge = numbers[number].is_gauge};

            visit(context, &counter);
        }
    }
    cpt_alloc_free(http->alloc, shown);
}
