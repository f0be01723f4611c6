/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_store.h - trees out of ClickHouse, requests into it
 *
 * An operand clickhouse://… stands for the path logs that were loaded there. In a tool
 * that was built without libcurl (gather_store_absent.c) all of this fails and says so.
 *
 * Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_GATHER_STORE_H
#define CPTI_CLI_GATHER_STORE_H

#include "cpt/cli/select/select.h"

struct cpti_gather;
struct cpti_population;
struct cpti_sample;

/*
 * Adds the requests at @address that gather->selection takes to gather->tree, and the
 * counts of those left out. @service is told of each entry service that has selected
 * requests; if there are several, none is added. Of those that count, only the ones
 * that are drawn into the empty @sample, if there is one (it then holds no paths).
 *
 * For gather->request the requests are fetched one by one, with their segments in any
 * order, and so it is not told of them if it needs the order. enum cpti_exit.
 */
int cpti_store_gather(const char *address, struct cpti_gather *gather,
                      struct cpti_sample *sample,
                      void (*service)(void *context, const char *name), void *context);

/*
 * Finds the percentiles of @selection, which has been linked for its population: that
 * at all addresses among @paths together with @population, the latencies met elsewhere,
 * to which it adds. enum cpti_exit.
 */
int cpti_store_percentiles(struct cpti_selection *selection,
                           struct cpti_population *population, const char *const *paths,
                           size_t path_count);

/* How to load: options of `cpt load`. */
struct cpti_store_load_how {
    unsigned long retry_seconds;
    unsigned long batch_rows;
    int stops_at_error;
};

/* Loads the logs at @paths to @address. enum cpti_exit. */
int cpti_store_load(const char *address, const struct cpti_store_load_how *how,
                    const char *const *paths, size_t path_count);

#endif
