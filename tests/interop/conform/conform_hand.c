/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_hand.c - cases written by hand: the freedoms of a writer of paths
 *
 * What must be refused is in tests/data/metadata/bad/; here are limits at limit and
 * limit + 1, and forms that a careful writer does not use but a reader must take.
 */
#include "tests/interop/conform/conform_case.h"

#include "wire/cpt_metadata.h"

#include <stdlib.h>
#include <string.h>

/* --- Values of the header --- */

/* One path, "A: /" for 9 ns, in several forms; in base64. */
static const struct {
    const char *name;
    const char *value;
} values[] = {
    {"canonical", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQ"},
    {"with padding", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQ=="},
    {"with one sign of padding", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQ="},
    {"with three signs of padding", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQ==="},
    {"bits behind the last byte", "CAEYCSoEQTogLzIBADoBAUoBAFIBCR"},
    {"a character too many", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQA"},
    {"a length that base64 never has", "CAEYC"},
    {"base64 of the other alphabet", "CAEYCSoEQTogLzIBADoBAUoBAFIBCQ-_"},
    {"padding inside", "CAEY=CSoEQTogLzIBADoBAUoBAFIBCQ"},
    {"only padding", "=="},
    {"nothing", "-"},
};

/* A message as hexadecimal digits. */
struct message {
    const char *name;
    const char *digits;
};

static const struct message messages[] = {
    {"columns that are not packed", "080118092a04413a202f3000380148005009"},
    {"fields from the last to the first", "520109"
                                          "4a0100"
                                          "3a0101"
                                          "320100"
                                          "2a04413a202f"
                                          "1809"
                                          "0801"},
    {"a column in two pieces", "080118122a04413a202f3201003a01014a01004a010052010952"
                               "0109"},
    {"an empty piece of a column", "080118092a04413a202f320032010032003a01014a010052"
                                   "0109"},
    {"single numbers twice, the last counts", "080508011807180920012000"
                                              "2a04413a202f3201003a01014a0100520109"},
    {"unknown fields of all types",
     "080118092a04413a202f3201003a01014a0100520109"
     "a0060ba9060102030405060708aa0603010203ad0601020304"},
    {"an unknown group", "080118092a04413a202f3201003a01014a0100520109a306a406"},
    {"an unknown group that is closed only", "0801a406"},
    {"wire type 6", "0801a606"},
    {"wire type 7", "0801a706"},
    {"numbers with more bytes than needed", "0881808000188980002a04413a202f320100"
                                            "3a0101"
                                            "4a01005203898000"},
    {"a number of ten bytes", "088180808080808080800018092a04413a202f3201003a01014a01"
                              "00520109"},
    {"a number of eleven bytes", "08818080808080808080800018092a04413a202f3201003a0101"
                                 "4a0100520109"},
    {"a tag with more bytes than needed", "888000011809"},
    {"an empty name is no name", "080118092a003201003a01014a0100520109"},
    {"an empty name and no name are the same frame", "080118092a0032020000"
                                                     "3a020100"
                                                     "4a0100520109"},
    {"a name twice", "080118092a0141"
                     "2a0141"
                     "3202000042"
                     "003a020102"
                     "4a0100520109"},
    {"names and frames that are not used", "080118092a04413a202f2a01783203000101"
                                           "3a030102014a0100520109"},
    {"unknown kind, reason, flags", "080118092080022a04413a202f3201003a01014202ff014a01"
                                    "00520109620380807e6a02ff01"},
    {"zeros at the end of optional columns", "080118092a04413a202f3201003a0101420100"
                                             "4a01005201095a010062010"
                                             "06a0100"},
    {"labels in any order of keys",
     "080118092a04413a202f3201003a01014a010052010972020000"
     "7a020601820101018a01020105"},
    {"a label twice, the last counts",
     "080118092a04413a202f3201003a01014a0100520109720200"
     "007a0201018a01020305"},
    {"a label with an unknown key",
     "080118092a04413a202f3201003a01014a01005201097201007a01"
     "638a010103"},
    {"a label with another type of value",
     "080118092a04413a202f3201003a01014a010052010972"
     "01007a01018201"
     "01018a010101"},
    {"a label of neither type",
     "080118092a04413a202f3201003a01014a01005201097201007a0101"
     "820101028a010177"},
    {"a label without a name",
     "080118092a04413a202f3201003a01014a01005201097201007a0103"
     "820101018a010100"},
    {"an unknown label with a name that is not there",
     "080118092a04413a202f3201003a01014a01005201097201007a0163820101018a010109"},
    {"a count of 2^32 - 1",
     "080118092a04413a202f3201003a01014a01005201095a05feffffff0f"},
    {"a count of 2^32", "080118092a04413a202f3201003a01014a01005201095a05ffffffff0f"},
    {"the sum only", "08011809"},
    {"the sum only, and the time", "0801100a1809"},
    {"the time only", "0801100a"},
    {"the version only", "0801"},
    {"frames without segments and a sum of 0", "08012a04413a202f3201003a0101"},
    {"names without frames and a sum", "080118092a0141"},
    {"the longest time", "080110ffffffffffffffff7f18ffffffffffffffff7f"},
    {"a time of 2^63", "0801108080808080808080800118"
                       "09"},
    {"a nonce", "080118092a04413a202f3201003a01014a01005201099901657d4c8881d0869f"},
    {"a nonce before all other fields",
     "9901657d4c8881d0869f080118092a04413a202f3201003a01014a0100520109"},
    {"a nonce of 0", "08011809990100000000000000"
                     "00"},
    {"the largest nonce", "080118099901ffffffffffffffff"},
    {"a nonce of 1", "0801180999010100000000000000"},
    {"a nonce twice, the last counts",
     "080199010100000000000000180999010000000000000080"},
    {"a nonce, then 0", "08011809990101000000000000009901000000000000"
                        "0000"},
    {"a nonce and the version only", "0801990101000000000000"
                                     "00"},
    {"a nonce whose tag has more bytes than needed", "080118099981000100000000000000"},
    {"a nonce as a number", "08011809980107"},
    {"a nonce as four bytes", "080118099d0101020304"},
    {"a nonce as bytes", "080118099a01080102030405060708"},
    {"a nonce cut short", "08011809990101020304050607"},
    {"flags above 32 bits", "080120ff808080f0ff3f"},
    {"version 2^32 + 1", "088180808010"},
    {"version 2", "0802"},
    {"the largest field number", "08011809f8ffffff0f07"},
};

/* Three segments of 9, 5 and 9 ns, and what is behind them. */
#define THREE                                                                          \
    "080118172a04413a202f3201003a01014a0300000052030905"                               \
    "09"

static const struct message drags[] = {
    {"no drags", THREE},
    {"drags that are the durations", THREE "920103000000"},
    {"one number for all", THREE "92010100"},
    {"an empty column of drags", THREE "920100"},
    {"drags that are not known", THREE "9201"
                                       "03020202"},
    {"one drag that is not known", THREE "9201"
                                         "0102"},
    {"a drag of 0", THREE "9201"
                          "0103"},
    {"a drag of 7 ns, and again", THREE "9201"
                                        "030a0101"},
    {"a drag said again before any", THREE "9201"
                                           "03010101"},
    {"a drag that is not known between two", THREE "9201"
                                                   "03070201"},
    {"the duration between two", THREE "9201"
                                       "03070001"},
    {"a drag above its segment", THREE "9201"
                                       "030d0000"},
    {"a drag above its segment, and again", THREE "9201"
                                                  "03640101"},
    {"a drag above its segment, and again in a longer one", THREE "9201"
                                                                  "03000b01"},
    {"another drag is said", THREE "9201"
                                   "03070601"},
    {"the largest drag", THREE "9201"
                               "0c"
                               "ffffffffffffffffff01"
                               "0101"},
    {"drags that are not packed", THREE "90010790010190"
                                        "0101"},
    {"drags in two pieces", THREE "9201"
                                  "0107"
                                  "9201"
                                  "020101"},
    {"drags before all other fields", "9201"
                                      "03070101" THREE},
    {"more drags than segments", THREE "9201"
                                       "0400000000"},
    {"drags without segments", "08011809"
                               "92010100"},
    {"drags as 8 bytes", THREE "9101"
                               "0000000000000000"},
    {"a drag of 65 bits", THREE "9201"
                                "0affffffffffffffffff02"},
};

#undef THREE

static bool message_case(struct cpti_conform_case *conform_case,
                         enum cpti_conform_group group, const struct message *message)
{
    unsigned char data[256];
    const size_t bytes = cpti_conform_digits(message->digits, data, sizeof data);

    return cpti_conform_bytes_case(conform_case, group, message->name, data, bytes);
}

/* A path of @depth frames below each other; its name has @name_bytes, and a field that
 * no version knows fills it up to @bytes. */
static bool limit_case(struct cpti_conform_case *conform_case, const char *name,
                       size_t depth, size_t name_bytes, size_t bytes)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char *data = NULL;
    unsigned char *room = calloc(1, 1 << 17);
    char text[CPT_NAME_BYTES_MAX];
    uint32_t frame = CPT_FRAME_NONE;
    size_t used = 0;
    bool is_made = false;

    memset(text, 'n', sizeof text);
    for (size_t i = 0; path != NULL && i < depth; i++) {
        (void)cpt_path_frame_add(path, frame, (struct cpt_bytes){text, name_bytes}, 0,
                                 &frame);
    }
    if (path != NULL && room != NULL && cpt_path_append_ns(path, frame, 9) == CPT_OK &&
        cpt_metadata_encode(path, &options, &data, &used, NULL) == CPT_OK) {
        memcpy(room, data, used);
        if (bytes > used + 5) { /* field 100 of wire type 2, a length of 3 bytes */
            const size_t rest = bytes - used - 5;
            const unsigned char head[] = {
                0xa2, 0x06, (unsigned char)(rest & 0x7f) | 0x80,
                (unsigned char)(rest >> 7 & 0x7f) | 0x80, (unsigned char)(rest >> 14)};

            memcpy(room + used, head, sizeof head);
            used = bytes;
        }
        is_made =
            cpti_conform_bytes_case(conform_case, CPTI_CONFORM_PATHS, name, room, used);
    }
    cpt_path_free(path);
    cpt_alloc_free(NULL, data);
    free(room);
    return is_made;
}

static bool give_messages(cpti_conform_take *take, void *context,
                          enum cpti_conform_group group, const struct message *rows,
                          size_t row_count)
{
    struct cpti_conform_case one;
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < row_count; i++) {
        goes_on =
            cpti_conform_give(take, context, message_case(&one, group, &rows[i]), &one);
    }
    return goes_on;
}

static bool give_limits(cpti_conform_take *take, void *context)
{
    static const struct {
        const char *name;
        size_t depth;
        size_t name_bytes;
        size_t bytes;
    } rows[] = {{"1,024 frames deep", 1024, 3, 0},
                {"a name of 255 bytes", 2, 255, 0},
                {"65,536 bytes", 2, 3, 65536}};
    struct cpti_conform_case one;
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < sizeof rows / sizeof rows[0]; i++) {
        goes_on = cpti_conform_give(take, context,
                                    limit_case(&one, rows[i].name, rows[i].depth,
                                               rows[i].name_bytes, rows[i].bytes),
                                    &one);
    }
    return goes_on;
}

bool cpti_conform_hand(cpti_conform_take *take, void *context)
{
    struct cpti_conform_case one;
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < sizeof values / sizeof values[0]; i++) {
        goes_on = cpti_conform_give(
            take, context,
            cpti_conform_path_case(&one, CPTI_CONFORM_PATHS, values[i].name,
                                   cpt_bytes_of(values[i].value)),
            &one);
    }
    return goes_on &&
           give_messages(take, context, CPTI_CONFORM_PATHS, messages,
                         sizeof messages / sizeof messages[0]) &&
           give_messages(take, context, CPTI_CONFORM_DRAGS, drags,
                         sizeof drags / sizeof drags[0]) &&
           give_limits(take, context);
}
