/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_siblings.h - F calls X and Y side by side, then Z; one of two arms is slower
 *
 *      F   [ask][ wait for X and Y ][show][ wait for Z ][show]
 *      X        .[ 8 to 16 ].
 *      Y        .[ 4 to 6, in a tenth of the requests 20 to 40 ].
 *      Z                                 .[ 2 to 4 ].
 *
 * All in ms. A request is of arm A or B by chance; in B, Y takes DELAY_MS longer. So X
 * is on the path less often, though it is as before. The numbers are those of SEED.
 */

/* A number below @bound, the same for each service. */
static uint64_t drawn(uint64_t seed, uint64_t number, unsigned which, uint64_t bound)
{
    uint64_t z = UINT64_C(0x9e3779b97f4a7c15) *
                 (seed * UINT64_C(1000003) + number * 16 + which + 1);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % bound;
}

/* What drawn() is asked for. */
enum { ARM, X_TIME, Y_TIME, Y_LONG, Y_IS_LONG, Z_TIME, EDGES /* and five more */ };

/* How long X, Y and Z took. */
static uint64_t sibling_ns(char service, uint64_t number, uint64_t delay_ns,
                           uint64_t seed)
{
    uint64_t ns;

    if (service == 'X') {
        return 8 * MS + drawn(seed, number, X_TIME, 8 * MS);
    }
    if (service == 'Z') {
        return 2 * MS + drawn(seed, number, Z_TIME, 2 * MS);
    }
    ns = drawn(seed, number, Y_IS_LONG, 10) == 0
             ? 20 * MS + drawn(seed, number, Y_LONG, 20 * MS)
             : 4 * MS + drawn(seed, number, Y_TIME, 2 * MS);
    return ns + (drawn(seed, number, ARM, 2) == 1 ? delay_ns : 0);
}

/* Task @task of F calls @service, the @index-th. Returns when the answer is there. */
static uint64_t call_sibling(struct run *run, unsigned task, unsigned index,
                             uint64_t issue_ns, uint64_t number, uint64_t delay_ns,
                             uint64_t seed)
{
    static const char *const names[] = {"X: get", "Y: get", "Z: get"};
    const uint64_t edge_ns = MS / 5 + drawn(seed, number, EDGES + index, MS / 4);
    const uint64_t arrive_ns =
        issue_ns + edge_ns + sibling_ns(names[index][0], number, delay_ns, seed);

    run->calls[index] = (struct cpt_trace_call){.name = cpt_bytes_of(names[index]),
                                                .issuer = &run->tasks[task],
                                                .issue_ns = issue_ns,
                                                .arrive_ns = arrive_ns,
                                                .outcome = CPT_CALL_REMOTE,
                                                .id = id_of(number, index)};
    run->arrivals[index] = (struct cpt_dag_arrival){.waiter = &run->tasks[task],
                                                    .call = &run->calls[index],
                                                    .arrive_ns = arrive_ns};
    return arrive_ns;
}

static void await_sibling(struct run *run, unsigned task, unsigned index,
                          uint64_t block_ns)
{
    run->awaits[task] =
        (struct cpt_trace_await){.call = &run->calls[index],
                                 .block_ns = block_ns,
                                 .arrive_ns = run->calls[index].arrive_ns,
                                 .resume_ns = run->calls[index].arrive_ns};
    run->tasks[task].last_await = &run->awaits[task];
}

static void make_front(struct run *run, uint64_t number, uint64_t delay_ns,
                       uint64_t seed)
{
    const uint64_t begin_ns = run->trace.arrival_ns;
    const uint64_t asked_ns = begin_ns + MS + drawn(seed, number, EDGES + 3, MS);
    const uint64_t x_ns =
        call_sibling(run, 0, 0, asked_ns - MS / 2, number, delay_ns, seed);
    const uint64_t y_ns =
        call_sibling(run, 0, 1, asked_ns - MS / 4, number, delay_ns, seed);
    const uint64_t over_ns = x_ns > y_ns ? x_ns : y_ns;
    const uint64_t called_ns = over_ns + MS + drawn(seed, number, EDGES + 4, MS / 2);
    const uint64_t z_ns = call_sibling(run, 1, 2, called_ns, number, delay_ns, seed);

    run->tasks[0] = task_of("F: ask", begin_ns, begin_ns, over_ns);
    run->tasks[1] = task_of("F: show", over_ns, over_ns, z_ns + MS);
    run->tasks[1].begin = CPT_BEGIN_TASK;
    run->tasks[1].unblocker = &run->tasks[0];
    await_sibling(run, 0, x_ns > y_ns ? 0 : 1, asked_ns);
    await_sibling(run, 1, 2, called_ns);
    finish(run, "F: /", 2, 3);
}

static void add_sibling(struct cpt_log_block *block, char service, uint64_t number,
                        uint64_t delay_ns, uint64_t seed)
{
    const char name[] = {service, '\0'};
    const char task[] = {service, ':', ' ', 'f', 'i', 'n', 'd', '\0'};
    const char entry[] = {service, ':', ' ', 'g', 'e', 't', '\0'};
    const char user[] = {'u', (char)('a' + drawn(seed, number, EDGES + 5, 20)), '\0'};
    struct run run = {.trace = {.arrival_ns = (1 + number) * SECOND_NS}};
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("arm"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of(drawn(seed, number, ARM, 2) == 1 ? "B" : "A")}},
        {cpt_bytes_of("user"), CPT_ATTRIBUTE_TEXT, {.text = cpt_bytes_of(user)}}};
    struct cpt_record record = {.start_unix_ns = FIRST_UNIX_NS + number * SECOND_NS,
                                .probability = 0.25,
                                .service = cpt_bytes_of(name),
                                .method = cpt_bytes_of("/"),
                                .attributes = attributes,
                                .attribute_count = 2,
                                .is_random = 1,
                                .is_local_root = service != 'F'};
    const uint64_t begin_ns = run.trace.arrival_ns;

    if (service == 'F') {
        make_front(&run, number, delay_ns, seed);
    } else {
        run.tasks[0] = task_of(task, begin_ns, begin_ns,
                               begin_ns + sibling_ns(service, number, delay_ns, seed));
        finish(&run, entry, 1, 0);
    }
    record.latency_ns = run.trace.response_ns - run.trace.arrival_ns;
    write_graph(block, &record,
                id_of(number, service == 'F' ? 3U : (unsigned)(service - 'X')), &run);
}
