/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_pool.c - is the lock-free deque worth its complexity?
 *
 * Compares the deque alone, and a pool with it, with the same with a lock
 * (pool_locked.c).
 */
#include "tests/bench/bench.h"

#include "framework/cpt_runtime.h"
#include "framework/pool/deque.h"
#include "tests/bench/deque_locked.h"
#include "tests/bench/pool_locked.h"

#include <semaphore.h>
#include <stdlib.h>

/* --- The deque alone: four in, four out --- */

enum { BURST = 4 };

static struct cpti_deque lock_free;
static struct cpti_locked_deque locked;
static struct cpt_work works[BURST];

static void run_locked_deque(void *context, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < BURST; k++) {
            (void)cpti_locked_deque_push(&locked, &works[k]);
        }
        for (int k = 0; k < BURST; k++) {
            (void)cpti_locked_deque_pop(&locked);
        }
    }
}

static void run_deque(void *context, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < BURST; k++) {
            (void)cpti_deque_push(&lock_free, &works[k]);
        }
        for (int k = 0; k < BURST; k++) {
            (void)cpti_deque_pop(&lock_free);
        }
    }
}

/* --- A binary tree of works in a pool --- */

enum { NODES = 4095 };

struct tree;

struct node {
    struct cpt_work work;
    struct tree *tree;
};

struct tree {
    struct cpt_executor *pool;
    uint64_t spin_ns; /* of each node's body */
    struct node nodes[NODES];
    atomic_uint_fast32_t left;
    sem_t end;
};

static void spend(uint64_t duration_ns)
{
    const uint64_t end_ns = cpt_clock_now_ns(cpt_clock_monotonic()) + duration_ns;

    while (cpt_clock_now_ns(cpt_clock_monotonic()) < end_ns) {
    }
}

static void run_node(struct cpt_work *work)
{
    struct node *node = (struct node *)work;
    struct tree *tree = node->tree;
    const size_t index = (size_t)(node - tree->nodes);

    for (size_t child = 2 * index + 1; child <= 2 * index + 2 && child < NODES;
         child++) {
        tree->pool->submit(tree->pool, &tree->nodes[child].work);
    }
    if (tree->spin_ns != 0) {
        spend(tree->spin_ns);
    }
    if (atomic_fetch_sub(&tree->left, 1) == 1) {
        (void)sem_post(&tree->end);
    }
}

static void run_trees(void *context, size_t count)
{
    struct tree *tree = context;

    for (size_t i = 0; i < count; i++) {
        atomic_store(&tree->left, NODES);
        tree->pool->submit(tree->pool, &tree->nodes[0].work);
        while (sem_wait(&tree->end) != 0) {
        }
    }
}

static struct tree *make_tree(struct cpt_executor *pool, uint64_t spin_ns)
{
    struct tree *tree = calloc(1, sizeof *tree);

    if (tree == NULL || pool == NULL) {
        abort();
    }
    tree->pool = pool;
    tree->spin_ns = spin_ns;
    (void)sem_init(&tree->end, 0, 0);
    for (int i = 0; i < NODES; i++) {
        tree->nodes[i].work.run = run_node;
        tree->nodes[i].tree = tree;
    }
    return tree;
}

static void compare_pools(const char *title, unsigned worker_count, uint64_t spin_ns)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = worker_count};
    struct tree *with_lock = make_tree(bench_locked_pool_new(&options, NULL), spin_ns);
    struct tree *without = make_tree(cpt_pool_new(&options, NULL), spin_ns);

    bench_title(title);
    bench_compare(&(struct bench_way){"locked deques", run_trees, with_lock},
                  &(struct bench_way){"lock-free deques", run_trees, without},
                  spin_ns == 0 ? 10 : 1, NODES, "work");
    bench_locked_pool_free(with_lock->pool);
    cpt_pool_free(without->pool);
    (void)sem_destroy(&with_lock->end);
    (void)sem_destroy(&without->end);
    free(with_lock);
    free(without);
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_pool", &argument_count, arguments);
    cpti_deque_init(&lock_free);
    cpti_locked_deque_init(&locked);
    bench_title("Four works into a deque and out again");
    bench_compare(&(struct bench_way){"with a lock", run_locked_deque, NULL},
                  &(struct bench_way){"lock-free", run_deque, NULL}, 20000, BURST,
                  "work");
    compare_pools("A tree of 4095 empty works, 1 worker", 1, 0);
    compare_pools("A tree of 4095 empty works, 2 workers", 2, 0);
    compare_pools("A tree of 4095 works of 0.7 us, 2 workers", 2, 700);
    return bench_end();
}
