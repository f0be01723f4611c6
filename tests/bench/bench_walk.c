/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_walk.c - the cost of the backward walk, without that of building the path
 *
 * cpt_critical_path() walks the records backwards, noting steps, and then builds a path
 * from the steps: frames, names, segments. Two ways to separate the two costs:
 *
 *   - records in which no time passes between the tasks: the walk visits every task,
 *     and the path has one segment;
 *   - records in which time passes, minus the cost of building the same path by hand.
 *
 * Records: a chain of 1,000 tasks, each unblocked by the one before. Stamps as in a
 * real run: some of the tasks were queued.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"

#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 1000, NAMES = 40, ROUNDS = 31, REPEATS = 20 };

static struct cpt_trace_task still_tasks[TASKS];
static struct cpt_trace_task timed_tasks[TASKS];
static char names[NAMES][16];

static void make_records(struct cpt_trace *trace, struct cpt_trace_task *tasks,
                         uint64_t task_ns)
{
    uint64_t at_ns = 1000;

    for (size_t i = 0; i < TASKS; i++) {
        struct cpt_trace_task *task = &tasks[i];

        task->name = cpt_bytes_of(names[i % NAMES]);
        task->begin = i == 0 ? CPT_BEGIN_REQUEST : CPT_BEGIN_TASK;
        task->unblocker = i == 0 ? NULL : &tasks[i - 1];
        task->ready_ns = at_ns;
        at_ns += i % 8 == 7 ? task_ns : 0;
        task->start_ns = at_ns;
        at_ns += task_ns;
        task->end_ns = at_ns;
    }
    trace->entry = cpt_bytes_of("A: /");
    trace->arrival_ns = 500;
    trace->response_ns = at_ns;
    trace->answered_by = &tasks[TASKS - 1];
}

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "bench_walk: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

static double walk_ns(const struct cpt_trace *trace, struct cpt_path *path)
{
    const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    for (int i = 0; i < REPEATS; i++) {
        cpt_path_reset(path);
        must(cpt_critical_path(NULL, trace, path, NULL));
    }
    return (double)(cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns) / REPEATS;
}

/*
 * Builds a path like @from from names and times. The frames of the walk are numbered in
 * the order in which they first occur on the path, so each is added there, and found by
 * its number later, as in the walk itself.
 */
static double make_ns(const struct cpt_path *from, struct cpt_path *path)
{
    const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    for (int k = 0; k < REPEATS; k++) {
        uint32_t added_count = 0;

        cpt_path_reset(path);
        for (size_t i = 0; i < cpt_path_segment_count(from); i++) {
            const struct cpt_segment *segment = cpt_path_segment(from, i);

            for (; added_count <= segment->frame; added_count++) {
                const struct cpt_frame *frame = cpt_path_frame(from, added_count);
                uint32_t added = 0;

                must(cpt_path_frame_add(path, frame->parent,
                                        cpt_path_frame_name(from, added_count),
                                        frame->kind, &added));
            }
            must(cpt_path_append_ns(path, segment->frame, segment->duration_ns));
        }
    }
    return (double)(cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns) / REPEATS;
}

int main(int argument_count, char **arguments)
{
    struct cpt_trace still = {0};
    struct cpt_trace timed = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *copy = cpt_path_new(NULL);
    double still_ns[ROUNDS];
    double whole_ns[ROUNDS];
    double made_ns[ROUNDS];
    double rest_ns[ROUNDS];

    bench_begin("bench_walk", &argument_count, arguments);
    if (path == NULL || copy == NULL) {
        return 2;
    }
    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(names[i], sizeof names[i], "A: task %zu", i);
    }
    make_records(&still, still_tasks, 0);
    make_records(&timed, timed_tasks, 100);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t steps = 0;

        still_ns[round] = walk_ns(&still, path) / TASKS;
        whole_ns[round] = walk_ns(&timed, path);
        steps = cpt_path_segment_count(path);
        made_ns[round] = make_ns(path, copy) / (double)steps;
        whole_ns[round] /= (double)steps;
        rest_ns[round] = whole_ns[round] - made_ns[round];
    }
    bench_title("The backward walk, 1,000 tasks");
    bench_rounds("walk and path", whole_ns, "ns a step", NULL, NULL, ROUNDS);
    bench_rounds("the path alone, by hand", made_ns, "ns a step", "walk and path",
                 whole_ns, ROUNDS);
    bench_rounds("the difference: the walk", rest_ns, "ns a step", "walk and path",
                 whole_ns, ROUNDS);
    bench_rounds("the walk where no time passes", still_ns, "ns a task",
                 "walk and path", whole_ns, ROUNDS);
    cpt_path_free(path);
    cpt_path_free(copy);
    return bench_end();
}
