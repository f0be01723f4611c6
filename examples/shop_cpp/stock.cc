/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stock.cc - a database that blocks, on a thread of its own */
#include <cpt/cpt.hpp>

#include <thread>

using namespace std::chrono_literals;

struct item {
    int64_t number;
};
struct left {
    int64_t count;
};

static cpt_executor *database; /* one thread */

/* A library that blocks, and knows nothing of tasks but that it may be in one. */
static int64_t database_look_up(int64_t item)
{
    std::this_thread::sleep_for(3ms);
    if (cpt_task *task = cpt_current_task()) {
        cpt::task(task).set("table", "stock");
    }
    return item % 7;
}

int main(int argc, char **argv)
{
    cpt::graph<item, left> on_database("stock");
    cpt::service_graph answer("stock");

    on_database.task("query",
                     [](const item &i) { return left{database_look_up(i.number)}; });
    answer.task("parse",
                [](const cpt_rpc_request &r) { return item{cpt::number(r.body)}; });
    answer.component("look up", on_database, &database);
    answer.task("answer", [](cpt::task task, const left &l) {
        return task.reply(std::to_string(l.count));
    });
    return cpt::program("stock")
        .role(CPT_ROLE_INNER)
        .method("/stock", answer)
        .pool("database", 1, &database)
        .run(argc, argv);
}
