/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * requests_join.c - the events of a part, joined by id; see requests.h
 *
 *      events --> groups of one id --> without what is far --> sorted lines, and their
 *      units --> requests by time
 *
 * A group with too many lines is dropped while it is read, so one id cannot fill the
 * memory.
 */
#include "import/events/requests_inside.h"

#include "cpt/cpt_arena.h"

#include <stdlib.h>

#define DAY_NS (INT64_C(86400) * 1000000000)

enum { FIRST_SLOTS = 256, RUN_LINES = 8 };

struct join_line {
    struct cpti_line line;
    uint32_t group;
    uint32_t outer_order;
    const char *unit;
    unsigned char unit_bytes;
};

struct join_group {
    uint32_t hash;
    unsigned char id_bytes;
    const char *id;
    uint32_t count; /* of lines; more than CPTI_REQUEST_LINES_MAX: it is left out */
    uint32_t first; /* its place in `order` */
};

/* All that a part needs; memory is kept for the next one. */
struct join {
    struct cpti_requests *requests;
    const struct cpt_alloc *alloc;
    struct cpt_arena texts;
    struct join_line *lines;
    size_t count, capacity;
    struct join_group *groups;
    size_t group_count, group_capacity;
    struct cpti_hash_index index; /* of groups */
    uint32_t *order;              /* lines, those of a group together */
    uint32_t *spare;
    size_t order_capacity, spare_capacity;
    struct cpti_hash_index unit_index;
    uint32_t *unit_lines; /* of each unit of a group, its first line */
    size_t unit_count, unit_capacity;
    uint32_t *group_order; /* by the time of their first line */
    size_t group_order_capacity;
};

/* @memory with room for @needed elements; as it was after an error, which is in
 * *@status. */
static void *grown(const struct join *join, void *memory, size_t *capacity,
                   size_t needed, size_t element_bytes, cpt_status *status)
{
    *status = cpt_alloc_grow(join->alloc, &memory, capacity, needed, UINT32_MAX,
                             element_bytes);
    return memory;
}

/* --- Groups --- */

static uint64_t hash_group(const void *owner, size_t number)
{
    return cpti_hash_mix(((const struct join *)owner)->groups[number].hash);
}

/* The group of @id, which is added if it is new. */
static cpt_status find_group(struct join *join, uint32_t hash, struct cpt_bytes id,
                             uint32_t *number)
{
    cpt_status status = CPT_OK;
    size_t slot = 0;
    char *copy = NULL;

    if (cpti_hash_index_is_full(&join->index, join->group_count, 2)) {
        status = cpti_hash_index_grow(&join->index, join->alloc, FIRST_SLOTS,
                                      join->group_count, hash_group, join);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (slot = cpti_hash_index_first(&join->index, cpti_hash_mix(hash));
         join->index.slots[slot] != 0;
         slot = cpti_hash_index_next(&join->index, slot)) {
        const struct join_group *group = &join->groups[join->index.slots[slot] - 1];

        if (group->hash == hash && group->id_bytes == id.bytes &&
            memcmp(group->id, id.data, id.bytes) == 0) {
            *number = join->index.slots[slot] - 1;
            return CPT_OK;
        }
    }
    copy = cpt_arena_copy(&join->texts, id.data, id.bytes);
    join->groups = grown(join, join->groups, &join->group_capacity,
                         join->group_count + 1, sizeof *join->groups, &status);
    if (copy == NULL) {
        status = CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        join->groups[join->group_count] = (struct join_group){
            .hash = hash, .id = copy, .id_bytes = (unsigned char)id.bytes};
        *number = (uint32_t)join->group_count++;
        join->index.slots[slot] = *number + 1;
    }
    return status;
}

static uint32_t resolution_of(const struct cpti_requests *requests,
                              const struct came_event *came)
{
    if (came->resolution_ns != UINT32_MAX) {
        return came->resolution_ns;
    }
    return requests->is_fine[came->input] ? 0 : 1000000;
}

/* @came as a line with final numbers. */
static struct cpti_line line_of(const struct cpti_requests *requests,
                                const struct came_event *came)
{
    const struct cpti_event_names *names = &requests->names;
    const struct cpti_event_kind *kind = &names->kinds[came->kind];

    return (struct cpti_line){.begin_ns = came->begin_ns,
                              .end_ns = came->end_ns,
                              .row = came->row,
                              .service = names->final_services[kind->service],
                              .host = names->final_hosts[came->host],
                              .kind = kind->final,
                              .peer = names->final_services[came->peer],
                              .resolution_ns = resolution_of(requests, came),
                              .input = came->input,
                              .role = came->role,
                              .is_interval = came->is_interval,
                              .has_unit = came->unit_bytes > 0};
}

static cpt_status take_event(struct join *join, const struct came_event *came)
{
    const char *text = (const char *)(came + 1);
    uint32_t group = 0;
    const char *unit = "";
    cpt_status status =
        find_group(join, came->hash, (struct cpt_bytes){text, came->id_bytes}, &group);

    if (status != CPT_OK || join->groups[group].count > CPTI_REQUEST_LINES_MAX) {
        return status;
    }
    if (++join->groups[group].count > CPTI_REQUEST_LINES_MAX) {
        return CPT_OK;
    }
    join->lines = grown(join, join->lines, &join->capacity, join->count + 1,
                        sizeof *join->lines, &status);
    if (status == CPT_OK && came->unit_bytes > 0) {
        unit = cpt_arena_copy(&join->texts, text + came->id_bytes, came->unit_bytes);
        status = unit != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        join->lines[join->count++] =
            (struct join_line){.line = line_of(join->requests, came),
                               .group = group,
                               .outer_order = came->outer_order,
                               .unit = unit,
                               .unit_bytes = came->unit_bytes};
    }
    return status;
}

static cpt_status read_part(struct join *join, size_t part)
{
    struct cpti_spill_cursor cursor = {.stream = part};
    struct cpt_bytes chunk;
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = cpti_spill_next(join->requests->spill, &cursor, &chunk);
        for (size_t at = 0; status == CPT_OK && at < chunk.bytes;) {
            const struct came_event *came =
                (const struct came_event *)(const void *)(chunk.data + at);

            status = take_event(join, came);
            at += (sizeof *came + came->id_bytes + came->unit_bytes + 7) / 8 * 8;
        }
    }
    cpti_spill_rewind(join->requests->spill, &cursor);
    return status == CPT_END ? CPT_OK : status;
}

/* Puts the lines of each group together, by counting. */
static cpt_status gather_groups(struct join *join)
{
    uint32_t place = 0;
    cpt_status status = CPT_OK;

    join->order = grown(join, join->order, &join->order_capacity, join->count,
                        sizeof *join->order, &status);
    if (status == CPT_OK) {
        join->spare = grown(join, join->spare, &join->spare_capacity, join->count,
                            sizeof *join->spare, &status);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < join->group_count; i++) {
        struct join_group *group = &join->groups[i];

        group->first = place;
        place += group->count <= CPTI_REQUEST_LINES_MAX ? group->count : 0;
    }
    for (size_t i = 0; i < join->count; i++) {
        struct join_group *group = &join->groups[join->lines[i].group];

        if (group->count <= CPTI_REQUEST_LINES_MAX) {
            join->order[group->first++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < join->group_count; i++) {
        struct join_group *group = &join->groups[i];

        group->first -= group->count <= CPTI_REQUEST_LINES_MAX ? group->count : 0;
    }
    return CPT_OK;
}

/* --- Lines --- */

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Drops the lines that are more than a day from the middle one of @group. */
static cpt_status drop_far(struct join *join, struct join_group *group)
{
    uint32_t *order = join->order + group->first;
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    int64_t *times = NULL;
    int64_t middle = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < group->count; i++) {
        const int64_t begin_ns = join->lines[order[i]].line.begin_ns;

        least = begin_ns < least ? begin_ns : least;
        most = begin_ns > most ? begin_ns : most;
    }
    if (most - least <= DAY_NS) { /* both are after 2000 */
        return CPT_OK;
    }
    times = cpt_alloc_array(join->alloc, NULL, group->count, sizeof *times);
    if (times == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        times[i] = join->lines[order[i]].line.begin_ns;
    }
    qsort(times, group->count, sizeof *times, compare_times);
    middle = times[group->count / 2];
    cpt_alloc_free(join->alloc, times);
    for (uint32_t i = 0; i < group->count; i++) {
        const int64_t begin_ns = join->lines[order[i]].line.begin_ns;

        if (begin_ns - middle <= DAY_NS && middle - begin_ns <= DAY_NS) {
            order[kept++] = order[i];
        }
    }
    join->requests->counts.far += group->count - kept;
    group->count = kept;
    return CPT_OK;
}

#define DIFFER(a, b)                                                                   \
    if ((a) != (b)) {                                                                  \
        return (a) < (b);                                                              \
    }

/* Whether line @left comes before @right, in an order that is total, but for lines that
 * are the same. */
static bool is_before(const struct join *join, uint32_t left, uint32_t right)
{
    const struct join_line *a = &join->lines[left];
    const struct join_line *b = &join->lines[right];
    int order = 0;

    DIFFER(a->line.begin_ns, b->line.begin_ns)
    DIFFER(b->line.end_ns, a->line.end_ns)
    DIFFER(a->line.host, b->line.host)
    DIFFER(a->outer_order, b->outer_order)
    DIFFER(a->line.input, b->line.input)
    if (a->line.row != b->line.row) {
        return (a->line.row < b->line.row) !=
               cpti_input_is_reversed(join->requests, a->line.input);
    }
    DIFFER(a->line.kind, b->line.kind)
    DIFFER(a->line.role, b->line.role)
    DIFFER(a->line.peer, b->line.peer)
    DIFFER(a->unit_bytes, b->unit_bytes)
    order = memcmp(a->unit, b->unit, a->unit_bytes);
    DIFFER(order, 0)
    DIFFER(a->line.is_interval, b->line.is_interval)
    return a->line.resolution_ns < b->line.resolution_ns;
}

static void sort_run(const struct join *join, uint32_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t line = order[i];
        size_t place = i;

        while (place > 0 && is_before(join, line, order[place - 1])) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = line;
    }
}

/* Sorts @order by merging; @spare is as large. */
static void sort_lines(const struct join *join, uint32_t *order, uint32_t *spare,
                       size_t count)
{
    uint32_t *const given = order;

    for (size_t i = 0; i < count; i += RUN_LINES) {
        sort_run(join, order + i, count - i < RUN_LINES ? count - i : RUN_LINES);
    }
    for (size_t width = RUN_LINES; width < count; width *= 2) {
        uint32_t *const from = order;

        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = i;
            size_t right = i + width < count ? i + width : count;
            const size_t middle = right;
            const size_t end = i + 2 * width < count ? i + 2 * width : count;

            for (size_t k = i; k < end; k++) {
                spare[k] = right == end || (left < middle &&
                                            !is_before(join, from[right], from[left]))
                               ? from[left++]
                               : from[right++];
            }
        }
        order = spare;
        spare = from;
    }
    if (order != given) {
        memcpy(given, order, count * sizeof *given);
    }
}

/* --- Units --- */

static uint64_t hash_unit(const struct join *join, const struct join_line *line)
{
    return cpt_hash_bytes(join->requests->seed ^ line->line.service, line->unit,
                          line->unit_bytes);
}

static uint64_t hash_unit_entry(const void *owner, size_t number)
{
    const struct join *join = owner;

    return hash_unit(join, &join->lines[join->unit_lines[number]]);
}

/* Numbers the unit of line @number, which is new unless one before is of it. */
static cpt_status number_unit(struct join *join, uint32_t number)
{
    struct join_line *line = &join->lines[number];
    const uint64_t hash = hash_unit(join, line);
    cpt_status status = CPT_OK;
    size_t slot = 0;

    if (cpti_hash_index_is_full(&join->unit_index, join->unit_count, 2)) {
        status = cpti_hash_index_grow(&join->unit_index, join->alloc, FIRST_SLOTS,
                                      join->unit_count, hash_unit_entry, join);
    }
    if (status == CPT_OK) {
        join->unit_lines =
            grown(join, join->unit_lines, &join->unit_capacity, join->unit_count + 1,
                  sizeof *join->unit_lines, &status);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (slot = cpti_hash_index_first(&join->unit_index, hash);
         join->unit_index.slots[slot] != 0;
         slot = cpti_hash_index_next(&join->unit_index, slot)) {
        const uint32_t unit = join->unit_index.slots[slot] - 1;
        const struct join_line *first = &join->lines[join->unit_lines[unit]];

        if (first->line.service == line->line.service &&
            first->unit_bytes == line->unit_bytes &&
            memcmp(first->unit, line->unit, line->unit_bytes) == 0) {
            line->line.unit = unit;
            return CPT_OK;
        }
    }
    line->line.unit = (uint32_t)join->unit_count;
    join->unit_lines[join->unit_count++] = number;
    join->unit_index.slots[slot] = (uint32_t)join->unit_count;
    return CPT_OK;
}

static cpt_status number_units(struct join *join, const struct join_group *group)
{
    cpt_status status = CPT_OK;

    if (join->unit_count > FIRST_SLOTS) { /* a large index is not kept for small ones */
        cpt_alloc_free(join->alloc, join->unit_index.slots);
        join->unit_index = (struct cpti_hash_index){0};
    }
    join->unit_count = 0;
    cpti_hash_index_reset(&join->unit_index);
    for (uint32_t i = 0; status == CPT_OK && i < group->count; i++) {
        status = number_unit(join, join->order[group->first + i]);
    }
    return status;
}

/* --- Requests --- */

static int compare_groups(const void *left, const void *right, void *context)
{
    const struct join *join = context;
    const struct join_group *a = &join->groups[*(const uint32_t *)left];
    const struct join_group *b = &join->groups[*(const uint32_t *)right];
    const int64_t a_ns = join->lines[join->order[a->first]].line.begin_ns;
    const int64_t b_ns = join->lines[join->order[b->first]].line.begin_ns;
    const size_t bytes = a->id_bytes < b->id_bytes ? a->id_bytes : b->id_bytes;
    int order = 0;

    if (a_ns != b_ns) {
        return a_ns < b_ns ? -1 : 1;
    }
    order = memcmp(a->id, b->id, bytes);
    return order != 0 ? order : (int)a->id_bytes - (int)b->id_bytes;
}

/* Writes @group as a request of part @part. */
static cpt_status write_group(struct join *join, size_t part,
                              const struct join_group *group)
{
    struct joined_request *request = NULL;
    struct cpti_line *lines = NULL;
    size_t bytes = sizeof *request + group->count * sizeof *lines + group->id_bytes;
    char *text = NULL;
    void *piece = NULL;
    cpt_status status = number_units(join, group);

    for (size_t i = 0; i < join->unit_count; i++) {
        bytes += 1 + (size_t)join->lines[join->unit_lines[i]].unit_bytes;
    }
    bytes = (bytes + 7) / 8 * 8;
    if (status == CPT_OK) {
        status = cpti_spill_append(join->requests->spill, REQUEST_PARTS + part, bytes,
                                   &piece);
    }
    if (status != CPT_OK) {
        return status;
    }
    request = piece;
    *request = (struct joined_request){(uint32_t)bytes, group->count,
                                       (uint32_t)join->unit_count, group->id_bytes};
    lines = (struct cpti_line *)(void *)(request + 1);
    for (uint32_t i = 0; i < group->count; i++) {
        lines[i] = join->lines[join->order[group->first + i]].line;
    }
    text = (char *)(lines + group->count);
    memcpy(text, group->id, group->id_bytes);
    text += group->id_bytes;
    for (size_t i = 0; i < join->unit_count; i++) {
        const struct join_line *line = &join->lines[join->unit_lines[i]];

        *text++ = (char)line->unit_bytes;
        memcpy(text, line->unit, line->unit_bytes);
        text += line->unit_bytes;
    }
    join->requests->counts.requests++;
    return CPT_OK;
}

/* Sorts the lines of the groups that are requests, and these by time; how many. */
static cpt_status order_groups(struct join *join, size_t *count)
{
    cpt_status status = CPT_OK;

    *count = 0;
    join->group_order = grown(join, join->group_order, &join->group_order_capacity,
                              join->group_count, sizeof *join->group_order, &status);
    for (size_t i = 0; status == CPT_OK && i < join->group_count; i++) {
        struct join_group *group = &join->groups[i];

        if (group->count > CPTI_REQUEST_LINES_MAX) {
            join->requests->counts.too_long++;
            continue;
        }
        status = drop_far(join, group);
        sort_lines(join, join->order + group->first, join->spare + group->first,
                   group->count);
        join->group_order[(*count)++] = (uint32_t)i;
    }
    if (status == CPT_OK && *count > 1) {
        qsort_r(join->group_order, *count, sizeof *join->group_order, compare_groups,
                join);
    }
    return status;
}

static cpt_status join_part(struct join *join, size_t part)
{
    size_t count = 0;
    cpt_status status;

    join->count = 0;
    join->group_count = 0;
    cpti_hash_index_reset(&join->index);
    cpt_arena_reset(&join->texts, SIZE_MAX);
    status = read_part(join, part);
    cpti_spill_drop(join->requests->spill, part);
    status = status == CPT_OK ? gather_groups(join) : status;
    status = status == CPT_OK ? order_groups(join, &count) : status;
    for (size_t i = 0; status == CPT_OK && i < count; i++) {
        status = write_group(join, part, &join->groups[join->group_order[i]]);
    }
    return status;
}

cpt_status cpti_requests_join(struct cpti_requests *requests)
{
    struct join join = {.requests = requests, .alloc = requests->options.alloc};
    cpt_status status =
        cpti_event_names_finish(&requests->names, &requests->counts.other_kinds);

    cpt_arena_init(&join.texts, join.alloc, (size_t)1 << 16, 0);
    for (size_t i = 0; status == CPT_OK && i < REQUEST_PARTS; i++) {
        status = join_part(&join, i);
    }
    cpt_arena_deinit(&join.texts);
    cpt_alloc_free(join.alloc, join.lines);
    cpt_alloc_free(join.alloc, join.groups);
    cpt_alloc_free(join.alloc, join.index.slots);
    cpt_alloc_free(join.alloc, join.order);
    cpt_alloc_free(join.alloc, join.spare);
    cpt_alloc_free(join.alloc, join.unit_index.slots);
    cpt_alloc_free(join.alloc, join.unit_lines);
    cpt_alloc_free(join.alloc, join.group_order);
    return status;
}
