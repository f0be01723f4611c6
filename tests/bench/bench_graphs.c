/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_graphs.c - the same graphs on this framework and on others
 *
 *      bench_graphs [--json[=FILE]] [ROUNDS [WORDS]]       titles with WORDS only
 *      bench_graphs run PEER SHAPE WORKERS BODY REQUESTS   one peer, to profile it
 *      bench_graphs check                                  whether all run in order
 *
 * Each round runs every peer on every graph once, each in its own process, forked from
 * this one, which never has a second thread. The child warms up and then times short
 * batches of requests; their median is its figure, so that a batch that another program
 * interrupted does not count. The result is the median over the rounds, and the median
 * of the ratios to the baseline in the same round.
 *
 * bench_graphs_bare is the same program with a framework compiled without tracing
 * (CMakeLists.txt): the difference is the cost of tracing in an untraced request.
 *
 * Two bodies: an empty one, behind a pointer; and one that computes for 0.7 us,
 * calibrated when the program begins.
 */
#include "tests/bench/bench.h"
#include "tests/bench/peers.h"
#include "tests/bench/spin.h"

#include "cpt/cpt_clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS_DEFAULT = 9,
    PEERS_MAX = 24,
    BATCHES = 7,
    BATCH_NS = 1000 * 1000,
    WARM_NS = 2 * 1000 * 1000,
    THREADS_FACTOR = 16, /* until the system has spread threads over the processors */
    BODY_NS = 700,
    CHILD_SECONDS_MAX = 20
};

/* --- Bodies of tasks --- */

static uint64_t spin_steps; /* of BODY_NS */

static void do_nothing(uint32_t task)
{
    (void)task;
}

static void do_spin(uint32_t task)
{
    (void)task;
    bench_spin(spin_steps);
}

static uint64_t now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

/* --- The peers --- */

static const struct bench_peer *peers[PEERS_MAX];
static size_t peer_count;

static void add_peers(const struct bench_peer *list)
{
    for (; list->name != NULL && peer_count < PEERS_MAX; list++) {
        peers[peer_count++] = list;
    }
}

/* The peer that another program, beside this one, measures. */
static const struct bench_peer bare[] = {
    {"cpt, inline, no tracing in it", BENCH_RUNS_REUSED, NULL, NULL, NULL, NULL}, {0}};

static void find_peers(void)
{
    add_peers(bench_peers_loop);
#ifdef BENCH_WITH_BARE
    add_peers(bare);
#endif
    add_peers(bench_peers_cpt);
#ifdef BENCH_WITH_TBB
    add_peers(bench_peers_tbb);
#else
    printf("without oneTBB, which was not found (libtbb-dev)\n");
#endif
#ifdef BENCH_WITH_TASKFLOW
    add_peers(bench_peers_taskflow);
#else
    printf("without Taskflow: say where with -DCPT_TASKFLOW_INCLUDE=FOLDER\n");
#endif
#ifdef BENCH_WITH_OPENMP
    add_peers(bench_peers_openmp);
#else
    printf("without OpenMP tasks: the compiler has none\n");
#endif
#ifdef BENCH_WITH_DISPATCH
    add_peers(bench_peers_dispatch);
#else
    printf("without libdispatch, which was not found\n");
#endif
}

struct graph_case {
    const char *title;
    size_t shape;
    unsigned worker_count;
    int is_fresh;
    int has_body;
    double values[PEERS_MAX][BENCH_ROUNDS_MAX]; /* ns a task; NAN: not measured */
};

enum { ONE, CHAIN, TREE, DAG, SHAPE_COUNT };

static struct bench_shape *shapes[SHAPE_COUNT];

static struct graph_case cases[] = {
    {"one task, 1 worker", ONE, 1, 0, 0, {{0}}},
    {"chain of 1000, 1 worker", CHAIN, 1, 0, 0, {{0}}},
    {"tree of 1023, 1 worker", TREE, 1, 0, 0, {{0}}},
    {"DAG of 1000x4, 1 worker", DAG, 1, 0, 0, {{0}}},
    {"one task, built each time", ONE, 1, 1, 0, {{0}}},
    {"chain of 1000, built each time", CHAIN, 1, 1, 0, {{0}}},
    {"tree of 1023, built each time", TREE, 1, 1, 0, {{0}}},
    {"DAG of 1000x4, built each time", DAG, 1, 1, 0, {{0}}},
    {"one task, 2 workers", ONE, 2, 0, 0, {{0}}},
    {"chain of 1000, 2 workers", CHAIN, 2, 0, 0, {{0}}},
    {"tree of 1023, 2 workers", TREE, 2, 0, 0, {{0}}},
    {"DAG of 1000x4, 2 workers", DAG, 2, 0, 0, {{0}}},
    {"DAG of 1000x4, 0.7 us bodies, 1 worker", DAG, 1, 0, 1, {{0}}},
    {"DAG of 1000x4, 0.7 us bodies, 2 workers", DAG, 2, 0, 1, {{0}}},
    {"DAG of 1000x4, 0.7 us bodies, 2 workers, built each time", DAG, 2, 1, 1, {{0}}},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void make_shapes(void)
{
    shapes[ONE] = bench_shape_chain("one", 1);
    shapes[CHAIN] = bench_shape_chain("chain", 1000);
    shapes[TREE] = bench_shape_tree("tree", 1023);
    shapes[DAG] = bench_shape_layers("dag", 1000, 32, 4);
}

/* The loops have one worker; the ideal with two is half of their time. */
static int is_loop(const struct bench_peer *peer)
{
    for (const struct bench_peer *loop = bench_peers_loop; loop->name != NULL; loop++) {
        if (loop == peer) {
            return 1;
        }
    }
    return 0;
}

static int has_part(const struct bench_peer *peer, const struct graph_case *of)
{
    if (is_loop(peer) && of->worker_count > 1) {
        return peer == &bench_peers_loop[0];
    }
    return (peer->can & (of->is_fresh ? BENCH_RUNS_FRESH : BENCH_RUNS_REUSED)) != 0 &&
           (of->worker_count == 1 || (peer->can & BENCH_RUNS_THREADS) != 0);
}

static struct bench_job job_of(const struct graph_case *of, const struct bench_peer *by)
{
    return (struct bench_job){.shape = shapes[of->shape],
                              .body = of->has_body ? do_spin : do_nothing,
                              .worker_count = is_loop(by) ? 1 : of->worker_count,
                              .is_fresh = of->is_fresh};
}

/* --- One measurement: in the child --- */

static uint64_t time_requests(const struct bench_peer *peer, void *opened, size_t count)
{
    const uint64_t begin_ns = now_ns();

    peer->run(opened, count);
    return now_ns() - begin_ns;
}

/* The median batch, in ns a task. */
static double measure(const struct graph_case *of, const struct bench_peer *peer)
{
    const struct bench_job job = job_of(of, peer);
    void *opened = peer->open(&job);
    double batches[BATCHES];
    const uint64_t factor = of->worker_count > 1 ? THREADS_FACTOR : 1;
    size_t count = 1;
    uint64_t took_ns = 0;

    if (opened == NULL) {
        return (double)NAN;
    }
    (void)time_requests(peer, opened, 1);
    for (uint64_t warm_ns = 0; warm_ns < factor * WARM_NS; warm_ns += took_ns) {
        took_ns = time_requests(peer, opened, count);
        if (took_ns < factor * BATCH_NS / 2) {
            count *= 2;
        }
    }
    for (size_t i = 0; i < BATCHES; i++) {
        batches[i] = (double)time_requests(peer, opened, count) /
                     ((double)count * job.shape->task_count);
    }
    peer->close(opened);
    return bench_quantile(batches, BATCHES, 0.5);
}

/* Writes the median batch to @descriptor; returns the exit status. */
static int send_measure(const struct graph_case *of, const struct bench_peer *peer,
                        int descriptor)
{
    const double value = measure(of, peer);

    return write(descriptor, &value, sizeof value) != (ssize_t)sizeof value;
}

/* The same by the program beside this one. Does not return. */
static void become_bare(const struct graph_case *of, int descriptor)
{
    char path[4096];
    char number[16];
    const ssize_t bytes =
        readlink("/proc/self/exe", path, sizeof path - sizeof "_bare");

    (void)snprintf(number, sizeof number, "%d", (int)(of - cases));
    if (bytes > 0 && dup2(descriptor, STDOUT_FILENO) == STDOUT_FILENO) {
        memcpy(path + bytes, "_bare", sizeof "_bare");
        (void)execl(path, path, "measure", number, (char *)NULL);
    }
    _exit(1);
}

/* The same in a child; NAN if it failed. */
static double measure_apart(const struct graph_case *of, const struct bench_peer *peer)
{
    double value = (double)NAN;
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0) {
        return value;
    }
    child = fork();
    if (child == 0) {
        (void)alarm(CHILD_SECONDS_MAX);
        if (peer == bare) {
            become_bare(of, ends[1]);
        }
        _exit(send_measure(of, peer, ends[1]));
    }
    (void)close(ends[1]);
    if (child < 0 || read(ends[0], &value, sizeof value) != (ssize_t)sizeof value) {
        value = (double)NAN;
    }
    (void)close(ends[0]);
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    return value;
}

/* --- All peers --- */

static const char *wanted = "";

static void run_round(size_t round)
{
    for (size_t c = 0; c < CASE_COUNT; c++) {
        if (strstr(cases[c].title, wanted) == NULL) {
            continue;
        }
        for (size_t i = 0; i < peer_count; i++) {
            const size_t p =
                (i + round) % peer_count; /* the order changes each round */

            cases[c].values[p][round] = has_part(peers[p], &cases[c])
                                            ? measure_apart(&cases[c], peers[p])
                                            : (double)NAN;
        }
    }
}

/* The cost of @peer, number @p, above the peer that it names. */
static void show_added(const struct graph_case *of, size_t p, size_t rounds)
{
    double added[BENCH_ROUNDS_MAX];
    char name[64];

    for (size_t other = 0; other < peer_count; other++) {
        if (peers[p]->more_than == NULL ||
            strcmp(peers[p]->more_than, peers[other]->name) != 0 ||
            !has_part(peers[other], of)) {
            continue;
        }
        for (size_t i = 0; i < rounds; i++) {
            added[i] = of->values[p][i] - of->values[other][i];
        }
        (void)snprintf(name, sizeof name, "added by: %s", peers[p]->name);
        bench_rounds(name, added, "ns a task", peers[other]->name, of->values[other],
                     rounds);
    }
}

static void show_case(struct graph_case *of, size_t rounds)
{
    const char *baseline = peers[0]->name;

    bench_title(of->title);
    if (of->worker_count > 1) {
        baseline = "half the loop";
        for (size_t i = 0; i < rounds; i++) {
            of->values[0][i] /= of->worker_count;
        }
    }
    for (size_t p = 0; p < peer_count; p++) {
        if (has_part(peers[p], of)) {
            bench_rounds(p == 0 ? baseline : peers[p]->name, of->values[p], "ns a task",
                         p == 0 ? NULL : baseline, p == 0 ? NULL : of->values[0],
                         rounds);
            show_added(of, p, rounds);
        }
    }
}

/* --- Checking that they run in order --- */

static _Atomic uint32_t run_counts[4096];
static const struct bench_shape *checked_shape;
static atomic_int wrong_count;
static int has_task_numbers; /* otherwise only the number of runs is counted */

static void do_check(uint32_t task)
{
    const uint32_t before = atomic_fetch_add(&run_counts[task], 1);

    if (!has_task_numbers) {
        return;
    }
    for (uint32_t i = checked_shape->need_begin[task];
         i < checked_shape->need_begin[task + 1]; i++) {
        if (atomic_load(&run_counts[checked_shape->needs[i]]) != before + 1) {
            atomic_fetch_add(&wrong_count, 1);
        }
    }
}

/* In a child: 0 if each task ran once for each request, after the tasks that it
 * needs. */
static int check(const struct graph_case *of, const struct bench_peer *peer)
{
    enum { REQUESTS = 50 };
    struct bench_job job = job_of(of, peer);
    void *opened;
    uint64_t total = 0;

    job.body = do_check;
    checked_shape = job.shape;
    has_task_numbers = 1;
    for (const struct bench_peer *own = bench_peers_cpt; own->name != NULL; own++) {
        has_task_numbers = has_task_numbers && own != peer;
    }
    opened = peer->open(&job);
    if (opened == NULL) {
        return 1;
    }
    peer->run(opened, REQUESTS);
    peer->close(opened);
    for (uint32_t i = 0; i < job.shape->task_count; i++) {
        total += run_counts[i];
        wrong_count += has_task_numbers && run_counts[i] != REQUESTS;
    }
    return total != (uint64_t)REQUESTS * job.shape->task_count || wrong_count != 0;
}

static int check_all(void)
{
    int failed = 0;

    for (size_t c = 0; c < CASE_COUNT; c++) {
        for (size_t p = 0; p < peer_count; p++) {
            int status = 0;
            const int has = peers[p] != bare && has_part(peers[p], &cases[c]);
            pid_t child = has ? fork() : -1;

            if (child == 0) {
                (void)alarm(CHILD_SECONDS_MAX);
                _exit(check(&cases[c], peers[p]));
            }
            if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
                printf("%s: %s: wrong\n", cases[c].title, peers[p]->name);
                failed = 1;
            }
        }
    }
    printf("%s\n", failed ? "not all ran in order" : "all ran in order");
    return failed;
}

/* --- One peer --- */

static int run_one(char **arguments)
{
    struct graph_case one = {.shape = SHAPE_COUNT};
    const size_t request_count = strtoul(arguments[4], NULL, 10);

    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        one.shape = strcmp(shapes[i]->name, arguments[1]) == 0 ? i : one.shape;
    }
    one.worker_count = (unsigned)strtoul(arguments[2], NULL, 10);
    one.has_body = strcmp(arguments[3], "0") != 0;
    for (size_t p = 0; p < peer_count && one.shape < SHAPE_COUNT; p++) {
        const struct bench_job job = job_of(&one, peers[p]);
        void *opened = NULL;

        if (peers[p] != bare && strcmp(peers[p]->name, arguments[0]) == 0 &&
            (opened = peers[p]->open(&job)) != NULL) {
            printf("%.1f ns a task\n",
                   (double)time_requests(peers[p], opened, request_count) /
                       ((double)request_count * job.shape->task_count));
            peers[p]->close(opened);
            return 0;
        }
    }
    (void)fprintf(stderr, "bench_graphs: no such peer or shape\n");
    return 2;
}

int main(int argument_count, char **arguments)
{
    size_t rounds = ROUNDS_DEFAULT;

    bench_begin("bench_graphs", &argument_count, arguments);
    spin_steps = bench_spin_steps(BODY_NS);
    make_shapes();
    if (argument_count == 3 && strcmp(arguments[1], "measure") == 0) {
        const size_t number = strtoul(arguments[2], NULL, 10);

        return number < CASE_COUNT
                   ? send_measure(&cases[number], &bench_peers_cpt[0], STDOUT_FILENO)
                   : 2;
    }
    find_peers();
    if (argument_count == 7 && strcmp(arguments[1], "run") == 0) {
        return run_one(arguments + 2);
    }
    if (argument_count == 2 && strcmp(arguments[1], "check") == 0) {
        return check_all();
    }
    if (argument_count >= 2) {
        wanted = argument_count > 2 ? arguments[2] : wanted;
        rounds = strtoul(arguments[1], NULL, 10);
        rounds = rounds < 1 ? 1 : rounds > BENCH_ROUNDS_MAX ? BENCH_ROUNDS_MAX : rounds;
    }
    (void)cpt_clock_fastest(); /* calibrates once, not in each child */
    for (size_t round = 0; round < rounds; round++) {
        run_round(round);
    }
    for (size_t c = 0; c < CASE_COUNT; c++) {
        if (strstr(cases[c].title, wanted) != NULL) {
            show_case(&cases[c], rounds);
        }
    }
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        bench_shape_free(shapes[i]);
    }
    return bench_end();
}
