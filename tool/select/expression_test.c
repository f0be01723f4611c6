/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_test.c - the parser of one test of --where: subject, comparison, values
 *
 * The grammar stands in expression.c. A subject decides which values it takes.
 */
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/select/expression_chain.h"
#include "tool/select/expression_parser.h"
#include "tool/select/when.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Values --- */

static int take_truth(struct cpt_bytes text)
{
    return cpt_bytes_equal(text, cpt_bytes_of("true"))    ? 1
           : cpt_bytes_equal(text, cpt_bytes_of("false")) ? 0
                                                          : -1;
}

/* A value for an attribute or a text of the record. */
static bool read_plain(struct cpti_parser *parser, struct cpti_value *value)
{
    const struct cpti_token *token = &parser->token;
    uint64_t ns;

    if (token->kind != CPTI_TOKEN_WORD && token->kind != CPTI_TOKEN_NUMBER &&
        token->kind != CPTI_TOKEN_STRING) {
        return cpti_parser_expected(parser, "a value");
    }
    value->is_number = token->kind == CPTI_TOKEN_NUMBER;
    if (value->is_number && !cpti_lex_number(token->text, value)) {
        return cpti_expression_fail(
            parser->error, token->at,
            cpti_lex_duration(token->text, &ns) == NULL
                ? "'%.40s' is a duration, but only latency and path(...) are compared "
                  "with one"
                : "'%.40s' is not a number; a text that begins like one needs quotes",
            cpti_quoted_bytes(token->text));
    }
    if (!value->is_number) {
        (void)cpti_lex_number(token->text, value);
    }
    value->truth = (int8_t)take_truth(token->text);
    return cpti_parser_add_text(parser, token->text, token->kind == CPTI_TOKEN_STRING,
                                &value->text_at, &value->text_bytes);
}

static bool read_truth(struct cpti_parser *parser, struct cpti_value *value)
{
    value->truth = parser->token.kind == CPTI_TOKEN_WORD
                       ? (int8_t)take_truth(parser->token.text)
                       : (int8_t)-1;
    return value->truth >= 0 || cpti_parser_expected(parser, "true or false");
}

/* Converts 32 hexadecimal digits to 16 bytes, or the last 16 of them to 8. Returns the
 * bytes; 0 if @text is anything else. */
static size_t hex_bytes(struct cpt_bytes text, unsigned char bytes[16])
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    if (text.bytes != 32 && text.bytes != 16) {
        return 0;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        const char *digit = memchr(digits, text.data[i], sizeof digits - 1);

        if (digit == NULL) {
            return 0;
        }
        bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | ((digit - digits) & 15));
    }
    return text.bytes / 2;
}

static bool read_trace_id(struct cpti_parser *parser, struct cpti_value *value)
{
    unsigned char id[16] = {0};
    const size_t bytes = hex_bytes(parser->token.text, id);

    if (bytes == 0) {
        return cpti_parser_expected(
            parser, "a trace id of 32 hexadecimal digits, or the last 16 of one");
    }
    return cpti_parser_add_text(parser, (struct cpt_bytes){(const char *)id, bytes}, 0,
                                &value->text_at, &value->text_bytes);
}

static bool read_start(struct cpti_parser *parser, struct cpti_value *value)
{
    const struct cpt_bytes text = parser->token.text;
    char copy[64];

    if (text.bytes != 0 && text.bytes < sizeof copy) {
        memcpy(copy, text.data, text.bytes);
        copy[text.bytes] = '\0';
        if (strlen(copy) == text.bytes &&
            cpti_when(copy, parser->now_unix_ns, &value->ns)) {
            return true;
        }
    }
    return cpti_parser_expected(
        parser, "a time such as 2026-01-31T12:00:00Z, @1769860800 or 15m "
                "(ago)");
}

static bool read_percentile(struct cpti_parser *parser, struct cpti_value *value,
                            uint64_t share)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_percentile *own = expression->percentiles;
    size_t i = 0;

    while (i < expression->percentile_count && own[i].share != share) {
        i++;
    }
    if (i == CPTI_EXPRESSION_PERCENTILES_MAX) {
        return cpti_parser_too_many(parser, "different percentiles",
                                    CPTI_EXPRESSION_PERCENTILES_MAX);
    }
    if (i == expression->percentile_count) {
        (void)snprintf(own[i].name, sizeof own[i].name, "%s",
                       cpti_quoted_bytes(parser->token.text));
        own[i].share = share;
        own[i].latency_ns = 0;
        expression->percentile_count++;
    }
    value->percentile = (int8_t)i;
    return true;
}

static bool read_duration(struct cpti_parser *parser, struct cpti_value *value,
                          bool is_path)
{
    const struct cpti_token *token = &parser->token;
    const char *wrong;
    uint64_t share;

    if (!is_path && token->kind == CPTI_TOKEN_WORD &&
        cpti_lex_percentile(token->text, &share)) {
        return read_percentile(parser, value, share);
    }
    if (token->kind != CPTI_TOKEN_NUMBER) {
        return cpti_parser_expected(
            parser, is_path ? "a duration such as 20ms"
                            : "a duration such as 20ms, or a percentile such "
                              "as p99");
    }
    wrong = cpti_lex_duration(token->text, &value->ns);
    return wrong == NULL ||
           cpti_expression_fail(parser->error, token->at, "the duration '%.40s' %s",
                                cpti_quoted_bytes(token->text), wrong);
}

/* If @value, the last one of @test, is a text as it is shown ("a\\x3bb"), adds the text
 * itself: the test is whether the subject is one of both. */
static bool add_shown(struct cpti_parser *parser, struct cpti_test *test,
                      const struct cpti_value *value)
{
    const struct cpt_bytes shown = cpti_expression_text(parser->expression, value);
    char plain[CPTI_TEXT_BYTES];
    const size_t bytes = cpti_name_shown(shown, plain, sizeof plain);
    struct cpti_value *added;

    if (bytes == 0 || (test->relation > CPTI_RELATION_NOT_EQUAL &&
                       test->relation < CPTI_RELATION_IN)) {
        return true;
    }
    added = cpti_parser_add_value(parser);
    if (added == NULL ||
        !cpti_parser_add_text(parser, (struct cpt_bytes){plain, bytes}, 0,
                              &added->text_at, &added->text_bytes)) {
        return false;
    }
    added->is_simple = value->is_simple;
    test->value_count++;
    if (test->relation < CPTI_RELATION_IN) {
        test->relation =
            (uint8_t)(test->relation == CPTI_RELATION_EQUAL ? CPTI_RELATION_IN
                                                            : CPTI_RELATION_NOT_IN);
    }
    return true;
}

/* Adds the current token to the values of @test, and steps. */
static bool take_value(struct cpti_parser *parser, struct cpti_test *test)
{
    struct cpti_value *value = cpti_parser_add_value(parser);
    bool is_right;

    if (value == NULL) {
        return false;
    }
    switch (test->subject) {
    case CPTI_SUBJECT_FORCED:
    case CPTI_SUBJECT_RANDOM:
    case CPTI_SUBJECT_FAILED:
    case CPTI_SUBJECT_LOCAL_ROOT:
        is_right = read_truth(parser, value);
        break;
    case CPTI_SUBJECT_TRACE_ID:
        is_right = read_trace_id(parser, value);
        break;
    case CPTI_SUBJECT_LATENCY:
    case CPTI_SUBJECT_PATH:
        is_right = read_duration(parser, value, test->subject == CPTI_SUBJECT_PATH);
        break;
    case CPTI_SUBJECT_START:
        is_right = read_start(parser, value);
        break;
    default:
        is_right = read_plain(parser, value);
        test->value_count++;
        return is_right && add_shown(parser, test, value) && cpti_parser_step(parser);
    }
    test->value_count++;
    return is_right && cpti_parser_step(parser);
}

/* --- Subjects --- */

static const struct {
    const char *word;
    enum cpti_subject subject;
    bool is_simple; /* also a field in the simple form */
} fields[] = {
    {"service", CPTI_SUBJECT_SERVICE, true},
    {"method", CPTI_SUBJECT_METHOD, true},
    {"entry", CPTI_SUBJECT_ENTRY, true},
    {"status", CPTI_SUBJECT_STATUS, true},
    {"forced", CPTI_SUBJECT_FORCED, true},
    {"random", CPTI_SUBJECT_RANDOM, true},
    {"failed", CPTI_SUBJECT_FAILED, true},
    {"local_root", CPTI_SUBJECT_LOCAL_ROOT, true},
    {"trace_id", CPTI_SUBJECT_TRACE_ID, true},
    {"latency", CPTI_SUBJECT_LATENCY, false},
    {"start", CPTI_SUBJECT_START, false},
};

/* Sets the subject by a key: a field of the record, or an attribute, which meta.KEY
 * always is. */
static bool set_key(struct cpti_parser *parser, struct cpti_test *test,
                    struct cpt_bytes key, bool is_quoted, bool is_simple)
{
    static const char prefix[] = "meta.";
    const size_t prefix_bytes = sizeof prefix - 1;

    test->subject = CPTI_SUBJECT_ATTRIBUTE;
    if (!is_quoted && key.bytes > prefix_bytes &&
        memcmp(key.data, prefix, prefix_bytes) == 0) {
        key.data += prefix_bytes;
        key.bytes -= prefix_bytes;
        return cpti_parser_add_text(parser, key, 0, &test->key_at, &test->key_bytes);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !is_quoted; i++) {
        if ((!is_simple || fields[i].is_simple) &&
            cpt_bytes_equal(key, cpt_bytes_of(fields[i].word))) {
            test->subject = (uint8_t)fields[i].subject;
        }
    }
    return cpti_parser_add_text(parser, key, is_quoted, &test->key_at,
                                &test->key_bytes);
}

/* Whether a frame must be compared with @text as it is shown, not by its name: kinds
 * other than work, and names with escapes. */
static bool needs_shown(struct cpt_bytes text)
{
    static const char mark[] = "\u2039";

    return memchr(text.data, '\\', text.bytes) != NULL ||
           memmem(text.data, text.bytes, mark, sizeof mark - 1) != NULL;
}

/* Adds @frame to the values of @test, with ‹timeout› for <timeout>. */
static bool take_frame(struct cpti_parser *parser, struct cpti_test *test,
                       struct cpt_bytes frame)
{
    char typed[CPTI_TEXT_BYTES];
    struct cpti_value *value = cpti_parser_add_value(parser);
    const size_t bytes = cpti_name_typed(frame, typed, sizeof typed);

    if (value == NULL) {
        return false;
    }
    if (frame.bytes == 0) {
        return cpti_parser_expected(parser, "a frame between two ';'");
    }
    if (test->frame_count == CPTI_EXPRESSION_FRAMES_MAX) {
        return cpti_parser_too_many(parser, "frames in a stack",
                                    CPTI_EXPRESSION_FRAMES_MAX);
    }
    test->frame_count++;
    if (bytes <= sizeof typed) { /* a longer text is no name */
        frame = (struct cpt_bytes){typed, bytes};
    }
    value->is_shown = needs_shown(frame);
    return cpti_parser_add_text(parser, frame, 1, &value->text_at, &value->text_bytes);
}

/* path("A: /;A: A1"): adds each frame to the values of the test. */
static bool take_frames(struct cpti_parser *parser, struct cpti_test *test)
{
    struct cpt_bytes rest = parser->token.text;

    if (parser->token.kind != CPTI_TOKEN_STRING || rest.bytes == 0) {
        return cpti_parser_expected(
            parser, "a frame or stack in quotes, as in path(\"A: A2\")");
    }
    for (;;) {
        const char *end = memchr(rest.data, ';', rest.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - rest.data) : rest.bytes;

        if (!take_frame(parser, test, (struct cpt_bytes){rest.data, bytes})) {
            return false;
        }
        if (end == NULL) {
            return cpti_parser_step(parser);
        }
        rest.data += bytes + 1;
        rest.bytes -= bytes + 1;
    }
}

/* Parses the rest of "has(" or "path(", with the closing parenthesis. */
static bool take_call(struct cpti_parser *parser, struct cpti_test *test, bool is_path)
{
    const struct cpti_token *token = &parser->token;

    if (is_path) {
        test->subject = CPTI_SUBJECT_PATH;
        if (!take_frames(parser, test)) {
            return false;
        }
    } else {
        if (token->kind != CPTI_TOKEN_WORD && token->kind != CPTI_TOKEN_STRING) {
            return cpti_parser_expected(parser, "a key, as in has(page.carousel)");
        }
        test->relation = CPTI_RELATION_HAS;
        if (!set_key(parser, test, token->text, token->kind == CPTI_TOKEN_STRING, 0)) {
            return false;
        }
        if (test->subject != CPTI_SUBJECT_ATTRIBUTE &&
            test->subject > CPTI_SUBJECT_STATUS &&
            test->subject != CPTI_SUBJECT_TRACE_ID) {
            return cpti_expression_fail(parser->error, token->at,
                                        "every record has '%.40s'",
                                        cpti_quoted_bytes(token->text));
        }
        if (!cpti_parser_step(parser)) {
            return false;
        }
    }
    return token->kind == CPTI_TOKEN_CLOSE ? cpti_parser_step(parser)
                                           : cpti_parser_expected(parser, "')'");
}

/* --- Tests --- */

static bool is_truth(unsigned subject)
{
    return subject >= CPTI_SUBJECT_FORCED && subject <= CPTI_SUBJECT_LOCAL_ROOT;
}

/* A subject alone: the field is true, or the stack is on the path. */
static bool bare_test(struct cpti_parser *parser, struct cpti_test *test)
{
    struct cpti_value *value = cpti_parser_add_value(parser);

    if (value == NULL) {
        return false;
    }
    test->value_count = 1;
    value->truth = 1;
    test->relation =
        (uint8_t)(test->subject == CPTI_SUBJECT_PATH ? CPTI_RELATION_GREATER
                                                     : CPTI_RELATION_EQUAL);
    return true;
}

static bool take_list(struct cpti_parser *parser, struct cpti_test *test)
{
    if (test->subject == CPTI_SUBJECT_PATH || test->subject == CPTI_SUBJECT_LATENCY ||
        test->subject == CPTI_SUBJECT_START) {
        return cpti_parser_expected(parser,
                                    "a comparison: 'in' is for keys with few values");
    }
    if (!cpti_parser_step(parser)) {
        return false;
    }
    if (parser->token.kind != CPTI_TOKEN_OPEN) {
        return cpti_parser_expected(parser, "'(' and values with commas between");
    }
    do {
        if (!cpti_parser_step(parser) || !take_value(parser, test)) {
            return false;
        }
    } while (parser->token.kind == CPTI_TOKEN_COMMA);
    return parser->token.kind == CPTI_TOKEN_CLOSE
               ? cpti_parser_step(parser)
               : cpti_parser_expected(parser, "',' or ')'");
}

/* Parses the comparison after the subject. */
static bool take_relation(struct cpti_parser *parser, struct cpti_test *test)
{
    const struct cpti_token *token = &parser->token;
    const bool has_order =
        !is_truth(test->subject) && test->subject != CPTI_SUBJECT_TRACE_ID;

    if (token->kind == CPTI_TOKEN_COMPARISON) {
        if (token->relation > CPTI_RELATION_NOT_EQUAL && !has_order) {
            return cpti_parser_expected(parser, "'==' or '!='");
        }
        test->relation = (uint8_t)token->relation;
        return cpti_parser_step(parser) && take_value(parser, test);
    }
    if (cpti_token_is(token, "in")) {
        test->relation = CPTI_RELATION_IN;
        return take_list(parser, test);
    }
    if (cpti_token_is(token, "not")) {
        test->relation = CPTI_RELATION_NOT_IN;
        if (!cpti_parser_step(parser)) {
            return false;
        }
        return cpti_token_is(token, "in") ? take_list(parser, test)
                                          : cpti_parser_expected(parser, "'in'");
    }
    if (is_truth(test->subject) || test->subject == CPTI_SUBJECT_PATH) {
        return bare_test(parser, test);
    }
    return cpti_parser_expected(parser, "a comparison (==, !=, <, <=, >, >=) or 'in'");
}

/* Whether @token may begin a test. */
static bool is_subject(const struct cpti_token *token)
{
    static const char *const words[] = {"and", "or", "in", "true", "false"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (cpti_token_is(token, words[i])) {
            return false;
        }
    }
    return token->kind == CPTI_TOKEN_WORD ||
           (token->kind == CPTI_TOKEN_STRING && token->text.bytes != 0);
}

static bool take_subject(struct cpti_parser *parser, struct cpti_test *test,
                         bool *is_done)
{
    const struct cpti_token first = parser->token;
    const bool is_path = cpti_token_is(&first, "path");
    const bool is_call = is_path || cpti_token_is(&first, "has");

    *is_done = false;
    if (!is_subject(&first)) {
        return cpti_parser_expected(parser, "a test such as arm == \"B\"");
    }
    if (!cpti_parser_step(parser)) {
        return false;
    }
    if (is_call && parser->token.kind == CPTI_TOKEN_OPEN) {
        *is_done = !is_path;
        return cpti_parser_step(parser) && take_call(parser, test, is_path);
    }
    return set_key(parser, test, first.text, first.kind == CPTI_TOKEN_STRING, 0);
}

/* Makes the node of @test, which must be the last test. */
static bool test_node(struct cpti_parser *parser, const struct cpti_test *test,
                      uint16_t *index)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_expression_node *node;

    if (!cpti_parser_add_node(parser, NODE_TEST, index)) {
        return false;
    }
    node = &expression->nodes[*index];
    node->test = (uint16_t)(expression->test_count - 1);
    node->cost = (uint8_t)(test->subject == CPTI_SUBJECT_PATH        ? COST_PATH
                           : test->subject == CPTI_SUBJECT_ATTRIBUTE ? COST_ATTRIBUTE
                                                                     : COST_FIELD);
    for (size_t i = 0; i < test->value_count; i++) {
        const size_t value = (size_t)test->value + test->frame_count + i;

        node->has_percentile |= expression->values[value].percentile >= 0;
    }
    return true;
}

bool cpti_parser_take_test(struct cpti_parser *parser)
{
    struct cpti_test *test = cpti_parser_add_test(parser);
    bool is_done;

    if (test == NULL || !take_subject(parser, test, &is_done) ||
        (!is_done && !take_relation(parser, test))) {
        return false;
    }
    return test_node(parser, test, &parser->operands[parser->operand_count++]);
}

/* --- The simple form --- */

bool cpti_expression_is_simple(struct cpt_bytes text)
{
    const char *equals = text.bytes == 0 ? NULL : memchr(text.data, '=', text.bytes);
    const size_t key_bytes = equals == NULL ? 0 : (size_t)(equals - text.data);

    for (size_t i = 0; i < key_bytes; i++) {
        if (text.data[i] == '\0' || strchr(" \t\r\n\"'()<>!,", text.data[i]) != NULL) {
            return false;
        }
    }
    return key_bytes != 0 &&
           !(key_bytes + 1 < text.bytes && text.data[key_bytes + 1] == '=');
}

/* Reads the value of KEY=VALUE as a number. An integer attribute is compared with the
 * usual form of an integer, or a number with a point; a float with all that strtod()
 * takes. */
static void read_simple_number(struct cpt_bytes text, struct cpti_value *value)
{
    char copy[64];
    char usual[32];
    char *end;

    if (text.bytes == 0 || text.bytes >= sizeof copy) {
        return;
    }
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    value->real = strtod(copy, &end);
    if (*end != '\0') {
        return;
    }
    value->number =
        strchr(copy, '.') != NULL ? CPTI_NUMBER_REAL : CPTI_NUMBER_FLOAT_ONLY;
    errno = 0;
    value->integer = strtoll(copy, NULL, 10);
    (void)snprintf(usual, sizeof usual, "%" PRId64, value->integer);
    if (errno == 0 && strcmp(usual, copy) == 0) {
        value->number = CPTI_NUMBER_INTEGER;
    }
}

bool cpti_parser_take_simple(struct cpti_parser *parser)
{
    const struct cpt_bytes text = parser->source;
    const char *equals = memchr(text.data, '=', text.bytes);
    const struct cpt_bytes key = {text.data, (size_t)(equals - text.data)};
    struct cpt_bytes value_text = {equals + 1, text.bytes - key.bytes - 1};
    struct cpti_test *test = cpti_parser_add_test(parser);
    struct cpti_value *value = test == NULL ? NULL : cpti_parser_add_value(parser);
    unsigned char id[16] = {0};

    if (value == NULL || !set_key(parser, test, key, 0, 1)) {
        return false;
    }
    test->value_count = 1;
    value->is_simple = 1;
    value->truth = (int8_t)take_truth(value_text);
    read_simple_number(value_text, value);
    if (test->subject == CPTI_SUBJECT_TRACE_ID) {
        const size_t bytes = hex_bytes(value_text, id);

        value_text = (struct cpt_bytes){(const char *)id, bytes};
    }
    return cpti_parser_add_text(parser, value_text, 0, &value->text_at,
                                &value->text_bytes) &&
           (test->subject == CPTI_SUBJECT_TRACE_ID || add_shown(parser, test, value)) &&
           test_node(parser, test, &parser->operands[parser->operand_count++]);
}
