/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* plans.c - the plans of a service or of a program; see plans.h */
#include "tool/live/plans.h"

#include "cpt/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BYTES_MAX = 256 << 20, /* of memory */
    FILE_BYTES_MAX = 32 << 20,
    GRACE_MS = 3000, /* from SIGTERM to SIGKILL */
    PAUSE_MS = 20
};

static void add(struct cpti_plans *plans, struct cpt_bytes method,
                struct cpti_doc_value plan)
{
    if (!cpti_answer_has(plan, "tasks")) {
        return;
    }
    if (plans->count == CPTI_PLANS_MAX) {
        plans->left_out++;
        return;
    }
    plans->plans[plans->count].method = method;
    plans->plans[plans->count++].plan = plan;
}

static void begin(struct cpti_plans *plans)
{
    memset(plans, 0, sizeof *plans);
    plans->left = BYTES_MAX;
}

void cpti_plans_deinit(struct cpti_plans *plans)
{
    cpti_answer_deinit(&plans->answer);
}

cpt_status cpti_plans_ask(struct cpti_plans *plans, const struct cpti_peer *place,
                          const struct cpti_get *get, struct cpt_error *error)
{
    struct cpti_doc_member method;
    cpt_status status = CPT_OK;

    begin(plans);
    status = cpti_answer_get(&plans->answer, place, get, &plans->left, error);
    if (status != CPT_OK) {
        return status;
    }
    cpti_answer_each(method, cpti_doc_get(plans->answer.root, "methods"))
    {
        add(plans, cpti_answer_string(method.value, "method"),
            cpti_doc_get(method.value, "plan"));
    }
    plans->left_out += cpti_answer_number(plans->answer.root, "left_out");
    return CPT_OK;
}

/* --- A program --- */

/* Reads all of @descriptor, whose lines are values of JSON, as one array of them. */
static cpt_status read_all(int descriptor, char **data, size_t *bytes,
                           struct cpt_error *error)
{
    struct stat about;
    size_t used = 0;
    char *array = NULL;

    if (fstat(descriptor, &about) != 0 || about.st_size > FILE_BYTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "its plans are too large");
    }
    array = malloc((size_t)about.st_size + 2);
    if (array == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    while (used < (size_t)about.st_size) {
        const ssize_t count = pread(descriptor, array + 1 + used,
                                    (size_t)about.st_size - used, (off_t)used);

        if (count <= 0) {
            break;
        }
        used += (size_t)count;
    }
    for (size_t i = 1; i <= used; i++) {
        array[i] = (char)(array[i] == '\n' ? ',' : array[i]);
    }
    used -= used > 0 && array[used] == ',';
    array[0] = '[';
    array[used + 1] = ']';
    *data = array;
    *bytes = used + 2;
    return CPT_OK;
}

/* Whether the file says that all plans are made. */
static bool is_complete(int descriptor)
{
    char end[4] = "";
    struct stat about;

    return fstat(descriptor, &about) == 0 && about.st_size >= 3 &&
           pread(descriptor, end, 3, about.st_size - 3) == 3 &&
           strcmp(end, "{}\n") == 0;
}

/* Waits until @pid has ended, or @until_ns; true: it has. */
static bool has_ended(pid_t pid, uint64_t until_ns, int descriptor)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (cpti_now_ns() >= until_ns || (descriptor >= 0 && is_complete(descriptor))) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Only what may be called after fork(). */
static void become(char *const *words)
{
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)execvp(words[0], words);
    _exit(127);
}

static cpt_status run(char *const *words, const char *path, int descriptor,
                      unsigned seconds, struct cpt_error *error)
{
    pid_t pid = -1;

    if (setenv("CPT_PLANS", path, 1) != 0) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    pid = fork();
    if (pid < 0) {
        return cpt_error_set(error, CPT_IO, 0, "it cannot be started: %s",
                             strerror(errno));
    }
    if (pid == 0) {
        become(words);
    }
    if (!has_ended(pid, cpti_now_ns() + seconds * UINT64_C(1000000000), descriptor)) {
        (void)kill(pid, SIGTERM);
        if (!has_ended(pid, cpti_now_ns() + GRACE_MS * UINT64_C(1000000), -1)) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, NULL, 0);
        }
    }
    return CPT_OK;
}

static cpt_status read_lines(struct cpti_plans *plans, int descriptor,
                             struct cpt_error *error)
{
    struct cpti_doc_member plan;
    char *data = NULL;
    size_t bytes = 0;
    cpt_status status = read_all(descriptor, &data, &bytes, error);

    if (status != CPT_OK) {
        return status;
    }
    status = cpti_answer_read(&plans->answer, data, bytes, &plans->left, error);
    if (status == CPT_OK) {
        cpti_answer_each(plan, plans->answer.root)
        {
            add(plans, cpt_bytes_of(""), plan.value);
        }
    }
    return status;
}

cpt_status cpti_plans_run(struct cpti_plans *plans, char *const *words,
                          unsigned seconds, struct cpt_error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    int descriptor = -1;
    cpt_status status = CPT_OK;

    begin(plans);
    /* It has a name, since the program opens it, and follows no link to one without. */
    (void)snprintf(path, sizeof path, "%s/cpt-plans-XXXXXX",
                   folder != NULL && strlen(folder) < 400 ? folder : "/tmp");
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0) {
        return cpt_error_set(error, CPT_IO, 0, "no temporary file: %s",
                             strerror(errno));
    }
    status = run(words, path, descriptor, seconds, error);
    if (status == CPT_OK) {
        status = read_lines(plans, descriptor, error);
    }
    (void)close(descriptor);
    (void)unlink(path);
    return status;
}
