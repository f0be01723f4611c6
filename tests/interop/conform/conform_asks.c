/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_asks.c - asks and nonces, and what a service asks of its callees
 *
 * An ask that a service sends on is judged by its meaning: the lower budget, the same
 * delay, drags if they were asked for, never forced, and no graph, as each call has an
 * id of its own.
 */
#include "tests/interop/conform/conform_case.h"

#include "tool/base/memory_file.h"
#include "tests/interop/conform/conform_random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The values in @text, which a line end separates; NULL: none. At most VALUES_MAX. */
enum { VALUES_MAX = 3 };

static size_t split(const char *text, struct cpt_bytes values[VALUES_MAX])
{
    size_t count = 0;

    while (text != NULL && count < VALUES_MAX) {
        const size_t bytes = strcspn(text, "\n");

        values[count++] = (struct cpt_bytes){text, bytes};
        text = text[bytes] != '\0' ? text + bytes + 1 : NULL;
    }
    return count;
}

/* A case whose line is @words and the values. */
static bool begin_case(struct cpti_conform_case *conform_case,
                       enum cpti_conform_group group, const char *words,
                       const struct cpt_bytes *values, size_t value_count)
{
    struct cpti_memory_file sent;

    *conform_case = (struct cpti_conform_case){.group = group};
    if (!cpti_memory_file_open(&sent)) {
        return false;
    }
    (void)fputs(words, sent.file);
    cpti_conform_put_values(sent.file, values, value_count);
    conform_case->sent = cpti_memory_file_close(&sent) ? sent.text : NULL;
    return conform_case->sent != NULL;
}

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
    "1;drag",
    "1;drag=?1",
    "1;drag=?0",
    "1;drag;drag=?0",
    "1;drag;drag=1",
    "1;drag=1",
    "1;drag=\"1\"",
    "1;drag=?2",
    "1;drags",
    "1;Drag",
    "1;max=2048;drag;graph=\"9f86d081884c7d65\"",
    "1;graph=\"9f86d081884c7d65\"",
    "1;graph=\"0000000000000001\"",
    "1;graph=\"ffffffffffffffff\"",
    "1;graph=\"0000000000000000\"",
    "1;graph=\"9F86D081884C7D65\"",
    "1;graph=\"9f86d081884c7d6\"",
    "1;graph=\"9f86d081884c7d655\"",
    "1;graph=\"9f86d081884c7d6g\"",
    "1;graph=\"9f86d081884c7d6\\\"\"",
    "1;graph=\" f86d081884c7d65\"",
    "1;graph=\"\"",
    "1;graph=9f86d081884c7d65",
    "1;graph=a9f86d081884c7d6",
    "1;graph=1234567890123456",
    "1;graph=123456789012345",
    "1;graph=:n4bQgYhMfWU=:",
    "1;graph",
    "1;graph=\"9f86d081884c7d65",
    "1;graph=\"9f86d081884c7d65\";graph=\"1111111111111111\"",
    "1;graph=\"9f86d081884c7d65\";graph",
    "1;delay=5000000;at=\"9f86d081884c7d65\";burn",
    "1;delay=1.5",
    "1;delay=",
    "1;at=\"9f86d081884c7d65",
    "1;burn=1",
    "1;burn=?2",
};

static char *ask_line(const struct cpt_ask *ask)
{
    struct cpti_memory_file wanted;

    if (!cpti_memory_file_open(&wanted)) {
        return NULL;
    }
    (void)fprintf(wanted.file, "%u %zu %d %d ", ask->version, ask->bytes_max,
                  ask->is_forced, ask->wants_drag);
    cpti_conform_put_nonce(wanted.file, ask->graph_id);
    return cpti_memory_file_close(&wanted) ? wanted.text : NULL;
}

static bool ask_case(struct cpti_conform_case *conform_case, const char *text,
                     size_t number)
{
    struct cpt_bytes values[VALUES_MAX];
    const size_t count = split(text, values);
    struct cpt_ask ask;

    if (!begin_case(conform_case, CPTI_CONFORM_ASKS, "ask", values, count)) {
        return false;
    }
    (void)snprintf(conform_case->name, sizeof conform_case->name, "ask %zu", number);
    conform_case->wanted = cpt_ask_parse(values, count, &ask, NULL) == CPT_OK
                               ? ask_line(&ask)
                               : strdup("none");
    return conform_case->wanted != NULL;
}

/* An ask that is @bytes long. */
static bool long_ask_case(struct cpti_conform_case *conform_case, size_t bytes)
{
    char text[CPT_ASK_BYTES_MAX + 2] = "1;a=";

    memset(text + 4, 'b', bytes - 4);
    text[bytes] = '\0';
    return ask_case(conform_case, text, bytes);
}

static bool give_asks(cpti_conform_take *take, void *context)
{
    struct cpti_conform_case one;
    bool goes_on = cpti_conform_give(take, context, ask_case(&one, NULL, 0), &one);

    for (size_t i = 0; goes_on && i < sizeof asks / sizeof asks[0]; i++) {
        goes_on =
            cpti_conform_give(take, context, ask_case(&one, asks[i], i + 1), &one);
    }
    for (size_t i = 0; goes_on && i < 2; i++) {
        goes_on = cpti_conform_give(take, context,
                                    long_ask_case(&one, CPT_ASK_BYTES_MAX + i), &one);
    }
    return goes_on;
}

/* --- Nonces --- */

static const char *const nonces[] = {
    "9f86d081884c7d65",
    "0000000000000001",
    "8000000000000000",
    "ffffffffffffffff",
    "0123456789abcdef",
    "1111111111111111",
    "0000000000000000",
    "",
    "-",
    "0",
    "9f86d081884c7d6",
    "9f86d081884c7d650",
    "9f86d081884c7d659f86d081884c7d65",
    "9F86D081884C7D65",
    "9f86d081884c7D65",
    "9f86d081884c7d6g",
    "9f86d081884c7d6 ",
    " 9f86d081884c7d6",
    " 9f86d081884c7d65",
    "9f86d081884c7d65 ",
    "\t9f86d081884c7d65",
    "9f86d081884c7d65\r",
    "\"9f86d081884c7d65\"",
    "0x9f86d081884c7d",
    "+f86d081884c7d65",
    "-f86d081884c7d65",
    "9f86_d081_884c_7",
    "9f86d081-884c7d6",
    "9f86d081884c7d6.",
    "9f86d081884c7d\xc3\xa9",
    "\357\274\231f86d081884c7d",
    "\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1",
    "9f86d081884c7d65;x",
    "9f86d081884c7d65,9f86d081884c7d65",
    "9f86d081884c7d65, 1111111111111111",
    "9f86d081884c7d65,",
    "9f86d081884c7d65\n9f86d081884c7d65",
    "9f86d081884c7d65\n1111111111111111",
    "9f86d081884c7d65\n0000000000000000",
    "9f86d081884c7d65\n",
    "\n9f86d081884c7d65",
    "9f86d081884c7d65\nx\n1111111111111111",
};

static bool nonce_case(struct cpti_conform_case *conform_case, const char *text,
                       size_t number)
{
    struct cpt_bytes values[VALUES_MAX];
    const size_t count = split(text, values);
    const uint64_t nonce = cpt_nonce_parse(values, count);
    char wanted[CPT_NONCE_BYTES + 1] = "none";

    if (!begin_case(conform_case, CPTI_CONFORM_NONCES, "nonce", values, count)) {
        return false;
    }
    (void)snprintf(conform_case->name, sizeof conform_case->name, "nonce %zu", number);
    if (nonce != 0) {
        cpt_nonce_format(nonce, wanted);
    }
    conform_case->wanted = strdup(wanted);
    return conform_case->wanted != NULL;
}

static bool give_nonces(cpti_conform_take *take, void *context)
{
    struct cpti_conform_case one;
    bool goes_on = cpti_conform_give(take, context, nonce_case(&one, NULL, 0), &one);

    for (size_t i = 0; goes_on && i < sizeof nonces / sizeof nonces[0]; i++) {
        goes_on =
            cpti_conform_give(take, context, nonce_case(&one, nonces[i], i + 1), &one);
    }
    return goes_on;
}

/* --- Onward --- */

/* The value of the header, as the answer that is shown if another one came. */
static char *header_line(const struct cpt_ask *ask)
{
    struct cpti_memory_file wanted;
    char text[128];
    const size_t bytes = cpt_ask_format(ask, text, sizeof text);

    if (!cpti_memory_file_open(&wanted)) {
        return NULL;
    }
    (void)fputs("header ", wanted.file);
    cpti_conform_put_base64(wanted.file, text, bytes);
    return cpti_memory_file_close(&wanted) ? wanted.text : NULL;
}

static bool onward_case(struct cpti_conform_case *conform_case, const char *name,
                        const char *text, size_t own_bytes_max)
{
    struct cpt_bytes values[VALUES_MAX];
    const size_t count = split(text, values);
    struct cpt_ask ask;
    char words[40];

    (void)snprintf(words, sizeof words, "onward %zu", own_bytes_max);
    if (!begin_case(conform_case, CPTI_CONFORM_ONWARD, words, values, count)) {
        return false;
    }
    (void)snprintf(conform_case->name, sizeof conform_case->name, "%s", name);
    conform_case->answer = CPTI_ANSWER_ASK;
    if (cpt_ask_parse(values, count, &ask, NULL) != CPT_OK) {
        conform_case->wanted = strdup("none");
    } else {
        conform_case->ask = cpt_ask_downstream(&ask, own_bytes_max);
        conform_case->wanted = header_line(&conform_case->ask);
    }
    return conform_case->wanted != NULL;
}

/* Asks with which a service was asked. */
static const char *const received[] = {
    NULL,
    "1",
    "2;max=9",
    "1;max=100",
    "1;max=3000;forced",
    "1;forced;drag;other=7",
    "1;drag;drag=1",
    "1;graph=\"9f86d081884c7d65\"",
    "1;drag;graph=\"9f86d081884c7d65\";max=700",
    "1;delay=5000000;at=\"9f86d081884c7d65\"",
    "1;delay=5000000;at=\"9f86d081884c7d65\";burn;drag",
    "1;at=\"ffffffffffffffff\";burn;max=1;delay=999999999999999",
    "1;delay=1;at=\"0000000000000001\";burn=?0",
    "1;delay=1;at=\"0000000000000001\";burn=1",
    "1;delay=5000000",
    "1;at=\"9f86d081884c7d65\"",
    "1;burn",
    "1;delay=0;at=\"9f86d081884c7d65\";burn",
    "1;delay=-5;at=\"9f86d081884c7d65\"",
    "1;delay=5.0;at=\"9f86d081884c7d65\"",
    "1;delay=\"5\";at=\"9f86d081884c7d65\"",
    "1;delay=5;at=\"0000000000000000\"",
    "1;delay=5;at=\"9F86D081884C7D65\"",
    "1;delay=5;at=9",
    "1;delay=5;at=\"9f86d081884c7d65\";delay=6",
    "1;delay=5;at=\"9f86d081884c7d65\";delay",
    "1;delay=5;at=\"9f86d081884c7d65\";forced=1",
    "one",
    "1;max",
    "1\n1",
};

static bool give_onward(cpti_conform_take *take, void *context)
{
    static const size_t own[] = {1, 500, 2048, 4096};
    struct cpti_conform_case one;
    char name[CPTI_CONFORM_NAME_BYTES];
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < sizeof received / sizeof received[0]; i++) {
        (void)snprintf(name, sizeof name, "onward %zu", i);
        goes_on = cpti_conform_give(
            take, context, onward_case(&one, name, received[i], own[i % 4]), &one);
    }
    return goes_on;
}

/* Parameters of random asks: what stands before and behind a number, which is decimal,
 * hexadecimal or absent. */
static const struct {
    const char *before;
    char number;
    const char *behind;
} parameters[] = {
    {"drag", 0, ""},
    {"drag=?0", 0, ""},
    {"drag=1", 0, ""},
    {"forced", 0, ""},
    {"max=", 'd', ""},
    {" max=", 'd', ""},
    {"delay=", 'd', ""},
    {"delay=", 'd', ""},
    {"delay=0", 0, ""},
    {"delay=-", 'd', ""},
    {"at=\"00000000", 'x', "\""},
    {"at=\"00000000", 'x', "\""},
    {"at=\"00000000", 'x', "\""},
    {"at=", 'd', ""},
    {"burn", 0, ""},
    {"burn", 0, ""},
    {"burn=?0", 0, ""},
    {"burn=\"", 'd', "\""},
    {"graph=\"00000000", 'x', "\""},
    {"other=*", 'd', "/x"},
};

bool cpti_conform_onward_case(struct cpti_conform_case *conform_case, const char *name,
                              struct cpti_conform_random *random)
{
    const size_t count = (size_t)cpti_conform_below(random, 8);
    const size_t own_bytes_max = 1 + (size_t)cpti_conform_below(random, 4096);
    char text[256] = "1";
    size_t bytes = 1;

    for (size_t i = 0; i < count; i++) {
        const size_t row = (size_t)cpti_conform_below(random, sizeof parameters /
                                                                  sizeof parameters[0]);

        const unsigned number = 1 + (unsigned)cpti_conform_below(random, 5000);
        char digits[16] = "";

        if (parameters[row].number == 'd') {
            (void)snprintf(digits, sizeof digits, "%u", number);
        } else if (parameters[row].number == 'x') {
            (void)snprintf(digits, sizeof digits, "%08x", number);
        }
        bytes +=
            (size_t)snprintf(text + bytes, sizeof text - bytes, ";%s%s%s",
                             parameters[row].before, digits, parameters[row].behind);
    }
    return onward_case(conform_case, name, text, own_bytes_max);
}

bool cpti_conform_asks(cpti_conform_take *take, void *context)
{
    return give_asks(take, context) && give_nonces(take, context) &&
           give_onward(take, context);
}
