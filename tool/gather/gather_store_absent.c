/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_store_absent.c - a tool without ClickHouse; see gather_store.h */
#include "tool/gather/gather_store.h"

#include "tool/base/files.h"
#include "tool/base/output.h"

static int refuse(const char *address)
{
    return cpti_failed_at((struct cpti_at){.file = cpti_quoted(address)},
                          "this cpt was built without libcurl, so without ClickHouse");
}

int cpti_store_gather(const char *address, struct cpti_gather *gather,
                      struct cpti_selection *selection, struct cpti_sample *sample,
                      void (*service)(void *context, const char *name), void *context)
{
    (void)gather;
    (void)selection;
    (void)sample;
    (void)service;
    (void)context;
    return refuse(address);
}

int cpti_store_percentiles(struct cpti_selection *selection,
                           struct cpti_population *population, const char *const *paths,
                           size_t path_count)
{
    (void)selection;
    (void)population;
    for (size_t i = 0; i < path_count; i++) {
        if (cpti_is_store(paths[i])) {
            return refuse(paths[i]);
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_store_load(const char *address, const struct cpti_store_load_options *options,
                    const char *const *paths, size_t path_count)
{
    (void)options;
    (void)paths;
    (void)path_count;
    return refuse(address);
}
