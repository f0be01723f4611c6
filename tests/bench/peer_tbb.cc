// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
//
// peer_tbb.cc - the graphs as oneTBB flow graphs of continue_node
//
// A continue_node counts the messages of its predecessors. The caller is one of the
// workers: wait_for_all() runs tasks.

#include "tests/bench/peers.h"

#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <vector>

namespace
{

namespace flow = oneapi::tbb::flow;
using node = flow::continue_node<flow::continue_msg>;

struct built {
    flow::graph graph;
    std::vector<std::unique_ptr<node>> nodes;

    explicit built(const bench_job &job)
    {
        const bench_shape &shape = *job.shape;
        void (*body)(uint32_t) = job.body;

        nodes.reserve(shape.task_count);
        for (uint32_t i = 0; i < shape.task_count; i++) {
            nodes.push_back(std::make_unique<node>(
                graph, [body, i](const flow::continue_msg &) { body(i); }));
            for (uint32_t k = shape.need_begin[i]; k < shape.need_begin[i + 1]; k++) {
                flow::make_edge(*nodes[shape.needs[k]], *nodes[i]);
            }
        }
    }

    void run(const bench_shape &shape)
    {
        for (uint32_t i = 0; i < shape.task_count; i++) {
            if (shape.need_begin[i] == shape.need_begin[i + 1]) {
                nodes[i]->try_put(flow::continue_msg());
            }
        }
        graph.wait_for_all();
    }
};

struct runner {
    bench_job job;
    oneapi::tbb::global_control limit;
    oneapi::tbb::task_arena arena;
    std::unique_ptr<built> kept;

    explicit runner(const bench_job &given)
        : job(given), limit(oneapi::tbb::global_control::max_allowed_parallelism,
                            given.worker_count),
          arena(static_cast<int>(given.worker_count))
    {
        arena.execute([this] {
            if (!job.is_fresh) {
                kept = std::make_unique<built>(job);
            }
        });
    }
};

void *open_tbb(const bench_job *job)
{
    return new runner(*job);
}

void run_tbb(void *opened, size_t request_count)
{
    runner &own = *static_cast<runner *>(opened);

    own.arena.execute([&own, request_count] {
        for (size_t i = 0; i < request_count; i++) {
            if (own.kept) {
                own.kept->run(*own.job.shape);
            } else {
                built(own.job).run(*own.job.shape);
            }
        }
    });
}

void close_tbb(void *opened)
{
    delete static_cast<runner *>(opened);
}

} // namespace

const bench_peer bench_peers_tbb[] = {
    {"oneTBB flow graph", BENCH_RUNS_REUSED | BENCH_RUNS_FRESH | BENCH_RUNS_THREADS,
     open_tbb, run_tbb, close_tbb, nullptr},
    {nullptr, 0, nullptr, nullptr, nullptr, nullptr}};
