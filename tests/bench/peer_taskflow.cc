// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
//
// peer_taskflow.cc - the graphs as Taskflows
//
// Its workers are separate threads; the caller waits for them.

#include "tests/bench/peers.h"

#include <memory>
#include <taskflow/taskflow.hpp>
#include <vector>

namespace
{

void build(tf::Taskflow &flow, const bench_job &job)
{
    const bench_shape &shape = *job.shape;
    void (*body)(uint32_t) = job.body;
    std::vector<tf::Task> tasks;

    tasks.reserve(shape.task_count);
    for (uint32_t i = 0; i < shape.task_count; i++) {
        tasks.push_back(flow.emplace([body, i] { body(i); }));
        for (uint32_t k = shape.need_begin[i]; k < shape.need_begin[i + 1]; k++) {
            tasks[shape.needs[k]].precede(tasks[i]);
        }
    }
}

struct runner {
    bench_job job;
    tf::Executor executor;
    tf::Taskflow kept;

    explicit runner(const bench_job &given) : job(given), executor(given.worker_count)
    {
        if (!job.is_fresh) {
            build(kept, job);
        }
    }
};

void *open_taskflow(const bench_job *job)
{
    return new runner(*job);
}

void run_taskflow(void *opened, size_t request_count)
{
    runner &own = *static_cast<runner *>(opened);

    for (size_t i = 0; i < request_count; i++) {
        if (own.job.is_fresh) {
            tf::Taskflow flow;

            build(flow, own.job);
            own.executor.run(flow).wait();
        } else {
            own.executor.run(own.kept).wait();
        }
    }
}

void close_taskflow(void *opened)
{
    delete static_cast<runner *>(opened);
}

} // namespace

const bench_peer bench_peers_taskflow[] = {
    {"Taskflow", BENCH_RUNS_REUSED | BENCH_RUNS_FRESH | BENCH_RUNS_THREADS,
     open_taskflow, run_taskflow, close_taskflow, nullptr},
    {nullptr, 0, nullptr, nullptr, nullptr, nullptr}};
