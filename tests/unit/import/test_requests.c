/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_requests.c - lines joined to requests, whatever the order of adding
 *
 * The model takes, again and again, the least event of the least request by looking at
 * all of them.
 */
#include "import/events/requests.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 60, EVENTS_MAX = 300, TEXT_BYTES = 1 << 18 };

static const int64_t year_2020 = INT64_C(1577836800) * 1000000000;

static int open_temporary(void)
{
    static FILE *file; /* the last one, which the requests close by its number */
    int descriptor = -1;

    file = tmpfile();
    if (file != NULL) {
        descriptor = dup(fileno(file));
        (void)fclose(file);
    }
    return descriptor;
}

struct text {
    char bytes[TEXT_BYTES];
    size_t count;
};

static void put(struct text *text, const char *format, ...) CPT_PRINTF(2, 3);

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->count += (size_t)vsnprintf(
        text->bytes + text->count, sizeof text->bytes - text->count, format, arguments);
    va_end(arguments);
}

#define SHOW(bytes_) (int)(bytes_).bytes, (bytes_).data

static void put_line(struct text *text, const struct cpti_requests *requests,
                     const struct cpti_request *request, const struct cpti_line *line)
{
    put(text,
        "%" PRId64 " %" PRId64 " %" PRIu64 " %.*s %.*s %.*s %.*s %.*s %d %" PRIu32
        " %d\n",
        line->begin_ns, line->end_ns, line->row,
        SHOW(cpti_requests_text(requests, CPTI_NAMES_SERVICE, line->service)),
        SHOW(cpti_requests_text(requests, CPTI_NAMES_HOST, line->host)),
        SHOW(cpti_requests_text(requests, CPTI_NAMES_KIND, line->kind)),
        SHOW(cpti_requests_text(requests, CPTI_NAMES_SERVICE, line->peer)),
        SHOW(request->units[line->unit]), line->role, line->resolution_ns,
        line->is_interval);
    CU_ASSERT_EQUAL(cpti_requests_kind_service(requests, line->kind), line->service);
    CU_ASSERT(line->unit < request->unit_count);
    CU_ASSERT_EQUAL(line->has_unit, request->units[line->unit].bytes > 0);
}

/* All requests as text; they are changed on the way, which the next time shows not. */
static cpt_status show(struct cpti_requests *requests, struct text *text)
{
    struct cpti_request request;
    cpt_status status = cpti_requests_rewind(requests);

    text->count = 0;
    while (status == CPT_OK) {
        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            put(text, "%.*s\n", SHOW(request.id));
        }
        for (size_t i = 0; status == CPT_OK && i < request.count; i++) {
            put_line(text, requests, &request, &request.lines[i]);
            request.lines[i].begin_ns = 0;
        }
    }
    return status;
}

/* --- The model --- */

static int compare(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes > 0 ? memcmp(left.data, right.data, bytes) : 0;

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

/* Whether @a comes before @b among the lines of one request. */
static bool is_before(const struct cpti_event *a, const struct cpti_event *b)
{
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns;
    }
    if (compare(a->host, b->host) != 0) {
        return compare(a->host, b->host) < 0;
    }
    return a->outer_order != b->outer_order ? a->outer_order < b->outer_order
                                            : a->row < b->row;
}

/* The least event that is not taken: of @id, if that is not NULL. */
static const struct cpti_event *least(const struct cpti_event *events, size_t count,
                                      const bool *taken, const struct cpt_bytes *id)
{
    const struct cpti_event *found = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct cpti_event *event = &events[i];

        if (taken[i] || (id != NULL && compare(event->id, *id) != 0)) {
            continue;
        }
        if (found == NULL || (id == NULL ? event->begin_ns < found->begin_ns ||
                                               (event->begin_ns == found->begin_ns &&
                                                compare(event->id, found->id) < 0)
                                         : is_before(event, found))) {
            found = event;
        }
    }
    return found;
}

static void show_model(const struct cpti_event *events, size_t count, struct text *text)
{
    bool taken[EVENTS_MAX] = {false};
    const struct cpti_event *first;

    text->count = 0;
    while ((first = least(events, count, taken, NULL)) != NULL) {
        const struct cpt_bytes id = first->id;
        const struct cpti_event *event;

        put(text, "%.*s\n", SHOW(id));
        while ((event = least(events, count, taken, &id)) != NULL) {
            taken[event - events] = true;
            put(text,
                "%" PRId64 " %" PRId64 " %" PRIu64
                " %.*s %.*s %.*s %.*s %.*s %d %" PRIu64 " %d\n",
                event->begin_ns, event->end_ns, event->row, SHOW(event->service),
                SHOW(event->host), SHOW(event->name), SHOW(event->peer),
                SHOW(event->unit), event->role, event->resolution_ns,
                event->is_interval);
        }
    }
}

/* --- Cases --- */

static struct cpt_bytes pick(struct test_random *random, const char *const *words,
                             size_t count)
{
    return cpt_bytes_of(words[test_random_below(random, count)]);
}

static struct cpti_event random_event(struct test_random *random, uint64_t row)
{
    static const char *const ids[] = {"a", "ab", "b", "7f3a", "zz", "", "q", "r", "s"};
    static const char *const services[] = {"web", "shop", "", "db", "a"};
    static const char *const hosts[] = {"", "h2", "h1"};
    static const char *const units[] = {"", "u1", "u2", "u3"};
    static const char *const names[] = {"GET /", "x#1", "x#2", "", "stop"};
    const int64_t begin_ns =
        year_2020 + (int64_t)test_random_below(random, 12) * 1000000;
    const bool is_interval = test_random_chance(random, 50);

    return (struct cpti_event){
        .id = pick(random, ids, 9),
        .service = pick(random, services, 5),
        .host = pick(random, hosts, 3),
        .unit = pick(random, units, 4),
        .name = pick(random, names, 5),
        .peer = pick(random, services, 5),
        .begin_ns = begin_ns,
        .end_ns = begin_ns + (is_interval ? (int64_t)test_random_below(random, 9) : 0),
        .resolution_ns = test_random_below(random, 3) * 500000,
        .row = row,
        .outer_order = (uint32_t)test_random_below(random, 3),
        .role = (unsigned char)test_random_below(random, 3),
        .is_interval = is_interval};
}

static void shuffle(struct test_random *random, struct cpti_event *events, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t other = (size_t)test_random_below(random, i);
        const struct cpti_event moved = events[i - 1];

        events[i - 1] = events[other];
        events[other] = moved;
    }
}

static void show_events(const struct cpti_event *events, size_t count,
                        size_t memory_bytes_max, struct text *text)
{
    const struct cpti_requests_options options = {.memory_bytes_max = memory_bytes_max,
                                                  .open_file = open_temporary};
    struct cpti_requests *requests = cpti_requests_new(&options);

    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(cpti_requests_add(requests, &events[i]), CPT_OK);
    }
    CU_ASSERT_EQUAL(show(requests, text), CPT_END);
    CU_ASSERT_EQUAL(show(requests, text), CPT_END); /* once more */
    cpti_requests_free(requests);
}

static void test_model(void)
{
    static struct text expected;
    static struct text found;
    const uint64_t seed = test_random_seed("requests");
    const uint64_t cases = test_case_count(CASES);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_event events[EVENTS_MAX];
        size_t count = 1 + (size_t)test_random_below(&random, EVENTS_MAX);
        size_t kept = 0;

        for (size_t k = 0; k < count; k++) {
            events[k] = random_event(&random, k + 1);
            kept += events[k].id.bytes > 0;
        }
        for (size_t k = 0; k < count;) { /* those without an id at the end */
            const struct cpti_event moved = events[k];

            if (moved.id.bytes == 0) {
                events[k] = events[--count];
            } else {
                k++;
            }
        }
        CU_ASSERT_EQUAL(kept, count);
        show_model(events, count, &expected);
        for (size_t round = 0; round < 4; round++) {
            shuffle(&random, events, count);
            show_events(events, count, round % 2 == 0 ? 1 << 20 : 1 << 11, &found);
            CU_ASSERT_EQUAL(found.count, expected.count);
            CU_ASSERT_EQUAL(memcmp(found.bytes, expected.bytes, expected.count), 0);
        }
        if (CU_get_number_of_failures() > 0) {
            printf("case %" PRIu64 "\n", seed + i);
            return;
        }
    }
}

/* The rows of the one unit of the first of 20 requests, of three lines each at 0, 1 and
 * 1 ms, or in the other direction. */
static void take_rows(bool is_reversed, uint64_t rows[3])
{
    const struct cpti_requests_options options = {.memory_bytes_max = 1 << 20};
    struct cpti_requests *requests = cpti_requests_new(&options);
    struct cpti_request request;

    for (int i = 0; i < 60; i++) {
        const char id[] = {'a', (char)('a' + i / 3)};
        const int place = is_reversed ? 2 - i % 3 : i % 3;
        const int64_t at_ns =
            year_2020 + INT64_C(1000000) * (i / 3 * 1000 + (place > 0));
        const struct cpti_event event = {.id = {id, sizeof id},
                                         .unit = cpt_bytes_of("u"),
                                         .service = cpt_bytes_of("s"),
                                         .begin_ns = at_ns,
                                         .end_ns = at_ns,
                                         .row = (uint64_t)i + 1};

        CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_requests_rewind(requests), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpti_requests_next(requests, &request), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(request.count, 3);
    for (int i = 0; i < 3; i++) {
        rows[i] = request.lines[i].row;
    }
    cpti_requests_free(requests);
}

/* Of equal times the last row is the first, where lines are newest first. */
static void test_newest_first(void)
{
    uint64_t rows[3] = {0};

    take_rows(false, rows);
    CU_ASSERT(rows[0] == 1 && rows[1] == 2 && rows[2] == 3);
    take_rows(true, rows);
    CU_ASSERT(rows[0] == 3 && rows[1] == 2 && rows[2] == 1);
}

/* A line without an id, before 2000, that ends before it begins, that is too long, at
 * the limits of int64, and two days away. */
static void test_left_out(void)
{
    const struct cpti_requests_options options = {.memory_bytes_max = 1 << 20};
    struct cpti_requests *requests = cpti_requests_new(&options);
    const int64_t day = INT64_C(86400) * 1000000000;
    const int64_t times[][2] = {{year_2020, year_2020},
                                {INT64_MIN, INT64_MIN},
                                {INT64_MIN, INT64_MAX},
                                {INT64_MAX, INT64_MIN},
                                {year_2020, year_2020 - 1},
                                {0, 5},
                                {INT64_MAX, INT64_MAX},
                                {year_2020, INT64_MAX},
                                {year_2020 + 5, year_2020 + 6},
                                {-1, year_2020},
                                {year_2020 + 2 * day, year_2020 + 2 * day},
                                {year_2020, year_2020 + 367 * day}};
    struct cpti_request request;
    struct cpti_event event = {.id = {"a", 1}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        event.begin_ns = times[i][0];
        event.end_ns = times[i][1];
        CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
    }
    event = (struct cpti_event){.begin_ns = year_2020, .end_ns = year_2020};
    CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
    CU_ASSERT_EQUAL(cpti_requests_rewind(requests), CPT_OK);
    CU_ASSERT_EQUAL(cpti_requests_next(requests, &request), CPT_OK);
    CU_ASSERT_EQUAL(request.count, 2);
    CU_ASSERT_EQUAL(cpti_requests_next(requests, &request), CPT_END);
    CU_ASSERT_EQUAL(cpti_requests_next(requests, &request), CPT_END);
    CU_ASSERT_EQUAL(cpti_requests_counts(requests)->impossible, 9);
    CU_ASSERT_EQUAL(cpti_requests_counts(requests)->without_id, 1);
    CU_ASSERT_EQUAL(cpti_requests_counts(requests)->far, 1);
    CU_ASSERT_EQUAL(cpti_requests_counts(requests)->requests, 1);
    cpti_requests_free(requests);
}

/* One id in too many lines is left out, and the other one is not. */
static void test_too_long(void)
{
    const struct cpti_requests_options options = {.memory_bytes_max = 1 << 20,
                                                  .open_file = open_temporary};
    struct cpti_requests *requests = cpti_requests_new(&options);
    struct cpti_event event = {.begin_ns = year_2020, .end_ns = year_2020};
    struct cpti_request request;

    for (uint64_t i = 0; i < 2 * CPTI_REQUEST_LINES_MAX + 1; i++) {
        event.id = cpt_bytes_of(i % 2 == 0 ? "a" : "b");
        event.row = i;
        CU_ASSERT_EQUAL_FATAL(cpti_requests_add(requests, &event), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_requests_rewind(requests), CPT_OK);
    CU_ASSERT_EQUAL(cpti_requests_next(requests, &request), CPT_OK);
    CU_ASSERT_EQUAL(request.count, CPTI_REQUEST_LINES_MAX);
    CU_ASSERT_EQUAL(request.id.data[0], 'b');
    CU_ASSERT_EQUAL(cpti_requests_next(requests, &request), CPT_END);
    CU_ASSERT_EQUAL(cpti_requests_counts(requests)->too_long, 1);
    cpti_requests_free(requests);
}

/* The kinds with the most events stay, in any order of coming. */
static void test_kinds(void)
{
    enum { KINDS = 5000, LEFT_OUT = KINDS - CPTI_KINDS_MAX + 1 };

    for (size_t round = 0; round < 2; round++) {
        const struct cpti_requests_options options = {.memory_bytes_max = 1 << 24};
        struct cpti_requests *requests = cpti_requests_new(&options);
        struct cpti_event event = {
            .id = {"a", 1}, .begin_ns = year_2020, .end_ns = year_2020};
        const struct cpt_bytes other = cpt_bytes_of(CPTI_KIND_OTHER);
        char name[16];

        for (size_t i = 0; i < KINDS; i++) {
            const size_t number = round == 0 ? i : KINDS - 1 - i;

            event.name.bytes = (size_t)snprintf(name, sizeof name, "%04zu", number);
            event.name.data = name;
            event.service = cpt_bytes_of(number % 5000 < 10 ? "few" : "many");
            for (size_t k = 0; k < 1 + (number >= KINDS - 20); k++) {
                CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
            }
        }
        CU_ASSERT_EQUAL(cpti_requests_rewind(requests), CPT_OK);
        CU_ASSERT_EQUAL(cpti_requests_names(requests, CPTI_NAMES_KIND),
                        CPTI_KINDS_MAX + 10);
        CU_ASSERT_EQUAL(cpti_requests_counts(requests)->other_kinds, LEFT_OUT - 10);
        CU_ASSERT(
            cpt_bytes_equal(cpti_requests_text(requests, CPTI_NAMES_KIND, 10), other));
        event.name = cpti_requests_text(requests, CPTI_NAMES_KIND, CPTI_KINDS_MAX + 9);
        CU_ASSERT_EQUAL(memcmp(event.name.data, "4999", 4), 0);
        cpti_requests_free(requests);
    }
}

static bool scenario(const struct cpt_alloc *alloc)
{
    const struct cpti_requests_options options = {
        .alloc = alloc, .memory_bytes_max = 4096, .open_file = open_temporary};
    static struct text text;
    struct cpti_requests *requests = cpti_requests_new(&options);
    struct test_random random = {7};
    cpt_status status = requests != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; status == CPT_OK && i < 40; i++) {
        struct cpti_event event = random_event(&random, i);

        event.id = cpt_bytes_of("a"); /* parts differ from run to run */
        event.resolution_ns = CPTI_RESOLUTION_OPEN;
        status = cpti_requests_add(requests, &event);
    }
    status = status == CPT_OK ? show(requests, &text) : status;
    CU_ASSERT(status == CPT_END || status == CPT_NO_MEMORY);
    cpti_requests_free(requests);
    return status == CPT_END;
}

static void test_memory(void)
{
    each_allocation_failure(scenario);
}

CU_TestInfo cpt_requests_tests[] = {
    {"as a plain model, in any order", test_model},
    {"equal times in an input that is newest first", test_newest_first},
    {"lines that are left out", test_left_out},
    {"a request that is too long", test_too_long},
    {"kinds that are too many", test_kinds},
    {"without memory", test_memory},
    CU_TEST_INFO_NULL,
};
