/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* folders.c - a folder of logs in the place of a log; see folders.h */
#include "tool/base/folders.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file or folder below the operand. */
struct entry {
    char *path; /* owned until it is an operand */
    dev_t device;
    ino_t number;
    unsigned depth; /* of a folder */
    bool is_better; /* as is_better_in_folder() of the command says */
    bool is_again;  /* another name of the same file came before */
};

struct entries {
    struct entry *all;
    size_t count;
    size_t capacity;
};

/* One folder among the operands. */
struct folder {
    const char *name;
    const struct cpti_command *command;
    struct entries logs;    /* or trees */
    struct entries pending; /* folders to be read */
    size_t entry_count;     /* all that were met */
    uint64_t skipped_count;
    uint64_t beside_count; /* logs of the other kind */
    uint64_t again_count;
    uint64_t better_count;
};

/* What is_wanted() says of a file. BESIDE: not wanted, but where services write their
 * path logs and graph logs it belongs there; so it needs no warning. */
enum want { UNWANTED, BESIDE, WANTED, BETTER };

static void deinit(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->all[i].path);
    }
    cpt_alloc_free(cpt_alloc_default(), entries->all);
}

/* Adds an entry, and takes its path also after a failure. */
static int add(struct entries *entries, const struct entry *entry)
{
    if (cpt_alloc_grow(cpt_alloc_default(), (void **)&entries->all, &entries->capacity,
                       entries->count + 1, CPTI_FOLDER_ENTRIES_MAX + 1,
                       sizeof *entries->all) != CPT_OK) {
        free(entry->path);
        return cpti_failed("out of memory");
    }
    entries->all[entries->count++] = *entry;
    return CPTI_EXIT_DONE;
}

static int cannot_open(const char *path)
{
    return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                          "cannot be opened: %s", strerror(errno));
}

/* "folder/name", from malloc(). */
static char *join(const char *folder, const char *name)
{
    const size_t bytes = strlen(folder);
    const char *between = bytes != 0 && folder[bytes - 1] == '/' ? "" : "/";
    const size_t capacity = bytes + strlen(name) + 2;
    char *path = malloc(capacity);

    if (path != NULL) {
        (void)snprintf(path, capacity, "%s%s%s", folder, between, name);
    }
    return path;
}

static bool ends_with(const char *path, const char *end)
{
    const size_t bytes = strlen(path);
    const size_t end_bytes = strlen(end);

    return bytes > end_bytes && strcmp(path + bytes - end_bytes, end) == 0;
}

static bool has_trees(const struct folder *folder)
{
    return folder->command != NULL && folder->command->has_tree_folders;
}

static const char *noun_of(const struct folder *folder)
{
    if (folder->better_count != 0) {
        return folder->command->better_noun;
    }
    if (folder->command != NULL && folder->command->is_in_folder != NULL) {
        return folder->command->folder_noun;
    }
    if (folder->command != NULL && folder->command->has_log_folders) {
        return "path or graph log";
    }
    return has_trees(folder) ? "tree" : "path log";
}

/* Whether a file of the folder @of that begins with the @bytes at @head is one of those
 * that the command takes; @is_named: it is named as one. */
static enum want want_head(const struct folder *of, const unsigned char *head,
                           size_t bytes, bool is_named)
{
    const enum cpti_input_kind kind = cpti_input_kind_of(head, bytes);
    const struct cpti_command *command = of->command;

    if (command != NULL && command->is_in_folder != NULL) {
        if (kind == CPTI_INPUT_LOG) {
            return BESIDE;
        }
        if (kind == CPTI_INPUT_TREE || !command->is_in_folder(head, bytes)) {
            return UNWANTED;
        }
        return command->is_better_in_folder != NULL &&
                       command->is_better_in_folder(head, bytes)
                   ? BETTER
                   : WANTED;
    }
    switch (kind) {
    case CPTI_INPUT_LOG:
        return has_trees(of) ? UNWANTED : WANTED;
    case CPTI_INPUT_TREE:
        return has_trees(of) ? WANTED : UNWANTED;
    case CPTI_INPUT_GRAPHS:
        if (command != NULL && command->has_log_folders) {
            return WANTED;
        }
        return has_trees(of) ? UNWANTED : BESIDE;
    case CPTI_INPUT_GZIP:
        return UNWANTED;
    default:
        return is_named ? WANTED : UNWANTED;
    }
}

/* Whether the file @name in @folder, which is a regular file, is a path log, or what
 * else the command takes of the folder @of. It is opened without waiting, as it may
 * have become a pipe meanwhile. One that cannot be read is judged by its name: reading
 * it will say why. */
static enum want is_wanted(const struct folder *of, int folder, const char *name)
{
    const bool is_named = ends_with(name, has_trees(of) ? ".cpttree" : ".cptlog");
    unsigned char head[CPTI_HEAD_BYTES];
    int descriptor;
    ssize_t bytes;

    if (ends_with(name, ".pb.gz")) {
        return UNWANTED; /* a profile begins like compressed spans */
    }
    descriptor = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) { /* perhaps it is gone meanwhile */
        return is_named && errno != ENOENT ? WANTED : UNWANTED;
    }
    bytes = pread(descriptor, head, sizeof head, 0);
    (void)close(descriptor);
    return want_head(of, head, bytes > 0 ? (size_t)bytes : 0, is_named);
}

/* Sorts @name in the folder @parent, open as @descriptor: a folder to be read, a log or
 * skipped. */
static int meet(struct folder *folder, const struct entry *parent, int descriptor,
                const char *name)
{
    struct stat about;
    struct entry entry = {.depth = parent->depth + 1};
    enum want want = UNWANTED;

    if (fstatat(descriptor, name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
        return CPTI_EXIT_DONE; /* gone meanwhile */
    }
    if (S_ISLNK(about.st_mode) &&
        (fstatat(descriptor, name, &about, 0) != 0 || S_ISDIR(about.st_mode))) {
        folder->skipped_count++;
        return CPTI_EXIT_DONE;
    }
    if (S_ISREG(about.st_mode)) {
        want = is_wanted(folder, descriptor, name);
    }
    if (!S_ISDIR(about.st_mode) && (want == UNWANTED || want == BESIDE)) {
        *(want == BESIDE ? &folder->beside_count : &folder->skipped_count) += 1;
        return CPTI_EXIT_DONE;
    }
    entry.is_better = want == BETTER;
    folder->better_count += entry.is_better;
    entry.path = join(parent->path, name);
    entry.device = about.st_dev;
    entry.number = about.st_ino;
    if (entry.path == NULL) {
        return cpti_failed("out of memory");
    }
    if (entry.depth > CPTI_FOLDER_DEPTH_MAX && S_ISDIR(about.st_mode)) {
        (void)cpti_failed_at((struct cpti_at){.file = cpti_quoted(entry.path)},
                             "is more than %d folders deep", CPTI_FOLDER_DEPTH_MAX);
        free(entry.path);
        return CPTI_EXIT_FAILED;
    }
    return add(S_ISDIR(about.st_mode) ? &folder->pending : &folder->logs, &entry);
}

/* Meets all that is in the folder @parent. */
static int read_folder(struct folder *folder, const struct entry *parent)
{
    const int links = parent->depth == 0 ? 0 : O_NOFOLLOW;
    const int descriptor =
        open(parent->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | links);
    DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    int status = CPTI_EXIT_DONE;

    if (directory == NULL) { /* a folder within it may be gone meanwhile */
        status = parent->depth > 0 && errno == ENOENT ? CPTI_EXIT_DONE
                                                      : cannot_open(parent->path);
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        return status;
    }
    while (status == CPTI_EXIT_DONE) {
        const struct dirent *next;

        errno = 0;
        next = readdir(directory);
        if (next == NULL) {
            status = errno != 0 ? cannot_open(parent->path) : status;
            break;
        }
        if (next->d_name[0] == '.') {
            continue; /* hidden, or the folder itself */
        }
        if (folder->entry_count++ == CPTI_FOLDER_ENTRIES_MAX) {
            status =
                cpti_failed_at((struct cpti_at){.file = cpti_quoted(folder->name)},
                               "has more than %d files" CPTI_HINT "give a part of them",
                               CPTI_FOLDER_ENTRIES_MAX);
            break;
        }
        status = meet(folder, parent, descriptor, next->d_name);
    }
    (void)closedir(directory);
    return status;
}

/* Drops what is not better, if something is. */
static void keep_better(struct folder *folder)
{
    struct entries *logs = &folder->logs;
    size_t kept = 0;

    for (size_t i = 0; i < logs->count && folder->better_count != 0; i++) {
        if (logs->all[i].is_better) {
            logs->all[kept++] = logs->all[i];
        } else {
            free(logs->all[i].path);
            folder->skipped_count++;
        }
    }
    logs->count = folder->better_count != 0 ? kept : logs->count;
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->path,
                  ((const struct entry *)right)->path);
}

/* By file; of one file by path. */
static int compare_files(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left;
    const struct entry *b = *(const struct entry *const *)right;

    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* Marks all but the first name of each file. The logs are sorted by path. */
static int mark_again(struct folder *folder)
{
    const size_t count = folder->logs.count;
    struct entry **by_file = calloc(count + 1, sizeof(struct entry *));

    if (by_file == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        by_file[i] = &folder->logs.all[i];
    }
    qsort(by_file, count, sizeof(struct entry *), compare_files);
    for (size_t i = 1; i < count; i++) {
        by_file[i]->is_again = by_file[i]->device == by_file[i - 1]->device &&
                               by_file[i]->number == by_file[i - 1]->number;
        folder->again_count += by_file[i]->is_again;
    }
    free(by_file);
    return CPTI_EXIT_DONE;
}

/* Says what was skipped; fails if nothing is left. */
static int report(const struct folder *folder)
{
    const char *name = cpti_quoted(folder->name);
    const char *what = noun_of(folder);
    const uint64_t others = folder->skipped_count + folder->beside_count;

    if (folder->logs.count == 0) {
        return cpti_failed_at((struct cpti_at){.file = name},
                              "has no %s among its %" PRIu64 " file%s", what, others,
                              others == 1 ? "" : "s");
    }
    if (folder->skipped_count != 0) {
        cpti_warn("%s: skipped %" PRIu64 " of %" PRIu64 " files: not %ss", name,
                  folder->skipped_count, folder->skipped_count + folder->logs.count,
                  what);
    }
    if (folder->again_count != 0) {
        cpti_warn("%s: skipped %" PRIu64 " further name%s of the same files", name,
                  folder->again_count, folder->again_count == 1 ? "" : "s");
    }
    return CPTI_EXIT_DONE;
}

/* Finds all logs of the folder, in the order of their paths. */
static int find_logs(struct folder *folder)
{
    struct entry first = {.path = strdup(folder->name)};
    int status = first.path != NULL ? add(&folder->pending, &first)
                                    : cpti_failed("out of memory");

    while (status == CPTI_EXIT_DONE && folder->pending.count != 0) {
        const struct entry next = folder->pending.all[--folder->pending.count];

        status = read_folder(folder, &next);
        free(next.path);
    }
    keep_better(folder);
    if (status == CPTI_EXIT_DONE && folder->logs.count != 0) {
        qsort(folder->logs.all, folder->logs.count, sizeof *folder->logs.all,
              compare_paths);
        status = mark_again(folder);
    }
    return status == CPTI_EXIT_DONE ? report(folder) : status;
}

/* Whether @operand is a folder. */
static bool is_folder(const char *operand)
{
    struct stat about;

    return strcmp(operand, "-") != 0 && !cpti_is_store(operand) &&
           stat(operand, &about) == 0 && S_ISDIR(about.st_mode);
}

/* The command that says what is taken of folders: that of an option, if it is given. */
static const struct cpti_command *kinds_of(const struct cpti_arguments *arguments)
{
    const struct cpti_command *command = arguments->command;
    const struct cpti_command *other = command != NULL ? command->folder_option : NULL;

    return other != NULL && cpti_has(arguments, other->name) ? other : command;
}

/* Finds what each operand stands for. */
static int find_all(struct cpti_arguments *arguments, struct folder *folders)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < arguments->operand_count && status == CPTI_EXIT_DONE; i++) {
        struct cpti_source *source = &arguments->sources[i];

        *source = (struct cpti_source){.name = arguments->operands[i], .count = 1};
        source->is_folder = is_folder(source->name);
        if (source->is_folder) {
            folders[i].name = source->name;
            cpti_inputs_of_folder(source->name);
            folders[i].command = kinds_of(arguments);
            status = find_logs(&folders[i]);
            source->count = folders[i].logs.count - folders[i].again_count;
            source->skipped_count = folders[i].skipped_count;
        }
    }
    arguments->source_count = arguments->operand_count;
    return status;
}

/* Replaces the operands by what they stand for. */
static int replace(struct cpti_arguments *arguments, const struct folder *folders)
{
    const char **operands;
    size_t count = 0;

    for (size_t i = 0; i < arguments->source_count; i++) {
        count += arguments->sources[i].count;
    }
    operands = calloc(count + 1, sizeof *operands);
    arguments->owned = calloc(count + 1, sizeof *arguments->owned);
    if (operands == NULL || arguments->owned == NULL) {
        free(operands);
        return cpti_failed("out of memory");
    }
    free(arguments->operands);
    arguments->operands = operands;
    arguments->operand_count = 0;
    for (size_t i = 0; i < arguments->source_count; i++) {
        const struct entries *logs = &folders[i].logs;

        if (!arguments->sources[i].is_folder) {
            operands[arguments->operand_count++] = arguments->sources[i].name;
        }
        for (size_t k = 0; k < logs->count; k++) {
            if (!logs->all[k].is_again) {
                operands[arguments->operand_count++] = logs->all[k].path;
                arguments->owned[arguments->owned_count++] = logs->all[k].path;
                logs->all[k].path = NULL;
            }
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_folders_open(struct cpti_arguments *arguments)
{
    struct folder *folders = calloc(arguments->operand_count + 1, sizeof *folders);
    const size_t count = arguments->operand_count;
    int status;

    arguments->sources = calloc(count + 1, sizeof *arguments->sources);
    if (folders == NULL || arguments->sources == NULL) {
        free(folders);
        return cpti_failed("out of memory");
    }
    status = find_all(arguments, folders);
    status = CPTI_THEN(status, replace(arguments, folders));
    for (size_t i = 0; i < count; i++) {
        deinit(&folders[i].logs);
        deinit(&folders[i].pending);
    }
    free(folders);
    return status;
}
