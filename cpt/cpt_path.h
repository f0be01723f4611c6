/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_path.h - the critical path of one request
 *
 * A path is what is left of a request once everything that did not hold it up has been
 * thrown away: segments in time order, each the time for which one component alone kept
 * the caller waiting.
 *
 *      request  |====================================|  900 us
 *      path     [ parse ][   index   ][ rank ][ render ]
 *                  200        300       150      250      sum = 900
 *
 * The segments never overlap and leave no gap, so their durations add up to the latency
 * of the request exactly. cpt_path_check() tells whether they do; every producer of
 * paths is tested with it.
 *
 * Who a segment belongs to is a *frame* of a stack, as in a profiler. The frames of a
 * path are a tree that is kept as a table; a parent stands before its children:
 *
 *      0  A: /              the entry frame: service and method
 *      1  |- A: parse
 *      2  '- A: index       the task
 *      3     '- B: Lookup   what it called; B's own frames hang below
 *      4        '- B: ‹network+serialization›      no work of anybody: its kind says so
 *
 * Time that is not the application's own work lies in a frame of another kind than
 * CPT_KIND_WORK. Such a frame is shown between ‹ and › after the service it hangs
 * below, and as its kind is a field of its own, no name can pass for one.
 *
 * A segment may carry labels (attempt 2, holder of a lock …). Durations never depend on
 * them, and a reader skips those it does not know.
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
    CPT_PATH_DEPTH_MAX = 1024, /* frames of one stack; the deepest take what is below */
    CPT_PATH_LABELS_MAX = 1 << 20
};

/*
 * X(name, number, word for machines, words for people). The numbers are written to
 * disk and to the wire: never renumber. 64 and above are free for experiments.
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
    X(OFF_CPU, 15, "off_cpu", "off CPU")

/* What a frame's time is. */
enum cpt_kind {
#define CPT_KIND_ENUM_(name, number, word, words) CPT_KIND_##name = (number),
    CPT_KIND_MAP(CPT_KIND_ENUM_)
#undef CPT_KIND_ENUM_
};

/* A reader keeps a kind, reason or key that it does not know, as a number up to: */
enum { CPT_KIND_MAX = 255, CPT_REASON_MAX = 255, CPT_LABEL_KEY_MAX = 255 };

/* X(name, number, word). Why a blind spot is blind. Never renumber. */
#define CPT_REASON_MAP(X)                                                              \
    X(NONE, 0, "")                                                                     \
    X(UNSUPPORTED, 1, "unsupported") /* the callee sent no path */                     \
    X(NOT_SAMPLED, 2, "not_sampled") /* it would have, but did not trace this one */   \
    X(SIZE, 3, "size")               /* it did not fit the budget */                   \
    X(UNDECODABLE, 4, "undecodable") /* it sent bytes that are no path */              \
    X(FAILED, 5, "failed")           /* the call failed */                             \
    X(CACHED, 6, "cached")           /* the reply came out of a cache */               \
    X(SHARED, 7, "shared")           /* work shared with a request not traced */       \
    X(LIMIT, 8, "limit")             /* a limit of this process */

enum cpt_reason {
#define CPT_REASON_ENUM_(name, number, word) CPT_REASON_##name = (number),
    CPT_REASON_MAP(CPT_REASON_ENUM_)
#undef CPT_REASON_ENUM_
};

/* Words for machines ("blind_spot", "cached"); "kind-17" style for unknown numbers is
 * written by cpt_path_text's functions. Static memory; NULL if unknown. */
CPT_API const char *cpt_kind_word(unsigned kind);
CPT_API const char *cpt_kind_words(unsigned kind);
CPT_API const char *cpt_reason_word(unsigned reason);

/* No frame: the parent of a root. */
#define CPT_FRAME_NONE UINT32_MAX

/* One frame. Frames are distinct: no two have the same parent, name and kind. */
struct cpt_frame {
    uint32_t parent;  /* index of an earlier frame, or CPT_FRAME_NONE */
    cpt_name_id name; /* "service: part"; empty for most kinds that are no work */
    uint16_t kind;    /* enum cpt_kind */
    uint16_t depth;   /* frames of its stack, itself included: 1 for a root */
};

/* Flags of a segment. */
enum {
    CPT_SEGMENT_OVERCOUNT = 1, /* the callee claimed more time than was observed */
    CPT_SEGMENT_FOLDED = 2     /* several segments were put together to save space */
};

/* One element of the path. */
struct cpt_segment {
    uint64_t duration_ns; /* more than 0 */
    uint32_t frame;       /* whose time it is */
    uint32_t count;       /* how many segments were folded into it; 1 if none */
    uint16_t flags;       /* CPT_SEGMENT_… */
    uint16_t reason;      /* enum cpt_reason; of a blind spot */
};

/* X(name, number, word, is a name). Keys of labels. Never renumber. */
#define CPT_LABEL_MAP(X)                                                               \
    X(ATTEMPT, 1, "attempt", 0)     /* of a call that was tried again: 1, 2 … */     \
    X(MARGIN, 2, "margin_ns", 0)    /* of the join at its end, to the runner-up */     \
    X(HOLDER, 3, "holder", 1)       /* who had the lock, or the worker */              \
    X(EXECUTOR, 4, "executor", 1)   /* whose queue it was */                           \
    X(EXCESS, 5, "excess_ns", 0)    /* time that a callee claimed too much */          \
    X(STATUS, 6, "status", 1)       /* how the call ended, where not well */           \
    X(COALESCED, 7, "coalesced", 0) /* requests that shared the work */

enum cpt_label_key {
#define CPT_LABEL_ENUM_(name, number, word, is_name) CPT_LABEL_##name = (number),
    CPT_LABEL_MAP(CPT_LABEL_ENUM_)
#undef CPT_LABEL_ENUM_
};

/* A remark on a segment; at most one of each key. */
struct cpt_label {
    uint32_t segment; /* its index; labels are in the order of their segments */
    uint16_t key;     /* enum cpt_label_key */
    uint16_t is_name; /* whether the value is a name rather than a number */
    uint64_t value;   /* the number, or the cpt_name_id */
};

/* The word of a label's key, or NULL; *@is_name says which sort of value it takes. */
CPT_API const char *cpt_label_word(unsigned key, int *is_name);

/* Flags of a path. */
enum {
    CPT_PATH_UNORDERED = 1, /* segments of one stack were put together: no time order */
    CPT_PATH_INCOMPLETE = 2, /* events were dropped at a limit */
    CPT_PATH_APPROXIMATE = 4 /* the source could not say who waited */
};

struct cpt_path;

/* An empty path over @alloc (NULL: malloc's), or NULL. The caller owns it. */
CPT_API struct cpt_path *cpt_path_new(const struct cpt_alloc *alloc);
CPT_API void cpt_path_free(struct cpt_path *path);

/* Empties the path but keeps its memory. */
CPT_API void cpt_path_reset(struct cpt_path *path);

/*
 * The frame @name of @kind below @parent (CPT_FRAME_NONE: a root), which is added if it
 * is new. At CPT_PATH_DEPTH_MAX the answer is @parent itself: a stack that is too deep
 * loses names, never time. A name that is too long or holds NUL is cut first
 * (cpt_name_bound()). @name may point into the path itself.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_PATH_FRAMES_MAX. After an error the frames
 * are as before.
 */
CPT_API cpt_status cpt_path_frame_add(struct cpt_path *path, uint32_t parent,
                                      struct cpt_bytes name, unsigned kind,
                                      uint32_t *frame);

/*
 * Adds one segment at the end. One of 0 ns adds nothing and is CPT_OK. A count of 0 is
 * taken as 1.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_PATH_SEGMENTS_MAX or if the sum would exceed
 * 2^63 - 1.
 */
CPT_API cpt_status cpt_path_append(struct cpt_path *path, struct cpt_segment segment);

/* The usual segment: @frame for @duration_ns. Errors as above. */
CPT_API cpt_status cpt_path_append_ns(struct cpt_path *path, uint32_t frame,
                                      uint64_t duration_ns);

/*
 * Puts a label on the last segment, in place of one with the same key. Without a
 * segment, beyond CPT_PATH_LABELS_MAX, and with a @key above CPT_LABEL_KEY_MAX it does
 * nothing: labels are remarks.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if there are too many names.
 */
CPT_API cpt_status cpt_path_label_number(struct cpt_path *path, unsigned key,
                                         uint64_t number);
CPT_API cpt_status cpt_path_label_name(struct cpt_path *path, unsigned key,
                                       struct cpt_bytes name);

CPT_API unsigned cpt_path_flags(const struct cpt_path *path);
CPT_API void cpt_path_flags_add(struct cpt_path *path, unsigned flags);

/* What is in it. Pointers are borrowed until the path is changed or freed. */
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

/* The service of frame @index: its name's, or else that of the nearest frame above that
 * has one. Empty if none has. */
CPT_API struct cpt_bytes cpt_path_frame_service(const struct cpt_path *path,
                                                uint32_t index);

/* The sum of all segments: the latency of the request. */
CPT_API uint64_t cpt_path_sum_ns(const struct cpt_path *path);

/*
 * Whether the path conserves time: every segment has a duration and a frame that
 * exists, every parent stands before its child and no two frames are the same, labels
 * belong to segments, and the durations sum to @latency_ns.
 *
 * CPT_OK, or CPT_CORRUPT with the first thing that is wrong in @error.
 */
CPT_API cpt_status cpt_path_check(const struct cpt_path *path, uint64_t latency_ns,
                                  struct cpt_error *error);

/*
 * Appends a copy of all of @from. Frames that both have become one.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error part of it may have been appended:
 * give up @path.
 */
CPT_API cpt_status cpt_path_copy(struct cpt_path *path, const struct cpt_path *from);

/*
 * Puts @callee in the place of a call: its segments are appended below the frame
 * @call_frame of @path, brought to exactly the time that the caller observed.
 *
 *      observed    |------------- 20 -------------|
 *      the callee says: path 16, from arrival to reply 18
 *      spliced     [ path 16 ][ ‹unattributed› 2 ][ ‹network+serialization› 2 ]
 *
 * A root of the callee's path which has the name of @call_frame is that frame; any
 * other hangs below it, so that no callee can pass for another service. A path that is
 * longer than what was observed is scaled down (cpt_apportion.h) or clipped and, if the
 * excess is more than max(1 us, 1 %), flagged CPT_SEGMENT_OVERCOUNT; the raw excess
 * becomes a label of its first segment. A path of 0 ns from a callee that does not say
 * how long it took tells nothing, and counts as none. What was cut off by @skip_ns,
 * counted from the front after all this, is left out: that is for the attribution that
 * charges only blocked time.
 */
enum cpt_overcount {
    CPT_OVERCOUNT_SCALE = 0, /* every segment in proportion */
    /* The earliest part stays: right where the callee works on after its response. */
    CPT_OVERCOUNT_CLIP = 1
};

struct cpt_splice {
    uint64_t observed_ns;       /* from sending the call to having its reply */
    uint64_t server_elapsed_ns; /* what the callee says it took; unless absent */
    int has_server_elapsed;     /* whether it said so */
    uint64_t skip_ns;           /* leave out so much from the front */
    unsigned reason;            /* without a path: why (enum cpt_reason) */
    unsigned overcount;         /* of a path that is too long (enum cpt_overcount) */
};

/* What cpt_path_splice() found out, for the counters of the callee. */
struct cpt_splice_report {
    uint64_t overcount_ns;  /* by which the callee claimed too much; 0 if it fits */
    uint64_t undercount_ns; /* observed, but in no segment of the callee's path */
    int is_inconsistent;    /* its path is longer than its own elapsed time */
};

/*
 * See above. @callee NULL means that there is no path: a blind spot with the reason
 * given, from which network time is split off if the callee said how long it took.
 * @report may be NULL.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error part of the callee may have been
 * appended: give up @path.
 */
CPT_API cpt_status cpt_path_splice(struct cpt_path *path, uint32_t call_frame,
                                   const struct cpt_path *callee,
                                   const struct cpt_splice *splice,
                                   struct cpt_splice_report *report);

/*
 * --- Text for people. All write at most @capacity bytes with a terminating NUL and
 * return the bytes that the whole text has without it, in the manner of snprintf. ---
 */

/* A name with ';', control bytes, backslash and what is no UTF-8 as \xNN, and a leading
 * ‹ or < escaped likewise, so that no name can look like a synthetic frame. */
CPT_API size_t cpt_text_name(struct cpt_bytes name, char *text, size_t capacity);

/* A frame as it is shown: "B: Lookup", "B: ‹blind spot›", "A: ‹lock: cache›".
 * @service is that of the frames above, for kinds that have no name of their own. */
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
