/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_hand.c - cases written by hand: asks, and the freedoms of a writer
 *
 * What must be refused is in tests/data/metadata/bad/; here are limits at limit and
 * limit + 1, and forms that a careful writer does not use but a reader must take.
 */
#include "cpt/cli/conform/conform_case.h"

#include "cpt/cli/base/memory_file.h"
#include "wire/cpt_metadata.h"

#include <stdlib.h>
#include <string.h>

/* --- Asks --- */

/* Values of the header; two are separated by a line end. */
static const char *const asks[] = {
    "1",
    "1;max=2048",
    "1;max=2048;forced",
    "1;forced;max=2048",
    "1;max=0",
    "1;max=2147483647",
    "1;max=2147483648",
    "1;max=999999999999999",
    "1;max=1000000000000000",
    "1;max=-1",
    "1;max=12;max=7",
    "1;max=1.5",
    "1;max",
    "1;max=",
    "1;max=?1",
    "1;max=\"7\"",
    "1;forced=?1",
    "1;forced=?0",
    "1;forced=?2",
    "1;forced=1",
    "1;forced;forced=?0",
    "1;other",
    "1;other=1.25",
    "1;other=1.2345",
    "1;other=-3",
    "1;other=\"a;\\\"b\\\\\"",
    "1;other=\"a",
    "1;other=\"\\a\"",
    "1;other=token/x:y",
    "1;other=*token",
    "1;other=:AQID:",
    "1;other=:AQID",
    "1;other=:!:",
    "1;Other",
    "1;*other_-.1*=3",
    "1;9other",
    "1; max=9",
    "1;  max=9;   forced",
    "1 ;max=9",
    "1;max =9",
    "1;max= 9",
    "1;",
    "1;;max=9",
    " 1",
    "1 ",
    "  1;max=9  ",
    "\t1",
    "1\t",
    "1;\tmax=9",
    "2",
    "2147483647",
    "2147483648",
    "0",
    "-1",
    "01",
    "000000000000001",
    "0000000000000001",
    "1.0",
    "1,1",
    "\"1\"",
    "?1",
    "one",
    "",
    " ",
    "1;max=9 x",
    "1;\xc3\xa9",
    "1\n1",
    "1;max=9\n1;max=10",
};

static bool ask_case(struct cpti_conform_case *conform_case, const char *values,
                     size_t value_count, size_t number)
{
    struct cpti_memory_file sent;
    struct cpti_memory_file wanted;
    struct cpt_bytes list[2] = {{values, strcspn(values, "\n")}, {NULL, 0}};
    struct cpt_ask ask = {0};

    if (value_count == 2) {
        list[1] = cpt_bytes_of(values + list[0].bytes + 1);
    }
    *conform_case = (struct cpti_conform_case){.group = CPTI_CONFORM_ASKS};
    (void)snprintf(conform_case->name, sizeof conform_case->name, "ask %zu", number);
    if (cpti_memory_file_open(&sent)) {
        (void)fputs("ask", sent.file);
        for (size_t i = 0; i < value_count; i++) {
            (void)fputs(list[i].bytes != 0 ? " " : " -", sent.file);
            cpti_conform_put_base64(sent.file, list[i].data, list[i].bytes);
        }
        conform_case->sent = cpti_memory_file_close(&sent) ? sent.text : NULL;
    }
    if (cpti_memory_file_open(&wanted)) {
        if (cpt_ask_parse(list, value_count, &ask, NULL) == CPT_OK) {
            (void)fprintf(wanted.file, "%u %zu %d", ask.version, ask.bytes_max,
                          ask.is_forced);
        } else {
            (void)fputs("none", wanted.file);
        }
        conform_case->wanted = cpti_memory_file_close(&wanted) ? wanted.text : NULL;
    }
    return conform_case->sent != NULL && conform_case->wanted != NULL;
}

/* An ask that is @bytes long. */
static bool long_ask_case(struct cpti_conform_case *conform_case, size_t bytes)
{
    char text[CPT_ASK_BYTES_MAX + 2] = "1;a=";

    memset(text + 4, 'b', bytes - 4);
    text[bytes] = '\0';
    return ask_case(conform_case, text, 1, bytes);
}

static bool give(cpti_conform_take *take, void *context, bool is_made,
                 struct cpti_conform_case *conform_case)
{
    if (is_made) {
        return take(context, conform_case);
    }
    cpti_conform_case_deinit(conform_case);
    return true;
}

static bool give_asks(cpti_conform_take *take, void *context)
{
    struct cpti_conform_case one;
    bool goes_on = give(take, context, ask_case(&one, "", 0, 0), &one);

    for (size_t i = 0; goes_on && i < sizeof asks / sizeof asks[0]; i++) {
        const size_t count = strchr(asks[i], '\n') != NULL ? 2 : 1;

        goes_on = give(take, context, ask_case(&one, asks[i], count, i + 1), &one);
    }
    goes_on =
        goes_on && give(take, context, long_ask_case(&one, CPT_ASK_BYTES_MAX), &one);
    return goes_on &&
           give(take, context, long_ask_case(&one, CPT_ASK_BYTES_MAX + 1), &one);
}

/* --- Values of the other header --- */

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

/* The same as hexadecimal digits. */
static const struct {
    const char *name;
    const char *digits;
} messages[] = {
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
    {"flags above 32 bits", "080120ff808080f0ff3f"},
    {"version 2^32 + 1", "088180808010"},
    {"version 2", "0802"},
};

static int digit_of(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static bool message_case(struct cpti_conform_case *conform_case, const char *name,
                         const char *digits)
{
    unsigned char data[256];
    const size_t bytes = strlen(digits) / 2;

    for (size_t i = 0; i < bytes && i < sizeof data; i++) {
        data[i] =
            (unsigned char)(digit_of(digits[2 * i]) * 16 + digit_of(digits[2 * i + 1]));
    }
    return cpti_conform_bytes_case(conform_case, CPTI_CONFORM_PATHS, name, data, bytes);
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

bool cpti_conform_hand(cpti_conform_take *take, void *context)
{
    struct cpti_conform_case one = {0};
    bool goes_on = give_asks(take, context);

    for (size_t i = 0; goes_on && i < sizeof values / sizeof values[0]; i++) {
        goes_on = give(take, context,
                       cpti_conform_path_case(&one, CPTI_CONFORM_PATHS, values[i].name,
                                              cpt_bytes_of(values[i].value)),
                       &one);
    }
    for (size_t i = 0; goes_on && i < sizeof messages / sizeof messages[0]; i++) {
        goes_on = give(take, context,
                       message_case(&one, messages[i].name, messages[i].digits), &one);
    }
    goes_on = goes_on && give(take, context,
                              limit_case(&one, "1,024 frames deep", 1024, 3, 0), &one);
    goes_on = goes_on && give(take, context,
                              limit_case(&one, "a name of 255 bytes", 2, 255, 0), &one);
    return goes_on &&
           give(take, context, limit_case(&one, "65,536 bytes", 2, 3, 65536), &one);
}
