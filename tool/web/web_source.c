/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_source.c - which files the operands stand for now; see web_source.h
 *
 * A log that is rotated by renaming (paths.cptlog becomes paths.cptlog.1, and a new
 * paths.cptlog begins) keeps its requests: the source notes the inode of each file that
 * had the operand's name, and looks in the folder for the name that it has now.
 */
#include "tool/web/web_source.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"
#include "tool/requests/log_follow.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files that had the name of an operand and are still looked for. */
enum { MOVED_MAX = 32 };

struct identity {
    dev_t device;
    ino_t inode;
};

/* An operand that is a file. */
struct moved {
    struct identity files[MOVED_MAX]; /* the last one has the name now */
    size_t count;
};

/* Files, found by one look. */
struct files {
    char **paths;
    struct identity *identities; /* of each; zero for a database */
    size_t count;
    size_t capacity;
    uint64_t hash; /* of their names, identities and lengths */
};

struct cpti_web_source {
    const char *const *operands;
    size_t operand_count;
    struct moved *moved; /* of each operand */
    struct files files;
    struct cpti_source *sources; /* the operands, with how many files each stands for */
    bool is_followed;
};

/* --- A list of files --- */

static void files_deinit(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files->paths);
    free(files->identities);
    *files = (struct files){0};
}

static void add_hash(struct files *files, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++) {
        files->hash = (files->hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

static bool grow(struct files *files)
{
    const size_t capacity = files->capacity != 0 ? 2 * files->capacity : 16;
    char **paths;
    struct identity *identities;

    if (files->count < files->capacity) {
        return true;
    }
    paths = realloc(files->paths, capacity * sizeof *paths);
    files->paths = paths != NULL ? paths : files->paths;
    identities = realloc(files->identities, capacity * sizeof *identities);
    files->identities = identities != NULL ? identities : files->identities;
    if (paths == NULL || identities == NULL) {
        return false;
    }
    files->capacity = capacity;
    return true;
}

static bool has_identity(const struct files *files, struct identity identity)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->identities[i].inode == identity.inode &&
            files->identities[i].device == identity.device) {
            return true;
        }
    }
    return false;
}

/* Adds @path, unless the same file is there already. */
static int add_file(struct files *files, const char *path, const struct stat *about)
{
    const struct identity identity = {about->st_dev, about->st_ino};

    if (has_identity(files, identity)) {
        return CPTI_EXIT_DONE;
    }
    if (files->count == CPTI_WEB_FILES_MAX) {
        return cpti_failed("more than %d files", CPTI_WEB_FILES_MAX);
    }
    if (!grow(files)) {
        return cpti_failed("out of memory");
    }
    files->paths[files->count] = strdup(path);
    if (files->paths[files->count] == NULL) {
        return cpti_failed("out of memory");
    }
    files->identities[files->count++] = identity;
    add_hash(files, path, strlen(path));
    add_hash(files, &identity.inode, sizeof identity.inode);
    add_hash(files, &about->st_size, sizeof about->st_size);
    add_hash(files, &about->st_mtim, sizeof about->st_mtim);
    return CPTI_EXIT_DONE;
}

/* --- Folders --- */

static char *join(const char *folder, size_t folder_bytes, const char *name)
{
    const size_t name_bytes = strlen(name) + 1;
    char *path = malloc(folder_bytes + 1 + name_bytes);

    if (path == NULL) {
        return NULL;
    }
    memcpy(path, folder, folder_bytes);
    if (folder_bytes != 0 && folder[folder_bytes - 1] != '/') {
        path[folder_bytes++] = '/';
    }
    memcpy(path + folder_bytes, name, name_bytes);
    return path;
}

static int add_folder(struct files *files, const char *folder)
{
    struct cpti_arguments arguments = {.operands = calloc(1, sizeof(char *)),
                                       .operand_count = 1};
    int status = CPTI_EXIT_FAILED;

    if (arguments.operands == NULL) {
        return cpti_failed("out of memory");
    }
    arguments.operands[0] = folder;
    status = cpti_folders_open(&arguments);
    for (size_t i = 0; i < arguments.operand_count && status == CPTI_EXIT_DONE; i++) {
        struct stat about;

        if (stat(arguments.operands[i], &about) == 0 && S_ISREG(about.st_mode)) {
            status = add_file(files, arguments.operands[i], &about);
        }
    }
    cpti_arguments_deinit(&arguments);
    return status;
}

/* --- Files that were moved away --- */

/* Notes that @identity has the operand's name now; a new one is the last. */
static void note_identity(struct moved *moved, struct identity identity)
{
    size_t at = 0;

    while (at < moved->count && (moved->files[at].inode != identity.inode ||
                                 moved->files[at].device != identity.device)) {
        at++;
    }
    if (at == moved->count && at == MOVED_MAX) {
        at = 0; /* the oldest gives way */
    }
    if (at < moved->count) {
        memmove(&moved->files[at], &moved->files[at + 1],
                (moved->count - at - 1) * sizeof moved->files[0]);
        moved->count--;
    }
    moved->files[moved->count++] = identity;
}

/* Adds the file of the folder of @operand that is @wanted now, whatever its name. */
static int add_moved(struct files *files, const char *operand, struct identity wanted)
{
    const char *slash = strrchr(operand, '/');
    const size_t folder_bytes = slash != NULL ? (size_t)(slash - operand) + 1 : 0;
    char *folder = join(operand, folder_bytes, folder_bytes == 0 ? "." : "");
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *entry;
    int status = CPTI_EXIT_DONE;

    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char *path = entry->d_ino == wanted.inode
                         ? join(operand, folder_bytes, entry->d_name)
                         : NULL;
        struct stat about;

        if (path != NULL && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
            about.st_dev == wanted.device && about.st_ino == wanted.inode) {
            status = add_file(files, path, &about);
            free(path);
            break;
        }
        free(path);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    free(folder);
    return status;
}

/* Adds the files that continue the one at @path. */
static int add_next(struct files *files, const char *path)
{
    char *next = NULL;
    int status = cpti_log_next(path, &next);

    while (status == CPTI_EXIT_DONE && next != NULL) {
        char *own = next;
        struct stat about;

        next = NULL;
        if (stat(own, &about) == 0 && S_ISREG(about.st_mode)) {
            status = add_file(files, own, &about);
        }
        status = CPTI_THEN(status, cpti_log_next(own, &next));
        free(own);
    }
    free(next);
    return status;
}

static int add_named(struct files *files, const char *operand, struct moved *moved)
{
    struct stat about;
    const bool is_there = stat(operand, &about) == 0 && S_ISREG(about.st_mode);
    int status = CPTI_EXIT_DONE;

    if (is_there) {
        note_identity(moved, (struct identity){about.st_dev, about.st_ino});
    }
    for (size_t i = 0; i + is_there < moved->count && status == CPTI_EXIT_DONE; i++) {
        status = add_moved(files, operand, moved->files[i]);
    }
    if (is_there && status == CPTI_EXIT_DONE) {
        status = add_file(files, operand, &about);
    }
    return status == CPTI_EXIT_DONE ? add_next(files, operand) : status;
}

/* --- The source --- */

static int add_operand(struct cpti_web_source *source, struct files *files,
                       size_t index, bool *is_folder)
{
    const char *operand = source->operands[index];
    struct stat about;

    if (cpti_is_store(operand)) {
        about = (struct stat){.st_ino = index + 1}; /* each one counts */
        return add_file(files, operand, &about);
    }
    *is_folder = stat(operand, &about) == 0 && S_ISDIR(about.st_mode);
    if (*is_folder) {
        return add_folder(files, operand);
    }
    return add_named(files, operand, &source->moved[index]);
}

/* Refuses what cannot be read again and again. */
static int check_operand(struct cpti_web_source *source, const char *operand)
{
    struct stat about;

    if (cpti_is_store(operand)) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(operand, "-") == 0) {
        return cpti_usage("'cpt web' reads its logs again and again, which standard "
                          "input does not allow");
    }
    if (stat(operand, &about) != 0) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(operand)}, "%s",
                              strerror(errno));
    }
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        return cpti_usage(
            "%s: is neither a file nor a folder, and cannot be read again "
            "and again",
            cpti_quoted(operand));
    }
    source->is_followed = true;
    return CPTI_EXIT_DONE;
}

struct cpti_web_source *cpti_web_source_new(const char *const *operands, size_t count)
{
    struct cpti_web_source *source = calloc(1, sizeof *source);
    int status = CPTI_EXIT_DONE;
    bool is_changed;

    if (source != NULL) {
        source->moved = calloc(count, sizeof *source->moved);
        source->sources = calloc(count, sizeof *source->sources);
    }
    if (source == NULL || source->moved == NULL || source->sources == NULL) {
        (void)cpti_failed("out of memory");
        cpti_web_source_free(source);
        return NULL;
    }
    source->operands = operands;
    source->operand_count = count;
    for (size_t i = 0; i < count && status == CPTI_EXIT_DONE; i++) {
        status = check_operand(source, operands[i]);
    }
    status = CPTI_THEN(status, cpti_web_source_look(source, &is_changed));
    if (status != CPTI_EXIT_DONE) {
        cpti_web_source_free(source);
        return NULL;
    }
    return source;
}

void cpti_web_source_free(struct cpti_web_source *source)
{
    if (source != NULL) {
        files_deinit(&source->files);
        free(source->moved);
        free(source->sources);
        free(source);
    }
}

int cpti_web_source_look(struct cpti_web_source *source, bool *is_changed)
{
    struct files files = {.hash = UINT64_C(0xcbf29ce484222325)};
    struct cpti_source *sources = calloc(source->operand_count, sizeof *sources);
    int status = CPTI_EXIT_DONE;

    *is_changed = false;
    if (sources == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < source->operand_count && status == CPTI_EXIT_DONE; i++) {
        const size_t before = files.count;

        sources[i].name = source->operands[i];
        status = add_operand(source, &files, i, &sources[i].is_folder);
        sources[i].count = files.count - before;
    }
    if (status != CPTI_EXIT_DONE) {
        files_deinit(&files);
        free(sources);
        return status;
    }
    *is_changed = files.hash != source->files.hash;
    files_deinit(&source->files);
    free(source->sources);
    source->files = files;
    source->sources = sources;
    return CPTI_EXIT_DONE;
}

const char *const *cpti_web_source_paths(const struct cpti_web_source *source,
                                         size_t *count)
{
    *count = source->files.count;
    return (const char *const *)source->files.paths;
}

const struct cpti_source *cpti_web_source_names(const struct cpti_web_source *source,
                                                size_t *count)
{
    *count = source->operand_count;
    return source->sources;
}

bool cpti_web_source_is_followed(const struct cpti_web_source *source)
{
    return source->is_followed;
}
