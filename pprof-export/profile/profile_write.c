/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_write.c - the model as protobuf, streamed by nanopb
 *
 * Every repeated field is a callback that writes all elements of one table; nanopb
 * writes them to the stream at once and keeps nothing. It encodes an element that is a
 * message twice, first to learn its length, so callbacks only read. In that first pass
 * the stream has no callback and only counts.
 *
 * Zeros: proto3 leaves out a number that is 0. This is right for all fields but packed
 * values, where each type has its place; code of this file writes these.
 */
#include "pprof-export/profile/profile_model.h"

#include "aggregate/cpt_gain.h"
#include "pprof-export/profile/gzip.h"

#include "profile.pb.h"

#include <pb_encode.h>

#include <string.h>

enum { GZIP_LEVEL_DEFAULT = 6 };

/* The sample or location whose fields a callback writes. */
struct element {
    const struct cpti_profile *profile;
    size_t index;
};

static size_t number_bytes(uint64_t number)
{
    size_t bytes = 1;

    for (; number >= 0x80; number >>= 7) {
        bytes++;
    }
    return bytes;
}

/* Makes @callback write by @encode, which only reads what @arg points to. */
static void set(pb_callback_t *callback,
                bool (*encode)(pb_ostream_t *, const pb_field_t *, void *const *),
                void *arg)
{
    callback->funcs.encode = encode;
    callback->arg = arg;
}

/* Writes @numbers as a packed field: zeros, too. */
static bool write_packed(pb_ostream_t *stream, const pb_field_t *field,
                         const uint64_t *numbers, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += number_bytes(numbers[i]);
    }
    if (!pb_encode_tag(stream, PB_WT_STRING, field->tag) ||
        !pb_encode_varint(stream, bytes)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!pb_encode_varint(stream, numbers[i])) {
            return false;
        }
    }
    return true;
}

/* --- Inside a sample --- */

/* The stack, leaf first: up the tree until the root, which is not a frame. */
static bool write_stack(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct element *element = *arg;
    const struct cpti_profile *profile = element->profile;
    uint64_t locations[CPT_TREE_DEPTH_MAX];
    size_t count = 0;

    for (uint32_t node = profile->samples[element->index].node; node != CPT_TREE_ROOT;
         node = cpt_tree_parent(profile->tree, node)) {
        locations[count++] = (uint64_t)profile->node_functions[node] + 1;
    }
    return write_packed(stream, field, locations, count);
}

static bool write_values(pb_ostream_t *stream, const pb_field_t *field,
                         void *const *arg)
{
    const struct element *element = *arg;

    return write_packed(stream, field, element->profile->samples[element->index].values,
                        CPTI_VALUE_COUNT);
}

static bool write_message(pb_ostream_t *stream, const pb_field_t *field,
                          const pb_msgdesc_t *kind, const void *message)
{
    return pb_encode_tag_for_field(stream, field) &&
           pb_encode_submessage(stream, kind, message);
}

static bool write_label(pb_ostream_t *stream, const pb_field_t *field, uint32_t key,
                        uint32_t text)
{
    const cpt_pprof_Label label = {key, text};

    return write_message(stream, field, cpt_pprof_Label_fields, &label);
}

static bool write_labels(pb_ostream_t *stream, const pb_field_t *field,
                         void *const *arg)
{
    const struct element *element = *arg;
    const struct cpti_profile *profile = element->profile;
    const size_t first = profile->samples[element->index].group *
                         profile->group_key_count; /* of the group's texts */

    for (size_t i = 0; i < profile->label_count; i++) {
        if (!write_label(stream, field, profile->labels[i].key,
                         profile->labels[i].text)) {
            return false;
        }
    }
    for (size_t i = 0; i < profile->group_key_count; i++) {
        if (!write_label(stream, field, profile->group_keys[i],
                         profile->group_texts[first + i])) {
            return false;
        }
    }
    return true;
}

/* --- The tables --- */

static bool write_types(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct cpti_profile *profile = *arg;

    for (int i = 0; i < CPTI_VALUE_COUNT; i++) {
        const cpt_pprof_ValueType type = {profile->types[i].type,
                                          profile->types[i].unit};

        if (!write_message(stream, field, cpt_pprof_ValueType_fields, &type)) {
            return false;
        }
    }
    return true;
}

static bool write_samples(pb_ostream_t *stream, const pb_field_t *field,
                          void *const *arg)
{
    struct element element = {*arg, 0};

    for (; element.index < element.profile->sample_count; element.index++) {
        cpt_pprof_Sample sample = cpt_pprof_Sample_init_zero;

        set(&sample.location_id, write_stack, &element);
        set(&sample.value, write_values, &element);
        set(&sample.label, write_labels, &element);
        if (!write_message(stream, field, cpt_pprof_Sample_fields, &sample)) {
            return false;
        }
    }
    return true;
}

static bool write_mapping(pb_ostream_t *stream, const pb_field_t *field,
                          void *const *arg)
{
    const struct cpti_profile *profile = *arg;
    const cpt_pprof_Mapping mapping = {.id = 1,
                                       .filename = profile->title,
                                       .has_functions = true,
                                       .has_filenames = true};

    return write_message(stream, field, cpt_pprof_Mapping_fields, &mapping);
}

static bool write_line(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct element *element = *arg;
    const cpt_pprof_Line line = {.function_id = element->index + 1};

    return write_message(stream, field, cpt_pprof_Line_fields, &line);
}

static bool write_locations(pb_ostream_t *stream, const pb_field_t *field,
                            void *const *arg)
{
    struct element element = {*arg, 0};

    for (; element.index < element.profile->function_count; element.index++) {
        cpt_pprof_Location location = {.id = element.index + 1, .mapping_id = 1};

        set(&location.line, write_line, &element);
        if (!write_message(stream, field, cpt_pprof_Location_fields, &location)) {
            return false;
        }
    }
    return true;
}

static bool write_functions(pb_ostream_t *stream, const pb_field_t *field,
                            void *const *arg)
{
    const struct cpti_profile *profile = *arg;

    for (size_t i = 0; i < profile->function_count; i++) {
        const cpt_pprof_Function function = {.id = i + 1,
                                             .name = profile->functions[i].name,
                                             .filename =
                                                 profile->functions[i].filename};

        if (!write_message(stream, field, cpt_pprof_Function_fields, &function)) {
            return false;
        }
    }
    return true;
}

static bool write_strings(pb_ostream_t *stream, const pb_field_t *field,
                          void *const *arg)
{
    const struct cpti_profile *profile = *arg;

    for (uint32_t i = 0; i < profile->strings.count; i++) {
        const struct cpt_bytes string = cpti_strings_at(&profile->strings, i);

        if (!pb_encode_tag_for_field(stream, field) ||
            !pb_encode_string(stream, (const pb_byte_t *)string.data, string.bytes)) {
            return false;
        }
    }
    return true;
}

static bool write_comments(pb_ostream_t *stream, const pb_field_t *field,
                           void *const *arg)
{
    const struct cpti_profile *profile = *arg;

    return write_packed(stream, field, profile->comments, profile->comment_count);
}

/* --- The whole --- */

static bool to_gzip(pb_ostream_t *stream, const pb_byte_t *data, size_t bytes)
{
    return cpti_gzip_write(stream->state, data, bytes) == CPT_OK;
}

static cpt_status encode(struct cpti_profile *profile, struct cpti_gzip *gzip,
                         struct cpt_error *error)
{
    const struct cpti_value_type *primary = &profile->types[CPTI_VALUE_AVERAGE];
    cpt_pprof_Profile message = cpt_pprof_Profile_init_zero;
    pb_ostream_t stream = {.callback = to_gzip, .state = gzip, .max_size = SIZE_MAX};

    set(&message.sample_type, write_types, profile);
    set(&message.sample, write_samples, profile);
    set(&message.mapping, write_mapping, profile);
    set(&message.location, write_locations, profile);
    set(&message.function, write_functions, profile);
    set(&message.string_table, write_strings, profile);
    set(&message.comment, write_comments, profile);
    message.time_nanos = (int64_t)profile->time_unix_ns;
    message.has_period_type = true;
    message.period_type.type = primary->type;
    message.period_type.unit = primary->unit;
    message.period = 1;
    message.default_sample_type = primary->type;
    if (!pb_encode(&stream, cpt_pprof_Profile_fields, &message) ||
        cpti_gzip_finish(gzip) != CPT_OK) {
        return cpt_error_set(error, CPT_IO, 0, "the profile could not be written");
    }
    return CPT_OK;
}

/* The key of label @index; those of groups come after the others. */
static const char *label_key(const struct cpt_pprof_options *options, size_t index)
{
    return index < options->label_count
               ? options->labels[index].key
               : options->group_keys[index - options->label_count];
}

static cpt_status check_labels(const struct cpt_pprof_options *options,
                               struct cpt_error *error)
{
    const size_t count = options->label_count + options->group_key_count;

    if (count > CPT_PPROF_LABELS_MAX || count < options->label_count) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "there are %zu labels, the limit is %d", count,
                             CPT_PPROF_LABELS_MAX);
    }
    if (options->group_count > CPT_PPROF_GROUPS_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "there are %zu groups, the limit is %d",
                             options->group_count, CPT_PPROF_GROUPS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        const char *key = label_key(options, i);

        if (key[0] == '\0' || strncmp(key, "pprof::", strlen("pprof::")) == 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "the key of label %zu is empty or pprof's own", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(key, label_key(options, j)) == 0) {
                return cpt_error_set(error, CPT_INVALID, 0,
                                     "labels %zu and %zu have the same key", j, i);
            }
        }
    }
    return CPT_OK;
}

static cpt_status check_options(const struct cpt_tree *tree,
                                const struct cpt_pprof_options *options,
                                struct cpt_error *error)
{
    if (cpt_tree_request_count(tree) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "there are no requests to average");
    }
    if (options->kind > CPT_PPROF_DRAG) {
        return cpt_error_set(error, CPT_INVALID, 0, "there is no kind %u of profiles",
                             options->kind);
    }
    if (options->kind == CPT_PPROF_DRAG && cpt_gain_request_count(tree) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "no request has drags");
    }
    if (options->gzip_level < 0 || options->gzip_level > 9) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the gzip level is %d, it has to be 1 to 9",
                             options->gzip_level);
    }
    if (options->time_unix_ns > INT64_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0, "the time does not fit a profile");
    }
    return check_labels(options, error);
}

static cpt_status make_and_encode(const struct cpt_alloc *alloc,
                                  const struct cpt_tree *tree,
                                  const struct cpt_pprof_options *options,
                                  struct cpti_gzip *gzip, struct cpt_error *error)
{
    struct cpti_profile profile = {0};
    cpt_status status = cpti_profile_make(&profile, alloc, tree, options, error);

    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
        goto out;
    }
    status = cpti_profile_check(&profile, error);
    if (status == CPT_OK) {
        status = encode(&profile, gzip, error);
    }
out:
    cpti_profile_deinit(&profile);
    return status;
}

cpt_status cpt_pprof_write(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                           const struct cpt_pprof_options *options,
                           const struct cpt_sink *sink, struct cpt_error *error)
{
    struct cpt_pprof_options own;
    struct cpti_gzip *gzip = NULL;
    cpt_status status = cpt_options_read(&own, sizeof own, options, error);
    int level = 0;

    if (status != CPT_OK) {
        return status;
    }
    status = check_options(tree, &own, error);
    if (status != CPT_OK) {
        return status;
    }
    if (!own.is_uncompressed) {
        level = own.gzip_level != 0 ? own.gzip_level : GZIP_LEVEL_DEFAULT;
    }
    gzip = cpti_gzip_new(alloc, sink, level);
    if (gzip == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    status = make_and_encode(alloc, tree, &own, gzip, error);
    cpti_gzip_free(gzip);
    return status;
}
