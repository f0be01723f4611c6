/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* requests.c - events into parts, and parts merged to requests; see requests.h */
#include "import/events/requests.h"

#include "import/events/requests_inside.h"

#define DEFAULT_MEMORY_BYTES ((size_t)512 << 20)
#define YEAR_2000_NS         (INT64_C(946684800) * 1000000000)
#define YEAR_2200_NS         (INT64_C(7258118400) * 1000000000)
#define LONGEST_NS           (INT64_C(366) * 86400 * 1000000000)

enum { MS_NS = 1000000, SECOND_NS = 1000000000, MEMORY_PART = 3 };

struct cpti_requests *cpti_requests_new(const struct cpti_requests_options *options)
{
    struct cpti_requests *requests = cpt_alloc_zeroed(options->alloc, sizeof *requests);
    struct cpti_spill_options spill = {.alloc = options->alloc,
                                       .stream_count = (size_t)2 * REQUEST_PARTS,
                                       .memory_bytes_max = options->memory_bytes_max,
                                       .open_file = options->open_file};

    if (requests == NULL) {
        return NULL;
    }
    if (spill.memory_bytes_max == 0) {
        spill.memory_bytes_max = cpt_memory_part(DEFAULT_MEMORY_BYTES, MEMORY_PART);
    }
    requests->options = *options;
    requests->seed = cpti_hash_mix((uint64_t)(uintptr_t)requests);
    requests->spill = cpti_spill_new(&spill);
    for (size_t i = 0; i < REQUEST_PARTS; i++) {
        requests->readers[i].cursor.stream = REQUEST_PARTS + i;
    }
    if (cpti_event_names_init(&requests->names, options->alloc, requests->seed) !=
            CPT_OK ||
        requests->spill == NULL) {
        cpti_requests_free(requests);
        return NULL;
    }
    return requests;
}

void cpti_requests_free(struct cpti_requests *requests)
{
    if (requests == NULL) {
        return;
    }
    for (size_t i = 0; requests->spill != NULL && i < REQUEST_PARTS; i++) {
        cpti_spill_rewind(requests->spill, &requests->readers[i].cursor);
    }
    cpti_spill_free(requests->spill);
    cpti_event_names_deinit(&requests->names);
    cpt_alloc_free(requests->options.alloc, requests->is_fine);
    cpt_alloc_free(requests->options.alloc, requests->orders);
    cpt_alloc_free(requests->options.alloc, requests->lines);
    cpt_alloc_free(requests->options.alloc, requests->units);
    cpt_alloc_free(requests->options.alloc, requests);
}

/* --- Adding --- */

/* Notes whether the times of an event of unknown resolution are whole ms. */
static cpt_status note_resolution(struct cpti_requests *requests,
                                  const struct cpti_event *event)
{
    const size_t before = requests->input_capacity;
    void *is_fine = requests->is_fine;

    if (event->input >= before) {
        const cpt_status status =
            cpt_alloc_grow(requests->options.alloc, &is_fine, &requests->input_capacity,
                           event->input + (size_t)1, CPTI_INPUTS_MAX, sizeof(bool));

        requests->is_fine = is_fine;
        if (status != CPT_OK) {
            return status;
        }
        memset(requests->is_fine + before, 0, requests->input_capacity - before);
    }
    if (!requests->is_fine[event->input]) {
        requests->is_fine[event->input] =
            event->begin_ns % MS_NS != 0 || event->end_ns % MS_NS != 0;
    }
    return CPT_OK;
}

/* Notes how @event, with an id of this @hash, follows the one before in its input. */
static cpt_status note_order(struct cpti_requests *requests,
                             const struct cpti_event *event, uint32_t hash)
{
    const size_t before = requests->order_capacity;
    const struct cpt_bytes unit = event->unit.bytes > 0 ? event->unit : event->service;
    struct input_order *order = NULL;
    uint64_t was = 0;
    const cpt_status status = cpt_alloc_grow(
        requests->options.alloc, (void **)&requests->orders, &requests->order_capacity,
        event->input + (size_t)1, CPTI_INPUTS_MAX, sizeof *requests->orders);

    if (status != CPT_OK) {
        return status;
    }
    if (requests->order_capacity > before) {
        memset(requests->orders + before, 0,
               (requests->order_capacity - before) * sizeof *order);
    }
    order = &requests->orders[event->input];
    if (event->is_interval) { /* may be written when it ends: no order to tell */
        order->unit = 0;
        return CPT_OK;
    }
    was = order->unit;
    order->unit = cpt_hash_bytes(requests->seed ^ hash, unit.data, unit.bytes) | 1;
    if (order->unit == was) {
        order->later += event->begin_ns > order->last_ns;
        order->earlier += event->begin_ns < order->last_ns;
    }
    order->last_ns = event->begin_ns;
    return CPT_OK;
}

/* Gives the names of @event their numbers. */
static cpt_status add_names(struct cpti_event_names *names,
                            const struct cpti_event *event, struct came_event *came)
{
    uint32_t service = 0;
    cpt_status status = cpti_event_text_add(&names->services, event->service, &service);

    if (status == CPT_OK) {
        status = cpti_event_kind_add(names, service, event->name, &came->kind);
    }
    if (status == CPT_OK && event->host.bytes > 0) {
        status = cpti_event_text_add(&names->hosts, event->host, &came->host);
    }
    if (status == CPT_OK && event->peer.bytes > 0) {
        status = cpti_event_text_add(&names->services, event->peer, &came->peer);
    }
    return status;
}

static uint32_t bounded_resolution(uint64_t resolution_ns)
{
    if (resolution_ns == CPTI_RESOLUTION_OPEN) {
        return UINT32_MAX;
    }
    return resolution_ns < SECOND_NS ? (uint32_t)resolution_ns : (uint32_t)SECOND_NS;
}

/* Puts @came, with its texts, into the part of its id. */
static cpt_status store(struct cpti_requests *requests, const struct came_event *came,
                        struct cpt_bytes id, struct cpt_bytes unit)
{
    const size_t bytes = (sizeof *came + id.bytes + unit.bytes + 7) / 8 * 8;
    void *piece = NULL;
    const cpt_status status =
        cpti_spill_append(requests->spill, came->hash % REQUEST_PARTS, bytes, &piece);

    if (status == CPT_OK) {
        memcpy(piece, came, sizeof *came);
        memcpy((char *)piece + sizeof *came, id.data, id.bytes);
        if (unit.bytes > 0) {
            memcpy((char *)piece + sizeof *came + id.bytes, unit.data, unit.bytes);
        }
    }
    return status;
}

cpt_status cpti_requests_add(struct cpti_requests *requests,
                             const struct cpti_event *event)
{
    char id_buffer[CPT_NAME_BYTES_MAX + 1];
    char unit_buffer[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes id = cpt_name_bound(event->id, id_buffer);
    const struct cpt_bytes unit = cpt_name_bound(event->unit, unit_buffer);
    struct came_event came = {.begin_ns = event->begin_ns,
                              .end_ns = event->end_ns,
                              .row = event->row,
                              .input = event->input,
                              .outer_order = event->outer_order,
                              .resolution_ns = bounded_resolution(event->resolution_ns),
                              .id_bytes = (unsigned char)id.bytes,
                              .unit_bytes = (unsigned char)unit.bytes,
                              .role = event->role,
                              .is_interval = event->is_interval};
    cpt_status status = CPT_OK;

    if (event->begin_ns < YEAR_2000_NS || event->end_ns >= YEAR_2200_NS ||
        event->end_ns < event->begin_ns ||
        event->end_ns - event->begin_ns > LONGEST_NS) {
        requests->counts.impossible++;
        return CPT_OK;
    }
    if (came.resolution_ns == UINT32_MAX) {
        status = note_resolution(requests, event);
    }
    if (status != CPT_OK || id.bytes == 0) {
        requests->counts.without_id += id.bytes == 0;
        return status;
    }
    came.hash = (uint32_t)cpt_hash_bytes(requests->seed, id.data, id.bytes);
    status = note_order(requests, event, came.hash);
    status = status == CPT_OK ? add_names(&requests->names, event, &came) : status;
    status = status == CPT_OK ? store(requests, &came, id, unit) : status;
    requests->counts.events += status == CPT_OK;
    return status;
}

/* --- Going through --- */

bool cpti_joined_is_before(const struct joined_request *left,
                           const struct joined_request *right)
{
    const int64_t left_ns = joined_lines(left)->begin_ns;
    const int64_t right_ns = joined_lines(right)->begin_ns;
    const struct cpt_bytes a = joined_id(left);
    const struct cpt_bytes b = joined_id(right);
    const size_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = 0;

    if (left_ns != right_ns) {
        return left_ns < right_ns;
    }
    order = memcmp(a.data, b.data, bytes);
    return order != 0 ? order < 0 : a.bytes < b.bytes;
}

/* Goes on to the next request of a part. */
static cpt_status advance(const struct cpti_requests *requests,
                          struct part_reader *reader)
{
    const size_t bytes = reader->next != NULL ? reader->next->bytes : 0;

    reader->chunk.data += bytes;
    reader->chunk.bytes -= bytes;
    if (reader->chunk.bytes == 0) {
        const cpt_status status =
            cpti_spill_next(requests->spill, &reader->cursor, &reader->chunk);

        if (status != CPT_OK) {
            reader->next = NULL;
            return status;
        }
    }
    reader->next = (const struct joined_request *)(const void *)reader->chunk.data;
    return CPT_OK;
}

static bool heap_is_before(const struct cpti_requests *requests, size_t left,
                           size_t right)
{
    return cpti_joined_is_before(requests->readers[requests->heap[left]].next,
                                 requests->readers[requests->heap[right]].next);
}

/* Puts the entry at @place where it belongs, downwards. */
static void heap_down(struct cpti_requests *requests, size_t place)
{
    for (;;) {
        size_t least = place;
        uint32_t moved;

        for (size_t i = 2 * place + 1; i <= 2 * place + 2; i++) {
            if (i < requests->heap_count && heap_is_before(requests, i, least)) {
                least = i;
            }
        }
        if (least == place) {
            return;
        }
        moved = requests->heap[place];
        requests->heap[place] = requests->heap[least];
        requests->heap[least] = moved;
        place = least;
    }
}

cpt_status cpti_requests_rewind(struct cpti_requests *requests)
{
    cpt_status status = CPT_OK;

    if (!requests->is_joined) {
        status = cpti_requests_join(requests);
        if (status != CPT_OK) {
            return status;
        }
        requests->is_joined = true;
    }
    requests->heap_count = 0;
    requests->is_given = false;
    for (uint32_t i = 0; i < REQUEST_PARTS; i++) {
        struct part_reader *reader = &requests->readers[i];

        cpti_spill_rewind(requests->spill, &reader->cursor);
        reader->chunk = (struct cpt_bytes){"", 0};
        reader->next = NULL;
        status = advance(requests, reader);
        if (status == CPT_OK) {
            requests->heap[requests->heap_count++] = i;
        } else if (status != CPT_END) {
            return status;
        }
    }
    for (size_t i = requests->heap_count / 2; i > 0; i--) {
        heap_down(requests, i - 1);
    }
    return CPT_OK;
}

/* Copies what may be changed of @from, and finds its units. */
static cpt_status read_request(struct cpti_requests *requests,
                               const struct joined_request *from,
                               struct cpti_request *request)
{
    const struct cpt_bytes id = joined_id(from);
    const char *unit = id.data + id.bytes;
    void *lines = requests->lines;
    void *units = requests->units;
    cpt_status status =
        cpt_alloc_grow(requests->options.alloc, &lines, &requests->line_capacity,
                       from->line_count, SIZE_MAX, sizeof *requests->lines);

    requests->lines = lines;
    if (status == CPT_OK) {
        status =
            cpt_alloc_grow(requests->options.alloc, &units, &requests->unit_capacity,
                           from->unit_count, SIZE_MAX, sizeof *requests->units);
        requests->units = units;
    }
    if (status != CPT_OK) {
        return status;
    }
    memcpy(requests->lines, joined_lines(from),
           from->line_count * sizeof *requests->lines);
    for (size_t i = 0; i < from->unit_count; i++) {
        requests->units[i] = (struct cpt_bytes){unit + 1, (unsigned char)*unit};
        unit += 1 + requests->units[i].bytes;
    }
    *request = (struct cpti_request){id, requests->lines, from->line_count,
                                     requests->units, from->unit_count};
    return CPT_OK;
}

cpt_status cpti_requests_next(struct cpti_requests *requests,
                              struct cpti_request *request)
{
    struct part_reader *reader = NULL;
    cpt_status status = CPT_OK;

    if (requests->is_given && requests->heap_count > 0) {
        reader = &requests->readers[requests->heap[0]];
        status = advance(requests, reader);
        if (status == CPT_END) {
            requests->heap[0] = requests->heap[--requests->heap_count];
        } else if (status != CPT_OK) {
            return status;
        }
        heap_down(requests, 0);
    }
    requests->is_given = requests->heap_count > 0;
    if (!requests->is_given) {
        return CPT_END;
    }
    return read_request(requests, requests->readers[requests->heap[0]].next, request);
}

/* --- Names --- */

struct cpt_bytes cpti_requests_text(const struct cpti_requests *requests,
                                    enum cpti_name_sort which, uint32_t number)
{
    const struct cpti_event_names *names = &requests->names;

    if (which == CPTI_NAMES_SERVICE) {
        return cpt_names_at(names->services.names, names->service_order[number]);
    }
    if (which == CPTI_NAMES_HOST) {
        return cpt_names_at(names->hosts.names, names->host_order[number]);
    }
    return cpt_names_at(names->texts.names,
                        names->kinds[names->kind_order[number]].name);
}

size_t cpti_requests_names(const struct cpti_requests *requests,
                           enum cpti_name_sort which)
{
    const struct cpti_event_names *names = &requests->names;

    return which == CPTI_NAMES_SERVICE ? cpt_names_count(names->services.names)
           : which == CPTI_NAMES_HOST  ? cpt_names_count(names->hosts.names)
                                       : names->final_kind_count;
}

uint32_t cpti_requests_kind_service(const struct cpti_requests *requests, uint32_t kind)
{
    const struct cpti_event_names *names = &requests->names;

    return names->final_services[names->kinds[names->kind_order[kind]].service];
}

const struct cpti_requests_counts *
cpti_requests_counts(const struct cpti_requests *requests)
{
    return &requests->counts;
}
