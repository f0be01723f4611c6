/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* read_profile.c - see read_profile.h */
#include "tests/unit/pprof-export/read_profile.h"

#include <CUnit/CUnit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rest of a message. */
struct input {
    const unsigned char *at;
    const unsigned char *end;
};

static uint64_t varint(struct input *input)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;

    do {
        CU_ASSERT_TRUE_FATAL(input->at < input->end && shift < 64);
        byte = *input->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return value;
}

static struct input part(struct input *input)
{
    const uint64_t bytes = varint(input);
    const struct input inner = {input->at, input->at + bytes};

    CU_ASSERT_TRUE_FATAL(bytes <= (uint64_t)(input->end - input->at));
    input->at += bytes;
    return inner;
}

/* The number of the next field; its wire type has to be @type. */
static unsigned field(struct input *input, unsigned *type)
{
    const uint64_t tag = varint(input);

    *type = (unsigned)tag & 7;
    CU_ASSERT_TRUE_FATAL(*type == 0 || *type == 2);
    return (unsigned)(tag >> 3);
}

/* A message of numbers only: values[i] is field fields[i]; others are not allowed. */
static void numbers(struct input input, const unsigned *fields, uint64_t *values,
                    size_t count)
{
    memset(values, 0, count * sizeof *values);
    while (input.at < input.end) {
        unsigned type = 0;
        const unsigned number = field(&input, &type);
        size_t i = 0;

        while (i < count && fields[i] != number) {
            i++;
        }
        CU_ASSERT_TRUE_FATAL(i < count && type == 0);
        values[i] = varint(&input);
    }
}

static size_t packed(struct input input, uint64_t *values, size_t capacity)
{
    size_t count = 0;

    while (input.at < input.end) {
        CU_ASSERT_TRUE_FATAL(count < capacity);
        values[count++] = varint(&input);
    }
    return count;
}

/* @array with room for one more than @count; it doubles whenever @count is a power of
 * two, so no capacity is kept. */
static void *grown(void *array, size_t count, size_t element_bytes)
{
    void *result = array;

    if ((count & (count - 1)) == 0) {
        result = realloc(array, (count != 0 ? 2 * count : 1) * element_bytes);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    return result;
}

static void read_sample(struct read_profile *profile, struct input input)
{
    struct read_sample *sample = NULL;

    profile->samples =
        grown(profile->samples, profile->sample_count, sizeof *profile->samples);
    sample = &profile->samples[profile->sample_count++];
    memset(sample, 0, sizeof *sample);
    while (input.at < input.end) {
        unsigned type = 0;
        const unsigned number = field(&input, &type);

        CU_ASSERT_TRUE_FATAL(type == 2 && number >= 1 && number <= 3);
        if (number == 1) {
            const struct input inner = part(&input);
            const size_t bytes = (size_t)(inner.end - inner.at);

            CU_ASSERT_PTR_NULL(sample->locations);
            sample->locations = calloc(bytes + 1, sizeof *sample->locations);
            CU_ASSERT_PTR_NOT_NULL_FATAL(sample->locations);
            sample->location_count = packed(inner, sample->locations, bytes);
        } else if (number == 2) {
            sample->value_count = packed(part(&input), sample->values, READ_VALUES_MAX);
        } else {
            static const unsigned fields[] = {1, 2}; /* key, text; never a number */

            CU_ASSERT_TRUE_FATAL(sample->label_count < READ_VALUES_MAX);
            numbers(part(&input), fields, sample->labels[sample->label_count++], 2);
        }
    }
}

static void read_mapping(struct read_profile *profile, struct input input)
{
    static const unsigned fields[] = {1, 5, 7, 8};
    uint64_t values[4];

    numbers(input, fields, values, 4);
    CU_ASSERT_EQUAL(values[0], ++profile->mapping_count);
    profile->mapping_filename = values[1];
    profile->has_functions = values[2] == 1;
}

static void read_location(struct read_profile *profile, struct input input)
{
    static const unsigned line_fields[] = {1};
    uint64_t id = 0;
    uint64_t mapping = 0;
    uint64_t function = 0;
    unsigned line_count = 0;

    while (input.at < input.end) {
        unsigned type = 0;
        const unsigned number = field(&input, &type);

        if (number == 4) {
            numbers(part(&input), line_fields, &function, 1);
            line_count++;
        } else {
            CU_ASSERT_TRUE_FATAL(type == 0 && (number == 1 || number == 2));
            *(number == 1 ? &id : &mapping) = varint(&input);
        }
    }
    profile->locations =
        grown(profile->locations, profile->location_count, sizeof *profile->locations);
    profile->locations[profile->location_count][0] = mapping;
    profile->locations[profile->location_count][1] = function;
    CU_ASSERT_EQUAL(line_count, 1);
    CU_ASSERT_EQUAL(id, ++profile->location_count);
}

static void read_function(struct read_profile *profile, struct input input)
{
    static const unsigned fields[] = {1, 2, 4}; /* 3, system_name, may be absent */
    uint64_t values[3];

    numbers(input, fields, values, 3);
    profile->functions =
        grown(profile->functions, profile->function_count, sizeof *profile->functions);
    profile->functions[profile->function_count][0] = values[1];
    profile->functions[profile->function_count][1] = values[2];
    CU_ASSERT_EQUAL(values[0], ++profile->function_count);
}

static void read_string(struct read_profile *profile, struct input input)
{
    const size_t bytes = (size_t)(input.end - input.at);
    char *string = calloc(bytes + 1, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(string);
    memcpy(string, input.at, bytes);
    profile->strings =
        grown(profile->strings, profile->string_count, sizeof *profile->strings);
    profile->strings[profile->string_count++] = string;
}

static void read_message(struct read_profile *profile, unsigned number,
                         struct input input)
{
    static const unsigned type_fields[] = {1, 2};

    switch (number) {
    case 1:
        CU_ASSERT_TRUE_FATAL(profile->type_count < READ_VALUES_MAX);
        numbers(input, type_fields, profile->types[profile->type_count++], 2);
        break;
    case 2:
        read_sample(profile, input);
        break;
    case 3:
        read_mapping(profile, input);
        break;
    case 4:
        read_location(profile, input);
        break;
    case 5:
        read_function(profile, input);
        break;
    case 6:
        read_string(profile, input);
        break;
    case 11:
        numbers(input, type_fields, profile->period_type, 2);
        break;
    case 13:
        profile->comment_count = packed(input, profile->comments, 64);
        break;
    default:
        CU_FAIL_FATAL("a field that may not be there");
    }
}

void read_profile(struct read_profile *profile, const unsigned char *data, size_t bytes)
{
    struct input input = {data, data + bytes};

    memset(profile, 0, sizeof *profile);
    while (input.at < input.end) {
        unsigned type = 0;
        const unsigned number = field(&input, &type);

        if (type == 2) {
            read_message(profile, number, part(&input));
        } else if (number == 9) {
            profile->time_nanos = varint(&input);
        } else if (number == 12) {
            profile->period = varint(&input);
        } else {
            CU_ASSERT_EQUAL_FATAL(number, 14);
            profile->default_type = varint(&input);
        }
    }
}

void read_profile_deinit(struct read_profile *profile)
{
    for (size_t i = 0; i < profile->string_count; i++) {
        free(profile->strings[i]);
    }
    for (size_t i = 0; i < profile->sample_count; i++) {
        free(profile->samples[i].locations);
    }
    free(profile->strings);
    free(profile->samples);
    free(profile->locations);
    free(profile->functions);
}

void read_profile_stack(const struct read_profile *profile, size_t sample, char *text,
                        size_t capacity)
{
    const struct read_sample *at = &profile->samples[sample];
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = at->location_count; i-- > 0;) {
        const uint64_t function = profile->locations[at->locations[i] - 1][1];

        bytes += (size_t)snprintf(text + bytes, capacity - bytes, "%s%s",
                                  profile->strings[profile->functions[function - 1][0]],
                                  i != 0 ? ";" : "");
        CU_ASSERT_TRUE_FATAL(bytes < capacity);
    }
}
