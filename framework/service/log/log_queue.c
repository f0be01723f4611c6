/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_queue.c - the bounded queue of records, and the thread that writes them
 *
 * A request hands over its record with all that the record borrows: before its answer
 * nothing is copied or encoded. The lock guards the list and the numbers; the thread
 * encodes and calls the sink without it.
 *
 * To wake the thread costs a request more than its record does. So the thread, woken by
 * a first record, waits for others for a moment, and is not woken by these: it goes on
 * when there are BATCH_RECORDS, when half of the room is taken, or after BATCH_NS. In
 * flush_ns, after which a record is handed over, that is included.
 *
 * Once the queue is closed, deadline_ns is set: a sink of ours gives up then, and the
 * thread hands no further block over. It counts what is left, and ends.
 */
#include "framework/service/log/log_queue.h"

#include "cpt/base/now.h"
#include "cpt/base/json_text.h"
#include "framework/pool/lock.h"
#include "framework/service/log/log_write.h"
#include "wire/cpt_graph_log.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    LOG_RECORDS_DEFAULT = 1024,
    LOG_MEMORY_DEFAULT = 64 << 20,
    LOG_MEMORY_PART = 32, /* of cpt_memory_max() */
    BATCH_RECORDS = 32,
    LOSS_SENTENCE_BYTES = 120,
    LINES_BYTES = 256 << 10,    /* lines are handed over when they are more … */
    LINES_BYTES_MAX = 64 << 20, /* … and a line is no longer */
    LINES_BYTES_KEPT = 4 << 20  /* memory that is kept for the next ones */
};

/* How records are lost. */
enum loss { LOSS_QUEUE, LOSS_RECORD, LOSS_SINK, LOSS_CLOSED, LOSS_FILE, LOSS_KINDS };

#define LOG_FLUSH_NS_DEFAULT 1000000000u
#define LOG_CLOSE_NS_DEFAULT CPTI_LOG_PATIENCE_NS
/* As long as this a record may wait for others, if flush_ns is not less. */
#define BATCH_NS UINT64_C(5000000)
/* Our sinks notice a deadline as late as this. */
#define LOG_NOTICE_NS 500000000u
/* Losses are told this often. */
#define LOG_TELL_NS UINT64_C(1000000000)
/* A year stands for never: added to the time now, it does not overflow. */
#define LOG_FLUSH_NS_MAX UINT64_C(31536000000000000)

struct cpt_log_queue {
    const struct cpt_alloc *alloc;
    cpt_log_sink_fn sink;
    void *context;
    size_t record_count_max;
    size_t memory_bytes_max;
    uint64_t flush_ns;
    uint64_t batch_ns; /* as long a record may wait for others */
    uint64_t close_ns;
    unsigned content; /* enum cpt_log_content */
    pthread_t thread;
    atomic_ullong deadline_ns; /* of all writing; UINT64_MAX: the queue is open */

    /* The thread's own. */
    struct cpt_log_block *block; /* of paths or graphs … */
    struct cpti_json lines;      /* … or lines of spans, in place of a block */
    size_t line_count;
    uint64_t taken_ns;  /* when the first one of the records now written came … */
    uint64_t oldest_ns; /* … and of the block, at the latest */

    struct cpti_lock lock;      /* guards all below */
    pthread_cond_t has_change;  /* for the thread: a record, a flush, the end */
    pthread_cond_t has_flushed; /* for threads that flush or close */
    struct cpti_log_item *first;
    struct cpti_log_item *last;
    size_t listed_count;   /* from first to last */
    uint64_t listed_ns;    /* since when there is a first */
    size_t held_count;     /* records taken and not written yet, … */
    size_t held_bytes;     /* … and the memory they hold */
    uint64_t flush_wanted; /* number of the newest flush asked for … */
    uint64_t flush_done;   /* … and of the newest one done */
    bool is_stopping;
    bool has_ended; /* nothing is taken any more */
    struct cpt_log_queue_counts counts;
    cpt_notice_fn notify;
    void *notify_context;
    uint64_t told_ns;          /* when losses were told … */
    uint64_t told[LOSS_KINDS]; /* … and how many in all by then */
    int sink_errno;            /* why the sink refused a block; 0: it did not say */
};

/* --- What is lost --- */

static uint64_t file_losses(const struct cpt_log_queue *queue)
{
    const struct cpt_log_file *file = cpti_log_queue_file(queue);
    struct cpt_log_file_counts counts = {0};

    if (file != NULL) {
        cpt_log_file_counts(file, &counts);
    }
    return counts.lost_record_count;
}

/* Takes what was lost since it was told last; false: nothing, or it was told just now.
 * Lock not held. */
static bool take_losses(struct cpt_log_queue *queue, bool is_last,
                        uint64_t losses[LOSS_KINDS], int *sink_errno)
{
    const uint64_t of_file = file_losses(queue);
    const uint64_t now_ns = cpti_now_ns();
    uint64_t sum = 0;

    cpti_lock_take(&queue->lock);
    losses[LOSS_QUEUE] = queue->counts.dropped_count;
    losses[LOSS_RECORD] = queue->counts.unencodable_count;
    losses[LOSS_SINK] = queue->counts.sink_lost_count;
    losses[LOSS_CLOSED] = queue->counts.late_lost_count;
    losses[LOSS_FILE] = of_file;
    for (int i = 0; i < LOSS_KINDS; i++) {
        losses[i] = losses[i] > queue->told[i] ? losses[i] - queue->told[i] : 0;
        sum += losses[i];
    }
    if (sum != 0 && !is_last && queue->told_ns != 0 &&
        now_ns - queue->told_ns < LOG_TELL_NS) {
        sum = 0;
    }
    for (int i = 0; sum != 0 && i < LOSS_KINDS; i++) {
        queue->told[i] += losses[i];
        queue->told_ns = now_ns;
    }
    *sink_errno = queue->sink_errno;
    cpti_lock_release(&queue->lock);
    return sum != 0;
}

/* Tells the operator what was lost. Lock not held. */
static void tell_losses(struct cpt_log_queue *queue, bool is_last)
{
    static const char *const words[LOSS_KINDS] = {"queue", "record", "sink", "closed",
                                                  "file"};
    static const char *const sentences[LOSS_KINDS] = {
        "the queue of the log was full, or closed",
        "they were too large for the log, or there was no memory",
        "the log could not be written", "they were not written when the log was closed",
        "a file of the log was removed while it was written"};
    uint64_t losses[LOSS_KINDS];
    char sentence[LOSS_SENTENCE_BYTES];
    int sink_errno = 0;

    if (!take_losses(queue, is_last, losses, &sink_errno)) {
        return;
    }
    for (int i = 0; i < LOSS_KINDS; i++) {
        struct cpt_notice notice = {
            .kind = CPT_NOTICE_LOG_LOSS, .reason = words[i], .count = losses[i]};

        if (losses[i] == 0) {
            continue;
        }
        (void)snprintf(sentence, sizeof sentence,
                       i == LOSS_SINK && sink_errno != 0 ? "%s (error %d)" : "%s",
                       sentences[i], sink_errno);
        notice.sentence = cpt_bytes_of(sentence);
        queue->notify(queue->notify_context, &notice);
    }
}

/* --- The thread --- */

static bool is_late(struct cpt_log_queue *queue)
{
    const uint64_t deadline_ns = atomic_load(&queue->deadline_ns);

    return deadline_ns != UINT64_MAX && cpti_now_ns() >= deadline_ns;
}

static bool is_lines(const struct cpt_log_queue *queue)
{
    return queue->content == CPT_LOG_SPANS;
}

/* The records that were not handed over yet. */
static size_t block_count(const struct cpt_log_queue *queue)
{
    return is_lines(queue) ? queue->line_count : cpt_log_block_count(queue->block);
}

/* Their bytes, good until the next record. The next one begins a block. */
static struct cpt_bytes block_finish(struct cpt_log_queue *queue)
{
    const struct cpt_bytes bytes = {queue->lines.data, queue->lines.used};

    if (!is_lines(queue)) {
        return cpt_log_block_finish(queue->block);
    }
    queue->lines.used = 0;
    queue->line_count = 0;
    return bytes;
}

static void count_late(struct cpt_log_queue *queue, size_t record_count)
{
    cpti_lock_take(&queue->lock);
    queue->counts.late_lost_count += record_count;
    cpti_lock_release(&queue->lock);
}

/* Hands the block to the sink unless it is empty, or it is too late. */
static void hand_over(struct cpt_log_queue *queue)
{
    const size_t record_count = block_count(queue);
    struct cpt_bytes bytes = {NULL, 0};
    cpt_status status = CPT_OK;
    int number = 0;

    if (record_count == 0) {
        return;
    }
    bytes = block_finish(queue);
    if (is_late(queue)) {
        count_late(queue, record_count);
        return;
    }
    errno = 0;
    status = queue->sink(queue->context, bytes.data, bytes.bytes);
    number = errno;
    cpti_lock_take(&queue->lock);
    if (status == CPT_OK) {
        queue->counts.logged_count += record_count;
        queue->counts.block_count++;
        queue->counts.byte_count += bytes.bytes;
    } else {
        *(status == CPT_TIMEOUT && is_late(queue) ? &queue->counts.late_lost_count
                                                  : &queue->counts.sink_lost_count) +=
            record_count;
        queue->counts.failed_block_count++;
        queue->sink_errno = status == CPT_IO ? number : 0;
    }
    cpti_lock_release(&queue->lock);
}

static void write_record(struct cpt_log_queue *queue, const struct cpti_log_item *item)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status =
        item->encode != NULL
            ? item->encode(item, queue->alloc, &data, &bytes)
            : cpt_record_encode(&item->record, queue->alloc, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = cpt_log_block_add(queue->block, data, bytes);
        if (status == CPT_LIMIT) {
            hand_over(queue);
            status = cpt_log_block_add(queue->block, data, bytes);
        }
        cpt_alloc_free(queue->alloc, data);
    }
    if (status != CPT_OK) {
        cpti_lock_take(&queue->lock);
        queue->counts.unencodable_count++;
        cpti_lock_release(&queue->lock);
    } else if (cpt_log_block_count(queue->block) == 1) {
        queue->oldest_ns = queue->taken_ns;
    }
}

/* Adds the line; false: it does not fit behind the others. */
static bool add_line(struct cpt_log_queue *queue, const struct cpti_log_item *item)
{
    struct cpti_json *lines = &queue->lines;
    const struct cpti_json_mark mark = cpti_json_mark(lines);

    item->write_line(item, lines);
    if (lines->is_full) {
        cpti_json_cut(lines, mark);
        return false;
    }
    queue->line_count++;
    return true;
}

static void write_line(struct cpt_log_queue *queue, const struct cpti_log_item *item)
{
    bool is_added = false;

    if (queue->lines.used >= LINES_BYTES) {
        hand_over(queue);
    }
    is_added = add_line(queue, item);
    if (!is_added && queue->line_count != 0) {
        hand_over(queue);
        is_added = add_line(queue, item);
    }
    if (!is_added) {
        cpti_lock_take(&queue->lock);
        queue->counts.unencodable_count++;
        cpti_lock_release(&queue->lock);
    } else if (queue->line_count == 1) {
        queue->oldest_ns = queue->taken_ns;
    }
    if (queue->line_count == 0 && queue->lines.capacity > LINES_BYTES_KEPT) {
        cpti_json_deinit(&queue->lines);
        queue->lines.capacity = 0;
    }
}

static void write_records(struct cpt_log_queue *queue, struct cpti_log_item *item)
{
    while (item != NULL) {
        struct cpti_log_item *next = item->next;
        const size_t memory_bytes = item->memory_bytes;

        if (is_late(queue)) {
            count_late(queue, item->block.bytes == 0);
        } else if (is_lines(queue)) {
            write_line(queue, item);
        } else if (item->block.bytes != 0) {
            (void)queue->sink(queue->context, item->block.data, item->block.bytes);
        } else {
            write_record(queue, item);
        }
        item->release(item);
        cpti_lock_take(&queue->lock);
        queue->held_count--;
        queue->held_bytes -= memory_bytes;
        cpti_lock_release(&queue->lock);
        item = next;
    }
}

/* Waits for a change, or until the block is old enough. Lock held. */
static void wait_for_change(struct cpt_log_queue *queue)
{
    cpti_cond_wait(&queue->has_change, &queue->lock,
                   block_count(queue) != 0 ? queue->oldest_ns + queue->flush_ns
                                           : UINT64_MAX);
}

static bool is_old(const struct cpt_log_queue *queue)
{
    return block_count(queue) != 0 &&
           cpti_now_ns() >= queue->oldest_ns + queue->flush_ns;
}

/* Whether the thread should not wait for more records. Lock held. */
static bool is_batch_full(const struct cpt_log_queue *queue)
{
    return queue->listed_count >= BATCH_RECORDS ||
           queue->held_count >= queue->record_count_max / 2 ||
           queue->held_bytes >= queue->memory_bytes_max / 2;
}

/* Whether there are records, but soon more. Lock held. */
static bool is_gathering(const struct cpt_log_queue *queue)
{
    return queue->first != NULL && !is_batch_full(queue) && !is_old(queue) &&
           cpti_now_ns() < queue->listed_ns + queue->batch_ns;
}

/* One turn: takes the records that wait, writes them, hands the block over if it is
 * time. False: all is written, and the queue is to end. Lock held at entry and
 * return. */
static bool turn(struct cpt_log_queue *queue)
{
    struct cpti_log_item *items = NULL;
    const uint64_t flush_wanted = queue->flush_wanted;
    const bool is_stopping = queue->is_stopping;

    if (!is_stopping && flush_wanted == queue->flush_done) {
        if (queue->first == NULL && !is_old(queue)) {
            wait_for_change(queue);
            return true;
        }
        if (is_gathering(queue)) {
            cpti_cond_wait(&queue->has_change, &queue->lock,
                           queue->listed_ns + queue->batch_ns);
            return true;
        }
    }
    items = queue->first;
    queue->taken_ns = queue->listed_ns;
    queue->first = NULL;
    queue->listed_count = 0;
    cpti_lock_release(&queue->lock);
    write_records(queue, items);
    if (is_stopping || flush_wanted != queue->flush_done || is_old(queue)) {
        hand_over(queue);
    }
    tell_losses(queue, false);
    cpti_lock_take(&queue->lock);
    if (queue->flush_done != flush_wanted) {
        queue->flush_done = flush_wanted;
        (void)pthread_cond_broadcast(&queue->has_flushed);
    }
    return !is_stopping || queue->first != NULL;
}

static void *run_writer(void *context)
{
    struct cpt_log_queue *queue = context;
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    cpti_log_write_until(&queue->deadline_ns);
    if (!is_lines(queue)) {
        (void)queue->sink(queue->context, header,
                          queue->content == CPT_LOG_GRAPHS
                              ? cpt_graph_log_header(header)
                              : cpt_log_header(header));
    }
    cpti_lock_take(&queue->lock);
    while (turn(queue)) {
    }
    queue->has_ended = true;
    (void)pthread_cond_broadcast(&queue->has_flushed);
    cpti_lock_release(&queue->lock);
    tell_losses(queue, true);
    return NULL;
}

/*
 * Starts the thread with all signals blocked but those of faults, which cannot wait,
 * and of profilers. The application's handlers run on its own threads, and SIGPIPE
 * becomes an error of whatever sink.
 */
static int start_thread(struct cpt_log_queue *queue)
{
    static const int kept[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                               SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked;
    sigset_t before;
    int number = 0;

    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        (void)sigdelset(&blocked, kept[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
    number = pthread_create(&queue->thread, NULL, run_writer, queue);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number;
}

/* --- For requests --- */

void cpti_log_queue_push(struct cpt_log_queue *queue, struct cpti_log_item *item)
{
    bool is_taken = false;

    item->next = NULL;
    cpti_lock_take(&queue->lock);
    is_taken = !queue->has_ended && queue->held_count < queue->record_count_max &&
               item->memory_bytes <= queue->memory_bytes_max - queue->held_bytes;
    if (is_taken) {
        if (queue->first == NULL) {
            queue->listed_ns = cpti_now_ns();
        }
        *(queue->first != NULL ? &queue->last->next : &queue->first) = item;
        queue->last = item;
        queue->listed_count++;
        queue->held_count++;
        queue->held_bytes += item->memory_bytes;
    } else if (item->block.bytes == 0) {
        queue->counts.dropped_count++;
    }
    if (queue->listed_count == 1 || is_batch_full(queue)) {
        (void)pthread_cond_signal(&queue->has_change);
    }
    cpti_lock_release(&queue->lock);
    if (!is_taken) {
        tell_losses(queue, false);
        item->release(item);
    }
}

void cpti_log_queue_lose(struct cpt_log_queue *queue)
{
    cpti_lock_take(&queue->lock);
    queue->counts.unencodable_count++;
    cpti_lock_release(&queue->lock);
}

bool cpti_log_queue_is_of(const struct cpt_log_queue *queue, unsigned content)
{
    return queue->content == content;
}

/* --- For the application --- */

static void free_parts(struct cpt_log_queue *queue)
{
    cpt_log_block_free(queue->block);
    cpti_json_deinit(&queue->lines);
    (void)pthread_cond_destroy(&queue->has_change);
    (void)pthread_cond_destroy(&queue->has_flushed);
    cpti_lock_deinit(&queue->lock);
    cpt_alloc_free(queue->alloc, queue);
}

static struct cpt_log_queue *make_parts(const struct cpt_log_queue_options *options)
{
    struct cpt_log_queue *queue = cpt_alloc_zeroed(options->alloc, sizeof *queue);

    if (queue == NULL) {
        return NULL;
    }
    queue->alloc = options->alloc;
    queue->sink = options->sink;
    queue->context = options->context;
    queue->record_count_max = options->record_count_max != 0 ? options->record_count_max
                                                             : LOG_RECORDS_DEFAULT;
    queue->memory_bytes_max =
        options->memory_bytes_max != 0
            ? options->memory_bytes_max
            : cpt_memory_part(LOG_MEMORY_DEFAULT, LOG_MEMORY_PART);
    queue->flush_ns = options->flush_ns != 0 ? options->flush_ns : LOG_FLUSH_NS_DEFAULT;
    if (queue->flush_ns > LOG_FLUSH_NS_MAX) {
        queue->flush_ns = LOG_FLUSH_NS_MAX;
    }
    queue->batch_ns = queue->flush_ns < BATCH_NS ? queue->flush_ns : BATCH_NS;
    queue->close_ns = options->close_ns != 0 ? options->close_ns : LOG_CLOSE_NS_DEFAULT;
    queue->notify = options->notify != NULL ? options->notify : cpt_notice_print;
    queue->notify_context = options->notify_context;
    atomic_init(&queue->deadline_ns, UINT64_MAX);
    cpti_lock_init(&queue->lock, CPTI_RANK_LOG);
    cpti_cond_init(&queue->has_change);
    cpti_cond_init(&queue->has_flushed);
    queue->content = options->content;
    queue->lines.alloc = options->alloc;
    queue->lines.bytes_max = cpt_memory_part(LINES_BYTES_MAX, LOG_MEMORY_PART);
    queue->block = options->content == CPT_LOG_GRAPHS
                       ? cpt_graph_log_block_new(options->alloc, 0)
                       : cpt_log_block_new(options->alloc, 0);
    if (queue->block == NULL) {
        free_parts(queue);
        return NULL;
    }
    return queue;
}

struct cpt_log_queue *cpt_log_queue_new(const struct cpt_log_queue_options *given,
                                        struct cpt_error *error)
{
    struct cpt_log_queue_options options;
    struct cpt_log_queue *queue = NULL;
    cpt_status status = CPT_OK;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK) {
        return NULL;
    }
    if (options.content > CPT_LOG_GRAPHS) {
        (void)cpt_error_set(error, CPT_INVALID, 0, "a log has paths, spans or graphs");
        return NULL;
    }
    if (options.sink == NULL) {
        (void)cpt_error_set(error, CPT_INVALID, 0, "a log queue needs a sink");
        return NULL;
    }
    queue = make_parts(&options);
    if (queue == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a log queue");
        return NULL;
    }
    status = cpt_log_block_compress(queue->block, options.zstd_level);
    if (status != CPT_OK) {
        free_parts(queue);
        (void)cpt_error_set(error, status, 0,
                            status == CPT_UNAVAILABLE
                                ? "a log cannot be compressed: built without zstd"
                                : "the level of compression is 1 to 19, or 0");
        return NULL;
    }
    if (start_thread(queue) != 0) {
        free_parts(queue);
        (void)cpt_error_set(error, CPT_IO, 0, "cannot start the thread of a log queue");
        return NULL;
    }
    return queue;
}

/* The time in @wait_ns; UINT64_MAX: never. */
static uint64_t time_in(uint64_t wait_ns)
{
    const uint64_t now_ns = cpti_now_ns();

    return wait_ns < UINT64_MAX - now_ns ? now_ns + wait_ns : UINT64_MAX;
}

/* Waits until flush @wanted is done or the thread has ended; not longer than until
 * @until_ns. Lock held. */
static cpt_status await_flush(struct cpt_log_queue *queue, uint64_t wanted,
                              uint64_t until_ns)
{
    while (queue->flush_done < wanted && !queue->has_ended) {
        if (until_ns != UINT64_MAX && cpti_now_ns() >= until_ns) {
            return CPT_TIMEOUT;
        }
        cpti_cond_wait(&queue->has_flushed, &queue->lock, until_ns);
    }
    return CPT_OK;
}

cpt_status cpt_log_queue_close(struct cpt_log_queue *queue, uint64_t wait_ns)
{
    uint64_t until_ns = time_in(wait_ns);
    cpt_status status = CPT_OK;

    cpti_lock_take(&queue->lock);
    if (!queue->is_stopping) {
        queue->is_stopping = true;
        atomic_store(&queue->deadline_ns, until_ns);
        (void)pthread_cond_signal(&queue->has_change);
    }
    until_ns =
        until_ns < UINT64_MAX - LOG_NOTICE_NS ? until_ns + LOG_NOTICE_NS : UINT64_MAX;
    status = await_flush(queue, UINT64_MAX, until_ns);
    if (queue->counts.late_lost_count != 0) {
        status = CPT_TIMEOUT;
    }
    cpti_lock_release(&queue->lock);
    return status;
}

void cpt_log_queue_free(struct cpt_log_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    (void)cpt_log_queue_close(queue, queue->close_ns);
    (void)pthread_join(queue->thread, NULL);
    free_parts(queue);
}

cpt_status cpt_log_queue_flush_for(struct cpt_log_queue *queue, uint64_t wait_ns)
{
    const uint64_t until_ns = time_in(wait_ns);
    cpt_status status = CPT_OK;

    cpti_lock_take(&queue->lock);
    (void)pthread_cond_signal(&queue->has_change);
    status = await_flush(queue, ++queue->flush_wanted, until_ns);
    cpti_lock_release(&queue->lock);
    return status;
}

void cpt_log_queue_flush(struct cpt_log_queue *queue)
{
    (void)cpt_log_queue_flush_for(queue, queue->close_ns);
}

void cpt_log_queue_counts(struct cpt_log_queue *queue,
                          struct cpt_log_queue_counts *counts)
{
    cpti_lock_take(&queue->lock);
    *counts = queue->counts;
    cpti_lock_release(&queue->lock);
}

const struct cpt_log_file *cpti_log_queue_file(const struct cpt_log_queue *queue)
{
    return queue->sink == cpt_log_file_write ? queue->context : NULL;
}
