/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* now.h - the operating system's monotonic clock, now. Inline; shared by the
 * libraries. */
#ifndef CPTI_NOW_H
#define CPTI_NOW_H

#include "cpt/cpt_clock.h"

static inline uint64_t cpti_now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

#endif
