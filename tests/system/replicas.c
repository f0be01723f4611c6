/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * replicas.c - three replicas of a service while one is killed, one stalls, and one is
 * replaced: no request fails, and the load returns
 *
 *      replicas                     the test: threads that call, and what happens
 *      replicas serve --listen ...  a replica; it answers with its process id
 *
 * Every wait is for something that must happen, so a busy machine only takes longer.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_service_main.h"
#include "framework/transport/cpt_http.h"
#include "framework/transport/cpt_targets.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum { REPLICAS = 3, CALLERS = 4, PATIENCE_S = 120, PIDS_MAX = 64 };

CPT_VALUE(question, int);
CPT_VALUE(pid, int64_t);

/* --- A replica --- */

static cpt_status answer_pid(struct cpt_task *task)
{
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%ld", (long)getpid());
}

static const struct cpt_task_def replica_tasks[] = {
    {"pid", answer_pid, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};

static int serve(int argc, char **argv)
{
    return cpt_service_main(argc, argv,
                            CPT_MAIN(.name = "work", .methods = CPT_METHODS(CPT_METHOD(
                                                         "/work", replica_tasks))));
}

/* --- The replicas as processes --- */

static struct {
    pid_t pid;
    char listen[32]; /* "127.0.0.1:8001" */
} replicas[REPLICAS];

static const char *program;

static void give_up(const char *why)
{
    (void)fprintf(stderr, "replicas: %s\n", why);
    for (int i = 0; i < REPLICAS; i++) {
        if (replicas[i].pid > 0) {
            (void)kill(replicas[i].pid, SIGKILL);
        }
    }
    exit(1);
}

/* Starts replica @i, and reads from its first line where it listens. */
static void start(int i)
{
    char line[128] = "";
    int ends[2];
    FILE *from = NULL;

    if (pipe(ends) != 0) {
        give_up("no pipe");
    }
    replicas[i].pid = fork();
    if (replicas[i].pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(program, program, "serve", "--listen",
                    replicas[i].listen[0] != '\0' ? replicas[i].listen : "127.0.0.1:0",
                    "--workers", "1", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    from = fdopen(ends[0], "r");
    if (from == NULL || fgets(line, sizeof line, from) == NULL ||
        sscanf(line, "work listens on %31s", replicas[i].listen) != 1) {
        give_up("a replica did not start");
    }
    (void)fclose(from);
}

static int stop(int i, int number)
{
    int status = 0;

    (void)kill(replicas[i].pid, number);
    if (waitpid(replicas[i].pid, &status, 0) != replicas[i].pid) {
        give_up("a replica did not end");
    }
    replicas[i].pid = 0;
    return status;
}

/* --- The callers --- */

static struct cpt_stub stub = {
    .name = "work: /work", .method = "/work", .timeout_ns = 1000 * MS};
static struct cpt_call_row row = {.stub = &stub,
                                  .timeout_ns = 60000 * MS,
                                  .retry_count_max = 4,
                                  .backoff_ns = 1 * MS,
                                  .extra_percent_max = 100};
static const struct cpt_task_def call_tasks[] = {
    {.name = "ask",
     .run = cpt_call_run,
     .gives = CPT_GIVES(pid),
     CPT_NEEDS_NOTHING,
     .context = &row},
};
static const struct cpt_graph call_graph = {"T", CPT_GIVES(question), CPT_GIVES(pid),
                                            call_tasks, 1};

static struct cpt_http *http;
static struct cpt_plan *plan;
static atomic_bool is_over;
static atomic_uint failed_count;
static atomic_uint ejected_count;
static atomic_uint returned_count;

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int64_t pid;
    unsigned count;
} counts[PIDS_MAX];

static void count_answer(int64_t pid)
{
    int i = 0;

    (void)pthread_mutex_lock(&counts_lock);
    while (i < PIDS_MAX - 1 && counts[i].pid != 0 && counts[i].pid != pid) {
        i++;
    }
    counts[i].pid = pid;
    counts[i].count++;
    (void)pthread_mutex_unlock(&counts_lock);
}

static unsigned answers_of(int64_t pid)
{
    unsigned count = 0;

    (void)pthread_mutex_lock(&counts_lock);
    for (int i = 0; i < PIDS_MAX; i++) {
        count += counts[i].pid == pid ? counts[i].count : 0;
    }
    (void)pthread_mutex_unlock(&counts_lock);
    return count;
}

static void *caller_main(void *context)
{
    const int question = 0;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .executor = cpt_http_executor(http),
                                          .input = &question};

    (void)context;
    while (!atomic_load(&is_over)) {
        struct cpt_error error = {0};
        int64_t pid = 0;

        if (cpt_request_run(&options, &pid, NULL, &error) == CPT_OK) {
            count_answer(pid);
        } else {
            (void)fprintf(stderr, "replicas: %s\n", error.sentence);
            atomic_fetch_add(&failed_count, 1);
        }
    }
    return NULL;
}

static void on_notice(void *context, const struct cpt_notice *notice)
{
    (void)context;
    atomic_fetch_add(&ejected_count, strcmp(notice->reason, "ejected") == 0);
    atomic_fetch_add(&returned_count, strcmp(notice->reason, "returned") == 0);
    cpt_notice_print(NULL, notice);
}

static void *loop_main(void *context)
{
    (void)context;
    (void)cpt_http_run(http);
    return NULL;
}

/* --- What happens --- */

static void rest(void)
{
    (void)usleep(5000);
}

static void wait_for_more(const atomic_uint *number, unsigned before, const char *what)
{
    const time_t end = time(NULL) + PATIENCE_S;

    while (atomic_load(number) == before) {
        if (time(NULL) > end) {
            give_up(what);
        }
        rest();
    }
}

/* Replica @i answers @more calls from now on. */
static void wait_for_answers(int i, unsigned more)
{
    const time_t end = time(NULL) + PATIENCE_S;
    const unsigned before = answers_of(replicas[i].pid);

    while (answers_of(replicas[i].pid) < before + more) {
        if (time(NULL) > end) {
            give_up("a replica gets no calls");
        }
        rest();
    }
}

static void happen(void)
{
    unsigned before = 0;

    for (int i = 0; i < REPLICAS; i++) {
        wait_for_answers(i, 50);
    }
    before = atomic_load(&ejected_count);
    (void)stop(0, SIGKILL);
    wait_for_more(&ejected_count, before, "the killed one was not ejected");
    wait_for_answers(1, 100);
    wait_for_answers(2, 100);
    start(0);
    wait_for_answers(0, 100);

    before = atomic_load(&ejected_count);
    (void)kill(replicas[1].pid, SIGSTOP);
    wait_for_more(&ejected_count, before, "the stalled one was not ejected");
    wait_for_answers(0, 100);
    wait_for_answers(2, 100);
    before = atomic_load(&returned_count);
    (void)kill(replicas[1].pid, SIGCONT);
    wait_for_more(&returned_count, before, "the stalled one did not return");
    wait_for_answers(1, 100);

    if (stop(2, SIGTERM) != 0) {
        give_up("the drained one did not end well");
    }
    wait_for_answers(0, 100);
    wait_for_answers(1, 100);
    start(2);
    wait_for_answers(2, 100);
}

static void loop_make(void)
{
    static const struct cpt_target_options targets = {.struct_bytes = sizeof targets,
                                                      .ejected_ns = 50 * MS,
                                                      .ejected_ns_max = 500 * MS,
                                                      .rising_ns = 500 * MS,
                                                      .notify = on_notice};
    static const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                                    .targets = &targets};
    static char list[REPLICAS * 40];
    struct cpt_error error = {0};

    for (int i = 0; i < REPLICAS; i++) {
        start(i);
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                       i > 0 ? "," : "", replicas[i].listen);
    }
    http = cpt_http_new(&options, &error);
    plan = cpt_plan_new(&call_graph, NULL, &error);
    if (http == NULL || plan == NULL) {
        give_up(error.sentence);
    }
    stub.target = list;
    stub.transport = cpt_http_transport(http);
}

int main(int argc, char **argv)
{
    pthread_t loop;
    pthread_t callers[CALLERS];

    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "serve") == 0) {
        return serve(argc - 1, argv + 1);
    }
    loop_make();
    (void)pthread_create(&loop, NULL, loop_main, NULL);
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_create(&callers[i], NULL, caller_main, NULL);
    }
    happen();
    atomic_store(&is_over, true);
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_join(callers[i], NULL);
    }
    cpt_http_stop(http);
    (void)pthread_join(loop, NULL);
    cpt_http_free(http);
    cpt_plan_free(plan);
    for (int i = 0; i < REPLICAS; i++) {
        (void)stop(i, SIGTERM);
    }
    (void)printf("replicas: %u requests failed\n", atomic_load(&failed_count));
    return atomic_load(&failed_count) != 0;
}
