/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* catalogue.cc - titles: requests that ask for one at once share its load */
#include <cpt/cpt.hpp>

#include <atomic>

using namespace std::chrono_literals;

struct item {
    int64_t number;
};
struct title {
    std::string text;
};

static cpt::shared<item, title> loads;
static std::atomic<int> load_count;

int main(int argc, char **argv)
{
    cpt::graph<item, title> load("catalogue");
    cpt::service_graph answer("catalogue");

    load.task(
        "load",
        [](cpt::task task, const item &i)
            -> cpt::step<title> { /* every tenth lies on a slow disk */
                                  return task.await(
                                      task.sleep("disk",
                                                 i.number % 10 == 0 ? 200ms : 5ms),
                                      [&i](cpt::task) {
                                          return title{
                                              "item " + std::to_string(i.number) +
                                              ", load " + std::to_string(++load_count)};
                                      });
        });
    answer.task(
        "find",
        [](cpt::task task, const cpt_rpc_request &r) -> cpt::step<cpt_rpc_reply> {
            return task.await(
                task.share(loads, cpt::text(r.body), item{cpt::number(r.body)}),
                [](cpt::task again, const title &t) { return again.reply(t.text); });
        });
    return cpt::program("catalogue")
        .role(CPT_ROLE_INNER)
        .method("/title", answer)
        .share("titles", load, loads)
        .run(argc, argv);
}
