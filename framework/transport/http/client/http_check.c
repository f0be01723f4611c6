/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_check.c - targets are asked whether they are ready: GET check_path
 *
 * A check is a call of its own on a connection of the target, so that it also meets
 * what calls meet; a target whose connections are all busy answers, so it needs none.
 * Checks go on only while the stub is used. An answer other than 200 counts at once, as
 * the target has said so; of no answer, the second in a row.
 */
#include "cpt/base/now.h"
#include "framework/transport/http/client/http_client.h"

enum { JITTER_PART = 8, READY = 200, UNANSWERED_MAX = 2 };

/* The transport's call stands for a task's; no task waits for it. */
struct check {
    struct cpti_http_call call; /* first: it is freed as a call */
    struct cpt_transport_call transport;
};

static void check(struct cpti_http_target *target)
{
    struct cpti_http_client *client = target->client;
    const struct cpt_target_options *options = &client->options;
    struct check *check = NULL;

    if (target->is_checked || !cpti_http_pool_has_room(target)) {
        return;
    }
    check = cpt_alloc_zeroed(client->http->alloc, sizeof *check);
    if (check == NULL) {
        return;
    }
    check->transport.target = target->set->text;
    check->transport.method = options->check_path;
    check->transport.timeout_ns = options->check_ns;
    check->transport.state = &check->call;
    check->call.client = client;
    check->call.call = &check->transport;
    check->call.set = target->set;
    check->call.target = target;
    check->call.deadline_ns = cpti_timer_at(cpti_now_ns(), options->check_ns);
    check->call.reference_count = 1;
    check->call.is_check = true;
    target->is_checked = true;
    cpti_http_call_check(&check->call);
}

void cpti_http_check_ended(struct cpti_http_call *call,
                           const struct cpt_transport_reply *reply)
{
    struct cpti_http_target *target = call->target;

    target->is_checked = false;
    if (reply->status == CPT_OK) {
        target->checks_unanswered = 0;
        cpti_targets_ready(&target->set->targets, &target->health,
                           reply->http_status == READY);
    } else if (reply->status != CPT_CANCELLED && reply->status != CPT_NO_MEMORY &&
               ++target->checks_unanswered >= UNANSWERED_MAX) {
        target->checks_unanswered = UNANSWERED_MAX;
        cpti_targets_ready(&target->set->targets, &target->health, false);
    }
}

static void on_check(struct cpt_timer *timer)
{
    struct cpti_http_set *set =
        CPTI_CONTAINER(timer, struct cpti_http_set, check_timer);
    struct cpti_http_target *targets[CPT_TARGETS_MAX];
    const size_t count = set->targets.count;

    set->is_check_timed = false;
    if (!set->was_called || count < 2) {
        return;
    }
    set->was_called = false;
    cpti_http_checks_begin(set);
    for (size_t i = 0; i < count; i++) {
        targets[i] =
            CPTI_CONTAINER(set->targets.items[i], struct cpti_http_target, health);
    }
    for (size_t i = 0; i < count; i++) {
        check(targets[i]);
    }
}

void cpti_http_checks_begin(struct cpti_http_set *set)
{
    const struct cpt_target_options *options = &set->client->options;
    uint64_t jitter_ns = 0;

    if (options->check_path == NULL || set->client->is_closed) {
        return;
    }
    jitter_ns = cpti_targets_random(&set->targets, options->check_ns / JITTER_PART + 1);
    set->check_timer.fire = on_check;
    set->is_check_timed = cpti_http_loop_after(set->client->http, &set->check_timer,
                                               options->check_ns - jitter_ns) == CPT_OK;
}

void cpti_http_checks_end(struct cpti_http_set *set)
{
    (void)cpti_http_loop_cancel(set->client->http, &set->check_timer);
    set->is_check_timed = false;
}
