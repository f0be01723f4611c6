/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_graphs.c - graph logs for the tests of the command line, always the same
 *
 *      make_graphs SERVICE [REQUESTS [FORCED [SHARE]]] > file
 *      make_graphs F|X|Y|Z REQUESTS DELAY_MS SEED > file         (make_siblings.h)
 *
 * A calls B and C together and waits for both; then A2 puts the answers together. The
 * arms are control and treatment; in the treatment B2 takes 4 ms longer, so that half
 * of the requests wait for B, and the others for C. Times vary by a fixed rule. The
 * last FORCED requests were asked for by a person. Requests of the treatment were kept
 * with the probability SHARE, the others with 0.25.
 *
 *      A   [A1 2][ wait for B and C         ][A2 1]
 *      B      .[ queue 1 ][ B1 3 ][ B2 2 or 6 ]
 *      C      .[ C1 7 ]
 */
#include "wire/cpt_graph_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 20, REQUESTS_MAX = 1000000 };

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* 2026-11-21T06:00:00Z */
#define FIRST_UNIX_NS UINT64_C(1795240800000000000)
#define SECOND_NS     UINT64_C(1000000000)

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "make_graphs: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

/* One run: up to two tasks, one after the other, and three calls. */
struct run {
    struct cpt_trace trace;
    struct cpt_trace_task tasks[2];
    struct cpt_trace_call calls[3];
    struct cpt_trace_await awaits[2];
    struct cpt_trace_task *task_list[2];
    struct cpt_dag_run run;
    struct cpt_dag_arrival arrivals[3];
    struct cpt_dag_records records;
};

/* Ids of the calls of request @number to B and to C, and of its entry. */
static uint64_t id_of(uint64_t number, unsigned which)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (4 * number + which + 1);
}

static int is_treatment(uint64_t number)
{
    return number % 2 != 0;
}

/* How long B2 and the whole of B and C took, without the network. */
static uint64_t b2_ns(uint64_t number)
{
    return (is_treatment(number) ? 6 * MS : 2 * MS) + number % 7 * 10 * US;
}

static uint64_t b_ns(uint64_t number)
{
    return 4 * MS + b2_ns(number);
}

static uint64_t c_ns(uint64_t number)
{
    return 7 * MS + number % 5 * 20 * US;
}

static struct cpt_trace_task task_of(const char *name, uint64_t ready_ns,
                                     uint64_t start_ns, uint64_t end_ns)
{
    return (struct cpt_trace_task){.name = cpt_bytes_of(name),
                                   .executor = cpt_bytes_of("workers"),
                                   .ready_ns = ready_ns,
                                   .start_ns = start_ns,
                                   .end_ns = end_ns};
}

static void finish(struct run *run, const char *entry, size_t task_count,
                   size_t arrival_count)
{
    run->trace.entry = cpt_bytes_of(entry);
    run->trace.answered_by = &run->tasks[task_count - 1];
    run->trace.response_ns = run->tasks[task_count - 1].end_ns;
    run->run = (struct cpt_dag_run){&run->trace, NULL};
    for (size_t i = 0; i < task_count; i++) {
        run->task_list[i] = &run->tasks[i];
    }
    run->records = (struct cpt_dag_records){.runs = &run->run,
                                            .run_count = 1,
                                            .tasks = run->task_list,
                                            .task_count = task_count,
                                            .arrivals = run->arrivals,
                                            .arrival_count = arrival_count};
}

static void make_a(struct run *run, uint64_t number)
{
    const uint64_t begin_ns = run->trace.arrival_ns;
    const uint64_t done_ns[] = {b_ns(number) + 500 * US, c_ns(number) + 500 * US};
    const size_t last = done_ns[0] < done_ns[1];
    const uint64_t over_ns = begin_ns + 2 * MS + done_ns[last];

    run->tasks[0] = task_of("A: A1", begin_ns, begin_ns, over_ns);
    run->tasks[1] = task_of("A: A2", over_ns, over_ns, over_ns + MS);
    run->tasks[1].begin = CPT_BEGIN_TASK;
    run->tasks[1].unblocker = &run->tasks[0];
    for (unsigned i = 0; i < 2; i++) {
        run->calls[i] =
            (struct cpt_trace_call){.name = cpt_bytes_of(i == 0 ? "B: /b" : "C: /c"),
                                    .issuer = &run->tasks[0],
                                    .issue_ns = begin_ns + MS,
                                    .sent_ns = begin_ns + 2 * MS,
                                    .arrive_ns = begin_ns + 2 * MS + done_ns[i],
                                    .executor = cpt_bytes_of("connections"),
                                    .outcome = CPT_CALL_REMOTE,
                                    .id = id_of(number, i)};
        run->arrivals[i] =
            (struct cpt_dag_arrival){.waiter = &run->tasks[0],
                                     .call = &run->calls[i],
                                     .arrive_ns = run->calls[i].arrive_ns};
    }
    run->awaits[0] = (struct cpt_trace_await){.call = &run->calls[last],
                                              .block_ns = begin_ns + 2 * MS,
                                              .arrive_ns = over_ns,
                                              .resume_ns = over_ns};
    run->tasks[0].last_await = &run->awaits[0];
    finish(run, "A: /", 2, 2);
}

static void make_b(struct run *run, uint64_t number)
{
    const uint64_t begin_ns = run->trace.arrival_ns;

    run->tasks[0] = task_of("B: B1", begin_ns, begin_ns + MS, begin_ns + 4 * MS);
    run->tasks[0].occupant = cpt_bytes_of("B: other");
    run->tasks[1] = task_of("B: B2", begin_ns + 4 * MS, begin_ns + 4 * MS,
                            begin_ns + 4 * MS + b2_ns(number));
    run->tasks[1].begin = CPT_BEGIN_TASK;
    run->tasks[1].unblocker = &run->tasks[0];
    finish(run, "B: /b", 2, 0);
}

static void make_c(struct run *run, uint64_t number)
{
    const uint64_t begin_ns = run->trace.arrival_ns;

    run->tasks[0] = task_of("C: C1", begin_ns, begin_ns, begin_ns + c_ns(number));
    finish(run, "C: /c", 1, 0);
}

static void write_bytes(const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, stdout) != bytes) {
        must(CPT_IO);
    }
}

static void write_block(struct cpt_log_block *block)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(block);

    write_bytes(bytes.data, bytes.bytes);
}

static void write_graph(struct cpt_log_block *block, const struct cpt_record *record,
                        uint64_t id, const struct run *run)
{
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_graph_encode(record, id, &run->records, NULL, &data, &bytes, NULL));
    if (cpt_log_block_add(block, data, bytes) == CPT_LIMIT) {
        write_block(block);
        must(cpt_log_block_add(block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

#include "make_siblings.h"

static void add(struct cpt_log_block *block, char service, uint64_t number,
                int is_forced, double share)
{
    struct run run = {.trace = {.arrival_ns = (1 + number) * SECOND_NS}};
    const char *arm = is_treatment(number) ? "treatment" : "control";
    const struct cpt_attribute attribute = {
        cpt_bytes_of("arm"), CPT_ATTRIBUTE_TEXT, {.text = cpt_bytes_of(arm)}};
    const char name[] = {service, '\0'};
    struct cpt_record record = {.start_unix_ns = FIRST_UNIX_NS + number * SECOND_NS,
                                .probability = is_treatment(number) ? share : 0.25,
                                .service = cpt_bytes_of(name),
                                .method = cpt_bytes_of("/"),
                                .attributes = &attribute,
                                .attribute_count = 1,
                                .is_forced = is_forced,
                                .is_random = 1,
                                .is_local_root = service != 'A'};

    (service == 'A' ? make_a : service == 'B' ? make_b : make_c)(&run, number);
    record.latency_ns = run.trace.response_ns - run.trace.arrival_ns;
    write_graph(block, &record,
                id_of(number, service == 'A'   ? 2
                              : service == 'B' ? 0
                                               : 1),
                &run);
}

int main(int argc, char **argv)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    const long count = argc > 2 ? strtol(argv[2], NULL, 10) : REQUESTS;
    const long forced = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    const double share = argc > 4 ? strtod(argv[4], NULL) : 0.25;
    const int has_siblings = argc > 4 && strchr("FXYZ", argv[1][0]) != NULL;

    if (argc < 2 || (strchr("ABC", argv[1][0]) == NULL && !has_siblings) || count < 0 ||
        count > REQUESTS_MAX || block == NULL) {
        (void)fputs("usage: make_graphs A|B|C [REQUESTS [FORCED [SHARE]]]\n"
                    "       make_graphs F|X|Y|Z REQUESTS DELAY_MS SEED\n",
                    stderr);
        return 2;
    }
    write_bytes(header, cpt_graph_log_header(header));
    for (long i = 0; i < count; i++) {
        if (has_siblings) {
            add_sibling(block, argv[1][0], (uint64_t)i, (uint64_t)forced * MS,
                        (uint64_t)share);
        } else {
            add(block, argv[1][0], (uint64_t)i, i >= count - forced, share);
        }
    }
    write_block(block);
    cpt_log_block_free(block);
    return fflush(stdout) == 0 ? 0 : 2;
}
