/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_untraced.c - logs without records; see log_untraced.h
 *
 * A process tells its number of requests again and again; the last one counts. Several
 * processes of a service are added up.
 */
#include "tool/requests/log_untraced.h"

#include "tool/base/output.h"
#include "tool/requests/diagnosis.h"
#include "tool/requests/stream.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Processes that are told apart; those of others are not known. And services that are
 * printed. */
enum { PROCESSES_MAX = 256, SERVICES_MAX = 4 };

struct process {
    uint64_t number;
    char service[CPT_NAME_BYTES_MAX + 1];
    double probability;
    uint64_t request_count;
    bool is_final;
    bool is_counted;
};

struct processes {
    struct process *all;
    size_t count;
};

static void take(void *context, const struct cpt_log_untraced *untraced)
{
    struct processes *processes = context;
    struct process *process = processes->all;
    char service[CPT_NAME_BYTES_MAX + 1];

    (void)cpti_printable_to(untraced->service, service, sizeof service);
    while (process < processes->all + processes->count &&
           (process->number != untraced->process ||
            strcmp(process->service, service) != 0)) {
        process++;
    }
    if (process == processes->all + PROCESSES_MAX) {
        return;
    }
    processes->count += process == processes->all + processes->count;
    process->number = untraced->process;
    (void)snprintf(process->service, sizeof process->service, "%s", service);
    process->probability = untraced->probability;
    process->request_count = untraced->request_count;
    process->is_final = untraced->is_final != 0;
}

static enum cpti_needs needs_nothing(void *context, struct cpti_request *request)
{
    (void)context;
    (void)request;
    return CPTI_NEEDS_NOTHING;
}

static void read_logs(struct processes *processes, const char *const *paths,
                      size_t path_count)
{
    struct cpti_fold fold = {.needs = needs_nothing};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .goes_on = true,
                                 .is_quiet = true,
                                 .context = processes,
                                 .untraced = take};
    bool is_usable;

    (void)cpti_stream_run(&stream, &is_usable);
}

/* Adds "A traced 0 of 300 requests, its probability is 0.001" to @text. */
static size_t add_service(const struct processes *processes, struct process *first,
                          char *text, size_t capacity)
{
    uint64_t count = 0;
    bool is_final = true;
    int written;

    for (struct process *at = first; at < processes->all + processes->count; at++) {
        if (strcmp(at->service, first->service) == 0) {
            at->is_counted = true;
            count += at->request_count < UINT64_MAX - count ? at->request_count : 0;
            is_final = is_final && at->is_final;
        }
    }
    written =
        snprintf(text, capacity,
                 "%s traced 0 of %" PRIu64 "%s request%s, its probability is %.6g",
                 first->service, count, is_final ? "" : " or more",
                 count == 1 && is_final ? "" : "s", first->probability);
    return written > 0 && (size_t)written < capacity ? (size_t)written : 0;
}

int cpti_untraced_failed(const char *const *paths, size_t path_count)
{
    struct processes processes = {calloc(PROCESSES_MAX + 1, sizeof(struct process)), 0};
    char text[SERVICES_MAX * (CPT_NAME_BYTES_MAX + 128)] = "";
    size_t bytes = 0;
    size_t service_count = 0;

    if (processes.all == NULL || !cpti_diagnosis_is_possible(paths, path_count)) {
        path_count = 0;
    }
    read_logs(&processes, paths, path_count);
    for (size_t i = 0; i < processes.count; i++) {
        if (!processes.all[i].is_counted && service_count++ < SERVICES_MAX) {
            bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s",
                                      bytes == 0 ? ": " : "; ");
            bytes += add_service(&processes, &processes.all[i], text + bytes,
                                 sizeof text - bytes);
        }
    }
    free(processes.all);
    return cpti_failed("no request is selected: there is no record%s", text);
}
