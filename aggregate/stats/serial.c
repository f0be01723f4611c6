/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * serial.c - whether requests near in time resemble each other; see cpt_serial.h
 *
 * Requests have a hash of time and latency; those whose hash is at or below a limit are
 * kept. When there are too many, the limit is halved. So which ones are kept depends on
 * all requests, not on their order, or on who added them.
 */
#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_stats.h"

#include "cpt/base/hash_index.h"

#include <math.h>
#include <stdlib.h>

#define LEVEL         0.01
#define INFLATION_MIN 1.21 /* (1.1)² */

struct timed {
    uint64_t start_ns;
    uint64_t latency_ns;
    double rank;
};

struct cpt_serial {
    const struct cpt_alloc *alloc;
    struct timed *all;
    size_t count;
    size_t capacity;
    uint64_t limit; /* of the hashes */
};

struct cpt_serial *cpt_serial_new(const struct cpt_alloc *alloc)
{
    struct cpt_serial *serial = cpt_alloc_zeroed(alloc, sizeof *serial);

    if (serial != NULL) {
        serial->alloc = alloc;
        serial->limit = UINT64_MAX;
    }
    return serial;
}

void cpt_serial_free(struct cpt_serial *serial)
{
    if (serial != NULL) {
        cpt_alloc_free(serial->alloc, serial->all);
        cpt_alloc_free(serial->alloc, serial);
    }
}

static uint64_t hash_of(const struct timed *request)
{
    return cpti_hash_mix(request->start_ns ^ cpti_hash_mix(request->latency_ns));
}

/* Keeps the requests up to @limit. */
static void thin(struct cpt_serial *serial, uint64_t limit)
{
    size_t kept = 0;

    serial->limit = limit;
    for (size_t i = 0; i < serial->count; i++) {
        if (hash_of(&serial->all[i]) <= limit) {
            serial->all[kept++] = serial->all[i];
        }
    }
    serial->count = kept;
}

cpt_status cpt_serial_add(struct cpt_serial *serial, uint64_t start_ns,
                          uint64_t latency_ns)
{
    const struct timed request = {start_ns, latency_ns, 0};
    cpt_status status;

    /* equal requests have equal hashes, and none of them may be left */
    while (serial->count == CPT_SERIAL_MAX && hash_of(&request) <= serial->limit &&
           serial->limit != 0) {
        thin(serial, serial->limit / 2);
    }
    if (hash_of(&request) > serial->limit || serial->count == CPT_SERIAL_MAX) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(serial->alloc, (void **)&serial->all, &serial->capacity,
                            serial->count + 1, CPT_SERIAL_MAX, sizeof *serial->all);
    if (status == CPT_OK) {
        serial->all[serial->count++] = request;
    }
    return status;
}

cpt_status cpt_serial_join(struct cpt_serial *serial, const struct cpt_serial *from)
{
    cpt_status status = CPT_OK;

    if (from->limit < serial->limit) {
        thin(serial, from->limit);
    }
    for (size_t i = 0; i < from->count && status == CPT_OK; i++) {
        status = cpt_serial_add(serial, from->all[i].start_ns, from->all[i].latency_ns);
    }
    return status;
}

/* --- The test --- */

static int by_latency(const void *left, const void *right)
{
    const struct timed *a = left;
    const struct timed *b = right;

    return (a->latency_ns > b->latency_ns) - (a->latency_ns < b->latency_ns);
}

static int by_time(const void *left, const void *right)
{
    const struct timed *a = left;
    const struct timed *b = right;

    if (a->start_ns != b->start_ns) {
        return a->start_ns > b->start_ns ? 1 : -1;
    }
    return by_latency(left, right);
}

/* Sets ranks, from their middle on: equal latencies have the mean of their ranks.
 * Returns the sum of their squares. */
static double set_ranks(struct timed *all, size_t count)
{
    double squares = 0;

    qsort(all, count, sizeof *all, by_latency);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        double rank;

        while (end < count && all[end].latency_ns == all[i].latency_ns) {
            end++;
        }
        rank = (double)(i + end) / 2 - (double)count / 2;
        squares += rank * rank * (double)(end - i);
        while (i < end) {
            all[i++].rank = rank;
        }
    }
    return squares;
}

/* Σ m_b R_b² of @blocks blocks in the order of time. */
static double between(struct timed *all, size_t count, size_t blocks)
{
    double squares = 0;

    qsort(all, count, sizeof *all, by_time);
    for (size_t b = 0; b < blocks; b++) {
        const size_t begin = count * b / blocks;
        const size_t end = count * (b + 1) / blocks;
        double sum = 0;

        for (size_t i = begin; i < end; i++) {
            sum += all[i].rank;
        }
        squares += sum * sum / (double)(end - begin);
    }
    return squares;
}

/* P(χ² >= @value), after Wilson and Hilferty: the cube root is nearly normal. */
static double chi_square_tail(double value, double degrees)
{
    const double part = 2 / (9 * degrees);

    return cpt_normal_cdf(-(cbrt(value / degrees) - 1 + part) / sqrt(part));
}

struct cpt_serial_result cpt_serial_test(struct cpt_serial *serial)
{
    struct cpt_serial_result result = {serial->count, NAN, NAN, 0};
    const size_t count = serial->count;
    const size_t blocks = (size_t)sqrt((double)count);
    double squares;
    double statistic;

    if (count < CPT_SERIAL_REQUESTS_MIN) {
        return result;
    }
    squares = set_ranks(serial->all, count);
    if (!(squares > 0)) {
        return result; /* one latency */
    }
    statistic = (double)(count - 1) * between(serial->all, count, blocks) / squares;
    result.inflation = statistic / (double)(blocks - 1);
    result.p_value = chi_square_tail(statistic, (double)(blocks - 1));
    result.is_found = result.p_value < LEVEL && result.inflation >= INFLATION_MIN;
    return result;
}
