/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * glance.h - a request that is traced only for what a rule may say at its end
 *
 *      begin    callees are asked for little: their largest segments
 *      end      no condition of a rule can hold   --> no path, no record
 *               one holds                         --> path, record, and for a while the
 *                                                     next requests of the method ask
 *                                                     for all, at a limited rate
 */
#ifndef CPT_GLANCE_H
#define CPT_GLANCE_H

#include <stdatomic.h>
#include <stdint.h>

enum { CPTI_GLANCE_BYTES_DEFAULT = 256, CPTI_GLANCE_BYTES_MIN = 32 };

#define CPTI_WHOLE_RATE_DEFAULT 10.0
#define CPTI_WHOLE_NS_DEFAULT   UINT64_C(60000000000)

/* Of one method. */
struct cpti_glance {
    atomic_uint_least64_t whole_until_ns; /* relaxed; 0: none was kept lately */
};

#endif
