/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* bench.c - see bench.h. */
#include "tests/bench/bench.h"

#include "cpt/cpt_clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *program;
    const char *title;
    FILE *notes; /* NULL: not requested */
    size_t note_count;
} bench = {.program = "bench", .title = ""};

/* --- The notes --- */

static void must_open(FILE *notes, const char *where)
{
    if (notes == NULL) {
        (void)fprintf(stderr, "%s: cannot write %s\n", bench.program, where);
        exit(2);
    }
    bench.notes = notes;
}

/* The notes go to stdout, and the table goes to stderr. */
static void open_stdout(void)
{
    const int copy = dup(STDOUT_FILENO);

    must_open(copy < 0 ? NULL : fdopen(copy, "w"), "to stdout");
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

void bench_begin(const char *program, int *argument_count, char **arguments)
{
    int kept = 1;

    bench.program = program;
    for (int i = 1; i < *argument_count; i++) {
        if (strcmp(arguments[i], "--json") == 0) {
            open_stdout();
        } else if (strncmp(arguments[i], "--json=", 7) == 0) {
            must_open(fopen(arguments[i] + 7, "w"), arguments[i] + 7);
        } else {
            arguments[kept++] = arguments[i];
        }
    }
    *argument_count = kept;
}

int bench_end(void)
{
    if (bench.notes == NULL) {
        return 0;
    }
    (void)fprintf(bench.notes, bench.note_count != 0 ? "\n]\n" : "[]\n");
    if (fclose(bench.notes) != 0) {
        (void)fprintf(stderr, "%s: cannot write what was measured\n", bench.program);
        return 1;
    }
    return 0;
}

/* @text as part of a JSON string. */
static void put_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)fputc('\\', bench.notes);
        }
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, bench.notes);
    }
}

/* A number as JSON, which has no infinities. */
static void put_number(const char *key, double number)
{
    (void)fprintf(bench.notes, ", \"%s\": ", key);
    (void)fprintf(bench.notes, isfinite(number) ? "%.6g" : "null", number);
}

static void put_note(const struct bench_figure *figure)
{
    (void)fprintf(bench.notes, "%s{\"name\": \"", bench.note_count++ ? ",\n" : "[\n");
    put_text(bench.program);
    (void)fputs(": ", bench.notes);
    if (bench.title[0] != '\0') {
        put_text(bench.title);
        (void)fputs(": ", bench.notes);
    }
    put_text(figure->name);
    (void)fputc('"', bench.notes);
    put_number("value", figure->value);
    (void)fputs(", \"unit\": \"", bench.notes);
    put_text(figure->unit);
    (void)fputs("\", \"baseline\": ", bench.notes);
    if (figure->baseline == NULL) {
        (void)fputs("null, \"ratio\": null", bench.notes);
    } else {
        (void)fputc('"', bench.notes);
        put_text(figure->baseline);
        (void)fputc('"', bench.notes);
        put_number("ratio", figure->ratio);
        put_number("ratio_low", figure->ratio_low);
        put_number("ratio_high", figure->ratio_high);
    }
    (void)fprintf(bench.notes, ", \"runs\": %zu}", figure->runs);
    (void)fflush(bench.notes); /* a child may be forked next */
}

/* --- The table --- */

void bench_title(const char *title)
{
    bench.title = title;
    printf("\n%s\n", title);
    (void)fflush(stdout);
}

void bench_note(const struct bench_figure *figure)
{
    if (figure->baseline != NULL) {
        printf("  %-32s %10.4g %-14s %8.3f (%.3f … %.3f) of %s\n", figure->name,
               figure->value, figure->unit, figure->ratio, figure->ratio_low,
               figure->ratio_high, figure->baseline);
    } else {
        printf("  %-32s %10.4g %s\n", figure->name, figure->value, figure->unit);
    }
    (void)fflush(stdout);
    if (bench.notes != NULL) {
        put_note(figure);
    }
}

void bench_value(const char *name, double value, const char *unit)
{
    bench_note(
        &(struct bench_figure){.name = name, .value = value, .unit = unit, .runs = 1});
}

/* --- Rounds --- */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

double bench_quantile(double *numbers, size_t count, double q)
{
    qsort(numbers, count, sizeof *numbers, compare);
    return numbers[(size_t)(q * (double)(count - 1) + 0.5)];
}

void bench_rounds(const char *name, const double *values, const char *unit,
                  const char *baseline, const double *baseline_values, size_t runs)
{
    double kept[BENCH_ROUNDS_MAX];
    double ratios[BENCH_ROUNDS_MAX];
    size_t count = 0;
    struct bench_figure figure = {.name = name, .unit = unit};

    for (size_t i = 0; i < runs && count < BENCH_ROUNDS_MAX; i++) {
        const double base = baseline_values != NULL ? baseline_values[i] : 1;

        if (isfinite(values[i]) && isfinite(base) && base > 0) {
            kept[count] = values[i];
            ratios[count++] = values[i] / base;
        }
    }
    if (count == 0) {
        printf("  %-32s could not be measured\n", name);
        return;
    }
    figure.runs = count;
    figure.value = bench_quantile(kept, count, 0.5);
    if (baseline_values != NULL) {
        figure.baseline = baseline;
        figure.ratio = bench_quantile(ratios, count, 0.5);
        figure.ratio_low = bench_quantile(ratios, count, 0.25);
        figure.ratio_high = bench_quantile(ratios, count, 0.75);
    }
    bench_note(&figure);
}

static double time_ns(const struct bench_way *way, size_t count)
{
    const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    way->run(way->context, count);
    return (double)(cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns);
}

void bench_compare(const struct bench_way *baseline, const struct bench_way *other,
                   size_t count, size_t per_count, const char *unit)
{
    double base[BENCH_ROUNDS];
    double values[BENCH_ROUNDS];
    const double things = (double)count * (double)per_count;
    char ns_unit[64];

    (void)snprintf(ns_unit, sizeof ns_unit, "ns a %s", unit);
    (void)time_ns(baseline, count / 4 + 1);
    (void)time_ns(other, count / 4 + 1);
    for (size_t i = 0; i < BENCH_ROUNDS; i++) {
        if (i % 2 == 0) {
            base[i] = time_ns(baseline, count) / things;
            values[i] = time_ns(other, count) / things;
        } else {
            values[i] = time_ns(other, count) / things;
            base[i] = time_ns(baseline, count) / things;
        }
    }
    bench_rounds(other->name, values, ns_unit, baseline->name, base, BENCH_ROUNDS);
}
