/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_sources.c - any bytes as sources, a file of lnav, and lines of the first source
 *
 * The three are separated by lines "---". What is refused says why; what is accepted
 * has a name and reads lines.
 */
#include "import/lines/event_reader.h"
#include "import/lines/sources.h"
#include "tests/unit/import/text_input.h"

#include <stdlib.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* The part of @text before the next line "---"; @text goes behind it. */
static struct cpt_bytes take_part(struct cpt_bytes *text)
{
    static const char mark[] = "\n---\n";
    const char *end =
        text->bytes > 0 ? memmem(text->data, text->bytes, mark, sizeof mark - 1) : NULL;
    struct cpt_bytes part = *text;

    part.bytes = end != NULL ? (size_t)(end - text->data) : text->bytes;
    text->data = end != NULL ? end + sizeof mark - 1 : NULL;
    text->bytes = end != NULL ? text->bytes - part.bytes - (sizeof mark - 1) : 0;
    return part;
}

/* A cpti_sources_open_fn: each file is the text in the context. */
static cpt_status open_text(void *context, struct cpt_bytes file, char **text,
                            size_t *bytes, struct cpt_error *error)
{
    const struct cpt_bytes *content = context;

    (void)error;
    must(file.bytes > 0);
    *text = malloc(content->bytes + 1);
    must(*text != NULL);
    if (content->bytes > 0) {
        memcpy(*text, content->data, content->bytes);
    }
    *bytes = content->bytes;
    return CPT_OK;
}

static void read_lines(struct cpti_line_source *source, struct cpt_bytes text)
{
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, source, source->name);

    must(reader != NULL && source->name.bytes > 0);
    while (text.bytes > 0) {
        const char *end = memchr(text.data, '\n', text.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - text.data) : text.bytes;
        const struct cpti_event *event = NULL;

        (void)cpti_event_reader_line(reader, (struct cpt_bytes){text.data, bytes});
        while ((event = cpti_event_reader_next(reader)) != NULL) {
            must(event->end_ns >= event->begin_ns && event->name.bytes > 0);
        }
        text.data += end != NULL ? bytes + 1 : bytes;
        text.bytes -= end != NULL ? bytes + 1 : bytes;
    }
    cpti_event_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpt_bytes text = {(const char *)data, size};
    const struct cpt_bytes settings = take_part(&text);
    struct cpt_bytes lnav = take_part(&text);
    const struct cpti_sources_options options = {.open = open_text, .context = &lnav};
    struct cpti_sources *sources = NULL;
    struct cpt_error error = {0};

    if (cpti_sources_read(&options, settings, &sources, &error) != CPT_OK) {
        must(error.sentence[0] != '\0' && sources == NULL);
        return 0;
    }
    for (size_t i = 0; i < cpti_sources_count(sources); i++) {
        read_lines(cpti_sources_at(sources, i), text);
    }
    (void)cpti_sources_find(sources, "a/b.log");
    cpti_sources_free(sources);
    return 0;
}
