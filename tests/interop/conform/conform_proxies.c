/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_proxies.c - does the program know the headers of proxies that we know?
 *
 * Each name, beginning and ending of wire/forwarding-headers.txt is tried as it is, in
 * upper case, and with more and with less on each side; then the examples of that file.
 */
#include "tests/interop/conform/conform_case.h"
#include "wire/forwarding-headers.made.h"

#include "tool/base/memory_file.h"
#include "wire/cpt_metadata.h"

#include <ctype.h>
#include <string.h>

enum { NAME_BYTES = 80 };

static const char *const names[] = {
#define NAME_(what, name) name,
    CPTI_FORWARDING_RULES(NAME_) CPTI_FORWARDING_EXAMPLES(NAME_)
#undef NAME_
};

static bool proxy_case(struct cpti_conform_case *conform_case, const char *name)
{
    struct cpti_memory_file sent;

    *conform_case = (struct cpti_conform_case){.group = CPTI_CONFORM_PROXIES};
    (void)snprintf(conform_case->name, sizeof conform_case->name, "'%s'", name);
    if (cpti_memory_file_open(&sent)) {
        (void)fputs("proxy ", sent.file);
        cpti_conform_put_base64(sent.file, name, strlen(name));
        conform_case->sent = cpti_memory_file_close(&sent) ? sent.text : NULL;
    }
    conform_case->wanted =
        strdup(cpt_header_is_forwarding(cpt_bytes_of(name)) ? "yes" : "no");
    return conform_case->sent != NULL && conform_case->wanted != NULL;
}

static bool give(cpti_conform_take *take, void *context, const char *name)
{
    struct cpti_conform_case one;

    return cpti_conform_give(take, context, proxy_case(&one, name), &one);
}

static bool give_around(cpti_conform_take *take, void *context, const char *name)
{
    /* what stands before and behind; how many bytes of each side are left out */
    static const struct {
        const char *before;
        const char *behind;
        size_t left;
        size_t right;
    } rows[] = {{"", "", 0, 0},    {"x", "", 0, 0}, {"X-Some", "", 0, 0},
                {"-", "", 0, 0},   {"", "x", 0, 0}, {"", "-", 0, 0},
                {"", "-By", 0, 0}, {"", "", 1, 0},  {"", "", 0, 1}};
    const size_t bytes = strlen(name);
    char text[NAME_BYTES];
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(text, sizeof text, "%s%.*s%s", rows[i].before,
                       (int)(bytes - rows[i].left - rows[i].right), name + rows[i].left,
                       rows[i].behind);
        goes_on = give(take, context, text);
    }
    for (size_t i = 0; i <= bytes; i++) {
        text[i] = (char)toupper((unsigned char)name[i]);
    }
    return goes_on && give(take, context, text);
}

bool cpti_conform_proxies(cpti_conform_take *take, void *context)
{
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < sizeof names / sizeof names[0]; i++) {
        goes_on = give_around(take, context, names[i]);
    }
    return goes_on;
}
