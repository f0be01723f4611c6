/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * point_units.h - units that only have points, in a request that has intervals
 *
 *      nginx   |=================================|           from its access log
 *      shop       got .... locked .... done                  a service that prints
 *      shop       |========================|                 what is made of it
 *
 * The first line of such a unit becomes an interval, of a server, to its last one; the
 * others split it. A service that does not name its units has one for each call that
 * names it, as far as these come one after the other.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_POINT_UNITS_H
#define CPTI_POINT_UNITS_H

#include "import/events/requests.h"

struct cpti_point_units;

/* NULL without memory. The caller owns it. */
struct cpti_point_units *cpti_point_units_new(const struct cpt_alloc *alloc);
void cpti_point_units_free(struct cpti_point_units *units);

/* Makes intervals in place, of the units of @request of which no point lies in an
 * interval of its unit or its service; a client's is none. *@made: how many. Lines stay
 * sorted. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_point_units_join(struct cpti_point_units *units,
                                 struct cpti_request *request, size_t *made);

#endif
