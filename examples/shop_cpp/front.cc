/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* front.cc - a product page: three services are asked at once; see README.md */
#include <cpt/cpt.hpp>

using namespace std::chrono_literals;

struct item {
    int64_t number;
};
struct title {
    std::string text;
};
struct price {
    int64_t cents;
};
struct stock {
    int64_t left;
};

static cpt_stub title_stub = cpt::make_stub("catalogue: /title", "/title");
static cpt_stub price_stub = cpt::make_stub("price: /price", "/price");
static cpt_stub stock_stub = cpt::make_stub("stock: /stock", "/stock");

static std::string ask(const item &i)
{
    return std::to_string(i.number);
}

int main(int argc, char **argv)
{
    cpt::service_graph page("front");
    cpt::call_options hedged;
    cpt::call_options brief;

    hedged.hedge = 30ms;
    hedged.retry_count_max = 1;
    brief.timeout = 150ms;
    page.task("parse",
              [](const cpt_rpc_request &r) { return item{cpt::number(r.query)}; });
    page.call(
        "title", title_stub, ask,
        [](const cpt::call_reply &r) { return title{cpt::string(r.body)}; }, hedged);
    page.call(
        "price", price_stub, ask,
        [](const cpt::call_reply &r) { return price{cpt::number(r.body)}; }, brief,
        price{-1});
    page.call("stock", stock_stub, ask,
              [](const cpt::call_reply &r) { return stock{cpt::number(r.body)}; });
    page.task("render",
              [](cpt::task task, const title &t, const price &p, const stock &s) {
                  return task.reply(t.text + ": " + std::to_string(p.cents) +
                                    " cents, " + std::to_string(s.left) + " left\n");
              });
    return cpt::program("front")
        .method("/page", page)
        .stub(title_stub)
        .stub(price_stub)
        .stub(stock_stub)
        .run(argc, argv);
}
