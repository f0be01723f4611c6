/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fail_each.c - a command whose k-th request for memory is refused, for each k
 *
 *      fail_each LIBRARY RUNS_MAX FILE COMMAND [ARGUMENT...]
 *
 * Runs COMMAND undisturbed, and then with LIBRARY (fail_malloc.c) for each k up to the
 * number of its requests; with more than RUNS_MAX of them, for that many k which are
 * spread. Each run must either fail, with a message and without a signal, or have the
 * same output: the standard output, the standard error, and FILE ("-": it writes none),
 * which is removed before each run. Exit 1 if a run does neither.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 60, WRONG_SHOWN_MAX = 10 };

static const char *library;
static const char *file; /* NULL: none */
static char **command;

struct text {
    char *data;
    size_t bytes;
};

struct outcome {
    int status; /* of waitpid() */
    struct text out;
    struct text err;
    struct text file;
};

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "fail_each: %s: %s\n", what, strerror(errno));
        exit(2);
    }
}

/* The content of @path; empty if there is none. */
static struct text read_text(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct text text = {NULL, 0};
    size_t capacity = 0;

    while (in != NULL && !feof(in)) {
        if (text.bytes == capacity) {
            capacity = capacity * 2 + 65536;
            text.data = realloc(text.data, capacity);
            must(text.data != NULL, "memory");
        }
        text.bytes += fread(text.data + text.bytes, 1, capacity - text.bytes, in);
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return text;
}

static bool is_same(const struct text *one, const struct text *other)
{
    return one->bytes == other->bytes &&
           (one->bytes == 0 || memcmp(one->data, other->data, one->bytes) == 0);
}

/* In the child: becomes the command. */
static void become_command(unsigned long refused)
{
    const int out = open("each.out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = open("each.err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int in = open("/dev/null", O_RDONLY);
    char number[32];

    (void)snprintf(number, sizeof number, "%lu", refused);
    must(out >= 0 && err >= 0 && in >= 0, "the output");
    (void)dup2(in, 0);
    (void)dup2(out, 1);
    (void)dup2(err, 2);
    (void)setenv("CPT_FAIL_MALLOC", number, 1);
    (void)setenv("CPT_COUNT_MALLOC", "each.count", 1);
    (void)setenv("LD_PRELOAD", library, 1);
    (void)alarm(SECONDS_MAX); /* a run that hangs ends by a signal */
    (void)execvp(command[0], command);
    _exit(127);
}

static struct outcome run(unsigned long refused)
{
    struct outcome outcome = {0};
    pid_t child;

    if (file != NULL) {
        (void)unlink(file);
    }
    child = fork();
    must(child >= 0, "a process");
    if (child == 0) {
        become_command(refused);
    }
    must(waitpid(child, &outcome.status, 0) == child, "waiting");
    outcome.out = read_text("each.out");
    outcome.err = read_text("each.err");
    outcome.file = file != NULL ? read_text(file) : (struct text){NULL, 0};
    return outcome;
}

static void free_outcome(struct outcome *outcome)
{
    free(outcome->out.data);
    free(outcome->err.data);
    free(outcome->file.data);
}

/* @text without the line that GnuTLS, which libcurl loads, prints when it cannot begin;
 * without TLS nothing else comes of it. */
static struct text own_part(struct text text)
{
    static const char begin[] = "Error in GnuTLS initialization:";
    const char *end = text.bytes != 0 ? memchr(text.data, '\n', text.bytes) : NULL;

    if (end != NULL && text.bytes >= sizeof begin - 1 &&
        memcmp(text.data, begin, sizeof begin - 1) == 0) {
        text.bytes -= (size_t)(end + 1 - text.data);
        text.data += end + 1 - text.data;
    }
    return text;
}

/* What is wrong with @outcome; NULL: nothing. */
static const char *judge(const struct outcome *outcome, const struct outcome *whole)
{
    const struct text err = own_part(outcome->err);

    if (!WIFEXITED(outcome->status)) {
        return "was ended by a signal";
    }
    if (WEXITSTATUS(outcome->status) != 0) {
        return err.bytes == 0 ? "failed without a message" : NULL;
    }
    return !is_same(&outcome->out, &whole->out)     ? "has another standard output"
           : !is_same(&err, &whole->err)            ? "has another standard error"
           : !is_same(&outcome->file, &whole->file) ? "wrote another file"
                                                    : NULL;
}

static void show(unsigned long refused, const char *what, const struct outcome *outcome)
{
    (void)printf("with request %lu refused it %s (status %d):", refused, what,
                 outcome->status);
    for (char **word = command; *word != NULL; word++) {
        (void)printf(" %s", *word);
    }
    (void)printf("\n  standard error: %.*s\n",
                 (int)(outcome->err.bytes < 300 ? outcome->err.bytes : 300),
                 outcome->err.data != NULL ? outcome->err.data : "");
}

static unsigned long count_requests(void)
{
    const struct text text = read_text("each.count");
    const unsigned long count = text.bytes != 0 ? strtoul(text.data, NULL, 10) : 0;

    free(text.data);
    return count;
}

int main(int argc, char **argv)
{
    struct outcome whole;
    struct outcome again;
    unsigned long total = 0;
    unsigned long runs = 0;
    unsigned wrong_count = 0;

    if (argc < 5) {
        (void)fprintf(stderr, "usage: fail_each LIBRARY RUNS_MAX FILE COMMAND...\n");
        return 2;
    }
    library = argv[1];
    file = strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
    command = argv + 4;
    whole = run(0);
    total = count_requests();
    again = run(0);
    if (whole.status != 0) {
        (void)fprintf(stderr, "%.300s", whole.err.data != NULL ? whole.err.data : "");
    }
    must(total != 0 && whole.status == 0 && again.status == 0 &&
             judge(&again, &whole) == NULL,
         "the command alone fails, or has two outputs");
    free_outcome(&again);
    runs = strtoul(argv[2], NULL, 10);
    runs = runs < total ? runs : total;
    for (unsigned long i = 0; i < runs; i++) {
        /* spread; the last run refuses the last request */
        const unsigned long refused = total - i * total / runs;
        struct outcome outcome = run(refused);
        const char *what = judge(&outcome, &whole);

        if (what != NULL && wrong_count++ < WRONG_SHOWN_MAX) {
            show(refused, what, &outcome);
        }
        free_outcome(&outcome);
    }
    (void)printf("%lu of %lu requests refused, %u wrong:", runs, total, wrong_count);
    for (char **word = command; *word != NULL; word++) {
        (void)printf(" %s", *word);
    }
    (void)printf("\n");
    free_outcome(&whole);
    return wrong_count != 0;
}
