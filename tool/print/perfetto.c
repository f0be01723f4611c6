/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * perfetto.c - paths as a trace of Perfetto, for ui.perfetto.dev
 *
 *      B
 *        B: get            |=== B: get ======|     a track for each frame, below that
 *                          |work|    |work|        of its service; a slice while it is
 *      A                     ^ |      ^ |          on the path
 *        A: go   |======== A: go ===|===|====|
 *                |work|--------'    '---'          a slice for each segment; arrows
 *                                                  from each one to the next
 *
 * A trace is a sequence of packets (protobuf, perfetto/trace/ in the repository of
 * Perfetto, Apache-2.0). Of these fields we write a few, by their numbers:
 *
 *      Trace            packet 1
 *      TracePacket      timestamp 8, trusted_packet_sequence_id 10, track_event 11,
 *                       track_descriptor 60
 *      TrackDescriptor  uuid 1, name 2, parent_uuid 5
 *      TrackEvent       type 9 (1: begin, 2: end), track_uuid 11, categories 22,
 *                       name 23, flow_ids 47 (fixed64)
 *
 * So few that a library would be more code than this file.
 */
#include "tool/print/perfetto.h"

#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "cpt/cpt_path.h"

#include <string.h>

enum {
    PACKET = 1,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_TRACK = 60,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOW = 47
};
enum { BEGIN = 1, END = 2, SEQUENCE = 1 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 }; /* types of protobuf */

enum { MESSAGE_BYTES = CPTI_TEXT_BYTES + 128 };

/* A message while it is written; it always fits. */
struct message {
    size_t bytes;
    unsigned char data[MESSAGE_BYTES];
};

/* Of one path. Its tracks have the numbers after `first_track`, in the order of frames;
 * those of services come after those of all frames. */
struct writer {
    struct cpti_output *output;
    const struct cpt_path *path;
    uint64_t first_track;
    int exit_status;
};

/* --- Protobuf --- */

static void put_varint(struct message *message, uint64_t number)
{
    while (number >= 0x80) {
        message->data[message->bytes++] = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    message->data[message->bytes++] = (unsigned char)number;
}

static void put_number(struct message *message, unsigned field, uint64_t number)
{
    put_varint(message, (uint64_t)field << 3 | VARINT);
    put_varint(message, number);
}

static void put_fixed(struct message *message, unsigned field, uint64_t number)
{
    put_varint(message, (uint64_t)field << 3 | FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        message->data[message->bytes++] = (unsigned char)(number >> shift);
    }
}

static void put_bytes(struct message *message, unsigned field, const void *data,
                      size_t bytes)
{
    put_varint(message, (uint64_t)field << 3 | BYTES);
    put_varint(message, bytes);
    memcpy(message->data + message->bytes, data, bytes);
    message->bytes += bytes;
}

static void put_text(struct message *message, unsigned field, const char *text)
{
    put_bytes(message, field, text, strlen(text));
}

/* Writes @inner as @field of a packet at @time_ns. */
static void write_packet(struct writer *writer, unsigned field, uint64_t time_ns,
                         const struct message *inner)
{
    struct message head = {.bytes = 0};
    struct message packet = {.bytes = 0};

    put_number(&packet, PACKET_TIME, time_ns);
    put_number(&packet, PACKET_SEQUENCE, SEQUENCE);
    put_varint(&packet, (uint64_t)field << 3 | BYTES);
    put_varint(&packet, inner->bytes);
    put_varint(&head, PACKET << 3 | BYTES);
    put_varint(&head, packet.bytes + inner->bytes);
    if (writer->exit_status == CPTI_EXIT_DONE &&
        (cpti_output_write(writer->output, head.data, head.bytes) != 0 ||
         cpti_output_write(writer->output, packet.data, packet.bytes) != 0 ||
         cpti_output_write(writer->output, inner->data, inner->bytes) != 0)) {
        writer->exit_status = CPTI_EXIT_FAILED;
    }
}

/* --- Tracks --- */

/* Frames of other kinds than work have no name of their own: their slices lie within
 * those of the frame above. */
static bool has_track(const struct cpt_path *path, uint32_t frame)
{
    return cpt_path_frame(path, frame)->kind == CPT_KIND_WORK ||
           cpt_path_frame(path, frame)->parent == CPT_FRAME_NONE;
}

static uint64_t track_of(const struct writer *writer, uint32_t frame)
{
    while (!has_track(writer->path, frame)) {
        frame = cpt_path_frame(writer->path, frame)->parent;
    }
    return writer->first_track + 1 + frame;
}

static void write_track(struct writer *writer, uint64_t uuid, const char *name,
                        uint64_t parent, uint64_t time_ns)
{
    struct message track = {.bytes = 0};

    put_number(&track, TRACK_UUID, uuid);
    put_text(&track, TRACK_NAME, name);
    if (parent != 0) {
        put_number(&track, TRACK_PARENT, parent);
    }
    write_packet(writer, PACKET_TRACK, time_ns, &track);
}

/* The set @services is empty: a service has a track from its first frame on. */
static void write_tracks(struct writer *writer, struct cpt_names *services,
                         uint64_t time_ns)
{
    const struct cpt_path *path = writer->path;
    const uint32_t count = (uint32_t)cpt_path_frame_count(path);
    const uint64_t first_service = writer->first_track + 1 + count;
    char text[CPTI_TEXT_BYTES];

    for (uint32_t i = 0; i < count && writer->exit_status == CPTI_EXIT_DONE; i++) {
        const struct cpt_bytes service = cpt_name_service(cpt_path_frame_name(path, i));
        const size_t known = cpt_names_count(services);
        cpt_name_id id = 0;

        if (!has_track(path, i)) {
            continue;
        }
        if (cpt_names_add(services, service, &id) != CPT_OK) {
            writer->exit_status = cpti_failed("out of memory");
            return;
        }
        if (cpt_names_count(services) > known) {
            (void)cpti_printable_to(service, text, sizeof text);
            write_track(writer, first_service + id, text, 0, time_ns);
        }
        (void)cpt_path_frame_text(path, i, text, sizeof text);
        write_track(writer, track_of(writer, i), text, first_service + id, time_ns);
    }
}

/* --- Slices --- */

/* Begins a slice; of a segment, between arrows @flow_in and @flow_out; 0: none. */
static void begin_slice(struct writer *writer, uint32_t frame, const char *name,
                        uint64_t flow_in, uint64_t flow_out, uint64_t time_ns)
{
    const unsigned kind = cpt_path_frame(writer->path, frame)->kind;
    const char *word = cpt_kind_word(kind);
    struct message event = {.bytes = 0};

    put_number(&event, EVENT_TYPE, BEGIN);
    put_number(&event, EVENT_TRACK, track_of(writer, frame));
    put_text(&event, EVENT_CATEGORY, word != NULL ? word : "other");
    put_text(&event, EVENT_NAME, name);
    if (flow_in != 0) {
        put_fixed(&event, EVENT_FLOW, flow_in);
    }
    if (flow_out != 0) {
        put_fixed(&event, EVENT_FLOW, flow_out);
    }
    write_packet(writer, PACKET_EVENT, time_ns, &event);
}

static void end_slice(struct writer *writer, uint32_t frame, uint64_t time_ns)
{
    struct message event = {.bytes = 0};

    put_number(&event, EVENT_TYPE, END);
    put_number(&event, EVENT_TRACK, track_of(writer, frame));
    write_packet(writer, PACKET_EVENT, time_ns, &event);
}

/* The frames with tracks from the root to @frame; how many. */
static size_t list_stack(const struct cpt_path *path, uint32_t frame,
                         uint32_t stack[CPT_PATH_DEPTH_MAX])
{
    uint32_t reversed[CPT_PATH_DEPTH_MAX];
    size_t count = 0;

    for (; frame != CPT_FRAME_NONE && count < CPT_PATH_DEPTH_MAX;
         frame = cpt_path_frame(path, frame)->parent) {
        if (has_track(path, frame)) {
            reversed[count++] = frame;
        }
    }
    for (size_t i = 0; i < count; i++) {
        stack[i] = reversed[count - 1 - i];
    }
    return count;
}

/* Goes from the frames in @open to those of @frame, CPT_FRAME_NONE: none, at
 * @time_ns. */
static void change_frames(struct writer *writer, uint32_t open[CPT_PATH_DEPTH_MAX],
                          size_t *open_count, uint32_t frame, uint64_t time_ns)
{
    uint32_t next[CPT_PATH_DEPTH_MAX];
    const size_t count = list_stack(writer->path, frame, next);
    char text[CPTI_TEXT_BYTES];
    size_t same = 0;

    while (same < count && same < *open_count && open[same] == next[same]) {
        same++;
    }
    while (*open_count > same) {
        end_slice(writer, open[--*open_count], time_ns);
    }
    for (size_t i = same; i < count; i++) {
        (void)cpt_path_frame_text(writer->path, next[i], text, sizeof text);
        begin_slice(writer, next[i], text, 0, 0, time_ns);
        open[i] = next[i];
    }
    *open_count = count;
}

int cpti_perfetto_add(struct cpti_perfetto *perfetto, const struct cpt_path *path,
                      uint64_t start_unix_ns)
{
    struct writer writer = {perfetto->output, path, perfetto->track_count,
                            CPTI_EXIT_DONE};
    const size_t count = cpt_path_segment_count(path);
    const uint64_t flow = perfetto->flow_count;
    struct cpt_names *services = cpt_names_new(NULL);
    uint32_t open[CPT_PATH_DEPTH_MAX];
    size_t open_count = 0;
    uint64_t time_ns = start_unix_ns;

    if (services == NULL) {
        return cpti_failed("out of memory");
    }
    perfetto->track_count += 2 * (uint64_t)cpt_path_frame_count(path);
    perfetto->flow_count += count;
    write_tracks(&writer, services, time_ns);
    cpt_names_free(services);
    for (size_t i = 0; i < count && writer.exit_status == CPTI_EXIT_DONE; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const char *words = cpt_kind_words(cpt_path_frame(path, segment->frame)->kind);

        change_frames(&writer, open, &open_count, segment->frame, time_ns);
        begin_slice(&writer, segment->frame, words != NULL ? words : "other",
                    i > 0 ? flow + i : 0, i + 1 < count ? flow + i + 1 : 0, time_ns);
        time_ns += segment->duration_ns;
        end_slice(&writer, segment->frame, time_ns);
    }
    change_frames(&writer, open, &open_count, CPT_FRAME_NONE, time_ns);
    return writer.exit_status;
}
