/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_links.c - what each task, wait and call of a request waited for
 *
 * A link has two ends, and each is a time of a line: the stretch that has it is sought
 * among those of the line. They are in time order, so few are looked at. Stamps that
 * contradict each other may be in any order: then all are, up to a limit.
 */
#include "cpt/dag/dag_trace.h"

/* The first of the stretches or waits @low to @high - 1, which are in order, that
 * begins or was over at @at_ns or later. */
static size_t first_from(const struct cpti_tracing *tracing, bool is_wait, size_t low,
                         size_t high, uint64_t at_ns)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((is_wait ? tracing->awaits[middle].over_ns
                     : tracing->stretches[middle].begin_ns) < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The step of @own that did something at @at_ns: where two touch, the second one if
 * @is_second. It is the last that begins before, or the first behind it if there is a
 * gap; so with stretches in order those that begin later need not be looked at. */
uint32_t cpti_tracing_step(struct cpti_tracing *tracing,
                           const struct cpti_traced_task *own, uint64_t at_ns,
                           bool is_second)
{
    const struct cpti_traced_line line = own->line;
    uint32_t from = line.end;
    uint32_t found = line.end - 1;

    if (own->has_order && tracing->stretches[found].is_step &&
        tracing->stretches[found].begin_ns < at_ns) {
        return found; /* most often its last */
    }
    if (own->has_order) {
        uint32_t later = from =
            at_ns != UINT64_MAX
                ? (uint32_t)first_from(tracing, false, line.first, line.end, at_ns + 1)
                : line.end;

        while (later < line.end && (!tracing->stretches[later].is_step ||
                                    tracing->stretches[later].end_ns < at_ns)) {
            tracing->look_count++;
            later++;
        }
        found = later < line.end ? later : found;
    }
    for (uint32_t i = from;
         i-- != line.first && tracing->look_count < tracing->looks_max;) {
        const struct cpti_traced_stretch *stretch = &tracing->stretches[i];

        tracing->look_count++;
        if (!stretch->is_step) {
            continue;
        }
        if (stretch->end_ns >= at_ns) {
            found = i;
        }
        if (stretch->begin_ns < at_ns || (is_second && stretch->begin_ns == at_ns)) {
            return stretch->end_ns >= at_ns ? i : found;
        }
    }
    return found;
}

/* What gave @task or @call to who waited for it, at @at_ns. */
static bool source_of(struct cpti_tracing *tracing, const struct cpt_trace_task *task,
                      struct cpt_trace_call *call, uint64_t at_ns,
                      struct cpt_dag_link *link)
{
    const uint32_t number = cpt_trace_number(tracing->records, task);
    const struct cpti_traced_call *own = cpti_tracing_call(tracing, call);

    link->from_ns = at_ns;
    if (own != NULL) {
        link->from = own->line.end - 1;
        return true;
    }
    if (number != CPT_DAG_NONE) {
        link->from = cpti_tracing_step(tracing, &tracing->tasks[number], at_ns, false);
    }
    return number != CPT_DAG_NONE;
}

static cpt_status link_await(struct cpti_tracing *tracing,
                             const struct cpti_traced_await *own)
{
    const struct cpt_trace_await *await = own->await;
    struct cpt_dag_link link = {0, own->stretch, 0, own->over_ns, 0};

    if (own->stretch == CPT_DAG_NONE ||
        !source_of(tracing, await->task, await->call, await->arrive_ns, &link)) {
        return CPT_OK;
    }
    return cpt_dag_draft_link(tracing->draft, &link);
}

/* The wait of @own that @arrival belongs to. If it does not say: the first that was not
 * over before; that of a spare was. */
static const struct cpti_traced_await *await_of(struct cpti_tracing *tracing,
                                                const struct cpti_traced_task *own,
                                                const struct cpt_dag_arrival *arrival)
{
    const uint64_t at_ns =
        arrival->await != NULL ? cpt_trace_over_ns(arrival->await) : arrival->arrive_ns;
    const bool is_spare = arrival->is_spare != 0;
    const struct cpti_traced_await *found = NULL;
    size_t from = own->first_await;

    if (own->has_await_order) {
        from = first_from(tracing, true, own->first_await, own->await_end, at_ns);
        found = is_spare && arrival->await == NULL && from != own->first_await
                    ? &tracing->awaits[from - 1]
                    : NULL;
    }
    for (size_t i = from;
         i < own->await_end && tracing->look_count < tracing->looks_max; i++) {
        const struct cpti_traced_await *wait = &tracing->awaits[i];

        if (own->has_await_order && wait->over_ns > at_ns &&
            (is_spare || arrival->await != NULL)) {
            break; /* and so are all that follow */
        }
        tracing->look_count++;
        if (arrival->await != NULL) {
            if (wait->await == arrival->await) {
                return wait;
            }
            continue;
        }
        if (is_spare && wait->over_ns <= at_ns) {
            found = wait;
        }
        if (!is_spare && wait->over_ns >= at_ns) {
            return wait;
        }
    }
    return found;
}

/* Whether the waiter of @arrival says so itself: its task or wait has that link. */
static bool is_told(const struct cpt_dag_arrival *arrival)
{
    const struct cpt_trace_task *waiter = arrival->waiter;
    const struct cpt_trace_await *await = arrival->await;

    if (arrival->is_input != 0) {
        return arrival->call == NULL && waiter->begin == CPT_BEGIN_TASK &&
               waiter->unblocker == arrival->giver &&
               waiter->ready_ns == arrival->arrive_ns;
    }
    return await != NULL && await->call == arrival->call &&
           await->task == arrival->giver && await->arrive_ns == arrival->arrive_ns;
}

static cpt_status link_arrival(struct cpti_tracing *tracing,
                               const struct cpt_dag_arrival *arrival)
{
    const uint32_t waiter = cpt_trace_number(tracing->records, arrival->waiter);
    struct cpt_dag_link link = {0, 0, 0, 0, arrival->is_spare};
    const struct cpti_traced_await *wait = NULL;

    if (waiter == CPT_DAG_NONE || (arrival->is_spare == 0 && is_told(arrival)) ||
        !source_of(tracing, arrival->giver, arrival->call, arrival->arrive_ns, &link)) {
        return CPT_OK;
    }
    if (arrival->is_input != 0) {
        link.to = tracing->tasks[waiter].line.first;
        link.to_ns = arrival->waiter->ready_ns;
        return cpt_dag_draft_link(tracing->draft, &link);
    }
    wait = await_of(tracing, &tracing->tasks[waiter], arrival);
    if (wait == NULL || wait->stretch == CPT_DAG_NONE) {
        return CPT_OK;
    }
    link.to = wait->stretch;
    link.to_ns = wait->over_ns;
    return cpt_dag_draft_link(tracing->draft, &link);
}

/* What happens first in @run, at @at_ns, comes when its call was there, if it has one.
 */
static cpt_status link_to_caller(struct cpti_tracing *tracing,
                                 const struct cpt_dag_run *run, uint32_t to,
                                 uint64_t at_ns)
{
    const struct cpti_traced_call *caller = cpti_tracing_call(tracing, run->call);

    if (caller == NULL) {
        return CPT_OK;
    }
    return cpt_dag_draft_link(
        tracing->draft, &(struct cpt_dag_link){caller->sent, to, at_ns, at_ns, 0});
}

/* A task that begins with its run. */
static cpt_status link_first_task(struct cpti_tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct cpt_dag_run *run = cpti_tracing_run(tracing, number);
    const uint32_t accept = tracing->accepts[run - tracing->records->runs];
    const uint32_t first = tracing->tasks[number].line.first;

    if (accept == CPT_DAG_NONE) {
        return link_to_caller(tracing, run, first, task->ready_ns);
    }
    return cpt_dag_draft_link(
        tracing->draft, &(struct cpt_dag_link){accept, first, run->trace->dispatch_ns,
                                               task->ready_ns, 0});
}

static cpt_status link_task(struct cpti_tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct cpti_traced_task *own = &tracing->tasks[number];
    struct cpt_dag_link link = {0, own->line.first, 0, task->ready_ns, 0};
    cpt_status status = CPT_OK;

    if (task->begin == CPT_BEGIN_TASK &&
        source_of(tracing, task->unblocker, NULL, task->ready_ns, &link)) {
        status = cpt_dag_draft_link(tracing->draft, &link);
    } else if (task->begin == CPT_BEGIN_REQUEST) {
        status = link_first_task(tracing, number);
    }
    for (size_t i = own->first_await; i < own->await_end && status == CPT_OK; i++) {
        status = link_await(tracing, &tracing->awaits[i]);
    }
    return status;
}

/* Its beginning to its issuer, and its end to the answer of its run. */
static cpt_status link_call(struct cpti_tracing *tracing,
                            const struct cpti_traced_call *own)
{
    const struct cpt_trace_call *call = own->call;
    const struct cpti_traced_task *issuer =
        &tracing->tasks[cpt_trace_number(tracing->records, call->issuer)];
    struct cpt_dag_link link = {cpti_tracing_step(tracing, issuer, call->issue_ns,
                                                  call->arrive_ns > call->issue_ns),
                                own->line.first, call->issue_ns, call->issue_ns, 0};
    const cpt_status status = cpt_dag_draft_link(tracing->draft, &link);

    if (status == CPT_OK && own->run != CPT_DAG_NONE) {
        const struct cpt_trace *trace = tracing->records->runs[own->run].trace;
        const uint32_t by = cpt_trace_number(tracing->records, trace->answered_by);

        link.from =
            cpti_tracing_step(tracing, &tracing->tasks[by], trace->response_ns, true);
        link.to = own->line.end - 1;
        link.from_ns = trace->response_ns;
        link.to_ns = trace->response_ns;
        return cpt_dag_draft_link(tracing->draft, &link);
    }
    return status;
}

cpt_status cpti_tracing_link(struct cpti_tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < records->task_count && status == CPT_OK; i++) {
        status = link_task(tracing, i);
    }
    for (size_t i = 0; i < tracing->call_count && status == CPT_OK; i++) {
        status = link_call(tracing, &tracing->calls[i]);
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = link_arrival(tracing, &records->arrivals[i]);
    }
    for (size_t i = 0; i < records->run_count && status == CPT_OK; i++) {
        const struct cpt_dag_run *run = &records->runs[i];

        if (tracing->accepts[i] != CPT_DAG_NONE) {
            status = link_to_caller(tracing, run, tracing->accepts[i],
                                    run->trace->arrival_ns);
        }
    }
    if (status == CPT_OK && tracing->look_count >= tracing->looks_max) {
        status = CPT_LIMIT;
    }
    return status;
}
