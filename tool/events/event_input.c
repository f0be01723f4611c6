/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_input.c - files of lines, joined to requests; see event_input.h */
#include "tool/events/event_input.h"

#include "tool/events/event_sources.h"
#include "tool/events/source_draft.h"
#include "tool/requests/span_totals.h"
#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/base/private_file.h"
#include "import/lines/sources.h"
#include "import/bytes/inflate.h"
#include "cpt/base/now.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const uint64_t progress_interval_ns = 250000000;

/* A file that is read. */
struct reading {
    struct cpti_input input;
    struct cpti_event_lines *lines;
    uint64_t progress_ns; /* when it is shown next; 0: never */
    bool has_shown;
};

static int open_private_file(void)
{
    char path[CPTI_PRIVATE_PATH_BYTES];

    return cpti_private_file(path);
}

/* --- Progress --- */

static void show_progress(struct reading *reading)
{
    const struct cpti_input *input = &reading->input;
    const uint64_t now_ns = reading->progress_ns != 0 ? cpti_now_ns() : 0;

    if (now_ns < reading->progress_ns || reading->progress_ns == 0) {
        return;
    }
    reading->progress_ns = now_ns + progress_interval_ns;
    reading->has_shown = true;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " lines", cpti_input_name(input),
                  cpti_event_lines_counts(reading->lines)->lines);
    if (input->total_bytes > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " %%",
                      100 * input->read_bytes / input->total_bytes);
    }
    (void)fputs("\033[K", stderr);
}

static void end_progress(struct reading *reading)
{
    if (reading->has_shown) {
        (void)fputs("\r\033[K", stderr);
        reading->has_shown = false;
    }
}

/* A cpt_read_fn. */
static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct reading *reading = context;

    show_progress(reading);
    return cpti_input_read(&reading->input, buffer, capacity, bytes);
}

/* --- Files --- */

static void add_counts(struct cpti_event_lines_counts *sum,
                       const struct cpti_event_lines_counts *counts)
{
    sum->lines += counts->lines;
    sum->events += counts->events;
    sum->unmatched += counts->unmatched;
    sum->gave_up += counts->gave_up;
    sum->continued += counts->continued;
    sum->timeless += counts->timeless;
    sum->cut += counts->cut;
    sum->with_nul += counts->with_nul;
    sum->without_utf8 += counts->without_utf8;
}

/* Why events cannot be kept. */
static int store_failed(cpt_status status)
{
    return status == CPT_IO ? cpti_failed("the private file of the requests cannot be "
                                          "used: %s",
                                          strerror(errno))
                            : cpti_failed("%s", cpt_status_sentence(status));
}

/* Adds an event, and shows it to the visitor. */
static cpt_status add_event(struct cpti_event_input *input, struct reading *reading,
                            const struct cpti_event *event)
{
    const struct cpti_event_visitor *visitor = input->visitor;
    cpt_status status = CPT_OK;

    if (visitor != NULL) {
        status = visitor->event(visitor->context, reading->lines, reading->input.path,
                                event);
    }
    return status == CPT_OK ? cpti_requests_add(input->requests, event) : status;
}

/* Says what the first line of a file of no known format is, and a source for it. */
static void advise(const struct reading *reading)
{
    const struct cpt_bytes line = cpti_event_lines_unmatched(reading->lines);
    char draft[CPTI_DRAFT_BYTES];

    if (line.bytes == 0 || cpti_event_lines_counts(reading->lines)->lines > 0 ||
        !cpti_input_is_text(&reading->input)) {
        return;
    }
    cpti_told("its first line is: %s", cpti_printable(line));
    if (cpti_source_draft(line, reading->input.path, draft)) {
        cpti_told("to start from, a line for a file that --sources names: %s",
                  cpti_printable(cpt_bytes_of(draft)));
    }
    if (cpti_source_is_python(line)) {
        cpti_told("or let Python's logging write lines that are read as they are:\n%s",
                  cpti_source_python);
    }
}

/* Adds the events of a file. */
static int read_events(struct cpti_event_input *input, struct reading *reading)
{
    struct cpt_error error = {0};
    struct cpti_event event;
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = cpti_event_lines_next(reading->lines, &event, &error);
        if (status == CPT_OK) {
            status = add_event(input, reading, &event);
            if (status != CPT_OK) {
                end_progress(reading);
                return store_failed(status);
            }
        }
    }
    end_progress(reading);
    if (status == CPT_END) {
        return CPTI_EXIT_DONE;
    }
    (void)cpti_failed_at(
        (struct cpti_at){.file = cpti_input_name(&reading->input)}, "%s",
        error.sentence[0] != '\0' ? error.sentence : cpt_status_sentence(status));
    if (status == CPT_INVALID) {
        advise(reading);
    }
    return CPTI_EXIT_FAILED;
}

/* Warns of lines of no form, and shows where the first one is. */
static void warn_unmatched(const struct reading *reading)
{
    const struct cpti_event_lines_counts *counts =
        cpti_event_lines_counts(reading->lines);

    if (counts->unmatched > 0) {
        const char *why = cpti_event_lines_why(reading->lines);

        cpti_warn("%s: %" PRIu64 " line%s of no form that is known, first line "
                  "%" PRIu64 "%s%s",
                  cpti_input_name(&reading->input), counts->unmatched,
                  counts->unmatched == 1 ? " is" : "s are", counts->first_unmatched,
                  why != NULL ? ": " : "", why != NULL ? why : "");
    }
}

static int read_file(struct cpti_event_input *input, const char *path, uint32_t number)
{
    struct reading reading = {.progress_ns = isatty(STDERR_FILENO)
                                                 ? cpti_now_ns() + progress_interval_ns
                                                 : 0};
    const struct cpti_event_lines_options options = {.sources = input->sources,
                                                     .read = read_input,
                                                     .context = &reading,
                                                     .name = path,
                                                     .input = number};
    int status = cpti_input_open(&reading.input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    reading.lines = cpti_event_lines_new(&options);
    status = reading.lines != NULL ? read_events(input, &reading)
                                   : cpti_failed("out of memory");
    if (reading.lines != NULL) {
        add_counts(&input->lines, cpti_event_lines_counts(reading.lines));
        if (input->visitor != NULL) {
            input->visitor->end(input->visitor->context, reading.lines, path);
        } else {
            warn_unmatched(&reading);
        }
    }
    cpti_event_lines_free(reading.lines);
    cpti_input_close(&reading.input);
    return status;
}

int cpti_event_input_visit(struct cpti_event_input *input,
                           const struct cpti_arguments *arguments,
                           const struct cpti_event_visitor *visitor)
{
    const struct cpti_requests_options options = {.open_file = open_private_file};
    int status = CPTI_EXIT_DONE;

    *input = (struct cpti_event_input){.requests = cpti_requests_new(&options),
                                       .visitor = visitor};
    if (input->requests == NULL) {
        return cpti_failed("out of memory");
    }
    if (arguments->operand_count > CPTI_INPUTS_MAX) {
        return cpti_failed("more than %d files", CPTI_INPUTS_MAX);
    }
    status = cpti_event_sources_read(arguments, &input->sources);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < arguments->operand_count; i++) {
        status = cpti_exit_last(status,
                                read_file(input, arguments->operands[i], (uint32_t)i));
    }
    return status;
}

bool cpti_event_input_is_usable(const struct cpti_event_input *input, int status)
{
    return input->requests != NULL &&
           (status == CPTI_EXIT_DONE ||
            cpti_requests_counts(input->requests)->events > 0);
}

int cpti_event_input_read(struct cpti_event_input *input,
                          const struct cpti_arguments *arguments)
{
    return cpti_event_input_visit(input, arguments, NULL);
}

bool cpti_event_input_recognise(const unsigned char *head, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (head[i] < ' ' && head[i] != '\t' && head[i] != '\n' && head[i] != '\r') {
            return cpti_inflate_recognise((const char *)head, bytes);
        }
    }
    return bytes > 0;
}

void cpti_event_input_end(struct cpti_event_input *input)
{
    cpti_requests_free(input->requests);
    cpti_sources_free(input->sources);
    *input = (struct cpti_event_input){0};
}

void cpti_event_input_tell(const struct cpti_event_input *input)
{
    const struct cpti_requests_counts *counts = cpti_requests_counts(input->requests);

    cpti_told("%" PRIu64 " lines, %" PRIu64 " events of %" PRIu64 " requests",
              input->lines.lines, counts->events, counts->requests);
    cpti_tell_count(input->lines.timeless, "lines without a time that can be read");
    cpti_tell_count(input->lines.gave_up, "lines on which an expression gave up");
    cpti_tell_count(input->lines.with_nul, "lines with a NUL");
    cpti_tell_count(input->lines.without_utf8, "lines that are no UTF-8");
    cpti_tell_count(input->lines.cut, "lines cut at 1 MiB");
    cpti_tell_count(counts->without_id, "events without an id");
    cpti_tell_count(counts->impossible,
                    "events before 2000, after 2199, longer than a year, or that "
                    "end before they begin");
    cpti_tell_count(counts->far, "events more than a day from the rest of their "
                                 "request");
    cpti_tell_count(counts->too_long, "requests of more than 100,000 lines left out");
    cpti_tell_count(counts->other_kinds,
                    "events whose name is one too many of their service: (other)");
}

/* --- Clocks --- */

enum { CLOCK_TEXT_BYTES = 80, HOSTS_SHOWN = 8 };

/* One bound of the difference of a clock: "50.00 ms ahead". */
static void say_bound(double ms, char text[CLOCK_TEXT_BYTES])
{
    (void)snprintf(text, CLOCK_TEXT_BYTES, "%.2f ms %s", ms < 0 ? -ms : ms,
                   ms < 0 ? "behind" : "ahead");
}

/* The difference of @clock, once if both bounds read the same: "50.00 ms ahead". */
static void say_difference(const struct cpti_event_clock *clock,
                           char text[3 * CLOCK_TEXT_BYTES])
{
    const double ns_per_ms = 1e6;
    char least[CLOCK_TEXT_BYTES];
    char most[CLOCK_TEXT_BYTES];

    say_bound((double)clock->least_ns / ns_per_ms, least);
    say_bound((double)clock->most_ns / ns_per_ms, most);
    if (strcmp(least, most) == 0) {
        (void)snprintf(text, CLOCK_TEXT_BYTES, "%s", least);
    } else {
        (void)snprintf(text, 3 * (size_t)CLOCK_TEXT_BYTES, "%s to %s", least, most);
    }
}

static const char *host_of(const struct cpti_event_input *input,
                           const struct cpti_event_clock *clock)
{
    return cpti_quoted_bytes(
        cpti_requests_text(input->requests, CPTI_NAMES_HOST, clock->host));
}

/* Whether the difference is too small for anything to be moved, or to be looked for. */
static bool is_small(const struct cpti_event_clock *clock)
{
    return clock->guessed == 0 && clock->moved == 0;
}

/* Says by how much the clock of one host differs. */
static void tell_clock(const struct cpti_event_input *input,
                       const struct cpti_event_clock *clock)
{
    char difference[3 * CLOCK_TEXT_BYTES];

    say_difference(clock, difference);
    if (clock->guessed > 0) {
        cpti_warn("host %s: its clock seems to be %s, as its lines lie outside of "
                  "their requests; is it? Points are not moved",
                  host_of(input, clock), difference);
        return;
    }
    cpti_told("host %s: its clock is %s, in %" PRIu64 " block%s of %d requests: moved",
              host_of(input, clock), difference, clock->blocks,
              clock->blocks == 1 ? "" : "s", CPTI_CLOCK_BLOCK_REQUESTS);
}

/* Says which of the @count clocks at @found differ by too little to be moved, all in
 * one line. */
static void tell_small_clocks(const struct cpti_event_input *input,
                              const struct cpti_event_clock *found, size_t count)
{
    char hosts[HOSTS_SHOWN * CLOCK_TEXT_BYTES];
    size_t used = 0;
    size_t small_count = 0;
    double most_ns = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_small(&found[i])) {
            continue;
        }
        most_ns = fmax(most_ns, fmax(fabs((double)found[i].least_ns),
                                     fabs((double)found[i].most_ns)));
        if (small_count++ < HOSTS_SHOWN && used < sizeof hosts) {
            used += (size_t)snprintf(hosts + used, sizeof hosts - used, "%s%s",
                                     used > 0 ? ", " : "", host_of(input, &found[i]));
        }
    }
    if (small_count > 0) {
        cpti_told("clocks differ by at most %.2f ms, too little to be moved, of %zu "
                  "host%s: %s%s",
                  most_ns / 1e6, small_count, small_count == 1 ? "" : "s", hosts,
                  small_count > HOSTS_SHOWN ? ", …" : "");
    }
}

void cpti_event_input_tell_clocks(const struct cpti_event_input *input,
                                  const struct cpti_event_clocks *clocks)
{
    const struct cpti_event_clock *found = NULL;
    const size_t count = clocks != NULL ? cpti_event_clocks_found(clocks, &found) : 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_small(&found[i])) {
            tell_clock(input, &found[i]);
        }
    }
    tell_small_clocks(input, found, count);
}
