/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* files.c - inputs known by their first bytes, outputs whole or absent; see files.h */
#include "tool/base/files.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_name.h"
#include "wire/cpt_graph_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLURP_BYTES_FIRST = 64 * 1024,
    LOG_MAGIC_BYTES = 8,
    TEMPORARY_NAME_BYTES = 240, /* a file's name has 255 */
    FOLDERS_MAX = 256,
    GONE_MAX = 1024
};

/* --- Inputs --- */

static bool is_stdio(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *cpti_input_name(const struct cpti_input *input)
{
    return is_stdio(input->path) ? "standard input" : cpti_quoted(input->path);
}

bool cpti_input_is_text(const struct cpti_input *input)
{
    for (size_t i = 0; i < input->head_bytes; i++) {
        const unsigned char byte = input->head[i];

        if (byte < ' ' && memchr("\t\r\n", byte, 3) == NULL) {
            return false;
        }
    }
    return input->head_bytes != 0;
}

int cpti_refuse_graphs(const struct cpti_input *input)
{
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                          "is a graph log: it has all that a service did for some "
                          "requests, which 'cpt slack' reads" CPTI_HINT
                          "give path logs here");
}

/* Each block of a log, also the first, begins with the same bytes as @header. */
static bool is_log(size_t (*header)(unsigned char *), const unsigned char *head,
                   size_t bytes)
{
    unsigned char block[CPT_LOG_HEADER_BYTES_MAX];

    (void)header(block);
    return bytes >= LOG_MAGIC_BYTES && memcmp(head, block, LOG_MAGIC_BYTES) == 0;
}

enum cpti_input_kind cpti_input_kind_of(const unsigned char *head, size_t bytes)
{
    if (bytes == 0) {
        return CPTI_INPUT_EMPTY;
    }
    if (cpt_tree_is_encoded(head, bytes)) {
        return CPTI_INPUT_TREE;
    }
    if (is_log(cpt_log_header, head, bytes)) {
        return CPTI_INPUT_LOG;
    }
    if (is_log(cpt_graph_log_header, head, bytes)) {
        return CPTI_INPUT_GRAPHS;
    }
    return bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b ? CPTI_INPUT_GZIP
                                                            : CPTI_INPUT_OTHER;
}

bool cpti_is_store(const char *operand)
{
    return strncmp(operand, "clickhouse://", 13) == 0 ||
           strncmp(operand, "clickhouses://", 14) == 0;
}

static _Thread_local const atomic_bool *end_of_inputs;

void cpti_inputs_end_if(const atomic_bool *is_unwanted)
{
    end_of_inputs = is_unwanted;
}

const atomic_bool *cpti_inputs_end(void)
{
    return end_of_inputs;
}

/* Where inputs end; 0: not before their end. */
static _Thread_local uint64_t inputs_bytes_max;

void cpti_inputs_cut(uint64_t bytes)
{
    inputs_bytes_max = bytes;
}

static bool is_unwanted(void)
{
    /* relaxed: nothing else depends on it */
    return end_of_inputs != NULL &&
           atomic_load_explicit(end_of_inputs, memory_order_relaxed);
}

/* Opens the regular file at @path, without waiting: it may have become a pipe. */
static FILE *open_regular(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat about;
    FILE *file = NULL;

    if (descriptor < 0) {
        return NULL;
    }
    if (fstat(descriptor, &about) == 0) {
        errno = is_unwanted() ? ECANCELED : EINVAL;
        file =
            S_ISREG(about.st_mode) && !is_unwanted() ? fdopen(descriptor, "rb") : NULL;
    }
    if (file == NULL) {
        const int number = errno;

        (void)close(descriptor);
        errno = number;
    }
    return file;
}

/* --- Files that are removed meanwhile --- */

/* Folders whose files are inputs, and files of them that were gone. */
static struct {
    pthread_mutex_t mutex;
    char *folders[FOLDERS_MAX];
    size_t folder_count;
    uint64_t gone[GONE_MAX]; /* hashes of their paths */
    size_t gone_count;
} expected = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool is_below(const char *path, const char *folder)
{
    const size_t bytes = strlen(folder);

    return strncmp(path, folder, bytes) == 0 &&
           (path[bytes] == '/' || (bytes > 0 && folder[bytes - 1] == '/'));
}

/* Whether a folder that was expected has @path; the lock is held. */
static bool is_expected(const char *path)
{
    for (size_t i = 0; i < expected.folder_count; i++) {
        if (is_below(path, expected.folders[i])) {
            return true;
        }
    }
    return false;
}

void cpti_inputs_of_folder(const char *folder)
{
    (void)pthread_mutex_lock(&expected.mutex);
    for (size_t i = 0; i < expected.folder_count; i++) {
        if (strcmp(expected.folders[i], folder) == 0) {
            (void)pthread_mutex_unlock(&expected.mutex);
            return;
        }
    }
    if (expected.folder_count < FOLDERS_MAX) {
        char *copy = strdup(folder);

        expected.folders[expected.folder_count] = copy;
        expected.folder_count += copy != NULL;
    }
    (void)pthread_mutex_unlock(&expected.mutex);
}

/* Notes that @path is gone. true: it was not noted before. */
static bool note_gone(const char *path)
{
    const uint64_t hash = cpt_hash_bytes(0, path, strlen(path));

    for (size_t i = 0; i < expected.gone_count; i++) {
        if (expected.gone[i] == hash) {
            return false;
        }
    }
    if (expected.gone_count < GONE_MAX) {
        expected.gone[expected.gone_count++] = hash;
    }
    return true;
}

bool cpti_input_is_gone(const char *path)
{
    bool is_gone = false;
    bool is_new = false;

    (void)pthread_mutex_lock(&expected.mutex);
    is_gone = is_expected(path) && access(path, F_OK) != 0 && errno == ENOENT;
    is_new = is_gone && note_gone(path);
    (void)pthread_mutex_unlock(&expected.mutex);
    if (is_new) {
        cpti_warn("%s: was removed meanwhile and is left out", cpti_quoted(path));
    }
    return is_gone;
}

static FILE *open_input(const char *path)
{
    FILE *file = NULL;

    if (is_stdio(path)) {
        return stdin;
    }
    file = end_of_inputs != NULL ? open_regular(path) : fopen(path, "rb");
    if (file == NULL && errno == ENOENT) {
        file = cpti_input_is_gone(path) ? fopen("/dev/null", "rb") : NULL;
        errno = ENOENT;
    }
    return file;
}

int cpti_input_open(struct cpti_input *input, const char *path)
{
    *input = (struct cpti_input){.path = path};
    if (cpti_is_store(path)) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                              "is a database; this command reads files only");
    }
    input->file = open_input(path);
    if (input->file == NULL) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                              "cannot be opened: %s", strerror(errno));
    }
    input->total_bytes = cpti_input_bytes(input);
    errno = 0;
    input->head_bytes = fread(input->head, 1, sizeof input->head, input->file);
    if (ferror(input->file)) {
        const int exit_status =
            cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                           "cannot be read: %s", strerror(errno));

        cpti_input_close(input);
        return exit_status;
    }
    input->kind = cpti_input_kind_of(input->head, input->head_bytes);
    return CPTI_EXIT_DONE;
}

void cpti_input_close(struct cpti_input *input)
{
    if (input->file != NULL && input->file != stdin) {
        (void)fclose(input->file);
    }
    input->file = NULL;
}

cpt_status cpti_input_read(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_input *input = context;
    const size_t left = input->head_bytes - input->head_used;
    const size_t from_head = left < capacity ? left : capacity;

    if (is_unwanted()) {
        input->error_number = ECANCELED;
        return CPT_IO;
    }
    if (inputs_bytes_max != 0 && input->read_bytes >= inputs_bytes_max) {
        *bytes = 0;
        return CPT_OK;
    }
    if (from_head != 0) {
        memcpy(buffer, input->head + input->head_used, from_head);
        input->head_used += from_head;
        *bytes = from_head;
    } else {
        errno = 0;
        *bytes = fread(buffer, 1, capacity, input->file);
        if (*bytes == 0 && ferror(input->file)) {
            input->error_number = errno;
            return CPT_IO;
        }
    }
    input->read_bytes += *bytes;
    return CPT_OK;
}

cpt_status cpti_input_seek(void *context, uint64_t offset)
{
    struct cpti_input *input = context;

    errno = 0;
    if (fseeko(input->file, (off_t)offset, SEEK_SET) != 0) {
        input->error_number = errno;
        return CPT_IO;
    }
    input->head_used = input->head_bytes;
    input->read_bytes = offset;
    return CPT_OK;
}

cpt_status cpti_input_read_at(void *context, uint64_t offset, void *buffer,
                              size_t bytes)
{
    const struct cpti_input *input = context;
    unsigned char *next = buffer;

    while (bytes != 0 && !is_unwanted()) {
        const ssize_t got = pread(fileno(input->file), next, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return CPT_IO;
        }
        next += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return bytes == 0 ? CPT_OK : CPT_IO;
}

uint64_t cpti_input_bytes(const struct cpti_input *input)
{
    struct stat about;
    uint64_t bytes = 0;

    if (fstat(fileno(input->file), &about) == 0 && S_ISREG(about.st_mode)) {
        bytes = (uint64_t)about.st_size;
    }
    return inputs_bytes_max != 0 && bytes > inputs_bytes_max ? inputs_bytes_max : bytes;
}

int cpti_input_slurp(struct cpti_input *input, size_t limit, unsigned char **data,
                     size_t *bytes)
{
    size_t capacity = SLURP_BYTES_FIRST;
    unsigned char *buffer = NULL;
    size_t used = 0;

    for (;;) {
        unsigned char *larger = realloc(buffer, capacity + 1);
        size_t more = 0;

        if (larger == NULL) {
            free(buffer);
            return cpti_failed("out of memory");
        }
        buffer = larger;
        if (cpti_input_read(input, buffer + used, capacity - used, &more) != CPT_OK) {
            free(buffer);
            return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                                  "cannot be read: %s", strerror(input->error_number));
        }
        used += more;
        if (used > limit) {
            free(buffer);
            return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                                  "is longer than the limit of %zu bytes", limit);
        }
        if (more == 0) {
            break;
        }
        capacity += used == capacity ? capacity : 0;
    }
    buffer[used] = '\0';
    *data = buffer;
    *bytes = used;
    return CPTI_EXIT_DONE;
}

/* --- Outputs --- */

/* The temporary files, which a signal handler removes: a command has two at most. */
enum { UNFINISHED_MAX = 2 };
static char *volatile unfinished[UNFINISHED_MAX];

/* Replaces @before, a temporary file or NULL, by @after. */
static void note_unfinished(const char *before, char *after)
{
    for (size_t i = 0; i < UNFINISHED_MAX; i++) {
        if (unfinished[i] == before) {
            unfinished[i] = after;
            return;
        }
    }
}

/* A signal handler: calls only what POSIX allows there. */
static void remove_unfinished(int signal_number)
{
    for (size_t i = 0; i < UNFINISHED_MAX; i++) {
        if (unfinished[i] != NULL) {
            (void)unlink(unfinished[i]);
        }
    }
    (void)raise(signal_number); /* the default action, as SA_RESETHAND restored it */
}

static void expect_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT, SIGXCPU};
    struct sigaction action = {0};

    (void)signal(SIGXFSZ, SIG_IGN); /* the write then fails, and says why */
    action.sa_handler = remove_unfinished;
    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction before;

        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

/* The file that @path leads to through links, as a plain write follows them. */
static char *resolve(const char *path)
{
    char *target = realpath(path, NULL);

    return target != NULL ? target : strdup(path);
}

/* The permissions of a new file, by the umask. */
static mode_t new_file_mode(void)
{
    const mode_t mask = umask(0);

    (void)umask(mask);
    return 0666 & ~mask;
}

/* "folder/.name.XXXXXX", from malloc(): hidden, so that no reader of the folder takes
 * it for a log, and no `cpt depot drop`. */
static char *name_temporary(const char *target)
{
    const char *slash = strrchr(target, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - target) + 1 : 0;
    const size_t bytes = strlen(target) + sizeof "..XXXXXX";
    char *name = malloc(bytes);

    if (name != NULL) {
        (void)snprintf(name, bytes, "%.*s.%.*s.XXXXXX", (int)folder, target,
                       TEMPORARY_NAME_BYTES, target + folder);
    }
    return name;
}

/* Opens a temporary file beside @output's target. */
static int open_temporary(struct cpti_output *output, mode_t mode)
{
    int descriptor;

    output->temporary = name_temporary(output->target);
    if (output->temporary == NULL) {
        return cpti_failed("out of memory");
    }
    descriptor = mkstemp(output->temporary);
    if (descriptor < 0) {
        free(output->temporary);
        output->temporary = NULL;
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(output->path)},
                              "cannot be written: %s", strerror(errno));
    }
    (void)flock(descriptor, LOCK_EX | LOCK_NB); /* as long as its writer lives */
    note_unfinished(NULL, output->temporary);
    expect_signals();
    (void)fchmod(descriptor, mode);
    output->file = fdopen(descriptor, "wb");
    if (output->file == NULL) {
        (void)close(descriptor);
        return cpti_failed("out of memory");
    }
    return CPTI_EXIT_DONE;
}

int cpti_output_open(struct cpti_output *output, const char *path)
{
    struct stat about;
    bool exists;
    int exit_status;

    *output = (struct cpti_output){0};
    if (path == NULL || is_stdio(path)) {
        output->file = stdout;
        return CPTI_EXIT_DONE;
    }
    output->path = path;
    exists = stat(path, &about) == 0;
    output->has_no_name = exists && S_ISREG(about.st_mode) && about.st_nlink == 0;
    if (exists && (!S_ISREG(about.st_mode) || output->has_no_name)) {
        output->file = fopen(path, "wb");
        return output->file != NULL
                   ? CPTI_EXIT_DONE
                   : cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                                    "cannot be written: %s", strerror(errno));
    }
    output->target = resolve(path);
    if (output->target == NULL) {
        return cpti_failed("out of memory");
    }
    /* A private file stays private. */
    exit_status =
        open_temporary(output, exists ? about.st_mode & 0777 : new_file_mode());
    if (exit_status != CPTI_EXIT_DONE) {
        cpti_output_abort(output);
    }
    return exit_status;
}

cpt_status cpti_output_write(void *context, const void *data, size_t bytes)
{
    struct cpti_output *output = context;

    errno = 0;
    if (fwrite(data, 1, bytes, output->file) == bytes) {
        return CPT_OK;
    }
    output->error_number = output->error_number != 0 ? output->error_number : errno;
    return CPT_IO;
}

static void output_deinit(struct cpti_output *output)
{
    if (output->temporary != NULL) {
        note_unfinished(output->temporary, NULL);
    }
    free(output->target);
    free(output->temporary);
    *output = (struct cpti_output){0};
}

int cpti_output_commit(struct cpti_output *output)
{
    bool has_failed;

    if (output->file == stdout) {
        return CPTI_EXIT_DONE; /* cpti_finish() checks it */
    }
    errno = 0;
    has_failed = ferror(output->file) || fflush(output->file) != 0;
    has_failed = (fclose(output->file) != 0) || has_failed;
    output->file = NULL;
    has_failed = has_failed || (output->temporary != NULL &&
                                rename(output->temporary, output->target) != 0);
    if (has_failed) {
        const int number = output->error_number != 0 ? output->error_number : errno;

        if (output->temporary != NULL) {
            (void)unlink(output->temporary);
        }
        (void)cpti_failed_at((struct cpti_at){.file = cpti_quoted(output->path)},
                             "cannot be written: %s",
                             number != 0 ? strerror(number) : "unknown error");
    }
    output_deinit(output);
    return has_failed ? CPTI_EXIT_FAILED : CPTI_EXIT_DONE;
}

void cpti_output_abort(struct cpti_output *output)
{
    if (output->file != NULL && output->file != stdout) {
        const int descriptor = output->has_no_name ? dup(fileno(output->file)) : -1;

        (void)fclose(output->file);
        if (descriptor >= 0) {
            (void)ftruncate(descriptor, 0);
            (void)close(descriptor);
        }
    }
    if (output->temporary != NULL) {
        (void)unlink(output->temporary);
    }
    output_deinit(output);
}

int cpti_output_finish(struct cpti_output *output, cpt_status status,
                       const struct cpt_error *error)
{
    if (status == CPT_OK || status == CPT_IO) {
        return cpti_output_commit(output); /* prints why if the sink failed */
    }
    cpti_output_abort(output);
    return cpti_failed("%s", error->sentence[0] != '\0' ? error->sentence
                                                        : cpt_status_sentence(status));
}
