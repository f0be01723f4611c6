/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_store.h - trees out of ClickHouse, requests into it
 *
 * An operand clickhouse://… stands for the path logs that were loaded there. In a tool
 * without libcurl (gather_store_absent.c) all functions fail.
 *
 * Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_GATHER_STORE_H
#define CPTI_CLI_GATHER_STORE_H

#include "tool/select/select.h"

#include <stdbool.h>

struct cpti_gather;
struct cpti_population;
struct cpti_sample;

/*
 * Adds the requests at @address that @selection has to gather->tree, and the counts of
 * those left out. Calls @service for each entry service that has selected requests; if
 * there are several, no request is added. If @sample is not NULL, draws it, and adds
 * its requests only; it then holds no paths.
 *
 * If gather->request is set, requests are fetched one by one, with their segments in
 * any order; it is not called if it needs the order. enum cpti_exit.
 */
int cpti_store_gather(const char *address, struct cpti_gather *gather,
                      struct cpti_selection *selection, struct cpti_sample *sample,
                      void (*service)(void *context, const char *name), void *context);

/*
 * Finds the percentiles of @selection, which has been linked for its population. The
 * population is that of all addresses among @paths, and @population, the latencies from
 * logs, which grows. enum cpti_exit.
 */
int cpti_store_percentiles(struct cpti_selection *selection,
                           struct cpti_population *population, const char *const *paths,
                           size_t path_count);

/* The options of `cpt load`. */
struct cpti_store_load_options {
    uint64_t retry_seconds;
    uint64_t batch_rows;
    bool stops_at_error;
    bool keeps_duplicates; /* each copy of a record is loaded */
};

/* Loads the logs at @paths to @address. enum cpti_exit. */
int cpti_store_load(const char *address, const struct cpti_store_load_options *options,
                    const char *const *paths, size_t path_count);

#endif
