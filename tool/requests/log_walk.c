/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_walk.c - all records of a log, whatever its state; see log_walk.h */
#include "tool/requests/log_walk.h"

#include "tool/base/command.h"
#include "tool/requests/log_follow.h"
#include "tool/requests/log_passing.h"
#include "tool/base/output.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_graph_log.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_parts.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* The most messages of a file; others are counted. Progress is shown after
 * PROGRESS_FIRST_NS, then every PROGRESS_NEXT_NS. */
enum { MESSAGES_MAX = 10, PROGRESS_RECORDS = 4096 };
#define PROGRESS_FIRST_NS UINT64_C(1000000000)
#define PROGRESS_NEXT_NS  UINT64_C(200000000)

const struct cpti_option cpti_log_options[] = {
    {"stop-at-error", 0, NULL,
     "stop at the first damage in a log; without it, damage is skipped and counted"},
    {0},
};

int cpti_refuse_gzip(const struct cpti_input *input)
{
    return cpti_failed_at(
        (struct cpti_at){.file = cpti_input_name(input)},
        "is a profile: it holds averages without their variances, which intervals "
        "need; compare profiles by 'go tool pprof -unit=ms -nodefraction=0 "
        "-edgefraction=0 -top -diff_base=BASE NEW', or give the path logs here");
}

int cpti_log_open(struct cpti_input *input, const char *path)
{
    const int status = cpti_input_open(input, path);

    return status == CPTI_EXIT_DONE ? cpti_log_accept(input) : status;
}

int cpti_log_accept(struct cpti_input *input)
{
    int status = CPTI_EXIT_DONE;

    if (input->kind == CPTI_INPUT_GZIP) {
        status = cpti_refuse_gzip(input);
    } else if (input->kind == CPTI_INPUT_GRAPHS) {
        status = cpti_refuse_graphs(input);
    } else if (input->kind == CPTI_INPUT_TREE) {
        status = cpti_failed_at(
            (struct cpti_at){.file = cpti_input_name(input)},
            "is a tree: it holds averages, no single requests" CPTI_HINT "give "
            "the path log it was made from");
    }
    if (status != CPTI_EXIT_DONE) {
        cpti_input_close(input);
    }
    return status;
}

static void report_damage(struct cpti_log_walk *walk, const char *sentence,
                          uint64_t record, uint64_t offset)
{
    walk->damage_count++;
    if (walk->is_quiet || walk->damage_count > MESSAGES_MAX) {
        return;
    }
    cpti_warn_at((struct cpti_at){.file = cpti_input_name(walk->input),
                                  .record = record,
                                  .has_byte = true,
                                  .byte = offset},
                 "%s", sentence);
}

uint64_t cpti_log_record_number(const struct cpti_log_walk *walk)
{
    return (walk->part != NULL ? walk->part->record_count : 0) + walk->record_count +
           cpt_log_reader_counts(walk->reader)->passed_records;
}

int cpti_log_skip(struct cpti_log_walk *walk, const char *sentence)
{
    walk->skipped_count++;
    report_damage(walk, sentence, cpti_log_record_number(walk),
                  cpt_log_reader_offset(walk->reader));
    return walk->stops_at_error ? CPTI_EXIT_FAILED : CPTI_EXIT_DONE;
}

int cpti_log_path(struct cpti_log_walk *walk, const struct cpt_record *record,
                  const struct cpt_path **path)
{
    struct cpt_error error = {0};
    cpt_status status;

    *path = NULL;
    cpt_path_reset(walk->path);
    status = cpt_record_path(record, NULL, walk->path, &error);
    if (status == CPT_NO_MEMORY) {
        return cpti_failed("out of memory");
    }
    if (status != CPT_OK) {
        return cpti_log_skip(walk, error.sentence[0] != '\0'
                                       ? error.sentence
                                       : cpt_status_sentence(status));
    }
    *path = walk->path;
    return CPTI_EXIT_DONE;
}

static _Atomic uint64_t walked;

uint64_t cpti_log_walked(void)
{
    return atomic_load_explicit(&walked, memory_order_relaxed);
}

/* Shows progress in one line of the terminal, which the end clears. */
static void show_progress(struct cpti_log_walk *walk, bool is_end)
{
    const struct cpti_input *input = walk->input;
    const uint64_t now_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    if (is_end) {
        (void)fputs(walk->has_shown_progress ? "\r\033[K" : "", stderr);
        return;
    }
    if (walk->progress_ns == 0) {
        walk->progress_ns = now_ns + PROGRESS_FIRST_NS;
    }
    if (now_ns < walk->progress_ns) {
        return;
    }
    walk->progress_ns = now_ns + PROGRESS_NEXT_NS;
    walk->has_shown_progress = true;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " records", cpti_input_name(input),
                  walk->record_count);
    if (input->total_bytes != 0) {
        (void)fprintf(stderr, ", %.0f %%",
                      100.0 * (double)input->read_bytes / (double)input->total_bytes);
    }
    (void)fputs("\033[K", stderr);
}

static void count_step(struct cpti_log_walk *walk)
{
    (void)atomic_fetch_add_explicit(&walked, PROGRESS_RECORDS, memory_order_relaxed);
    if (walk->shows_progress) {
        show_progress(walk, false);
    }
}

/* Reports what the reader met instead of a record. enum cpti_exit: whether to go on. */
static int meet_damage(struct cpti_log_walk *walk, cpt_status status,
                       const struct cpt_error *error)
{
    const char *sentence =
        error->sentence[0] != '\0' ? error->sentence : cpt_status_sentence(status);

    switch (status) {
    case CPT_TRUNCATED:
        if (walk->is_quiet) {
            return CPTI_EXIT_DONE;
        }
        cpti_warn("%s: at byte %" PRIu64 ": %s; all before it is sound",
                  cpti_input_name(walk->input), error->offset, sentence);
        return CPTI_EXIT_DONE;
    case CPT_CORRUPT:
    case CPT_LIMIT:
    case CPT_VERSION:
        report_damage(walk, sentence, 0, error->offset);
        return walk->stops_at_error ? CPTI_EXIT_FAILED : CPTI_EXIT_DONE;
    case CPT_IO:
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(walk->input)},
                              "cannot be read: %s",
                              strerror(walk->input->error_number));
    default:
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(walk->input)},
                              "%s", sentence);
    }
}

int cpti_log_walk_next(struct cpti_log_walk *walk, struct cpt_record *record,
                       bool *is_end)
{
    *is_end = false;
    for (;;) {
        struct cpt_error error;
        cpt_status status;
        int exit_status;

        error.status = CPT_OK; /* not the whole struct: it is large, and this is hot */
        error.offset = 0;
        error.sentence[0] = '\0';
        status = cpt_log_reader_next(walk->reader, record, &error);

        if (status == CPT_END) {
            *is_end = true;
            return CPTI_EXIT_DONE;
        }
        if (status == CPT_OK) {
            walk->record_count++;
            if (walk->record_count % PROGRESS_RECORDS == 0) {
                count_step(walk);
            }
            return CPTI_EXIT_DONE;
        }
        exit_status = meet_damage(walk, status, &error);
        if (exit_status != CPTI_EXIT_DONE) {
            return exit_status;
        }
    }
}

/* Reports how much of a damaged log was skipped. enum cpti_exit. */
static int report_skipped(const struct cpti_log_walk *walk)
{
    const struct cpt_log_counts *counts = cpt_log_reader_counts(walk->reader);
    const uint64_t skipped = walk->skipped_count + walk->lost_count;
    const char *name = cpti_input_name(walk->input);

    if (walk->damage_count == 0 || walk->is_quiet) {
        return CPTI_EXIT_DONE;
    }
    if (walk->record_count == 0 && walk->input->kind == CPTI_INPUT_OTHER) {
        return cpti_failed_at((struct cpti_at){.file = name}, "%s%s",
                              "is neither a path log nor a tree",
                              cpti_input_is_text(walk->input) ? CPTI_HINT_LINES : "");
    }
    if (walk->damage_count > MESSAGES_MAX) {
        cpti_warn("%s: damage at %" PRIu64 " more places", name,
                  walk->damage_count - MESSAGES_MAX);
    }
    if (counts->skipped_bytes != 0) {
        cpti_warn("%s: %" PRIu64 " bytes skipped", name, counts->skipped_bytes);
    }
    cpti_warn("%s: %" PRIu64 " of %" PRIu64 " records skipped", name, skipped,
              walk->record_count + walk->lost_count + walk->passed_count);
    return walk->forgives && walk->record_count != 0 ? CPTI_EXIT_DONE
                                                     : CPTI_EXIT_FAILED;
}

size_t cpti_log_cut(struct cpti_input *input, struct cpt_log_part *parts,
                    size_t count_max)
{
    const struct cpt_log_parts_options options = {
        .struct_bytes = sizeof options,
        .read_at = cpti_input_read_at,
        .context = input,
        .input_bytes = cpti_input_bytes(input),
        .part_count_max = count_max < CPT_LOG_PARTS_MAX ? count_max : CPT_LOG_PARTS_MAX,
    };
    size_t count = 1;

    parts[0] = (struct cpt_log_part){0, 0, 0};
    if (options.input_bytes != 0) {
        (void)cpt_log_parts(&options, parts, &count, NULL);
    }
    return count;
}

/* Moves to where the part begins. */
static int begin_part(const struct cpti_log_walk *walk,
                      struct cpt_log_reader_options *options)
{
    options->start_offset = walk->part->offset;
    options->end_offset = walk->part->end_offset;
    if (walk->part->offset == 0 ||
        cpti_input_seek(walk->input, walk->part->offset) == CPT_OK) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(walk->input)},
                          "cannot be read: %s", strerror(walk->input->error_number));
}

int cpti_log_walk_begin(struct cpti_log_walk *walk)
{
    struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options,
        .read = walk->follows ? cpti_log_read_following : cpti_input_read,
        .context = walk->input,
        .untraced = walk->untraced,
        .untraced_context = walk->context,
    };
    struct cpt_error error = {0};

    cpti_log_passing_init(&walk->passing, walk->input, walk->selections,
                          walk->selection_count, &options);
    if (walk->part != NULL && begin_part(walk, &options) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    walk->path = cpt_path_new(NULL);
    walk->reader = walk->has_graphs ? cpt_graph_log_reader_new(&options, &error)
                                    : cpt_log_reader_new(&options, &error);
    walk->shows_progress = isatty(STDERR_FILENO) && cpti_messages() == NULL &&
                           !(walk->prints_records && isatty(STDOUT_FILENO));
    return walk->path != NULL && walk->reader != NULL ? CPTI_EXIT_DONE
                                                      : cpti_failed("out of memory");
}

int cpti_log_walk_end(struct cpti_log_walk *walk, int status)
{
    if (walk->reader != NULL) {
        show_progress(walk, true);
        walk->lost_count = cpt_log_reader_counts(walk->reader)->skipped_records;
        walk->passed_count = cpt_log_reader_counts(walk->reader)->passed_records;
        status = CPTI_THEN(status, report_skipped(walk));
    }
    cpt_log_reader_free(walk->reader);
    cpti_log_passing_deinit(&walk->passing);
    cpt_path_free(walk->path);
    walk->reader = NULL;
    walk->path = NULL;
    return status;
}

int cpti_log_walk(struct cpti_log_walk *walk)
{
    int status = cpti_log_walk_begin(walk);
    bool is_end = false;

    while (status == CPTI_EXIT_DONE && !is_end) {
        struct cpt_record record;

        status = cpti_log_walk_next(walk, &record, &is_end);
        if (status == CPTI_EXIT_DONE && !is_end) {
            status = walk->record(walk, &record);
        }
    }
    return cpti_log_walk_end(walk, status);
}
