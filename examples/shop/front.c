/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* front.c - a product page: three services are asked at once; see README.md */
#include <cpt/cpt_calls.h>
#include <cpt/cpt_service_main.h>

#include <inttypes.h>

#define MS UINT64_C(1000000)

CPT_VALUE(item, int64_t);
CPT_VALUE(title, struct cpt_bytes);
CPT_VALUE(price, int64_t);
CPT_VALUE(stock, int64_t);

static struct cpt_stub title_stub = {.name = "catalogue: /title", .method = "/title"};
static struct cpt_stub price_stub = {.name = "price: /price", .method = "/price"};
static struct cpt_stub stock_stub = {.name = "stock: /stock", .method = "/stock"};

static cpt_status parse(struct cpt_task *task)
{
    return cpt_number_of(cpt_input(task, rpc_request)->query, cpt_output(task, item));
}

static cpt_status render(struct cpt_task *task)
{
    const struct cpt_bytes *title = cpt_input(task, title);

    return cpt_print(task, &cpt_output(task, rpc_reply)->body,
                     "%.*s: %" PRId64 " cents, %" PRId64 " left\n", (int)title->bytes,
                     title->data, *cpt_input(task, price), *cpt_input(task, stock));
}

static const struct cpt_task_def tasks[] = {
    {"parse", parse, CPT_GIVES(item), CPT_NEEDS(rpc_request)},
    CPT_CALLS("title", title, CPT_NEEDS(item), &title_stub, .hedge_ns = 30 * MS,
              .retry_count_max = 1),
    CPT_CALLS("price", price, CPT_NEEDS(item), &price_stub, .timeout_ns = 150 * MS,
              CPT_FALLBACK(price, {-1})),
    CPT_CALLS("stock", stock, CPT_NEEDS(item), &stock_stub),
    {"render", render, CPT_GIVES(rpc_reply), CPT_NEEDS(title, price, stock)},
};

int main(int argc, char **argv)
{
    return cpt_service_main(
        argc, argv,
        CPT_MAIN(.name = "front", .methods = CPT_METHODS(CPT_METHOD("/page", tasks)),
                 .stubs = CPT_STUBS(&title_stub, &price_stub, &stock_stub)));
}
