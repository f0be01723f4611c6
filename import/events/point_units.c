/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* point_units.c - units that only have points, as intervals; see point_units.h */
#include "import/events/point_units.h"

#include "import/events/event_clocks.h"

#include <string.h>

#define NO_LINE UINT32_MAX

struct unit_state {
    bool has_interval;
    uint32_t piece;   /* its line that became an interval, to which others are added */
    uint32_t call;    /* in which call of its service that was */
    int64_t begin_ns; /* of its first client, before there is a piece */
};

struct service_state {
    int64_t interval_end_ns; /* the last one of what began before */
    int64_t call_end_ns;
    uint32_t calls; /* that began when those before had ended */
};

struct cpti_point_units {
    const struct cpt_alloc *alloc;
    struct unit_state *units;
    struct service_state *services;
    struct cpti_line *spare;
    size_t unit_capacity, service_capacity, spare_capacity;
};

struct cpti_point_units *cpti_point_units_new(const struct cpt_alloc *alloc)
{
    struct cpti_point_units *units = cpt_alloc_zeroed(alloc, sizeof *units);

    if (units != NULL) {
        units->alloc = alloc;
    }
    return units;
}

void cpti_point_units_free(struct cpti_point_units *units)
{
    if (units != NULL) {
        cpt_alloc_free(units->alloc, units->units);
        cpt_alloc_free(units->alloc, units->services);
        cpt_alloc_free(units->alloc, units->spare);
        cpt_alloc_free(units->alloc, units);
    }
}

/* Room for what is known of the units and services of @request, as at its beginning. */
static cpt_status begin(struct cpti_point_units *units,
                        const struct cpti_request *request)
{
    void *states = units->units;
    void *services = units->services;
    uint32_t most = 0;
    cpt_status status =
        cpt_alloc_grow(units->alloc, &states, &units->unit_capacity,
                       request->unit_count, UINT32_MAX, sizeof *units->units);

    units->units = states;
    for (size_t i = 0; i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];

        most = line->service > most ? line->service : most;
        most = line->peer > most ? line->peer : most;
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(units->alloc, &services, &units->service_capacity,
                                (size_t)most + 1, UINT32_MAX, sizeof *units->services);
        units->services = services;
    }
    for (size_t i = 0; status == CPT_OK && i < request->unit_count; i++) {
        units->units[i] = (struct unit_state){.piece = NO_LINE, .begin_ns = INT64_MAX};
    }
    for (size_t i = 0; status == CPT_OK && i < request->count; i++) {
        const struct service_state fresh = {INT64_MIN, INT64_MIN, 0};

        units->services[request->lines[i].service] = fresh;
        units->services[request->lines[i].peer] = fresh;
    }
    return status;
}

/* Finds the units that have an interval, or a point in one of their service. */
static void find_intervals(struct cpti_point_units *units,
                           const struct cpti_request *request)
{
    for (size_t i = 0; i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];
        struct service_state *service = &units->services[line->service];

        if (!line->is_interval) {
            units->units[line->unit].has_interval |=
                line->begin_ns <= service->interval_end_ns;
        } else if (line->role != CPTI_EVENT_CLIENT) {
            units->units[line->unit].has_interval = true;
            if (line->end_ns > service->interval_end_ns) {
                service->interval_end_ns = line->end_ns;
            }
        }
    }
}

static void note_call(struct service_state *called, const struct cpti_line *call)
{
    called->calls += called->call_end_ns <= call->begin_ns;
    if (call->end_ns > called->call_end_ns) {
        called->call_end_ns = call->end_ns;
    }
}

/* Adds line @number, a point or a client's interval, to the piece of its unit; a point
 * may begin one. Whether it did. */
static bool add_line(struct cpti_point_units *units, struct cpti_line *lines,
                     uint32_t number)
{
    struct cpti_line *line = &lines[number];
    struct unit_state *unit = &units->units[line->unit];
    const uint32_t call = line->has_unit ? 0 : units->services[line->service].calls;
    struct cpti_line *piece = NULL;

    if (unit->piece != NO_LINE && unit->call == call) {
        piece = &lines[unit->piece];
        piece->end_ns = line->end_ns > piece->end_ns ? line->end_ns : piece->end_ns;
        if (line->resolution_ns > piece->resolution_ns) {
            piece->resolution_ns = line->resolution_ns;
        }
        return false;
    }
    if (line->is_interval) {
        unit->begin_ns =
            line->begin_ns < unit->begin_ns ? line->begin_ns : unit->begin_ns;
        return false;
    }
    line->is_interval = true;
    line->role = CPTI_EVENT_SERVER;
    if (unit->begin_ns < line->begin_ns) {
        line->begin_ns = unit->begin_ns;
    }
    unit->begin_ns = INT64_MAX;
    unit->piece = number;
    unit->call = call;
    return true;
}

/* Makes intervals of the units that have none. How many. */
static size_t make_intervals(struct cpti_point_units *units,
                             struct cpti_request *request)
{
    size_t made = 0;

    for (uint32_t i = 0; i < request->count; i++) {
        struct cpti_line *line = &request->lines[i];
        const bool is_client = line->is_interval && line->role == CPTI_EVENT_CLIENT;

        if (!units->units[line->unit].has_interval &&
            (is_client || !line->is_interval)) {
            made += add_line(units, request->lines, i);
        }
        if (is_client && line->peer != 0 && line->peer != line->service) {
            note_call(&units->services[line->peer], line);
        }
    }
    return made;
}

cpt_status cpti_point_units_join(struct cpti_point_units *units,
                                 struct cpti_request *request, size_t *made)
{
    void *spare = units->spare;
    size_t intervals = 0;
    cpt_status status = CPT_OK;

    *made = 0;
    for (size_t i = 0; i < request->count; i++) {
        intervals += request->lines[i].is_interval;
    }
    if (intervals == 0 || intervals == request->count) {
        return CPT_OK;
    }
    status = begin(units, request);
    if (status == CPT_OK) {
        status = cpt_alloc_grow(units->alloc, &spare, &units->spare_capacity,
                                request->count, SIZE_MAX, sizeof *units->spare);
        units->spare = spare;
    }
    if (status != CPT_OK) {
        return status;
    }
    find_intervals(units, request);
    *made = make_intervals(units, request);
    if (*made > 0) {
        cpti_event_lines_sort(request->lines, units->spare, request->count);
    }
    return CPT_OK;
}
