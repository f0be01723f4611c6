/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_path.h - the critical path of one request
 *
 * A path is what remains of a request without everything that did not delay it:
 * segments in time order, each a time in which one component alone kept the caller
 * waiting.
 *
 *      request  |====================================|  900 us
 *      path     [ parse ][   index   ][ rank ][ render ]
 *                  200        300       150      250      sum = 900
 *
 * The segments never overlap and leave no gap, so their durations add up to the latency
 * of the request exactly. cpt_path_check() checks this; every producer of paths is
 * tested with it.
 *
 * A segment belongs to a *frame* of a stack, as in a profiler. The frames of a path
 * form a tree, kept as a table in which a parent stands before its children:
 *
 *      0  A: /              the entry frame: service and method
 *      1  |- A: parse
 *      2  '- A: index       the task
 *      3     '- B: Lookup   what it called; B's own frames hang below
 *      4        '- B: ‹network+serialization›      not work: its kind says so
 *
 * Time that is not the application's own work lies in a frame of a kind other than
 * CPT_KIND_WORK. Such a frame is shown between ‹ and › after the service above it. Its
 * kind is a field of its own, so no name can imitate it.
 *
 * A segment may carry labels (attempt 2, holder of a lock …). Durations never depend on
 * them, and a reader skips those that it does not know.
 *
 * A segment may also carry its *drag*: by how much the request would have been faster
 * if the segment had taken no time. It is at most the duration, and less where other
 * work ran beside it (docs/model.md). Drags do not add up.
 *
 * In order of use: cpt_path_new; cpt_path_frame_add, cpt_path_append, cpt_path_label (a
 * producer) or cpt_path_segment, cpt_path_frame, cpt_path_name (a consumer);
 * cpt_path_free.
 *
 * Threads: a path belongs to one thread at a time.
 */
#ifndef CPT_PATH_H
#define CPT_PATH_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

/* Limits of a path in memory. Those of metadata on the wire are lower. */
enum {
    CPT_PATH_SEGMENTS_MAX = 1 << 22,
    CPT_PATH_FRAMES_MAX = 1 << 20,
    CPT_PATH_DEPTH_MAX = 1024, /* frames of one stack; the deepest gets the rest */
    CPT_PATH_LABELS_MAX = 1 << 20
};

/*
 * X(name, number, word for machines, words for people). The numbers are on disk and on
 * the wire: never renumber. 64 and above are free for experiments.
 */
#define CPT_KIND_MAP(X)                                                                \
    X(WORK, 0, "work", "work")                                                         \
    X(QUEUE, 1, "queue", "queue")                                                      \
    X(NETWORK, 2, "network", "network+serialization")                                  \
    X(UNATTRIBUTED, 3, "unattributed", "unattributed")                                 \
    X(BLIND_SPOT, 4, "blind_spot", "blind spot")                                       \
    X(TIMEOUT, 5, "timeout", "timeout")                                                \
    X(FOLDED, 6, "folded", "folded")                                                   \
    X(BACKOFF, 7, "backoff", "backoff")                                                \
    X(HEDGE_WAIT, 8, "hedge_wait", "hedge wait")                                       \
    X(LOCK, 9, "lock", "lock")                                                         \
    X(BATCH_WAIT, 10, "batch_wait", "batch wait")                                      \
    X(FLOW_CONTROL, 11, "flow_control", "flow control")                                \
    X(GAP, 12, "gap", "gap")                                                           \
    X(ACCEPT_QUEUE, 13, "accept_queue", "accept queue")                                \
    X(OTHER, 14, "other", "other")                                                     \
    X(OFF_CPU, 15, "off_cpu", "off CPU")                                               \
    X(SEND_QUEUE, 16, "send_queue", "send queue")                                      \
    X(RECEIVE_QUEUE, 17, "receive_queue", "receive queue")

/* What a frame's time is. */
enum cpt_kind {
#define CPT_KIND_ENUM_(name, number, word, words) CPT_KIND_##name = (number),
    CPT_KIND_MAP(CPT_KIND_ENUM_)
#undef CPT_KIND_ENUM_
};

/* A reader keeps unknown kinds, reasons and keys as numbers, up to these. */
enum { CPT_KIND_MAX = 255, CPT_REASON_MAX = 255, CPT_LABEL_KEY_MAX = 255 };

/* X(name, number, word). Why a callee has no path. Never renumber. */
#define CPT_REASON_MAP(X)                                                              \
    X(NONE, 0, "")                                                                     \
    X(UNSUPPORTED, 1, "unsupported") /* the callee sent no path */                     \
    X(NOT_SAMPLED, 2, "not_sampled") /* it did not trace this request */               \
    X(SIZE, 3, "size")               /* its path did not fit the budget */             \
    X(UNDECODABLE, 4, "undecodable") /* it sent bytes that are not a path */           \
    X(FAILED, 5, "failed")           /* the call failed */                             \
    X(CACHED, 6, "cached")           /* the reply came out of a cache */               \
    X(SHARED, 7, "shared")           /* work shared with an untraced request */        \
    X(LIMIT, 8, "limit") /* a limit of this process, or the call had no room to ask */

enum cpt_reason {
#define CPT_REASON_ENUM_(name, number, word) CPT_REASON_##name = (number),
    CPT_REASON_MAP(CPT_REASON_ENUM_)
#undef CPT_REASON_ENUM_
};

/* The words for machines ("blind_spot", "cached"), and for people ("blind spot").
 * Static memory; NULL for an unknown number, which cpt_text_frame() writes as "kind
 * 17". */
CPT_API const char *cpt_kind_word(unsigned kind);
CPT_API const char *cpt_kind_words(unsigned kind);
CPT_API const char *cpt_reason_word(unsigned reason);

/* No frame: the parent of a root. */
#define CPT_FRAME_NONE UINT32_MAX

/* One frame. Frames are distinct: no two have the same parent, name and kind. */
struct cpt_frame {
    uint32_t parent;  /* index of an earlier frame, or CPT_FRAME_NONE */
    cpt_name_id name; /* "service: part"; empty for most kinds other than work */
    uint16_t kind;    /* enum cpt_kind */
    uint16_t depth;   /* frames of its stack, itself included: 1 for a root */
};

/* Flags of a segment. */
enum {
    CPT_SEGMENT_OVERCOUNT = 1, /* the callee claimed more time than was observed */
    CPT_SEGMENT_FOLDED = 2     /* several segments were merged to save space */
};

/* One element of the path. */
struct cpt_segment {
    uint64_t duration_ns; /* more than 0 */
    uint32_t frame;       /* index of the frame that it belongs to */
    uint32_t count;       /* how many segments it stands for; 1 unless folded */
    uint16_t flags;       /* CPT_SEGMENT_… */
    uint16_t reason;      /* enum cpt_reason; of a blind spot */
};

/* X(name, number, word, is a name). Keys of labels. Never renumber. */
#define CPT_LABEL_MAP(X)                                                               \
    X(ATTEMPT, 1, "attempt", 0)     /* of a call with retries: 1, 2 … */             \
    X(MARGIN, 2, "margin_ns", 0)    /* of the join at its end, to the runner-up */     \
    X(HOLDER, 3, "holder", 1)       /* the task that had the lock or the worker */     \
    X(EXECUTOR, 4, "executor", 1)   /* the executor with the queue */                  \
    X(EXCESS, 5, "excess_ns", 0)    /* time that a callee claimed in excess */         \
    X(STATUS, 6, "status", 1)       /* how the call failed */                          \
    X(COALESCED, 7, "coalesced", 0) /* requests that shared the work */                \
    X(QUEUE_LENGTH, 8, "queue_length", 0)      /* works before it in the queue */      \
    X(RUN_DELAY, 9, "run_delay_ns", 0)         /* ready, but no processor was free */  \
    X(HOLDER_REQUEST, 10, "holder_request", 0) /* the trace that `holder` ran for */   \
    X(AGAIN, 11, "again", 0)    /* depth of the frame left, and at once entered */     \
    X(BEGIN, 12, "begin_ns", 0) /* since the request began, of work side by side */    \
    X(HOST, 13, "host", 1)      /* on which the visit that begins here ran */

enum cpt_label_key {
#define CPT_LABEL_ENUM_(name, number, word, is_name) CPT_LABEL_##name = (number),
    CPT_LABEL_MAP(CPT_LABEL_ENUM_)
#undef CPT_LABEL_ENUM_
};

/* A label of a segment; at most one of each key. */
struct cpt_label {
    uint32_t segment; /* its index; labels are in the order of their segments */
    uint16_t key;     /* enum cpt_label_key */
    uint16_t is_name; /* whether the value is a name rather than a number */
    uint64_t value;   /* the number, or the cpt_name_id */
};

/* The word of a label's key, or NULL; *@is_name says whether its value is a name. */
CPT_API const char *cpt_label_word(unsigned key, int *is_name);

/* Flags of a path. */
enum {
    CPT_PATH_UNORDERED = 1,  /* segments of one stack were merged: no time order */
    CPT_PATH_INCOMPLETE = 2, /* events were dropped at a limit */
    CPT_PATH_APPROXIMATE = 4 /* the source did not say which task waited */
};

struct cpt_path;

/* An empty path over @alloc (NULL: malloc's), or NULL. The caller owns it. */
CPT_API struct cpt_path *cpt_path_new(const struct cpt_alloc *alloc);
CPT_API void cpt_path_free(struct cpt_path *path);

/* Empties the path but keeps its memory. */
CPT_API void cpt_path_reset(struct cpt_path *path);

/* The same, but it keeps its names: for a path that is likely to have them again. */
CPT_API void cpt_path_renew(struct cpt_path *path);

/*
 * Sets *@frame to the frame @name of @kind below @parent (CPT_FRAME_NONE: a root), and
 * adds it if it is new. At CPT_PATH_DEPTH_MAX *@frame is @parent itself: a stack that
 * is too deep loses names, never time. A name that is too long or holds NUL is cut
 * first (cpt_name_bound()). @name may point into the path itself.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_PATH_FRAMES_MAX. After an error the frames
 * are as before.
 */
CPT_API cpt_status cpt_path_frame_add(struct cpt_path *path, uint32_t parent,
                                      struct cpt_bytes name, unsigned kind,
                                      uint32_t *frame);

/*
 * Adds one segment at the end. A segment of 0 ns adds nothing and is CPT_OK. A count of
 * 0 means 1.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_PATH_SEGMENTS_MAX or if the sum would exceed
 * 2^63 - 1.
 */
CPT_API cpt_status cpt_path_append(struct cpt_path *path, struct cpt_segment segment);

/* The usual segment: @frame for @duration_ns. Errors as above. */
CPT_API cpt_status cpt_path_append_ns(struct cpt_path *path, uint32_t frame,
                                      uint64_t duration_ns);

/*
 * Puts a label on the last segment; it replaces one with the same key. Does nothing if
 * there is no segment, beyond CPT_PATH_LABELS_MAX, or for a @key above
 * CPT_LABEL_KEY_MAX: labels are not essential.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if there are too many names.
 */
CPT_API cpt_status cpt_path_label_number(struct cpt_path *path, unsigned key,
                                         uint64_t number);
CPT_API cpt_status cpt_path_label_name(struct cpt_path *path, unsigned key,
                                       struct cpt_bytes name);

/* The drag of a segment is not known. */
#define CPT_DRAG_UNKNOWN UINT64_MAX

/*
 * Sets the drag of segment @segment, which exists; CPT_DRAG_UNKNOWN takes it back. A
 * path without drags keeps no memory for them.
 *
 * CPT_OK; CPT_INVALID if @drag_ns is above the duration of the segment; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_path_drag_set(struct cpt_path *path, size_t segment,
                                     uint64_t drag_ns);

/* The drag of segment @segment, or CPT_DRAG_UNKNOWN. */
CPT_API uint64_t cpt_path_drag(const struct cpt_path *path, size_t segment);

/* Whether a drag of this path was set since it was made or emptied. */
CPT_API int cpt_path_has_drags(const struct cpt_path *path);

CPT_API unsigned cpt_path_flags(const struct cpt_path *path);
CPT_API void cpt_path_flags_add(struct cpt_path *path, unsigned flags);

/* The contents. Pointers are borrowed until the path is changed or freed. */
CPT_API size_t cpt_path_segment_count(const struct cpt_path *path);
CPT_API const struct cpt_segment *cpt_path_segment(const struct cpt_path *path,
                                                   size_t index);
CPT_API size_t cpt_path_frame_count(const struct cpt_path *path);
CPT_API const struct cpt_frame *cpt_path_frame(const struct cpt_path *path,
                                               uint32_t index);
CPT_API size_t cpt_path_name_count(const struct cpt_path *path);
CPT_API struct cpt_bytes cpt_path_name(const struct cpt_path *path, cpt_name_id id);
CPT_API size_t cpt_path_label_count(const struct cpt_path *path);
CPT_API const struct cpt_label *cpt_path_label(const struct cpt_path *path,
                                               size_t index);

/* The name of frame @index. */
CPT_API struct cpt_bytes cpt_path_frame_name(const struct cpt_path *path,
                                             uint32_t index);

/* The service of frame @index: of its own name, else of the nearest frame above whose
 * name has one; else empty. */
CPT_API struct cpt_bytes cpt_path_frame_service(const struct cpt_path *path,
                                                uint32_t index);

/* The sum of all segments: the latency of the request. */
CPT_API uint64_t cpt_path_sum_ns(const struct cpt_path *path);

/*
 * Checks that the path conserves time: every segment has a duration and an existing
 * frame, every parent stands before its child, no two frames are the same, labels
 * belong to segments, no drag is above its duration, and the durations sum to
 * @latency_ns.
 *
 * CPT_OK, or CPT_CORRUPT with the first fault in @error.
 */
CPT_API cpt_status cpt_path_check(const struct cpt_path *path, uint64_t latency_ns,
                                  struct cpt_error *error);

/*
 * Appends a copy of @from, with its drags. Frames that both paths have are merged.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error a part may have been appended:
 * discard @path.
 */
CPT_API cpt_status cpt_path_copy(struct cpt_path *path, const struct cpt_path *from);

/*
 * Puts @callee in the place of a call: appends its segments below the frame @call_frame
 * of @path, fitted to exactly the time that the caller observed.
 *
 *      observed    |------------- 20 -------------|
 *      the callee says: path 16, from arrival to reply 18
 *      spliced     [ path 16 ][ ‹unattributed› 2 ][ ‹network+serialization› 2 ]
 *
 * A root of the callee's path with the name of @call_frame is that frame; any other
 * root hangs below it, so that no callee can imitate another service. A path longer
 * than the observed time is scaled down (cpt_apportion.h) or clipped and, if the excess
 * is more than max(1 us, 1 %), flagged CPT_SEGMENT_OVERCOUNT; the raw excess becomes a
 * label of its first segment. A path of 0 ns from a callee that does not say how long
 * it took counts as no path, with CPT_REASON_UNDECODABLE unless another is given.
 *
 * The caller may know that its request waited in a queue of its own before it left, and
 * that the reply had come before it was read. That time is cut out of what would be
 * ‹network+serialization›, or a blind spot as long as the call, and stands where it
 * was: ‹send queue› first, ‹receive queue› last, below @call_frame.
 *
 * After all this, the first skip_ns of the result are left out, for the attribution
 * that charges only blocked time.
 *
 * The caller may know the drag of the call: by how much its request would have been
 * faster if the call had taken no time. Then a segment of the callee has the smaller of
 * its own drag, scaled or cut like its duration, and the call's, which is exact: what a
 * segment gains for the callee's reply, it gains for the caller up to the drag of the
 * call. Time without a segment of the callee (‹network+serialization›, ‹unattributed›,
 * a blind spot, the queues) has the smaller of its duration and the call's drag. A
 * segment that the callee sent without a drag, or all without the call's, have none.
 */
enum cpt_overcount {
    CPT_OVERCOUNT_SCALE = 0, /* every segment in proportion */
    /* The earliest part stays: right if the callee continues after its response. */
    CPT_OVERCOUNT_CLIP = 1
};

struct cpt_splice {
    uint64_t observed_ns;       /* from sending the call to having its reply */
    uint64_t server_elapsed_ns; /* what the callee says it took, if it does */
    int has_server_elapsed;     /* whether it does */
    uint64_t skip_ns;           /* to leave out at the front */
    unsigned reason;            /* without a path: why (enum cpt_reason) */
    unsigned overcount;         /* of a path that is too long (enum cpt_overcount) */
    uint64_t send_queue_ns;     /* the request waited here; 0: not, or not known */
    uint64_t receive_queue_ns;  /* the reply waited here, likewise */
    uint64_t call_drag_ns;      /* the drag of the call, if it is known */
    int has_call_drag;          /* whether it is */
};

/* What cpt_path_splice() found out, for the counters of the callee. */
struct cpt_splice_report {
    uint64_t overcount_ns;  /* what the callee claimed in excess; 0 if it fits */
    uint64_t undercount_ns; /* observed, but in no segment of the callee's path */
    int is_inconsistent;    /* its path is longer than its own elapsed time */
};

/*
 * See above. @callee NULL means that there is no path: the time becomes a blind spot
 * with the given reason, and network time apart if the callee said how long it took.
 * @report may be NULL.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error part of the callee may have been
 * appended: discard @path.
 */
CPT_API cpt_status cpt_path_splice(struct cpt_path *path, uint32_t call_frame,
                                   const struct cpt_path *callee,
                                   const struct cpt_splice *splice,
                                   struct cpt_splice_report *report);

/*
 * --- Text for people. All write at most @capacity bytes with the terminating NUL, and
 * return the length of the whole text without NUL, as snprintf does. ---
 */

/* A name with ';', control bytes, backslashes and invalid UTF-8 as \xNN. A leading ‹ or
 * < is escaped, too, so that no name can look like a synthetic frame. */
CPT_API size_t cpt_text_name(struct cpt_bytes name, char *text, size_t capacity);

/* A frame as people see it: "B: Lookup", "B: ‹blind spot›", "A: ‹lock: cache›".
 * @service is the service of the frames above, for kinds other than work. */
CPT_API size_t cpt_text_frame(struct cpt_bytes name, unsigned kind,
                              struct cpt_bytes service, char *text, size_t capacity);

/* Frame @index of @path as above. */
CPT_API size_t cpt_path_frame_text(const struct cpt_path *path, uint32_t index,
                                   char *text, size_t capacity);

/* Its whole stack, root first, joined by ';'. */
CPT_API size_t cpt_path_stack_text(const struct cpt_path *path, uint32_t index,
                                   char *text, size_t capacity);

CPT_END_DECLS

#endif
