/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_case.c - the verdict on an answer
 *
 * Answers are compared as text, but those that are headers: a path is right that fits
 * the budget and is the same, whatever the order of its frames and names; an ask, that
 * means the same, however it is written.
 */
#include "tests/interop/conform/conform_case.h"

#include "tool/base/output.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 70 };

void cpti_conform_case_deinit(struct cpti_conform_case *conform_case)
{
    free(conform_case->sent);
    free(conform_case->wanted);
    free(conform_case->wanted_too);
    *conform_case = (struct cpti_conform_case){0};
}

bool cpti_conform_give(cpti_conform_take *take, void *context, bool is_made,
                       struct cpti_conform_case *conform_case)
{
    if (is_made) {
        return take(context, conform_case);
    }
    cpti_conform_case_deinit(conform_case);
    return true;
}

static void wrong(struct cpti_conform_verdict *verdict, const char *format, ...)
    CPT_PRINTF(2, 3);

static void wrong(struct cpti_conform_verdict *verdict, const char *format, ...)
{
    va_list arguments;

    verdict->is_right = false;
    va_start(arguments, format);
    (void)vsnprintf(verdict->detail, sizeof verdict->detail, format, arguments);
    va_end(arguments);
}

static bool is_wanted(const struct cpti_conform_case *conform_case, const char *line)
{
    return strcmp(line, conform_case->wanted) == 0 ||
           (conform_case->wanted_too != NULL &&
            strcmp(line, conform_case->wanted_too) == 0);
}

/* Shows the lines from a little before the place where they begin to differ. */
static void differs(struct cpti_conform_verdict *verdict, const char *wanted,
                    const char *answer)
{
    size_t same = 0;
    size_t from = 0;

    while (wanted[same] != '\0' && wanted[same] == answer[same]) {
        same++;
    }
    from = same > SHOWN_BYTES / 2 ? same - SHOWN_BYTES / 2 : 0;
    {
        const struct cpt_bytes left = {wanted + from,
                                       strnlen(wanted + from, SHOWN_BYTES)};
        const struct cpt_bytes right = {answer + from,
                                        strnlen(answer + from, SHOWN_BYTES)};

        wrong(verdict, "at %zu: '%s', not '%s'", from, cpti_printable(right),
              cpti_printable(left));
    }
}

/* Judges the bytes of a header. */
static void judge_path(const struct cpti_conform_case *conform_case,
                       const unsigned char *data, size_t bytes,
                       struct cpti_conform_verdict *verdict)
{
    struct cpt_metadata_summary summary;
    struct cpt_error error = {0};
    char *line = NULL;

    if (bytes > conform_case->bytes_max) {
        wrong(verdict, "%zu bytes, the budget is %zu", bytes, conform_case->bytes_max);
        return;
    }
    if (cpt_metadata_peek(data, bytes, &summary, &error) != CPT_OK) {
        wrong(verdict, "no path: %s", error.sentence);
        return;
    }
    if (summary.sum_ns != conform_case->sum_ns) {
        wrong(verdict, "adds up to %" PRIu64 " ns, not %" PRIu64, summary.sum_ns,
              conform_case->sum_ns);
        return;
    }
    line = cpti_conform_line(data, bytes);
    if (line == NULL) {
        wrong(verdict, "a path that is too long to be compared");
    } else if (!is_wanted(conform_case, line)) {
        differs(verdict, conform_case->wanted, line);
    }
    free(line);
}

/* Judges the value of a header with an ask. */
static void judge_ask(const struct cpti_conform_case *conform_case,
                      struct cpt_bytes value, struct cpti_conform_verdict *verdict)
{
    const struct cpt_ask *wanted = &conform_case->ask;
    struct cpt_ask ask;
    char text[128];

    if (cpt_ask_parse(&value, 1, &ask, NULL) != CPT_OK) {
        wrong(verdict, "'%s' is no ask", cpti_printable(value));
    } else if (ask.version != wanted->version || !ask.has_max ||
               ask.bytes_max != wanted->bytes_max ||
               ask.is_forced != wanted->is_forced ||
               ask.delay_frame != wanted->delay_frame ||
               ask.delay_ns != wanted->delay_ns ||
               ask.delay_burns != wanted->delay_burns ||
               ask.wants_drag != wanted->wants_drag ||
               ask.graph_id != wanted->graph_id) {
        (void)cpt_ask_format(wanted, text, sizeof text);
        wrong(verdict, "asks '%s', not '%s'", cpti_printable(value), text);
    }
}

static void judge_header(const struct cpti_conform_case *conform_case,
                         const char *answer, struct cpti_conform_verdict *verdict)
{
    const char *value = answer + sizeof "header " - 1;
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;

    if (strncmp(answer, "header ", sizeof "header " - 1) != 0 ||
        strcmp(conform_case->wanted, "none") == 0) {
        differs(verdict, conform_case->wanted, answer);
        return;
    }
    data = malloc(strlen(value) + 1);
    if (data == NULL) {
        wrong(verdict, "out of memory");
    } else if (cpt_base64_decode(cpt_bytes_of(value), data, strlen(value), &bytes,
                                 &error) != CPT_OK) {
        wrong(verdict, "no base64: %s", error.sentence);
    } else if (strlen(value) != CPT_BASE64_BYTES(bytes)) {
        wrong(verdict, "base64 with padding");
    } else if (conform_case->answer == CPTI_ANSWER_ASK) {
        judge_ask(conform_case, (struct cpt_bytes){(const char *)data, bytes}, verdict);
    } else {
        judge_path(conform_case, data, bytes, verdict);
    }
    free(data);
}

void cpti_conform_judge(const struct cpti_conform_case *conform_case,
                        const char *answer, struct cpti_conform_verdict *verdict)
{
    *verdict = (struct cpti_conform_verdict){.is_right = true};
    if (conform_case->answer != CPTI_ANSWER_TEXT && strcmp(answer, "none") != 0) {
        judge_header(conform_case, answer, verdict);
    } else if (!is_wanted(conform_case, answer)) {
        differs(verdict, conform_case->wanted, answer);
    }
}
