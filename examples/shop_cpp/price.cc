/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* price.cc - prices rise with each question; a lock guards the count of questions */
#include <cpt/cpt.hpp>

using namespace std::chrono_literals;

static cpt::mutex lock("prices");
static int64_t question_count; /* guarded by lock */

static cpt::result<cpt_rpc_reply> tell(cpt::task task)
{
    const std::lock_guard<cpt::mutex> guard(lock);

    return task.reply(std::to_string(1000 + question_count++));
}

int main(int argc, char **argv)
{
    cpt::service_graph answer("price");

    answer.task(
        "find",
        [](cpt::task task, const cpt_rpc_request &r) -> cpt::step<cpt_rpc_reply> {
            const bool is_abroad =
                r.body.bytes > 0 &&
                cpt::text(r.body).back() == '9'; /* too late for the page */
            return is_abroad ? task.await(task.sleep("abroad", 2s), tell)
                             : cpt::step<cpt_rpc_reply>(tell(task));
        });
    return cpt::program("price")
        .role(CPT_ROLE_INNER)
        .method("/price", answer)
        .run(argc, argv);
}
