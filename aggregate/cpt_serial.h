/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_serial.h - whether requests near in time resemble each other
 *
 * Errors of means and quantiles take requests as independent. If a minute is slow as a
 * whole, they are not, and the errors are too small. In the order of time, n requests
 * are cut into B blocks of equal size, and each latency is replaced by its rank, so
 * that its distribution does not matter. If the order says nothing, the means of the
 * blocks vary as those of requests drawn at random do (Kruskal and Wallis):
 *
 *      H = (n - 1) Σ m_b (R_b - R)² / Σ (r - R)²     about χ² with B - 1 degrees
 *
 * with the mean ranks R_b of blocks of m_b and R of all. The inflation H / (B - 1) is
 * by how much the variance of a mean is larger than that of independent requests, as
 * far as that is due to their place in time. Blocks have about √n requests: small ones
 * miss what many have in common, large ones are few.
 *
 * Nothing is seen of requests that resemble each other and are far from each other in
 * time, as those of one user among many.
 *
 * In order of use: cpt_serial_new; cpt_serial_add for each request; cpt_serial_join;
 * cpt_serial_test; cpt_serial_free. Threads: one at a time.
 */
#ifndef CPT_SERIAL_H
#define CPT_SERIAL_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_serial;

enum {
    CPT_SERIAL_MAX = 1 << 18,      /* requests that are kept; of more a part is drawn */
    CPT_SERIAL_REQUESTS_MIN = 200, /* of fewer nothing is said */
};

/* The result of the test. */
struct cpt_serial_result {
    uint64_t request_count; /* that were compared */
    double inflation;       /* of the variance of a mean; 1: none; NAN: too few */
    double p_value;         /* of an inflation above 1; NAN: too few */
    int is_found;           /* p < 0.01, and the inflation is at least 1.21: errors are
                               too small by a tenth or more */
};

/* Nothing, over @alloc (NULL: malloc's). NULL without memory. The caller owns it. */
CPT_API struct cpt_serial *cpt_serial_new(const struct cpt_alloc *alloc);
CPT_API void cpt_serial_free(struct cpt_serial *serial);

/* Adds a request, in any order. CPT_OK or CPT_NO_MEMORY. */
CPT_API cpt_status cpt_serial_add(struct cpt_serial *serial, uint64_t start_ns,
                                  uint64_t latency_ns);

/* Adds the requests of @from: the result is that of one that got all of them. CPT_OK or
 * CPT_NO_MEMORY. */
CPT_API cpt_status cpt_serial_join(struct cpt_serial *serial,
                                   const struct cpt_serial *from);

/* Tests, and changes the order of the requests. */
CPT_API struct cpt_serial_result cpt_serial_test(struct cpt_serial *serial);

CPT_END_DECLS

#endif
