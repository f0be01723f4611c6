/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* depot.c - a folder of path logs, asked for single traces; see depot.h */
#include "tool/depot/depot.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_crc32c.h"
#include "wire/cpt_graph_log.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SAMPLE_BYTES = 4096, /* of a log, by which its ids know it */
    /* of a block's head, see docs/format-path-log.md */
    BLOCK_HEAD_BYTES = 28,
    MAGIC_BYTES = 8,
    AT_PAYLOAD_BYTES = 12,
    RECORD_HEAD_BYTES_MAX = 10, /* the length before a record, and one more */
    STOPPED = -1                /* a walk has seen enough */
};

/* A log, and its ids if they are right. */
struct log {
    const char *path;
    char *ids_path;
    struct cpti_input input;
    uint64_t bytes;
    bool is_gone; /* it was removed meanwhile */
    int ids_file; /* -1: none */
    struct cpti_ids ids;
};

/* --- Files --- */

char *cpti_depot_ids_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    const size_t capacity = strlen(path) + sizeof "..ids";
    char *ids = malloc(capacity);

    if (ids != NULL) {
        (void)snprintf(ids, capacity, "%.*s.%s.ids", (int)folder, path, path + folder);
    }
    return ids;
}

/* A cpt_read_at_fn whose context is the log. */
static cpt_status read_ids(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    const struct log *log = context;
    size_t done = 0;

    while (done < bytes) {
        const ssize_t got = pread(log->ids_file, (char *)buffer + done, bytes - done,
                                  (off_t)(offset + done));

        if (got <= 0) {
            return CPT_IO;
        }
        done += (size_t)got;
    }
    return CPT_OK;
}

/* The checksum of the @bytes of the log that end at @end. */
static bool sample(struct log *log, uint64_t end, uint64_t bytes, uint32_t *crc)
{
    unsigned char buffer[SAMPLE_BYTES];
    const size_t count = bytes < sizeof buffer ? (size_t)bytes : sizeof buffer;

    if (count > 0 &&
        cpti_input_read_at(&log->input, end - count, buffer, count) != CPT_OK) {
        return false;
    }
    *crc = cpt_crc32c(0, buffer, count);
    return true;
}

/* The two checksums of the first @bytes of the log. */
static bool samples(struct log *log, uint64_t bytes, uint32_t *first, uint32_t *last)
{
    const uint64_t count = bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES;

    return sample(log, count, count, first) && sample(log, bytes, count, last);
}

static void close_ids(struct log *log)
{
    if (log->ids_file >= 0) {
        (void)close(log->ids_file);
    }
    log->ids_file = -1;
}

/* Opens the ids. Without them, or if they are not of this log, there are none. */
static void open_ids(struct log *log)
{
    struct stat about;
    uint32_t first;
    uint32_t last;

    close_ids(log);
    log->ids_file = open(log->ids_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (log->ids_file < 0) {
        return;
    }
    log->ids = (struct cpti_ids){.read_at = read_ids, .context = log};
    if (fstat(log->ids_file, &about) != 0 || !S_ISREG(about.st_mode)) {
        close_ids(log);
        return;
    }
    log->ids.file_bytes = (uint64_t)about.st_size;
    if (cpti_ids_open(&log->ids) != CPT_OK || log->ids.head.log_bytes > log->bytes ||
        !samples(log, log->ids.head.log_bytes, &first, &last) ||
        first != log->ids.head.first_crc || last != log->ids.head.last_crc) {
        close_ids(log);
    }
}

/* @takes_graphs: it may be a graph log, too, which has no ids. */
static int open_log(struct log *log, const char *path, bool takes_graphs)
{
    int status;

    *log = (struct log){.path = path, .ids_file = -1};
    status = cpti_input_open(&log->input, path);
    if (status == CPTI_EXIT_DONE && log->input.kind == CPTI_INPUT_EMPTY) {
        log->is_gone = cpti_input_is_gone(path);
    }
    if (status != CPTI_EXIT_DONE || log->is_gone ||
        (takes_graphs && log->input.kind == CPTI_INPUT_GRAPHS)) {
        return status;
    }
    status = cpti_log_accept(&log->input);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    log->bytes = cpti_input_bytes(&log->input);
    log->ids_path = cpti_depot_ids_path(path);
    if (log->ids_path == NULL) {
        cpti_input_close(&log->input);
        return cpti_failed("out of memory");
    }
    open_ids(log);
    return CPTI_EXIT_DONE;
}

static void close_log(struct log *log)
{
    close_ids(log);
    free(log->ids_path);
    cpti_input_close(&log->input);
}

/* --- Records --- */

/* The id of @record. false: it has none. */
static bool id_of(const struct cpt_record *record, unsigned char id[CPTI_ID_BYTES])
{
    const struct cpt_attribute *attribute;

    if (record->has_trace_id) {
        memcpy(id, record->trace_id, CPTI_ID_BYTES);
        return true;
    }
    attribute = cpt_record_attribute(record, cpt_bytes_of("trace"));
    if (attribute == NULL || attribute->type != CPT_ATTRIBUTE_TEXT) {
        return false;
    }
    cpti_id_of(attribute->value.text, id);
    return true;
}

bool cpti_depot_is(const struct cpti_depot_wanted *wanted,
                   const struct cpt_record *record)
{
    const size_t from = wanted->is_end ? CPTI_ID_BYTES / 2 : 0;
    unsigned char id[CPTI_ID_BYTES];

    if (!id_of(record, id) ||
        memcmp(id + from, wanted->id + from, sizeof id - from) != 0) {
        return false;
    }
    if (wanted->is_end) {
        return record->has_trace_id;
    }
    return record->has_trace_id ||
           cpt_bytes_equal(
               cpt_record_attribute(record, cpt_bytes_of("trace"))->value.text,
               wanted->text);
}

/* --- Making ids --- */

/* The ids of a log that are collected. */
struct making {
    struct log *log;
    struct cpti_ids_head head;
    struct cpti_id_place *places;
    size_t count;
    size_t capacity;
    uint64_t block;  /* offset of the block that is read, or of one before */
    uint64_t blocks; /* read so far */
};

/* Whether a block begins at @offset of the log, and where the next one does. */
static bool is_block(struct log *log, uint64_t offset, uint64_t *next)
{
    unsigned char head[BLOCK_HEAD_BYTES];

    if (cpti_input_read_at(&log->input, offset, head, sizeof head) != CPT_OK ||
        memcmp(head,
               "\x89"
               "cptlog\n",
               MAGIC_BYTES) != 0) {
        return false;
    }
    *next = offset + sizeof head;
    for (size_t i = 0; i < 4; i++) {
        *next += (uint64_t)head[AT_PAYLOAD_BYTES + i] << (8 * i);
    }
    return true;
}

/* Notes where the block of the record that was read last begins: by the heads from the
 * last known one on or, behind damage, right before the record. If it cannot be told,
 * the last known one stays, and a search reads on from there. */
static void note_block(struct making *making, const struct cpt_log_reader *reader)
{
    const uint64_t blocks = cpt_log_reader_counts(reader)->blocks;
    const uint64_t offset = cpt_log_reader_offset(reader);
    uint64_t next = 0;

    if (blocks == making->blocks) {
        return;
    }
    making->blocks = blocks;
    while (is_block(making->log, making->block, &next) && next <= offset) {
        making->block = next;
    }
    if (making->block <= offset && offset < next) {
        return;
    }
    for (uint64_t i = 0; i <= RECORD_HEAD_BYTES_MAX; i++) {
        const uint64_t before = i == 0 ? 0 : BLOCK_HEAD_BYTES + i - 1;

        if (before <= offset && is_block(making->log, offset - before, &next)) {
            making->block = offset - before;
            return;
        }
    }
}

static int add_record(struct making *making, const struct cpt_record *record)
{
    struct cpti_id_place place = {.offset = making->block};
    void *places = making->places;

    if (making->head.record_count == 0 ||
        record->start_unix_ns < making->head.start_min_ns) {
        making->head.start_min_ns = record->start_unix_ns;
    }
    if (record->start_unix_ns > making->head.start_max_ns) {
        making->head.start_max_ns = record->start_unix_ns;
    }
    making->head.record_count++;
    if (!id_of(record, place.id)) {
        return CPTI_EXIT_DONE;
    }
    if (making->count > 0 &&
        memcmp(making->places[making->count - 1].id, place.id, sizeof place.id) == 0 &&
        making->places[making->count - 1].offset == place.offset) {
        return CPTI_EXIT_DONE;
    }
    if (cpt_alloc_grow(cpt_alloc_default(), &places, &making->capacity,
                       making->count + 1, CPTI_IDS_MAX,
                       sizeof *making->places) != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(making->log->path)},
                              "has too many traces");
    }
    making->places = places;
    making->places[making->count++] = place;
    return CPTI_EXIT_DONE;
}

/* Reads the log from @offset on. */
static int scan(struct making *making, uint64_t offset)
{
    const struct cpt_log_part part = {offset, UINT64_MAX, 0};
    struct cpti_log_walk walk = {.input = &making->log->input, .is_quiet = true};
    bool is_end = false;
    int status;

    walk.part = &part;
    making->block = offset;
    if (cpti_input_seek(&making->log->input, offset) != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(making->log->path)},
                              "cannot be read");
    }
    status = cpti_log_walk_begin(&walk);
    while (status == CPTI_EXIT_DONE && !is_end) {
        struct cpt_record record;

        status = cpti_log_walk_next(&walk, &record, &is_end);
        if (status == CPTI_EXIT_DONE && !is_end) {
            note_block(making, walk.reader);
            status = add_record(making, &record);
        }
    }
    if (walk.reader != NULL) {
        making->head.log_bytes = making->log->input.read_bytes -
                                 cpt_log_reader_counts(walk.reader)->tail_bytes;
    }
    return cpti_log_walk_end(&walk, status);
}

/* Continues the ids that are there, if they are whole. */
static bool begin_from_ids(struct making *making)
{
    const struct cpti_ids *ids = &making->log->ids;

    if (making->log->ids_file < 0) {
        return false;
    }
    making->capacity = (size_t)ids->head.id_count + 1;
    making->places = malloc(making->capacity * sizeof *making->places);
    if (making->places == NULL || cpti_ids_read(ids, making->places) != CPT_OK) {
        free(making->places);
        making->places = NULL;
        making->capacity = 0;
        return false;
    }
    making->count = (size_t)ids->head.id_count;
    making->head = ids->head;
    return true;
}

/* --- Writing ids --- */

static cpt_status write_file(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes ? CPT_OK : CPT_IO;
}

/* Writes the ids to @file, the new one that @descriptor is. */
static bool fill_ids(struct making *making, FILE *file, int descriptor)
{
    const struct cpt_sink sink = {write_file, file};
    struct stat about;

    (void)flock(descriptor, LOCK_EX | LOCK_NB); /* as long as its writer lives */
    /* who may read the log may read these; without the log they are of no use */
    return stat(making->log->path, &about) == 0 &&
           fchmod(descriptor, about.st_mode & 0666) == 0 &&
           cpti_ids_write(&making->head, making->places, making->count, &sink) ==
               CPT_OK;
}

/* Puts the new ids in their place, unless the log is dropped meanwhile: who drops it
 * removes the ids behind that, and these may come later. */
static bool place_ids(const struct log *log, const char *temporary)
{
    if (rename(temporary, log->ids_path) != 0) {
        return false;
    }
    if (access(log->path, F_OK) != 0 && errno == ENOENT) {
        (void)unlink(log->ids_path);
        return false;
    }
    return true;
}

/* Writes the ids beside and renames them. Whether that worked. */
static bool write_ids(struct making *making)
{
    const size_t capacity = strlen(making->log->ids_path) + sizeof ".XXXXXX";
    char *temporary = malloc(capacity);
    int descriptor = -1;
    FILE *file = NULL;
    bool is_written = false;

    if (temporary == NULL) {
        return false;
    }
    (void)snprintf(temporary, capacity, "%s.XXXXXX", making->log->ids_path);
    descriptor = mkostemp(temporary, O_CLOEXEC);
    file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (file != NULL) {
        is_written = fill_ids(making, file, descriptor);
        is_written = fclose(file) == 0 && is_written;
        is_written = is_written && place_ids(making->log, temporary);
    } else if (descriptor >= 0) {
        (void)close(descriptor);
    }
    if (!is_written && descriptor >= 0) {
        (void)unlink(temporary);
    }
    free(temporary);
    return is_written;
}

/* Makes or continues the ids of @log, and opens them. */
static int make_ids(struct log *log, struct cpti_ids_head *head)
{
    struct making making = {.log = log};
    const uint64_t from = begin_from_ids(&making) ? making.head.log_bytes : 0;
    int status = scan(&making, from);

    if (status == CPTI_EXIT_DONE &&
        !samples(log, making.head.log_bytes, &making.head.first_crc,
                 &making.head.last_crc)) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(log->path)},
                                "cannot be read");
    }
    *head = making.head;
    if (status == CPTI_EXIT_DONE && write_ids(&making)) {
        open_ids(log);
    } else {
        close_ids(log);
    }
    free(making.places);
    return status;
}

static int refresh(struct log *log, uint64_t rest_max, struct cpti_ids_head *head)
{
    if (log->ids_file >= 0 && log->bytes - log->ids.head.log_bytes <= rest_max) {
        *head = log->ids.head;
        return CPTI_EXIT_DONE;
    }
    return make_ids(log, head);
}

/* --- Graph logs --- */

/* Counts the records of a graph log; damage is for who reads the graphs. */
static int survey_graphs(struct log *log, struct cpti_ids_head *head)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = cpti_input_read,
                                                   .context = &log->input};
    struct cpt_log_reader *reader = cpt_graph_log_reader_new(&options, NULL);
    cpt_status status = reader != NULL ? CPT_OK : CPT_NO_MEMORY;

    *head = (struct cpti_ids_head){0};
    while (status != CPT_END && status != CPT_NO_MEMORY && status != CPT_IO) {
        struct cpt_record record;

        status = cpt_log_reader_next(reader, &record, NULL);
        if (status != CPT_OK) {
            continue;
        }
        if (head->record_count++ == 0 || record.start_unix_ns < head->start_min_ns) {
            head->start_min_ns = record.start_unix_ns;
        }
        if (record.start_unix_ns > head->start_max_ns) {
            head->start_max_ns = record.start_unix_ns;
        }
    }
    cpt_log_reader_free(reader);
    return status == CPT_END
               ? CPTI_EXIT_DONE
               : cpti_failed_at((struct cpti_at){.file = cpti_quoted(log->path)},
                                "cannot be read: %s", cpt_status_sentence(status));
}

int cpti_depot_survey(const char *path, struct cpti_depot_log *about)
{
    struct log log;
    int status = open_log(&log, path, true);

    *about = (struct cpti_depot_log){.is_gone = false};
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    about->is_gone = log.is_gone;
    about->is_graphs = log.input.kind == CPTI_INPUT_GRAPHS;
    if (about->is_graphs) {
        status = survey_graphs(&log, &about->head);
    } else if (!log.is_gone) {
        status = refresh(&log, 0, &about->head);
    }
    about->has_ids = log.ids_file >= 0;
    close_log(&log);
    return status;
}

/* --- What was left --- */

/* The unfinished file or the ids in @name, a hidden file of @folder, which is open as
 * @file: whether it has no log, or no writer. */
static bool is_left(int folder, const char *name, int file)
{
    enum { RANDOM_BYTES = 7 /* ".XXXXXX" */, QUIET_S = 60 };
    static const char end[] = ".ids";
    const size_t bytes = strlen(name);
    const size_t end_bytes = sizeof end - 1;
    unsigned char head[CPTI_HEAD_BYTES] = {0};
    const ssize_t got = pread(file, head, sizeof head, 0);
    enum cpti_input_kind kind = CPTI_INPUT_OTHER;
    struct stat about;

    if (got < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        return false;
    }
    kind = cpti_input_kind_of(head, (size_t)got);
    if (bytes > end_bytes + 1 && strcmp(name + bytes - end_bytes, end) == 0) {
        char log[NAME_MAX + 1];

        (void)snprintf(log, sizeof log, "%.*s", (int)(bytes - end_bytes - 1), name + 1);
        return cpti_ids_begin(head, (size_t)got) &&
               fstatat(folder, log, &about, AT_SYMLINK_NOFOLLOW) != 0 &&
               errno == ENOENT;
    }
    /* one that is new may be locked soon */
    return bytes > RANDOM_BYTES && name[bytes - RANDOM_BYTES] == '.' &&
           (kind == CPTI_INPUT_LOG || kind == CPTI_INPUT_GRAPHS ||
            kind == CPTI_INPUT_TREE || cpti_ids_begin(head, (size_t)got)) &&
           about.st_mtime + QUIET_S < time(NULL) && flock(file, LOCK_EX | LOCK_NB) == 0;
}

void cpti_depot_sweep(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = folder >= 0 ? fdopendir(folder) : NULL;
    const struct dirent *entry;

    if (directory == NULL) {
        if (folder >= 0) {
            (void)close(folder);
        }
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        const int file = entry->d_name[0] == '.'
                             ? openat(folder, entry->d_name,
                                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                             : -1;

        if (file >= 0 && is_left(folder, entry->d_name, file)) {
            (void)unlinkat(folder, entry->d_name, 0);
        }
        if (file >= 0) {
            (void)close(file);
        }
    }
    (void)closedir(directory);
}

/* --- Finding --- */

struct finding {
    const struct cpti_depot_wanted *wanted;
    const struct cpti_log_walk *like;
    bool is_block;         /* of the block in which the first one is */
    uint64_t found_blocks; /* read when it was found; 0: not yet */
};

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct finding *finding = walk->context;
    const uint64_t blocks = cpt_log_reader_counts(walk->reader)->blocks;
    int status;

    if (finding->is_block && finding->found_blocks != 0 &&
        blocks > finding->found_blocks) {
        return STOPPED;
    }
    if (!cpti_depot_is(finding->wanted, record)) {
        return CPTI_EXIT_DONE;
    }
    finding->found_blocks = finding->found_blocks != 0 ? finding->found_blocks : blocks;
    walk->context = finding->like->context;
    status = finding->like->record(walk, record);
    walk->context = finding;
    return status;
}

static int walk_from(struct log *log, struct finding *finding, uint64_t offset)
{
    const struct cpt_log_part part = {offset, UINT64_MAX, 0};
    struct cpti_log_walk walk = {.input = &log->input,
                                 .record = meet_record,
                                 .context = finding,
                                 .is_quiet = true,
                                 .part = &part};
    int status;

    if (cpti_input_seek(&log->input, offset) != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(log->path)},
                              "cannot be read");
    }
    status = cpti_log_walk(&walk);
    return status == STOPPED ? CPTI_EXIT_DONE : status;
}

/* Goes to where the ids say that the trace is. CPT_OK; CPT_CORRUPT: they are torn, or
 * lead astray; CPT_LIMIT. */
static cpt_status follow_ids(struct log *log, struct finding *finding, int *status)
{
    uint64_t offsets[CPTI_IDS_PLACES_MAX];
    size_t count = 0;
    const cpt_status found =
        cpti_ids_find(&log->ids, finding->wanted->id, offsets, &count);

    for (size_t i = 0; i < count && found == CPT_OK; i++) {
        finding->is_block = true;
        finding->found_blocks = 0;
        *status = cpti_exit_last(*status, walk_from(log, finding, offsets[i]));
    }
    return found;
}

int cpti_depot_find(const char *path, const struct cpti_depot_wanted *wanted,
                    const struct cpti_log_walk *walk)
{
    struct finding finding = {.wanted = wanted, .like = walk};
    struct cpti_ids_head head;
    struct log log;
    cpt_status found = CPT_CORRUPT;
    int status = open_log(&log, path, false);

    if (status != CPTI_EXIT_DONE || log.is_gone) {
        close_log(&log);
        return status;
    }
    if (wanted->is_end) { /* ids are sorted by their beginning */
        status = walk_from(&log, &finding, 0);
        close_log(&log);
        return status;
    }
    status = refresh(&log, CPTI_DEPOT_REST_BYTES, &head);
    if (log.ids_file >= 0) {
        found = follow_ids(&log, &finding, &status);
    }
    if (found == CPT_CORRUPT && log.ids_file >= 0) {
        close_ids(&log);
        status = cpti_exit_last(status, make_ids(&log, &head));
        found = log.ids_file >= 0 ? follow_ids(&log, &finding, &status) : CPT_CORRUPT;
    }
    finding.is_block = false;
    if (found != CPT_OK) {
        status = cpti_exit_last(status, walk_from(&log, &finding, 0));
    } else if (log.ids.head.log_bytes < cpti_input_bytes(&log.input)) {
        status =
            cpti_exit_last(status, walk_from(&log, &finding, log.ids.head.log_bytes));
    }
    close_log(&log);
    return status;
}
