/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * splice.c - puts a callee's path in the place of the call in its caller's path
 *
 * O is what the caller observed, S what the callee says it took (absent: S = P), P the
 * sum of the callee's path. The missing time has two owners, which are kept apart: the
 * callee (time that it spent, but cannot explain) and the network (the way there and
 * back).
 *
 *      P > O            scale (or clip) the path to O; nothing else is added
 *      otherwise        E = min(max(S, P), O)
 *                       ‹unattributed› = E - P,  ‹network+serialization› = O - E
 *
 * so P + (E - P) + (O - E) = O in every case. Both stand after the callee's own
 * segments, below the callee's root: durations alone do not separate the way there from
 * the way back. S > O counts as overcount, too, although the path itself fits.
 *
 * What the caller knows of its own queues is cut out of the network's time (of all, if
 * nothing is known of the callee), the queue at the end first: that is sure to have
 * been waited for. So whatever it claims, the sum stays.
 *
 * Drags: let D be the drag of the call, d that of a segment in the callee's own graph.
 * Without the segment the callee replies d earlier, so the call is a node that is d
 * shorter, and a node that is shortened by d gains min(d, D). This is exact for one
 * segment, at any depth, as min() of minima is.
 */
#include "cpt/path/path.h"

#include "cpt/cpt_apportion.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

/* Appends to `path` what it gets, but leaves out the first `skip_ns`. */
struct splicer {
    struct cpt_path *path;
    uint64_t skip_ns;
    unsigned overcount;   /* what is done with a callee's path that is too long */
    uint64_t drag_max_ns; /* no drag is above it; CPT_DRAG_UNKNOWN: none is known */
};

/* For a path that is copied: no drag is above this. */
static const uint64_t any_drag = CPT_DRAG_UNKNOWN - 1;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Appends @segment, whose own drag is @drag_ns. */
static cpt_status append(struct splicer *splicer, struct cpt_segment segment,
                         uint64_t drag_ns)
{
    const uint64_t skipped_ns = least(segment.duration_ns, splicer->skip_ns);
    cpt_status status = CPT_OK;

    splicer->skip_ns -= skipped_ns;
    segment.duration_ns -= skipped_ns;
    status = cpt_path_append(splicer->path, segment);
    if (status != CPT_OK || segment.duration_ns == 0 || drag_ns == CPT_DRAG_UNKNOWN ||
        splicer->drag_max_ns == CPT_DRAG_UNKNOWN) {
        return status;
    }
    drag_ns = least(least(drag_ns, splicer->drag_max_ns), segment.duration_ns);
    return cpt_path_drag_set(splicer->path, splicer->path->segment_count - 1, drag_ns);
}

static cpt_status append_kind(struct splicer *splicer, uint32_t call_frame,
                              unsigned kind, unsigned reason, uint64_t duration_ns)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    cpt_status status = CPT_OK;

    if (duration_ns <= splicer->skip_ns) {
        splicer->skip_ns -= duration_ns;
        return CPT_OK;
    }
    status = cpt_path_frame_add(splicer->path, call_frame, none, kind, &frame);
    if (status != CPT_OK) {
        return status;
    }
    return append(splicer,
                  (struct cpt_segment){.duration_ns = duration_ns,
                                       .frame = frame,
                                       .count = 1,
                                       .reason = (uint16_t)reason},
                  duration_ns);
}

/* Finds the place of the callee's frame @index in the caller's path, and notes it in
 * @map, which has the places of earlier frames. */
static cpt_status map_frame(struct cpt_path *path, uint32_t call_frame,
                            const struct cpt_path *callee, uint32_t *map,
                            uint32_t index)
{
    const struct cpt_frame *frame = cpt_path_frame(callee, index);
    const struct cpt_bytes name = cpt_path_frame_name(callee, index);
    const bool is_root = frame->parent == CPT_FRAME_NONE;

    if (is_root && frame->kind == CPT_KIND_WORK && call_frame != CPT_FRAME_NONE &&
        cpt_bytes_equal(name, cpt_path_frame_name(path, call_frame))) {
        map[index] = call_frame;
        return CPT_OK;
    }
    return cpt_path_frame_add(path, is_root ? call_frame : map[frame->parent], name,
                              frame->kind, &map[index]);
}

static cpt_status copy_label(struct cpt_path *path, const struct cpt_path *callee,
                             const struct cpt_label *label)
{
    if (label->is_name) {
        return cpt_path_label_name(path, label->key,
                                   cpt_path_name(callee, (cpt_name_id)label->value));
    }
    return cpt_path_label_number(path, label->key, label->value);
}

/* The drag of the callee's segment @index, when it lasts @duration_ns in place of its
 * own duration: in proportion, or what is left of it if the path is clipped. */
static uint64_t fit_drag(const struct splicer *splicer, const struct cpt_path *callee,
                         size_t index, uint64_t duration_ns)
{
    const uint64_t own_ns = cpt_path_segment(callee, index)->duration_ns;
    const uint64_t drag_ns = cpt_path_drag(callee, index);

    if (drag_ns == CPT_DRAG_UNKNOWN || duration_ns == own_ns ||
        splicer->overcount == CPT_OVERCOUNT_CLIP) {
        return drag_ns;
    }
    return (uint64_t)((wide)drag_ns * duration_ns / own_ns);
}

/* Appends the callee's segments with @durations in place of their own. */
static cpt_status append_segments(struct splicer *splicer,
                                  const struct cpt_path *callee, const uint32_t *map,
                                  const uint64_t *durations, unsigned flags,
                                  uint64_t excess_ns)
{
    const size_t label_count = cpt_path_label_count(callee);
    size_t label = 0;

    for (size_t i = 0; i < cpt_path_segment_count(callee); i++) {
        struct cpt_segment segment = *cpt_path_segment(callee, i);
        const bool is_appended = durations[i] > splicer->skip_ns;
        cpt_status status = CPT_OK;

        segment.frame = map[segment.frame];
        segment.duration_ns = durations[i];
        segment.flags |= (uint16_t)flags;
        status = append(splicer, segment, fit_drag(splicer, callee, i, durations[i]));
        for (; label < label_count && status == CPT_OK &&
               cpt_path_label(callee, label)->segment == i;
             label++) {
            if (is_appended) {
                status =
                    copy_label(splicer->path, callee, cpt_path_label(callee, label));
            }
        }
        if (is_appended && excess_ns != 0 && status == CPT_OK) {
            status = cpt_path_label_number(splicer->path, CPT_LABEL_EXCESS, excess_ns);
            excess_ns = 0;
        }
        if (status != CPT_OK) {
            return status;
        }
    }
    return CPT_OK;
}

/* Cuts @durations, which sum to @sum_ns, at the end, so that they sum to @whole_ns. */
static void clip(uint64_t *durations, size_t count, uint64_t sum_ns, uint64_t whole_ns)
{
    uint64_t excess_ns = sum_ns - whole_ns;

    while (count-- > 0 && excess_ns != 0) {
        const uint64_t cut_ns =
            durations[count] < excess_ns ? durations[count] : excess_ns;

        durations[count] -= cut_ns;
        excess_ns -= cut_ns;
    }
}

/* Sets @durations to those of @callee's segments, reduced to @whole_ns if longer. */
static cpt_status fit_durations(const struct cpt_path *path,
                                const struct cpt_path *callee, uint64_t whole_ns,
                                unsigned overcount, uint64_t *durations)
{
    const size_t segment_count = cpt_path_segment_count(callee);
    const uint64_t sum_ns = cpt_path_sum_ns(callee);

    for (size_t i = 0; i < segment_count; i++) {
        durations[i] = cpt_path_segment(callee, i)->duration_ns;
    }
    if (sum_ns <= whole_ns) {
        return CPT_OK;
    }
    if (overcount == CPT_OVERCOUNT_CLIP) {
        clip(durations, segment_count, sum_ns, whole_ns);
        return CPT_OK;
    }
    return cpt_apportion(path->alloc, durations, segment_count, whole_ns);
}

/* Appends the callee's path, reduced to @whole_ns if it is longer. */
static cpt_status append_callee(struct splicer *splicer, uint32_t call_frame,
                                const struct cpt_path *callee, uint64_t whole_ns)
{
    const struct cpt_alloc *alloc = splicer->path->alloc;
    const size_t segment_count = cpt_path_segment_count(callee);
    const size_t frame_count = cpt_path_frame_count(callee);
    const uint64_t sum_ns = cpt_path_sum_ns(callee);
    const uint64_t excess_ns = sum_ns > whole_ns ? sum_ns - whole_ns : 0;
    const uint64_t tolerated_ns = whole_ns / 100 > 1000 ? whole_ns / 100 : 1000;
    const unsigned flags = excess_ns > tolerated_ns ? CPT_SEGMENT_OVERCOUNT : 0;
    uint64_t *durations =
        cpt_alloc_array(alloc, NULL, segment_count, sizeof *durations);
    uint32_t *map = cpt_alloc_array(alloc, NULL, frame_count, sizeof *map);
    cpt_status status = CPT_NO_MEMORY;

    if (durations == NULL || map == NULL) {
        goto out;
    }
    status =
        fit_durations(splicer->path, callee, whole_ns, splicer->overcount, durations);
    for (uint32_t i = 0; i < frame_count && status == CPT_OK; i++) {
        status = map_frame(splicer->path, call_frame, callee, map, i);
    }
    if (status != CPT_OK) {
        goto out;
    }
    status = append_segments(splicer, callee, map, durations, flags, excess_ns);
    cpt_path_flags_add(splicer->path, cpt_path_flags(callee));
out:
    cpt_alloc_free(alloc, durations);
    cpt_alloc_free(alloc, map);
    return status;
}

/* What the callee's part and the ways to and from it are. */
struct shares {
    uint64_t callee_ns; /* of its path, or of the blind spot */
    uint64_t unattributed_ns;
    uint64_t send_queue_ns;
    uint64_t network_ns;
    uint64_t receive_queue_ns;
};

/* Takes the queues out of @ns, time that is not the callee's; returns the rest. */
static uint64_t share_queues(struct shares *shares, const struct cpt_splice *splice,
                             uint64_t ns)
{
    shares->receive_queue_ns = least(splice->receive_queue_ns, ns);
    ns -= shares->receive_queue_ns;
    shares->send_queue_ns = least(splice->send_queue_ns, ns);
    return ns - shares->send_queue_ns;
}

/* @elapsed_ns: what the callee took, as far as it was observed. */
static struct shares share(const struct cpt_splice *splice, bool is_blind,
                           uint64_t path_ns, uint64_t elapsed_ns)
{
    const uint64_t observed_ns = splice->observed_ns;
    struct shares shares = {.callee_ns = least(path_ns, observed_ns)};

    if (is_blind && !splice->has_server_elapsed) {
        shares.callee_ns = share_queues(&shares, splice, observed_ns);
        return shares;
    }
    if (is_blind) {
        shares.callee_ns = elapsed_ns;
    } else {
        shares.unattributed_ns = elapsed_ns - shares.callee_ns;
    }
    shares.network_ns = share_queues(&shares, splice, observed_ns - elapsed_ns);
    return shares;
}

/* Appends what follows the callee's own segments. */
static cpt_status append_rest(struct splicer *splicer, uint32_t call_frame,
                              const struct shares *shares)
{
    cpt_status status = append_kind(splicer, call_frame, CPT_KIND_UNATTRIBUTED, 0,
                                    shares->unattributed_ns);

    if (status == CPT_OK) {
        status =
            append_kind(splicer, call_frame, CPT_KIND_NETWORK, 0, shares->network_ns);
    }
    return status != CPT_OK ? status
                            : append_kind(splicer, call_frame, CPT_KIND_RECEIVE_QUEUE,
                                          0, shares->receive_queue_ns);
}

/* The callee's excess over @observed_ns: of its path or, if that fits, of what it says
 * it took. */
static uint64_t overcount_of(uint64_t observed_ns, uint64_t path_ns, uint64_t said_ns)
{
    const uint64_t claimed_ns = path_ns > observed_ns ? path_ns : said_ns;

    return claimed_ns > observed_ns ? claimed_ns - observed_ns : 0;
}

/* Why there is a blind spot. A path that says nothing of the callee's time is as good
 * as bytes that are no path. */
static unsigned reason_of(const struct cpt_path *callee,
                          const struct cpt_splice *splice)
{
    return callee != NULL && splice->reason == CPT_REASON_NONE ? CPT_REASON_UNDECODABLE
                                                               : splice->reason;
}

cpt_status cpt_path_splice(struct cpt_path *path, uint32_t call_frame,
                           const struct cpt_path *callee,
                           const struct cpt_splice *splice,
                           struct cpt_splice_report *report)
{
    struct splicer splicer = {path, splice->skip_ns, splice->overcount,
                              splice->has_call_drag
                                  ? least(splice->call_drag_ns, any_drag)
                                  : CPT_DRAG_UNKNOWN};
    const uint64_t observed_ns = splice->observed_ns;
    const uint64_t path_ns = callee != NULL ? cpt_path_sum_ns(callee) : 0;
    const uint64_t said_ns =
        splice->has_server_elapsed ? splice->server_elapsed_ns : path_ns;
    const uint64_t more_ns = said_ns > path_ns ? said_ns : path_ns;
    const bool is_blind =
        callee == NULL || (path_ns == 0 && !splice->has_server_elapsed);
    const struct shares shares =
        share(splice, is_blind, path_ns, least(more_ns, observed_ns));
    cpt_status status = CPT_OK;

    if (report != NULL) {
        report->overcount_ns = overcount_of(observed_ns, path_ns, said_ns);
        report->undercount_ns = observed_ns > path_ns ? observed_ns - path_ns : 0;
        report->is_inconsistent = splice->has_server_elapsed && said_ns < path_ns;
    }
    status =
        append_kind(&splicer, call_frame, CPT_KIND_SEND_QUEUE, 0, shares.send_queue_ns);
    if (status != CPT_OK) {
        return status;
    }
    status = is_blind ? append_kind(&splicer, call_frame, CPT_KIND_BLIND_SPOT,
                                    reason_of(callee, splice), shares.callee_ns)
                      : append_callee(&splicer, call_frame, callee, shares.callee_ns);
    return status == CPT_OK ? append_rest(&splicer, call_frame, &shares) : status;
}

cpt_status cpt_path_copy(struct cpt_path *path, const struct cpt_path *from)
{
    struct splicer splicer = {path, 0, CPT_OVERCOUNT_SCALE, any_drag};

    return append_callee(&splicer, CPT_FRAME_NONE, from, cpt_path_sum_ns(from));
}
