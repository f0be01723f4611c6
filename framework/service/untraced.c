/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* untraced.c - a log without records says why it has none; see untraced.h */
#include "framework/service/untraced.h"

#include "cpt/base/container.h"

#include <unistd.h>

static void release(struct cpti_log_item *item)
{
    struct cpt_service *service =
        CPTI_CONTAINER(item, struct cpt_service, untraced.item);

    atomic_store_explicit(&service->untraced.is_queued, false, memory_order_release);
    cpti_service_release(service);
}

void cpti_untraced_tell(struct cpt_service *service, bool is_final)
{
    const struct cpti_counters *counters = &service->counters;
    struct cpti_untraced *own = &service->untraced;
    struct cpt_log_untraced untraced = {
        .service = cpt_bytes_of(service->name),
        .probability = cpt_service_is_enabled(service)
                           ? atomic_load_explicit(&service->sampling.probability,
                                                  memory_order_relaxed)
                           : 0,
        .request_count =
            atomic_load_explicit(&counters->requests, memory_order_relaxed),
        /* the seed alone may be a number that the application chose */
        .process = (service->sampling.seed +
                    (uint64_t)getpid() * UINT64_C(0x9e3779b97f4a7c15)) >>
                   1,
        .is_final = is_final,
    };

    if (service->options.log == NULL || service->sampling.is_inner ||
        untraced.request_count == 0 ||
        atomic_load_explicit(&counters->traced, memory_order_relaxed) != 0 ||
        atomic_exchange_explicit(&own->is_queued, true, memory_order_acquire)) {
        return; /* one that is still queued says nearly the same */
    }
    cpti_service_hold(service);
    own->item = (struct cpti_log_item){
        .memory_bytes = sizeof *own,
        .release = release,
        .block = {(const char *)own->block,
                  cpt_log_untraced_block(&untraced, own->block)},
    };
    cpti_log_queue_push(service->options.log, &own->item);
}
