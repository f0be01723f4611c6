/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_merge.c - several logs, their records in the order of time; see log_merge.h
 *
 * The logs that still have a record are in a heap: the record of place i is not later
 * than those of the places 2i + 1 and 2i + 2, so the earliest one is at place 0.
 */
#include "tool/requests/log_merge.h"

#include "tool/base/output.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <sys/resource.h>

/* One log, with its next record. */
struct source {
    struct cpti_input input;
    struct cpti_log_walk walk;
    struct cpt_record record;
    size_t number; /* at equal times the log named first comes first */
};

struct heap {
    struct source **all;
    size_t count;
};

static bool is_before(const struct source *left, const struct source *right)
{
    if (left->record.start_unix_ns != right->record.start_unix_ns) {
        return left->record.start_unix_ns < right->record.start_unix_ns;
    }
    return left->number < right->number;
}

/* Moves the source at @at, which may be too late for its place, down to its place. */
static void sink(struct heap *heap, size_t at)
{
    for (;;) {
        size_t first = at;
        struct source *moved = heap->all[at];

        for (size_t below = 2 * at + 1; below <= 2 * at + 2; below++) {
            if (below < heap->count && is_before(heap->all[below], heap->all[first])) {
                first = below;
            }
        }
        if (first == at) {
            return;
        }
        heap->all[at] = heap->all[first];
        heap->all[first] = moved;
        at = first;
    }
}

/* Ends the walk over a source. */
static int end_source(struct source *source, int status)
{
    status = cpti_log_walk_end(&source->walk, status);
    cpti_input_close(&source->input);
    return status;
}

/* Opens a log and reads its first record. *@is_end if there is none, or it failed. */
static int open_source(struct source *source, const struct cpti_log_walk *like,
                       const char *path, bool *is_end)
{
    int status = cpti_log_open(&source->input, path);

    *is_end = true;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    source->walk = *like;
    source->walk.input = &source->input;
    status = cpti_log_walk_begin(&source->walk);
    status =
        CPTI_THEN(status, cpti_log_walk_next(&source->walk, &source->record, is_end));
    if (status != CPTI_EXIT_DONE || *is_end) {
        *is_end = true;
        status = end_source(source, status);
    }
    return status;
}

/* Hands on the record at place 0, and reads the next one of its log. */
static int take_top(struct heap *heap)
{
    struct source *source = heap->all[0];
    bool is_end = false;
    int status = source->walk.record(&source->walk, &source->record);

    status =
        CPTI_THEN(status, cpti_log_walk_next(&source->walk, &source->record, &is_end));
    if (status != CPTI_EXIT_DONE || is_end) {
        status = end_source(source, status);
        heap->all[0] = heap->all[--heap->count];
    }
    if (heap->count != 0) {
        sink(heap, 0);
    }
    return status;
}

/* All logs are open at once: a folder may have more of them than a process may open
 * before it asks for more. enum cpti_exit. */
static int allow_files(size_t path_count)
{
    enum { OTHERS = 64 };
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)path_count + OTHERS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return CPTI_EXIT_DONE;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur >= wanted
               ? CPTI_EXIT_DONE
               : cpti_failed("%zu logs cannot be merged at once: a process may open "
                             "%llu files (ulimit -n); merge parts of them first",
                             path_count, (unsigned long long)limit.rlim_max);
}

int cpti_log_merge(const struct cpti_log_walk *like, const char *const *paths,
                   size_t path_count)
{
    struct source *sources = calloc(path_count + 1, sizeof *sources);
    struct heap heap = {calloc(path_count + 1, sizeof(struct source *)), 0};
    int status;

    if (sources == NULL || heap.all == NULL) {
        free(sources);
        free(heap.all);
        return cpti_failed("out of memory");
    }
    status = allow_files(path_count);
    path_count = status == CPTI_EXIT_DONE ? path_count : 0;
    for (size_t i = 0; i < path_count; i++) {
        bool is_end = false;
        sources[i].number = i;
        status =
            cpti_exit_last(status, open_source(&sources[i], like, paths[i], &is_end));
        if (!is_end) {
            heap.all[heap.count++] = &sources[i];
        }
    }
    for (size_t i = heap.count / 2; i-- > 0;) {
        sink(&heap, i);
    }
    while (heap.count != 0) {
        status = cpti_exit_last(status, take_top(&heap));
    }
    free(heap.all);
    free(sources);
    return status;
}
