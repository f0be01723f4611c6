/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_windows.c - reads two windows; see whatif_windows.h */
#include "tool/whatif/whatif_windows.h"

#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 28, CALLS_BYTES = 120, FIRST_KINDS = 64, KINDS_MAX = 1 << 20 };

/* --- Kinds --- */

static uint64_t hash_of_kind(const void *owner, size_t number)
{
    return ((const struct cpti_check_kind *)owner)[number].hash;
}

/* Names the kind, which is new. */
static cpt_status name_kind(struct cpti_windows *windows, struct cpti_check_kind *kind,
                            const struct cpti_kept_graph *graph)
{
    char name[CPT_NAME_BYTES_MAX + 16];
    char calls[CALLS_BYTES];
    char room[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes entry = cpt_name_bound(windows->measure.entry, room);

    (void)snprintf(name, sizeof name, "%.*s #%08x", (int)entry.bytes, entry.data,
                   (unsigned)(kind->hash >> 32));
    cpti_whatif_measure_calls(&windows->measure, graph, calls, sizeof calls);
    kind->name = strdup(name);
    kind->calls = strdup(calls);
    return kind->name != NULL && kind->calls != NULL ? CPT_OK : CPT_NO_MEMORY;
}

/* The number of the kind of the measured request. */
static cpt_status find_kind(struct cpti_windows *windows,
                            const struct cpti_kept_graph *graph, uint32_t *number)
{
    const uint64_t hash = windows->measure.kind;
    struct cpti_hash_index *index = &windows->kind_index;
    cpt_status status = CPT_OK;
    size_t slot = 0;

    if (cpti_hash_index_is_full(index, windows->kind_count, 3)) {
        status = cpti_hash_index_grow(index, NULL, FIRST_KINDS, windows->kind_count,
                                      hash_of_kind, windows->kinds);
    }
    if (status == CPT_OK) {
        status =
            cpt_alloc_grow(NULL, (void **)&windows->kinds, &windows->kind_capacity,
                           windows->kind_count + 1, KINDS_MAX, sizeof *windows->kinds);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (slot = cpti_hash_index_first(index, hash); index->slots[slot] != 0;
         slot = cpti_hash_index_next(index, slot)) {
        *number = index->slots[slot] - 1;
        if (windows->kinds[*number].hash == hash) {
            return CPT_OK;
        }
    }
    *number = (uint32_t)windows->kind_count++;
    windows->kinds[*number] = (struct cpti_check_kind){.hash = hash};
    cpti_hash_index_put(index, hash, *number);
    return name_kind(windows, &windows->kinds[*number], graph);
}

/* --- Reading --- */

static cpt_status add_times(struct cpti_windows *windows, struct cpti_window *window,
                            const struct cpti_check_request *request)
{
    const struct cpti_whatif_measure *measure = &windows->measure;
    cpt_status status =
        cpt_alloc_grow(NULL, (void **)&window->times, &window->time_capacity,
                       window->time_count + measure->time_count, (size_t)1 << 32,
                       sizeof *window->times);

    for (size_t i = 0; i < measure->time_count && status == CPT_OK; i++) {
        const struct cpti_measured_time *time = &measure->times[i];

        window->times[window->time_count++] = (struct cpti_check_time){
            .key = cpti_hash_mix(time->key ^ cpti_hash_mix(measure->kind)),
            .ns = time->ns,
            .order = request->order,
            .new_ns = time->ns,
            .request = request->number,
            .line = time->line,
            .is_own = time->is_own};
    }
    return status;
}

/* A cpti_kept_fn. */
static cpt_status add(void *context, const struct cpti_kept_graph *graph)
{
    struct cpti_windows *windows = context;
    struct cpti_window *window = &windows->all[windows->side];
    struct cpti_check_request request = {.number = (uint32_t)window->request_count,
                                         .line_count =
                                             (uint32_t)graph->recorded->line_count,
                                         .latency_ns = graph->latency_ns};
    const size_t time_count = window->time_count;
    cpt_status status = CPT_OK;

    if (graph->records != NULL || graph->recorded->evidence < CPT_EVIDENCE_LEARNT) {
        windows->has_recorded = true;
        return CPT_OK;
    }
    status = cpti_whatif_measure(&windows->measure, graph);
    if (status == CPT_OK) {
        status = cpt_alloc_grow(NULL, (void **)&window->requests,
                                &window->request_capacity, window->request_count + 1,
                                CPT_WHATIF_REQUESTS_MAX, sizeof *window->requests);
    }
    if (status == CPT_OK) {
        status = find_kind(windows, graph, &request.kind);
    }
    if (status == CPT_OK) {
        request.order = cpt_hash_bytes(SEED, graph->id.data, graph->id.bytes);
        status = add_times(windows, window, &request);
    }
    if (status == CPT_OK && windows->side == CPTI_BASE) {
        status = cpt_whatif_add(windows->whatif, graph->dag, graph->recorded, 0);
    }
    if (status == CPT_OK) {
        window->requests[window->request_count++] = request;
        windows->kinds[request.kind].counts[windows->side]++;
    } else {
        window->time_count = time_count;
    }
    return status;
}

/* Tells that no request of BASE has the service, and which one is most similar. */
static int tell_missing(const struct cpti_check *check,
                        const struct cpt_names *services)
{
    struct cpti_names names = {0};
    const char *nearest = NULL;
    int status = CPTI_EXIT_USAGE;

    for (size_t i = 0; i < cpt_names_count(services); i++) {
        const struct cpt_bytes name = cpt_names_at(services, (cpt_name_id)i);
        char text[CPT_NAME_BYTES_MAX + 1];

        (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
        cpti_names_add(&names, text);
    }
    nearest = cpti_nearest_name(check->options.service, &names);
    if (nearest != NULL) {
        status = cpti_usage("option '--service': BASE has no service '%s'; the nearest "
                            "name is '%s'",
                            cpti_quoted(check->options.service), cpti_quoted(nearest));
    } else {
        status = cpti_usage("option '--service': BASE has no service '%s'; '*' takes "
                            "all",
                            cpti_quoted(check->options.service));
    }
    cpti_names_deinit(&names);
    return status;
}

static int read_window(struct cpti_windows *windows, unsigned side)
{
    struct cpti_check *check = windows->check;
    const struct cpti_kept_options options = {.files = check->options.files[side],
                                              .file_count =
                                                  check->options.file_count[side],
                                              .by_walk = check->options.by_walk,
                                              .doubts = side == CPTI_BASE,
                                              .selection = check->options.selection,
                                              .visit = add,
                                              .context = windows};
    int status = CPTI_EXIT_DONE;

    windows->side = side;
    status = cpti_kept_graphs(&options, &check->counts[side]);
    if (windows->has_recorded) {
        return cpti_usage("--check takes spans that do not tell who waited: where that "
                          "is recorded, a time without a call has queues and locks");
    }
    if (windows->all[side].request_count == 0) {
        return cpti_kept_none(&options, &check->counts[side]);
    }
    return status;
}

int cpti_windows_read(struct cpti_windows *windows)
{
    int status = CPTI_EXIT_DONE;
    int other = CPTI_EXIT_DONE;

    windows->measure.service = windows->check->options.service;
    windows->measure.services = cpt_names_new(NULL);
    windows->whatif = cpt_whatif_new(NULL);
    if (windows->measure.services == NULL || windows->whatif == NULL) {
        return cpti_failed("out of memory");
    }
    status = read_window(windows, CPTI_BASE);
    if (windows->all[CPTI_BASE].request_count == 0 || windows->has_recorded) {
        return status;
    }
    if (!windows->measure.has_service) {
        return tell_missing(windows->check, windows->measure.services);
    }
    other = read_window(windows, CPTI_NEW);
    return cpti_exit_last(status, other);
}

void cpti_windows_deinit(struct cpti_windows *windows)
{
    for (unsigned side = CPTI_BASE; side < CPTI_WINDOWS; side++) {
        cpt_alloc_free(NULL, windows->all[side].requests);
        cpt_alloc_free(NULL, windows->all[side].times);
    }
    for (size_t i = 0; i < windows->kind_count; i++) {
        free(windows->kinds[i].name);
        free(windows->kinds[i].calls);
    }
    cpt_alloc_free(NULL, windows->kinds);
    cpt_alloc_free(NULL, windows->kind_index.slots);
    cpt_whatif_free(windows->whatif);
    cpt_names_free(windows->measure.services);
    cpti_whatif_measure_deinit(&windows->measure);
}
